/* kalscan/signal.h -- the signal: the observed quantity itself, without the noise of its observations.
 *
 *     theta[k] = H[k] x[k] + d[k],   y[k] = theta[k] + v[k],   v[k] ~ N(0, R[k])
 *
 * Made of means and covariances of x: smoothed, filtered or predicted ones. It has all its entries at every step,
 * whatever is missing of y: in gaps and forecasts, too. With a probability of 95 % each
 *
 *     mean +- 1.96 sqrt(var)             holds an entry of theta,
 *     mean +- 1.96 sqrt(observed_var)    an observation of it, whose noise has the variance of R[k].
 *
 * Such an observation is an entry of a row of y that is missing as a whole, or to come, and any further one of its
 * kind. Of a row with some entries present the noise of these tells of that of a missing one as far as R[k] has them
 * correlated; mean and observed_var do not look at that.
 *
 * Usage: after ks_smooth_run(), with the same plan and model, from what the run has put out.
 *
 *     ks_signal_outputs signal = KS_SIGNAL_OUTPUTS_INIT;
 *     signal.mean = (ks_out){theta, ny, 0};
 *     signal.observed_var = (ks_out){variance, ny, 0};
 *     void *work = aligned_alloc(64, ks_signal_workspace_bytes(plan));
 *     ks_signal(plan, &model, (ks_view){x, nx, 0}, (ks_view){P, nx * nx, 0}, &signal, work, &info);
 *
 * Storage, units, threads and bits are as in <kalscan/smooth.h>; entries of theta have the units of those of y. */
#ifndef KALSCAN_SIGNAL_H
#define KALSCAN_SIGNAL_H

#include "kalscan/smooth.h"

KS_BEGIN_DECLS

/** Where the signal goes. Start from KS_SIGNAL_OUTPUTS_INIT and give a place to what is to be made, one of them at
 *  least. Numbers are those of the plan's precision, of KS_MIXED mean is double and the others are float. No output may
 *  overlap an input or another output.
 *  cov is symmetric to the bit, and positive semidefinite as far as the round-off of |H| |P| |H'| lets it be. No
 *  variance is negative: where round-off makes it so, the true one being smaller than that, it is 0. */
typedef struct ks_signal_outputs {
    size_t size;          /**< sizeof(ks_signal_outputs)                                         */
    ks_out mean;          /**< (T, ny): H[k] E(x[k]) + d[k]                                      */
    ks_out cov;           /**< (T, ny, ny): H[k] P[k] H[k]' with P[k] = Cov(x[k])                */
    ks_out var;           /**< (T, ny): diagonal of cov, to the bit                              */
    ks_out observed_var;  /**< (T, ny): diagonal of H[k] P[k] H[k]' + R[k]                       */
} ks_signal_outputs;
#define KS_SIGNAL_OUTPUTS_INIT                                                              \
    { sizeof(ks_signal_outputs), KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE }

/** Bytes of workspace that ks_signal() needs, a multiple of 64 and aligned to it; SIZE_MAX where they do not fit a
 *  size_t. 0 if plan is NULL. */
KS_API size_t ks_signal_workspace_bytes(const ks_smooth_plan *plan);

/** Make the signal of all steps and series. Of the plan, of any job, method and back end, it takes the sizes, the
 *  precision, the tier, the context and the threads; arrays are the host's. Of the model it reads H, for mean d
 *  (absent: zero), for observed_var R; no other array of it need be there.
 *  mean is E(x) in blocks of (nx), read for the mean; cov is P in blocks of (nx, nx), symmetric to the bit, read for
 *  whatever else is made. What is not read may be absent. `work` holds ks_signal_workspace_bytes() bytes, aligned to
 *  64, with undefined contents afterwards. info may be NULL.
 *  Errors: KS_EINVAL (info names H, d or R, or for mean and cov KS_ARRAY_ESTIMATE), KS_ENONFINITE with the series and
 *  step in info, and KS_ARRAY_SIGNAL. On error the outputs hold no meaningful values. */
KS_API KS_MUST_CHECK ks_status ks_signal(const ks_smooth_plan *plan, const ks_model *model, ks_view mean, ks_view cov,
                                         const ks_signal_outputs *outputs, void *work, ks_info *info);

KS_END_DECLS
#endif
