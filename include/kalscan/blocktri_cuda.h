/* kalscan/blocktri_cuda.h -- symmetric positive definite block-tridiagonal systems on a CUDA device.
 *
 * The systems of <kalscan/blocktri.h>, one or many of the same size at once, in the device's memory. Calls put work
 * into a stream and return.
 *
 * Calls, in this order:
 *
 *     ks_blocktri_cuda_plan_create()      plans a size; allocates memory of the device for a factor
 *     ks_blocktri_cuda_factorize()        puts a factorization into a stream
 *     ks_blocktri_cuda_solve()            puts solutions into a stream; ks_blocktri_cuda_factor_solve() does both
 *     ks_blocktri_cuda_wait()             waits, and tells whether the matrix was positive definite
 *     ks_blocktri_cuda_logdet(), ks_blocktri_cuda_inverse_blocks(), ks_blocktri_cuda_refine_solve()
 *     ks_blocktri_cuda_plan_destroy()     frees the plan
 *
 * Example: solve one system; all arrays are in the device's memory.
 *
 *     ks_status solve(int64_t N, int n, const double *D, const double *L, const double *b, double *x)
 *     {
 *         const ks_cuda_const_blocks diagonal = { D, (int64_t)n * n, 0 }, lower = { L, (int64_t)n * n, 0 };
 *         const ks_cuda_const_blocks sides = { b, n, 0 };
 *         const ks_cuda_blocks solution = { x, n, 0 };
 *         ks_blocktri_cuda_plan *plan;
 *         ks_status status = ks_blocktri_cuda_plan_create(&plan, NULL, N, n, NULL);
 *         if (status != KS_OK) return status;
 *         status = ks_blocktri_cuda_factor_solve(plan, diagonal, lower, 1, sides, solution, NULL);
 *         const ks_status waited = ks_blocktri_cuda_wait(plan, NULL, NULL);
 *         ks_blocktri_cuda_plan_destroy(plan);
 *         return status != KS_OK ? status : waited;
 *     }
 *
 * Storage: blocks are dense and row-major, in the plan's precision, or in double with options.refine. Strides in
 * elements lead from block to block and from system to system. The matrix is not changed. The factor belongs to the
 * plan, which holds one at a time.
 *
 * Streams: `stream` is a CUstream or cudaStream_t of the device's primary context. NULL means a stream of the plan's
 * own, which does not wait for CUDA's default stream; ks_blocktri_cuda_wait() waits for it. To follow what was put into
 * the default stream, pass cudaStreamLegacy or cudaStreamPerThread. A stream that is being captured is not allowed: the plan launches graphs,
 * and CUDA does not capture these.
 *
 * Threads: one thread at a time makes calls on a plan, in one stream or in several that wait for each other. Results
 * are the same bits each time on the same device, except with options.atomic.
 *
 * Source: GPU-Cholesky and JMS, see <kalscan/order.h>. */
#ifndef KALSCAN_BLOCKTRI_CUDA_H
#define KALSCAN_BLOCKTRI_CUDA_H

#include <stddef.h>
#include <stdint.h>
#include "kalscan/blocktri_refine.h"
#include "kalscan/context.h"
#include "kalscan/export.h"
#include "kalscan/number.h"
#include "kalscan/status.h"

KS_BEGIN_DECLS

/** Blocks in device memory that are read. A stride is 0, the same blocks everywhere, or that from block to block at
 *  least the size of a block; else KS_EINVAL. A stride along an axis of length 1 is ignored. */
typedef struct ks_cuda_const_blocks {
    const void *data;      /**< first block of the first system */
    int64_t stride;        /**< elements from block to block */
    int64_t system_stride; /**< elements from system to system */
} ks_cuda_const_blocks;

/** Blocks in device memory that are written. They must not overlap; else KS_EINVAL. A stride along an axis of length 1
 *  is ignored. */
typedef struct ks_cuda_blocks {
    void *data;            /**< first block of the first system */
    int64_t stride;        /**< elements from block to block */
    int64_t system_stride; /**< elements from system to system */
} ks_cuda_blocks;

