/* blocktri_model.h -- the cost of a factorization by the papers' formulas, for each order and number of
 * threads. It is printed beside the counts, and used for curves of theoretical speed-up.
 *
 * "JMS" and "GPU-Cholesky" are the papers named in kalscan/blocktri.h. Costs are in thirds of n^3
 * flops, GPU-Cholesky's Table 1 without lower powers of n: potrf 1, trsm 3, syrk 3, gemm 6. P
 * threads process the columns that a stage eliminates; a stage begins when the one before is done. If
 * two columns of a stage would update the same block at the same time, the update is left to the next
 * stage, as in GPU-Cholesky Alg. 2 to 4: the block's thread makes it before it eliminates the block. */
#ifndef KS_COUNT_BLOCKTRI_MODEL_H
#define KS_COUNT_BLOCKTRI_MODEL_H

#include <stdint.h>
#include "count.h"

/** Time of the factorization of N >= 1 blocks on P >= 1 threads, in thirds of n^3 flops:
 *    sequential         GPU-Cholesky Alg. 1: 7 N - 6
 *    twisted            both halves at once, then the middle block with both updates
 *    partition          GPU-Cholesky Alg. 2, lengths by Prop. 1: segments of 7 or, with fill, 19 a
 *                       block, then 10 for each pivot. With a segment for each block in two it is
 *                       Alg. 3, single-stage: 16 a column at first, 10 for each of the others
 *    nested-dissection  GPU-Cholesky Alg. 4, eq. (1): stages of 16 at first, then 22 a column, with
 *                       half as many columns each; 4 for the last block
 *    recursive-schur    JMS Alg. 4 with the coupling solved as sparse as it is: a stage of a lane of
 *                       spacing - 1 blocks costs 19 a block; once there are few, Alg. 1. Spacing 2
 *                       and stages that end after the second are GPU-Cholesky's two-stage variant
 *  0 for an order without a formula (auto), or if the time overflows 64 bits. Zeros among the options mean
 *  the same as for ks_bt_count_plan(). */
int64_t ks_bt_model_time(const ks_bt_choice *choice, int64_t N, int64_t P);

/** GPU-Cholesky Prop. 1: blocks of the first of P >= 2 segments and of each of the others, before
 *  rounding: first / other = 19 / 7 and first + (P - 1) (other + 1) = N. */
void ks_bt_model_segments(int64_t N, int64_t P, double *first, double *other);

/** The speed-up that a partition approaches on P threads as N grows: 1 + 7 (P - 1) / 19. */
double ks_bt_model_partition_limit(int64_t P);

/** JMS's crossover N*: the most blocks for which elimination one after the other takes no longer than one
 *  more stage with lanes of spacing - 1 blocks, on P threads. INT64_MAX if another stage does not pay even
 *  for 1000 lanes. */
int64_t ks_bt_model_crossover(int64_t spacing, int64_t P);

#endif
