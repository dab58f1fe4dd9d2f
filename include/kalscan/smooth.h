/* kalscan/smooth.h -- filtering and fixed-interval smoothing of linear-Gaussian models.
 *
 *     x[k] = F[k] x[k-1] + u[k] + w[k],   w[k] ~ N(0, Q[k]),   k = 0 .. T-1
 *     y[k] = H[k] x[k]   + d[k] + v[k],   v[k] ~ N(0, R[k])
 *
 * F[k], Q[k], u[k] lead INTO step k. The prior is that of x[-1] (KS_PRIOR_X0) or of x[0]
 * (KS_PRIOR_X1). A NaN in y is a missing entry: its row leaves H and d, its row and column leave
 * R; these must be finite all the same. Q, R and P0 may be singular. B independent series run in one call.
 *
 * Forecasts: rows of NaN behind the last observation make estimates of steps to come, and <kalscan/signal.h> the
 * observed quantity of them; the model must be given for these steps, too. The shorter series of a batch are padded
 * with such rows: their estimates up to there and their log-likelihood are the same, to round-off.
 *
 * Usage: make a plan once, run it many times, destroy it. In real time: a filter's plan of one step, run at
 * each observation under KS_PRIOR_X0, with filtered_mean and filtered_cov of the run before as m0 and P0.
 *
 *     ks_smooth_options options = KS_SMOOTH_OPTIONS_INIT;
 *     options.outputs = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_LOGLIK;
 *     ks_smooth_plan_create(&plan, context, T, 1, nx, ny, &options);
 *     void *work = aligned_alloc(64, ks_smooth_workspace_bytes(plan));
 *     ks_smooth_run(plan, &model, y, &outputs, work, &info);
 *
 * Storage: matrices are dense and row-major; a step stride in elements leads from one step to the next, 0 says
 * that all steps share one block. Arrays are double or float, as the plan's precision says (ks_precision);
 * log-likelihoods are always double. Units are the caller's: a covariance has (unit of x)^2.
 *
 * Threads: a plan is immutable: any number of threads may run one, each with workspace and outputs of its own. A run
 * allocates nothing and keeps no pointer. For one method, option set, binary and instruction-set tier the results
 * are the same bits for any number of threads. OpenBLAS, which serves large states, should be set to one thread.
 *
 * Floating-point environment: the default one is expected, rounding to nearest, exceptions not trapped; a run may leave
 * flags of exceptions set. */
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

typedef enum ks_job { KS_JOB_SMOOTH = 0, KS_JOB_FILTER = 1 } ks_job;

/** The methods; "SF" is Sarkka & Garcia-Fernandez, "On the performance of prefix-sum parallel
 *  Kalman filters and smoothers on GPUs", arXiv:2511.10363. A method that does not do the plan's job, or not in its
 *  precision, is KS_EINVAL to plan. */
typedef enum ks_method {
    KS_METHOD_AUTO = 0,            /**< whatever is fastest and takes every model the options allow */
    KS_METHOD_SEQUENTIAL = 1,      /**< Kalman filter and smoother, one pass each way; takes every  */
                                   /**< model with positive definite innovation covariances         */
    KS_METHOD_TWO_ENDED = 2,       /**< smoother: from both ends to the middle and back out, on two  */
                                   /**< threads; R positive definite over the entries present     */
                                   /**< in the right half, no variance less than 1.1e-8 (float:   */
                                   /**< 2.4e-4) of it given the entries before, and, if loglik is */
                                   /**< asked for, no observation there larger than 9e13 (float:  */
                                   /**< 1.7e7) standard deviations of its noise                   */
    KS_METHOD_SCAN = 3,            /**< filter: scan of filtering elements, SF Alg. 5               */
    KS_METHOD_SCAN_RTS = 4,        /**< smoother: Alg. 5, then a reverse scan, SF Alg. 6            */
    KS_METHOD_SCAN_TWO_FILTER = 5, /**< smoother: forward and reverse scans combined, SF Alg. 7     */
    KS_METHOD_BLOCKTRI = 6         /**< smoother: block-tridiagonal MAP system, in any order of     */
                                   /**< <kalscan/order.h>; P0 (x1) or F P0 F' + Q (x0), Q and R    */
                                   /**< must be positive definite                                  */
} ks_method;
#define KS_METHODS 7

/** The name as the command line spells it, "scan-rts"; NULL for an unknown value. */
KS_API const char *ks_method_name(ks_method method);