/** Options of a plan. Start from KS_BLOCKTRI_CUDA_OPTIONS_INIT: one system in double on device 0, nested dissection.
 *
 *  Blocks of order n <= 32 have kernels of their own. `inverse`, `refine`, `atomic` and KS_BLOCKTRI_PARTITION use the
 *  kernels of larger blocks instead.
 *
 *  order: KS_BLOCKTRI_AUTO and KS_BLOCKTRI_NESTED_DISSECTION eliminate every other block in each of log2(N) rounds.
 *  KS_BLOCKTRI_PARTITION eliminates segments at once, then what separates them, from both ends; the first and the last
 *  segment, whose blocks cost less, are longer. KS_BLOCKTRI_RECURSIVE_SCHUR is JMS Alg. 3-7 by batched calls of cuBLAS
 *  and cuSOLVER, for comparison: one system, without inverse, refine and atomic. Other orders are KS_EINVAL.
 *
 *  together: so many of the last rounds are one cooperative launch, with barriers of the grid between them, for larger
 *  blocks. -1 takes those whose work all runs at once, if that should save time. The arithmetic is the same.
 *
 *  atomic: GPU-Cholesky Alg. 6, for comparison. A block that is eliminated is subtracted from its neighbours by atomic
 *  sums; the last bits may differ from run to run. `together` must not be positive. */
typedef struct ks_blocktri_cuda_options {
    size_t size;            /**< sizeof(ks_blocktri_cuda_options) */
    ks_precision precision; /**< KS_F64 or KS_F32 */
    int systems;            /**< independent systems of each call, at least 1 */
    int device;             /**< number of the device, from 0 */
    int inverse;            /**< 1: ks_blocktri_cuda_inverse_blocks() for n <= 32, too; else 0 */
    int refine;             /**< 1, with KS_F32: ks_blocktri_cuda_refine_solve() solves, arrays are double; else 0 */
    ks_blocktri_order order;
    int64_t separator_spacing, crossover; /**< recursive Schur: as in <kalscan/blocktri.h>, spacing at most 2^20 */
    int64_t segments;       /**< partition: at least 2, at most (N + 1) / 2 are made; 0: 10, more for very large N */
    int together;           /**< last rounds in one launch; 0: none, -1: the library chooses */
    int atomic;             /**< 1: atomic sums; else 0 */
} ks_blocktri_cuda_options;
#define KS_BLOCKTRI_CUDA_OPTIONS_INIT \
    { sizeof(ks_blocktri_cuda_options), KS_F64, 1, 0, 0, 0, KS_BLOCKTRI_AUTO, 0, 0, 0, -1, 0 }

/** Outcome of a factorization. Start from KS_BLOCKTRI_CUDA_INFO_INIT. */
typedef struct ks_blocktri_cuda_info {
    size_t size;      /**< sizeof(ks_blocktri_cuda_info) */
    ks_status status; /**< what the call returned */
    int system;       /**< KS_ENOTPD: the lowest system that failed, else -1 */
    int64_t block;    /**< KS_ENOTPD: its block that failed first, the lowest if several did at once, else -1 */
    int pivot;        /**< KS_ENOTPD: row of the block whose pivot is not positive and finite, else -1 */
} ks_blocktri_cuda_info;
#define KS_BLOCKTRI_CUDA_INFO_INIT { sizeof(ks_blocktri_cuda_info), KS_OK, -1, -1, -1 }

/** A plan: opaque. */
typedef struct ks_blocktri_cuda_plan ks_blocktri_cuda_plan;

/** Set *bytes to the free memory of a device. The device is opened for that. The first call of a program on a device
 *  takes some of it for CUDA itself. On failure *bytes is 0.
 *
 *  Errors:
 *  - KS_EINVAL: bytes is NULL, or device is negative.
 *  - KS_ENOMEM: out of memory on the host.
 *  - KS_ENODEV: no such device, no driver, or the library is built without the back end.
 *  - KS_EDEVICE: the device failed. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_cuda_room(size_t *bytes, int device);

/** Return the bytes of device memory of a plan, beside the caller's arrays. No device is needed. SIZE_MAX if an
 *  argument or option is not valid, or if the size is one for which ks_blocktri_cuda_plan_create() returns KS_ENOMEM.
 *  options NULL means KS_BLOCKTRI_CUDA_OPTIONS_INIT. */
KS_API size_t ks_blocktri_cuda_bytes(int64_t N, int n, const ks_blocktri_cuda_options *options);

/** Return the bytes of device memory that calls on such a plan work in with nrhs >= 1 right-hand sides: with
 *  options.refine those of ks_blocktri_cuda_refine_bytes(), with options.inverse those of
 *  ks_blocktri_cuda_inverse_bytes(), with both the larger, with neither 0. So the memory that a system needs is known
 *  before a plan is made. SIZE_MAX as for ks_blocktri_cuda_bytes(), and if nrhs is below 1. */
KS_API size_t ks_blocktri_cuda_work_bytes(int64_t N, int n, int nrhs, const ks_blocktri_cuda_options *options);

