/* map_cost.c -- count the operations of the MAP smoother by classes of chunks. */
#include <string.h>
#include "blocktri_cost.h"
#include "count_kernels.h"
#include "map_cost.h"
#include "room.h"
#include "sample_model.h"

enum { STEPS = 4 };

/** A short series with its system. */
typedef struct bench {
    ks_map_kernels kernels;
    ks_series series;
    ks_map_system system;
    ks_sample_model model;
    double *D, *L, *x, *z, *S;
    void *memory, *upper; /* memory of the lower and of the upper lane */
} bench;

static void carve(ks_carver *carver, void *of)
{
    bench *b = of;
    const size_t n = (size_t)b->series.nx, number = sizeof(double);
    ks_sample_model_carve(carver, b->series.nx, b->series.ny, &b->model);
    b->D = ks_carve(carver, STEPS * n * n, number);
    b->L = ks_carve(carver, STEPS * n * n, number);
    b->x = ks_carve(carver, STEPS * n, number);
    b->z = ks_carve(carver, STEPS * n * KS_MAP_PROBES, number);
    b->S = ks_carve(carver, STEPS * n * n, number);
    b->memory = ks_carve(carver, 1, b->kernels.memory_bytes(b->series.nx, b->series.ny));
    b->upper = ks_carve(carver, 1, b->kernels.memory_bytes(b->series.nx, b->series.ny));
}

static ks_sink rows_of(double *memory, int64_t numbers)
{
    return ks_sample_rows(memory, (size_t)numbers * sizeof(double));
}

/** Fill in a model, with strides as if its arrays varied, and the other arrays that the passes read. */
static void make_model(bench *b)
{
    ks_series *s = &b->series;
    ks_map_system *a = &b->system;
    const int n = s->nx;
    ks_sample_model_fill(&b->model, s);
    for (int k = 0; k < STEPS; ++k) ks_sample_fill(b->S + k * n * n, n, n, 1.0, 0.0);
    ks_sample_fill(b->x, STEPS * n, 1, 1.0, 1.0);
    ks_sample_fill(b->z, STEPS * n * KS_MAP_PROBES, 1, 1.0, 1.0);
    a->D = rows_of(b->D, (int64_t)n * n);
    a->L = rows_of(b->L, (int64_t)n * n);
    a->x = rows_of(b->x, n);
    a->S = rows_of(b->S, (int64_t)n * n);
    a->largest = 1e300;
}

/** Take step k of a pass over a series of `steps` and return its operations. *failed is set if it fails. */
static ks_flops take(bench *b, int review, int64_t steps, int64_t k, int own, int before,
                     int *failed)
{
    ks_map_review r;
    ks_tally tally;
    memset(&r, 0, sizeof r);
    memset(&tally, 0, sizeof tally);
    b->series.steps = steps;
    (void)ks_take_flops();
    *failed |= review ? b->kernels.review(&b->series, k, own, before, &b->system, b->memory, &r,
                                          &tally)
                      : b->kernels.assemble(&b->series, k, own, before, &b->system, b->memory,
                                            &tally);
    return ks_take_flops();
}

static int find(bench *b, int review, int probes, ks_map_step_cost *cost)
{
    int failed = 0;
    b->system.probes = probes;
    b->system.z = rows_of(b->z, (int64_t)b->series.nx * probes);
    b->kernels.open(b->series.nx, b->series.ny, b->memory);
    cost->prior_only = take(b, review, 1, 0, 1, 0, &failed);
    cost->prior = take(b, review, STEPS, 0, 1, 0, &failed);
    cost->inner = take(b, review, STEPS, 1, 1, 1, &failed);
    cost->beyond = take(b, review, STEPS, 2, 0, 1, &failed);
    cost->opens = take(b, review, STEPS, 2, 1, 0, &failed);
    cost->inner_last = take(b, review, STEPS, 3, 1, 1, &failed);
    cost->opens_last = take(b, review, STEPS, 3, 1, 0, &failed);
    return failed;
}

typedef int (*lane_step)(const ks_series *s, int64_t k0, int64_t k1, const ks_map_system *a,
                         void *memory, ks_map_review *r, ks_tally *tally);

static ks_map_review empty_review(void)
{
    ks_map_review r;
    memset(&r, 0, sizeof r);
    r.evidence.product = 1;
    return r;
}

/** Take step k of one lane and return its operations. */
static ks_flops take_step(bench *b, lane_step step, void *memory, int64_t k, int *failed)
{
    ks_map_review r = empty_review();
    ks_tally tally;
    memset(&tally, 0, sizeof tally);
    (void)ks_take_flops();
    *failed |= step(&b->series, k, k + 1, &b->system, memory, &r, &tally);
    return ks_take_flops();
}

