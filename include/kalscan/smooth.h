/* kalscan/smooth.h -- Kalman filtering and fixed-interval smoothing of linear-Gaussian state-space models.
 *
 *     x[k] = F[k] x[k-1] + u[k] + w[k],   w[k] ~ N(0, Q[k]),   k = 0 .. T-1
 *     y[k] = H[k] x[k]   + d[k] + v[k],   v[k] ~ N(0, R[k])
 *
 * F[k], Q[k] and u[k] lead into step k. The prior N(m0, P0) is the distribution of x[-1] (KS_PRIOR_X0) or of x[0]
 * (KS_PRIOR_X1). Q, R and P0 may be singular. One call processes B independent series.
 *
 * Calls, in this order:
 *
 *     ks_smooth_plan_create()       checks the options and allocates
 *     ks_smooth_workspace_bytes()   size of the workspace, which the caller allocates
 *     ks_smooth_run()               filters or smooths; any number of times
 *     ks_smooth_plan_destroy()      frees the plan
 *
 * Example: smooth one series with a constant model.
 *
 *     ks_status smooth(int64_t T, int nx, int ny, const ks_model *model, const double *y,
 *                      double *mean, double *cov, double *loglik)
 *     {
 *         ks_smooth_plan *plan;
 *         ks_status status = ks_smooth_plan_create(&plan, NULL, T, 1, nx, ny, NULL);
 *         if (status != KS_OK) return status;
 *         ks_outputs outputs = KS_OUTPUTS_INIT;
 *         outputs.smoothed_mean = (ks_out){ mean, nx, 0 };
 *         outputs.smoothed_cov = (ks_out){ cov, (int64_t)nx * nx, 0 };
 *         outputs.loglik = (ks_out){ loglik, 0, 0 };
 *         void *work = aligned_alloc(64, ks_smooth_workspace_bytes(plan));
 *         status = work ? ks_smooth_run(plan, model, (ks_view){ y, ny, 0 }, &outputs, work, NULL) : KS_ENOMEM;
 *         free(work);
 *         ks_smooth_plan_destroy(plan);
 *         return status;
 *     }
 *
 * Missing data: a NaN in y marks a missing entry. The step uses the other entries of y[k], with their rows of H[k] and
 * d[k] and their rows and columns of R[k]. H, d and R must be finite at missing entries, too.
 *
 * Forecasts: append rows of NaN to y, and give the model for these steps. <kalscan/signal.h> computes H x + d from the
 * estimates. In a batch, pad shorter series in the same way; their estimates and log-likelihood change by round-off
 * only.
 *
 * Real time: plan a filter of one step (T = 1) and run it at each observation under KS_PRIOR_X0. Pass filtered_mean and
 * filtered_cov of the previous run as m0 and P0. Outputs must not overlap inputs, so alternate between two buffers. With
 * a diffuse prior begin with a ks_diffuse_run() (<kalscan/diffuse.h>) of the first rows, as many as leave filtered_cov
 * without infinite entries.
 *
 * Storage: matrices are dense and row-major. Arrays hold double or float, as the plan's precision says (ks_precision);
 * log-likelihoods are always double. Strides count elements. A stride of 0 in an input means that all steps, or all
 * series, share one block. Units are the caller's: a covariance has the units of x times those of x.
 *
 * Threads: a plan is immutable. Any number of threads may run one plan, each with its own workspace and outputs; runs
 * on a device take turns. A run on the CPU allocates nothing, and no run keeps a pointer. For one method, set of
 * options, library binary and instruction-set tier the results are the same bits for any number of threads.
 * KS_METHOD_AUTO may choose another method for another number; info->method names the one that has run. Set OpenBLAS
 * to one thread: KS_METHOD_BLOCKTRI with more than 128 states and the checks of covariances call it.
 *
 * Floating point: the default environment is expected, with rounding to nearest and no exception trapped. A run may
 * flush denormal numbers to zero; it restores the caller's mode. It may set exception flags. */
#ifndef KALSCAN_SMOOTH_H
#define KALSCAN_SMOOTH_H

