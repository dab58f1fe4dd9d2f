/* test_operators.c -- laws of the filtering and smoothing operators: associative, with a neutral
 * element, in place; both precisions, all tiers, any number of states. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "kernels.h"
#include "models.h"

enum { MOST_NX = 21 };

/** An operator of one precision and tier, its elements handled as doubles. */
typedef struct operation {
    const ks_kernels *kernels;
    int nx, smoothing;
    void *work;
    int full_rank; /* of the covariances in random elements */
} operation;

static int64_t numbers_of(const operation *o)
{
    return (int64_t)((o->smoothing ? o->kernels->smooth_element_bytes(o->nx)
                                   : o->kernels->filter_element_bytes(o->nx)) /
                     o->kernels->number_bytes);
}

static void combine_raw(const operation *o, void *dst, const void *lhs, const void *rhs)
{
    const ks_combine_job job = { 1, 1, dst, lhs, rhs, 0, 0, 0, 0, 0, 0 };
    if (o->smoothing)
        o->kernels->smooth_combine(o->nx, &job, o->work);
    else
        o->kernels->filter_combine(o->nx, &job, o->work);
}

/** dst = lhs (+) rhs on doubles; in_place: 1 writes over the left operand, 2 over the right. */
static void combine(const operation *o, double *dst, const double *lhs, const double *rhs,
                    int in_place)
{
    const int64_t n = numbers_of(o);
    char *raw = zeroed((size_t)(3 * n), sizeof(double));
    char *a = raw, *b = raw + n * (int64_t)sizeof(double), *c = b + n * (int64_t)sizeof(double);
    o->kernels->narrow(n, lhs, a);
    o->kernels->narrow(n, rhs, b);
    char *to = in_place == 1 ? a : in_place == 2 ? b : c;
    combine_raw(o, to, a, b);
    o->kernels->widen(n, to, dst);
    free(raw);
}

/** A positive semidefinite (n, n), packed, of full rank or of any: some are of rank 0 or 1. */
static void random_packed(source *s, int n, int full_rank, double *packed)
{
    const int rank = full_rank ? n + 4 : (int)(uniform(s) * (n + 2));
    double G[MOST_NX * (MOST_NX + 4)];
    for (int i = 0; i < n * rank; ++i) G[i] = normal(s) / sqrt(n);
    for (int i = 0, at = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j, ++at) {
            packed[at] = 0;
            for (int l = 0; l < rank; ++l) packed[at] += G[i * rank + l] * G[j * rank + l];
        }
}

static void random_element(source *s, const operation *o, double *e)
{
    const int n = o->nx, half = n * (n + 1) / 2;
    for (int i = 0; i < n * n; ++i) e[i] = normal(s) / sqrt(n);
    for (int i = 0; i < n; ++i) e[n * n + i] = normal(s);
    random_packed(s, n, o->full_rank, e + n * n + n);
    if (o->smoothing) return;
    for (int i = 0; i < n; ++i) e[n * n + n + half + i] = 0;
    random_packed(s, n, o->full_rank, e + n * n + 2 * n + half);
    /* eta = J g: information about what J sees and nothing else. */
    const double *J = e + n * n + 2 * n + half;
    double g[MOST_NX];
    for (int i = 0; i < n; ++i) g[i] = normal(s);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
            e[n * n + n + half + i] +=
                g[j] * (i > j ? J[i * (i + 1) / 2 + j] : J[j * (j + 1) / 2 + i]);
}

/** The largest difference, relative to the largest entry of the part that it is in, or to 1. */
static double distance(const operation *o, const double *a, const double *b)
{
    const int n = o->nx, half = n * (n + 1) / 2;
    const int ends[5] = { n * n, n * n + n, n * n + n + half, n * n + 2 * n + half,
                          n * n + 2 * n + 2 * half };
    double worst = 0;
    for (int part = 0, i = 0; part < (o->smoothing ? 3 : 5); ++part) {
        double size = 1, gap = 0;
        for (; i < ends[part]; ++i) {
            if (!(fabs(a[i] - b[i]) <= gap)) gap = fabs(a[i] - b[i]);
            if (fabs(a[i]) > size) size = fabs(a[i]);
        }
        if (!(gap / size <= worst)) worst = gap / size;
    }
    return worst;
}