/** Make a plan for N >= 1 blocks of order n >= 1.
 *
 *  On success *out is the caller's; free it with ks_blocktri_cuda_plan_destroy(). On failure *out is NULL. The plan
 *  keeps `context`, which must outlive it; NULL means the C library's allocator. `options` is copied; NULL means
 *  KS_BLOCKTRI_CUDA_OPTIONS_INIT.
 *
 *  Errors:
 *  - KS_EINVAL: out is NULL, or an argument or option is not valid: ks_blocktri_cuda_plan_invalid() names it.
 *  - KS_ENOMEM: out of memory on the host or the device; n above 32768; more than 2^30 blocks of all systems, or tiles
 *    of 64 x 64 in blocks of larger order; or a partition whose rounds would be more than 32768.
 *  - KS_EUNAVAILABLE: the library has no code for the device, or cuBLAS or cuSOLVER is missing for recursive Schur.
 *  - KS_ENODEV: no such device, no driver, or the library is built without the back end.
 *  - KS_EDEVICE: the device failed. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_cuda_plan_create(
    ks_blocktri_cuda_plan **out, ks_context *context, int64_t N, int n,
    const ks_blocktri_cuda_options *options);

/** Return the name of the first argument or option for which ks_blocktri_cuda_plan_create() returns KS_EINVAL, such as
 *  "N" or "systems"; NULL if all are valid. Static storage. options NULL means KS_BLOCKTRI_CUDA_OPTIONS_INIT. Of
 *  options that do not go together, the one that the other excludes: "inverse" for recursive Schur. No device is
 *  needed. */
KS_API const char *ks_blocktri_cuda_plan_invalid(int64_t N, int n, const ks_blocktri_cuda_options *options);

/** Free a plan. Work that it has put into streams must have been waited for. NULL is allowed. */
KS_API void ks_blocktri_cuda_plan_destroy(ks_blocktri_cuda_plan *plan);

/** Return the number of segments of a partition; 0 for other orders, for N < 3, and if plan is NULL. */
KS_API int ks_blocktri_cuda_plan_segments(const ks_blocktri_cuda_plan *plan);

/** Return the number of the last rounds of elimination that are one cooperative launch; 0: none, or plan is NULL. */
KS_API int ks_blocktri_cuda_plan_together(const ks_blocktri_cuda_plan *plan);

/** Put a factorization into a stream. D has N blocks, of which the lower triangles are read; L has the N - 1 blocks
 *  A[i + 1, i] and is ignored if N = 1. ks_blocktri_cuda_wait() tells whether the matrix was positive definite.
 *
 *  A call records a graph; one with the arrays of one of the last two calls of its kind launches that graph again, which
 *  is faster. This also holds for the calls below.
 *
 *  Errors:
 *  - KS_EINVAL: plan or an array is NULL, or a stride is not valid.
 *  - KS_ENOMEM: out of memory.
 *  - KS_EDEVICE: the device failed. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_cuda_factorize(ks_blocktri_cuda_plan *plan,
                                                          ks_cuda_const_blocks D,
                                                          ks_cuda_const_blocks L, void *stream);

/** Put the solution of A x = b, with the plan's factor, into a stream. b and x have N blocks of (n, nrhs) in each
 *  system, nrhs >= 1. x may be b, with the same strides; else they do not overlap. b is not checked: NaN and Inf in it
 *  go into x.
 *
 *  Errors:
 *  - KS_EINVAL: plan or an array is NULL, nrhs is below 1, a stride is not valid, the plan holds no factor, or it has
 *    options.refine.
 *  - KS_ENOMEM: out of memory, or too many right-hand sides for one call.
 *  - KS_EDEVICE: the device failed. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_cuda_solve(ks_blocktri_cuda_plan *plan, int nrhs,
                                                      ks_cuda_const_blocks b, ks_cuda_blocks x,
                                                      void *stream);

/** Put a factorization and a solution into a stream. With one right-hand side this is faster than the two calls, as it
 *  is solved for during the factorization.
 *
 *  Errors: those of ks_blocktri_cuda_factorize() and ks_blocktri_cuda_solve(). */
KS_API KS_MUST_CHECK ks_status ks_blocktri_cuda_factor_solve(
    ks_blocktri_cuda_plan *plan, ks_cuda_const_blocks D, ks_cuda_const_blocks L, int nrhs,
    ks_cuda_const_blocks b, ks_cuda_blocks x, void *stream);

/** Wait for the stream, and tell how the plan's last factorization went. info may be NULL. KS_OK if there was none.
 *
 *  Errors:
 *  - KS_EINVAL: plan is NULL, or info->size is wrong.
 *  - KS_ENOTPD: a matrix is not positive definite, see info. Factor and solutions of that system are of no use.
 *  - KS_EDEVICE: the device failed. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_cuda_wait(ks_blocktri_cuda_plan *plan,
                                                     ks_blocktri_cuda_info *info, void *stream);

/** Set logdet[s], in host memory, to log det A of system s, in double in either precision. Waits for the stream.
 *
 *  Errors:
 *  - KS_EINVAL: an argument is NULL, or the plan holds no factor.
 *  - KS_EDEVICE: the device failed. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_cuda_logdet(ks_blocktri_cuda_plan *plan, double *logdet,
                                                       void *stream);

/** Return the bytes of device memory that ks_blocktri_cuda_refine_solve() works in; 0 if plan is NULL or without
 *  options.refine, or nrhs is below 1. */
