/* test_long.c -- long systems: residuals, new numbers, matrices that are not definite. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "sanitizers.h"
#include "system.h"

static ks_status solve(const bt_solver *solver, const bt_system *s)
{
    return ks_blocktri_solve(solver->plan, &solver->factor, s->nrhs, bt_b(s), bt_x(s),
                             solver->work);
}

/* The default sizes of the orders, and small ones. */
static ks_blocktri_options long_options(int order, ks_precision precision, int round)
{
    ks_blocktri_options o = bt_options((ks_blocktri_order)order, precision);
    if (round == 0) o.segments = o.separator_spacing = o.crossover = 0;
    return o;
}

static void test_residuals(void **state)
{
    (void)state;
    static const struct { int64_t N; int n, nrhs; } cases[] = {
        { 1000, 4, 1 }, { 997, 6, 2 }, { 2003, 3, 1 }, { 1000, 1, 5 }, { 251, 17, 4 },
        { 101, 40, 1 }, { 53, 70, 7 }, { 11, 131, 5 },
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c)
        for (int order = 0; order < KS_BLOCKTRI_ORDERS; ++order)
            for (int round = 0; round < 4; ++round) {
                if (SANITIZED && ((int)c + order + round) % 2) continue;
                const ks_precision precision = round & 2 ? KS_F32 : KS_F64;
                bt_system s =
                    bt_system_make(precision, cases[c].N, cases[c].n, cases[c].nrhs, 0, 7);
                const ks_blocktri_options o = long_options(order, precision, round & 1);
                bt_solver solver = bt_solver_make(&s, &o, 2, 0);
                assert_int_equal(bt_factorize(&solver, &s, NULL), KS_OK);
                assert_int_equal(solve(&solver, &s), KS_OK);
                assert_true(bt_backward_error(&solver, &s) < (precision == KS_F64 ? 1e-15 : 5e-7));
                bt_solver_free(&solver);
                bt_system_free(&s);
            }
}

/* Scale the unknowns by 1 .. 1e-6 over each 50 blocks, so that the matrix is graded and its
 * condition 1e12 times what it was. */
static void grade(bt_system *s)
{
    const int64_t n = s->n;
    for (int64_t k = 0; k < s->N; ++k)
        for (int64_t i = 0; i < n * n; ++i) {
            const double length = 50.0 * (double)n;
            const double own = (double)(k % 50 * n), after = (double)((k + 1) % 50 * n);
            const double row = pow(10, -6 * (own + (double)(i / n)) / length);
            const double column = pow(10, -6 * (own + (double)(i % n)) / length);
            const double below = pow(10, -6 * (after + (double)(i / n)) / length);
            ((double *)s->D)[k * s->stride + i] *= row * column;
            if (k + 1 < s->N) ((double *)s->L)[k * s->stride + i] *= below * column;
        }
}

static void test_graded(void **state)
{
    static const struct { int64_t N; int n; } cases[] = {
        { 300, 5 }, { 300, 4 }, { 101, 8 }, { 101, 16 }, { 60, 37 }, { 53, 70 },
    };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c)
        for (int order = 1; order < KS_BLOCKTRI_ORDERS; ++order) {
            bt_system s = bt_system_make(KS_F64, cases[c].N, cases[c].n, 1, 0, 11);
            grade(&s);
            ks_blocktri_options o = bt_options((ks_blocktri_order)order, KS_F64);
            o.tier = (order + (int)c) % 2 ? KS_TIER_AUTO : KS_TIER_BASELINE;
            bt_solver solver = bt_solver_make(&s, &o, 1, 0);
            assert_int_equal(bt_factorize(&solver, &s, NULL), KS_OK);
            assert_int_equal(solve(&solver, &s), KS_OK);
            assert_true(bt_backward_error(&solver, &s) < 1e-13);
            bt_solver_free(&solver);
            bt_system_free(&s);
        }
}

