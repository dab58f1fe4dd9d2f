/* map_put.c -- put out the results of the MAP route. */
#include <string.h>
#include "map_method.h"

/** What the workers share that put out rows of a series. */
typedef struct put_job {
    const ks_map_method *m;
    ks_backward_sinks to;
} put_job;

/** Put out rows k0 .. k1 - 1 of `numbers` numbers, the first of which is `from`; all at once where they are contiguous. */
static void put_rows(const ks_smooth_plan *plan, ks_sink to, int64_t k0, int64_t k1, int64_t numbers, const double *from)
{
    const int64_t row = numbers * (int64_t)plan->kernels->number_bytes;
    if (!to.base || k0 >= k1) return;
    const int64_t together = to.stride == row ? k1 - k0 : 1;
    for (int64_t k = k0; k < k1; k += together)
        plan->kernels->narrow(together * numbers, from + (k - k0) * numbers, ks_slot_of(to, k));
}

static void put_steps(void *arg, int64_t k0, int64_t k1, int worker)
{
    const put_job *job = arg;
    const ks_map_method *m = job->m;
    const ks_smooth_plan *plan = m->plan;
    const int64_t n = plan->nx, bytes = (int64_t)plan->kernels->number_bytes;
    const int64_t into = k0 > 1 ? k0 : 1; /* no lag-one covariance leads into step 0 */
    (void)worker;
    if (m->own_x) put_rows(plan, job->to.smoothed_mean, k0, k1, n, m->own_x + k0 * n);
    if (m->own_S) put_rows(plan, job->to.smoothed_cov, k0, k1, n * n, m->own_S + k0 * n * n);
    if (m->own_lag) put_rows(plan, job->to.lag_one_cov, into, k1, n * n, m->own_lag + (into - 1) * n * n);
    if (!job->to.smoothed_var.base) return;
    for (int64_t k = k0; k < k1; ++k) {
        const double *S = (const double *)m->S.data + k * m->S.stride;
        for (int64_t i = 0; i < n; ++i)
            plan->kernels->narrow(1, S + i * n + i, (char *)ks_slot_of(job->to.smoothed_var, k) + i * bytes);
    }
}

static void put_estimates(const ks_map_method *m, int64_t b)
{
    const ks_smooth_plan *plan = m->plan;
    const int64_t n = plan->nx, bytes = (int64_t)plan->kernels->number_bytes;
    put_job job = { m, ks_backward_sinks_of(m->run, b) };
    if (m->own_x || m->own_S || m->own_lag || job.to.smoothed_var.base)
        ks_parallel_for(plan->context, plan->workers, plan->T, put_steps, &job);
    if (m->rows.a.series.prior_x1 && job.to.lag_one_cov.base)
        memset(job.to.lag_one_cov.base, 0, (size_t)(n * n * bytes));
}

static void put_prior(ks_map_method *m, int64_t b)
{
    const ks_smooth_plan *plan = m->plan;
    const int64_t n = plan->nx;
    ks_scan_worker *w = &m->rows.worker[0];
    if (m->rows.a.series.prior_x1 ||
        !ks_makes_any(plan, KS_OUT_LAG_ONE_COV | KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV))
        return;
    ks_tally unused = ks_tally_start();
    ks_state state = { w->state.mean, w->state.cov, KS_FORM_ORDINARY, KS_NOT_STEADY };
    memcpy(state.x, m->x.data, (size_t)n * sizeof(double));
    memcpy(state.C, m->S.data, (size_t)(n * n) * sizeof(double));
    const ks_sink lag = { (char *)w->outputs[KS_STEP_LAG_ONE_COV], 0, 0 }, mean = { w->results.mean, 0, 0 };
    const ks_sink cov = { w->results.cov, 0, 0 };
    plan->aggregates->smooth_prior(ks_wide_series(&m->rows.a, w, 0), &state, lag, mean, cov,
                                   w->scratch, &unused);
    ks_put_square(&m->rows.a, ks_backward_sinks_of(m->run, b).lag_one_cov, 0, n, w->outputs[KS_STEP_LAG_ONE_COV]);
    ks_put(&m->rows.a, ks_sink_of(m->run, m->run->outputs->prior_mean, b), 0, n, w->results.mean);
    ks_put_square(&m->rows.a, ks_sink_of(m->run, m->run->outputs->prior_cov, b), 0, n,
                  w->results.cov);
}

void ks_map_put(ks_map_method *m, int64_t b)
{
    put_estimates(m, b);
    put_prior(m, b);
}
