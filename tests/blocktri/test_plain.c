/* test_plain.c -- the plain text of the chains, which is what is counted, does what the vector
 * kernels do: whole systems in every order, with one table in place of the other. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "blocktri_plan.h"
#include "hd.h"
#include "system.h"
#include "num_f64.h"
#include "plain_text.h"

static void use_plain(ks_blocktri_plan *plan, ks_bt_kernels *kernels)
{
    *kernels = *plan->kernels; /* log-determinant and residual are not of this text */
    kernels->factor = KS_T(ks_bt_plain_factor);
    kernels->gather = KS_T(ks_bt_plain_gather);
    kernels->forward = KS_T(ks_bt_plain_forward);
    kernels->gather_x = KS_T(ks_bt_plain_gather_x);
    kernels->backward = KS_T(ks_bt_plain_backward);
    kernels->inverse = KS_T(ks_bt_plain_inverse);
    plan->kernels = plan->narrow = kernels;
}

typedef struct answers {
    double *x, *S, *lag, logdet;
} answers;

static double *numbers(int64_t count)
{
    double *array = calloc((size_t)count + 1, sizeof *array);
    assert_non_null(array);
    return array;
}

static answers answer(const bt_system *s, const ks_blocktri_options *options, int plain)
{
    ks_bt_kernels kernels;
    const int64_t size = (int64_t)s->n * s->n, rows = (int64_t)s->n * s->nrhs;
    bt_solver solver = bt_solver_make(s, options, 1, 0);
    if (plain) use_plain(solver.plan, &kernels);
    answers a = {numbers(s->N * rows), numbers(s->N * size), numbers(s->N * size), 0};
    const ks_blocktri_matrix matrix = bt_matrix(s);
    const ks_blocks x = {a.x, rows}, S = {a.S, size}, lag = {a.lag, size};
    assert_int_equal(ks_blocktri_factorize(solver.plan, &matrix, &solver.factor, solver.work, NULL),
                     KS_OK);
    assert_int_equal(ks_blocktri_solve(solver.plan, &solver.factor, s->nrhs, bt_b(s), x,
                                       solver.work), KS_OK);
    assert_int_equal(ks_blocktri_logdet(solver.plan, &solver.factor, &a.logdet), KS_OK);
    assert_int_equal(ks_blocktri_inverse_blocks(solver.plan, &solver.factor, S, lag,
                                                solver.inverse_work), KS_OK);
    bt_solver_free(&solver);
    return a;
}

static void forget(answers *a)
{
    free(a->x);
    free(a->S);
    free(a->lag);
}

/* The systems are well conditioned (diagonally dominant), so that two orders of the same sums agree
 * to a few roundings for each of the n terms of a product. */
static void same(const char *what, const bt_system *s, int64_t count, const double *fast,
                 const double *plain)
{
    const double tolerance = 64 * s->n * 2.2e-16;
    double largest = 0;
    for (int64_t i = 0; i < count; ++i) largest = fmax(largest, fabs(plain[i]));
    for (int64_t i = 0; i < count; ++i)
        if (!(fabs(fast[i] - plain[i]) <= tolerance * largest))
            fail_msg("%s, N = %lld, n = %d, entry %lld: %.17g, plainly %.17g", what,
                     (long long)s->N, s->n, (long long)i, fast[i], plain[i]);
}

static void every_order(void **state)
{
    static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 13, 16, 33, 130};
    static const int64_t lengths[] = {1, 2, 3, 4, 7, 8, 16, 29};
    static const int columns[] = {1, 2, 3, 4, 12, 13, 26, 5};
    static const ks_tier tiers[] = {KS_TIER_AUTO, KS_TIER_BASELINE};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; ++l)
            for (int order = KS_BLOCKTRI_SEQUENTIAL; order < KS_BLOCKTRI_ORDERS; ++order) {
                if (sizes[i] > 100 && lengths[l] != 7) continue;
                ks_blocktri_options options = bt_options((ks_blocktri_order)order, KS_F64);
                options.tier = tiers[(l + i) % 2];
                const int64_t N = lengths[l], n = sizes[i];
                const int nrhs = columns[l];
                bt_system s = bt_system_make(KS_F64, N, (int)n, nrhs, 2, (unsigned)(order + 7 * n));
                answers fast = answer(&s, &options, 0), plain = answer(&s, &options, 1);
                same("x", &s, N * n * nrhs, fast.x, plain.x);
                same("diagonal of the inverse", &s, N * n * n, fast.S, plain.S);
                same("sub-diagonal of the inverse", &s, (N - 1) * n * n, fast.lag, plain.lag);
                same("log-determinant", &s, 1, &fast.logdet, &plain.logdet);
                forget(&fast);
                forget(&plain);
                bt_system_free(&s);
            }
}

/* A block that is not positive definite is found by both at the same place. */
static void failing_pivots(void **state)
{
    (void)state;
    for (int order = KS_BLOCKTRI_SEQUENTIAL; order < KS_BLOCKTRI_ORDERS; ++order)
        for (int64_t block = 0; block < 11; ++block) {
            const ks_blocktri_options options = bt_options((ks_blocktri_order)order, KS_F64);
            ks_blocktri_info info[2] = {KS_BLOCKTRI_INFO_INIT, KS_BLOCKTRI_INFO_INIT};
            bt_system s = bt_system_make(KS_F64, 11, 5, 1, 0, 3);
            bt_put(&s, s.D, block * s.stride + 3 * 5 + 3, block % 2 ? -1.0 : (double)INFINITY);
            const ks_blocktri_matrix matrix = bt_matrix(&s);
            for (int plain = 0; plain < 2; ++plain) {
                ks_bt_kernels kernels;
                bt_solver solver = bt_solver_make(&s, &options, 1, 0);
                if (plain) use_plain(solver.plan, &kernels);
                assert_int_equal(ks_blocktri_factorize(solver.plan, &matrix, &solver.factor,
                                                       solver.work, &info[plain]), KS_ENOTPD);
                bt_solver_free(&solver);
            }
            assert_int_equal(info[0].block, info[1].block);
            assert_int_equal(info[0].pivot, info[1].pivot);
            bt_system_free(&s);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order),
        cmocka_unit_test(failing_pivots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
