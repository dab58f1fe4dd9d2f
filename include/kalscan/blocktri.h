/* kalscan/blocktri.h -- symmetric positive definite block-tridiagonal systems.
 *
 *         | D[0]  L[0]'             |
 *     A = | L[0]  D[1]  L[1]'       |     N diagonal blocks D[i] = A[i, i] and
 *         |       L[1]  D[2]  ..    |     N - 1 sub-diagonal blocks L[i] = A[i + 1, i],
 *         |             ..    ..    |     all (n, n); N >= 1 and n >= 1 of any size
 *
 * Factor once, then solve for any number of right-hand sides, take the log-determinant, or the
 * diagonal and sub-diagonal blocks of the inverse. New numbers need no new plan.
 *
 *     ks_blocktri_options options = KS_BLOCKTRI_OPTIONS_INIT;
 *     ks_blocktri_plan_create(&plan, context, N, n, &options);
 *     void *fill = aligned_alloc(64, ks_blocktri_fill_bytes(plan));      (NULL where 0 bytes)
 *     void *work = aligned_alloc(64, ks_blocktri_workspace_bytes(plan));
 *     ks_blocktri_factor factor = { { D, n * n }, { L, n * n }, fill };   (in place)
 *     ks_blocktri_matrix matrix = { { D, n * n }, { L, n * n } };
 *     ks_blocktri_factorize(plan, &matrix, &factor, work, &info);
 *     ks_blocktri_solve(plan, &factor, 1, b, x, work);
 *
 * Storage: blocks are dense and row-major, the caller's, in the plan's precision; a stride in
 * elements leads from one block to the next. Of D the lower triangles are read.
 *
 * Range: denormal numbers count as zero. A backward error of the order of round-off takes a matrix whose
 * largest entry is at least 1e-292 (single precision: 1e-30), and a diagonal below a quarter of the largest
 * number; beyond that a factorization fails. Neither precision scales: see <kalscan/blocktri_refine.h>,
 * which does, or multiply A and b by powers of two.
 *
 * Threads: a plan is immutable; any number of threads may use one plan, each with workspace and
 * factor of its own, and one factor may be read by many. No call but plan_create allocates, none
 * keeps a pointer. For one order, option set, binary and instruction-set tier the results are the
 * same bits for any number of threads. Where n > 128, the inverse is served by OpenBLAS, which the
 * caller should set to one thread. */
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

/** Blocks that are read. stride 0: the same block everywhere; another one that is less than a block is KS_EINVAL.
 *  That of one block alone is not looked at, here and below. */
typedef struct ks_const_blocks {
    const void *data;
    int64_t stride;
} ks_const_blocks;

/** Blocks that are written; they do not overlap: a stride that is less than a block is KS_EINVAL. */
typedef struct ks_blocks {
    void *data;
    int64_t stride;
} ks_blocks;

/** The matrix. L.data may be NULL where N = 1. */
typedef struct ks_blocktri_matrix {
    ks_const_blocks D; /**< N blocks, lower triangles read  */
    ks_const_blocks L; /**< N - 1 blocks A[i + 1, i]        */
} ks_blocktri_matrix;

/** Where a factor is kept; what it holds depends on the order and is the library's own affair. D
 *  and L are either those of the matrix, with the same strides (in place: the matrix is lost), or
 *  do not overlap it. */
typedef struct ks_blocktri_factor {
    ks_blocks D; /**< N blocks                                                               */
    ks_blocks L; /**< N - 1 blocks                                                           */
    void *fill;  /**< ks_blocktri_fill_bytes() bytes, aligned to 64; NULL where that is 0    */
} ks_blocktri_factor;

/** What to plan for. Start from KS_BLOCKTRI_OPTIONS_INIT, then set what differs. */
typedef struct ks_blocktri_options {
    size_t size;               /**< sizeof(ks_blocktri_options)                              */
    ks_blocktri_order order;
    ks_precision precision;
    ks_tier tier;
    int threads;               /**< at most so many workers of the context; 0: all of them   */
    int64_t segments;          /**< partition: how many, at least 2; fewer where N is less   */
                               /**< than twice as many. 0: 4. (N + 1) / 2: segments of one   */
                               /**< block, the single-stage permutation of GPU-Cholesky      */
                               /**< Alg. 3 (nested-dissection is the multi-stage one)        */
    int64_t separator_spacing; /**< recursive Schur: every so many blocks a separator, at    */
                               /**< least 2. 0: 8                                            */
    int64_t crossover;         /**< recursive Schur: so few blocks, at least 2, are eliminated */
                               /**< one after the other. 0: 32                               */
} ks_blocktri_options;
#define KS_BLOCKTRI_OPTIONS_INIT                                                            \
    { sizeof(ks_blocktri_options), KS_BLOCKTRI_AUTO, KS_F64, KS_TIER_AUTO, 0, 0, 0, 0 }

/** What happened in a factorization. Start from KS_BLOCKTRI_INFO_INIT. */
typedef struct ks_blocktri_info {
    size_t size;      /**< sizeof(ks_blocktri_info)                                              */
    ks_status status; /**< what the call returned                                                */
    int64_t block;    /**< KS_ENOTPD: the block whose factorization failed, else -1; of several  */
                      /**< at once the lowest                                                    */
    int pivot;        /**< and its row that is not positive, or too near the largest number, or  */
                      /**< not a number, else -1                                                 */
} ks_blocktri_info;
#define KS_BLOCKTRI_INFO_INIT { sizeof(ks_blocktri_info), KS_OK, -1, -1 }

