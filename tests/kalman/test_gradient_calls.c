/* test_gradient_calls.c -- how ks_gradient_run() is called: sums over steps and series on any number of threads, rows,
 * plans, what it refuses, memory that fails it, and how it is stopped. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "failalloc.h"
#include "gradient_case.h"
#include "kalscan/diffuse.h"
#include "stopper.h"

static const double identity[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 }, identity_of_two[4] = { 1, 0, 0, 1 };

/** Shares of steps and of series add up to the sums, and threads change no bit. */
static void sums_of(const double *P0_inf)
{
    enum { T = 30, B = 5, N = 3, M = 2 };
    problem p = problem_of(model_random((model_spec){ 630, T, B, N, M, KS_PRIOR_X0, HAS_OFFSETS | MISSING }), KS_INTO);
    p.P0_inf.data = P0_inf;
    const int64_t block[ARRAYS] = { N * N, N * N, N, M * N, M * M, M, N, N * N };
    double *each[ARRAYS], *steps[ARRAYS];
    ks_gradient by_each = KS_GRADIENT_INIT, by_step = KS_GRADIENT_INIT;
    for (int a = 0; a < ARRAYS; ++a) {
        each[a] = zeroed(T * B * N * N, sizeof(double));
        steps[a] = zeroed(T * N * N, sizeof(double));
        *output_of(&by_each, a) = (ks_out){ each[a], block[a], T * block[a] };
        *output_of(&by_step, a) = (ks_out){ steps[a], block[a], 0 };
    }
    assert_int_equal(run_gradient(&p, &by_each, 2, NULL), KS_OK);
    assert_int_equal(run_gradient(&p, &by_step, 2, NULL), KS_OK);
    for (int threads = 1; threads <= 4; ++threads) {
        double *first[ARRAYS];
        for (int a = 0; a < ARRAYS; ++a) {
            first[a] = zeroed((size_t)block[a], sizeof(double));
            if (threads > 1) memcpy(first[a], p.by[a], (size_t)block[a] * sizeof(double));
        }
        differentiate(&p, threads);
        for (int a = 0; a < ARRAYS; ++a) {
            if (threads > 1) assert_memory_equal(first[a], p.by[a], (size_t)block[a] * sizeof(double));
            free(first[a]);
        }
    }
    for (int a = 0; a < ARRAYS; ++a) {
        const int64_t rows = a < BY_M0 ? T : 1;
        for (int64_t i = 0; i < block[a]; ++i) {
            double sum = 0, by_steps = 0, size = 0;
            for (int64_t k = 0; k < rows; ++k) {
                for (int64_t b = 0; b < B; ++b) {
                    sum += each[a][(b * T + k) * block[a] + i];
                    size += fabs(each[a][(b * T + k) * block[a] + i]);
                }
                by_steps += steps[a][k * block[a] + i];
            }
            assert_true(fabs(sum - p.by[a][i]) <= 1e-13 * size && fabs(by_steps - p.by[a][i]) <= 1e-13 * size);
        }
        free(each[a]);
        free(steps[a]);
    }
    problem_drop(&p);
}

static void sums(void **state)
{
    (void)state;
    sums_of(NULL);
}

static void sums_of_a_diffuse_prior(void **state)
{
    (void)state;
    sums_of(identity);
}

/** Rows of a transition are numbered as the model says also if it does not vary: those that lead out of a step are those
 *  that lead into the next. */
static void rows_of_constant_models(void **state)
{
    (void)state;
    enum { T = 7, N = 2 };
    for (int which = 0; which < 3; ++which) {
        problem p = problem_of(model_random((model_spec){ 680, T, 1, N, 1, KS_PRIOR_X1, HAS_OFFSETS }), KS_INTO);
        double into[T * N * N], out_of[T * N * N];
        const int64_t block = which == BY_U ? N : N * N;
        for (int i = 0; i < T * N * N; ++i) out_of[i] = 77;
        for (int out = 0; out < 2; ++out) {
            ks_gradient o = KS_GRADIENT_INIT;
            p.model.transition = out ? KS_OUT_OF : KS_INTO;
            *output_of(&o, which) = (ks_out){ out ? out_of : into, block, 0 };
            assert_int_equal(run_gradient(&p, &o, 1, NULL), KS_OK);
        }
        assert_memory_equal(out_of, into + block, (size_t)((T - 1) * block) * sizeof(double));
        for (int64_t i = 0; i < block; ++i) assert_true(into[i] == 0 && out_of[(T - 1) * block + i] == 77);
        problem_drop(&p);
    }
}

