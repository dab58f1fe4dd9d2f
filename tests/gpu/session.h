/* session.h -- the device of a test that uses gpu.h directly. */
#ifndef GPU_SESSION_H
#define GPU_SESSION_H

#include "gpu/gpu.h"
#include "seed.h"

static ks_gpu *gpu;
static ks_gpu_stream *stream;

/** Open the device and create a stream. */
static inline void begin(int seed)
{
    use_seed(seed);
    OK(ks_gpu_open(&gpu, NULL, 0));
    OK(ks_gpu_stream_create(gpu, &stream));
}

static inline void end(void)
{
    ks_gpu_stream_destroy(gpu, stream);
    ks_gpu_close(gpu);
    check_clean();
}

#endif
