/* scan_chunks.c -- reduce, scan, re-run: the chunked form of the parallel filter, and of the RTS smoother with
 * smoothing elements. The latter is for series that rts_chunks.c cannot smooth accurately.
 *
 * Elements of steps are never stored. Ordinary steps in double make a chunk's aggregate; they carry their sensitivity
 * to the state before the chunk, or behind it (absorb_text.h). The aggregates are scanned. Then each chunk runs
 * ordinary filter or smoother steps, in the plan's precision, from the exact estimate at its border. */
#include <string.h>
#include "scan_chunks.h"

static void carve(ks_carver *carver, const ks_smooth_plan *plan, ks_chunk_memory *c)
{
    ks_carve_worker(carver, plan, &c->worker);
    ks_carve_wide_rows(carver, plan, &c->wide);
    c->element = ks_carve(carver, 1, plan->aggregates->filter_element_bytes(plan->nx));
    c->absorb = ks_carve(carver, 1, plan->aggregates->absorb_bytes(
                                        plan->nx, plan->ny,
                                        plan->aggregates->scratch_bytes(plan->nx, plan->ny)));
    c->scratch = ks_carve(carver, 1, plan->kernels->scratch_bytes(plan->nx, plan->ny));
    c->state = ks_carve_estimates(carver, plan, 1);
}

size_t ks_chunk_scratch(const ks_smooth_plan *plan)
{
    ks_carver carver = ks_carver_at(NULL);
    ks_chunk_memory c;
    carve(&carver, plan, &c);
    return ks_carved_bytes(&carver);
}

void ks_chunk_open(ks_carver *carver, const ks_scan_method *m, void *scratch, ks_chunk_memory *c)
{
    *carver = ks_carver_at(scratch);
    carve(carver, m->plan, c);
}

void ks_chunk_tell(const ks_tally *own, ks_tally *tally)
{
    tally->elements += own->elements;
    if (own->bad_step < 0) return;
    tally->bad_step = own->bad_step;
    tally->bad_row = own->bad_row;
    tally->bad_array = own->bad_array;
    tally->fault = own->fault;
}

void ks_chunk_close(ks_carver *carver, const ks_chunk_memory *c, ks_tally *tally)
{
    ks_chunk_tell(&c->worker.tally, tally);
    ks_carve_end(carver);
}

/** An absorbed step counts as one combine. */
static void count_absorbed(ks_scan_method *m, int64_t count)
{
    atomic_fetch_add_explicit(&m->combines, count - 1, memory_order_relaxed);
}

/** Make the element of the first chunk from the filtered estimate after it: A = 0, no information. */
static int absorb_first(const ks_scan_method *m, ks_chunk_memory *c, void *dst, int64_t count)
{
    const ks_kernels *in_double = m->plan->aggregates;
    ks_scan_worker *w = &c->worker;
    const ks_forward_sinks nowhere = { 0 };
    ks_state state = { w->state.mean, w->state.cov, KS_FORM_ORDINARY, KS_NOT_STEADY };
    ks_tally tally = ks_tally_start();
    in_double->start(ks_wide_series(&m->a, w, 0), &state, w->scratch);
    for (int64_t k = 0, end; k < count; k = end) {
        end = count - k < c->wide.steps ? count : k + c->wide.steps;
        const ks_series *s = ks_widen_steps(m, w, &c->wide, k, end, 1);
        if (in_double->filter(s, k, end, &state, &nowhere, w->scratch, &tally)) {
            w->tally = tally;
            return -1;
        }
    }
    in_double->square(m->plan->nx, &state, w->scratch);
    in_double->filter_element_first(m->plan->nx, state.x, state.C, dst);
    w->tally.elements += count;
    return 0;
}

int ks_filter_absorb(void *user, void *scratch, void *dst, int64_t first, int64_t count)
{
    ks_scan_method *m = user;
    ks_carver carver;
    ks_chunk_memory c;
    int rc = 0;
    ks_chunk_open(&carver, m, scratch, &c);
    if (first == 0) rc = absorb_first(m, &c, dst, count);
    for (int64_t k = first, end; first > 0 && k < first + count && !rc; k = end) {
        end = first + count - k < c.wide.steps ? first + count : k + c.wide.steps;
        const ks_series *s = ks_widen_steps(m, &c.worker, &c.wide, k, end, 1);
        rc = m->plan->aggregates->filter_absorb(s, k, end, k == first, dst, c.absorb, &c.worker.tally);
    }
    if (!rc) count_absorbed(m, count);
    if (!rc && m->suffixes) {
        const size_t bytes = m->plan->aggregates->filter_element_bytes(m->plan->nx);
        memcpy(m->suffixes + (size_t)(first / m->chunk_size) * bytes, dst, bytes);
    }
    if (!rc && ks_scan_progress(m, count)) rc = -1;
    ks_chunk_close(&carver, &c, &m->chunk_tally[first / m->chunk_size]);
    return rc;
}

