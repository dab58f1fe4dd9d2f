/* test_low_rank.c -- block LU by corrections of low rank: from either end, whatever the columns are and however blocks are
 * stored, and what it says of blocks that it cannot take. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "general_system.h"

/** A system whose U has entries in `above` columns at most, other ones in each block, and whose L in `below`. Every
 *  `every`-th row of such a column has one: few are stored as triples, more by rows, all as a dense block. */
static general_system narrow(int64_t N, int n, int above, int below, int every, int nrhs)
{
    general_system s = general_system_make(GS_TRIDIAGONAL, N, n, nrhs, 0.5, (unsigned)(n + above));
    const int64_t block = (int64_t)n * n;
    for (int64_t i = 0; i + 1 < N; ++i)
        for (int side = 0; side < 2; ++side) {
            double *B = (side ? s.U : s.L) + i * block;
            const int columns = side ? above : below;
            for (int64_t e = 0; e < block; ++e) B[e] = 0;
            /* The first block has one column less. */
            for (int c = 0; c < columns - (i == 0 && columns > 1); ++c)
                for (int r = (c + (int)i) % every; r < n; r += every)
                    B[(int64_t)r * n + (3 * c + 7 * (int)i + side) % n] = 0.3 * sin((double)(1 + r + 5 * c + i)) / columns;
        }
    general_system_truth(&s, 9);
    return s;
}

static void agrees(general_system *s, const char *what)
{
    double *expected = general_system_solution(s), most = 0, scale = 0;
    ks_general_options options = KS_GENERAL_OPTIONS_INIT;
    ks_general_report report = KS_GENERAL_REPORT_INIT;
    options.method = KS_LOW_RANK_LU;
    assert_int_equal(general_system_solve(s, NULL, &options, &report, NULL), KS_OK);
    for (int64_t i = 0; i < s->N * s->n * s->nrhs; ++i) {
        most = fmax(most, fabs(s->x[i] - expected[i]));
        scale = fmax(scale, fabs(expected[i]));
    }
    if (!(most <= 1e-12 * scale)) fail_msg("%s: N = %d, n = %d: %g off", what, (int)s->N, s->n, most / scale);
    assert_true(report.backward_error <= 1e-14);
    assert_int_equal(report.iterations, 0);
    free(expected);
}

static void either_end(void **state)
{
    (void)state;
    static const int columns[][2] = { { 0, 0 }, { 0, 5 }, { 5, 0 }, { 1, 4 }, { 4, 1 }, { 2, 2 }, { 3, 16 }, { 16, 3 } };
    for (size_t c = 0; c < sizeof columns / sizeof *columns; ++c)
        for (int64_t N = 1; N < 9; ++N)
            for (int every = 1; every < 12; every += 5) {
                general_system s = narrow(N, 16, columns[c][0], columns[c][1], every, 1 + (int)(N % 3));
                agrees(&s, "columns");
                general_system_free(&s);
            }
}

/** More columns than are listed are all of them. */
static void many_columns(void **state)
{
    (void)state;
    for (int n = 63; n < 68; ++n) {
        general_system s = narrow(4, n, n, n, 2, 1);
        agrees(&s, "all columns");
        general_system_free(&s);
        s = narrow(5, 70, n, 70, 3, 1);
        agrees(&s, "most columns");
        general_system_free(&s);
    }
}

/** What elimination leaves of a block may be singular though the block is not, and the other way round. */
static void singular(void **state)
{
    (void)state;
    for (int from_the_end = 0; from_the_end < 2; ++from_the_end)
        for (int kind = 0; kind < 2; ++kind) {
            general_system s = narrow(6, 8, from_the_end ? 3 : 1, from_the_end ? 1 : 3, 1, 1);
            ks_general_options options = KS_GENERAL_OPTIONS_INIT;
            ks_general_report report = KS_GENERAL_REPORT_INIT;
            options.method = KS_LOW_RANK_LU;
            const int at = from_the_end ? 4 : 1, before = from_the_end ? 5 : 0;
            for (int r = 0; r < 8; ++r)
                for (int c = 0; c < 8; ++c) {
                    /* Diagonal matrices: 1 - (1/2) (2) in column 3 is what is left. */
                    for (int b = 0; b < 6; ++b) s.D[b * 64 + r * 8 + c] = r == c;
                    double *up = (from_the_end ? s.L : s.U) + (from_the_end ? 4 : 0) * 64 + r * 8 + c;
                    double *down = (from_the_end ? s.U : s.L) + (from_the_end ? 4 : 0) * 64 + r * 8 + c;
                    *up = r == 3 && c == 3 ? 0.5 : 0;
                    *down = r == c && r > 1 ? 2 : 0;
                }
            if (kind) s.D[before * 64 + 5 * 9] = 0; /* this one itself */
            assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL), KS_ESINGULAR);
            assert_int_equal(report.block, kind ? before : at);
            assert_int_equal(report.pivot, kind ? 5 : 3);
            general_system_free(&s);
        }
}

/** `auto` takes it where it is the fastest, and not where digits would go. */
static void chosen(void **state)
{
    (void)state;
    for (int nearly_singular = 0; nearly_singular < 2; ++nearly_singular) {
        general_system s = narrow(40, 16, 1, 4, 1, 1);
        ks_general_options options = KS_GENERAL_OPTIONS_INIT;
        ks_general_report report = KS_GENERAL_REPORT_INIT;
        ks_general_method method;
        for (int64_t i = 0; nearly_singular && i < 40; ++i)
            for (int e = 0; e < 256; ++e)
                if (e % 17 == 0) s.D[i * 256 + e] = e / 17 ? 1 : 1e-14;
                else s.D[i * 256 + e] = 0;
        for (int64_t i = 0; nearly_singular && i < 39; ++i)
            for (int r = 0; r < 16; ++r) s.U[i * 256 + r * 16] = s.L[i * 256 + r * 16] = 0.5;
        general_system_truth(&s, 3);
        assert_int_equal(general_system_solve(&s, NULL, &options, &report, &method), KS_OK);
        if (nearly_singular) assert_int_not_equal(method, KS_LOW_RANK_LU);
        else assert_int_equal(method, KS_LOW_RANK_LU);
        assert_true(general_system_error(&s) < 1e-6);
        general_system_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(either_end),
        cmocka_unit_test(many_columns),
        cmocka_unit_test(singular),
        cmocka_unit_test(chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
