/* machine_cuda.h -- schedules on a device: each round is a launch, or all of them are a cooperative one.
 *
 * The operator is device code, see <kalscan/scan.cuh>, behind kernels whose argument structures
 * begin with a ks_scan_task. */
#ifndef KS_MACHINE_CUDA_H
#define KS_MACHINE_CUDA_H

#include "gpu/gpu.h"
#include "schedule.h"

/** An operator on a device. */
typedef struct ks_cuda_operator {
    const ks_gpu_kernel *combine; /**< of parts that combine, copy, sweep or make neutral elements */
    const ks_gpu_kernel *absorb;  /**< of those that absorb and                                    */
    const ks_gpu_kernel *rerun;   /**< re-run steps; NULL where no schedule asks                   */
    unsigned lanes;               /**< of a block                                                  */
    unsigned team;                /**< threads of a lane: 0: one, and a block is a row of lanes; else each lane */
                                  /**< is a row of the block                                       */
    size_t shared;                /**< bytes of dynamic shared memory of a block                   */
    int64_t most_blocks;          /**< of a launch; 0: no limit                                    */
    void *args;                   /**< the kernels' argument structure; its task is set here       */
    size_t args_bytes;
    const ks_round *rounds;       /**< NULL, or the schedule's in the device's memory: one cooperative */
                                  /**< launch, in which `combine` waits for the grid between rounds    */
} ks_cuda_operator;

/** Put all rounds into a stream, or into the graph that it is captured into. `elements` and `spare`
 *  are the buffers KS_ELEMENTS and KS_WORK, in the device's memory. Nothing is waited for.
 *  Errors: KS_EINVAL (also of rounds of steps in a cooperative launch), KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_cuda_scan(ks_gpu *gpu, const ks_schedule *schedule,
                                     const ks_cuda_operator *op, void *elements, void *spare,
                                     ks_gpu_stream *stream);

#endif
