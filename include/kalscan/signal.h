/* kalscan/signal.h -- the signal: the observed quantity without the noise of its observations.
 *
 *     theta[k] = H[k] x[k] + d[k],   y[k] = theta[k] + v[k],   v[k] ~ N(0, R[k])
 *
 * It is computed from smoothed, filtered or predicted means and covariances of x. It has all entries at every step,
 * also where y is missing. With a probability of 95 % each, the interval
 *
 *     mean +- 1.96 sqrt(var)             contains an entry of theta,
 *     mean +- 1.96 sqrt(observed_var)    contains an observation of it.
 *
 * Such an observation is an entry of a row of y that is missing completely or still to come, or a repeated measurement.
 * If only some entries of a row are missing and R[k] correlates their noise with that of the others, the others contain
 * information about this noise. mean and observed_var do not use it.
 *
 * Call ks_signal() after ks_smooth_run(), with the same plan and model, on outputs of the run. Filtered estimates whose
 * prior is infinite in some directions have ks_diffuse_signal() of <kalscan/diffuse.h> instead.
 *
 * Example: means of the signal and variances of its observations.
 *
 *     ks_status signal(const ks_smooth_plan *plan, const ks_model *model, int64_t nx, int64_t ny,
 *                      const double *x, const double *P, double *theta, double *variance)
 *     {
 *         ks_signal_outputs signal = KS_SIGNAL_OUTPUTS_INIT;
 *         signal.mean = (ks_out){ theta, ny, 0 };
 *         signal.observed_var = (ks_out){ variance, ny, 0 };
 *         void *work = aligned_alloc(64, ks_signal_workspace_bytes(plan));
 *         const ks_view mean = { x, nx, 0 }, cov = { P, nx * nx, 0 };
 *         const ks_status status = work ? ks_signal(plan, model, mean, cov, &signal, work, NULL) : KS_ENOMEM;
 *         free(work);
 *         return status;
 *     }
 *
 * Storage, units, threads and determinism are as in <kalscan/smooth.h>. theta has the units of y. */
#ifndef KALSCAN_SIGNAL_H
#define KALSCAN_SIGNAL_H

#include "kalscan/smooth.h"

KS_BEGIN_DECLS

/** Where the signal goes. Start from KS_SIGNAL_OUTPUTS_INIT and set at least one output. Numbers have the plan's
 *  precision; with KS_MIXED mean is double and the others are float. No output may overlap an input or another output.
 *
 *  cov is symmetric to the bit, and positive semidefinite up to the round-off of |H| |P| |H'|. A variance that
 *  round-off would make negative is 0. */
typedef struct ks_signal_outputs {
    size_t size;          /**< sizeof(ks_signal_outputs) */
    ks_out mean;          /**< (T, ny): H[k] E(x[k]) + d[k] */
    ks_out cov;           /**< (T, ny, ny): H[k] P[k] H[k]' with P[k] = Cov(x[k]) */
    ks_out var;           /**< (T, ny): diagonal of cov, to the bit */
    ks_out observed_var;  /**< (T, ny): diagonal of H[k] P[k] H[k]' + R[k] */
} ks_signal_outputs;
#define KS_SIGNAL_OUTPUTS_INIT                                                              \
    { sizeof(ks_signal_outputs), KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE }

/** Return the bytes of workspace of ks_signal(): a multiple of 64. The caller aligns it to 64. SIZE_MAX if the number
 *  does not fit a size_t. 0 if plan is NULL. */
KS_API size_t ks_signal_workspace_bytes(const ks_smooth_plan *plan);

/** Compute the signal of all steps and series.
 *
 *  Of the plan its sizes, precision, tier, context and threads are used, whatever its job, method and back end. All
 *  arrays are on the host. Of the model H is read, and for mean d, and for observed_var R; the other arrays may be
 *  absent. `mean` is E(x) in blocks of (nx) and is read if the mean is wanted. `cov` is P in blocks of (nx, nx),
 *  symmetric to the bit, and is read if another output is wanted. What is not read may be absent. With KS_MIXED `mean`
 *  is double and `cov` is float, as a run makes them.
 *
 *  `work` holds ks_signal_workspace_bytes() bytes, is aligned to 64 and undefined afterwards. info may be NULL. On
 *  failure the outputs hold no meaningful values.
 *
 *  Errors:
 *  - KS_EINVAL: an argument is NULL or misaligned, or a stride is not valid. info->array is KS_ARRAY_H, _D or _R if it
 *    is that input, and KS_ARRAY_ESTIMATE if it is mean or cov.
 *  - KS_ENONFINITE: a result is not finite. info has KS_ARRAY_SIGNAL with series and step. */
KS_API KS_MUST_CHECK ks_status ks_signal(const ks_smooth_plan *plan, const ks_model *model, ks_view mean, ks_view cov,
                                         const ks_signal_outputs *outputs, void *work, ks_info *info);

KS_END_DECLS
#endif
