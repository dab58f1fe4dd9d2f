/* scan_chunks.c -- reduce, scan, re-run: the chunked form of the parallel filter and RTS smoother.
 *
 * Elements are never stored. A chunk's are combined one by one into its aggregate, which is kept in
 * double whatever the precision; the aggregates are scanned; then each chunk runs ordinary filter
 * or smoother steps from the exact estimate at its border. */
#include <string.h>
#include "scan_method.h"

/** Scratch of one call: the kernels' in both precisions, an element in both, and a state. */
typedef struct chunk_memory {
    void *scratch, *wide_scratch, *element;
    double *wide_element;
    ks_estimates state;
} chunk_memory;

static void carve(ks_carver *carver, const ks_smooth_plan *plan, chunk_memory *c)
{
    c->scratch = ks_carve(carver, 1, plan->kernels->scratch_bytes(plan->nx, plan->ny));
    c->wide_scratch = ks_carve(carver, 1, plan->aggregates->scratch_bytes(plan->nx, plan->ny));
    c->element = ks_carve(carver, 1, plan->kernels->filter_element_bytes(plan->nx));
    c->wide_element = ks_carve(carver, 1, plan->aggregates->filter_element_bytes(plan->nx));
    c->state = ks_carve_estimates(carver, plan, 1);
}

size_t ks_chunk_scratch(const ks_smooth_plan *plan)
{
    ks_carver carver = ks_carver_at(NULL);
    chunk_memory c;
    carve(&carver, plan, &c);
    return ks_carved_bytes(&carver);
}

/** dst <- dst (+) the element in c->element, or that element alone. */
static void absorb_element(ks_scan_method *m, const chunk_memory *c, void *dst, int alone,
                           size_t element_bytes,
                           void (*combine)(int nx, const ks_combine_job *job, void *work))
{
    const ks_smooth_plan *plan = m->plan;
    const int64_t numbers = (int64_t)(element_bytes / sizeof(double));
    plan->kernels->widen(numbers, c->element, alone ? dst : c->wide_element);
    if (alone) return;
    const ks_combine_job job = { 1, 1, dst, dst, (const char *)c->wide_element, 0, 0, 0, 0, 0, 0 };
    combine(plan->nx, &job, c->wide_scratch);
    atomic_fetch_add_explicit(&m->combines, 1, memory_order_relaxed);
}

static ks_state state_of(const chunk_memory *c)
{
    ks_state state = { c->state.mean, c->state.cov, KS_FORM_ORDINARY };
    return state;
}

/** The tally of the chunk that starts at `first`; chunks are counted from the end that the scan
 *  starts from. */
static ks_tally *chunk_tally(ks_scan_method *m, int64_t index) { return &m->chunk_tally[index]; }

int ks_filter_absorb(void *user, void *scratch, void *dst, int64_t first, int64_t count)
{
    ks_scan_method *m = user;
    const ks_smooth_plan *plan = m->plan;
    const ks_kernels *kernels = plan->kernels;
    const size_t bytes = plan->aggregates->filter_element_bytes(plan->nx);
    ks_tally *tally = chunk_tally(m, first / m->chunk_size);
    ks_carver carver = ks_carver_at(scratch);
    chunk_memory c;
    carve(&carver, plan, &c);
    int rc = 0;
    for (int64_t k = first; k < first + count && !rc; ++k) {
        if (k == 0) {
            const ks_forward_sinks nowhere = { 0 };
            ks_state state = state_of(&c);
            ks_tally once = { 0 };
            once.bad_step = -1;
            kernels->start(&m->series, &state, c.scratch);
            rc = kernels->filter(&m->series, 0, 1, &state, &nowhere, c.scratch, &once);
            if (rc) {
                *tally = once;
                break;
            }
            kernels->square(plan->nx, &state, c.scratch);
            kernels->filter_element_first(plan->nx, state.x, state.C, c.element);
            tally->elements += 1;
        } else {
            const ks_sink to = { c.element, 0, k };
            rc = kernels->filter_elements(&m->series, k, k + 1, to, c.scratch, tally);
        }
        if (!rc)
            absorb_element(m, &c, dst, k == first, bytes, plan->aggregates->filter_combine);
    }
    ks_carve_end(&carver);
    return rc;
}

