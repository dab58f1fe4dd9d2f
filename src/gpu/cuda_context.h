/* cuda_context.h -- the context of a CUDA device, for calls of other CUDA libraries. */
#ifndef KS_GPU_CUDA_CONTEXT_H
#define KS_GPU_CUDA_CONTEXT_H

#include "gpu.h"

/** Make the device's context current, and restore the one before. Errors: KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_cuda_enter(ks_gpu *gpu);
void ks_cuda_leave(ks_gpu *gpu);

#endif
