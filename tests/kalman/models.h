/* models.h -- models made in memory, in the shape of golden cases without expected results.
 *
 * Every number of a model and its data is a float, so that both precisions solve one problem. All
 * functions end the test when memory fails them. */
#ifndef MODELS_H
#define MODELS_H

#include "golden.h"

/** A generator of its own for each test: uniform in (0, 1) and standard normal. */
typedef struct source { uint64_t state; } source;
double uniform(source *s);
double normal(source *s);

/** What varies with the step, and what a model has. */
enum {
    VARIES_F = 1, VARIES_Q = 2, VARIES_H = 4, VARIES_R = 8, VARIES_U = 16, VARIES_D = 32,
    VARIES_ALL = 63,
    HAS_OFFSETS = 64,  /* u and d, constant unless they vary                     */
    OWN_MODELS = 128,  /* each series has its own arrays                         */
    MISSING = 256,     /* single entries and whole rows                          */
    NO_Q = 512,        /* Q = 0                                                  */
    NO_P0 = 1024,      /* P0 = 0                                                 */
    EXACT_ENTRY = 2048 /* R = 0 in the first channel                             */
};

typedef struct model_spec {
    uint64_t seed;
    int64_t T, B;
    int nx, ny;
    ks_prior prior;
    unsigned flags;
} model_spec;

/** A stable, well-conditioned model (but for NO_Q, NO_P0, EXACT_ENTRY) and data drawn from it. Free
 *  with golden_free(). */
golden *model_random(model_spec spec);

/** T steps of two states that vary, of which the first is observed exactly and the second moves it a step later, as nothing
 *  else does: what knows nothing of the step before has no innovation. Free with golden_free(). */
golden *model_observed_late(int64_t T);

/** Series b of g, steps k0 .. k0 + T - 1, every array given step by step. Row 0 of F, Q, u is that
 *  of step k0. */
golden *model_slice(const golden *g, int64_t b, int64_t k0, int64_t T);

/** Series b of g, of which what does not vary with the step is given once. */
golden *model_series(const golden *g, int64_t b);

/** The f64 block of an input at a series and step. */
double *model_block(const golden_input *in, int64_t b, int64_t k);

/** Round all numbers of g to float and copy them to the f32 arrays; to be called after changes. */
void model_round(golden *g);

/** Zeroed memory, or the test ends. */
void *zeroed(size_t count, size_t bytes);

/** The same to work in: aligned to 64. */
void *zeroed_work(size_t bytes);

/** The state in another basis, M x, with M (nx, nx) and its inverse given. */
void model_change_basis(golden *g, const double *M, const double *M_inverse);

#endif
