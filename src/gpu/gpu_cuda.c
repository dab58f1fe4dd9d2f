/* gpu_cuda.c -- the CUDA devices of this machine, through the driver API.
 *
 * The driver library is loaded when a device is opened. So libkalscan needs nothing of CUDA to be linked, or to run
 * without a device. The code of the kernels is data in the library. A device is the primary context, which the CUDA run
 * time and its libraries share; it is made current only for the duration of each call. Streams are CUDA's own: a
 * cudaStream_t or CUstream of the caller is a ks_gpu_stream. */
#include <dlfcn.h>
#include <stdbool.h>
#ifdef KS_GPU_TELLS
#  include <stdio.h>
#endif
#include <string.h>

#include "cuda_context.h"
#include "cuda_driver.h"
#include "cuda_modules.h"
#include "modules.h"
#include "pool.h"

typedef struct found_kernel {
    CUfunction function;
    struct found_kernel *next;
} found_kernel;

typedef struct device {
    ks_gpu gpu;
    ks_context *context;
    ks_cuda_driver cu;
    CUdevice number;
    CUcontext primary;
    CUmodule *modules; /* of ks_gpu_modules, NULL until one of its kernels is looked up */
    int module_count;
    found_kernel *kernels;
} device;

static device *of(ks_gpu *gpu) { return (device *)gpu; }

/* Builds of the tests print which call of the driver failed, and how. The library prints nothing. */
static ks_status status_of(ks_gpu *gpu, CUresult result, const char *call)
{
    if (result != CUDA_SUCCESS) gpu->code = (int)result;
#ifdef KS_GPU_TELLS
    if (result != CUDA_SUCCESS) fprintf(stderr, "CUDA error %d: %s\n", (int)result, call);
#endif
    (void)call;
    return ks_cuda_driver_status(result);
}

