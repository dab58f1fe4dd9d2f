/* Timing the factorization and the solution of block-tridiagonal systems on a CUDA device. The arrays are on the device
 * already. The clock stops when the device is done, so a time includes one launch of a graph and one wait. */
#include <stdlib.h>
#include <string.h>
#include "kalscan/blocktri_cuda.h"
#include "bench.h"
#include "device.h"
#include "memory.h"
#include "solve_device.h"
#include "values.h"
#include "words.h"

typedef struct trial {
    int64_t N;
    int n, nrhs;
    bool refine;
    ks_precision data;
    ks_blocktri_cuda_plan *plan;
    void *host[4], *device[4], *work;  /* D, L, b, x           */
    size_t bytes[4], work_bytes;
    size_t needed;                     /* on the device, bytes */
} trial;

enum { OF_D, OF_L, OF_B, OF_X };

static void give_back(trial *t)
{
    void **const taken[] = {&t->device[OF_D], &t->device[OF_L], &t->device[OF_B], &t->device[OF_X], &t->work};
    for (int i = 0; i < 5; ++i) {
        ks_blocktri_cuda_free(t->plan, *taken[i]);
        *taken[i] = NULL;
    }
    ks_blocktri_cuda_plan_destroy(t->plan);
    t->plan = NULL;
}

static ks_exit make_plan(trial *t, const ks_bench_settings *settings, const ks_bench_elimination *way,
                         int precision, ks_failure *failure)
{
    ks_blocktri_cuda_options options = KS_BLOCKTRI_CUDA_OPTIONS_INIT;
    const size_t N = (size_t)t->N, n = (size_t)t->n, number = ks_precision_bytes(t->data);
    options.precision = precision == 0 ? KS_F64 : KS_F32;
    options.refine = t->refine;
    options.device = settings->device;
    options.order = (ks_blocktri_order)way->solver->value;
    options.segments = way->segments;
    options.together = way->together;
    if (ks_device_check_segments(t->N, t->n, way->segments, failure)) return failure->code;
    t->needed = ks_blocktri_cuda_bytes(t->N, t->n, &options);
    for (int i = 0; i < 4; ++i) {
        const size_t columns = i < OF_B ? n : (size_t)t->nrhs;
        t->bytes[i] = ks_size_product(ks_size_product(N * n, columns), number);
        t->needed = ks_size_sum(t->needed, t->bytes[i]);
    }
    t->work_bytes = ks_blocktri_cuda_work_bytes(t->N, t->n, t->nrhs, &options);
    t->needed = ks_size_sum(t->needed, t->work_bytes);
    ks_status status = ks_blocktri_cuda_plan_create(&t->plan, NULL, t->N, t->n, &options);
    /* Allocate everything at once, before any data is made. */
    for (int i = 0; i < 4 && status == KS_OK; ++i)
        status = ks_blocktri_cuda_alloc(t->plan, &t->device[i], t->bytes[i]);
    if (status == KS_OK && t->work_bytes > 0)
        status = ks_blocktri_cuda_alloc(t->plan, &t->work, t->work_bytes);
    if (status == KS_OK) return KS_EXIT_DONE;
    give_back(t);
    return ks_fail_device(status, settings->device, t->needed, failure);
}

static ks_exit make_system(trial *t, const ks_bench_settings *settings, ks_failure *failure)
{
    for (int i = 0; i < 4 && !failure->code; ++i)
        t->host[i] = ks_memory_raw(t->bytes[i], "the system", failure);
    if (failure->code || ks_bench_fill(t->data, t->N, t->n, t->nrhs, settings->seed, t->host[OF_D],
                                       t->host[OF_L], t->host[OF_B], failure))
        return failure->code;
    ks_status status = KS_OK;
    for (int i = 0; i < OF_X && status == KS_OK; ++i)
        status = ks_blocktri_cuda_upload(t->plan, t->device[i], t->host[i], t->bytes[i]);
    return status == KS_OK ? KS_EXIT_DONE
                           : ks_fail_device(status, settings->device, t->needed, failure);
}

static ks_status run_once(const trial *t, double *factored, double *solved)
{
    const int64_t block = (int64_t)t->n * t->n, side = (int64_t)t->n * t->nrhs;
    const ks_cuda_const_blocks D = {t->device[OF_D], block, 0}, L = {t->device[OF_L], block, 0};
    const ks_cuda_const_blocks b = {t->device[OF_B], side, 0};
    const ks_cuda_blocks x = {t->device[OF_X], side, 0};
    const double start = ks_seconds();
    ks_status status = ks_blocktri_cuda_factorize(t->plan, D, L, NULL);
    if (status == KS_OK) status = ks_blocktri_cuda_wait(t->plan, NULL, NULL);
    const double middle = ks_seconds();
    if (status == KS_OK)
        status = t->refine ? ks_blocktri_cuda_refine_solve(t->plan, D, L, t->nrhs, b, x, t->work, NULL,
                                                           NULL, NULL)
                           : ks_blocktri_cuda_solve(t->plan, t->nrhs, b, x, NULL);
    if (status == KS_OK) status = ks_blocktri_cuda_wait(t->plan, NULL, NULL);
    *factored = middle - start;
    *solved = ks_seconds() - middle;
    return status;
}

