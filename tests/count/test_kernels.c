/* test_kernels.c -- what is counted is what the mathematics of each kernel says: closed forms in nx
 * and ny, kind by kind; and counts depend on nothing else. The closed forms are written down here
 * and nowhere else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "count.h"
#include "count_kernels.h"
#include "same_flops.h"

static ks_flops sum(ks_flops a, ks_flops b)
{
    return flops(a.adds + b.adds, a.multiplies + b.multiplies, a.divisions + b.divisions,
                 a.square_roots + b.square_roots);
}

/* As many multiply-adds. */
static ks_flops fused(int64_t n) { return flops(n, n, 0, 0); }

/* L D L' of (n, n), each pivot compared with a multiple of its diagonal entry. */
static ks_flops ldl(int64_t n)
{
    const int64_t updates = (n - 1) * n * (n + 1) / 6;
    return flops(updates, updates + n * (n - 1) / 2 + n, n, 0);
}

/* L^-1 B, and L^-T D^-1 B, with B (n, columns). */
static ks_flops forward(int64_t n, int64_t columns) { return fused(n * (n - 1) / 2 * columns); }
static ks_flops backward(int64_t n, int64_t columns)
{
    return sum(flops(0, n * columns, 0, 0), forward(n, columns));
}

/* U U' = C: products, a threshold and a reciprocal root for each pivot, scaling. */
static ks_flops semidefinite(int64_t n)
{
    return sum(fused((n - 1) * n * (n + 1) / 6), flops(0, n + n * (n + 1) / 2, n, n));
}

static ks_flops predict(int64_t n) { return fused(2 * n * n * n + n * n); }

/* What H P H' + R is compared with; the noise of the model that is counted is not correlated. */
static ks_flops limit(int64_t m) { return flops(0, m, 0, 0); }

/* H P, H P H' + R, residual, factor, both whitened. */
static ks_flops innovation(int64_t n, int64_t m)
{
    return sum(sum(fused(m * n * n + m * m * n + m * n), flops(m, 0, 0, 0)),
               sum(ldl(m), sum(forward(m, n), forward(m, 1))));
}

static ks_flops posterior(int64_t n, int64_t m)
{
    return sum(flops(0, m * n, 0, 0), fused(m * n + n * n * m));
}

/* Whether the entries of y are finite, and whether the estimate is. */
static ks_flops look(int64_t m) { return flops(m, 0, 0, 0); }
static ks_flops finite_estimate(int64_t n) { return flops(4 * n, 0, 0, 0); }

/* The log-likelihood takes v^2 / D of every entry; what it then does with it is plain double. */
static ks_flops filter_step(int64_t n, int64_t m)
{
    const ks_flops checks = sum(look(m), finite_estimate(n));
    return sum(sum(sum(checks, predict(n)), flops(0, 2 * m, 0, 0)),
               sum(sum(limit(m), innovation(n, m)), posterior(n, m)));
}

static ks_flops filter_element(int64_t n, int64_t m)
{
    const ks_flops information = sum(flops(0, m * n, 0, 0), fused(m * n + n * n * m));
    const ks_flops A = sum(fused(m * n * n), sum(forward(m, n), fused(n * n * m)));
    return sum(sum(look(m), sum(limit(m), innovation(n, m))), sum(posterior(n, m), sum(A, information)));
}

/* (I + C J)^-1 C as U (I + U' J U)^-1 U'. */
static ks_flops merge(int64_t n)
{
    return sum(sum(semidefinite(n), ldl(n)),
               sum(forward(n, n), sum(fused(3 * n * n * n), flops(0, n * n, 0, 0))));
}

static ks_flops filter_combine(int64_t n)
{
    return sum(merge(n), sum(fused(6 * n * n * n + 5 * n * n), flops(n, 0, 0, 0)));
}

static ks_flops smoothing_gain(int64_t n)
{
    return sum(sum(fused(2 * n * n * n), ldl(n)), sum(forward(n, n), backward(n, n)));
}

/* The squares of what rounds a prediction: of the gain, in standard deviations, and of means. */
static ks_flops rounding_squares(int64_t n) { return flops(n * n, 2 * n * n + 2 * n + 1, n, 0); }

/* Whether that is much of its standard deviations: the inverse of L, and what it does to the squares. */
static ks_flops rounds_much(int64_t n)
{
    const int64_t below = n * (n - 1) / 2;
    return sum(fused(n * (n - 1) * (n - 2) / 6 + below + n), flops(0, below, 0, 0));
}

static ks_flops smooth_element(int64_t n)
{
    return sum(sum(smoothing_gain(n), sum(rounding_squares(n), rounds_much(n))),
               sum(fused(2 * n * n * n + 2 * n * n), flops(0, n, 0, 0)));
}

static ks_flops smooth_combine(int64_t n) { return fused(3 * n * n * n + n * n); }

static ks_flops two_filter(int64_t n)
{
    return sum(merge(n), sum(fused(2 * n * n), finite_estimate(n)));
}

static ks_flops smooth_step(int64_t n)
{
    return sum(sum(smoothing_gain(n), fused(2 * n * n * n + 2 * n * n)),
               sum(flops(n + n * n, n, 0, 0), finite_estimate(n)));
}

