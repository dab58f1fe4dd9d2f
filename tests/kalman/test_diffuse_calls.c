/* test_diffuse_calls.c -- how ks_diffuse_run() is called: threads, absent parts of the prior, what cannot be done, and
 * memory that fails it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "diffuse_case.h"
#include "failalloc.h"

static const method_case filter = { KS_JOB_FILTER, KS_METHOD_SEQUENTIAL, KS_SCAN_HILLIS_STEELE, 1, KS_BLOCKTRI_AUTO };
static const method_case smoother = { KS_JOB_SMOOTH, KS_METHOD_SEQUENTIAL, KS_SCAN_HILLIS_STEELE, 1, KS_BLOCKTRI_AUTO };
static const double identity[] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 };

static golden *model_of(int64_t T, int64_t B, ks_prior prior)
{
    return model_random((model_spec){ 50, T, B, 3, 2, prior, HAS_OFFSETS | MISSING });
}

/* States without noise, each of which shrinks at its own pace: the steps after the start run twice. */
static golden *shrinking(int64_t T, int64_t B)
{
    const double F[] = { 0.5, 0, 0, 0, 0.25, 0, 0, 0, 0.125 }, H[] = { 1, 1, 1 };
    golden *g = model_random((model_spec){ 50, T, B, 3, 1, KS_PRIOR_X0, HAS_OFFSETS | MISSING });
    memcpy(g->F.f64, F, sizeof F);
    memcpy(g->H.f64, H, sizeof H);
    memset(g->Q.f64, 0, sizeof F);
    return g;
}

static void same_bits(const golden *g, const method_case *m)
{
    diffuse_case one = { .g = g, .P0_inf = identity, .m = m };
    diffuse_well(&one);
    for (int threads = 2; threads <= 5; ++threads) {
        diffuse_case many = { .g = g, .P0_inf = identity, .m = m, .threads = threads };
        diffuse_well(&many);
        assert_int_equal(first_different(one.buffers, many.buffers, one.outputs), 0);
        assert_int_equal(one.steps, many.steps);
        golden_buffers_free(many.buffers);
    }
    golden_buffers_free(one.buffers);
}

static void same_bits_on_threads(void **state)
{
    (void)state;
    golden *g = model_of(301, 3, KS_PRIOR_X0), *alone = shrinking(101, 3);
    for (int a = 0; a < all_methods_count; ++a) same_bits(g, &all_methods[a]);
    same_bits(alone, &smoother);
    golden_free(alone);
    golden_free(g);
}

/* Without directions it is an ordinary run. */
static void nothing_infinite(void **state)
{
    (void)state;
    const double zero[9] = { 0 };
    golden *g = model_of(101, 2, KS_PRIOR_X1);
    for (int a = 0; a < all_methods_count; ++a) {
        diffuse_case c = { .g = g, .P0_inf = zero, .m = &all_methods[a] };
        diffuse_well(&c);
        golden_buffers *ordinary = run_well(g, c.m, KS_F64, 1, c.outputs, NULL);
        assert_int_equal(first_different(c.buffers, ordinary, c.outputs), 0);
        assert_int_equal(c.steps, 0);
        golden_buffers_free(ordinary);
        golden_buffers_free(c.buffers);
    }
    golden_free(g);
}

static void absent_is_zero(void **state)
{
    (void)state;
    golden *g = model_of(40, 1, KS_PRIOR_X0);
    memset(g->m0.f64, 0, 3 * sizeof(double));
    memset(g->P0.f64, 0, 9 * sizeof(double));
    diffuse_case given = { .g = g, .P0_inf = identity, .m = &smoother };
    diffuse_well(&given);
    double *m0 = g->m0.f64, *P0 = g->P0.f64;
    g->m0.f64 = g->P0.f64 = NULL;
    diffuse_case absent = { .g = g, .P0_inf = identity, .m = &smoother };
    diffuse_well(&absent);
    assert_int_equal(first_different(given.buffers, absent.buffers, given.outputs), 0);
    g->m0.f64 = m0;
    g->P0.f64 = P0;
    golden_buffers_free(given.buffers);
    golden_buffers_free(absent.buffers);
    golden_free(g);
}

