/* scan_method.c -- the driver of the scan methods: workspace and phases, series by series.
 *
 * Within a series every phase is spread over the workers: making elements, the rounds of the scan, and reading results
 * from the scanned elements. Series follow one another. */
#include <math.h>
#include <string.h>
#include "plan.h"
#include "scan_method.h"

int ks_scan_reruns(const ks_smooth_plan *plan)
{
    /* With two devices each would have to reduce all chunks. */
    return plan->options.scan == KS_SCAN_CHUNKED && plan->options.second_device < 0;
}

static int smooths(const ks_smooth_plan *plan) { return plan->method != KS_METHOD_SCAN; }

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

/** Carve an element for each step, and the estimates that are read from them. */
static void carve_steps(ks_carver *carver, ks_scan_method *m)
{
    const ks_smooth_plan *plan = m->plan;
    const size_t T = (size_t)plan->T, n = (size_t)plan->nx;
    m->a.elements = ks_carve(carver, T, plan->aggregates->filter_element_bytes(plan->nx));
    m->a.loglik_terms = ks_carve(carver, T, sizeof(double));
    m->a.filtered.mean = ks_carve(carver, T, n * sizeof(double));
    m->a.filtered.cov = ks_carve(carver, T, n * n * sizeof(double));
    if (!smooths(plan)) return;
    m->a.smoothed.mean = ks_carve(carver, T, n * sizeof(double));
    m->a.smoothed.cov = ks_carve(carver, T, n * n * sizeof(double));
}

/** Carve an aggregate for each chunk, and what the forward pass leaves to the backward one if the smoothed outputs
 *  cannot hold it. */
static void carve_chunks(ks_carver *carver, ks_scan_method *m)
{
    const ks_smooth_plan *plan = m->plan;
    m->chunks = ks_scan_plan_stats(plan->forward).chunks;
    m->chunk_size = (plan->T + m->chunks - 1) / m->chunks;
    m->a.elements = ks_carve(carver, (size_t)m->chunks,
                           plan->aggregates->filter_element_bytes(plan->nx));
    m->chunk_tally = ks_carve(carver, (size_t)m->chunks, sizeof *m->chunk_tally);
    m->asking = ks_carve(carver, 1, ks_chunks_filter_bytes(plan));
    if (!smooths(plan)) return;
    m->form = ks_carve(carver, (size_t)plan->T, 1);
    m->start.mean = ks_carve(carver, (size_t)plan->nx, sizeof(double));
    m->start.cov = ks_carve(carver, (size_t)plan->nx * (size_t)plan->nx, sizeof(double));
    if (!ks_makes_all(plan, KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV))
        m->kept = ks_carve_estimates(carver, plan, plan->T);
    if (plan->method == KS_METHOD_SCAN_TWO_FILTER) ks_two_filter_chunks_carve(carver, m);
    else ks_rts_chunks_carve(carver, m);
}

static void carve(ks_carver *carver, ks_scan_method *m)
{
    const ks_smooth_plan *plan = m->plan;
    m->worker = ks_carve(carver, (size_t)plan->workers, sizeof *m->worker);
    for (int w = 0; w < plan->workers; ++w) {
        ks_scan_worker unused;
        ks_carve_worker(carver, plan, m->worker ? &m->worker[w] : &unused);
    }
    if (ks_scan_reruns(plan))
        carve_chunks(carver, m);
    else
        carve_steps(carver, m);
    const ks_operator filter = ks_filter_operator(m), smooth = ks_smooth_operator(m);
    size_t scan = ks_scan_workspace_bytes(plan->forward, &filter);
    if (plan->reverse)
        scan = larger(scan, ks_scan_workspace_bytes(
                                plan->reverse,
                                plan->method == KS_METHOD_SCAN_RTS ? &smooth : &filter));
    if (plan->suffixes) {
        ks_operator stored = filter;
        stored.absorb = NULL;
        stored.rerun = NULL;
        scan = larger(scan, ks_scan_workspace_bytes(plan->suffixes, &stored));
    }
    m->scan_memory = ks_carve(carver, 1, scan);
    if (plan->method == KS_METHOD_SCAN_RTS && ks_scan_reruns(plan)) ks_chunks_rounding_carve(carver, m);
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

int ks_scan_progress(ks_scan_method *m, int64_t steps) { return ks_run_progress(m->run, m->again ? 0 : steps); }

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
        if (w->tally.bad_step >= 0) return;
        for (int64_t i = k; i < stop; ++i) {
            call->phase(&call->m->a, w, call->k0 + i);
            if (w->tally.bad_step >= 0) return;
        }
        if (ks_scan_progress(call->m, stop - k)) return;
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
    m->run->info->rounds += ks_scan_plan_schedule(scan, op)->rounds;
    const ks_status status = ks_scan_run(scan, op, m->a.elements, m->scan_memory);
    for (int64_t c = 0; c < m->chunks; ++c)
        if (m->chunk_tally[c].bad_step >= 0) return -1;
    if (atomic_load(&m->run->canceled)) return -1;
    if (status != KS_OK) m->run->info->status = status;
    return status == KS_OK ? 0 : -1;
}

