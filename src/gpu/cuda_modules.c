/* cuda_modules.c -- see cuda_modules.h. */
#include <stddef.h>
#include "cuda_modules.h"
#include "modules.h"

#ifdef KS_GPU_TELLS
#  include <stdatomic.h>

/* In builds of the tests, loaded modules stay for all plans of the process, with the device's context: tests make
 * thousands of plans, and compute-sanitizer examines a module each time it is loaded. The library itself keeps
 * nothing. */
enum { DEVICES = 16, MODULES = 64 };
static _Atomic(CUmodule) kept[DEVICES][MODULES];

CUresult ks_cuda_load(const ks_cuda_driver *cu, CUmodule *out, CUdevice number, int which)
{
    CUcontext staying;
    CUmodule there = NULL;
    if (number >= DEVICES || which >= MODULES) return CUDA_ERROR_NOT_SUPPORTED;
    *out = atomic_load(&kept[number][which]);
    if (*out) return CUDA_SUCCESS;
    CUresult result = cu->cuDevicePrimaryCtxRetain(&staying, number);
    if (result == CUDA_SUCCESS) result = cu->cuModuleLoadData(out, ks_gpu_modules[which].fatbin);
    if (result != CUDA_SUCCESS) {
        *out = NULL;
        return result;
    }
    /* Another thread may have loaded it first. */
    if (!atomic_compare_exchange_strong(&kept[number][which], &there, *out)) {
        (void)cu->cuModuleUnload(*out);
        *out = there;
    }
    return CUDA_SUCCESS;
}

void ks_cuda_unload(const ks_cuda_driver *cu, CUmodule module)
{
    (void)cu;
    (void)module;
}
#else
CUresult ks_cuda_load(const ks_cuda_driver *cu, CUmodule *out, CUdevice number, int which)
{
    (void)number;
    return cu->cuModuleLoadData(out, ks_gpu_modules[which].fatbin);
}

void ks_cuda_unload(const ks_cuda_driver *cu, CUmodule module) { (void)cu->cuModuleUnload(module); }
#endif
