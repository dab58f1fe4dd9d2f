/* blas.h -- the calls of NVIDIA's dense libraries that driver code makes: one operation on many matrices at once.
 *
 * Matrices are row-major, in double if `number` is 8 and in single precision if it is 4. Arrays of pointers, and what
 * they point to, are in device memory. Calls put work into a stream, which may be captured. Linking decides what
 * ks_gpu_blas_open() opens, as for ks_gpu_open(): the libraries of the machine, found when they are opened; none; or,
 * in the tests, plain kernels. */
#ifndef KS_GPU_BLAS_H
#define KS_GPU_BLAS_H

#include "gpu.h"

typedef struct ks_gpu_blas ks_gpu_blas;

/** What a triangular solve computes: X <- X L^-T, L^-1 X or L^-T X. */
typedef enum ks_gpu_trsm_kind { KS_TRSM_ROWS, KS_TRSM_FORWARD, KS_TRSM_BACKWARD } ks_gpu_trsm_kind;

/** C <- C + alpha op(A) op(B) or, if `fresh`, C <- alpha op(A) op(B). C is (m, n), with k terms in each sum. `stride`
 *  is the distance from matrix to matrix. */
typedef struct ks_gpu_gemm {
    int a_transposed, b_transposed;
    int m, n, k;
    double alpha;
    int fresh;
    const void *A, *B;
    void *C;
    int64_t a_stride, b_stride, c_stride;
    int count;
} ks_gpu_gemm;

/** Open the libraries. Errors: KS_ENOMEM, KS_EUNAVAILABLE (not installed), KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_gpu_blas_open(ks_gpu_blas **out, ks_gpu *gpu, ks_context *context,
                                         int number);

/** Close them. NULL is allowed. */
void ks_gpu_blas_close(ks_gpu_blas *blas);

/** Replace the lower triangles of A[i] (n, n) by their Cholesky factors. info[i] is 0 or the first row, counted from 1,
 *  whose pivot is not positive. Errors: KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_gpu_potrf(ks_gpu_blas *blas, int n, void *const *A, int *info, int count,
                                     ks_gpu_stream *stream);

/** Solve with the lower triangles L[i] (n, n) in place of X[i], which is (m, n) for KS_TRSM_ROWS and (n, m) otherwise.
 *  Errors: KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_gpu_trsm(ks_gpu_blas *blas, ks_gpu_trsm_kind kind, int n, int m,
                                    void *const *L, void *const *X, int count, ks_gpu_stream *stream);

/** Compute the products. Errors: KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_gpu_multiply(ks_gpu_blas *blas, const ks_gpu_gemm *product,
                                        ks_gpu_stream *stream);

#endif
