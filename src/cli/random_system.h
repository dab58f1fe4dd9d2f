/* random_system.h -- symmetric positive definite block-tridiagonal systems to try things with. */
#ifndef KS_CLI_RANDOM_SYSTEM_H
#define KS_CLI_RANDOM_SYSTEM_H

#include <stdint.h>

/** Block i of a system: D = A[i, i] and L = A[i + 1, i], (n, n), and b, (n, nrhs). Its numbers depend
 *  on the seed, i and the sizes alone, and are the same on every machine. Blocks of different seeds
 *  or indices may follow each other in any order: A stays positive definite, its eigenvalues lie
 *  between 1/10 and about 10. scratch: 2 n n numbers. */
void ks_random_block(int64_t seed, int64_t i, int n, int nrhs, double *D, double *L, double *b,
                     double *scratch);

#endif
