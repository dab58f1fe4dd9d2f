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
    { KS_F32, 4, 4 }, { KS_F32, 6, 2 }, { KS_F32, 6, 4 },
};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/** The smallest that a plan fits into, or SIZES. */
static size_t size_for(const ks_smooth_plan *plan)
{
    size_t i = 0;
    while (i < SIZES && (sizes[i].precision != plan->options.precision || sizes[i].nx < plan->nx ||
                         sizes[i].ny < plan->ny))
        ++i;
    return i;
}

static int makes_fast_outputs(const ks_smooth_plan *plan)
{
    return (plan->options.outputs & ~(unsigned)FAST_OUTPUTS) == 0;
}

void ks_chunks_teams(ks_scan_device *d, const ks_smooth_plan *plan)
{
    const int nx = plan->nx, ny = plan->ny;
    const int64_t number = (int64_t)plan->kernels->number_bytes;
    if (!makes_fast_outputs(plan) || size_for(plan) < SIZES || nx > KS_MOST_TEAM_STATES ||
        ny > KS_MOST_TEAM_STATES)
        return;
    d->team = nx <= 8 ? 8 : nx <= 16 ? 32 : nx <= 32 ? 128 : KS_MOST_TEAM;
    d->team_slice = (ks_team_numbers(nx, ny) * number + 15) / 16 * 16;
    d->teams = d->team <= 32 ? TEAM_BLOCK / d->team : 1;
    while (d->teams > 1 && d->teams * d->team_slice > TEAM_SHARED) d->teams /= 2;
    d->team_blocks = 0;
    if (d->teams * d->team_slice <= TEAM_SHARED) return;
    const int64_t wanted = (d->chunks.chunks + d->teams - 1) / d->teams;
    d->team_blocks = wanted < TEAM_BLOCKS ? wanted : TEAM_BLOCKS;
}

ks_status ks_chunks_find_fast(ks_scan_device *d, const ks_smooth_plan *plan)
{
    const char *suffix = plan->options.precision == KS_F64 ? "f64" : "f32";
    const char *const parts[] = { "absorb", d->chunks.smooths && !d->team ? "keep" : "filter", "smooth" };
    const ks_gpu_kernel **const kernels[] = { &d->fast_absorb, &d->fast_filter, &d->fast_smooth };
    const size_t size = size_for(plan);
    char name[48];
    ks_status status = KS_OK;
    if (!makes_fast_outputs(plan) || (size == SIZES && !d->team)) return KS_OK;
    for (int i = 0; i < 3 && status == KS_OK; ++i) {
        if (d->team)
            snprintf(name, sizeof name, "ks_team_%s_%s", parts[i], suffix);
        else if (i < 2)
            snprintf(name, sizeof name, "ks_fast_%s_%s_%d_%d", parts[i], suffix, sizes[size].nx,
                     sizes[size].ny);
        else
            snprintf(name, sizeof name, "ks_fast_%s_%s_%d", parts[i], suffix, sizes[size].nx);
        status = ks_gpu_find(d->gpu, kernels[i], d->team ? "ks_chunks_team" : "ks_chunks_fast", name);
    }
    return status;
}
