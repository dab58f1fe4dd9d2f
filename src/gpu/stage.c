/* stage.c -- see stage.h. */
#include "gpu/stage.h"

#include <string.h>

ks_status ks_gpu_stage_open(ks_gpu_stage *stage, ks_gpu *gpu, ks_gpu_stream *stream, size_t bytes)
{
    memset(stage, 0, sizeof *stage);
    stage->gpu = gpu;
    stage->stream = stream;
    stage->bytes = bytes;
    ks_status status = KS_OK;
    for (int i = 0; i < 2 && status == KS_OK; ++i) {
        void *memory = NULL;
        status = ks_gpu_host_alloc(gpu, &memory, bytes);
        stage->half[i] = memory;
        if (status == KS_OK) status = ks_gpu_event_create(gpu, &stage->free[i]);
        if (status == KS_OK) status = ks_gpu_event_record(gpu, stage->free[i], stream);
    }
    return status;
}

void ks_gpu_stage_close(ks_gpu_stage *stage)
{
    for (int i = 0; i < 2; ++i) {
        if (stage->free[i]) ks_gpu_event_destroy(stage->gpu, stage->free[i]);
        ks_gpu_host_free(stage->gpu, stage->half[i]);
    }
    memset(stage, 0, sizeof *stage);
}

/** Between the host's rows from `first` and a half: `count` of them. */
static void move(const ks_gpu_rows *rows, int64_t first, int64_t count, char *half, int out)
{
    const int64_t bytes = (int64_t)rows->bytes;
    char *host = rows->base + first * rows->stride;
    const int whole = rows->stride == bytes || count == 1;
    const int64_t pieces = whole ? 1 : count, piece = whole ? count * bytes : bytes;
    for (int64_t i = 0; i < pieces; ++i)
        if (out)
            memcpy(host + i * rows->stride, half + i * piece, (size_t)piece);
        else
            memcpy(half + i * piece, host + i * rows->stride, (size_t)piece);
}

/** How many of the rows from `first` on one half takes. */
static int64_t share(const ks_gpu_stage *stage, const ks_gpu_rows *rows, int64_t first)
{
    const int64_t most = (int64_t)(stage->bytes / rows->bytes), left = rows->count - first;
    return left < most ? left : most;
}

ks_status ks_gpu_stage_in(ks_gpu_stage *stage, void *device, const ks_gpu_rows *rows)
{
    ks_status status = KS_OK;
    for (int64_t first = 0, count; first < rows->count && status == KS_OK; first += count) {
        const int i = stage->next;
        count = share(stage, rows, first);
        stage->next = 1 - i;
        status = ks_gpu_event_sync(stage->gpu, stage->free[i]);
        if (status != KS_OK) break;
        move(rows, first, count, stage->half[i], 0);
        status = ks_gpu_copy_in(stage->gpu, (char *)device + first * (int64_t)rows->bytes,
                                stage->half[i], (size_t)count * rows->bytes, stage->stream);
        if (status == KS_OK)
            status = ks_gpu_event_record(stage->gpu, stage->free[i], stage->stream);
    }
    return status;
}

ks_status ks_gpu_stage_out(ks_gpu_stage *stage, const ks_gpu_rows *rows, const void *device)
{
    ks_status status = KS_OK;
    int64_t before = 0, waiting = 0; /* rows that are on their way into the other half */
    for (int64_t first = 0; status == KS_OK && (first < rows->count || waiting > 0);) {
        const int i = stage->next;
        const int64_t count = share(stage, rows, first);
        stage->next = 1 - i;
        if (count > 0) {
            status = ks_gpu_copy_out(stage->gpu, stage->half[i],
                                     (const char *)device + first * (int64_t)rows->bytes,
                                     (size_t)count * rows->bytes, stage->stream);
            if (status == KS_OK)
                status = ks_gpu_event_record(stage->gpu, stage->free[i], stage->stream);
        }
        if (waiting > 0 && status == KS_OK) {
            status = ks_gpu_event_sync(stage->gpu, stage->free[1 - i]);
            if (status == KS_OK) move(rows, before, waiting, stage->half[1 - i], 1);
        }
        before = first;
        waiting = count;
        first += count;
    }
    return status;
}
