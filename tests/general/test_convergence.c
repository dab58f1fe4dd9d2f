/* Lemma 1: block iterations converge exactly when the spectral radius of D^-1 (L + U) is below 1;
 * and what is said of those that do not. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "assert_within.h"
#include "general_system.h"

static const ks_general_method stationary[] = { KS_BLOCK_JACOBI, KS_BLOCK_GAUSS_SEIDEL,
                                                KS_RED_BLACK };
enum { STATIONARY = 3 };

static ks_general_options options_of(ks_general_method method)
{
    ks_general_options options = KS_GENERAL_OPTIONS_INIT;
    options.method = method;
    return options;
}

/* Both sides of 1, for random matrices of all kinds, whose spectra are complex. The estimate is
 * that of the progress, or of power sweeps on failure: a complex dominant pair makes it waver. */
static void converge_exactly_below_one(void **state)
{
    (void)state;
    const double radii[] = { 0.3, 0.9, 0.97, 1.03, 1.1, 2.0 };
    for (int kind = 0; kind < GS_KINDS; ++kind)
        for (size_t r = 0; r < sizeof radii / sizeof *radii; ++r)
            for (int m = 0; m < STATIONARY; ++m) {
                general_system s =
                    general_system_make((gs_kind)kind, 6, 5, 1, radii[r], 40 + (unsigned)r);
                ks_general_options options = options_of(stationary[m]);
                ks_general_report report = KS_GENERAL_REPORT_INIT;
                const ks_status status = general_system_solve(&s, NULL, &options, &report, NULL);
                if (radii[r] < 1) {
                    assert_int_equal(status, KS_OK);
                    assert_int_equal(report.end, KS_END_CONVERGED);
                    assert_true(report.relative_residual <= options.tolerance);
                    assert_true(general_system_error(&s) < 1e-7);
                } else {
                    assert_int_equal(status, KS_ENOTCONVERGED);
                    assert_int_equal(report.end, KS_END_DIVERGED);
                    assert_true(report.relative_residual > 1);
                    assert_true(isnan(s.x[0])); /* not written */
                }
                if (radii[r] >= 0.9)
                    assert_true(fabs(report.spectral_radius / radii[r] - 1) < 0.06);
                general_system_free(&s);
            }
}

/* -u'' on blocks: eigenvalues are known, cos(pi / (N + 1)) with one row a block, and real. */
static general_system poisson(int64_t N)
{
    general_system s = general_system_empty(N, 1, 1);
    for (int64_t i = 0; i < N; ++i) s.D[i] = 2;
    for (int64_t i = 0; i + 1 < N; ++i) s.L[i] = s.U[i] = -1;
    general_system_truth(&s, 1);
    return s;
}

static void rates_and_estimates_are_those_of_the_theory(void **state)
{
    (void)state;
    general_system s = poisson(20);
    const double pi = 3.14159265358979323846, radius = cos(pi / 21);
    /* The slowest mode alone: b = 2 (1 - rho) x, and Jacobi's residual falls by rho a sweep. */
    for (int i = 0; i < 20; ++i) {
        s.truth[i] = sin(pi * (i + 1) / 21);
        s.b[i] = 2 * (1 - radius) * s.truth[i];
    }
    int64_t iterations[STATIONARY + 1];
    for (int m = 0; m <= STATIONARY; ++m) {
        ks_general_options options = options_of(m < STATIONARY ? stationary[m] : KS_RED_BLACK);
        ks_general_report report = KS_GENERAL_REPORT_INIT;
        if (m == STATIONARY) options.relaxation = KS_RELAXATION_ESTIMATE;
        assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL), KS_OK);
        assert_true(general_system_error(&s) < 1e-7);
        iterations[m] = report.iterations;
        if (m < STATIONARY) {
            assert_true(fabs(report.spectral_radius - radius) < 1e-4);
            assert_true(report.relaxation == 1);
        } else {
            /* 2 / (1 + sin(pi / 21)) = 1.741 */
            assert_true(fabs(report.relaxation - 2 / (1 + sin(pi / 21))) < 0.03);
        }
    }
    /* ln 1e-10 / ln rho = 2050.02; half of it for Gauss-Seidel in either order. */
    assert_within(iterations[0], 2050, 2052);
    assert_within(iterations[1], 1000, 1050);
    assert_within(iterations[2], 1000, 1050);
    /* Over-relaxation needs about ln 1e-10 / ln 0.741 = 77, and the sweeps that estimate. */
    assert_within(iterations[3], 70, 200);
    general_system_free(&s);
}