static ks_flops meet(bench *b, void *upper)
{
    ks_map_review r = empty_review();
    (void)ks_take_flops();
    b->kernels.meet(b->series.nx, b->system.middle, &b->system, b->memory, upper, &r);
    return ks_take_flops();
}

static ks_flops join(bench *b, void *upper)
{
    ks_map_review r = empty_review();
    (void)ks_take_flops();
    b->kernels.join(b->series.nx, b->system.middle, &b->system, b->memory, upper, &r);
    return ks_take_flops();
}

static void open_lanes(bench *b, int64_t steps, int64_t middle)
{
    b->series.steps = steps;
    b->system.middle = middle;
    b->kernels.open(b->series.nx, b->series.ny, b->memory);
    b->kernels.open(b->series.nx, b->series.ny, b->upper);
}

/** Find the costs of the lower lane, inwards and back out. */
static int find_lower(bench *b, ks_map_lane_cost *c)
{
    const ks_map_kernels *k = &b->kernels;
    int failed = 0;
    open_lanes(b, 1, 0);
    (void)take_step(b, k->ascend, b->memory, 0, &failed);
    (void)meet(b, NULL);
    c->down_alone = take_step(b, k->back_down, b->memory, 0, &failed);
    open_lanes(b, STEPS, STEPS - 1);
    c->ascend_first = take_step(b, k->ascend, b->memory, 0, &failed);
    for (int64_t i = 1; i < STEPS; ++i) c->ascend = take_step(b, k->ascend, b->memory, i, &failed);
    c->meet = meet(b, NULL);
    c->down_middle = take_step(b, k->back_down, b->memory, STEPS - 1, &failed);
    for (int64_t i = STEPS - 2; i > 0; --i)
        c->down = take_step(b, k->back_down, b->memory, i, &failed);
    c->down_first = take_step(b, k->back_down, b->memory, 0, &failed);
    c->join = join(b, NULL);
    return failed;
}

/** Find the costs of the lane above the middle, which is step 0 here. */
static int find_upper(bench *b, ks_map_lane_cost *c)
{
    const ks_map_kernels *k = &b->kernels;
    int failed = 0;
    for (int64_t steps = 2; steps <= STEPS; steps += STEPS - 2) {
        open_lanes(b, steps, 0);
        (void)take_step(b, k->ascend, b->memory, 0, &failed);
        c->descend_last = take_step(b, k->descend, b->upper, steps - 1, &failed);
        for (int64_t i = steps - 2; i > 0; --i)
            c->descend = take_step(b, k->descend, b->upper, i, &failed);
        c->meet_both = meet(b, b->upper);
        const ks_flops first = take_step(b, k->back_up, b->upper, 1, &failed);
        if (steps == 2) {
            c->up_alone = first;
            continue;
        }
        c->up_first = first;
        for (int64_t i = 2; i < STEPS - 1; ++i)
            c->up = take_step(b, k->back_up, b->upper, i, &failed);
        c->up_last = take_step(b, k->back_up, b->upper, STEPS - 1, &failed);
    }
    return failed;
}

ks_status ks_map_unit_costs_find(ks_unit_costs *costs)
{
    bench b;
    memset(&b, 0, sizeof b);
    b.series.nx = costs->nx;
    b.series.ny = costs->ny;
    ks_counting_map_kernels(&b.kernels);
    ks_carver room = ks_room_open(carve, &b);
    if (!room.base) return KS_ENOMEM;
    make_model(&b);
    int failed = find_lower(&b, &costs->lanes);
    failed |= find_upper(&b, &costs->lanes);
    for (int brief = 0; brief < 2; ++brief) {
        failed |= find(&b, 0, brief ? KS_MAP_PROBES : 1, &costs->assemble[brief]);
        failed |= find(&b, 1, brief ? KS_MAP_PROBES : 1, &costs->review[brief]);
    }
    ks_room_close(&room);
    return failed ? KS_ENONFINITE : KS_OK;
}

int ks_map_count_probes(int64_t T) { return T <= KS_MAP_SHORT ? KS_MAP_PROBES : 1; }

/** The operations of a chunk of steps k0 .. k1 - 1 of T. */
static int chunk_flops(const ks_map_step_cost *c, int64_t k0, int64_t k1, int64_t T,
                       ks_flops *flops)
{
    const ks_flops none = {0, 0, 0, 0};
    const int ends = k1 == T;
    *flops = none;
    if (k1 == k0 + 1)
        return ks_flops_add(flops, k0 == 0 ? (ends ? c->prior_only : c->prior)
                                           : (ends ? c->opens_last : c->opens), 1) ||
               ks_flops_add(flops, c->beyond, !ends);
    return ks_flops_add(flops, k0 == 0 ? c->prior : c->opens, 1) ||
           ks_flops_add(flops, c->inner, k1 - k0 - 2) ||
           ks_flops_add(flops, ends ? c->inner_last : c->inner, 1) ||
           ks_flops_add(flops, c->beyond, !ends);
}

