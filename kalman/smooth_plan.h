/* smooth_plan.h -- plans and runs, and what the drivers share. */
#ifndef KS_SMOOTH_PLAN_H
#define KS_SMOOTH_PLAN_H

#include <stdatomic.h>
#include "batch.h"
#include "carve.h"
#include "kalscan/blocktri.h"
#include "kalscan/smooth.h"
#include "kernels.h"
#include "pool.h"
#include "tiled.h"

/** Steps between two calls of the progress function. */
enum { KS_BLOCK = 4096 };

struct ks_smooth_plan {
    ks_context *context;
    int64_t T, B;
    int nx, ny;
    ks_smooth_options options;
    ks_method method;
    int automatic;                /* each run chooses between `method`, KS_METHOD_SEQUENTIAL and `chunked`: automatic.c */
    struct ks_smooth_plan *chunked; /* KS_METHOD_AUTO with many threads or a device: the scan in chunks, which a run
                                       tries if no covariance steps can repeat; else NULL */
    const ks_kernels *kernels;    /* in the plan's precision; KS_MIXED: in that of the covariances */
    size_t mean_bytes;            /* size of a number of the model and the means */
    const ks_kernels *aggregates; /* in double, for aggregates of chunks   */
    const ks_pack_kernels *packs; /* NULL: series run one by one           */
    int workers;
    int64_t segment;              /* steps between checkpoints, sequential */
    ks_scan_plan *forward, *reverse;
    ks_scan_plan *suffixes;       /* smoothers: of the aggregates of chunks, or NULL */
    ks_blocktri_plan *hessian;    /* MAP                                   */
    struct ks_scan_device *device; /* NULL: the plan runs on the CPU       */
    ks_status declined;           /* see ks_smooth_plan_declined()         */
    size_t workspace;
};

/** One run: the plan, its arguments, and the first fault so far. */
typedef struct ks_plan_run {
    const ks_smooth_plan *plan;
    const ks_model *model;
    ks_view y;
    const ks_outputs *outputs;
    ks_info *info;
    void *zeros;         /* max(nx, ny) zeros for an absent u or d */
    atomic_int canceled;
    atomic_int given_up; /* what the workers are doing is void: they are to end as if canceled, and others follow */
    const void *caller; /* the caller's thread, see ks_this_thread() */
    unsigned mode;      /* the caller's mode for denormal numbers, see ks_flush_begin() */
    int64_t done, total; /* for the progress function */
    int watched, sharp;  /* a scan in chunks is to stop, and has stopped, where its digits are in doubt */
} ks_plan_run;

/** Whether a view can be read, or an output written: `steps` rows of `block` numbers, for all series. */
int ks_readable(ks_view view, size_t number, int64_t block, int64_t steps, int64_t series, int optional);
int ks_writable(ks_out out, size_t number, int64_t block, int64_t steps, int64_t series);

/** Whether a run of the plan can take the model. If not, *array names the first input that is absent or whose strides
 *  do not fit, or the prior if an output about x[-1] is asked for and there is no x[-1]. */
int ks_valid_model(const ks_smooth_plan *plan, const ks_model *model, ks_array *array);

/** A valid model with the strides that are ignored set to 0: those of absent arrays and of arrays with one row. */
ks_model ks_plain_model(const ks_smooth_plan *plan, const ks_model *model);

/** Whether a run of the plan can take model, data and outputs. If not, *array names the input at fault, if
 *  it is one. */
int ks_valid_run(const ks_smooth_plan *plan, const ks_model *model, ks_view y,
                 const ks_outputs *outputs, ks_array *array);

/** Add a tally to info, which keeps the failure of the lowest (series, step). On the caller's thread only. */
void ks_run_add(ks_plan_run *run, int64_t series, const ks_tally *tally);

/** Count `steps` steps as done and, on the caller's thread, call the progress function. Returns non-zero once the run
 *  is canceled, or what is being done is given up. */
int ks_run_progress(ks_plan_run *run, int64_t steps);

/** Series b of a view and of an output. `number`: size of a number in bytes. NULL stays NULL. */
ks_rows ks_rows_at(ks_view view, int64_t b, size_t number);
ks_sink ks_sink_at(ks_out out, int64_t b, size_t number);

/** Series b of the run, with conventions resolved. */
void ks_series_of(const ks_plan_run *run, int64_t b, ks_series *series);

/** Output `out` of series b: ks_sink_of() for covariances, ks_mean_out_of() for means and innovations. */
ks_sink ks_sink_of(const ks_plan_run *run, ks_out out, int64_t b);
ks_sink ks_mean_out_of(const ks_plan_run *run, ks_out out, int64_t b);
ks_forward_sinks ks_forward_sinks_of(const ks_plan_run *run, int64_t b);
ks_backward_sinks ks_backward_sinks_of(const ks_plan_run *run, int64_t b);