static int combine_filter(void *user, void *scratch, const ks_combine_job *job)
{
    ks_scan_method *m = user;
    m->plan->aggregates->filter_combine(m->plan->nx, job, scratch);
    atomic_fetch_add_explicit(&m->combines, job->lanes * job->chain, memory_order_relaxed);
    return 0;
}

static int combine_smooth(void *user, void *scratch, const ks_combine_job *job)
{
    ks_scan_method *m = user;
    m->plan->aggregates->smooth_combine(m->plan->nx, job, scratch);
    atomic_fetch_add_explicit(&m->combines, job->lanes * job->chain, memory_order_relaxed);
    return 0;
}

static int neutral_filter(void *user, void *dst)
{
    const ks_smooth_plan *plan = ((ks_scan_method *)user)->plan;
    plan->aggregates->filter_neutral(plan->nx, dst);
    return 0;
}

static int neutral_smooth(void *user, void *dst)
{
    const ks_smooth_plan *plan = ((ks_scan_method *)user)->plan;
    plan->aggregates->smooth_neutral(plan->nx, dst);
    return 0;
}

ks_operator ks_filter_operator(ks_scan_method *m)
{
    const ks_smooth_plan *plan = m->plan;
    const int reruns = ks_scan_reruns(plan);
    const size_t combine = plan->aggregates->combine_bytes(plan->nx), chunk = reruns ? ks_chunk_scratch(plan) : 0;
    ks_operator op = { sizeof op, plan->aggregates->filter_element_bytes(plan->nx), combine > chunk ? combine : chunk,
                       m, combine_filter, neutral_filter,
                       reruns ? ks_filter_absorb : NULL, reruns ? ks_filter_rerun : NULL };
    return op;
}

ks_operator ks_smooth_operator(ks_scan_method *m)
{
    ks_operator op = ks_filter_operator(m);
    op.element_bytes = m->plan->aggregates->smooth_element_bytes(m->plan->nx);
    op.combine = combine_smooth;
    op.neutral = neutral_smooth;
    op.absorb = op.absorb ? ks_smooth_absorb : NULL;
    op.rerun = op.rerun ? ks_smooth_rerun : NULL;
    return op;
}

static void open_series(ks_scan_method *m, int64_t b)
{
    const ks_smooth_plan *plan = m->plan;
    ks_series_of(m->run, b, &m->a.series);
    m->a.to = ks_forward_sinks_of(m->run, b);
    m->a.to.watched = m->plan->method == KS_METHOD_SCAN_RTS;
    m->a.back = ks_backward_sinks_of(m->run, b);
    m->a.prior_mean = ks_sink_of(m->run, m->run->outputs->prior_mean, b);
    m->a.prior_cov = ks_sink_of(m->run, m->run->outputs->prior_cov, b);
    const int in_place = !m->kept.mean;
    m->kept_mean = in_place ? m->a.back.smoothed_mean : ks_mean_sink(plan, m->kept, 0);
    m->kept_C = in_place ? m->a.back.smoothed_cov : ks_cov_sink(plan, m->kept, 0);
    for (int w = 0; w < plan->workers; ++w) {
        m->worker[w].tally = ks_tally_start();
        m->worker[w].doubts = 0;
        m->worker[w].moves = (double)INFINITY;
        memset(&m->worker[w].wide, 0, sizeof m->worker[w].wide);
    }
    for (int64_t c = 0; c < m->chunks; ++c) {
        m->chunk_tally[c] = ks_tally_start();
    }
    atomic_store(&m->doubtful, 0);
    atomic_store(&m->apart, 0);
}