static ks_exit time_runs(const trial *t, const ks_bench_settings *settings,
                         ks_bench_result *result, ks_failure *failure)
{
    double all[KS_BENCH_REPEATS], factored[KS_BENCH_REPEATS], solved[KS_BENCH_REPEATS];
    for (int r = -1; r < settings->repeats; ++r) {
        double of_factor, of_solve;
        const ks_status status = run_once(t, &of_factor, &of_solve);
        if (status == KS_ENOTPD || status == KS_ENONFINITE)
            return ks_fail(failure, KS_EXIT_NUMERICAL, "method %s: %s", result->method,
                           ks_strerror(status));
        if (status != KS_OK) return ks_fail_device(status, settings->device, t->needed, failure);
        if (r < 0) continue;
        all[r] = of_factor + of_solve;
        factored[r] = of_factor;
        solved[r] = of_solve;
    }
    result->time = ks_bench_time_of(all, settings->repeats);
    result->factor = ks_bench_time_of(factored, settings->repeats);
    result->solve = ks_bench_time_of(solved, settings->repeats);
    return KS_EXIT_DONE;
}

static ks_exit judge(const trial *t, ks_bench_result *result, ks_failure *failure)
{
    const int64_t block = (int64_t)t->n * t->n, side = (int64_t)t->n * t->nrhs;
    const ks_blocktri_matrix matrix = {{t->host[OF_D], block}, {t->host[OF_L], block}};
    const ks_const_blocks b = {t->host[OF_B], side}, x = {t->host[OF_X], side};
    ks_blocktri_options options = KS_BLOCKTRI_OPTIONS_INIT;
    ks_blocktri_norms norms = {0, 0, 0, 0};
    ks_blocktri_plan *plan = NULL;
    options.precision = t->data;
    ks_status status =
        ks_blocktri_cuda_download(t->plan, t->host[OF_X], t->device[OF_X], t->bytes[OF_X]);
    if (status == KS_OK) status = ks_blocktri_plan_create(&plan, NULL, t->N, t->n, &options);
    if (status == KS_OK) status = ks_blocktri_residual(plan, &matrix, t->nrhs, x, b, &norms);
    ks_blocktri_plan_destroy(plan);
    result->relative_residual = ks_relative_residual(&norms);
    result->backward_error = ks_backward_error(&norms);
    return status == KS_OK ? KS_EXIT_DONE
                           : ks_fail(failure, KS_EXIT_NUMERICAL, "residual: %s", ks_strerror(status));
}

static void release(trial *t)
{
    give_back(t);
    for (int i = 0; i < 4; ++i) free(t->host[i]);
}

ks_exit ks_bench_solve_device(const ks_bench_settings *settings, const ks_bench_elimination *way,
                              int precision, ks_bench_result *result, ks_failure *failure)
{
    trial t = {.N = ks_bench_blocks(settings), .n = settings->n, .nrhs = settings->nrhs,
               .refine = precision == 2, .data = precision == 1 ? KS_F32 : KS_F64};
    const ks_solver *solver = way->solver;
    const ks_blocktri_order order = (ks_blocktri_order)solver->value;
    if (settings->queue || !solver->cholesky || !ks_device_has(order) ||
        (order == KS_BLOCKTRI_RECURSIVE_SCHUR && t.refine))
        return ks_fail(failure, KS_EXIT_USAGE, "bench solve --backend cuda times nested-dissection, "
                       "partition and, but for mixed, recursive-schur on --system random, not method %s",
                       solver->name);
    memset(result, 0, sizeof *result);
    result->method = ks_blocktri_order_name(order == KS_BLOCKTRI_AUTO ? KS_BLOCKTRI_NESTED_DISSECTION : order);
    result->backend = "cuda";
    result->precision = ks_precision_text((ks_precision)precision);
    result->threads = 1;
    result->T = t.N;
    strcpy(result->scan, "none");
    if (make_plan(&t, settings, way, precision, failure) == KS_EXIT_DONE &&
        make_system(&t, settings, failure) == KS_EXIT_DONE &&
        time_runs(&t, settings, result, failure) == KS_EXIT_DONE &&
        judge(&t, result, failure) == KS_EXIT_DONE) {
        ks_bench_count_solve(t.N, t.n, t.nrhs, t.data, precision == 0 ? KS_F64 : KS_F32, result);
        result->workspace = (int64_t)(t.needed - t.bytes[OF_D] - t.bytes[OF_L] - t.bytes[OF_B] -
                                      t.bytes[OF_X]);
        result->segments = ks_blocktri_cuda_plan_segments(t.plan);
        result->together = ks_blocktri_cuda_plan_together(t.plan);
    }
    release(&t);
    return failure->code;
}
