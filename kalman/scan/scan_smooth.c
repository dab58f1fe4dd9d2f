/* scan_smooth.c -- the parallel RTS and two-filter smoothers, SF Alg. 6 and 7, from the estimates of the parallel
 * filter. */
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

int ks_scan_lag_one(ks_scan_method *m)
{
    const ks_smooth_plan *plan = m->plan;
    if (m->a.back.lag_one_cov.base && !ks_scan_reruns(plan) &&
        ks_scan_phase(m, 0, plan->T, ks_lag_one_step))
        return -1;
    if (ks_makes_any(plan, KS_OUT_LAG_ONE_COV | KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV))
        ks_smoothed_start(&m->a, &m->worker[0],
                          ks_scan_reruns(plan) ? m->start : m->a.smoothed);
    return 0;
}
