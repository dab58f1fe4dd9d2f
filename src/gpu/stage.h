/* stage.h -- copying rows of host arrays to and from a device through two halves of pinned memory. While one half is
 * filled or emptied, by several threads if there are any, the other one is copied. */
#ifndef KS_GPU_STAGE_H
#define KS_GPU_STAGE_H

#include "gpu.h"

typedef struct ks_gpu_stage {
    ks_gpu *gpu;
    ks_gpu_stream *stream;
    ks_context *context;   /* its workers fill and empty halves */
    int workers;           /* how many of them                  */
    char *half[2];
    ks_gpu_event *free[2]; /* recorded when a half is free again */
    size_t bytes;          /* of a half                          */
    int next;
} ks_gpu_stage;

/** `count` rows of `bytes` bytes on the host, `stride` bytes apart. */
typedef struct ks_gpu_rows {
    char *base;
    int64_t stride, count;
    size_t bytes;
} ks_gpu_rows;

/** Create a stage. Its halves hold `bytes` bytes, at least the longest row, and are filled and emptied by up to
 *  `workers` workers of the context, which may be NULL. Close it also after a failure. Errors: KS_ENOMEM. */
KS_MUST_CHECK ks_status ks_gpu_stage_open(ks_gpu_stage *stage, ks_gpu *gpu, ks_gpu_stream *stream,
                                          ks_context *context, int workers, size_t bytes);
void ks_gpu_stage_close(ks_gpu_stage *stage);

/** Put copies of rows into the stream; they are contiguous in device memory. The host's rows have been read when this
 *  returns. Errors: KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_gpu_stage_in(ks_gpu_stage *stage, void *device, const ks_gpu_rows *rows);

/** Copy rows from the device to the host. Waits until they are there. Errors: KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_gpu_stage_out(ks_gpu_stage *stage, const ks_gpu_rows *rows,
                                         const void *device);

#endif
