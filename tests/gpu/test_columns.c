/* test_columns.c -- chunks whose teams hold matrices by columns in registers, beside those whose teams keep all of them
 * in shared memory and beside the textbook: every size, any length, chunks that one team of a warp leaves to others. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "models.h"
#include "run_case.h"
#include "scan_device.h"
#include "session.h"
#include "textbook.h"
#include "sanitizers.h"

static const method_case methods[] = { { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_CHUNKED, 1, 0 },
                                       { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_CHUNKED, 1, 0 },
                                       { KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER, KS_SCAN_CHUNKED, 1, 0 } };
enum { METHODS = sizeof methods / sizeof *methods, LARGEST = 16,
       FILTERED = KS_OUT_LOGLIK | KS_OUT_LOGLIK_TERMS | KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV |
                  KS_OUT_FILTERED_VAR,
       SMOOTHED = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_SMOOTHED_VAR | KS_OUT_LAG_ONE_COV };

/** The two-filter smoother has no mixed precision. */
static const method_case *method_for(int i, ks_precision precision)
{
    return &methods[i % (precision == KS_MIXED ? METHODS - 1 : METHODS)];
}

static const char *const precision_names[] = { "f64", "f32", "mixed" };

static unsigned fast_outputs(const method_case *m) { return m->job == KS_JOB_FILTER ? FILTERED : FILTERED | SMOOTHED; }

/** Run g by teams with columns or without. */
static golden_buffers *run_by(int columns, const golden *g, const method_case *m, ks_precision precision, int seed,
                              ks_info *info)
{
    const unsigned outputs = fast_outputs(m);
    const ks_smooth_options o = options_of(m, precision, outputs);
    const ks_model model = golden_model(g, precision);
    golden_buffers *b = golden_buffers_new(g->T, g->B, g->nx, g->ny, precision, outputs);
    ks_smooth_plan *plan;
    void *work = NULL;
    use_seed(seed);
#ifdef EMULATED
    ks_emulated.watch = columns ? "ks_column_" : "ks_team_";
#endif
    OK(ks_smooth_plan_create(&plan, NULL, g->T, g->B, g->nx, g->ny, &o));
    assert_int_equal(plan->device->by_columns, 1);
    OK(ks_chunks_by_columns(plan->device, plan, columns));
    assert_int_equal(plan->device->by_columns, columns);
    assert_int_equal(posix_memalign(&work, 64, ks_smooth_workspace_bytes(plan) + 64), 0);
    OK(ks_smooth_run(plan, &model, golden_y(g, precision), golden_outputs(b), work, info));
#ifdef EMULATED
    /* Forward passes, and the RTS smoother's way back; teams in shared memory take the two-filter smoother's. */
    const int passes = m->method == KS_METHOD_SCAN ? 2 : columns && m->method == KS_METHOD_SCAN_TWO_FILTER ? 2 : 3;
    assert_int_equal(ks_emulated.watched, passes * g->B);
#endif
    free(work);
    ks_smooth_plan_destroy(plan);
    check_clean();
    return b;
}

static void check_error(const golden *g, ks_precision precision, unsigned outputs, double bound, golden_buffers *b,
                        const char *what)
{
    const golden_difference d = golden_compare(golden_widen(b), &g->expected, outputs, golden_norm_of(g, precision));
    if (!(d.error <= bound))
        fail_msg("nx = %d, ny = %d, T = %lld, %s: %s at step %lld off %s by %.3g", g->nx, g->ny, (long long)g->T,
                 precision_names[precision], golden_output_name(d.output), (long long)d.step, what, d.error);
}

/** Both ways are right, and take as many steps in the array form; on the emulated device columns are the same bits whatever
 *  runs first. */
