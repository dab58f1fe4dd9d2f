/* scan_chunks.c -- reduce, scan, re-run: the chunked form of the parallel filter and RTS smoother.
 *
 * Elements are never stored. Those of a chunk are combined one by one into its aggregate; the
 * aggregates are scanned; then each chunk runs ordinary filter or smoother steps, in the plan's
 * precision, from the exact estimate at its border. */
#include <string.h>
#include "scan_method.h"

/** Scratch of one call. */
typedef struct chunk_memory {
    ks_scan_worker worker;
    double *element;
    void *scratch;        /* of the kernels in the plan's precision */
    ks_estimates state;   /* one, in the plan's precision           */
} chunk_memory;

static void carve(ks_carver *carver, const ks_smooth_plan *plan, chunk_memory *c)
{
    ks_carve_worker(carver, plan, &c->worker);
    c->element = ks_carve(carver, 1, plan->aggregates->filter_element_bytes(plan->nx));
    c->scratch = ks_carve(carver, 1, plan->kernels->scratch_bytes(plan->nx, plan->ny));
    c->state = ks_carve_estimates(carver, plan, 1);
}

size_t ks_chunk_scratch(const ks_smooth_plan *plan)
{
    ks_carver carver = ks_carver_at(NULL);
    chunk_memory c;
    carve(&carver, plan, &c);
    return ks_carved_bytes(&carver);
}

static void open_chunk(ks_carver *carver, const ks_scan_method *m, void *scratch, chunk_memory *c)
{
    *carver = ks_carver_at(scratch);
    carve(carver, m->plan, c);
}

/** Add what the chunk's own worker counted, or its fault, to the chunk's tally. Chunks count from
 *  the end that the scan starts from; each has one tally, so no two threads write the same. */
static void close_chunk(ks_carver *carver, const chunk_memory *c, ks_tally *tally)
{
    const ks_tally *own = &c->worker.tally;
    tally->elements += own->elements;
    if (own->bad_step >= 0) {
        tally->bad_step = own->bad_step;
        tally->bad_row = own->bad_row;
        tally->bad_array = own->bad_array;
        tally->fault = own->fault;
    }
    ks_carve_end(carver);
}

/** dst <- dst (+) element. */
static void absorb_element(ks_scan_method *m, const chunk_memory *c, void *dst,
                           void (*combine)(int nx, const ks_combine_job *job, void *work))
{
    const ks_combine_job job = { 1, 1, dst, dst, (const char *)c->element, 0, 0, 0, 0, 0, 0 };
    combine(m->plan->nx, &job, c->worker.scratch);
    atomic_fetch_add_explicit(&m->combines, 1, memory_order_relaxed);
}

int ks_filter_absorb(void *user, void *scratch, void *dst, int64_t first, int64_t count)
{
    ks_scan_method *m = user;
    ks_carver carver;
    chunk_memory c;
    int rc = 0;
    open_chunk(&carver, m, scratch, &c);
    for (int64_t k = first; k < first + count && !rc; ++k) {
        rc = ks_make_filter_element(&m->a, &c.worker, k, k == first ? dst : c.element);
        if (!rc && k > first) absorb_element(m, &c, dst, m->plan->aggregates->filter_combine);
    }
    if (!rc && ks_run_progress(m->run, count)) rc = -1;
    close_chunk(&carver, &c, &m->chunk_tally[first / m->chunk_size]);
    return rc;
}

/** Mean and covariance of an aggregate as a state in the plan's precision: a square root made in
 *  double, so that narrowing it loses nothing that matters. */
static ks_state state_from(const ks_scan_method *m, const chunk_memory *c, const void *carry)
{
    const ks_smooth_plan *plan = m->plan;
    const int64_t n = plan->nx;
    double *x = c->worker.state.mean, *C = c->worker.state.cov;
    const ks_sink mean = { (char *)x, 0, 0 }, cov = { (char *)C, 0, 0 };
    const ks_sink from = { (char *)c->element, 0, 0 };
    /* Filtering and smoothing elements hold mean and covariance in the same place. */
    memcpy(c->element, carry, plan->aggregates->smooth_element_bytes(plan->nx));
    plan->aggregates->filter_extract(plan->nx, 0, 1, from, mean, cov);
    ks_state root = { x, C, KS_FORM_ORDINARY };
    plan->aggregates->root(plan->nx, &root, c->worker.scratch);
    ks_state state = { c->state.mean, c->state.cov, KS_FORM_ARRAY };
    plan->kernels->narrow(n, x, state.x);
    plan->kernels->narrow(n * n, C, state.C);
    return state;
}

