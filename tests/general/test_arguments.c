/* What callers get wrong, memory that is not there, and sizes that overflow. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "failalloc.h"
#include "general_system.h"

static void names(void **state)
{
    (void)state;
    assert_string_equal(ks_general_method_name(KS_GENERAL_AUTO), "auto");
    for (int m = 0; m < KS_GENERAL_METHODS; ++m)
        assert_non_null(ks_general_method_name((ks_general_method)m));
    assert_null(ks_general_method_name((ks_general_method)KS_GENERAL_METHODS));
    for (int m = 0; m < KS_BLOCK_SOLVERS; ++m)
        assert_non_null(ks_block_solver_name((ks_block_solver)m));
    assert_null(ks_block_solver_name((ks_block_solver)-1));
    for (int e = 0; e <= KS_END_BREAKDOWN; ++e)
        assert_non_null(ks_general_end_name((ks_general_end)e));
    assert_null(ks_general_end_name((ks_general_end)99));
}

static void options_are_checked(void **state)
{
    (void)state;
    const double one[] = { 1 };
    const ks_general_block D = { KS_BLOCK_DENSE, 0, one, NULL, NULL };
    const ks_general_matrix matrix = { &D, NULL, NULL };
    const ks_general_options good = KS_GENERAL_OPTIONS_INIT;
    static const char *const names[] = { "size", "method", "block_solver", "tier", "threads", "stop", "tolerance",
                                         "tolerance", "max_iterations", "relaxation", "relaxation", "restart", "columns",
                                         "backend", "device", "stop" };
    enum { BAD = sizeof names / sizeof *names };
    ks_general_options bad[BAD];
    for (int i = 0; i < BAD; ++i) bad[i] = good;
    bad[0].size = 1;
    bad[1].method = (ks_general_method)99;
    bad[2].block_solver = (ks_block_solver)99;
    bad[3].tier = (ks_tier)99;
    bad[4].threads = -1;
    bad[5].stop = (ks_general_stop)2;
    bad[6].tolerance = 0;
    bad[7].tolerance = nan("");
    bad[8].max_iterations = 0;
    bad[9].relaxation = 2;
    bad[10].relaxation = -0.5;
    bad[11].restart = 0;
    bad[12].columns = 0;
    bad[13].backend = (ks_backend)3;
    bad[14].device = -1;
    bad[15].stop = KS_STOP_CHANGE;
    bad[15].method = KS_GMRES;
    ks_general_plan *plan;
    for (int i = 0; i < BAD; ++i) {
        assert_int_equal(ks_general_plan_create(&plan, NULL, 1, 1, &matrix, &bad[i]), KS_EINVAL);
        assert_null(plan);
        assert_string_equal(ks_general_plan_invalid(1, 1, &matrix, &bad[i]), names[i]);
    }
    assert_string_equal(ks_general_plan_invalid(0, 1, &matrix, NULL), "N");
    assert_string_equal(ks_general_plan_invalid(1, 0, &matrix, NULL), "n");
    assert_string_equal(ks_general_plan_invalid(1, 1, NULL, NULL), "matrix");
    assert_null(ks_general_plan_invalid(1, 1, &matrix, NULL));
    assert_int_equal(ks_general_plan_create(NULL, NULL, 1, 1, &matrix, &good), KS_EINVAL);
    assert_int_equal(ks_general_plan_create(&plan, NULL, 0, 1, &matrix, &good), KS_EINVAL);
    assert_int_equal(ks_general_plan_create(&plan, NULL, 1, 0, &matrix, &good), KS_EINVAL);
    assert_int_equal(ks_general_plan_create(&plan, NULL, 1, 1, NULL, &good), KS_EINVAL);
    assert_int_equal(ks_general_plan_create(&plan, NULL, 2, 1, &matrix, &good), KS_EINVAL);
    assert_int_equal(ks_general_plan_create(&plan, NULL, 1, 1, &matrix, &good), KS_OK);
    ks_general_plan_destroy(plan);
    ks_general_plan_destroy(NULL);
    ks_general_packed_destroy(NULL);
    assert_int_equal(ks_general_plan_method(NULL), KS_GENERAL_AUTO);
    assert_int_equal(ks_general_plan_backend(NULL), KS_BACKEND_CPU);
    assert_int_equal(ks_general_plan_threads(NULL), 1);
    assert_true(ks_general_plan_relaxation(NULL) == 1);
    assert_int_equal(ks_general_factor_bytes(NULL), 0);
    assert_int_equal(ks_general_workspace_bytes(NULL), 0);
    assert_int_equal(ks_general_iteration_bytes(NULL, &matrix), 0);
    assert_null(ks_general_packed_matrix(NULL));
    assert_int_equal(ks_general_packed_bytes(NULL), 0);
}

/* Blocks as a caller may build them by hand. */
static void blocks_are_checked(void **state)
{
    (void)state;
    const double v[6] = { 1, 1, 1, 1, 1, 1 }, *const between = (const double *)(const void *)((const char *)v + 4);
    const int32_t good[] = { 0, 1 }, outside[] = { 0, 2 }, negative[] = { -1, 1 };
    const int32_t starts[] = { 0, 1, 2 }, falling[] = { 0, 3, 2 }, late[] = { 1, 1, 2 },
                  few[] = { 0, 1, 1 };
    const struct { ks_general_block D, L; int valid; } cases[] = {
        { { KS_BLOCK_DIA, 0, v, NULL, NULL }, { KS_BLOCK_COO, 2, v, good, good }, 1 },
        { { KS_BLOCK_DENSE, 0, v, NULL, NULL }, { KS_BLOCK_CSR, 2, v, starts, good }, 1 },
        { { KS_BLOCK_DENSE, 0, v, NULL, NULL }, { KS_BLOCK_COO, 0, NULL, NULL, NULL }, 1 },
        { { KS_BLOCK_DENSE, 0, NULL, NULL, NULL }, { KS_BLOCK_COO, 2, v, good, good }, 0 },
        { { KS_BLOCK_DENSE, 0, between, NULL, NULL }, { KS_BLOCK_COO, 2, v, good, good }, 0 },
        { { KS_BLOCK_COO, 2, v, good, good }, { KS_BLOCK_COO, 2, v, good, good }, 0 },
        { { KS_BLOCK_DIA, 0, v, NULL, NULL }, { KS_BLOCK_DIA, 0, v, NULL, NULL }, 0 },
        { { KS_BLOCK_DIA, 0, v, NULL, NULL }, { KS_BLOCK_COO, 2, v, outside, good }, 0 },
        { { KS_BLOCK_DIA, 0, v, NULL, NULL }, { KS_BLOCK_COO, 2, v, good, negative }, 0 },
        { { KS_BLOCK_DIA, 0, v, NULL, NULL }, { KS_BLOCK_COO, -2, v, good, good }, 0 },
        { { KS_BLOCK_DIA, 0, v, NULL, NULL }, { KS_BLOCK_COO, 2, v, NULL, good }, 0 },
        { { KS_BLOCK_DIA, 0, v, NULL, NULL }, { KS_BLOCK_CSR, 2, v, falling, good }, 0 },
        { { KS_BLOCK_DIA, 0, v, NULL, NULL }, { KS_BLOCK_CSR, 2, v, late, good }, 0 },
        { { KS_BLOCK_DIA, 0, v, NULL, NULL }, { KS_BLOCK_CSR, 2, v, few, good }, 0 },
        { { KS_BLOCK_DIA, 0, v, NULL, NULL }, { KS_BLOCK_CSR, 0, NULL, NULL, NULL }, 0 },
        /* Beyond the last column nothing is read. */
        { { KS_BLOCK_DIA, 0, v, NULL, NULL }, { KS_BLOCK_CSR, 1 << 20, v, starts, good }, 0 },
        { { KS_BLOCK_DIA, 0, v, NULL, NULL }, { KS_BLOCK_CSR, 1, v, starts, good }, 0 },
        { { KS_BLOCK_DIA, 0, v, NULL, NULL }, { KS_BLOCK_CSR, 2, v, starts, outside }, 0 },
        { { KS_BLOCK_DIA, 0, v, NULL, NULL }, { (ks_block_format)9, 2, v, starts, good }, 0 },
    };
    ks_general_options options = KS_GENERAL_OPTIONS_INIT;
    options.method = KS_RED_BLACK;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        const ks_general_block D[2] = { cases[c].D, cases[c].D };
        const ks_general_block empty = { KS_BLOCK_COO, 0, NULL, NULL, NULL };
        const ks_general_matrix lower = { D, &cases[c].L, &empty };
        const ks_general_matrix upper = { D, &empty, &cases[c].L };
        const ks_status expected = cases[c].valid ? KS_OK : KS_EINVAL;
        ks_general_plan *plan;
        assert_int_equal(ks_general_plan_create(&plan, NULL, 2, 2, &lower, &options), expected);
        ks_general_plan_destroy(plan);
        assert_int_equal(ks_general_plan_create(&plan, NULL, 2, 2, &upper, &options), expected);
        ks_general_plan_destroy(plan);
    }
}

