/* scan_probe.h -- arguments of the operators that try out the device's scan machine. */
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
    const probe_matrix *step; /**< what absorb and rerun multiply                          */
    probe_matrix *result;     /**< where rerun puts the scan, one for each step            */
    int *absorbed;            /**< how often each step was absorbed                        */
    int reverse;
    int64_t length;
    int *mistakes;            /**< carries where none belongs, or the other way round      */
} scan_probe_args;

/** Numbers of which the run time says how many make an element: element-wise sums. */
typedef struct scan_sums_args {
    ks_scan_task task;
    int64_t size;
    double *spare; /**< `size` for each thread of the launch */
} scan_sums_args;

#endif
