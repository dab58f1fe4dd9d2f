/* copy_speed.h -- the speed of copies inside a device, from which benchmarks compute lower bounds of times. */
#ifndef GPU_COPY_SPEED_H
#define GPU_COPY_SPEED_H

#include <stdio.h>
#include "gpu/gpu.h"

/* A run shorter than this many nanoseconds is timed by several in a row. Two events around a single one would also
 * measure the host's time for a launch. */
static const double short_run = 3e5;
enum { BACK_TO_BACK = 16 };
static inline int back_to_back(double ns) { return ns < short_run ? BACK_TO_BACK : 1; }

/* Return the bytes read and written per nanosecond by a copy inside the device. */
static inline double copy_speed(ks_gpu *gpu)
{
    size_t bytes = gpu->attributes.memory / 16;
    void *memory[2] = { NULL };
    ks_gpu_stream *stream = NULL;
    ks_gpu_event *event[2] = { NULL };
    double best = 0;
    if (bytes > (size_t)1 << 30) bytes = (size_t)1 << 30;
    ks_status status = ks_gpu_stream_create(gpu, &stream);
    for (int i = 0; i < 2 && status == KS_OK; ++i) {
        status = ks_gpu_alloc(gpu, &memory[i], bytes);
        if (status == KS_OK) status = ks_gpu_event_create(gpu, &event[i]);
    }
    for (int i = 0; i < 5 && status == KS_OK; ++i) {
        double ms = 0;
        status = ks_gpu_event_record(gpu, event[0], stream);
        if (status == KS_OK) status = ks_gpu_copy(gpu, memory[1], memory[0], bytes, stream);
        if (status == KS_OK) status = ks_gpu_event_record(gpu, event[1], stream);
        if (status == KS_OK) status = ks_gpu_stream_sync(gpu, stream);
        if (status == KS_OK) status = ks_gpu_event_elapsed(gpu, &ms, event[0], event[1]);
        if (ms > 0 && 2 * (double)bytes / (ms * 1e6) > best) best = 2 * (double)bytes / (ms * 1e6);
    }
    for (int i = 0; i < 2; ++i) {
        ks_gpu_free(gpu, memory[i]);
        if (event[i]) ks_gpu_event_destroy(gpu, event[i]);
    }
    ks_gpu_stream_destroy(gpu, stream);
    printf("{\"what\": \"copy inside the device\", \"bytes\": %.0f, \"gb_per_s\": %.1f, "
           "\"device\": \"%s\"}\n", (double)bytes, best, gpu->attributes.name);
    return best > 0 ? best : 1;
}

#endif