#include <stddef.h>
#include <stdint.h>
#include "kalscan/backend.h"
#include "kalscan/context.h"
#include "kalscan/export.h"
#include "kalscan/number.h"
#include "kalscan/order.h"
#include "kalscan/scan.h"
#include "kalscan/status.h"

KS_BEGIN_DECLS

/** What a plan computes. */
typedef enum ks_job { KS_JOB_SMOOTH = 0, KS_JOB_FILTER = 1 } ks_job;

/** Methods. ks_smooth_plan_create() returns KS_EINVAL for a method that does not do the job, or not in the precision.
 *  ks_smooth_run() returns KS_EREFUSED for a model that the method cannot take.
 *
 *  KS_METHOD_AUTO takes the method that should be fastest. On the CPU it takes every model that KS_METHOD_SEQUENTIAL
 *  takes. On a device, KS_BACKEND_CUDA being asked for, it is a scan.
 *
 *  KS_METHOD_SEQUENTIAL takes every model whose innovation covariances H P H' + R are positive definite.
 *
 *  The scan methods also need H Q H' + R positive definite: at every step but the first or, with KS_SCAN_CHUNKED, at
 *  the first step of every chunk but the first.
 *
 *  KS_METHOD_TWO_ENDED inverts R in the right half of the series, over the entries present. There R must be positive
 *  definite, and no pivot of its Cholesky factorization may be below 2^-26.5, or 1.1e-8, of the variance (float: 2^-12,
 *  or 2.4e-4). If loglik is an output, no observation there may exceed 9e13 (float: 1.7e7) standard deviations of its
 *  noise.
 *
 *  KS_METHOD_BLOCKTRI needs R over the entries present, Q and the covariance of x[0] positive definite. The latter is
 *  P0 (KS_PRIOR_X1) or F P0 F' + Q (KS_PRIOR_X0, where Q of step 0 may be singular).
 *
 *  Source: SF Alg. 5 (filter), 6 (RTS smoother), 7 (two-filter smoother). "SF" is Sarkka & Garcia-Fernandez, "On the
 *  performance of prefix-sum parallel Kalman filters and smoothers on GPUs", arXiv:2511.10363. */
typedef enum ks_method {
    KS_METHOD_AUTO = 0,            /**< the library chooses */
    KS_METHOD_SEQUENTIAL = 1,      /**< Kalman filter, RTS smoother: one pass in each direction */
    KS_METHOD_TWO_ENDED = 2,       /**< smoother: from both ends to the middle and back, on two threads */
    KS_METHOD_SCAN = 3,            /**< filter: scan of filtering elements */
    KS_METHOD_SCAN_RTS = 4,        /**< smoother: KS_METHOD_SCAN, then a reverse scan */
    KS_METHOD_SCAN_TWO_FILTER = 5, /**< smoother: a forward and a reverse scan, combined */
    KS_METHOD_BLOCKTRI = 6         /**< smoother: block-tridiagonal MAP system, eliminated in any ks_blocktri_order */
} ks_method;
#define KS_METHODS 7

/** Return the method's name on the command line, such as "scan-rts". Static storage; NULL for an unknown value. */
KS_API const char *ks_method_name(ks_method method);

/** Which state the prior N(m0, P0) belongs to. */
typedef enum ks_prior {
    KS_PRIOR_X0 = 0, /**< x[-1], the state before the first transition */
    KS_PRIOR_X1 = 1  /**< x[0]; F, Q and u of step 0 are neither read nor checked */
} ks_prior;

/** Which transition row k of F, Q and u describes. The two differ only where F, Q or u varies with the step. */
typedef enum ks_transition {
    KS_INTO = 0,   /**< from x[k-1] to x[k] */
    KS_OUT_OF = 1  /**< from x[k] to x[k+1], as in Durbin & Koopman: T - 1 rows; needs KS_PRIOR_X1 if they vary */
} ks_transition;

