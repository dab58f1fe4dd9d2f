/* blocktri_cost.c -- count the operations of the orders by classes of lanes. */
#include <string.h>
#include "blocktri_cost.h"
#include "blocktri_plan.h"
#include "count_chains.h"
#include "room.h"

/* Positions of the longest lane that is executed: its blocks, its anchor and its target. */
enum { POSITIONS = 4 };

/** A short lane with all arrays that it reads and writes. */
typedef struct bench {
    ks_bt_kernels kernels;
    int n, nrhs;
    double *D, *edge, *fill, *bridge, *x, *S, *S_edge, *scratch;
} bench;

static void carve(ks_carver *carver, void *of)
{
    bench *b = of;
    const size_t n = (size_t)b->n, size = n * n, number = sizeof(double);
    b->D = ks_carve(carver, POSITIONS * size, number);
    b->edge = ks_carve(carver, POSITIONS * size, number);
    b->fill = ks_carve(carver, POSITIONS * size, number);
    b->bridge = ks_carve(carver, size, number);
    b->x = ks_carve(carver, POSITIONS * n * (size_t)b->nrhs, number);
    b->S = ks_carve(carver, POSITIONS * size, number);
    b->S_edge = ks_carve(carver, POSITIONS * size, number);
    b->scratch = ks_carve(carver, KS_BT_PANELS * ks_bt_panel(b->n, b->n), number);
}

/** Fill in a positive definite system. Its values do not matter otherwise. */
static void fill_in(bench *b)
{
    const int n = b->n;
    for (int k = 0; k < POSITIONS; ++k)
        for (int i = 0; i < n * n; ++i) {
            const double one = i % (n + 1) == 0;
            b->D[k * n * n + i] = 4 * one;
            b->edge[k * n * n + i] = one;
            b->S[k * n * n + i] = one;
            b->bridge[i] = 0;
        }
    for (int i = 0; i < POSITIONS * n * b->nrhs; ++i) b->x[i] = 1;
}

/** The chain of a lane. Position 0 is the anchor, the target is behind the blocks. */
static ks_bt_chain chain_of(const bench *b, int anchored, int blocks, int targeted)
{
    const int64_t size = (int64_t)b->n * b->n;
    ks_bt_chain c;
    memset(&c, 0, sizeof c);
    c.n = c.ld = b->n;
    c.stride = 1;
    c.last = POSITIONS - 1;
    c.first = 1;
    c.count = blocks;
    c.step = 1;
    c.anchor = anchored ? 0 : -1;
    c.target = targeted ? 1 + blocks : -1;
    c.D_in = c.D = b->D;
    c.edge_in = c.edge = b->edge;
    c.D_in_stride = c.D_stride = c.edge_in_stride = c.edge_stride = size;
    c.fill = b->fill;
    c.bridge = b->bridge;
    c.scratch = b->scratch;
    c.m = b->nrhs;
    c.x = b->x;
    c.x_stride = (int64_t)b->n * b->nrhs;
    c.S = b->S;
    c.S_edge = b->S_edge;
    c.S_stride = c.S_edge_stride = size;
    c.S_bridge = b->bridge;
    return c;
}

static ks_flops difference(ks_flops a, ks_flops b)
{
    const ks_flops d = {a.adds - b.adds, a.multiplies - b.multiplies, a.divisions - b.divisions,
                        a.square_roots - b.square_roots};
    return d;
}

/** Execute one lane. Return non-zero if its factorization fails. */
static int execute(bench *b, int anchored, int blocks, int targeted, ks_flops flops[4])
{
    fill_in(b);
    const ks_bt_chain c = chain_of(b, anchored, blocks, targeted);
    (void)ks_bt_take_flops();
    const ks_bt_failure failure = b->kernels.factor(&c);
    flops[0] = ks_bt_take_flops();
    b->kernels.forward(&c);
    flops[1] = ks_bt_take_flops();
    b->kernels.backward(&c);
    flops[2] = ks_bt_take_flops();
    b->kernels.inverse(&c);
    flops[3] = ks_bt_take_flops();
    return failure.block >= 0;
}

static int find(bench *b, ks_bt_unit_costs *costs)
{
    ks_bt_lane_cost *const lane[4] = {&costs->factor, &costs->forward, &costs->backward,
                                      &costs->inverse};
    ks_flops one[4], two[4];
    int failed = 0;
    for (int anchored = 0; anchored < 2; ++anchored) {
        for (int targeted = 0; targeted < 2; ++targeted) {
            failed |= execute(b, anchored, 1, targeted, one);
            for (int i = 0; i < 4; ++i) lane[i]->end[anchored][targeted] = one[i];
        }
        failed |= execute(b, anchored, 2, 1, two);
        for (int i = 0; i < 4; ++i) lane[i]->inner[anchored] = difference(two[i], one[i]);
    }
    fill_in(b);
    b->kernels.gather(b->n, b->edge, b->D, b->scratch);
    costs->gather = ks_bt_take_flops();
    b->kernels.gather_x(b->n, b->nrhs, b->edge, b->x, b->x + b->n * b->nrhs, NULL);
    costs->gather_x = ks_bt_take_flops();
    return failed;
}

ks_status ks_bt_unit_costs_find(ks_bt_unit_costs *costs, int n, int nrhs)
{
    bench b;
    if (n < 1 || nrhs < 1) return KS_EINVAL;
    memset(costs, 0, sizeof *costs);
    memset(&b, 0, sizeof b);
    costs->n = b.n = n;
    b.nrhs = nrhs;
    ks_bt_counting_kernels(&b.kernels);
    ks_carver room = ks_room_open(carve, &b);
    if (!room.base) return KS_ENOMEM;
    const int failed = find(&b, costs);
    ks_room_close(&room);
    return failed ? KS_ENOTPD : KS_OK;
}

