/* Timing the methods for general systems: factorization and solution of a random symmetric system, or of the cloud
 * queue's, in memory. */
#include <stdlib.h>
#include <string.h>
#include "bench.h"
#include "memory.h"
#include "queue_model.h"

typedef struct trial {
    int64_t N;
    int n, nrhs;
    ks_context *context;
    ks_general_packed *packed;
    ks_general_plan *plan;
    double *b, *x;
    void *factor, *work;
} trial;

static ks_exit fail_status(const ks_bench_result *result, ks_status status, ks_failure *failure)
{
    return ks_fail(failure, status == KS_ENOMEM ? KS_EXIT_RESOURCES : KS_EXIT_NUMERICAL,
                   "method %s: %s", result->method, ks_strerror(status));
}

/* Pack the random system of the Cholesky methods as a general one. */
static ks_status pack_random(trial *t, int64_t seed, ks_failure *failure)
{
    const int64_t block = (int64_t)t->n * t->n;
    ks_general_source source = KS_GENERAL_SOURCE_INIT;
    double *D = ks_memory_raw(ks_size_product((size_t)(2 * t->N), (size_t)block * sizeof *D), "the system", failure);
    if (!D) return KS_ENOMEM;
    double *L = D + t->N * block;
    ks_status status = KS_ENOMEM;
    if (ks_bench_fill(KS_F64, t->N, t->n, t->nrhs, seed, D, L, t->b, failure) == KS_EXIT_DONE) {
        source.D = (ks_const_blocks){D, block};
        source.L = (ks_const_blocks){L, block};
        source.symmetric = 1;
        status = ks_general_pack(&t->packed, t->context, t->N, t->n, &source);
    }
    free(D);
    return status;
}

static ks_status pack_queue(trial *t, ks_failure *failure)
{
    const ks_queue queue = {t->N, (t->n - 1) / 2, (double)t->N / 2.0, 1.0, 1.0, 1.0};
    const int64_t rows = t->N * t->n;
    ks_general_source source = KS_GENERAL_SOURCE_INIT;
    ks_queue_system system;
    ks_queue_solution solution;
    ks_status status = KS_ENOMEM;
    if (ks_queue_solve(&queue, 1, &system, &solution, failure) == KS_EXIT_DONE) {
        source.D_dia = system.D_dia;
        source.L_triples = system.L;
        source.U_triples = system.U;
        for (int64_t i = 0; i < rows * t->nrhs; ++i) t->b[i] = system.b[i / t->nrhs];
        status = ks_general_pack(&t->packed, t->context, t->N, t->n, &source);
    }
    ks_queue_free(&system);
    free(solution.pi);
    return status;
}

static ks_exit prepare(trial *t, const ks_bench_settings *settings, const ks_solver *solver,
                       int threads, ks_bench_result *result, ks_failure *failure)
{
    const size_t side = ks_size_product((size_t)t->N, (size_t)t->n * (size_t)t->nrhs) * 8;
    ks_context_options resources = KS_CONTEXT_OPTIONS_INIT;
    ks_general_options options = KS_GENERAL_OPTIONS_INIT;
    resources.threads = threads;
    if (ks_context_create(&t->context, &resources) != KS_OK)
        return ks_fail(failure, KS_EXIT_RESOURCES,
                       "out of memory: the system gives no more threads");
    result->threads = ks_context_threads(t->context);
    t->b = ks_memory_raw(side, "the system", failure);
    if (!failure->code) t->x = ks_memory_zeroed(side, "the system", failure);
    if (failure->code) return failure->code;
    ks_status status = settings->queue ? pack_queue(t, failure)
                                       : pack_random(t, settings->seed, failure);
    if (failure->code) return failure->code;
    options.method = (ks_general_method)solver->value;
    options.threads = threads;
    options.backend = settings->backend;
    options.device = settings->device;
    options.tolerance = settings->tolerance;
    options.sample = (ks_const_blocks){t->b, (int64_t)t->n * t->nrhs};
    options.columns = t->nrhs;
    if (status == KS_OK)
        status = ks_general_plan_create(&t->plan, t->context, t->N, t->n,
                                        ks_general_packed_matrix(t->packed), &options);
    if (status != KS_OK) return fail_status(result, status, failure);
    result->method = ks_general_method_name(ks_general_plan_method(t->plan));
    result->workspace = (int64_t)ks_general_workspace_bytes(t->plan);
    t->factor = ks_memory_zeroed(ks_general_factor_bytes(t->plan), "the factor", failure);
    if (!failure->code)
        t->work = ks_memory_zeroed((size_t)result->workspace, "the workspace", failure);
    return failure->code;
}