/** What to do when the covariances of a constant model converge. A model is constant if F, Q, H and R have no step
 *  stride. Devices, and scans other than KS_SCAN_CHUNKED, compute every step whatever this says. KS_METHOD_AUTO may
 *  choose its method by this option, and KS_METHOD_TWO_ENDED the step at which its halves meet.
 *
 *  KS_STEADY_STATE_REPEAT gives the same bits as KS_STEADY_STATE_COMPUTE if the method and that step are the same.
 *
 *  KS_STEADY_STATE_HOLD additionally keeps a covariance constant once a step changes it by round-off only. It does so
 *  only if that changes no variance by more than 2^-36 of it (float: 2^-13). A state that observations without noise
 *  determine to below a round-off gets variance 0. */
typedef enum ks_steady_state {
    KS_STEADY_STATE_HOLD = 0,   /**< look up steps that repeat, hold converged covariances */
    KS_STEADY_STATE_REPEAT = 1, /**< look up steps that repeat earlier ones to the bit */
    KS_STEADY_STATE_COMPUTE = 2 /**< compute each step */
} ks_steady_state;

/** Return the option's name on the command line, such as "hold". Static storage; NULL for an unknown value. */
KS_API const char *ks_steady_state_name(ks_steady_state steady_state);

/** An input array: borrowed and read-only. Strides count elements. Each is 0 (all steps, or all series, share the
 *  block) or at least the size of a block. m0 and P0 have no steps: their step stride is ignored. A stride along an
 *  axis of length 1 is ignored, too. KS_EINVAL: another stride, or an array whose last block ends beyond PTRDIFF_MAX
 *  bytes. */
typedef struct ks_view {
    const void *data;                   /**< first element; NULL: absent, allowed for u and d, which are zero then */
    int64_t step_stride, series_stride; /**< elements from step to step, from series to series */
} ks_view;

/** An output array: the caller's. Strides count elements; those of loglik and loglik_terms count doubles in every
 *  precision. Each is at least the size of a block. loglik, prior_mean and prior_cov have no steps: their step stride
 *  is ignored. A stride along an axis of length 1 is ignored, too. */
typedef struct ks_out {
    void *data;                         /**< first element; NULL: the plan does not make this output */
    int64_t step_stride, series_stride; /**< elements from step to step, from series to series */
} ks_out;

/** A model. Start from KS_MODEL_INIT. The struct and its arrays are borrowed during a call.
 *
 *      F, Q   (nx, nx)   transition, covariance of the process noise; may be absent if T = 1 under KS_PRIOR_X1
 *      u      (nx)       input; may be absent: zero
 *      H      (ny, nx)   observation
 *      R      (ny, ny)   covariance of the observation noise
 *      d      (ny)       offset of the observation; may be absent: zero
 *      m0     (nx)       prior mean, no steps
 *      P0     (nx, nx)   prior covariance, no steps
 *
 *  Both triangles of Q, R and P0 are read and must be equal to the bit: methods that read different triangles would
 *  give different results. A run does not check this. ks_model_check() does, with an asymmetry of 0, and
 *  ks_covariance_symmetrize() makes a matrix symmetric. */
typedef struct ks_model {
    size_t size;  /**< sizeof(ks_model) */
    ks_view F, Q, u, H, R, d, m0, P0;
    ks_prior prior;
    ks_transition transition;
} ks_model;
#define KS_MODEL_INIT                                                                       \
    { sizeof(ks_model), { NULL, 0, 0 }, { NULL, 0, 0 }, { NULL, 0, 0 }, { NULL, 0, 0 },     \
      { NULL, 0, 0 }, { NULL, 0, 0 }, { NULL, 0, 0 }, { NULL, 0, 0 }, KS_PRIOR_X0, KS_INTO }

/** Outputs, as bits of ks_smooth_options.outputs. Every run of a plan makes all outputs of the plan. ks_outputs says
 *  what each of them is. Which methods make them:
 *
 *                                                      filter:            smooth: sequential,     smooth:
 *                                                      sequential, scan   scan-rts, -two-filter   two-ended, blocktri
 *     LOGLIK                                           yes                yes                     yes
 *     LOGLIK_TERMS, PREDICTED_*, FILTERED_*,
 *     INNOVATION*                                      yes                yes                     no
 *     SMOOTHED_*, LAG_ONE_COV, PRIOR_* (KS_PRIOR_X0)   no                 yes                     yes
 *
 *  KS_METHOD_AUTO takes a method that makes what is asked for. */
