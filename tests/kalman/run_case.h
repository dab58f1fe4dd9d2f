/* run_case.h -- run the library over a golden case, and look at what it wrote. Compiled with ON_DEVICE
 * the methods are those of the CUDA back end and run there: with EMULATED, too, on the emulated device,
 * each run in the order of another seed. */
#ifndef RUN_CASE_H
#define RUN_CASE_H

#include "golden.h"

/** One way to compute a case. */
typedef struct method_case {
    ks_job job;
    ks_method method;
    ks_scan_algorithm scan;
    int64_t threshold;
    ks_blocktri_order order;
} method_case;

extern const method_case all_methods[];
extern const int all_methods_count;

/** The first method of a job: KS_METHOD_SEQUENTIAL but on a device. */
const method_case *first_method(ks_job job);

#ifdef ON_DEVICE
enum { ALL_ON_DEVICE = 1 };
#else
enum { ALL_ON_DEVICE = 0 };
#endif

/** The MAP route by an order. */
method_case map_by(ks_blocktri_order order);

/** "smooth scan-rts sengupta:16", in static storage until the next call. */
const char *method_case_name(const method_case *m);

/** Whether the method is one of the scans, and whether its elements of all steps are kept. */
bool is_scan(const method_case *m);
/** Whether it is the MAP route. */
bool is_map(const method_case *m);
bool stores_elements(const method_case *m);
/** Whether it takes KS_MIXED. */
bool takes_mixed(const method_case *m);
/** How it comes to its results. */
golden_route route_of(const method_case *m);
/** Whether it smooths from both ends. */
bool is_two_ended(const method_case *m);
/** Where such a method must refuse: the first (series, step) of its right half at which R over the
 *  entries present is singular, and the row of the pivot. True where there is one. */
bool two_ended_refuses(const golden *g, ks_precision precision, int64_t *series, int64_t *step,
                       int *row);

/** Options for a plan: the method's, the rest as KS_SMOOTH_OPTIONS_INIT has it. */
ks_smooth_options options_of(const method_case *m, ks_precision precision, unsigned outputs);

/** All outputs that the job makes, and those of them that the method makes. */
unsigned outputs_of(ks_job job);
unsigned outputs_made(const method_case *m);
/** Those of them that there are with g's prior. */
unsigned outputs_there(const golden *g, const method_case *m);

/** Run g by m with a context of `threads` threads. *buffers is the caller's, also on failure; free
 *  it with golden_buffers_free(). info may be NULL. */
ks_status run_case(const golden *g, const method_case *m, ks_precision precision, int threads,
                   unsigned outputs, golden_buffers **buffers, ks_info *info);

/** The same with a model, data and options of the caller's; only the sizes are g's. Outputs that there are not
 *  with its prior are left out. */
ks_status run_model(const golden *g, const ks_model *model, ks_view y,
                    const ks_smooth_options *options, int threads, golden_buffers **buffers,
                    ks_info *info);

/** Run and expect KS_OK; the case and the method are named where not. */
golden_buffers *run_well(const golden *g, const method_case *m, ks_precision precision,
                         int threads, unsigned outputs, ks_info *info);

/** The same on one thread by a tier, or NULL where that is not there. */
golden_buffers *run_by_tier(const golden *g, const method_case *m, ks_precision precision, unsigned outputs, ks_tier tier);

/** The same of a constant model with a word for its steady state. */
golden_buffers *run_steady(const golden *g, const method_case *m, ks_precision precision, int threads,
                           unsigned outputs, ks_steady_state word);

/** Smooth g, whose model is constant, nothing being held, and the same with its blocks given step by step, and with
 *  nothing remembered, some entries of y missing towards the end of each: results are the same bits. made has means,
 *  covariances, lag-one covariances and the log-likelihood. g is rounded to f32. */
void same_with_and_without_memory(golden *g, const method_case *m, ks_precision precision,
                                  unsigned made);

/** The first of `outputs` whose bytes differ between two runs, 0 when none does. */
unsigned first_different(const golden_buffers *a, const golden_buffers *b, unsigned outputs);

/** Whether every covariance that was written is symmetric to the bit and has no eigenvalue below
 *  round-off of its trace. Says on stderr what is wrong. */
bool covariances_sound(golden_buffers *b, ks_precision precision, unsigned outputs);

#endif
