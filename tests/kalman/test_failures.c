/* test_failures.c -- runs that must fail: with the right status, and the place named. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "models.h"
#include "run_case.h"
#include "sanitizers.h"

typedef struct expected {
    ks_status status;
    ks_array array;
    ks_fault fault;
    int64_t series, step;
    int row;
} expected;

static void fails_as(const golden *g, const method_case *m, int precision, expected e)
{
    golden_buffers *b = NULL;
    ks_info info = KS_INFO_INIT;
    const ks_status status = run_case(g, m, (ks_precision)precision, 1, outputs_made(m), &b,
                                      &info);
    golden_buffers_free(b);
    if (status != e.status || info.status != e.status || info.array != e.array ||
        info.fault != e.fault || info.series != e.series || info.step != e.step ||
        (e.row >= 0 && info.row != e.row))
        fail_msg("%s in %s: %s, %s, fault %d, series %lld, step %lld, row %d", method_case_name(m),
                 precision == KS_F64 ? "f64" : "f32", ks_status_name(status),
                 ks_array_name(info.array), (int)info.fault, (long long)info.series,
                 (long long)info.step, info.row);
    assert_int_equal(info.method,
                     m->method == KS_METHOD_AUTO ? KS_METHOD_SEQUENTIAL : m->method);
    if (status != KS_EREFUSED) assert_int_equal(info.suggestion, KS_METHOD_AUTO);
}

static void with_all(const golden *g, expected e)
{
    for (int i = 0; i < all_methods_count; ++i)
        for (int p = 0; p < 2 + takes_mixed(&all_methods[i]); ++p) fails_as(g, &all_methods[i], p, e);
}

static void infinite_entry(void **state)
{
    (void)state;
    static const int64_t steps[] = { 0, 1, 17, 39 };
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; ++i)
        for (int kind = 0; kind < (ALL_ON_DEVICE ? 2 : 4); ++kind) {
            const int nx = kind < 2 ? 2 : 2 * kind, sign = kind % 2 ? 1 : -1;
            golden *g = model_random((model_spec){ 81, 40, 2, nx, 3, KS_PRIOR_X0, MISSING });
            model_block(&g->y, 1, steps[i])[2] = sign * (double)INFINITY;
            if (kind > 1) model_block(&g->y, 1, steps[i])[0] = (double)NAN;
            model_round(g);
            with_all(g, (expected){ KS_EMODEL, KS_ARRAY_Y, KS_FAULT_NOT_FINITE, 1, steps[i], 2 });
            golden_free(g);
        }
}

/** Two exact measurements of the same thing: S is singular at the second entry. */
static void singular_innovation(void **state)
{
    (void)state;
    for (int64_t step = 0; step < 12; step += 11) {
        golden *g = model_random((model_spec){ 82, 12, 1, 2, 3, KS_PRIOR_X0,
                                               VARIES_R | VARIES_H });
        double *H = model_block(&g->H, 0, step);
        memset(model_block(&g->R, 0, step), 0, 9 * sizeof(double));
        memcpy(H + 2, H, 2 * sizeof *H);
        model_round(g);
        for (int i = 0; i < all_methods_count; ++i)
            for (int p = 0; p < 2 + takes_mixed(&all_methods[i]); ++p) {
                const method_case *m = &all_methods[i];
                if (is_map(m) || (is_two_ended(m) && step > 0)) { /* R alone is singular there */
                    fails_as(g, m, p, (expected){ KS_EREFUSED, KS_ARRAY_R, KS_FAULT_NOT_POSITIVE,
                                                  0, step, 0 });
                    continue;
                }
                /* The scans meet it in H Q H' + R, but for step 0, of which no element is made. */
                const int refused = is_scan(m) && step > 0;
                fails_as(g, m, p,
                         (expected){ refused ? KS_EREFUSED : KS_ENOTPD,
                                     refused ? KS_ARRAY_ELEMENT_COV : KS_ARRAY_INNOVATION_COV,
                                     KS_FAULT_NOT_POSITIVE, 0, step, 1 });
            }
        golden_free(g);
    }
}

