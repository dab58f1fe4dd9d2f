/* low_rank_lu.c -- direct elimination for matrices whose blocks above the diagonal have entries in few columns.
 *
 * With U[i] = V[i] E[i]', E[i] the r columns of the identity in which U[i] has entries, block LU (block_lu.c) makes
 *
 * Y[i] = S[i]^-1 V[i],   S[i + 1] = D[i + 1] - (L[i] Y[i]) E[i]'
 *
 * so that every S is its diagonal block and a correction of rank r. S is never formed. By the formula of Sherman,
 * Morrison and Woodbury,
 *
 * S[i + 1]^-1 b = z + Z (I - E[i]' Z)^-1 E[i]' z,   z = D[i + 1]^-1 b,   Z = D[i + 1]^-1 L[i] Y[i]
 *
 * which takes r + 1 solves with a diagonal block instead of the n^3 operations of block LU. If the blocks below have
 * fewer columns, elimination goes from the last block to the first: then "position" p is block N - 1 - p, otherwise
 * block p.
 *
 * The diagonal blocks must be well conditioned themselves, not only S. Refinement restores lost digits, or the solution
 * is refused (solve.c).
 *
 * The factor has the factored diagonal blocks; then for each position -Z and Y (n, r), column by column, and the LU of
 * I - E' Z (r, r); then the kinds of the blocks, the pivots of these LUs, and the columns of E. */
#include <string.h>
#include "general_plan.h"

/* The parts of the factor of one position. columns are those of E, ended by -1 if fewer than the rank. */
typedef struct part {
    double *Z, *Y, *K;
    int *pivots;
    int32_t *columns;
} part;

static int64_t numbers_of_part(int n, int rank) { return (2 * (int64_t)n + rank) * rank; }

int64_t ks_gb_low_rank_numbers(int64_t N, int n, int rank) { return N * numbers_of_part(n, rank); }

size_t ks_gb_low_rank_after(int64_t N, int rank)
{
    return (size_t)N * (sizeof(int32_t) + (size_t)rank * (sizeof(int) + sizeof(int32_t)));
}

static part part_of(const ks_general_plan *plan, const double *factor, int64_t p)
{
    const int64_t n = plan->n, r = plan->rank, N = plan->N;
    double *numbers = (double *)(uintptr_t)factor + plan->offset[N] + p * numbers_of_part(plan->n, plan->rank);
    int32_t *after = (int32_t *)(void *)((double *)(uintptr_t)factor + plan->numbers) + N;
    return (part){ numbers, numbers + n * r, numbers + 2 * n * r, (int *)after + p * r, after + (N + p) * r };
}

/* List the distinct columns in which a block has entries, in any order. Return their number, or KS_GB_FEW_COLUMNS + 1
 * if there are more. */
static int columns_of(int n, const ks_general_block *block, int32_t *list)
{
    int count = 0;
    if (block->format == KS_BLOCK_DENSE) {
        for (int32_t c = 0; c < n; ++c) {
            int64_t r = 0;
            while (r < n && block->values[r * n + c] == 0) ++r;
            if (r == n) continue;
            if (count == KS_GB_FEW_COLUMNS) return count + 1;
            list[count++] = c;
        }
        return count;
    }
    for (int32_t e = 0; e < block->count; ++e) {
        int i = 0;
        while (i < count && list[i] != block->cols[e]) ++i;
        if (i < count) continue;
        if (count == KS_GB_FEW_COLUMNS) return count + 1;
        list[count++] = block->cols[e];
    }
    return count;
}

static int most_columns(int64_t N, int n, const ks_general_block *blocks)
{
    int32_t list[KS_GB_FEW_COLUMNS];
    int most = 0;
    for (int64_t i = 0; i + 1 < N; ++i) {
        const int count = columns_of(n, &blocks[i], list);
        if (count > most) most = count;
    }
    return most > KS_GB_FEW_COLUMNS ? n : most;
}

int ks_gb_rank(int64_t N, int n, const ks_general_matrix *matrix, int *reversed)
{
    const int above = most_columns(N, n, matrix->U), below = most_columns(N, n, matrix->L);
    *reversed = below < above;
    return *reversed ? below : above;
}

static int64_t block_at(const ks_general_plan *plan, int64_t p) { return plan->reversed ? plan->N - 1 - p : p; }

/* The coupling in the rows of position p with p + 1, and that in the rows of p + 1 with p. */
static const ks_general_block *above(const ks_general_plan *plan, const ks_general_block *L, const ks_general_block *U,
                                     int64_t p)
{
    return plan->reversed ? &L[block_at(plan, p + 1)] : &U[p];
}

static const ks_general_block *below(const ks_general_plan *plan, const ks_general_block *L, const ks_general_block *U,
                                     int64_t p)
{
    return plan->reversed ? &U[block_at(plan, p + 1)] : &L[p];
}

/* Set the columns of E for a block, and return their number. These are all columns if the block has entries in many. */
static int take_columns(int n, int rank, const ks_general_block *block, int32_t *columns)
{
    int32_t list[KS_GB_FEW_COLUMNS];
    int count = columns_of(n, block, list);
    if (count > KS_GB_FEW_COLUMNS) {
        for (count = 0; count < n; ++count) columns[count] = count;
        return n;
    }
    memcpy(columns, list, (size_t)count * sizeof *list);
    for (int i = count; i < rank; ++i) columns[i] = -1;
    return count;
}