/* One block is not as it was planned for: no call takes the matrix. */
static void planned_blocks_are_checked(void **state)
{
    (void)state;
    const double dense[4] = { 4, 0, 0, 4 }, dia[6] = { 0, 0, 4, 4, 0, 0 }, one[2] = { 1, 1 }, b[4] = { 1, 1, 1, 1 };
    const int32_t at[2] = { 0, 1 }, starts[3] = { 0, 1, 2 };
    const ks_general_block good[] = { { KS_BLOCK_DENSE, 0, dense, NULL, NULL }, { KS_BLOCK_DIA, 0, dia, NULL, NULL },
                                      { KS_BLOCK_COO, 2, one, at, at }, { KS_BLOCK_CSR, 2, one, starts, at } };
    const struct { int place; ks_general_block block; } bad[] = {
        { 0, { KS_BLOCK_DENSE, 0, NULL, NULL, NULL } }, { 0, { KS_BLOCK_DIA, 0, dia, NULL, NULL } },
        { 1, { KS_BLOCK_DIA, 0, NULL, NULL, NULL } },   { 1, { KS_BLOCK_DENSE, 0, dense, NULL, NULL } },
        { 2, { KS_BLOCK_COO, 2, NULL, at, at } },       { 2, { KS_BLOCK_COO, 2, one, NULL, at } },
        { 2, { KS_BLOCK_COO, 2, one, at, NULL } },      { 2, { KS_BLOCK_COO, 1, one, at, at } },
        { 2, { KS_BLOCK_COO, -2, one, at, at } },       { 2, { KS_BLOCK_CSR, 2, one, starts, at } },
        { 2, { KS_BLOCK_DENSE, 0, dense, NULL, NULL } }, { 2, { (ks_block_format)10, 2, one, at, at } },
        { 3, { KS_BLOCK_CSR, 2, NULL, starts, at } },   { 3, { KS_BLOCK_CSR, 2, one, NULL, at } },
        { 3, { KS_BLOCK_CSR, 2, one, starts, NULL } },  { 3, { KS_BLOCK_CSR, 3, one, starts, at } },
    };
    for (int m = 1; m < KS_GENERAL_METHODS; ++m) {
        ks_general_block blocks[4];
        memcpy(blocks, good, sizeof blocks);
        const ks_general_matrix matrix = { blocks, blocks + 2, blocks + 3 };
        ks_general_options options = KS_GENERAL_OPTIONS_INIT;
        ks_general_plan *plan;
        double x[4], radius;
        options.method = (ks_general_method)m;
        assert_int_equal(ks_general_plan_create(&plan, NULL, 2, 2, &matrix, &options), KS_OK);
        void *factor = general_system_memory(ks_general_factor_bytes(plan));
        void *work = general_system_memory(ks_general_workspace_bytes(plan));
        const ks_const_blocks in = { b, 2 };
        const ks_blocks out = { x, 2 };
        assert_int_equal(ks_general_factorize(plan, &matrix, factor, work, NULL), KS_OK);
        for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
            blocks[bad[i].place] = bad[i].block;
            assert_int_equal(ks_general_solve(plan, &matrix, factor, 1, in, out, work, NULL), KS_EINVAL);
            assert_int_equal(ks_general_spectral_radius(plan, &matrix, factor, 4, work, &radius), KS_EINVAL);
            assert_int_equal(ks_general_factorize(plan, &matrix, factor, work, NULL), KS_EINVAL);
            blocks[bad[i].place] = good[bad[i].place];
        }
        assert_int_equal(ks_general_solve(plan, &matrix, factor, 1, in, out, work, NULL), KS_OK);
        free(factor);
        free(work);
        ks_general_plan_destroy(plan);
    }
}

