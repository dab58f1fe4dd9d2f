/* block_methods.c -- the MAP smoother and its parts, as kalman/map/map.c runs them. */
#include "blocktri_cost.h"
#include "blocktri_model.h"
#include "map.h"
#include "map_cost.h"

ks_status ks_block_costs_find(ks_unit_costs *costs)
{
    ks_status status = ks_bt_unit_costs_find(&costs->blocks, costs->nx, 1);
    if (status == KS_OK) status = ks_bt_unit_costs_find(&costs->probed, costs->nx, KS_MAP_PROBES);
    return status == KS_OK ? ks_map_unit_costs_find(costs) : status;
}

/** The time by the papers' formula, in flops for blocks of order n. */
static int64_t model_flops(const ks_count_case *what, int64_t n)
{
    const int64_t thirds = ks_bt_model_time(&what->blocks, what->T, what->threads);
    int64_t flops;
    if (n > 1 << 16 || __builtin_mul_overflow(thirds, n * n * n, &flops)) return 0;
    return flops / 3;
}

static ks_status count_part(ks_count *count, const ks_unit_costs *costs, const ks_count_case *what,
                            const ks_blocktri_plan *plan)
{
    switch (what->method) {
    case KS_COUNT_BLOCKTRI: return ks_map_count(count, costs, plan, what->T, what->threads);
    case KS_COUNT_ASSEMBLE: return ks_map_count_assembly(count, costs, what->T, what->threads);
    case KS_COUNT_FACTOR: return ks_bt_count_factor(count, &costs->blocks, plan, what->threads);
    case KS_COUNT_SOLVE: return ks_bt_count_solve(count, &costs->blocks, plan, what->threads);
    case KS_COUNT_INVERSE: return ks_bt_count_inverse(count, &costs->blocks, plan, what->threads);
    default: return KS_EINVAL;
    }
}

/** Means and covariances of the smoother need no storage of their own: they are the solution and the inverse. */
static ks_status storage(ks_count_result *result, const ks_count_case *what,
                         const ks_blocktri_plan *plan)
{
    const int whole = what->method == KS_COUNT_BLOCKTRI;
    const int vectors = whole                                ? 1 + ks_map_count_probes(what->T)
                        : what->method == KS_COUNT_SOLVE ||
                                what->method == KS_COUNT_ASSEMBLE ? 1
                                                                  : 0;
    return ks_bt_count_storage(plan, vectors, whole || what->method == KS_COUNT_INVERSE,
                               &result->storage_elements, &result->storage_bytes);
}

ks_status ks_count_blocks(ks_count *count, ks_count_result *result, const ks_unit_costs *costs,
                          const ks_count_case *what)
{
    ks_blocktri_plan *plan = NULL;
    ks_bt_choice choice = what->blocks;
    if (costs->blocks.n != costs->nx) return KS_EINVAL;
    /* The assembly has no order. Its storage is that of the order without fill. */
    if (what->method == KS_COUNT_ASSEMBLE) choice.order = KS_BLOCKTRI_SEQUENTIAL;
    ks_status status = ks_bt_count_plan(&plan, &choice, what->T, costs->nx, what->threads);
    if (status == KS_OK) status = count_part(count, costs, what, plan);
    if (status == KS_OK) status = storage(result, what, plan);
    if (status == KS_OK && what->method == KS_COUNT_FACTOR)
        result->model_flops = model_flops(what, costs->nx);
    ks_blocktri_plan_destroy(plan);
    return status;
}
