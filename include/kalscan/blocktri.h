/* kalscan/blocktri.h -- symmetric positive definite block-tridiagonal systems.
 *
 *         | D[0]  L[0]'             |
 *     A = | L[0]  D[1]  L[1]'       |     N diagonal blocks D[i] = A[i, i] and
 *         |       L[1]  D[2]  ..    |     N - 1 sub-diagonal blocks L[i] = A[i + 1, i],
 *         |             ..    ..    |     all (n, n)
 *
 * Factor a matrix by block Cholesky elimination, in a choice of orders. With the factor, solve for right-hand sides,
 * compute the log-determinant, and compute the diagonal and sub-diagonal blocks of the inverse.
 *
 * Calls, in this order:
 *
 *     ks_blocktri_plan_create()       plans a size, an order and a precision
 *     ks_blocktri_fill_bytes(), ks_blocktri_workspace_bytes(), ks_blocktri_inverse_workspace_bytes()
 *                                     sizes of memory, which the caller allocates
 *     ks_blocktri_factorize()         factors a matrix
 *     ks_blocktri_solve(), ks_blocktri_logdet(), ks_blocktri_inverse_blocks()
 *                                     use the factor
 *     ks_blocktri_plan_destroy()      frees the plan; it serves any number of matrices until then
 *
 * Example: solve one system in place of the matrix.
 *
 *     ks_status solve(int64_t N, int n, double *D, double *L, const double *b, double *x)
 *     {
 *         const int64_t size = (int64_t)n * n;
 *         ks_blocktri_plan *plan;
 *         ks_status status = ks_blocktri_plan_create(&plan, NULL, N, n, NULL);
 *         if (status != KS_OK) return status;
 *         const size_t bytes = ks_blocktri_fill_bytes(plan);
 *         void *fill = bytes ? aligned_alloc(64, bytes) : NULL;
 *         void *work = aligned_alloc(64, ks_blocktri_workspace_bytes(plan));
 *         const ks_blocktri_matrix matrix = { { D, size }, { L, size } };
 *         const ks_blocktri_factor factor = { { D, size }, { L, size }, fill };
 *         status = work && (fill || !bytes) ? ks_blocktri_factorize(plan, &matrix, &factor, work, NULL) : KS_ENOMEM;
 *         if (status == KS_OK)
 *             status = ks_blocktri_solve(plan, &factor, 1, (ks_const_blocks){ b, n }, (ks_blocks){ x, n }, work);
 *         free(fill);
 *         free(work);
 *         ks_blocktri_plan_destroy(plan);
 *         return status;
 *     }
 *
 * Storage: blocks are dense and row-major, in the plan's precision. A stride in elements leads from one block to the
 * next. Of D only the lower triangles are read.
 *
 * Range: denormal numbers count as zero. A pivot of a quarter of the largest number, or more, fails. The backward error
 * is of the order of round-off if the largest entry of the matrix is at least 1e-292 (single precision: 1e-30). The
 * matrix is not scaled: multiply A and b by powers of two, or use <kalscan/blocktri_refine.h>, which scales.
 *
 * Threads: a plan is immutable. Any number of threads may use one plan, each with its own workspace and factor, and any
 * number may read one factor. Only ks_blocktri_plan_create() allocates; no call keeps a pointer to the caller's arrays.
 * For one order, set of options, library binary and instruction-set tier the results are the same bits for any number
 * of threads. Set OpenBLAS to one thread: the inverse calls it if n > 128. */
#ifndef KALSCAN_BLOCKTRI_H
#define KALSCAN_BLOCKTRI_H

#include <stddef.h>
#include <stdint.h>
#include "kalscan/context.h"
#include "kalscan/export.h"
#include "kalscan/number.h"
#include "kalscan/order.h"
#include "kalscan/status.h"

KS_BEGIN_DECLS

/** Blocks that are read. The stride is 0, the same block everywhere, or at least the size of a block; else KS_EINVAL.
 *  The stride of a single block is ignored. */
typedef struct ks_const_blocks {
    const void *data; /**< first block */
    int64_t stride;   /**< elements from block to block */
} ks_const_blocks;

/** Blocks that are written. The stride is at least the size of a block; else KS_EINVAL. The stride of a single block is
 *  ignored. */
typedef struct ks_blocks {
    void *data;     /**< first block */
    int64_t stride; /**< elements from block to block */
} ks_blocks;

/** A matrix. If N = 1, L is ignored. */
typedef struct ks_blocktri_matrix {
    ks_const_blocks D; /**< N blocks, lower triangles read */
    ks_const_blocks L; /**< N - 1 blocks A[i + 1, i] */
} ks_blocktri_matrix;