/** Fail with the first log-likelihood that is not finite, if nothing else has failed: the determinant of an innovation
 *  covariance can overflow although all estimates are finite. */
void ks_check_loglik(ks_plan_run *run);

/** Write loglik of series b. */
void ks_write_loglik(const ks_plan_run *run, int64_t b, double loglik);

static inline int ks_is_mixed(const ks_smooth_plan *plan)
{
    return plan->options.precision == KS_MIXED;
}

/** Whether ordinary steps of a series that runs alone may observe exactly. In single precision only with one entry: one
 *  of several entries may add almost no information, and the step would divide what it has rounded by that. */
static inline int ks_goes_exact(const ks_smooth_plan *plan)
{
    const int digits = plan->kernels->number_bytes == sizeof(double) || plan->ny == 1;
    return digits && !ks_is_mixed(plan) && ks_tiled_exact(ks_tiled_kernels_of(plan->kernels), plan->nx, plan->ny);
}

/** Whether a plan makes all, or any, of a set of outputs. */
static inline int ks_makes_all(const ks_smooth_plan *plan, unsigned outputs)
{
    return (plan->options.outputs & outputs) == outputs;
}
static inline int ks_makes_any(const ks_smooth_plan *plan, unsigned outputs)
{
    return (plan->options.outputs & outputs) != 0;
}

/** Filter steps k0 .. k1 - 1, or smooth steps k1 - 1 .. k0, in blocks between calls of the progress function. Returns
 *  0, or -1 with the fault in the tally or the run canceled. */
int ks_filter_blocks(ks_plan_run *run, const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                     const ks_forward_sinks *to, void *scratch, ks_tally *tally);
int ks_smooth_blocks(ks_plan_run *run, const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                     const ks_forward_sinks *kept, const ks_backward_sinks *to, void *scratch,
                     ks_tally *tally);

/** From the smoothed `state` of step 0 of series b to the plan's outputs about x[-1]. */
void ks_smooth_start(ks_plan_run *run, int64_t b, const ks_series *s, ks_state *state, void *scratch,
                     ks_tally *tally);

/** Carve `count` estimates in the plan's precision. */
ks_estimates ks_carve_estimates(ks_carver *carver, const ks_smooth_plan *plan, int64_t count);
ks_sink ks_mean_sink(const ks_smooth_plan *plan, ks_estimates estimates, int64_t first);
ks_sink ks_cov_sink(const ks_smooth_plan *plan, ks_estimates estimates, int64_t first);
/** Copy estimate number from_at of `from` to number `at` of `to`. */
void ks_copy_estimate(const ks_smooth_plan *plan, ks_estimates to, int64_t at, ks_estimates from,
                      int64_t from_at);

/* The drivers. One function of each carves its workspace; a carver at NULL only measures. */
int64_t ks_sequential_groups(const ks_smooth_plan *plan); /* number of groups that may run at once */
size_t ks_sequential_workspace(const ks_smooth_plan *plan);
void ks_sequential_run(ks_plan_run *run, void *work);
ks_status ks_scan_plans(ks_smooth_plan *plan);
size_t ks_two_ended_workspace(const ks_smooth_plan *plan);
void ks_two_ended_run(ks_plan_run *run, void *work);
/** Whether a plan of KS_METHOD_AUTO starts from both ends. */
int ks_automatic_tries(const ks_smooth_plan *plan);
/** Whether a plan of KS_METHOD_AUTO has enough threads for a scan in chunks. */
int ks_automatic_scans(const ks_smooth_plan *plan);
/** Whether a plan of KS_METHOD_AUTO may run on a device, and is large enough for the device to be faster. */
int ks_automatic_offloads(const ks_smooth_plan *plan);
/** Whether covariance steps may repeat with such a model. Only its strides are read. */
int ks_steps_may_repeat(const ks_smooth_plan *plan, const ks_model *model);
void ks_automatic_run(ks_plan_run *run, void *work);
/** Whether the plan's scans re-run chunks rather than store an element for each step. */
int ks_scan_reruns(const ks_smooth_plan *plan);
size_t ks_scan_method_workspace(const ks_smooth_plan *plan);
void ks_scan_method_run(ks_plan_run *run, void *work);
ks_status ks_map_plan(ks_smooth_plan *plan);
size_t ks_map_workspace(const ks_smooth_plan *plan);
void ks_map_run(ks_plan_run *run, void *work);

#endif
