/* scan_smooth.c -- the parallel RTS and two-filter smoothers, SF Alg. 6 and 7, from the estimates of the parallel
 * filter. */
#include <math.h>
#include <string.h>
#include "scan_method.h"

int ks_scan_rts(ks_scan_method *m)
{
    const ks_operator op = ks_smooth_operator(m);
    if (ks_scan_reruns(m->plan)) return ks_scan_elements(m, m->plan->reverse, &op);
    if (ks_scan_phase(m, 0, m->plan->T, ks_smoothing_step)) return -1;
    if (ks_scan_elements(m, m->plan->reverse, &op)) return -1;
    return ks_scan_phase(m, 0, m->plan->T, ks_smoothed_step);
}

int ks_scan_two_filter(ks_scan_method *m)
{
    const ks_operator op = ks_filter_operator(m);
    if (ks_scan_reruns(m->plan)) return ks_two_filter_chunks(m);
    /* The forward scan has overwritten its elements; the reverse one makes its own. */
    if (ks_scan_phase(m, 0, m->plan->T, ks_suffixes_step)) return -1;
    if (ks_scan_elements(m, m->plan->reverse, &op)) return -1;
    return ks_scan_phase(m, 0, m->plan->T, ks_two_filter_step);
}

/* Whether the smoothing gain E that has made lag = Cov(x[k], x[k-1] | y) also makes the smoothed covariance Ps of step
 * k - 1 from the filtered one, P: Ps = P - E (F P - lag). That of a scan may have lost the digits of which the gain is
 * made, although Ps has its own from elsewhere. ET = Eᵀ. */
static int lag_one_fits(int n, const double *F, const double *P, const double *ET, const double *lag, const double *Ps)
{
    for (int i = 0; i < n; ++i) {
        double sum = P[i * n + i];
        const double filtered = sum, smoothed = Ps[i * n + i];
        for (int j = 0; j < n; ++j) {
            double predicted = -lag[j * n + i];
            for (int l = 0; l < n; ++l) predicted += F[j * n + l] * P[l * n + i];
            sum -= ET[j * n + i] * predicted;
        }
        if (!(fabs(sum - smoothed) <= 0x1p-13 * fabs(smoothed) + 64 * n * 0x1p-53 * filtered)) return 0;
    }
    return 1;
}

/* ks_lag_one_step(), and whether its result can be right. The kernels leave the gain in the scratch. */
static void lag_one_step(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k)
{
    const int64_t n = a->series.nx;
    ks_lag_one_step(a, w, k);
    if (k == 0 || w->tally.bad_step >= 0) return;
    const ks_series *s = ks_wide_series(a, w, k);
    if (lag_one_fits((int)n, (const double *)ks_row(s->F, k - s->shift),
                     (const double *)ks_slot_of(ks_wide_cov(a, a->filtered), k - 1), (const double *)w->scratch,
                     (const double *)w->results.cov, (const double *)ks_slot_of(ks_wide_cov(a, a->smoothed), k - 1)))
        return;
    w->tally.bad_step = k;
    w->tally.bad_array = KS_ARRAY_ESTIMATE;
    w->tally.fault = KS_FAULT_ILL_CONDITIONED;
}

int ks_scan_lag_one(ks_scan_method *m)
{
    const ks_smooth_plan *plan = m->plan;
    if (m->a.back.lag_one_cov.base && !ks_scan_reruns(plan) &&
        ks_scan_phase(m, 0, plan->T, lag_one_step))
        return -1;
    if (ks_makes_any(plan, KS_OUT_LAG_ONE_COV | KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV))
        ks_smoothed_start(&m->a, &m->worker[0],
                          ks_scan_reruns(plan) ? m->start : m->a.smoothed);
    return 0;
}
