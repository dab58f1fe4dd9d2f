/* stage.h -- rows of the host's arrays to and from a device, through two halves of pinned memory: one
 * is filled or emptied, by several threads where there are some, while the other one travels. */
#ifndef KS_GPU_STAGE_H
#define KS_GPU_STAGE_H

#include "gpu.h"

typedef struct ks_gpu_stage {
    ks_gpu *gpu;
    ks_gpu_stream *stream;
    ks_context *context;   /* whose workers fill and empty halves   */
    int workers;           /* and how many of them                  */
    char *half[2];
    ks_gpu_event *free[2]; /* happens when a half is no longer used */
    size_t bytes;          /* of a half                             */
    int next;
} ks_gpu_stage;

/** Rows of the host: `count` of `bytes` bytes, one `stride` bytes after the other. */
typedef struct ks_gpu_rows {
    char *base;
    int64_t stride, count;
    size_t bytes;
} ks_gpu_rows;

/** A stage whose halves take `bytes` bytes, at least the longest row, and are filled and emptied by so many workers of
 *  the context, which may be NULL. To be closed also on failure. Errors: KS_ENOMEM. */
KS_MUST_CHECK ks_status ks_gpu_stage_open(ks_gpu_stage *stage, ks_gpu *gpu, ks_gpu_stream *stream,
                                          ks_context *context, int workers, size_t bytes);
void ks_gpu_stage_close(ks_gpu_stage *stage);

/** Put copies of rows, close together in the device's memory, into the stream; the host's rows have
 *  been read when this returns. Errors: KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_gpu_stage_in(ks_gpu_stage *stage, void *device, const ks_gpu_rows *rows);

/** The same the other way; waits until the rows are there. Errors: KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_gpu_stage_out(ks_gpu_stage *stage, const ks_gpu_rows *rows,
                                         const void *device);

#endif
