/* test_range.c -- a right-hand side or a matrix in another unit has the same digits; what is no number, and what
 * elimination has lost, is told. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "general_system.h"

static int stationary(int method) { return method >= KS_BLOCK_JACOBI && method <= KS_RED_BLACK; }

static void shift(double *values, int64_t count, int exponent)
{
    for (int64_t i = 0; i < count; ++i) values[i] = ldexp(values[i], exponent);
}

static int64_t numbers_of(const general_system *s) { return s->N * s->n * s->nrhs; }

static general_system make(int e_A, int e_b)
{
    general_system s = general_system_make(GS_TRIDIAGONAL, 7, 5, 2, 0.7, 11);
    const int64_t block = (int64_t)s.n * s.n;
    shift(s.D, s.N * block, e_A);
    shift(s.L, (s.N - 1) * block, e_A);
    shift(s.U, (s.N - 1) * block, e_A);
    shift(s.b, numbers_of(&s), e_b);
    return s;
}

static int equal(double a, double b) { return a <= b && a >= b; }

static void check_unit(int method, int by_change, int e_A, int e_b)
{
    ks_general_options options = KS_GENERAL_OPTIONS_INIT;
    ks_general_report one = KS_GENERAL_REPORT_INIT, other = KS_GENERAL_REPORT_INIT;
    general_system s = make(0, 0), t = make(e_A, e_b);
    options.method = (ks_general_method)method;
    options.tolerance = 1e-9;
    options.stop = by_change ? KS_STOP_CHANGE : KS_STOP_RESIDUAL;
    assert_int_equal(general_system_solve(&s, NULL, &options, &one, NULL), KS_OK);
    if (by_change) options.tolerance = ldexp(options.tolerance, e_b - e_A);
    assert_int_equal(general_system_solve(&t, NULL, &options, &other, NULL), KS_OK);
    for (int64_t i = 0; i < numbers_of(&s); ++i)
        if (!equal(ldexp(t.x[i], e_A - e_b), s.x[i]))
            fail_msg("%s, A 2^%d, b 2^%d: %.17g instead of %.17g", ks_general_method_name(options.method), e_A, e_b,
                     t.x[i], ldexp(s.x[i], e_b - e_A));
    assert_int_equal(one.iterations, other.iterations);
    assert_int_equal(one.end, other.end);
    assert_true(equal(one.relative_residual, other.relative_residual));
    assert_true(equal(ldexp(one.residual, e_b), other.residual));
    assert_true(equal(ldexp(one.change, e_b - e_A), other.change));
    assert_true(fabs(one.backward_error - other.backward_error) <= 1e-12 * one.backward_error);
    general_system_free(&s);
    general_system_free(&t);
}

static void any_unit_has_the_same_digits(void **state)
{
    (void)state;
    static const int units[][2] = { { 0, -530 }, { 0, -900 }, { 0, -950 }, { 0, 500 }, { 0, 1000 }, { 600, 0 },
                                    { -600, 0 }, { 600, 900 }, { -600, -900 }, { 500, -400 } };
    for (int method = 1; method < KS_GENERAL_METHODS; ++method)
        for (size_t u = 0; u < sizeof units / sizeof *units; ++u)
            for (int by_change = 0; by_change <= stationary(method); ++by_change)
                if (method != KS_CG) check_unit(method, by_change, units[u][0], units[u][1]);
}

/** `pivot` x[i] = (1 + more i) b in twelve unknowns. */
static general_system solve_diagonal(int method, double pivot, double b, int more, ks_status expected)
{
    general_system s = general_system_empty(4, 3, 1);
    ks_general_options options = KS_GENERAL_OPTIONS_INIT;
    ks_general_report report = KS_GENERAL_REPORT_INIT;
    options.method = (ks_general_method)method;
    for (int i = 0; i < 12; ++i) {
        s.D[i / 3 * 9 + i % 3 * 4] = pivot;
        s.b[i] = (1 + more * i) * b;
    }
    assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL), expected);
    return s;
}

/* Of denormal numbers all that they have. */
static void denormal_right_hand_sides(void **state)
{
    (void)state;
    for (int method = 1; method < KS_GENERAL_METHODS; ++method) {
        general_system s = solve_diagonal(method, 0x1p-20, 0x1p-1060, 1, KS_OK);
        for (int i = 0; i < 12; ++i) assert_true(equal(s.x[i], (i + 1) * 0x1p-1040));
        general_system_free(&s);
    }
}

static void solutions_beyond_the_range_are_told(void **state)
{
    (void)state;
    for (int method = 1; method < KS_GENERAL_METHODS; ++method) {
        general_system s = solve_diagonal(method, 0x1p-300, 0x1p800, 0, KS_ENONFINITE);
        for (int i = 0; i < 12; ++i) assert_true(isnan(s.x[i]));
        general_system_free(&s);
    }
}

