/* signal_rows.h -- the signal of a series, step by step: one table for each instruction-set tier. The text is in
 * signal_text.h, the driver is signal.c. */
#ifndef KS_SIGNAL_ROWS_H
#define KS_SIGNAL_ROWS_H

#include <stddef.h>
#include <stdint.h>
#include "kalscan/signal.h"
#include "series.h"

/** Rows of one series. Numbers have the plan's precision. With KS_MIXED covariances and variances are float and all
 *  others double. */
typedef struct ks_signal_rows {
    int nx, ny;
    ks_rows H, d, R;    /* d without a base: zero                                                     */
    ks_rows mean, cov;  /* of the states; without a base: no output that depends on it is asked for   */
    ks_sink to_mean, to_cov, to_var, to_observed_var; /* without a base: not asked for                */
} ks_signal_rows;

/** Numbers of `work`: for H', H P, H P H' and, with KS_MIXED, P in double. */
static inline size_t ks_signal_work(size_t nx, size_t ny, int mixed)
{
    return 2 * nx * ny + ny * ny + (mixed ? nx * nx : 0);
}

/** Make steps k0 .. k1 - 1. `work` holds ks_signal_work() numbers of the model's type. Stops at the first step with a
 *  number that is not finite, and returns this step; -1 if there is none. */
typedef int64_t ks_signal_steps(const ks_signal_rows *rows, int64_t k0, int64_t k1, void *work);

typedef struct ks_signal_kernels { ks_signal_steps *f64, *f32, *mixed; } ks_signal_kernels;

/** Whether arguments of ks_signal() are valid. If not, *array names the input at fault, if it is one. */
int ks_valid_signal(const ks_smooth_plan *plan, const ks_model *model, ks_view mean, ks_view cov,
                    const ks_signal_outputs *outputs, ks_array *array);

/** The table of a tier, see ks_kernels_of(). */
const ks_signal_kernels *ks_signal_kernels_of(ks_tier tier);

extern const ks_signal_kernels ks_signal_baseline, ks_signal_avx2;

#endif
