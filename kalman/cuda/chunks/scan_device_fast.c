/* scan_device_fast.c -- which kernels do most of the chunks of a plan. */
#include <stdio.h>
#include <string.h>
#include "scan_device.h"

/* Outputs that these kernels can make. */
#define FAST_OUTPUTS                                                                        \
    (KS_OUT_LOGLIK | KS_OUT_LOGLIK_TERMS | KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV |     \
     KS_OUT_FILTERED_VAR | KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV |                     \
     KS_OUT_SMOOTHED_VAR | KS_OUT_LAG_ONE_COV | KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV)

/* TEAM_SHARED: most shared memory of a block that teams take. On a device with more, the rest is left to the L1 cache.
 * BESIDE_TEAMS: shared memory that kernels of teams may use besides. */
enum { TEAM_SHARED = 160 * 1024, BESIDE_TEAMS = 8 * 1024 };

/* Sizes of the kernels that keep everything in registers, see fast_kernels.h. `sums`: the absorb kernel has its sums in
 * shared memory. */
static const struct { ks_precision precision; int nx, ny, sums; } sizes[] = {
    { KS_F64, 2, 2, 0 }, { KS_F64, 4, 2, 0 }, { KS_F32, 2, 2, 0 }, { KS_F32, 4, 2, 0 },
    { KS_F32, 4, 4, 1 }, { KS_F32, 6, 2, 0 }, { KS_F32, 6, 4, 1 }, { KS_MIXED, 2, 2, 0 },
    { KS_MIXED, 4, 2, 0 }, { KS_MIXED, 4, 4, 1 },
};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* Sizes of the kernels that hold matrices by columns, see column_kernels.h; for each precision. Of fewer states than
 * `least` other teams execute no more instructions. */
static const struct { int nx, ny, least; } column_sizes[] = { { 8, 4, 1 }, { 16, 8, 9 } };
enum { COLUMN_SIZES = sizeof column_sizes / sizeof column_sizes[0] };

/* Most states and entries of the kernels of ks_chunks_wide.cu. */
enum { MOST_WIDE = 4, MOST_WIDE_ENTRIES = 2 };

/* Most states for the backward pass of the two-filter smoother in registers; it is in double. */
enum { MOST_TO_MEET = 4 };

/** Index of the smallest size that a plan fits into, or SIZES. */
static size_t size_for(const ks_smooth_plan *plan)
{
    size_t i = 0;
    while (i < SIZES && (sizes[i].precision != plan->options.precision || sizes[i].nx < plan->nx ||
                         sizes[i].ny < plan->ny))
        ++i;
    return i;
}

/** Index of the smallest size by columns that a plan fits into, or COLUMN_SIZES. */
static size_t column_size_for(const ks_smooth_plan *plan)
{
    size_t i = 0;
    while (i < COLUMN_SIZES && (column_sizes[i].nx < plan->nx || column_sizes[i].ny < plan->ny ||
                                column_sizes[i].least > plan->nx))
        ++i;
    return i;
}

static int makes_fast_outputs(const ks_smooth_plan *plan)
{
    return (plan->options.outputs & ~(unsigned)FAST_OUTPUTS) == 0;
}

int64_t ks_team_room(const ks_scan_device *d)
{
    const int64_t there = d->gpu ? (int64_t)d->gpu->attributes.block_shared - BESIDE_TEAMS : TEAM_SHARED;
    return there < TEAM_SHARED ? there : TEAM_SHARED;
}

ks_team_shape ks_team_shape_for(const ks_scan_device *d, int nx, int64_t bytes, int64_t number, int64_t things)
{
    const int64_t room = ks_team_room(d);
    ks_team_shape s = { nx <= 8 ? 8 : nx <= 16 ? 32 : nx <= 32 ? 128 : KS_MOST_TEAM, 1, bytes, 0 };
    s.slice = ks_team_apart(s.lanes, number, bytes);
    if (s.lanes <= 32) s.teams = KS_TEAM_BLOCK / s.lanes;
    while (s.teams > 1 && s.teams * s.slice > room) s.teams /= 2;
    if (s.teams * s.slice <= room) return s;
    const int64_t wanted = (things + s.teams - 1) / s.teams;
    s.blocks = wanted < KS_TEAM_BLOCKS ? wanted : KS_TEAM_BLOCKS;
    return s;
}

