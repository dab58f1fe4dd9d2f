/* driver.h -- what the parts of the library that stands for the driver have in common: contexts, and what every call
 * does first. */
#ifndef DRIVER_H
#define DRIVER_H

#include <cuda.h>
#include <map>
#include <mutex>
#include <string>

#include "device.h"
#include "emulator.h"

/* By their old names, as src/gpu/cuda_driver.h looks them up. */
#undef cuEventElapsedTime
#undef cuFuncLoad

#define EXPORT extern "C" __attribute__((visibility("default")))

struct CUctx_st {
    int number, retained;
    ks_gpu *gpu;       /* the emulated device, while the context is retained */
    unsigned reaches; /* a bit for each device whose memory it may read and write */
};

/** What there is of the driver in this process. */
struct driver {
    enum { DEVICES = 8 };
    std::recursive_mutex mutex; /* the emulated device is for one thread at a time */
    bool begun = false;
    CUctx_st contexts[DEVICES] = {};
    long modules = 0;
    std::map<std::string, long> calls_of;
    std::string fail_name, fault;
    long fail_at = 0;
    CUresult fail_with = CUDA_SUCCESS;

    driver();
    ~driver(); /* writes the report */

    /** Says what is wrong, keeps the first of it for the report, and returns the result. */
    CUresult complain(CUresult result, const std::string &text);

    /** Counts a call; what it is to return before it does anything, or CUDA_SUCCESS. */
    CUresult enter(const char *name, bool in_context);
};
extern driver all;

/** The context of this thread that is current, or NULL, and its device. */
CUctx_st *current();
inline ks_gpu *gpu() { return current()->gpu; }
inline const ks_gpu_table &table() { return *gpu()->table; }

/** What the driver returns where the emulated device returns a status. */
CUresult result_of(ks_status status);

inline ks_gpu_stream *stream_of(CUstream s) { return reinterpret_cast<ks_gpu_stream *>(s); }

/** Whether a stream is of another context. */
inline bool foreign(CUstream s) { return stream_of(s)->owner != &of(gpu()); }

/** The kernel of this name as it was compiled for the host, or NULL. */
const ks_emu_kernel *host_kernel(const char *name);

#define ENTER(name, in_context)                                      \
    const std::lock_guard<std::recursive_mutex> turn(all.mutex);     \
    if (const CUresult first = all.enter(#name, in_context)) return first

#endif