ks_status ks_bt_count_plan(ks_blocktri_plan **plan, const ks_bt_choice *choice, int64_t N, int n,
                           int64_t threads)
{
    ks_blocktri_options options = KS_BLOCKTRI_OPTIONS_INIT;
    *plan = NULL;
    if (choice->order == KS_BLOCKTRI_AUTO) return KS_EINVAL;
    options.order = choice->order;
    options.segments = choice->segments ? choice->segments : threads > 2 ? threads : 2;
    options.separator_spacing = choice->spacing;
    options.crossover = choice->crossover;
    return ks_blocktri_plan_create(plan, NULL, N, n, &options);
}

static int lane_flops(const ks_bt_lane_cost *cost, const ks_bt_lane *lane, ks_flops *flops)
{
    const int anchored = lane->anchor >= 0;
    const ks_flops none = {0, 0, 0, 0};
    *flops = none;
    return lane->count > 0 && (ks_flops_add(flops, cost->end[anchored][lane->target >= 0], 1) ||
                               ks_flops_add(flops, cost->inner[anchored], lane->count - 1));
}

/** Count all lanes of a level. Those between the first and the last are alike: only the last separator may
 *  be at an irregular position, and the last lane is the one before it. */
static ks_status count_lanes(ks_count *count, const ks_bt_lane_cost *cost, const ks_bt_level *level,
                             int64_t threads)
{
    ks_lane_class list[3];
    int classes = 0;
    for (int64_t q = 0; q < level->lanes; q += list[classes++].lanes) {
        const ks_bt_lane lane = ks_bt_lane_of(level, q);
        list[classes].lanes = q == 1 && level->lanes > 2 ? level->lanes - 2 : 1;
        if (lane_flops(cost, &lane, &list[classes].each)) return KS_ENOMEM;
    }
    return ks_count_step(count, list, classes, threads);
}

/** Count the updates of a level's separators that its lanes leave. */
static ks_status count_gather(ks_count *count, ks_flops gather, const ks_bt_level *level,
                              int64_t threads)
{
    ks_lane_class list[3];
    int classes = 0;
    if (level->separators == 0) return KS_OK;
    for (int64_t q = 0; q < level->separators; q += list[classes++].lanes) {
        const ks_flops none = {0, 0, 0, 0};
        const int lanes = (ks_bt_lane_of(level, q).count > 0) +
                          (level->mirrored && level->lanes > 1);
        list[classes].lanes = q == 1 && level->separators > 2 ? level->separators - 2 : 1;
        list[classes].each = none;
        if (ks_flops_add(&list[classes].each, gather, lanes)) return KS_ENOMEM;
    }
    return ks_count_step(count, list, classes, threads);
}

static ks_status count_up(ks_count *count, const ks_bt_lane_cost *cost, ks_flops gather,
                          const ks_bt_schedule *s, int64_t threads)
{
    ks_status status = KS_OK;
    for (int l = 0; l < s->levels && status == KS_OK; ++l) {
        status = count_lanes(count, cost, &s->level[l], threads);
        if (status == KS_OK) status = count_gather(count, gather, &s->level[l], threads);
    }
    return status;
}

static ks_status count_down(ks_count *count, const ks_bt_lane_cost *cost, const ks_bt_schedule *s,
                            int64_t threads)
{
    ks_status status = KS_OK;
    for (int l = s->levels - 1; l >= 0 && status == KS_OK; --l)
        status = count_lanes(count, cost, &s->level[l], threads);
    return status;
}

ks_status ks_bt_count_factor(ks_count *count, const ks_bt_unit_costs *unit,
                             const ks_blocktri_plan *plan, int64_t threads)
{
    return count_up(count, &unit->factor, unit->gather, &plan->schedule, threads);
}

ks_status ks_bt_count_solve(ks_count *count, const ks_bt_unit_costs *unit,
                            const ks_blocktri_plan *plan, int64_t threads)
{
    const ks_status status =
        count_up(count, &unit->forward, unit->gather_x, &plan->schedule, threads);
    return status == KS_OK ? count_down(count, &unit->backward, &plan->schedule, threads) : status;
}

ks_status ks_bt_count_inverse(ks_count *count, const ks_bt_unit_costs *unit,
                              const ks_blocktri_plan *plan, int64_t threads)
{
    return count_down(count, &unit->inverse, &plan->schedule, threads);
}

ks_status ks_bt_count_storage(const ks_blocktri_plan *plan, int vectors, int inverse,
                              int64_t *blocks, int64_t *bytes)
{
    /* Only the total may overflow: the plan has found each term addressable. */
    const ks_bt_schedule *s = &plan->schedule;
    int64_t vector_bytes;
    *blocks = 2 * s->N - 1 + s->fill_blocks + (inverse ? s->N + s->edge_blocks : 0);
    if (__builtin_mul_overflow(*blocks, ks_bt_size(plan) * (int64_t)sizeof(double), bytes) ||
        __builtin_mul_overflow(vectors * s->N, plan->n * (int64_t)sizeof(double),
                               &vector_bytes) ||
        __builtin_add_overflow(*bytes, vector_bytes, bytes))
        return KS_ENOMEM;
    return KS_OK;
}
