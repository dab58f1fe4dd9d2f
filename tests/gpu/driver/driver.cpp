/* driver.cpp -- what stands for CUDA's driver, libcuda.so.1, on a machine without a device: the calls that
 * src/gpu/cuda_driver.h loads, on the emulated device (../emulator). A program that was built for a real device runs
 * on it, with its own device code in so far as that says what each kernel needs: registers, shared memory, bytes of
 * arguments (image.h), from which follow what a launch may have and how many blocks run side by side. What the kernels
 * do is computed by the same sources compiled for the host, or by what nvcc made of them (ptx/).
 *
 * Like the driver, and unlike the emulated device by itself, it knows a stack of contexts for each thread, the
 * context that a stream, an event or a module belongs to, functions that have not been allowed all of the shared
 * memory, and errors that stay. The emulated device's environment holds here, too, see emulator.h; and
 *
 *     KS_DRIVER_FAIL    NAME:K:CODE: the K-th call of that name fails with that number
 *     KS_DRIVER_PTX     a folder of MODULE.ptx, which run in the place of sources compiled for the host
 *     KS_DRIVER_FUSE    of a hundred products and sums of theirs how many are rounded once, as ptxas may
 *     KS_DRIVER_TRAFFIC a file that gets, at the end, what each kernel of that has asked of memory (ptx/traffic.h)
 *     KS_DRIVER_REPORT  a file that gets, at the end, how much was not released, the first fault, and each call's number
 */
#include <stdio.h>
#include <stdlib.h>

#include "driver.h"

driver all;

/* Contexts of this thread, the current one last. */
enum { DEEPEST = 8 };
static thread_local CUctx_st *stack[DEEPEST];
static thread_local int depth;

CUctx_st *current() { return depth ? stack[depth - 1] : nullptr; }

driver::driver()
{
    char name[64];
    int code = 0;
    const char *const text = getenv("KS_DRIVER_FAIL");
    if (!text || sscanf(text, "%63[^:]:%ld:%d", name, &fail_at, &code) != 3) return;
    fail_name = name;
    fail_with = (CUresult)code;
}

driver::~driver()
{
    const char *const path = getenv("KS_DRIVER_REPORT");
    FILE *const file = path ? fopen(path, "w") : nullptr;
    if (!file) return;
    if (fault.empty()) fault = ks_emulated.report;
    if (fault.empty() && depth) fault = "a context is still current at the end";
    fprintf(file, "left %ld\nfault %s\n", ks_emulated.live + modules, fault.c_str());
    for (const auto &call : calls_of) fprintf(file, "%s %ld\n", call.first.c_str(), call.second);
    (void)fclose(file);
}

CUresult driver::complain(CUresult result, const std::string &text)
{
    if (fault.empty()) fault = text;
    fprintf(stderr, "driver: %s\n", text.c_str());
    return result;
}

CUresult driver::enter(const char *name, bool in_context)
{
    if (++calls_of[name] == fail_at && fail_name == name) return fail_with;
    if (!begun) return CUDA_ERROR_NOT_INITIALIZED;
    if (!in_context) return CUDA_SUCCESS;
    if (!current() || !current()->gpu)
        return complain(CUDA_ERROR_INVALID_CONTEXT, std::string(name) + ": no context is current");
    return of(gpu()).failed == KS_OK ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED;
}

