/* gpu_none.c -- the device of a build without CUDA. */
#include "gpu.h"

ks_status ks_gpu_open(ks_gpu **out, ks_context *context, int number)
{
    (void)context;
    if (!out || number < 0) return KS_EINVAL;
    *out = NULL;
    return KS_ENODEV;
}

int ks_gpu_absent(int number)
{
    (void)number;
    return 1;
}
