/* scan_rounding.c -- whether a scan of smoothing elements would multiply round-off beyond what the estimates bear.
 *
 * Going back by E = P Fᵀ Pp⁻¹ multiplies the round-off of every step behind, which is harmless where the process noise
 * forgets it and where what it is taken to is known no better. Where a transition without noise contracts it is
 * neither (range_text.h, ks_sharp()). A covariance that has lost digits looks like one that is singular, for which
 * steps of the RTS smoother are as good as ever, so what the predictions look like is no more than a reason to
 * suspect; then the scan itself is asked: it runs with the round-off e of the filtered means, of random signs, in
 * the place of the means, e[k] <- E (e[k+1] + r[k+1]), and with the variances that they are to be compared with. */
#include <math.h>
#include <string.h>
#include "scan_method.h"

/* How many times the rounding of a number as large as a mean does not count: steps that forget sum up some of them. */
enum { ROUNDINGS = 64 };

/** What the arithmetic goes by: elements are in double always, chunks are run in the plan's precision. */
static int single(const ks_smooth_plan *plan)
{
    return ks_scan_reruns(plan) && plan->kernels->number_bytes == sizeof(float);
}

/** The round-off of one operation, and how many standard deviations it may come to: covariances lose some hundred
 *  times as much. */
static double unit_of(const ks_smooth_plan *plan) { return single(plan) ? 0x1p-24 : 0x1p-53; }
static double most_of(const ks_smooth_plan *plan) { return single(plan) ? 5e-3 : 1e-8; }

void ks_scan_rounding_carve(ks_carver *carver, ks_scan_method *m)
{
    const ks_smooth_plan *plan = m->plan;
    const size_t n = (size_t)plan->nx, T = (size_t)plan->T, workers = (size_t)plan->workers;
    m->rounding.moved = ks_carve(carver, (T + 1) * n, plan->kernels->number_bytes);
    m->rounding.variance = ks_carve(carver, T * n, plan->kernels->number_bytes);
    m->rounding.counted = ks_carve(carver, workers + (size_t)m->chunks, sizeof(ks_tally));
    m->rounding.wide = ks_carve(carver, n * n + 2 * n, sizeof(double));
}

/** What the filter makes of step k from the estimate before it in the array form, where every combination of states is
 *  looked at beside the mean. */
static void look_forward(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k, ks_tally *tally)
{
    const int n = a->series.nx;
    ks_forward_sinks to = { 0 };
    ks_state state = ks_own_state(w);
    to.watched = 1;
    memcpy(state.x, ks_slot_of(ks_wide_mean(a, a->filtered), k - 1), (size_t)n * sizeof(double));
    memcpy(state.C, ks_slot_of(ks_wide_cov(a, a->filtered), k - 1), (size_t)(n * n) * sizeof(double));
    w->kernels->root(n, &state, w->scratch);
    (void)w->kernels->filter(ks_wide_series(a, w, k), k, k + 1, &state, &to, w->scratch, tally);
}

/** A step of the smoother from step k, which tells where pivots of the prediction are lost. */
static void look_back(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k, ks_tally *tally)
{
    const int n = a->series.nx;
    unsigned char form = KS_FORM_ORDINARY;
    const ks_backward_sinks nowhere = { 0 };
    ks_forward_sinks kept = { 0 };
    ks_state state = ks_own_state(w);
    memcpy(state.x, ks_slot_of(ks_wide_mean(a, a->filtered), k), (size_t)n * sizeof(double));
    memcpy(state.C, ks_slot_of(ks_wide_cov(a, a->filtered), k), (size_t)(n * n) * sizeof(double));
    kept.kept_mean = ks_wide_mean(a, a->filtered);
    kept.kept_C = ks_wide_cov(a, a->filtered);
    kept.form = &form;
    kept.form_first = k - 1;
    kept.watched = 1;
    (void)w->kernels->smooth(ks_wide_series(a, w, k), k - 1, k, &state, &kept, &nowhere, w->scratch, tally);
}

void ks_scan_suspect(const ks_scan_arrays *a, ks_scan_worker *w, int64_t look)
{
    const int64_t next = (look + 1) * KS_SCAN_LOOK, k = next < a->series.steps ? next : a->series.steps - 1;
    ks_tally tally = ks_tally_start();
    look_forward(a, w, k, &tally);
    look_back(a, w, k, &tally);
    if (tally.sharp >= 0) w->tally.sharp = k;
}

int ks_scan_is_suspect(const ks_scan_method *m)
{
    int sharp = 0;
    for (int w = 0; w < m->plan->workers; ++w) sharp |= m->worker[w].tally.sharp >= 0;
    for (int64_t c = 0; c < m->chunks; ++c) sharp |= m->chunk_tally[c].sharp >= 0;
    return sharp;
}

/** What numbers of the filtered mean of step k are as large as: themselves or their standard deviations. size: n
 *  numbers and n + n² of scratch. */
static void sizes(const ks_scan_method *m, ks_sink mean, int64_t k, double *size)
{
    const int n = m->plan->nx;
    double *x = size + n, *C = x + n;
    int array = 0;
    if (ks_scan_reruns(m->plan)) {
        m->plan->kernels->widen(n, ks_slot_of(mean, k), x);
        m->plan->kernels->widen((int64_t)n * n, ks_slot_of(m->kept_C, k), C);
        array = m->form[k] == KS_FORM_ARRAY;
    } else {
        memcpy(x, ks_slot_of(mean, k), (size_t)n * sizeof(double));
        memcpy(C, ks_slot_of(ks_wide_cov(&m->a, m->a.filtered), k), (size_t)(n * n) * sizeof(double));
    }
    for (int i = 0; i < n; ++i) {
        double variance = array ? 0 : C[i * n + i];
        for (int c = 0; array && c < n; ++c) variance += C[i * n + c] * C[i * n + c];
        size[i] = fabs(x[i]) > sqrt(fmax(variance, 0)) ? fabs(x[i]) : sqrt(fmax(variance, 0));
    }
}

