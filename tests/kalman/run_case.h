/* run_case.h -- run the library over a golden case. */
#ifndef RUN_CASE_H
#define RUN_CASE_H

#include "golden.h"

/** One way to compute a case. */
typedef struct method_case {
    ks_job job;
    ks_method method;
    ks_scan_algorithm scan;
    int64_t threshold;
} method_case;

extern const method_case all_methods[];
extern const int all_methods_count;

/** "smooth scan-rts sengupta:16", in static storage until the next call. */
const char *method_case_name(const method_case *m);

/** All outputs that the job makes. */
unsigned outputs_of(ks_job job);

/** Run g by m with a context of `threads` threads. *buffers is the caller's, also on failure; free
 *  it with golden_buffers_free(). info may be NULL. */
ks_status run_case(const golden *g, const method_case *m, ks_precision precision, int threads,
                   unsigned outputs, golden_buffers **buffers, ks_info *info);

#endif
