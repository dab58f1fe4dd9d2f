/* Names of jobs and models, and a note. */
#include <stdio.h>
#include "bench.h"

const char *ks_bench_job_name(const ks_bench_settings *settings)
{
    static const char *const names[] = {"smooth", "filter", "solve"};
    return names[settings->job];
}

const char *ks_bench_model_name(const ks_bench_settings *settings)
{
    static const char *const names[] = {"constant", "fresh", "varying"};
    static const char *const constant[] = {"constant", "constant-repeat", "constant-compute"};
    static const char *const arma[] = {"arma", "arma-repeat", "arma-compute"};
    if (settings->arma) return settings->model == KS_BENCH_FRESH ? "arma-fresh" : arma[settings->steady_state];
    return settings->model == KS_BENCH_CONSTANT ? constant[settings->steady_state] : names[settings->model];
}

void ks_bench_note_cpu(const ks_bench_settings *settings, const char *method)
{
    if (settings->backend == KS_BACKEND_AUTO && !settings->quiet)
        fprintf(stderr, "kalscan: note: --backend auto ran method %s on the CPU\n", method);
}
