/* smooth_plan.h -- what a plan holds, what a run holds, and what the drivers share. */
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
    struct ks_smooth_plan *chunked; /* of such a plan with many threads or a device: the scan in chunks, which runs
                                       take where the covariances of no steps can repeat; else NULL */
    const ks_kernels *kernels;    /* in the plan's precision, of KS_MIXED that of covariances */
    size_t mean_bytes;            /* of a number of the model and the means */
    const ks_kernels *aggregates; /* in double, for aggregates of chunks   */
    const ks_pack_kernels *packs; /* NULL: series run one by one           */
    int workers;
    int64_t segment;              /* steps between checkpoints, sequential */
    ks_scan_plan *forward, *reverse;
    ks_scan_plan *suffixes;       /* of the aggregates of chunks, smoothers, or NULL */
    ks_blocktri_plan *hessian;    /* MAP                                   */
    struct ks_scan_device *device; /* NULL: the plan runs on the CPU       */
    ks_status declined;           /* why it does where the device was free to take it */
    size_t workspace;
};

/** One run: the plan, what it works on, and what has gone wrong so far. */
typedef struct ks_plan_run {
    const ks_smooth_plan *plan;
    const ks_model *model;
    ks_view y;
    const ks_outputs *outputs;
    ks_info *info;
    void *zeros;         /* max(nx, ny) zeros for an absent u or d */
    atomic_int canceled;
    const void *caller; /* its thread, see ks_this_thread() */
    unsigned mode;      /* and how that treats denormal numbers, see ks_flush_begin() */
    int64_t done, total; /* for the progress function */
    int watched, sharp;  /* a scan in chunks is to end, and has ended, where it is not sure of its digits */
} ks_plan_run;

/** Whether a view can be read: `steps` rows of `block` numbers, for all series; and an output be written. */
int ks_readable(ks_view view, int64_t block, int64_t steps, int64_t series, int optional);
int ks_writable(ks_out out, int64_t block, int64_t steps, int64_t series);

/** Whether a model is one that a run of the plan can take; *array names the first input that is absent, whose strides
 *  do not fit, or of which an output is asked for that there is not. */
int ks_valid_model(const ks_smooth_plan *plan, const ks_model *model, ks_array *array);

/** Whether model, data and outputs are what a run of the plan can take; *array names the input that is not. */
int ks_valid_run(const ks_smooth_plan *plan, const ks_model *model, ks_view y,
                 const ks_outputs *outputs, ks_array *array);

/** Add a tally to info; the lowest (series, step) failure stays. On the caller's thread only. */
void ks_run_add(ks_plan_run *run, int64_t series, const ks_tally *tally);

/** `steps` more are done: on the caller's thread the progress function is told. Returns non-zero
 *  once the run is canceled. */
int ks_run_progress(ks_plan_run *run, int64_t steps);

/** Series b of a view and of an output, whose numbers have so many bytes. An absent one stays absent. */
ks_rows ks_rows_at(ks_view view, int64_t b, size_t number);
ks_sink ks_sink_at(ks_out out, int64_t b, size_t number);

/** Series b of the run, conventions resolved. */
void ks_series_of(const ks_plan_run *run, int64_t b, ks_series *series);

/** Output `out` of series b: covariances, and means and innovations. */
ks_sink ks_sink_of(const ks_plan_run *run, ks_out out, int64_t b);
ks_sink ks_mean_out_of(const ks_plan_run *run, ks_out out, int64_t b);
ks_forward_sinks ks_forward_sinks_of(const ks_plan_run *run, int64_t b);
ks_backward_sinks ks_backward_sinks_of(const ks_plan_run *run, int64_t b);

/** Write loglik of series b. */
void ks_write_loglik(const ks_plan_run *run, int64_t b, double loglik);

static inline int ks_is_mixed(const ks_smooth_plan *plan)
{
    return plan->options.precision == KS_MIXED;
}

