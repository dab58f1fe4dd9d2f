/* blas.cpp -- what stands for the calls of cuBLAS and cuSOLVER that src/gpu/blas_cuda.c makes, in the library that
 * stands for the driver. Like theirs they take column-major matrices, need a handle and the current context,
 * and put their work into the handle's stream; a handle of cuBLAS in a stream that is captured needs a workspace
 * that was given to it after the stream. */
#include "column_blas.h"
#include "driver.h"

enum { SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7, EXECUTION_FAILED = 13 };
enum { LEAST_WORKSPACE = 4 << 20, BLAS = 0x42, SOLVER = 0x53 };

namespace
{
struct handle {
    int kind;
    CUctx_st *context;
    ks_gpu_stream *stream;
    bool workspace;
};

handle *checked(void *any, int kind)
{
    handle *const h = static_cast<handle *>(any);
    const bool good = h && h->kind == kind && h->context == current() && h->stream &&
                      (kind == SOLVER || h->workspace);
    if (!good) (void)all.complain(CUDA_ERROR_INVALID_VALUE, "a call of cuBLAS or cuSOLVER with no handle, stream or workspace");
    return good ? h : nullptr;
}

int launch(void *any, int kind, const char *name, const column_blas_args &args)
{
    handle *const h = checked(any, kind);
    if (!h || args.m < 0 || args.n < 0 || args.count < 0) return INVALID_VALUE;
    const std::lock_guard<std::recursive_mutex> turn(all.mutex);
    const ks_gpu_kernel kernel = {host_kernel(name)};
    const ks_gpu_shape shape = {{2}, {64}, 0, 0};
    return table().launch(gpu(), &kernel, &shape, &args, sizeof args, h->stream) ? EXECUTION_FAILED : SUCCESS;
}

int create(void **out, int kind)
{
    *out = nullptr;
    if (!current()) return NOT_INITIALIZED;
    *out = new handle{kind, current(), nullptr, false};
    return SUCCESS;
}

int destroy(void *any)
{
    delete static_cast<handle *>(any);
    return SUCCESS;
}

int set_stream(void *any, int kind, void *stream)
{
    handle *const h = static_cast<handle *>(any);
    if (!h || h->kind != kind) return NOT_INITIALIZED;
    h->stream = static_cast<ks_gpu_stream *>(stream);
    h->workspace = false;
    return SUCCESS;
}

template <class T>
int gemm(void *h, const char *name, int op_a, int op_b, int m, int n, int k, const T *alpha, const T *A, int lda,
         long long a_stride, const T *B, int ldb, long long b_stride, const T *beta, T *C, int ldc, long long c_stride,
         int count)
{
    column_blas_args args = {};
    if (lda < (op_a == OP_N ? m : k) || ldb < (op_b == OP_N ? k : n) || ldc < m) return INVALID_VALUE;
    args.op_a = op_a, args.op_b = op_b, args.m = m, args.n = n, args.k = k, args.count = count;
    args.alpha = (double)*alpha, args.beta = (double)*beta;
    args.A = A, args.lda = lda, args.a_stride = a_stride;
    args.B = B, args.ldb = ldb, args.b_stride = b_stride;
    args.C = C, args.ldc = ldc, args.c_stride = c_stride;
    return launch(h, BLAS, name, args);
}

template <class T>
int trsm(void *h, const char *name, int side, int fill, int op, int unit, int m, int n, const T *alpha,
         const T *const *A, int lda, T *const *B, int ldb, int count)
{
    column_blas_args args = {};
    if (unit || lda < (side == SIDE_LEFT ? m : n) || ldb < m) return INVALID_VALUE;
    args.side = side, args.fill = fill, args.op_a = op, args.m = m, args.n = n, args.count = count;
    args.alpha = (double)*alpha, args.lda = lda, args.ldb = ldb;
    args.As = reinterpret_cast<const void *const *>(A);
    args.Bs = reinterpret_cast<void *const *>(B);
    return launch(h, BLAS, name, args);
}

template <class T>
int potrf(void *h, const char *name, int fill, int n, T *const *A, int lda, int *info, int count)
{
    column_blas_args args = {};
    if (lda < n) return INVALID_VALUE;
    args.fill = fill, args.n = n, args.lda = lda, args.count = count, args.info = info;
    args.Bs = reinterpret_cast<void *const *>(A);
    return launch(h, SOLVER, name, args);
}
} // namespace

EXPORT int cublasCreate_v2(void **out);
EXPORT int cublasDestroy_v2(void *h);
EXPORT int cublasSetStream_v2(void *h, void *stream);
EXPORT int cublasSetWorkspace_v2(void *h, void *memory, size_t bytes);
EXPORT int cusolverDnCreate(void **out);
EXPORT int cusolverDnDestroy(void *h);
EXPORT int cusolverDnSetStream(void *h, void *stream);

EXPORT int cublasCreate_v2(void **out) { return create(out, BLAS); }
EXPORT int cublasDestroy_v2(void *h) { return destroy(h); }
EXPORT int cublasSetStream_v2(void *h, void *stream) { return set_stream(h, BLAS, stream); }
EXPORT int cublasSetWorkspace_v2(void *h, void *memory, size_t bytes)
{
    handle *const own = static_cast<handle *>(h);
    if (!own || own->kind != BLAS || !memory || bytes < LEAST_WORKSPACE) return INVALID_VALUE;
    own->workspace = true;
    return SUCCESS;
}
EXPORT int cusolverDnCreate(void **out) { return create(out, SOLVER); }
EXPORT int cusolverDnDestroy(void *h) { return destroy(h); }
EXPORT int cusolverDnSetStream(void *h, void *stream) { return set_stream(h, SOLVER, stream); }

#define CALLS(letter, T, bits)                                                                                       \
    EXPORT int cublas##letter##gemmStridedBatched(void *, int, int, int, int, int, const T *, const T *, int, long long, \
                                                  const T *, int, long long, const T *, T *, int, long long, int);   \
    EXPORT int cublas##letter##gemmStridedBatched(void *h, int op_a, int op_b, int m, int n, int k, const T *alpha,  \
                                                  const T *A, int lda, long long a_stride, const T *B, int ldb,      \
                                                  long long b_stride, const T *beta, T *C, int ldc,                  \
                                                  long long c_stride, int count)                                     \
    {                                                                                                                \
        return gemm(h, "column_gemm_" bits, op_a, op_b, m, n, k, alpha, A, lda, a_stride, B, ldb, b_stride, beta, C, \
                    ldc, c_stride, count);                                                                           \
    }                                                                                                                \
    EXPORT int cublas##letter##trsmBatched(void *, int, int, int, int, int, int, const T *, const T *const *, int,   \
                                           T *const *, int, int);                                                    \
    EXPORT int cublas##letter##trsmBatched(void *h, int side, int fill, int op, int unit, int m, int n,              \
                                           const T *alpha, const T *const *A, int lda, T *const *B, int ldb, int count) \
    {                                                                                                                \
        return trsm(h, "column_trsm_" bits, side, fill, op, unit, m, n, alpha, A, lda, B, ldb, count);               \
    }                                                                                                                \
    EXPORT int cusolverDn##letter##potrfBatched(void *, int, int, T *const *, int, int *, int);                      \
    EXPORT int cusolverDn##letter##potrfBatched(void *h, int fill, int n, T *const *A, int lda, int *info, int count) \
    {                                                                                                                \
        return potrf(h, "column_potrf_" bits, fill, n, A, lda, info, count);                                         \
    }
CALLS(D, double, "f64")
CALLS(S, float, "f32")
