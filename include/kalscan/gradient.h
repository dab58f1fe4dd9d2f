/* kalscan/gradient.h -- the log-likelihood and its gradient by the numbers of the model, for maximum likelihood.
 *
 * One pass back over what the filter has made gives the derivatives of log p(y) by every number of F, Q, u, H, R, d, m0
 * and P0, for a few times what the filter takes, however many parameters a model depends on. If they depend on a
 * parameter t, the chain rule gives
 *
 *     d log p(y) / dt  =  sum over arrays A and their entries of  gradient of A  *  dA / dt.
 *
 * Nothing but innovation covariances is inverted: F, Q, R and P0 may be singular. The prior may be diffuse, as in
 * <kalscan/diffuse.h>; log p(y) is then the limit that is told there.
 *
 * Source: Koopman & Shephard, "Exact score for time series models in state space form", Biometrika 79, 1992; of diffuse
 * priors de Jong, "The diffuse Kalman filter", Annals of Statistics 19, 1991.
 *
 * Example: the log-likelihood of one series with a constant model, and its derivatives by Q and R.
 *
 *     ks_status score(const ks_smooth_plan *plan, const ks_model *model, int64_t ny, const double *y, double *loglik,
 *                     double *by_Q, double *by_R)
 *     {
 *         ks_gradient gradient = KS_GRADIENT_INIT;
 *         gradient.loglik = (ks_out){ loglik, 0, 0 };
 *         gradient.Q = (ks_out){ by_Q, 0, 0 };
 *         gradient.R = (ks_out){ by_R, 0, 0 };
 *         void *work = aligned_alloc(64, ks_gradient_workspace_bytes(plan));
 *         const ks_status status = work ? ks_gradient_run(plan, model, (ks_view){ NULL, 0, 0 }, (ks_view){ y, ny, 0 },
 *                                                         &gradient, work, NULL)
 *                                       : KS_ENOMEM;
 *         free(work);
 *         return status;
 *     }
 *
 * Storage, threads and determinism are as in <kalscan/smooth.h>. */
#ifndef KALSCAN_GRADIENT_H
#define KALSCAN_GRADIENT_H

#include "kalscan/smooth.h"

KS_BEGIN_DECLS

/** Where derivatives go. Start from KS_GRADIENT_INIT and set at least one. All numbers are doubles. No output may
 *  overlap an input or another output.
 *
 *  Blocks are those of the model's arrays. A step stride of 0 asks for the sum over all steps, which is the gradient by
 *  an array that all steps share, and a series stride of 0 for the sum over all series; other strides are at least the
 *  size of a block. So an output with the strides of the model's array is the gradient by the numbers that are stored.
 *  Rows of F, Q and u that differ with the step are numbered as model->transition says: row 0 is zero where no
 *  transition leads into step 0; with KS_OUT_OF there are T - 1 rows. m0 and P0 have no steps: their step stride is
 *  ignored.
 *
 *  Those by Q, R and P0 are symmetric to the bit. The sum over all entries of the gradient times a symmetric change is
 *  the change of the log-likelihood: an entry off the diagonal is half of the derivative by the two that are equal.
 *  Rows of H and d, and rows and columns of R, have no share of steps at which their entry of y is missing. */
typedef struct ks_gradient {
    size_t size;    /**< sizeof(ks_gradient)                             */
    ks_out loglik;  /**< one per series, or their sum: log p(y)          */
    ks_out F, Q;    /**< (T, nx, nx)                                     */
    ks_out u;       /**< (T, nx)                                         */
    ks_out H;       /**< (T, ny, nx)                                     */
    ks_out R;       /**< (T, ny, ny)                                     */
    ks_out d;       /**< (T, ny)                                         */
    ks_out m0;      /**< (nx), no steps                                  */
    ks_out P0;      /**< (nx, nx), no steps                              */
} ks_gradient;
#define KS_GRADIENT_INIT                                                                            \
    { sizeof(ks_gradient), KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE,      \
      KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE }

/** Return the bytes of workspace of ks_gradient_run(): a multiple of 64. The caller aligns it to 64. They grow with the
 *  square root of T for each worker, and hold one block of each array for each series. SIZE_MAX if the number does not
 *  fit a size_t. 0 if plan is NULL. */
KS_API size_t ks_gradient_workspace_bytes(const ks_smooth_plan *plan);

/** Filter B series and go back, on the CPU and in double.
 *
 *  Of the plan its sizes, tier, steady state, context, threads and progress function are used, whatever its job, method,
 *  outputs and back end. Its precision is KS_F64 or KS_MIXED, whose models are double. Series go in parallel, unless an
 *  output differs with the step and is a sum over series.
 *
 *  P0_inf: without data the prior is finite. Otherwise it is as in ks_diffuse_run(), model->m0 and model->P0 may be
 *  absent, and each series must tell all directions of it. Some nx^2 numbers for each series and, for one at a time, a
 *  filter of its first steps take memory from the allocator of the plan's context, freed before the call returns.
 *
 *  `work` holds ks_gradient_workspace_bytes() bytes, is aligned to 64 and undefined afterwards. info may be NULL. On
 *  failure the outputs hold no meaningful values.
 *
 *  Errors are those of KS_METHOD_SEQUENTIAL of ks_smooth_run(), and
 *  - KS_EINVAL: an argument is NULL or misaligned, a stride is not valid, no output is set, or the plan is KS_F32.
 *    info->array names the input at fault, if it is one; KS_ARRAY_P0 for P0_inf, too.
 *  - KS_ENOMEM: out of memory, with a diffuse prior.
 *  - KS_ENOTPD with KS_ARRAY_INNOVATION_COV: also an innovation covariance that the filter could factor as a root but
 *    that is lost in the round-off of its own entries.
 *  - KS_ENONFINITE: a derivative is not finite. info has KS_ARRAY_ESTIMATE, and series and step, of sums -1.
 *  - KS_EREFUSED with KS_ARRAY_P0: the observations of info->series do not tell all directions of P0_inf
 *    (KS_FAULT_NOT_FINITE), or round-off hides what they tell (KS_FAULT_ILL_CONDITIONED). */
KS_API KS_MUST_CHECK ks_status ks_gradient_run(const ks_smooth_plan *plan, const ks_model *model, ks_view P0_inf,
                                               ks_view y, const ks_gradient *gradient, void *work, ks_info *info);

KS_END_DECLS
#endif
