/* streams.cpp -- memory, streams, events, copies, captures and graphs. */
#include <memory>

#include "driver.h"

struct CUevent_st {
    CUctx_st *context;
    ks_gpu_event *event;
};
struct CUgraph_st {
    CUctx_st *context;
    ks_gpu_graph *graph; /* NULL once it has become one that can be launched */
};

static void *pointer(CUdeviceptr p) { return reinterpret_cast<void *>(static_cast<uintptr_t>(p)); }
static ks_gpu_graph *graph_of(CUgraphExec g) { return reinterpret_cast<ks_gpu_graph *>(g); }

EXPORT CUresult cuMemGetInfo(size_t *free_bytes, size_t *bytes)
{
    ENTER(cuMemGetInfo, true);
    *bytes = gpu()->attributes.memory;
    return result_of(table().room(gpu(), free_bytes));
}

EXPORT CUresult cuMemAlloc(CUdeviceptr *out, size_t bytes)
{
    ENTER(cuMemAlloc, true);
    void *memory = nullptr;
    if (!bytes) return all.complain(CUDA_ERROR_INVALID_VALUE, "cuMemAlloc: no bytes");
    const CUresult result = result_of(table().alloc(gpu(), &memory, bytes));
    *out = (CUdeviceptr) reinterpret_cast<uintptr_t>(memory);
    return result;
}

EXPORT CUresult cuMemFree(CUdeviceptr memory)
{
    ENTER(cuMemFree, true);
    table().free(gpu(), pointer(memory));
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    ENTER(cuMemHostAlloc, true);
    if (!bytes || !(flags & CU_MEMHOSTALLOC_PORTABLE))
        return all.complain(CUDA_ERROR_INVALID_VALUE, "cuMemHostAlloc: no bytes, or for one context alone");
    return result_of(table().host_alloc(gpu(), out, bytes));
}

EXPORT CUresult cuMemFreeHost(void *memory)
{
    ENTER(cuMemFreeHost, true);
    table().host_free(gpu(), memory);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamCreate(CUstream *out, unsigned flags)
{
    ENTER(cuStreamCreate, true);
    if (flags != CU_STREAM_NON_BLOCKING)
        return all.complain(CUDA_ERROR_INVALID_VALUE, "cuStreamCreate: one that waits for the default stream");
    return result_of(table().stream_create(gpu(), reinterpret_cast<ks_gpu_stream **>(out)));
}

EXPORT CUresult cuStreamDestroy(CUstream s)
{
    ENTER(cuStreamDestroy, true);
    if (foreign(s)) return all.complain(CUDA_ERROR_INVALID_HANDLE, "a stream of another context is destroyed");
    table().stream_destroy(gpu(), stream_of(s));
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamSynchronize(CUstream s)
{
    ENTER(cuStreamSynchronize, true);
    if (foreign(s)) return all.complain(CUDA_ERROR_INVALID_HANDLE, "a stream of another context is waited for");
    return result_of(table().stream_sync(gpu(), stream_of(s)));
}

EXPORT CUresult cuStreamWaitEvent(CUstream s, CUevent e, unsigned flags)
{
    ENTER(cuStreamWaitEvent, true);
    if (foreign(s) || flags) return all.complain(CUDA_ERROR_INVALID_HANDLE, "a stream of another context is to wait");
    return result_of(table().event_wait(gpu(), e->event, stream_of(s)));
}

EXPORT CUresult cuEventCreate(CUevent *out, unsigned flags)
{
    ENTER(cuEventCreate, true);
    if (flags != CU_EVENT_DEFAULT) return all.complain(CUDA_ERROR_INVALID_VALUE, "cuEventCreate: flags");
    std::unique_ptr<CUevent_st> made(new CUevent_st{current(), nullptr});
    const CUresult result = result_of(table().event_create(gpu(), &made->event));
    if (result == CUDA_SUCCESS) *out = made.release();
    return result;
}

EXPORT CUresult cuEventDestroy(CUevent e)
{
    ENTER(cuEventDestroy, true);
    table().event_destroy(gpu(), e->event);
    delete e;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuEventRecord(CUevent e, CUstream s)
{
    ENTER(cuEventRecord, true);
    if (e->context != current() || foreign(s))
        return all.complain(CUDA_ERROR_INVALID_HANDLE, "an event is recorded in a stream of another context");
    return result_of(table().event_record(gpu(), e->event, stream_of(s)));
}

EXPORT CUresult cuEventSynchronize(CUevent e)
{
    ENTER(cuEventSynchronize, true);
    return result_of(table().event_sync(gpu(), e->event));
}

EXPORT CUresult cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end);
EXPORT CUresult cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end)
{
    ENTER(cuEventElapsedTime, true);
    double elapsed = 0;
    const CUresult result = result_of(table().event_elapsed(gpu(), &elapsed, begin->event, end->event));
    *milliseconds = (float)elapsed;
    return result;
}

EXPORT CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream s)
{
    ENTER(cuMemcpyHtoDAsync, true);
    if (foreign(s)) return all.complain(CUDA_ERROR_INVALID_HANDLE, "a copy in a stream of another context");
    return result_of(table().copy_in(gpu(), pointer(to), from, bytes, stream_of(s)));
}