typedef enum ks_prior {
    KS_PRIOR_X0 = 0,  /**< N(m0, P0) is the state before the first transition, x[-1]             */
    KS_PRIOR_X1 = 1   /**< N(m0, P0) is x[0]; F, Q, u of step 0 are neither read nor checked     */
} ks_prior;

typedef enum ks_transition {
    KS_INTO = 0,   /**< row k of F, Q, u leads into step k                                       */
    KS_OUT_OF = 1  /**< row k carries x[k] to x[k+1] (Durbin & Koopman), T - 1 rows suffice;     */
                   /**< needs KS_PRIOR_X1 where F, Q or u varies with the step                   */
} ks_transition;

/** What to do when the covariances of a constant model (F, Q, H and R without a step stride) converge. Scans, which make
 *  elements of all steps, and devices compute each step whatever this says. With another value KS_METHOD_AUTO may choose
 *  another method, and the halves of KS_METHOD_TWO_ENDED may meet at another step. */
typedef enum ks_steady_state {
    KS_STEADY_STATE_HOLD = 0,   /**< steps that repeat earlier ones to the bit are looked up; where none repeats, a     */
                                /**< covariance that moves by round-off alone is held as it is, if it is bounded that   */
                                /**< no variance is off by more than 2^-36 of it (float: 2^-13); and a state that       */
                                /**< observations without noise tell to below a round-off of what is predicted, or of   */
                                /**< what disturbances bring to it, has none                                            */
    KS_STEADY_STATE_REPEAT = 1, /**< steps that repeat are looked up, none is held: the bits of KS_STEADY_STATE_COMPUTE  */
                                /**< where the method is the same and halves meet at the same step                      */
    KS_STEADY_STATE_COMPUTE = 2 /**< each step is computed                                                              */
} ks_steady_state;

/** The name as the command line spells it, "hold"; NULL for an unknown value. */
KS_API const char *ks_steady_state_name(ks_steady_state steady_state);

/** An input array, borrowed and read-only. Strides count elements. A stride is 0, the same block at every step or for
 *  every series, or at least the size of a block; m0 and P0 have no steps and use their series stride alone. A stride
 *  that is less than a block and not 0, and an array that does not end within PTRDIFF_MAX bytes are KS_EINVAL. Strides
 *  that are not used, of a single step or series, are not looked at. data NULL: absent (u, d: zero). */
typedef struct ks_view {
    const void *data;
    int64_t step_stride, series_stride;
} ks_view;

/** An output array, the caller's. Strides count elements, those of loglik and loglik_terms doubles whatever the
 *  precision. Where there are several steps, or series, that stride is at least the size of a block, never 0; otherwise
 *  it is not looked at. loglik, prior_mean and prior_cov have no steps and use their series stride alone. data NULL:
 *  none of the plan's outputs. */
typedef struct ks_out {
    void *data;
    int64_t step_stride, series_stride;
} ks_out;

/** A model. Start from KS_MODEL_INIT. Blocks: F, Q (nx, nx); H (ny, nx); R (ny, ny); u (nx);
 *  d (ny); m0 (nx) and P0 (nx, nx), which have no steps. Of Q, R and P0 both triangles are read, and they must be equal
 *  to the bit: methods read one here and the other there, and come to different results where they differ. A run does
 *  not look; ks_model_check() tells, with an asymmetry of 0, and ks_covariance_symmetrize() makes them so. */
typedef struct ks_model {
    size_t size;  /**< sizeof(ks_model) */
    ks_view F, Q, u, H, R, d, m0, P0;
    ks_prior prior;
    ks_transition transition;
} ks_model;
#define KS_MODEL_INIT                                                                       \
    { sizeof(ks_model), { NULL, 0, 0 }, { NULL, 0, 0 }, { NULL, 0, 0 }, { NULL, 0, 0 },     \
      { NULL, 0, 0 }, { NULL, 0, 0 }, { NULL, 0, 0 }, { NULL, 0, 0 }, KS_PRIOR_X0, KS_INTO }

/** What a plan makes; every run of it makes all of that. Who makes what, KS_METHOD_AUTO as who it takes:
 *
 *                                                      filter:            smooth: sequential,     smooth:
 *                                                      sequential, scan   scan-rts, -two-filter   two-ended, blocktri
 *     LOGLIK                                           yes                yes                     yes
 *     LOGLIK_TERMS, PREDICTED_*, FILTERED_*,
 *     INNOVATION*                                      yes                yes                     no
 *     SMOOTHED_*, LAG_ONE_COV, PRIOR_* (KS_PRIOR_X0)   no                 yes                     yes
 */
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

