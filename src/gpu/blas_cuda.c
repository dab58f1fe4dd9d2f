/* blas_cuda.c -- batched calls of cuBLAS and cuSOLVER, which are loaded when they are opened.
 *
 * Their matrices are column-major: a row-major matrix is its transpose there, and a lower triangle an upper one.
 * Neither library's header is needed; the values of its enumerations are given here with their names. */
#include <dlfcn.h>
#include <string.h>
#include "blas.h"
#include "cuda_context.h"
#include "pool.h"

enum { OP_N = 0, OP_T = 1, SIDE_LEFT = 0, SIDE_RIGHT = 1, FILL_UPPER = 1, DIAG_NON_UNIT = 0 };
enum { WORKSPACE = 32 << 20 }; /* bytes, what cuBLAS allocates by default on this architecture */

#define CREATE(E)                                                                             \
    E(cublasCreate_v2, (void **)) E(cublasDestroy_v2, (void *)) E(cublasSetStream_v2, (void *, void *)) \
        E(cublasSetWorkspace_v2, (void *, void *, size_t))
#define GEMM(number)                                                                          \
    (void *, int, int, int, int, int, const number *, const number *, int, long long,         \
     const number *, int, long long, const number *, number *, int, long long, int)
#define TRSM(number)                                                                          \
    (void *, int, int, int, int, int, int, const number *, const number *const *, int,        \
     number *const *, int, int)
#define POTRF(number) (void *, int, int, number *const *, int, int *, int)
#define BLAS_LIST(E)                                                                          \
    CREATE(E) E(cublasDgemmStridedBatched, GEMM(double)) E(cublasSgemmStridedBatched, GEMM(float)) \
        E(cublasDtrsmBatched, TRSM(double)) E(cublasStrsmBatched, TRSM(float))
#define SOLVER_LIST(E)                                                                        \
    E(cusolverDnCreate, (void **)) E(cusolverDnDestroy, (void *)) E(cusolverDnSetStream, (void *, void *)) \
        E(cusolverDnDpotrfBatched, POTRF(double)) E(cusolverDnSpotrfBatched, POTRF(float))

struct ks_gpu_blas {
    ks_gpu *gpu;
    ks_context *context;
    void *blas_library, *solver_library, *blas, *solver, *workspace;
    ks_gpu_stream *stream;       /* the stream that calls currently go to */
    int number;
#define MEMBER(name, types) int (*name) types;
    BLAS_LIST(MEMBER) SOLVER_LIST(MEMBER)
#undef MEMBER
};

/* The libraries stay loaded. Each has a run time of its own, which the driver calls when a context ends. Loading
 * hundreds of megabytes again would also take tenths of a second. */
