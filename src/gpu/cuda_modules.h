/* cuda_modules.h -- the code of kernels on its way into a context. */
#ifndef KS_GPU_CUDA_MODULES_H
#define KS_GPU_CUDA_MODULES_H

#include "cuda_driver.h"

/** Load module `which` of ks_gpu_modules into the primary context of device `number`, which is current. The caller
 *  unloads it. */
KS_MUST_CHECK CUresult ks_cuda_load(const ks_cuda_driver *cu, CUmodule *out, CUdevice number, int which);

/** Unload it. */
void ks_cuda_unload(const ks_cuda_driver *cu, CUmodule module);

#endif
