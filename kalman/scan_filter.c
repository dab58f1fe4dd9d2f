/* scan_filter.c -- the parallel Kalman filter, Sarkka & Garcia-Fernandez, Alg. 5. */
#include <string.h>
#include "scan_method.h"

static ks_state own_state(const ks_scan_worker *w)
{
    ks_state state = { w->state.mean, w->state.cov, KS_FORM_ORDINARY };
    return state;
}

/** The first element is the filter's own first step. */
static int first_element(ks_scan_method *m, ks_scan_worker *w, void *element)
{
    const ks_kernels *kernels = m->plan->aggregates;
    const ks_series *s = ks_wide_series(m, w, 0);
    const ks_forward_sinks nowhere = { 0 };
    ks_state state = own_state(w);
    ks_tally tally = ks_tally_start();
    kernels->start(s, &state, w->scratch);
    if (kernels->filter(s, 0, 1, &state, &nowhere, w->scratch, &tally)) {
        w->tally = tally;
        return -1;
    }
    kernels->square(m->plan->nx, &state, w->scratch);
    kernels->filter_element_first(m->plan->nx, state.x, state.C, element);
    w->tally.elements += 1;
    return 0;
}

int ks_make_filter_element(ks_scan_method *m, ks_scan_worker *w, int64_t k, void *element)
{
    const ks_sink to = { element, 0, k };
    if (k == 0) return first_element(m, w, element);
    return m->plan->aggregates->filter_elements(ks_wide_series(m, w, k), k, k + 1, to, w->scratch,
                                                &w->tally);
}

static void make_elements(ks_scan_method *m, ks_scan_worker *w, int64_t k0, int64_t k1)
{
    const ks_sink to = ks_element_sink(m, m->plan->aggregates->filter_element_bytes(m->plan->nx));
    for (int64_t k = k0; k < k1; ++k)
        if (ks_make_filter_element(m, w, k, ks_slot_of(to, k))) return;
}

static void extract(ks_scan_method *m, ks_scan_worker *w, int64_t k0, int64_t k1)
{
    const ks_kernels *kernels = m->plan->aggregates;
    const ks_sink from = ks_element_sink(m, kernels->filter_element_bytes(m->plan->nx));
    const ks_sink mean = ks_wide_mean(m, m->filtered, 0), cov = ks_wide_cov(m, m->filtered, 0);
    for (int64_t k = k0; k < k1; ++k) {
        kernels->filter_extract(m->plan->nx, k, k + 1, from, mean, cov);
        if (!ks_fits(m, w, m->filtered, k)) return;
        ks_put(m, m->to.filtered_mean, k, m->plan->nx, ks_slot_of(mean, k));
        ks_put_cov(m, m->to.filtered_cov, m->to.filtered_var, k, ks_slot_of(cov, k));
    }
}

static ks_sink row_of(double *memory, ks_sink wanted)
{
    const ks_sink row = { (char *)memory, 0, 0 }, none = { NULL, 0, 0 };
    return wanted.base ? row : none;
}

/** Predictions, innovations and log-likelihood terms: one filter step from each filtered estimate
 *  to the next, of which the update is not kept. */
static void evidence(ks_scan_method *m, ks_scan_worker *w, int64_t k0, int64_t k1)
{
    const ks_kernels *kernels = m->plan->aggregates;
    const int64_t n = m->plan->nx, ny = m->plan->ny;
    const ks_forward_sinks *out = &m->to;
    const ks_sink predicted_cov = out->predicted_cov.base ? out->predicted_cov : out->predicted_var;
    ks_forward_sinks to = { 0 };
    to.predicted_mean = row_of(w->outputs[0], out->predicted_mean);
    to.predicted_cov = row_of(w->outputs[1], predicted_cov);
    to.innovation = row_of(w->outputs[2], out->innovation);
    to.innovation_cov = row_of(w->outputs[3], out->innovation_cov);
    to.innovation_std = row_of(w->outputs[4], out->innovation_std);
    to.loglik_terms.base = (char *)m->loglik_terms;
    to.loglik_terms.stride = sizeof(double);
    for (int64_t k = k0; k < k1; ++k) {
        const ks_series *s = ks_wide_series(m, w, k);
        ks_state state = own_state(w);
        if (k == 0) {
            kernels->start(s, &state, w->scratch);
        } else {
            memcpy(state.x, (double *)m->filtered.mean + (k - 1) * n, (size_t)n * sizeof(double));
            memcpy(state.C, (double *)m->filtered.cov + (k - 1) * n * n,
                   (size_t)(n * n) * sizeof(double));
        }
        if (kernels->filter(s, k, k + 1, &state, &to, w->scratch, &w->tally)) return;
        ks_put(m, out->predicted_mean, k, n, w->outputs[0]);
        if (to.predicted_cov.base)
            ks_put_cov(m, out->predicted_cov, out->predicted_var, k, w->outputs[1]);
        ks_put(m, out->innovation, k, ny, w->outputs[2]);
        ks_put(m, out->innovation_cov, k, ny * ny, w->outputs[3]);
        ks_put(m, out->innovation_std, k, ny, w->outputs[4]);
        if (out->loglik_terms.base)
            *(double *)ks_slot_of(out->loglik_terms, k) = m->loglik_terms[k];
    }
}

int ks_scan_filter(ks_scan_method *m, double *loglik)
{
    const ks_operator op = ks_filter_operator(m);
    const int64_t T = m->plan->T;
    if (ks_scan_reruns(m->plan)) {
        if (ks_scan_elements(m, m->plan->forward, &op)) return -1;
        for (int64_t c = 0; c < m->chunks; ++c) *loglik += ks_evidence_loglik(&m->chunk_tally[c].evidence);
        return 0;
    }
    if (ks_scan_phase(m, 0, T, make_elements)) return -1;
    if (ks_scan_elements(m, m->plan->forward, &op)) return -1;
    if (ks_scan_phase(m, 0, T, extract)) return -1;
    if (ks_scan_phase(m, 0, T, evidence)) return -1;
    for (int64_t k = 0; k < T; ++k) *loglik += m->loglik_terms[k];
    return 0;
}
