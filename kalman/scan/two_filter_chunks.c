/* two_filter_chunks.c -- reduce, scan, re-run: the chunked form of the parallel two-filter smoother.
 *
 * The aggregates of the filter's chunks are also scanned from the end. Then each chunk runs the information filter
 * back, step by step, from the information behind it, and combines it with the filtered estimates that were kept. This
 * is done in double in every precision: information is a sum of squares, which 24 bits do not hold where states are
 * known unequally well. */
#include <string.h>
#include "scan_chunks.h"

/** Scratch of one worker. */
typedef struct back_memory {
    ks_scan_worker worker;
    ks_wide_rows wide;           /* only for plans in single precision                         */
    ks_sink mean, cov, lag;      /* then results of as many steps, double                      */
    ks_estimates state;          /* one, double                                                */
    double *behind;              /* information                                                */
} back_memory;

static ks_sink carve_rows(ks_carver *carver, int64_t steps, size_t numbers)
{
    const ks_sink rows = { ks_carve(carver, (size_t)steps * numbers, sizeof(double)),
                           (int64_t)(numbers * sizeof(double)), 0 };
    return rows;
}

static void carve(ks_carver *carver, const ks_smooth_plan *plan, back_memory *c)
{
    const size_t n = (size_t)plan->nx;
    ks_carve_worker(carver, plan, &c->worker);
    ks_carve_wide_rows(carver, plan, &c->wide);
    c->state.mean = ks_carve(carver, n, sizeof(double));
    c->state.cov = ks_carve(carver, n * n, sizeof(double));
    c->behind = ks_carve(carver, ks_information_numbers(plan), sizeof(double));
    if (plan->options.precision != KS_F32) return;
    c->mean = carve_rows(carver, c->wide.steps, n);
    c->cov = carve_rows(carver, c->wide.steps, n * n);
    c->lag = carve_rows(carver, c->wide.steps, n * n);
}

static size_t memory_of_worker(const ks_smooth_plan *plan)
{
    ks_carver carver = ks_carver_at(NULL);
    back_memory c;
    carve(&carver, plan, &c);
    return ks_carved_bytes(&carver);
}

void ks_two_filter_chunks_carve(ks_carver *carver, ks_scan_method *m)
{
    const ks_smooth_plan *plan = m->plan;
    const size_t n = (size_t)plan->nx, chunks = (size_t)m->chunks;
    ks_chunk_information_carve(carver, m);
    m->border.mean = ks_carve(carver, chunks * n, sizeof(double));
    m->border.cov = ks_carve(carver, chunks * n * n, sizeof(double));
    m->back_bytes = memory_of_worker(plan);
    m->back_memory = ks_carve(carver, (size_t)plan->workers, m->back_bytes);
    m->back_again = ks_carve(carver, 1, ks_two_filter_again_bytes(plan));
}

/** Find the filtered estimate of step k - 1, in double. `first` is the first step of the chunk. */
static const ks_state *find_before(const ks_scan_method *m, const ks_forward_sinks *kept, int64_t k, int64_t first,
                                   ks_state *before)
{
    const int64_t n = m->plan->nx, chunk = first / m->chunk_size;
    if (k == 0) return NULL;
    if (k > first) {
        before->x = ks_slot_of(kept->kept_mean, k - 1);
        before->C = ks_slot_of(kept->kept_C, k - 1);
        before->form = (ks_form)kept->form[k - 1];
        return before;
    }
    before->x = (double *)m->border.mean + chunk * n;
    before->C = (double *)m->border.cov + chunk * n * n;
    before->form = KS_FORM_ARRAY;
    return before;
}

/** Put out steps k0 .. k1 - 1 of a plan in single precision. Return 0, or -1 with the worker's fault. */
static int put_out(const ks_scan_method *m, back_memory *c, int64_t k0, int64_t k1)
{
    const int64_t n = m->plan->nx;
    for (int64_t k = k1 - 1; k >= k0; --k) {
        /* Shifted as if the estimates of all steps were kept. */
        const ks_estimates all = { (double *)(void *)c->mean.base - k0 * n, (double *)(void *)c->cov.base - k0 * n * n };
        if (!ks_fits(&m->a, &c->worker, all, k)) return -1;
        ks_put(&m->a, m->a.back.smoothed_mean, k, n, (const double *)all.mean + k * n);
        ks_put_cov(&m->a, m->a.back.smoothed_cov, m->a.back.smoothed_var, k, (const double *)all.cov + k * n * n);
        if (k > 0)
            ks_put_square(&m->a, m->a.back.lag_one_cov, k, n, (const double *)ks_slot_of(c->lag, k - k0));
    }
    return 0;
}

/** Take steps k1 - 1 .. k0 of the chunk that begins with step `first`. */
static int go_back(ks_scan_method *m, back_memory *c, int64_t first, int64_t k0, int64_t k1, ks_state *state)
{
    const int64_t from = k0 > first ? k0 - 1 : first;
    const ks_series *s = ks_widen_steps(m, &c->worker, &c->wide, k0, k1, 1);
    const ks_forward_sinks kept = ks_widen_kept(m, &c->wide, from, k1);
    ks_state at;
    const ks_state *before = find_before(m, &kept, k0, first, &at);
    ks_backward_sinks to = m->a.back;
    if (m->a.single) {
        to.smoothed_mean = c->mean;
        to.smoothed_cov = c->cov;
        to.smoothed_var = (ks_sink){ NULL, 0, 0 };
        to.lag_one_cov.base = m->a.back.lag_one_cov.base ? c->lag.base : NULL;
        to.lag_one_cov.stride = c->lag.stride;
        to.smoothed_mean.first = to.smoothed_cov.first = to.lag_one_cov.first = k0;
    }
    if (m->plan->aggregates->two_filter_back(s, k0, k1, before, c->behind, state, &kept, &to,
                                             c->worker.scratch, &c->worker.tally))
        return -1;
    return m->a.single ? put_out(m, c, k0, k1) : 0;
}

