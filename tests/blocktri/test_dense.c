/* test_dense.c -- every order on short systems against a dense Cholesky factorization. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <lapacke.h>
#include <cmocka.h>
#include "sanitizers.h"
#include "system.h"

static const int sizes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 14, 16, 33 };
enum { SIZES = sizeof sizes / sizeof sizes[0], LONGEST = 12, RIGHT_HAND_SIDES = 5 };

/** The dense answers. */
typedef struct reference {
    double *inverse, *x;
    double logdet;
} reference;

static reference solve_dense(const bt_system *s)
{
    const int rows = (int)s->N * s->n;
    reference r = { bt_dense(s), NULL, 0 };
    r.x = malloc((size_t)rows * (size_t)s->nrhs * sizeof *r.x);
    assert_non_null(r.x);
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < s->nrhs; ++j)
            r.x[i * s->nrhs + j] = bt_get(s, s->b, i / s->n * s->rhs_stride +
                                                       i % s->n * s->nrhs + j);
    assert_int_equal(LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', rows, r.inverse, rows), 0);
    for (int i = 0; i < rows; ++i) r.logdet += 2 * log(r.inverse[i * rows + i]);
    assert_int_equal(LAPACKE_dpotrs(LAPACK_ROW_MAJOR, 'L', rows, s->nrhs, r.inverse, rows, r.x,
                                    s->nrhs),
                     0);
    assert_int_equal(LAPACKE_dpotri(LAPACK_ROW_MAJOR, 'L', rows, r.inverse, rows), 0);
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < i; ++j) r.inverse[j * rows + i] = r.inverse[i * rows + j];
    return r;
}

static void near(double got, double wanted, double scale, double tolerance)
{
    if (!(fabs(got - wanted) <= tolerance * scale))
        fail_msg("%.17g instead of %.17g", got, wanted);
}

static void check_solution(const bt_system *s, const reference *r, double tolerance)
{
    double largest = 0;
    const int64_t rows = s->N * s->n;
    for (int64_t i = 0; i < rows * s->nrhs; ++i) largest = fmax(largest, fabs(r->x[i]));
    for (int64_t i = 0; i < rows; ++i)
        for (int j = 0; j < s->nrhs; ++j)
            near(bt_get(s, s->x, i / s->n * s->rhs_stride + i % s->n * s->nrhs + j),
                 r->x[i * s->nrhs + j], largest, tolerance);
}

static void check_inverse(const bt_solver *solver, const bt_system *s, const reference *r,
                          double tolerance)
{
    const int64_t n = s->n, rows = s->N * n, stride = n * n + 3;
    double *diagonal = malloc((size_t)(s->N * stride) * sizeof(double));
    double *lag = malloc((size_t)(s->N * stride) * sizeof(double));
    assert_non_null(diagonal);
    assert_non_null(lag);
    const ks_blocks to = { diagonal, stride }, to_lag = { lag, stride }, none = { NULL, 0 };
    double largest = 0;
    for (int64_t i = 0; i < rows * rows; ++i) largest = fmax(largest, fabs(r->inverse[i]));
    for (int with_lag = 0; with_lag < 2; ++with_lag) {
        for (int64_t i = 0; i < s->N * stride; ++i)
            bt_put(s, diagonal, i, (double)NAN), bt_put(s, lag, i, (double)NAN);
        assert_int_equal(ks_blocktri_inverse_blocks(solver->plan, &solver->factor, to,
                                                    with_lag ? to_lag : none,
                                                    solver->inverse_work),
                         KS_OK);
        for (int64_t k = 0; k < s->N; ++k)
            for (int64_t i = 0; i < n; ++i)
                for (int64_t j = 0; j < n; ++j) {
                    near(bt_get(s, diagonal, k * stride + i * n + j),
                         r->inverse[(k * n + i) * rows + k * n + j], largest, tolerance);
                    assert_true(bt_get(s, diagonal, k * stride + i * n + j) ==
                                bt_get(s, diagonal, k * stride + j * n + i));
                    if (with_lag && k + 1 < s->N)
                        near(bt_get(s, lag, k * stride + i * n + j),
                             r->inverse[((k + 1) * n + i) * rows + k * n + j], largest, tolerance);
                }
    }
    free(diagonal);
    free(lag);
}

