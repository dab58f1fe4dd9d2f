/* factor.c -- factorization level by level: all lanes of a level, then the updates of its separators. */
#include <string.h>
#include "blocktri_plan.h"
#include "hd.h"
#include "reach.h"

typedef struct factor_run {
    const ks_blocktri_plan *plan;
    const ks_blocktri_matrix *matrix;
    const ks_blocktri_factor *factor;
    ks_bt_work work;
    int level;
} factor_run;

int ks_bt_valid_blocks(ks_blocks blocks, size_t number, int64_t count, int64_t size)
{
    if (count == 0) return 1;
    return blocks.data && ks_is_aligned(blocks.data, number) && (count == 1 || blocks.stride >= size) &&
           ks_within_reach(count, blocks.stride, 1, 0, size);
}

int ks_bt_valid_input(ks_const_blocks blocks, size_t number, int64_t count, int64_t size)
{
    if (count == 0) return 1;
    return blocks.data && ks_is_aligned(blocks.data, number) &&
           (count == 1 || blocks.stride == 0 || blocks.stride >= size) &&
           ks_within_reach(count, blocks.stride, 1, 0, size);
}

int ks_bt_valid_factor(const ks_blocktri_plan *plan, const ks_blocktri_factor *factor)
{
    if (!plan || !factor) return 0;
    const int64_t size = ks_bt_size(plan);
    const size_t number = plan->kernels->number;
    return ks_bt_valid_blocks(factor->D, number, plan->N, size) &&
           ks_bt_valid_blocks(factor->L, number, plan->N - 1, size) &&
           (plan->fill == 0 || (factor->fill && ks_is_aligned(factor->fill, number)));
}

void *ks_bt_scratch(const ks_blocktri_plan *plan, const ks_bt_work *work, int worker)
{
    const size_t panels = KS_BT_PANELS * ks_bt_panel(plan->n, plan->ld);
    return ks_bt_at(plan, work->panels, worker * (int64_t)panels);
}

ks_blocks ks_bt_edges(const ks_blocktri_plan *plan, const ks_blocktri_factor *factor, int l)
{
    if (l == 0) return factor->L;
    ks_blocks edges;
    edges.stride = ks_bt_size(plan);
    edges.data = ks_bt_at(plan, factor->fill, plan->schedule.level[l].edges * edges.stride);
    return edges;
}

ks_bt_chain ks_bt_chain_of(const ks_blocktri_plan *plan, const ks_blocktri_factor *factor, int l,
                           int64_t number)
{
    const ks_bt_schedule *s = &plan->schedule;
    const ks_bt_level *level = &s->level[l];
    const ks_bt_lane lane = ks_bt_lane_of(level, number);
    const ks_blocks edges = ks_bt_edges(plan, factor, l);
    ks_bt_chain c = { 0 };
    c.n = plan->n;
    c.ld = plan->ld;
    c.offset = level->offset;
    c.stride = level->stride;
    c.last = plan->N - 1;
    c.count = lane.count;
    c.first = lane.down ? lane.begin + lane.count - 1 : lane.begin;
    c.step = lane.down ? -1 : 1;
    c.anchor = lane.anchor >= 0 ? ks_bt_block(s, level, lane.anchor) : -1;
    c.target = lane.target >= 0 ? ks_bt_block(s, level, lane.target) : -1;
    c.D = factor->D.data;
    c.D_stride = factor->D.stride;
    c.edge = edges.data;
    c.edge_stride = edges.stride;
    c.D_in = c.D;
    c.D_in_stride = c.D_stride;
    c.edge_in = c.edge;
    c.edge_in_stride = c.edge_stride;
    c.fill = ks_bt_at(plan, factor->fill, lane.fill * ks_bt_size(plan));
    if (c.anchor >= 0 && c.target >= 0) {
        const ks_blocks above = ks_bt_edges(plan, factor, l + 1);
        c.bridge = ks_bt_at(plan, above.data, (number - 1) * above.stride);
    }
    return c;
}

/* Groups of consecutive lanes that one thread eliminates. If lanes are single blocks, the target's
 * block is updated as soon as its coupling is computed, so that neither is read from memory again
 * (right-looking, as in GPU-Cholesky Alg. 6, see kalscan/order.h). The target of the last lane of a
 * group is updated later, as it belongs to the next group, too. Groups depend only on the level, so
 * that sums have the same order on any number of threads. */
enum { GROUP = 16, GROUPS = 64 };

static int64_t group_of(const ks_bt_level *level)
{
    if (level->mirrored || level->period > 2 || level->lanes < 2 * GROUPS) return 1;
    return level->lanes / GROUPS < GROUP ? level->lanes / GROUPS : GROUP;
}

/* Subtract from the target of lane q the update by the lane, and in a twisted order that by the upper lane, too. */
static void gather_target(const factor_run *run, int64_t q, void *scratch)
{
    const ks_blocktri_plan *plan = run->plan;
    const ks_bt_level *level = &plan->schedule.level[run->level];
    const ks_blocks edges = ks_bt_edges(plan, run->factor, run->level);
    const int64_t position = ks_bt_separator(level, q);
    const int64_t block = ks_bt_block(&plan->schedule, level, position);
    void *D = ks_bt_at(plan, run->factor->D.data, block * run->factor->D.stride);
    if (ks_bt_lane_of(level, q).count > 0)
        plan->kernels->gather(plan->n, ks_bt_at(plan, edges.data, (position - 1) * edges.stride), D, scratch);
    if (level->mirrored && level->lanes > 1)
        plan->kernels->gather(plan->n, ks_bt_at(plan, edges.data, position * edges.stride), D, scratch);
}

