/* gpu.h -- a CUDA device for driver code: plain C and statuses, without CUDA's own headers.
 *
 * Linking decides which device ks_gpu_open() opens: gpu_cuda.c uses the driver of the machine, gpu_none.c has no
 * device, and the tests link an emulated one (tests/gpu/emulator/). Everything else goes through the table of the
 * opened device.
 *
 * Copies, fills, launches, records and waits are put into a stream and return at once. They run in the order of the
 * stream. Memory that they use, also on the host, must stay unchanged until the stream has been waited for. Several
 * threads may use one device at once; a stream may be used by one thread at a time. An error in a stream is returned by
 * the call that caused it or by a later one that waits. */
#ifndef KS_GPU_H
#define KS_GPU_H

#include <stddef.h>
#include <stdint.h>
#include "kalscan/context.h"
#include "kalscan/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ks_gpu ks_gpu;
typedef struct ks_gpu_stream ks_gpu_stream; /**< with CUDA, the CUstream or cudaStream_t itself */
typedef struct ks_gpu_event ks_gpu_event;
typedef struct ks_gpu_graph ks_gpu_graph;
typedef struct ks_gpu_kernel ks_gpu_kernel; /**< owned by the device */

/** Attributes of a device. */
typedef struct ks_gpu_attributes {
    char name[128];
    int major, minor;            /**< compute capability                                         */
    int multiprocessors;
    int block_threads;           /**< most threads of a block                                  */
    int threads;                 /**< most threads of a multiprocessor                         */
    int cooperative;             /**< non-zero: cooperative launches are possible              */
    size_t block_shared;         /**< most shared memory of a block, static and dynamic, bytes */
    size_t memory;               /**< memory of the device, bytes                              */
    size_t l2;                   /**< L2 cache, bytes                                          */
} ks_gpu_attributes;

/** How a kernel is launched. Dimensions of 0 count as 1. */
typedef struct ks_gpu_shape {
    unsigned grid[3], block[3];
    size_t shared;               /**< dynamic shared memory of each block, bytes                  */
    int cooperative;             /**< non-zero: all blocks run at once and may use ks_grid_sync() */
} ks_gpu_shape;

/** The operations of a device. Call them through the functions below. */
typedef struct ks_gpu_table {
    void (*close)(ks_gpu *);
    ks_status (*alloc)(ks_gpu *, void **, size_t);
    void (*free)(ks_gpu *, void *);
    ks_status (*host_alloc)(ks_gpu *, void **, size_t);
    void (*host_free)(ks_gpu *, void *);
    ks_status (*stream_create)(ks_gpu *, ks_gpu_stream **);
    void (*stream_destroy)(ks_gpu *, ks_gpu_stream *);
    ks_status (*stream_sync)(ks_gpu *, ks_gpu_stream *);
    ks_status (*event_create)(ks_gpu *, ks_gpu_event **);
    void (*event_destroy)(ks_gpu *, ks_gpu_event *);
    ks_status (*event_record)(ks_gpu *, ks_gpu_event *, ks_gpu_stream *);
    ks_status (*event_wait)(ks_gpu *, ks_gpu_event *, ks_gpu_stream *);
    ks_status (*event_sync)(ks_gpu *, ks_gpu_event *);
    ks_status (*event_elapsed)(ks_gpu *, double *, ks_gpu_event *, ks_gpu_event *);
    ks_status (*copy_in)(ks_gpu *, void *, const void *, size_t, ks_gpu_stream *);
    ks_status (*copy_out)(ks_gpu *, void *, const void *, size_t, ks_gpu_stream *);
    ks_status (*copy)(ks_gpu *, void *, const void *, size_t, ks_gpu_stream *);
    ks_status (*copy_across)(ks_gpu *, ks_gpu *, void *, const void *, size_t, ks_gpu_stream *);
    void (*join)(ks_gpu *, ks_gpu *);
    ks_status (*fill)(ks_gpu *, void *, int, size_t, ks_gpu_stream *);
    ks_status (*kernel)(ks_gpu *, const ks_gpu_kernel **, const char *, const char *);
    ks_status (*resident)(ks_gpu *, int *, const ks_gpu_kernel *, int, size_t);
    ks_status (*launch)(ks_gpu *, const ks_gpu_kernel *, const ks_gpu_shape *, const void *, size_t,
                        ks_gpu_stream *);
    ks_status (*capture_begin)(ks_gpu *, ks_gpu_stream *);
    ks_status (*capture_end)(ks_gpu *, ks_gpu_graph **, ks_gpu_stream *);
    ks_status (*graph_launch)(ks_gpu *, ks_gpu_graph *, ks_gpu_stream *);
    void (*graph_destroy)(ks_gpu *, ks_gpu_graph *);
    ks_status (*room)(ks_gpu *, size_t *);
} ks_gpu_table;

