/* scan_filter.c -- the parallel Kalman filter, Sarkka & Garcia-Fernandez, Alg. 5. */
#include <string.h>
#include "scan_method.h"

static void make_elements(ks_scan_method *m, ks_scan_worker *w, int64_t k0, int64_t k1)
{
    const ks_kernels *kernels = m->plan->kernels;
    const ks_sink to = ks_element_sink(m, kernels->filter_element_bytes(m->plan->nx));
    (void)kernels->filter_elements(&m->series, k0, k1, to, w->scratch, &w->tally);
}

static void extract(ks_scan_method *m, ks_scan_worker *w, int64_t k0, int64_t k1)
{
    const ks_kernels *kernels = m->plan->kernels;
    const ks_sink from = ks_element_sink(m, kernels->filter_element_bytes(m->plan->nx));
    (void)w;
    kernels->filter_extract(m->plan->nx, k0, k1, from, m->filtered_mean, m->filtered_cov);
}

static ks_sink terms_sink(const ks_scan_method *m)
{
    ks_sink sink = { (char *)m->loglik_terms, sizeof(double), 0 };
    return m->loglik_terms ? sink : m->to.loglik_terms;
}

/** Predictions, innovations and log-likelihood terms: one filter step from each filtered estimate
 *  to the next, of which the update is not kept. */
static void evidence(ks_scan_method *m, ks_scan_worker *w, int64_t k0, int64_t k1)
{
    const ks_kernels *kernels = m->plan->kernels;
    const size_t n = (size_t)m->plan->nx, bytes = kernels->number_bytes;
    ks_forward_sinks to = m->to;
    memset(&to.filtered_mean, 0, sizeof to.filtered_mean);
    memset(&to.filtered_cov, 0, sizeof to.filtered_cov);
    memset(&to.filtered_var, 0, sizeof to.filtered_var);
    to.loglik_terms = terms_sink(m);
    for (int64_t k = k0; k < k1; ++k) {
        ks_state state = { w->state.mean, w->state.cov, KS_FORM_ORDINARY };
        if (k == 0) {
            kernels->start(&m->series, &state, w->scratch);
        } else {
            memcpy(state.x, ks_slot_of(m->filtered_mean, k - 1), n * bytes);
            memcpy(state.C, ks_slot_of(m->filtered_cov, k - 1), n * n * bytes);
        }
        if (kernels->filter(&m->series, k, k + 1, &state, &to, w->scratch, &w->tally)) return;
    }
}

/** What is asked for of the filtered estimates where they stand in workspace. */
static void write_filtered(ks_scan_method *m, ks_scan_worker *w, int64_t k0, int64_t k1)
{
    const ks_kernels *kernels = m->plan->kernels;
    const size_t row = (size_t)m->plan->nx * kernels->number_bytes;
    (void)w;
    if (m->to.filtered_var.base)
        kernels->diagonal(m->plan->nx, k0, k1, m->filtered_cov, m->to.filtered_var);
    if (!m->filtered.mean) return;
    for (int64_t k = k0; k < k1; ++k) {
        if (m->to.filtered_mean.base)
            memcpy(ks_slot_of(m->to.filtered_mean, k), ks_slot_of(m->filtered_mean, k), row);
        if (m->to.filtered_cov.base)
            memcpy(ks_slot_of(m->to.filtered_cov, k), ks_slot_of(m->filtered_cov, k),
                   row * (size_t)m->plan->nx);
    }
}

/** The first element: the filter's own first step. */
static int first_element(ks_scan_method *m)
{
    const ks_kernels *kernels = m->plan->kernels;
    const ks_forward_sinks nowhere = { 0 };
    ks_scan_worker *w = &m->worker[0];
    ks_state state = { w->state.mean, w->state.cov, KS_FORM_ORDINARY };
    ks_tally tally = { 0 };
    kernels->start(&m->series, &state, w->scratch);
    tally.bad_step = -1;
    if (kernels->filter(&m->series, 0, 1, &state, &nowhere, w->scratch, &tally)) {
        w->tally = tally;
        return -1;
    }
    kernels->square(m->plan->nx, &state, w->scratch);
    kernels->filter_element_first(m->plan->nx, state.x, state.C, m->elements);
    w->tally.elements += 1;
    return 0;
}

int ks_scan_filter(ks_scan_method *m, double *loglik)
{
    const ks_operator op = ks_filter_operator(m);
    const int64_t T = m->plan->T;
    if (ks_scan_reruns(m->plan)) {
        if (ks_scan_elements(m, m->plan->forward, &op)) return -1;
        for (int64_t c = 0; c < m->chunks; ++c) {
            *loglik += m->chunk_tally[c].loglik;
            m->chunk_tally[c].loglik = 0;
        }
        return ks_scan_phase(m, 0, T, write_filtered);
    }
    if (first_element(m)) return -1;
    if (ks_scan_phase(m, 1, T, make_elements)) return -1;
    if (ks_scan_elements(m, m->plan->forward, &op)) return -1;
    if (ks_scan_phase(m, 0, T, extract)) return -1;
    if (ks_scan_phase(m, 0, T, write_filtered)) return -1;
    if (ks_scan_phase(m, 0, T, evidence)) return -1;
    const ks_sink terms = terms_sink(m);
    for (int64_t k = 0; k < T; ++k) *loglik += *(const double *)ks_slot_of(terms, k);
    return 0;
}
