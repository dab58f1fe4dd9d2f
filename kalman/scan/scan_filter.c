/* scan_filter.c -- the parallel Kalman filter, SF Alg. 5. */
#include <string.h>
#include "scan_method.h"

void ks_carve_worker(ks_carver *carver, const ks_smooth_plan *plan, ks_scan_worker *w)
{
    ks_carve_scan_worker(carver, plan->nx, plan->ny, plan->options.precision == KS_F32,
                         plan->aggregates->scratch_bytes(plan->nx, plan->ny), w);
    w->kernels = plan->aggregates;
}

int ks_scan_filter(ks_scan_method *m, double *loglik)
{
    const ks_operator op = ks_filter_operator(m);
    const int64_t T = m->plan->T;
    if (ks_scan_reruns(m->plan)) {
        if (ks_scan_elements(m, m->plan->forward, &op)) return -1;
        for (int64_t c = 0; c < m->chunks; ++c)
            *loglik += ks_evidence_loglik(&m->chunk_tally[c].evidence);
        return 0;
    }
    if (ks_scan_phase(m, 0, T, ks_elements_step)) return -1;
    if (ks_scan_elements(m, m->plan->forward, &op)) return -1;
    if (ks_scan_phase(m, 0, T, ks_filtered_step)) return -1;
    if (ks_scan_phase(m, 0, T, ks_evidence_step)) return -1;
    for (int64_t k = 0; k < T; ++k) *loglik += m->a.loglik_terms[k];
    return 0;
}