typedef struct ks_blocktri_plan ks_blocktri_plan;

/** Plan for N >= 1 blocks of order n >= 1. On success *out is the caller's: free it with
 *  ks_blocktri_plan_destroy(); on failure *out is NULL. options NULL means
 *  KS_BLOCKTRI_OPTIONS_INIT, context NULL the C library's allocator and one thread. The context
 *  must outlive the plan.
 *  Errors: KS_EINVAL, KS_ENOMEM, KS_EUNAVAILABLE (a tier that the processor lacks). */
KS_API KS_MUST_CHECK ks_status ks_blocktri_plan_create(ks_blocktri_plan **out, ks_context *context,
                                                       int64_t N, int n,
                                                       const ks_blocktri_options *options);

/** Which of its arguments, or of the options, is KS_EINVAL to ks_blocktri_plan_create(): the name of the first of them,
 *  "N" or "segments", in static storage; NULL if none is. */
KS_API const char *ks_blocktri_plan_invalid(int64_t N, int n, const ks_blocktri_options *options);

/** Free a plan. NULL is allowed. */
KS_API void ks_blocktri_plan_destroy(ks_blocktri_plan *plan);

/** The order that the plan follows: KS_BLOCKTRI_AUTO only if plan is NULL. */
KS_API ks_blocktri_order ks_blocktri_plan_order(const ks_blocktri_plan *plan);

/** Chains of blocks that are eliminated at once in the first round: 2 for twisted, the segments
 *  of partition, and so on, fewer where N is small, at least 1. 0 if plan is NULL. */
KS_API int64_t ks_blocktri_plan_segments(const ks_blocktri_plan *plan);

/** Workers that the plan takes, the caller included: 1 for sequential, at most 2 for twisted, and never
 *  more than the context has. 1 if plan is NULL. */
KS_API int ks_blocktri_plan_threads(const ks_blocktri_plan *plan);

/** Bytes that a factor needs beside D and L, a multiple of 64; 0 for sequential and twisted, and if plan is NULL. */
KS_API size_t ks_blocktri_fill_bytes(const ks_blocktri_plan *plan);

/** Bytes of workspace, a multiple of 64 and aligned to it, for everything but the inverse. Every plan takes some:
 *  `work` is never NULL. 0 if plan is NULL. */
KS_API size_t ks_blocktri_workspace_bytes(const ks_blocktri_plan *plan);

/** Bytes of workspace, a multiple of 64 and aligned to it, for ks_blocktri_inverse_blocks(). 0 if plan is NULL. */
KS_API size_t ks_blocktri_inverse_workspace_bytes(const ks_blocktri_plan *plan);

/** Factor a matrix. info may be NULL.
 *  Errors: KS_EINVAL, KS_ENOTPD (a block in the order's Schur complements, named in info, is not
 *  positive definite or not finite; the factor is then of no use). */
KS_API KS_MUST_CHECK ks_status ks_blocktri_factorize(const ks_blocktri_plan *plan,
                                                     const ks_blocktri_matrix *matrix,
                                                     const ks_blocktri_factor *factor, void *work,
                                                     ks_blocktri_info *info);

/** Solve A x = b for nrhs >= 1 right-hand sides: b and x have N blocks (n, nrhs). x may be b, with the same stride.
 *  Nothing looks for NaN or Inf in b: they go into x with KS_OK, and ks_blocktri_residual() tells.
 *  Errors: KS_EINVAL. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_solve(const ks_blocktri_plan *plan,
                                                 const ks_blocktri_factor *factor, int nrhs,
                                                 ks_const_blocks b, ks_blocks x, void *work);

/** *logdet = log det A, in double whatever the precision. Errors: KS_EINVAL. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_logdet(const ks_blocktri_plan *plan,
                                                  const ks_blocktri_factor *factor,
                                                  double *logdet);

/** Blocks of the inverse S of A: diagonal[i] = S[i, i], symmetric to the bit, and, unless
 *  lag.data is NULL, lag[i] = S[i + 1, i]. They must not overlap the factor.
 *  Errors: KS_EINVAL. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_inverse_blocks(const ks_blocktri_plan *plan,
                                                          const ks_blocktri_factor *factor,
                                                          ks_blocks diagonal, ks_blocks lag,
                                                          void *work);

/** Norms that judge a solution: the backward error is residual / (matrix * solution +
 *  right_hand_side), the relative residual residual / right_hand_side. */
typedef struct ks_blocktri_norms {
    double residual;        /**< of A x - b, Euclidean over all entries, as the next two */
    double solution;
    double right_hand_side;
    double matrix;          /**< Frobenius                                               */
} ks_blocktri_norms;

/** Norms of A x - b, accumulated in double, of a matrix that has not been factored in place; also where squares
 *  of the numbers leave the range of doubles. NaN or Inf where x, b or the matrix is not finite.
 *  Errors: KS_EINVAL. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_residual(const ks_blocktri_plan *plan,
                                                    const ks_blocktri_matrix *matrix, int nrhs,
                                                    ks_const_blocks x, ks_const_blocks b,
                                                    ks_blocktri_norms *norms);

KS_END_DECLS
#endif
