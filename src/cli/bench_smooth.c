/* Timing filters and smoothers through the public plan. Means, covariances and the log-likelihood are stored, as by
 * default in `kalscan smooth` and `filter`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"
#include "device.h"
#include "explain.h"
#include "memory.h"
#include "progress.h"
#include "words.h"

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

ks_bench_time ks_bench_time_of(double *samples, int count)
{
    qsort(samples, (size_t)count, sizeof *samples, ascending);
    const double median = count % 2 ? samples[count / 2]
                                    : 0.5 * (samples[count / 2 - 1] + samples[count / 2]);
    return (ks_bench_time){1e9 * median, 1e9 * samples[0], 1e9 * samples[count - 1]};
}

/* One plan with everything its runs need. */
typedef struct trial {
    ks_bench_problem problem;
    ks_context *context;
    ks_smooth_plan *plan;
    ks_outputs outputs;
    void *work, *mean, *cov;
    double *loglik;
    size_t work_bytes, result_bytes;
} trial;

/* Explain why there is no plan. */
static ks_exit explain(ks_status status, const ks_bench_settings *settings, const ks_smooth_options *options,
                       ks_failure *failure)
{
    const char *job = options->job == KS_JOB_SMOOTH ? "smooth" : "filter", *method = ks_method_name(options->method);
    if (settings->backend == KS_BACKEND_CUDA && status != KS_EINVAL)
        return ks_fail_device(status, settings->device,
                              ks_smooth_device_bytes(ks_bench_steps(settings), settings->B > 0 ? settings->B : 1,
                                                     settings->nx, settings->ny, options), failure);
    if (settings->backend == KS_BACKEND_CUDA)
        return ks_fail(failure, KS_EXIT_USAGE, "--backend cuda: %s has no method %s in %s, with these scans or "
                       "orders, for a device", job, method, ks_precision_text(options->precision));
    if (status == KS_EINVAL && options->precision == KS_MIXED)
        return ks_fail(failure, KS_EXIT_USAGE, "--precision mixed goes with method sequential, not %s", method);
    if (status == KS_EINVAL) return ks_fail(failure, KS_EXIT_USAGE, "%s has no method %s", job, method);
    return ks_fail(failure, status == KS_ENOMEM ? KS_EXIT_RESOURCES : KS_EXIT_USAGE, "%s: method %s: %s", job,
                   method, ks_strerror(status));
}

static ks_exit make_plan(trial *t, const ks_bench_settings *settings, const ks_bench_way *way,
                         int threads, ks_precision precision, ks_failure *failure)
{
    const bool smooth = settings->job == KS_BENCH_SMOOTH;
    ks_context_options resources = KS_CONTEXT_OPTIONS_INIT;
    ks_smooth_options options = KS_SMOOTH_OPTIONS_INIT;
    resources.threads = threads;
    if (ks_context_create(&t->context, &resources) != KS_OK)
        return ks_fail(failure, KS_EXIT_RESOURCES,
                       "out of memory: the system gives no more threads");
    options.job = smooth ? KS_JOB_SMOOTH : KS_JOB_FILTER;
    options.method = way->method;
    options.precision = precision;
    options.outputs = KS_OUT_LOGLIK | (smooth ? KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV
                                              : KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV);
    options.scan = way->scan.algorithm;
    options.scan_threshold = way->scan.threshold;
    options.order = way->order;
    options.threads = threads;
    options.backend = settings->backend;
    options.device = settings->device;
    options.steady_state = settings->steady_state;
    const ks_status status =
        ks_smooth_plan_create(&t->plan, t->context, ks_bench_steps(settings),
                              settings->B > 0 ? settings->B : 1, settings->nx, settings->ny,
                              &options);
    return status == KS_OK ? KS_EXIT_DONE : explain(status, settings, &options, failure);
}

/* Touch all pages before the clock starts. */
static void *touched(size_t bytes, const char *what, ks_failure *failure)
{
    void *memory = failure->code ? NULL : ks_memory_raw(bytes, what, failure);
    if (memory) memset(memory, 0, bytes);
    return memory;
}

static ks_exit make_room(trial *t, const ks_bench_settings *settings, ks_precision precision,
                         ks_failure *failure)
{
    const int64_t T = ks_bench_steps(settings), B = settings->B > 0 ? settings->B : 1;
    const int64_t n = settings->nx;
    const size_t number = precision == KS_F32 ? sizeof(float) : sizeof(double);
    const size_t cov_number = precision == KS_F64 ? sizeof(double) : sizeof(float);
    const size_t rows = ks_size_product((size_t)B, (size_t)T);
    const size_t means = ks_size_product(rows, (size_t)n * number);
    const size_t covs = ks_size_product(rows, (size_t)(n * n) * cov_number);
    const ks_outputs none = KS_OUTPUTS_INIT;
    t->outputs = none;
    t->work_bytes = ks_smooth_workspace_bytes(t->plan);
    t->result_bytes = ks_size_sum(means, covs);
    t->work = touched(t->work_bytes, "the workspace", failure);
    t->mean = touched(means, "the means", failure);
    t->cov = touched(covs, "the covariances", failure);
    t->loglik = touched((size_t)B * sizeof *t->loglik, "the log-likelihood", failure);
    const ks_out mean = {t->mean, n, n * T}, cov = {t->cov, n * n, n * n * T};
    t->outputs.loglik = (ks_out){t->loglik, 0, 1};
    if (settings->job == KS_BENCH_SMOOTH) {
        t->outputs.smoothed_mean = mean;
        t->outputs.smoothed_cov = cov;
    } else {
        t->outputs.filtered_mean = mean;
        t->outputs.filtered_cov = cov;
    }
    return failure->code;
}

