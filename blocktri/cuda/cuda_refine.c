/* cuda_refine.c -- iterative refinement on a device, by the method of blocktri/refine.c. */
#include <limits.h>
#include <math.h>
#include "cuda_plan.h"
#include "ks_bt_refine.h"

/* Corrections in one graph, including the first solution. After each the device decides whether it was the last. The
 * corrections behind it cost only their launches, so the graph has no more than a well-conditioned system needs. The
 * host looks once per graph. */
enum { STEPS = 3 };

ks_status ks_bt_refine_find(ks_blocktri_cuda_plan *plan)
{
    ks_bt_refine_kernels *k = &plan->refinement;
    const struct {
        const ks_gpu_kernel **kernel;
        const char *name;
    } all[] = {
        { &k->scale, "ks_bt_refine_scale" },       { &k->start, "ks_bt_refine_start" },
        { &k->residual, "ks_bt_refine_residual" }, { &k->shares, "ks_bt_refine_shares_of" },
        { &k->squares, "ks_bt_refine_squares" },   { &k->norms, "ks_bt_refine_norms" },
        { &k->units, "ks_bt_refine_units" },       { &k->narrow, "ks_bt_refine_narrow" },
        { &k->add, "ks_bt_refine_add" },           { &k->judge, "ks_bt_refine_judge" },
    };
    ks_status status = KS_OK;
    for (size_t i = 0; i < sizeof all / sizeof all[0] && !status; ++i)
        status = ks_gpu_find(plan->gpu, all[i].kernel, "ks_bt_refine", all[i].name);
    return status;
}

/* Carve `bytes` bytes from the workspace. Where `work` is NULL, only count them. */
static void *piece(char *work, size_t *used, size_t bytes)
{
    void *const at = work ? work + *used : NULL;
    *used += (bytes + 255) / 256 * 256;
    return at;
}

/* Return the thread blocks that sum up the squares of the matrix by shares. */
static int64_t shares_of(const ks_blocktri_cuda_plan *plan)
{
    return (int64_t)plan->systems * plan->N * ks_bt_refine_shares(plan->n);
}

/* Lay out the workspace. Returns its bytes. */
static size_t lay_out(char *work, const ks_blocktri_cuda_plan *plan, size_t nrhs,
                      ks_bt_refine_args *args)
{
    const size_t systems = (size_t)plan->systems, columns = systems * nrhs;
    const size_t numbers = columns * (size_t)plan->N * (size_t)plan->n;
    size_t used = 0;
    args->residual = piece(work, &used, numbers * sizeof(double));
    args->correction = piece(work, &used, numbers * sizeof(float));
    args->unit = piece(work, &used, columns * sizeof(double));
    args->norms = piece(work, &used, columns * KS_BT_SUMS * KS_BT_NORMS * sizeof(double));
    args->shares = piece(work, &used, (size_t)shares_of(plan) * sizeof(double));
    args->squares = piece(work, &used, systems * KS_BT_SUMS * sizeof(double));
    return used;
}

size_t ks_blocktri_cuda_refine_bytes(const ks_blocktri_cuda_plan *plan, int nrhs)
{
    ks_bt_refine_args unused;
    return plan && plan->refine && nrhs > 0 ? lay_out(NULL, plan, (size_t)nrhs, &unused) : 0;
}

static ks_bt_refine_args args_of(const ks_blocktri_cuda_plan *plan, const ks_bt_call *call)
{
    ks_bt_refine_args args = { 0 };
    args.N = plan->N;
    args.systems = plan->systems;
    args.n = plan->n;
    args.nrhs = call->nrhs;
    args.phase = KS_BT_GOING;
    args.most = call->most;
    args.tolerance = call->tolerance;
    args.D = call->D;
    args.L = call->L;
    args.b = call->b;
    args.x = call->x;
    args.scale = plan->scale;
    args.state = plan->state;
    if (call->work) (void)lay_out(call->work, plan, (size_t)call->nrhs, &args);
    return args;
}

