/* two_filter_again.c -- the way back of the two-filter smoother once more, step by step from the end in the array form,
 * if that of the chunks is suspect.
 *
 * Information as a sum of squares loses digits where observations tell much about one combination of states and little
 * about another that the filter does not know either. The information of many steps may also be a difference of larger
 * numbers. Data keep the digits of each combination (two_filter_array_text.h).
 *
 * A second way back runs along, with the round-off of one operation, of random signs, put into the data and into the
 * estimates that they meet. Where its result differs, digits are lost in this form, too. */
#include <math.h>
#include <string.h>
#include "scan_method.h"

enum { OWN, ROUNDED };

/** Memory of the two ways back. All of it is double. */
typedef struct going_back {
    ks_scan_worker worker;
    double *behind[2];           /* U (n, n) | z (n)                                    */
    ks_estimates state[2];       /* smoothed                                            */
    ks_estimates kept, before;   /* filtered estimates of step k and of step k - 1      */
    double *rounded;             /* covariance or root of `kept` with round-off         */
    double *lag, *size;
    unsigned char form;
    uint64_t sign;
} going_back;

static void carve(ks_carver *carver, const ks_smooth_plan *plan, going_back *g)
{
    const size_t n = (size_t)plan->nx;
    ks_estimates *const all[] = { &g->state[OWN], &g->state[ROUNDED], &g->kept, &g->before };
    memset(g, 0, sizeof *g);
    ks_carve_worker(carver, plan, &g->worker);
    for (int i = 0; i < 2; ++i) g->behind[i] = ks_carve(carver, n * (n + 1), sizeof(double));
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        all[i]->mean = ks_carve(carver, n, sizeof(double));
        all[i]->cov = ks_carve(carver, n * n, sizeof(double));
    }
    g->rounded = ks_carve(carver, n * n, sizeof(double));
    g->lag = ks_carve(carver, n * n, sizeof(double));
    g->size = ks_carve(carver, n, sizeof(double));
}

size_t ks_two_filter_again_bytes(const ks_smooth_plan *plan)
{
    ks_carver carver = ks_carver_at(NULL);
    going_back g;
    carve(&carver, plan, &g);
    return ks_carved_bytes(&carver);
}

/** Widen what the filter kept of step k. */
static ks_form widen_kept(const ks_scan_method *m, int64_t k, ks_estimates to)
{
    const int64_t n = m->plan->nx;
    m->plan->kernels->widen(n, ks_slot_of(m->kept_mean, k), to.mean);
    m->plan->kernels->widen(n * n, ks_slot_of(m->kept_C, k), to.cov);
    return (ks_form)m->form[k];
}

static double norm(int n, const double *row)
{
    double sum = 0;
    for (int c = 0; c < n; ++c) sum += row[c] * row[c];
    return sqrt(sum);
}

/** Return one round-off of `size`. */
static double round_off(going_back *g, double size) { return ks_random_sign(++g->sign) * ks_unit_roundoff(0) * size; }

/** The data of step k are about its filtered mean, but its element rounds that mean differently. Put the difference
 *  into z. */
static void round_mean(going_back *g, const ks_series *s, int64_t k)
{
    const int n = s->nx;
    const double *F = (const double *)ks_row(s->F, k - s->shift), *u = (const double *)ks_row(s->u, k - s->shift);
    const double *x = g->kept.mean, *U = g->behind[ROUNDED];
    double *z = g->behind[ROUNDED] + n * n;
    for (int i = 0; i < n; ++i) {
        const double off = round_off(g, fmax(fabs(x[i]), ks_prediction_size(n, F, u, g->before.mean, i)));
        for (int j = 0; j < n; ++j) z[j] += U[i * n + j] * off;
    }
}

/** Bound the size of the rows of U after step k, before they are rotated. */
static void measure_data(going_back *g, const ks_series *s, int64_t k)
{
    const int n = s->nx;
    const double *F = (const double *)ks_row(s->F, k - s->shift), *U = g->behind[ROUNDED];
    for (int i = 0; i < n; ++i) g->size[i] = 0;
    for (int l = 0; l < n; ++l) {
        const double size = norm(n, U + l * n);
        for (int i = 0; i < n; ++i) g->size[i] += fabs(F[l * n + i]) * size;
    }
}

static void round_data(going_back *g, int n)
{
    double *U = g->behind[ROUNDED], *z = U + n * n;
    for (int i = 0; i < n; ++i) {
        const double size = fmax(g->size[i], norm(n, U + i * n));
        for (int j = 0; j < n; ++j) U[i * n + j] += round_off(g, size);
    }
    const double size = norm(n, z);
    for (int j = 0; j < n; ++j) z[j] += round_off(g, size);
}

/** Take one way back through step k and make its estimate, `state`. If `before` is given, go on to the data of
 *  step k - 1. */