void ks_chunks_teams(ks_scan_device *d, const ks_smooth_plan *plan)
{
    const int nx = plan->nx, ny = plan->ny, two_filter = d->chunks.two_filter, fits = size_for(plan) < SIZES;
    const int64_t mean = (int64_t)plan->mean_bytes, cov = (int64_t)plan->kernels->number_bytes;
    const int64_t chunks = d->chunks.chunks;
    const ks_team_shape none = { 0, 0, 0, 0 };
    const size_t columns = column_size_for(plan);
    d->team = d->team_back = none;
    d->by_columns = 0;
    if (d->join.lanes) d->team_border = ks_team_shape_for(d, nx, ks_team_border_bytes(nx), sizeof(double), chunks);
    if (!makes_fast_outputs(plan) || nx > KS_MOST_TEAM_STATES || ny > KS_MOST_TEAM_STATES) return;
    if (!fits) d->team = ks_team_shape_for(d, nx, ks_team_bytes(nx, ny, mean, cov), cov, chunks);
    if (!fits && columns < COLUMN_SIZES && !d->without_columns) {
        /* They have their shared memory by themselves. */
        const ks_team_shape shape = { column_sizes[columns].nx, KS_COLUMN_THREADS / column_sizes[columns].nx, 0, 0 };
        d->team = shape;
        d->by_columns = 1;
    }
    if (!two_filter) d->team_back = d->team;
    else if (!fits || nx > MOST_TO_MEET)
        d->team_back = ks_team_shape_for(d, nx, ks_team_meet_bytes(nx, ny), sizeof(double), chunks);
}

static const char *suffix_of(const ks_smooth_plan *plan)
{
    static const char *const suffixes[] = { "f64", "f32", "mixed" };
    return suffixes[plan->options.precision];
}

size_t ks_team_shared(const ks_team_shape *team)
{
    return team->lanes && !team->blocks ? (size_t)(team->teams * team->slice) : 0;
}

ks_team_memory ks_team_memory_of(const ks_scan_device *d, const ks_team_shape *team)
{
    const ks_team_memory memory = { team->blocks ? d->team_memory : NULL, team->slice };
    return memory;
}

/** The kind of team kernels: with memory of the device ("team_far") or shared memory ("team"). */
static const char *team_kind(const ks_team_shape *team) { return team->blocks ? "team_far" : "team"; }

/** Find the kernels of a plan's three passes, with or without a ring: for teams, or for threads with everything in
 *  registers. For sizes that have neither, none is set. */
static ks_status find_kernels(ks_scan_device *d, const ks_smooth_plan *plan, int ring,
                              const ks_gpu_kernel **const kernels[3])
{
    static const char *const kinds[2] = { "fast", "ring" };
    const size_t size = size_for(plan), columns = column_size_for(plan);
    const int nx = size < SIZES && sizes[size].sums ? sizes[size].nx : 0;
    const int keeps = d->chunks.smooths, meets = d->chunks.two_filter;
    const char *const suffix = suffix_of(plan), *const back = meets ? "meet" : "smooth";
    char module[24], name[48], to[16];
    ks_status status = KS_OK;
    d->absorb_shared = (int64_t)sizeof(double) * KS_CHUNK_THREADS * KS_FAST_TOLD(nx);
    for (int i = 0; i < 3 && status == KS_OK; ++i) {
        const ks_team_shape *const shape = i < 2 ? &d->team : &d->team_back;
        const int team = shape->lanes > 0;
        const char *const kind = !team ? kinds[ring] : ring ? "team_ring" : team_kind(shape);
        const char *const filter = keeps && !team ? "keep" : "filter";
        const char *const part = i == 0 ? "absorb" : i == 1 ? filter : back;
        const int by_columns = d->by_columns && !(i == 2 && meets), literal = !team || by_columns;
        if ((!team && size == SIZES) || (by_columns && ring)) continue;
        const int to_nx = by_columns ? column_sizes[columns].nx : literal ? sizes[size].nx : 0;
        const int to_ny = by_columns ? column_sizes[columns].ny : literal ? sizes[size].ny : 0;
        to[0] = 0;
        if (literal && i == 2 && !meets) snprintf(to, sizeof to, "_%d", to_nx);
        else if (literal) snprintf(to, sizeof to, "_%d_%d", to_nx, to_ny);
        if (by_columns) snprintf(module, sizeof module, "ks_chunks_column_%d", to_nx);
        else snprintf(module, sizeof module, "ks_chunks_%s", kind);
        snprintf(name, sizeof name, "ks_%s_%s_%s%s", by_columns ? "column" : kind, part, suffix, to);
        status = ks_gpu_find(d->gpu, kernels[i], module, name);
    }
    return status;
}

