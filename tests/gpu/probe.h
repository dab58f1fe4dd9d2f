/* probe.h -- arguments of the kernels that test the device itself. */
#ifndef PROBE_H
#define PROBE_H

#include <stdint.h>

typedef struct probe_sum_args {
    int64_t n;
    const double *x;
    double *sums; /**< one for each block */
} probe_sum_args;

typedef struct probe_scan_args {
    const int64_t *x; /**< one for each thread of each block */
    int64_t *sums;    /**< of each element with all before it in its block */
} probe_scan_args;

typedef struct probe_spread_args {
    int64_t n;
    int rounds;
    double *x, *y; /**< alternating; y holds the result of an odd number of rounds */
} probe_spread_args;

typedef struct probe_product_args {
    int m, k; /**< of a product of the tensor cores, with 8 columns */
    const double *a, *b;
    double *c;
} probe_product_args;

typedef struct probe_stage_args {
    int64_t tiles; /**< of blockDim.x numbers, for each block */
    const double *x;
    double *y;     /**< reversed inside each tile */
} probe_stage_args;

typedef struct probe_bulk_args {
    int64_t rows;  /**< of 48 bytes, contiguous for each thread */
    int stages;    /**< of each thread in shared memory, 64 bytes each */
    const double *x;
    double *y;     /**< sums of each thread's rows, number by number */
} probe_bulk_args;

typedef struct probe_warp_args {
    unsigned *bits;  /**< [8] */
    double *values;  /**< [4][32] */
    int *counters;   /**< [4] */
} probe_warp_args;

#endif
