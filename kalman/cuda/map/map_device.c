/* map_device.c -- memory and kernels of the MAP route on a device. */
#include <stdio.h>
#include <string.h>
#include "cuda/cuda_plan.h"
#include "map.h"
#include "roundoff.h"
#include "scan_device.h"

/* Most blocks whose teams have device memory. */
enum { TEAM_BLOCKS = 264 };
/* Least steps of a segment. Most segments: about as many as a large device runs teams, or single threads, at once. */
enum { LEAST_SEGMENT = 8, MOST_SEGMENTS = 1 << 14, MOST_SEGMENTS_LARGE = 1 << 12,
       MOST_ALONE = 1 << 16, MOST_ALONE_4 = 128 * 7 * 32 };
/* Threads of a block with four states. A multiprocessor has shared memory for seven such blocks. */
enum { THREADS_4 = 32 };

static int64_t ceiling(int64_t a, int64_t b) { return (a + b - 1) / b; }

int ks_map_device_takes(const ks_smooth_options *options, int nx)
{
    return options->order == KS_BLOCKTRI_AUTO || options->order == KS_BLOCKTRI_NESTED_DISSECTION ||
           (options->order == KS_BLOCKTRI_PARTITION && nx <= KS_MAP_SEGMENTS);
}

ks_blocktri_order ks_map_device_order(const ks_smooth_options *options, int nx)
{
    return options->order != KS_BLOCKTRI_AUTO ? options->order
           : nx <= KS_MAP_SEGMENTS            ? KS_BLOCKTRI_PARTITION
                                              : KS_BLOCKTRI_NESTED_DISSECTION;
}

static ks_blocktri_cuda_options nest_options(const ks_smooth_plan *plan)
{
    ks_blocktri_cuda_options o = KS_BLOCKTRI_CUDA_OPTIONS_INIT;
    o.device = plan->options.device;
    o.inverse = 1;
    return o;
}

/** Whether a result is computed in its output. */
static int in_place(const ks_smooth_plan *plan, ks_output output)
{
    return plan->options.precision == KS_F64 && ks_makes_all(plan, output);
}

static void take_teams(ks_device_layout *l, const ks_smooth_plan *plan)
{
    ks_map_device *map = &l->d->map;
    const int nx = plan->nx, most = nx > plan->ny ? nx : plan->ny;
    const int64_t room = ks_team_room(l->d);
    map->team = most <= 8 ? 8 : most <= 16 ? 32 : most <= 32 ? 128 : KS_MAP_MOST_TEAM;
    map->teams = map->team <= 32 ? KS_TEAM_BLOCK / map->team : 1;
    const int64_t numbers = ks_map_team_numbers(nx, plan->ny, map->team);
    map->args.slice = ks_team_apart(map->team, sizeof(double), ceiling(numbers * (int64_t)sizeof(double), 16) * 16);
    while (map->teams > 1 && map->teams * map->args.slice > room) map->teams /= 2;
    map->blocks = 0;
    if (map->teams * map->args.slice <= room) return;
    map->blocks = map->pieces < TEAM_BLOCKS ? map->pieces : TEAM_BLOCKS;
    map->args.memory = ks_device_take(l, map->blocks, (size_t)map->args.slice);
}

/** Whether there are kernels with a thread for each piece. */
static int may_be_alone(const ks_map_device *map, const ks_smooth_plan *plan)
{
    return !map->nested && plan->nx <= 4 && plan->ny <= 2 && plan->ny <= plan->nx;
}

/** Cut the steps into pieces, by their number, the number of states, and whether a thread or a team does a segment. */
static void cut(ks_map_device *map, const ks_smooth_plan *plan, int alone)
{
    const int64_t of_threads = plan->nx > 3 ? MOST_ALONE_4 : MOST_ALONE;
    const int64_t most = alone ? of_threads : plan->nx <= 8 ? MOST_SEGMENTS : MOST_SEGMENTS_LARGE;
    map->alone = alone;
    map->threads = plan->nx > 3 ? THREADS_4 : KS_MAP_THREADS;
    map->size = ceiling(plan->T, most);
    if (map->size < LEAST_SEGMENT && !map->nested) map->size = LEAST_SEGMENT;
    map->pieces = ceiling(plan->T, map->size);
    map->levels = 0;
    if (map->nested) return;
    map->args.segments = map->pieces;
    int64_t count = map->pieces;
    map->level[map->levels++].count = count;
    while (count > KS_MAP_GROUP) {
        count = ceiling(count, KS_MAP_GROUP);
        map->level[map->levels++].count = count;
    }
}

static void take_levels(ks_device_layout *l, const ks_smooth_plan *plan)
{
    ks_map_device *map = &l->d->map;
    const size_t n = (size_t)plan->nx, range = (size_t)ks_map_range_numbers(plan->nx) * sizeof(double);
    const size_t side = (n * n + n) * sizeof(double);
    for (int i = 0; i < map->levels; ++i) {
        ks_map_level *level = &map->level[i];
        level->ranges = ks_device_take(l, level->count, range);
        level->before = ks_device_take(l, level->count, side);
        level->after = ks_device_take(l, level->count, side);
    }
    map->args.m.links = ks_device_take(l, plan->T, n * n * sizeof(double));
    map->args.logs = ks_device_take(l, map->pieces, sizeof(double));
}

