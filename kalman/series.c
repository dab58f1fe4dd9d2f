/* series.c -- from the caller's views to one series with conventions resolved. */
#include <string.h>
#include "cpu.h"
#include "smooth_plan.h"

/* Stride in bytes. A stride that is not used may have any value; the product then wraps. */
static int64_t stride_of(int64_t step_stride, size_t number) { return (int64_t)((uint64_t)step_stride * number); }

ks_rows ks_rows_at(ks_view view, int64_t b, size_t number)
{
    const int64_t bytes = (int64_t)number;
    ks_rows rows = { (const char *)view.data, stride_of(view.step_stride, number) };
    if (view.data) rows.base += b * view.series_stride * bytes;
    return rows;
}

static ks_rows rows_of(const ks_plan_run *run, ks_view view, int64_t b)
{
    return ks_rows_at(view, b, run->plan->mean_bytes);
}

static ks_rows rows_or_zeros(const ks_plan_run *run, ks_view view, int64_t b)
{
    ks_rows zeros = { (const char *)run->zeros, 0 };
    return view.data ? rows_of(run, view, b) : zeros;
}

void ks_series_of(const ks_plan_run *run, int64_t b, ks_series *series)
{
    const ks_model *m = run->model;
    series->nx = run->plan->nx;
    series->ny = run->plan->ny;
    series->prior_x1 = m->prior == KS_PRIOR_X1;
    series->steps = run->plan->T;
    series->steady_state = run->plan->options.steady_state;
    series->all_steps = ks_pays_past() ? run->plan->T * run->plan->B : 0;
    series->shift = m->transition == KS_OUT_OF && series->steps > 1 ? 1 : 0;
    /* If nothing varies, the transition's convention makes no difference. Without a shift nothing refers to row -1. */
    if (!m->F.step_stride && !m->Q.step_stride && !m->u.step_stride) series->shift = 0;
    series->F = rows_of(run, m->F, b);
    series->Q = rows_of(run, m->Q, b);
    series->u = rows_or_zeros(run, m->u, b);
    series->H = rows_of(run, m->H, b);
    series->R = rows_of(run, m->R, b);
    series->d = rows_or_zeros(run, m->d, b);
    series->y = rows_of(run, run->y, b);
    series->m0 = rows_of(run, m->m0, b).base;
    series->P0 = rows_of(run, m->P0, b).base;
}

ks_sink ks_sink_at(ks_out out, int64_t b, size_t number)
{
    const int64_t bytes = (int64_t)number;
    ks_sink sink = { (char *)out.data, stride_of(out.step_stride, number), 0 };
    if (out.data) sink.base += b * out.series_stride * bytes;
    return sink;
}

ks_sink ks_sink_of(const ks_plan_run *run, ks_out out, int64_t b)
{
    return ks_sink_at(out, b, run->plan->kernels->number_bytes);
}

ks_sink ks_mean_out_of(const ks_plan_run *run, ks_out out, int64_t b)
{
    return ks_sink_at(out, b, run->plan->mean_bytes);
}

ks_forward_sinks ks_forward_sinks_of(const ks_plan_run *run, int64_t b)
{
    const ks_outputs *o = run->outputs;
    ks_forward_sinks to = { 0 };
    to.predicted_mean = ks_mean_out_of(run, o->predicted_mean, b);
    to.predicted_cov = ks_sink_of(run, o->predicted_cov, b);
    to.predicted_var = ks_sink_of(run, o->predicted_var, b);
    to.filtered_mean = ks_mean_out_of(run, o->filtered_mean, b);
    to.filtered_cov = ks_sink_of(run, o->filtered_cov, b);
    to.filtered_var = ks_sink_of(run, o->filtered_var, b);
    to.innovation = ks_mean_out_of(run, o->innovation, b);
    to.innovation_cov = ks_sink_of(run, o->innovation_cov, b);
    to.innovation_std = ks_mean_out_of(run, o->innovation_std, b);
    if (o->loglik_terms.data) {
        to.loglik_terms.base = (char *)((double *)o->loglik_terms.data +
                                        b * o->loglik_terms.series_stride);
        to.loglik_terms.stride = stride_of(o->loglik_terms.step_stride, sizeof(double));
    }
    return to;
}

ks_backward_sinks ks_backward_sinks_of(const ks_plan_run *run, int64_t b)
{
    const ks_outputs *o = run->outputs;
    ks_backward_sinks to;
    to.smoothed_mean = ks_mean_out_of(run, o->smoothed_mean, b);
    to.smoothed_cov = ks_sink_of(run, o->smoothed_cov, b);
    to.smoothed_var = ks_sink_of(run, o->smoothed_var, b);
    to.lag_one_cov = ks_sink_of(run, o->lag_one_cov, b);
    to.gain = (ks_sink){ 0 };
    return to;
}

void ks_write_loglik(const ks_plan_run *run, int64_t b, double loglik)
{
    const ks_out to = run->outputs->loglik;
    /* Without entries loglik is -0.5 * 0 = -0. Adding 0 makes it +0. */
    if (to.data) ((double *)to.data)[b * to.series_stride] = loglik + 0.0;
}

ks_estimates ks_carve_estimates(ks_carver *carver, const ks_smooth_plan *plan, int64_t count)
{
    const size_t bytes = plan->kernels->number_bytes, n = (size_t)plan->nx;
    ks_estimates e;
    e.mean = ks_carve(carver, (size_t)count, n * plan->mean_bytes);
    e.cov = ks_carve(carver, (size_t)count, n * n * bytes);
    return e;
}

ks_sink ks_mean_sink(const ks_smooth_plan *plan, ks_estimates estimates, int64_t first)
{
    ks_sink sink = { (char *)estimates.mean, plan->nx * (int64_t)plan->mean_bytes, first };
    return sink;
}

ks_sink ks_cov_sink(const ks_smooth_plan *plan, ks_estimates estimates, int64_t first)
{
    ks_sink sink = { (char *)estimates.cov,
                     (int64_t)plan->nx * plan->nx * (int64_t)plan->kernels->number_bytes, first };
    return sink;
}

void ks_copy_estimate(const ks_smooth_plan *plan, ks_estimates to, int64_t at,
                          ks_estimates from, int64_t from_at)
{
    const size_t n = (size_t)plan->nx, bytes = plan->kernels->number_bytes;
    memcpy((char *)to.mean + (size_t)at * n * bytes,
           (const char *)from.mean + (size_t)from_at * n * bytes, n * bytes);
    memcpy((char *)to.cov + (size_t)at * n * n * bytes,
           (const char *)from.cov + (size_t)from_at * n * n * bytes, n * n * bytes);
}