/** Keep `state`, the smoothed estimate at the end of chunk `chunk`. The next chunk makes one, too, and the two are
 *  compared. */
static void keep_end(const ks_scan_method *m, int64_t chunk, const ks_state *state)
{
    const size_t n = (size_t)m->plan->nx;
    memcpy((double *)m->met.mean + (size_t)chunk * n, state->x, n * sizeof(double));
    memcpy((double *)m->met.cov + (size_t)chunk * n * n, state->C, n * n * sizeof(double));
}

/** After chunk `chunk`, which begins with step `first`: replace the filtered estimate of the previous step by the
 *  smoothed one that the chunk leads to. A fault goes to c's tally. */
static void keep_before(const ks_scan_method *m, back_memory *c, int64_t chunk, int64_t first)
{
    const int64_t n = m->plan->nx;
    double *x = (double *)m->border.mean + chunk * n, *C = (double *)m->border.cov + chunk * n * n;
    unsigned char form = KS_FORM_ARRAY;
    const ks_backward_sinks nowhere = { 0 };
    ks_forward_sinks kept = { 0 };
    ks_state state = { c->state.mean, c->state.cov, KS_FORM_ORDINARY, KS_NOT_STEADY };
    kept.kept_mean.base = (char *)x;
    kept.kept_C.base = (char *)C;
    kept.form = &form;
    kept.form_first = first - 1;
    if (m->plan->aggregates->two_filter_back(ks_widen_steps(m, &c->worker, &c->wide, first, first + 1, 0), first - 1,
                                             first, NULL, c->behind, &state, &kept, &nowhere, c->worker.scratch,
                                             &c->worker.tally))
        return;
    memcpy(x, state.x, (size_t)n * sizeof(double));
    memcpy(C, state.C, (size_t)(n * n) * sizeof(double));
}

static void back_over_chunk(ks_scan_method *m, back_memory *c, int64_t chunk)
{
    const ks_smooth_plan *plan = m->plan;
    const int64_t first = chunk * m->chunk_size, last = first + m->chunk_size;
    const int64_t end = last < plan->T ? last : plan->T;
    /* One more row is read than a block has steps, that of the step before it. */
    const int64_t block = m->a.single ? c->wide.steps - 1 : KS_BLOCK;
    ks_tally *const own = &c->worker.tally;
    ks_state state = { c->state.mean, c->state.cov, KS_FORM_ORDINARY, KS_NOT_STEADY };
    *own = ks_tally_start();
    plan->kernels->widen(plan->nx, ks_slot_of(m->kept_mean, end - 1), c->state.mean);
    ks_chunk_behind(m, chunk, c->state.mean, c->behind);
    int rc = 0;
    for (int64_t k = end, from; k > first && !rc; k = from) {
        from = k == end ? end - 1 : k - first < block ? first : k - block;
        rc = go_back(m, c, first, from, k, &state);
        if (!rc && k == end) keep_end(m, chunk, &state);
        if (!rc && ks_scan_progress(m, k - from)) rc = -1;
    }
    if (chunk == 0 && !rc) {
        /* The smoothed prior is made from this estimate. */
        memcpy(m->start.mean, state.x, (size_t)plan->nx * sizeof(double));
        memcpy(m->start.cov, state.C, (size_t)plan->nx * (size_t)plan->nx * sizeof(double));
    }
    if (chunk > 0 && !rc) keep_before(m, c, chunk, first);
    ks_tally *const tally = &m->chunk_tally[chunk];
    ks_chunk_tell(own, tally);
    if (own->sharp >= 0) tally->sharp = own->sharp;
}

static void back_over_chunks(void *arg, int64_t begin, int64_t end, int worker)
{
    ks_scan_method *m = arg;
    ks_carver carver = ks_carver_at(m->back_memory + (size_t)worker * m->back_bytes);
    back_memory c;
    carve(&carver, m->plan, &c);
    for (int64_t chunk = begin; chunk < end && !atomic_load(&m->run->canceled); ++chunk) {
        back_over_chunk(m, &c, chunk);
        if (m->chunk_tally[chunk].bad_step >= 0) break;
    }
    ks_carve_end(&carver);
}

/** Return whether chunk `chunk` and the next one disagree at their border. */
static int disagree(const ks_scan_method *m, int64_t chunk)
{
    const int64_t n = m->plan->nx;
    return ks_estimates_disagree((int)n, (double *)m->met.mean + chunk * n, (double *)m->met.cov + chunk * n * n,
                                 (double *)m->border.mean + (chunk + 1) * n,
                                 (double *)m->border.cov + (chunk + 1) * n * n, KS_CHUNKS_SUSPECT(m->a.single),
                                 ks_unit_roundoff(m->a.single));
}

int ks_two_filter_chunks(ks_scan_method *m)
{
    const ks_smooth_plan *plan = m->plan;
    if (ks_scan_suffixes(m)) return -1;
    ++m->run->info->rounds;
    ks_parallel_for(plan->context, plan->workers, m->chunks, back_over_chunks, m);
    for (int64_t c = 0; c < m->chunks; ++c)
        if (m->chunk_tally[c].bad_step >= 0) return -1;
    if (atomic_load(&m->run->canceled)) return -1;
    for (int64_t c = 0; c + 1 < m->chunks; ++c)
        if (disagree(m, c)) m->chunk_tally[c].sharp = c * m->chunk_size;
    return 0;
}
