/* means.h -- means in double of series whose covariances and gains are made in single precision: one
 * table for each instruction-set tier. The texts are in mean_text.h, the driver is mixed.c. */
#ifndef KS_MEANS_H
#define KS_MEANS_H

#include <stddef.h>
#include <stdint.h>
#include "series.h"

/** A series. All numbers are double, but for the gains. */
typedef struct ks_mean_lane {
    const ks_series *series;
    void *x;                    /* the mean before the steps in, after them out                */
    ks_sink gain;               /* of the filter as ks_gain_numbers() says, of the smoother Eᵀ */
    const ks_forward_sinks *to; /* the filter's means, innovations and terms                   */
    int more;                   /* whether predictions or innovations are among them           */
    ks_sink kept, smoothed;     /* the smoother's: filtered means in, smoothed ones out        */
    int64_t end;                /* the first step not to be taken, of the smoother the last    */
    ks_evidence evidence;       /* of the filter                                               */
    int64_t failed;             /* -1 in; out: the step whose mean is not finite, or -1        */
} ks_mean_lane;

/** A series with its mean and gains; what it puts out and where it ends is left to say. */
static inline ks_mean_lane ks_mean_lane_of(const ks_series *series, void *x, ks_sink gain)
{
    const ks_mean_lane lane = { .series = series, .x = x, .gain = gain, .failed = -1 };
    return lane;
}

/** Means of steps k0 .. k1 - 1, k1 - 1 .. k0 of `count` series. `work` holds ks_means_work() doubles, in
 *  lines of 64 bytes. */
typedef struct ks_means {
    void (*filter)(int count, ks_mean_lane *lanes, int64_t k0, int64_t k1, void *work);
    void (*smooth)(int count, ks_mean_lane *lanes, int64_t k0, int64_t k1, void *work);
    /** The same of series that share F, u, H and the gains, in which no entry is missing; of `to` mean
     *  and kept mean are all that they put out, and all steps are taken. */
    void (*follow_filter)(int count, ks_mean_lane *lanes, int64_t k0, int64_t k1, void *work);
    void (*follow_smooth)(int count, ks_mean_lane *lanes, int64_t k0, int64_t k1, void *work);
} ks_means;

static inline size_t ks_means_work(size_t nx, size_t ny) { return 4 * (3 * nx + 2 * ny); }

/** The table of a tier, see ks_kernels_of(). */
const ks_means *ks_means_of(ks_tier tier);

extern const ks_means ks_means_baseline, ks_means_avx2;

#endif