/** Return mean and covariance of an aggregate as a state in the plan's precision. */
static ks_state state_from(const ks_scan_method *m, const ks_chunk_memory *c, const void *carry)
{
    const ks_kernels *in_double = m->plan->aggregates;
    const ks_sink mean = { (char *)c->worker.state.mean, 0, 0 }, cov = { (char *)c->worker.state.cov, 0, 0 };
    const ks_sink from = { (char *)c->element, 0, 0 };
    /* Smoothing elements hold mean and covariance where filtering elements do. */
    memcpy(c->element, carry, in_double->smooth_element_bytes(m->plan->nx));
    in_double->filter_extract(m->plan->nx, 0, 1, from, mean, cov);
    return ks_chunk_state(m, c);
}

ks_state ks_chunk_state(const ks_scan_method *m, const ks_chunk_memory *c)
{
    const ks_smooth_plan *plan = m->plan;
    const int64_t n = plan->nx;
    ks_state root = { c->worker.state.mean, c->worker.state.cov, KS_FORM_ORDINARY, KS_NOT_STEADY };
    plan->aggregates->root(plan->nx, &root, c->worker.scratch);
    ks_state state = { c->state.mean, c->state.cov, KS_FORM_ARRAY, KS_NOT_STEADY };
    plan->kernels->narrow(n, root.x, state.x);
    plan->kernels->narrow(n * n, root.C, state.C);
    return state;
}

/* The factorization is pivoted: the last nonzero entry of a row is its pivot. A last column of zeros means that a pivot
 * was dropped. */
int ks_root_is_ill_conditioned(const ks_smooth_plan *plan, const double *S)
{
    const int n = plan->nx;
    const double least = plan->kernels->number_bytes == sizeof(float) ? 0x1p-12 : 0x1p-26;
    int deficient = 1, ill = 0;
    for (int i = 0; i < n; ++i) {
        double norm = 0, pivot = 0;
        for (int c = 0; c < n; ++c) {
            const double square = S[i * n + c] * S[i * n + c];
            norm += square;
            pivot = square > 0 ? square : pivot;
        }
        ill |= pivot < least * norm;
        deficient &= S[i * n + n - 1] == 0;
    }
    return ill || deficient;
}

int ks_chunk_differs(const ks_scan_method *m, ks_scan_worker *w, const ks_state *state, const double *x, const double *P)
{
    const ks_smooth_plan *plan = m->plan;
    const int64_t n = plan->nx;
    ks_state own = { w->state.mean, w->state.cov, state->form, KS_NOT_STEADY };
    plan->kernels->widen(n, state->x, own.x);
    plan->kernels->widen(n * n, state->C, own.C);
    plan->aggregates->square(plan->nx, &own, w->scratch);
    return ks_estimates_disagree(plan->nx, x, P, own.x, own.C, KS_CHUNKS_SUSPECT(m->a.single),
                                 ks_unit_roundoff(m->a.single));
}

/** Alg. 7: the way back reads the estimate before each chunk again. */
static void keep_border(const ks_scan_method *m, const ks_chunk_memory *c, int64_t chunk)
{
    const size_t n = (size_t)m->plan->nx;
    if (!m->border.mean) return;
    memcpy((double *)m->border.mean + (size_t)chunk * n, c->worker.state.mean, n * sizeof(double));
    memcpy((double *)m->border.cov + (size_t)chunk * n * n, c->worker.state.cov, n * n * sizeof(double));
}

int ks_filter_rerun(void *user, void *scratch, const void *carry, int64_t first, int64_t count)
{
    ks_scan_method *m = user;
    const ks_smooth_plan *plan = m->plan;
    ks_tally *tally = &m->chunk_tally[first / m->chunk_size];
    ks_carver carver;
    ks_chunk_memory c;
    ks_chunk_open(&carver, m, scratch, &c);
    ks_state state = { c.state.mean, c.state.cov, KS_FORM_ORDINARY, KS_NOT_STEADY };
    if (carry) {
        state = state_from(m, &c, carry);
        /* From here on the covariance may look singular instead of sharp, where steps from the beginning would have
         * kept all of it. Digits that it has lost in a combination of states need not show in any entry either, so the
         * comparison of chunks may miss them. */
        const int ill = ks_root_is_ill_conditioned(plan, c.worker.state.cov);
        if (m->a.to.watched && !m->run->watched && ill) tally->sharp = first;
        if (ill && !(m->run->watched && m->a.to.watched)) atomic_store(&m->doubtful, 1);
        keep_border(m, &c, first / m->chunk_size);
    } else
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
        if (!rc && ks_scan_progress(m, end - k)) rc = -1;
    }
    if (!rc) ks_chunk_look(m, &c.worker, (first + count - 1) / m->chunk_size, &state);
    ks_chunk_close(&carver, &c, tally);
    return rc;
}