static void take_nest(ks_device_layout *l, const ks_smooth_plan *plan)
{
    ks_scan_device *d = l->d;
    ks_map_device *map = &d->map;
    const size_t n = (size_t)plan->nx, block = n * n * sizeof(double);
    const ks_sink blocks = { NULL, (int64_t)block, 0 };
    const ks_blocktri_cuda_options o = nest_options(plan);
    map->args.m.D = map->args.m.L = blocks;
    map->args.m.D.base = ks_device_take(l, plan->T, block);
    map->args.m.L.base = ks_device_take(l, plan->T - 1, block);
    const size_t inverse = ks_bt_inverse_bytes(plan->T, plan->nx, &o);
    const size_t bytes = ks_blocktri_cuda_bytes(plan->T, plan->nx, &o);
    map->nest_work = ks_device_take(l, 1, inverse);
    if (l->status == KS_OK)
        l->status = ks_bt_plan_create(&map->nest, plan->context, d->gpu, plan->T, plan->nx, &o);
    if (map->nest) map->args.logdet = map->nest->logdet;
    d->bytes = bytes > SIZE_MAX - d->bytes ? SIZE_MAX : d->bytes + bytes;
}

void ks_map_device_lay_out(ks_device_layout *l, const ks_smooth_plan *plan)
{
    ks_map_device *map = &l->d->map;
    ks_map_arrays *m = &map->args.m;
    const int64_t T = plan->T, n = plan->nx;
    const size_t row = (size_t)n * sizeof(double), block = (size_t)n * row;
    map->nested = ks_map_device_order(&plan->options, plan->nx) == KS_BLOCKTRI_NESTED_DISSECTION;
    cut(map, plan, may_be_alone(map, plan)); /* with threads there are more segments than with teams */
    take_teams(l, plan);
    if (map->nested) take_nest(l, plan);
    else take_levels(l, plan);
    m->prior = ks_device_take(l, ks_map_prior_numbers(plan->nx), sizeof(double));
    m->shared = ks_device_take(l, ks_map_shared_numbers(plan->nx, plan->ny), sizeof(double));
    m->diagonal = ks_device_take(l, T, row);
    m->gradient = ks_device_take(l, T, row);
    m->probes = T <= KS_MAP_SHORT ? KS_MAP_PROBES : 1;
    m->z = ks_device_take(l, T * m->probes, row);
    m->z_step = map->nested ? n * m->probes : n;
    m->z_entry = map->nested ? m->probes : 1;
    m->z_probe = map->nested ? 1 : T * n;
    m->pivot = 4 * (double)(n > plan->ny ? n : plan->ny) * ks_unit_roundoff(plan->options.precision != KS_F64);
    m->largest = plan->kernels->largest;
    map->args.found = ks_device_take(l, map->pieces + 1, sizeof(ks_map_found));
    map->args.lost = ks_device_take(l, 1, sizeof *map->args.lost);
    if (!in_place(plan, KS_OUT_SMOOTHED_MEAN)) map->x = ks_device_take(l, T, row);
    if (!in_place(plan, KS_OUT_SMOOTHED_COV)) map->S = ks_device_take(l, T, block);
    if (ks_makes_any(plan, KS_OUT_LAG_ONE_COV) && !in_place(plan, KS_OUT_LAG_ONE_COV))
        map->lag = ks_device_take(l, T, block);
}

static ks_status find_all(ks_scan_device *d, const ks_smooth_plan *plan)
{
    static const char *const names[] = {
        "ks_map_prior", "ks_map_assemble", "ks_map_reduce", "ks_map_combine", "ks_map_spread",
        "ks_map_rerun", "ks_map_review", "ks_map_probe", "ks_map_correct", "ks_map_total",
    };
    ks_status status = KS_OK;
    for (int i = 0; i < KS_MAP_KERNELS && status == KS_OK; ++i) {
        char name[48];
        const int alone = ks_map_alone(&d->map, i);
        snprintf(name, sizeof name, alone ? "%s_%d_%d" : "%s", names[i], plan->nx, plan->ny);
        status = ks_gpu_find(d->gpu, &d->map.kernel[i], alone ? "ks_map_alone" : "ks_map", name);
    }
    return status;
}

ks_status ks_map_device_alone(ks_scan_device *d, const ks_smooth_plan *plan, int alone)
{
    if (!may_be_alone(&d->map, plan)) return KS_EUNAVAILABLE;
    cut(&d->map, plan, alone);
    /* The graphs run other kernels. */
    for (int i = 0; i < KS_RUN_PARTS; ++i) {
        ks_gpu_graph_destroy(d->gpu, d->part[i]);
        d->part[i] = NULL;
    }
    return find_all(d, plan);
}

ks_status ks_map_device_find(ks_scan_device *d, const ks_smooth_plan *plan)
{
    void *report = NULL;
    ks_status status = find_all(d, plan);
    if (status == KS_OK && ks_makes_any(plan, KS_OUT_LAG_ONE_COV | KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV))
        status = ks_gpu_find(d->gpu, &d->map.start, "ks_scan_phases", "ks_phase_start");
    if (status == KS_OK) status = ks_gpu_host_alloc(d->gpu, &report, sizeof *d->map.report);
    d->map.report = report;
    return status;
}

void ks_map_device_destroy(ks_scan_device *d)
{
    ks_gpu_host_free(d->gpu, d->map.report);
    ks_blocktri_cuda_plan_destroy(d->map.nest);
}