/** Memory of a factor, the caller's. D and L are either those of the matrix, with the same strides, and the factor
 *  replaces the matrix; or they do not overlap it. The contents depend on the order and are for the library only. */
typedef struct ks_blocktri_factor {
    ks_blocks D; /**< N blocks */
    ks_blocks L; /**< N - 1 blocks; ignored if N = 1 */
    void *fill;  /**< ks_blocktri_fill_bytes() bytes, aligned to 64; NULL is allowed if that is 0 */
} ks_blocktri_factor;

/** Options of a plan. Start from KS_BLOCKTRI_OPTIONS_INIT: KS_BLOCKTRI_AUTO in double on all workers of the context.
 *
 *  KS_BLOCKTRI_AUTO makes as many segments as workers, if it takes partition and `segments` is 0. With (N + 1) / 2
 *  segments, each of one block, KS_BLOCKTRI_PARTITION is the single-stage permutation of GPU-Cholesky Alg. 3.
 *  KS_BLOCKTRI_NESTED_DISSECTION is the multi-stage one. */
typedef struct ks_blocktri_options {
    size_t size;               /**< sizeof(ks_blocktri_options) */
    ks_blocktri_order order;
    ks_precision precision;    /**< KS_F64 or KS_F32 */
    ks_tier tier;
    int threads;               /**< most workers of the context to use; 0: all of them */
    int64_t segments;          /**< partition: segments, at least 2, at most (N + 1) / 2 are made; 0: 4 */
    int64_t separator_spacing; /**< recursive Schur: blocks from separator to separator, at least 2; 0: 8 */
    int64_t crossover;         /**< recursive Schur: most blocks to eliminate sequentially, at least 2; 0: 32 */
} ks_blocktri_options;
#define KS_BLOCKTRI_OPTIONS_INIT                                                            \
    { sizeof(ks_blocktri_options), KS_BLOCKTRI_AUTO, KS_F64, KS_TIER_AUTO, 0, 0, 0, 0 }

/** Outcome of a factorization. Start from KS_BLOCKTRI_INFO_INIT. Of several blocks that fail at once the lowest is
 *  reported. */
typedef struct ks_blocktri_info {
    size_t size;      /**< sizeof(ks_blocktri_info) */
    ks_status status; /**< what the call returned */
    int64_t block;    /**< KS_ENOTPD: the block that failed, else -1 */
    int pivot;        /**< KS_ENOTPD: its row, whose pivot is not positive, too large or NaN, else -1 */
} ks_blocktri_info;
#define KS_BLOCKTRI_INFO_INIT { sizeof(ks_blocktri_info), KS_OK, -1, -1 }

/** A plan: opaque and immutable. */
typedef struct ks_blocktri_plan ks_blocktri_plan;

/** Make a plan for N >= 1 blocks of order n >= 1.
 *
 *  On success *out is the caller's; free it with ks_blocktri_plan_destroy(). On failure *out is NULL. The plan keeps
 *  `context`, which must outlive it; NULL means the C library's allocator and one thread. `options` is copied; NULL
 *  means KS_BLOCKTRI_OPTIONS_INIT.
 *
 *  Errors:
 *  - KS_EINVAL: out is NULL, or an argument or option is not valid: ks_blocktri_plan_invalid() names it.
 *  - KS_ENOMEM: out of memory, n above 16384, or a size in bytes overflows.
 *  - KS_EUNAVAILABLE: the processor lacks the tier. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_plan_create(ks_blocktri_plan **out, ks_context *context,
                                                       int64_t N, int n,
                                                       const ks_blocktri_options *options);

/** Return the name of the first argument or option for which ks_blocktri_plan_create() returns KS_EINVAL, such as "N"
 *  or "segments"; NULL if all are valid. Static storage. options NULL means KS_BLOCKTRI_OPTIONS_INIT. */
KS_API const char *ks_blocktri_plan_invalid(int64_t N, int n, const ks_blocktri_options *options);

/** Free a plan. No call with it may be in progress. NULL is allowed. */
KS_API void ks_blocktri_plan_destroy(ks_blocktri_plan *plan);

/** Return the order of the plan; KS_BLOCKTRI_AUTO only if plan is NULL. */
KS_API ks_blocktri_order ks_blocktri_plan_order(const ks_blocktri_plan *plan);

/** Return the number of chains of blocks that the first round eliminates at once, at least 1: 2 for twisted, the number
 *  of segments for partition, and so on, fewer if N is small. 0 if plan is NULL. */
KS_API int64_t ks_blocktri_plan_segments(const ks_blocktri_plan *plan);

