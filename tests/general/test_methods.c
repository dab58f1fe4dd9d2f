/* Every method gives the solution of dense LU, for every kind of block, size, solver of blocks,
 * number of right-hand sides and of threads, with the same bits on each. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "general_system.h"
#include "sanitizers.h"

static const ks_general_method methods[] = {
    KS_GENERAL_AUTO, KS_BLOCK_JACOBI, KS_BLOCK_GAUSS_SEIDEL, KS_RED_BLACK, KS_BICGSTAB,
    KS_GMRES,        KS_BLOCK_LU,     KS_BLOCK_CYCLIC_REDUCTION, KS_LOW_RANK_LU, KS_BANDED_LU,
};
enum { METHODS = sizeof methods / sizeof *methods };

static void check_close(const general_system *s, const double *expected, double tolerance)
{
    double most = 0, scale = 0;
    for (int64_t i = 0; i < s->N * s->n * s->nrhs; ++i) {
        most = fmax(most, fabs(s->x[i] - expected[i]));
        scale = fmax(scale, fabs(expected[i]));
        assert_true(isfinite(s->x[i]));
    }
    assert_true(most <= tolerance * scale);
}

/* Blocks are well conditioned and the spectral radius is 0.7: a relative residual of 1e-13 leaves
 * a relative error of 1e-11 at most. */
static void all_methods_agree_with_dense_lu(void **state)
{
    (void)state;
    const int64_t lengths[] = { 1, 2, 3, 5, 8, 13 };
    const int sizes[] = { 1, 2, 3, 7, 16 };
    for (int kind = 0; kind < GS_KINDS; ++kind)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; ++l)
            for (size_t z = 0; z < sizeof sizes / sizeof *sizes; ++z) {
                general_system s = general_system_make((gs_kind)kind, lengths[l], sizes[z],
                                                       1 + (int)(l % 3), 0.7, (unsigned)(l + z));
                double *expected = general_system_solution(&s);
                for (int m = 0; m < METHODS; ++m) {
                    ks_general_options options = KS_GENERAL_OPTIONS_INIT;
                    ks_general_report report = KS_GENERAL_REPORT_INIT;
                    ks_general_method method;
                    options.method = methods[m];
                    options.tolerance = 1e-13;
                    options.restart = 5;
                    assert_int_equal(general_system_solve(&s, NULL, &options, &report, &method),
                                     KS_OK);
                    assert_true(method != KS_GENERAL_AUTO);
                    assert_true(report.relative_residual <= 1e-13);
                    assert_true(report.backward_error <= report.relative_residual);
                    check_close(&s, expected, 1e-11);
                }
                free(expected);
                general_system_free(&s);
            }
}

/* Symmetric, diagonally dominant and so positive definite. */
static general_system symmetric(int64_t N, int n)
{
    general_system s = general_system_make(GS_MIXED, N, n, 2, -1, 9);
    const int block = n * n;
    for (int64_t j = 0; j < N; ++j)
        for (int r = 0; r < n; ++r)
            for (int c = 0; c <= r; ++c) {
                const double value = r == c ? 4.0 * n : s.D[j * block + r * n + c];
                s.D[j * block + r * n + c] = s.D[j * block + c * n + r] = value;
            }
    for (int64_t j = 0; j + 1 < N; ++j)
        for (int r = 0; r < n; ++r)
            for (int c = 0; c < n; ++c) s.U[j * block + r * n + c] = s.L[j * block + c * n + r];
    general_system_truth(&s, 10);
    return s;
}

static void conjugate_gradients_on_symmetric_systems(void **state)
{
    (void)state;
    for (int64_t N = 1; N < 12; N += 2)
        for (int n = 1; n < 10; n += 4) {
            general_system s = symmetric(N, n);
            ks_general_options options = KS_GENERAL_OPTIONS_INIT;
            ks_general_report report = KS_GENERAL_REPORT_INIT;
            options.method = KS_CG;
            options.tolerance = 1e-13;
            assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL), KS_OK);
            assert_true(general_system_error(&s) <= 1e-11);
            general_system_free(&s);
        }
}

/* An asymmetry of 1e-6 in one entry is seen; any_matrix lets it in. */
static void conjugate_gradients_refuse_what_is_not_symmetric(void **state)
{
    (void)state;
    general_system s = symmetric(6, 5);
    ks_general_options options = KS_GENERAL_OPTIONS_INIT;
    ks_general_report report = KS_GENERAL_REPORT_INIT;
    options.method = KS_CG;
    s.U[3 * 25 + 7] += 1e-6;
    assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL), KS_EREFUSED);
    options.any_matrix = 1;
    options.tolerance = 1e-3;
    assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL), KS_OK);
    general_system_free(&s);
}

