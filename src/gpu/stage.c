/* stage.c -- see stage.h. */
#include "gpu/stage.h"

#include <string.h>
#include "pool.h"

/* Bytes that one worker moves at a time; waking a worker for fewer does not pay. */
enum { PIECE = 1 << 18 };

ks_status ks_gpu_stage_open(ks_gpu_stage *stage, ks_gpu *gpu, ks_gpu_stream *stream, ks_context *context,
                            int workers, size_t bytes)
{
    memset(stage, 0, sizeof *stage);
    stage->gpu = gpu;
    stage->context = context;
    stage->workers = workers;
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

/** Rows to be moved between the host and a half. */
typedef struct moving {
    const ks_gpu_rows *rows;
    char *half;
    int64_t first, count, share; /* share: rows of a piece */
    int out;
} moving;

/** Move some of the pieces: a ks_range_function. */
static void move_pieces(void *arg, int64_t begin, int64_t end, int worker)
{
    const moving *m = arg;
    const int64_t bytes = (int64_t)m->rows->bytes, stride = m->rows->stride;
    const int64_t last = end * m->share < m->count ? end * m->share : m->count, first = begin * m->share;
    const int whole = stride == bytes || last - first == 1;
    const int64_t copies = whole ? 1 : last - first, each = whole ? (last - first) * bytes : bytes;
    char *const host = m->rows->base + (m->first + first) * stride, *const half = m->half + first * bytes;
    (void)worker;
    for (int64_t i = 0; i < copies; ++i)
        if (m->out)
            memcpy(host + i * stride, half + i * each, (size_t)each);
        else
            memcpy(half + i * each, host + i * stride, (size_t)each);
}

/** Move `count` rows, from row `first` on, between the host and a half. */
static void move(const ks_gpu_stage *stage, const ks_gpu_rows *rows, int64_t first, int64_t count, char *half, int out)
{
    const int64_t bytes = (int64_t)rows->bytes, share = bytes < PIECE ? PIECE / bytes : 1;
    moving m = { rows, half, first, count, share, out };
    const int64_t pieces = (count + share - 1) / share;
    ks_parallel_for(stage->context, ks_workers(stage->context, stage->workers, pieces), pieces, move_pieces, &m);
}

/** Return how many rows from `first` on fit in a half. */
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
        move(stage, rows, first, count, stage->half[i], 0);
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
    int64_t before = 0, waiting = 0; /* first row and number of rows on their way into the other half */
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
            if (status == KS_OK) move(stage, rows, before, waiting, stage->half[1 - i], 1);
        }
        before = first;
        waiting = count;
        first += count;
    }
    return status;
}