static void *first_of(const char *const *names)
{
    void *library = NULL;
    for (; *names && !library; ++names) library = dlopen(*names, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    return library;
}

static int look_up(ks_gpu_blas *b)
{
    static const char *const blas[] = { "libcublas.so.13", "libcublas.so.12", "libcublas.so", NULL };
    static const char *const solver[] = { "libcusolver.so.12", "libcusolver.so.11", "libcusolver.so", NULL };
    b->blas_library = first_of(blas);
    b->solver_library = first_of(solver);
    if (!b->blas_library || !b->solver_library) return 0;
    void *symbol;
#define FIND(name, types)                               \
    symbol = dlsym(LIBRARY, #name);                     \
    if (!symbol) return 0;                              \
    memcpy((void *)&b->name, &symbol, sizeof symbol);
#define LIBRARY b->blas_library
    BLAS_LIST(FIND)
#undef LIBRARY
#define LIBRARY b->solver_library
    SOLVER_LIST(FIND)
#undef LIBRARY
#undef FIND
    return 1;
}

/* Success is 0 in both libraries; these are their codes for failed allocations. CALL runs with the device's context
 * current. A failure is not in gpu->code, whose numbering is the driver's. */
enum { BLAS_ALLOC_FAILED = 3, SOLVER_ALLOC_FAILED = 2 };
#define CALL_FOR_MEMORY(b, none_left, call)                                  \
    do {                                                                     \
        ks_status status = ks_cuda_enter((b)->gpu);                          \
        if (status) return status;                                           \
        const int code = (call);                                             \
        ks_cuda_leave((b)->gpu);                                             \
        if (code == (none_left)) return KS_ENOMEM;                           \
        return code ? KS_EDEVICE : KS_OK;                                    \
    } while (0)
#define CALL(b, call) CALL_FOR_MEMORY(b, -1, call)

static ks_status create_blas(ks_gpu_blas *b) { CALL_FOR_MEMORY(b, BLAS_ALLOC_FAILED, b->cublasCreate_v2(&b->blas)); }
static ks_status create_solver(ks_gpu_blas *b)
{
    CALL_FOR_MEMORY(b, SOLVER_ALLOC_FAILED, b->cusolverDnCreate(&b->solver));
}
static ks_status destroy_blas(ks_gpu_blas *b) { CALL(b, b->cublasDestroy_v2(b->blas)); }
static ks_status destroy_solver(ks_gpu_blas *b) { CALL(b, b->cusolverDnDestroy(b->solver)); }

/* Setting a stream resets the workspace of cuBLAS to its own, so set both. */
static ks_status turn_to(ks_gpu_blas *b, ks_gpu_stream *stream)
{
    CALL(b, b->cublasSetStream_v2(b->blas, stream) ||
                b->cublasSetWorkspace_v2(b->blas, b->workspace, WORKSPACE) ||
                b->cusolverDnSetStream(b->solver, stream));
}

/* Send the calls that follow to this stream. The workspace is given, so that nothing is allocated during a capture. */
static ks_status into(ks_gpu_blas *b, ks_gpu_stream *stream)
{
    if (b->stream == stream) return KS_OK;
    const ks_status status = turn_to(b, stream);
    b->stream = status ? NULL : stream;
    return status;
}

ks_status ks_gpu_blas_open(ks_gpu_blas **out, ks_gpu *gpu, ks_context *context, int number)
{
    *out = NULL;
    ks_gpu_blas *b = ks_allocate(context, sizeof *b);
    if (!b) return KS_ENOMEM;
    memset(b, 0, sizeof *b);
    b->gpu = gpu;
    b->context = context;
    b->number = number;
    ks_status status = look_up(b) ? KS_OK : KS_EUNAVAILABLE;
    if (!status) status = create_blas(b);
    if (!status) status = create_solver(b);
    if (!status) status = ks_gpu_alloc(gpu, &b->workspace, WORKSPACE);
    if (status) ks_gpu_blas_close(b);
    else *out = b;
    return status;
}

void ks_gpu_blas_close(ks_gpu_blas *b)
{
    if (!b) return;
    if (b->solver) (void)destroy_solver(b);
    if (b->blas) (void)destroy_blas(b);
    ks_gpu_free(b->gpu, b->workspace);
    if (b->solver_library) dlclose(b->solver_library);
    if (b->blas_library) dlclose(b->blas_library);
    ks_release(b->context, b);
}

static ks_status potrf(ks_gpu_blas *b, int n, void *const *A, int *info, int count)
{
    CALL(b, b->number == 8 ? b->cusolverDnDpotrfBatched(b->solver, FILL_UPPER, n, (double *const *)A, n, info, count)
                           : b->cusolverDnSpotrfBatched(b->solver, FILL_UPPER, n, (float *const *)A, n, info, count));
}

ks_status ks_gpu_potrf(ks_gpu_blas *b, int n, void *const *A, int *info, int count,
                       ks_gpu_stream *stream)
{
    const ks_status status = into(b, stream);
    return status ? status : potrf(b, n, A, info, count);
}

static ks_status trsm(ks_gpu_blas *b, ks_gpu_trsm_kind kind, int n, int m, void *const *L,
                      void *const *X, int count)
{
    const int rows = kind == KS_TRSM_ROWS, side = rows ? SIDE_LEFT : SIDE_RIGHT;
    const int op = kind == KS_TRSM_FORWARD ? OP_N : OP_T, height = rows ? n : m, width = rows ? m : n;
    const double one = 1;
    const float one_f = 1;
    CALL(b, b->number == 8 ? b->cublasDtrsmBatched(b->blas, side, FILL_UPPER, op, DIAG_NON_UNIT, height, width,
                                                   &one, (const double *const *)L, n, (double *const *)X,
                                                   height, count)
                           : b->cublasStrsmBatched(b->blas, side, FILL_UPPER, op, DIAG_NON_UNIT, height, width,
                                                   &one_f, (const float *const *)L, n, (float *const *)X,
                                                   height, count));
}

ks_status ks_gpu_trsm(ks_gpu_blas *b, ks_gpu_trsm_kind kind, int n, int m, void *const *L,
                      void *const *X, int count, ks_gpu_stream *stream)
{
    const ks_status status = into(b, stream);
    return status ? status : trsm(b, kind, n, m, L, X, count);
}

static ks_status multiply(ks_gpu_blas *b, const ks_gpu_gemm *p)
{
    const int lda = p->a_transposed ? p->m : p->k, ldb = p->b_transposed ? p->k : p->n;
    const int opA = p->a_transposed ? OP_T : OP_N, opB = p->b_transposed ? OP_T : OP_N;
    const double alpha = p->alpha, beta = p->fresh ? 0 : 1;
    const float alpha_f = (float)alpha, beta_f = (float)beta;
    CALL(b, b->number == 8
                ? b->cublasDgemmStridedBatched(b->blas, opB, opA, p->n, p->m, p->k, &alpha, p->B, ldb,
                                               p->b_stride, p->A, lda, p->a_stride, &beta, p->C, p->n,
                                               p->c_stride, p->count)
                : b->cublasSgemmStridedBatched(b->blas, opB, opA, p->n, p->m, p->k, &alpha_f, p->B, ldb,
                                               p->b_stride, p->A, lda, p->a_stride, &beta_f, p->C, p->n,
                                               p->c_stride, p->count));
}

ks_status ks_gpu_multiply(ks_gpu_blas *b, const ks_gpu_gemm *p, ks_gpu_stream *stream)
{
    const ks_status status = into(b, stream);
    return status ? status : multiply(b, p);
}
