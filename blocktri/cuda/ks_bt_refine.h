/* ks_bt_refine.h -- what the driver tells the kernels of iterative refinement. */
#ifndef KS_BT_REFINE_H
#define KS_BT_REFINE_H

#include "ks_bt_level.h"

enum {
    KS_BT_REFINE_TILE = 32,    /* rows and columns of a tile of the matrix in a product            */
    KS_BT_REFINE_COLUMNS = 8   /* columns of x that a thread block takes                           */
};

/** Sums over the rows of one column, of which KS_BT_SUMS thread blocks have a part each. */
enum { KS_BT_OF_RESIDUAL, KS_BT_OF_SOLUTION, KS_BT_OF_RIGHT_HAND_SIDE, KS_BT_LARGEST, KS_BT_NORMS };

/** What a refinement does next. A launch works in one of these phases and does nothing in the others. */
typedef enum ks_bt_refine_phase {
    KS_BT_GOING,                 /**< corrects x                                                  */
    KS_BT_BACK,                  /**< takes the last correction back                              */
    KS_BT_DONE
} ks_bt_refine_phase;

/** How far a refinement has come. */
typedef struct ks_bt_refine_state {
    double residual;             /**< of x: the largest of all columns; NaN where x is not finite */
    double previous;             /**< that before the last correction                             */
    int32_t steps;               /**< corrections after the first solution                        */
    int32_t phase;               /**< ks_bt_refine_phase                                          */
} ks_bt_refine_state;

typedef struct ks_bt_refine_args {
    int N, systems, n, nrhs;
    int phase;                   /**< in which the launch works                                   */
    int most;                    /**< steps                                                       */
    double tolerance;            /**< residual that suffices                                      */
    ks_bt_in D, L, b;            /**< in double                                                   */
    ks_bt_out x;
    double *scale;               /**< (systems, N, n): S, powers of two                           */
    double *residual;            /**< (systems, N, n, nrhs): b - A x                              */
    float *correction;           /**< the same: S^-1 of what is added to x, in units              */
    double *unit;                /**< (systems, nrhs): powers of two                              */
    double *norms;               /**< (systems, nrhs, KS_BT_SUMS, KS_BT_NORMS): squares, |S r|; all scaled */
    double *squares;             /**< (systems, KS_BT_SUMS): of S A S                             */
    ks_bt_refine_state *state;
} ks_bt_refine_args;

#endif
