/* lapack.c -- LAPACK through LAPACKE's work interface, BLAS through CBLAS. */
#include "lapack.h"
#include <cblas.h>
#include <lapacke.h>

size_t ks_eigenvalue_scratch(int n) { return 4 * (size_t)n; }

int ks_smallest_eigenvalue(int n, double *A, double *scratch, double *eigenvalue)
{
    double *values = scratch, *work = scratch + n;
    const lapack_int info =
        LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'N', 'U', n, A, n, values, work, 3 * n);
    *eigenvalue = values[0];
    return info != 0;
}

size_t ks_lapack_syev_scratch(int n) { return 3 * (size_t)n; }

int ks_lapack_syev_f64(int n, double *A, double *values, double *scratch)
{
    return LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'U', n, A, n, values, scratch, 3 * n) != 0;
}

void ks_lapack_trsm_f64(int transposed, int n, int m, const double *R, int ldr, double *B, int ldb)
{
    cblas_dtrsm(CblasRowMajor, CblasLeft, CblasUpper, transposed ? CblasTrans : CblasNoTrans,
                CblasNonUnit, n, m, 1, R, ldr, B, ldb);
}

void ks_lapack_trsm_f32(int transposed, int n, int m, const float *R, int ldr, float *B, int ldb)
{
    cblas_strsm(CblasRowMajor, CblasLeft, CblasUpper, transposed ? CblasTrans : CblasNoTrans,
                CblasNonUnit, n, m, 1, R, ldr, B, ldb);
}

void ks_lapack_gemm_f64(int transposed, int m, int n, int k, double alpha, const double *A, int lda,
                        const double *B, int ldb, double beta, double *C, int ldc)
{
    cblas_dgemm(CblasRowMajor, transposed ? CblasTrans : CblasNoTrans, CblasNoTrans, m, n, k, alpha,
                A, lda, B, ldb, beta, C, ldc);
}

void ks_lapack_gemm_f32(int transposed, int m, int n, int k, float alpha, const float *A, int lda,
                        const float *B, int ldb, float beta, float *C, int ldc)
{
    cblas_sgemm(CblasRowMajor, transposed ? CblasTrans : CblasNoTrans, CblasNoTrans, m, n, k, alpha,
                A, lda, B, ldb, beta, C, ldc);
}

_Static_assert(sizeof(lapack_int) == sizeof(int), "LAPACK with 32-bit integers");

int ks_lapack_getrf_f64(int n, double *A, int lda, int *pivots)
{
    return LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, A, lda, pivots);
}

void ks_lapack_getrs_f64(int n, int m, const double *LU, int lda, const int *pivots, double *B,
                         int ldb)
{
    LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', n, m, LU, lda, pivots, B, ldb);
}

int ks_lapack_gttrf_f64(int n, double *dl, double *d, double *du, double *du2, int *pivots)
{
    return LAPACKE_dgttrf_work(n, dl, d, du, du2, pivots);
}

int ks_lapack_gbtrf_f64(int n, int below, int above, double *band, int ld, int *pivots)
{
    return LAPACKE_dgbtrf_work(LAPACK_COL_MAJOR, n, n, below, above, band, ld, pivots);
}

void ks_lapack_gbtrs_f64(int n, int below, int above, const double *band, int ld, const int *pivots, double *x)
{
    LAPACKE_dgbtrs_work(LAPACK_COL_MAJOR, 'N', n, below, above, 1, band, ld, pivots, x, n);
}