EXPORT CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream s)
{
    ENTER(cuMemcpyDtoHAsync, true);
    if (foreign(s)) return all.complain(CUDA_ERROR_INVALID_HANDLE, "a copy in a stream of another context");
    return result_of(table().copy_out(gpu(), to, pointer(from), bytes, stream_of(s)));
}

EXPORT CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s)
{
    ENTER(cuMemcpyDtoDAsync, true);
    if (foreign(s)) return all.complain(CUDA_ERROR_INVALID_HANDLE, "a copy in a stream of another context");
    return result_of(table().copy(gpu(), pointer(to), pointer(from), bytes, stream_of(s)));
}

EXPORT CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                                  size_t bytes, CUstream s)
{
    ENTER(cuMemcpyPeerAsync, true);
    if (foreign(s) || from_context != current() || !to_context->retained)
        return all.complain(CUDA_ERROR_INVALID_CONTEXT, "a copy between devices in a stream of neither");
    const bool refused = all.fail_name == "cuDeviceCanAccessPeer" || all.fail_name == "cuCtxEnablePeerAccess";
    if (!(current()->reaches >> to_context->number & 1) && !refused)
        return all.complain(CUDA_ERROR_INVALID_CONTEXT, "a copy between devices that goes through the host's memory");
    return result_of(table().copy_across(gpu(), to_context->gpu, pointer(to), pointer(from), bytes, stream_of(s)));
}

EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char byte, size_t bytes, CUstream s)
{
    ENTER(cuMemsetD8Async, true);
    if (foreign(s)) return all.complain(CUDA_ERROR_INVALID_HANDLE, "a fill in a stream of another context");
    return result_of(table().fill(gpu(), pointer(to), byte, bytes, stream_of(s)));
}

EXPORT CUresult cuStreamBeginCapture(CUstream s, CUstreamCaptureMode mode)
{
    ENTER(cuStreamBeginCapture, true);
    if (foreign(s) || mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
        return all.complain(CUDA_ERROR_INVALID_VALUE, "cuStreamBeginCapture: the mode, or a stream of another context");
    return result_of(table().capture_begin(gpu(), stream_of(s)));
}

EXPORT CUresult cuStreamEndCapture(CUstream s, CUgraph *out)
{
    const std::lock_guard<std::recursive_mutex> turn(all.mutex);
    const CUresult first = all.enter("cuStreamEndCapture", true);
    *out = nullptr;
    if (!current()) return first;
    /* It ends the capture also when it fails. */
    std::unique_ptr<CUgraph_st> graph(new CUgraph_st{current(), nullptr});
    const CUresult result = result_of(table().capture_end(gpu(), &graph->graph, stream_of(s)));
    if (first && graph->graph) table().graph_destroy(gpu(), graph->graph);
    if (!first && result == CUDA_SUCCESS) *out = graph.release();
    return first ? first : result;
}

EXPORT CUresult cuGraphInstantiate(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
    ENTER(cuGraphInstantiate, true);
    if (flags || graph->context != current() || !graph->graph) return CUDA_ERROR_INVALID_VALUE;
    *out = reinterpret_cast<CUgraphExec>(graph->graph);
    graph->graph = nullptr;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphDestroy(CUgraph graph)
{
    ENTER(cuGraphDestroy, true);
    if (graph->graph) table().graph_destroy(gpu(), graph->graph);
    delete graph;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphLaunch(CUgraphExec graph, CUstream s)
{
    ENTER(cuGraphLaunch, true);
    if (foreign(s)) return all.complain(CUDA_ERROR_INVALID_HANDLE, "a graph in a stream of another context");
    return result_of(table().graph_launch(gpu(), graph_of(graph), stream_of(s)));
}

EXPORT CUresult cuGraphExecDestroy(CUgraphExec graph)
{
    ENTER(cuGraphExecDestroy, true);
    table().graph_destroy(gpu(), graph_of(graph));
    return CUDA_SUCCESS;
}