/** What else a plan makes does not matter: not even an x[-1] that the model does not have, or that a transition ends. */
static void any_plan(void **state)
{
    (void)state;
    problem p = problem_of(model_random((model_spec){ 690, 12, 1, 2, 1, KS_PRIOR_X1, 0 }), KS_INTO);
    for (int diffuse_too = 0; diffuse_too < 2; ++diffuse_too) {
        double number[2][4] = { { 0 } };
        if (diffuse_too) {
            p.model.prior = KS_PRIOR_X0;
            p.P0_inf.data = identity_of_two;
            p.g->F.f64[2] = p.g->F.f64[3] = 0; /* singular */
        }
        for (int all = 0; all < 2; ++all) {
            const ks_smooth_options usual = KS_SMOOTH_OPTIONS_INIT;
            ks_gradient o = KS_GRADIENT_INIT;
            p.options.outputs = usual.outputs | (all ? KS_OUT_PRIOR_MEAN | KS_OUT_LAG_ONE_COV : 0);
            o.F = (ks_out){ number[all], 0, 0 };
            assert_int_equal(run_gradient(&p, &o, 1, NULL), KS_OK);
        }
        assert_memory_equal(number[0], number[1], sizeof number[0]);
    }
    problem_drop(&p);
}

/** Observations that do not tell all of a diffuse prior; of several series, the one. */
static void not_told(void **state)
{
    (void)state;
    problem p = problem_of(model_random((model_spec){ 695, 10, 3, 2, 1, KS_PRIOR_X1, 0 }), KS_INTO);
    double number[4];
    ks_gradient o = KS_GRADIENT_INIT;
    ks_info info = KS_INFO_INIT;
    p.P0_inf.data = identity_of_two;
    o.Q = (ks_out){ number, 0, 0 };
    assert_int_equal(run_gradient(&p, &o, 2, &info), KS_OK);
    for (int k = 1; k < 10; ++k) p.g->y.f64[10 + k] = (double)NAN;
    assert_int_equal(run_gradient(&p, &o, 2, &info), KS_EREFUSED);
    assert_true(info.series == 1 && info.array == KS_ARRAY_P0 && info.fault == KS_FAULT_NOT_FINITE);
    assert_int_equal(info.suggestion, KS_METHOD_AUTO);
    problem_drop(&p);
}

static void refused(void **state)
{
    (void)state;
    problem p = problem_of(model_random((model_spec){ 650, 50, 3, 2, 2, KS_PRIOR_X0, VARIES_R }), KS_INTO);
    double numbers[50 * 4];
    ks_gradient o = KS_GRADIENT_INIT;
    ks_info info = KS_INFO_INIT;
    assert_int_equal(run_gradient(&p, &o, 1, &info), KS_EINVAL); /* nothing is asked for */
    o.loglik = (ks_out){ numbers, 0, 0 };
    assert_int_equal(run_gradient(&p, &o, 1, &info), KS_EINVAL);
    o.F = (ks_out){ numbers, 3, 0 };
    assert_int_equal(run_gradient(&p, &o, 1, &info), KS_EINVAL);
    o.F = (ks_out){ (char *)numbers + 1, 4, 0 };
    assert_int_equal(run_gradient(&p, &o, 1, &info), KS_EINVAL);
    o.F = (ks_out){ numbers, 0, 0 };
    p.model.H.data = NULL;
    assert_int_equal(run_gradient(&p, &o, 1, &info), KS_EINVAL);
    assert_int_equal(info.array, KS_ARRAY_H);
    p.model = golden_model(p.g, KS_F64);
    p.g->y.f64[(50 + 30) * 2 + 1] = (double)INFINITY;
    assert_int_equal(run_gradient(&p, &o, 2, &info), KS_EMODEL);
    assert_true(info.series == 1 && info.step == 30 && info.row == 1 && info.array == KS_ARRAY_Y);
    p.g->y.f64[(50 + 30) * 2 + 1] = 0;
    for (int i = 0; i < 4; ++i) model_block(&p.g->R, 0, 20)[i] = i % 3 ? 0 : -1e9;
    assert_int_equal(run_gradient(&p, &o, 2, &info), KS_ENOTPD);
    assert_true(info.series == 0 && info.step == 20 && info.array == KS_ARRAY_INNOVATION_COV);
    problem_drop(&p);

    p = problem_of(model_random((model_spec){ 650, 50, 3, 2, 2, KS_PRIOR_X0, 0 }), KS_INTO);
    p.options.precision = KS_F32;
    assert_int_equal(run_gradient(&p, &o, 1, &info), KS_EINVAL);
    p.options.precision = KS_MIXED;
    assert_int_equal(run_gradient(&p, &o, 1, &info), KS_OK);
    assert_int_equal(ks_gradient_workspace_bytes(NULL), 0);
    assert_int_equal(ks_gradient_run(NULL, &p.model, p.P0_inf, golden_y(p.g, KS_F64), &o, numbers, &info), KS_EINVAL);
    problem_drop(&p);
}

