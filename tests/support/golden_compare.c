/* golden_compare.c -- deviations in standard deviations of the expected distribution.
 *
 * A bound relative to the largest entry of a whole series would hide everything behind a vague
 * start, so each step is judged by its own covariance. */
#include "golden_kinds.h"

#include <math.h>
#include <stdlib.h>

golden_norm golden_norm_of(const golden *g, ks_precision precision)
{
    return (golden_norm){precision == KS_F64 ? 1e-4 : 1e-2, g->per_state};
}

/* The covariance that an output is judged by. */
static ks_output judge_of(ks_output output)
{
    switch (output) {
    case KS_OUT_PREDICTED_MEAN:
    case KS_OUT_PREDICTED_COV:
    case KS_OUT_PREDICTED_VAR:
        return KS_OUT_PREDICTED_COV;
    case KS_OUT_FILTERED_MEAN:
    case KS_OUT_FILTERED_COV:
    case KS_OUT_FILTERED_VAR:
        return KS_OUT_FILTERED_COV;
    case KS_OUT_PRIOR_MEAN:
    case KS_OUT_PRIOR_COV:
        return KS_OUT_PRIOR_COV;
    case KS_OUT_INNOVATION:
    case KS_OUT_INNOVATION_COV:
        return KS_OUT_INNOVATION_COV;
    default:
        return KS_OUT_SMOOTHED_COV;
    }
}

/* Standard deviations (steps, n) of one series of covariances, none below the floor. NaN stays. */
static double *scales(const double *cov, int64_t steps, int n, golden_norm norm)
{
    double *sd = malloc((size_t)(steps * n) * sizeof *sd);
    double *top = calloc((size_t)n, sizeof *top), all = 0;
    for (int64_t k = 0; sd && top && k < steps; k++) {
        for (int i = 0; i < n; i++) {
            double v = cov[(k * n + i) * n + i];
            sd[k * n + i] = v < 0 ? 0 : sqrt(v);
            top[i] = fmax(top[i], sd[k * n + i]);
            all = fmax(all, sd[k * n + i]);
        }
    }
    for (int64_t j = 0; sd && top && j < steps * n; j++) {
        double least = norm.floor * fmax(norm.per_state ? top[j % n] : all, 1e-300);
        sd[j] = sd[j] < least ? least : sd[j];
    }
    if (!top) {
        free(sd);
        sd = NULL;
    }
    free(top);
    return sd;
}

/* One deviation: zero where both are the same missing value. */
static double deviation(double actual, double expected, double scale)
{
    if (isnan(expected)) return isnan(actual) ? 0 : HUGE_VAL;
    if (!isfinite(actual) || !isfinite(scale)) return HUGE_VAL;
    if (actual == expected) /* also where the scale underflows */
        return 0;
    return fabs(actual - expected) / scale;
}

static void note(golden_difference *worst, double error, ks_output output, int64_t series,
                 int64_t step)
{
    if (error > worst->error) *worst = (golden_difference){error, output, series, step};
}

/* A block of an output: rows judged by `sd`, columns by `sd_columns`, NULL for a vector. A
 * variance is judged by sd_i sd_i. */
static double block_error(const double *a, const double *e, int n, const double *sd,
                          const double *sd_columns, bool variance)
{
    double worst = 0;
    for (int i = 0; i < n && !sd_columns; i++)
        worst = fmax(worst, deviation(a[i], e[i], variance ? sd[i] * sd[i] : sd[i]));
    for (int i = 0; i < n && sd_columns; i++) {
        for (int j = 0; j < n; j++) {
            double scale = isnan(sd[i] * sd_columns[j]) ? 1 : sd[i] * sd_columns[j];
            worst = fmax(worst, deviation(a[i * n + j], e[i * n + j], scale));
        }
    }
    return worst;
}

/* Scalars: log-likelihoods, and innovations that are standardised already. */
static void compare_plain(const golden_results *actual, const golden_results *expected, int index,
                          golden_difference *worst)
{
    const golden_kind *kind = &golden_kinds[index];
    int64_t block = golden_block_size(kind->block, expected->nx, expected->ny);
    int64_t steps = kind->has_steps ? expected->T : 1;
    for (int64_t j = 0; j < expected->B * steps * block; j++) {
        double e = expected->array[index][j];
        note(worst, deviation(actual->array[index][j], e, fmax(1, fabs(e))),
             (ks_output)(1 << index), j / (steps * block),
             kind->has_steps ? j / block % steps : -1);
    }
}

/* Lag-one covariances: rows of step k by its standard deviations, columns by those of step k - 1,
 * the prior's at step 0 where there is one. */
static double lag_error(const double *a, const double *e, int n, int64_t k, const double *sd,
                        const double *sd_prior)
{
    const double *before = k > 0 ? sd + (k - 1) * n : sd_prior ? sd_prior : sd;
    return block_error(a, e, n, sd + k * n, before, false);
}

static void compare_series(const golden_results *actual, const golden_results *expected, int index,
                           int64_t series, golden_norm norm, golden_difference *worst)
{
    const golden_kind *kind = &golden_kinds[index];
    ks_output output = (ks_output)(1 << index);
    bool matrix = kind->block == GOLDEN_NX_NX || kind->block == GOLDEN_NY_NY;
    bool variance = output == KS_OUT_PREDICTED_VAR || output == KS_OUT_FILTERED_VAR ||
                    output == KS_OUT_SMOOTHED_VAR;
    int n = kind->block == GOLDEN_NY || kind->block == GOLDEN_NY_NY ? expected->ny : expected->nx;
    int64_t steps = kind->has_steps ? expected->T : 1, block = matrix ? (int64_t)n * n : n;
    const double *judge = expected->array[golden_index(judge_of(output))];
    const double *prior = expected->array[golden_index(KS_OUT_PRIOR_COV)];
    bool lag = output == KS_OUT_LAG_ONE_COV;
    double *sd = judge ? scales(judge + series * steps * n * n, steps, n, norm) : NULL;
    double *sd_prior = lag && prior ? scales(prior + series * n * n, 1, n, norm) : NULL;
    for (int64_t k = 0; k < steps; k++) {
        const double *a = actual->array[index] + (series * steps + k) * block;
        const double *e = expected->array[index] + (series * steps + k) * block;
        double error = HUGE_VAL; /* without a covariance to judge by */
        if (sd && lag)
            error = lag_error(a, e, n, k, sd, sd_prior);
        else if (sd)
            error = block_error(a, e, n, sd + k * n, matrix ? sd + k * n : NULL, variance);
        note(worst, error, output, series, kind->has_steps ? k : -1);
    }
    free(sd_prior);
    free(sd);
}

golden_difference golden_compare(const golden_results *actual, const golden_results *expected,
                                 unsigned outputs, golden_norm norm)
{
    golden_difference worst = {-1, KS_OUT_LOGLIK, -1, -1};
    for (int i = 0; i < GOLDEN_OUTPUTS; i++) {
        if (!(outputs & (1u << i)) || !expected->array[i]) continue;
        if (!actual->array[i]) {
            note(&worst, HUGE_VAL, (ks_output)(1 << i), -1, -1);
            continue;
        }
        if (golden_kinds[i].block == GOLDEN_SCALAR || (1 << i) == KS_OUT_INNOVATION_STD) {
            compare_plain(actual, expected, i, &worst);
            continue;
        }
        for (int64_t b = 0; b < expected->B; b++)
            compare_series(actual, expected, i, b, norm, &worst);
    }
    if (worst.error < 0) /* nothing was compared */
        worst.error = HUGE_VAL;
    return worst;
}