static ks_exit time_runs(const trial *t, const ks_bench_settings *settings,
                         ks_bench_result *result, ks_failure *failure)
{
    const ks_general_matrix *matrix = ks_general_packed_matrix(t->packed);
    const int64_t side = (int64_t)t->n * t->nrhs;
    double all[KS_BENCH_REPEATS], factored[KS_BENCH_REPEATS], solved[KS_BENCH_REPEATS];
    ks_general_report report = KS_GENERAL_REPORT_INIT;
    for (int r = -1; r < settings->repeats; ++r) {
        const double start = ks_seconds();
        ks_status status = ks_general_factorize(t->plan, matrix, t->factor, t->work, &report);
        const double middle = ks_seconds();
        if (status == KS_OK)
            status = ks_general_solve(t->plan, matrix, t->factor, t->nrhs,
                                      (ks_const_blocks){t->b, side}, (ks_blocks){t->x, side},
                                      t->work, &report);
        const double end = ks_seconds();
        if (status == KS_ENOTCONVERGED)
            return ks_fail(failure, KS_EXIT_NUMERICAL, "method %s %s: after %lld iterations the "
                           "relative residual is %.3g", result->method,
                           ks_general_end_name(report.end), (long long)report.iterations,
                           report.relative_residual);
        if (status == KS_EREFUSED)
            return ks_fail(failure, KS_EXIT_NUMERICAL, "method %s: the matrix is not symmetric",
                           result->method);
        if (status != KS_OK) return fail_status(result, status, failure);
        if (r < 0) continue;
        all[r] = end - start;
        factored[r] = middle - start;
        solved[r] = end - middle;
    }
    result->time = ks_bench_time_of(all, settings->repeats);
    result->factor = ks_bench_time_of(factored, settings->repeats);
    result->solve = ks_bench_time_of(solved, settings->repeats);
    result->relative_residual = report.relative_residual;
    result->backward_error = report.backward_error;
    result->iterations = report.iterations;
    return KS_EXIT_DONE;
}

/* Count bytes only. Factorization reads the matrix and writes the factor, each once. Solution reads the factor twice,
 * or moves what the iterations move. */
static void count_work(const trial *t, ks_bench_result *result)
{
    const ks_general_matrix *matrix = ks_general_packed_matrix(t->packed);
    const double factor = (double)ks_general_factor_bytes(t->plan);
    const double rows = (double)t->N * t->n, nrhs = t->nrhs;
    result->iteration_bytes = (double)ks_general_iteration_bytes(t->plan, matrix);
    result->factor_flops = result->solve_flops = result->flops = -1.0;
    result->factor_bytes = (double)ks_general_packed_bytes(t->packed) + factor;
    result->solve_bytes = result->iteration_bytes > 0.0
                              ? (double)result->iterations * nrhs * result->iteration_bytes
                              : 2.0 * factor + 16.0 * rows * nrhs;
    result->bytes = result->factor_bytes + result->solve_bytes;
}

ks_exit ks_bench_general(const ks_bench_settings *settings, const ks_solver *solver, int threads,
                         ks_bench_result *result, ks_failure *failure)
{
    trial t = {.N = ks_bench_blocks(settings), .n = settings->n, .nrhs = settings->nrhs};
    *result = (ks_bench_result){.method = solver->name, .precision = "f64", .scan = "none",
                                .T = t.N, .general = true};
    if (prepare(&t, settings, solver, threads, result, failure) == KS_EXIT_DONE &&
        time_runs(&t, settings, result, failure) == KS_EXIT_DONE) {
        count_work(&t, result);
        result->backend = ks_backend_name(ks_general_plan_backend(t.plan));
        if (ks_general_plan_backend(t.plan) == KS_BACKEND_CPU) ks_bench_note_cpu(settings, result->method);
    }
    ks_general_plan_destroy(t.plan);
    ks_general_packed_destroy(t.packed);
    free(t.factor);
    free(t.work);
    free(t.b);
    free(t.x);
    ks_context_destroy(t.context);
    return failure->code;
}
