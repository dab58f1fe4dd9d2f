/* blas_emulated.c -- gpu/blas.h on the emulated device, by the kernels of plain_blas.cu. Each function takes
 * memory of the device at its first call, as libraries may. */
#include <string.h>
#include "gpu/blas.h"
#include "plain_blas.h"
#include "pool.h"

struct ks_gpu_blas {
    ks_gpu *gpu;
    ks_context *context;
    const ks_gpu_kernel *potrf, *trsm, *multiply;
    void *taken[3];
};

ks_status ks_gpu_blas_open(ks_gpu_blas **out, ks_gpu *gpu, ks_context *context, int number)
{
    *out = NULL;
    ks_gpu_blas *b = ks_allocate(context, sizeof *b);
    if (!b) return KS_ENOMEM;
    memset(b, 0, sizeof *b);
    b->gpu = gpu;
    b->context = context;
    const int wide = number == 8;
    ks_status status =
        ks_gpu_find(gpu, &b->potrf, "plain_blas", wide ? "plain_potrf_f64" : "plain_potrf_f32");
    if (!status)
        status = ks_gpu_find(gpu, &b->trsm, "plain_blas", wide ? "plain_trsm_f64" : "plain_trsm_f32");
    if (!status)
        status = ks_gpu_find(gpu, &b->multiply, "plain_blas",
                             wide ? "plain_multiply_f64" : "plain_multiply_f32");
    if (status) ks_gpu_blas_close(b);
    else *out = b;
    return status;
}

void ks_gpu_blas_close(ks_gpu_blas *b)
{
    if (!b) return;
    for (int i = 0; i < 3; ++i) ks_gpu_free(b->gpu, b->taken[i]);
    ks_release(b->context, b);
}

static ks_status launch(ks_gpu_blas *b, const ks_gpu_kernel *kernel, const plain_blas_args *args,
                        ks_gpu_stream *stream)
{
    const ks_gpu_shape shape = { { 2 }, { 64 }, 0, 0 };
    void **const taken = &b->taken[kernel == b->potrf ? 0 : kernel == b->trsm ? 1 : 2];
    const ks_status status = *taken ? KS_OK : ks_gpu_alloc(b->gpu, taken, 256);
    return status ? status : ks_gpu_launch(b->gpu, kernel, &shape, args, sizeof *args, stream);
}

ks_status ks_gpu_potrf(ks_gpu_blas *b, int n, void *const *A, int *info, int count,
                       ks_gpu_stream *stream)
{
    plain_blas_args args = { 0 };
    args.n = n;
    args.count = count;
    args.X = A;
    args.info = info;
    return launch(b, b->potrf, &args, stream);
}

ks_status ks_gpu_trsm(ks_gpu_blas *b, ks_gpu_trsm_kind kind, int n, int m, void *const *L,
                      void *const *X, int count, ks_gpu_stream *stream)
{
    plain_blas_args args = { 0 };
    args.n = n;
    args.m = m;
    args.count = count;
    args.kind = (int)kind;
    args.L = L;
    args.X = X;
    return launch(b, b->trsm, &args, stream);
}

ks_status ks_gpu_multiply(ks_gpu_blas *b, const ks_gpu_gemm *product, ks_gpu_stream *stream)
{
    plain_blas_args args = { 0 };
    args.product = *product;
    return launch(b, b->multiply, &args, stream);
}
