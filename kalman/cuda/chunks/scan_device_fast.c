/* scan_device_fast.c -- which kernels do most of the chunks of a plan. */
#include <stdio.h>
#include <string.h>
#include "scan_device.h"

/* Outputs that they make. */
#define FAST_OUTPUTS                                                                        \
    (KS_OUT_LOGLIK | KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV | KS_OUT_FILTERED_VAR |     \
     KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_SMOOTHED_VAR | KS_OUT_LAG_ONE_COV | \
     KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV)

/* Shared memory of a block that every device since compute capability 8.0 has, threads of a block whose
 * teams are smaller, and blocks whose teams keep their memory in the device's: two for each
 * multiprocessor of a large device. */
enum { TEAM_SHARED = 160 * 1024, TEAM_BLOCK = 128, TEAM_BLOCKS = 264 };

/* Sizes of kernels that keep everything in registers, see ks_chunks_fast.cu. */
static const struct { ks_precision precision; int nx, ny; } sizes[] = {
    { KS_F64, 2, 2 }, { KS_F64, 4, 2 }, { KS_F32, 2, 2 }, { KS_F32, 4, 2 },
    { KS_F32, 4, 4 }, { KS_F32, 6, 2 }, { KS_F32, 6, 4 }, { KS_MIXED, 2, 2 },
    { KS_MIXED, 4, 2 }, { KS_MIXED, 4, 4 },
};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* Most states of the two-filter smoother's, which are in double. */
enum { MOST_TO_MEET = 4 };

/** The smallest that a plan fits into, or SIZES. */
static size_t size_for(const ks_smooth_plan *plan)
{
    const int most = plan->method == KS_METHOD_SCAN_TWO_FILTER ? MOST_TO_MEET : plan->nx;
    size_t i = 0;
    while (i < SIZES && (sizes[i].precision != plan->options.precision || sizes[i].nx < plan->nx ||
                         sizes[i].ny < plan->ny))
        ++i;
    return plan->nx <= most ? i : SIZES;
}

static int makes_fast_outputs(const ks_smooth_plan *plan)
{
    return (plan->options.outputs & ~(unsigned)FAST_OUTPUTS) == 0;
}

void ks_chunks_teams(ks_scan_device *d, const ks_smooth_plan *plan)
{
    const int nx = plan->nx, ny = plan->ny;
    const int64_t mean = (int64_t)plan->mean_bytes, cov = (int64_t)plan->kernels->number_bytes;
    if (!makes_fast_outputs(plan) || size_for(plan) < SIZES || nx > KS_MOST_TEAM_STATES ||
        ny > KS_MOST_TEAM_STATES || d->chunks.two_filter)
        return;
    d->team = nx <= 8 ? 8 : nx <= 16 ? 32 : nx <= 32 ? 128 : KS_MOST_TEAM;
    d->team_slice = ks_team_bytes(nx, ny, mean, cov);
    d->teams = d->team <= 32 ? TEAM_BLOCK / d->team : 1;
    while (d->teams > 1 && d->teams * d->team_slice > TEAM_SHARED) d->teams /= 2;
    d->team_blocks = 0;
    if (d->teams * d->team_slice <= TEAM_SHARED) return;
    const int64_t wanted = (d->chunks.chunks + d->teams - 1) / d->teams;
    d->team_blocks = wanted < TEAM_BLOCKS ? wanted : TEAM_BLOCKS;
}

static const char *suffix_of(const ks_smooth_plan *plan)
{
    static const char *const suffixes[] = { "f64", "f32", "mixed" };
    return suffixes[plan->options.precision];
}

size_t ks_chunks_own_shared(const ks_scan_device *d)
{
    return d->team && !d->team_blocks ? (size_t)(d->teams * d->team_slice) : 0;
}

/** The kernels of teams, for rows that come as `kind` says. */
static ks_status find_teams(ks_scan_device *d, const ks_smooth_plan *plan, const char *kind,
                            const ks_gpu_kernel **const kernels[3])
{
    static const char *const parts[] = { "absorb", "filter", "smooth" };
    char module[24], name[48];
    ks_status status = KS_OK;
    snprintf(module, sizeof module, "ks_chunks_%s", kind);
    for (int i = 0; i < 3 && status == KS_OK; ++i) {
        snprintf(name, sizeof name, "ks_%s_%s_%s", kind, parts[i], suffix_of(plan));
        status = ks_gpu_find(d->gpu, kernels[i], module, name);
    }
    return status;
}

/** The kernels that keep everything in registers, for rows that come as `kind` says; none for other sizes. */
static ks_status find_registers(ks_scan_device *d, const ks_smooth_plan *plan, const char *kind,
                                const ks_gpu_kernel **const kernels[3])
{
    const size_t size = size_for(plan);
    const char *const suffix = suffix_of(plan);
    char module[24], name[3][48];
    ks_status status = KS_OK;
    if (size == SIZES) return KS_OK;
    const int nx = sizes[size].nx, ny = sizes[size].ny;
    snprintf(module, sizeof module, "ks_chunks_%s", kind);
    snprintf(name[0], sizeof name[0], "ks_%s_absorb_%s_%d_%d", kind, suffix, nx, ny);
    snprintf(name[1], sizeof name[1], "ks_%s_%s_%s_%d_%d", kind, d->chunks.smooths ? "keep" : "filter", suffix,
             nx, ny);
    if (d->chunks.two_filter) snprintf(name[2], sizeof name[2], "ks_%s_meet_%s_%d_%d", kind, suffix, nx, ny);
    else snprintf(name[2], sizeof name[2], "ks_%s_smooth_%s_%d", kind, suffix, nx);
    for (int i = 0; i < 3 && status == KS_OK; ++i) status = ks_gpu_find(d->gpu, kernels[i], module, name[i]);
    return status;
}

ks_status ks_chunks_find_fast(ks_scan_device *d, const ks_smooth_plan *plan)
{
    const ks_gpu_kernel **const kernels[] = { &d->fast_absorb, &d->fast_filter, &d->fast_smooth };
    if (!makes_fast_outputs(plan)) return KS_OK;
    return d->team ? find_teams(d, plan, "team", kernels) : find_registers(d, plan, "fast", kernels);
}

ks_status ks_chunks_fill(ks_scan_device *d, const ks_smooth_plan *plan, ks_fill fill)
{
    const ks_gpu_kernel **const kernels[] = { &d->ring_absorb, &d->ring_filter, &d->ring_smooth };
    int *const resident[] = { &d->beside_absorb, &d->beside_filter, &d->beside_smooth };
    const ks_gpu_kernel *const fast[] = { d->fast_absorb, d->fast_filter, d->fast_smooth };
    const int threads = d->team ? d->team * d->teams : KS_SCAN_THREADS;
    ks_status status = KS_OK;
    if (!d->fast_absorb) return KS_OK;
    for (int i = 0; i < 3 && status == KS_OK; ++i)
        status = ks_gpu_resident(d->gpu, resident[i], fast[i], threads, ks_chunks_own_shared(d));
    if (status == KS_OK && fill != KS_FILL_NONE && !d->ring_smooth)
        status = d->team ? find_teams(d, plan, "team_ring", kernels)
                         : find_registers(d, plan, "ring", kernels);
    if (status != KS_OK) return status;
    d->fill = d->team && fill == KS_FILL_PIECES ? KS_FILL_NONE : fill;
    /* What was captured runs other kernels. */
    ks_scan_device_forget(d);
    return KS_OK;
}
