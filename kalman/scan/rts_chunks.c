/* rts_chunks.c -- the way back of the parallel RTS smoother in chunks, from the aggregates of the filter.
 *
 * A filtering element also has the information that the two-filter smoother uses. A reverse scan of the aggregates
 * gives the information of all steps after a chunk about the state at its end. With what the filter kept there, that
 * is the smoothed estimate. From it the chunk takes ordinary smoother steps back, to the last step of the previous
 * chunk, where the two estimates are compared. No smoothing elements are made.
 *
 * If some of these estimates differ, the smoother starts over with smoothing elements (scan_chunks.c): information is a
 * sum of squares and may have lost digits that smoothing elements keep. */
#include <string.h>
#include "scan_chunks.h"

void ks_rts_chunks_carve(ks_carver *carver, ks_scan_method *m)
{
    const size_t n = (size_t)m->plan->nx, chunks = (size_t)m->chunks;
    ks_chunk_information_carve(carver, m);
    m->ends.mean = ks_carve(carver, chunks * n, sizeof(double));
    m->ends.cov = ks_carve(carver, chunks * n * n, sizeof(double));
    m->back_bytes = ks_chunk_scratch(m->plan);
    m->back_memory = ks_carve(carver, (size_t)m->plan->workers, m->back_bytes);
}

/** Make the smoothed estimates at the ends of chunks begin .. end - 1. */
static void meet_ends(void *arg, int64_t begin, int64_t end, int worker)
{
    ks_scan_method *m = arg;
    const int64_t n = m->plan->nx;
    const ks_backward_sinks nowhere = { 0 };
    ks_carver carver;
    ks_chunk_memory c;
    for (int64_t chunk = begin; chunk < end; ++chunk) {
        const int64_t k = (chunk + 1) * m->chunk_size - 1;
        ks_chunk_open(&carver, m, m->back_memory + (size_t)worker * m->back_bytes, &c);
        c.worker.tally = ks_tally_start();
        ks_state state = { (double *)m->met.mean + chunk * n, (double *)m->met.cov + chunk * n * n, KS_FORM_ORDINARY,
                           KS_NOT_STEADY };
        const ks_forward_sinks kept = ks_widen_kept(m, &c.wide, k, k + 1);
        ks_chunk_behind(m, chunk, (const double *)ks_slot_of(kept.kept_mean, k), c.element);
        if (m->plan->aggregates->two_filter_back(&m->a.series, k, k + 1, NULL, c.element, &state, &kept, &nowhere,
                                                 c.worker.scratch, &c.worker.tally) ||
            c.worker.tally.sharp >= 0)
            atomic_store(&m->apart, 1);
        ks_carve_end(&carver);
    }
}

/** Smooth chunk `chunk`, from its end back to the end of the previous one. Return 0, or -1. */
static int go_back(ks_scan_method *m, ks_chunk_memory *c, int64_t chunk)
{
    const ks_smooth_plan *plan = m->plan;
    const int64_t n = plan->nx, first = chunk * m->chunk_size, last = chunk + 1 == m->chunks;
    const int64_t k0 = chunk > 0 ? first - 1 : 0, k1 = last ? plan->T : first + m->chunk_size - 1;
    ks_tally *tally = &m->chunk_tally[chunk];
    ks_state state = { c->state.mean, c->state.cov, KS_FORM_ORDINARY, KS_NOT_STEADY };
    ks_forward_sinks kept = { 0 };
    if (k0 == k1) return 0;
    if (!last) {
        memcpy(c->worker.state.mean, (const double *)m->met.mean + chunk * n, (size_t)n * sizeof(double));
        memcpy(c->worker.state.cov, (const double *)m->met.cov + chunk * n * n, (size_t)(n * n) * sizeof(double));
        state = ks_chunk_state(m, c);
        if (m->watched && !m->run->watched && ks_root_is_ill_conditioned(plan, c->worker.state.cov)) tally->sharp = k1;
    }
    kept.kept_mean = m->kept_mean;
    kept.kept_C = m->kept_C;
    kept.form = m->form;
    kept.watched = m->watched;
    if (plan->kernels->smooth(&m->a.series, k0, k1, &state, &kept, &m->a.back, c->scratch, tally) ||
        ks_scan_progress(m, k1 - k0))
        return -1;
    /* The result at the end of the previous chunk must agree with the estimate from which that chunk goes back. */
    if (chunk > 0 && ks_chunk_differs(m, &c->worker, &state, (const double *)m->met.mean + (chunk - 1) * n,
                                      (const double *)m->met.cov + (chunk - 1) * n * n))
        atomic_store(&m->apart, 1);
    if (k0 == 0) {
        /* The smoothed prior is made from this estimate. */
        ks_state start = { m->start.mean, m->start.cov, state.form, KS_NOT_STEADY };
        plan->kernels->widen(n, state.x, start.x);
        plan->kernels->widen(n * n, state.C, start.C);
        plan->aggregates->square(plan->nx, &start, c->worker.scratch);
    }
    return 0;
}

static void back_over_chunks(void *arg, int64_t begin, int64_t end, int worker)
{
    ks_scan_method *m = arg;
    ks_carver carver;
    ks_chunk_memory c;
    for (int64_t chunk = begin; chunk < end && !atomic_load(&m->run->canceled); ++chunk) {
        ks_chunk_open(&carver, m, m->back_memory + (size_t)worker * m->back_bytes, &c);
        c.worker.tally = ks_tally_start();
        const int rc = go_back(m, &c, chunk);
        ks_chunk_close(&carver, &c, &m->chunk_tally[chunk]);
        if (rc) break;
    }
}

int ks_rts_chunks(ks_scan_method *m)
{
    const ks_smooth_plan *plan = m->plan;
    if (ks_scan_suffixes(m)) return -1;
    m->run->info->rounds += m->chunks > 1 ? 2 : 1;
    ks_parallel_for(plan->context, plan->workers, m->chunks - 1, meet_ends, m);
    if (atomic_load(&m->apart)) return ks_scan_progress(m, plan->T / plan->workers);
    ks_parallel_for(plan->context, plan->workers, m->chunks, back_over_chunks, m);
    for (int64_t c = 0; c < m->chunks; ++c)
        if (m->chunk_tally[c].bad_step >= 0) return -1;
    return atomic_load(&m->run->canceled) ? -1 : 0;
}
