/* test_refine.c -- factors in single precision that serve systems in double. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "kalscan/blocktri_refine.h"
#include "system.h"

/* A double system, a single-precision solver for it, and a double plan that judges. */
typedef struct refined {
    bt_system s;
    bt_solver single, judge;
    double *scale;
    void *work;
} refined;

static refined make(ks_blocktri_order order, int64_t N, int n, int nrhs, int threads)
{
    refined r;
    const ks_blocktri_options narrow = bt_options(order, KS_F32), wide = bt_options(order, KS_F64);
    r.s = bt_system_make(KS_F64, N, n, nrhs, 3, (unsigned)(N * 100 + n));
    bt_system shape = r.s;
    shape.precision = KS_F32;
    r.single = bt_solver_make(&shape, &narrow, threads, 0);
    r.judge = bt_solver_make(&r.s, &wide, 1, 0);
    const size_t bytes = ks_blocktri_refine_workspace_bytes(r.single.plan, nrhs);
    r.scale = malloc((size_t)(N * n) * sizeof *r.scale);
    r.work = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_true(r.scale && r.work && bytes > 0);
    memset(r.work, 0xff, bytes);
    return r;
}

static void release(refined *r)
{
    bt_solver_free(&r->single);
    bt_solver_free(&r->judge);
    bt_system_free(&r->s);
    free(r->scale);
    free(r->work);
}

static ks_status factorize(refined *r, ks_blocktri_info *info)
{
    const ks_blocktri_matrix A = bt_matrix(&r->s);
    return ks_blocktri_refine_factorize(r->single.plan, &A, &r->single.factor, r->scale, r->work,
                                        info);
}

static ks_status solve(refined *r, const ks_blocktri_refine_limits *limits,
                       ks_blocktri_refine_report *report)
{
    const ks_blocktri_matrix A = bt_matrix(&r->s);
    return ks_blocktri_refine_solve(r->single.plan, &A, &r->single.factor, r->scale, r->s.nrhs,
                                    bt_b(&r->s), bt_x(&r->s), limits, r->work, report);
}

static double *diagonal(const refined *r, int64_t k, int i)
{
    return (double *)r->s.D + k * r->s.stride + (int64_t)i * r->s.n + i;
}

/* Every order reaches double accuracy, for every column; the log-determinant single accuracy. */
static void test_orders(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = { { 1, 1, 1 }, { 1, 5, 2 }, { 2, 3, 1 }, { 3, 1, 1 },
                                        { 7, 4, 3 }, { 40, 8, 1 }, { 61, 5, 4 }, { 12, 33, 2 } };
    for (int order = 0; order < KS_BLOCKTRI_ORDERS; ++order)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
            refined r = make((ks_blocktri_order)order, sizes[i][0], (int)sizes[i][1],
                             (int)sizes[i][2], 1);
            const ks_blocktri_matrix A = bt_matrix(&r.s);
            ks_blocktri_info info = KS_BLOCKTRI_INFO_INIT;
            ks_blocktri_refine_report report = { -1, -1.0 };
            double logdet, exact;
            assert_int_equal(factorize(&r, &info), KS_OK);
            assert_int_equal(info.status, KS_OK);
            assert_int_equal(solve(&r, NULL, &report), KS_OK);
            assert_true(report.residual <= 2.3e-16 && report.steps >= 1 && report.steps < 6);
            assert_true(bt_backward_error(&r.judge, &r.s) <= 2.3e-16);
            assert_int_equal(ks_blocktri_refine_logdet(r.single.plan, &r.single.factor, r.scale,
                                                       &logdet),
                             KS_OK);
            assert_int_equal(ks_blocktri_factorize(r.judge.plan, &A, &r.judge.factor,
                                                   r.judge.work, NULL),
                             KS_OK);
            assert_int_equal(ks_blocktri_logdet(r.judge.plan, &r.judge.factor, &exact), KS_OK);
            assert_true(fabs(logdet - exact) <= 1e-6 * (double)(sizes[i][0] * sizes[i][1]));
            release(&r);
        }
}