/* Direct methods and Krylov methods need no spectral radius below 1. */
static void large_spectral_radius_is_no_matter_to_the_others(void **state)
{
    (void)state;
    const ks_general_method others[] = { KS_GENERAL_AUTO, KS_BICGSTAB, KS_GMRES, KS_BLOCK_LU,
                                         KS_BLOCK_CYCLIC_REDUCTION, KS_LOW_RANK_LU, KS_BANDED_LU };
    for (size_t m = 0; m < sizeof others / sizeof *others; ++m) {
        general_system s = general_system_make(GS_TRIDIAGONAL, 9, 8, 1, 1.5, 21);
        ks_general_options options = KS_GENERAL_OPTIONS_INIT;
        ks_general_report report = KS_GENERAL_REPORT_INIT;
        options.method = others[m];
        options.tolerance = 1e-12;
        options.restart = 80;
        assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL), KS_OK);
        assert_true(general_system_error(&s) <= 1e-8);
        general_system_free(&s);
    }
}

/* 15005 rows are several chunks, whose borders fall on odd and even blocks, and several rounds of a
 * pipeline. kind 0: dense blocks, 1: tridiagonal ones, 2: some of which need interchanges. */
static general_system long_system(int kind)
{
    const int64_t N = 3001;
    general_system s = general_system_empty(N, 5, 1);
    for (int64_t i = 0; i < N * 25; ++i) {
        const int64_t row = i % 25 / 5, col = i % 5;
        const double beside = kind == 0 ? (i % 7 == 3 ? 0.5 : 0)
                              : row - col == 1 || col - row == 1 ? 0.1 * (double)(1 + i % 7) : 0;
        s.D[i] = row == col ? 4 : beside;
        if (kind == 2 && i / 25 % 3 == 1 && row < 2 && col < 2) s.D[i] = row == col ? 1e-9 : 4;
    }
    for (int64_t i = 0; i < (N - 1) * 25; ++i) s.L[i] = s.U[i] = i % 11 == 3 ? 1.2 : 0;
    for (int64_t i = 0; i < N * 5; ++i) s.b[i] = sin((double)i);
    return s;
}

static void bits_on_any_thread(int kind, ks_general_method method)
{
    general_system s = long_system(kind);
    const size_t bytes = 3001 * 5 * sizeof(double);
    double *first = malloc(bytes);
    ks_general_report one = KS_GENERAL_REPORT_INIT;
    assert_non_null(first);
    for (int threads = 1; threads <= 4; threads += 1 + SANITIZED) {
        ks_context_options resources = KS_CONTEXT_OPTIONS_INIT;
        ks_context *context;
        resources.threads = threads;
        assert_int_equal(ks_context_create(&context, &resources), KS_OK);
        ks_general_options options = KS_GENERAL_OPTIONS_INIT;
        ks_general_report report = KS_GENERAL_REPORT_INIT;
        options.method = method;
        if (method == KS_RED_BLACK || (method == KS_BLOCK_GAUSS_SEIDEL && kind == 1))
            options.relaxation = KS_RELAXATION_ESTIMATE;
        assert_int_equal(general_system_solve(&s, context, &options, &report, NULL), KS_OK);
        if (threads == 1) {
            memcpy(first, s.x, bytes);
            one = report;
        }
        assert_memory_equal(first, s.x, bytes);
        assert_true(report.iterations == one.iterations);
        assert_true(report.relative_residual == one.relative_residual);
        ks_context_destroy(context);
    }
    free(first);
    general_system_free(&s);
}

static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; ++kind)
        for (int m = 0; m < METHODS; ++m)
            if (methods[m] != KS_GENERAL_AUTO) bits_on_any_thread(kind, methods[m]);
}

/* Sweeps in order follow one another through the blocks at once, unless the change of each decides
 * whether there is another: the same sweeps, the same bits. */
static void sweeps_that_follow_are_sweeps_one_by_one(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; ++kind) {
        general_system s = long_system(kind);
        const size_t bytes = 3001 * 5 * sizeof(double);
        double *together = malloc(bytes);
        assert_non_null(together);
        ks_general_options options = KS_GENERAL_OPTIONS_INIT;
        ks_general_report many = KS_GENERAL_REPORT_INIT, one = KS_GENERAL_REPORT_INIT;
        options.method = KS_BLOCK_GAUSS_SEIDEL;
        assert_int_equal(general_system_solve(&s, NULL, &options, &many, NULL), KS_OK);
        assert_true(many.iterations > 10);
        memcpy(together, s.x, bytes);
        options.stop = KS_STOP_CHANGE;
        options.tolerance = many.change;
        assert_int_equal(general_system_solve(&s, NULL, &options, &one, NULL), KS_OK);
        assert_int_equal(one.iterations, many.iterations);
        assert_true(one.change == many.change);
        assert_memory_equal(together, s.x, bytes);
        free(together);
        general_system_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest threaded[] = { cmocka_unit_test(bits_do_not_depend_on_threads) };
    const struct CMUnitTest others[] = {
        cmocka_unit_test(all_methods_agree_with_dense_lu),
        cmocka_unit_test(conjugate_gradients_on_symmetric_systems),
        cmocka_unit_test(conjugate_gradients_refuse_what_is_not_symmetric),
        cmocka_unit_test(large_spectral_radius_is_no_matter_to_the_others),
        cmocka_unit_test(sweeps_that_follow_are_sweeps_one_by_one),
    };
    int failed = cmocka_run_group_tests(threaded, NULL, NULL);
    if (!WATCHES_THREADS) failed += cmocka_run_group_tests(others, NULL, NULL); /* on one thread */
    return failed;
}