/* A fixed relaxation: over-relaxation with the best value, and damping. */
static void relaxation_can_be_given(void **state)
{
    (void)state;
    general_system s = poisson(20);
    const double values[] = { 1.74, 0.8 };
    for (int i = 0; i < 2; ++i)
        for (int m = 0; m < STATIONARY; ++m) {
            ks_general_options options = options_of(stationary[m]);
            ks_general_report report = KS_GENERAL_REPORT_INIT;
            options.relaxation = values[i];
            const ks_status status = general_system_solve(&s, NULL, &options, &report, NULL);
            /* Jacobi's eigenvalue -rho becomes 1 - omega (1 + rho) = -2.4. */
            assert_int_equal(status, m == 0 && i == 0 ? KS_ENOTCONVERGED : KS_OK);
            if (m > 0 && i == 0) assert_within(report.iterations, 60, 130);
        }
    general_system_free(&s);
}

/* The radius is that of D^-1 (L + U), not of what relaxation makes of it, or it is not told. */
static void relaxation_leaves_the_radius_alone(void **state)
{
    (void)state;
    const double values[] = { 0.8, 1.1, 1.5, 1.9, 1.99 };
    for (int kind = 0; kind < GS_KINDS; ++kind)
        for (size_t i = 0; i < sizeof values / sizeof *values; ++i)
            for (int m = 0; m < STATIONARY; ++m) {
                general_system s = general_system_make((gs_kind)kind, 6, 5, 1, 0.5, 60 + (unsigned)i);
                ks_general_options options = options_of(stationary[m]);
                ks_general_report report = KS_GENERAL_REPORT_INIT;
                options.relaxation = values[i];
                const ks_status status = general_system_solve(&s, NULL, &options, &report, NULL);
                assert_true(report.relaxation == values[i]);
                if (status == KS_ENOTCONVERGED) assert_true(fabs(report.spectral_radius / 0.5 - 1) < 0.06);
                else assert_true(report.spectral_radius < 0.6);
                general_system_free(&s);
            }
}

/* D = I, U = 2 I, L = 0: the iteration matrix is nilpotent, the residual grows by a million and
 * then vanishes. N sweeps are enough, in exact numbers. */
static void growth_that_ends_is_no_divergence(void **state)
{
    (void)state;
    for (int m = 0; m < STATIONARY; ++m) {
        general_system s = general_system_empty(24, 2, 1);
        for (int64_t j = 0; j < 24; ++j) {
            s.D[4 * j] = s.D[4 * j + 3] = 1;
            if (j < 23) s.U[4 * j] = s.U[4 * j + 3] = 2;
            s.b[2 * j] = s.b[2 * j + 1] = 1;
        }
        ks_general_options options = options_of(stationary[m]);
        ks_general_report report = KS_GENERAL_REPORT_INIT;
        assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL), KS_OK);
        assert_within(report.iterations, m == 0 ? 24 : 12, 30);
        for (int64_t j = 0; j < 24; ++j) /* 1 - 2 + 4 - ... */
            assert_true(s.x[2 * j] == (1 - pow(-2, (double)(24 - j))) / 3);
        general_system_free(&s);
    }
}