/** The first part of every device; the rest belongs to its implementation. */
struct ks_gpu {
    const ks_gpu_table *table;
    ks_gpu_attributes attributes;
    int code; /**< code of the last failure, in the numbering of the driver; 0: none */
    size_t local; /**< most local memory of a thread, bytes, over all kernels looked up so far */
};

/** Open device `number`, counted from 0. Host memory comes from the context, which may be NULL and must outlive the
 *  device. Errors: KS_EINVAL, KS_ENOMEM, KS_ENODEV (no such device, no driver, or a build without CUDA),
 *  KS_EUNAVAILABLE (the device or its driver is older than the build supports). */
KS_MUST_CHECK ks_status ks_gpu_open(ks_gpu **out, ks_context *context, int number);

/** Return non-zero if device `number` certainly does not exist: the build has no CUDA, or no driver is installed. This
 *  is quick. 0 means nothing; only opening the device tells, which takes tenths of a second. */
int ks_gpu_absent(int number);

/** Close a device. Everything created with it must have been destroyed. NULL is allowed. */
static inline void ks_gpu_close(ks_gpu *gpu)
{
    if (gpu) gpu->table->close(gpu);
}

/** Allocate device memory, aligned to 256 bytes, with undefined contents. 0 bytes give NULL. Errors: KS_ENOMEM. */
static inline KS_MUST_CHECK ks_status ks_gpu_alloc(ks_gpu *gpu, void **out, size_t bytes)
{
    return gpu->table->alloc(gpu, out, bytes);
}

/** Free device memory, after all work that the device still has. NULL is allowed. */
static inline void ks_gpu_free(ks_gpu *gpu, void *memory)
{
    if (memory) gpu->table->free(gpu, memory);
}

/** Return the number of free bytes of device memory. */
static inline KS_MUST_CHECK ks_status ks_gpu_room(ks_gpu *gpu, size_t *bytes)
{
    return gpu->table->room(gpu, bytes);
}

/** Allocate pinned host memory: copies to and from it overlap with other work of the device. Errors: KS_ENOMEM. */
static inline KS_MUST_CHECK ks_status ks_gpu_host_alloc(ks_gpu *gpu, void **out, size_t bytes)
{
    return gpu->table->host_alloc(gpu, out, bytes);
}

static inline void ks_gpu_host_free(ks_gpu *gpu, void *memory)
{
    if (memory) gpu->table->host_free(gpu, memory);
}

/** Create a stream that waits for no other stream. */
static inline KS_MUST_CHECK ks_status ks_gpu_stream_create(ks_gpu *gpu, ks_gpu_stream **out)
{
    return gpu->table->stream_create(gpu, out);
}

/** Wait for everything in a stream, then destroy it. NULL is allowed. */
static inline void ks_gpu_stream_destroy(ks_gpu *gpu, ks_gpu_stream *stream)
{
    if (stream) gpu->table->stream_destroy(gpu, stream);
}

/** Wait for everything in a stream. Errors: KS_EDEVICE if any of it failed. */
static inline KS_MUST_CHECK ks_status ks_gpu_stream_sync(ks_gpu *gpu, ks_gpu_stream *stream)
{
    return gpu->table->stream_sync(gpu, stream);
}

static inline KS_MUST_CHECK ks_status ks_gpu_event_create(ks_gpu *gpu, ks_gpu_event **out)
{
    return gpu->table->event_create(gpu, out);
}

static inline void ks_gpu_event_destroy(ks_gpu *gpu, ks_gpu_event *event)
{
    if (event) gpu->table->event_destroy(gpu, event);
}

/** Record the work in the stream so far as the event. */
static inline KS_MUST_CHECK ks_status ks_gpu_event_record(ks_gpu *gpu, ks_gpu_event *event,
                                                          ks_gpu_stream *stream)
{
    return gpu->table->event_record(gpu, event, stream);
}

/** Make later work in the stream wait for the event. The caller does not wait. */
static inline KS_MUST_CHECK ks_status ks_gpu_event_wait(ks_gpu *gpu, ks_gpu_event *event,
                                                        ks_gpu_stream *stream)
{
    return gpu->table->event_wait(gpu, event, stream);
}

/** Wait for the event. */
static inline KS_MUST_CHECK ks_status ks_gpu_event_sync(ks_gpu *gpu, ks_gpu_event *event)
{
    return gpu->table->event_sync(gpu, event);
}

/** Return the milliseconds between two events that have completed. */
static inline KS_MUST_CHECK ks_status ks_gpu_event_elapsed(ks_gpu *gpu, double *milliseconds,
                                                           ks_gpu_event *begin, ks_gpu_event *end)
{
    return gpu->table->event_elapsed(gpu, milliseconds, begin, end);
}

/** Copy from the host to the device. */
static inline KS_MUST_CHECK ks_status ks_gpu_copy_in(ks_gpu *gpu, void *device, const void *host,
                                                     size_t bytes, ks_gpu_stream *stream)
{
    return bytes ? gpu->table->copy_in(gpu, device, host, bytes, stream) : KS_OK;
}

