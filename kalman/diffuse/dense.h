/* dense.h -- products and factors of small dense matrices in double, as every plan's start takes them. */
#ifndef KS_DIFFUSE_DENSE_H
#define KS_DIFFUSE_DENSE_H

#include <math.h>
#include <stdint.h>
#include <string.h>
#include "hd.h"
#include "num_f64.h"
#undef KS_GEMM
#include "smallmat_text.h"
#include "num_end.h"

/** C (m, n) = A Bᵀ with A (m, k), B (n, k). */
static inline void ks_mmt(int m, int k, int n, const double *A, const double *B, double *C)
{
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            double sum = 0;
            for (int l = 0; l < k; ++l) sum += A[i * k + l] * B[j * k + l];
            C[i * n + j] = sum;
        }
}

/** a · b of n numbers. */
static inline double ks_dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

#endif
