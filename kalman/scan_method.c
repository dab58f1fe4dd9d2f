/* scan_method.c -- the driver of the scan methods: workspace, parallel phases, series by series.
 *
 * Within a series every phase is spread over the workers: the making of elements, the rounds of
 * the scan, and what is read out of the scanned elements. Series follow one another. */
#include <string.h>
#include "scan_method.h"

int ks_scan_reruns(const ks_smooth_plan *plan)
{
    return plan->options.scan == KS_SCAN_CHUNKED && plan->method != KS_METHOD_SCAN_TWO_FILTER;
}

static int smooths(const ks_smooth_plan *plan) { return plan->method != KS_METHOD_SCAN; }

static int filters_into_outputs(const ks_smooth_plan *plan)
{
    return ks_makes_all(plan, KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV);
}

static int smooths_into_outputs(const ks_smooth_plan *plan)
{
    return ks_makes_all(plan, KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV);
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static void carve(ks_carver *carver, ks_scan_method *m)
{
    const ks_smooth_plan *plan = m->plan;
    const size_t T = (size_t)plan->T;
    m->worker = ks_carve(carver, (size_t)plan->workers, sizeof *m->worker);
    for (int w = 0; w < plan->workers; ++w) {
        ks_scan_worker unused, *own = m->worker ? &m->worker[w] : &unused;
        own->scratch = ks_carve(carver, 1, plan->kernels->scratch_bytes(plan->nx, plan->ny));
        own->state = ks_carve_estimates(carver, plan, 1);
    }
    size_t count = T;
    if (ks_scan_reruns(plan)) {
        m->chunks = ks_scan_plan_stats(plan->forward).chunks;
        m->chunk_size = (plan->T + m->chunks - 1) / m->chunks;
        m->chunk_tally = ks_carve(carver, (size_t)m->chunks, sizeof *m->chunk_tally);
        m->form = ks_carve(carver, T, 1);
        count = (size_t)m->chunks;
    } else if (!ks_makes_all(plan, KS_OUT_LOGLIK_TERMS)) {
        m->loglik_terms = ks_carve(carver, T, sizeof(double));
    }
    const ks_operator filter = ks_filter_operator(m), smooth = ks_smooth_operator(m);
    m->elements = ks_carve(carver, count, larger(filter.element_bytes, smooth.element_bytes));
    size_t scan = ks_scan_workspace_bytes(plan->forward, &filter);
    if (plan->reverse)
        scan = larger(scan, ks_scan_workspace_bytes(
                                plan->reverse,
                                plan->method == KS_METHOD_SCAN_RTS ? &smooth : &filter));
    m->scan_memory = ks_carve(carver, 1, scan);
    if (!filters_into_outputs(plan)) m->filtered = ks_carve_estimates(carver, plan, plan->T);
    if (smooths(plan) && !smooths_into_outputs(plan))
        m->smoothed = ks_carve_estimates(carver, plan, plan->T);
}

size_t ks_scan_method_workspace(const ks_smooth_plan *plan)
{
    ks_carver carver = ks_carver_at(NULL);
    ks_scan_method m;
    memset(&m, 0, sizeof m);
    m.plan = plan;
    carve(&carver, &m);
    return ks_carved_bytes(&carver);
}

typedef struct phase_call {
    ks_scan_method *m;
    ks_scan_phase_function phase;
    int64_t k0;
} phase_call;

static void phase_range(void *arg, int64_t begin, int64_t end, int worker)
{
    const phase_call *call = arg;
    ks_scan_worker *w = &call->m->worker[worker];
    for (int64_t k = begin; k < end; k += KS_BLOCK) {
        const int64_t stop = end - k < KS_BLOCK ? end : k + KS_BLOCK;
        if (w->tally.bad_step >= 0 || atomic_load(&call->m->run->canceled)) return;
        call->phase(call->m, w, call->k0 + k, call->k0 + stop);
        if (worker == 0) (void)ks_run_progress(call->m->run, stop - k);
    }
}

int ks_scan_phase(ks_scan_method *m, int64_t k0, int64_t k1, ks_scan_phase_function phase)
{
    phase_call call = { m, phase, k0 };
    if (k1 > k0)
        ks_parallel_for(m->plan->context, m->plan->workers, k1 - k0, phase_range, &call);
    for (int w = 0; w < m->plan->workers; ++w)
        if (m->worker[w].tally.bad_step >= 0) return -1;
    return atomic_load(&m->run->canceled) ? -1 : 0;
}

int ks_scan_elements(ks_scan_method *m, const ks_scan_plan *scan, const ks_operator *op)
{
    m->run->info->rounds += ks_scan_plan_stats(scan).rounds;
    const ks_status status = ks_scan_run(scan, op, m->elements, m->scan_memory);
    for (int64_t c = 0; c < m->chunks; ++c)
        if (m->chunk_tally[c].bad_step >= 0) return -1;
    if (status != KS_OK) m->run->info->status = status;
    return status == KS_OK && !atomic_load(&m->run->canceled) ? 0 : -1;
}

ks_sink ks_element_sink(const ks_scan_method *m, size_t element_bytes)
{
    ks_sink sink = { m->elements, (int64_t)element_bytes, 0 };
    return sink;
}

static int combine_filter(void *user, void *scratch, const ks_combine_job *job)
{
    ks_scan_method *m = user;
    const ks_kernels *kernels = ks_scan_reruns(m->plan) ? m->plan->aggregates : m->plan->kernels;
    kernels->filter_combine(m->plan->nx, job, scratch);
    atomic_fetch_add_explicit(&m->combines, job->lanes * job->chain, memory_order_relaxed);
    return 0;
}

static int combine_smooth(void *user, void *scratch, const ks_combine_job *job)
{
    ks_scan_method *m = user;
    const ks_kernels *kernels = ks_scan_reruns(m->plan) ? m->plan->aggregates : m->plan->kernels;
    kernels->smooth_combine(m->plan->nx, job, scratch);
    atomic_fetch_add_explicit(&m->combines, job->lanes * job->chain, memory_order_relaxed);
    return 0;
}

static int neutral_filter(void *user, void *dst)
{
    const ks_smooth_plan *plan = ((ks_scan_method *)user)->plan;
    (ks_scan_reruns(plan) ? plan->aggregates : plan->kernels)->filter_neutral(plan->nx, dst);
    return 0;
}

static int neutral_smooth(void *user, void *dst)
{
    const ks_smooth_plan *plan = ((ks_scan_method *)user)->plan;
    (ks_scan_reruns(plan) ? plan->aggregates : plan->kernels)->smooth_neutral(plan->nx, dst);
    return 0;
}

ks_operator ks_filter_operator(ks_scan_method *m)
{
    const ks_smooth_plan *plan = m->plan;
    const int reruns = ks_scan_reruns(plan);
    const ks_kernels *kernels = reruns ? plan->aggregates : plan->kernels;
    ks_operator op = { sizeof op, kernels->filter_element_bytes(plan->nx),
                       reruns ? ks_chunk_scratch(plan)
                              : kernels->scratch_bytes(plan->nx, plan->ny),
                       m, combine_filter, neutral_filter,
                       reruns ? ks_filter_absorb : NULL, reruns ? ks_filter_rerun : NULL };
    return op;
}

ks_operator ks_smooth_operator(ks_scan_method *m)
{
    ks_operator op = ks_filter_operator(m);
    const int reruns = ks_scan_reruns(m->plan);
    op.element_bytes = (reruns ? m->plan->aggregates : m->plan->kernels)
                           ->smooth_element_bytes(m->plan->nx);
    op.combine = combine_smooth;
    op.neutral = neutral_smooth;
    op.absorb = reruns ? ks_smooth_absorb : NULL;
    op.rerun = reruns ? ks_smooth_rerun : NULL;
    return op;
}

static void open_series(ks_scan_method *m, int64_t b)
{
    const ks_smooth_plan *plan = m->plan;
    ks_series_of(m->run, b, &m->series);
    m->to = ks_forward_sinks_of(m->run, b);
    m->back = ks_backward_sinks_of(m->run, b);
    m->filtered_mean = filters_into_outputs(plan) ? m->to.filtered_mean
                                                  : ks_mean_sink(plan, m->filtered, 0);
    m->filtered_cov = filters_into_outputs(plan) ? m->to.filtered_cov
                                                 : ks_cov_sink(plan, m->filtered, 0);
    if (!smooths(plan)) return;
    m->smoothed_mean = smooths_into_outputs(plan) ? m->back.smoothed_mean
                                                  : ks_mean_sink(plan, m->smoothed, 0);
    m->smoothed_cov = smooths_into_outputs(plan) ? m->back.smoothed_cov
                                                 : ks_cov_sink(plan, m->smoothed, 0);
}

static void check_finite(ks_scan_method *m, ks_scan_worker *w, int64_t k0, int64_t k1)
{
    const int smoothed = smooths(m->plan);
    const int64_t bad = m->plan->kernels->not_finite(
        m->plan->nx, k0, k1, smoothed ? m->smoothed_mean : m->filtered_mean,
        smoothed ? m->smoothed_cov : m->filtered_cov);
    if (bad < 0) return;
    w->tally.bad_step = bad;
    w->tally.bad_array = KS_ARRAY_ESTIMATE;
    w->tally.fault = KS_FAULT_NOT_FINITE;
}

static void write_lag_one(ks_scan_method *m, ks_scan_worker *w, int64_t k0, int64_t k1)
{
    m->plan->kernels->lag_one(&m->series, k0, k1, m->filtered_cov, m->smoothed_cov,
                              m->back.lag_one_cov, w->scratch);
}

static void write_partial(ks_scan_method *m, ks_scan_worker *w, int64_t k0, int64_t k1)
{
    const ks_kernels *kernels = m->plan->kernels;
    const size_t row = (size_t)m->plan->nx * kernels->number_bytes;
    (void)w;
    if (m->back.smoothed_var.base)
        kernels->diagonal(m->plan->nx, k0, k1, m->smoothed_cov, m->back.smoothed_var);
    if (m->smoothed.mean && m->back.smoothed_mean.base)
        for (int64_t k = k0; k < k1; ++k)
            memcpy(ks_slot_of(m->back.smoothed_mean, k), ks_slot_of(m->smoothed_mean, k), row);
    if (m->smoothed.mean && m->back.smoothed_cov.base)
        for (int64_t k = k0; k < k1; ++k)
            memcpy(ks_slot_of(m->back.smoothed_cov, k), ks_slot_of(m->smoothed_cov, k),
                   row * (size_t)m->plan->nx);
}

/** What follows the smoothed estimates: lag-one covariances and the smoothed prior. */
static int finish_smoother(ks_scan_method *m, int64_t b)
{
    const ks_smooth_plan *plan = m->plan;
    const size_t n = (size_t)plan->nx, bytes = plan->kernels->number_bytes;
    if (ks_scan_phase(m, 0, plan->T, write_partial)) return -1;
    if (m->back.lag_one_cov.base && ks_scan_phase(m, 1, plan->T, write_lag_one)) return -1;
    if (m->series.prior_x1) {
        if (m->back.lag_one_cov.base) memset(m->back.lag_one_cov.base, 0, n * n * bytes);
        return 0;
    }
    if (!ks_makes_any(plan, KS_OUT_LAG_ONE_COV | KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV)) return 0;
    ks_scan_worker *w = &m->worker[0];
    ks_state state = { w->state.mean, w->state.cov, KS_FORM_ORDINARY };
    memcpy(state.x, ks_slot_of(m->smoothed_mean, 0), n * bytes);
    memcpy(state.C, ks_slot_of(m->smoothed_cov, 0), n * n * bytes);
    plan->kernels->smooth_prior(&m->series, &state, m->back.lag_one_cov,
                                ks_sink_of(m->run, m->run->outputs->prior_mean, b),
                                ks_sink_of(m->run, m->run->outputs->prior_cov, b), w->scratch,
                                &w->tally);
    return 0;
}

static int run_series(ks_scan_method *m, int64_t b)
{
    double loglik = 0;
    open_series(m, b);
    for (int w = 0; w < m->plan->workers; ++w) {
        memset(&m->worker[w].tally, 0, sizeof m->worker[w].tally);
        m->worker[w].tally.bad_step = -1;
    }
    for (int64_t c = 0; c < m->chunks; ++c) {
        memset(&m->chunk_tally[c], 0, sizeof m->chunk_tally[c]);
        m->chunk_tally[c].bad_step = -1;
    }
    int rc = ks_scan_filter(m, &loglik);
    if (!rc && m->plan->method == KS_METHOD_SCAN_RTS) rc = ks_scan_rts(m);
    if (!rc && m->plan->method == KS_METHOD_SCAN_TWO_FILTER) rc = ks_scan_two_filter(m);
    if (!rc) rc = ks_scan_phase(m, 0, m->plan->T, check_finite);
    if (!rc && smooths(m->plan)) rc = finish_smoother(m, b);
    for (int w = 0; w < m->plan->workers; ++w) ks_run_add(m->run, b, &m->worker[w].tally);
    for (int64_t c = 0; c < m->chunks; ++c) ks_run_add(m->run, b, &m->chunk_tally[c]);
    if (!rc) ks_write_loglik(m->run, b, loglik);
    return rc;
}

void ks_scan_method_run(ks_run *run, void *work)
{
    const ks_smooth_plan *plan = run->plan;
    ks_carver carver = ks_carver_at(work);
    ks_scan_method m;
    memset(&m, 0, sizeof m);
    m.run = run;
    m.plan = plan;
    atomic_init(&m.combines, 0);
    carve(&carver, &m);
    if (m.form) memset(m.form, KS_FORM_ORDINARY, (size_t)plan->T);
    run->info->threads = plan->workers;
    run->info->scan = plan->options.scan;
    run->total = plan->T * plan->B * (smooths(plan) ? 6 : 4) / plan->workers;
    for (int64_t b = 0; b < plan->B; ++b)
        if (run_series(&m, b)) break;
    run->info->combines = atomic_load(&m.combines);
    ks_carve_end(&carver);
}

/* One scan forward for every method; a second one back for the smoothers. */
ks_status ks_scan_plans(ks_smooth_plan *plan)
{
    ks_scan_options options = KS_SCAN_OPTIONS_INIT;
    options.algorithm = plan->options.scan;
    options.threshold = plan->options.scan_threshold;
    options.threads = plan->options.threads;
    ks_status status = ks_scan_plan_create(&plan->forward, plan->context, plan->T, &options);
    if (status != KS_OK || !smooths(plan)) return status;
    options.direction = KS_REVERSE;
    return ks_scan_plan_create(&plan->reverse, plan->context, plan->T, &options);
}
