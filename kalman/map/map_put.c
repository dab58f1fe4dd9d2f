/* map_put.c -- put out the results of the MAP route. */
#include <string.h>
#include "map_method.h"

static void put_steps(ks_map_method *m, int64_t b)
{
    const ks_smooth_plan *plan = m->plan;
    const int64_t n = plan->nx, bytes = (int64_t)plan->kernels->number_bytes;
    const ks_backward_sinks to = ks_backward_sinks_of(m->run, b);
    for (int64_t k = 0; k < plan->T; ++k) {
        const double *S = (const double *)m->S.data + k * m->S.stride;
        if (m->own_x)
            ks_put(&m->rows.a, to.smoothed_mean, k, n, (double *)m->x.data + k * m->x.stride);
        if (m->own_S) ks_put_square(&m->rows.a, to.smoothed_cov, k, n, S);
        if (m->own_lag && k > 0)
            ks_put_square(&m->rows.a, to.lag_one_cov, k, n, m->own_lag + (k - 1) * n * n);
        if (to.smoothed_var.base)
            for (int64_t i = 0; i < n; ++i)
                plan->kernels->narrow(1, S + i * n + i,
                                      (char *)ks_slot_of(to.smoothed_var, k) + i * bytes);
    }
    if (m->rows.a.series.prior_x1 && to.lag_one_cov.base)
        memset(to.lag_one_cov.base, 0, (size_t)(n * n * bytes));
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
    put_steps(m, b);
    put_prior(m, b);
}
