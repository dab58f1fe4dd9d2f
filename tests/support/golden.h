/* golden.h -- golden cases (tests/golden/NAME.h5) in memory, and comparisons with them.
 *
 *     golden *g = golden_load(path);
 *     ks_model model = golden_model(g, KS_F32);
 *     golden_buffers *b = golden_buffers_new(g->T, g->B, g->nx, g->ny, KS_F32, outputs);
 *     ks_smooth_run(plan, &model, golden_y(g, KS_F32), golden_outputs(b), work, &info);
 *     golden_difference d = golden_compare(golden_widen(b), &g->expected, outputs,
 *                                          golden_norm_of(g, KS_F32));
 *     d.error <= golden_bound(g, GOLDEN_STEPS, KS_F32, false)
 *
 * Functions that return a pointer return NULL when memory or the file fails them, with a line on
 * stderr. */
#ifndef GOLDEN_H
#define GOLDEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "kalscan/smooth.h"

#define GOLDEN_OUTPUTS 17 /* the bits of ks_output */

/** Results as contiguous double arrays (B, T, ...), (B, ...) for the prior, (B) for the
 *  log-likelihood. array[i] belongs to the ks_output bit 1 << i and is NULL where absent. */
typedef struct golden_results {
    int64_t T, B;
    int nx, ny;
    double *array[GOLDEN_OUTPUTS];
} golden_results;

/** One input array in both precisions, strides as in ks_view. NULL: absent. */
typedef struct golden_input {
    double *f64;
    float *f32;
    int64_t step_stride, series_stride;
} golden_input;

typedef struct golden {
    char name[64];      /* the file name without folder and suffix                            */
    char condition[16]; /* "ordinary", "vague", "singular" or "stiff"                         */
    bool scan_takes;    /* H Q H' + R is positive definite from the second step on            */
    bool f32_exact;     /* every number of y and the model is a float                         */
    bool per_state;     /* states differ so much in scale that each has a floor of its own    */
    double element_pivot; /* smallest relative pivot of H Q H' + R, 0 when singular           */
    double sensitivity;   /* change of the results for a change of 2^-52 of all numbers       */
    int64_t T, B;
    int nx, ny;
    ks_prior prior;
    golden_input y, F, Q, H, R, u, d, m0, P0;
    golden_results expected; /* every output; the prior's under KS_PRIOR_X0 only              */
} golden;

/** Read a case. */
golden *golden_load(const char *path);

/** Free a case. NULL is allowed. */
void golden_free(golden *g);

/** The paths of all cases in a folder in alphabetical order; *count says how many. Free with
 *  golden_free_list(). */
char **golden_list(const char *folder, size_t *count);
void golden_free_list(char **paths, size_t count);

/** Model and observations of a case, borrowed from it. */
ks_model golden_model(const golden *g, ks_precision precision);
ks_view golden_y(const golden *g, ks_precision precision);

/** Room for the outputs of one run. */
typedef struct golden_buffers golden_buffers;

/** Buffers for the named outputs (ks_output bits), filled with a pattern that is NaN. */
golden_buffers *golden_buffers_new(int64_t T, int64_t B, int nx, int ny, ks_precision precision,
                                   unsigned outputs);
void golden_buffers_free(golden_buffers *b);

/** Where a run writes. Borrowed. */
const ks_outputs *golden_outputs(const golden_buffers *b);

/** The raw bytes of an output, for comparisons bit by bit; *bytes is its size. */
const void *golden_bytes(const golden_buffers *b, ks_output output, size_t *bytes);

/** Bytes of a number of an output: of a float or a double. */
size_t golden_number_bytes(const golden_buffers *b, ks_output output);

/** What the run wrote, as doubles. Borrowed, overwritten by the next call. */
const golden_results *golden_widen(golden_buffers *b);

/** How deviations are judged: step by step in standard deviations of the expected distribution, but
 *  never in less than `floor` of the largest one of the series (of the state, when per_state). */
typedef struct golden_norm {
    double floor;
    bool per_state;
} golden_norm;

/** Floor 1e-4 in f64, 1e-2 in f32 and mixed; per state where the case says so. */
golden_norm golden_norm_of(const golden *g, ks_precision precision);

/** The largest deviation and where it is. Infinite when a value is not finite that should be, when
 *  an output is missing, and when nothing was compared. */
typedef struct golden_difference {
    double error;
    ks_output output;
    int64_t series, step; /* step -1 for outputs without steps */
} golden_difference;

/** Compare the named outputs. Those that `expected` lacks are passed over (the prior's under
 *  KS_PRIOR_X1); of the others `expected` must hold the covariance that judges them (smoothed_cov
 * for lag_one_cov), and `actual` every one. Means in standard deviations sd_i, covariances relative
 * to sd_i sd_j, innovations in those of their covariance, log-likelihoods relative to max(1,
 * |value|). */
golden_difference golden_compare(const golden_results *actual, const golden_results *expected,
                                 unsigned outputs, golden_norm norm);

/** How a method comes to its results, which decides what rounding leaves of them: step by step, by
 *  elements of steps, from both ends, by the Hessian of all states. */
typedef enum golden_route { GOLDEN_STEPS, GOLDEN_ELEMENTS, GOLDEN_TWO_ENDED, GOLDEN_MAP } golden_route;

/** How far off results of g may be by golden_norm_of(): at most 0.05, or INFINITY where the case is not
 *  for the precision. The means and log-likelihoods of KS_MIXED have a bound of their own (`means`). */
double golden_bound(const golden *g, golden_route route, ks_precision precision, bool means);

/** The same for an ordinary model, whose results are as insensitive as rounding lets them be. */
double golden_ordinary_bound(golden_route route, ks_precision precision);

/** Compare with g->expected by these bounds. */
typedef struct golden_verdict {
    golden_difference worst; /* the first that is not good, or else some */
    double bound;            /* the bound for it                         */
    bool good;               /* finite, and within the bound             */
} golden_verdict;
golden_verdict golden_judge(const golden_results *actual, const golden *g, unsigned outputs,
                            golden_route route, ks_precision precision, golden_norm norm);

/** "smoothed_mean", ... as the files spell it. */
const char *golden_output_name(ks_output output);

#endif