/** Two measurements whose errors are nearly the same: R is positive definite, and smoothing from both ends has to
 *  invert it. */
static void noise_nearly_singular(void **state)
{
    static const int sizes[] = { 1, 2, 4, 5, 8, 9 };
    (void)state;
    for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; ++n)
        for (int i = 0; i < all_methods_count; ++i)
            for (int p = 0; p < 2 && is_two_ended(&all_methods[i]); ++p) {
                golden *g = model_random((model_spec){ 86, 30, 1, sizes[n], 2, KS_PRIOR_X0, VARIES_R });
                const double beside = p == KS_F64 ? 0x1p-33 : 0x1p-15, unit = p == KS_F64 ? 0x1p-53 : 0x1p-24;
                double *R = model_block(&g->R, 0, 27);
                model_round(g); /* to float, where there is no number so near to 1 */
                R[0] = R[3] = 1;
                R[1] = R[2] = 1 - beside;
                if (p == KS_F32) model_round(g);
                golden_buffers *b = NULL;
                ks_info info = KS_INFO_INIT;
                fails_as(g, &all_methods[i], p,
                         (expected){ KS_EREFUSED, KS_ARRAY_R, KS_FAULT_ILL_CONDITIONED, 0, 27, 1 });
                (void)run_case(g, &all_methods[i], (ks_precision)p, 1, outputs_made(&all_methods[i]), &b, &info);
                golden_buffers_free(b);
                const double error = unit / (2 * beside); /* of what the second tells beside the first */
                assert_true(info.value > 0.99 * error && info.value < 1.01 * error);
                golden_free(g);
            }
}

/** Nothing is random: S = 0. */
static void nothing_is_random(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 83, 5, 1, 2, 1, KS_PRIOR_X0,
                                           NO_Q | NO_P0 | EXACT_ENTRY });
    const expected singular = { KS_ENOTPD, KS_ARRAY_INNOVATION_COV, KS_FAULT_NOT_POSITIVE, 0, 0, 0 };
    const expected prior = { KS_EREFUSED, KS_ARRAY_PRIOR_COV, KS_FAULT_NOT_POSITIVE, 0, 0, 0 };
    for (int i = 0; i < all_methods_count; ++i)
        for (int p = 0; p < 2 + takes_mixed(&all_methods[i]); ++p)
            fails_as(g, &all_methods[i], p, is_map(&all_methods[i]) ? prior : singular);
    golden_free(g);
}

/** A state that nobody observes and that doubles: it overflows, and success would be a lie. */
static void overflow_of_what_is(unsigned flags)
{
    const int64_t T = 700;
    golden *g = model_random((model_spec){ 85, T, 1, 2, 1, KS_PRIOR_X0, flags });
    const double F[4] = { 4, 0, 0, 0.5 };
    memcpy(g->F.f64, F, sizeof F);
    g->H.f64[0] = 0;
    /* Where its covariance is no sign of it, neither is an innovation. */
    for (int64_t k = 0; k < T && flags; ++k) g->y.f64[k] = (double)NAN;
    model_round(g);
    for (int i = 0; i < all_methods_count; ++i)
        for (int p = 0; p < 2 + takes_mixed(&all_methods[i]); ++p) {
            const method_case *m = &all_methods[i];
            golden_buffers *b = NULL;
            ks_info info = KS_INFO_INIT;
            const ks_status status =
                run_case(g, m, (ks_precision)p, 1, outputs_made(m), &b, &info);
            /* Long before it overflows, the Hessian knows nothing of it any more. */
            const ks_array lost = flags & NO_P0 ? KS_ARRAY_PRIOR_COV : KS_ARRAY_HESSIAN;
            const int estimate = is_map(m)
                                     ? status == KS_EREFUSED && info.array == lost &&
                                           info.suggestion == KS_METHOD_SEQUENTIAL
                                     : status == KS_ENONFINITE &&
                                           info.array == KS_ARRAY_ESTIMATE &&
                                           info.fault == KS_FAULT_NOT_FINITE;
            if (!estimate || info.step < 0 || info.step >= T)
                fail_msg("%s in %s: %s, %s at step %lld", method_case_name(m),
                         p == KS_F64 ? "f64" : "f32", ks_status_name(status),
                         ks_array_name(info.array), (long long)info.step);
            golden_buffers_free(b);
        }
    golden_free(g);
}