CUresult result_of(ks_status status)
{
    switch (status) {
    case KS_OK:
        return CUDA_SUCCESS;
    case KS_ENOMEM:
        return CUDA_ERROR_OUT_OF_MEMORY;
    case KS_EINVAL:
        return CUDA_ERROR_INVALID_VALUE;
    default:
        return of(gpu()).failed ? CUDA_ERROR_LAUNCH_FAILED : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
}

EXPORT CUresult cuInit(unsigned flags)
{
    all.begun = true;
    ENTER(cuInit, false);
    return flags ? CUDA_ERROR_INVALID_VALUE : ks_emulated.devices ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

EXPORT CUresult cuDeviceGet(CUdevice *out, int number)
{
    ENTER(cuDeviceGet, false);
    if (number < 0 || number >= ks_emulated.devices || number >= driver::DEVICES) return CUDA_ERROR_INVALID_DEVICE;
    *out = number;
    return CUDA_SUCCESS;
}

/* A device's attributes, which can be asked for before it has a context. */
static CUresult attributes_of(CUdevice number, ks_gpu_attributes *out)
{
    ks_gpu *opened = nullptr;
    if (ks_gpu_open(&opened, nullptr, number)) return CUDA_ERROR_INVALID_DEVICE;
    *out = opened->attributes;
    ks_gpu_close(opened);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetName(char *name, int bytes, CUdevice number)
{
    ENTER(cuDeviceGetName, false);
    ks_gpu_attributes a;
    const CUresult result = attributes_of(number, &a);
    if (result == CUDA_SUCCESS) snprintf(name, (size_t)bytes, "%s", a.name);
    return result;
}

EXPORT CUresult cuDeviceTotalMem(size_t *bytes, CUdevice number)
{
    ENTER(cuDeviceTotalMem, false);
    ks_gpu_attributes a;
    const CUresult result = attributes_of(number, &a);
    if (result == CUDA_SUCCESS) *bytes = a.memory;
    return result;
}

EXPORT CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice number)
{
    ENTER(cuDeviceGetAttribute, false);
    ks_gpu_attributes a;
    if (const CUresult result = attributes_of(number, &a)) return result;
    switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = ks_emulated.old ? 7 : a.major; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = a.minor; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = a.multiprocessors; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = a.block_threads; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: *value = a.threads; break;
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH: *value = a.cooperative; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = (int)a.block_shared; break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = (int)a.l2; break;
    default: return all.complain(CUDA_ERROR_INVALID_VALUE, "cuDeviceGetAttribute: one that it does not know");
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice number)
{
    ENTER(cuDevicePrimaryCtxRetain, false);
    CUctx_st &context = all.contexts[number];
    if (!context.retained) {
        if (ks_gpu_open(&context.gpu, nullptr, number)) return CUDA_ERROR_OUT_OF_MEMORY;
        context.number = number;
    }
    ++context.retained;
    *out = &context;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRelease(CUdevice number)
{
    ENTER(cuDevicePrimaryCtxRelease, false);
    CUctx_st &context = all.contexts[number];
    if (!context.retained) return all.complain(CUDA_ERROR_INVALID_CONTEXT, "a context is released once too often");
    if (--context.retained) return CUDA_SUCCESS;
    ks_gpu_close(context.gpu);
    context.gpu = nullptr;
    context.reaches = 0;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceCanAccessPeer(int *can, CUdevice number, CUdevice peer)
{
    ENTER(cuDeviceCanAccessPeer, false);
    *can = number != peer;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    ENTER(cuCtxEnablePeerAccess, true);
    if (flags || !peer->retained || peer == current())
        return all.complain(CUDA_ERROR_INVALID_VALUE, "cuCtxEnablePeerAccess: flags, or of no other context");
    const unsigned bit = 1u << peer->number;
    if (current()->reaches & bit) return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    current()->reaches |= bit;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxPushCurrent(CUcontext context)
{
    ENTER(cuCtxPushCurrent, false);
    if (!context || !context->retained) return all.complain(CUDA_ERROR_INVALID_CONTEXT, "a context that is none");
    if (depth == DEEPEST) return all.complain(CUDA_ERROR_INVALID_VALUE, "contexts are pushed and never popped");
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxPopCurrent(CUcontext *out)
{
    ENTER(cuCtxPopCurrent, false);
    if (!depth) return all.complain(CUDA_ERROR_INVALID_CONTEXT, "no context is current that could be popped");
    *out = stack[--depth];
    return CUDA_SUCCESS;
}
