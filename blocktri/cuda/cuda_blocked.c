/* cuda_blocked.c -- launches of the levels for large blocks: ks_bt_blocked.h says what they work on. */
#include <stdio.h>
#include "cuda_plan.h"

/* Right-hand sides up to here are taken a few at once. */
enum { FEW = 2 * KS_BT_NARROW };

static ks_status find(ks_blocktri_cuda_plan *plan, const ks_gpu_kernel **kernel, const char *module,
                      const char *name, const char *suffix)
{
    char full[64];
    snprintf(full, sizeof full, "ks_bt_%s_%s", name, suffix);
    return ks_gpu_find(plan->gpu, kernel, module, full);
}

ks_status ks_bt_blocked_find(ks_blocktri_cuda_plan *plan)
{
    static const char factor[] = "ks_bt_blocked", solve[] = "ks_bt_blocked_solve";
    static const char inverse[] = "ks_bt_blocked_inverse";
    ks_bt_blocked_kernels *k = &plan->tiled;
    const char *const suffix = plan->number == sizeof(double) ? "f64" : "f32";
    const char *const outside = plan->refine ? "mixed" : suffix; /* what meets the caller's numbers */
    char sided[2][16];
    snprintf(sided[0], sizeof sided[0], "narrow_%s", suffix);
    snprintf(sided[1], sizeof sided[1], "wide_%s", suffix);
    ks_status status = find(plan, &k->begin, factor, "begin", outside);
    if (!status) status = find(plan, &k->column, factor, "column", outside);
    for (int i = 0; i < 2; ++i) {
        if (!status) status = find(plan, &k->collect[i], solve, "collect", sided[i]);
        if (!status) status = find(plan, &k->forward[i], solve, "forward", sided[i]);
        if (!status) status = find(plan, &k->give[i], solve, "give", sided[i]);
        if (!status) status = find(plan, &k->backward[i], solve, "backward", sided[i]);
    }
    if (!status) status = find(plan, &k->gain, inverse, "gain", suffix);
    if (!status) status = find(plan, &k->cross, inverse, "cross", suffix);
    if (!status) status = find(plan, &k->middle, inverse, "middle", suffix);
    if (!status) status = find(plan, &k->deliver, inverse, "deliver", outside);
    return status;
}

/* A launch of so many thread blocks with so many elements of shared memory. */
static ks_status launch(const ks_blocktri_cuda_plan *plan, const ks_gpu_kernel *kernel,
                        const ks_bt_blocked_args *args, int64_t blocks, int elements)
{
    const ks_gpu_shape shape = { { (unsigned)blocks }, { KS_BT_THREADS },
                                 (size_t)elements * plan->number, 0 };
    return blocks > 0 ? ks_gpu_launch(plan->gpu, kernel, &shape, args, sizeof *args, plan->stream)
                      : KS_OK;
}

/* Blocks that are left at a level, in all systems, and those of them that it eliminates. */
static int64_t left_at(const ks_blocktri_cuda_plan *plan, int level)
{
    return (int64_t)(plan->N >> level) * plan->systems;
}

static int64_t eliminated_at(const ks_blocktri_cuda_plan *plan, int level)
{
    return (int64_t)(((plan->N >> level) + 1) / 2) * plan->systems;
}

static ks_status factorize(const ks_blocktri_cuda_plan *plan, ks_bt_blocked_args args)
{
    const int64_t tiles = ks_bt_tiles(plan->padded), lower = tiles * (tiles + 1) / 2;
    ks_status status = ks_gpu_fill(plan->gpu, plan->failure, 0xff,
                                   (size_t)plan->systems * sizeof *plan->failure, plan->stream);
    for (int level = 0; level < plan->levels && !status; ++level) {
        const int64_t eliminated = eliminated_at(plan, level);
        const int64_t couplings = level + 1 < plan->levels ? 2 * tiles : 0;
        args.level = level;
        status = launch(plan, plan->tiled.begin, &args,
                        level == 0 ? eliminated
                                   : left_at(plan, level) * lower +
                                         eliminated_at(plan, level - 1) * tiles * tiles,
                        KS_BT_FACTOR_ELEMENTS);
        for (args.column = 0; args.column < tiles && !status; ++args.column)
            status = launch(plan, plan->tiled.column, &args,
                            eliminated * (tiles - 1 - args.column + couplings),
                            KS_BT_FACTOR_ELEMENTS);
    }
    return status;
}

