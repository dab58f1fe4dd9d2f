/* cuda_driver.h -- the functions of the CUDA driver library that are called. */
#ifndef KS_GPU_CUDA_DRIVER_H
#define KS_GPU_CUDA_DRIVER_H

#include <cuda.h>
#include "gpu.h"

/* cuda.h defines the names, with version suffixes, under which functions are looked up. Only cuEventElapsedTime has a
 * newer name that older drivers lack; the older function does the same. */
#undef cuEventElapsedTime
#undef cuFuncLoad
#define KS_CUDA_DRIVER_LIST(E)                                                                             \
    E(cuInit)                                                                                      \
    E(cuDeviceGet) E(cuDeviceGetName) E(cuDeviceTotalMem) E(cuDeviceGetAttribute)                  \
        E(cuDevicePrimaryCtxRetain) E(cuDevicePrimaryCtxRelease) E(cuCtxPushCurrent)               \
            E(cuCtxPopCurrent) E(cuMemGetInfo) E(cuMemAlloc) E(cuMemFree) E(cuMemHostAlloc) E(cuMemFreeHost)       \
                E(cuStreamCreate) E(cuStreamDestroy) E(cuStreamSynchronize) E(cuStreamWaitEvent)   \
                    E(cuEventCreate) E(cuEventDestroy) E(cuEventRecord) E(cuEventSynchronize)      \
                        E(cuMemcpyHtoDAsync) E(cuMemcpyDtoHAsync) E(cuMemcpyDtoDAsync)             \
                            E(cuMemcpyPeerAsync) E(cuDeviceCanAccessPeer) E(cuCtxEnablePeerAccess) \
                            E(cuMemsetD8Async) E(cuModuleLoadData) E(cuModuleUnload)               \
                                E(cuModuleGetFunction) E(cuFuncSetAttribute) E(cuFuncGetAttribute) \
                                    E(cuOccupancyMaxActiveBlocksPerMultiprocessor)                 \
                                        E(cuLaunchKernel) E(cuLaunchCooperativeKernel)             \
                                            E(cuStreamBeginCapture) E(cuStreamEndCapture)          \
                                                E(cuGraphInstantiate) E(cuGraphDestroy)            \
                                                    E(cuGraphLaunch) E(cuGraphExecDestroy)

typedef struct ks_cuda_driver {
    void *handle;
#define KS_CUDA_MEMBER(name) __typeof__(&name) name;
    KS_CUDA_DRIVER_LIST(KS_CUDA_MEMBER)
#undef KS_CUDA_MEMBER
    CUresult (*cuEventElapsedTime)(float *, CUevent, CUevent);
    CUresult (*cuFuncLoad)(CUfunction); /* since CUDA 12.4; NULL before */
} ks_cuda_driver;

/** Load the driver library and look up all functions. The caller closes the handle, also after a failure. Errors:
 *  KS_ENODEV. */
KS_MUST_CHECK ks_status ks_cuda_driver_load(ks_cuda_driver *cu);

/** Query the attributes of a device. */
KS_MUST_CHECK CUresult ks_cuda_driver_attributes(const ks_cuda_driver *cu, CUdevice number, ks_gpu_attributes *a);

/** Return the status for a result of the driver. */
KS_MUST_CHECK ks_status ks_cuda_driver_status(CUresult result);

#endif
