/* Timing the factorization and the solution of block-tridiagonal systems. The factor has its own memory, so the system
 * stays intact. */
#include <stdlib.h>
#include <string.h>
#include "kalscan/blocktri_refine.h"
#include "bench.h"
#include "memory.h"
#include "values.h"
#include "words.h"

typedef struct trial {
    int64_t N;
    int n, nrhs;
    bool refine;
    ks_precision data, factor_precision;
    ks_context *context;
    ks_blocktri_plan *plan;
    void *D, *L, *b, *x;          /* in the precision of the data */
    void *factor_D, *factor_L, *fill, *work;
    double *scale;
    size_t work_bytes;
} trial;

static ks_exit make_plan(trial *t, const ks_bench_elimination *way, int threads, ks_failure *failure)
{
    ks_context_options resources = KS_CONTEXT_OPTIONS_INIT;
    ks_blocktri_options options = KS_BLOCKTRI_OPTIONS_INIT;
    resources.threads = threads;
    if (ks_context_create(&t->context, &resources) != KS_OK)
        return ks_fail(failure, KS_EXIT_RESOURCES,
                       "out of memory: the system gives no more threads");
    options.order = (ks_blocktri_order)way->solver->value;
    options.segments = way->segments;
    options.precision = t->factor_precision;
    options.threads = threads;
    const ks_status status = ks_blocktri_plan_create(&t->plan, t->context, t->N, t->n, &options);
    if (status == KS_OK) return KS_EXIT_DONE;
    return ks_fail(failure, status == KS_ENOMEM ? KS_EXIT_RESOURCES : KS_EXIT_USAGE,
                   "method %s: %s", way->solver->name, ks_strerror(status));
}

static void *touched(size_t bytes, ks_failure *failure)
{
    void *memory = failure->code ? NULL : ks_memory_raw(bytes, "the system", failure);
    if (memory) memset(memory, 0, bytes);
    return memory;
}

static ks_exit make_room(trial *t, ks_failure *failure)
{
    const size_t N = (size_t)t->N, n = (size_t)t->n, side = ks_size_product(N * n, (size_t)t->nrhs);
    const size_t data = ks_precision_bytes(t->data), factor = ks_precision_bytes(t->factor_precision);
    const size_t blocks = ks_size_product(N, n * n);
    t->work_bytes = t->refine ? ks_blocktri_refine_workspace_bytes(t->plan, t->nrhs)
                              : ks_blocktri_workspace_bytes(t->plan);
    if (ks_memory_check(ks_size_product(2 * blocks, data + factor), "the system", failure))
        return failure->code;
    t->D = touched(blocks * data, failure);
    t->L = touched(blocks * data, failure);
    t->b = touched(side * data, failure);
    t->x = touched(side * data, failure);
    t->factor_D = touched(blocks * factor, failure);
    t->factor_L = touched(blocks * factor, failure);
    t->fill = touched(ks_blocktri_fill_bytes(t->plan) + 1, failure);
    t->work = touched(t->work_bytes, failure);
    if (t->refine) t->scale = touched(N * n * sizeof *t->scale, failure);
    return failure->code;
}

