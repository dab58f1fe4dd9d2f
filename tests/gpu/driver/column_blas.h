/* column_blas.h -- what blas.cpp tells its kernels. */
#ifndef COLUMN_BLAS_H
#define COLUMN_BLAS_H

/* NVIDIA's numbers of its enumerations. */
enum { OP_N = 0, OP_T = 1, SIDE_LEFT = 0, SIDE_RIGHT = 1, FILL_LOWER = 0, FILL_UPPER = 1 };

typedef struct column_blas_args {
    int op_a, op_b, side, fill;
    int m, n, k, lda, ldb, ldc, count;
    double alpha, beta;
    const void *A, *B;
    void *C;
    long long a_stride, b_stride, c_stride;
    const void *const *As; /* of each matrix */
    void *const *Bs;
    int *info;
} column_blas_args;

#endif
