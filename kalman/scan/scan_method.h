/* scan_method.h -- shared by the parallel filter and the parallel smoothers. scan_steps_text.h says what each phase
 * does with a step. Algorithms and equations are those of SF, see kalscan/smooth.h. */
#ifndef KS_SCAN_METHOD_H
#define KS_SCAN_METHOD_H

#include "scan_steps.h"
#include "smooth_plan.h"

#define KS_IN_DOUBLE(w, name) (w)->kernels->name
#include "scan_steps_text.h"
#include "scan_rounding_text.h"
#include "filter_rounding_text.h"

/** Results and scratch of ks_chunks_disturbed(). */
typedef struct ks_chunks_rounding_memory {
    ks_sink mean, variance;         /* T rows of the disturbed results, in the plan's precision   */
    ks_sink own_mean, own_variance; /* of the chunks, if they are not outputs                     */
    ks_estimates state, root;       /* one each, in the plan's precision                          */
    void *scratch;                  /* of kernels in that precision                               */
    double *x[2], *C[2];            /* of one step, double                                        */
} ks_chunks_rounding_memory;

/** One series on its way through the scans. */
typedef struct ks_scan_method {
    ks_plan_run *run;
    const ks_smooth_plan *plan;
    ks_scan_arrays a;
    void *scan_memory;
    ks_scan_worker *worker;
    ks_sink kept_mean, kept_C;       /* chunks: filtered estimates in the plan's precision   */
    unsigned char *form;             /* chunks: form of each filtered estimate               */
    ks_estimates kept;               /* chunks: memory of kept_mean, kept_C                  */
    ks_estimates start;              /* chunks: smoothed x[0], double                        */
    ks_tally *chunk_tally;           /* chunks: one for each                                 */
    char *suffixes;                  /* chunks, smoothers: aggregates of the reverse scan    */
    ks_estimates met;                /* smoothed estimate at the end of each chunk, double   */
    ks_estimates border;             /* Alg. 7: filtered before each chunk, roots, double    */
    ks_estimates ends;               /* Alg. 6: end of each chunk's way back, double         */
    char *back_memory;               /* smoothers: `back_bytes` for each worker on the way back */
    size_t back_bytes;
    void *back_again;                /* memory of ks_two_filter_again()                       */
    int64_t chunks, chunk_size;
    int watched;                     /* chunks, Alg. 6: stop at a sharp prediction           */
    int again;                       /* repeats work that was reported: no progress          */
    ks_chunks_rounding_memory rounding; /* chunks, Alg. 6                                    */
    void *asking;                    /* chunks: memory of ks_chunks_filter_rounding()        */
    atomic_int doubtful;             /* chunks: the filter is suspect                        */
    atomic_int apart;                /* chunks, Alg. 6: some disagree on the way back        */
    atomic_llong combines;
} ks_scan_method;

/** What a phase does with step k. */
typedef void (*ks_scan_phase_function)(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k);

/** Run `phase` on steps k0 .. k1 - 1, spread over the workers. Return 0, or -1 if a worker has a fault or the run is
 *  canceled. */
int ks_scan_phase(ks_scan_method *m, int64_t k0, int64_t k1, ks_scan_phase_function phase);

/** Run a scan over m->a.elements. Return 0, or -1. */
int ks_scan_elements(ks_scan_method *m, const ks_scan_plan *scan, const ks_operator *op);

/** Return the operators of filtering and smoothing elements, with absorb and rerun if ks_scan_reruns(). */
ks_operator ks_filter_operator(ks_scan_method *m);
ks_operator ks_smooth_operator(ks_scan_method *m);

/** absorb and rerun of these operators (scan_chunks.c). */
int ks_filter_absorb(void *user, void *scratch, void *dst, int64_t first, int64_t count);
int ks_filter_rerun(void *user, void *scratch, const void *carry, int64_t first, int64_t count);
int ks_smooth_absorb(void *user, void *scratch, void *dst, int64_t first, int64_t count);
int ks_smooth_rerun(void *user, void *scratch, const void *carry, int64_t first, int64_t count);
size_t ks_chunk_scratch(const ks_smooth_plan *plan);

