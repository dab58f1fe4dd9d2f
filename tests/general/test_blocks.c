/* Solvers of diagonal blocks: all of them give the solution of dense LU for any size; elimination
 * without interchanges is left where it is not stable; singular blocks are named. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "assert_within.h"
#include "general_system.h"

/* One diagonal block alone is solved in two sweeps, whatever the method. */
static ks_status solve_one(general_system *s, ks_block_solver solver, ks_general_report *report)
{
    ks_general_options options = KS_GENERAL_OPTIONS_INIT;
    options.method = KS_BLOCK_JACOBI;
    options.block_solver = solver;
    options.tolerance = 1e-13;
    return general_system_solve(s, NULL, &options, report, NULL);
}

static void every_solver_and_size(void **state)
{
    (void)state;
    for (int n = 1; n <= 70; n += n < 34 ? 1 : 9)
        for (int solver = 0; solver < KS_BLOCK_SOLVERS; ++solver) {
            general_system s = general_system_make(GS_TRIDIAGONAL, 3, n, 2, 0, (unsigned)n);
            ks_general_report report = KS_GENERAL_REPORT_INIT;
            assert_int_equal(solve_one(&s, (ks_block_solver)solver, &report), KS_OK);
            assert_true(report.iterations <= 2);
            assert_true(general_system_error(&s) < 1e-13);
            general_system_free(&s);
        }
}

/* Two dominant diagonals beside a tiny main one: regular, but its first pivot is 1e-14. */
static general_system needs_interchanges(double tiny)
{
    enum { n = 8 };
    general_system s = general_system_empty(1, n, 1);
    for (int r = 0; r < n; ++r) {
        s.D[r * n + r] = tiny;
        if (r > 0) s.D[r * n + r - 1] = 1 + 0.1 * r;
        if (r + 1 < n) s.D[r * n + r + 1] = 1 - 0.05 * r;
    }
    general_system_truth(&s, 2);
    return s;
}

static void interchanges_where_they_are_needed(void **state)
{
    (void)state;
    const double tiny[] = { 0, 1e-14, 1e-7 };
    for (int i = 0; i < 3; ++i) {
        general_system s = needs_interchanges(tiny[i]);
        ks_general_report report = KS_GENERAL_REPORT_INIT;
        assert_int_equal(solve_one(&s, KS_BLOCK_SOLVER_AUTO, &report), KS_OK);
        assert_true(general_system_error(&s) < 1e-13);
        assert_int_equal(report.iterations, 1);
        assert_int_equal(solve_one(&s, KS_BLOCK_SOLVER_LU, &report), KS_OK);
        assert_true(general_system_error(&s) < 1e-13);
        general_system_free(&s);
    }
    /* The others have no interchanges: a zero pivot stops them. */
    const ks_block_solver others[] = { KS_BLOCK_SOLVER_THOMAS, KS_BLOCK_SOLVER_CYCLIC_REDUCTION,
                                       KS_BLOCK_SOLVER_PARALLEL_CYCLIC_REDUCTION };
    for (int i = 0; i < 3; ++i) {
        general_system s = needs_interchanges(0);
        ks_general_report report = KS_GENERAL_REPORT_INIT;
        assert_int_equal(solve_one(&s, others[i], &report), KS_ESINGULAR);
        assert_int_equal(report.block, 0);
        assert_int_equal(report.pivot, 0);
        general_system_free(&s);
    }
}

/* A row of zeros in one block, dense or tridiagonal; NaN and infinities. */
static void singular_blocks_are_named(void **state)
{
    (void)state;
    const double bad[] = { 0, nan(""), HUGE_VAL, 1e-320 };
    for (int kind = 0; kind < 2; ++kind)
        for (int m = 1; m < KS_GENERAL_METHODS; ++m)
            for (int v = 0; v < 4; ++v) {
                enum { n = 6 };
                general_system s = general_system_make((gs_kind)kind, 9, n, 1, 0.5, 8);
                ks_general_options options = KS_GENERAL_OPTIONS_INIT;
                ks_general_report report = KS_GENERAL_REPORT_INIT;
                options.method = (ks_general_method)m;
                /* Without couplings the Schur complement in its place is the block itself. */
                for (int i = 0; i < n * n; ++i)
                    s.L[3 * n * n + i] = s.L[4 * n * n + i] = s.U[3 * n * n + i] =
                        s.U[4 * n * n + i] = 0;
                for (int c = 0; c < n; ++c) s.D[4 * n * n + 2 * n + c] = 0;
                s.D[4 * n * n + 2 * n + 2] = bad[v];
                assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL),
                                 KS_ESINGULAR);
                assert_int_equal(report.block, 4);
                assert_within(report.pivot, 0, n - 1);
                assert_true(isnan(s.x[0]));
                general_system_free(&s);
            }
}

/* A column of zeros in a block that nothing is coupled with: its pivot is zero, whatever the method and
 * the level of a reduction at which the block's turn comes. */
static void singular_columns_are_named(void **state)
{
    (void)state;
    enum { n = 6 };
    for (int kind = 0; kind < 2; ++kind)
        for (int m = 1; m < KS_GENERAL_METHODS; ++m)
            for (int block = 0; block < 9; ++block) {
                const int column = block % 3 * (n - 1) / 2;
                general_system s = general_system_make((gs_kind)kind, 9, n, 1, 0.5, 8);
                ks_general_options options = KS_GENERAL_OPTIONS_INIT;
                ks_general_report report = KS_GENERAL_REPORT_INIT;
                options.method = (ks_general_method)m;
                for (int i = 0; i < n * n; ++i) {
                    if (block > 0) s.L[(block - 1) * n * n + i] = s.U[(block - 1) * n * n + i] = 0;
                    if (block < 8) s.L[block * n * n + i] = s.U[block * n * n + i] = 0;
                }
                for (int r = 0; r < n; ++r) s.D[(block * n + r) * n + column] = 0;
                assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL),
                                 KS_ESINGULAR);
                assert_int_equal(report.block, block);
                assert_int_equal(report.pivot, column);
                general_system_free(&s);
            }
}

/* A matrix that is regular although a diagonal block is singular: the direct methods that reach
 * that block with a correction or with rows of others, and auto, which takes one of them. */
static void singular_diagonal_blocks_in_a_regular_matrix(void **state)
{
    (void)state;
    const ks_general_method methods[] = { KS_GENERAL_AUTO, KS_BLOCK_LU, KS_BANDED_LU };
    for (int m = 0; m < 3; ++m) {
        general_system s = general_system_make(GS_DENSE, 5, 4, 1, 0.8, 8);
        ks_general_options options = KS_GENERAL_OPTIONS_INIT;
        ks_general_report report = KS_GENERAL_REPORT_INIT;
        ks_general_method method;
        options.method = methods[m];
        for (int i = 0; i < 16; ++i) s.D[2 * 16 + i] = 0;
        general_system_truth(&s, 4);
        assert_int_equal(general_system_solve(&s, NULL, &options, &report, &method), KS_OK);
        assert_true(method == KS_BLOCK_LU || method == KS_BLOCK_CYCLIC_REDUCTION || method == KS_BANDED_LU);
        assert_true(general_system_error(&s) < 1e-10);
        general_system_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_solver_and_size),
        cmocka_unit_test(interchanges_where_they_are_needed),
        cmocka_unit_test(singular_blocks_are_named),
        cmocka_unit_test(singular_columns_are_named),
        cmocka_unit_test(singular_diagonal_blocks_in_a_regular_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