/* In a batch a series has the estimates that it has alone, if also another one needs more steps. */
static void series_of_a_batch(void **state)
{
    (void)state;
    enum { T = 60, LATE = 9 };
    golden *g = model_of(T, 3, KS_PRIOR_X1);
    for (int64_t k = 0; k < LATE; ++k)
        for (int i = 0; i < 2; ++i) model_block(&g->y, 1, k)[i] = (double)NAN;
    model_round(g);
    diffuse_case all = { .g = g, .P0_inf = identity, .m = &smoother };
    all.outputs = KS_OUT_LOGLIK | KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_LAG_ONE_COV;
    diffuse_well(&all);
    assert_true(all.steps > LATE && all.steps < T);
    for (int64_t b = 0; b < 3; ++b) {
        golden *own = model_series(g, b);
        diffuse_case one = { .g = own, .P0_inf = identity, .m = &smoother, .outputs = all.outputs };
        diffuse_well(&one);
        assert_true(b == 1 ? one.steps == all.steps : one.steps < all.steps);
        golden_results *mine = results_new(T, 1, 3, 2, all.outputs);
        for (unsigned bit = 1; bit <= all.outputs; bit <<= 1)
            if (all.outputs & bit)
                results_copy(mine, 0, 0, golden_widen(all.buffers), b, (ks_output)bit, bit == KS_OUT_LOGLIK ? 1 : T);
        const golden_difference d =
            golden_compare(mine, golden_widen(one.buffers), all.outputs, golden_norm_of(g, KS_F64));
        assert_true(d.error < 1e-10);
        results_free(mine);
        golden_buffers_free(one.buffers);
        golden_free(own);
    }
    golden_buffers_free(all.buffers);
    golden_free(g);
}

/* A state that moves alone and that no entry of series 1 sees. */
static golden *unseen(void)
{
    golden *g = model_random((model_spec){ 51, 30, 2, 3, 2, KS_PRIOR_X1, OWN_MODELS });
    for (int64_t b = 0; b < 2; ++b) {
        double *F = model_block(&g->F, b, 0);
        F[2] = F[5] = F[6] = F[7] = 0;
    }
    model_block(&g->H, 1, 0)[2] = model_block(&g->H, 1, 0)[5] = 0;
    model_round(g);
    return g;
}

static void what_is_never_told(void **state)
{
    (void)state;
    golden *g = unseen();
    for (int a = 0; a < all_methods_count; ++a) {
        const int smooths = all_methods[a].job == KS_JOB_SMOOTH;
        diffuse_case c = { .g = g, .P0_inf = identity, .m = &all_methods[a] };
        const ks_status status = diffuse_run(&c);
        assert_int_equal(status, smooths ? KS_EREFUSED : KS_OK);
        if (smooths) {
            assert_int_equal(c.info.array, KS_ARRAY_P0);
            assert_int_equal(c.info.fault, KS_FAULT_NOT_FINITE);
            assert_int_equal(c.info.series, 1);
            assert_int_equal(c.info.row, 2);
        } else {
            const golden_results *r = golden_widen(c.buffers);
            const double *last = results_block(r, KS_OUT_FILTERED_COV, 1, 29);
            assert_true(isfinite(last[0]) && isfinite(last[4]) && isinf(last[8]) && last[8] > 0 && isfinite(last[2]));
            assert_true(isfinite(*results_block(r, KS_OUT_LOGLIK, 1, 0)));
            assert_true(isfinite(results_block(r, KS_OUT_FILTERED_COV, 0, 29)[8]));
            assert_int_equal(c.steps, 30);
        }
        golden_buffers_free(c.buffers);
    }
    golden_free(g);
}