/** How often each step is processed, without scans of stored elements. */
static int passes(const ks_smooth_plan *plan)
{
    if (ks_scan_reruns(plan)) return 2 + smooths(plan);
    return 3 + 2 * smooths(plan) + ks_makes_any(plan, KS_OUT_LAG_ONE_COV);
}

/** Start series b again and discard all counts. `rounds` and `combines` are the counts before the series. */
static void open_again(ks_scan_method *m, int64_t b, int64_t rounds, int64_t combines)
{
    m->run->info->status = KS_OK;
    m->run->info->rounds = rounds;
    atomic_store(&m->combines, combines);
    open_series(m, b);
}

/** Filter series b again: a way back that is discarded may have overwritten the filtered estimates. */
static int filter_again(ks_scan_method *m, int64_t b, int64_t rounds, int64_t combines, double *loglik)
{
    open_again(m, b, rounds, combines);
    *loglik = 0;
    return ks_scan_filter(m, loglik);
}

/** Filter series b step by step from the beginning, on one thread, as one chunk in the scan's memory, which has room
 *  for one. Chunks begin from covariances, which may have lost digits that steps keep in roots. */
static int filter_in_order(ks_scan_method *m, int64_t b, int64_t rounds, int64_t combines, double *loglik)
{
    open_again(m, b, rounds, combines);
    if (ks_filter_rerun(m, m->scan_memory, NULL, 0, m->plan->T)) return -1;
    *loglik = ks_evidence_loglik(&m->chunk_tally[0].evidence);
    return 0;
}

/** One way back of Alg. 6 in chunks, with information or with smoothing elements, that stops at sharp predictions. */
static int go_back_watched(ks_scan_method *m, int (*way)(ks_scan_method *))
{
    m->watched = 1;
    const int rc = way(m);
    m->watched = 0;
    return rc;
}

/** Alg. 6 in chunks for series b, after its filter. `rounds` and `combines` are the counts before the series.
 *
 *  It tries information first, then smoothing elements; both stop where chunks find sharp predictions. If neither is
 *  accurate, it smooths without stopping, and tests the result against round-off. Each way back may have overwritten
 *  the filtered estimates from which it started, so the filter is repeated before the next one. */
static int smooth_chunks(ks_scan_method *m, int64_t b, int64_t rounds, int64_t combines, double *loglik)
{
    int (*const ways[])(ks_scan_method *) = { ks_rts_chunks, ks_scan_rts };
    int suspect = ks_scan_is_suspect(m);
    for (int i = 0; i < 2 && !suspect; ++i) {
        const int rc = go_back_watched(m, ways[i]);
        suspect = ks_scan_is_suspect(m);
        if (atomic_load(&m->run->canceled) || m->run->info->status != KS_OK) return rc;
        if (i == 1 && !rc) suspect |= !ks_chunks_meet(m);
        if (!suspect && (i == 1 || (!rc && !atomic_load(&m->apart)))) return rc;
        if (m->run->watched) {
            m->run->sharp = 1;
            return -1;
        }
        m->again = 1;
        if (filter_again(m, b, rounds, combines, loglik)) return -1;
    }
    if (ks_chunks_disturbed(m)) return -1;
    const int rc = ks_scan_rts(m);
    ks_scan_blame(m);
    return rc ? rc : ks_chunks_rounding(m);
}