static ks_status launch(const ks_blocktri_cuda_plan *plan, const ks_gpu_kernel *kernel, int64_t blocks,
                        const ks_bt_refine_args *args, ks_gpu_stream *stream)
{
    const ks_gpu_shape shape = { { (unsigned)blocks }, { KS_BT_THREADS }, 0, 0 };
    return ks_gpu_launch(plan->gpu, kernel, &shape, args, sizeof *args, stream);
}

/* Return thread blocks for work on each of so many numbers. */
static int64_t wide(int64_t numbers)
{
    const int64_t most = 4096, blocks = (numbers + KS_BT_THREADS - 1) / KS_BT_THREADS;
    return blocks < most ? blocks : most;
}

static int64_t numbers_of(const ks_blocktri_cuda_plan *plan, int nrhs)
{
    return (int64_t)plan->systems * plan->N * plan->n * nrhs;
}

/* Enqueue the residual of x, its norms, and the decision that follows from them. */
static ks_status measure(const ks_blocktri_cuda_plan *plan, const ks_bt_refine_args *args)
{
    const ks_bt_refine_kernels *k = &plan->refinement;
    const int64_t tiles = (plan->n + KS_BT_REFINE_TILE - 1) / KS_BT_REFINE_TILE;
    const int64_t chunks = (args->nrhs + KS_BT_REFINE_COLUMNS - 1) / KS_BT_REFINE_COLUMNS;
    const int64_t columns = (int64_t)plan->systems * args->nrhs;
    ks_status status = launch(plan, k->residual, (int64_t)plan->systems * plan->N * tiles * chunks,
                              args, plan->stream);
    if (!status) status = launch(plan, k->norms, columns * KS_BT_SUMS, args, plan->stream);
    if (!status) status = launch(plan, k->judge, 1, args, plan->stream);
    return status;
}

/* Enqueue x <- 0, and the norms of b and of the matrix. */
static ks_status begin(const ks_blocktri_cuda_plan *plan, const ks_bt_refine_args *args)
{
    const ks_bt_refine_kernels *k = &plan->refinement;
    const int64_t columns = (int64_t)plan->systems * args->nrhs;
    ks_status status = launch(plan, k->start, wide(numbers_of(plan, args->nrhs)), args, plan->stream);
    if (!status) status = launch(plan, k->shares, shares_of(plan), args, plan->stream);
    if (!status)
        status = launch(plan, k->squares, (int64_t)plan->systems * KS_BT_SUMS, args, plan->stream);
    if (!status) status = launch(plan, k->norms, columns * KS_BT_SUMS, args, plan->stream);
    return status;
}

/* Enqueue the correction for the current residual, and measure the residual of the result. */
static ks_status step(const ks_blocktri_cuda_plan *plan, const ks_bt_refine_args *args)
{
    const ks_bt_refine_kernels *k = &plan->refinement;
    const int64_t size = (int64_t)plan->n * args->nrhs, blocks = wide(numbers_of(plan, args->nrhs));
    const ks_bt_in from = { args->correction, size, size * plan->N };
    const ks_bt_out to = { args->correction, size, size * plan->N };
    ks_bt_call inner = { 0 };
    inner.nrhs = args->nrhs;
    inner.b = from;
    inner.x = to;
    inner.idle = &args->state->phase;
    ks_status status = launch(plan, k->units, wide((int64_t)plan->systems * args->nrhs), args,
                              plan->stream);
    if (!status) status = launch(plan, k->narrow, blocks, args, plan->stream);
    if (!status) status = ks_bt_blocked_enqueue(plan, KS_BT_SOLVE, &inner);
    if (!status) status = launch(plan, k->add, blocks, args, plan->stream);
    return status ? status : measure(plan, args);
}

/* Enqueue taking back the last correction, if it was no improvement. */
static ks_status take_back(const ks_blocktri_cuda_plan *plan, ks_bt_refine_args args)
{
    args.phase = KS_BT_BACK;
    const ks_status status = launch(plan, plan->refinement.add, wide(numbers_of(plan, args.nrhs)), &args,
                                    plan->stream);
    return status ? status : measure(plan, &args);
}