/* Eigenvalues i and -i: the iterates go round in a circle of four. */
static void oscillation_is_stagnation(void **state)
{
    (void)state;
    for (int m = 0; m < STATIONARY; ++m) {
        general_system s = general_system_empty(2, 1, 1);
        s.D[0] = s.D[1] = s.L[0] = 1;
        s.U[0] = -1;
        s.b[0] = 1;
        ks_general_options options = options_of(stationary[m]);
        ks_general_report report = KS_GENERAL_REPORT_INIT;
        assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL),
                         KS_ENOTCONVERGED);
        assert_int_equal(report.end, KS_END_STAGNATED);
        assert_true(fabs(report.spectral_radius - 1) < 1e-6);
        assert_true(report.iterations < 400);
        general_system_free(&s);
    }
}

static void iterations_have_a_limit(void **state)
{
    (void)state;
    const ks_general_method iterative[] = { KS_BLOCK_JACOBI, KS_BLOCK_GAUSS_SEIDEL, KS_RED_BLACK,
                                            KS_BICGSTAB, KS_GMRES, KS_CG };
    general_system s = poisson(50);
    for (size_t m = 0; m < sizeof iterative / sizeof *iterative; ++m) {
        ks_general_options options = options_of(iterative[m]);
        ks_general_report report = KS_GENERAL_REPORT_INIT;
        options.max_iterations = 7;
        assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL),
                         KS_ENOTCONVERGED);
        assert_int_equal(report.end, KS_END_MAX_ITERATIONS);
        assert_int_equal(report.iterations, 7);
        assert_true(report.relative_residual > options.tolerance);
        assert_true(report.spectral_radius > 0.97 && report.spectral_radius < 1.0);
        assert_true(isnan(s.x[0]));
    }
    general_system_free(&s);
}

/* On a symmetric tridiagonal system of N distinct eigenvalues Krylov methods end after N steps. */
static void krylov_methods_end(void **state)
{
    (void)state;
    general_system s = poisson(50);
    const struct { ks_general_method method; int64_t most; } cases[] = {
        { KS_CG, 51 }, { KS_BICGSTAB, 60 }, { KS_GMRES, 50 } };
    for (size_t m = 0; m < sizeof cases / sizeof *cases; ++m) {
        ks_general_options options = options_of(cases[m].method);
        ks_general_report report = KS_GENERAL_REPORT_INIT;
        options.restart = 60;
        assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL), KS_OK);
        assert_within(report.iterations, 10, cases[m].most);
        assert_true(general_system_error(&s) < 1e-7);
    }
    general_system_free(&s);
}

/* A symmetric matrix with a negative eigenvalue, on a vector that shows it. */
static void conjugate_gradients_break_down_on_negative_curvature(void **state)
{
    (void)state;
    general_system s = general_system_empty(2, 1, 1);
    s.D[0] = s.D[1] = 1;
    s.L[0] = s.U[0] = 2;
    s.b[0] = 1;
    s.b[1] = -1;
    ks_general_options options = options_of(KS_CG);
    ks_general_report report = KS_GENERAL_REPORT_INIT;
    assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL), KS_ENOTCONVERGED);
    assert_int_equal(report.end, KS_END_BREAKDOWN);
    general_system_free(&s);
}

/* The paper's rule looks at the change alone: with rho = 0.95 a change of 1e-6 leaves an error of
 * about 20 times as much. */
static void rule_of_the_paper(void **state)
{
    (void)state;
    general_system s = general_system_make(GS_TRIDIAGONAL, 8, 6, 1, 0.95, 5);
    for (int m = 0; m < STATIONARY; ++m) {
        ks_general_options options = options_of(stationary[m]);
        ks_general_report report = KS_GENERAL_REPORT_INIT;
        options.stop = KS_STOP_CHANGE;
        options.tolerance = 1e-6;
        assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL), KS_OK);
        assert_true(report.change <= 1e-6 && report.change > 1e-8);
        assert_true(general_system_error(&s) < 2e-3);
        const int64_t iterations = report.iterations;
        options.max_iterations = iterations - 1;
        assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL),
                         KS_ENOTCONVERGED);
        assert_true(report.change > 1e-6);
    }
    general_system_free(&s);
    s = general_system_make(GS_DENSE, 5, 4, 1, 1.3, 5);
    ks_general_options options = options_of(KS_BLOCK_JACOBI);
    ks_general_report report = KS_GENERAL_REPORT_INIT;
    options.stop = KS_STOP_CHANGE;
    assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL), KS_ENOTCONVERGED);
    assert_int_equal(report.end, KS_END_DIVERGED);
    options.method = KS_BICGSTAB; /* has no change of its own */
    assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL), KS_EINVAL);
    general_system_free(&s);
}

