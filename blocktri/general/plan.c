/* plan.c -- making plans for general systems: check options, compute storage, resolve `auto`. */
#include <math.h>
#include "cpu.h"
#include "general_plan.h"
#include "device.h"
#include "reach.h"

/* Least rows of a task, so that its work outweighs a barrier and sums have few parts. */
enum { ROWS_OF_A_TASK = 1024 };

size_t ks_gb_scratch(const ks_general_plan *plan)
{
    const size_t n = (size_t)plan->n;
    const size_t numbers = ks_gb_dense(plan->options.method) ? n * n : 6 * n;
    return (numbers + 7) / 8 * 8; /* no two workers share a cache line */
}

/** How many vectors of N n numbers a method needs besides b and x. */
static int vectors_of(const ks_general_options *options)
{
    switch (options->method) {
    case KS_BICGSTAB: return 6;
    case KS_GMRES: return options->restart + 3;
    case KS_CG: return 4;
    default: return 2;
    }
}

void ks_gb_carve(ks_carver *carver, const ks_general_plan *plan, ks_gb_run *run)
{
    const size_t rows = (size_t)plan->N * (size_t)plan->n, m = (size_t)plan->options.restart;
    const size_t small = plan->options.method == KS_GMRES ? (m + 1) * m + 3 * m + 1 : 0;
    run->b = ks_carve(carver, rows, sizeof *run->b);
    run->x = ks_carve(carver, rows, sizeof *run->x);
    run->vectors = ks_carve(carver, (size_t)vectors_of(&plan->options),
                            rows * sizeof *run->vectors);
    run->scratch = ks_carve(carver, (size_t)plan->workers, ks_gb_scratch(plan) * sizeof(double));
    run->partial = ks_carve(carver, (size_t)plan->chunks, sizeof *run->partial);
    run->small = ks_carve(carver, small, sizeof *run->small);
}

/* Compute the offsets of the blocks' factors, and the bytes of factor and workspace. */
static void measure(ks_general_plan *plan, const ks_general_matrix *matrix)
{
    const size_t N = (size_t)plan->N, n = (size_t)plan->n;
    size_t after;
    if (plan->options.method == KS_BLOCK_LU) {
        plan->numbers = ks_gb_lu_numbers(plan->N, plan->n);
        after = N * n * sizeof(int);
    } else if (plan->options.method == KS_BLOCK_CYCLIC_REDUCTION) {
        plan->numbers = ks_gb_cyclic_numbers(plan->N, plan->n);
        after = N * (n + 1) * sizeof(int);
    } else if (plan->options.method == KS_BANDED_LU) {
        plan->numbers = plan->N * plan->n * ks_gb_band_column(&plan->band);
        after = N * n * sizeof(int);
    } else {
        plan->offset[0] = 0;
        for (int64_t j = 0; j < plan->N; ++j)
            plan->offset[j + 1] =
                plan->offset[j] +
                ks_gb_diagonal_numbers(plan->options.block_solver, plan->n, matrix->D[j].format);
        plan->numbers = plan->offset[plan->N];
        after = N * sizeof(int32_t);
        if (plan->options.method == KS_LOW_RANK_LU) {
            plan->numbers += ks_gb_low_rank_numbers(plan->N, plan->n, plan->rank);
            after = ks_gb_low_rank_after(plan->N, plan->rank);
        }
    }
    plan->factor_bytes = ((size_t)plan->numbers * sizeof(double) + after + 63) / 64 * 64;
    ks_carver carver = ks_carver_at(NULL);
    ks_gb_run unused;
    ks_gb_carve(&carver, plan, &unused);
    plan->workspace = ks_carved_bytes(&carver);
}

/* Whether the size of the largest factor does not overflow: a band, or five dense blocks for each diagonal one, or 43
 * vectors of parallel cyclic reduction. */
static int addressable(int64_t N, int n, const ks_general_matrix *matrix, int dense, const ks_gb_band *band)
{
    const int64_t m = n, most = PTRDIFF_MAX / 1024;
    if (m > most / 64 / N) return 0;
    if (band) return m * N <= most / ks_gb_band_column(band);
    for (int64_t j = 0; j < N && !dense; ++j) dense = matrix->D[j].format == KS_BLOCK_DENSE;
    return !dense || m * N <= most / m;
}

/* Whether a device can run the plan, see ks_general_options. */
static int for_device(int64_t N, const ks_general_matrix *matrix, const ks_general_options *o)
{
    const int automatic = o->method == KS_GENERAL_AUTO && o->backend == KS_BACKEND_CUDA;
    if (!automatic && o->method != KS_BLOCK_JACOBI && o->method != KS_RED_BLACK) return 0;
    if (o->block_solver != KS_BLOCK_SOLVER_AUTO &&
        o->block_solver != KS_BLOCK_SOLVER_PARALLEL_CYCLIC_REDUCTION)
        return 0;
    for (int64_t j = 0; j < N; ++j)
        if (matrix->D[j].format != KS_BLOCK_DIA) return 0;
    return o->relaxation == 1;
}

