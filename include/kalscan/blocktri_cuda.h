/* kalscan/blocktri_cuda.h -- symmetric positive definite block-tridiagonal systems on a CUDA device.
 *
 * The systems of <kalscan/blocktri.h>, one or many of the same size at once, factored by nested
 * dissection: log2(N) levels, all of them one graph. Up to n = 32 each level is one launch of a fused
 * kernel, beyond it one for each 64 columns and one more. Everything stays on the device; calls put
 * work into a stream and return.
 *
 *     ks_blocktri_cuda_options options = KS_BLOCKTRI_CUDA_OPTIONS_INIT;
 *     ks_blocktri_cuda_plan_create(&plan, context, N, n, &options);
 *     const ks_cuda_const_blocks D = { device_D, n * n, 0 }, L = { device_L, n * n, 0 };
 *     const ks_cuda_const_blocks b = { device_b, n, 0 };
 *     const ks_cuda_blocks x = { device_x, n, 0 };
 *     ks_blocktri_cuda_factor_solve(plan, D, L, 1, b, x, stream);
 *     ks_blocktri_cuda_wait(plan, &info, stream);
 *
 * Storage: blocks are dense and row-major, in device memory, in the plan's precision (in double with
 * options.refine); strides in elements lead from block to block and from system to system. The matrix
 * is left as it is; the factor belongs to the plan, which holds one at a time.
 *
 * stream is a CUstream or cudaStream_t of the device's primary context; NULL means a stream of the
 * plan's own, and then work is done when ks_blocktri_cuda_wait() has returned. It is not one that is
 * being captured, into which CUDA launches no graph. Calls on one plan are made by one thread at a time
 * and in one stream, or in several that wait for each other. Results are the same bits each time on the
 * same device, whatever else it does, but with options.atomic. */
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

/** Blocks in device memory that are read. A stride of 0: the same everywhere. */
typedef struct ks_cuda_const_blocks {
    const void *data;
    int64_t stride;        /**< from block to block; not looked at where there is one           */
    int64_t system_stride; /**< from system to system; not looked at where there is one         */
} ks_cuda_const_blocks;

/** Blocks in device memory that are written; they do not overlap. */
typedef struct ks_cuda_blocks {
    void *data;
    int64_t stride;
    int64_t system_stride;
} ks_cuda_blocks;

/** What to plan for. Start from KS_BLOCKTRI_CUDA_OPTIONS_INIT, then set what differs. */
typedef struct ks_blocktri_cuda_options {
    size_t size;            /**< sizeof(ks_blocktri_cuda_options)                               */
    ks_precision precision; /**< KS_F64 or KS_F32                                               */
    int systems;            /**< independent systems that each call serves, at least 1          */
    int device;             /**< number of the device, from 0                                   */
    int inverse;            /**< 1: the plan can compute blocks of the inverse, for which small */
                            /**< blocks take the kernels of large ones; always so for n > 32    */
    int refine;             /**< 1, with KS_F32: matrix and solutions are in double, the factor */
                            /**< in single precision; solve by ks_blocktri_cuda_refine_solve()  */
    ks_blocktri_order order; /**< KS_BLOCKTRI_AUTO and KS_BLOCKTRI_NESTED_DISSECTION: as above; */
                            /**< KS_BLOCKTRI_RECURSIVE_SCHUR: JMS' method (<kalscan/order.h>)   */
                            /**< by batched calls of cuBLAS and cuSOLVER, one system at once,   */
                            /**< without inverse and refine: there to compare with              */
                            /**< KS_BLOCKTRI_PARTITION: segments, of which the two at the ends, */
                            /**< 19/7 as long as the others, cost 7/3 n^3 a block instead of    */
                            /**< 19/3, then what separates them, from both ends; by the kernels */
                            /**< of large blocks                                                */
    int64_t separator_spacing, crossover; /**< of recursive Schur, as in <kalscan/blocktri.h>   */
    int64_t segments;       /**< of a partition, at least 2; fewer where N is less than twice   */
                            /**< as many. 0: 10, of very long chains as many more as it takes   */
    int together;           /**< large blocks: so many of the last levels are one cooperative   */
                            /**< launch, with barriers of the grid where launches would end.    */
                            /**< -1: those whose work all runs at once, where barriers are      */
                            /**< expected to cost less; 0: none. The arithmetic is the same     */
    int atomic;             /**< 1: who eliminates a block subtracts from its neighbours, by    */
                            /**< atomic sums, instead of these fetching what they need          */
                            /**< (GPU-Cholesky Alg. 6, see <kalscan/order.h>); bits may differ  */
                            /**< from run to run. By the kernels of large blocks, without       */
                            /**< together and not of recursive Schur: there to compare with     */
} ks_blocktri_cuda_options;
#define KS_BLOCKTRI_CUDA_OPTIONS_INIT \
    { sizeof(ks_blocktri_cuda_options), KS_F64, 1, 0, 0, 0, KS_BLOCKTRI_AUTO, 0, 0, 0, -1, 0 }

