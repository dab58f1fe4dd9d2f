/* ks_bt_blocked.h -- what the driver tells the kernels of nested dissection for large blocks.
 *
 * Levels and neighbours are those of ks_bt_level.h. Blocks are padded by an identity to an order P, a
 * multiple of 16, and worked on in tiles of 64 x 64, a thread block for each. A factor has three
 * (P, P) arrays for each block k, eliminated at level l, all row-major:
 *
 *     L    Cholesky factor of the block's Schur complement in its lower triangle, with the inverses of
 *          the 32 x 32 triangles along the diagonal in their place (zeros above them); until the block
 *          is eliminated, what is left of its D, lower tiles
 *     W    A[k - 2^l, k] L^-T, rows of the block before; until then A[k - 2^l, k] itself
 *     W    A[k + 2^l, k] L^-T; likewise */
#ifndef KS_BT_BLOCKED_H
#define KS_BT_BLOCKED_H

#include "ks_bt_level.h"

enum {
    KS_BT_TILE = 64,   /* rows and columns of a tile                                              */
    KS_BT_HALF = 32,   /* of a triangle whose inverse is kept                                     */
    KS_BT_STEP = 16,   /* terms of a product that come into shared memory at once                 */
    KS_BT_STAGES = 3,  /* steps that are there or on their way                                    */
    KS_BT_LD = 68,     /* of a tile in shared memory: lanes of a warp meet different banks        */
    KS_BT_NARROW = 8,  /* right-hand sides that a thread block takes at once, where they are few, */
    KS_BT_WIDE = 64    /* and where they are many                                                 */
};

/** One level, and one column of tiles where that matters. */
typedef struct ks_bt_blocked_args {
    int N, systems, n, padded;
    int level, column;
    int nrhs;
    int identity;                /**< the right-hand sides are unit vectors, see `work`           */
    ks_bt_in D, L;               /**< the matrix, see <kalscan/blocktri_cuda.h>                   */
    const double *scale;         /**< (systems, N, n) of rows and columns of D and L; or NULL     */
    void *factor;                /**< (systems, N, 3, P, P)                                       */
    ks_bt_in b;                  /**< right-hand sides, (n, nrhs) each                            */
    ks_bt_out x;                 /**< what is left of them, then the solution                     */
    unsigned long long *failure; /**< for each system the least ks_bt_failure_key()               */
    void *inverse;               /**< (systems, N, 3, P, P): blocks (k, k), (before, k), (behind, k) */
    void *work;                  /**< (systems, (N + 1) / 2, 3, P, P): L^-1 and W L^-1 of a level */
    ks_bt_out S, lag;            /**< blocks of the inverse as the caller has them                */
} ks_bt_blocked_args;

/** Elements of shared memory that one step takes for R rows, stored either way. */
#define KS_BT_PART(R) \
    ((R) * (KS_BT_STEP + 4) > KS_BT_STEP * ((R) + 4) ? (R) * (KS_BT_STEP + 4) : KS_BT_STEP * ((R) + 4))
#define KS_BT_PIPELINE(C) (KS_BT_STAGES * (KS_BT_PART(KS_BT_TILE) + KS_BT_PART(C)))

/** Elements of shared memory: to factor, steps or two tiles; to solve, steps and a tile. */
#define KS_BT_FACTOR_ELEMENTS \
    (KS_BT_PIPELINE(KS_BT_TILE) > 2 * KS_BT_TILE * KS_BT_LD ? KS_BT_PIPELINE(KS_BT_TILE) \
                                                            : 2 * KS_BT_TILE * KS_BT_LD)
#define KS_BT_SOLVE_ELEMENTS(C) (KS_BT_PIPELINE(C) + KS_BT_TILE * KS_BT_LD)

#endif