typedef enum ks_output {
    KS_OUT_LOGLIK = 1 << 0,
    KS_OUT_LOGLIK_TERMS = 1 << 1,
    KS_OUT_PREDICTED_MEAN = 1 << 2,
    KS_OUT_PREDICTED_COV = 1 << 3,
    KS_OUT_FILTERED_MEAN = 1 << 4,
    KS_OUT_FILTERED_COV = 1 << 5,
    KS_OUT_SMOOTHED_MEAN = 1 << 6,
    KS_OUT_SMOOTHED_COV = 1 << 7,
    KS_OUT_LAG_ONE_COV = 1 << 8,
    KS_OUT_PRIOR_MEAN = 1 << 9,
    KS_OUT_PRIOR_COV = 1 << 10,
    KS_OUT_INNOVATION = 1 << 11,
    KS_OUT_INNOVATION_COV = 1 << 12,
    KS_OUT_INNOVATION_STD = 1 << 13,
    KS_OUT_PREDICTED_VAR = 1 << 14,
    KS_OUT_FILTERED_VAR = 1 << 15,
    KS_OUT_SMOOTHED_VAR = 1 << 16
} ks_output;

/** Where results go. Start from KS_OUTPUTS_INIT. Set the outputs that the plan makes, and no other. No output may
 *  overlap an input or another output, nor any of its blocks another one. Covariances are full and symmetric to the bit.
 *
 *  Under KS_PRIOR_X1 there is no x[-1]. Row 0 of lag_one_cov is zero then, and a plan that makes prior_mean or
 *  prior_cov does not run: KS_EINVAL, with KS_ARRAY_M0 or KS_ARRAY_P0.
 *
 *  At a missing entry innovation and innovation_std are NaN, and so are its row and column of innovation_cov. */
typedef struct ks_outputs {
    size_t size;            /**< sizeof(ks_outputs) */
    ks_out loglik;          /**< double, one per series: log p(y), all constants included, entries present only */
    ks_out loglik_terms;    /**< double (T): log p(y[k] | y[0..k-1]); their sum is loglik */
    ks_out predicted_mean;  /**< (T, nx): E(x[k] | y[0..k-1]) */
    ks_out predicted_cov;   /**< (T, nx, nx): Cov(x[k] | y[0..k-1]) */
    ks_out predicted_var;   /**< (T, nx): diagonal of predicted_cov */
    ks_out filtered_mean;   /**< (T, nx): E(x[k] | y[0..k]) */
    ks_out filtered_cov;    /**< (T, nx, nx): Cov(x[k] | y[0..k]) */
    ks_out filtered_var;    /**< (T, nx): diagonal of filtered_cov */
    ks_out smoothed_mean;   /**< (T, nx): E(x[k] | y) */
    ks_out smoothed_cov;    /**< (T, nx, nx): Cov(x[k] | y) */
    ks_out smoothed_var;    /**< (T, nx): diagonal of smoothed_cov */
    ks_out lag_one_cov;     /**< (T, nx, nx): Cov(x[k], x[k-1] | y) */
    ks_out prior_mean;      /**< (nx), no steps: E(x[-1] | y) */
    ks_out prior_cov;       /**< (nx, nx), no steps: Cov(x[-1] | y) */
    ks_out innovation;      /**< (T, ny): y[k] - d[k] - H[k] E(x[k] | y[0..k-1]) */
    ks_out innovation_cov;  /**< (T, ny, ny): S[k], covariance of the innovation */
    ks_out innovation_std;  /**< (T, ny): L^-1 innovation, with S[k] = L L' over the entries present */
} ks_outputs;
#define KS_OUTPUTS_NONE { NULL, 0, 0 }
#define KS_OUTPUTS_INIT                                                                     \
    { sizeof(ks_outputs), KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE,                \
      KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE,  \
      KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE,  \
      KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE }

