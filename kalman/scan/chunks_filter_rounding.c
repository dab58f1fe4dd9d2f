/* chunks_filter_rounding.c -- test whether the parallel filter in chunks loses more digits than the estimates bear.
 *
 * A chunk begins from an aggregate of all steps before it. The aggregate may have lost digits, as elements of single
 * steps may (filter_rounding_text.h); the chunk's own steps lose none. So the estimate at the end of a chunk is
 * compared with the one from which the next chunk begins. They disagree where digits are lost, but also where a state
 * is known exactly, since its variance is round-off.
 *
 * A series is suspect if two chunks disagree, or if a chunk begins from a covariance that has lost half of its digits.
 * A suspect series is filtered again twice: from its beginning, and from where each chunk began. Where these two
 * differ, digits are lost, and the run is refused. */
#include <math.h>
#include <string.h>
#include "scan_chunks.h"

/** Memory of ks_chunks_filter_rounding(): two filters, from the beginning and from where each chunk began. */
typedef struct asking {
    ks_scan_worker worker;
    ks_wide_rows wide;
    ks_followed filter[2];
    double *sd;
} asking;

static ks_followed carve_filter(ks_carver *carver, const ks_smooth_plan *plan)
{
    const size_t n = (size_t)plan->nx;
    const ks_state state = { ks_carve(carver, n, sizeof(double)), ks_carve(carver, n * n, sizeof(double)), KS_FORM_ORDINARY,
                             KS_NOT_STEADY };
    ks_followed f = { state, NULL, NULL, NULL };
    f.predicted_mean = ks_carve(carver, n, sizeof(double));
    f.predicted_cov = ks_carve(carver, n * n, sizeof(double));
    f.cov = ks_carve(carver, n * n, sizeof(double));
    return f;
}

static void carve(ks_carver *carver, const ks_smooth_plan *plan, asking *q)
{
    memset(q, 0, sizeof *q);
    ks_carve_worker(carver, plan, &q->worker);
    ks_carve_wide_rows(carver, plan, &q->wide);
    for (int i = 0; i < 2; ++i) q->filter[i] = carve_filter(carver, plan);
    q->sd = ks_carve(carver, (size_t)plan->nx, sizeof(double));
}

size_t ks_chunks_filter_bytes(const ks_smooth_plan *plan)
{
    ks_carver carver = ks_carver_at(NULL);
    asking q;
    carve(&carver, plan, &q);
    return ks_carved_bytes(&carver);
}

/** Mean and covariance after chunk c >= 0 according to the scan. */
static void border(const ks_scan_method *m, int64_t c, void *x, void *P)
{
    const ks_kernels *in_double = m->plan->aggregates;
    const int64_t bytes = (int64_t)in_double->filter_element_bytes(m->plan->nx);
    const ks_sink from = { (char *)m->a.elements + c * bytes, 0, 0 }, mean = { x, 0, 0 }, cov = { P, 0, 0 };
    in_double->filter_extract(m->plan->nx, 0, 1, from, mean, cov);
}

void ks_chunk_look(ks_scan_method *m, ks_scan_worker *w, int64_t c, const ks_state *end)
{
    if (c == m->chunks - 1) return;
    border(m, c, w->results.mean, w->results.cov);
    if (ks_chunk_differs(m, w, end, w->results.mean, w->results.cov)) atomic_store(&m->doubtful, 1);
}

int ks_chunks_filter_rounding(ks_scan_method *m)
{
    const ks_kernels *in_double = m->plan->aggregates;
    const double most = KS_CHUNKS_DIFFER_MOST(m->a.single);
    ks_carver carver = ks_carver_at(m->asking);
    asking q;
    carve(&carver, m->plan, &q);
    ks_state *whole = &q.filter[0].state, *chunk = &q.filter[1].state;
    int rc = 0;
    in_double->start(ks_wide_series(&m->a, &q.worker, 0), whole, q.worker.scratch);
    for (int64_t k = 0, end; k < m->plan->T && !rc; k = end) {
        end = m->plan->T - k < KS_BLOCK ? m->plan->T : k + KS_BLOCK;
        end = end - k < q.wide.steps ? end : k + q.wide.steps;
        const ks_series *s = ks_widen_steps(m, &q.worker, &q.wide, k, end, 1);
        for (int64_t i = k; i < end && !rc; ++i) {
            const ks_filtered_step_of a = ks_follow_step(&q.worker, s, i, &q.filter[0]);
            if (i < m->chunk_size) continue;
            if (i % m->chunk_size == 0) {
                border(m, i / m->chunk_size - 1, chunk->x, chunk->C);
                chunk->form = KS_FORM_ORDINARY;
                in_double->root(m->plan->nx, chunk, q.worker.scratch);
            }
            const ks_filtered_step_of b = ks_follow_step(&q.worker, s, i, &q.filter[1]);
            const double value = ks_filters_differ(m->plan->nx, whole->form == KS_FORM_ARRAY, &a, &b, q.sd);
            if (!(value <= most)) rc = ks_scan_refuse(m, i, value);
        }
        if (!rc && ks_scan_progress(m, 0)) rc = -1;
    }
    ks_carve_end(&carver);
    return rc;
}
