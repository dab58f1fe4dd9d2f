/* blas_none.c -- no dense libraries, for builds without CUDA. */
#include "blas.h"

ks_status ks_gpu_blas_open(ks_gpu_blas **out, ks_gpu *gpu, ks_context *context, int number)
{
    (void)gpu;
    (void)context;
    (void)number;
    *out = NULL;
    return KS_EUNAVAILABLE;
}

void ks_gpu_blas_close(ks_gpu_blas *blas) { (void)blas; }

ks_status ks_gpu_potrf(ks_gpu_blas *blas, int n, void *const *A, int *info, int count,
                       ks_gpu_stream *stream)
{
    (void)blas;
    (void)n;
    (void)A;
    (void)info;
    (void)count;
    (void)stream;
    return KS_EUNAVAILABLE;
}

ks_status ks_gpu_trsm(ks_gpu_blas *blas, ks_gpu_trsm_kind kind, int n, int m, void *const *L,
                      void *const *X, int count, ks_gpu_stream *stream)
{
    (void)blas;
    (void)kind;
    (void)n;
    (void)m;
    (void)L;
    (void)X;
    (void)count;
    (void)stream;
    return KS_EUNAVAILABLE;
}

ks_status ks_gpu_multiply(ks_gpu_blas *blas, const ks_gpu_gemm *product, ks_gpu_stream *stream)
{
    (void)blas;
    (void)product;
    (void)stream;
    return KS_EUNAVAILABLE;
}