static void closed_forms(void **state)
{
    static const int sizes[][2] = {{1, 1}, {1, 3}, {2, 1}, {3, 2}, {4, 2}, {5, 7}, {6, 3},
                                   {8, 4}, {9, 2}, {12, 6}, {17, 9}, {30, 5}};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        const int n = sizes[i][0], m = sizes[i][1];
        const ks_flops nothing = flops(0, 0, 0, 0);
        ks_unit_costs c;
        assert_int_equal(ks_unit_costs_find(&c, n, m), KS_OK);
        assert_same("first element", n, m, c.first_element, filter_step(n, m));
        assert_same("filtering element", n, m, c.filter_element, filter_element(n, m));
        assert_same("combine of filtering elements", n, m, c.filter_combine, filter_combine(n));
        assert_same("neutral filtering element", n, m, c.filter_neutral, nothing);
        assert_same("filtered estimate", n, m, c.filter_extract, finite_estimate(n));
        assert_same("smoothing element", n, m, c.smooth_element, smooth_element(n));
        assert_same("last smoothing element", n, m, c.smooth_element_last, nothing);
        assert_same("combine of smoothing elements", n, m, c.smooth_combine, smooth_combine(n));
        assert_same("neutral smoothing element", n, m, c.smooth_neutral, nothing);
        assert_same("smoothed estimate", n, m, c.smooth_extract, finite_estimate(n));
        assert_same("two filters", n, m, c.two_filter, two_filter(n));
        assert_same("two filters, last step", n, m, c.two_filter_last, finite_estimate(n));
        assert_same("filter step", n, m, c.filter_step, filter_step(n, m));
        assert_same("smoother step", n, m, c.smooth_step, smooth_step(n));
        assert_same("last smoother step", n, m, c.smooth_step_last, finite_estimate(n));
    }
}

/* Numbers of which nothing is known but that they are numbers. */
static double any(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(*seed >> 11) / 4503599627370496.0 - 1.0;
}

/* Elements with what entries you like, zeros, neutral ones, indefinite J, C = 0: combining them
 * costs the same. The cost of a lane can therefore be known from one executed lane. */
static void counts_do_not_depend_on_values(void **state)
{
    enum { N = 4, FILTER = N * N + 2 * N + N * (N + 1), SMOOTH = N * N + N + N * (N + 1) / 2 };
    double element[6][FILTER], out[FILTER];
    ks_kernels k;
    ks_unit_costs costs;
    uint64_t seed = 1;
    (void)state;
    ks_counting_kernels(&k);
    double *work = malloc(k.scratch_bytes(N, 1));
    assert_non_null(work);
    assert_int_equal(ks_unit_costs_find(&costs, N, 1), KS_OK);
    assert_int_equal(k.filter_element_bytes(N), sizeof element[0]);
    assert_int_equal(k.smooth_element_bytes(N), SMOOTH * sizeof(double));
    for (int i = 0; i < FILTER; ++i) {
        element[0][i] = 0;
        element[1][i] = any(&seed);
        element[2][i] = 1e8 * any(&seed);
        element[3][i] = 1;
        element[4][i] = i < N * N ? any(&seed) : 0;
    }
    k.filter_neutral(N, element[5]);
    for (int a = 0; a < 6; ++a)
        for (int b = 0; b < 6; ++b) {
            const ks_combine_job job = {1, 1, (char *)out, (const char *)element[a],
                                        (const char *)element[b], 0, 0, 0, 0, 0, 0};
            (void)ks_take_flops();
            k.filter_combine(N, &job, work);
            assert_same("combine", a, b, ks_take_flops(), costs.filter_combine);
            k.smooth_combine(N, &job, work);
            assert_same("combine", a, b, ks_take_flops(), costs.smooth_combine);
        }
    free(work);
}

/* The numbers that are counted are the numbers: scans with this table give what the others give.
 * Here only that a double passes through unchanged. */
static void counted_numbers_are_doubles(void **state)
{
    const double x[3] = {1.0, -2.5, 1e300};
    double wide[3], back[3];
    ks_kernels k;
    (void)state;
    ks_counting_kernels(&k);
    assert_int_equal(k.number_bytes, sizeof(double));
    (void)ks_take_flops();
    k.widen(3, x, wide);
    k.narrow(3, wide, back);
    assert_memory_equal(x, back, sizeof x);
    assert_int_equal(ks_flops_total(ks_take_flops()), 0);
}

static void sums_are_checked(void **state)
{
    ks_flops f = {0, 0, 0, 0};
    (void)state;
    assert_int_equal(ks_flops_add(&f, flops(3, 2, 1, 0), INT64_MAX / 6), 0);
    assert_int_not_equal(ks_flops_add(&f, flops(1, 1, 1, 1), 4), 0);
    f = flops(0, 0, 0, 0);
    assert_int_not_equal(ks_flops_add(&f, flops(3, 0, 0, 0), INT64_MAX / 2), 0);
    f = flops(INT64_MAX, 0, 0, 0);
    assert_int_not_equal(ks_flops_add(&f, flops(0, 1, 0, 0), 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_forms),
        cmocka_unit_test(counts_do_not_depend_on_values),
        cmocka_unit_test(counted_numbers_are_doubles),
        cmocka_unit_test(sums_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