/* Enqueue some steps. Those that are not needed do nothing. */
static ks_status steps(const ks_blocktri_cuda_plan *plan, const ks_bt_refine_args *args, int count)
{
    ks_status status = KS_OK;
    for (int i = 0; i < count && !status; ++i) status = step(plan, args);
    return status ? status : take_back(plan, *args);
}

ks_status ks_bt_refine_enqueue(const ks_blocktri_cuda_plan *plan, ks_bt_work_kind kind,
                               const ks_bt_call *call)
{
    const ks_bt_refine_args args = args_of(plan, call);
    if (kind == KS_BT_REFINE_STEP) return steps(plan, &args, STEPS);
    ks_status status = KS_OK;
    if (kind == KS_BT_REFINE_START) {
        status = begin(plan, &args);
        return status ? status : steps(plan, &args, call->most < STEPS ? call->most + 1 : STEPS);
    }
    if (kind == KS_BT_FACTORIZE)
        status = launch(plan, plan->refinement.scale, wide(numbers_of(plan, 1)), &args, plan->stream);
    return status ? status : ks_bt_blocked_enqueue(plan, kind, call);
}

/* Wait for the result of the last steps. */
static ks_status fetch(const ks_blocktri_cuda_plan *plan, ks_gpu_stream *stream)
{
    const ks_status status =
        ks_gpu_copy_out(plan->gpu, plan->state_host, plan->state, sizeof *plan->state, stream);
    const ks_status waited = ks_gpu_stream_sync(plan->gpu, stream);
    return status ? status : waited;
}

static ks_status refine(ks_blocktri_cuda_plan *plan, const ks_bt_call *call,
                        ks_blocktri_refine_report *report, ks_gpu_stream *stream)
{
    const ks_bt_refine_state *const state = plan->state_host;
    ks_status status = ks_bt_perform(plan, KS_BT_REFINE_START, call, stream);
    if (!status) status = fetch(plan, stream);
    while (!status && state->phase != KS_BT_DONE) {
        status = ks_bt_perform(plan, KS_BT_REFINE_STEP, call, stream);
        if (!status) status = fetch(plan, stream);
    }
    if (status) return status;
    report->steps = state->steps;
    report->residual = state->residual;
    return isfinite(state->residual) ? KS_OK : KS_ENONFINITE;
}

ks_status ks_blocktri_cuda_refine_solve(ks_blocktri_cuda_plan *plan, ks_cuda_const_blocks D,
                                        ks_cuda_const_blocks L, int nrhs, ks_cuda_const_blocks b,
                                        ks_cuda_blocks x, void *work,
                                        const ks_blocktri_refine_limits *limits,
                                        ks_blocktri_refine_report *report, void *stream)
{
    const ks_blocktri_refine_limits defaults = KS_BLOCKTRI_REFINE_INIT;
    ks_blocktri_refine_report unasked;
    ks_bt_call call = { 0 };
    if (!limits) limits = &defaults;
    if (!report) report = &unasked;
    if (!plan || !plan->refine || !plan->factored || !work || (uintptr_t)work % 16 ||
        limits->size != sizeof *limits || !(limits->tolerance >= 0) || limits->steps < 0 ||
        b.data == x.data || ks_bt_check_matrix(plan, &D, &L, &call))
        return KS_EINVAL;
    ks_status status = ks_bt_check_sides(plan, nrhs, &b, &x, &call);
    if (status) return status;
    if ((int64_t)plan->systems * nrhs > INT_MAX / 2 / KS_BT_SUMS) return KS_ENOMEM;
    call.work = work;
    call.tolerance = limits->tolerance;
    call.most = limits->steps;
    report->steps = 0;
    report->residual = 0;
    return refine(plan, &call, report, stream ? (ks_gpu_stream *)stream : plan->stream);
}
