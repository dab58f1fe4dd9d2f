/* gradient_rows.h -- the arithmetic of the gradient, step by step: one table for each instruction-set tier. The text is
 * in gradient_text.h, the drivers are gradient.c and gradient_series.c. */
#ifndef KS_GRADIENT_ROWS_H
#define KS_GRADIENT_ROWS_H

#include <stddef.h>
#include <stdint.h>
#include "series.h"

/** Derivatives by the model's arrays. */
enum { KS_BY_F, KS_BY_Q, KS_BY_U, KS_BY_H, KS_BY_R, KS_BY_D, KS_BY_M0, KS_BY_P0, KS_BY_ARRAYS };

typedef struct ks_gradient_rows {
    const ks_series *series;
    int columns;         /* directions of a diffuse prior */
    /* What the filter made of the steps that are taken, and of the step before the first of them. Columns are stored
     * one after the other, (columns, nx). */
    ks_sink predicted_mean, predicted_cov, predicted_columns;
    ks_sink filtered_mean, filtered_cov, filtered_columns;
    const double *mean_before, *cov_before, *columns_before;
    /* Derivatives are added here; without a base: not asked for. A stride of 0: the sum over all steps. */
    ks_sink to[KS_BY_ARRAYS];
} ks_gradient_rows;

/** What later steps tell: r (nx) and N (nx, nx) of the filtered estimate of the step before them, and r of each
 *  column. */
typedef struct ks_gradient_state { double *r, *N, *columns; } ks_gradient_state;

/** What observations tell of the directions, to be added to: J (columns, columns), lower triangle, and b (columns), with
 *  log p = const - (x' J x + 2 b' x) / 2. J is NULL if that is not asked for. v (columns, ny) is scratch. */
typedef struct ks_gradient_told { double *J, *b, *v; } ks_gradient_told;

/** Numbers of `work`. */
static inline size_t ks_gradient_work(size_t nx, size_t ny)
{
    return 8 * ny * nx + 4 * ny * ny + 5 * ny + 10 * nx * nx + 2 * nx;
}

/** Faults go to the tally. Functions return 0 or -1. */
typedef struct ks_gradient_kernels {
    /** Take steps k1 - 1 .. k0 back, and at step 0 add the derivatives by the prior. */
    int (*back)(const ks_gradient_rows *rows, int64_t k0, int64_t k1, ks_gradient_state *state, double *work,
                ks_tally *tally);
    /** Take the columns X (columns, nx) over steps k0 .. k1 - 1. */
    int (*forward)(const ks_gradient_rows *rows, int64_t k0, int64_t k1, double *X, ks_gradient_told *told, double *work,
                   ks_tally *tally);
} ks_gradient_kernels;

/** The table of a tier, see ks_kernels_of(). */
const ks_gradient_kernels *ks_gradient_kernels_of(ks_tier tier);

extern const ks_gradient_kernels ks_gradient_baseline, ks_gradient_avx2;

#endif
