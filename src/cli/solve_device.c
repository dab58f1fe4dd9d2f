/* Cholesky on a CUDA device. The system is copied there, factored and solved, and the results are copied back. The
 * residual is computed on the CPU. */
#include "solve_device.h"

#include <math.h>
#include <stdlib.h>
#include "kalscan/blocktri_cuda.h"
#include "device.h"
#include "memory.h"
#include "solve_cholesky.h"
#include "values.h"

typedef struct device {
    ks_blocktri_cuda_plan *plan;
    void *D, *L, *b;        /* in device memory; x replaces b, the inverse replaces D and L */
    size_t bytes[3];        /* of D, L and b                                                */
    void *work;             /* of the inverse or of refinement                              */
    size_t work_bytes;
    void *x;                /* NULL if x replaces b */
    size_t x_bytes;
} device;

bool ks_device_has(ks_blocktri_order order)
{
    return order == KS_BLOCKTRI_AUTO || order == KS_BLOCKTRI_NESTED_DISSECTION ||
           order == KS_BLOCKTRI_PARTITION || order == KS_BLOCKTRI_RECURSIVE_SCHUR;
}

ks_exit ks_device_check_segments(int64_t N, int n, int64_t segments, ks_failure *failure)
{
    ks_blocktri_cuda_options options = KS_BLOCKTRI_CUDA_OPTIONS_INIT;
    options.order = KS_BLOCKTRI_PARTITION;
    const size_t most = ks_blocktri_cuda_bytes(N, n, &options);
    options.segments = segments;
    if (most == SIZE_MAX || ks_blocktri_cuda_bytes(N, n, &options) != SIZE_MAX) return KS_EXIT_DONE;
    return ks_fail(failure, KS_EXIT_USAGE, "--segments: on a device %lld blocks cannot be cut into %lld "
                   "segments: too many rounds would follow one another; it takes more segments, or "
                   "nested-dissection", (long long)N, (long long)segments);
}

static size_t bytes_of(const ks_solve *run)
{
    const device *d = run->state;
    return ks_size_sum(ks_size_sum(run->factor_bytes, ks_size_sum(d->work_bytes, d->x_bytes)),
                       ks_size_sum(d->bytes[0], ks_size_sum(d->bytes[1], d->bytes[2])));
}

/* Allocate everything on the device, before anything is read. */
static ks_status take_all(device *d)
{
    void **const to[] = {&d->D, &d->L, &d->b, &d->work, &d->x};
    const size_t bytes[] = {d->bytes[0], d->bytes[1], d->bytes[2], d->work_bytes, d->x_bytes};
    ks_status status = KS_OK;
    for (int i = 0; i < 5 && status == KS_OK; ++i)
        if (bytes[i] > 0) status = ks_blocktri_cuda_alloc(d->plan, to[i], bytes[i]);
    return status;
}

static void give_back(device *d)
{
    void **const taken[] = {&d->D, &d->L, &d->b, &d->work, &d->x};
    for (int i = 0; i < 5; ++i) {
        ks_blocktri_cuda_free(d->plan, *taken[i]);
        *taken[i] = NULL;
    }
    ks_blocktri_cuda_plan_destroy(d->plan);
    d->plan = NULL;
}

static ks_exit plan(ks_solve *run, ks_failure *failure)
{
    const ks_solve_settings *settings = run->settings;
    const ks_system *system = run->system;
    const size_t N = (size_t)system->N, n = (size_t)system->n;
    const size_t number = ks_precision_bytes(run->data_precision);
    const size_t block = ks_size_product(n * n, number);
    device *d = calloc(1, sizeof *d);
    run->state = d;
    if (!d) return ks_fail(failure, KS_EXIT_RESOURCES, "out of memory");
    const ks_blocktri_order order = (ks_blocktri_order)settings->solver->value;
    const bool schur = order == KS_BLOCKTRI_RECURSIVE_SCHUR;
    if (schur && (settings->inverse_blocks || settings->refine))
        return ks_fail(failure, KS_EXIT_USAGE, "--%s: method recursive-schur has none on a device; "
                       "nested-dissection has",
                       settings->inverse_blocks ? "inverse-blocks" : "precision mixed");
    if (ks_device_check_segments(system->N, system->n, settings->segments, failure)) return failure->code;
    run->method = order == KS_BLOCKTRI_AUTO ? run->solver->name : settings->solver->name;
    d->bytes[0] = ks_size_product(N, block);
    d->bytes[1] = ks_size_product(N - 1, block);
    d->bytes[2] = ks_size_product(ks_size_product(N * n, (size_t)system->nrhs), number);
    ks_blocktri_cuda_options options = KS_BLOCKTRI_CUDA_OPTIONS_INIT;
    options.precision = settings->precision;
    options.device = settings->general.device;
    options.inverse = settings->inverse_blocks;
    options.refine = settings->refine;
    options.order = order;
    options.segments = settings->segments;
    run->factor_bytes = ks_blocktri_cuda_bytes(system->N, system->n, &options);
    run->result_bytes = d->bytes[2];
    d->work_bytes = ks_blocktri_cuda_work_bytes(system->N, system->n, system->nrhs, &options);
    /* Refinement reads b until its end, so x cannot replace it. */
    d->x_bytes = settings->refine ? d->bytes[2] : 0;
    ks_status status = ks_blocktri_cuda_plan_create(&d->plan, run->context, system->N, system->n, &options);
    if (status == KS_OK) status = take_all(d);
    if (status == KS_EUNAVAILABLE && schur)
        return ks_fail(failure, KS_EXIT_RESOURCES, "--backend cuda: method recursive-schur needs cuBLAS "
                       "and cuSOLVER, which are not there, or a newer device");
    if (status == KS_OK) {
        run->segments = ks_blocktri_cuda_plan_segments(d->plan);
        run->threads = 1;
        return KS_EXIT_DONE;
    }
    give_back(d);
    return ks_fail_device(status, options.device, bytes_of(run), failure);
}