/** Mean and covariance of an aggregate as a state in the plan's precision: a square root made in
 *  double, so that narrowing it loses nothing that matters. */
static ks_state state_from(const ks_scan_method *m, const chunk_memory *c, const void *carry)
{
    const ks_smooth_plan *plan = m->plan;
    const int64_t n = plan->nx;
    const ks_sink from = { (char *)c->wide_element, 0, 0 };
    ks_state state = state_of(c);
    double *wide = c->wide_scratch;
    const ks_sink mean = { (char *)wide, 0, 0 }, cov = { (char *)(wide + n), 0, 0 };
    memcpy(c->wide_element, carry,
           (size_t)(n * n + n + n * (n + 1) / 2) * sizeof(double));
    plan->aggregates->filter_extract(plan->nx, 0, 1, from, mean, cov);
    ks_state root = { wide, wide + n, KS_FORM_ORDINARY };
    plan->aggregates->root(plan->nx, &root, wide + n + n * n);
    plan->kernels->narrow(n, wide, state.x);
    plan->kernels->narrow(n * n, wide + n, state.C);
    state.form = KS_FORM_ARRAY;
    return state;
}

int ks_filter_rerun(void *user, void *scratch, const void *carry, int64_t first, int64_t count)
{
    ks_scan_method *m = user;
    const ks_smooth_plan *plan = m->plan;
    ks_tally *tally = chunk_tally(m, first / m->chunk_size);
    ks_carver carver = ks_carver_at(scratch);
    chunk_memory c;
    carve(&carver, plan, &c);
    ks_state state = state_of(&c);
    if (carry)
        state = state_from(m, &c, carry);
    else
        plan->kernels->start(&m->series, &state, c.scratch);
    ks_forward_sinks to = m->to;
    to.filtered_mean = m->filtered_mean;
    to.filtered_cov = m->filtered_cov;
    int rc = 0;
    for (int64_t k = first; k < first + count && !rc; k += KS_BLOCK) {
        const int64_t end = first + count - k < KS_BLOCK ? first + count : k + KS_BLOCK;
        rc = plan->kernels->filter(&m->series, k, end, &state, &to, c.scratch, tally);
        if (atomic_load(&m->run->canceled)) rc = -1;
    }
    ks_carve_end(&carver);
    return rc;
}

int ks_smooth_absorb(void *user, void *scratch, void *dst, int64_t first, int64_t count)
{
    ks_scan_method *m = user;
    const ks_smooth_plan *plan = m->plan;
    const size_t bytes = plan->aggregates->smooth_element_bytes(plan->nx);
    ks_tally *tally = chunk_tally(m, (plan->T - first - count) / m->chunk_size);
    ks_carver carver = ks_carver_at(scratch);
    chunk_memory c;
    carve(&carver, plan, &c);
    for (int64_t k = first; k < first + count; ++k) {
        const ks_sink to = { c.element, 0, k };
        plan->kernels->smooth_elements(&m->series, k, k + 1, m->filtered_mean, m->filtered_cov,
                                       to, c.scratch, tally);
        absorb_element(m, &c, dst, k == first, bytes, plan->aggregates->smooth_combine);
    }
    ks_carve_end(&carver);
    return 0;
}

int ks_smooth_rerun(void *user, void *scratch, const void *carry, int64_t first, int64_t count)
{
    ks_scan_method *m = user;
    const ks_smooth_plan *plan = m->plan;
    ks_tally *tally = chunk_tally(m, (plan->T - first - count) / m->chunk_size);
    ks_carver carver = ks_carver_at(scratch);
    chunk_memory c;
    carve(&carver, plan, &c);
    ks_state state = state_of(&c);
    if (carry) state = state_from(m, &c, carry);
    ks_forward_sinks kept = { 0 };
    kept.kept_mean = m->filtered_mean;
    kept.kept_C = m->filtered_cov;
    kept.form = m->form;
    ks_backward_sinks to = { 0 };
    to.smoothed_mean = m->smoothed_mean;
    to.smoothed_cov = m->smoothed_cov;
    const int rc = plan->kernels->smooth(&m->series, first, first + count, &state, &kept, &to,
                                         c.scratch, tally);
    ks_carve_end(&carver);
    return rc;
}
