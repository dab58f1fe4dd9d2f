/* ks_bt_refine.h -- arguments of the kernels of iterative refinement. */
#ifndef KS_BT_REFINE_H
#define KS_BT_REFINE_H

#include "hd.h"
#include "ks_bt_level.h"

enum {
    KS_BT_REFINE_TILE = 32,    /* rows and columns of a tile of the matrix in a product */
    KS_BT_REFINE_COLUMNS = 8,  /* columns of x of a thread block */
    KS_BT_REFINE_SHARE = 4096  /* entries of D, and as many of L, of which a thread block sums up the squares */
};

/** Return the shares of the entries of a block. */
KS_HD int64_t ks_bt_refine_shares(int64_t n) { return (n * n + KS_BT_REFINE_SHARE - 1) / KS_BT_REFINE_SHARE; }

/** Sums over the rows of one column. KS_BT_SUMS thread blocks compute a part each. */
enum { KS_BT_OF_RESIDUAL, KS_BT_OF_SOLUTION, KS_BT_OF_RIGHT_HAND_SIDE, KS_BT_LARGEST, KS_BT_NORMS };

/** What a refinement does next. A launch works in one of these phases and does nothing in the others. */
typedef enum ks_bt_refine_phase {
    KS_BT_GOING,                 /**< correct x */
    KS_BT_BACK,                  /**< take the last correction back */
    KS_BT_DONE
} ks_bt_refine_phase;

/** Progress of a refinement. */
typedef struct ks_bt_refine_state {
    double residual;             /**< of x: the largest of all columns; NaN if x is not finite */
    double previous;             /**< before the last correction */
    int32_t steps;               /**< corrections after the first solution */
    int32_t phase;               /**< ks_bt_refine_phase */
} ks_bt_refine_state;

typedef struct ks_bt_refine_args {
    int N, systems, n, nrhs;
    int phase;                   /**< the phase in which the launch works */
    int most;                    /**< most steps */
    double tolerance;            /**< residual that suffices */
    ks_bt_in D, L, b;            /**< in double */
    ks_bt_out x;
    double *scale;               /**< (systems, N, n): S, powers of two */
    double *residual;            /**< (systems, N, n, nrhs): b - A x */
    float *correction;           /**< the same shape: S^-1 (correction of x), in units */
    double *unit;                /**< (systems, nrhs): powers of two */
    double *norms;               /**< (systems, nrhs, KS_BT_SUMS, KS_BT_NORMS): squares, |S r|; all scaled */
    double *shares;              /**< (systems, N, ks_bt_refine_shares(n)): squares of S A S, summed up by shares */
    double *squares;             /**< (systems, KS_BT_SUMS): sums of these */
    ks_bt_refine_state *state;
} ks_bt_refine_args;

#endif