static ks_status count_pass(ks_count *count, const ks_map_step_cost *cost, int64_t T,
                            int64_t threads)
{
    const int64_t chunks = T / KS_MAP_CHUNK + (T % KS_MAP_CHUNK != 0);
    ks_lane_class list[3];
    int classes = 0;
    for (int64_t c = 0; c < chunks; c += list[classes++].lanes) {
        const int64_t k0 = c * KS_MAP_CHUNK;
        const int64_t k1 = T - k0 < KS_MAP_CHUNK ? T : k0 + KS_MAP_CHUNK;
        list[classes].lanes = c == 1 && chunks > 2 ? chunks - 2 : 1;
        if (chunk_flops(cost, k0, k1, T, &list[classes].each)) return KS_ENOMEM;
    }
    return ks_count_step(count, list, classes, threads);
}

ks_status ks_map_count_assembly(ks_count *count, const ks_unit_costs *costs, int64_t T,
                                int64_t threads)
{
    return count_pass(count, &costs->assemble[T <= KS_MAP_SHORT], T, threads);
}

ks_status ks_map_count_review(ks_count *count, const ks_unit_costs *costs, int64_t T,
                              int64_t threads)
{
    return count_pass(count, &costs->review[T <= KS_MAP_SHORT], T, threads);
}

/** Add `steps` steps of a lane whose first and last step differ. `alone` is the step of a lane with one step. */
static int add_lane(ks_flops *to, int64_t steps, ks_flops alone, ks_flops first, ks_flops inner,
                    ks_flops last)
{
    if (steps < 2) return ks_flops_add(to, alone, steps);
    return ks_flops_add(to, first, 1) || ks_flops_add(to, inner, steps - 2) ||
           ks_flops_add(to, last, 1);
}

/** Count one pass inwards and one outwards. The step where the lanes meet belongs to one lane only. */
static ks_status count_lanes(ks_count *count, const ks_map_lane_cost *c, int64_t T, int64_t middle,
                             int64_t threads)
{
    const ks_flops none = {0, 0, 0, 0};
    const int64_t lower = middle + 1, upper = T - lower;
    ks_lane_class in[2] = {{1, none}, {1, none}}, out[2] = {{1, none}, {1, none}};
    ks_lane_class met = {1, c->meet_both}, joined = {1, c->join};
    if (add_lane(&in[0].each, lower, c->ascend_first, c->ascend_first, c->ascend, c->ascend) ||
        add_lane(&in[1].each, upper, c->descend_last, c->descend_last, c->descend, c->descend) ||
        add_lane(&out[0].each, lower, c->down_alone, c->down_middle, c->down, c->down_first) ||
        add_lane(&out[1].each, upper, c->up_alone, c->up_first, c->up, c->up_last))
        return KS_ENOMEM;
    if (upper == 0) {
        if (ks_flops_add(&in[0].each, c->meet, 1) || ks_flops_add(&out[0].each, c->join, 1))
            return KS_ENOMEM;
        const ks_status status = ks_count_step(count, in, 1, threads);
        return status == KS_OK ? ks_count_step(count, out, 1, threads) : status;
    }
    ks_status status = ks_count_step(count, in, 2, threads);
    if (status == KS_OK) status = ks_count_step(count, &met, 1, threads);
    if (status == KS_OK) status = ks_count_step(count, out, 2, threads);
    return status == KS_OK ? ks_count_step(count, &joined, 1, threads) : status;
}

ks_status ks_map_count(ks_count *count, const ks_unit_costs *costs, const ks_blocktri_plan *plan,
                       int64_t T, int64_t threads)
{
    const ks_blocktri_order order = ks_blocktri_plan_order(plan);
    if (order == KS_BLOCKTRI_SEQUENTIAL || (order == KS_BLOCKTRI_TWISTED && T > 1))
        return count_lanes(count, &costs->lanes, T, order == KS_BLOCKTRI_TWISTED ? T / 2 : T - 1,
                           threads);
    const ks_bt_unit_costs *probed = ks_map_count_probes(T) > 1 ? &costs->probed : &costs->blocks;
    ks_status status = ks_map_count_assembly(count, costs, T, threads);
    if (status == KS_OK) status = ks_bt_count_factor(count, &costs->blocks, plan, threads);
    if (status == KS_OK) status = ks_bt_count_solve(count, &costs->blocks, plan, threads);
    if (status == KS_OK) status = ks_bt_count_solve(count, probed, plan, threads);
    if (status == KS_OK) status = ks_bt_count_inverse(count, &costs->blocks, plan, threads);
    return status == KS_OK ? ks_map_count_review(count, costs, T, threads) : status;
}