/* The rule asks for the largest change, in whichever part of the system it is: most of this one is
 * solved by zeros at once. */
static void change_is_that_of_all_parts(void **state)
{
    (void)state;
    enum { N = 700, n = 4, MOVING = 20 };
    for (int m = 0; m < STATIONARY; ++m)
        for (int last = 0; last < 2; ++last) {
            const int from = last ? N - MOVING : 0;
            general_system s = general_system_empty(N, n, 1);
            for (int j = 0; j < N; ++j)
                for (int r = 0; r < n; ++r) {
                    s.D[(j * n + r) * n + r] = 1;
                    /* Nothing leads out of the part that moves. */
                    if (j + 1 < N && j >= from && j + 1 < from + MOVING)
                        s.L[(j * n + r) * n + r] = s.U[(j * n + r) * n + r] = -0.45;
                }
            for (int i = 0; i < MOVING * n; ++i) s.b[from * n + i] = 1 + i % 3;
            ks_general_options options = options_of(stationary[m]);
            ks_general_report report = KS_GENERAL_REPORT_INIT;
            options.stop = KS_STOP_CHANGE;
            options.tolerance = 1e-12;
            assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL), KS_OK);
            assert_true(report.iterations > 10 && report.change <= 1e-12);
            assert_true(report.relative_residual < 1e-10);
            general_system_free(&s);
        }
}

/* Of several right-hand sides the first that fails is named, and those before it are solved. */
static void right_hand_sides_are_told_apart(void **state)
{
    (void)state;
    for (int m = 0; m < STATIONARY; ++m)
        for (int64_t most = 1; most <= 1000; most *= 1000) {
            general_system s = general_system_make(GS_DENSE, 4, 3, 3, 0.5, 8);
            for (int i = 0; i < 36; ++i) s.b[i] = i % 3 == 1 ? s.b[i] : 0;
            ks_general_options options = options_of(stationary[m]);
            ks_general_report report = KS_GENERAL_REPORT_INIT;
            options.max_iterations = most;
            assert_int_equal(report.column, -1);
            const ks_status status = general_system_solve(&s, NULL, &options, &report, NULL);
            assert_int_equal(status, most == 1 ? KS_ENOTCONVERGED : KS_OK);
            assert_int_equal(report.column, 1);
            for (int i = 0; i < 36; i += 3) {
                assert_true(s.x[i] == 0);
                assert_int_equal(isnan(s.x[i + 1]), most == 1);
                assert_true(most == 1 ? isnan(s.x[i + 2]) : s.x[i + 2] == 0);
            }
            general_system_free(&s);
        }
}

static void nothing_to_solve(void **state)
{
    (void)state;
    for (int m = 1; m < KS_GENERAL_METHODS; ++m) {
        general_system s = poisson(5);
        for (int i = 0; i < 5; ++i) s.b[i] = 0;
        ks_general_options options = options_of((ks_general_method)m);
        ks_general_report report = KS_GENERAL_REPORT_INIT;
        assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL), KS_OK);
        for (int i = 0; i < 5; ++i) assert_true(s.x[i] == 0);
        assert_int_equal(report.iterations, 0);
        general_system_free(&s);
    }
}

/* A lower triangular matrix is solved after N sweeps, a residual that does not shrink before is of no account: the last
 * sweep that is allowed is looked at, whichever it is. */
