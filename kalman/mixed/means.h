/* means.h -- means in double for series whose covariances and gains are made in single precision: one table for each
 * instruction-set tier. The texts are in mean_text.h, the driver is mixed.c. */
#ifndef KS_MEANS_H
#define KS_MEANS_H

#include <stddef.h>
#include <stdint.h>
#include "series.h"

/** A series. All numbers are double, except the gains. */
typedef struct ks_mean_lane {
    const ks_series *series;
    void *x;                    /* the mean before the steps; after them the new one           */
    ks_sink gain;               /* filter: as in ks_gain_numbers(); smoother: Eᵀ               */
    const ks_forward_sinks *to; /* filter: means, innovations and terms                        */
    int more;                   /* predictions or innovations are among them                   */
    ks_sink kept, smoothed;     /* smoother: filtered means in, smoothed ones out              */
    int64_t end;                /* filter: first step not to take; smoother: last one to take  */
    ks_evidence evidence;       /* filter                                                      */
    int64_t failed;             /* in: -1; out: the step whose mean is not finite, or -1       */
} ks_mean_lane;

/** Return a series with its mean and gains. Outputs and end are left to the caller. */
static inline ks_mean_lane ks_mean_lane_of(const ks_series *series, void *x, ks_sink gain)
{
    const ks_mean_lane lane = { .series = series, .x = x, .gain = gain, .failed = -1 };
    return lane;
}

/** Compute means of steps k0 .. k1 - 1, or k1 - 1 .. k0, of `count` series. `work` holds ks_means_work() doubles,
 *  aligned to 64 bytes. */
typedef struct ks_means {
    void (*filter)(int count, ks_mean_lane *lanes, int64_t k0, int64_t k1, void *work);
    void (*smooth)(int count, ks_mean_lane *lanes, int64_t k0, int64_t k1, void *work);
    /** The same for series that share F, u, H and the gains, without missing entries. They put out only the means of
     *  `to` and the kept means, and take all steps. */
    void (*follow_filter)(int count, ks_mean_lane *lanes, int64_t k0, int64_t k1, void *work);
    void (*follow_smooth)(int count, ks_mean_lane *lanes, int64_t k0, int64_t k1, void *work);
} ks_means;

static inline size_t ks_means_work(size_t nx, size_t ny) { return 4 * (3 * nx + 2 * ny); }

/** Return the table of a tier, see ks_kernels_of(). */
const ks_means *ks_means_of(ks_tier tier);

extern const ks_means ks_means_baseline, ks_means_avx2;

#endif
