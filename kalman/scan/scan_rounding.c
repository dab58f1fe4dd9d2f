/* scan_rounding.c -- whether the parallel RTS smoother would multiply, or has multiplied, round-off beyond what the
 * estimates bear: from stored elements by scan_rounding_text.h.
 *
 * In chunks, what is kept of the filter is a square root where a covariance would lose digits, so gains are good and the
 * round-off of the means is what counts: the scan runs with it, of random signs, in the place of the means,
 * e[k] <- E (e[k+1] + r[k+1]), and with the variances that it is to be compared with. */
#include <math.h>
#include <string.h>
#include "scan_method.h"

static int single(const ks_smooth_plan *plan) { return plan->kernels->number_bytes == sizeof(float); }

/** The round-off of one operation, and how many standard deviations it may come to: covariances lose some hundred
 *  times as much. */
static double unit_of(const ks_smooth_plan *plan) { return single(plan) ? 0x1p-24 : 0x1p-53; }
static double most_of(const ks_smooth_plan *plan) { return single(plan) ? 5e-3 : 1e-8; }

void ks_chunks_rounding_carve(ks_carver *carver, ks_scan_method *m)
{
    const ks_smooth_plan *plan = m->plan;
    const size_t n = (size_t)plan->nx, T = (size_t)plan->T, workers = (size_t)plan->workers;
    m->rounding.moved = ks_carve(carver, (T + 1) * n, plan->kernels->number_bytes);
    m->rounding.variance = ks_carve(carver, T * n, plan->kernels->number_bytes);
    m->rounding.counted = ks_carve(carver, workers + (size_t)m->chunks, sizeof(ks_tally));
    m->rounding.wide = ks_carve(carver, n * n + 2 * n, sizeof(double));
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
static void sizes(const ks_scan_method *m, int64_t k, double *size)
{
    const int n = m->plan->nx;
    double *x = size + n, *C = x + n;
    const int array = m->form[k] == KS_FORM_ARRAY;
    m->plan->kernels->widen(n, ks_slot_of(m->kept_mean, k), x);
    m->plan->kernels->widen((int64_t)n * n, ks_slot_of(m->kept_C, k), C);
    for (int i = 0; i < n; ++i) {
        double variance = array ? 0 : C[i * n + i];
        for (int c = 0; array && c < n; ++c) variance += C[i * n + c] * C[i * n + c];
        size[i] = fmax(fabs(x[i]), ks_deviation(variance));
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

/** Round-off of step k is so many standard deviations. */
static void refuse(ks_scan_method *m, int64_t k, double value)
{
    ks_tally *tally = &m->worker[0].tally;
    tally->bad_step = k;
    tally->bad_row = 0;
    tally->bad_array = KS_ARRAY_ESTIMATE;
    tally->fault = KS_FAULT_ILL_CONDITIONED;
    m->run->info->value = value;
}

static int64_t earlier(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t first_fault(const ks_scan_method *m)
{
    int64_t first = m->plan->T;
    for (int w = 0; w < m->plan->workers; ++w)
        if (m->worker[w].tally.bad_step >= 0) first = earlier(first, m->worker[w].tally.bad_step);
    for (int64_t c = 0; c < m->chunks; ++c)
        if (m->chunk_tally[c].bad_step >= 0) first = earlier(first, m->chunk_tally[c].bad_step);
    return first;
}

/** Whether what it has come to is more than the estimates bear. The first such step is told. */
static void judge(ks_scan_method *m, ks_sink moved, ks_sink variance)
{
    const ks_smooth_plan *plan = m->plan;
    const double most = most_of(plan), unit = unit_of(plan);
    for (int64_t k = plan->T - 1; k >= 0; --k) {
        double worst = 0;
        sizes(m, k, m->rounding.wide);
        for (int i = 0; i < plan->nx; ++i) {
            const double sd = ks_deviation(get(plan, variance, k, i)), e = fabs(get(plan, moved, k, i));
            if (e <= most * sd + KS_ROUNDINGS * unit * m->rounding.wide[i]) continue;
            worst = e <= worst * sd ? worst : e / sd > 0 ? e / sd : (double)INFINITY;
        }
        if (worst > 0) refuse(m, k, worst);
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

int ks_chunks_rounding(ks_scan_method *m)
{
    const ks_smooth_plan *plan = m->plan;
    const int64_t n = plan->nx, row = n * (int64_t)plan->kernels->number_bytes;
    const ks_sink zeros = { m->run->zeros, 0, 0 }, variance = { m->rounding.variance, row, 0 };
    /* Of step k behind the row of u that it is the last to read. */
    const ks_sink u = { m->rounding.moved, row, 0 }, moved = { m->rounding.moved, row, -1 };
    const ks_scan_arrays kept = m->a;
    const ks_sink kept_mean = m->kept_mean;
    const long long combines = atomic_load(&m->combines);
    const int64_t rounds = m->run->info->rounds;
    for (int64_t k = 0; k < plan->T; ++k) {
        sizes(m, k, m->rounding.wide);
        for (int i = 0; i < n; ++i)
            put(plan, u, k, i, ks_random_sign((uint64_t)(k * n + i) + 1) * unit_of(plan) * m->rounding.wide[i]);
    }
    exchange_tallies(m, 0);
    m->run->total += 2 * plan->T / plan->workers;
    m->a.series.u = (ks_rows){ m->rounding.moved, row };
    m->a.series.u.base += m->a.series.shift * row;
    memset(&m->a.back, 0, sizeof m->a.back);
    m->a.back.smoothed_mean = moved;
    m->a.back.smoothed_var = variance;
    m->kept_mean = zeros;
    const int failed = ks_scan_rts(m);
    m->a = kept;
    m->kept_mean = kept_mean;
    atomic_store(&m->combines, combines);
    m->run->info->rounds = rounds;
    /* Rows that do not change are widened once. */
    for (int w = 0; w < plan->workers; ++w) memset(&m->worker[w].wide, 0, sizeof m->worker[w].wide);
    if (failed && atomic_load(&m->run->canceled)) return -1;
    const int64_t lost = failed ? first_fault(m) : plan->T;
    exchange_tallies(m, 1);
    if (lost < plan->T) refuse(m, lost, (double)INFINITY); /* it has come to numbers that are none */
    else judge(m, moved, variance);
    return failed || m->worker[0].tally.bad_step >= 0 ? -1 : 0;
}

int ks_scan_rounding(ks_scan_method *m)
{
    const int64_t T = m->plan->T, rounds = m->run->info->rounds;
    const long long combines = atomic_load(&m->combines);
    const ks_operator op = ks_smooth_operator(m);
    m->run->total += 2 * T / m->plan->workers;
    int rc = ks_scan_phase(m, 0, T, ks_rounded_step);
    if (!rc) rc = ks_scan_elements(m, m->plan->reverse, &op);
    atomic_store(&m->combines, combines);
    m->run->info->rounds = rounds;
    if (!rc) rc = ks_scan_phase(m, 0, T, ks_moved_step);
    for (int w = 0; w < m->plan->workers; ++w)
        if (m->worker[w].moves > m->run->info->value) m->run->info->value = m->worker[w].moves;
    return rc;
}