/** Return the number of workers of a call, the caller included: 1 for sequential, at most 2 for twisted, at most those
 *  of the context; 1 if plan is NULL. */
KS_API int ks_blocktri_plan_threads(const ks_blocktri_plan *plan);

/** Return the bytes of a factor beside D and L: a multiple of 64; 0 for sequential and twisted, and if plan is NULL. */
KS_API size_t ks_blocktri_fill_bytes(const ks_blocktri_plan *plan);

/** Return the bytes of workspace of every call but ks_blocktri_inverse_blocks(): a multiple of 64, never 0 for a plan.
 *  The caller aligns it to 64. 0 if plan is NULL. */
KS_API size_t ks_blocktri_workspace_bytes(const ks_blocktri_plan *plan);

/** Return the bytes of workspace of ks_blocktri_inverse_blocks(): a multiple of 64, never 0 for a plan. The caller
 *  aligns it to 64. 0 if plan is NULL. */
KS_API size_t ks_blocktri_inverse_workspace_bytes(const ks_blocktri_plan *plan);

/** Factor a matrix. info may be NULL. On failure the factor is of no use, and a matrix in its place is lost.
 *
 *  Errors:
 *  - KS_EINVAL: an argument is NULL or misaligned, a stride is not valid, or a matrix in place has other strides.
 *  - KS_ENOTPD: a block, which info names, is not positive definite, or not finite, when it is eliminated. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_factorize(const ks_blocktri_plan *plan,
                                                     const ks_blocktri_matrix *matrix,
                                                     const ks_blocktri_factor *factor, void *work,
                                                     ks_blocktri_info *info);

/** Solve A x = b for nrhs >= 1 right-hand sides. b and x have N blocks of (n, nrhs). x may be b, with the same stride;
 *  else they do not overlap. b is not checked: NaN and Inf in it go into x with KS_OK, and ks_blocktri_residual() shows
 *  them.
 *
 *  Errors:
 *  - KS_EINVAL: an argument is NULL or misaligned, nrhs is below 1, or a stride is not valid. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_solve(const ks_blocktri_plan *plan,
                                                 const ks_blocktri_factor *factor, int nrhs,
                                                 ks_const_blocks b, ks_blocks x, void *work);

/** Set *logdet to log det A, in double in either precision.
 *
 *  Errors:
 *  - KS_EINVAL: an argument is NULL, or a stride is not valid. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_logdet(const ks_blocktri_plan *plan,
                                                  const ks_blocktri_factor *factor,
                                                  double *logdet);

/** Compute blocks of the inverse S of A: diagonal[i] = S[i, i], N blocks, symmetric to the bit, and lag[i] =
 *  S[i + 1, i], N - 1 blocks. lag.data NULL means that lag is not wanted. Neither may overlap the factor or the other.
 *  `work` holds ks_blocktri_inverse_workspace_bytes() bytes.
 *
 *  In orders by levels, KS_BLOCKTRI_NESTED_DISSECTION and KS_BLOCKTRI_RECURSIVE_SCHUR with a small crossover, each level
 *  multiplies round-off where a nearly singular direction of A spans several blocks: at condition numbers from 1e8 on, 2
 *  of 17000 random systems had variances off by more than themselves, negative ones too. Other orders kept an error of 5
 *  round-offs of the trace of diag(A) S.
 *
 *  Errors:
 *  - KS_EINVAL: an argument is NULL or misaligned, or a stride is not valid. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_inverse_blocks(const ks_blocktri_plan *plan,
                                                          const ks_blocktri_factor *factor,
                                                          ks_blocks diagonal, ks_blocks lag,
                                                          void *work);

/** Norms for judging a solution. Vectors have Euclidean norms over all entries of all right-hand sides. The backward
 *  error is residual / (matrix * solution + right_hand_side), the relative residual residual / right_hand_side. */
typedef struct ks_blocktri_norms {
    double residual;        /**< of A x - b */
    double solution;        /**< of x */
    double right_hand_side; /**< of b */
    double matrix;          /**< Frobenius norm of A */
} ks_blocktri_norms;

/** Compute the norms of a solution. `matrix` is the matrix itself, not one that has been factored in place. Sums are in
 *  double in either precision, and the norms are right even if their squares would overflow or underflow. They are NaN
 *  or Inf if x, b or the matrix is not finite.
 *
 *  Errors:
 *  - KS_EINVAL: an argument is NULL, nrhs is below 1, or a stride is not valid. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_residual(const ks_blocktri_plan *plan,
                                                    const ks_blocktri_matrix *matrix, int nrhs,
                                                    ks_const_blocks x, ks_const_blocks b,
                                                    ks_blocktri_norms *norms);

KS_END_DECLS
#endif