/** Four states that shrink are told of by what 64 steps have left of them: nothing. The refusal is told, whatever the
 *  workspace held. */
static void told_too_late(void **state)
{
    (void)state;
    static const double F[] = { -0.0016504965, -0.0297631826, -0.192714795, 0.0212858915, -0.141395196, -0.0744570792,
                                -0.132276312, -0.0957458243, -0.115122065, -0.0846818537, -0.0713067576, 0.141871035,
                                -0.324502558, 0.0353767388, -0.157550991, -0.132499978 };
    static const double H[] = { 1, 0.5, -0.3, 0.2 };
    static const double identity_of_four[] = { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1 };
    problem p = problem_of(model_random((model_spec){ 655, 80, 1, 4, 1, KS_PRIOR_X1, 0 }), KS_INTO);
    double loglik = 17, number[16];
    ks_gradient o = KS_GRADIENT_INIT;
    ks_info info = KS_INFO_INIT;
    o.loglik = (ks_out){ &loglik, 0, 0 };
    o.F = (ks_out){ number, 0, 0 };
    memcpy(p.g->F.f64, F, sizeof F);
    memcpy(p.g->H.f64, H, sizeof H);
    memcpy(p.g->Q.f64, identity_of_four, sizeof identity_of_four);
    memset(p.g->P0.f64, 0, sizeof F);
    memset(p.g->m0.f64, 0, sizeof H);
    p.g->R.f64[0] = 1;
    for (int k = 0; k < 80; ++k) p.g->y.f64[k] = k < 64 ? (double)NAN : sin(k);
    p.P0_inf.data = identity_of_four;
    assert_int_equal(run_gradient(&p, &o, 1, &info), KS_EREFUSED);
    assert_true(info.array == KS_ARRAY_P0 && info.series == 0 && loglik == 17);
    problem_drop(&p);
}

/** Observations without noise of a direction: the log-likelihood is that of ks_diffuse_run(). */
static void told_without_noise(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; ++seed)
        for (int n = 1; n <= 2; ++n) {
            problem p = problem_of(model_random((model_spec){ 657 + seed, 6, 1, n, 1, KS_PRIOR_X1, 0 }), KS_INTO);
            const double F[] = { 1, 1, 0, 1 }, Q[] = { 1, 0, 0, 0.125 };
            const unsigned outputs = KS_OUT_LOGLIK;
            const method_case filter = { KS_JOB_FILTER, KS_METHOD_SEQUENTIAL, 0, 1, 0 };
            const ks_smooth_options options = options_of(&filter, KS_F64, outputs);
            double by[4], loglik = 0;
            golden *g = p.g;
            ks_gradient o = KS_GRADIENT_INIT;
            ks_smooth_plan *plan = NULL;
            for (int i = 0; i < n * n; ++i) {
                g->F.f64[i] = n == 1 ? 1 : F[i];
                g->Q.f64[i] = n == 1 ? 1 : Q[i];
            }
            for (int i = 0; i < n; ++i) g->H.f64[i] = i == 0 ? 0.7 : 0;
            g->R.f64[0] = 0;
            memset(g->P0.f64, 0, (size_t)(n * n) * sizeof(double));
            memset(g->m0.f64, 0, (size_t)n * sizeof(double));
            for (int k = 0; k < 6; ++k) g->y.f64[k] *= 1000;
            p.model = golden_model(g, KS_F64);
            p.P0_inf.data = n == 1 ? identity : identity_of_two;
            o.loglik = (ks_out){ &p.loglik, 0, 0 };
            o.Q = (ks_out){ by, 0, 0 };
            assert_int_equal(run_gradient(&p, &o, 1, NULL), KS_OK);
            golden_buffers *b = golden_buffers_new(6, 1, n, 1, KS_F64, outputs);
            assert_int_equal(ks_smooth_plan_create(&plan, NULL, 6, 1, n, 1, &options), KS_OK);
            assert_int_equal(ks_diffuse_run(plan, &p.model, p.P0_inf, golden_y(g, KS_F64), golden_outputs(b), NULL, NULL),
                             KS_OK);
            loglik = golden_widen(b)->array[__builtin_ctz(KS_OUT_LOGLIK)][0];
            if (!(fabs(p.loglik - loglik) <= 1e-8 * fmax(1, fabs(loglik))))
                fail_msg("seed %d, %d states: %.12g, expected %.12g", (int)seed, n, p.loglik, loglik);
            ks_smooth_plan_destroy(plan);
            golden_buffers_free(b);
            problem_drop(&p);
        }
}

