/* banded_lu.c -- direct elimination of the whole matrix as one band, with pivots across blocks.
 *
 * Every column takes its pivot from all rows that reach it, those of the next block as well (Golub & Van Loan, "Matrix
 * Computations", 4th ed., Sec. 4.3.3). So a nonsingular matrix has pivots whatever its diagonal blocks are, at about
 * three times the operations of block LU on dense blocks: interchanges fill the band up to below + above.
 *
 * LAPACK stores a band by columns: entry (r, c) at [below + above + r - c + c ld], where ld counts the numbers of a
 * column. That is a column-major matrix whose columns are ld - 1 apart, to which blocks are written as to any other. The
 * factor has this band, and then the pivots. */
#include <limits.h>
#include <math.h>
#include <string.h>
#include "general_plan.h"
#include "lapack.h"

/* Take in a diagonal, `down` rows below the main one. */
static void reach(ks_gb_band *band, int64_t down)
{
    if (down > band->below) band->below = down;
    if (-down > band->above) band->above = -down;
}

/* Take in a block whose first entry lies `down` rows below the main diagonal. */
static void take_in(ks_gb_band *band, int n, const ks_general_block *block, int64_t down)
{
    const int64_t width = block->format == KS_BLOCK_DENSE ? n - 1 : n > 1;
    switch (block->format) {
    case KS_BLOCK_DENSE:
    case KS_BLOCK_DIA:
        reach(band, down - width);
        reach(band, down + width);
        return;
    case KS_BLOCK_COO:
        for (int32_t e = 0; e < block->count; ++e) reach(band, down + block->rows[e] - block->cols[e]);
        return;
    case KS_BLOCK_CSR:
        for (int r = 0; r < n; ++r)
            for (int32_t e = block->rows[r]; e < block->rows[r + 1]; ++e) reach(band, down + r - block->cols[e]);
        return;
    }
}

ks_gb_band ks_gb_band_of(int64_t N, int n, const ks_general_matrix *matrix)
{
    ks_gb_band band = { 0, 0 };
    for (int64_t i = 0; i < N; ++i) take_in(&band, n, &matrix->D[i], 0);
    for (int64_t i = 0; i + 1 < N; ++i) {
        take_in(&band, n, &matrix->L[i], n);
        take_in(&band, n, &matrix->U[i], -(int64_t)n);
    }
    return band;
}

int64_t ks_gb_band_column(const ks_gb_band *band) { return 2 * band->below + band->above + 1; }

int ks_gb_band_countable(int64_t N, int n, const ks_gb_band *band)
{
    return N <= INT_MAX / n && ks_gb_band_column(band) <= INT_MAX;
}

/* Write all blocks into a band that holds zeros. */
static void fill(const ks_general_plan *plan, const ks_general_matrix *matrix, double *numbers)
{
    const int n = plan->n;
    const int64_t ld = ks_gb_band_column(&plan->band), block = n * ld;
    double *D = numbers + plan->band.below + plan->band.above;
    for (int64_t i = 0; i < plan->N; ++i, D += block) {
        ks_gb_place(n, &matrix->D[i], 1, ld - 1, D);
        if (i + 1 == plan->N) break;
        ks_gb_place(n, &matrix->L[i], 1, ld - 1, D + n);
        ks_gb_place(n, &matrix->U[i], 1, ld - 1, D + block - n);
    }
}

/* Return the first row, by columns, of a number that is not finite, or -1. */
static int64_t find_not_finite(const ks_general_plan *plan, const double *numbers)
{
    const int64_t ld = ks_gb_band_column(&plan->band), rows = plan->N * plan->n;
    for (int64_t c = 0; c < rows; ++c, numbers += ld)
        for (int64_t k = plan->band.below; k < ld; ++k)
            if (!isfinite(numbers[k])) return c + k - plan->band.below - plan->band.above;
    return -1;
}

int64_t ks_gb_banded_factor(const ks_general_plan *plan, const ks_general_matrix *matrix, double *numbers, int *pivots,
                            int *pivot)
{
    const int64_t ld = ks_gb_band_column(&plan->band), rows = plan->N * plan->n;
    const int below = (int)plan->band.below, above = (int)plan->band.above;
    memset(numbers, 0, (size_t)plan->numbers * sizeof *numbers);
    fill(plan, matrix, numbers);
    int64_t row = find_not_finite(plan, numbers);
    if (row < 0) {
        ks_lapack_gbtrf_f64((int)rows, below, above, numbers, (int)ld, pivots);
        for (row = 0; row < rows && !ks_gb_unusable(numbers[below + above + row * ld]); ++row) continue;
        if (row == rows) return -1;
    }
    *pivot = (int)(row % plan->n);
    return row / plan->n;
}

void ks_gb_banded_solve(ks_gb_run *run, const double *numbers, const int *pivots)
{
    const ks_gb_band *band = &run->plan->band;
    const int64_t rows = ks_gb_rows(run);
    memcpy(run->x, run->b, (size_t)rows * sizeof *run->x);
    ks_lapack_gbtrs_f64((int)rows, (int)band->below, (int)band->above, numbers, (int)ks_gb_band_column(band), pivots,
                        run->x);
}