/** Options of a plan. Start from KS_SMOOTH_OPTIONS_INIT, which smooths in double on the CPU, by KS_METHOD_AUTO and with
 *  KS_SCAN_CHUNKED, and makes loglik, smoothed_mean and smoothed_cov. A filter must set other outputs.
 *
 *  backend: a device runs the scan methods and KS_METHOD_BLOCKTRI in the order nested-dissection or, up to 16 states,
 *  partition. KS_METHOD_AUTO is a scan there. KS_BACKEND_AUTO takes the device if it has the method and there is room,
 *  else the CPU; for KS_METHOD_AUTO see ks_smooth_plan_backend().
 *
 *  second_device: KS_METHOD_SCAN_TWO_FILTER runs its reverse scan there, while `device` runs the forward one. Elements
 *  of all steps are stored then, whatever `scan` says. It may be the same device.
 *
 *  progress: ks_smooth_run() calls it from time to time, on the thread that runs the plan and in the floating-point
 *  mode of the caller. The ratio done / total is the share of the work that is done; the unit means nothing. A non-zero
 *  return value stops the run with KS_ECANCELED. */
typedef struct ks_smooth_options {
    size_t size;            /**< sizeof(ks_smooth_options) */
    ks_job job;
    ks_method method;
    ks_precision precision;
    unsigned outputs;       /**< bitwise OR of ks_output; 0: a run tells faults only */
    ks_scan_algorithm scan; /**< scan methods: the schedule */
    int64_t scan_threshold; /**< KS_SCAN_SENGUPTA: N of SF Alg. 4, at least 1; else unused, at least 0 */
    int threads;            /**< most workers of the context to use; 0: all of them */
    ks_tier tier;
    int (*progress)(void *user, int64_t done, int64_t total); /**< NULL: none */
    void *progress_user;    /**< first argument of progress */
    ks_blocktri_order order; /**< KS_METHOD_BLOCKTRI: elimination order of the steps */
    ks_backend backend;
    int device;             /**< number of the device, from 0 */
    int second_device;      /**< number of the device for the reverse scan; -1: none */
    ks_steady_state steady_state;
} ks_smooth_options;
#define KS_SMOOTH_OPTIONS_INIT                                                              \
    { sizeof(ks_smooth_options), KS_JOB_SMOOTH, KS_METHOD_AUTO, KS_F64,                     \
      KS_OUT_LOGLIK | KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV, KS_SCAN_CHUNKED,          \
      1, 0, KS_TIER_AUTO, NULL, NULL, KS_BLOCKTRI_AUTO, KS_BACKEND_CPU, 0, -1,             \
      KS_STEADY_STATE_HOLD }

/** Arrays that ks_info can name. */
typedef enum ks_array {
    KS_ARRAY_NONE = 0, KS_ARRAY_Y, KS_ARRAY_F, KS_ARRAY_Q, KS_ARRAY_U, KS_ARRAY_H, KS_ARRAY_R,
    KS_ARRAY_D, KS_ARRAY_M0, KS_ARRAY_P0,
    KS_ARRAY_INNOVATION_COV,  /**< H P H' + R */
    KS_ARRAY_ELEMENT_COV,     /**< H Q H' + R, which scans factor */
    KS_ARRAY_ESTIMATE,        /**< a mean or covariance; if not finite, possibly the log-likelihood up to there */
    KS_ARRAY_PRIOR_COV,       /**< F P0 F' + Q of step 0, the prior covariance of x[0] */
    KS_ARRAY_HESSIAN,         /**< the block-tridiagonal matrix of KS_METHOD_BLOCKTRI */
    KS_ARRAY_SIGNAL,          /**< H x + d or its covariance, <kalscan/signal.h> */
    KS_ARRAY_LOGLIK           /**< the log-likelihood, all estimates being finite */
} ks_array;

/** Return the array's name, such as "Q" or "H P H' + R"; "" for KS_ARRAY_NONE. Static storage, never NULL. */
KS_API const char *ks_array_name(ks_array array);

/** What is wrong with an array. */
typedef enum ks_fault {
    KS_FAULT_NONE = 0,
    KS_FAULT_NOT_FINITE,      /**< NaN or Inf */
    KS_FAULT_ASYMMETRIC,      /**< entries (row, column) and (column, row) differ by `value` */
    KS_FAULT_INDEFINITE,      /**< the smallest eigenvalue is `value`, too far below 0 */
    KS_FAULT_NOT_POSITIVE,    /**< pivot `row` of the factorization is not positive */
    KS_FAULT_ILL_CONDITIONED, /**< the expected error is `value`, relative or in standard deviations */
    KS_FAULT_TOO_SMALL        /**< R is so small beside y that round-off of y would count in the log-likelihood */
} ks_fault;