/** Where results go. Start from KS_OUTPUTS_INIT; each output of the plan needs a place, no other may have one.
 *  Covariances are full and symmetric to the bit. No output may overlap an input or another output. */
typedef struct ks_outputs {
    size_t size;            /**< sizeof(ks_outputs)                                              */
    ks_out loglik;          /**< double, one per series: log p(y), every constant, entries       */
                            /**< present only                                                    */
    ks_out loglik_terms;    /**< double (T): log p(y[k] | y[0..k-1]); their sum is loglik        */
    ks_out predicted_mean;  /**< (T, nx): E(x[k] | y[0..k-1])                                    */
    ks_out predicted_cov;   /**< (T, nx, nx)                                                     */
    ks_out predicted_var;   /**< (T, nx): diagonal of predicted_cov                              */
    ks_out filtered_mean;   /**< (T, nx): E(x[k] | y[0..k])                                      */
    ks_out filtered_cov;    /**< (T, nx, nx)                                                     */
    ks_out filtered_var;    /**< (T, nx): diagonal of filtered_cov                               */
    ks_out smoothed_mean;   /**< (T, nx): E(x[k] | y)                                            */
    ks_out smoothed_cov;    /**< (T, nx, nx)                                                     */
    ks_out smoothed_var;    /**< (T, nx): diagonal of smoothed_cov                               */
    ks_out lag_one_cov;     /**< (T, nx, nx): Cov(x[k], x[k-1] | y); row 0 under KS_PRIOR_X0 is   */
                            /**< Cov(x[0], x[-1] | y), under KS_PRIOR_X1 zero                    */
    ks_out prior_mean;      /**< (nx), no steps: E(x[-1] | y); under KS_PRIOR_X1 there is none,   */
                            /**< and a run of a plan that makes it is KS_EINVAL (KS_ARRAY_M0)     */
    ks_out prior_cov;       /**< (nx, nx), no steps: Cov(x[-1] | y), likewise (KS_ARRAY_P0)       */
    ks_out innovation;      /**< (T, ny): y[k] - d[k] - H[k] E(x[k] | y[0..k-1]); NaN if missing */
    ks_out innovation_cov;  /**< (T, ny, ny): its covariance S[k]; NaN rows, columns if missing  */
    ks_out innovation_std;  /**< (T, ny): L^-1 innovation, of the lower Cholesky factor L of S[k] */
                            /**< over the entries present; NaN if missing                        */
} ks_outputs;
#define KS_OUTPUTS_NONE { NULL, 0, 0 }
#define KS_OUTPUTS_INIT                                                                     \
    { sizeof(ks_outputs), KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE,                \
      KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE,  \
      KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE,  \
      KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE, KS_OUTPUTS_NONE }

/** What to plan for. Start from KS_SMOOTH_OPTIONS_INIT, then set what differs. */
typedef struct ks_smooth_options {
    size_t size;            /**< sizeof(ks_smooth_options)                                       */
    ks_job job;
    ks_method method;
    ks_precision precision;
    unsigned outputs;       /**< bitwise OR of ks_output, made by every run. The default suits   */
                            /**< KS_JOB_SMOOTH; a filter must set its own (predicted, filtered,  */
                            /**< innovations, loglik)                                            */
    ks_scan_algorithm scan; /**< scan methods                                                    */
    int64_t scan_threshold; /**< KS_SCAN_SENGUPTA: N, at least 1; otherwise not used             */
    int threads;            /**< at most so many workers of the context; 0: all of them          */
    ks_tier tier;
    /** Called now and then, on the thread that runs the plan, with units of work, of which only the ratio means
     *  anything, and in the floating-point mode of the call; non-zero stops with KS_ECANCELED. */
    int (*progress)(void *user, int64_t done, int64_t total);
    void *progress_user;
    ks_blocktri_order order; /**< KS_METHOD_BLOCKTRI: in which order it eliminates the steps     */
    ks_backend backend;      /**< a device has the scans (KS_METHOD_AUTO is one there), and of   */
                             /**< KS_METHOD_BLOCKTRI partition, up to 16 states, and nested      */
                             /**< dissection; KS_BACKEND_AUTO: on a device if it can and has room */
    int device;              /**< of the back end: its number, from 0                            */
    int second_device;       /**< KS_METHOD_SCAN_TWO_FILTER: that of the reverse scan, which runs  */
                             /**< while `device` scans forward, elements of all steps being stored */
                             /**< whatever the scan; may be the same number; -1: none              */
    ks_steady_state steady_state; /**< of a constant model                                         */
} ks_smooth_options;
#define KS_SMOOTH_OPTIONS_INIT                                                              \
    { sizeof(ks_smooth_options), KS_JOB_SMOOTH, KS_METHOD_AUTO, KS_F64,                     \
      KS_OUT_LOGLIK | KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV, KS_SCAN_CHUNKED,          \
      1, 0, KS_TIER_AUTO, NULL, NULL, KS_BLOCKTRI_AUTO, KS_BACKEND_CPU, 0, -1,             \
      KS_STEADY_STATE_HOLD }