/** For small models in single precision, find the kernels that repeat in double the chunks without an ordinary form. */
static ks_status find_wide(ks_scan_device *d, const ks_smooth_plan *plan)
{
    const size_t size = size_for(plan);
    const int nx = size < SIZES ? sizes[size].nx : 0, ny = size < SIZES ? sizes[size].ny : 0;
    char name[48];
    if (plan->options.precision != KS_F32 || !nx || nx > MOST_WIDE || ny > MOST_WIDE_ENTRIES || !d->fast_absorb)
        return KS_OK;
    snprintf(name, sizeof name, "ks_wide_absorb_f32_%d_%d", nx, ny);
    KS_TRY(ks_gpu_find(d->gpu, &d->wide_absorb, "ks_chunks_wide", name));
    snprintf(name, sizeof name, "ks_wide_%s_f32_%d_%d", d->chunks.smooths ? "keep" : "filter", nx, ny);
    return ks_gpu_find(d->gpu, &d->wide_filter, "ks_chunks_wide", name);
}

/** Find the kernel for borders: for teams, or for threads with everything in registers; none for larger models. */
static ks_status find_border(ks_scan_device *d, const ks_smooth_plan *plan)
{
    const int teams = d->team_border.lanes > 0;
    char module[24], name[40];
    if (!teams && plan->nx > KS_SCAN_LITERAL) return KS_OK;
    snprintf(module, sizeof module, "ks_chunks_%s", teams ? team_kind(&d->team_border) : "border");
    if (teams) snprintf(name, sizeof name, "ks_border_%s", d->team_border.blocks ? "far" : "near");
    else snprintf(name, sizeof name, "ks_thread_border_%s_%d", suffix_of(plan), plan->nx > 2 ? 4 : 2);
    return ks_gpu_find(d->gpu, &d->fast_border, module, name);
}

ks_status ks_chunks_find_fast(ks_scan_device *d, const ks_smooth_plan *plan)
{
    const ks_gpu_kernel **const kernels[] = { &d->fast_absorb, &d->fast_filter, &d->fast_smooth };
    KS_TRY(find_border(d, plan));
    if (!makes_fast_outputs(plan)) return KS_OK;
    KS_TRY(find_kernels(d, plan, 0, kernels));
    KS_TRY(find_wide(d, plan));
    return d->team.lanes ? KS_OK : ks_chunks_fill(d, plan, KS_FILL_PIECES);
}

ks_status ks_chunks_by_columns(ks_scan_device *d, const ks_smooth_plan *plan, int wanted)
{
    if (d->without_columns == !wanted) return KS_OK;
    d->without_columns = !wanted;
    d->fill = KS_FILL_NONE;
    d->ring_absorb = d->ring_filter = d->ring_smooth = NULL;
    ks_chunks_teams(d, plan);
    ks_scan_device_forget(d);
    return ks_chunks_find_fast(d, plan);
}

ks_status ks_chunks_fill(ks_scan_device *d, const ks_smooth_plan *plan, ks_fill fill)
{
    const ks_gpu_kernel **const kernels[] = { &d->ring_absorb, &d->ring_filter, &d->ring_smooth };
    int *const resident[] = { &d->beside_absorb, &d->beside_filter, &d->beside_smooth };
    const ks_gpu_kernel *const fast[] = { d->fast_absorb, d->fast_filter, d->fast_smooth };
    ks_status status = KS_OK;
    if (!d->fast_absorb) return KS_OK;
    for (int i = 0; i < 3 && status == KS_OK; ++i) {
        const ks_team_shape *const team = i < 2 ? &d->team : &d->team_back;
        const int threads = team->lanes ? team->lanes * team->teams : KS_CHUNK_THREADS;
        status = ks_gpu_resident(d->gpu, resident[i], fast[i], threads, ks_team_shared(team));
    }
    if (status == KS_OK && fill != KS_FILL_NONE && !d->ring_smooth) status = find_kernels(d, plan, 1, kernels);
    if (status != KS_OK) return status;
    d->fill = fill;
    /* The captured graph runs other kernels. */
    ks_scan_device_forget(d);
    return KS_OK;
}
