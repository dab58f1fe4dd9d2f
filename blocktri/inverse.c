/* inverse.c -- blocks of the inverse, from the last level down. */
#include "blocktri_plan.h"
#include "hd.h"

typedef struct inverse_run {
    const ks_blocktri_plan *plan;
    const ks_blocktri_factor *factor;
    ks_blocks diagonal, lag;
    ks_bt_work work;
    int level;
} inverse_run;

/* Where the inverse at the couplings of level l goes: the caller's array for level 0, workspace for those above. */
static ks_blocks couplings(const inverse_run *run, int l)
{
    if (l == 0) return run->lag;
    const ks_blocktri_plan *plan = run->plan;
    ks_blocks edges;
    edges.stride = ks_bt_size(plan);
    edges.data = ks_bt_at(plan, run->work.S_edges, plan->schedule.level[l].edges * edges.stride);
    return edges;
}

static void inverse_lanes(void *arg, int64_t begin, int64_t end, int worker)
{
    const inverse_run *run = arg;
    const ks_blocktri_plan *plan = run->plan;
    const ks_blocks own = couplings(run, run->level);
    const unsigned mode = ks_flush_begin();
    for (int64_t number = begin; number < end; ++number) {
        ks_bt_chain c = ks_bt_chain_of(plan, run->factor, run->level, number);
        c.scratch = ks_bt_scratch(plan, &run->work, worker);
        c.S = run->diagonal.data;
        c.S_stride = run->diagonal.stride;
        c.S_edge = own.data;
        c.S_edge_stride = own.stride;
        if (c.bridge) {
            const ks_blocks above = couplings(run, run->level + 1);
            c.S_bridge = ks_bt_at(plan, above.data, (number - 1) * above.stride);
        }
        plan->kernels->inverse(&c);
    }
    ks_flush_end(mode);
}

ks_status ks_blocktri_inverse_blocks(const ks_blocktri_plan *plan,
                                     const ks_blocktri_factor *factor, ks_blocks diagonal,
                                     ks_blocks lag, void *work)
{
    if (!ks_bt_valid_factor(plan, factor) || !ks_bt_valid_work(work)) return KS_EINVAL;
    const int64_t size = ks_bt_size(plan);
    const size_t number = plan->kernels->number;
    if (!ks_bt_valid_blocks(diagonal, number, plan->N, size) ||
        (lag.data && !ks_bt_valid_blocks(lag, number, plan->N - 1, size)))
        return KS_EINVAL;
    inverse_run run = { plan, factor, diagonal, lag, { NULL, NULL, NULL }, 0 };
    ks_carver carver = ks_carver_at(work);
    ks_bt_carve(&carver, plan, 1, &run.work);
    for (run.level = plan->schedule.levels - 1; run.level >= 0; --run.level)
        ks_parallel_for(plan->context, plan->workers, plan->schedule.level[run.level].lanes,
                        inverse_lanes, &run);
    ks_carve_end(&carver);
    return KS_OK;
}