/* Powers of two as units of the rows, far beyond what single precision holds, change no bit: of S A S y = S b, where
 * y = S^-1 x, all numbers are the same, and so are the steps and the residual. */
static void units_of(int nrhs, int units)
{
    refined plain = make(KS_BLOCKTRI_TWISTED, 9, 4, nrhs, 1), graded = make(KS_BLOCKTRI_TWISTED, 9, 4, nrhs, 1);
    ks_blocktri_refine_report report[2];
    const bt_system *s = &graded.s;
    bt_change_units(s, units, 1);
    for (int64_t row = 0; row < 36; ++row)
        for (int c = 0; c < nrhs; ++c) {
            double *b = (double *)s->b + row / 4 * s->rhs_stride + row % 4 * nrhs + c;
            *b = ldexp(*b, 100 * c);
        }
    assert_int_equal(factorize(&plain, NULL), KS_OK);
    assert_int_equal(solve(&plain, NULL, &report[0]), KS_OK);
    assert_int_equal(factorize(&graded, NULL), KS_OK);
    assert_int_equal(solve(&graded, NULL, &report[1]), KS_OK);
    assert_int_equal(report[1].steps, report[0].steps);
    assert_true(report[0].steps >= 1 && report[1].residual == report[0].residual);
    bt_change_units(s, units, -1);
    for (int64_t row = 0; row < 36; ++row)
        for (int c = 0; c < nrhs; ++c) {
            const int64_t at = row / 4 * s->rhs_stride + row % 4 * nrhs + c;
            assert_true(ldexp(((const double *)s->x)[at], -100 * c) == ((const double *)plain.s.x)[at]);
        }
    release(&plain);
    release(&graded);
}

static void test_units(void **state)
{
    (void)state;
    for (int nrhs = 1; nrhs < 4; ++nrhs)
        for (int units = 0; units < BT_UNITS; ++units) units_of(nrhs, units);
}

/* Units of the rows, powers of two, change nothing: the same digits of every entry after as many steps, and the same
 * residual. S^-1 x is as exact as its residual and the inverse of S A S say: norms below 5 of the inverse, 22 of
 * S A S, 45 of S^-1 x and 35 of S b. S is at most 1, x at least 1/2. */
