/* cuda_modules.h -- loading the code of kernels into a context. */
#ifndef KS_GPU_CUDA_MODULES_H
#define KS_GPU_CUDA_MODULES_H

#include "cuda_driver.h"

/** Load module `which` of ks_gpu_modules into the primary context of device `number`, which must be current. The caller
 *  unloads it with ks_cuda_unload(). */
KS_MUST_CHECK CUresult ks_cuda_load(const ks_cuda_driver *cu, CUmodule *out, CUdevice number, int which);

/** Unload a module that ks_cuda_load() loaded. */
void ks_cuda_unload(const ks_cuda_driver *cu, CUmodule module);

#endif
