/* test_range.c -- a matrix in another unit has the same digits, up to the ends of the range. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>
#include "system.h"

enum { N = 5, SIDES = 2 };

/* A 2^exponent, b 2^(exponent / 2). A's largest diagonal entry is below one, at least a quarter. */
static bt_system scaled(ks_precision precision, int n, int exponent)
{
    const int side = exponent / 2;
    bt_system s = bt_system_make(precision, N, n, SIDES, 0, 3);
    const int64_t block = (int64_t)n * n;
    double largest = 0;
    int to;
    for (int64_t k = 0; k < N; ++k)
        for (int i = 0; i < n; ++i)
            largest = fmax(largest, bt_get(&s, s.D, k * s.stride + i * (n + 1)));
    (void)frexp(largest, &to);
    exponent -= to + (to & 1);
    for (int64_t k = 0; k < N; ++k)
        for (int64_t i = 0; i < block; ++i) {
            bt_put(&s, s.D, k * s.stride + i, ldexp(bt_get(&s, s.D, k * s.stride + i), exponent));
            if (k + 1 < N)
                bt_put(&s, s.L, k * s.stride + i, ldexp(bt_get(&s, s.L, k * s.stride + i), exponent));
        }
    for (int64_t k = 0; k < N; ++k)
        for (int64_t i = 0; i < (int64_t)n * SIDES; ++i)
            bt_put(&s, s.b, k * s.rhs_stride + i,
                   ldexp(bt_get(&s, s.b, k * s.rhs_stride + i), side));
    return s;
}

static ks_status solve(bt_system *s, const ks_blocktri_options *options, double *logdet)
{
    bt_solver solver = bt_solver_make(s, options, 1, 0);
    const ks_status status = bt_factorize(&solver, s, NULL);
    if (status == KS_OK) {
        assert_int_equal(ks_blocktri_solve(solver.plan, &solver.factor, SIDES, bt_b(s), bt_x(s),
                                           solver.work), KS_OK);
        assert_int_equal(ks_blocktri_logdet(solver.plan, &solver.factor, logdet), KS_OK);
    }
    bt_solver_free(&solver);
    return status;
}

/* Whether the system is solved; if so, with the digits of `one`. */
static int same_digits(const bt_system *one, double logdet, int n, int exponent,
                       const ks_blocktri_options *options)
{
    const int rows = N * n;
    bt_system other = scaled(one->precision, n, exponent);
    double found = 0;
    const ks_status status = solve(&other, options, &found);
    if (status == KS_OK) {
        for (int64_t k = 0; k < N; ++k)
            for (int64_t i = 0; i < (int64_t)n * SIDES; ++i) {
                const double x = bt_get(one, one->x, k * one->rhs_stride + i);
                const double y = bt_get(&other, other.x, k * other.rhs_stride + i);
                if (!(ldexp(y, exponent / 2) <= x && ldexp(y, exponent / 2) >= x))
                    fail_msg("%s, order %d of blocks, A 2^%d: %.17g instead of %.17g",
                             ks_blocktri_order_name(options->order), n, exponent, y,
                             ldexp(x, -exponent / 2));
            }
        const double wanted = logdet + rows * exponent * log(2.0);
        assert_true(fabs(found - wanted) <= 1e-12 * (1 + fabs(wanted)));
    } else {
        assert_int_equal(status, KS_ENOTPD);
    }
    bt_system_free(&other);
    return status == KS_OK;
}

/* Exponents are even, so that roots have the same digits. Of the largest numbers' last two powers a
 * factorization may be refused, not wrong. */
static void test_units(void **state)
{
    (void)state;
    static const int sizes[] = { 1, 3, 4, 7, 16, 33 };
    for (int p = 0; p < 2; ++p)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
            for (int order = 1; order < KS_BLOCKTRI_ORDERS; ++order) {
                const ks_precision precision = p ? KS_F32 : KS_F64;
                const int n = sizes[i], end = p ? 128 : 1024;
                const ks_blocktri_options options = bt_options((ks_blocktri_order)order, precision);
                double logdet = 0;
                bt_system one = scaled(precision, n, 0);
                assert_int_equal(solve(&one, &options, &logdet), KS_OK);
                assert_true(same_digits(&one, logdet, n, end - 4, &options));
                assert_true(same_digits(&one, logdet, n, end - 8, &options));
                assert_true(same_digits(&one, logdet, n, p ? -60 : -900, &options));
                (void)same_digits(&one, logdet, n, end - 2, &options);
                (void)same_digits(&one, logdet, n, end, &options);
                bt_system_free(&one);
            }
}

