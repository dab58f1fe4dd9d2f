/* refine_tier.c -- the ks_bt_refine_kernels table of one instruction-set tier. Compiled once for each, with
 * the tier's flags and KS_TABLE, the name of the table. */
#include "hd.h"
#include "refine_kernels.h"
#include "scale_text.h"

static void scale_block(int64_t n, const double *s, const double *from, const double *t, int lower,
                        float *to)
{
    for (int64_t i = 0; i < n; ++i) {
        const int64_t count = lower ? i + 1 : n;
        for (int64_t j = 0; j < count; ++j) to[i * n + j] = (float)(from[i * n + j] * s[i] * t[j]);
        for (int64_t j = count; j < n; ++j) to[i * n + j] = 0.0f;
    }
}

/* The total of eight partial sums. Eight independent sums hide the latency of additions. */
static inline double sum_of(const double s[8])
{
    return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
}

static inline double dot(int64_t n, const double *KS_RESTRICT a, const double *KS_RESTRICT b)
{
    double s[8] = { 0, 0, 0, 0, 0, 0, 0, 0 };
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int j = 0; j < 8; ++j) s[j] += a[i + j] * b[i + j];
    for (int j = 0; i < n; ++i, ++j) s[j] += a[i] * b[i];
    return sum_of(s);
}

static inline void subtract_multiple(int64_t n, double factor, const double *KS_RESTRICT a,
                                     double *KS_RESTRICT r)
{
    for (int64_t i = 0; i < n; ++i) r[i] -= factor * a[i];
}

static inline void subtract_blocks(int64_t n, const double *D, const double *lower,
                                   const double *upper, const double *here, const double *before,
                                   const double *after, double *KS_RESTRICT r)
{
    for (int64_t i = 0; i < n; ++i) {
        subtract_multiple(i, here[i], D + i * n, r);
        double sum = dot(i + 1, D + i * n, here);
        if (lower) sum += dot(n, lower + i * n, before);
        r[i] -= sum;
        if (upper) subtract_multiple(n, after[i], upper + i * n, r);
    }
}

/* The same for n that is a multiple of four, in tiles of four by four. Large blocks are better read row by row. */
typedef double quad __attribute__((vector_size(32)));
typedef double quad_at __attribute__((vector_size(32), aligned(8), may_alias));
typedef int64_t quad_bits __attribute__((vector_size(32)));
#define QUAD(p) (*(const quad_at *)(p))

/* r[q] -= the sum of the elements of s[q], for q = 0 .. 3. */
KS_HD void subtract_sums(const quad s[4], double *r)
{
    const quad a = __builtin_shufflevector(s[0], s[1], 0, 4, 2, 6) +
                   __builtin_shufflevector(s[0], s[1], 1, 5, 3, 7);
    const quad b = __builtin_shufflevector(s[2], s[3], 0, 4, 2, 6) +
                   __builtin_shufflevector(s[2], s[3], 1, 5, 3, 7);
    *(quad_at *)r = QUAD(r) - (__builtin_shufflevector(a, b, 0, 1, 4, 5) +
                               __builtin_shufflevector(a, b, 2, 3, 6, 7));
}

static inline void subtract_tiles(int64_t n, const double *D, const double *lower,
                                  const double *upper, const double *here, const double *before,
                                  const double *after, double *r)
{
    static const quad_bits below[4] = {
        { 0, 0, 0, 0 }, { -1, 0, 0, 0 }, { -1, -1, 0, 0 }, { -1, -1, -1, 0 },
    };
    static const quad_bits upto[4] = {
        { -1, 0, 0, 0 }, { -1, -1, 0, 0 }, { -1, -1, -1, 0 }, { -1, -1, -1, -1 },
    };
    for (int64_t i = 0; i < n; i += 4) {
        quad s[4], c = QUAD(r + i);
#pragma GCC unroll 4
        for (int q = 0; q < 4; ++q) {
            /* Mask the entries above the diagonal, which may be anything. */
            const quad_bits row = (quad_bits)QUAD(D + (i + q) * n + i);
            s[q] = (quad)(row & upto[q]) * QUAD(here + i);
            c -= here[i + q] * (quad)(row & below[q]);
        }
        for (int64_t j = 0; j < i; j += 4) {
            quad above = QUAD(r + j);
#pragma GCC unroll 4
            for (int q = 0; q < 4; ++q) {
                const quad row = QUAD(D + (i + q) * n + j);
                s[q] += row * QUAD(here + j);
                above -= here[i + q] * row;
            }
            *(quad_at *)(r + j) = above;
        }
        for (int64_t j = 0; lower && j < n; j += 4)
#pragma GCC unroll 4
            for (int q = 0; q < 4; ++q) s[q] += QUAD(lower + (i + q) * n + j) * QUAD(before + j);
        *(quad_at *)(r + i) = c;
        subtract_sums(s, r + i);
        for (int64_t j = 0; upper && j < n; j += 4) {
            quad all = QUAD(r + j);
#pragma GCC unroll 4
            for (int q = 0; q < 4; ++q) all -= after[i + q] * QUAD(upper + (i + q) * n + j);
            *(quad_at *)(r + j) = all;
        }
    }
}

static inline void take_column(int64_t n, int m, const double *from, int column, double *to)
{
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * m + column];
}