static void the_last_sweep_counts(void **state)
{
    (void)state;
    general_system s = general_system_empty(8, 1, 1);
    for (int64_t i = 0; i < 8; ++i) s.D[i] = s.b[i] = 1;
    for (int64_t i = 0; i + 1 < 8; ++i) s.L[i] = 0.3;
    for (int m = 0; m < STATIONARY; ++m)
        for (int64_t most = 1; most <= 24; ++most) {
            ks_general_options options = options_of(stationary[m]);
            ks_general_report report = KS_GENERAL_REPORT_INIT;
            options.max_iterations = most;
            const ks_status status = general_system_solve(&s, NULL, &options, &report, NULL);
            assert_int_equal(status == KS_OK, report.relative_residual <= options.tolerance);
        }
    general_system_free(&s);
}

/* On an imaginary spectrum over-relaxation diverges, however slowly: the estimate falls back to none. */
static void estimates_fall_back(void **state)
{
    (void)state;
    static const struct { int N, n; double d; } cases[] = { { 20, 20, 4 }, { 50, 4, 4.5 }, { 20, 1, 2.25 } };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        const int N = cases[c].N, n = cases[c].n;
        general_system s = general_system_empty(N, n, 1);
        for (int j = 0; j < N; ++j)
            for (int r = 0; r < n; ++r) {
                double *D = s.D + (j * n + r) * n;
                D[r] = cases[c].d;
                if (r > 0) D[r - 1] = -1;
                if (r + 1 < n) D[r + 1] = -1;
                s.b[j * n + r] = 1;
                if (j + 1 == N) continue;
                s.L[(j * n + r) * n + r] = -1;
                s.U[(j * n + r) * n + r] = 1;
            }
        for (int m = 0; m < STATIONARY; ++m) {
            ks_general_options options = options_of(stationary[m]);
            ks_general_report report = KS_GENERAL_REPORT_INIT;
            assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL), KS_OK);
            options.relaxation = KS_RELAXATION_ESTIMATE;
            assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL), KS_OK);
            /* Under-relaxed they converge, too; no radius follows from it. */
            options.relaxation = 0.75;
            assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL), KS_OK);
            assert_true(report.spectral_radius == -1);
        }
        general_system_free(&s);
    }
}

/* Where each block waits for the one behind it, relaxation lengthens the wait. */
static void under_relaxed_transients_end(void **state)
{
    (void)state;
    enum { N = 300 };
    general_system s = general_system_empty(N, 1, 1);
    for (int64_t i = 0; i < N; ++i) s.D[i] = s.b[i] = 1;
    for (int64_t i = 0; i + 1 < N; ++i) s.U[i] = -1.02;
    ks_general_options options = options_of(KS_BLOCK_JACOBI);
    ks_general_report report = KS_GENERAL_REPORT_INIT;
    options.relaxation = 0.25;
    assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL), KS_OK);
    general_system_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_sweep_counts),
        cmocka_unit_test(estimates_fall_back),
        cmocka_unit_test(under_relaxed_transients_end),
        cmocka_unit_test(converge_exactly_below_one),
        cmocka_unit_test(rates_and_estimates_are_those_of_the_theory),
        cmocka_unit_test(relaxation_can_be_given),
        cmocka_unit_test(relaxation_leaves_the_radius_alone),
        cmocka_unit_test(growth_that_ends_is_no_divergence),
        cmocka_unit_test(oscillation_is_stagnation),
        cmocka_unit_test(iterations_have_a_limit),
        cmocka_unit_test(krylov_methods_end),
        cmocka_unit_test(conjugate_gradients_break_down_on_negative_curvature),
        cmocka_unit_test(rule_of_the_paper),
        cmocka_unit_test(change_is_that_of_all_parts),
        cmocka_unit_test(right_hand_sides_are_told_apart),
        cmocka_unit_test(nothing_to_solve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
