/* chunks_rounding.c -- test whether the parallel RTS smoother in chunks multiplies round-off beyond what the estimates
 * bear.
 *
 * The filter keeps a square root where a covariance would lose digits, so the gains are good. What remains is the
 * round-off of the estimates on the way back. A suspect series is smoothed once more, from the end to the beginning,
 * and each estimate is disturbed on its way by the round-off of one operation, with random signs. Where the result
 * differs from that of the chunks, digits are lost. */
#include <math.h>
#include <string.h>
#include "scan_method.h"

static int single(const ks_smooth_plan *plan) { return plan->kernels->number_bytes == sizeof(float); }

/** Return by how many standard deviations the estimates may differ. */
static double most_of(const ks_smooth_plan *plan) { return KS_WAY_BACK_MOVES_MOST(single(plan)); }

void ks_chunks_rounding_carve(ks_carver *carver, ks_scan_method *m)
{
    const ks_smooth_plan *plan = m->plan;
    const size_t n = (size_t)plan->nx, T = (size_t)plan->T, number = plan->kernels->number_bytes;
    const int64_t row = (int64_t)(n * number);
    ks_chunks_rounding_memory *r = &m->rounding;
    r->mean = (ks_sink){ ks_carve(carver, T * n, number), row, 0 };
    r->variance = (ks_sink){ ks_carve(carver, T * n, number), row, 0 };
    if (!ks_makes_any(plan, KS_OUT_SMOOTHED_MEAN))
        r->own_mean = (ks_sink){ ks_carve(carver, T * n, number), row, 0 };
    if (!ks_makes_any(plan, KS_OUT_SMOOTHED_COV | KS_OUT_SMOOTHED_VAR))
        r->own_variance = (ks_sink){ ks_carve(carver, T * n, number), row, 0 };
    r->state = ks_carve_estimates(carver, plan, 1);
    r->root = ks_carve_estimates(carver, plan, 1);
    r->scratch = ks_carve(carver, 1, plan->kernels->scratch_bytes(plan->nx, plan->ny));
    for (int i = 0; i < 2; ++i) {
        r->x[i] = ks_carve(carver, n, sizeof(double));
        r->C[i] = ks_carve(carver, n * n, sizeof(double));
    }
}

/** Widen what the filter kept of step k: its mean, or its covariance or root. */
static void kept_mean(const ks_scan_method *m, int64_t k, double *x)
{
    m->plan->kernels->widen(m->plan->nx, ks_slot_of(m->kept_mean, k), x);
}

static void kept_C(const ks_scan_method *m, int64_t k, double *C)
{
    m->plan->kernels->widen((int64_t)m->plan->nx * m->plan->nx, ks_slot_of(m->kept_C, k), C);
}

static double variance_of(int n, const double *C, int form, int i)
{
    double sum = 0;
    if (form != KS_FORM_ARRAY) return C[i * n + i];
    for (int c = 0; c < n; ++c) sum += C[i * n + c] * C[i * n + c];
    return sum;
}

/** Return whether the step back from step k treats a pivot of its filtered covariance as round-off, that is as zero
 *  (ks_pivoted_factor()). */
static int drops_pivot(const ks_scan_method *m, int64_t k)
{
    const ks_smooth_plan *plan = m->plan;
    const int64_t n = plan->nx;
    const ks_chunks_rounding_memory *r = &m->rounding;
    ks_state root = { r->root.mean, r->root.cov, KS_FORM_ORDINARY, KS_NOT_STEADY };
    double *S = r->C[1];
    if (m->form[k] != KS_FORM_ORDINARY) return 0;
    memcpy(root.C, ks_slot_of(m->kept_C, k), (size_t)(n * n) * plan->kernels->number_bytes);
    plan->kernels->root(plan->nx, &root, r->scratch);
    plan->kernels->widen(n * n, root.C, S);
    int kept = 0;
    for (int64_t i = 0; i < n; ++i) kept |= S[i * n + n - 1] != 0;
    return !kept;
}

