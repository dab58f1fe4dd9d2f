/* kalscan/diffuse.h -- filtering and smoothing with a prior that is infinite in some directions.
 *
 *     x[-1] or x[0] ~ N(m0, P0 + kappa P0_inf),   kappa -> infinity
 *
 * P0_inf (nx, nx) is positive semidefinite, of any rank: the identity if nothing is known of the state, or a diagonal
 * with zeros for the states that P0 describes, those with a stationary distribution for example. Results are the
 * limits, without a large number that would cost digits (exact initial Kalman filter, Durbin & Koopman, sec. 5.2):
 *
 *     loglik      lim log p(y) + r/2 log kappa, r the number of directions of P0_inf that y tells; all constants
 *                 included (Durbin & Koopman, sec. 7.2.5)
 *     smoothed    means and covariances given all of y, which must tell all directions of P0_inf
 *     filtered    means and covariances given y[0..k], and so predicted ones, innovations and terms of loglik. Entries
 *                 of covariances without a limit are infinite. A row with an infinite innovation covariance has NaN
 *                 for its standardized innovation.
 *
 * The first steps, as many as tell the state and leave it with a covariance that is not nearly singular, are run by
 * KS_METHOD_SEQUENTIAL in double, with the directions of P0_inf as further states. The others are run by the plan's
 * method, with a prior that is finite.
 *
 * Example: smooth one series of which nothing is known before the first observation.
 *
 *     ks_status smooth(const ks_smooth_plan *plan, const ks_model *model, int64_t ny, const double *identity,
 *                      const double *y, const ks_outputs *outputs)
 *     {
 *         return ks_diffuse_run(plan, model, (ks_view){ identity, 0, 0 }, (ks_view){ y, ny, 0 }, outputs, NULL, NULL);
 *     }
 *
 * Storage, units, threads and determinism are as in <kalscan/smooth.h>. */
#ifndef KALSCAN_DIFFUSE_H
#define KALSCAN_DIFFUSE_H

#include "kalscan/signal.h"
#include "kalscan/smooth.h"

KS_BEGIN_DECLS

/** Filter or smooth B series as ks_smooth_run() does, with the prior covariance P0 + kappa P0_inf, kappa -> infinity.
 *
 *  P0_inf has blocks of (nx, nx) without steps: its step stride is ignored. Numbers are of the type of P0. It must be
 *  symmetric to the bit and positive semidefinite; zero is allowed. model->m0 and model->P0 may be absent: zero.
 *
 *  Memory for the run comes from the allocator of the plan's context, and is freed before the call returns: a workspace
 *  and, for the first steps of a smoother, some ten (nx + d, nx + d) blocks of doubles each, d being the rank of P0_inf.
 *  On a device the later steps take as much again as the plan. First steps are run on the calling thread, series by
 *  series.
 *
 *  steps may be NULL. *steps becomes the number of steps at the beginning, the same for all series, that were not run
 *  by the plan's method; 0 if P0_inf is zero. info is that of the run of the others; series and step count as here.
 *
 *  Errors are those of ks_smooth_run(), and
 *  - KS_EINVAL: with KS_ARRAY_P0 for P0_inf, too.
 *  - KS_ENOMEM: out of memory.
 *  - KS_EREFUSED with KS_ARRAY_P0: a smoother, and the observations of info->series do not tell all directions of
 *    P0_inf (KS_FAULT_NOT_FINITE; info->row is the state whose variance is infinite), or round-off hides what they
 *    tell (KS_FAULT_ILL_CONDITIONED). */
KS_API KS_MUST_CHECK ks_status ks_diffuse_run(const ks_smooth_plan *plan, const ks_model *model, ks_view P0_inf,
                                              ks_view y, const ks_outputs *outputs, int64_t *steps, ks_info *info);

/** Compute the signal of filtered estimates: H[k] E(x[k]) + d[k] and H[k] Cov(x[k]) H[k]' given y[0..k].
 *
 *  Until y has told all directions, Cov(x[k]) has infinite entries, and which of a signal are so cannot be told from
 *  them: the sum of a level and a season is known from one observation, which tells neither. So the first steps are
 *  filtered again. Entries of cov, var and observed_var that have no limit are inf or -inf; means have limits.
 *
 *  plan, model, P0_inf and y are those of a ks_diffuse_run() that made the filtered estimates mean and cov, which are
 *  read as by ks_signal(), behind the first steps. So are outputs, and threads of the plan are used, there. Memory comes
 *  from the allocator of the plan's context, as for the run, and is freed before the call returns. The signal of smoothed
 *  estimates is that of ks_signal().
 *
 *  Errors are those of ks_signal(), and
 *  - KS_EINVAL: with KS_ARRAY_Y and others of the model, which the first steps read, and KS_ARRAY_P0 for P0_inf, too.
 *  - KS_ENOMEM: out of memory.
 *  - those of ks_diffuse_run() for the first steps. */
KS_API KS_MUST_CHECK ks_status ks_diffuse_signal(const ks_smooth_plan *plan, const ks_model *model, ks_view P0_inf,
                                                 ks_view y, ks_view mean, ks_view cov,
                                                 const ks_signal_outputs *outputs, ks_info *info);

KS_END_DECLS
#endif