/** Outcome of a call. Start from KS_INFO_INIT. A call that takes one fills it on success and on failure, KS_EINVAL
 *  included, unless its size is wrong; ks_smooth_plan_begins() sets five members only. Of several failures of a run the
 *  one of the lowest (series, step) is reported, for any number of threads. */
typedef struct ks_info {
    size_t size;             /**< sizeof(ks_info) */
    ks_status status;        /**< what the call returned */
    ks_array array;          /**< which array failed; with KS_EINVAL which input is not valid; else KS_ARRAY_NONE */
    ks_fault fault;
    int64_t series, step;    /**< where it failed, or -1 */
    int row, column;         /**< entry of the array, or -1 */
    double value;            /**< see ks_fault; else 0 */
    ks_method suggestion;    /**< with KS_EREFUSED: a method that takes the model */
    ks_method method;        /**< method that ran */
    ks_scan_algorithm scan;  /**< scan methods: scan that ran */
    int threads;             /**< workers used; on a device those of the host that copy rows */
    int64_t rounds;          /**< barriers of all scans together */
    int64_t combines;        /**< applications of scan operators; KS_SCAN_CHUNKED: steps joined to aggregates, too */
    int64_t elements;        /**< scan elements made from model and data */
    int64_t ordinary_steps;  /**< steps in the ordinary form; KS_METHOD_BLOCKTRI: those in one pass each way */
    int64_t array_steps;     /**< steps in the array form, on square roots of covariances */
    int64_t missing;         /**< missing entries of y */
    ks_blocktri_order order; /**< KS_METHOD_BLOCKTRI: elimination order, else KS_BLOCKTRI_AUTO */
    ks_backend backend;      /**< back end that ran */
    int device_code;         /**< CUDA's error number where the device failed, else 0 */
} ks_info;
#define KS_INFO_INIT                                                                        \
    { sizeof(ks_info), KS_OK, KS_ARRAY_NONE, KS_FAULT_NONE, -1, -1, -1, -1, 0.0,            \
      KS_METHOD_AUTO, KS_METHOD_AUTO, KS_SCAN_HILLIS_STEELE, 0, 0, 0, 0, 0, 0, 0,           \
      KS_BLOCKTRI_AUTO, KS_BACKEND_CPU, 0 }

/** A plan: opaque and immutable. */
typedef struct ks_smooth_plan ks_smooth_plan;

/** Make a plan for B series of T steps with nx states and ny entries of y, all of them at least 1.
 *
 *  On success *out is the caller's; free it with ks_smooth_plan_destroy(). On failure *out is NULL. The plan keeps
 *  `context`, which must outlive it; NULL means the C library's allocator and one thread. `options` is copied; NULL
 *  means KS_SMOOTH_OPTIONS_INIT. A plan on a device holds its memory there until it is destroyed.
 *
 *  Errors:
 *  - KS_EINVAL: out is NULL, a size is below 1, or an option is not valid: ks_smooth_plan_invalid() names it.
 *  - KS_ENOMEM: out of memory on the host or the device, nx or ny above 5792, or a size in bytes overflows.
 *  - KS_EUNAVAILABLE: the processor lacks the tier, or the library has no code for the device.
 *  - KS_ENODEV: no such device, no driver, or the library is built without the back end.
 *  - KS_EDEVICE: the device failed.
 *  Errors of the device are returned if KS_BACKEND_CUDA is asked for, or if the CPU does not have the method in this
 *  precision (KS_MIXED). */
KS_API KS_MUST_CHECK ks_status ks_smooth_plan_create(ks_smooth_plan **out, ks_context *context,
                                                     int64_t T, int64_t B, int nx, int ny,
                                                     const ks_smooth_options *options);

