/* ks_bt_blocked.h -- arguments of the kernels for large blocks.
 *
 * The order of elimination is data: rounds and the nodes of each round (made by cuda_rounds.h). A round eliminates
 * blocks that are not neighbours. Blocks are padded with an identity to an order P, a multiple of 16, and worked on in
 * tiles of 64 x 64, with a thread block for each. A factor has three row-major (P, P) arrays for each block k, which
 * has neighbours a < k < b when it is eliminated:
 *
 *     L    lower triangle: Cholesky factor of the block's Schur complement. The 32 x 32 triangles along
 *          the diagonal are replaced by their inverses, with zeros above them. Before the block is
 *          eliminated: what is left of its D, lower tiles.
 *     W    A[a, k] L^-T, in rows of the block before; A[a, k] until k is eliminated
 *     W    A[b, k] L^-T; likewise
 *
 * A coupling of adjacent blocks is read from the matrix when one of them is eliminated. */
#ifndef KS_BT_BLOCKED_H
#define KS_BT_BLOCKED_H

#include "hd.h"
#include "ks_bt_level.h"

enum {
    KS_BT_TILE = 64,   /* rows and columns of a tile */
    KS_BT_HALF = 32,   /* of a triangle whose inverse is stored */
    KS_BT_STEP = 16,   /* terms of a product that are copied to shared memory at once */
    KS_BT_STAGES = 3,  /* steps that are in shared memory or being copied */
    KS_BT_LD = 68,     /* leading dimension of a tile in shared memory; avoids bank conflicts */
    KS_BT_NARROW = 8,  /* right-hand sides of a thread block if there are few, */
    KS_BT_WIDE = 64    /* and if there are many */
};

/** A block in a round. It subtracts two products that the previous round left, is eliminated, or both. */
typedef struct ks_bt_node {
    int32_t k;                        /**< its number */
    int32_t before, behind;           /**< its neighbours, -1 for none */
    int32_t from_before, from_behind; /**< eliminated ones whose W W' is to be subtracted; -1 for none */
    int32_t fresh;                    /**< nothing has been subtracted from it so far */
    int32_t to_before;                /**< the neighbour before is eliminated before the one behind, */
                                      /**< and holds their coupling; else the one behind */
} ks_bt_node;

/** A round. Its nodes are contiguous; those that it eliminates come first. */
typedef struct ks_bt_round {
    int32_t number;      /**< in the order in which failures are reported */
    int32_t first;       /**< index of its first node */
    int32_t eliminated;  /**< blocks to eliminate */
    int32_t touched;     /**< all nodes, with blocks that remain and subtract something */
    int32_t bare;        /**< there is nothing to subtract */
    int32_t last;        /**< no block is left after it */
} ks_bt_round;

/** One round, the previous one, and a column of tiles for kernels that need it; or, in one launch, the rounds begin ..
 *  end - 1. */
typedef struct ks_bt_blocked_args {
    int N, systems, n, padded;
    ks_bt_round now, past;
    int column;
    int begin, end;
    int factors, solves;         /**< what one launch does of them */
    const ks_bt_node *nodes;
    const ks_bt_round *rounds;
    const int32_t *round_of;     /**< (N): number of the round that eliminates a block */
    int nrhs;
    int identity;                /**< the right-hand sides are unit vectors; see `work` */
    ks_bt_in D, L;               /**< the matrix; see <kalscan/blocktri_cuda.h> */
    const double *scale;         /**< (systems, N, n): scales of rows and columns of D and L; or NULL */
    void *factor;                /**< (systems, N, 3, P, P) */
    ks_bt_in b;                  /**< right-hand sides, (n, nrhs) each */
    ks_bt_out x;                 /**< what is left of them, then the solution */
    unsigned long long *failure; /**< least KS_BT_FAILURE_KEY() of each system */
    void *inverse;               /**< (systems, N, 3, P, P): blocks (k, k), (before, k), (behind, k) */
    void *work;                  /**< (systems, (N + 1) / 2, 3, P, P): L^-1 and W L^-1 of a round */
    ks_bt_out S, lag;            /**< blocks of the inverse, for the caller */
    int atomic;                  /**< eliminating a block subtracts from its neighbours, whose L */
                                 /**< holds these sums, without D, until they are eliminated */
    const int32_t *idle;         /**< in solves: if not NULL and the number is not 0, */
                                 /**< there is nothing to do */
} ks_bt_blocked_args;

/** Elements of shared memory of one step of R rows, by rows or by columns. */
#define KS_BT_PART(R) \
    ((R) * (KS_BT_STEP + 4) > KS_BT_STEP * ((R) + 4) ? (R) * (KS_BT_STEP + 4) : KS_BT_STEP * ((R) + 4))
#define KS_BT_PIPELINE(C) (KS_BT_STAGES * (KS_BT_PART(KS_BT_TILE) + KS_BT_PART(C)))

/** Elements of shared memory. To factor: steps or two tiles; to solve: steps and a tile. */
#define KS_BT_FACTOR_ELEMENTS \
    (KS_BT_PIPELINE(KS_BT_TILE) > 2 * KS_BT_TILE * KS_BT_LD ? KS_BT_PIPELINE(KS_BT_TILE) \
                                                            : 2 * KS_BT_TILE * KS_BT_LD)
#define KS_BT_SOLVE_ELEMENTS(C) (KS_BT_PIPELINE(C) + KS_BT_TILE * KS_BT_LD)
#define KS_BT_LAST_ELEMENTS                                                                 \
    (KS_BT_FACTOR_ELEMENTS > KS_BT_SOLVE_ELEMENTS(KS_BT_NARROW) ? KS_BT_FACTOR_ELEMENTS     \
                                                                : KS_BT_SOLVE_ELEMENTS(KS_BT_NARROW))

/** Return the thread blocks for which there is work. A round begins with subtracting and with the couplings that the
 *  previous round made (begin); its columns of tiles follow. */
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

/** To subtract from both neighbours and form their coupling; an upper bound. */
KS_HD int64_t ks_bt_push_work(const ks_bt_round *now, int tiles, int systems)
{
    return now->last ? 0 : (int64_t)now->eliminated * systems * ((int64_t)tiles * (tiles + 1) + (int64_t)tiles * tiles);
}

/** To solve for `chunks` chunks of right-hand sides: tiles of rows to subtract from. */
KS_HD int64_t ks_bt_collect_work(const ks_bt_round *now, int chunks, int tiles, int systems)
{
    return now->bare ? 0 : (int64_t)now->touched * systems * chunks * tiles;
}

#endif