/* Run CALL with the device's context current. */
#define WITH(gpu, CALL)                                                                            \
    do {                                                                                           \
        device *const d = of(gpu);                                                                 \
        CUcontext popped;                                                                          \
        CUresult result = d->cu.cuCtxPushCurrent(d->primary);                                      \
        if (result == CUDA_SUCCESS) {                                                              \
            result = d->cu.CALL;                                                                   \
            (void)d->cu.cuCtxPopCurrent(&popped);                                                  \
        }                                                                                          \
        return status_of(gpu, result, #CALL);                                                      \
    } while (0)

ks_status ks_cuda_enter(ks_gpu *gpu)
{
    return status_of(gpu, of(gpu)->cu.cuCtxPushCurrent(of(gpu)->primary), "cuCtxPushCurrent");
}

void ks_cuda_leave(ks_gpu *gpu)
{
    CUcontext popped;
    (void)of(gpu)->cu.cuCtxPopCurrent(&popped);
}

/* Device addresses are passed as pointers, which the host must not dereference. */
static CUdeviceptr address(const void *p) { return (CUdeviceptr)(uintptr_t)p; }

static ks_status cuda_alloc(ks_gpu *gpu, void **out, size_t bytes)
{
    *out = NULL;
    if (!bytes) return KS_OK;
    CUdeviceptr *const place = (CUdeviceptr *)(void *)out;
    WITH(gpu, cuMemAlloc(place, bytes));
}

static ks_status cuda_room(ks_gpu *gpu, size_t *bytes)
{
    size_t all = 0;
    *bytes = 0;
    WITH(gpu, cuMemGetInfo(bytes, &all));
}

static ks_status release_memory(ks_gpu *gpu, void *memory)
{
    WITH(gpu, cuMemFree(address(memory)));
}
static void cuda_free(ks_gpu *gpu, void *memory) { (void)release_memory(gpu, memory); }

static ks_status cuda_host_alloc(ks_gpu *gpu, void **out, size_t bytes)
{
    *out = NULL;
    WITH(gpu, cuMemHostAlloc(out, bytes ? bytes : 1, CU_MEMHOSTALLOC_PORTABLE));
}
static ks_status release_host(ks_gpu *gpu, void *memory) { WITH(gpu, cuMemFreeHost(memory)); }
static void cuda_host_free(ks_gpu *gpu, void *memory) { (void)release_host(gpu, memory); }

static ks_status cuda_stream_create(ks_gpu *gpu, ks_gpu_stream **out)
{
    *out = NULL;
    CUstream *const place = (CUstream *)(void *)out;
    WITH(gpu, cuStreamCreate(place, CU_STREAM_NON_BLOCKING));
}
static ks_status stream_release(ks_gpu *gpu, ks_gpu_stream *s)
{
    WITH(gpu, cuStreamDestroy((CUstream)s));
}
static void cuda_stream_destroy(ks_gpu *gpu, ks_gpu_stream *s)
{
    /* gpu.h promises to wait; cuStreamDestroy() does not. */
    if (gpu->table->stream_sync(gpu, s) != KS_OK) (void)0;
    (void)stream_release(gpu, s);
}
static ks_status cuda_stream_sync(ks_gpu *gpu, ks_gpu_stream *s)
{
    WITH(gpu, cuStreamSynchronize((CUstream)s));
}

static ks_status cuda_event_create(ks_gpu *gpu, ks_gpu_event **out)
{
    *out = NULL;
    CUevent *const place = (CUevent *)(void *)out;
    WITH(gpu, cuEventCreate(place, CU_EVENT_DEFAULT));
}
static ks_status event_release(ks_gpu *gpu, ks_gpu_event *e)
{
    WITH(gpu, cuEventDestroy((CUevent)e));
}
static void cuda_event_destroy(ks_gpu *gpu, ks_gpu_event *e) { (void)event_release(gpu, e); }
static ks_status cuda_event_record(ks_gpu *gpu, ks_gpu_event *e, ks_gpu_stream *s)
{
    WITH(gpu, cuEventRecord((CUevent)e, (CUstream)s));
}
static ks_status cuda_event_wait(ks_gpu *gpu, ks_gpu_event *e, ks_gpu_stream *s)
{
    WITH(gpu, cuStreamWaitEvent((CUstream)s, (CUevent)e, 0));
}
static ks_status cuda_event_sync(ks_gpu *gpu, ks_gpu_event *e)
{
    WITH(gpu, cuEventSynchronize((CUevent)e));
}
static ks_status elapsed(ks_gpu *gpu, float *ms, ks_gpu_event *a, ks_gpu_event *b)
{
    WITH(gpu, cuEventElapsedTime(ms, (CUevent)a, (CUevent)b));
}
static ks_status cuda_event_elapsed(ks_gpu *gpu, double *ms, ks_gpu_event *a, ks_gpu_event *b)
{
    float f = 0;
    const ks_status status = elapsed(gpu, &f, a, b);
    *ms = (double)f;
    return status;
}

static ks_status cuda_copy_in(ks_gpu *gpu, void *to, const void *from, size_t bytes,
                              ks_gpu_stream *s)
{
    WITH(gpu, cuMemcpyHtoDAsync(address(to), from, bytes, (CUstream)s));
}
static ks_status cuda_copy_out(ks_gpu *gpu, void *to, const void *from, size_t bytes,
                               ks_gpu_stream *s)
{
    WITH(gpu, cuMemcpyDtoHAsync(to, address(from), bytes, (CUstream)s));
}
static ks_status cuda_copy(ks_gpu *gpu, void *to, const void *from, size_t bytes, ks_gpu_stream *s)
{
    WITH(gpu, cuMemcpyDtoDAsync(address(to), address(from), bytes, (CUstream)s));
}
static ks_status cuda_copy_across(ks_gpu *gpu, ks_gpu *to_gpu, void *to, const void *from,
                                  size_t bytes, ks_gpu_stream *s)
{
    /* Within one device an ordinary copy works, also in a stream that is being captured. */
    if (of(to_gpu)->primary == of(gpu)->primary) return cuda_copy(gpu, to, from, bytes, s);
    WITH(gpu, cuMemcpyPeerAsync(address(to), of(to_gpu)->primary, address(from), d->primary, bytes,
                                (CUstream)s));
}
/* In contexts that have it already this fails with a code of its own, which the caller ignores. */
static ks_status reach(ks_gpu *gpu, ks_gpu *other)
{
    WITH(gpu, cuCtxEnablePeerAccess(of(other)->primary, 0));
}
static bool can_reach(ks_gpu *gpu, ks_gpu *other)
{
    int can = 0;
    const CUresult result = of(gpu)->cu.cuDeviceCanAccessPeer(&can, of(gpu)->number, of(other)->number);
    return result == CUDA_SUCCESS && can;
}
static void cuda_join(ks_gpu *gpu, ks_gpu *other)
{
    const int code = gpu->code, other_code = other->code;
    if (of(gpu)->primary == of(other)->primary) return;
    if (can_reach(gpu, other)) (void)reach(gpu, other);
    if (can_reach(other, gpu)) (void)reach(other, gpu);
    gpu->code = code; /* a device that cannot be reached is not a failure */
    other->code = other_code;
}
static ks_status cuda_fill(ks_gpu *gpu, void *to, int byte, size_t bytes, ks_gpu_stream *s)
{
    WITH(gpu, cuMemsetD8Async(address(to), (unsigned char)byte, bytes, (CUstream)s));
}

static ks_status load(ks_gpu *gpu, int module)
{
    device *const d = of(gpu);
    ks_status status = ks_cuda_enter(gpu);
    if (status != KS_OK) return status;
    status = status_of(gpu, ks_cuda_load(&d->cu, &d->modules[module], d->number, module), "cuModuleLoadData");
    ks_cuda_leave(gpu);
    return status;
}
static ks_status look_up(ks_gpu *gpu, CUfunction *function, int module, const char *name)
{
    WITH(gpu, cuModuleGetFunction(function, d->modules[module], name));
}
/* By default the driver loads a kernel at its first launch, which may be during a capture, and may not know its
 * attributes before. Older drivers cannot load it earlier. */
static ks_status load_function(ks_gpu *gpu, CUfunction function)
{
    if (!of(gpu)->cu.cuFuncLoad) return KS_OK;
    WITH(gpu, cuFuncLoad(function));
}
static ks_status attribute(ks_gpu *gpu, int *value, CUfunction_attribute which, CUfunction function)
{
    WITH(gpu, cuFuncGetAttribute(value, which, function));
}
static ks_status set_shared(ks_gpu *gpu, CUfunction function, int bytes)
{
    WITH(gpu, cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes));
}