/** Return the name of the first argument or option for which ks_smooth_plan_create() returns KS_EINVAL, such as "nx" or
 *  "threads"; NULL if all are valid. Static storage. options NULL means KS_SMOOTH_OPTIONS_INIT. No device is needed.
 *
 *  Options that do not go together: "method", which the job does not have; "outputs", which job or method do not make;
 *  "precision", which the method does not have there; "backend", which does not have the method; "second_device", which
 *  only KS_METHOD_SCAN_TWO_FILTER takes, and not with KS_BACKEND_CPU. */
KS_API const char *ks_smooth_plan_invalid(int64_t T, int64_t B, int nx, int ny, const ks_smooth_options *options);

/** Free a plan. No run of it may be in progress. NULL is allowed. */
KS_API void ks_smooth_plan_destroy(ks_smooth_plan *plan);

/** Return the method that the plan runs; KS_METHOD_AUTO only if plan is NULL.
 *
 *  A plan of KS_METHOD_AUTO may run another one, which ks_info.method tells: KS_METHOD_SCAN_RTS, or KS_METHOD_SCAN of a
 *  filter, with KS_SCAN_CHUNKED, if there are many threads and covariance steps cannot repeat; KS_METHOD_SEQUENTIAL in
 *  place of KS_METHOD_TWO_ENDED, if covariance steps do repeat or the data require it. Covariance steps cannot repeat
 *  if F, Q, H or R varies with the step, or under KS_STEADY_STATE_COMPUTE. */
KS_API ks_method ks_smooth_plan_method(const ks_smooth_plan *plan);

/** Return where the plan runs: never KS_BACKEND_AUTO; KS_BACKEND_CPU if plan is NULL.
 *
 *  A plan of KS_METHOD_AUTO and KS_BACKEND_AUTO is a plan of the CPU. If covariance steps cannot repeat and a run takes
 *  one thread about a quarter of a second or more, the run first tries KS_METHOD_SCAN_RTS, or KS_METHOD_SCAN, with
 *  KS_SCAN_CHUNKED on a device. ks_info.backend tells whose results these are. */
KS_API ks_backend ks_smooth_plan_backend(const ks_smooth_plan *plan);

/** Return why a plan of KS_BACKEND_AUTO runs on the CPU:
 *  - KS_OK: it runs on a device, or its runs may try one. Also of other back ends, and if plan is NULL.
 *  - KS_EINVAL: the device does not have the method, or its order. Of KS_METHOD_AUTO: the CPU is fast enough.
 *  - KS_ENODEV of KS_METHOD_AUTO: there is no driver, or the library is built without the back end. No device is opened
 *    to find out.
 *  - else the status that the device gave. */
KS_API ks_status ks_smooth_plan_declined(const ks_smooth_plan *plan);

/** Return the least number of bytes of device memory that such a plan takes; no device is needed. Long series go there
 *  in parts with KS_SCAN_CHUNKED. 0 if the plan is one of the CPU; also of KS_METHOD_AUTO with KS_BACKEND_AUTO, whose
 *  runs may try a device. SIZE_MAX if a size is below 1, an option is not valid, or the number does not fit a size_t.
 *  With a second device, the larger of the two shares, or their sum where both devices are the same. options NULL means
 *  KS_SMOOTH_OPTIONS_INIT. */
KS_API size_t ks_smooth_device_bytes(int64_t T, int64_t B, int nx, int ny,
                                     const ks_smooth_options *options);

/** Return the order in which KS_METHOD_BLOCKTRI eliminates the steps; KS_BLOCKTRI_AUTO for other methods, and if plan
 *  is NULL. */
KS_API ks_blocktri_order ks_smooth_plan_order(const ks_smooth_plan *plan);

/** Return the number of workers of a run, the caller included: at least 1, at most those of the context; 1 if plan is
 *  NULL. A run of KS_METHOD_AUTO that takes another method may use a different number: see ks_info.threads. */
KS_API int ks_smooth_plan_threads(const ks_smooth_plan *plan);