static void factor_lane(factor_run *run, int64_t number, int worker)
{
    ks_bt_failure *failure = &run->work.failure[worker];
    ks_bt_chain c = ks_bt_chain_of(run->plan, run->factor, run->level, number);
    c.scratch = ks_bt_scratch(run->plan, &run->work, worker);
    if (run->level == 0) {
        c.D_in = run->matrix->D.data;
        c.D_in_stride = run->matrix->D.stride;
        c.edge_in = run->matrix->L.data;
        c.edge_in_stride = run->matrix->L.stride;
    }
    const ks_bt_failure f = run->plan->kernels->factor(&c);
    if (f.block >= 0 && (failure->block < 0 || f.block < failure->block)) *failure = f;
}

static void factor_lanes(void *arg, int64_t begin, int64_t end, int worker)
{
    factor_run *run = arg;
    const ks_bt_level *level = &run->plan->schedule.level[run->level];
    const int64_t group = group_of(level);
    const int64_t last = end * group < level->lanes ? end * group : level->lanes;
    void *scratch = ks_bt_scratch(run->plan, &run->work, worker);
    /* Couplings with an anchor decay along a lane, often to denormal numbers, which would be slow. */
    const unsigned mode = ks_flush_begin();
    for (int64_t q = begin * group; q < last; ++q) {
        factor_lane(run, q, worker);
        if (q < level->separators && (q + 1) % group != 0) gather_target(run, q, scratch);
    }
    ks_flush_end(mode);
}

/* Copy the separators' blocks to the factor, where lanes subtract their updates. */
static void copy_separators(void *arg, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    factor_run *run = arg;
    const ks_blocktri_plan *plan = run->plan;
    const ks_bt_level *level = &plan->schedule.level[0];
    const size_t number = plan->kernels->number, bytes = (size_t)ks_bt_size(plan) * number;
    for (int64_t q = begin; q < end; ++q) {
        const int64_t block = ks_bt_separator(level, q);
        memcpy(ks_bt_at(plan, run->factor->D.data, block * run->factor->D.stride),
               (const char *)run->matrix->D.data +
                   (size_t)(block * run->matrix->D.stride) * number,
               bytes);
    }
}

/* Update the targets that factor_lanes() has left. */
static void gather_separators(void *arg, int64_t begin, int64_t end, int worker)
{
    factor_run *run = arg;
    const int64_t group = group_of(&run->plan->schedule.level[run->level]);
    void *scratch = ks_bt_scratch(run->plan, &run->work, worker);
    for (int64_t q = begin; q < end; ++q) gather_target(run, (q + 1) * group - 1, scratch);
}

/* The failure with the lowest block of the level that has just run. */
static ks_bt_failure failure_of(const factor_run *run)
{
    ks_bt_failure lowest = { -1, -1 };
    for (int w = 0; w < run->plan->workers; ++w) {
        const ks_bt_failure f = run->work.failure[w];
        if (f.block >= 0 && (lowest.block < 0 || f.block < lowest.block)) lowest = f;
    }
    return lowest;
}

static ks_bt_failure factor_levels(factor_run *run)
{
    const ks_blocktri_plan *plan = run->plan;
    const ks_bt_schedule *s = &plan->schedule;
    ks_bt_failure failure = { -1, -1 };
    for (int w = 0; w < plan->workers; ++w) run->work.failure[w] = failure;
    if (run->matrix->D.data != run->factor->D.data)
        ks_parallel_for(plan->context, plan->workers, s->level[0].separators, copy_separators, run);
    for (int l = 0; l < s->levels; ++l) {
        run->level = l;
        const int64_t group = group_of(&s->level[l]);
        ks_parallel_for(plan->context, plan->workers, (s->level[l].lanes + group - 1) / group,
                        factor_lanes, run);
        failure = failure_of(run);
        if (failure.block >= 0) break;
        ks_parallel_for(plan->context, plan->workers, s->level[l].separators / group,
                        gather_separators, run);
    }
    return failure;
}

static int valid(const ks_blocktri_plan *plan, const ks_blocktri_matrix *A,
                 const ks_blocktri_factor *factor, const void *work)
{
    if (!A || !ks_bt_valid_factor(plan, factor) || !ks_bt_valid_work(work)) return 0;
    const int64_t size = ks_bt_size(plan);
    const size_t number = plan->kernels->number;
    /* In place, matrix and factor must have the same strides. */
    if (A->D.data == factor->D.data && plan->N > 1 && A->D.stride != factor->D.stride) return 0;
    if (A->L.data == factor->L.data && plan->N > 2 && A->L.stride != factor->L.stride) return 0;
    return ks_bt_valid_input(A->D, number, plan->N, size) && ks_bt_valid_input(A->L, number, plan->N - 1, size);
}

ks_status ks_blocktri_factorize(const ks_blocktri_plan *plan, const ks_blocktri_matrix *matrix,
                                const ks_blocktri_factor *factor, void *work,
                                ks_blocktri_info *info)
{
    ks_blocktri_info mine = KS_BLOCKTRI_INFO_INIT;
    if (info && info->size != sizeof *info) return KS_EINVAL;
    if (!valid(plan, matrix, factor, work)) {
        mine.status = KS_EINVAL;
    } else {
        factor_run run = { plan, matrix, factor, { NULL, NULL, NULL }, 0 };
        ks_carver carver = ks_carver_at(work);
        ks_bt_carve(&carver, plan, 0, &run.work);
        const ks_bt_failure failure = factor_levels(&run);
        ks_carve_end(&carver);
        mine.block = failure.block;
        mine.pivot = failure.pivot;
        mine.status = failure.block >= 0 ? KS_ENOTPD : KS_OK;
    }
    if (info) *info = mine;
    return mine.status;
}
