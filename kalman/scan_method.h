/* scan_method.h -- what the parallel filter and the parallel smoothers share. */
#ifndef KS_SCAN_METHOD_H
#define KS_SCAN_METHOD_H

#include "smooth_plan.h"

/** A worker's own memory. */
typedef struct ks_scan_worker {
    void *scratch;        /* of the kernels, in the plan's precision */
    ks_estimates state;   /* one                                     */
    ks_tally tally;
} ks_scan_worker;

/** One series on its way through the scans. */
typedef struct ks_scan_method {
    ks_run *run;
    const ks_smooth_plan *plan;
    ks_series series;
    ks_forward_sinks to;             /* the filter's outputs                                  */
    ks_backward_sinks back;          /* the smoother's                                        */
    ks_sink filtered_mean, filtered_cov, smoothed_mean, smoothed_cov;
    ks_estimates filtered, smoothed; /* where these stand when the outputs are not asked for  */
    double *loglik_terms;            /* T, where that output is not asked for                 */
    void *elements;                  /* one for each step, or an aggregate for each chunk     */
    void *scan_memory;
    ks_scan_worker *worker;
    unsigned char *form;             /* chunks: the form of each filtered step, all ordinary  */
    ks_tally *chunk_tally;           /* chunks: one for each                                  */
    int64_t chunks, chunk_size;
    atomic_llong combines;
} ks_scan_method;

typedef void (*ks_scan_phase_function)(ks_scan_method *m, ks_scan_worker *w, int64_t k0,
                                       int64_t k1);

/** Whether the plan's scans re-run chunks rather than keep an element for each step. */
int ks_scan_reruns(const ks_smooth_plan *plan);

/** Run `phase` on steps k0 .. k1 - 1, spread over the workers. Returns 0, or -1 where a worker has
 *  met a fault or the run is canceled. */
int ks_scan_phase(ks_scan_method *m, int64_t k0, int64_t k1, ks_scan_phase_function phase);

/** Run a scan over m->elements. Returns 0, or -1. */
int ks_scan_elements(ks_scan_method *m, const ks_scan_plan *scan, const ks_operator *op);

/** Row k of m->elements for elements of so many bytes. */
ks_sink ks_element_sink(const ks_scan_method *m, size_t element_bytes);

/** The operators of filtering and smoothing elements on m->elements; with absorb and rerun where
 *  ks_scan_reruns(). */
ks_operator ks_filter_operator(ks_scan_method *m);
ks_operator ks_smooth_operator(ks_scan_method *m);

/** Absorb and rerun of the filter and the smoother (scan_chunks.c), for those operators. */
int ks_filter_absorb(void *user, void *scratch, void *dst, int64_t first, int64_t count);
int ks_filter_rerun(void *user, void *scratch, const void *carry, int64_t first, int64_t count);
int ks_smooth_absorb(void *user, void *scratch, void *dst, int64_t first, int64_t count);
int ks_smooth_rerun(void *user, void *scratch, const void *carry, int64_t first, int64_t count);
size_t ks_chunk_scratch(const ks_smooth_plan *plan);

/** Filtered estimates of all steps and all that the filter puts out; the log-likelihood. */
int ks_scan_filter(ks_scan_method *m, double *loglik);
/** Smoothed estimates of all steps by the paper's Alg. 6 and Alg. 7. */
int ks_scan_rts(ks_scan_method *m);
int ks_scan_two_filter(ks_scan_method *m);

#endif
