/* cyclic.c -- direct elimination by block cyclic reduction, with pivoting within blocks.
 *
 * At each level the blocks at odd positions e are eliminated at the same time:
 *     P = D[e]^-1 L[e],  Q = D[e]^-1 U[e],   with L[e] = A[e, e - 1], U[e] = A[e, e + 1],
 * and for the remaining even positions r
 *     D[r] -= L[r] Q[r - 1] + U[r] P[r + 1],  L'[r] = -L[r] P[r - 1],  U'[r] = -U[r] Q[r + 1].
 *
 * The factor has, column-major, the N diagonal blocks, replaced by their LU when they are eliminated.
 * Then it has, for each level, a block below and one above for each position: P and Q for odd ones,
 * L and U for even ones. In level 0 those of even positions are the matrix's own, so only odd
 * positions have a place. */
#include <string.h>
#include "general_plan.h"
#include "hd.h"
#include "lapack.h"

enum { MOST_LEVELS = 63 };

typedef struct level {
    int64_t count;          /* blocks                                            */
    int64_t stride;         /* position p is block p stride of the matrix        */
    double *below, *above;  /* blocks of the positions, see place()              */
} level;

typedef struct cyclic {
    const ks_general_plan *plan;
    const ks_general_matrix *matrix;
    int levels;             /* levels with eliminations; then one block remains  */
    level level[MOST_LEVELS];
    double *D, *scratch;
    int *pivots;            /* n for each block of the matrix                    */
    int *failed;            /* row + 1 for each block of the matrix              */
    int at;                 /* the current level                                 */
    double *x;
    ks_range_function function;
} cyclic;

static int64_t slots(int l, int64_t count) { return l == 0 ? count / 2 : count; }

int64_t ks_gb_cyclic_numbers(int64_t N, int n)
{
    const int64_t block = (int64_t)n * n;
    int64_t numbers = N * block;
    int l = 0;
    for (int64_t count = N; count > 1; count = (count + 1) / 2)
        numbers += 2 * slots(l++, count) * block;
    return numbers;
}

static void lay_out(cyclic *c, double *numbers)
{
    const int64_t block = (int64_t)c->plan->n * c->plan->n;
    int64_t count = c->plan->N, stride = 1;
    c->D = numbers;
    numbers += count * block;
    c->levels = 0;
    for (; count > 1; count = (count + 1) / 2, stride *= 2) {
        level *l = &c->level[c->levels];
        const int64_t room = slots(c->levels, count) * block;
        *l = (level){ count, stride, numbers, numbers + room };
        numbers += 2 * room;
        ++c->levels;
    }
}

/* The place of position p of level l in `blocks`. */
static double *place(const cyclic *c, int l, double *blocks, int64_t p)
{
    return blocks + (l == 0 ? p / 2 : p) * (int64_t)c->plan->n * c->plan->n;
}

static double *diagonal(const cyclic *c, int64_t block)
{
    return c->D + block * (int64_t)c->plan->n * c->plan->n;
}

/* C = beta C - A B, column-major. In row-major order: C' = beta C' - B' A'. */
static void product(int n, const double *A, const double *B, double beta, double *C)
{
    ks_lapack_gemm_f64(0, n, n, n, -1, B, n, A, n, beta, C, n);
}

static void load(void *arg, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    const cyclic *c = arg;
    for (int64_t i = begin; i < end; ++i)
        ks_gb_columns(c->plan->n, &c->matrix->D[i], diagonal(c, i));
}

/* Item e: position 2 e + 1. */
static void eliminate(void *arg, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    const cyclic *c = arg;
    const level *l = &c->level[c->at];
    const int n = c->plan->n;
    for (int64_t e = begin; e < end; ++e) {
        const int64_t p = 2 * e + 1, block = p * l->stride;
        double *D = diagonal(c, block), *P = place(c, c->at, l->below, p);
        double *Q = place(c, c->at, l->above, p);
        int *pivots = c->pivots + block * n;
        if (c->at == 0) {
            ks_gb_columns(n, &c->matrix->L[p - 1], P);
            if (p + 1 < l->count) ks_gb_columns(n, &c->matrix->U[p], Q);
        }
        const int row = ks_gb_dense_factor(n, D, pivots);
        c->failed[block] = row + 1;
        if (row >= 0) continue;
        ks_lapack_getrs_f64(n, n, D, n, pivots, P, n);
        if (p + 1 < l->count) ks_lapack_getrs_f64(n, n, D, n, pivots, Q, n);
    }
}

/* The block below or above of position r, which is not eliminated at this level. In level 0 it comes from the
 * matrix. */
static const double *coupling(const cyclic *c, int64_t r, int above, double *scratch)
{
    const level *l = &c->level[c->at];
    if (c->at > 0) return place(c, c->at, above ? l->above : l->below, r);
    ks_gb_columns(c->plan->n, above ? &c->matrix->U[r] : &c->matrix->L[r - 1], scratch);
    return scratch;
}