KS_API size_t ks_blocktri_cuda_refine_bytes(const ks_blocktri_cuda_plan *plan, int nrhs);

/** Solve A x = b in double with the plan's factor in single precision, by iterative refinement. Method, limits and
 *  report are those of <kalscan/blocktri_refine.h>; the report is over all systems. D and L are the matrix that was
 *  factored. b and x do not overlap. `work` is device memory of ks_blocktri_cuda_refine_bytes() bytes, aligned to 16;
 *  it is undefined afterwards. limits NULL means KS_BLOCKTRI_REFINE_INIT; report may be NULL. Waits for the stream.
 *
 *  A may have any units, but squares of the entries of S b and S^-1 x must neither overflow nor underflow.
 *
 *  Errors:
 *  - KS_EINVAL: an argument is NULL or misaligned, nrhs is below 1, a stride or a limit is not valid, x is b, the plan
 *    holds no factor, or it is without options.refine.
 *  - KS_ENONFINITE: x or the residual is not finite.
 *  - KS_ENOMEM: out of memory, or too many right-hand sides for one call.
 *  - KS_EDEVICE: the device failed. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_cuda_refine_solve(
    ks_blocktri_cuda_plan *plan, ks_cuda_const_blocks D, ks_cuda_const_blocks L, int nrhs,
    ks_cuda_const_blocks b, ks_cuda_blocks x, void *work, const ks_blocktri_refine_limits *limits,
    ks_blocktri_refine_report *report, void *stream);

/** Return the bytes of device memory that ks_blocktri_cuda_inverse_blocks() works in; 0 if plan is NULL or has no
 *  kernels for it. */
KS_API size_t ks_blocktri_cuda_inverse_bytes(const ks_blocktri_cuda_plan *plan);

/** Put blocks of the inverse S of A, from the plan's factor, into a stream: diagonal[i] = S[i, i], symmetric to the
 *  bit, and lag[i] = S[i + 1, i], all (n, n) in device memory. lag.data NULL means that lag is not wanted. `work` is
 *  device memory of ks_blocktri_cuda_inverse_bytes() bytes, aligned to 16; it is undefined afterwards. No array
 *  overlaps another.
 *
 *  Errors:
 *  - KS_EINVAL: an argument is NULL or misaligned, a stride is not valid, or the plan holds no factor.
 *  - KS_EUNAVAILABLE: ks_blocktri_cuda_inverse_bytes() is 0: recursive Schur, or n <= 32 without any of
 *    options.inverse, options.refine, options.atomic and KS_BLOCKTRI_PARTITION.
 *  - KS_ENOMEM: out of memory.
 *  - KS_EDEVICE: the device failed. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_cuda_inverse_blocks(ks_blocktri_cuda_plan *plan,
                                                               ks_cuda_blocks diagonal,
                                                               ks_cuda_blocks lag, void *work,
                                                               void *stream);

/** Allocate memory of the plan's device, for callers without another way to do so. On success *out is the caller's;
 *  free it with ks_blocktri_cuda_free() before the plan is destroyed. On failure, and for 0 bytes, *out is NULL.
 *
 *  Errors:
 *  - KS_EINVAL: plan or out is NULL.
 *  - KS_ENOMEM: out of memory.
 *  - KS_EDEVICE: the device failed. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_cuda_alloc(ks_blocktri_cuda_plan *plan, void **out,
                                                      size_t bytes);

/** Free memory that ks_blocktri_cuda_alloc() returned for the same plan. NULL is allowed for either. */
KS_API void ks_blocktri_cuda_free(ks_blocktri_cuda_plan *plan, void *memory);

/** Copy bytes from the host to the device, in the plan's own stream, and wait.
 *
 *  Errors:
 *  - KS_EINVAL: plan is NULL, or an array is NULL and bytes is not 0.
 *  - KS_EDEVICE: the device failed. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_cuda_upload(ks_blocktri_cuda_plan *plan, void *device,
                                                       const void *host, size_t bytes);

/** Copy bytes from the device to the host, in the plan's own stream, and wait. Errors as of
 *  ks_blocktri_cuda_upload(). */
KS_API KS_MUST_CHECK ks_status ks_blocktri_cuda_download(ks_blocktri_cuda_plan *plan, void *host,
                                                         const void *device, size_t bytes);

KS_END_DECLS
#endif