/* Two states of which the second is noise from x[first] on, and the sum or the first alone is observed. */
static golden *second_ends(ks_prior prior, double seen)
{
    golden *g = model_random((model_spec){ 54, 12, 1, 2, 1, prior, 0 });
    const double F[] = { 1, 0, 0, 0 }, H[] = { 1, seen };
    memcpy(g->F.f64, F, sizeof F);
    memcpy(g->H.f64, H, sizeof H);
    model_round(g);
    return g;
}

/* A direction that a transition ends without an observation of it is no part of the states that follow. */
static void what_a_transition_ends(void **state)
{
    (void)state;
    const double both[] = { 1, 0, 0, 1 }, first[] = { 1, 0, 0, 0 };
    const unsigned outputs = KS_OUT_LOGLIK | KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_LAG_ONE_COV;
    golden *g = second_ends(KS_PRIOR_X0, 1);
    g->P0.f64[3] = 0;
    g->P0.f64[1] = g->P0.f64[2] = 0;
    for (int a = 0; a < all_methods_count; ++a) {
        const unsigned made = all_methods[a].job == KS_JOB_SMOOTH
                                  ? outputs : KS_OUT_LOGLIK | KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV;
        diffuse_case one = { .g = g, .P0_inf = first, .m = &all_methods[a], .outputs = made };
        diffuse_case two = { .g = g, .P0_inf = both, .m = &all_methods[a], .outputs = made };
        diffuse_well(&one);
        diffuse_well(&two);
        const golden_difference d =
            golden_compare(golden_widen(two.buffers), golden_widen(one.buffers), made, golden_norm_of(g, KS_F64));
        assert_true(d.error < 1e-10);
        golden_buffers_free(one.buffers);
        golden_buffers_free(two.buffers);
    }
    /* x[-1] itself stays unknown. */
    diffuse_case before = { .g = g, .P0_inf = both, .m = &smoother, .outputs = outputs | KS_OUT_PRIOR_COV };
    assert_int_equal(diffuse_run(&before), KS_EREFUSED);
    assert_int_equal(before.info.row, 1);
    golden_buffers_free(before.buffers);
    golden_free(g);
    /* So does x[0]. */
    g = second_ends(KS_PRIOR_X1, 0);
    diffuse_case smooth = { .g = g, .P0_inf = both, .m = &smoother, .outputs = outputs };
    assert_int_equal(diffuse_run(&smooth), KS_EREFUSED);
    assert_int_equal(smooth.info.row, 1);
    golden_buffers_free(smooth.buffers);
    diffuse_case forward = { .g = g, .P0_inf = both, .m = &filter };
    diffuse_well(&forward);
    const golden_results *r = golden_widen(forward.buffers);
    assert_true(isinf(results_block(r, KS_OUT_FILTERED_COV, 0, 0)[3]));
    for (int64_t k = 1; k < 12; ++k) assert_true(isfinite(results_block(r, KS_OUT_FILTERED_COV, 0, k)[3]));
    assert_true(forward.steps < 12);
    golden_buffers_free(forward.buffers);
    golden_free(g);
}

/* One step: two entries tell two directions of three. */
static void one_step(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 52, 1, 1, 3, 2, KS_PRIOR_X1, 0 });
    const double two[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 0 };
    diffuse_case c = { .g = g, .P0_inf = identity, .m = &smoother };
    assert_int_equal(diffuse_run(&c), KS_EREFUSED);
    golden_buffers_free(c.buffers);
    diffuse_case known = { .g = g, .P0_inf = two, .m = &smoother };
    diffuse_well(&known);
    assert_int_equal(known.steps, 1);
    assert_int_equal(known.info.method, KS_METHOD_SEQUENTIAL);
    assert_true(covariances_sound(known.buffers, KS_F64, KS_OUT_SMOOTHED_COV));
    golden_buffers_free(known.buffers);
    golden_free(g);
}

