/* kalscan/order.h -- in which order the blocks of a block-tridiagonal system are eliminated. */
#ifndef KALSCAN_ORDER_H
#define KALSCAN_ORDER_H

#include "kalscan/export.h"

KS_BEGIN_DECLS

/** In which order the blocks are eliminated. All of them are Cholesky factorizations of A with its
 *  blocks permuted; they differ in the work that can go on at once and in the fill that it costs.
 *  "JMS" is Jin, Montoison & Shin, "Harnessing batched BLAS/LAPACK kernels on GPUs for parallel
 *  solutions of block tridiagonal systems", arXiv:2509.03015; "GPU-Cholesky" is Schwan, Kuhn & Jones,
 *  "GPU-accelerated Cholesky factorization of block tridiagonal matrices", arXiv:2601.03754. */
typedef enum ks_blocktri_order {
    KS_BLOCKTRI_AUTO = 0,              /**< sequential for one worker, N < 4, or a system of less */
                                       /**< than about 0.1 ms, where threads cost more than they  */
                                       /**< save; twisted for up to five workers; partition with  */
                                       /**< a segment a worker beyond. For KS_METHOD_BLOCKTRI of  */
                                       /**< <kalscan/smooth.h>: twisted where the second worker   */
                                       /**< saves more than it costs, else sequential: these two  */
                                       /**< make the smoother in one pass inwards and one back    */
    KS_BLOCKTRI_SEQUENTIAL = 1,        /**< first to last block: JMS Alg. 1, 2; no fill           */
    KS_BLOCKTRI_TWISTED = 2,           /**< both ends to the middle on two threads; no fill       */
    KS_BLOCKTRI_PARTITION = 3,         /**< segments at once, then the pivots between them:       */
                                       /**< GPU-Cholesky Alg. 2, lengths by its Prop. 1           */
    KS_BLOCKTRI_NESTED_DISSECTION = 4, /**< every other block, then every other of those left:    */
                                       /**< GPU-Cholesky Alg. 4, 5                                */
    KS_BLOCKTRI_RECURSIVE_SCHUR = 5    /**< segments between separators, the Schur complement of  */
                                       /**< the separators in the same way: JMS Alg. 3-7          */
} ks_blocktri_order;
#define KS_BLOCKTRI_ORDERS 6

/** The name as the command line spells it, "nested-dissection"; NULL for an unknown value. */
KS_API const char *ks_blocktri_order_name(ks_blocktri_order order);

KS_END_DECLS
#endif