/** Arrays that a message can name. */
typedef enum ks_array {
    KS_ARRAY_NONE = 0, KS_ARRAY_Y, KS_ARRAY_F, KS_ARRAY_Q, KS_ARRAY_U, KS_ARRAY_H, KS_ARRAY_R,
    KS_ARRAY_D, KS_ARRAY_M0, KS_ARRAY_P0,
    KS_ARRAY_INNOVATION_COV,  /**< S = H P H' + R                                                */
    KS_ARRAY_ELEMENT_COV,     /**< H Q H' + R, what the scans' elements are made with            */
    KS_ARRAY_ESTIMATE,        /**< a mean or covariance that would be written, or not finite as  */
                              /**< well the log-likelihood up to there                           */
    KS_ARRAY_PRIOR_COV,       /**< F P0 F' + Q of step 0, the prior covariance of x[0]           */
    KS_ARRAY_HESSIAN,         /**< the block-tridiagonal system that KS_METHOD_BLOCKTRI solves   */
    KS_ARRAY_SIGNAL,          /**< H x + d or its covariance, <kalscan/signal.h>                 */
    KS_ARRAY_LOGLIK           /**< the log-likelihood, where all estimates are finite            */
} ks_array;

/** "Q", "H P H' + R", ..., "" for KS_ARRAY_NONE: static storage, never NULL. */
KS_API const char *ks_array_name(ks_array array);

/** What is wrong with an array. */
typedef enum ks_fault {
    KS_FAULT_NONE = 0,
    KS_FAULT_NOT_FINITE,    /**< NaN or Inf at (row, column)                                     */
    KS_FAULT_ASYMMETRIC,    /**< (row, column) and (column, row) differ by `value`               */
    KS_FAULT_INDEFINITE,    /**< the smallest eigenvalue is `value`                              */
    KS_FAULT_NOT_POSITIVE,  /**< pivot `row` of the factorization is not positive                */
    KS_FAULT_ILL_CONDITIONED, /**< `value` is the error to be expected, relative or in standard deviations */
    KS_FAULT_TOO_SMALL      /**< so much smaller than y that round-off of y counts in the log-likelihood */
} ks_fault;

/** What happened: filled by every call that takes one whose size is right, on success and on failure, KS_EINVAL
 *  included. Of several failures the one of the lowest (series, step) is told, so it does not depend on the threads. */
typedef struct ks_info {
    size_t size;             /**< sizeof(ks_info), set by the caller                             */
    ks_status status;        /**< what the call returned                                         */
    ks_array array;          /**< which matrix, with KS_EINVAL of a run which input; or KS_ARRAY_NONE */
    ks_fault fault;
    int64_t series, step;    /**< where, or -1                                                   */
    int row, column;         /**< in the array, or -1                                            */
    double value;            /**< see ks_fault; 0 where that says nothing of it                  */
    ks_method suggestion;    /**< with KS_EREFUSED: a method that takes the model                */
    ks_method method;        /**< the method that ran                                            */
    ks_scan_algorithm scan;  /**< and its scan, for scan methods                                 */
    int threads;             /**< workers used; with a device those of the host that move rows   */
    int64_t rounds;          /**< barriers of all scans together                                 */
    int64_t combines;        /**< applications of scan operators; a step that KS_SCAN_CHUNKED    */
                             /**< takes into the aggregate of its chunk counts as one            */
    int64_t elements;        /**< scan elements made from model and data                         */
    int64_t ordinary_steps;  /**< forward and backward steps in the ordinary form; of            */
                             /**< KS_METHOD_BLOCKTRI those taken in one pass each way            */
    int64_t array_steps;     /**< steps in the square-root array form, for stiff stretches       */
    int64_t missing;         /**< entries of y that are missing                                  */
    ks_blocktri_order order; /**< KS_METHOD_BLOCKTRI: the order, else KS_BLOCKTRI_AUTO           */
    ks_backend backend;      /**< that ran                                                       */
    int device_code;         /**< of a failure of the device: its run time's own number, else 0    */
} ks_info;
#define KS_INFO_INIT                                                                        \
    { sizeof(ks_info), KS_OK, KS_ARRAY_NONE, KS_FAULT_NONE, -1, -1, -1, -1, 0.0,            \
      KS_METHOD_AUTO, KS_METHOD_AUTO, KS_SCAN_HILLIS_STEELE, 0, 0, 0, 0, 0, 0, 0,           \
      KS_BLOCKTRI_AUTO, KS_BACKEND_CPU, 0 }

