/* ks_bt_level.h -- arguments of the kernels of nested dissection with small blocks.
 *
 * Level l holds the blocks k for which k + 1 is a multiple of 2^l. Those with an odd multiple are eliminated; their
 * neighbours are 2^l before and behind. Blocks are padded to an order P of 4, 8, 16 or 32. P threads, a lane for each
 * row, work on a block.
 *
 * A factor has three (P, P) arrays for each block k, eliminated at level l. Each is stored by columns, so that the
 * lanes, one per row, access contiguous numbers:
 *
 *     L    lower triangle: Cholesky factor of the block's Schur complement, reciprocals on its diagonal;
 *          before the block is eliminated, what is left of its D
 *     W    A[k - 2^l, k] L^-T; the coupling A[k - 2^l, k] until k is eliminated
 *     W    A[k + 2^l, k] L^-T; likewise */
#ifndef KS_BT_LEVEL_H
#define KS_BT_LEVEL_H

#include <stdint.h>

enum {
    KS_BT_THREADS = 128,      /* of a thread block */
    KS_BT_COLUMNS = 4,        /* most right-hand sides of a lane at once */
    KS_BT_SUMS = 64           /* partial sums of a log-determinant, for each system */
};

/** Blocks in device memory: element strides from block to block and from system to system. */
typedef struct ks_bt_in {
    const void *data;
    int64_t stride, system;
} ks_bt_in;

typedef struct ks_bt_out {
    void *data;
    int64_t stride, system;
} ks_bt_out;

/** Levels begin .. end - 1 in one launch. One level is spread over the grid. Several levels are done by one thread
 *  block for each system, with barriers between them. */
typedef struct ks_bt_level_args {
    int N, systems, n;
    int begin, end;
    int nrhs;                    /**< of b and x; in a factorization 1, or 0 for none */
    ks_bt_in D, L;               /**< the matrix; see <kalscan/blocktri_cuda.h> */
    void *factor;                /**< (systems, N, 3, P, P) */
    ks_bt_in b;                  /**< right-hand sides, (n, nrhs) each */
    ks_bt_out x;                 /**< what is left of them, then the solution */
    unsigned long long *failure; /**< least KS_BT_FAILURE_KEY() of each system */
} ks_bt_level_args;

typedef struct ks_bt_logdet_args {
    int N, systems, n, padded;
    const void *factor;
    const double *scale; /**< (systems, N, n): scales of rows and columns; or NULL */
    double *sums; /**< (systems, KS_BT_SUMS) */
    double *out;  /**< (systems) */
} ks_bt_logdet_args;

/** Failures in the order in which they are reported: the first block of the first level with a failure. Later levels
 *  continue with NaN. Levels, or rounds, are fewer than 2^16, pivots fewer than 2^15. */
#define KS_BT_FAILURE_KEY(level, block, pivot)                                     \
    ((unsigned long long)(level) << 47 | (unsigned long long)(block) << 15 | (unsigned)(pivot))

#define KS_BT_FAILURE_BLOCK(key) ((int64_t)((key) >> 15 & 0xffffffffu))
#define KS_BT_FAILURE_PIVOT(key) ((int)((key) & 0x7fffu))

/** Bytes of shared memory for each block that P lanes work on. To solve: a (P, P + 1) tile. To factor: also a (P, P)
 *  tile and two columns. 16 more bytes put neighbours in different banks. */
#define KS_BT_ELEMENTS(P, factor) ((P) * ((P) + 1) + ((factor) ? (P) * ((P) + 2) : 0))
#define KS_BT_SHARED(P, number, factor) \
    ((KS_BT_ELEMENTS(P, factor) * (number) + 127) / 128 * 128 + 16)

#endif