static void test_known(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = { { 1, 1, 1 },   { 1, 2, 3 },   { 9, 4, 2 },
                                        { 200, 1, 1 }, { 200, 2, 1 }, { 200, 2, 3 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        ks_blocktri_refine_report first = { 0, 0.0 };
        double *plain = NULL;
        for (int units = 0; units < BT_UNITS; ++units) {
            refined r = make(KS_BLOCKTRI_TWISTED, sizes[i][0], (int)sizes[i][1], (int)sizes[i][2], 1);
            const bt_system *s = &r.s;
            const int64_t size = s->n * s->nrhs;
            double *const z = bt_know(s), *const x = s->x;
            ks_blocktri_refine_report report;
            bt_change_units(s, units, 1);
            assert_int_equal(factorize(&r, NULL), KS_OK);
            assert_int_equal(solve(&r, NULL, &report), KS_OK);
            bt_change_units(s, units, -1);
            for (int64_t e = 0; e < s->N * size; ++e) {
                const double found = x[e / size * s->rhs_stride + e % size];
                if (!(fabs(found - z[e]) <= 5 * 2.3e-16 * (22 * 45 + 35)))
                    fail_msg("N %d, n %d, units %d: entry %d is off by %g", (int)s->N, s->n, units, (int)e,
                             found / z[e] - 1);
            }
            if (units == 0) {
                first = report;
                plain = malloc((size_t)(s->N * s->rhs_stride) * sizeof *plain);
                assert_non_null(plain);
                memcpy(plain, x, (size_t)(s->N * s->rhs_stride) * sizeof *plain);
            }
            assert_int_equal(report.steps, first.steps);
            assert_memory_equal(&report.residual, &first.residual, sizeof first.residual);
            for (int64_t k = 0; k < s->N; ++k)
                assert_memory_equal(x + k * s->rhs_stride, plain + k * s->rhs_stride, (size_t)size * sizeof *plain);
            free(z);
            release(&r);
        }
        free(plain);
    }
}

/* The backward error of S A S y = S b, y = S^-1 x; the system is replaced by that. */
static double scaled_backward_error(const refined *r)
{
    const bt_system *s = &r->s;
    const int64_t n = s->n;
    for (int64_t row = 0; row < s->N * n; ++row) {
        const int64_t k = row / n, i = row % n;
        for (int64_t j = 0; j < n; ++j) {
            ((double *)s->D)[k * s->stride + i * n + j] *= r->scale[row] * r->scale[k * n + j];
            if (k > 0) ((double *)s->L)[(k - 1) * s->stride + i * n + j] *= r->scale[row] * r->scale[(k - 1) * n + j];
        }
        for (int64_t c = 0; c < s->nrhs; ++c) {
            ((double *)s->b)[k * s->rhs_stride + i * s->nrhs + c] *= r->scale[row];
            ((double *)s->x)[k * s->rhs_stride + i * s->nrhs + c] /= r->scale[row];
        }
    }
    return bt_backward_error(&r->judge, s);
}

/* A factor of another matrix: of 16 A the corrections are too small to halve the residual, of
 * A / 16 the second makes it fifteen times larger and is taken back. Either way the report is
 * true, of rows in units of 1 and 1e-4, too. */
static void test_stops(void **state)
{
    (void)state;
    static const double factors[] = { 16.0, 1.0 / 16.0 };
    for (int trial = 0; trial < 4; ++trial) {
        const int f = trial / 2;
        refined r = make(KS_BLOCKTRI_SEQUENTIAL, 6, 3, 1, 1);
        const int64_t size = 6 * r.s.stride;
        ks_blocktri_refine_report report;
        bt_change_units(&r.s, trial % 2 * 2, 1);
        for (int64_t i = 0; i < size; ++i) {
            ((double *)r.s.D)[i] *= factors[f];
            ((double *)r.s.L)[i] *= factors[f];
        }
        assert_int_equal(factorize(&r, NULL), KS_OK);
        for (int64_t i = 0; i < size; ++i) {
            ((double *)r.s.D)[i] /= factors[f];
            ((double *)r.s.L)[i] /= factors[f];
        }
        assert_int_equal(solve(&r, NULL, &report), KS_OK);
        assert_int_equal(report.steps, f == 0 ? 1 : 0);
        assert_true(report.residual > 1e-3);
        const double judged = scaled_backward_error(&r);
        assert_true(fabs(report.residual - judged) <= 1e-12 * judged);
        release(&r);
    }
}

/* At most so many steps, and none where the first solution suffices. */
static void test_limits(void **state)
{
    (void)state;
    refined r = make(KS_BLOCKTRI_SEQUENTIAL, 6, 3, 1, 1);
    ks_blocktri_refine_limits limits = KS_BLOCKTRI_REFINE_INIT;
    ks_blocktri_refine_report none, one;
    assert_int_equal(factorize(&r, NULL), KS_OK);
    limits.steps = 0;
    assert_int_equal(solve(&r, &limits, &none), KS_OK);
    limits.steps = 1;
    assert_int_equal(solve(&r, &limits, &one), KS_OK);
    assert_int_equal(none.steps, 0);
    assert_int_equal(one.steps, 1);
    assert_true(one.residual < 1e-4 * none.residual);
    limits.steps = 30;
    limits.tolerance = 2.0 * none.residual;
    assert_int_equal(solve(&r, &limits, &one), KS_OK);
    assert_int_equal(one.steps, 0);
    release(&r);
}

static void test_failures(void **state)
{
    (void)state;
    refined r = make(KS_BLOCKTRI_SEQUENTIAL, 6, 3, 1, 1);
    ks_blocktri_info info = KS_BLOCKTRI_INFO_INIT;
    static const double bad[] = { 0.0, -1.0, (double)INFINITY, (double)NAN };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        const double good = *diagonal(&r, 4, 1);
        *diagonal(&r, 4, 1) = bad[i];
        assert_int_equal(factorize(&r, &info), KS_ENOTPD);
        assert_int_equal(info.status, KS_ENOTPD);
        assert_int_equal(info.block, 4);
        assert_int_equal(info.pivot, 1);
        *diagonal(&r, 4, 1) = good;
    }
    /* Positive definite, but not by as much as single precision resolves. */
    double *D = (double *)r.s.D + 5 * r.s.stride, *L = (double *)r.s.L + 4 * r.s.stride;
    memset(L, 0, 9 * sizeof *L);
    memset(D, 0, 9 * sizeof *D);
    D[0] = D[4] = D[8] = 1.0;
    D[3] = 1.0 - 1e-12;
    assert_int_equal(factorize(&r, &info), KS_ENOTPD);
    assert_int_equal(info.block, 5);
    assert_int_equal(info.pivot, 1);
    release(&r);
}

