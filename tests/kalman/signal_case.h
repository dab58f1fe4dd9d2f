/* signal_case.h -- calls of ks_signal() with outputs and a guarded workspace of their own. All functions end the test
 * when something fails that should not. */
#ifndef SIGNAL_CASE_H
#define SIGNAL_CASE_H

#include "golden.h"
#include "kalscan/signal.h"
#include "run_case.h"

/** Parts of a signal, and sets of them. */
enum { MEAN, COV, VAR, OBSERVED, PARTS, ALL = (1 << PARTS) - 1 };

/** What a call takes. */
typedef struct given {
    const golden *g; /* for the sizes */
    ks_precision precision;
    ks_model model;
    ks_view mean, cov;
} given;

/** What one call has made, parts that were not asked for being NULL. Free with drop(). */
typedef struct made {
    void *part[PARTS];
    size_t bytes[PARTS], number[PARTS]; /* number: bytes of one; that of the mean is that of the model, too */
    ks_status status;
    ks_info info;
} made;

extern const method_case smoother, filter;

/** Smoothed means and covariances of g, and the call for their signal. */
golden_buffers *smooth(const golden *g, ks_precision precision);
given smoothed_of(const golden *g, ks_precision precision, const golden_buffers *states);

/** A plan of these sizes, which is the caller's. */
ks_smooth_plan *plan_for(const given *from, ks_context *context);

/** Workspace filled with NaN, and behind it a guard; whether that is whole. */
char *work_for(const ks_smooth_plan *plan);
void check_guard(const ks_smooth_plan *plan, const char *work);

/** The parts of a set; the second with each row `apart` numbers behind the end of the one before, and any status. */
made make(const given *from, int threads, unsigned parts);
made make_apart(const given *from, int threads, unsigned parts, int64_t apart);
void drop(made *m);

/** Those of `parts` are the same bits. */
void assert_same(const made *a, const made *b, unsigned parts, const char *what);

/** A number of a part. */
double number_of(const made *m, int part, int64_t i);

/** Number i of a block of a view at a series and step, whose numbers have so many bytes. */
double read_view(ks_view view, size_t number, int64_t b, int64_t k, int64_t i);

const char *part_name(int part);

#endif