/* Item q: position 2 q, which becomes position q of the next level. */
static void reduce(void *arg, int64_t begin, int64_t end, int worker)
{
    const cyclic *c = arg;
    const level *l = &c->level[c->at];
    const int n = c->plan->n, more = c->at + 1 < c->levels;
    double *scratch = c->scratch + (size_t)worker * ks_gb_scratch(c->plan);
    for (int64_t q = begin; q < end; ++q) {
        const int64_t r = 2 * q;
        double *D = diagonal(c, r * l->stride);
        if (r > 0) {
            const double *L = coupling(c, r, 0, scratch);
            product(n, L, place(c, c->at, l->above, r - 1), 1, D);
            if (more)
                product(n, L, place(c, c->at, l->below, r - 1), 0,
                        place(c, c->at + 1, l[1].below, q));
        }
        if (r + 1 < l->count) {
            const double *U = coupling(c, r, 1, scratch);
            product(n, U, place(c, c->at, l->below, r + 1), 1, D);
            if (more && r + 2 < l->count)
                product(n, U, place(c, c->at, l->above, r + 1), 0,
                        place(c, c->at + 1, l[1].above, q));
        }
    }
}

static int64_t first_failed(const cyclic *c, int *pivot)
{
    for (int64_t i = 0; i < c->plan->N; ++i)
        if (c->failed[i] > 0) {
            *pivot = c->failed[i] - 1;
            return i;
        }
    return -1;
}

int64_t ks_gb_cyclic_factor(const ks_general_plan *plan, const ks_general_matrix *matrix,
                            double *numbers, int *pivots, double *scratch, int *pivot)
{
    cyclic c = { .plan = plan, .matrix = matrix, .scratch = scratch, .pivots = pivots };
    c.failed = pivots + plan->N * plan->n;
    memset(c.failed, 0, (size_t)plan->N * sizeof *c.failed);
    lay_out(&c, numbers);
    ks_parallel_for(plan->context, plan->workers, plan->N, load, &c);
    for (c.at = 0; c.at < c.levels; ++c.at) {
        const int64_t count = c.level[c.at].count;
        ks_parallel_for(plan->context, plan->workers, count / 2, eliminate, &c);
        const int64_t failed = first_failed(&c, pivot);
        if (failed >= 0) return failed;
        ks_parallel_for(plan->context, plan->workers, (count + 1) / 2, reduce, &c);
    }
    *pivot = ks_gb_dense_factor(plan->n, diagonal(&c, 0), pivots);
    return *pivot < 0 ? -1 : 0;
}

/* As in run.c: denormal numbers are zero on every thread. */
static void flushing(void *arg, int64_t begin, int64_t end, int worker)
{
    const unsigned mode = ks_flush_begin();
    ((const cyclic *)arg)->function(arg, begin, end, worker);
    ks_flush_end(mode);
}

static void in_parallel(cyclic *c, int64_t items, ks_range_function function)
{
    c->function = function;
    ks_parallel_for(c->plan->context, c->plan->workers, items, flushing, c);
}

static double *part(const cyclic *c, int64_t p)
{
    return c->x + p * c->level[c->at].stride * c->plan->n;
}

static void solve_odd(void *arg, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    const cyclic *c = arg;
    const int n = c->plan->n;
    for (int64_t e = begin; e < end; ++e) {
        const int64_t block = (2 * e + 1) * c->level[c->at].stride;
        c->plan->kernels->dense_solve(n, diagonal(c, block), c->pivots + block * n,
                                      part(c, 2 * e + 1));
    }
}

static void gather_even(void *arg, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    const cyclic *c = arg;
    const level *l = &c->level[c->at];
    const ks_gb_kernels *k = c->plan->kernels;
    const int n = c->plan->n;
    for (int64_t q = begin; q < end; ++q) {
        const int64_t r = 2 * q;
        if (c->at == 0) {
            if (r > 0) k->subtract(n, &c->matrix->L[r - 1], part(c, r - 1), part(c, r));
            if (r + 1 < l->count) k->subtract(n, &c->matrix->U[r], part(c, r + 1), part(c, r));
        } else {
            if (r > 0) k->columns(n, place(c, c->at, l->below, r), part(c, r - 1), part(c, r));
            if (r + 1 < l->count)
                k->columns(n, place(c, c->at, l->above, r), part(c, r + 1), part(c, r));
        }
    }
}

static void spread_odd(void *arg, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    const cyclic *c = arg;
    const level *l = &c->level[c->at];
    for (int64_t e = begin; e < end; ++e) {
        const int64_t p = 2 * e + 1;
        c->plan->kernels->columns(c->plan->n, place(c, c->at, l->below, p), part(c, p - 1),
                                  part(c, p));
        if (p + 1 < l->count)
            c->plan->kernels->columns(c->plan->n, place(c, c->at, l->above, p), part(c, p + 1),
                                      part(c, p));
    }
}

void ks_gb_cyclic_solve(ks_gb_run *run, const double *numbers, const int *pivots)
{
    const ks_general_plan *plan = run->plan;
    const ks_general_matrix matrix = { run->system.D, run->system.L, run->system.U };
    /* The casts are safe: a solve only reads the factor. */
    cyclic c = { .plan = plan, .matrix = &matrix, .pivots = (int *)(uintptr_t)pivots,
                 .x = run->x };
    lay_out(&c, (double *)(uintptr_t)numbers);
    memcpy(run->x, run->b, (size_t)ks_gb_rows(run) * sizeof *run->x);
    for (c.at = 0; c.at < c.levels; ++c.at) {
        in_parallel(&c, c.level[c.at].count / 2, solve_odd);
        in_parallel(&c, (c.level[c.at].count + 1) / 2, gather_even);
    }
    plan->kernels->dense_solve(plan->n, diagonal(&c, 0), pivots, run->x);
    for (c.at = c.levels - 1; c.at >= 0; --c.at)
        in_parallel(&c, c.level[c.at].count / 2, spread_odd);
}