static void failures_name_their_step(void **state)
{
    (void)state;
    static const int64_t steps[] = { 0, 1, 5, 30, 39 };
    for (int s = 0; s < 5; ++s)
        for (int job = 0; job < 2; ++job) {
            golden *g = model_random((model_spec){ 53, 40, 2, 3, 2, KS_PRIOR_X0, 0 });
            model_block(&g->y, 1, steps[s])[1] = (double)INFINITY;
            diffuse_case c = { .g = g, .P0_inf = identity, .m = job ? &smoother : &filter };
            assert_int_equal(diffuse_run(&c), KS_EMODEL);
            assert_int_equal(c.info.array, KS_ARRAY_Y);
            assert_int_equal(c.info.series, 1);
            assert_int_equal(c.info.step, steps[s]);
            golden_buffers_free(c.buffers);
            golden_free(g);
        }
}

static void arguments(void **state)
{
    (void)state;
    golden *g = model_of(20, 1, KS_PRIOR_X1);
    const ks_smooth_options options = options_of(&smoother, KS_F64, KS_OUT_LOGLIK | KS_OUT_SMOOTHED_MEAN);
    const ks_view P0_inf = { identity, 0, 0 }, none = { NULL, 0, 0 }, y = golden_y(g, KS_F64);
    ks_model model = golden_model(g, KS_F64);
    golden_buffers *b = golden_buffers_new(20, 1, 3, 2, KS_F64, KS_OUT_LOGLIK | KS_OUT_SMOOTHED_MEAN);
    golden_buffers *less = golden_buffers_new(20, 1, 3, 2, KS_F64, KS_OUT_LOGLIK);
    const ks_view crooked = { (const char *)identity + 1, 0, 0 };
    ks_smooth_plan *plan = NULL;
    ks_info info = KS_INFO_INIT, wrong = KS_INFO_INIT;
    int64_t steps = 7;
    wrong.size = 3;
    assert_int_equal(ks_smooth_plan_create(&plan, NULL, 20, 1, 3, 2, &options), KS_OK);
    assert_int_equal(ks_diffuse_run(plan, &model, P0_inf, y, golden_outputs(b), &steps, NULL), KS_OK);
    assert_true(steps > 0);
    assert_int_equal(ks_diffuse_run(NULL, &model, P0_inf, y, golden_outputs(b), &steps, &info), KS_EINVAL);
    assert_int_equal(info.status, KS_EINVAL);
    assert_int_equal(steps, 0);
    assert_int_equal(ks_diffuse_run(plan, NULL, P0_inf, y, golden_outputs(b), NULL, &info), KS_EINVAL);
    assert_int_equal(ks_diffuse_run(plan, &model, none, y, golden_outputs(b), NULL, &info), KS_EINVAL);
    assert_int_equal(info.array, KS_ARRAY_P0);
    assert_int_equal(ks_diffuse_run(plan, &model, crooked, y, golden_outputs(b), NULL, &info), KS_EINVAL);
    assert_int_equal(info.array, KS_ARRAY_P0);
    assert_int_equal(ks_diffuse_run(plan, &model, P0_inf, none, golden_outputs(b), NULL, &info), KS_EINVAL);
    assert_int_equal(info.array, KS_ARRAY_Y);
    assert_int_equal(ks_diffuse_run(plan, &model, P0_inf, y, NULL, NULL, &info), KS_EINVAL);
    assert_int_equal(ks_diffuse_run(plan, &model, P0_inf, y, golden_outputs(less), NULL, &info), KS_EINVAL);
    assert_int_equal(ks_diffuse_run(plan, &model, P0_inf, y, golden_outputs(b), NULL, &wrong), KS_EINVAL);
    model.size = 1;
    assert_int_equal(ks_diffuse_run(plan, &model, P0_inf, y, golden_outputs(b), NULL, &info), KS_EINVAL);
    ks_smooth_plan_destroy(plan);
    golden_buffers_free(less);
    golden_buffers_free(b);
    golden_free(g);
}

/* Each allocation of a run fails in turn. Returns how many there are. */
static int64_t each_fails(const golden *g, const method_case *m)
{
    failalloc memory = FAILALLOC_INIT;
    const ks_allocator allocator = failalloc_allocator(&memory);
    for (memory.fail_at = 1;; ++memory.fail_at) {
        diffuse_case c = { .g = g, .P0_inf = identity, .m = m, .memory = &allocator };
        memory.calls = 0;
        const ks_status status = diffuse_run(&c);
        golden_buffers_free(c.buffers);
        assert_int_equal(atomic_load(&memory.live), 0);
        if (status == KS_OK) return memory.fail_at - 1;
        assert_int_equal(status, KS_ENOMEM);
    }
}

