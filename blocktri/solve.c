/* solve.c -- substitution through the levels and back; log-determinant; residual. */
#include <math.h>
#include <string.h>
#include "blocktri_plan.h"
#include "hd.h"

typedef struct solve_run {
    const ks_blocktri_plan *plan;
    const ks_blocktri_factor *factor;
    const ks_bt_kernels *kernels;
    int nrhs;
    ks_const_blocks b;
    ks_blocks x;
    ks_bt_work work;
    int level, backward;
} solve_run;

/* The kernel table: few columns would leave half of a wide vector empty, so they use narrower vectors. */
static const ks_bt_kernels *kernels_for(const ks_blocktri_plan *plan, int nrhs)
{
    const int width = plan->kernels->width, rest = nrhs % width;
    const int half_empty = nrhs > 1 && nrhs < 2 * width && rest > 0 && rest <= width / 2;
    return half_empty ? plan->narrow : plan->kernels;
}

/* Blocks that one task copies: enough to be worth a task. */
enum { COPIED = 1024 };

static void copy_blocks(void *arg, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    const solve_run *run = arg;
    const ks_blocktri_plan *plan = run->plan;
    const size_t number = plan->kernels->number;
    const size_t bytes = (size_t)plan->n * (size_t)run->nrhs * number;
    const int64_t to = end * COPIED < plan->N ? end * COPIED : plan->N;
    for (int64_t k = begin * COPIED; k < to; ++k)
        memcpy(ks_bt_at(plan, run->x.data, k * run->x.stride),
               (const char *)run->b.data + (size_t)(k * run->b.stride) * number, bytes);
}

static void solve_lanes(void *arg, int64_t begin, int64_t end, int worker)
{
    const solve_run *run = arg;
    const unsigned mode = ks_flush_begin();
    for (int64_t number = begin; number < end; ++number) {
        ks_bt_chain c = ks_bt_chain_of(run->plan, run->factor, run->level, number);
        c.scratch = ks_bt_scratch(run->plan, &run->work, worker);
        c.m = run->nrhs;
        c.x = run->x.data;
        c.x_stride = run->x.stride;
        if (run->backward)
            run->kernels->backward(&c);
        else
            run->kernels->forward(&c);
    }
    ks_flush_end(mode);
}

static void gather_separators(void *arg, int64_t begin, int64_t end, int worker)
{
    const solve_run *run = arg;
    const ks_blocktri_plan *plan = run->plan;
    const ks_bt_schedule *s = &plan->schedule;
    const ks_bt_level *level = &s->level[run->level];
    const ks_blocks edges = ks_bt_edges(plan, run->factor, run->level);
    void *scratch = ks_bt_scratch(plan, &run->work, worker);
    for (int64_t q = begin; q < end; ++q) {
        const int64_t position = ks_bt_separator(level, q);
        void *x = ks_bt_at(plan, run->x.data, ks_bt_block(s, level, position) * run->x.stride);
        if (ks_bt_lane_of(level, q).count > 0)
            run->kernels->gather_x(
                plan->n, run->nrhs, ks_bt_at(plan, edges.data, (position - 1) * edges.stride),
                ks_bt_at(plan, run->x.data, ks_bt_block(s, level, position - 1) * run->x.stride),
                x, scratch);
        if (level->mirrored && level->lanes > 1)
            run->kernels->gather_x(
                plan->n, run->nrhs, ks_bt_at(plan, edges.data, position * edges.stride),
                ks_bt_at(plan, run->x.data, ks_bt_block(s, level, position + 1) * run->x.stride),
                x, scratch);
    }
}