static int64_t check(const golden *g, const method_case *m, ks_precision precision, double bound, int seed)
{
    ks_info info[2] = { KS_INFO_INIT, KS_INFO_INIT };
    golden_buffers *columns = run_by(1, g, m, precision, seed, &info[0]);
    check_error(g, precision, fast_outputs(m), bound, columns, "by columns");
    if (!SANITIZED) {
        golden_buffers *teams = run_by(0, g, m, precision, seed + 1, &info[1]);
        check_error(g, precision, fast_outputs(m), bound, teams, "in shared memory");
        assert_int_equal(info[0].array_steps, info[1].array_steps);
        assert_int_equal(info[0].missing, info[1].missing);
        golden_buffers_free(teams);
#ifdef EMULATED
        golden_buffers *again = run_by(1, g, m, precision, seed + 2, &info[1]);
        assert_int_equal(first_different(columns, again, fast_outputs(m)), 0);
        golden_buffers_free(again);
#endif
    }
    golden_buffers_free(columns);
    return info[0].array_steps;
}

/** Whether plans hold such models by columns: in single precision threads have up to six states alone. */
static bool has_columns(int nx, ks_precision precision) { return nx > (precision == KS_F32 ? 6 : 4); }

/** Chunks that end early, warps with teams that have none, entries and states beyond the model's. */
static void every_size_and_length(void **state)
{
    (void)state;
    static const int64_t lengths[] = { 1, 2, 7, 8, 9, 31, 33, 67 };
    static const unsigned traits[] = { VARIES_ALL | MISSING, HAS_OFFSETS | MISSING, VARIES_ALL, VARIES_R };
    int i = 0;
    for (int nx = 5; nx <= LARGEST; nx += nx < 9 || nx == 15 ? 1 : 3)
        for (int ny = nx <= 8 ? 1 : 1 + nx % 3; ny <= (nx <= 8 ? 4 : 8); ny += nx <= 8 ? 1 : 3)
            for (int p = 0; p < 3; ++p, ++i) {
                const int64_t T = lengths[(i * 7 + i / 8) % 8], B = 1 + (i % 5 == 0);
                if (!has_columns(nx, (ks_precision)p)) continue;
                /* In double alone: single precision is off by more than the bound, by either kind of team alike. */
                const unsigned singular = p == KS_F64 ? (unsigned[]){ 0, NO_Q, NO_P0 }[i / 3 % 3] : 0;
                /* Without Q nothing is forgotten: as order_four_no_Q of golden_bounds.c. */
                const double bound = singular == NO_Q ? 3e-9
                                                      : golden_ordinary_bound(GOLDEN_ELEMENTS, (ks_precision)p);
                golden *g = model_random((model_spec){ 1900 + (uint64_t)i, T, B, nx, ny, (ks_prior)(i / 2 % 2),
                                                       traits[i / 2 % 4] | singular });
                textbook_smooth(g);
                (void)check(g, method_for(i, (ks_precision)p), (ks_precision)p, bound, 3 * i);
                golden_free(g);
            }
}

/** One team of a warp leaves its chunk to other kernels, the first, the last, or one between; its neighbours do not. */
static void one_of_a_warp_fails(void **state)
{
    (void)state;
    static const int64_t at[] = { 0, 13, 24, 31, 60 };
    static const int sizes[][2] = { { 7, 2 }, { 8, 4 }, { 11, 3 }, { 16, 8 } };
    for (int i = 0; i < 15; ++i) {
        const ks_precision p = (ks_precision)(i % 3);
        const int *const size = sizes[i % 4];
        golden *g = model_random((model_spec){ 1960, 61, 1, size[0], size[1], KS_PRIOR_X1, VARIES_R });
        double *const R = model_block(&g->R, 0, at[i % 5]);
        for (int j = 0; j < g->ny * g->ny; ++j) R[j] *= p ? 0x1p-14 : 0x1p-24;
        model_round(g);
        textbook_smooth(g);
        const int64_t array_steps = check(g, method_for(i / 5, p), p, p ? 1e-3 : 1e-12, i);
        assert_true(array_steps > 0 && array_steps < 4 * 8);
        golden_free(g);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_size_and_length), cmocka_unit_test(one_of_a_warp_fails) };
    only_tests(argc, argv, tests);
    if (no_device()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
