/* ks_bt_schur.h -- what the driver of recursive Schur complements tells its own few kernels. */
#ifndef KS_BT_SCHUR_H
#define KS_BT_SCHUR_H

#include "ks_bt_level.h"

typedef struct ks_bt_schur_args {
    int N, n, nrhs;
    ks_bt_in D, L, b;     /**< the matrix and right-hand sides as the caller has them             */
    ks_bt_out x;
    void *to_D, *to_L;    /**< (N, n, n), (N - 1, n, n): copies, in the plan's precision           */
    void *Y;              /**< (N - 1, n, n): another one of L                                    */
    const int *blocks;    /**< (N): which block each pointer is for                               */
    void **pointers;      /**< (N): to blocks of x                                                */
    double *sums, *out;   /**< of the log-determinant, see ks_bt_logdet_args                      */
} ks_bt_schur_args;

#endif
