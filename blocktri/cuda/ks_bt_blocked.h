/* ks_bt_blocked.h -- what the driver tells the kernels for large blocks.
 *
 * The order of elimination is data: rounds, each of which eliminates blocks that are no neighbours, and
 * for each round its nodes (cuda_rounds.h makes them). Blocks are padded by an identity to an order P, a
 * multiple of 16, and worked on in tiles of 64 x 64, a thread block for each. A factor has three
 * (P, P) arrays for each block k, which has the neighbours a < k < b when it is eliminated, all row-major:
 *
 *     L    Cholesky factor of the block's Schur complement in its lower triangle, with the inverses of
 *          the 32 x 32 triangles along the diagonal in their place (zeros above them); until the block
 *          is eliminated, what is left of its D, lower tiles
 *     W    A[a, k] L^-T, rows of the block before; until then A[a, k] itself
 *     W    A[b, k] L^-T; likewise
 *
 * A coupling of blocks that stand side by side is still the matrix's when one of them is eliminated. */
#ifndef KS_BT_BLOCKED_H
#define KS_BT_BLOCKED_H

#include "hd.h"
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

/** A block as a round finds it. It subtracts what the round before has left of two products, is
 *  eliminated, or both. */
typedef struct ks_bt_node {
    int32_t k;                        /**< its number                                             */
    int32_t before, behind;           /**< its neighbours, -1 for none                            */
    int32_t from_before, from_behind; /**< eliminated ones: W W' is to be subtracted; -1 for none */
    int32_t fresh;                    /**< nothing has been subtracted from it so far             */
    int32_t to_before;                /**< of both neighbours the one before is eliminated first, */
                                      /**< and holds their coupling; otherwise the one behind     */
} ks_bt_node;

/** A round; its nodes stand one after the other, those that it eliminates first. */
typedef struct ks_bt_round {
    int32_t number;      /**< in the order in which failures are reported                         */
    int32_t first;       /**< of its nodes                                                        */
    int32_t eliminated;  /**< blocks                                                              */
    int32_t touched;     /**< and with those that go on and have something to subtract            */
    int32_t bare;        /**< there is nothing to subtract at all                                 */
    int32_t last;        /**< nothing is left after it                                            */
} ks_bt_round;

/** One round, the one before it, and one column of tiles where that matters; or, in one launch, the
 *  rounds begin .. end - 1. */
typedef struct ks_bt_blocked_args {
    int N, systems, n, padded;
    ks_bt_round now, past;
    int column;
    int begin, end;
    int factors, solves;         /**< what is done of them in one launch                          */
    const ks_bt_node *nodes;
    const ks_bt_round *rounds;
    const int32_t *round_of;     /**< (N): number of the round that eliminates a block            */
    int nrhs;
    int identity;                /**< the right-hand sides are unit vectors, see `work`           */
    ks_bt_in D, L;               /**< the matrix, see <kalscan/blocktri_cuda.h>                   */
    const double *scale;         /**< (systems, N, n) of rows and columns of D and L; or NULL     */
    void *factor;                /**< (systems, N, 3, P, P)                                       */
    ks_bt_in b;                  /**< right-hand sides, (n, nrhs) each                            */
    ks_bt_out x;                 /**< what is left of them, then the solution                     */
    unsigned long long *failure; /**< for each system the least ks_bt_failure_key()               */
    void *inverse;               /**< (systems, N, 3, P, P): blocks (k, k), (before, k), (behind, k) */
    void *work;                  /**< (systems, (N + 1) / 2, 3, P, P): L^-1 and W L^-1 of a round */
    ks_bt_out S, lag;            /**< blocks of the inverse as the caller has them                */
    int atomic;                  /**< who eliminates a block subtracts from its neighbours: their */
                                 /**< L holds the sum of that, without D, until it is their turn  */
    const int32_t *idle;         /**< of solutions: a number other than 0 says that there is      */
                                 /**< nothing to do; or NULL                                      */
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
#define KS_BT_LAST_ELEMENTS                                                                 \
    (KS_BT_FACTOR_ELEMENTS > KS_BT_SOLVE_ELEMENTS(KS_BT_NARROW) ? KS_BT_FACTOR_ELEMENTS     \
                                                                : KS_BT_SOLVE_ELEMENTS(KS_BT_NARROW))

/** Thread blocks that there is work for. A round begins with what is subtracted and the couplings that
 *  the round before has made; then come its columns of tiles. */
KS_HD int64_t ks_bt_begin_work(const ks_bt_round *now, const ks_bt_round *past, int tiles, int systems)
{
    const int64_t lower = (int64_t)tiles * (tiles + 1) / 2, all = (int64_t)tiles * tiles;
    return now->bare ? (int64_t)now->eliminated * systems
                     : (now->touched * lower + past->eliminated * all) * systems;
}

KS_HD int64_t ks_bt_column_work(const ks_bt_round *now, int column, int tiles, int systems)
{
    return (int64_t)now->eliminated * systems * (tiles - 1 - column + (now->last ? 0 : 2 * tiles));
}

/** To subtract from both neighbours, and to form their coupling: at most. */
KS_HD int64_t ks_bt_push_work(const ks_bt_round *now, int tiles, int systems)
{
    return now->last ? 0 : (int64_t)now->eliminated * systems * ((int64_t)tiles * (tiles + 1) + (int64_t)tiles * tiles);
}

/** To solve for so many chunks of right-hand sides: tiles of rows of what is subtracted. */
KS_HD int64_t ks_bt_collect_work(const ks_bt_round *now, int chunks, int tiles, int systems)
{
    return now->bare ? 0 : (int64_t)now->touched * systems * chunks * tiles;
}

#endif