static int count_of(const ks_general_plan *plan, const part *at)
{
    int count = 0;
    while (count < plan->rank && at->columns[count] >= 0) ++count;
    return count;
}

/* x <- D^-1 x of block i; scratch: n */
static void solve_diagonal(const ks_general_plan *plan, const ks_gb_system *system, int64_t i, double *x, double *scratch)
{
    ks_gb_system one = *system;
    one.N = 1;
    one.D += i;
    one.offset += i;
    one.kind += i;
    plan->kernels->precondition(&one, x, x, 0, 1, scratch);
}

/* Complete x <- S^-1 x of a position after the solve with its diagonal block. t: rank numbers. */
static void correct(const ks_general_plan *plan, const part *before, const part *at, int count, double *x, double *t)
{
    const ks_gb_kernels *k = plan->kernels;
    if (count == 0) return;
    for (int c = 0; c < count; ++c) t[c] = x[before->columns[c]];
    k->dense_solve(count, at->K, at->pivots, t);
    for (int c = 0; c < count; ++c) k->axpby(plan->n, -t[c], at->Z + (int64_t)c * plan->n, 1, x);
}

/* Column c of a block. */
static void column_of(int n, const ks_general_block *block, int32_t c, double *x)
{
    memset(x, 0, (size_t)n * sizeof *x);
    if (block->format == KS_BLOCK_DENSE)
        for (int64_t r = 0; r < n; ++r) x[r] = block->values[r * n + c];
    else if (block->format == KS_BLOCK_COO)
        for (int32_t e = 0; e < block->count; ++e) x[block->rows[e]] += block->cols[e] == c ? block->values[e] : 0;
    else
        for (int64_t r = 0; r < n; ++r)
            for (int32_t e = block->rows[r]; e < block->rows[r + 1]; ++e) x[r] += block->cols[e] == c ? block->values[e] : 0;
}

/* Compute -Z of position p > 0 and the LU of I - E' Z. Return -1, or the row without a usable pivot. */
static int make_correction(const ks_general_plan *plan, const ks_gb_system *system, int64_t p, const part *before,
                           const part *at, int count, double *scratch)
{
    const int64_t n = plan->n;
    for (int c = 0; c < count; ++c) {
        double *z = at->Z + c * n;
        memset(z, 0, (size_t)n * sizeof *z);
        plan->kernels->subtract(plan->n, below(plan, system->L, system->U, p - 1), before->Y + c * n, z);
        solve_diagonal(plan, system, block_at(plan, p), z, scratch);
        for (int a = 0; a < count; ++a) at->K[c * count + a] = (a == c) + z[before->columns[a]];
    }
    const int row = count > 0 ? ks_gb_dense_factor(count, at->K, at->pivots) : -1;
    return row < 0 ? -1 : before->columns[row];
}

int64_t ks_gb_low_rank_factor(const ks_gb_run *run, const ks_general_matrix *matrix, double *factor, int32_t *kind,
                              int *pivot)
{
    const ks_general_plan *plan = run->plan;
    const ks_gb_system *system = &run->system;
    const int64_t n = plan->n;
    double *scratch = run->scratch, *t = scratch + n;
    const int64_t failed = ks_gb_diagonal_factor(plan, matrix, factor, kind, scratch, pivot);
    if (failed >= 0) return failed;
    part before = part_of(plan, factor, 0);
    for (int64_t p = 0, count = 0; p < plan->N; ++p) {
        const part at = part_of(plan, factor, p);
        if (p > 0 && (*pivot = make_correction(plan, system, p, &before, &at, (int)count, scratch)) >= 0)
            return block_at(plan, p);
        if (p + 1 == plan->N) break;
        const ks_general_block *coupling = above(plan, matrix->L, matrix->U, p);
        const int next = take_columns(plan->n, plan->rank, coupling, at.columns);
        for (int c = 0; c < next; ++c) {
            double *y = at.Y + c * n;
            column_of(plan->n, coupling, at.columns[c], y);
            solve_diagonal(plan, system, block_at(plan, p), y, scratch);
            if (p > 0) correct(plan, &before, &at, (int)count, y, t);
        }
        before = at;
        count = next;
    }
    return -1;
}

void ks_gb_low_rank_solve(ks_gb_run *run, const double *factor)
{
    const ks_general_plan *plan = run->plan;
    const ks_gb_system *system = &run->system;
    const int64_t n = plan->n, N = plan->N;
    double *scratch = run->scratch, *t = scratch + n;
    memcpy(run->x, run->b, (size_t)(N * n) * sizeof *run->x);
    part before = part_of(plan, factor, 0);
    for (int64_t p = 0; p < N; ++p) {
        const part at = part_of(plan, factor, p);
        double *x = run->x + block_at(plan, p) * n;
        if (p > 0)
            plan->kernels->subtract(plan->n, below(plan, system->L, system->U, p - 1),
                                    run->x + block_at(plan, p - 1) * n, x);
        solve_diagonal(plan, system, block_at(plan, p), x, scratch);
        if (p > 0) correct(plan, &before, &at, count_of(plan, &before), x, t);
        before = at;
    }
    for (int64_t p = N - 2; p >= 0; --p) {
        const part at = part_of(plan, factor, p);
        const double *next = run->x + block_at(plan, p + 1) * n;
        double *x = run->x + block_at(plan, p) * n;
        for (int c = 0, count = count_of(plan, &at); c < count; ++c)
            plan->kernels->axpby(n, -next[at.columns[c]], at.Y + c * n, 1, x);
    }
}