ks_status ks_blocktri_solve(const ks_blocktri_plan *plan, const ks_blocktri_factor *factor,
                            int nrhs, ks_const_blocks b, ks_blocks x, void *work)
{
    if (nrhs < 1 || !ks_bt_valid_factor(plan, factor) || !ks_bt_valid_work(work)) return KS_EINVAL;
    const int64_t size = (int64_t)plan->n * nrhs;
    const size_t number = plan->kernels->number;
    if (!ks_bt_valid_input(b, number, plan->N, size) || !ks_bt_valid_blocks(x, number, plan->N, size) ||
        (b.data == x.data && plan->N > 1 && b.stride != x.stride))
        return KS_EINVAL;
    const ks_bt_schedule *s = &plan->schedule;
    solve_run run = { plan, factor, kernels_for(plan, nrhs), nrhs, b, x, { NULL, NULL, NULL }, 0, 0 };
    ks_carver carver = ks_carver_at(work);
    ks_bt_carve(&carver, plan, 0, &run.work);
    if (b.data != x.data)
        ks_parallel_for(plan->context, plan->workers, (plan->N + COPIED - 1) / COPIED, copy_blocks,
                        &run);
    for (run.level = 0; run.level < s->levels; ++run.level) {
        const ks_bt_level *level = &s->level[run.level];
        ks_parallel_for(plan->context, plan->workers, level->lanes, solve_lanes, &run);
        ks_parallel_for(plan->context, plan->workers, level->separators, gather_separators, &run);
    }
    run.backward = 1;
    for (run.level = s->levels - 1; run.level >= 0; --run.level)
        ks_parallel_for(plan->context, plan->workers, s->level[run.level].lanes, solve_lanes, &run);
    ks_carve_end(&carver);
    return KS_OK;
}

ks_status ks_blocktri_logdet(const ks_blocktri_plan *plan, const ks_blocktri_factor *factor,
                             double *logdet)
{
    if (!logdet || !ks_bt_valid_factor(plan, factor)) return KS_EINVAL;
    *logdet = plan->kernels->logdet(plan->n, plan->N, factor->D.data, factor->D.stride);
    return KS_OK;
}

/* Set factors[i] to a power of two if the sum of squares sums[i] may have over- or underflowed, else to 1. If there is
 * such a sum, set all sums to zero for a second pass and return true. Numbers that still underflow in that pass are
 * negligible beside the largest one. */
static int bring_into_range(double sums[4], double factors[4])
{
    int any = 0;
    for (int i = 0; i < 4; ++i) {
        factors[i] = sums[i] > 1e-200 && sums[i] < 1e200 ? 1 : sums[i] <= 1e-200 ? 0x1p600 : 0x1p-600;
        any |= factors[i] != 1;
    }
    for (int i = 0; any && i < 4; ++i) sums[i] = 0;
    return any;
}

ks_status ks_blocktri_residual(const ks_blocktri_plan *plan, const ks_blocktri_matrix *matrix,
                               int nrhs, ks_const_blocks x, ks_const_blocks b,
                               ks_blocktri_norms *norms)
{
    if (!plan || !matrix || !norms || nrhs < 1) return KS_EINVAL;
    const int64_t size = ks_bt_size(plan), rows = (int64_t)plan->n * nrhs;
    const size_t number = plan->kernels->number;
    if (!ks_bt_valid_input(matrix->D, number, plan->N, size) ||
        !ks_bt_valid_input(matrix->L, number, plan->N - 1, size) ||
        !ks_bt_valid_input(x, number, plan->N, rows) || !ks_bt_valid_input(b, number, plan->N, rows))
        return KS_EINVAL;
    double sums[4] = { 0, 0, 0, 0 }, factors[4] = { 1, 1, 1, 1 };
    plan->kernels->residual(plan->n, nrhs, plan->N, matrix, x, b, factors, sums);
    if (bring_into_range(sums, factors)) plan->kernels->residual(plan->n, nrhs, plan->N, matrix, x, b, factors, sums);
    norms->residual = sqrt(sums[0]) / factors[0];
    norms->solution = sqrt(sums[1]) / factors[1];
    norms->right_hand_side = sqrt(sums[2]) / factors[2];
    norms->matrix = sqrt(sums[3]) / factors[3];
    return KS_OK;
}