/* Decide where the plan runs, and open the device if it runs on one. */
static ks_status settle_backend(ks_gpu **gpu, ks_context *context, int64_t N,
                                const ks_general_matrix *matrix, ks_general_options *o)
{
    *gpu = NULL;
    if (o->backend == KS_BACKEND_CPU) return KS_OK;
    const ks_status status =
        for_device(N, matrix, o) ? ks_gpu_open(gpu, context, o->device) : KS_EREFUSED;
    if (status != KS_OK && o->backend == KS_BACKEND_CUDA) return status;
    o->backend = status == KS_OK ? KS_BACKEND_CUDA : KS_BACKEND_CPU;
    if (status != KS_OK) return KS_OK;
    if (o->method == KS_GENERAL_AUTO) o->method = KS_RED_BLACK;
    o->block_solver = KS_BLOCK_SOLVER_PARALLEL_CYCLIC_REDUCTION;
    return KS_OK;
}

static ks_status create(ks_general_plan **out, ks_context *context, int64_t N, int n,
                        const ks_general_matrix *matrix, const ks_general_options *options)
{
    *out = NULL;
    int reversed = 0;
    const int low_rank = options->method == KS_LOW_RANK_LU, rank = low_rank ? ks_gb_rank(N, n, matrix, &reversed) : 0;
    const int banded = options->method == KS_BANDED_LU;
    ks_gb_band band = { 0, 0 };
    if (banded) band = ks_gb_band_of(N, n, matrix);
    if (banded && !ks_gb_band_countable(N, n, &band)) return KS_EREFUSED;
    if (!addressable(N, n, matrix, ks_gb_dense(options->method) || rank > KS_GB_FEW_COLUMNS, banded ? &band : NULL))
        return KS_ENOMEM;
    const ks_gb_kernels *kernels = ks_gb_kernels_of(options->tier);
    if (!kernels) return KS_EUNAVAILABLE;
    const size_t offsets = ks_gb_by_blocks(options->method) ? (size_t)N + 1 : 0;
    const size_t shapes = 3 * (size_t)N - 2;
    ks_general_plan *plan = ks_allocate(context, sizeof *plan + (offsets + shapes) * sizeof *plan->offset);
    if (!plan) return KS_ENOMEM;
    plan->shapes = plan->offset + offsets;
    ks_gb_shapes(N, matrix, plan->shapes);
    plan->context = context;
    plan->N = N;
    plan->n = n;
    plan->options = *options;
    plan->kernels = kernels;
    plan->gpu = NULL;
    plan->rank = rank;
    plan->reversed = reversed;
    plan->band = band;
    plan->chunk = n >= ROWS_OF_A_TASK ? 1 : ROWS_OF_A_TASK / n;
    plan->chunks = (N + plan->chunk - 1) / plan->chunk;
    plan->workers = ks_workers(context, options->threads,
                               options->method == KS_BLOCK_CYCLIC_REDUCTION ? N : plan->chunks);
    measure(plan, matrix);
    if (plan->workspace > PTRDIFF_MAX || plan->factor_bytes > PTRDIFF_MAX) {
        ks_release(context, plan);
        return KS_ENOMEM;
    }
    *out = plan;
    return KS_OK;
}

const char *ks_general_plan_invalid(int64_t N, int n, const ks_general_matrix *matrix,
                                    const ks_general_options *options)
{
    const ks_general_options defaults = KS_GENERAL_OPTIONS_INIT;
    const ks_general_options *o = options ? options : &defaults;
    if (N < 1) return "N";
    if (n < 1) return "n";
    if (o->size != sizeof *o) return "size";
    if (!ks_general_method_name(o->method)) return "method";
    if (!ks_block_solver_name(o->block_solver)) return "block_solver";
    if (o->stop != KS_STOP_RESIDUAL && o->stop != KS_STOP_CHANGE) return "stop";
    if (o->stop == KS_STOP_CHANGE && o->method != KS_GENERAL_AUTO && !ks_gb_stationary(o->method)) return "stop";
    if (!(o->tolerance > 0) || !isfinite(o->tolerance)) return "tolerance";
    if (o->max_iterations < 1) return "max_iterations";
    if (!(o->relaxation >= 0) || !(o->relaxation < 2)) return "relaxation";
    if (o->restart < 1 || o->restart > 10000) return "restart";
    if (o->threads < 0) return "threads";
    if (!ks_is_tier(o->tier)) return "tier";
    if (o->columns < 1) return "columns";
    if (o->sample.data && !ks_within_reach(N, o->sample.stride, 1, 0, (int64_t)n * o->columns)) return "sample";
    if (!ks_backend_name(o->backend)) return "backend";
    if (o->device < 0) return "device";
    return ks_gb_valid_matrix(N, n, matrix) ? NULL : "matrix";
}