/* Symmetry is a matter of ratios. */
static void symmetry_has_no_unit(void **state)
{
    (void)state;
    static const int units[] = { 0, -700, 700 };
    for (int u = 0; u < 3; ++u)
        for (int symmetric = 0; symmetric < 2; ++symmetric) {
            general_system s = general_system_empty(5, 2, 1);
            ks_general_options options = KS_GENERAL_OPTIONS_INIT;
            ks_general_report report = KS_GENERAL_REPORT_INIT;
            options.method = KS_CG;
            for (int i = 0; i < 5; ++i) {
                s.D[4 * i] = s.D[4 * i + 3] = ldexp(4.0, units[u]);
                s.D[4 * i + 1] = s.D[4 * i + 2] = ldexp(1.0, units[u]);
                if (i == 4) break;
                for (int j = 0; j < 4; ++j) s.L[4 * i + j] = ldexp(0.3, units[u]);
                for (int j = 0; j < 4; ++j) s.U[4 * i + j] = ldexp(symmetric ? 0.3 : 0.2, units[u]);
            }
            for (int i = 0; i < 10; ++i) s.b[i] = i - 4;
            assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL),
                             symmetric ? KS_OK : KS_EREFUSED);
            general_system_free(&s);
        }
}

static void what_is_no_number_does_not_converge(void **state)
{
    (void)state;
    static const double bad[] = { (double)NAN, (double)INFINITY, -(double)INFINITY };
    for (int method = 1; method < KS_GENERAL_METHODS; ++method)
        for (int b = 0; b < 3; ++b)
            for (int by_change = 0; by_change <= stationary(method); ++by_change)
                for (int place = 0; place < 3; ++place) {
                    general_system s = make(0, 0);
                    ks_general_options options = KS_GENERAL_OPTIONS_INIT;
                    ks_general_report report = KS_GENERAL_REPORT_INIT;
                    options.method = (ks_general_method)method;
                    options.any_matrix = 1;
                    options.stop = by_change ? KS_STOP_CHANGE : KS_STOP_RESIDUAL;
                    /* In the second case it comes into x with the first sweep, in the third x is zero. */
                    if (place == 0) s.b[2 * 17] = bad[b];
                    else s.U[5] = bad[b];
                    for (int i = 0; place == 2 && i < 2 * s.N; ++i) s.b[i] = 0;
                    const ks_status status = general_system_solve(&s, NULL, &options, &report, NULL);
                    assert_true(status == KS_ENOTCONVERGED || status == KS_ENONFINITE || status == KS_ESINGULAR);
                    if (place == 0) {
                        const int iterates = stationary(method) || (method >= KS_BICGSTAB && method <= KS_CG);
                        assert_int_equal(status, KS_ENONFINITE);
                        assert_int_equal(report.end, iterates ? KS_END_DIVERGED : KS_END_NONE);
                        assert_int_equal(report.column, 0);
                        assert_true(isnan(s.x[0])); /* not written */
                    }
                    if (status != KS_ESINGULAR)
                        assert_true(!isfinite(report.residual) && !isfinite(report.relative_residual) &&
                                    !isfinite(report.backward_error));
                    general_system_free(&s);
                }
}

/* A first block that is small beside its couplings: elimination grows by its reciprocal. */
static void elimination_loses_no_digits_in_silence(void **state)
{
    (void)state;
    static const ks_general_method direct[] = { KS_BLOCK_LU, KS_BLOCK_CYCLIC_REDUCTION, KS_LOW_RANK_LU };
    int refined = 0, refused = 0;
    for (int m = 0; m < 3; ++m)
        for (int digits = 0; digits <= 24; ++digits) {
            general_system s = general_system_make(GS_DENSE, 6, 4, 1, 0.7, 5);
            ks_general_options options = KS_GENERAL_OPTIONS_INIT;
            ks_general_report report = KS_GENERAL_REPORT_INIT;
            options.method = direct[m];
            for (int k = 0; k < 6; ++k)
                for (int i = 0; i < 16; ++i) s.D[16 * k + i] *= k < 2 ? pow(10, -digits) : 1;
            general_system_truth(&s, 3);
            const ks_status status = general_system_solve(&s, NULL, &options, &report, NULL);
            if (status == KS_OK) {
                assert_true(report.backward_error <= 1e-10);
                assert_true(report.iterations > 0 || report.backward_error <= 1e-13);
                assert_true(general_system_error(&s) < 1e-6);
                refined += report.iterations > 0;
            } else {
                assert_int_equal(status, KS_ENOTCONVERGED);
                assert_int_equal(report.end, KS_END_STAGNATED);
                assert_true(report.backward_error > 1e-10 && digits > (direct[m] == KS_LOW_RANK_LU ? 6 : 8));
                ++refused;
            }
            general_system_free(&s);
        }
    assert_true(refined > 0 && refused > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_unit_has_the_same_digits),
        cmocka_unit_test(denormal_right_hand_sides),
        cmocka_unit_test(solutions_beyond_the_range_are_told),
        cmocka_unit_test(symmetry_has_no_unit),
        cmocka_unit_test(what_is_no_number_does_not_converge),
        cmocka_unit_test(elimination_loses_no_digits_in_silence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
