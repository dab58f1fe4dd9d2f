/* gradient_case.h -- models in memory with the gradient of their log-likelihood. */
#ifndef GRADIENT_CASE_H
#define GRADIENT_CASE_H

#include "kalscan/gradient.h"
#include "models.h"
#include "run_case.h"

enum { BY_F, BY_Q, BY_U, BY_H, BY_R, BY_D, BY_M0, BY_P0, ARRAYS };

/** A model that can be moved, and its gradient. Rows of `by` are those of the model. */
typedef struct problem {
    golden *g;
    ks_model model;
    golden_input *array[ARRAYS];
    int64_t block[ARRAYS], rows[ARRAYS], series[ARRAYS];
    double *by[ARRAYS], loglik;
    ks_view P0_inf;              /* without data: the prior is finite */
    const ks_allocator *memory;  /* of the context; NULL: the C library's */
    ks_smooth_options options;   /* of the plan */
} problem;

/** The problem of g, which it frees at the end. */
problem problem_of(golden *g, ks_transition transition);
void problem_drop(problem *p);

/** The output by an array. */
ks_out *output_of(ks_gradient *o, int a);

/** Run it for some outputs. */
ks_status run_gradient(const problem *p, const ks_gradient *o, int threads, ks_info *info);

/** Fill `by` and `loglik`, or the test ends. */
void differentiate(problem *p, int threads);

#endif