/** A run can be stopped at each call of the progress function. */
static void stopped(void **state)
{
    (void)state;
    problem p = problem_of(model_random((model_spec){ 660, 300, 1, 2, 1, KS_PRIOR_X0, 0 }), KS_INTO);
    double number[4];
    for (int diffuse_too = 0; diffuse_too < 2; ++diffuse_too) {
        ks_gradient o = KS_GRADIENT_INIT;
        stopper s = { 0, 0 };
        ks_status status = KS_ECANCELED;
        o.Q = (ks_out){ number, 0, 0 };
        p.P0_inf.data = diffuse_too ? identity_of_two : NULL;
        p.options.progress = stopping;
        p.options.progress_user = &s;
        for (int at = 1; status == KS_ECANCELED; ++at) {
            s = (stopper){ 0, at };
            status = run_gradient(&p, &o, 1, NULL);
        }
        assert_int_equal(status, KS_OK);
        /* Segments of 18 steps, there and back; of a diffuse prior once more there. */
        assert_int_equal(s.calls, (2 + diffuse_too) * 17);
    }
    problem_drop(&p);
}

/** With a finite prior a run allocates nothing. With a diffuse one any allocation may fail, and leaves nothing. */
static void memory_fails(void **state)
{
    (void)state;
    problem p = problem_of(model_random((model_spec){ 665, 20, 2, 3, 2, KS_PRIOR_X0, MISSING }), KS_INTO);
    failalloc memory = FAILALLOC_INIT;
    const ks_allocator allocator = failalloc_allocator(&memory);
    double number[9];
    long calls[2];
    ks_gradient o = KS_GRADIENT_INIT;
    o.Q = (ks_out){ number, 0, 0 };
    p.memory = &allocator;
    for (int diffuse_too = 0; diffuse_too < 2; ++diffuse_too) {
        ks_status status = KS_ENOMEM;
        p.P0_inf.data = diffuse_too ? identity : NULL;
        for (long at = 1; status == KS_ENOMEM; ++at) {
            atomic_store(&memory.calls, 0);
            atomic_store(&memory.fail_at, at);
            status = run_gradient(&p, &o, 1, NULL);
            assert_int_equal(atomic_load(&memory.live), 0);
            calls[diffuse_too] = at - 1;
        }
        assert_int_equal(status, KS_OK);
    }
    /* A context and a plan; starts, and of each series what is unknown, a filter and a reference. */
    assert_true(calls[0] <= 3 && calls[1] >= calls[0] + 1 + 2 * 3);
    problem_drop(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums),
        cmocka_unit_test(sums_of_a_diffuse_prior),
        cmocka_unit_test(rows_of_constant_models),
        cmocka_unit_test(any_plan),
        cmocka_unit_test(not_told),
        cmocka_unit_test(refused),
        cmocka_unit_test(told_too_late),
        cmocka_unit_test(told_without_noise),
        cmocka_unit_test(stopped),
        cmocka_unit_test(memory_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