static void overflow_of_the_estimate(void **state)
{
    (void)state;
    overflow_of_what_is(0);
}

/** Where nothing is uncertain it is the mean alone that overflows, its covariance is zero. */
static void overflow_of_the_mean(void **state)
{
    (void)state;
    overflow_of_what_is(NO_Q | NO_P0);
}

typedef struct stopper { int calls, stop_at; int64_t last, total; int backwards, whole, flushed; } stopper;

static int stopping(void *user, int64_t done, int64_t total)
{
    stopper *s = user;
    volatile double least = DBL_MIN;
    least /= 4; /* a denormal number, but to the arithmetic around this */
    s->flushed |= !(least > 0);
    s->backwards |= done < s->last || done > total || total < 1;
    s->whole += done == total;
    s->last = done;
    s->total = total;
    return ++s->calls == s->stop_at;
}

static ks_status run_stopped(const golden *g, const method_case *m, int threads, stopper *s,
                             ks_info *info)
{
    ks_smooth_options o = options_of(m, KS_F64, outputs_made(m));
    golden_buffers *b = NULL;
    o.progress = stopping;
    o.progress_user = s;
    const ks_model model = golden_model(g, KS_F64);
    const ks_status status = run_model(g, &model, golden_y(g, KS_F64), &o, threads, &b, info);
    golden_buffers_free(b);
    return status;
}

/** The progress function is called in every method, in the caller's floating-point mode, moves forward, and can stop
 *  the run at its first call and at its last. */
static void cancellation(void **state)
{
    (void)state;
    /* A device is asked series by series, the CPU every 4096 steps. */
    const int64_t T = ALL_ON_DEVICE ? 9 : 3 * 4096 + 5;
    golden *g = model_random((model_spec){ 87, T, 1, 1, 1, KS_PRIOR_X0, 0 });
    for (int i = 0; i < all_methods_count; ++i)
        for (int threads = SANITIZED ? 3 : 1; threads <= 3; threads += 2) {
            const method_case *m = &all_methods[i];
            stopper all = { 0 };
            ks_info info = KS_INFO_INIT;
            assert_int_equal(run_stopped(g, m, threads, &all, &info), KS_OK);
            if (all.calls == 0 || all.backwards || all.flushed)
                fail_msg("%s on %d threads: %d calls of the progress function%s%s",
                         method_case_name(m), threads, all.calls,
                         all.backwards ? ", backwards" : "", all.flushed ? ", without denormal numbers" : "");
            /* On one thread all of the work is the caller's. */
            if (threads == 1 && all.whole != 1)
                fail_msg("%s: %d of %d calls of the progress function say that all is done, %lld of %lld the last",
                         method_case_name(m), all.whole, all.calls, (long long)all.last, (long long)all.total);
            const int at[2] = { 1, all.calls };
            for (int j = 0; j < 2; ++j) {
                stopper s = { 0 };
                s.stop_at = at[j];
                const ks_status status = run_stopped(g, m, threads, &s, &info);
                if (status != KS_ECANCELED || info.status != KS_ECANCELED || s.calls != at[j])
                    fail_msg("%s on %d threads, stopped at call %d of %d: %s, %d calls",
                             method_case_name(m), threads, at[j], all.calls,
                             ks_status_name(status), s.calls);
            }
        }
    golden_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(infinite_entry),   cmocka_unit_test(singular_innovation),
        cmocka_unit_test(noise_nearly_singular),
        cmocka_unit_test(nothing_is_random), cmocka_unit_test(overflow_of_the_estimate),
        cmocka_unit_test(overflow_of_the_mean), cmocka_unit_test(cancellation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