/** Tell which method, scan, order, back end and threads a run of the plan with such a model starts with. Only the
 *  strides of the model are looked at. Of `info`, which may be NULL, these members are set and the others stay as they
 *  are. A run of KS_METHOD_AUTO may go on with another method, which its own ks_info tells.
 *
 *  Errors:
 *  - KS_EINVAL: plan or model is NULL, or the `size` of model or info is wrong. */
KS_API ks_status ks_smooth_plan_begins(const ks_smooth_plan *plan, const ks_model *model, ks_info *info);

/** Return the bytes of workspace of one run: a multiple of 64, never 0 for a plan; 0 if plan is NULL. */
KS_API size_t ks_smooth_workspace_bytes(const ks_smooth_plan *plan);

/** Filter or smooth B series.
 *
 *  y has blocks of (ny). `work` holds ks_smooth_workspace_bytes() bytes, is aligned to 64 and undefined afterwards.
 *  info may be NULL. Nothing is kept after the call. On failure the outputs hold no meaningful values.
 *
 *  The model is trusted. Entries that are not finite and covariances that are not symmetric or not positive
 *  semidefinite may cause any of the errors below, at another place, or none. ks_model_check() finds them, once for
 *  many runs.
 *
 *  Errors:
 *  - KS_EINVAL: an argument is NULL, misaligned, or does not fit the plan; info->array names the input, if it is one.
 *  - KS_ENOTPD: an innovation covariance is not positive definite.
 *  - KS_EREFUSED: the method cannot take the model, or its round-off would move a mean by about 1e-6 standard
 *    deviations or more (single precision: 1e-2), or a covariance by as large a share (KS_FAULT_ILL_CONDITIONED);
 *    info->suggestion is a method that does.
 *  - KS_EMODEL: y contains Inf.
 *  - KS_ENONFINITE: an estimate or the log-likelihood is not finite.
 *  - KS_ECANCELED: the progress function asked to stop.
 *  - KS_ENOMEM: the device is out of memory.
 *  - KS_EDEVICE: the device failed. */
KS_API KS_MUST_CHECK ks_status ks_smooth_run(const ks_smooth_plan *plan, const ks_model *model,
                                             ks_view y, const ks_outputs *outputs, void *work,
                                             ks_info *info);

/** Check all that a run would read of a model. All entries must be finite. Q, R and P0 must be symmetric up to
 *  `asymmetry` times their largest entry, and have no eigenvalue below -`indefinite` times their trace. 1e-8 and 1e-10
 *  suit double, 1e-4 and 1e-5 float; neither may be negative or NaN.
 *
 *  The model is not changed. info may be NULL. Arrays are checked in the order F, Q, u, H, R, d, m0, P0, and the first
 *  fault is reported. info->step is the step that the block belongs to: row step - 1 of F, Q and u under KS_OUT_OF.
 *
 *  Errors:
 *  - KS_EINVAL: plan or model is NULL, a limit is not valid, or ks_smooth_run() would not take the model; info->array
 *    names the array, if it is one.
 *  - KS_ENOMEM: out of memory.
 *  - KS_EMODEL: a fault; see array, fault, series, step, row, column and value of info. */
KS_API KS_MUST_CHECK ks_status ks_model_check(const ks_smooth_plan *plan, const ks_model *model,
                                              double asymmetry, double indefinite, ks_info *info);

/** Check `count` contiguous (n, n) covariances as ks_model_check() does, and replace each by its symmetric part.
 *
 *  precision is that of the blocks: KS_F32 or KS_F64. `blocks` may be NULL if count is 0. Scratch comes from the C
 *  library's allocator. info may be NULL. On failure info->step is the index of the block at fault; those before it are
 *  replaced, it and the others are not.
 *
 *  Errors:
 *  - KS_EINVAL: n below 1, count below 0, blocks NULL or ending beyond PTRDIFF_MAX bytes, KS_MIXED, or a limit that is
 *    negative or NaN.
 *  - KS_ENOMEM: out of memory.
 *  - KS_EMODEL: a fault; see fault, step, row, column and value of info. */
KS_API KS_MUST_CHECK ks_status ks_covariance_symmetrize(ks_precision precision, int n,
                                                        int64_t count, void *blocks,
                                                        double asymmetry, double indefinite,
                                                        ks_info *info);

KS_END_DECLS
#endif
