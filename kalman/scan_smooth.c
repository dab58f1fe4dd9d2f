/* scan_smooth.c -- the parallel RTS and two-filter smoothers, Sarkka & Garcia-Fernandez, Alg. 6
 * and 7, from the parallel filter's estimates. */
#include "scan_method.h"

static void make_elements(ks_scan_method *m, ks_scan_worker *w, int64_t k0, int64_t k1)
{
    const ks_kernels *kernels = m->plan->kernels;
    const ks_sink to = ks_element_sink(m, kernels->smooth_element_bytes(m->plan->nx));
    kernels->smooth_elements(&m->series, k0, k1, m->filtered_mean, m->filtered_cov, to,
                             w->scratch, &w->tally);
}

static void extract(ks_scan_method *m, ks_scan_worker *w, int64_t k0, int64_t k1)
{
    const ks_kernels *kernels = m->plan->kernels;
    const ks_sink from = ks_element_sink(m, kernels->smooth_element_bytes(m->plan->nx));
    (void)w;
    kernels->smooth_extract(m->plan->nx, k0, k1, from, m->smoothed_mean, m->smoothed_cov);
}

int ks_scan_rts(ks_scan_method *m)
{
    const ks_operator op = ks_smooth_operator(m);
    if (ks_scan_reruns(m->plan)) return ks_scan_elements(m, m->plan->reverse, &op);
    if (ks_scan_phase(m, 0, m->plan->T, make_elements)) return -1;
    if (ks_scan_elements(m, m->plan->reverse, &op)) return -1;
    return ks_scan_phase(m, 0, m->plan->T, extract);
}

static void make_filter_elements(ks_scan_method *m, ks_scan_worker *w, int64_t k0, int64_t k1)
{
    const ks_kernels *kernels = m->plan->kernels;
    const ks_sink to = ks_element_sink(m, kernels->filter_element_bytes(m->plan->nx));
    (void)kernels->filter_elements(&m->series, k0, k1, to, w->scratch, &w->tally);
}

static void combine_filters(ks_scan_method *m, ks_scan_worker *w, int64_t k0, int64_t k1)
{
    const ks_kernels *kernels = m->plan->kernels;
    const ks_sink suffix = ks_element_sink(m, kernels->filter_element_bytes(m->plan->nx));
    kernels->two_filter(&m->series, k0, k1, m->filtered_mean, m->filtered_cov, suffix,
                        m->smoothed_mean, m->smoothed_cov, w->scratch);
}

int ks_scan_two_filter(ks_scan_method *m)
{
    const ks_operator op = ks_filter_operator(m);
    /* The forward scan has used up its elements; the reverse one makes its own, of which the
     * first only ever stands left of everything that is used. */
    m->plan->kernels->filter_neutral(m->plan->nx, m->elements);
    if (ks_scan_phase(m, 1, m->plan->T, make_filter_elements)) return -1;
    if (ks_scan_elements(m, m->plan->reverse, &op)) return -1;
    return ks_scan_phase(m, 0, m->plan->T, combine_filters);
}
