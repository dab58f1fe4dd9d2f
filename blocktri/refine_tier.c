/* refine_tier.c -- the ks_bt_refine_kernels table of one instruction-set tier. Compiled once for each, with
 * the tier's flags and KS_TABLE, the name of the table. */
#include "hd.h"
#include "refine_kernels.h"

static void scale_block(int64_t n, const double *s, const double *from, const double *t, int lower,
                        float *to)
{
    for (int64_t i = 0; i < n; ++i) {
        const int64_t count = lower ? i + 1 : n;
        for (int64_t j = 0; j < count; ++j) to[i * n + j] = (float)(from[i * n + j] * s[i] * t[j]);
        for (int64_t j = count; j < n; ++j) to[i * n + j] = 0.0f;
    }
}

/* In eight sums, which a processor can carry on at once. */
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

static double squares(int64_t n, double factor, const double *a)
{
    double s[8] = { 0, 0, 0, 0, 0, 0, 0, 0 };
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int j = 0; j < 8; ++j) s[j] += (factor * a[i + j]) * (factor * a[i + j]);
    for (int j = 0; i < n; ++i, ++j) s[j] += (factor * a[i]) * (factor * a[i]);
    return sum_of(s);
}

static double largest(int64_t n, const double *a)
{
    double s[8] = { 0, 0, 0, 0, 0, 0, 0, 0 };
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int j = 0; j < 8; ++j) {
            const double v = __builtin_fabs(a[i + j]);
            s[j] = v > s[j] ? v : s[j];
        }
    for (; i < n; ++i) s[0] = __builtin_fabs(a[i]) > s[0] ? __builtin_fabs(a[i]) : s[0];
    for (int j = 1; j < 8; ++j) s[0] = s[j] > s[0] ? s[j] : s[0];
    return s[0];
}

const ks_bt_refine_kernels KS_TABLE = { scale_block, residual, squares, largest };
