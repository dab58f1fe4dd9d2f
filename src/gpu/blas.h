/* blas.h -- the few calls of NVIDIA's dense libraries that driver code makes: the same operation on many
 * matrices at once.
 *
 * Matrices are row-major, in double where `number` is 8 and in single precision where it is 4. Arrays of
 * pointers, and what they point at, are in the device's memory. Calls put work into the stream, also
 * into one that is being captured. What ks_gpu_blas_open() opens is decided when linking, as for
 * ks_gpu_open(): the machine's libraries, found when they are opened; none; or, in the tests, plain
 * kernels. */
#ifndef KS_GPU_BLAS_H
#define KS_GPU_BLAS_H

#include "gpu.h"

typedef struct ks_gpu_blas ks_gpu_blas;

/** What a triangular solution is: X <- X L^-T, L^-1 X or L^-T X. */
typedef enum ks_gpu_trsm_kind { KS_TRSM_ROWS, KS_TRSM_FORWARD, KS_TRSM_BACKWARD } ks_gpu_trsm_kind;

/** C <- C + alpha op(A) op(B) or, with `fresh`, without the C: (m, n), of k terms each. `stride` leads
 *  from matrix to matrix. */
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

/** Open the libraries. Errors: KS_ENOMEM, KS_EUNAVAILABLE (they are not there), KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_gpu_blas_open(ks_gpu_blas **out, ks_gpu *gpu, ks_context *context,
                                         int number);

/** Close them. NULL is allowed. */
void ks_gpu_blas_close(ks_gpu_blas *blas);

/** The lower triangles of A[i] (n, n) become their Cholesky factors; info[i] is 0 or, counted from 1,
 *  the first row whose pivot is not positive. Errors: KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_gpu_potrf(ks_gpu_blas *blas, int n, void *const *A, int *info, int count,
                                     ks_gpu_stream *stream);

/** X[i], (m, n) for KS_TRSM_ROWS, otherwise (n, m), with the lower triangles L[i] (n, n).
 *  Errors: KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_gpu_trsm(ks_gpu_blas *blas, ks_gpu_trsm_kind kind, int n, int m,
                                    void *const *L, void *const *X, int count, ks_gpu_stream *stream);

/** Products. Errors: KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_gpu_multiply(ks_gpu_blas *blas, const ks_gpu_gemm *product,
                                        ks_gpu_stream *stream);

#endif
