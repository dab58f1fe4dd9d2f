/* diffuse_case.h -- runs with a diffuse prior, over models in memory. */
#ifndef DIFFUSE_CASE_H
#define DIFFUSE_CASE_H

#include "kalscan/diffuse.h"
#include "models.h"
#include "run_case.h"

/** One diffuse run. Start from { .g = ..., .P0_inf = ..., .m = ... }. */
typedef struct diffuse_case {
    const golden *g;
    const double *P0_inf;       /* (nx, nx), floats, of all series                      */
    const method_case *m;
    ks_precision precision;
    int threads;                /* 0: one                                             */
    unsigned outputs;           /* 0: all that the method makes                       */
    const ks_allocator *memory; /* NULL: the C library's                              */
    /* The run's: */
    golden_buffers *buffers;    /* to be freed with golden_buffers_free(), also on failure */
    ks_info info;
    int64_t steps;
} diffuse_case;

/** Run it; what it tells is in `c`. */
ks_status diffuse_run(diffuse_case *c);

/** The same, or the test ends. */
void diffuse_well(diffuse_case *c);

/** Room for results with the named outputs. Free with results_free(). */
golden_results *results_new(int64_t T, int64_t B, int nx, int ny, unsigned outputs);
void results_free(golden_results *r);

/** Copy `count` blocks of an output to step k0 of another's series b. */
void results_copy(golden_results *to, int64_t b, int64_t k0, const golden_results *from, int64_t from_b,
                  ks_output output, int64_t count);

/** A block of an output: of a series without steps at k = 0. */
double *results_block(const golden_results *r, ks_output output, int64_t b, int64_t k);

#endif