/* A residual that is a part in a thousand of b, in units whose squares leave the range. */
static void test_norms(void **state)
{
    (void)state;
    static const int units[] = { 0, 500, 660, 1000, -500, -660, -950 };
    const ks_blocktri_options options = bt_options(KS_BLOCKTRI_SEQUENTIAL, KS_F64);
    ks_blocktri_norms one = { 0, 0, 0, 0 };
    for (int of_matrix = 0; of_matrix < 2; ++of_matrix)
        for (size_t u = 0; u < sizeof units / sizeof *units; ++u) {
            bt_system s = bt_system_make(KS_F64, N, 3, SIDES, 0, 3);
            bt_solver v = bt_solver_make(&s, &options, 1, 0);
            const ks_blocktri_matrix A = bt_matrix(&s);
            const int on_A = of_matrix ? units[u] : 0, on_x = of_matrix ? 0 : units[u];
            ks_blocktri_norms norms;
            assert_int_equal(bt_factorize(&v, &s, NULL), KS_OK);
            assert_int_equal(ks_blocktri_solve(v.plan, &v.factor, SIDES, bt_b(&s), bt_x(&s), v.work), KS_OK);
            for (int64_t k = 0; k < N; ++k) {
                for (int64_t i = 0; i < 9; ++i) {
                    bt_put(&s, s.D, k * s.stride + i, ldexp(bt_get(&s, s.D, k * s.stride + i), on_A));
                    if (k + 1 < N) bt_put(&s, s.L, k * s.stride + i, ldexp(bt_get(&s, s.L, k * s.stride + i), on_A));
                }
                for (int64_t i = 0; i < 3 * SIDES; ++i) {
                    const int64_t at = k * s.rhs_stride + i;
                    bt_put(&s, s.b, at, ldexp(bt_get(&s, s.b, at), units[u]));
                    bt_put(&s, s.x, at, ldexp(bt_get(&s, s.x, at) * 1.001, on_x));
                }
            }
            assert_int_equal(ks_blocktri_residual(v.plan, &A, SIDES, bt_x_in(&s), bt_b(&s), &norms), KS_OK);
            if (u == 0) one = norms;
            const double found[] = { ldexp(norms.residual, -units[u]), ldexp(norms.right_hand_side, -units[u]),
                                     ldexp(norms.solution, -on_x), ldexp(norms.matrix, -on_A) };
            const double wanted[] = { one.residual, one.right_hand_side, one.solution, one.matrix };
            assert_true(one.residual > 0.9e-3 * one.right_hand_side && one.residual < 1.1e-3 * one.right_hand_side);
            /* By powers of two: but for the residual of denormal products the same digits. */
            for (int i = 0; i < 4; ++i)
                if (!(fabs(found[i] - wanted[i]) <= 1e-13 * wanted[i]))
                    fail_msg("norm %d in units of 2^%d: %.17g, not %.17g", i, units[u], found[i], wanted[i]);
            bt_solver_free(&v);
            bt_system_free(&s);
        }
}

/* Products of A and x leave the range, and their sum, of powers of two, does not. */
static void test_products(void **state)
{
    (void)state;
    const ks_blocktri_options options = bt_options(KS_BLOCKTRI_SEQUENTIAL, KS_F64);
    bt_system s = bt_system_make(KS_F64, N, 2, 1, 0, 3);
    bt_solver v = bt_solver_make(&s, &options, 1, 0);
    const ks_blocktri_matrix A = bt_matrix(&s);
    ks_blocktri_norms norms;
    for (int64_t k = 0; k < N; ++k) {
        for (int64_t i = 0; i < 4; ++i) {
            bt_put(&s, s.D, k * s.stride + i, 0x1p513);
            if (k + 1 < N) bt_put(&s, s.L, k * s.stride + i, 0);
        }
        for (int64_t i = 0; i < 2; ++i) {
            bt_put(&s, s.b, k * s.rhs_stride + i, k == 1 && i == 0 ? 0x1p1020 : 0);
            bt_put(&s, s.x, k * s.rhs_stride + i, i == 0 ? 0x1p513 : -0x1p513);
        }
    }
    assert_int_equal(ks_blocktri_residual(v.plan, &A, 1, bt_x_in(&s), bt_b(&s), &norms), KS_OK);
    assert_true(fabs(norms.residual - 0x1p1020) <= 0x1p980);
    assert_true(fabs(norms.right_hand_side - 0x1p1020) <= 0x1p980);
    bt_solver_free(&v);
    bt_system_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_units), cmocka_unit_test(test_norms),
                                        cmocka_unit_test(test_products) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
