/* machine_cuda.c -- the rounds of a schedule as one launch each, or all in one cooperative launch. */
#include "machine_cuda.h"

static const ks_gpu_kernel *kernel_of(const ks_cuda_operator *op, const ks_round *round)
{
    switch (round->part[0].kind) { /* absorb and re-run have rounds of their own */
    case KS_PART_ABSORB: return op->absorb;
    case KS_PART_RERUN: return op->rerun;
    default: return op->combine;
    }
}

static ks_gpu_shape shape_of(const ks_cuda_operator *op, int64_t lanes)
{
    int64_t blocks = lanes / op->lanes + (lanes % op->lanes != 0);
    if (op->most_blocks > 0 && blocks > op->most_blocks) blocks = op->most_blocks;
    if (blocks > INT32_MAX) blocks = INT32_MAX;
    ks_gpu_shape shape = {{(unsigned)blocks}, {op->lanes}, op->shared, 0};
    if (op->team > 0) {
        shape.block[0] = op->team;
        shape.block[1] = op->lanes;
    }
    return shape;
}

/** Run all rounds in one cooperative launch, with as many blocks as the widest round needs, but no more than can be
 *  resident. */
static ks_status scan_together(ks_gpu *gpu, const ks_schedule *schedule, const ks_cuda_operator *op,
                               ks_gpu_stream *stream)
{
    ks_scan_task *const task = op->args;
    int64_t lanes = 1;
    int resident = 0;
    for (int64_t r = 0; r < schedule->rounds; ++r) {
        const int64_t of_round = ks_round_lanes(&schedule->round[r]);
        if (kernel_of(op, &schedule->round[r]) != op->combine) return KS_EINVAL;
        if (of_round > lanes) lanes = of_round;
    }
    if (schedule->rounds == 0) return KS_OK;
    ks_gpu_shape shape = shape_of(op, lanes);
    const unsigned threads = op->lanes * (op->team > 0 ? op->team : 1);
    ks_status status = ks_gpu_resident(gpu, &resident, op->combine, (int)threads, op->shared);
    if (status != KS_OK) return status;
    const int64_t most = (int64_t)resident * gpu->attributes.multiprocessors;
    if (shape.grid[0] > most) shape.grid[0] = (unsigned)most;
    shape.cooperative = 1;
    task->rounds = op->rounds;
    task->count = schedule->rounds;
    return ks_gpu_launch(gpu, op->combine, &shape, op->args, op->args_bytes, stream);
}

ks_status ks_cuda_scan(ks_gpu *gpu, const ks_schedule *schedule, const ks_cuda_operator *op,
                       void *elements, void *spare, ks_gpu_stream *stream)
{
    if (op->args_bytes < sizeof(ks_scan_task) || op->lanes == 0) return KS_EINVAL;
    ks_scan_task *const task = op->args;
    task->buffer[KS_ELEMENTS] = elements;
    task->buffer[KS_WORK] = spare;
    task->rounds = NULL;
    task->count = 0;
    if (op->rounds) return scan_together(gpu, schedule, op, stream);
    for (int64_t r = 0; r < schedule->rounds; ++r) {
        task->round = schedule->round[r];
        const ks_gpu_kernel *const kernel = kernel_of(op, &task->round);
        const ks_gpu_shape shape = shape_of(op, ks_round_lanes(&task->round));
        if (!kernel) return KS_EINVAL;
        const ks_status status =
            ks_gpu_launch(gpu, kernel, &shape, op->args, op->args_bytes, stream);
        if (status != KS_OK) return status;
    }
    return KS_OK;
}