/* Time the runs, after one that does not count. */
static ks_exit time_runs(const trial *t, const ks_bench_settings *settings,
                         ks_bench_result *result, ks_info *info, ks_failure *failure)
{
    double samples[KS_BENCH_REPEATS];
    for (int r = -1; r < settings->repeats; ++r) {
        const double start = ks_seconds();
        const ks_status status = ks_smooth_run(t->plan, &t->problem.model, t->problem.y,
                                               &t->outputs, t->work, info);
        const double seconds = ks_seconds() - start;
        if (status == KS_EDEVICE) return ks_fail_device(status, settings->device, 0, failure);
        if (status != KS_OK)
            return ks_fail(failure, KS_EXIT_NUMERICAL, "method %s, step %lld: %s",
                           ks_method_name(info->method), (long long)info->step,
                           ks_strerror(status));
        if (r >= 0) samples[r] = seconds;
    }
    result->time = ks_bench_time_of(samples, settings->repeats);
    return KS_EXIT_DONE;
}

/* Count the operations of the sequential method in the ordinary form: the useful work of all methods. ARMA models
 * cannot use that form. */
static double counted_flops(const ks_bench_settings *settings, int64_t T)
{
    ks_unit_costs costs;
    ks_count_result counted;
    const ks_count_case what = {.method = settings->job == KS_BENCH_SMOOTH
                                              ? KS_COUNT_SEQUENTIAL : KS_COUNT_SEQUENTIAL_FILTER,
                                .T = T, .threads = 1, .loglik = 1, .threshold = 1};
    if (settings->arma || settings->nx > 256 || settings->ny > 256 ||
        ks_unit_costs_find(&costs, settings->nx, settings->ny) != KS_OK ||
        ks_count_method(&counted, &costs, &what) != KS_OK)
        return -1.0;
    return (double)counted.work_flops;
}

/* Note where `auto` runs, and options that the method does not use. */
static void print_notes(const ks_bench_settings *settings, const ks_bench_way *way, const ks_smooth_plan *plan,
                        const ks_info *info, const char *scan)
{
    const ks_method took = info->method;
    const char *method = ks_method_name(took);
    const bool device = info->backend == KS_BACKEND_CUDA;
    if (settings->quiet) return;
    ks_note_backend(plan, settings->job == KS_BENCH_FILTER ? KS_JOB_FILTER : KS_JOB_SMOOTH);
    if (settings->scan_given && way->method == KS_METHOD_AUTO && strcmp(scan, "none") == 0)
        fprintf(stderr, "kalscan: note: --scan has no effect: method %s, which auto chose, has no scan\n", method);
    if (settings->steady_given && settings->steady_state != KS_STEADY_STATE_COMPUTE &&
        ks_computes_each_step(took, way->scan.algorithm, device))
        fprintf(stderr, "kalscan: note: --steady-state has no effect: method %s%s computes each step\n", method,
                device ? " on a device" : "");
}

ks_exit ks_bench_smooth(const ks_bench_settings *settings, const ks_bench_way *way, int threads,
                        ks_precision precision, ks_bench_result *result, ks_failure *failure)
{
    trial t = {.context = NULL};
    ks_info info = KS_INFO_INIT;
    const int64_t B = settings->B > 0 ? settings->B : 1;
    memset(result, 0, sizeof *result);
    info.scan = way->scan.algorithm; /* unless the run chooses another one */
    result->T = ks_bench_steps(settings);
    if (make_plan(&t, settings, way, threads, precision, failure) == KS_EXIT_DONE &&
        ks_bench_problem_make(&t.problem, settings, precision, failure) == KS_EXIT_DONE &&
        make_room(&t, settings, precision, failure) == KS_EXIT_DONE)
        time_runs(&t, settings, result, &info, failure);
    if (!failure->code) {
        const ks_method method = info.method;
        result->backend = ks_backend_name(info.backend);
        result->method = ks_method_name(method);
        ks_scan_text(method, info.scan, way->scan.threshold, result->scan);
        print_notes(settings, way, t.plan, &info, result->scan);
        if (method == KS_METHOD_BLOCKTRI)
            result->order = ks_blocktri_order_name(ks_smooth_plan_order(t.plan));
        result->precision = ks_precision_text(precision);
        result->threads = info.backend == KS_BACKEND_CUDA ? info.threads : ks_context_threads(t.context);
        result->flops = (double)B * counted_flops(settings, result->T);
        result->bytes = (double)B * t.problem.bytes + (double)t.result_bytes;
        result->workspace = (int64_t)t.work_bytes;
        result->ordinary_steps = info.ordinary_steps;
        result->array_steps = info.array_steps;
    }
    free(t.loglik);
    free(t.cov);
    free(t.mean);
    free(t.work);
    free(t.problem.memory);
    ks_smooth_plan_destroy(t.plan);
    ks_context_destroy(t.context);
    return failure->code;
}
