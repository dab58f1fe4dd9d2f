/* Banded LU solves what is nonsingular, whatever its diagonal blocks are; `auto` takes it where elimination within
 * blocks finds no pivot; it stores the band that the formats of the blocks leave, and tells what LAPACK cannot count. */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "failalloc.h"
#include "general_system.h"

/* Diagonal blocks of zeros but for the last one if N is odd: rows of even blocks meet columns of odd ones alone, so
 * that A is nonsingular as L and U of every other pair are. `kind` is that of the other blocks. */
static general_system hollow(gs_kind kind, int64_t N, int n, int nrhs)
{
    general_system s = general_system_make(kind, N, n, nrhs, -1, (unsigned)(N + 10 * n));
    const int64_t block = (int64_t)n * n;
    for (int64_t i = 0; i < (N - N % 2) * block; ++i) s.D[i] = 0;
    for (int64_t i = 0; i + 1 < N; ++i)
        for (int r = 0; r < n; ++r) {
            s.L[i * block + r * n + r] += n;
            s.U[i * block + r * n + r] += n;
        }
    general_system_truth(&s, 5);
    return s;
}

static void hollow_diagonals(void **state)
{
    (void)state;
    const ks_general_method methods[] = { KS_BANDED_LU, KS_GENERAL_AUTO };
    for (int kind = 0; kind < GS_KINDS; ++kind)
        for (int64_t N = 1; N < 9; ++N)
            for (int n = 1; n < 20; n += n < 5 ? 1 : 7)
                for (int m = 0; m < 2; ++m) {
                    general_system s = hollow((gs_kind)kind, N, n, 1 + (int)(N % 3));
                    double *expected = general_system_solution(&s);
                    ks_general_options options = KS_GENERAL_OPTIONS_INIT;
                    ks_general_report report = KS_GENERAL_REPORT_INIT;
                    options.method = methods[m];
                    assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL), KS_OK);
                    for (int64_t i = 0; i < N * n * s.nrhs; ++i) s.truth[i] = expected[i];
                    /* Condition numbers are below 1e4. */
                    assert_true(report.backward_error <= 1e-14 && general_system_error(&s) <= 1e-10);
                    options.method = KS_BLOCK_LU;
                    assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL),
                                     N == 1 ? KS_OK : KS_ESINGULAR);
                    free(expected);
                    general_system_free(&s);
                }
}

/* Ones beside zeros: N = 3 is singular, and the pivot that is missing is the last one. */
static void singular_matrix(void **state)
{
    (void)state;
    const ks_general_method methods[] = { KS_BANDED_LU, KS_GENERAL_AUTO };
    for (int64_t N = 2; N < 8; ++N)
        for (int m = 0; m < 2; ++m) {
            general_system s = general_system_empty(N, 1, 1);
            ks_general_options options = KS_GENERAL_OPTIONS_INIT;
            ks_general_report report = KS_GENERAL_REPORT_INIT;
            ks_general_method method;
            options.method = methods[m];
            for (int64_t i = 0; i + 1 < N; ++i) s.L[i] = s.U[i] = 1;
            general_system_truth(&s, 1);
            assert_int_equal(general_system_solve(&s, NULL, &options, &report, &method), N % 2 ? KS_ESINGULAR : KS_OK);
            assert_int_equal(method, KS_BANDED_LU);
            assert_int_equal(report.block, N % 2 ? N - 1 : -1);
            assert_int_equal(report.pivot, N % 2 ? 0 : -1);
            if (N % 2 == 0) assert_true(general_system_error(&s) <= 1e-15);
            general_system_free(&s);
        }
}

/* Blocks that are small beside their couplings cost no digits: interchanges go around them. */
static void small_diagonal_blocks(void **state)
{
    (void)state;
    for (int digits = 0; digits <= 300; digits += 20) {
        general_system s = general_system_make(GS_DENSE, 6, 4, 1, 0.7, 5);
        ks_general_options options = KS_GENERAL_OPTIONS_INIT;
        ks_general_report report = KS_GENERAL_REPORT_INIT;
        options.method = KS_BANDED_LU;
        for (int i = 0; i < 32; ++i) s.D[i] *= pow(10, -digits);
        general_system_truth(&s, 3);
        assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL), KS_OK);
        assert_int_equal(report.iterations, 0);
        assert_true(general_system_error(&s) < 1e-12);
        general_system_free(&s);
    }
}

