/* cuda_driver.h -- the functions of CUDA's driver that are called, as its library has them. */
#ifndef KS_GPU_CUDA_DRIVER_H
#define KS_GPU_CUDA_DRIVER_H

#include <cuda.h>
#include "gpu.h"

/* The name with which a function is looked up, versions and all, is what cuda.h makes of it. The
 * elapsed time alone has a newer name that older drivers lack, with nothing new in it. */
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

/** Look the library up, and all of them in it; the handle is the caller's to close, also on failure.
 *  Errors: KS_ENODEV. */
KS_MUST_CHECK ks_status ks_cuda_driver_load(ks_cuda_driver *cu);

/** What a device is. */
KS_MUST_CHECK CUresult ks_cuda_driver_attributes(const ks_cuda_driver *cu, CUdevice number, ks_gpu_attributes *a);

/** The status that a result stands for. */
KS_MUST_CHECK ks_status ks_cuda_driver_status(CUresult result);

#endif