/** Alg. 7. */
static int smooth_two_filters(ks_scan_method *m, int64_t b, int64_t rounds, int64_t combines, double *loglik)
{
    const int doubtful = m->chunks && ks_scan_is_doubtful(m);
    int rc = doubtful ? 0 : ks_scan_two_filter(m);
    if (!m->chunks) return rc || !ks_scan_is_doubtful(m) ? rc : ks_two_filter_rounding(m);
    if (atomic_load(&m->run->canceled) || !(doubtful || ks_scan_is_suspect(m))) return rc;
    if (m->run->watched) {
        m->run->sharp = 1;
        return -1;
    }
    m->again = 1;
    rc = filter_in_order(m, b, rounds, combines, loglik) ? -1 : ks_two_filter_again(m);
    ks_scan_blame(m);
    return rc;
}

/** Alg. 6 from stored elements. */
static int smooth_elements(ks_scan_method *m)
{
    const int rc = ks_scan_rts(m);
    if (!ks_scan_is_suspect(m)) return rc;
    ks_scan_blame(m);
    return rc ? rc : ks_scan_rounding(m);
}

static int run_series(ks_scan_method *m, int64_t b)
{
    const int64_t rounds = m->run->info->rounds, combines = atomic_load(&m->combines);
    double loglik = 0;
    open_series(m, b);
    m->again = 0;
    int rc = ks_scan_filter(m, &loglik);
    if (!rc && m->run->watched) m->run->sharp |= ks_scan_is_suspect(m) || ks_scan_is_doubtful(m);
    if (m->run->sharp) return -1;
    if (!rc && ks_scan_is_doubtful(m)) rc = m->chunks ? ks_chunks_filter_rounding(m) : ks_filter_rounding(m);
    if (!rc && m->plan->method == KS_METHOD_SCAN_RTS)
        rc = m->chunks ? smooth_chunks(m, b, rounds, combines, &loglik) : smooth_elements(m);
    if (!rc && m->plan->method == KS_METHOD_SCAN_TWO_FILTER) rc = smooth_two_filters(m, b, rounds, combines, &loglik);
    if (!rc && smooths(m->plan)) rc = ks_scan_lag_one(m);
    for (int w = 0; w < m->plan->workers; ++w) ks_run_add(m->run, b, &m->worker[w].tally);
    for (int64_t c = 0; c < m->chunks; ++c) ks_run_add(m->run, b, &m->chunk_tally[c]);
    if (!rc) ks_write_loglik(m->run, b, loglik);
    return rc;
}

void ks_scan_method_run(ks_plan_run *run, void *work)
{
    const ks_smooth_plan *plan = run->plan;
    ks_carver carver = ks_carver_at(work);
    ks_scan_method m;
    memset(&m, 0, sizeof m);
    m.run = run;
    m.plan = plan;
    m.a.single = m.a.single_cov = plan->options.precision == KS_F32;
    atomic_init(&m.combines, 0);
    atomic_init(&m.doubtful, 0);
    atomic_init(&m.apart, 0);
    carve(&carver, &m);
    run->info->threads = plan->workers;
    run->info->scan = plan->options.scan;
    run->total = plan->T * plan->B * passes(plan) / plan->workers;
    for (int64_t b = 0; b < plan->B; ++b)
        if (run_series(&m, b)) break;
    run->info->combines = atomic_load(&m.combines);
    ks_carve_end(&carver);
}

/* All methods scan forward. Smoothers also scan back, in chunks also over the aggregates of the forward scan. */
ks_status ks_scan_plans(ks_smooth_plan *plan)
{
    ks_scan_options options = KS_SCAN_OPTIONS_INIT;
    options.algorithm = plan->options.scan;
    options.threshold = plan->options.scan_threshold;
    options.threads = plan->options.threads;
    ks_status status = ks_scan_plan_create(&plan->forward, plan->context, plan->T, &options);
    if (status != KS_OK || !smooths(plan)) return status;
    options.direction = KS_REVERSE;
    status = ks_scan_plan_create(&plan->reverse, plan->context, plan->T, &options);
    if (status != KS_OK || !ks_scan_reruns(plan)) return status;
    options.algorithm = KS_SCAN_LADNER_FISCHER;
    return ks_scan_plan_create(&plan->suffixes, plan->context, ks_scan_plan_stats(plan->forward).chunks, &options);
}
