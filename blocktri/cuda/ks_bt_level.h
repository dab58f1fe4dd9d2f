/* ks_bt_level.h -- what the driver tells the kernels of nested dissection on the device.
 *
 * Level l holds the blocks k with k + 1 a multiple of 2^l, of which those with an odd multiple are
 * eliminated; their neighbours stand 2^l before and behind. Blocks are padded to an order P of 4, 8,
 * 16 or 32, and P threads, a lane for each row, work on one.
 *
 * A factor has three (P, P) arrays for each block k, eliminated at level l, each stored column by
 * column, so that the lanes of one row each read and write without gaps:
 *
 *     L    Cholesky factor of the block's Schur complement, reciprocals on its diagonal; lower
 *          triangle; until the block is eliminated, what is left of its D
 *     W    A[k - 2^l, k] L^-T; until then the coupling A[k - 2^l, k] itself
 *     W    A[k + 2^l, k] L^-T; likewise */
#ifndef KS_BT_LEVEL_H
#define KS_BT_LEVEL_H

#include <stdint.h>

enum {
    KS_BT_THREADS = 128,      /* of a block of the grid                                           */
    KS_BT_COLUMNS = 4,        /* right-hand sides that one lane takes at once, where there are more */
    KS_BT_SUMS = 64           /* partial sums of a log-determinant, for each system                */
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

/** Levels begin .. end - 1 in one launch. One level is spread over the grid; several are done by one
 *  block of the grid for each system, with barriers between them. */
typedef struct ks_bt_level_args {
    int N, systems, n;
    int begin, end;
    int nrhs;                    /**< of b and x; in a factorization 1, or 0 for none              */
    ks_bt_in D, L;               /**< the matrix, see <kalscan/blocktri_cuda.h>                    */
    void *factor;                /**< (systems, N, 3, P, P)                                        */
    ks_bt_in b;                  /**< right-hand sides, (n, nrhs) each                             */
    ks_bt_out x;                 /**< what is left of them, then the solution                      */
    unsigned long long *failure; /**< for each system the least ks_bt_failure_key()                */
} ks_bt_level_args;

typedef struct ks_bt_logdet_args {
    int N, systems, n, padded;
    const void *factor;
    const double *scale; /**< (systems, N, n) of rows and columns before the factorization; or NULL */
    double *sums; /**< (systems, KS_BT_SUMS)  */
    double *out;  /**< (systems)              */
} ks_bt_logdet_args;

/** Failures in the order in which they are reported: of the first level that has one, the first
 *  block. Later levels go on with what is no number. Levels, or rounds, are fewer than 2^16, pivots
 *  than 2^15. */
#define KS_BT_FAILURE_KEY(level, block, pivot)                                     \
    ((unsigned long long)(level) << 47 | (unsigned long long)(block) << 15 | (unsigned)(pivot))

#define KS_BT_FAILURE_BLOCK(key) ((int64_t)((key) >> 15 & 0xffffffffu))
#define KS_BT_FAILURE_PIVOT(key) ((int)((key) & 0x7fffu))

/** Bytes of shared memory for each block that P lanes work on: to solve a (P, P + 1) tile, to factor
 *  also a (P, P) tile and two columns; 16 bytes more keep neighbours in different banks. */
#define KS_BT_ELEMENTS(P, factor) ((P) * ((P) + 1) + ((factor) ? (P) * ((P) + 2) : 0))
#define KS_BT_SHARED(P, number, factor) \
    ((KS_BT_ELEMENTS(P, factor) * (number) + 127) / 128 * 128 + 16)

#endif
