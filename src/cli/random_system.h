/* random_system.h -- random symmetric positive definite block-tridiagonal systems. */
#ifndef KS_CLI_RANDOM_SYSTEM_H
#define KS_CLI_RANDOM_SYSTEM_H

#include <stdint.h>

/** Make block i of a system: D = A[i, i] and L = A[i + 1, i], (n, n), and b, (n, nrhs). The numbers depend on the seed,
 *  i and the sizes only, and are the same on every machine. Blocks of different seeds or indices may be combined in any
 *  order: A remains positive definite, with eigenvalues between 1/10 and about 10. scratch: 2 n n numbers. */
void ks_random_block(int64_t seed, int64_t i, int n, int nrhs, double *D, double *L, double *b,
                     double *scratch);

#endif
