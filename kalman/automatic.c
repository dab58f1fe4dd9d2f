/* automatic.c -- runs of KS_METHOD_AUTO on several threads or on a device.
 *
 * A single series is smoothed from both ends, unless its size, its model or its data ask for the sequential method. If
 * the model varies and there are enough threads for each series, or a device, a scan in chunks is tried first.
 *
 * When the halves of a series have met, it is known whether the information from the right is good enough. Up to there
 * the left half has done what the sequential method does, and it goes on with that if it must. So the attempt costs
 * only the time of the second thread. If digits turn out to be lost later, on the way out, the series is done again. */
#include <string.h>
#include "scan_device.h"
#include "two_ended_lane.h"

/* Shorter series end before a second thread is sure to have started. Larger models were not measured. See
 * docs/performance.md, "What auto takes". */
enum { FEW_STATES = 8, MOST_STATES = 64, LEAST_STEPS = 500, LEAST_STEPS_OF_FEW = 5000 };

/* Least numbers of threads for a scan in chunks. Measured with varying models: its time on one thread, as a multiple
 * of that of the method that it replaces:
 *
 *                                              double        single
 *     smoother, against two-ended on two       2.3 to 3.8    3.4 to 4.8
 *     filter, against sequential on one        2.8 to 3.5    3.3 to 5.6
 *
 * With so many threads it is predicted to be faster if each counts as four fifths of a thread. */
enum { THREADS_FOR_CHUNKS = 6, THREADS_FOR_SINGLE_CHUNKS = 8, STEPS_OF_A_THREAD = 500 };

enum { LEAST_NS_OF_DEVICE = 250000000 };

/** Whether a scan in chunks may be tried. A smoother must have all smoothed estimates as outputs: filtered ones wait
 *  there, and would otherwise take memory that nobody asked for. */
static int may_scan(const ks_smooth_plan *plan)
{
    const ks_smooth_options *o = &plan->options;
    return o->precision != KS_MIXED && plan->nx <= MOST_STATES &&
           (o->job == KS_JOB_FILTER || ks_makes_all(plan, KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV));
}

int ks_automatic_scans(const ks_smooth_plan *plan)
{
    const ks_smooth_options *o = &plan->options;
    const int least = o->precision == KS_F64 ? THREADS_FOR_CHUNKS : THREADS_FOR_SINGLE_CHUNKS;
    return may_scan(plan) && plan->T / STEPS_OF_A_THREAD >= least &&
           ks_workers(plan->context, o->threads, plan->T) / least >= plan->B;
}

int ks_automatic_offloads(const ks_smooth_plan *plan)
{
    /* Rough time of a smoother on one thread. Opening a device takes some tenths of a second. */
    const double n = plan->nx, ns = (5 + .15 * n) * n * n * (double)plan->T * (double)plan->B;
    return plan->options.backend == KS_BACKEND_AUTO && may_scan(plan) && ns >= LEAST_NS_OF_DEVICE;
}

int ks_steps_may_repeat(const ks_smooth_plan *plan, const ks_model *m)
{
    return !m->F.step_stride && !m->Q.step_stride && !m->H.step_stride && !m->R.step_stride &&
           plan->options.steady_state != KS_STEADY_STATE_COMPUTE;
}

int ks_automatic_tries(const ks_smooth_plan *plan)
{
    const unsigned in_place = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV;
    const unsigned smoothed = in_place | KS_OUT_SMOOTHED_VAR | KS_OUT_LAG_ONE_COV | KS_OUT_PRIOR_MEAN |
                              KS_OUT_PRIOR_COV | KS_OUT_LOGLIK;
    const ks_smooth_options *o = &plan->options;
    const int64_t least = plan->nx <= FEW_STATES ? LEAST_STEPS_OF_FEW : LEAST_STEPS;
    return o->job == KS_JOB_SMOOTH && o->precision != KS_MIXED && plan->B == 1 && plan->T >= least &&
           plan->nx <= MOST_STATES && !ks_one_thread_pays(plan->kernels, plan->nx) && ks_makes_all(plan, in_place) &&
           !(o->outputs & ~smoothed) && ks_workers(plan->context, o->threads, 2) == 2;
}

/** Copy the filtered estimate of the last step of the left half to its place among those that wait for the way back. */
static void put_back(ks_lane *l, ks_estimates filtered)
{
    const ks_smooth_plan *plan = l->run->plan;
    const size_t n = (size_t)plan->nx, bytes = plan->kernels->number_bytes;
    const ks_forward_sinks rows = ks_left_rows(l, 0);
    const int64_t middle = l->left_steps - 1;
    memcpy(ks_slot_of(rows.kept_mean, middle), filtered.mean, n * bytes);
    memcpy(ks_slot_of(rows.kept_C, middle), filtered.cov, n * n * bytes);
    ks_copy_estimate(plan, l->left.state, 0, filtered, 0);
}