/** Replace C, a covariance or a root, by the root of a covariance that also has what may have been dropped as round-off
 *  of the filtered covariance of step k. `unit` is the unit round-off of its numbers. */
static void add_dropped(const ks_scan_method *m, int64_t k, double unit, double *C, ks_form *form)
{
    const int n = m->plan->nx;
    double *P = m->rounding.C[1];
    ks_state state = { m->rounding.x[1], C, *form, KS_NOT_STEADY };
    m->plan->aggregates->square(n, &state, m->worker[0].scratch);
    kept_C(m, k, P);
    for (int i = 0; i < n; ++i) C[i * n + i] += 8 * n * unit * variance_of(n, P, m->form[k], i);
    m->plan->aggregates->root(n, &state, m->worker[0].scratch);
    *form = state.form;
}

/** Put round-off into the estimate of step k before it goes on to step k - 1. It is relative to the mean and the terms
 *  of its prediction; to the standard deviations of the filtered covariance, if an ordinary step has subtracted from
 *  it; and to the rows of a root. */
static void disturb(const ks_scan_method *m, int64_t k, int ordinary, ks_state *state)
{
    const ks_kernels *kernels = m->plan->kernels;
    const int n = m->plan->nx;
    const double unit = ks_unit_roundoff(single(m->plan));
    const ks_series *s = ks_wide_series(&m->a, &m->worker[0], k);
    const double *F = (const double *)ks_row(s->F, k - s->shift), *u = (const double *)ks_row(s->u, k - s->shift);
    double *x = m->rounding.x[0], *before = m->rounding.x[1], *C = m->rounding.C[0], *P = m->rounding.C[1];
    uint64_t sign = (uint64_t)(k * n * (n + 1));
    const int array = state->form == KS_FORM_ARRAY;
    kernels->widen(n, state->x, x);
    kernels->widen((int64_t)n * n, state->C, C);
    kept_mean(m, k - 1, before);
    kept_C(m, k, P);
    double *sd = m->rounding.x[1];
    for (int i = 0; i < n; ++i) {
        const double size = fmax(fabs(x[i]), ks_prediction_size(n, F, u, before, i));
        x[i] += ks_random_sign(++sign) * unit * fmax(size, ks_deviation(variance_of(n, C, (int)state->form, i)));
    }
    for (int i = 0; i < n; ++i)
        sd[i] = ks_deviation(fmax(variance_of(n, C, (int)state->form, i), ordinary ? P[i * n + i] : 0));
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < (array ? n : i + 1); ++j) {
            C[i * n + j] += ks_random_sign(++sign) * unit * sd[i] * (array ? 1 : sd[j]);
            if (!array) C[j * n + i] = C[i * n + j];
        }
    if (drops_pivot(m, k) && !drops_pivot(m, k - 1)) add_dropped(m, k, unit, C, &state->form);
    /* The covariance with which a chunk of the filter begins came from an aggregate. */
    else if (k % m->chunk_size == 0) add_dropped(m, k, ks_unit_roundoff(0), C, &state->form);
    kernels->narrow(n, x, state->x);
    kernels->narrow((int64_t)n * n, C, state->C);
}

static double get(const ks_smooth_plan *plan, ks_sink from, int64_t k, int64_t i)
{
    return single(plan) ? (double)((const float *)ks_slot_of(from, k))[i] : ((const double *)ks_slot_of(from, k))[i];
}

static void put(const ks_smooth_plan *plan, ks_sink to, int64_t k, int64_t i, double value)
{
    if (single(plan)) ((float *)ks_slot_of(to, k))[i] = (float)value;
    else ((double *)ks_slot_of(to, k))[i] = value;
}

/** A smoothed variance within the round-off of the filtered one belongs to a state that is known exactly. Replace it by
 *  the bound of that round-off, with a minus sign as the mark. */