/** Make the filtered estimates of all steps, all outputs of the filter, and the log-likelihood. */
int ks_scan_filter(ks_scan_method *m, double *loglik);
/** Make and put out the smoothed estimates of all steps, by Alg. 6 and Alg. 7. */
int ks_scan_rts(ks_scan_method *m);
int ks_scan_two_filter(ks_scan_method *m);
/** The same in chunks, from what ks_scan_filter() has kept (rts_chunks.c, two_filter_chunks.c). If m->apart is set
 *  afterwards, the results of ks_rts_chunks() are void, whatever it returns, and ks_scan_rts() must do it. */
int ks_rts_chunks(ks_scan_method *m);
/** Return whether, with smoothing elements, each chunk ends its way back at the estimate from which the previous chunk
 *  began its own. */
int ks_chunks_meet(const ks_scan_method *m);
void ks_rts_chunks_carve(ks_carver *carver, ks_scan_method *m);
int ks_two_filter_chunks(ks_scan_method *m);
void ks_two_filter_chunks_carve(ks_carver *carver, ks_scan_method *m);
/** Alg. 7 again, step by step in the array form, from what ks_scan_filter() has kept. Return -1, too, if round-off
 *  moves the result too far (two_filter_again.c). */
int ks_two_filter_again(ks_scan_method *m);
size_t ks_two_filter_again_bytes(const ks_smooth_plan *plan);
/** Return whether predictions look sharp (ks_sharp()): they have lost digits, or are singular. */
int ks_scan_is_suspect(const ks_scan_method *m);
/** In a suspect series, blame round-off for estimates that are not finite. */
void ks_scan_blame(ks_scan_method *m);
/** Return whether the scan of filtering elements is suspect (filter_rounding_text.h, chunks_filter_rounding.c). */
int ks_scan_is_doubtful(ks_scan_method *m);
/** Test the filtered estimates from stored elements, and those of Alg. 7, against round-off. Return 0, or -1 with the
 *  fault in a worker's tally. The elements are overwritten. */
int ks_filter_rounding(ks_scan_method *m);
int ks_two_filter_rounding(ks_scan_method *m);
/** Test the estimates of Alg. 6 from stored elements, after ks_scan_rts(). Return 0, or -1 with the fault in a worker's
 *  tally. */
int ks_scan_rounding(ks_scan_method *m);
/** Test Alg. 6 in chunks: ks_chunks_disturbed() goes back with round-off put in, before ks_scan_rts();
 *  ks_chunks_rounding() compares the two. Return 0, or -1 with the fault in the first worker's tally. */
int ks_chunks_disturbed(ks_scan_method *m);
int ks_chunks_rounding(ks_scan_method *m);
/** Set m->doubtful if chunk c of the filter, which ends with `end` in the plan's precision, disagrees with the estimate
 *  from which the next chunk begins. Chunks that run at the same time need different workers. */
void ks_chunk_look(ks_scan_method *m, ks_scan_worker *w, int64_t c, const ks_state *end);
/** Test a suspect filter in chunks. Return 0, or -1 with the fault in the first worker's tally. */
int ks_chunks_filter_rounding(ks_scan_method *m);
size_t ks_chunks_filter_bytes(const ks_smooth_plan *plan);
/** Report that round-off moves step k by `value` standard deviations, as a fault in the first worker's tally. Return
 *  -1. */
int ks_scan_refuse(ks_scan_method *m, int64_t k, double value);
void ks_chunks_rounding_carve(ks_carver *carver, ks_scan_method *m);
/** Report `steps` more steps as done; see ks_run_progress(). */
int ks_scan_progress(ks_scan_method *m, int64_t steps);
/** Make the lag-one covariances and the smoothed prior. */
int ks_scan_lag_one(ks_scan_method *m);

/** Carve the workspace of a worker, with scratch for any step. */
void ks_carve_worker(ks_carver *carver, const ks_smooth_plan *plan, ks_scan_worker *w);

#endif
