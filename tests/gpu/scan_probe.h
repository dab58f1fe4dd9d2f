/* scan_probe.h -- arguments of the operators that test the device's scan machine. */
#ifndef SCAN_PROBE_H
#define SCAN_PROBE_H

#include "kalscan/scan_rounds.h"

/** 2x2 matrices of integers modulo 2^31 - 1, row-major. */
typedef struct probe_matrix {
    uint32_t m[4];
} probe_matrix;

typedef struct probe_affine {
    double a, b;
} probe_affine;

typedef struct scan_probe_args {
    ks_scan_task task;
    const probe_matrix *step; /**< the factors of absorb and rerun */
    probe_matrix *result;     /**< the scan by rerun, one for each step */
    int *absorbed;            /**< how often each step was absorbed */
    int reverse;
    int64_t length;
    int *mistakes;            /**< carries where there must be none, or missing ones */
} scan_probe_args;

/** Element-wise sums. The number of numbers in an element is known at run time. */
typedef struct scan_sums_args {
    ks_scan_task task;
    int64_t size;
    double *spare; /**< `size` for each thread of the launch */
} scan_sums_args;

#endif