/** What happened in a factorization. Start from KS_BLOCKTRI_CUDA_INFO_INIT. */
typedef struct ks_blocktri_cuda_info {
    size_t size;      /**< sizeof(ks_blocktri_cuda_info)                                        */
    ks_status status; /**< what the call returned                                               */
    int system;       /**< KS_ENOTPD: the lowest system that failed, else -1                    */
    int64_t block;    /**< its block whose factorization failed first, of several at once the   */
                      /**< lowest, else -1                                                      */
    int pivot;        /**< and the block's row that is not positive and finite, else -1         */
} ks_blocktri_cuda_info;
#define KS_BLOCKTRI_CUDA_INFO_INIT { sizeof(ks_blocktri_cuda_info), KS_OK, -1, -1, -1 }

typedef struct ks_blocktri_cuda_plan ks_blocktri_cuda_plan;

/** Bytes of the memory of a device, from 0, that nobody has taken: what there is room for, but for what a
 *  program's first call on it takes. It is opened for that.
 *  Errors: KS_EINVAL, KS_ENOMEM (of the host), KS_ENODEV, KS_EDEVICE. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_cuda_room(size_t *bytes, int device);

/** Bytes of device memory that a plan takes, beside the caller's arrays; SIZE_MAX where they
 *  overflow or what is asked for is not valid. */
KS_API size_t ks_blocktri_cuda_bytes(int64_t N, int n, const ks_blocktri_cuda_options *options);

/** Bytes of device memory that calls on such a plan work in with nrhs >= 1 right-hand sides: the larger one of
 *  what ks_blocktri_cuda_refine_bytes() and ks_blocktri_cuda_inverse_bytes() will say of it, 0 of a plan with
 *  neither options.refine nor options.inverse. So all that a system takes can be asked for before anything
 *  is begun. SIZE_MAX as above. */
KS_API size_t ks_blocktri_cuda_work_bytes(int64_t N, int n, int nrhs, const ks_blocktri_cuda_options *options);

/** Plan for N >= 1 blocks of order n >= 1. On success *out is the caller's: free it with
 *  ks_blocktri_cuda_plan_destroy(); on failure *out is NULL. options NULL means
 *  KS_BLOCKTRI_CUDA_OPTIONS_INIT, context NULL the C library's allocator. The context must outlive
 *  the plan.
 *  Errors: KS_EINVAL, KS_ENOMEM (of host or device; also 2^30 blocks, or tiles of 64 x 64 in them, or
 *  more, n > 32768, and segments so few that more than 32768 rounds follow one another),
 *  KS_EUNAVAILABLE (a device that the library has no code for; recursive Schur complements without the
 *  libraries that they need), KS_ENODEV, KS_EDEVICE. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_cuda_plan_create(
    ks_blocktri_cuda_plan **out, ks_context *context, int64_t N, int n,
    const ks_blocktri_cuda_options *options);

/** Which of its arguments, or of the options, is KS_EINVAL to ks_blocktri_cuda_plan_create(): the name of the first of
 *  them, "N" or "systems", in static storage; NULL if none is. Of options that do not go together the one that the other
 *  rules out: "inverse" of recursive Schur complements. Needs no device. */
KS_API const char *ks_blocktri_cuda_plan_invalid(int64_t N, int n, const ks_blocktri_cuda_options *options);

/** Free a plan; what it has put into streams must have been waited for. NULL is allowed. */
KS_API void ks_blocktri_cuda_plan_destroy(ks_blocktri_cuda_plan *plan);

/** Segments of a partition, as the plan has them; 0 of other orders, and where N < 3. */
KS_API int ks_blocktri_cuda_plan_segments(const ks_blocktri_cuda_plan *plan);

/** How many of the last rounds of elimination are one cooperative launch; 0: none. */
KS_API int ks_blocktri_cuda_plan_together(const ks_blocktri_cuda_plan *plan);