static void calls_are_checked(void **state)
{
    (void)state;
    general_system s = general_system_make(GS_TRIDIAGONAL, 3, 4, 1, 0.5, 1);
    ks_general_packed *packed = general_system_pack(&s, NULL);
    const ks_general_matrix *m = ks_general_packed_matrix(packed);
    ks_general_options options = KS_GENERAL_OPTIONS_INIT;
    ks_general_plan *plan;
    void *factor, *work;
    double radius;
    options.method = KS_RED_BLACK;
    assert_int_equal(ks_general_plan_create(&plan, NULL, 3, 4, m, &options), KS_OK);
    factor = general_system_memory(ks_general_factor_bytes(plan));
    work = general_system_memory(ks_general_workspace_bytes(plan));
    char *odd = (char *)work + 8;
    ks_general_report wrong = KS_GENERAL_REPORT_INIT, report = KS_GENERAL_REPORT_INIT;
    wrong.size = 3;
    assert_int_equal(ks_general_factorize(NULL, m, factor, work, NULL), KS_EINVAL);
    assert_int_equal(ks_general_factorize(plan, NULL, factor, work, NULL), KS_EINVAL);
    assert_int_equal(ks_general_factorize(plan, m, NULL, work, &report), KS_EINVAL);
    assert_int_equal(ks_general_factorize(plan, m, factor, odd, &report), KS_EINVAL);
    assert_int_equal(ks_general_factorize(plan, m, factor, work, &wrong), KS_EINVAL);
    assert_int_equal(ks_general_factorize(plan, m, factor, work, &report), KS_OK);
    const ks_const_blocks b = { s.b, 4 };
    const ks_blocks x = { s.x, 4 }, overlapping = { s.x, 3 };
    assert_int_equal(ks_general_solve(plan, m, factor, 0, b, x, work, &report), KS_EINVAL);
    assert_int_equal(ks_general_solve(plan, m, factor, 2, b, x, work, &report), KS_EINVAL);
    assert_int_equal(ks_general_solve(plan, m, NULL, 1, b, x, work, &report), KS_EINVAL);
    assert_int_equal(ks_general_solve(plan, m, factor, 1, b, overlapping, work, NULL), KS_EINVAL);
    assert_int_equal(ks_general_solve(plan, m, factor, 1, b, x, work, &wrong), KS_EINVAL);
    const ks_blocks between = { (char *)s.x + 4, 4 };
    assert_int_equal(ks_general_solve(plan, m, factor, 1, b, between, work, NULL), KS_EINVAL);
    assert_int_equal(ks_general_solve(plan, m, factor, 1, b, x, work, NULL), KS_OK);
    assert_int_equal(ks_general_spectral_radius(plan, m, factor, 3, work, &radius), KS_EINVAL);
    assert_int_equal(ks_general_spectral_radius(plan, m, factor, 100, work, &radius), KS_OK);
    assert_true(fabs(radius - 0.5) < 0.05);
    assert_true(ks_general_iteration_bytes(plan, m) > 3 * 4 * 8);
    free(factor);
    free(work);
    ks_general_plan_destroy(plan);
    ks_general_packed_destroy(packed);
    general_system_free(&s);
}