/** Continue by the sequential method; the first `from` steps are filtered already. */
static int go_on_alone(ks_lane *l, int64_t from)
{
    ks_plan_run *run = l->run;
    const int64_t T = run->plan->T;
    ks_half *half = &l->left;
    ks_state state = { half->state.mean, half->state.cov, l->left_form, l->left_steady };
    ks_forward_sinks kept = ks_left_rows(l, 0);
    kept.sparse = 1;
    run->info->method = KS_METHOD_SEQUENTIAL;
    l->right.in = l->right.out = half->out = ks_tally_start();
    l->met = ks_evidence_start();
    if (from == 0) {
        half->in = ks_tally_start();
        run->plan->kernels->start(&l->series, &state, half->scratch);
    }
    if (ks_filter_blocks(run, &l->series, from, T, &state, &kept, half->scratch, &half->in)) return -1;
    if (!ks_goes_whitened(run->plan->nx, &half->in)) {
        if (!ks_smooth_blocks(run, &l->series, 0, T, &state, &kept, &l->back, half->scratch, &half->out)) {
            ks_smooth_start(run, l->b, &l->series, &state, half->scratch, &half->out);
            return 0;
        }
        if (half->out.sharp < 0) return -1;
    }
    /* In place: plans of KS_METHOD_AUTO that start from both ends have all smoothed estimates as outputs. */
    const int left = ks_is_rooted(&half->in) && half->out.sharp < 0;
    const ks_segments all = { T, T, { 0 }, { 0 }, half->form, left ? &half->in : NULL };
    return ks_whitening_run(run, &l->whitening, l->b, &l->series, &all, NULL, &l->back, half->scratch, &half->out);
}

static void run_lane(ks_lane *l)
{
    ks_plan_run *run = l->run;
    const ks_smooth_plan *plan = run->plan;
    ks_lane_open(l, 0);
    ks_lanes_both(run, l, 1, ks_lane_in);
    if (atomic_load(&run->canceled)) return;
    if (l->left_rc) { /* the sequential method would have failed in the same way */
        l->right.in = ks_tally_start();
        run->info->method = KS_METHOD_SEQUENTIAL;
        return;
    }
    int64_t filtered = l->left_steps;
    /* With more states and steps that repeat, which it looks up (memo_text.h), one half alone is faster. */
    if (!l->right_rc && !atomic_load(&l->alone)) {
        ks_copy_estimate(plan, l->left.again, 0, l->left.state, 0);
        ks_lane_meet(l);
        l->right_rc = ks_lane_try_out(l);
        if (!l->right_rc) {
            ks_lanes_both(run, l, 1, ks_lane_out);
            atomic_store(&run->given_up, 0);
            if (atomic_load(&run->canceled) || (!l->left_rc && !l->right_rc)) return;
            filtered = 0;
        } else {
            put_back(l, l->left.again);
        }
    }
    l->right_rc = 0;
    l->left_rc = go_on_alone(l, filtered);
}

/** Run the scan in chunks; on the CPU it stops where its digits are in doubt. Returns whether its outcome stands. It
 *  does not if other methods may do better: they take models that the scan refuses, and the CPU is there if a device
 *  fails. */
static int scan_stands(ks_plan_run *run, void *work)
{
    const ks_smooth_plan *chunked = run->plan->chunked;
    const int on_device = ks_smooth_plan_backend(chunked) == KS_BACKEND_CUDA;
    run->plan = chunked;
    run->info->method = chunked->method;
    run->info->backend = ks_smooth_plan_backend(chunked);
    run->watched = !on_device;
    if (on_device) ks_scan_device_run(run);
    else ks_scan_method_run(run, work);
    const ks_status status = run->info->status;
    return !run->sharp && (atomic_load(&run->canceled) || status == KS_OK || (status == KS_ENOMEM && !on_device));
}

void ks_automatic_run(ks_plan_run *run, void *work)
{
    const ks_smooth_plan *plan = run->plan;
    if (plan->chunked && !ks_steps_may_repeat(plan, run->model)) {
        const ks_info untouched = *run->info;
        if (scan_stands(run, work)) return;
        *run->info = untouched;
        run->plan = plan;
        run->done = 0;
    }
    if (plan->method == KS_METHOD_SEQUENTIAL) {
        ks_sequential_run(run, work);
        return;
    }
    ks_carver carver = ks_carver_at(work);
    ks_lane *l = ks_carve(&carver, 1, sizeof *l);
    ks_lane_carve(&carver, plan, l);
    l->run = run;
    l->total = ks_tally_start();
    l->failed = -1;
    run->total = plan->T * 2 / plan->workers;
    run->info->threads = plan->workers;
    run_lane(l);
    (void)ks_lane_close(l);
    ks_run_add(run, l->failed, &l->total);
    ks_carve_end(&carver);
}