static void test_overflow(void **state)
{
    (void)state;
    refined r = make(KS_BLOCKTRI_SEQUENTIAL, 2, 1, 1, 1);
    *diagonal(&r, 0, 0) = *diagonal(&r, 1, 0) = 1e-200;
    *(double *)r.s.L = 0.0;
    *(double *)r.s.b = 1e200;
    assert_int_equal(factorize(&r, NULL), KS_OK);
    assert_int_equal(solve(&r, NULL, NULL), KS_ENONFINITE);
    release(&r);
}

/* All of A in another unit, and b in a third: the same digits, also where squares overflow. */
static void test_extremes(void **state)
{
    (void)state;
    static const int powers[][2] = { { 0, 0 }, { 900, 300 }, { -900, -300 }, { 600, 900 },
                                     { 0, -900 } };
    ks_blocktri_refine_report first = { 0, 0.0 };
    double *x = NULL;
    for (size_t p = 0; p < sizeof powers / sizeof *powers; ++p) {
        refined r = make(KS_BLOCKTRI_SEQUENTIAL, 6, 3, 1, 1);
        const int64_t size = 6 * r.s.stride, sides = 6 * r.s.rhs_stride;
        ks_blocktri_refine_report report;
        for (int64_t i = 0; i < size; ++i) {
            ((double *)r.s.D)[i] = ldexp(((double *)r.s.D)[i], powers[p][0]);
            ((double *)r.s.L)[i] = ldexp(((double *)r.s.L)[i], powers[p][0]);
        }
        for (int64_t i = 0; i < sides; ++i)
            ((double *)r.s.b)[i] = ldexp(((double *)r.s.b)[i], powers[p][1]);
        assert_int_equal(factorize(&r, NULL), KS_OK);
        assert_int_equal(solve(&r, NULL, &report), KS_OK);
        for (int64_t i = 0; i < sides; ++i)
            ((double *)r.s.x)[i] = ldexp(((double *)r.s.x)[i], powers[p][0] - powers[p][1]);
        if (p == 0) {
            first = report;
            x = malloc((size_t)sides * sizeof *x);
            assert_non_null(x);
            memcpy(x, r.s.x, (size_t)sides * sizeof *x);
        }
        assert_int_equal(report.steps, first.steps);
        assert_true(report.residual >= first.residual && report.residual <= first.residual);
        for (int k = 0; k < 6; ++k)
            assert_memory_equal((double *)r.s.x + k * r.s.rhs_stride, x + k * r.s.rhs_stride,
                                3 * sizeof *x);
        release(&r);
    }
    free(x);
}

static void test_threads(void **state)
{
    (void)state;
    for (int order = 1; order < KS_BLOCKTRI_ORDERS; ++order) {
        refined one = make((ks_blocktri_order)order, 50, 5, 3, 1);
        assert_int_equal(factorize(&one, NULL), KS_OK);
        assert_int_equal(solve(&one, NULL, NULL), KS_OK);
        for (int threads = 2; threads <= 5; ++threads) {
            refined many = make((ks_blocktri_order)order, 50, 5, 3, threads);
            assert_int_equal(factorize(&many, NULL), KS_OK);
            assert_int_equal(solve(&many, NULL, NULL), KS_OK);
            assert_memory_equal(one.s.x, many.s.x,
                                (size_t)(50 * one.s.rhs_stride - 3) * sizeof(double));
            release(&many);
        }
        release(&one);
    }
}