/** Factor: D are N blocks, of which the lower triangles are read, L the N - 1 blocks A[i + 1, i]
 *  (data NULL where N = 1). Whether they are positive definite is for ks_blocktri_cuda_wait() to say.
 *  A call with the arrays of the last one costs one launch of a graph; with others, making it.
 *  Errors: KS_EINVAL, KS_ENOMEM, KS_EDEVICE. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_cuda_factorize(ks_blocktri_cuda_plan *plan,
                                                          ks_cuda_const_blocks D,
                                                          ks_cuda_const_blocks L, void *stream);

/** Solve with the factor that the plan holds, for nrhs >= 1 right-hand sides: b and x have N blocks
 *  (n, nrhs) in each system. x may be b, with the same strides. Nothing looks for NaN or Inf in b: they go into x.
 *  Errors: KS_EINVAL (also without a factor), KS_ENOMEM, KS_EDEVICE. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_cuda_solve(ks_blocktri_cuda_plan *plan, int nrhs,
                                                      ks_cuda_const_blocks b, ks_cuda_blocks x,
                                                      void *stream);

/** Both; one right-hand side goes through the factorization itself.
 *  Errors: those of the two. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_cuda_factor_solve(
    ks_blocktri_cuda_plan *plan, ks_cuda_const_blocks D, ks_cuda_const_blocks L, int nrhs,
    ks_cuda_const_blocks b, ks_cuda_blocks x, void *stream);

/** Wait for the stream and for the plan's own, and say how the last factorization went. info may be
 *  NULL.
 *  Errors: KS_EINVAL, KS_ENOTPD (see info; factor and solutions of that system are of no use),
 *  KS_EDEVICE. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_cuda_wait(ks_blocktri_cuda_plan *plan,
                                                     ks_blocktri_cuda_info *info, void *stream);

/** logdet[s] = log det A of each system, in double whatever the precision, in host memory. Waits.
 *  Errors: KS_EINVAL (also without a factor), KS_EDEVICE. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_cuda_logdet(ks_blocktri_cuda_plan *plan, double *logdet,
                                                       void *stream);

/** Bytes of device memory that ks_blocktri_cuda_refine_solve() works in; 0 where the plan was made
 *  without options.refine, or nrhs < 1. */
KS_API size_t ks_blocktri_cuda_refine_bytes(const ks_blocktri_cuda_plan *plan, int nrhs);

/** Solve A x = b in double with the factor in single precision that the plan holds, by iterative
 *  refinement: method, limits and report are those of <kalscan/blocktri_refine.h>, the report over
 *  all systems. D and L: the matrix that was factored; work: device memory, aligned to 16 bytes, of
 *  which nothing is kept. b and x do not overlap. Waits. Squares of the entries of S b and S^-1 x must be
 *  ordinary numbers; A may have any units.
 *  Errors: KS_EINVAL (also without a factor, or options.refine), KS_ENONFINITE, KS_ENOMEM,
 *  KS_EDEVICE. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_cuda_refine_solve(
    ks_blocktri_cuda_plan *plan, ks_cuda_const_blocks D, ks_cuda_const_blocks L, int nrhs,
    ks_cuda_const_blocks b, ks_cuda_blocks x, void *work, const ks_blocktri_refine_limits *limits,
    ks_blocktri_refine_report *report, void *stream);

/** Bytes of device memory that ks_blocktri_cuda_inverse_blocks() works in; 0 where the plan has no
 *  kernels for it. */
KS_API size_t ks_blocktri_cuda_inverse_bytes(const ks_blocktri_cuda_plan *plan);

/** Blocks of the inverse S of A from the factor that the plan holds: diagonal[i] = S[i, i],
 *  symmetric to the bit, and, unless lag.data is NULL, lag[i] = S[i + 1, i], (n, n) each, in device
 *  memory. work: device memory, aligned to 16 bytes, of which nothing is kept. None overlaps another.
 *  Errors: KS_EINVAL (also without a factor), KS_EUNAVAILABLE (a plan without options.inverse),
 *  KS_ENOMEM, KS_EDEVICE. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_cuda_inverse_blocks(ks_blocktri_cuda_plan *plan,
                                                               ks_cuda_blocks diagonal,
                                                               ks_cuda_blocks lag, void *work,
                                                               void *stream);

/** Device memory and copies to and from it, for callers without another way to them. Memory that is
 *  not given back outlives neither the plan nor the device's context. Copies wait.
 *  Errors: KS_EINVAL, KS_ENOMEM, KS_EDEVICE. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_cuda_alloc(ks_blocktri_cuda_plan *plan, void **out,
                                                      size_t bytes);
/** Give back what ks_blocktri_cuda_alloc() gave for the same plan. memory NULL is allowed; with plan NULL
 *  nothing is done. */
KS_API void ks_blocktri_cuda_free(ks_blocktri_cuda_plan *plan, void *memory);
KS_API KS_MUST_CHECK ks_status ks_blocktri_cuda_upload(ks_blocktri_cuda_plan *plan, void *device,
                                                       const void *host, size_t bytes);
KS_API KS_MUST_CHECK ks_status ks_blocktri_cuda_download(ks_blocktri_cuda_plan *plan, void *host,
                                                         const void *device, size_t bytes);

KS_END_DECLS
#endif
