/* bench_system.h -- common to benchmarks of block-tridiagonal systems on a device: sizes, systems, and the check of
 * solutions. */
#ifndef GPU_BENCH_SYSTEM_H
#define GPU_BENCH_SYSTEM_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kalscan/blocktri.h"

/* Repeats that are not measured, repeats that are, repeats of whole calls, and the number of sizes from tables of
 * TBD-GPU. On the emulated device a benchmark shows that it runs; its times mean nothing. */
#ifdef EMULATED
enum { WARM = 1, REPEATS = 2, WHOLE = 1, TABLE = 7 };
#else
enum { WARM = 3, REPEATS = 20, WHOLE = 3, TABLE = 7 };
#endif

/* Sizes: Table 4.1 of TBD-GPU (see kalscan/order.h), its Kalman smoother, and small blocks as in other smoothers. */
static const struct { int64_t N; int n; } bench_sizes[] = {
    { 8192, 32 },    { 4096, 64 },   { 2048, 128 },  { 1024, 256 },  { 100, 256 },   { 512, 512 },
    { 256, 1024 },   { 16384, 16 },  { 32768, 8 },   { 65536, 4 },   { 10000, 2 },
    { 10000, 4 },    { 10000, 6 },   { 10000, 8 },   { 10000, 12 },  { 10000, 16 },
    { 100000, 2 },   { 100000, 4 },  { 100000, 6 },  { 100000, 8 },  { 100000, 12 },
    { 100000, 16 },  { 1000000, 2 }, { 1000000, 4 }, { 1000000, 6 }, { 1000000, 8 },
    { 1000000, 12 }, { 1000000, 16 },
};
enum { BENCH_SIZES = (int)(sizeof bench_sizes / sizeof bench_sizes[0]) };

static inline double bench_numbers(int i) { return (double)bench_sizes[i].N * bench_sizes[i].n * bench_sizes[i].n; }

/* Their places, the smallest first: a system of two large arrays of random numbers takes longer to make than to solve. */
static inline void bench_order(int order[BENCH_SIZES])
{
    for (int i = 0; i < BENCH_SIZES; ++i) {
        int at = i;
        for (; at > 0 && bench_numbers(order[at - 1]) > bench_numbers(i); --at) order[at] = order[at - 1];
        order[at] = i;
    }
}

typedef struct arrays {
    double *D, *L, *b, *x, *y;
    int solved; /* whether y has been computed */
} arrays;
typedef struct times { double least, median; } times;

#define TRY(call)                                                                     \
    do {                                                                              \
        const ks_status status_ = (call);                                             \
        if (status_) {                                                                \
            fprintf(stderr, "%s: %s\n", #call, ks_strerror(status_));                 \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

static inline void *memory(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!p) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return p;
}

static inline double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0 - 0.5;
}

static inline arrays make(int64_t N, int n)
{
    const size_t block = (size_t)n * (size_t)n, count = (size_t)N;
    uint64_t state = 12345;
    arrays a = { memory(count * block * 8), memory(count * block * 8), memory(count * (size_t)n * 8),
                 memory(count * (size_t)n * 8), memory(count * (size_t)n * 8), 0 };
    for (size_t i = 0; i < count * block; ++i) {
        const size_t row = i % block / (size_t)n, column = i % (size_t)n;
        a.D[i] = uniform(&state) + (row == column ? 0.1 + 1.6 * sqrt((double)n) : 0);
        a.L[i] = uniform(&state);
    }
    for (size_t i = 0; i < count * (size_t)n; ++i) a.b[i] = uniform(&state);
    return a;
}

static inline int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline void free_arrays(const arrays *a)
{
    double *const all[] = { a->D, a->L, a->b, a->x, a->y };
    for (int i = 0; i < 5; ++i) free(all[i]);
}

/* Return the least and the median of the repeats. */
static inline times times_of(double t[REPEATS])
{
    qsort(t, REPEATS, sizeof *t, ascending);
    const times result = { t[0], t[REPEATS / 2] };
    return result;
}

/* Most operations for which the CPU solves the system, too. */
static const double most_on_cpu = 1e11;

static inline ks_blocktri_plan *plan_on_cpu(int64_t N, int n)
{
    ks_blocktri_options options = KS_BLOCKTRI_OPTIONS_INIT;
    ks_blocktri_plan *plan;
    options.order = KS_BLOCKTRI_SEQUENTIAL;
    TRY(ks_blocktri_plan_create(&plan, NULL, N, n, &options));
    return plan;
}

/* Solve on the CPU to a.y, unless that takes too long. */
static inline void solve_on_cpu(int64_t N, int n, arrays *a)
{
    if (7.0 / 3 * (double)N * n * n * n >= most_on_cpu) return;
    const size_t bytes = (size_t)N * (size_t)n * (size_t)n * 8;
    double *const copy[2] = { memory(bytes), memory(bytes) };
    memcpy(copy[0], a->D, bytes);
    memcpy(copy[1], a->L, bytes);
    const ks_blocktri_matrix matrix = { { copy[0], n * n }, { copy[1], n * n } };
    const ks_blocktri_factor factor = { { copy[0], n * n }, { copy[1], n * n }, NULL };
    const ks_blocks y = { a->y, n };
    ks_blocktri_plan *plan = plan_on_cpu(N, n);
    void *work = memory(ks_blocktri_workspace_bytes(plan));
    TRY(ks_blocktri_factorize(plan, &matrix, &factor, work, NULL));
    TRY(ks_blocktri_solve(plan, &factor, 1, (ks_const_blocks){ a->b, n }, y, work));
    a->solved = 1;
    free(work);
    free(copy[0]);
    free(copy[1]);
    ks_blocktri_plan_destroy(plan);
}

/* Compute the relative residual of a.x, and the largest difference from the CPU's solution in units of its largest
 * entry; 0 if there is none. */
static inline void judge(int64_t N, int n, const arrays *a, double *residual, double *difference)
{
    const ks_blocktri_matrix matrix = { { a->D, n * n }, { a->L, n * n } };
    const ks_const_blocks b = { a->b, n }, x = { a->x, n };
    ks_blocktri_norms norms;
    ks_blocktri_plan *plan = plan_on_cpu(N, n);
    TRY(ks_blocktri_residual(plan, &matrix, 1, x, b, &norms));
    *residual = norms.residual / (norms.matrix * norms.solution + norms.right_hand_side);
    double largest = 1e-300;
    *difference = 0;
    for (int64_t i = 0; i < N * n && a->solved; ++i) {
        largest = fmax(largest, fabs(a->y[i]));
        *difference = fmax(*difference, fabs(a->x[i] - a->y[i]));
    }
    *difference /= largest;
    ks_blocktri_plan_destroy(plan);
}

#endif