static void test_arguments(void **state)
{
    (void)state;
    refined r = make(KS_BLOCKTRI_PARTITION, 6, 3, 2, 1);
    const ks_blocktri_matrix A = bt_matrix(&r.s);
    const ks_blocktri_factor *f = &r.single.factor;
    const ks_blocktri_plan *p = r.single.plan, *wide = r.judge.plan;
    const ks_const_blocks b = bt_b(&r.s), none = { NULL, 0 };
    const ks_blocks x = bt_x(&r.s), over = { r.s.b, r.s.rhs_stride };
    ks_blocktri_info info = KS_BLOCKTRI_INFO_INIT;
    ks_blocktri_refine_limits limits = KS_BLOCKTRI_REFINE_INIT;
    double logdet;
    assert_int_equal(ks_blocktri_refine_workspace_bytes(wide, 1), 0);
    assert_int_equal(ks_blocktri_refine_workspace_bytes(NULL, 1), 0);
    assert_int_equal(ks_blocktri_refine_workspace_bytes(p, 0), 0);
    assert_int_equal(ks_blocktri_refine_factorize(wide, &A, f, r.scale, r.work, &info), KS_EINVAL);
    assert_int_equal(info.status, KS_EINVAL);
    assert_int_equal(ks_blocktri_refine_factorize(p, NULL, f, r.scale, r.work, NULL), KS_EINVAL);
    assert_int_equal(ks_blocktri_refine_factorize(p, &A, NULL, r.scale, r.work, NULL), KS_EINVAL);
    assert_int_equal(ks_blocktri_refine_factorize(p, &A, f, NULL, r.work, NULL), KS_EINVAL);
    assert_int_equal(ks_blocktri_refine_factorize(p, &A, f, r.scale, NULL, NULL), KS_EINVAL);
    info.size = 0;
    assert_int_equal(ks_blocktri_refine_factorize(p, &A, f, r.scale, r.work, &info), KS_EINVAL);
    assert_int_equal(factorize(&r, NULL), KS_OK);

#define SOLVE(plan, nrhs, b, x, work)                                                            \
    ks_blocktri_refine_solve(plan, &A, f, r.scale, nrhs, b, x, &limits, work, NULL)
    assert_int_equal(SOLVE(wide, 2, b, x, r.work), KS_EINVAL);
    assert_int_equal(SOLVE(p, 0, b, x, r.work), KS_EINVAL);
    assert_int_equal(SOLVE(p, 2, none, x, r.work), KS_EINVAL);
    assert_int_equal(SOLVE(p, 2, b, over, r.work), KS_EINVAL);
    assert_int_equal(SOLVE(p, 2, b, x, NULL), KS_EINVAL);
    limits.tolerance = (double)NAN;
    assert_int_equal(SOLVE(p, 2, b, x, r.work), KS_EINVAL);
    limits.tolerance = 0.0;
    limits.steps = -1;
    assert_int_equal(SOLVE(p, 2, b, x, r.work), KS_EINVAL);
    limits.steps = 3;
    limits.size = 1;
    assert_int_equal(SOLVE(p, 2, b, x, r.work), KS_EINVAL);
#undef SOLVE
    assert_int_equal(ks_blocktri_refine_logdet(wide, f, r.scale, &logdet), KS_EINVAL);
    assert_int_equal(ks_blocktri_refine_logdet(p, f, NULL, &logdet), KS_EINVAL);
    assert_int_equal(ks_blocktri_refine_logdet(p, f, r.scale, NULL), KS_EINVAL);
    release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders),   cmocka_unit_test(test_units),    cmocka_unit_test(test_known),
        cmocka_unit_test(test_stops),    cmocka_unit_test(test_limits),
        cmocka_unit_test(test_failures), cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_extremes), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