typedef struct ks_smooth_plan ks_smooth_plan;

/** Plan for B >= 1 series of T >= 1 steps, nx >= 1 states and ny >= 1 observed entries. On success
 *  *out is the caller's: free it with ks_smooth_plan_destroy(); on failure it is NULL. context
 *  NULL: the C library's allocator, one thread. The context must outlive the plan. options NULL means
 *  KS_SMOOTH_OPTIONS_INIT.
 *  A plan on a device keeps its memory there from now on; runs of it take turns.
 *  Errors: KS_EINVAL (a size below 1; an option that is no value of its type or is negative, but for a second_device of
 *  -1; a method that does not do the job, or not in this precision, cannot make an output that is asked for, or does not
 *  run on the device that is insisted on; scan_threshold below 1 with KS_SCAN_SENGUPTA; a second device for another
 *  method or with KS_BACKEND_CPU), KS_ENOMEM (also nx or ny above 5792, and sizes in bytes that overflow),
 *  KS_EUNAVAILABLE, and of KS_BACKEND_CUDA KS_ENODEV (no such device, no driver, not built in), KS_EDEVICE. */
KS_API KS_MUST_CHECK ks_status ks_smooth_plan_create(ks_smooth_plan **out, ks_context *context,
                                                     int64_t T, int64_t B, int nx, int ny,
                                                     const ks_smooth_options *options);

/** Which of its arguments, or of the options, is KS_EINVAL to ks_smooth_plan_create(): the name of the first of them, "nx",
 *  "threads", ..., in static storage; NULL if none is. Of options that do not go together: "method" that the job does
 *  not have, "outputs" that job or method do not make, "precision" that the method does not have there, "backend"
 *  that does not have the method, "second_device" of another method. */
KS_API const char *ks_smooth_plan_invalid(int64_t T, int64_t B, int nx, int ny, const ks_smooth_options *options);

/** Free a plan. NULL is allowed. */
KS_API void ks_smooth_plan_destroy(ks_smooth_plan *plan);

/** The method that the plan runs: KS_METHOD_AUTO only if plan is NULL. Where that was asked for, a run takes
 *  KS_METHOD_SCAN_RTS, of a filter KS_METHOD_SCAN, in chunks if the model varies and threads are many, and
 *  KS_METHOD_SEQUENTIAL in the place of KS_METHOD_TWO_ENDED if covariance steps repeat or its data ask for it;
 *  ks_info.method tells. */
KS_API ks_method ks_smooth_plan_method(const ks_smooth_plan *plan);

/** Where the plan runs: never KS_BACKEND_AUTO; KS_BACKEND_CPU if plan is NULL. One of KS_METHOD_AUTO and
 *  KS_BACKEND_AUTO is of the CPU; where the model varies and a run takes a thread about a quarter of a second or more it
 *  tries KS_METHOD_SCAN_RTS, or KS_METHOD_SCAN, in chunks on a device first: ks_info.backend tells whether that stood. */
KS_API ks_backend ks_smooth_plan_backend(const ks_smooth_plan *plan);

/** Why a plan with KS_BACKEND_AUTO runs on the CPU: the status that the device gave, KS_EINVAL where
 *  the method, or its order, has no form for the device, KS_OK where it runs there or tries to, and if plan is NULL. Of
 *  KS_METHOD_AUTO, which takes a method of the CPU where that is through soon, KS_ENODEV where no device can be (no
 *  driver is installed, or the back end is not built in), otherwise KS_EINVAL: none is opened to find out. */
