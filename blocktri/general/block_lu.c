/* block_lu.c -- direct elimination from the first block to the last, with pivoting within blocks.
 *
 *     S[0] = D[0],  X[i] = S[i]^-1 U[i],  S[i + 1] = D[i + 1] - L[i] X[i]
 *
 * The factor holds the LU of every S, then every X, column-major. */
#include <string.h>
#include "general_plan.h"
#include "lapack.h"

int64_t ks_gb_lu_numbers(int64_t N, int n)
{
    const int64_t block = (int64_t)n * n;
    return (2 * N - 1) * block;
}

/* S -= A X. S and X are column-major, A may be of any format. scratch: n n. */
static void subtract_product(int n, const ks_general_block *A, const double *X, double *S,
                             double *scratch)
{
    const int64_t m = n;
    if (A->format == KS_BLOCK_COO) {
        for (int64_t c = 0; c < m; ++c)
            for (int32_t e = 0; e < A->count; ++e)
                S[c * m + A->rows[e]] -= A->values[e] * X[c * m + A->cols[e]];
        return;
    }
    ks_gb_columns(n, A, scratch);
    /* In row-major order these are the transposed matrices: S' -= X' A'. */
    ks_lapack_gemm_f64(0, n, n, n, -1, X, n, scratch, n, 1, S, n);
}

int64_t ks_gb_lu_factor(const ks_general_plan *plan, const ks_general_matrix *matrix,
                        double *numbers, int *pivots, double *scratch, int *pivot)
{
    const int n = plan->n;
    const int64_t block = (int64_t)n * n;
    double *S = numbers, *X = numbers + plan->N * block;
    for (int64_t i = 0; i < plan->N; ++i, S += block, X += block, pivots += n) {
        ks_gb_columns(n, &matrix->D[i], S);
        if (i > 0) subtract_product(n, &matrix->L[i - 1], X - block, S, scratch);
        *pivot = ks_gb_dense_factor(n, S, pivots);
        if (*pivot >= 0) return i;
        if (i + 1 == plan->N) break;
        ks_gb_columns(n, &matrix->U[i], X);
        ks_lapack_getrs_f64(n, n, S, n, pivots, X, n);
    }
    return -1;
}

void ks_gb_lu_solve(ks_gb_run *run, const double *numbers, const int *pivots)
{
    const ks_gb_kernels *k = run->plan->kernels;
    const int n = run->plan->n;
    const int64_t m = n, N = run->plan->N, block = m * m;
    const double *X = numbers + N * block;
    memcpy(run->x, run->b, (size_t)(N * m) * sizeof *run->x);
    for (int64_t i = 0; i < N; ++i) {
        double *x = run->x + i * m;
        if (i > 0) k->subtract(n, &run->system.L[i - 1], x - m, x);
        k->dense_solve(n, numbers + i * block, pivots + i * m, x);
    }
    for (int64_t i = N - 2; i >= 0; --i)
        k->columns(n, X + i * block, run->x + (i + 1) * m, run->x + i * m);
}