/* Kernels must request more than 48 KB of shared memory for a block: request it for all kernels, when they are looked
 * up. */
static ks_status allow_shared(ks_gpu *gpu, CUfunction function)
{
    int fixed = 0;
    ks_status status = attribute(gpu, &fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
    if (status == KS_OK)
        status = set_shared(gpu, function, (int)gpu->attributes.block_shared - fixed);
    return status;
}

static ks_status cuda_kernel(ks_gpu *gpu, const ks_gpu_kernel **out, const char *module,
                             const char *name)
{
    device *const d = of(gpu);
    CUfunction function = NULL;
    int m = 0, local = 0;
    *out = NULL;
    while (m < d->module_count && strcmp(ks_gpu_modules[m].name, module) != 0) ++m;
    if (m == d->module_count) return KS_EUNAVAILABLE;
    ks_status status = d->modules[m] ? KS_OK : load(gpu, m);
    if (status == KS_OK) status = look_up(gpu, &function, m, name);
    if (status == KS_OK) status = load_function(gpu, function);
    if (status == KS_OK) status = allow_shared(gpu, function);
    if (status == KS_OK) status = attribute(gpu, &local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function);
    if (status != KS_OK) return status;
    if ((size_t)local > gpu->local) gpu->local = (size_t)local;
    found_kernel *const kernel = ks_allocate(d->context, sizeof *kernel);
    if (!kernel) return KS_ENOMEM;
    kernel->function = function;
    kernel->next = d->kernels;
    d->kernels = kernel;
    *out = (const ks_gpu_kernel *)kernel;
    return KS_OK;
}

static CUfunction function_of(const ks_gpu_kernel *kernel)
{
    return ((const found_kernel *)kernel)->function;
}

static ks_status cuda_resident(ks_gpu *gpu, int *blocks, const ks_gpu_kernel *kernel, int threads,
                               size_t shared)
{
    *blocks = 0;
    WITH(gpu,
         cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function_of(kernel), threads, shared));
}

static unsigned least_one(unsigned n) { return n ? n : 1; }

static ks_status launch(ks_gpu *gpu, CUfunction f, const ks_gpu_shape *s, void **args,
                        CUstream stream)
{
    WITH(gpu, cuLaunchKernel(f, least_one(s->grid[0]), least_one(s->grid[1]), least_one(s->grid[2]),
                             least_one(s->block[0]), least_one(s->block[1]), least_one(s->block[2]),
                             (unsigned)s->shared, stream, args, NULL));
}
static ks_status launch_together(ks_gpu *gpu, CUfunction f, const ks_gpu_shape *s, void **args,
                                 CUstream stream)
{
    WITH(gpu, cuLaunchCooperativeKernel(f, least_one(s->grid[0]), least_one(s->grid[1]),
                                        least_one(s->grid[2]), least_one(s->block[0]),
                                        least_one(s->block[1]), least_one(s->block[2]),
                                        (unsigned)s->shared, stream, args));
}
static ks_status cuda_launch(ks_gpu *gpu, const ks_gpu_kernel *kernel, const ks_gpu_shape *shape,
                             const void *args, size_t args_bytes, ks_gpu_stream *stream)
{
    (void)args_bytes; /* the kernel knows the size; the emulated device compares it */
    void *parameters[1];
    memcpy(parameters, &args, sizeof args); /* only read */
    return (shape->cooperative ? launch_together : launch)(gpu, function_of(kernel), shape,
                                                           parameters, (CUstream)stream);
}