/** One order on a system whose dense answers are known. */
static void check_order(const bt_system *original, const reference *r, ks_blocktri_order order,
                        ks_tier tier, int in_place, unsigned seed)
{
    const ks_precision precision = original->precision;
    const double tolerance = precision == KS_F64 ? 1e-12 : 1e-4;
    /* Made anew: in place its matrix is lost. */
    bt_system s = bt_system_make(precision, original->N, original->n, original->nrhs,
                                 in_place ? 5 : 0, seed);
    ks_blocktri_options o = bt_options(order, precision);
    o.tier = tier;
    /* Every order on one thread and on two, which the number of threads must not matter to. */
    const int threads = 1 + (int)(s.N + s.n + s.nrhs + order) % 2;
    bt_solver solver = bt_solver_make(&s, &o, threads, in_place);
    const ks_blocktri_matrix matrix = bt_matrix(&s);
    ks_blocktri_info info = KS_BLOCKTRI_INFO_INIT;
    double logdet = 0;
    assert_int_equal(ks_blocktri_factorize(solver.plan, &matrix, &solver.factor, solver.work,
                                           &info),
                     KS_OK);
    assert_int_equal(info.block, -1);
    assert_int_equal(ks_blocktri_solve(solver.plan, &solver.factor, s.nrhs, bt_b(&s), bt_x(&s),
                                       solver.work),
                     KS_OK);
    check_solution(&s, r, tolerance);
    if (!in_place)
        assert_true(bt_backward_error(&solver, &s) < (precision == KS_F64 ? 1e-15 : 5e-7));
    assert_int_equal(ks_blocktri_logdet(solver.plan, &solver.factor, &logdet), KS_OK);
    near(logdet, r->logdet, 1 + fabs(r->logdet), tolerance);
    check_inverse(&solver, &s, r, tolerance);
    bt_solver_free(&solver);
    bt_system_free(&s);
}

/** Every order; of `tiers` the one that a bit of order + turn says. */
static void check_orders(ks_precision precision, int64_t N, int n, int nrhs,
                         const ks_tier tiers[2], int turn, int in_place)
{
    const unsigned seed = (unsigned)(N + 100 * n);
    bt_system s = bt_system_make(precision, N, n, nrhs, 0, seed);
    reference r = solve_dense(&s);
    for (int order = 1; order < KS_BLOCKTRI_ORDERS; ++order)
        check_order(&s, &r, (ks_blocktri_order)order, tiers[(order + turn) % 2], in_place, seed);
    bt_system_free(&s);
    free(r.inverse);
    free(r.x);
}

static void check_all(ks_precision precision, ks_tier tier, int in_place)
{
    const ks_tier tiers[2] = { tier, tier };
    for (int64_t N = 1; N <= LONGEST; ++N)
        for (int i = 0; i < SIZES; ++i)
            for (int nrhs = 1; nrhs <= RIGHT_HAND_SIDES; nrhs += RIGHT_HAND_SIDES - 1)
                if (sizes[i] < 10 || N % 3 != 1 || N == 1)
                    check_orders(precision, N, sizes[i], nrhs, tiers, 0, in_place);
}

/* Every order of block up to 70, some right-hand sides or many: each is met by both tiers and both
 * precisions, each length by every order. */
static void test_every_size(void **state)
{
    static const ks_tier tiers[2] = { KS_TIER_AUTO, KS_TIER_BASELINE };
    static const int64_t lengths[] = { 1, 2, 3, 5, 7 };
    static const int columns[] = { 1, 2, 3, 4, 9, 17, 40 };
    (void)state;
    for (int n = 1; n <= 70; ++n)
        for (int turn = SANITIZED ? n % 2 : 0; turn < (SANITIZED ? n % 2 + 1 : 2); ++turn)
            check_orders(turn ? KS_F32 : KS_F64, lengths[(n + turn) % 5], n,
                         columns[(n + 3 * turn) % 7], tiers, n + turn, 0);
}

/* Blocks of several bands of rows and slices of depth; BLAS takes their inverse. */
static void test_large_blocks(void **state)
{
    static const ks_tier tiers[2] = { KS_TIER_AUTO, KS_TIER_BASELINE };
    (void)state;
    check_orders(KS_F64, 5, 130, 3, tiers, 0, 0);
    check_orders(KS_F32, 6, 129, 5, tiers, 1, 1);
    check_orders(KS_F64, 2, 260, 1, tiers, 1, 0);
}

static void test_f64(void **state) { (void)state; check_all(KS_F64, KS_TIER_AUTO, 0); }
static void test_f64_baseline(void **state) { (void)state; check_all(KS_F64, KS_TIER_BASELINE, 0); }
static void test_f32(void **state) { (void)state; check_all(KS_F32, KS_TIER_AUTO, 0); }
static void test_f64_in_place(void **state) { (void)state; check_all(KS_F64, KS_TIER_AUTO, 1); }
static void test_f32_baseline(void **state) { (void)state; check_all(KS_F32, KS_TIER_BASELINE, 1); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f64_in_place), cmocka_unit_test(test_f32_baseline),
        cmocka_unit_test(test_every_size),   cmocka_unit_test(test_large_blocks),
    };
    /* The same texts once more for the numbers, which a sanitizer does not look at. */
    const struct CMUnitTest again[] = {
        cmocka_unit_test(test_f64), cmocka_unit_test(test_f64_baseline), cmocka_unit_test(test_f32),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (!SANITIZED) failed += cmocka_run_group_tests(again, NULL, NULL);
    return failed;
}