static void mark_known(const ks_scan_method *m, int64_t k)
{
    const int n = m->plan->nx;
    double *P = m->rounding.C[1];
    kept_C(m, k, P);
    for (int i = 0; i < n; ++i) {
        const double least = KS_ROUNDINGS * ks_unit_roundoff(single(m->plan)) * variance_of(n, P, m->form[k], i);
        if (get(m->plan, m->rounding.variance, k, i) <= least) put(m->plan, m->rounding.variance, k, i, -least);
    }
}

int ks_chunks_disturbed(ks_scan_method *m)
{
    const ks_smooth_plan *plan = m->plan;
    ks_state state = { m->rounding.state.mean, m->rounding.state.cov, KS_FORM_ORDINARY, KS_NOT_STEADY };
    ks_tally tally = ks_tally_start();
    ks_forward_sinks kept = { 0 };
    ks_backward_sinks to = { 0 };
    kept.kept_mean = m->kept_mean;
    kept.kept_C = m->kept_C;
    kept.form = m->form;
    to.smoothed_mean = m->rounding.mean;
    to.smoothed_var = m->rounding.variance;
    for (int64_t k = plan->T - 1; k >= 0; --k) {
        const int64_t before = tally.ordinary;
        if (plan->kernels->smooth(&m->a.series, k, k + 1, &state, &kept, &to, m->rounding.scratch, &tally))
            return ks_scan_refuse(m, k, (double)INFINITY);
        mark_known(m, k);
        if (k > 0) disturb(m, k, tally.ordinary > before, &state);
        if (k % KS_BLOCK == 0 && ks_scan_progress(m, 0)) return -1;
    }
    /* ks_chunks_rounding() reads the smoothed estimates of the chunks, so they need a place even if they are no
     * outputs. */
    if (m->rounding.own_mean.base) m->a.back.smoothed_mean = m->rounding.own_mean;
    if (m->rounding.own_variance.base) m->a.back.smoothed_var = m->rounding.own_variance;
    return 0;
}

/** Return the smoothed variance of entry i from the outputs. */
static double variance_out(const ks_scan_method *m, int64_t k, int64_t i)
{
    const ks_backward_sinks *back = &m->a.back;
    return back->smoothed_var.base ? get(m->plan, back->smoothed_var, k, i)
                                   : get(m->plan, back->smoothed_cov, k, i * m->plan->nx + i);
}

/** Return by how many standard deviations the means of the two ways differ at entry i of step k, or by what share the
 *  variances do, whichever is larger. */
static double difference(const ks_scan_method *m, int64_t k, int64_t i)
{
    const ks_smooth_plan *plan = m->plan;
    const double x = get(plan, m->a.back.smoothed_mean, k, i), variance = variance_out(m, k, i);
    const double marked = get(plan, m->rounding.variance, k, i), own = fabs(marked), sd = ks_deviation(own);
    const double rounding = KS_ROUNDINGS * ks_unit_roundoff(single(plan)) * fabs(x);
    const double of_mean = fabs(get(plan, m->rounding.mean, k, i) - x) - rounding;
    const double of_variance = marked > 0 ? fabs(variance - marked) : variance - own;
    const double mean_share = of_mean <= 0 ? 0 : of_mean / sd;
    const double share = of_variance <= 0 ? 0 : of_variance / own;
    return mean_share <= share ? share : mean_share;
}

int ks_chunks_rounding(ks_scan_method *m)
{
    const double most = most_of(m->plan);
    for (int64_t k = 0; k < m->plan->T; ++k) {
        double worst = 0;
        for (int64_t i = 0; i < m->plan->nx; ++i) {
            const double moves = difference(m, k, i);
            if (!(moves <= worst)) worst = moves;
        }
        if (!(worst <= most)) return ks_scan_refuse(m, k, worst);
    }
    return 0;
}