static ks_exit time_runs(const trial *t, const ks_bench_settings *settings,
                         ks_bench_result *result, ks_failure *failure)
{
    const int64_t block = (int64_t)t->n * t->n, side = (int64_t)t->n * t->nrhs;
    const ks_blocktri_matrix matrix = {{t->D, block}, {t->L, block}};
    const ks_blocktri_factor factor = {{t->factor_D, block}, {t->factor_L, block}, t->fill};
    const ks_const_blocks b = {t->b, side}, x = {t->x, side};
    const ks_blocks to = {t->x, side};
    double all[KS_BENCH_REPEATS], factored[KS_BENCH_REPEATS], solved[KS_BENCH_REPEATS];
    ks_blocktri_refine_report report = {0, 0.0};
    for (int r = -1; r < settings->repeats; ++r) {
        const double start = ks_seconds();
        ks_status status =
            t->refine ? ks_blocktri_refine_factorize(t->plan, &matrix, &factor, t->scale, t->work,
                                                     NULL)
                      : ks_blocktri_factorize(t->plan, &matrix, &factor, t->work, NULL);
        const double middle = ks_seconds();
        if (status == KS_OK)
            status = t->refine ? ks_blocktri_refine_solve(t->plan, &matrix, &factor, t->scale,
                                                          t->nrhs, b, to, NULL, t->work, &report)
                               : ks_blocktri_solve(t->plan, &factor, t->nrhs, b, to, t->work);
        const double end = ks_seconds();
        if (status != KS_OK)
            return ks_fail(failure, KS_EXIT_NUMERICAL, "method %s: %s", result->method,
                           ks_strerror(status));
        if (r < 0) continue;
        all[r] = end - start;
        factored[r] = middle - start;
        solved[r] = end - middle;
    }
    result->time = ks_bench_time_of(all, settings->repeats);
    result->factor = ks_bench_time_of(factored, settings->repeats);
    result->solve = ks_bench_time_of(solved, settings->repeats);
    ks_blocktri_norms norms = { 0, 0, 0, 0 };
    ks_blocktri_plan *wide = NULL; /* refinement solves a system in double */
    ks_status status = KS_OK;
    if (t->refine) status = ks_blocktri_plan_create(&wide, NULL, t->N, t->n, NULL);
    if (status == KS_OK)
        status = ks_blocktri_residual(wide ? wide : t->plan, &matrix, t->nrhs, x, b, &norms);
    ks_blocktri_plan_destroy(wide);
    result->relative_residual = ks_relative_residual(&norms);
    result->backward_error = ks_backward_error(&norms);
    return status == KS_OK ? KS_EXIT_DONE
                           : ks_fail(failure, KS_EXIT_NUMERICAL, "residual: %s",
                                     ks_strerror(status));
}

static void release(trial *t)
{
    void *const arrays[] = {t->D, t->L, t->b, t->x, t->factor_D, t->factor_L, t->fill, t->work,
                            t->scale};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) free(arrays[i]);
    ks_blocktri_plan_destroy(t->plan);
    ks_context_destroy(t->context);
}

ks_exit ks_bench_solve(const ks_bench_settings *settings, const ks_bench_elimination *way, int threads,
                       int precision, ks_bench_result *result, ks_failure *failure)
{
    const ks_solver *solver = way->solver;
    if (settings->queue && strcmp(solver->name, "auto") == 0) solver = &ks_general_auto;
    if (settings->backend == KS_BACKEND_CUDA) return ks_bench_solve_device(settings, way, precision, result, failure);
    if (!solver->cholesky && precision != 0)
        return ks_fail(failure, KS_EXIT_USAGE, "method %s computes in f64 only", solver->name);
    if (!solver->cholesky) return ks_bench_general(settings, solver, threads, result, failure);
    if (settings->queue)
        return ks_fail(failure, KS_EXIT_USAGE, "method %s takes symmetric systems; that of the "
                       "queue is not", solver->name);
    trial t = {.n = settings->n, .nrhs = settings->nrhs, .refine = precision == 2,
               .data = precision == 1 ? KS_F32 : KS_F64,
               .factor_precision = precision == 0 ? KS_F64 : KS_F32};
    t.N = ks_bench_blocks(settings);
    memset(result, 0, sizeof *result);
    if (make_plan(&t, way, threads, failure) == KS_EXIT_DONE) {
        result->method = ks_blocktri_order_name(ks_blocktri_plan_order(t.plan));
        strcpy(result->scan, "none");
        result->precision = ks_precision_text((ks_precision)precision);
        result->threads = ks_context_threads(t.context);
        result->T = t.N;
        if (ks_blocktri_plan_order(t.plan) == KS_BLOCKTRI_PARTITION)
            result->segments = ks_blocktri_plan_segments(t.plan);
        if (make_room(&t, failure) == KS_EXIT_DONE &&
            ks_bench_fill(t.data, t.N, t.n, t.nrhs, settings->seed, t.D, t.L, t.b, failure) == KS_EXIT_DONE)
            time_runs(&t, settings, result, failure);
        ks_bench_count_solve(t.N, t.n, t.nrhs, t.data, t.factor_precision, result);
        result->workspace = (int64_t)t.work_bytes;
        if (!failure->code) ks_bench_note_cpu(settings, result->method);
    }
    release(&t);
    return failure->code;
}