static int step_back(const ks_scan_method *m, going_back *g, int which, const ks_series *s, int64_t k,
                     const ks_state *before, ks_state *state)
{
    const ks_forward_sinks kept = { .kept_mean = { g->kept.mean, 0, 0 },
                                    .kept_C = { which == ROUNDED ? (char *)g->rounded : (char *)g->kept.cov, 0, 0 },
                                    .form = &g->form, .form_first = k, .narrowed = m->a.single };
    ks_backward_sinks to = { 0 };
    if (which == OWN && m->a.back.lag_one_cov.base) to.lag_one_cov.base = (char *)g->lag;
    return m->plan->aggregates->two_filter_back_array(s, k, k + 1, before, g->behind[which], state, &kept, &to,
                                                      g->worker.scratch, &g->worker.tally);
}

/** Take both ways back through step k. */
static int both_back(ks_scan_method *m, going_back *g, int64_t k)
{
    const int n = m->plan->nx;
    const ks_series *s = ks_wide_series(&m->a, &g->worker, k);
    ks_state state[2], at = { g->before.mean, g->before.cov, KS_FORM_ORDINARY, KS_NOT_STEADY };
    for (int i = 0; i < 2; ++i)
        state[i] = (ks_state){ g->state[i].mean, g->state[i].cov, KS_FORM_ORDINARY, KS_NOT_STEADY };
    g->form = (unsigned char)widen_kept(m, k, g->kept);
    if (k > 0) at.form = widen_kept(m, k - 1, g->before);
    g->sign = ks_round_estimate(n, g->form == KS_FORM_ARRAY, 0, NULL, NULL, ks_unit_roundoff(0), g->kept.cov, g->rounded,
                                g->size, g->sign);
    if (step_back(m, g, ROUNDED, s, k, NULL, &state[ROUNDED])) return -1;
    if (k > 0) {
        round_mean(g, s, k);
        measure_data(g, s, k);
        /* The estimate of this call is discarded; that of the other way overwrites it next. */
        if (step_back(m, g, ROUNDED, s, k, &at, &state[OWN])) return -1;
        round_data(g, n);
    }
    return step_back(m, g, OWN, s, k, k > 0 ? &at : NULL, &state[OWN]);
}

static int put_out(ks_scan_method *m, going_back *g, int64_t k)
{
    const int64_t n = m->plan->nx;
    const ks_estimates rows = { (double *)g->state[OWN].mean - k * n, (double *)g->state[OWN].cov - k * n * n };
    if (!ks_fits(&m->a, &g->worker, rows, k)) return -1;
    ks_put(&m->a, m->a.back.smoothed_mean, k, n, g->state[OWN].mean);
    ks_put_cov(&m->a, m->a.back.smoothed_cov, m->a.back.smoothed_var, k, g->state[OWN].cov);
    if (k > 0) ks_put_square(&m->a, m->a.back.lag_one_cov, k, n, g->lag);
    return 0;
}

/** Return by how much the second way differs from the first, in standard deviations or shares. */
static double differs(const ks_scan_method *m, going_back *g)
{
    const int n = m->plan->nx;
    ks_state filtered = { g->kept.mean, g->kept.cov, (ks_form)g->form, KS_NOT_STEADY };
    m->plan->aggregates->square(n, &filtered, g->worker.scratch);
    return ks_estimate_moves(n, g->state[OWN].mean, g->state[OWN].cov, g->kept.cov, g->state[ROUNDED].mean,
                             g->state[ROUNDED].cov, g->size);
}

int ks_two_filter_again(ks_scan_method *m)
{
    const ks_smooth_plan *plan = m->plan;
    const size_t n = (size_t)plan->nx;
    const double most = KS_CHUNKS_DIFFER_MOST(m->a.single);
    ks_carver carver = ks_carver_at(m->back_again);
    going_back g;
    int rc = 0;
    carve(&carver, plan, &g);
    g.worker.tally = ks_tally_start();
    for (int i = 0; i < 2; ++i) memset(g.behind[i], 0, n * (n + 1) * sizeof(double));
    for (int64_t k = plan->T - 1; k >= 0 && !rc; --k) {
        if (both_back(m, &g, k) || put_out(m, &g, k)) {
            m->worker[0].tally = g.worker.tally;
            rc = -1;
        }
        const double value = rc ? 0 : differs(m, &g);
        if (!(value <= most)) rc = ks_scan_refuse(m, k, value);
        if (!rc && k % KS_BLOCK == 0 && ks_scan_progress(m, 0)) rc = -1;
    }
    /* The smoothed prior is made from this estimate. */
    memcpy(m->start.mean, g.state[OWN].mean, n * sizeof(double));
    memcpy(m->start.cov, g.state[OWN].cov, n * n * sizeof(double));
    ks_carve_end(&carver);
    return rc;
}
