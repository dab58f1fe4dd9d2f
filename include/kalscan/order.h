/* kalscan/order.h -- elimination orders of block-tridiagonal systems, for <kalscan/blocktri.h>,
 * <kalscan/blocktri_cuda.h> and KS_METHOD_BLOCKTRI of <kalscan/smooth.h>. */
#ifndef KALSCAN_ORDER_H
#define KALSCAN_ORDER_H

#include "kalscan/export.h"

KS_BEGIN_DECLS

/** Elimination orders. Each is a Cholesky factorization of A with its blocks permuted. They differ in how many blocks
 *  can be eliminated at once, and in the fill and the extra operations that this costs.
 *
 *  KS_BLOCKTRI_AUTO is sequential for one worker, for N < 4 and for systems that take less than about 0.1 ms; twisted
 *  for two to five workers; and partition with one segment per worker for more. With KS_METHOD_BLOCKTRI it is twisted
 *  if a second worker saves more than it costs, and else sequential; the smoother takes one pass in each direction in
 *  these two orders. On a device see ks_blocktri_cuda_options and ks_smooth_options.
 *
 *  Source: "JMS" is Jin, Montoison & Shin, "Harnessing batched BLAS/LAPACK kernels on GPUs for parallel solutions of
 *  block tridiagonal systems", arXiv:2509.03015. "GPU-Cholesky" is Schwan, Kuhn & Jones, "GPU-accelerated Cholesky
 *  factorization of block tridiagonal matrices", arXiv:2601.03754. */
typedef enum ks_blocktri_order {
    KS_BLOCKTRI_AUTO = 0,              /**< the library chooses */
    KS_BLOCKTRI_SEQUENTIAL = 1,        /**< first to last block, no fill: JMS Alg. 1, 2 */
    KS_BLOCKTRI_TWISTED = 2,           /**< both ends to the middle on two threads, no fill */
    KS_BLOCKTRI_PARTITION = 3,         /**< segments at once, then what separates them: GPU-Cholesky Alg. 2, Prop. 1 */
    KS_BLOCKTRI_NESTED_DISSECTION = 4, /**< every other block, then every other one left: GPU-Cholesky Alg. 4, 5 */
    KS_BLOCKTRI_RECURSIVE_SCHUR = 5    /**< between separators, then their Schur complement likewise: JMS Alg. 3-7 */
} ks_blocktri_order;
#define KS_BLOCKTRI_ORDERS 6

/** Return the order's name on the command line, such as "nested-dissection". Static storage; NULL for an unknown
 *  value. */
KS_API const char *ks_blocktri_order_name(ks_blocktri_order order);

KS_END_DECLS
#endif
