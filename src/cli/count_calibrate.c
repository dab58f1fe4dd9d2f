/* count_calibrate.c -- from counted operations to seconds. Short runs of each method on one thread measure the cost of
 * an operation on this machine. Then every case is run and compared with its prediction. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "count_settings.h"
#include "kalscan/smooth.h"
#include "seconds.h"

enum { SHORT = 2048, REPEATS = 15 };

/** A model whose steps all take the ordinary form, and memory for the results. F is given for each step, so that no
 *  step reuses another one. */
typedef struct trial {
    ks_model model;
    ks_outputs outputs;
    ks_view y;
    double *memory;
    double loglik;
} trial;

static void fill(double *A, int rows, int columns, double diagonal, double beside)
{
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) A[i * columns + j] = i == j ? diagonal : beside;
}

static ks_view constant(const double *block)
{
    const ks_view view = {block, 0, 0};
    return view;
}

static ks_out rows_out(double *data, int64_t numbers)
{
    const ks_out out = {data, numbers, 0};
    return out;
}

static ks_exit make_trial(trial *t, int64_t T, int nx, int ny, ks_failure *failure)
{
    const size_t n = (size_t)nx, m = (size_t)ny;
    const size_t fixed = 2 * n * n + 2 * n + m * n + m * m, each = m + n + 2 * n * n;
    const ks_model model = KS_MODEL_INIT;
    const ks_outputs none = KS_OUTPUTS_INIT;
    memset(t, 0, sizeof *t);
    t->model = model;
    t->outputs = none;
    if ((uint64_t)T > (SIZE_MAX / sizeof(double) - fixed) / each ||
        !(t->memory = malloc((fixed + (size_t)T * each) * sizeof(double))))
        return ks_fail(failure, KS_EXIT_RESOURCES, "no memory for a series of T = %lld",
                       (long long)T);
    double *at = t->memory;
    double *F = at, *Q = (at += (size_t)T * n * n), *P0 = (at += n * n), *u = (at += n * n);
    double *m0 = (at += n), *H = (at += n), *R = (at += m * n), *y = (at += m * m);
    double *mean = (at += (size_t)T * m), *cov = at + (size_t)T * n;
    for (int64_t k = 0; k < T; ++k) fill(F + k * nx * nx, nx, nx, 0.9, 0.05 / nx);
    fill(Q, nx, nx, 1.0, 0.5 / nx);
    fill(P0, nx, nx, 1.0, 0.0);
    fill(u, nx, 1, 0.1, 0.1);
    fill(m0, nx, 1, 0.0, 0.0);
    fill(H, ny, nx, 1.0, 0.25 / nx);
    fill(R, ny, ny, 1.0, 0.25 / ny);
    for (int64_t i = 0; i < T * ny; ++i) y[i] = 3 * sin(0.7 * (double)i);
    t->model.F = constant(F);
    t->model.F.step_stride = (int64_t)nx * nx;
    t->model.Q = constant(Q);
    t->model.P0 = constant(P0);
    t->model.u = constant(u);
    t->model.m0 = constant(m0);
    t->model.H = constant(H);
    t->model.R = constant(R);
    t->y.data = y;
    t->y.step_stride = ny;
    t->outputs.loglik.data = &t->loglik;
    t->outputs.smoothed_mean = rows_out(mean, nx);
    t->outputs.smoothed_cov = rows_out(cov, (int64_t)nx * nx);
    return KS_EXIT_DONE;
}

static ks_smooth_options options_of(const ks_count_case *what)
{
    ks_smooth_options options = KS_SMOOTH_OPTIONS_INIT;
    static const ks_method methods[KS_COUNTED_METHODS] = {
        KS_METHOD_SCAN, KS_METHOD_SCAN_RTS, KS_METHOD_SCAN_TWO_FILTER, KS_METHOD_SEQUENTIAL,
        KS_METHOD_SEQUENTIAL};
    const bool filters = what->method == KS_COUNT_FILTER ||
                         what->method == KS_COUNT_SEQUENTIAL_FILTER;
    options.method = methods[what->method];
    options.job = filters ? KS_JOB_FILTER : KS_JOB_SMOOTH;
    options.outputs = KS_OUT_LOGLIK | (filters ? KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV
                                               : KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV);
    options.scan = what->scan;
    options.scan_threshold = what->threshold;
    return options;
}

/** Find the fastest of several runs, after one that is not timed: other work on the machine can only add time. */
static ks_status run_repeatedly(const ks_smooth_plan *plan, const trial *t,
                                const ks_outputs *outputs, void *work, double *fastest)
{
    ks_status status = ks_smooth_run(plan, &t->model, t->y, outputs, work, NULL);
    *fastest = HUGE_VAL;
    for (int i = 0; i < REPEATS && status == KS_OK; ++i) {
        const double begin = ks_seconds();
        status = ks_smooth_run(plan, &t->model, t->y, outputs, work, NULL);
        *fastest = fmin(*fastest, ks_seconds() - begin);
    }
    return status;
}