/* Right-hand sides at strides, one of them shared by all blocks. */
static void strides(void **state)
{
    (void)state;
    enum { N = 5, n = 3, GAP = 4 };
    general_system s = general_system_make(GS_TRIDIAGONAL, N, n, 1, 0.5, 6);
    double b[n] = { 1, 2, 3 }, x[N * (n + GAP)];
    for (int m = 0; m < KS_GENERAL_METHODS; ++m) {
        ks_general_packed *packed = general_system_pack(&s, NULL);
        const ks_general_matrix *matrix = ks_general_packed_matrix(packed);
        ks_general_options options = KS_GENERAL_OPTIONS_INIT;
        ks_general_plan *plan;
        void *factor, *work;
        options.method = (ks_general_method)m;
        options.any_matrix = 1;
        options.tolerance = 1e-12;
        if (m == KS_CG) options.tolerance = 1e30; /* any end will do: x is about strides here */
        for (int i = 0; i < N * n; ++i) s.b[i] = b[i % n];
        ks_general_report report = KS_GENERAL_REPORT_INIT;
        assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL), KS_OK);
        for (int i = 0; i < N * (n + GAP); ++i) x[i] = -7;
        assert_int_equal(ks_general_plan_create(&plan, NULL, N, n, matrix, &options), KS_OK);
        factor = general_system_memory(ks_general_factor_bytes(plan));
        work = general_system_memory(ks_general_workspace_bytes(plan));
        assert_int_equal(ks_general_factorize(plan, matrix, factor, work, NULL), KS_OK);
        assert_int_equal(ks_general_solve(plan, matrix, factor, 1, (ks_const_blocks){ b, 0 },
                                          (ks_blocks){ x, n + GAP }, work, NULL), KS_OK);
        /* What has no address. */
        assert_int_equal(ks_general_solve(plan, matrix, factor, 1, (ks_const_blocks){ b, 0 },
                                          (ks_blocks){ x, INT64_MAX }, work, NULL), KS_EINVAL);
        assert_int_equal(ks_general_solve(plan, matrix, factor, 1, (ks_const_blocks){ b, INT64_MAX / 2 },
                                          (ks_blocks){ x, n + GAP }, work, NULL), KS_EINVAL);
        for (int j = 0; j < N; ++j)
            for (int r = 0; r < n + GAP; ++r)
                assert_true(x[j * (n + GAP) + r] == (r < n ? s.x[j * n + r] : -7));
        free(factor);
        free(work);
        ks_general_plan_destroy(plan);
        options.sample = (ks_const_blocks){ b, INT64_MAX };
        assert_int_equal(ks_general_plan_create(&plan, NULL, N, n, matrix, &options), KS_EINVAL);
        assert_string_equal(ks_general_plan_invalid(N, n, matrix, &options), "sample");
        ks_general_packed_destroy(packed);
    }
    ks_general_source source = KS_GENERAL_SOURCE_INIT;
    ks_general_packed *packed;
    source.D = source.L = source.U = (ks_const_blocks){ b, 0 };
    ks_const_blocks *const parts[] = { &source.D, &source.L, &source.U };
    for (int i = 0; i < 3; ++i) {
        static const int64_t wrong[] = { INT64_MAX, n * n - 1, 1, -1, INT64_MIN };
        for (size_t w = 0; w < sizeof wrong / sizeof *wrong; ++w) {
            parts[i]->stride = wrong[w];
            assert_int_equal(ks_general_pack(&packed, NULL, N, n, &source), KS_EINVAL);
            parts[i]->stride = 0;
        }
    }
    /* Of one block it leads nowhere. */
    double blocks[N * n * n] = { 0 };
    source.D = source.L = source.U = (ks_const_blocks){ blocks, n * n };
    for (int i = 0; i < 3; ++i) parts[i]->stride = INT64_MIN;
    assert_int_equal(ks_general_pack(&packed, NULL, 1, n, &source), KS_OK);
    ks_general_packed_destroy(packed);
    source.D.stride = n * n;
    assert_int_equal(ks_general_pack(&packed, NULL, 2, n, &source), KS_OK);
    ks_general_packed_destroy(packed);
    /* Dense blocks and triples of one side. */
    source.L.stride = source.U.stride = n * n;
    const int64_t zero = 0;
    const ks_general_triples both = { 1, &zero, &zero, &zero, blocks }, none = { 0, NULL, NULL, NULL, NULL };
    source.L_triples = both;
    assert_int_equal(ks_general_pack(&packed, NULL, N, n, &source), KS_EINVAL);
    source.L_triples = none;
    source.U_triples = both;
    assert_int_equal(ks_general_pack(&packed, NULL, N, n, &source), KS_EINVAL);
    source.symmetric = 1;
    assert_int_equal(ks_general_pack(&packed, NULL, N, n, &source), KS_OK);
    ks_general_packed_destroy(packed);
    general_system_free(&s);
}