int ks_smooth_absorb(void *user, void *scratch, void *dst, int64_t first, int64_t count)
{
    ks_scan_method *m = user;
    const ks_smooth_plan *plan = m->plan;
    ks_carver carver;
    ks_chunk_memory c;
    int rc = 0;
    ks_chunk_open(&carver, m, scratch, &c);
    for (int64_t k = first + count, from; k > first && !rc; k = from) {
        from = k - first < c.wide.steps ? first : k - c.wide.steps;
        const ks_forward_sinks kept = ks_widen_kept(m, &c.wide, from, k);
        /* Step k needs the transition into step k + 1; the last step of all has none. */
        const int64_t end = k < plan->T ? k + 1 : plan->T, begin = from + 1 < end ? from + 1 : end - 1;
        const ks_series *s = ks_widen_steps(m, &c.worker, &c.wide, begin, end, 0);
        rc = plan->aggregates->smooth_absorb(s, from, k, k == first + count, &kept, dst, c.absorb,
                                             &c.worker.tally);
    }
    if (!rc) count_absorbed(m, count);
    if (!rc && ks_scan_progress(m, count)) rc = -1;
    ks_chunk_close(&carver, &c, &m->chunk_tally[(plan->T - first - count) / m->chunk_size]);
    return rc;
}

/** Keep the estimate from which chunk `chunk`, counted from the end, begins its way back: that of its aggregate. */
static void keep_carry(const ks_scan_method *m, const ks_chunk_memory *c, int64_t chunk)
{
    const int64_t n = m->plan->nx;
    const ks_sink from = { (char *)c->element, 0, 0 };
    const ks_sink mean = { (char *)((double *)m->met.mean + chunk * n), 0, 0 };
    const ks_sink cov = { (char *)((double *)m->met.cov + chunk * n * n), 0, 0 };
    m->plan->aggregates->filter_extract(m->plan->nx, 0, 1, from, mean, cov);
}

/** Keep the estimate with which it ends. */
static void keep_end(const ks_scan_method *m, const ks_chunk_memory *c, const ks_state *state, int64_t chunk)
{
    const ks_smooth_plan *plan = m->plan;
    const int64_t n = plan->nx;
    ks_state own = { (double *)m->ends.mean + chunk * n, (double *)m->ends.cov + chunk * n * n, state->form, KS_NOT_STEADY };
    plan->kernels->widen(n, state->x, own.x);
    plan->kernels->widen(n * n, state->C, own.C);
    plan->aggregates->square(plan->nx, &own, c->worker.scratch);
}

int ks_chunks_meet(const ks_scan_method *m)
{
    const int64_t n = m->plan->nx;
    for (int64_t c = 0; c + 1 < m->chunks; ++c)
        if (ks_estimates_disagree((int)n, (double *)m->met.mean + (c + 1) * n, (double *)m->met.cov + (c + 1) * n * n,
                                  (double *)m->ends.mean + c * n, (double *)m->ends.cov + c * n * n,
                                  KS_CHUNKS_SUSPECT(m->a.single), ks_unit_roundoff(m->a.single)))
            return 0;
    return 1;
}

int ks_smooth_rerun(void *user, void *scratch, const void *carry, int64_t first, int64_t count)
{
    ks_scan_method *m = user;
    const ks_smooth_plan *plan = m->plan;
    const int64_t chunk = (plan->T - first - count) / m->chunk_size;
    ks_tally *tally = &m->chunk_tally[chunk];
    ks_carver carver;
    ks_chunk_memory c;
    ks_chunk_open(&carver, m, scratch, &c);
    ks_state state = { c.state.mean, c.state.cov, KS_FORM_ORDINARY, KS_NOT_STEADY };
    if (carry) {
        state = state_from(m, &c, carry);
        keep_carry(m, &c, chunk);
        if (m->watched && !m->run->watched && ks_root_is_ill_conditioned(plan, c.worker.state.cov))
            tally->sharp = first + count;
    }
    ks_forward_sinks kept = { 0 };
    kept.kept_mean = m->kept_mean;
    kept.kept_C = m->kept_C;
    kept.form = m->form;
    kept.watched = m->watched;
    int rc = plan->kernels->smooth(&m->a.series, first, first + count, &state, &kept, &m->a.back,
                                   c.scratch, tally);
    if (!rc && ks_scan_progress(m, count)) rc = -1;
    if (!rc) keep_end(m, &c, &state, chunk);
    if (first == 0 && !rc) {
        /* The smoothed prior is made from this estimate. */
        ks_state start = { m->start.mean, m->start.cov, state.form, KS_NOT_STEADY };
        plan->kernels->widen(plan->nx, state.x, start.x);
        plan->kernels->widen((int64_t)plan->nx * plan->nx, state.C, start.C);
        plan->aggregates->square(plan->nx, &start, c.worker.scratch);
    }
    ks_chunk_close(&carver, &c, tally);
    return rc;
}
