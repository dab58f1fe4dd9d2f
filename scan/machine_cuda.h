/* machine_cuda.h -- schedules on a device: one launch for each round, or one cooperative launch for all.
 *
 * The operator is device code, see <kalscan/scan.cuh>. The argument structures of its kernels begin with a
 * ks_scan_task. */
#ifndef KS_MACHINE_CUDA_H
#define KS_MACHINE_CUDA_H

#include "gpu/gpu.h"
#include "schedule.h"

/** An operator on a device. */
typedef struct ks_cuda_operator {
    const ks_gpu_kernel *combine; /**< runs parts that combine, copy, sweep or make neutral elements          */
    const ks_gpu_kernel *absorb;  /**< runs parts that absorb; NULL if no schedule has any                    */
    const ks_gpu_kernel *rerun;   /**< runs parts that re-run; NULL if no schedule has any                    */
    unsigned lanes;               /**< lanes of a block                                                       */
    unsigned team;                /**< threads of a lane; 0: one thread, a block is a row of lanes; otherwise */
                                  /**< each lane is a row of the block                                        */
    size_t shared;                /**< bytes of dynamic shared memory of a block                              */
    int64_t most_blocks;          /**< most blocks of a launch; 0: no limit                                   */
    void *args;                   /**< the kernels' argument structure; the run sets its task                 */
    size_t args_bytes;
    const ks_round *rounds;       /**< NULL: a launch for each round. Otherwise the schedule's rounds in device */
                                  /**< memory: one cooperative launch, with a grid barrier between rounds */
} ks_cuda_operator;

/** Put all rounds into a stream, or into the graph that the stream is captured into. `elements` and `spare` are the
 *  buffers KS_ELEMENTS and KS_WORK in device memory. Returns without waiting. Errors: KS_EINVAL (also if a cooperative
 *  launch has parts that absorb or re-run), KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_cuda_scan(ks_gpu *gpu, const ks_schedule *schedule,
                                     const ks_cuda_operator *op, void *elements, void *spare,
                                     ks_gpu_stream *stream);

#endif
