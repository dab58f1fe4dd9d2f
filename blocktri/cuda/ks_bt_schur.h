/* ks_bt_schur.h -- arguments of the kernels of recursive Schur complements. */
#ifndef KS_BT_SCHUR_H
#define KS_BT_SCHUR_H

#include "ks_bt_level.h"

typedef struct ks_bt_schur_args {
    int N, n, nrhs;
    ks_bt_in D, L, b;     /**< the caller's matrix and right-hand sides */
    ks_bt_out x;
    void *to_D, *to_L;    /**< (N, n, n), (N - 1, n, n): copies, in the plan's precision */
    void *Y;              /**< (N - 1, n, n): another copy of L */
    const int *blocks;    /**< (N): the block that each pointer belongs to */
    void **pointers;      /**< (N): to blocks of x */
    double *sums, *out;   /**< of the log-determinant; see ks_bt_logdet_args */
} ks_bt_schur_args;

#endif