static void put(const ks_smooth_plan *plan, ks_sink to, int64_t k, int i, double value)
{
    if (plan->kernels->number_bytes == sizeof(float)) ((float *)ks_slot_of(to, k))[i] = (float)value;
    else ((double *)ks_slot_of(to, k))[i] = value;
}

static double get(const ks_smooth_plan *plan, ks_sink from, int64_t k, int i)
{
    return plan->kernels->number_bytes == sizeof(float) ? (double)((const float *)ks_slot_of(from, k))[i]
                                                        : ((const double *)ks_slot_of(from, k))[i];
}

/** 1 or -1, as good as random (Steele, Lea & Flood's SplitMix64). */
static double sign_of(uint64_t number)
{
    uint64_t z = number * 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z >> 63 ? 1 : -1;
}

/** Round-off of step k is so many standard deviations. The last such step is told, and the worst of all. */
static void refuse(ks_scan_method *m, int64_t k, double value)
{
    ks_tally *tally = &m->worker[0].tally;
    tally->bad_step = k;
    tally->bad_row = -1;
    tally->bad_array = KS_ARRAY_ESTIMATE;
    tally->fault = KS_FAULT_ILL_CONDITIONED;
    if (value > m->run->info->value) m->run->info->value = value;
}

static int64_t last_fault(const ks_scan_method *m)
{
    int64_t last = -1;
    for (int w = 0; w < m->plan->workers; ++w)
        if (m->worker[w].tally.bad_step > last) last = m->worker[w].tally.bad_step;
    for (int64_t c = 0; c < m->chunks; ++c)
        if (m->chunk_tally[c].bad_step > last) last = m->chunk_tally[c].bad_step;
    return last;
}

/** Whether what it has come to is more than the estimates bear. */
static void judge(ks_scan_method *m, ks_sink mean, ks_sink moved, ks_sink variance)
{
    const ks_smooth_plan *plan = m->plan;
    const double most = most_of(plan), unit = unit_of(plan);
    for (int64_t k = 0; k < plan->T; ++k) {
        sizes(m, mean, k, m->rounding.wide);
        for (int i = 0; i < plan->nx; ++i) {
            const double sd = sqrt(fmax(get(plan, variance, k, i), 0)), e = fabs(get(plan, moved, k, i));
            if (e > most * sd + ROUNDINGS * unit * m->rounding.wide[i]) refuse(m, k, sd > 0 ? e / sd : 1 / unit);
        }
    }
}

/** Tallies of workers and chunks to or from where they wait. */
static void exchange_tallies(ks_scan_method *m, int back)
{
    ks_tally *at = m->rounding.counted;
    for (int w = 0; w < m->plan->workers; ++w, ++at)
        if (back) m->worker[w].tally = *at;
        else *at = m->worker[w].tally;
    for (int64_t c = 0; c < m->chunks; ++c, ++at)
        if (back) m->chunk_tally[c] = *at;
        else *at = m->chunk_tally[c];
}

int ks_scan_rounding(ks_scan_method *m)
{
    const ks_smooth_plan *plan = m->plan;
    const int64_t n = plan->nx, row = n * (int64_t)plan->kernels->number_bytes;
    const ks_sink zeros = { m->run->zeros, 0, 0 }, variance = { m->rounding.variance, row, 0 };
    /* Of step k behind the row of u that it is the last to read. */
    const ks_sink u = { m->rounding.moved, row, 0 }, moved = { m->rounding.moved, row, -1 };
    const ks_scan_arrays kept = m->a;
    const ks_sink kept_mean = m->kept_mean;
    const ks_sink mean = ks_scan_reruns(plan) ? m->kept_mean : ks_wide_mean(&m->a, m->a.filtered);
    const long long combines = atomic_load(&m->combines);
    const int64_t rounds = m->run->info->rounds;
    for (int64_t k = 0; k < plan->T; ++k) {
        sizes(m, mean, k, m->rounding.wide);
        for (int i = 0; i < n; ++i)
            put(plan, u, k, i, sign_of((uint64_t)(k * n + i) + 1) * unit_of(plan) * m->rounding.wide[i]);
    }
    exchange_tallies(m, 0);
    m->a.series.u = (ks_rows){ m->rounding.moved, row };
    m->a.series.u.base += m->a.series.shift * row;
    memset(&m->a.back, 0, sizeof m->a.back);
    m->a.back.smoothed_mean = moved;
    m->a.back.smoothed_var = variance;
    m->kept_mean = zeros;
    if (!ks_scan_reruns(plan)) { /* the smoothed means, which are made last, are zeros until then */
        m->a.filtered.mean = m->a.smoothed.mean;
        memset(m->a.filtered.mean, 0, (size_t)(plan->T * n) * sizeof(double));
    }
    const int failed = ks_scan_rts(m);
    m->a = kept;
    m->kept_mean = kept_mean;
    atomic_store(&m->combines, combines);
    m->run->info->rounds = rounds;
    /* Rows that do not change are widened once. */
    for (int w = 0; w < plan->workers; ++w) memset(&m->worker[w].wide, 0, sizeof m->worker[w].wide);
    if (failed && atomic_load(&m->run->canceled)) return -1;
    const int64_t lost = failed ? last_fault(m) : -1;
    exchange_tallies(m, 1);
    if (lost >= 0) refuse(m, lost, 1 / unit_of(plan)); /* it has come to numbers that are none */
    else judge(m, mean, moved, variance);
    return failed || m->worker[0].tally.bad_step >= 0 ? -1 : 0;
}
