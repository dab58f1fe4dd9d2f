/* lapack.h -- the only interface to BLAS and LAPACK: calls that allocate nothing and copy nothing. */
#ifndef KS_LAPACK_H
#define KS_LAPACK_H

#include <stddef.h>

/** Return the numbers of scratch that ks_smallest_eigenvalue() needs for order n. */
size_t ks_eigenvalue_scratch(int n);

/** Compute the smallest eigenvalue of the symmetric A (n, n), in row-major or column-major order. A is destroyed.
 *  Returns 0, or non-zero if the iteration did not converge. */
int ks_smallest_eigenvalue(int n, double *A, double *scratch, double *eigenvalue);

/** Return the numbers of scratch that ks_lapack_syev_f64() needs for order n. */
size_t ks_lapack_syev_scratch(int n);

/** Compute eigenvalues (n), the smallest first, and eigenvectors of the symmetric A (n, n). On return row c of A is the
 *  vector of number c, of norm 1. Returns 0, or non-zero if the iteration did not converge. */
int ks_lapack_syev_f64(int n, double *A, double *values, double *scratch);

/* Row-major, rows ld elements apart. R is upper triangular; its lower triangle is not touched. */

/** B (n, m) <- R^-1 B, or R'^-1 B where transposed. */
void ks_lapack_trsm_f64(int transposed, int n, int m, const double *R, int ldr, double *B, int ldb);
void ks_lapack_trsm_f32(int transposed, int n, int m, const float *R, int ldr, float *B, int ldb);

/** C (m, n) = beta C + alpha A B, A (m, k) or, transposed, (k, m). */
void ks_lapack_gemm_f64(int transposed, int m, int n, int k, double alpha, const double *A, int lda,
                        const double *B, int ldb, double beta, double *C, int ldc);
void ks_lapack_gemm_f32(int transposed, int m, int n, int k, float alpha, const float *A, int lda,
                        const float *B, int ldb, float beta, float *C, int ldc);

/* Column-major. Pivots count from 1, as in LAPACK. */

/** Factor A = P L U in place. Returns 0, or 1 + the row of a zero pivot. */
int ks_lapack_getrf_f64(int n, double *A, int lda, int *pivots);

/** B (n, m) <- A^-1 B. */
void ks_lapack_getrs_f64(int n, int m, const double *LU, int lda, const int *pivots, double *B,
                         int ldb);

/** Factor a tridiagonal matrix into P L U: dl (n - 1), d (n) and du (n - 1) become those of the factors, du2 (n - 2)
 *  their second super-diagonal. Returns 0, or 1 + the row of a zero pivot. */
int ks_lapack_gttrf_f64(int n, double *dl, double *d, double *du, double *du2, int *pivots);

/** Factor a band of A (n, n), of `below` diagonals below the main one and `above` over it, into P L U in place. Entry
 *  (r, c) is at [below + above + r - c + c ld], ld >= 2 below + above + 1; the first `below` numbers of a column are for
 *  the factor. Returns 0, or 1 + the row of a zero pivot. */
int ks_lapack_gbtrf_f64(int n, int below, int above, double *band, int ld, int *pivots);

/** x (n) <- A^-1 x. */
void ks_lapack_gbtrs_f64(int n, int below, int above, const double *band, int ld, const int *pivots, double *x);

#endif