static ks_status upload(const ks_solve *run)
{
    device *d = run->state;
    void *const to[] = {d->D, d->L, d->b};
    const int from[] = {KS_SYSTEM_D, KS_SYSTEM_L, KS_SYSTEM_B};
    ks_status status = KS_OK;
    for (int i = 0; i < 3 && status == KS_OK; ++i)
        if (d->bytes[i] > 0)
            status = ks_blocktri_cuda_upload(d->plan, to[i], run->system->arrays[from[i]].data, d->bytes[i]);
    return status;
}

static ks_status solve(ks_solve *run, ks_blocktri_cuda_info *info, double *refined)
{
    const device *d = run->state;
    const int64_t n = run->system->n, nrhs = run->system->nrhs;
    const ks_cuda_const_blocks D = {d->D, n * n, 0}, L = {d->L, n * n, 0}, b = {d->b, n * nrhs, 0};
    const ks_cuda_blocks x = {d->x ? d->x : d->b, n * nrhs, 0};
    ks_blocktri_refine_report report = {0, 0.0};
    double start = ks_seconds();
    ks_status status = ks_blocktri_cuda_factorize(d->plan, D, L, NULL);
    if (status == KS_OK) status = ks_blocktri_cuda_wait(d->plan, info, NULL);
    run->factor_seconds = ks_seconds() - start;
    start = ks_seconds();
    if (status == KS_OK)
        status = run->settings->refine
                     ? ks_blocktri_cuda_refine_solve(d->plan, D, L, (int)nrhs, b, x, d->work, NULL,
                                                     &report, NULL)
                     : ks_blocktri_cuda_solve(d->plan, (int)nrhs, b, x, NULL);
    if (status == KS_OK) status = ks_blocktri_cuda_wait(d->plan, NULL, NULL);
    run->solve_seconds = ks_seconds() - start;
    run->steps = report.steps;
    *refined = report.residual;
    if (status == KS_OK) status = ks_blocktri_cuda_logdet(d->plan, &run->logdet, NULL);
    if (status == KS_OK) status = ks_blocktri_cuda_download(d->plan, run->x, x.data, d->bytes[2]);
    return status;
}

/* Compute the blocks of the inverse. They replace the system on the device, and so on the host. */
static ks_exit invert(ks_solve *run, ks_failure *failure)
{
    device *d = run->state;
    const double start = ks_seconds();
    const int64_t N = run->system->N, n = run->system->n, block = n * n;
    ks_system_array *arrays = run->system->arrays;
    const ks_cuda_blocks diagonal = {d->D, block, 0}, lag = {d->L, block, 0};
    ks_status status = ks_blocktri_cuda_inverse_blocks(d->plan, diagonal, lag, d->work, NULL);
    if (status == KS_OK)
        status = ks_blocktri_cuda_download(d->plan, arrays[KS_SYSTEM_D].data, d->D, d->bytes[0]);
    if (status == KS_OK && N > 1)
        status = ks_blocktri_cuda_download(d->plan, arrays[KS_SYSTEM_L].data, d->L, d->bytes[1]);
    if (status != KS_OK)
        return ks_fail_device(status, run->settings->general.device, bytes_of(run), failure);
    run->inverse_seconds = ks_seconds() - start;
    return ks_cholesky_keep_inverse(run, failure);
}

static ks_exit run_device(ks_solve *run, ks_failure *failure)
{
    ks_blocktri_cuda_info info = KS_BLOCKTRI_CUDA_INFO_INIT;
    double refined = 0.0;
    run->x = ks_memory_raw(run->result_bytes, "the solution", failure);
    if (failure->code) return failure->code;
    ks_status status = upload(run);
    if (status == KS_OK) status = solve(run, &info, &refined);
    if (status == KS_ENOTPD)
        return ks_cholesky_explain(run, status, info.block, info.pivot, failure);
    if (status == KS_ENONFINITE)
        return ks_fail(failure, KS_EXIT_NUMERICAL, "%s: cannot solve: the solution overflows",
                       run->system->name);
    if (status != KS_OK)
        return ks_fail_device(status, run->settings->general.device, bytes_of(run), failure);
    if (ks_cholesky_refined(run, refined, failure)) return failure->code;
    if (ks_cholesky_judge(run, NULL, failure) || ks_cholesky_keep_logdet(run, failure))
        return failure->code;
    return run->settings->inverse_blocks ? invert(run, failure) : KS_EXIT_DONE;
}

static void release(ks_solve *run)
{
    device *d = run->state;
    if (!d) return;
    give_back(d);
    free(d);
    run->state = NULL;
}

const ks_solver ks_device_solver = {"nested-dissection", NULL, 0, true, plan, NULL, run_device, release};
