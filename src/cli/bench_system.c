/* The block-tridiagonal system that is timed: its size, its numbers, and the work of the sequential order. */
#include <stdlib.h>
#include "bench.h"
#include "memory.h"
#include "random_system.h"
#include "values.h"

/* Number of different blocks, which the system repeats: enough for realistic arithmetic, few enough to make quickly. */
enum { DIFFERENT = 8 };

static void store(ks_precision precision, void *array, int64_t at, const double *values,
                  int64_t count)
{
    for (int64_t i = 0; i < count; ++i)
        if (precision == KS_F32) ((float *)array)[at + i] = (float)values[i];
        else ((double *)array)[at + i] = values[i];
}

ks_exit ks_bench_fill(ks_precision precision, int64_t N, int order, int nrhs, int64_t seed, void *to_D,
                      void *to_L, void *to_b, ks_failure *failure)
{
    const int64_t n = order, block = n * n, side = n * nrhs;
    const size_t each = (size_t)(2 * block + side) * sizeof(double);
    double *made = ks_memory_raw(DIFFERENT * each + (size_t)(2 * block) * sizeof(double),
                                 "the system", failure);
    if (!made) return failure->code;
    for (int64_t i = 0; i < N; ++i) {
        double *D = made + i % DIFFERENT * (2 * block + side), *L = D + block, *b = L + block;
        if (i < DIFFERENT)
            ks_random_block(seed, i, order, nrhs, D, L, b, made + DIFFERENT * (2 * block + side));
        store(precision, to_D, i * block, D, block);
        store(precision, to_L, i * block, L, block);
        store(precision, to_b, i * side, b, side);
    }
    free(made);
    return KS_EXIT_DONE;
}

int64_t ks_bench_blocks(const ks_bench_settings *settings)
{
    return settings->N > 0 ? settings->N : (262144 + settings->n - 1) / settings->n;
}

/* Operations of block Cholesky in the sequential order: n^3 / 3 for a triangle; n^3 for a coupling and n^3 for half of
 * its square; 2 n^2 for a right-hand side and 4 n^2 for its coupling. The last block has no coupling. Bytes: the matrix
 * is read once, the factor is written once and read twice. */
void ks_bench_count_solve(int64_t blocks, int order, int columns, ks_precision of_data,
                          ks_precision of_factor, ks_bench_result *result)
{
    const double N = (double)blocks, n = (double)order, couplings = N - 1.0, nrhs = (double)columns;
    const double data = (double)ks_precision_bytes(of_data);
    const double factor = (double)ks_precision_bytes(of_factor);
    const double triangles = 0.5 * n * (n + 1.0);
    const double numbers = N * triangles + couplings * n * n;
    result->factor_flops = N * n * n * n / 3.0 + couplings * 2.0 * n * n * n;
    result->solve_flops = nrhs * (2.0 * N + 4.0 * couplings) * n * n;
    result->factor_bytes = numbers * (data + factor);
    result->solve_bytes = 2.0 * numbers * factor + 2.0 * N * n * nrhs * data;
    result->flops = result->factor_flops + result->solve_flops;
    result->bytes = result->factor_bytes + result->solve_bytes;
}
