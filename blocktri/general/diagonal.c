/* diagonal.c -- factorization of the diagonal blocks, each by a suitable solver. */
#include <math.h>
#include <string.h>
#include "general_plan.h"
#include "lapack.h"

/* Most growth of elements in elimination without interchanges, relative to those of the block. It costs
 * a digit at most; beyond it interchanges are used. Diagonally dominant blocks stay below 3. */
enum { MOST_GROWTH = 10 };

static int64_t pivots_as_numbers(int n) { return ((int64_t)n + 1) / 2; }

static int64_t pcr_numbers(int n)
{
    int64_t levels = 0;
    for (int64_t s = 1; s < n; s *= 2) ++levels;
    return (2 * levels + 1) * n;
}

int64_t ks_gb_diagonal_numbers(ks_block_solver solver, int n, ks_block_format format)
{
    const int64_t m = n;
    if (format == KS_BLOCK_DENSE) return m * m + pivots_as_numbers(n);
    switch (solver) {
    case KS_BLOCK_SOLVER_THOMAS: return 3 * m;
    case KS_BLOCK_SOLVER_CYCLIC_REDUCTION: return 5 * m;
    case KS_BLOCK_SOLVER_PARALLEL_CYCLIC_REDUCTION: return pcr_numbers(n);
    default: return 4 * m + pivots_as_numbers(n);
    }
}

int ks_gb_unusable(double pivot) { return pivot == 0 || !isfinite(pivot) || !isfinite(1 / pivot); }

int ks_gb_dense_factor(int n, double *A, int *pivots)
{
    for (int64_t i = 0; i < (int64_t)n * n; ++i)
        if (!isfinite(A[i])) return (int)(i % n);
    if (n > 1) ks_lapack_getrf_f64(n, A, n, pivots);
    else pivots[0] = 1;
    for (int r = 0; r < n; ++r)
        if (ks_gb_unusable(A[(int64_t)r * n + r])) return r;
    return -1;
}

/* f: dl | 1 / d | du | du2 | pivots */
static int factor_pivoted(int n, const double *dia, double *f)
{
    const int64_t m = n;
    double *dl = f, *d = f + m, *du = f + 2 * m, *du2 = f + 3 * m;
    memcpy(dl, dia + 1, (size_t)(m - 1) * sizeof *dl);
    memcpy(d, dia + m, (size_t)m * sizeof *d);
    memcpy(du, dia + 2 * m, (size_t)(m - 1) * sizeof *du);
    dl[m - 1] = du[m - 1] = du2[m - 1] = 0;
    if (m > 1) du2[m - 2] = 0;
    for (int r = 0; r < n; ++r)
        if (!isfinite(d[r]) || !isfinite(dl[r]) || !isfinite(du[r])) return r;
    ks_lapack_gttrf_f64(n, dl, d, du, du2, (int *)(f + 4 * m));
    for (int r = 0; r < n; ++r) {
        if (ks_gb_unusable(d[r])) return r;
        d[r] = 1 / d[r];
    }
    return -1;
}

/* Factor one block. Return -1 or the failing row. *kind: how the block was factored. */
static int factor_block(const ks_general_plan *plan, const ks_general_block *D, double *f,
                        int32_t *kind, double *scratch)
{
    double growth = 0;
    *kind = KS_GB_DENSE;
    if (D->format == KS_BLOCK_DENSE) {
        ks_gb_columns(plan->n, D, f);
        return ks_gb_dense_factor(plan->n, f, (int *)(f + (int64_t)plan->n * plan->n));
    }
    switch (plan->options.block_solver) {
    case KS_BLOCK_SOLVER_CYCLIC_REDUCTION:
        *kind = KS_GB_CR;
        return plan->kernels->factor_cr(plan->n, D->values, f, scratch);
    case KS_BLOCK_SOLVER_PARALLEL_CYCLIC_REDUCTION:
        *kind = KS_GB_PCR;
        return plan->kernels->factor_pcr(plan->n, D->values, f, scratch);
    case KS_BLOCK_SOLVER_THOMAS:
        *kind = KS_GB_THOMAS;
        return plan->kernels->factor_thomas(plan->n, D->values, f, &growth);
    case KS_BLOCK_SOLVER_AUTO:
        *kind = KS_GB_THOMAS;
        if (plan->kernels->factor_thomas(plan->n, D->values, f, &growth) < 0 &&
            growth <= MOST_GROWTH)
            return -1;
        break;
    case KS_BLOCK_SOLVER_LU: break;
    }
    *kind = KS_GB_TRI_LU;
    return factor_pivoted(plan->n, D->values, f);
}

typedef struct diagonal_run {
    const ks_general_plan *plan;
    const ks_general_matrix *matrix;
    double *factor, *scratch;
    int32_t *kind;
} diagonal_run;

/* For a block that fails, the kind is -1 - row. */
static void factor_chunks(void *arg, int64_t begin, int64_t end, int worker)
{
    const diagonal_run *run = arg;
    const ks_general_plan *plan = run->plan;
    double *scratch = run->scratch + (size_t)worker * ks_gb_scratch(plan);
    const int64_t to = end * plan->chunk < plan->N ? end * plan->chunk : plan->N;
    for (int64_t j = begin * plan->chunk; j < to; ++j) {
        const int row = factor_block(plan, &run->matrix->D[j], run->factor + plan->offset[j],
                                     &run->kind[j], scratch);
        if (row >= 0) run->kind[j] = -1 - row;
    }
}

int64_t ks_gb_diagonal_factor(const ks_general_plan *plan, const ks_general_matrix *matrix,
                              double *factor, int32_t *kind, double *scratch, int *pivot)
{
    diagonal_run run = { plan, matrix, factor, scratch, kind };
    ks_parallel_for(plan->context, plan->workers, plan->chunks, factor_chunks, &run);
    for (int64_t j = 0; j < plan->N; ++j)
        if (kind[j] < 0) {
            *pivot = -1 - kind[j];
            return j;
        }
    return -1;
}