static void associates(const operation *o, source *s, double bound)
{
    const size_t n = (size_t)numbers_of(o);
    double *a = zeroed(8 * n, sizeof *a), *b = a + n, *c = b + n, *ab = c + n, *bc = ab + n;
    double *left = bc + n, *right = left + n, *again = right + n;
    random_element(s, o, a);
    random_element(s, o, b);
    random_element(s, o, c);
    combine(o, ab, a, b, 0);
    combine(o, bc, b, c, 0);
    combine(o, left, ab, c, 0);
    combine(o, right, a, bc, 0);
    const double gap = distance(o, left, right);
    if (!(gap <= bound))
        fail_msg("%s %s, nx = %d: (a b) c and a (b c) differ by %.3g", o->kernels->tier,
                 o->smoothing ? "smoothing" : "filtering", o->nx, gap);
    /* a b and b a differ, or the law would say little. */
    combine(o, again, b, a, 0);
    assert_true(distance(o, ab, again) > 1e-3);
    for (int in_place = 1; in_place <= 2; ++in_place) {
        combine(o, again, a, b, in_place);
        assert_memory_equal(again, ab, n * sizeof *a);
    }
    free(a);
}

static void neutral_holds(const operation *o, source *s, double bound)
{
    const int64_t n = numbers_of(o);
    double *a = zeroed((size_t)(3 * n), sizeof *a), *e = a + n, *c = e + n;
    void *raw = zeroed((size_t)n, sizeof(double));
    random_element(s, o, a);
    if (o->smoothing)
        o->kernels->smooth_neutral(o->nx, raw);
    else
        o->kernels->filter_neutral(o->nx, raw);
    o->kernels->widen(n, raw, e);
    for (int left = 0; left < 2; ++left) {
        combine(o, c, left ? e : a, left ? a : e, 0);
        const double gap = distance(o, a, c);
        if (!(gap <= bound))
            fail_msg("%s %s, nx = %d: the neutral element on the %s changes %.3g",
                     o->kernels->tier, o->smoothing ? "smoothing" : "filtering", o->nx,
                     left ? "left" : "right", gap);
    }
    free(raw);
    free(a);
}

/** Element `wide` is so sure, or its information so large, that the ordinary form will not do beside its like. */
static void sharpen(const operation *o, int information, double *wide)
{
    const int n = o->nx, half = n * (n + 1) / 2, from = n * n + n + (information ? half + n : 0);
    for (int i = 0; i < half && !o->smoothing; ++i) wide[from + i] *= 1e8;
}

/** Chains along lanes, more than fill a vector, give in place the bits of combines one by one beside it; those of one
 *  lane, which are not ordinary, too. */
static void rectangles_hold(const operation *o, source *s)
{
    const int64_t n = numbers_of(o), bytes = n * (int64_t)o->kernels->number_bytes;
    enum { LANES = 7, CHAIN = 4, SHARP = 5 };
    double *wide = zeroed((size_t)n, sizeof *wide);
    char *beside = zeroed(1, (size_t)bytes);
    char *x = zeroed(LANES * CHAIN, (size_t)bytes), *one = zeroed(LANES * CHAIN, (size_t)bytes);
    for (int i = 0; i < LANES * CHAIN; ++i) {
        random_element(s, o, wide);
        if (i / CHAIN == SHARP) sharpen(o, i % CHAIN > 0, wide);
        o->kernels->narrow(n, wide, x + i * bytes);
    }
    memcpy(one, x, (size_t)(LANES * CHAIN * bytes));
    for (int l = 0; l < LANES; ++l)
        for (int c = 1; c < CHAIN; ++c) {
            char *at = one + (l * CHAIN + c) * bytes;
            combine_raw(o, beside, at - bytes, at);
            memcpy(at, beside, (size_t)bytes);
        }
    const ks_combine_job job = { LANES, CHAIN - 1, x + bytes, x, x + bytes, CHAIN * bytes,
                                 CHAIN * bytes, CHAIN * bytes, bytes, bytes, bytes };
    if (o->smoothing)
        o->kernels->smooth_combine(o->nx, &job, o->work);
    else
        o->kernels->filter_combine(o->nx, &job, o->work);
    assert_memory_equal(x, one, (size_t)(LANES * CHAIN * bytes));
    free(beside);
    free(one);
    free(x);
    free(wide);
}

typedef void (*law)(const operation *o, source *s);

