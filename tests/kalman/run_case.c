/* run_case.c -- see run_case.h. */
#include "run_case.h"
#include <stdio.h>
#include <stdlib.h>

const method_case all_methods[] = {
    { KS_JOB_FILTER, KS_METHOD_SEQUENTIAL, KS_SCAN_HILLIS_STEELE, 1 },
    { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_HILLIS_STEELE, 1 },
    { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_BLELLOCH, 1 },
    { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_LADNER_FISCHER, 1 },
    { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_SENGUPTA, 1 },
    { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_SENGUPTA, 16 },
    { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_CHUNKED, 1 },
    { KS_JOB_SMOOTH, KS_METHOD_SEQUENTIAL, KS_SCAN_HILLIS_STEELE, 1 },
    { KS_JOB_SMOOTH, KS_METHOD_AUTO, KS_SCAN_HILLIS_STEELE, 1 },
    { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_HILLIS_STEELE, 1 },
    { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_BLELLOCH, 1 },
    { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_LADNER_FISCHER, 1 },
    { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_SENGUPTA, 1 },
    { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_SENGUPTA, 16 },
    { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_CHUNKED, 1 },
    { KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER, KS_SCAN_HILLIS_STEELE, 1 },
    { KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER, KS_SCAN_BLELLOCH, 1 },
    { KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER, KS_SCAN_LADNER_FISCHER, 1 },
    { KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER, KS_SCAN_SENGUPTA, 1 },
    { KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER, KS_SCAN_SENGUPTA, 16 },
    { KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER, KS_SCAN_CHUNKED, 1 },
};
const int all_methods_count = (int)(sizeof all_methods / sizeof all_methods[0]);

const char *method_case_name(const method_case *m)
{
    static char name[96];
    const char *job = m->job == KS_JOB_FILTER ? "filter" : "smooth";
    if (m->method == KS_METHOD_SEQUENTIAL || m->method == KS_METHOD_AUTO)
        snprintf(name, sizeof name, "%s %s", job, ks_method_name(m->method));
    else if (m->scan == KS_SCAN_SENGUPTA)
        snprintf(name, sizeof name, "%s %s %s:%lld", job, ks_method_name(m->method),
                 ks_scan_name(m->scan), (long long)m->threshold);
    else
        snprintf(name, sizeof name, "%s %s %s", job, ks_method_name(m->method),
                 ks_scan_name(m->scan));
    return name;
}

unsigned outputs_of(ks_job job)
{
    const unsigned all = (1u << GOLDEN_OUTPUTS) - 1;
    const unsigned smoothed = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_SMOOTHED_VAR |
                              KS_OUT_LAG_ONE_COV | KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV;
    return job == KS_JOB_FILTER ? all & ~smoothed : all;
}

ks_status run_case(const golden *g, const method_case *m, ks_precision precision, int threads,
                   unsigned outputs, golden_buffers **buffers, ks_info *info)
{
    ks_context_options resources = KS_CONTEXT_OPTIONS_INIT;
    ks_smooth_options options = KS_SMOOTH_OPTIONS_INIT;
    ks_context *context = NULL;
    ks_smooth_plan *plan = NULL;
    void *work = NULL;
    resources.threads = threads;
    options.job = m->job;
    options.method = m->method;
    options.scan = m->scan;
    options.scan_threshold = m->threshold;
    options.precision = precision;
    options.outputs = outputs;
    *buffers = golden_buffers_new(g->T, g->B, g->nx, g->ny, precision, outputs);
    ks_status status = *buffers ? ks_context_create(&context, &resources) : KS_ENOMEM;
    if (status == KS_OK)
        status = ks_smooth_plan_create(&plan, context, g->T, g->B, g->nx, g->ny, &options);
    if (status == KS_OK) {
        const size_t bytes = (ks_smooth_workspace_bytes(plan) + 63) / 64 * 64;
        work = aligned_alloc(64, bytes);
        const ks_model model = golden_model(g, precision);
        status = work ? ks_smooth_run(plan, &model, golden_y(g, precision),
                                      golden_outputs(*buffers), work, info)
                      : KS_ENOMEM;
    }
    free(work);
    ks_smooth_plan_destroy(plan);
    ks_context_destroy(context);
    return status;
}
