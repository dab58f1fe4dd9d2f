/* contraction.h -- models without process noise whose transitions contract, and their closed form: the state before
 * the first step is a regression on all observations, solved here in long double, and every later state follows from it. */
#ifndef CONTRACTION_H
#define CONTRACTION_H

#include <stdint.h>
#include "kalscan/smooth.h"

enum { MOST = 20 };

/** x[k] = F x[k-1] + u, y[k] = H x[k] + v with v ~ N(0, I / 100), and rows of y missing. */
typedef struct problem {
    int nx, ny;
    int64_t T, B;
    double F[MOST * MOST], Q[MOST * MOST], u[MOST], H[2 * MOST], R[4], m0[MOST], P0[MOST * MOST];
    long double bound; /* in double, of means and covariances                  */
    double *y;    /* (B, T, ny)                                                */
    int per_step; /* F has a row for each step, which are the same             */
    double *rows; /* these                                                     */
} problem;

/** What the library returns, in double: (B, T, ..), and of the prior (B, ..). */
typedef struct results {
    double *mean, *cov, *var, *lag, *prior_mean, *prior_cov, *loglik;
    ks_info info;
} results;

/** What is asked for: without covariances the sequential method goes by checkpoints, and with means and covariances
 *  alone series of one model go together. */
enum { NO_COVS, ALL, ESTIMATES, CHOICES };

/** Modes that shrink by `slow` to `fast` in each step, mixed, drawn from `seed`; numbers are floats, so that both
 *  precisions solve one problem. u is 1, 2, .. times `offset`. per_step: F has a row for each step. */
problem *contraction_make(uint64_t seed, int nx, int64_t T, int64_t B, double slow, double fast, double offset,
                          int per_step);
void contraction_drop(problem *p);

/** Smooth by `method`; any but KS_METHOD_SCAN_RTS must do. `choice` is of those above. */
results contraction_smooth(const problem *p, ks_method method, ks_scan_algorithm scan, ks_backend backend,
                           ks_precision precision, int threads, int choice);
void contraction_drop_results(results *r);

/** The test fails where results are off by more than p->bound, in single precision 5e-2. */
void contraction_agrees(const problem *p, const results *r, ks_precision precision);

#endif