KS_API ks_status ks_smooth_plan_declined(const ks_smooth_plan *plan);

/** Bytes of device memory that such a plan takes at least (long series go there in parts with
 *  KS_SCAN_CHUNKED), device or none; 0 where it would not run on one, SIZE_MAX where they do not fit a
 *  size_t, and where a size is below 1 or an option is not valid. Of two devices the larger share, of one that is both
 *  their sum. options NULL means KS_SMOOTH_OPTIONS_INIT. */
KS_API size_t ks_smooth_device_bytes(int64_t T, int64_t B, int nx, int ny,
                                     const ks_smooth_options *options);

/** The order in which KS_METHOD_BLOCKTRI eliminates the steps: KS_BLOCKTRI_AUTO only for other
 *  methods, and if plan is NULL. */
KS_API ks_blocktri_order ks_smooth_plan_order(const ks_smooth_plan *plan);

/** Workers that a run takes, the caller included: never more than the context has. Where the method is
 *  left to the library and a run changes it, ks_info.threads may tell others. 1 if plan is NULL. */
KS_API int ks_smooth_plan_threads(const ks_smooth_plan *plan);

/** What a run of the plan with such a model begins with, of which only strides are looked at: method, scan, order, backend and
 *  threads go to `info`, which may be NULL. Where the method is left to the library the run may go on with another one,
 *  which its own ks_info tells. KS_EINVAL if plan or model is NULL or a size is wrong. */
KS_API ks_status ks_smooth_plan_begins(const ks_smooth_plan *plan, const ks_model *model, ks_info *info);

/** Bytes of workspace that one run needs, a multiple of 64 and aligned to it. 0 if plan is NULL. */
KS_API size_t ks_smooth_workspace_bytes(const ks_smooth_plan *plan);

/** Run a plan. `y` has (ny) blocks; inputs and outputs as described above; `work` holds
 *  ks_smooth_workspace_bytes() bytes, aligned to 64, with undefined contents afterwards. info may
 *  be NULL. The model is trusted: what is not finite, not symmetric or indefinite in it may show as any of the errors
 *  below, elsewhere, or not at all; ks_model_check() tells, once for many runs, which matrix it is.
 *  Errors: KS_EINVAL, KS_ENOTPD (an innovation covariance), KS_EREFUSED (the method cannot take the model, or would
 *  multiply its round-off beyond what the estimates bear: KS_FAULT_ILL_CONDITIONED), KS_EMODEL (Inf in y), KS_ENONFINITE,
 *  KS_ECANCELED, KS_EDEVICE. On error the outputs hold no meaningful values. */
KS_API KS_MUST_CHECK ks_status ks_smooth_run(const ks_smooth_plan *plan, const ks_model *model,
                                             ks_view y, const ks_outputs *outputs, void *work,
                                             ks_info *info);

/** Check all that a run would read of a model: finite everywhere; Q, R and P0 symmetric up to
 *  `asymmetry` of the largest entry and without an eigenvalue below -`indefinite` of the trace
 *  (1e-8 and 1e-10 suit double, 1e-4 and 1e-5 float; neither is negative or NaN). Nothing is changed.
 *  Errors: KS_EINVAL (also of a model that ks_smooth_run() would not take; info names the array), KS_ENOMEM, KS_EMODEL
 *  with array, fault, series, step, row and column in info. */
KS_API KS_MUST_CHECK ks_status ks_model_check(const ks_smooth_plan *plan, const ks_model *model,
                                              double asymmetry, double indefinite, ks_info *info);

/** Check `count` contiguous (n, n) covariances as ks_model_check() does and replace each by its
 *  symmetric part. On failure info->step is the index of the block; those before it are replaced already. A count of 0
 *  is KS_OK, and `blocks` may be NULL then. precision is that of the blocks: KS_F32, or KS_F64, also for KS_MIXED.
 *  Errors: KS_EINVAL (also KS_MIXED, and blocks that do not end within PTRDIFF_MAX bytes), KS_ENOMEM, KS_EMODEL. */
KS_API KS_MUST_CHECK ks_status ks_covariance_symmetrize(ks_precision precision, int n,
                                                        int64_t count, void *blocks,
                                                        double asymmetry, double indefinite,
                                                        ks_info *info);

KS_END_DECLS
#endif