ks_status ks_general_plan_create(ks_general_plan **out, ks_context *context, int64_t N, int n,
                                 const ks_general_matrix *matrix,
                                 const ks_general_options *options)
{
    const ks_general_options defaults = KS_GENERAL_OPTIONS_INIT;
    if (!out) return KS_EINVAL;
    *out = NULL;
    if (!options) options = &defaults;
    if (ks_general_plan_invalid(N, n, matrix, options)) return KS_EINVAL;
    ks_general_options settled = *options;
    ks_gpu *gpu;
    ks_status status = settle_backend(&gpu, context, N, matrix, &settled);
    if (status == KS_OK && settled.method == KS_GENERAL_AUTO)
        status = ks_gb_choose(context, N, n, matrix, &settled);
    if (status != KS_OK) return status;
    if (settled.stop == KS_STOP_CHANGE && !ks_gb_stationary(settled.method)) settled.stop = KS_STOP_RESIDUAL;
    status = create(out, context, N, n, matrix, &settled);
    if (status == KS_OK) (*out)->gpu = gpu;
    else ks_gpu_close(gpu);
    return status;
}

void ks_general_plan_destroy(ks_general_plan *plan)
{
    if (!plan) return;
    ks_gpu_close(plan->gpu);
    ks_release(plan->context, plan);
}

ks_general_method ks_general_plan_method(const ks_general_plan *plan)
{
    return plan ? plan->options.method : KS_GENERAL_AUTO;
}

ks_backend ks_general_plan_backend(const ks_general_plan *plan)
{
    return plan ? plan->options.backend : KS_BACKEND_CPU;
}

int ks_general_plan_threads(const ks_general_plan *plan)
{
    if (!plan || plan->options.backend == KS_BACKEND_CUDA) return 1;
    /* More would serve residuals alone. */
    const ks_general_method method = plan->options.method;
    const int most = method == KS_BLOCK_LU || method == KS_BANDED_LU ? 1
                     : method == KS_BLOCK_GAUSS_SEIDEL               ? KS_GB_BATCH / KS_GB_ABREAST
                                                                     : plan->workers;
    return plan->workers < most ? plan->workers : most;
}

double ks_general_plan_relaxation(const ks_general_plan *plan) { return plan ? plan->options.relaxation : 1; }

size_t ks_general_factor_bytes(const ks_general_plan *plan) { return plan ? plan->factor_bytes : 0; }

size_t ks_general_workspace_bytes(const ks_general_plan *plan) { return plan ? plan->workspace : 0; }

static size_t block_bytes(int n, const ks_general_block *b)
{
    const size_t m = (size_t)n, count = (size_t)b->count;
    switch (b->format) {
    case KS_BLOCK_DENSE: return 8 * m * m;
    case KS_BLOCK_DIA: return 8 * (3 * m - 2);
    case KS_BLOCK_COO: return 16 * count;
    case KS_BLOCK_CSR: return 12 * count + 4 * (m + 1);
    }
    return 0;
}

size_t ks_general_iteration_bytes(const ks_general_plan *plan, const ks_general_matrix *matrix)
{
    if (!plan || !matrix || ks_gb_direct(plan->options.method)) return 0;
    const ks_general_method method = plan->options.method;
    const size_t vector = 8 * (size_t)plan->N * (size_t)plan->n;
    size_t solve = (size_t)plan->numbers * 8, D = 0, off = 0;
    for (int64_t j = 0; j < plan->N; ++j) {
        D += block_bytes(plan->n, &matrix->D[j]);
        if (plan->options.block_solver <= KS_BLOCK_SOLVER_THOMAS &&
            matrix->D[j].format == KS_BLOCK_DIA)
            solve -= 8 * (size_t)(plan->offset[j + 1] - plan->offset[j] - 3 * (int64_t)plan->n);
    }
    for (int64_t j = 0; j + 1 < plan->N; ++j)
        off += block_bytes(plan->n, &matrix->L[j]) + block_bytes(plan->n, &matrix->U[j]);
    if (ks_gb_stationary(method)) return solve + off + 3 * vector;  /* b, x in and out */
    const size_t product = D + off + 2 * vector + solve + 2 * vector;
    if (method == KS_BICGSTAB) return 2 * product + 14 * vector;
    if (method == KS_CG) return product + 10 * vector;
    return product + ((size_t)plan->options.restart / 2 + 1) * 4 * vector;
}