static ks_status solve(const ks_blocktri_cuda_plan *plan, ks_bt_blocked_args args)
{
    const ks_bt_blocked_kernels *k = &plan->tiled;
    const int many = args.nrhs > FEW, columns = many ? KS_BT_WIDE : KS_BT_NARROW;
    const int64_t tiles = ks_bt_tiles(plan->padded), chunks = (args.nrhs + columns - 1) / columns;
    const int elements = many ? KS_BT_SOLVE_ELEMENTS(KS_BT_WIDE) : KS_BT_SOLVE_ELEMENTS(KS_BT_NARROW);
    ks_status status = KS_OK;
    for (args.level = 0; args.level < plan->levels && !status; ++args.level) {
        if (args.level > 0)
            status = launch(plan, k->collect[many], &args, left_at(plan, args.level) * chunks * tiles,
                            elements);
        if (!status)
            status = launch(plan, k->forward[many], &args, eliminated_at(plan, args.level) * chunks,
                            elements);
    }
    for (args.level = plan->levels - 1; args.level >= 0 && !status; --args.level) {
        const int64_t work = eliminated_at(plan, args.level) * chunks;
        if (args.level + 1 < plan->levels)
            status = launch(plan, k->give[many], &args, work * tiles, elements);
        if (!status) status = launch(plan, k->backward[many], &args, work, elements);
    }
    return status;
}

static ks_status invert(const ks_blocktri_cuda_plan *plan, ks_bt_blocked_args args)
{
    const ks_bt_blocked_kernels *k = &plan->tiled;
    const int64_t tiles = ks_bt_tiles(plan->padded), lower = tiles * (tiles + 1) / 2;
    const int64_t kinds = args.lag.data ? 2 : 1;
    const int elements = KS_BT_PIPELINE(KS_BT_TILE);
    ks_bt_blocked_args unit = args;
    ks_status status = KS_OK;
    unit.identity = 1;
    unit.n = unit.nrhs = plan->padded;
    for (int level = plan->levels - 1; level >= 0 && !status; --level) {
        const int64_t eliminated = eliminated_at(plan, level);
        const int64_t couplings = level + 1 < plan->levels ? 2 * tiles * tiles * eliminated : 0;
        args.level = unit.level = level;
        status = launch(plan, k->forward[1], &unit, eliminated * tiles,
                        KS_BT_SOLVE_ELEMENTS(KS_BT_WIDE));
        if (!status) status = launch(plan, k->gain, &args, couplings, elements);
        if (!status) status = launch(plan, k->cross, &args, couplings, elements);
        if (!status) status = launch(plan, k->middle, &args, eliminated * lower, elements);
    }
    return status ? status
                  : launch(plan, k->deliver, &args, left_at(plan, 0) * kinds * tiles * tiles, elements);
}

ks_status ks_bt_blocked_enqueue(const ks_blocktri_cuda_plan *plan, ks_bt_work_kind kind,
                                const ks_bt_call *call)
{
    const size_t block = (size_t)plan->padded * (size_t)plan->padded * plan->number;
    ks_bt_blocked_args args = { 0 };
    ks_status status = KS_OK;
    args.N = plan->N;
    args.systems = plan->systems;
    args.n = plan->n;
    args.padded = plan->padded;
    args.nrhs = call->nrhs;
    args.D = call->D;
    args.L = call->L;
    args.scale = plan->scale;
    args.factor = plan->factor;
    args.b = call->b;
    args.x = call->x;
    args.failure = plan->failure;
    if (kind == KS_BT_INVERSE) {
        args.inverse = call->work;
        args.work = (char *)call->work + (size_t)plan->systems * (size_t)plan->N * 3 * block;
        args.S = call->S;
        args.lag = call->lag;
        return invert(plan, args);
    }
    if (kind != KS_BT_SOLVE) status = factorize(plan, args);
    if (kind != KS_BT_FACTORIZE && !status) status = solve(plan, args);
    return status;
}