/* Diagonals below and above the main one, for a tridiagonal D (n = 4) and one entry each in L and U. */
static void width_of_the_band(void **state)
{
    (void)state;
    enum { N = 3, n = 4, ROWS = N * n };
    const double full[n * n] = { 1 }, dia[3 * n] = { 0, 1, 1, 1, 9, 9, 9, 9, 1, 1, 1, 0 }, one[1] = { 1 };
    const int32_t first[] = { 0 }, last[] = { n - 1 }, ends[] = { 0, 0, 0, 0, 1 };
    const ks_general_block dense = { KS_BLOCK_DENSE, 0, full, NULL, NULL }, tri = { KS_BLOCK_DIA, 0, dia, NULL, NULL },
                           none = { KS_BLOCK_COO, 0, NULL, NULL, NULL }, near = { KS_BLOCK_COO, 1, one, first, last },
                           far = { KS_BLOCK_CSR, 1, one, ends, first };
    /* As L an entry (0, n - 1) is beside the diagonal, as U it is 2 n - 1 from it; (n - 1, 0) the other way round. */
    const struct { ks_general_block D, L, U; int below, above; } cases[] = {
        { tri, none, none, 1, 1 },      { tri, near, far, 1, 1 },          { tri, far, near, 2 * n - 1, 2 * n - 1 },
        { tri, near, near, 1, 2 * n - 1 }, { dense, none, none, n - 1, n - 1 }, { tri, dense, none, 2 * n - 1, 1 },
        { dense, dense, dense, 2 * n - 1, 2 * n - 1 } };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        const ks_general_block D[N] = { cases[c].D, cases[c].D, cases[c].D }, L[] = { cases[c].L, cases[c].L },
                               U[] = { cases[c].U, cases[c].U };
        const ks_general_matrix matrix = { D, L, U };
        ks_general_options options = KS_GENERAL_OPTIONS_INIT;
        ks_general_plan *plan;
        options.method = KS_BANDED_LU;
        assert_int_equal(ks_general_plan_create(&plan, NULL, N, n, &matrix, &options), KS_OK);
        const size_t column = 2 * (size_t)cases[c].below + (size_t)cases[c].above + 1;
        const size_t bytes = ROWS * (column * sizeof(double) + sizeof(int));
        assert_int_equal(ks_general_factor_bytes(plan), (bytes + 63) / 64 * 64);
        ks_general_plan_destroy(plan);
    }
    /* Entries that lie farther out than those that were planned for. */
    const ks_general_block D[N] = { tri, tri, tri }, L[] = { near, near };
    ks_general_block U[] = { none, { KS_BLOCK_COO, 1, one, last, first } };
    const ks_general_matrix matrix = { D, L, U };
    ks_general_options options = KS_GENERAL_OPTIONS_INIT;
    ks_general_plan *plan;
    options.method = KS_BANDED_LU;
    assert_int_equal(ks_general_plan_create(&plan, NULL, N, n, &matrix, &options), KS_OK);
    void *factor = general_system_memory(ks_general_factor_bytes(plan));
    void *work = general_system_memory(ks_general_workspace_bytes(plan));
    assert_int_equal(ks_general_factorize(plan, &matrix, factor, work, NULL), KS_OK);
    U[1].rows = first, U[1].cols = last;
    assert_int_equal(ks_general_factorize(plan, &matrix, factor, work, NULL), KS_EINVAL);
    free(factor);
    free(work);
    ks_general_plan_destroy(plan);
}

/* Nothing is read or allocated for a plan of this size but the shapes of the blocks. */
static void more_than_lapack_counts(void **state)
{
    (void)state;
    const double anything[1] = { 1 };
    const ks_general_block tri = { KS_BLOCK_DIA, 0, anything, NULL, NULL }, none = { KS_BLOCK_COO, 0, NULL, NULL, NULL },
                           dense = { KS_BLOCK_DENSE, 0, anything, NULL, NULL };
    const struct { int n; ks_general_block D; ks_status expected; } cases[] = {
        { 1 << 30, tri, KS_EREFUSED }, { (1 << 30) - 1, tri, KS_OK }, { 1 << 30, dense, KS_EREFUSED },
        { INT_MAX, dense, KS_EREFUSED } };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        const ks_general_block D[2] = { cases[c].D, cases[c].D };
        const ks_general_matrix matrix = { D, &none, &none };
        ks_general_options options = KS_GENERAL_OPTIONS_INIT;
        ks_general_plan *plan;
        options.method = KS_BANDED_LU;
        assert_int_equal(ks_general_plan_create(&plan, NULL, 2, cases[c].n, &matrix, &options), cases[c].expected);
        ks_general_plan_destroy(plan);
    }
    /* Few rows, but of a band too high. */
    const ks_general_matrix one = { &dense, NULL, NULL };
    ks_general_options options = KS_GENERAL_OPTIONS_INIT;
    ks_general_plan *plan;
    options.method = KS_BANDED_LU;
    assert_int_equal(ks_general_plan_create(&plan, NULL, 1, 1 << 30, &one, &options), KS_EREFUSED);
}

/* Every allocation fails once while `auto` tries what elimination makes of singular diagonal blocks. */
static void memory_that_is_not_there(void **state)
{
    (void)state;
    general_system s = hollow(GS_DENSE, 4, 20, 1);
    ks_general_packed *packed = general_system_pack(&s, NULL);
    failalloc memory = FAILALLOC_INIT;
    ks_context_options resources = KS_CONTEXT_OPTIONS_INIT;
    ks_context *context;
    resources.allocator = failalloc_allocator(&memory);
    assert_int_equal(ks_context_create(&context, &resources), KS_OK);
    const long before = atomic_load(&memory.live);
    ks_status status = KS_ENOMEM;
    long at = 0;
    while (status != KS_OK) {
        const ks_general_options options = KS_GENERAL_OPTIONS_INIT;
        ks_general_plan *plan;
        atomic_store(&memory.calls, 0);
        atomic_store(&memory.fail_at, ++at);
        status = ks_general_plan_create(&plan, context, 4, 20, ks_general_packed_matrix(packed), &options);
        if (status == KS_OK) assert_int_equal(ks_general_plan_method(plan), KS_BANDED_LU);
        else assert_int_equal(status, KS_ENOMEM);
        ks_general_plan_destroy(plan);
        assert_int_equal(atomic_load(&memory.live), before);
    }
    /* The plan; the factors of the diagonal blocks and the trial of block LU take a plan and two arrays each. */
    assert_true(at > 7);
    atomic_store(&memory.fail_at, 0);
    ks_context_destroy(context);
    ks_general_packed_destroy(packed);
    general_system_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hollow_diagonals),
        cmocka_unit_test(singular_matrix),
        cmocka_unit_test(small_diagonal_blocks),
        cmocka_unit_test(width_of_the_band),
        cmocka_unit_test(more_than_lapack_counts),
        cmocka_unit_test(memory_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