static void memory_fails(void **state)
{
    (void)state;
    golden *g = model_of(60, 2, KS_PRIOR_X0), *alone = shrinking(60, 2);
    for (int a = 0; a < all_methods_count; ++a) assert_true(each_fails(g, &all_methods[a]) > 7);
    /* The second run of the later steps has a plan and a workspace of its own. */
    assert_true(each_fails(alone, &smoother) > each_fails(g, &smoother));
    golden_free(alone);
    golden_free(g);
}

/** The first observation tells next to nothing of a direction, less than later ones by 16 digits. Smoothed estimates, and
 *  a log-likelihood alone, are what they are where it tells nothing. */
static void first_tells_little(void **state)
{
    (void)state;
    enum { T = 30 };
    static const double first[] = { 0, 0x1p-53, 0x1p-30 };
    static const double P0_inf[] = { 0, 0, 0, 1 };
    double mean[2 * T] = { 0 }, loglik = 0;
    for (int i = 0; i < 3; ++i)
        for (int alone = 0; alone < 2; ++alone) {
            golden *g = model_random((model_spec){ 57, T, 1, 2, 1, KS_PRIOR_X1, VARIES_H });
            const double F[] = { 0.75, 0, 0, 1 }, Q[] = { 0.5, 0, 0, 0 }, P0[] = { 1, 0, 0, 0 };
            memcpy(g->F.f64, F, sizeof F);
            memcpy(g->Q.f64, Q, sizeof Q);
            memcpy(g->P0.f64, P0, sizeof P0);
            for (int k = 0; k < T; ++k) {
                model_block(&g->H, 0, k)[0] = 1;
                model_block(&g->H, 0, k)[1] = k == 0 ? first[i] : sin(k);
            }
            diffuse_case c = { .g = g, .P0_inf = P0_inf, .m = alone ? &filter : &smoother,
                               .outputs = KS_OUT_LOGLIK | (alone ? 0 : KS_OUT_SMOOTHED_MEAN) };
            diffuse_well(&c);
            const golden_results *r = golden_widen(c.buffers);
            const double told = *results_block(r, KS_OUT_LOGLIK, 0, 0);
            if (i == 0 && !alone) loglik = told;
            assert_true(fabs(told - loglik) <= 1e-7 * fabs(loglik));
            for (int k = 0; k < 2 * T && !alone; ++k) {
                const double x = results_block(r, KS_OUT_SMOOTHED_MEAN, 0, 0)[k];
                if (i == 0) mean[k] = x;
                assert_true(fabs(x - mean[k]) <= 1e-7);
            }
            golden_buffers_free(c.buffers);
            if (alone) {
                /* A filter that puts out its first estimates keeps their digits, not those of later ones. */
                diffuse_case whole = { .g = g, .P0_inf = P0_inf, .m = &filter };
                const ks_status status = diffuse_run(&whole);
                assert_int_equal(status, first[i] == 0x1p-53 ? KS_EREFUSED : KS_OK);
                if (status != KS_OK) assert_true(whole.info.array == KS_ARRAY_P0 && whole.info.series == 0);
                golden_buffers_free(whole.buffers);
            }
            golden_free(g);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits_on_threads),
        cmocka_unit_test(nothing_infinite),
        cmocka_unit_test(absent_is_zero),
        cmocka_unit_test(series_of_a_batch),
        cmocka_unit_test(what_is_never_told),
        cmocka_unit_test(what_a_transition_ends),
        cmocka_unit_test(one_step),
        cmocka_unit_test(failures_name_their_step),
        cmocka_unit_test(first_tells_little),
        cmocka_unit_test(arguments),
        cmocka_unit_test(memory_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
