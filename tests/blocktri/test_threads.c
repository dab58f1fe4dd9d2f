/* test_threads.c -- the same bits and the same failures for any number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "system.h"

/** Everything that a plan computes, in one array. */
static double *all_results(const bt_system *s, const ks_blocktri_options *o, int threads,
                           size_t *count)
{
    const int64_t size = (int64_t)s->n * s->n, rows = (int64_t)s->n * s->nrhs;
    bt_solver solver = bt_solver_make(s, o, threads, 0);
    *count = (size_t)(s->N * (2 * size + rows) + 1);
    double *out = calloc(*count, sizeof *out), *at = out;
    assert_non_null(out);
    const ks_blocks diagonal = { out, size }, lag = { out + s->N * size, size };
    const ks_blocks x = { out + 2 * s->N * size, rows };
    assert_int_equal(bt_factorize(&solver, s, NULL), KS_OK);
    assert_int_equal(ks_blocktri_inverse_blocks(solver.plan, &solver.factor, diagonal, lag,
                                                solver.inverse_work),
                     KS_OK);
    assert_int_equal(ks_blocktri_solve(solver.plan, &solver.factor, s->nrhs, bt_b(s), x,
                                       solver.work),
                     KS_OK);
    assert_int_equal(ks_blocktri_logdet(solver.plan, &solver.factor, &at[*count - 1]), KS_OK);
    bt_solver_free(&solver);
    return out;
}

static void test_threads_same_bits(void **state)
{
    (void)state;
    /* Long paths are eliminated by groups of lanes. */
    for (int test = 2; test < 2 * KS_BLOCKTRI_ORDERS; ++test) {
        const int order = test / 2;
        bt_system s = bt_system_make(KS_F64, test % 2 ? 2013 : 211, 5, 2, 0, 3);
        ks_blocktri_options o = bt_options((ks_blocktri_order)order, KS_F64);
        o.segments = 6;
        size_t count;
        double *one = all_results(&s, &o, 1, &count);
        for (int threads = 2; threads <= 8; ++threads) {
            double *many = all_results(&s, &o, threads, &count);
            assert_memory_equal(one, many, count * sizeof *one);
            free(many);
        }
        free(one);
        bt_system_free(&s);
    }
}

/* Of several blocks that fail in one round the lowest is named, whatever the threads. */
static void test_lowest_failure(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 4; ++threads) {
        bt_system s = bt_system_make(KS_F64, 64, 3, 1, 0, 4);
        for (int64_t k = 10; k < 64; k += 2) bt_put(&s, s.D, k * s.stride, 0);
        const ks_blocktri_options o = bt_options(KS_BLOCKTRI_NESTED_DISSECTION, KS_F64);
        bt_solver solver = bt_solver_make(&s, &o, threads, 1);
        ks_blocktri_info info = KS_BLOCKTRI_INFO_INIT;
        assert_int_equal(bt_factorize(&solver, &s, &info), KS_ENOTPD);
        assert_int_equal(info.block, 10);
        assert_int_equal(info.pivot, 0);
        bt_solver_free(&solver);
        bt_system_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_same_bits),
        cmocka_unit_test(test_lowest_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
