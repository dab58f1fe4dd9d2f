/* auto.c -- which method `auto` takes: predicted nanoseconds of each. */
#include <math.h>
#include "general_plan.h"

/* Numbers of the matrix that an iteration goes through. */
typedef struct sizes {
    double rows, diagonal, off;
} sizes;

static double numbers_of(int n, const ks_general_block *b)
{
    switch (b->format) {
    case KS_BLOCK_DENSE: return (double)n * n;
    case KS_BLOCK_DIA: return 3.0 * n;
    default: return b->count;
    }
}

static sizes measure(int64_t N, int n, const ks_general_matrix *m)
{
    sizes s = { (double)N * n, 0, 0 };
    for (int64_t j = 0; j < N; ++j) s.diagonal += numbers_of(n, &m->D[j]);
    for (int64_t j = 0; j + 1 < N; ++j)
        s.off += numbers_of(n, &m->L[j]) + numbers_of(n, &m->U[j]);
    return s;
}

/* Steps that multiply the error by `rate` each until it is below the tolerance. */
static double steps(double tolerance, double rate)
{
    if (!(rate < 1)) return HUGE_VAL;
    return rate > 0 ? 1 + log(tolerance) / log(rate) : 2;
}

/* Nanoseconds, within 1.3 of what was measured on one core at n = 33 .. 129; only ratios matter. */
static double sweep_time(sizes s, int workers)
{
    return (0.6 * s.diagonal + 0.8 * s.off + 1.5 * s.rows) / workers;
}

static double lu_time(int64_t N, int n)
{
    const double m = n, gflops = m < 96 ? 1 + m / 8 : 13;
    return (double)N * (1500 + 4.7 * m * m * m / gflops);
}

static double cyclic_time(int64_t N, int n, int workers)
{
    const double m = n, gflops = m < 96 ? 1 + m / 8 : 13;
    return (double)N * (2500 + 12.7 / 2 * 2 * m * m * m / gflops) / workers;
}

void ks_gb_choose(int64_t N, int n, const ks_general_matrix *matrix, int workers, double radius,
                  ks_general_options *options)
{
    const sizes s = measure(N, n, matrix);
    const double sweep = sweep_time(s, workers), direct = lu_time(N, n);
    const double cyclic = cyclic_time(N, n, workers);
    options->method = cyclic < direct ? KS_BLOCK_CYCLIC_REDUCTION : KS_BLOCK_LU;
    double best = cyclic < direct ? cyclic : direct;
    /* Without usable diagonal blocks nothing else remains. */
    if (radius < 0) return;

    const double tolerance = options->tolerance < 1e-15 ? 1e-15 : options->tolerance;
    /* Krylov methods do about as well as Chebyshev iteration on a real spectrum of that radius;
     * beyond 1 nothing is known, and a guess must do. BiCGSTAB takes two products a step. */
    const double rate = radius < 1 ? radius / (1 + sqrt(1 - radius * radius)) : 1;
    const double krylov = radius < 1 ? steps(tolerance, rate) : 400;
    const double plain = sweep * steps(tolerance, radius * radius);
    const double bicgstab = krylov / 2 * 4.5 * sweep;
    if (bicgstab < best) {
        options->method = KS_BICGSTAB;
        best = bicgstab;
    }
    if (plain <= best) options->method = KS_RED_BLACK;
}