/* New numbers without a new plan; the solution in place of the right-hand side. */
static void test_refactor(void **state)
{
    (void)state;
    for (int order = 1; order < KS_BLOCKTRI_ORDERS; ++order) {
        bt_system a = bt_system_make(KS_F64, 47, 4, 1, 0, 1);
        bt_system b = bt_system_make(KS_F64, 47, 4, 1, 0, 2);
        const ks_blocktri_options o = bt_options((ks_blocktri_order)order, KS_F64);
        bt_solver solver = bt_solver_make(&a, &o, 2, 0), fresh = bt_solver_make(&b, &o, 2, 0);
        assert_int_equal(bt_factorize(&solver, &a, NULL), KS_OK);
        assert_int_equal(bt_factorize(&solver, &b, NULL), KS_OK);
        assert_int_equal(bt_factorize(&fresh, &b, NULL), KS_OK);
        assert_int_equal(solve(&solver, &b), KS_OK);
        assert_true(bt_backward_error(&solver, &b) < 1e-15);
        const ks_blocks x = { b.b, b.rhs_stride };
        assert_int_equal(ks_blocktri_solve(fresh.plan, &fresh.factor, 1, bt_b(&b), x, fresh.work),
                         KS_OK);
        assert_memory_equal(b.b, b.x, (size_t)(47 * b.rhs_stride) * sizeof(double));
        bt_solver_free(&solver);
        bt_solver_free(&fresh);
        bt_system_free(&a);
        bt_system_free(&b);
    }
}

/* One block for all, by a stride of 0. */
static void test_repeated_blocks(void **state)
{
    (void)state;
    for (int order = 1; order < KS_BLOCKTRI_ORDERS; ++order) {
        bt_system s = bt_system_make(KS_F64, 60, 3, 1, 0, 5);
        const int64_t size = s.stride;
        for (int64_t k = 1; k < s.N; ++k) {
            memcpy((double *)s.D + k * size, s.D, (size_t)size * sizeof(double));
            memcpy((double *)s.L + k * size, s.L, (size_t)size * sizeof(double));
        }
        const ks_blocktri_options o = bt_options((ks_blocktri_order)order, KS_F64);
        bt_solver solver = bt_solver_make(&s, &o, 1, 0);
        const ks_blocktri_matrix repeated = { { s.D, 0 }, { s.L, 0 } };
        double *factor = malloc((size_t)(s.N * size) * sizeof(double));
        assert_non_null(factor);
        assert_int_equal(bt_factorize(&solver, &s, NULL), KS_OK);
        assert_int_equal(solve(&solver, &s), KS_OK);
        memcpy(factor, s.x, (size_t)(s.N * s.rhs_stride) * sizeof(double));
        assert_int_equal(ks_blocktri_factorize(solver.plan, &repeated, &solver.factor, solver.work,
                                               NULL),
                         KS_OK);
        assert_int_equal(solve(&solver, &s), KS_OK);
        assert_memory_equal(factor, s.x, (size_t)(s.N * s.rhs_stride) * sizeof(double));
        free(factor);
        bt_solver_free(&solver);
        bt_system_free(&s);
    }
}

/* Block k is made to fail at pivot i in every order: without block k the matrix is definite. */
static void expect_failure(bt_system *s, int order, int64_t k, int i, double value)
{
    const int64_t at = k * s->stride + (int64_t)i * s->n + i;
    const double before = bt_get(s, s->D, at);
    bt_put(s, s->D, at, value);
    const ks_blocktri_options o = bt_options((ks_blocktri_order)order, s->precision);
    bt_solver solver = bt_solver_make(s, &o, 2, 0);
    ks_blocktri_info info = KS_BLOCKTRI_INFO_INIT;
    assert_int_equal(bt_factorize(&solver, s, &info), KS_ENOTPD);
    assert_int_equal(info.status, KS_ENOTPD);
    assert_int_equal(info.block, k);
    assert_int_equal(info.pivot, i);
    bt_solver_free(&solver);
    bt_put(s, s->D, at, before);
}

static void test_failing_block(void **state)
{
    (void)state;
    for (int order = 1; order < KS_BLOCKTRI_ORDERS; ++order)
        for (int round = 0; round < 3; ++round) {
            /* The last size takes several bands of rows and slices of depth. */
            const int n = round == 2 ? 130 : round == 1 ? 7 : 4;
            const int64_t N = round == 2 ? 9 : 23;
            bt_system s = bt_system_make(order % 2 ? KS_F64 : KS_F32, N, n, 1, 0, 4);
            for (int64_t k = 0; k < N; k += SANITIZED && round == 2 ? 4 : 1) {
                expect_failure(&s, order, k, (int)(k % n), -1);
                expect_failure(&s, order, k, n - 1, (double)NAN);
                expect_failure(&s, order, k, n - 1, (double)INFINITY);
            }
            bt_system_free(&s);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_residuals),         cmocka_unit_test(test_graded),
        cmocka_unit_test(test_refactor),
        cmocka_unit_test(test_repeated_blocks),   cmocka_unit_test(test_failing_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