static inline void residual_of(int64_t n, int m, const double *D, const double *lower,
                               const double *upper, const double *here, const double *before,
                               const double *after, const double *b, double *r, double *vectors)
{
    if (m == 1) {
        take_column(n, 1, b, 0, r);
        if (n % 4 == 0 && n <= 32)
            subtract_tiles(n, D, lower, upper, here, before, after, r);
        else
            subtract_blocks(n, D, lower, upper, here, before, after, r);
        return;
    }
    double *to = vectors, *x = to + n, *lower_x = x + n, *upper_x = lower_x + n;
    for (int c = 0; c < m; ++c) {
        take_column(n, m, b, c, to);
        take_column(n, m, here, c, x);
        if (lower) take_column(n, m, before, c, lower_x);
        if (upper) take_column(n, m, after, c, upper_x);
        subtract_blocks(n, D, lower, upper, x, lower_x, upper_x, to);
        for (int64_t i = 0; i < n; ++i) r[i * m + c] = to[i];
    }
}

static void residual(int64_t n, int m, const double *D, const double *lower, const double *upper,
                     const double *here, const double *before, const double *after,
                     const double *b, double *r, double *vectors)
{
    switch (n) {
    case 4: residual_of(4, m, D, lower, upper, here, before, after, b, r, vectors); break;
    case 8: residual_of(8, m, D, lower, upper, here, before, after, b, r, vectors); break;
    default: residual_of(n, m, D, lower, upper, here, before, after, b, r, vectors); break;
    }
}

static double scaled(int64_t n, const double *s, const double *a, double *most)
{
    double sum[8] = { 0, 0, 0, 0, 0, 0, 0, 0 }, large[8] = { 0, 0, 0, 0, 0, 0, 0, 0 };
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int j = 0; j < 8; ++j) {
            const double v = __builtin_fabs(s[i + j] * a[i + j]);
            sum[j] += v * v;
            large[j] = v > large[j] ? v : large[j];
        }
    for (int j = 0; i < n; ++i, ++j) {
        const double v = __builtin_fabs(s[i] * a[i]);
        sum[j] += v * v;
        large[j] = v > large[j] ? v : large[j];
    }
    *most = large[0];
    for (int j = 1; j < 8; ++j) *most = large[j] > *most ? large[j] : *most;
    return sum_of(sum);
}

static double unscaled(int64_t n, const double *s, const double *a)
{
    double sum[8] = { 0, 0, 0, 0, 0, 0, 0, 0 };
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int j = 0; j < 8; ++j) {
            const double v = a[i + j] * ks_bt_inverse_scale(s[i + j]);
            sum[j] += v * v;
        }
    for (int j = 0; i < n; ++i, ++j) {
        const double v = a[i] * ks_bt_inverse_scale(s[i]);
        sum[j] += v * v;
    }
    return sum_of(sum);
}

/* Sum of squares of a scaled row; s is the row's own scale. An entry of the matrix times one scale is finite in any
 * units. */
static inline double row_squares(int64_t n, double s, const double *row, const double *scale)
{
    double sum[8] = { 0, 0, 0, 0, 0, 0, 0, 0 };
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int j = 0; j < 8; ++j) {
            const double v = row[i + j] * s * scale[i + j];
            sum[j] += v * v;
        }
    for (int j = 0; i < n; ++i, ++j) {
        const double v = row[i] * s * scale[i];
        sum[j] += v * v;
    }
    return sum_of(sum);
}

static inline double norms_of(int64_t n, const double *s, const double *t, const double *D, const double *L)
{
    double diagonal = 0, others = 0;
    for (int64_t i = 0; i < n; ++i) {
        const double *row = D + i * n;
        if (i >= 8) others += row_squares(i, s[i], row, s);
        for (int64_t j = 0; i < 8 && j < i; ++j) others += (row[j] * s[i] * s[j]) * (row[j] * s[i] * s[j]);
        diagonal += (row[i] * s[i] * s[i]) * (row[i] * s[i] * s[i]);
        if (L) others += row_squares(n, t[i], L + i * n, s);
    }
    return diagonal + 2 * others;
}

static double norms(int64_t n, const double *s, const double *t, const double *D, const double *L)
{
    switch (n) {
    case 4: return norms_of(4, s, t, D, L);
    case 8: return norms_of(8, s, t, D, L);
    default: return norms_of(n, s, t, D, L);
    }
}

static void narrow(int64_t n, double factor, const double *KS_RESTRICT s,
                   const double *KS_RESTRICT a, float *KS_RESTRICT to)
{
    for (int64_t i = 0; i < n; ++i) to[i] = (float)(s[i] * a[i] * factor);
}

static inline void add_to(int64_t n, double factor, const double *KS_RESTRICT s,
                          const float *KS_RESTRICT a, double *KS_RESTRICT x)
{
    for (int64_t i = 0; i < n; ++i) x[i] += factor * s[i] * (double)a[i];
}

static void add(int64_t n, double factor, const double *s, const float *a, double *x)
{
    if (n == 4)
        add_to(4, factor, s, a, x);
    else
        add_to(n, factor, s, a, x);
}

const ks_bt_refine_kernels KS_TABLE = {
    scale_block, residual, scaled, unscaled, norms, narrow, add,
};
