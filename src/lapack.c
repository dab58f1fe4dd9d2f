/* lapack.c -- LAPACK through LAPACKE's work interface. */
#include "lapack.h"
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
