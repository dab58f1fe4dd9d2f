/* gpu.h -- a CUDA device as driver code sees it: plain C, statuses, nothing of CUDA itself.
 *
 * Which device ks_gpu_open() opens is decided when linking: gpu_cuda.c reaches the driver of the
 * machine, gpu_none.c has no device, and the tests link an emulated one (tests/gpu/emulator/).
 * Everything else goes through the table of the device that was opened.
 *
 * Copies, fills, launches, records and waits are put into a stream and return at once; they run in
 * the stream's order. Memory that they name, host memory too, stays as it is until the stream has
 * been waited for. Many threads may use one device, a stream at a time each. An error of what runs in
 * a stream is returned by that call or by a later one that waits. */
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
typedef struct ks_gpu_stream ks_gpu_stream; /**< with CUDA, the CUstream or cudaStream_t itself  */
typedef struct ks_gpu_event ks_gpu_event;
typedef struct ks_gpu_graph ks_gpu_graph;
typedef struct ks_gpu_kernel ks_gpu_kernel; /**< belongs to the device                           */

/** What a device is. */
typedef struct ks_gpu_attributes {
    char name[128];
    int major, minor;            /**< compute capability                                         */
    int multiprocessors;
    int block_threads;           /**< most threads of a block                                    */
    int threads;                 /**< most threads of a multiprocessor                           */
    int cooperative;             /**< non-zero where cooperative launches are possible           */
    size_t block_shared;         /**< most shared memory of a block, static and dynamic, bytes   */
    size_t memory;               /**< of the device, bytes                                       */
    size_t l2;                   /**< cache, bytes                                               */
} ks_gpu_attributes;

/** How a kernel is launched; unset dimensions count as 1. */
typedef struct ks_gpu_shape {
    unsigned grid[3], block[3];
    size_t shared;               /**< dynamic shared memory of each block, bytes                 */
    int cooperative;             /**< non-zero: all blocks run at once and may use ks_grid_sync()*/
} ks_gpu_shape;

/** The operations of a device; called through the functions below. */
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

/** The head of every device; the rest is its implementation's. */
struct ks_gpu {
    const ks_gpu_table *table;
    ks_gpu_attributes attributes;
    int code; /**< the run time's own number of the last failure, 0 where there was none         */
    size_t local; /**< bytes beside its registers that a thread of a kernel looked up so far has, at most */
};

/** Open device `number`, from 0. Memory of the host comes from the context, which may be NULL and
 *  outlives the device. Errors: KS_EINVAL, KS_ENOMEM, KS_ENODEV (no such device, no driver, or the
 *  back end is not built in), KS_EUNAVAILABLE (it or its driver is older than what was compiled for). */
KS_MUST_CHECK ks_status ks_gpu_open(ks_gpu **out, ks_context *context, int number);

/** Whether device `number` is not there for sure, which is known at once: the back end is not built in, or no driver is
 *  installed. 0 says nothing; to open a device, and so to be sure, takes some tenths of a second. */
int ks_gpu_absent(int number);

/** Close it; what was made with it is gone already. NULL is allowed. */
static inline void ks_gpu_close(ks_gpu *gpu)
{
    if (gpu) gpu->table->close(gpu);
}

/** Memory of the device, aligned to 256 bytes, holding anything; 0 bytes give NULL.
 *  Errors: KS_ENOMEM. */
static inline KS_MUST_CHECK ks_status ks_gpu_alloc(ks_gpu *gpu, void **out, size_t bytes)
{
    return gpu->table->alloc(gpu, out, bytes);
}

/** Give it back, after everything that the device still does. NULL is allowed. */
static inline void ks_gpu_free(ks_gpu *gpu, void *memory)
{
    if (memory) gpu->table->free(gpu, memory);
}

/** Bytes that are free. */
static inline KS_MUST_CHECK ks_status ks_gpu_room(ks_gpu *gpu, size_t *bytes)
{
    return gpu->table->room(gpu, bytes);
}

/** Pinned memory of the host: copies to and from it overlap with what else the device does.
 *  Errors: KS_ENOMEM. */
static inline KS_MUST_CHECK ks_status ks_gpu_host_alloc(ks_gpu *gpu, void **out, size_t bytes)
{
    return gpu->table->host_alloc(gpu, out, bytes);
}

static inline void ks_gpu_host_free(ks_gpu *gpu, void *memory)
{
    if (memory) gpu->table->host_free(gpu, memory);
}

/** A stream that waits for no other. */
static inline KS_MUST_CHECK ks_status ks_gpu_stream_create(ks_gpu *gpu, ks_gpu_stream **out)
{
    return gpu->table->stream_create(gpu, out);
}

/** Destroy a stream, after what is in it. NULL is allowed. */
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

/** The event stands for what is in the stream by now. */
static inline KS_MUST_CHECK ks_status ks_gpu_event_record(ks_gpu *gpu, ks_gpu_event *event,
                                                          ks_gpu_stream *stream)
{
    return gpu->table->event_record(gpu, event, stream);
}

