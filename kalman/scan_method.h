/* scan_method.h -- what the parallel filter and the parallel smoothers share.
 *
 * Elements, and the estimates between one phase and the next, are kept in double whatever the
 * plan's precision: an element holds covariances, and those of a vague prior or a long gap do not
 * fit 24 bits. For single precision the rows of the model are widened step by step, and results
 * are narrowed as they are put out. */
#ifndef KS_SCAN_METHOD_H
#define KS_SCAN_METHOD_H

#include "smooth_plan.h"

/** A worker's own memory. */
typedef struct ks_scan_worker {
    void *scratch;               /* of the kernels in double                                */
    ks_estimates state, results; /* one estimate each, double                               */
    double *rows[9];             /* single precision: F Q u H R d y m0 P0 of a step, double */
    double *outputs[6];          /* single precision: results of one step, double           */
    ks_series wide;              /* the series of `rows`                                    */
    ks_tally tally;
} ks_scan_worker;

/** One series on its way through the scans. */
typedef struct ks_scan_method {
    ks_run *run;
    const ks_smooth_plan *plan;
    ks_series series;
    ks_forward_sinks to;             /* the filter's outputs                                 */
    ks_backward_sinks back;          /* the smoother's                                       */
    ks_estimates filtered, smoothed; /* T estimates in double                                */
    double *loglik_terms;            /* T                                                    */
    void *elements;                  /* one for each step, or an aggregate for each chunk    */
    void *scan_memory;
    ks_scan_worker *worker;
    ks_sink kept_mean, kept_C;       /* chunks: filtered estimates in the plan's precision   */
    unsigned char *form;             /* chunks: the form of each                             */
    ks_estimates kept;               /* chunks: where they stand                             */
    ks_estimates start;              /* chunks: x[0] smoothed, one, double                   */
    ks_tally *chunk_tally;           /* chunks: one for each                                 */
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

/** A series in double of which row k may be read (of F, Q, u; H, R, d, y; the prior); valid until
 *  the worker's next call. */
const ks_series *ks_wide_series(const ks_scan_method *m, ks_scan_worker *w, int64_t k);

/** True where the estimate of step k is finite in the plan's precision; else w->tally has the
 *  fault. */
int ks_fits(const ks_scan_method *m, ks_scan_worker *w, ks_estimates estimates, int64_t k);

/** Row k of an output of `numbers` numbers <- from; nothing where the output is not wanted. */
void ks_put(const ks_scan_method *m, ks_sink to, int64_t k, int64_t numbers, const double *from);
/** The same for an (nx, nx) covariance and its diagonal. */
void ks_put_cov(const ks_scan_method *m, ks_sink full, ks_sink diagonal, int64_t k,
                const double *cov);

/** Estimates in double as rows: one for each step from `first`. */
ks_sink ks_wide_mean(const ks_scan_method *m, ks_estimates estimates, int64_t first);
ks_sink ks_wide_cov(const ks_scan_method *m, ks_estimates estimates, int64_t first);
ks_sink ks_element_sink(const ks_scan_method *m, size_t element_bytes);

/** Workspace of a worker. */
void ks_carve_scan_worker(ks_carver *carver, const ks_smooth_plan *plan, ks_scan_worker *w);

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

/** The element of step k, k = 0 included, to `element`. Returns 0, or -1 with w->tally's fault. */
int ks_make_filter_element(ks_scan_method *m, ks_scan_worker *w, int64_t k, void *element);

/** Filtered estimates of all steps and all that the filter puts out; the log-likelihood. */
int ks_scan_filter(ks_scan_method *m, double *loglik);
/** Smoothed estimates of all steps by the paper's Alg. 6 and Alg. 7, put out. */
int ks_scan_rts(ks_scan_method *m);
int ks_scan_two_filter(ks_scan_method *m);
/** Lag-one covariances and the smoothed prior. */
int ks_scan_lag_one(ks_scan_method *m, int64_t b);

#endif