/** Whether ordinary steps of a series that goes by itself may observe exactly. In single precision one entry: of several one
 *  may tell next to nothing new, and divides by that what ordinary steps have rounded. */
static inline int ks_goes_exact(const ks_smooth_plan *plan)
{
    const int digits = plan->kernels->number_bytes == sizeof(double) || plan->ny == 1;
    return digits && !ks_is_mixed(plan) && ks_tiled_exact(ks_tiled_kernels_of(plan->kernels), plan->nx, plan->ny);
}

/** Whether a plan makes all outputs of a set, any of a set. */
static inline int ks_makes_all(const ks_smooth_plan *plan, unsigned outputs)
{
    return (plan->options.outputs & outputs) == outputs;
}
static inline int ks_makes_any(const ks_smooth_plan *plan, unsigned outputs)
{
    return (plan->options.outputs & outputs) != 0;
}

/** Filter steps k0 .. k1 - 1, smooth steps k1 - 1 .. k0, block by block between calls of the
 *  progress function. Return 0, or -1 with the fault in the tally or the run canceled. */
int ks_filter_blocks(ks_plan_run *run, const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                     const ks_forward_sinks *to, void *scratch, ks_tally *tally);
int ks_smooth_blocks(ks_plan_run *run, const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                     const ks_forward_sinks *kept, const ks_backward_sinks *to, void *scratch,
                     ks_tally *tally);

/** From the smoothed `state` of step 0 of series b to what the plan puts out of the prior. */
void ks_smooth_start(ks_plan_run *run, int64_t b, const ks_series *s, ks_state *state, void *scratch,
                     ks_tally *tally);

/** Estimates in the plan's precision, `count` of them. */
ks_estimates ks_carve_estimates(ks_carver *carver, const ks_smooth_plan *plan, int64_t count);
ks_sink ks_mean_sink(const ks_smooth_plan *plan, ks_estimates estimates, int64_t first);
ks_sink ks_cov_sink(const ks_smooth_plan *plan, ks_estimates estimates, int64_t first);
/** Copy the estimate at `from` to that at `to`, each counted in estimates from its array's start. */
void ks_copy_estimate(const ks_smooth_plan *plan, ks_estimates to, int64_t at, ks_estimates from,
                      int64_t from_at);

/* The drivers. Each carves its workspace with one function, NULL base measures, and runs. */
int64_t ks_sequential_groups(const ks_smooth_plan *plan); /* that may run at once */
size_t ks_sequential_workspace(const ks_smooth_plan *plan);
void ks_sequential_run(ks_plan_run *run, void *work);
ks_status ks_scan_plans(ks_smooth_plan *plan);
size_t ks_two_ended_workspace(const ks_smooth_plan *plan);
void ks_two_ended_run(ks_plan_run *run, void *work);
/** Whether a plan that is free to choose begins from both ends. */
int ks_automatic_tries(const ks_smooth_plan *plan);
/** Whether a plan that is free to choose has threads enough for a scan in chunks. */
int ks_automatic_scans(const ks_smooth_plan *plan);
/** Whether it may run on a device, and the device would be ahead. */
int ks_automatic_offloads(const ks_smooth_plan *plan);
/** Whether covariances of steps may repeat with such a model, of which strides are looked at. */
int ks_steps_may_repeat(const ks_smooth_plan *plan, const ks_model *model);
void ks_automatic_run(ks_plan_run *run, void *work);
/** Whether the plan's scans re-run chunks rather than keep an element for each step. */
int ks_scan_reruns(const ks_smooth_plan *plan);
size_t ks_scan_method_workspace(const ks_smooth_plan *plan);
void ks_scan_method_run(ks_plan_run *run, void *work);
ks_status ks_map_plan(ks_smooth_plan *plan);
size_t ks_map_workspace(const ks_smooth_plan *plan);
void ks_map_run(ks_plan_run *run, void *work);

#endif
