/* plain_blas.h -- arguments of the kernels of tests/gpu/emulator/blas_emulated.c. */
#ifndef PLAIN_BLAS_H
#define PLAIN_BLAS_H

#include "gpu/blas.h"

typedef struct plain_blas_args {
    int n, m, count, kind;
    void *const *L, *const *X;
    int *info;
    ks_gpu_gemm product;
} plain_blas_args;

#endif
