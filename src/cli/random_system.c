#include "random_system.h"

#include <math.h>
#include "random_numbers.h"

/* C = G G' + shift I, both triangles. Works along rows of turned = G', so that all sums run in parallel, and in the
 * same order on every machine. */
static void square_plus(int n, const double *G, const double *turned, double shift, double *C)
{
    for (int i = 0; i < n; ++i) {
        double *row = C + i * n;
        for (int j = 0; j <= i; ++j) row[j] = 0.0;
        for (int k = 0; k < n; ++k) {
            const double g = G[i * n + k], *other = turned + k * n;
            for (int j = 0; j <= i; ++j) row[j] += g * other[j];
        }
        row[i] += shift;
    }
    for (int i = 0; i < n; ++i)
        for (int j = i + 1; j < n; ++j) C[i * n + j] = C[j * n + i];
}

/* A = M M' + (I - E E') + I / 10 with a block lower bidiagonal M. Its diagonal blocks G have independent normal entries
 * of variance 1 / n. Beneath them are diagonal blocks E with entries from 1/2 to 1. So A[i, i] = G[i] G[i]' + 11/10 I
 * and A[i + 1, i] = E[i] G[i]'. */
void ks_random_block(int64_t seed, int64_t i, int n, int nrhs, double *D, double *L, double *b,
                     double *scratch)
{
    const double scale = sqrt(1.0 / (double)n);
    double *G = scratch, *turned = G + n * n;
    ks_random random;
    ks_random_start(&random, (uint64_t)seed, (uint64_t)i);
    ks_random_normals(&random, (int64_t)n * n, G);
    for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c) turned[c * n + r] = G[r * n + c] *= scale;
    square_plus(n, G, turned, 1.1, D);
    for (int r = 0; r < n; ++r) {
        const double e = 0.5 + 0.5 * ks_random_uniform(&random);
        for (int c = 0; c < n; ++c) L[r * n + c] = e * turned[r * n + c];
    }
    ks_random_normals(&random, (int64_t)n * nrhs, b);
}