int ks_filter_rerun(void *user, void *scratch, const void *carry, int64_t first, int64_t count)
{
    ks_scan_method *m = user;
    const ks_smooth_plan *plan = m->plan;
    ks_tally *tally = &m->chunk_tally[first / m->chunk_size];
    ks_carver carver;
    chunk_memory c;
    open_chunk(&carver, m, scratch, &c);
    ks_state state = { c.state.mean, c.state.cov, KS_FORM_ORDINARY };
    if (carry)
        state = state_from(m, &c, carry);
    else
        plan->kernels->start(&m->a.series, &state, c.scratch);
    ks_forward_sinks to = m->a.to;
    if (m->form) {
        to.kept_mean = m->kept_mean;
        to.kept_C = m->kept_C;
        to.form = m->form;
    }
    int rc = 0;
    for (int64_t k = first; k < first + count && !rc; k += KS_BLOCK) {
        const int64_t end = first + count - k < KS_BLOCK ? first + count : k + KS_BLOCK;
        rc = plan->kernels->filter(&m->a.series, k, end, &state, &to, c.scratch, tally);
        if (!rc && ks_run_progress(m->run, end - k)) rc = -1;
    }
    close_chunk(&carver, &c, tally);
    return rc;
}

/** The smoothing element of step k from what the filter kept of it, widened. */
static void smoothing_element(ks_scan_method *m, chunk_memory *c, int64_t k, void *element)
{
    const ks_smooth_plan *plan = m->plan;
    const int64_t n = plan->nx, next = k + 1 < plan->T ? k + 1 : k;
    ks_state state = { c->worker.state.mean, c->worker.state.cov, (ks_form)m->form[k] };
    plan->kernels->widen(n, ks_slot_of(m->kept_mean, k), state.x);
    plan->kernels->widen(n * n, ks_slot_of(m->kept_C, k), state.C);
    plan->aggregates->square(plan->nx, &state, c->worker.scratch);
    const ks_sink mean = { state.x, 0, 0 }, cov = { state.C, 0, 0 }, to = { element, 0, 0 };
    plan->aggregates->smooth_elements(ks_wide_series(&m->a, &c->worker, next), k, k + 1, mean, cov, to,
                                      c->worker.scratch, &c->worker.tally);
}

int ks_smooth_absorb(void *user, void *scratch, void *dst, int64_t first, int64_t count)
{
    ks_scan_method *m = user;
    ks_carver carver;
    chunk_memory c;
    open_chunk(&carver, m, scratch, &c);
    for (int64_t k = first; k < first + count; ++k) {
        smoothing_element(m, &c, k, k == first ? dst : c.element);
        if (k > first) absorb_element(m, &c, dst, m->plan->aggregates->smooth_combine);
    }
    close_chunk(&carver, &c, &m->chunk_tally[(m->plan->T - first - count) / m->chunk_size]);
    return ks_run_progress(m->run, count);
}

int ks_smooth_rerun(void *user, void *scratch, const void *carry, int64_t first, int64_t count)
{
    ks_scan_method *m = user;
    const ks_smooth_plan *plan = m->plan;
    ks_tally *tally = &m->chunk_tally[(plan->T - first - count) / m->chunk_size];
    ks_carver carver;
    chunk_memory c;
    open_chunk(&carver, m, scratch, &c);
    ks_state state = { c.state.mean, c.state.cov, KS_FORM_ORDINARY };
    if (carry) state = state_from(m, &c, carry);
    ks_forward_sinks kept = { 0 };
    kept.kept_mean = m->kept_mean;
    kept.kept_C = m->kept_C;
    kept.form = m->form;
    int rc = plan->kernels->smooth(&m->a.series, first, first + count, &state, &kept, &m->a.back,
                                   c.scratch, tally);
    if (!rc && ks_run_progress(m->run, count)) rc = -1;
    if (first == 0 && !rc) {
        /* The smoothed prior is made from here. */
        ks_state start = { m->start.mean, m->start.cov, state.form };
        plan->kernels->widen(plan->nx, state.x, start.x);
        plan->kernels->widen((int64_t)plan->nx * plan->nx, state.C, start.C);
        plan->aggregates->square(plan->nx, &start, c.worker.scratch);
    }
    close_chunk(&carver, &c, tally);
    return rc;
}