static ks_status cuda_capture_begin(ks_gpu *gpu, ks_gpu_stream *s)
{
    WITH(gpu, cuStreamBeginCapture((CUstream)s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
}
static ks_status end_capture(ks_gpu *gpu, CUgraph *graph, ks_gpu_stream *s)
{
    WITH(gpu, cuStreamEndCapture((CUstream)s, graph));
}
static ks_status instantiate(ks_gpu *gpu, CUgraphExec *out, CUgraph graph)
{
    WITH(gpu, cuGraphInstantiate(out, graph, 0));
}
static ks_status graph_release(ks_gpu *gpu, CUgraph graph) { WITH(gpu, cuGraphDestroy(graph)); }
static ks_status executable_release(ks_gpu *gpu, ks_gpu_graph *graph)
{
    WITH(gpu, cuGraphExecDestroy((CUgraphExec)graph));
}
static ks_status cuda_capture_end(ks_gpu *gpu, ks_gpu_graph **out, ks_gpu_stream *s)
{
    CUgraph graph = NULL;
    *out = NULL;
    ks_status status = end_capture(gpu, &graph, s);
    if (status == KS_OK) status = instantiate(gpu, (CUgraphExec *)(void *)out, graph);
    if (graph) (void)graph_release(gpu, graph);
    return status;
}
static ks_status cuda_graph_launch(ks_gpu *gpu, ks_gpu_graph *graph, ks_gpu_stream *s)
{
    WITH(gpu, cuGraphLaunch((CUgraphExec)graph, (CUstream)s));
}
static void cuda_graph_destroy(ks_gpu *gpu, ks_gpu_graph *graph) { (void)executable_release(gpu, graph); }

/* Also closes a device that was opened only in part. */
static void cuda_close(ks_gpu *gpu)
{
    device *const d = of(gpu);
    ks_context *const context = d->context;
    while (d->kernels) {
        found_kernel *const next = d->kernels->next;
        ks_release(context, d->kernels);
        d->kernels = next;
    }
    if (d->primary && ks_cuda_enter(gpu) == KS_OK) {
        for (int m = 0; m < d->module_count; ++m)
            if (d->modules[m]) ks_cuda_unload(&d->cu, d->modules[m]);
        ks_cuda_leave(gpu);
    }
    ks_release(context, d->modules);
    if (d->primary) (void)d->cu.cuDevicePrimaryCtxRelease(d->number);
    if (d->cu.handle) dlclose(d->cu.handle);
    ks_release(context, d);
}

static const ks_gpu_table cuda_table = {
    cuda_close,        cuda_alloc,         cuda_free,           cuda_host_alloc,
    cuda_host_free,    cuda_stream_create, cuda_stream_destroy, cuda_stream_sync,
    cuda_event_create, cuda_event_destroy, cuda_event_record,   cuda_event_wait,
    cuda_event_sync,   cuda_event_elapsed, cuda_copy_in,        cuda_copy_out,
    cuda_copy,         cuda_copy_across,   cuda_join,           cuda_fill,
    cuda_kernel,       cuda_resident,      cuda_launch,         cuda_capture_begin,
    cuda_capture_end,  cuda_graph_launch,  cuda_graph_destroy,  cuda_room};

static ks_status open_device(device *d, int number)
{
    const ks_status status = ks_cuda_driver_load(&d->cu);
    if (status != KS_OK) return status;
    CUresult result = d->cu.cuInit(0);
    if (result != CUDA_SUCCESS) { /* a driver without a device, or of another version */
        (void)status_of(&d->gpu, result, "cuInit");
        return KS_ENODEV;
    }
    result = d->cu.cuDeviceGet(&d->number, number);
    if (result == CUDA_SUCCESS) result = ks_cuda_driver_attributes(&d->cu, d->number, &d->gpu.attributes);
    if (result == CUDA_SUCCESS) result = d->cu.cuDevicePrimaryCtxRetain(&d->primary, d->number);
    return status_of(&d->gpu, result, "cuDevicePrimaryCtxRetain, or of a device's attributes");
}

ks_status ks_gpu_open(ks_gpu **out, ks_context *context, int number)
{
    if (!out || number < 0) return KS_EINVAL;
    *out = NULL;
    int modules = 0;
    while (ks_gpu_modules[modules].name) ++modules;
    device *const d = ks_allocate(context, sizeof *d);
    if (!d) return KS_ENOMEM;
    memset(d, 0, sizeof *d);
    d->gpu.table = &cuda_table;
    d->context = context;
    d->module_count = modules;
    d->modules = ks_allocate(context, ((size_t)modules + 1) * sizeof *d->modules);
    ks_status status = d->modules ? KS_OK : KS_ENOMEM;
    if (status == KS_OK) {
        memset(d->modules, 0, (size_t)modules * sizeof *d->modules);
        status = open_device(d, number);
    }
    if (status != KS_OK) {
        cuda_close(&d->gpu);
        return status;
    }
    *out = &d->gpu;
    return KS_OK;
}

int ks_gpu_absent(int number)
{
    (void)number;
    ks_cuda_driver cu;
    const ks_status status = ks_cuda_driver_load(&cu);
    if (cu.handle) dlclose(cu.handle);
    return status != KS_OK;
}
