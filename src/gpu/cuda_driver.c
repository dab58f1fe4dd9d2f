/* cuda_driver.c -- see cuda_driver.h. */
#include <dlfcn.h>
#ifdef KS_GPU_TELLS
#  include <stdio.h>
#endif
#include <string.h>
#include "cuda_driver.h"

/* Builds of the tests print what is missing. */
static ks_status missing(const char *what)
{
#ifdef KS_GPU_TELLS
    fprintf(stderr, "no CUDA driver: %s\n", what);
#endif
    (void)what;
    return KS_ENODEV;
}

ks_status ks_cuda_driver_load(ks_cuda_driver *cu)
{
    cu->handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!cu->handle) return missing(dlerror());
    void *found;
#define DRIVER_NAME_(name) #name
#define DRIVER_NAME(name)  DRIVER_NAME_(name)
#define DRIVER_LOAD(name)                                                                          \
    found = dlsym(cu->handle, DRIVER_NAME(name));                                                 \
    if (!found) return missing(DRIVER_NAME(name));                                                 \
    memcpy(&cu->name, &found, sizeof found);
    KS_CUDA_DRIVER_LIST(DRIVER_LOAD)
    DRIVER_LOAD(cuEventElapsedTime)
    found = dlsym(cu->handle, "cuFuncLoad");
    memcpy(&cu->cuFuncLoad, &found, sizeof found);
    return KS_OK;
}

CUresult ks_cuda_driver_attributes(const ks_cuda_driver *cu, CUdevice number, ks_gpu_attributes *a)
{
    int shared = 0, l2 = 0;
    const struct {
        CUdevice_attribute which;
        int *value;
    } wanted[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &a->major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &a->minor},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &a->multiprocessors},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &a->block_threads},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &a->threads},
        {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, &a->cooperative},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &shared},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &l2},
    };
    CUresult result = cu->cuDeviceGetName(a->name, (int)sizeof a->name, number);
    if (result == CUDA_SUCCESS) result = cu->cuDeviceTotalMem(&a->memory, number);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && result == CUDA_SUCCESS; ++i)
        result = cu->cuDeviceGetAttribute(wanted[i].value, wanted[i].which, number);
    a->block_shared = (size_t)shared;
    a->l2 = (size_t)l2;
    return result;
}

ks_status ks_cuda_driver_status(CUresult result)
{
    switch (result) {
    case CUDA_SUCCESS:
        return KS_OK;
    case CUDA_ERROR_OUT_OF_MEMORY:
        return KS_ENOMEM;
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_INVALID_DEVICE:
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CUDA_ERROR_NOT_INITIALIZED:
        return KS_ENODEV;
    case CUDA_ERROR_NOT_FOUND:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    /* What drivers return for code made by a later CUDA. */
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
    case CUDA_ERROR_JIT_COMPILATION_DISABLED:
    case CUDA_ERROR_NOT_SUPPORTED:
        return KS_EUNAVAILABLE;
    default:
        return KS_EDEVICE;
    }
}