/** Of up to `most` states. */
static void with_all(law check, int full_rank, int most)
{
    static const ks_tier tiers[] = { KS_TIER_BASELINE, KS_TIER_AVX2 };
    static const int sizes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 20, 21 };
    for (int p = 0; p < 2; ++p)
        for (int t = 0; t < 2; ++t) {
            const ks_kernels *kernels = ks_kernels_of((ks_precision)p, tiers[t]);
            if (!kernels) continue; /* a processor without the tier */
            for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && sizes[i] <= most; ++i)
                for (int smoothing = 0; smoothing < 2; ++smoothing) {
                    source s = { 11 };
                    operation o = { kernels, sizes[i], smoothing, NULL, full_rank };
                    o.work = zeroed_work(kernels->combine_bytes(sizes[i]));
                    for (int repeat = 0; repeat < 20; ++repeat) check(&o, &s);
                    free(o.work);
                }
        }
}

static double rounding(const operation *o)
{
    return o->kernels->number_bytes == sizeof(double) ? 0x1p-52 : 0x1p-23;
}

static void check_associates(const operation *o, source *s)
{
    associates(o, s, 2000 * rounding(o));
}

static void check_neutral(const operation *o, source *s)
{
    neutral_holds(o, s, 2000 * rounding(o));
}

/** A singular C is factored without pivoting: of many states its last pivots are round-off grown by
 *  the condition of the ones before, and the product of the factors is off by as much. */
static void check_neutral_singular(const operation *o, source *s)
{
    neutral_holds(o, s, (o->nx <= 6 ? 2e3 : 2e5) * rounding(o));
}

static void operators_associate(void **state)
{
    (void)state;
    with_all(check_associates, 0, 13);
}

static void neutral_element_changes_nothing(void **state)
{
    (void)state;
    with_all(check_neutral, 1, 13);
    with_all(check_neutral_singular, 0, 13);
}

static void rectangles_are_combines(void **state)
{
    (void)state;
    with_all(rectangles_hold, 0, MOST_NX);
}

/** C = c I beside J = j w w': I + C J has an eigenvalue of 6e12 beside ones, and of the merged
 *  information only j / (1 + c j w'w) w w' is left. Formed in the ordinary way it would drown; the
 *  numbers are exact, so the array form owes all digits. */
static void merging_keeps_what_is_left(void **state)
{
    (void)state;
    static const double w[3] = { 1, 2, -1 };
    static const ks_tier tiers[] = { KS_TIER_BASELINE, KS_TIER_AVX2 };
    const double c = 1e6, j = 1e6, left = j / (1 + 6 * c * j);
    for (int t = 0; t < 2; ++t) {
        const ks_kernels *kernels = ks_kernels_of(KS_F64, tiers[t]);
        if (!kernels) continue;
        operation o = { kernels, 3, 0, zeroed_work(kernels->combine_bytes(3)), 1 };
        const size_t n = (size_t)numbers_of(&o);
        double *a = zeroed(3 * n, sizeof *a), *b = a + n, *ab = b + n;
        kernels->filter_neutral(3, a);
        kernels->filter_neutral(3, b);
        for (int i = 0, at = 0; i < 3; ++i)
            for (int l = 0; l <= i; ++l, ++at) {
                a[12 + at] = i == l ? c : 0;
                b[21 + at] = j * w[i] * w[l];
            }
        for (int i = 0; i < 3; ++i) b[18 + i] = j * w[i]; /* w'x = 1 */
        combine(&o, ab, a, b, 0);
        for (int i = 0, at = 0; i < 3; ++i) {
            for (int l = 0; l <= i; ++l, ++at) {
                const double C = (i == l ? c : 0) - c * (c * left) * w[i] * w[l];
                assert_true(fabs(ab[21 + at] - left * w[i] * w[l]) <= 1e-12 * left);
                assert_true(fabs(ab[12 + at] - C) <= 1e-12 * c);
            }
            assert_true(fabs(ab[18 + i] - left * w[i]) <= 1e-12 * left);
            /* In standard deviations of the earlier element, sqrt(c). */
            assert_true(fabs(ab[9 + i] - c * left * w[i]) <= 1e-6 * sqrt(c));
        }
        free(a);
        free(o.work);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_associate),
        cmocka_unit_test(neutral_element_changes_nothing),
        cmocka_unit_test(rectangles_are_combines),
        cmocka_unit_test(merging_keeps_what_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
