/* scan_smooth.c -- the parallel RTS and two-filter smoothers, Sarkka & Garcia-Fernandez, Alg. 6
 * and 7, from the parallel filter's estimates. */
#include <string.h>
#include "scan_method.h"

static void put_smoothed(ks_scan_method *m, ks_scan_worker *w, int64_t k)
{
    const ks_sink mean = ks_wide_mean(m, m->smoothed, 0), cov = ks_wide_cov(m, m->smoothed, 0);
    if (!ks_fits(m, w, m->smoothed, k)) return;
    ks_put(m, m->back.smoothed_mean, k, m->plan->nx, ks_slot_of(mean, k));
    ks_put_cov(m, m->back.smoothed_cov, m->back.smoothed_var, k, ks_slot_of(cov, k));
}

static void make_elements(ks_scan_method *m, ks_scan_worker *w, int64_t k0, int64_t k1)
{
    const ks_kernels *kernels = m->plan->aggregates;
    const ks_sink to = ks_element_sink(m, kernels->smooth_element_bytes(m->plan->nx));
    for (int64_t k = k0; k < k1; ++k) {
        const int64_t next = k + 1 < m->plan->T ? k + 1 : k;
        kernels->smooth_elements(ks_wide_series(m, w, next), k, k + 1,
                                 ks_wide_mean(m, m->filtered, 0), ks_wide_cov(m, m->filtered, 0),
                                 to, w->scratch, &w->tally);
    }
}

static void extract(ks_scan_method *m, ks_scan_worker *w, int64_t k0, int64_t k1)
{
    const ks_kernels *kernels = m->plan->aggregates;
    const ks_sink from = ks_element_sink(m, kernels->smooth_element_bytes(m->plan->nx));
    for (int64_t k = k0; k < k1 && w->tally.bad_step < 0; ++k) {
        kernels->smooth_extract(m->plan->nx, k, k + 1, from, ks_wide_mean(m, m->smoothed, 0),
                                ks_wide_cov(m, m->smoothed, 0));
        put_smoothed(m, w, k);
    }
}

int ks_scan_rts(ks_scan_method *m)
{
    const ks_operator op = ks_smooth_operator(m);
    if (ks_scan_reruns(m->plan)) return ks_scan_elements(m, m->plan->reverse, &op);
    if (ks_scan_phase(m, 0, m->plan->T, make_elements)) return -1;
    if (ks_scan_elements(m, m->plan->reverse, &op)) return -1;
    return ks_scan_phase(m, 0, m->plan->T, extract);
}

static void make_filter_elements(ks_scan_method *m, ks_scan_worker *w, int64_t k0, int64_t k1)
{
    const ks_sink to = ks_element_sink(m, m->plan->aggregates->filter_element_bytes(m->plan->nx));
    for (int64_t k = k0; k < k1; ++k)
        if (ks_make_filter_element(m, w, k, ks_slot_of(to, k))) return;
}

static void combine_filters(ks_scan_method *m, ks_scan_worker *w, int64_t k0, int64_t k1)
{
    const ks_kernels *kernels = m->plan->aggregates;
    const ks_sink suffix = ks_element_sink(m, kernels->filter_element_bytes(m->plan->nx));
    for (int64_t k = k0; k < k1 && w->tally.bad_step < 0; ++k) {
        kernels->two_filter(ks_wide_series(m, w, k), k, k + 1, ks_wide_mean(m, m->filtered, 0),
                            ks_wide_cov(m, m->filtered, 0), suffix,
                            ks_wide_mean(m, m->smoothed, 0), ks_wide_cov(m, m->smoothed, 0),
                            w->scratch);
        put_smoothed(m, w, k);
    }
}

int ks_scan_two_filter(ks_scan_method *m)
{
    const ks_operator op = ks_filter_operator(m);
    /* The forward scan has used up its elements; the reverse one makes its own, of which the
     * first only ever stands left of everything that is used. */
    m->plan->aggregates->filter_neutral(m->plan->nx, m->elements);
    if (ks_scan_phase(m, 1, m->plan->T, make_filter_elements)) return -1;
    if (ks_scan_elements(m, m->plan->reverse, &op)) return -1;
    return ks_scan_phase(m, 0, m->plan->T, combine_filters);
}

static void write_lag_one(ks_scan_method *m, ks_scan_worker *w, int64_t k0, int64_t k1)
{
    const int64_t n = m->plan->nx;
    const ks_sink row = { w->results.cov, 0, 0 };
    for (int64_t k = k0; k < k1; ++k) {
        m->plan->aggregates->lag_one(ks_wide_series(m, w, k), k, k + 1,
                                     ks_wide_cov(m, m->filtered, 0),
                                     ks_wide_cov(m, m->smoothed, 0), row, w->scratch);
        ks_put(m, m->back.lag_one_cov, k, n * n, w->results.cov);
    }
}

int ks_scan_lag_one(ks_scan_method *m, int64_t b)
{
    const ks_smooth_plan *plan = m->plan;
    const int64_t n = plan->nx;
    ks_scan_worker *w = &m->worker[0];
    if (m->back.lag_one_cov.base && !ks_scan_reruns(plan) &&
        ks_scan_phase(m, 1, plan->T, write_lag_one))
        return -1;
    if (m->series.prior_x1) {
        if (m->back.lag_one_cov.base)
            memset(m->back.lag_one_cov.base, 0, (size_t)(n * n) * plan->kernels->number_bytes);
        return 0;
    }
    if (!ks_makes_any(plan, KS_OUT_LAG_ONE_COV | KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV)) return 0;
    const ks_estimates start = ks_scan_reruns(plan) ? m->start : m->smoothed;
    ks_state state = { w->state.mean, w->state.cov, KS_FORM_ORDINARY };
    memcpy(state.x, start.mean, (size_t)n * sizeof(double));
    memcpy(state.C, start.cov, (size_t)(n * n) * sizeof(double));
    const ks_sink lag = { (char *)w->outputs[5], 0, 0 }, mean = { w->results.mean, 0, 0 };
    const ks_sink cov = { w->results.cov, 0, 0 };
    plan->aggregates->smooth_prior(ks_wide_series(m, w, 0), &state, lag, mean, cov, w->scratch,
                                   &w->tally);
    ks_put(m, m->back.lag_one_cov, 0, n * n, w->outputs[5]);
    ks_put(m, ks_sink_of(m->run, m->run->outputs->prior_mean, b), 0, n, w->results.mean);
    ks_put(m, ks_sink_of(m->run, m->run->outputs->prior_cov, b), 0, n * n, w->results.cov);
    return 0;
}
