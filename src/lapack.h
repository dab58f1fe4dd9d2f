/* lapack.h -- the one door to LAPACK: column-major work calls only, which allocate nothing. */
#ifndef KS_LAPACK_H
#define KS_LAPACK_H

#include <stddef.h>

/** Numbers of scratch that ks_smallest_eigenvalue() needs for order n. */
size_t ks_eigenvalue_scratch(int n);

/** The smallest eigenvalue of the symmetric A (n, n), of which either triangle order will do; A is
 *  destroyed. Returns 0, or non-zero where the iteration did not converge. */
int ks_smallest_eigenvalue(int n, double *A, double *scratch, double *eigenvalue);

#endif