/** Measure the seconds of one case on this machine. */
static ks_exit measure(const ks_count_settings *s, const ks_count_case *what, double *seconds,
                       ks_failure *failure)
{
    ks_context_options context_options = KS_CONTEXT_OPTIONS_INIT;
    const ks_smooth_options options = options_of(what);
    ks_context *context = NULL;
    ks_smooth_plan *plan = NULL;
    void *work = NULL;
    trial t;
    if (make_trial(&t, what->T, s->nx, s->ny, failure)) return failure->code;
    ks_outputs outputs = t.outputs;
    if (options.job == KS_JOB_FILTER) {
        const ks_out none = KS_OUTPUTS_NONE;
        outputs.filtered_mean = outputs.smoothed_mean;
        outputs.filtered_cov = outputs.smoothed_cov;
        outputs.smoothed_mean = outputs.smoothed_cov = none;
    }
    context_options.threads = (int)what->threads;
    ks_status status = ks_context_create(&context, &context_options);
    if (status == KS_OK)
        status = ks_smooth_plan_create(&plan, context, what->T, 1, s->nx, s->ny, &options);
    if (status == KS_OK) {
        const size_t bytes = ks_smooth_workspace_bytes(plan);
        if (bytes > SIZE_MAX - 64 || posix_memalign(&work, 64, bytes + 1)) status = KS_ENOMEM;
    }
    if (status == KS_OK) status = run_repeatedly(plan, &t, &outputs, work, seconds);
    free(work);
    ks_smooth_plan_destroy(plan);
    ks_context_destroy(context);
    free(t.memory);
    if (status == KS_OK) return KS_EXIT_DONE;
    return ks_fail(failure, status == KS_ENOMEM ? KS_EXIT_RESOURCES : KS_EXIT_NUMERICAL,
                   "--calibrate, T = %lld: %s", (long long)what->T, ks_strerror(status));
}

/** Seconds per operation: of a combine, of anything else, and in chunks. Combines run on small blocks that stay in
 *  cache; the rest streams model and results through memory. Chunks run the steps of the sequential methods where other
 *  scans make elements. */
typedef struct rates {
    double combine, other, chunk;
} rates;

static double predict(rates r, const ks_count_case *what, const ks_count_result *result)
{
    const double combines = (double)result->combine_flops;
    const double others = (double)result->work_flops - combines;
    const double other = what->scan == KS_SCAN_CHUNKED ? r.chunk : r.other;
    /* Combines and other work are shared among the threads in the same proportion. */
    return (r.combine * combines + other * others) *
           ((double)result->time_flops / (double)result->work_flops);
}

static ks_exit run_short(const ks_count_settings *s, const ks_unit_costs *costs,
                         ks_counted_method method, ks_scan_algorithm scan,
                         ks_count_result *result, double *seconds, ks_failure *failure)
{
    const ks_count_case what = {.method = method, .scan = scan, .threshold = 1, .T = SHORT,
                                .threads = 1, .loglik = 1};
    const ks_status status = ks_count_method(result, costs, &what);
    if (status != KS_OK)
        return ks_fail(failure, KS_EXIT_RESOURCES, "--calibrate: %s", ks_strerror(status));
    return measure(s, &what, seconds, failure);
}

/** Find the rates of all scans but the chunked one from two runs with very different numbers of combines. The chunked
 *  scan, which has few combines, gets a rate of its own. */
static ks_exit find_rates(const ks_count_settings *s, const ks_unit_costs *costs,
                          ks_counted_method method, rates *r, ks_failure *failure)
{
    ks_count_result few, many, chunked;
    double seconds_few = 0, seconds_many = 0, seconds_chunked = 0;
    if (run_short(s, costs, method, KS_SCAN_LADNER_FISCHER, &few, &seconds_few, failure))
        return failure->code;
    r->combine = r->other = r->chunk = seconds_few / (double)few.work_flops;
    if (!ks_counted_method_scans(method)) return KS_EXIT_DONE;
    if (run_short(s, costs, method, KS_SCAN_HILLIS_STEELE, &many, &seconds_many, failure))
        return failure->code;
    const double others = (double)(few.work_flops - few.combine_flops);
    const double combine = (seconds_many - seconds_few) /
                           (double)(many.combine_flops - few.combine_flops);
    const double other = (seconds_few - combine * (double)few.combine_flops) / others;
    if (combine > 0 && other > 0) { /* otherwise the machine was too busy to separate them */
        r->combine = combine;
        r->other = other;
    }
    if (run_short(s, costs, method, KS_SCAN_CHUNKED, &chunked, &seconds_chunked, failure))
        return failure->code;
    const double of_combines = r->combine * (double)chunked.combine_flops;
    const double of_steps = seconds_chunked - of_combines;
    r->chunk = (of_steps > 0 ? of_steps : seconds_chunked) /
               (double)(chunked.work_flops - (of_steps > 0 ? chunked.combine_flops : 0));
    return KS_EXIT_DONE;
}

ks_exit ks_count_calibrate(const ks_count_settings *settings, const ks_unit_costs *costs,
                           ks_count_row *rows, int64_t count, ks_failure *failure)
{
    rates of[KS_COUNTED_METHODS] = {{0, 0, 0}};
    for (int64_t i = 0; i < count; ++i)
        if (rows[i].what.threads > 4096)
            return ks_fail(failure, KS_EXIT_USAGE,
                           "--calibrate: --threads are real ones, at most 4096");
    for (int m = 0; m < settings->methods; ++m)
        if (find_rates(settings, costs, settings->method[m], &of[settings->method[m]], failure))
            return failure->code;
    for (int64_t i = 0; i < count; ++i) {
        rows[i].predicted = predict(of[rows[i].what.method], &rows[i].what, &rows[i].result);
        if (measure(settings, &rows[i].what, &rows[i].measured, failure)) return failure->code;
    }
    return KS_EXIT_DONE;
}
