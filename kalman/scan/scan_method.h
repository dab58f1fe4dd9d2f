/* scan_method.h -- what the parallel filter and the parallel smoothers share.
 *
 * What each phase does of a step is in scan_steps_text.h. */
#ifndef KS_SCAN_METHOD_H
#define KS_SCAN_METHOD_H

#include "scan_steps.h"
#include "smooth_plan.h"

#define KS_IN_DOUBLE(w, name) (w)->kernels->name
#include "scan_steps_text.h"
#include "scan_rounding_text.h"
#include "filter_rounding_text.h"

/** What ks_chunks_disturbed() leaves, and works on. */
typedef struct ks_chunks_rounding_memory {
    ks_sink mean, variance;         /* T rows of a state's numbers, in the plan's precision       */
    ks_sink own_mean, own_variance; /* of the chunks, where these are no outputs                  */
    ks_estimates state, root;       /* one each, in the plan's precision                          */
    void *scratch;                  /* of the arithmetic in it                                    */
    double *x[2], *C[2];            /* of one step                                                */
} ks_chunks_rounding_memory;

/** One series on its way through the scans. */
typedef struct ks_scan_method {
    ks_plan_run *run;
    const ks_smooth_plan *plan;
    ks_scan_arrays a;
    void *scan_memory;
    ks_scan_worker *worker;
    ks_sink kept_mean, kept_C;       /* chunks: filtered estimates in the plan's precision   */
    unsigned char *form;             /* chunks: the form of each                             */
    ks_estimates kept;               /* chunks: where they stand                             */
    ks_estimates start;              /* chunks: x[0] smoothed, one, double                   */
    ks_tally *chunk_tally;           /* chunks: one for each                                 */
    char *suffixes;                  /* chunks, smoothers: aggregates, for the scan from the end */
    ks_estimates met;                /* and smoothed at the end of each, double              */
    ks_estimates border;             /* Alg. 7: filtered before each, as roots, double       */
    ks_estimates ends;               /* Alg. 6: what each has come to, from behind, double   */
    char *back_memory;               /* smoothers: `back_bytes` of each worker on the way back */
    size_t back_bytes;
    void *back_again;                /* memory of ks_two_filter_again()                       */
    int64_t chunks, chunk_size;
    int watched;                     /* chunks: steps back of Alg. 6 end at a sharp prediction */
    int again;                       /* what goes on now has been done before: no progress   */
    ks_chunks_rounding_memory rounding; /* chunks, Alg. 6                                    */
    void *asking;                    /* chunks: memory of ks_chunks_filter_rounding()        */
    atomic_int doubtful;             /* chunks: whether some do not meet                     */
    atomic_int apart;                /* chunks, Alg. 6: whether some do not on the way back  */
    atomic_llong combines;
} ks_scan_method;

/** What a phase does of step k. */
typedef void (*ks_scan_phase_function)(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k);

/** Run `phase` on steps k0 .. k1 - 1, spread over the workers. Returns 0, or -1 where a worker has
 *  met a fault or the run is canceled. */
int ks_scan_phase(ks_scan_method *m, int64_t k0, int64_t k1, ks_scan_phase_function phase);

/** Run a scan over m->elements. Returns 0, or -1. */
int ks_scan_elements(ks_scan_method *m, const ks_scan_plan *scan, const ks_operator *op);

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
/** Smoothed estimates of all steps by the paper's Alg. 6 and Alg. 7, put out. */
int ks_scan_rts(ks_scan_method *m);
int ks_scan_two_filter(ks_scan_method *m);
/** The same in chunks, from what ks_scan_filter() has kept (rts_chunks.c, two_filter_chunks.c). Where m->apart is set
 *  afterwards Alg. 6 counts for nothing, whatever it returns, and is ks_scan_rts()'s. */
int ks_rts_chunks(ks_scan_method *m);
/** Whether chunks have come back from smoothing elements to what those before them have gone back from. */
int ks_chunks_meet(const ks_scan_method *m);
void ks_rts_chunks_carve(ks_carver *carver, ks_scan_method *m);
int ks_two_filter_chunks(ks_scan_method *m);
void ks_two_filter_chunks_carve(ks_carver *carver, ks_scan_method *m);
/** The same step by step in the array form, from what ks_scan_filter() has kept, and whether that stands for its
 *  round-off (two_filter_again.c). */
int ks_two_filter_again(ks_scan_method *m);
size_t ks_two_filter_again_bytes(const ks_smooth_plan *plan);
/** Whether predictions look sharp (ks_sharp()): they have lost digits, or are singular. */
int ks_scan_is_suspect(const ks_scan_method *m);
/** Estimates of a suspect series that are not finite are so for its rounding. */
void ks_scan_blame(ks_scan_method *m);
/** Whether the scan of filtering elements is suspect (filter_rounding_text.h, chunks_filter_rounding.c). */
int ks_scan_is_doubtful(ks_scan_method *m);
/** Whether filtered estimates from stored elements, and those of Alg. 7, stand for all that: 0, or -1 with the fault in a
 *  worker's tally. They use the elements up. */
int ks_filter_rounding(ks_scan_method *m);
int ks_two_filter_rounding(ks_scan_method *m);
/** Whether the estimates of Alg. 6 from stored elements stand for all that, after ks_scan_rts(): 0, or -1 with the fault
 *  in a worker's tally. */
int ks_scan_rounding(ks_scan_method *m);
/** The way back of Alg. 6 in chunks with round-off put into it, before ks_scan_rts(), and whether that comes to the same:
 *  0, or -1 with the fault in the first worker's tally. */
int ks_chunks_disturbed(ks_scan_method *m);
int ks_chunks_rounding(ks_scan_method *m);
/** Whether chunk c of the filter, which ends with `end` in the plan's precision, meets what the next one begins from;
 *  m->doubtful where not. Chunks that go at once have workers of their own. */
void ks_chunk_look(ks_scan_method *m, ks_scan_worker *w, int64_t c, const ks_state *end);
/** Whether the filter in chunks stands for that: 0, or -1 with the fault in the first worker's tally. */
int ks_chunks_filter_rounding(ks_scan_method *m);
size_t ks_chunks_filter_bytes(const ks_smooth_plan *plan);
/** Round-off of step k is so many standard deviations: the fault in the first worker's tally. Returns -1. */
int ks_scan_refuse(ks_scan_method *m, int64_t k, double value);
void ks_chunks_rounding_carve(ks_carver *carver, ks_scan_method *m);
/** `steps` more are done, see ks_run_progress(). */
int ks_scan_progress(ks_scan_method *m, int64_t steps);
/** Lag-one covariances and the smoothed prior. */
int ks_scan_lag_one(ks_scan_method *m);

/** Workspace of a worker, with scratch for any step. */
void ks_carve_worker(ks_carver *carver, const ks_smooth_plan *plan, ks_scan_worker *w);

#endif