/** What is put into the stream from now on waits for the event; the caller does not. */
static inline KS_MUST_CHECK ks_status ks_gpu_event_wait(ks_gpu *gpu, ks_gpu_event *event,
                                                        ks_gpu_stream *stream)
{
    return gpu->table->event_wait(gpu, event, stream);
}

/** The caller waits for the event. */
static inline KS_MUST_CHECK ks_status ks_gpu_event_sync(ks_gpu *gpu, ks_gpu_event *event)
{
    return gpu->table->event_sync(gpu, event);
}

/** Milliseconds between two events that have happened. */
static inline KS_MUST_CHECK ks_status ks_gpu_event_elapsed(ks_gpu *gpu, double *milliseconds,
                                                           ks_gpu_event *begin, ks_gpu_event *end)
{
    return gpu->table->event_elapsed(gpu, milliseconds, begin, end);
}

/** Copy from the host into the device. */
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

/** Copy inside the device; the two do not overlap. */
static inline KS_MUST_CHECK ks_status ks_gpu_copy(ks_gpu *gpu, void *to, const void *from,
                                                  size_t bytes, ks_gpu_stream *stream)
{
    return bytes ? gpu->table->copy(gpu, to, from, bytes, stream) : KS_OK;
}

/** Copy into the memory of another device, or of the same one. The stream is of the device that the
 *  copy comes from; streams of either may wait for events of the other. */
static inline KS_MUST_CHECK ks_status ks_gpu_copy_across(ks_gpu *from_gpu, ks_gpu *to_gpu, void *to,
                                                         const void *from, size_t bytes,
                                                         ks_gpu_stream *stream)
{
    return bytes ? from_gpu->table->copy_across(from_gpu, to_gpu, to, from, bytes, stream) : KS_OK;
}

/** Let copies between two devices go straight from one to the other where the machine can; elsewhere they go through the
 *  host's memory, as all do without this. It stays so for whoever shares the devices' contexts. For planning. */
static inline void ks_gpu_join(ks_gpu *gpu, ks_gpu *other) { gpu->table->join(gpu, other); }

/** Set every byte of device memory. */
static inline KS_MUST_CHECK ks_status ks_gpu_fill(ks_gpu *gpu, void *device, int byte, size_t bytes,
                                                  ks_gpu_stream *stream)
{
    return bytes ? gpu->table->fill(gpu, device, byte, bytes, stream) : KS_OK;
}

/** The kernel `name` of the source `module`.cu. Slow the first time: for planning.
 *  Errors: KS_EUNAVAILABLE where there is none, or none for this device. */
static inline KS_MUST_CHECK ks_status ks_gpu_find(ks_gpu *gpu, const ks_gpu_kernel **out,
                                                  const char *module, const char *name)
{
    return gpu->table->kernel(gpu, out, module, name);
}

/** Bytes of the device's memory that the run time takes when kernels that were looked up so far are launched: what
 *  threads have beside their registers, for as many as run side by side. */
static inline size_t ks_gpu_local_bytes(const ks_gpu *gpu)
{
    return gpu->local * (size_t)gpu->attributes.threads * (size_t)gpu->attributes.multiprocessors;
}

/** How many blocks of `threads` with `shared` bytes of dynamic shared memory one multiprocessor
 *  holds: times the multiprocessors, the largest grid of a cooperative launch. */
static inline KS_MUST_CHECK ks_status ks_gpu_resident(ks_gpu *gpu, int *blocks,
                                                      const ks_gpu_kernel *kernel, int threads,
                                                      size_t shared)
{
    return gpu->table->resident(gpu, blocks, kernel, threads, shared);
}

/** Launch a kernel. `args` is the argument structure that its KS_KERNEL() names, copied before this
 *  returns. Errors: KS_EDEVICE, also of a size that the device does not have. */
static inline KS_MUST_CHECK ks_status ks_gpu_launch(ks_gpu *gpu, const ks_gpu_kernel *kernel,
                                                    const ks_gpu_shape *shape,
                                                    const void *args, size_t args_bytes,
                                                    ks_gpu_stream *stream)
{
    return gpu->table->launch(gpu, kernel, shape, args, args_bytes, stream);
}

/** From here on what is put into the stream is recorded instead of run; other streams join by
 *  waiting for an event that was recorded in it. Nothing may be allocated or waited for meanwhile. */
static inline KS_MUST_CHECK ks_status ks_gpu_capture_begin(ks_gpu *gpu, ks_gpu_stream *stream)
{
    return gpu->table->capture_begin(gpu, stream);
}

/** End of the recording: a graph, with the arguments as they were. */
static inline KS_MUST_CHECK ks_status ks_gpu_capture_end(ks_gpu *gpu, ks_gpu_graph **out,
                                                         ks_gpu_stream *stream)
{
    return gpu->table->capture_end(gpu, out, stream);
}

/** Put a whole graph into a stream. */
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
