/* machine_cuda.c -- the rounds of a schedule as launches. */
#include "machine_cuda.h"

static const ks_gpu_kernel *kernel_of(const ks_cuda_operator *op, const ks_round *round)
{
    switch (round->part[0].kind) { /* parts of steps stand in rounds of their own */
    case KS_PART_ABSORB: return op->absorb;
    case KS_PART_RERUN: return op->rerun;
    default: return op->combine;
    }
}

static ks_gpu_shape shape_of(const ks_cuda_operator *op, int64_t lanes)
{
    int64_t blocks = lanes / op->threads + (lanes % op->threads != 0);
    if (op->most_blocks > 0 && blocks > op->most_blocks) blocks = op->most_blocks;
    if (blocks > INT32_MAX) blocks = INT32_MAX;
    const ks_gpu_shape shape = {{(unsigned)blocks}, {op->threads}, 0, 0};
    return shape;
}

ks_status ks_cuda_scan(ks_gpu *gpu, const ks_schedule *schedule, const ks_cuda_operator *op,
                       void *elements, void *spare, ks_gpu_stream *stream)
{
    if (op->args_bytes < sizeof(ks_scan_task) || op->threads == 0) return KS_EINVAL;
    ks_scan_task *const task = op->args;
    task->buffer[KS_ELEMENTS] = elements;
    task->buffer[KS_WORK] = spare;
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