/* Every allocation fails once; nothing is left behind. */
static void memory_that_is_not_there(void **state)
{
    (void)state;
    enum { N = 4, n = 3 };
    const double D[3 * n] = { 0, 1, 1, 4, 4, 4, 1, 1, 0 };
    const int64_t block[] = { 2, 0, 1 }, row[] = { 1, 0, 2 }, col[] = { 0, 0, 1 };
    const double value[] = { 1, 0.5, 1 };
    double dia[N * 3 * n];
    for (int j = 0; j < N; ++j) memcpy(dia + j * 3 * n, D, sizeof D);
    ks_general_source source = KS_GENERAL_SOURCE_INIT;
    source.D_dia = dia;
    source.L_triples = source.U_triples = (ks_general_triples){ 3, block, row, col, value };
    for (int m = 0; m < KS_GENERAL_METHODS; ++m) {
        failalloc memory = FAILALLOC_INIT;
        ks_context_options resources = KS_CONTEXT_OPTIONS_INIT;
        resources.allocator = failalloc_allocator(&memory);
        ks_context *context;
        assert_int_equal(ks_context_create(&context, &resources), KS_OK);
        const long before = atomic_load(&memory.live);
        int failures = 0;
        for (long at = 1;; ++at, ++failures) {
            ks_general_options options = KS_GENERAL_OPTIONS_INIT;
            ks_general_packed *packed;
            ks_general_plan *plan = NULL;
            options.method = (ks_general_method)m;
            atomic_store(&memory.calls, 0);
            atomic_store(&memory.fail_at, at);
            ks_status status = ks_general_pack(&packed, context, N, n, &source);
            if (status == KS_OK)
                status = ks_general_plan_create(&plan, context, N, n,
                                                ks_general_packed_matrix(packed), &options);
            ks_general_plan_destroy(plan);
            ks_general_packed_destroy(packed);
            assert_int_equal(atomic_load(&memory.live), before);
            if (status == KS_OK) break;
            assert_int_equal(status, KS_ENOMEM);
        }
        assert_true(failures >= 6);
        atomic_store(&memory.fail_at, 0);
        ks_context_destroy(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(blocks_are_checked),
        cmocka_unit_test(planned_blocks_are_checked),
        cmocka_unit_test(calls_are_checked),
        cmocka_unit_test(strides),
        cmocka_unit_test(memory_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