/** Copy from the device to the host. */
static inline KS_MUST_CHECK ks_status ks_gpu_copy_out(ks_gpu *gpu, void *host, const void *device,
                                                      size_t bytes, ks_gpu_stream *stream)
{
    return bytes ? gpu->table->copy_out(gpu, host, device, bytes, stream) : KS_OK;
}

/** Copy within the device. The two blocks must not overlap. */
static inline KS_MUST_CHECK ks_status ks_gpu_copy(ks_gpu *gpu, void *to, const void *from,
                                                  size_t bytes, ks_gpu_stream *stream)
{
    return bytes ? gpu->table->copy(gpu, to, from, bytes, stream) : KS_OK;
}

/** Copy to the memory of another device, or of the same one. The stream belongs to the source device. Streams of each
 *  device may wait for events of the other. */
static inline KS_MUST_CHECK ks_status ks_gpu_copy_across(ks_gpu *from_gpu, ks_gpu *to_gpu, void *to,
                                                         const void *from, size_t bytes,
                                                         ks_gpu_stream *stream)
{
    return bytes ? from_gpu->table->copy_across(from_gpu, to_gpu, to, from, bytes, stream) : KS_OK;
}

/** Enable direct copies between two devices if the machine supports them. Otherwise, and without this call, copies go
 *  through host memory. It remains in effect for all users of the devices' contexts. Call it when planning. */
static inline void ks_gpu_join(ks_gpu *gpu, ks_gpu *other) { gpu->table->join(gpu, other); }

/** Set every byte of a block of device memory. */
static inline KS_MUST_CHECK ks_status ks_gpu_fill(ks_gpu *gpu, void *device, int byte, size_t bytes,
                                                  ks_gpu_stream *stream)
{
    return bytes ? gpu->table->fill(gpu, device, byte, bytes, stream) : KS_OK;
}

/** Look up kernel `name` of the source file `module`.cu. The first call is slow, so call it when planning. Errors:
 *  KS_EUNAVAILABLE if there is no such kernel, or none for this device. */
static inline KS_MUST_CHECK ks_status ks_gpu_find(ks_gpu *gpu, const ks_gpu_kernel **out,
                                                  const char *module, const char *name)
{
    return gpu->table->kernel(gpu, out, module, name);
}

/** Return the bytes of device memory that the driver reserves to launch the kernels that were looked up so far: the
 *  local memory of as many threads as can be resident. */
static inline size_t ks_gpu_local_bytes(const ks_gpu *gpu)
{
    return gpu->local * (size_t)gpu->attributes.threads * (size_t)gpu->attributes.multiprocessors;
}

/** Return how many blocks of `threads` threads with `shared` bytes of dynamic shared memory fit on one multiprocessor.
 *  The largest grid of a cooperative launch is this times the number of multiprocessors. */
static inline KS_MUST_CHECK ks_status ks_gpu_resident(ks_gpu *gpu, int *blocks,
                                                      const ks_gpu_kernel *kernel, int threads,
                                                      size_t shared)
{
    return gpu->table->resident(gpu, blocks, kernel, threads, shared);
}

/** Launch a kernel. `args` is the argument structure that its KS_KERNEL() names. It is copied before this returns.
 *  Errors: KS_EDEVICE, also for a size that the device does not support. */
static inline KS_MUST_CHECK ks_status ks_gpu_launch(ks_gpu *gpu, const ks_gpu_kernel *kernel,
                                                    const ks_gpu_shape *shape,
                                                    const void *args, size_t args_bytes,
                                                    ks_gpu_stream *stream)
{
    return gpu->table->launch(gpu, kernel, shape, args, args_bytes, stream);
}

/** Begin to record what is put into the stream instead of running it. Another stream joins the recording by waiting for
 *  an event recorded in it. Until it ends, allocate nothing and wait for nothing. */
static inline KS_MUST_CHECK ks_status ks_gpu_capture_begin(ks_gpu *gpu, ks_gpu_stream *stream)
{
    return gpu->table->capture_begin(gpu, stream);
}

/** End the recording and return it as a graph, with the arguments as they were. */
static inline KS_MUST_CHECK ks_status ks_gpu_capture_end(ks_gpu *gpu, ks_gpu_graph **out,
                                                         ks_gpu_stream *stream)
{
    return gpu->table->capture_end(gpu, out, stream);
}

/** Put a graph into a stream. */
static inline KS_MUST_CHECK ks_status ks_gpu_graph_launch(ks_gpu *gpu, ks_gpu_graph *graph,
                                                          ks_gpu_stream *stream)
{
    return gpu->table->graph_launch(gpu, graph, stream);
}

static inline void ks_gpu_graph_destroy(ks_gpu *gpu, ks_gpu_graph *graph)
{
    if (graph) gpu->table->graph_destroy(gpu, graph);
}

#ifdef __cplusplus
}
#endif
#endif
