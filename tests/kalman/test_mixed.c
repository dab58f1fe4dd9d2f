/* test_mixed.c -- covariances in single precision with means in double: what the covariances lose the
 * means do not. Golden cases, batches, threads and faults of it are tested with those of the other
 * precisions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "models.h"
#include "run_case.h"

static const method_case jobs[2] = {
    { KS_JOB_FILTER, KS_METHOD_SEQUENTIAL, KS_SCAN_HILLIS_STEELE, 1, KS_BLOCKTRI_AUTO },
    { KS_JOB_SMOOTH, KS_METHOD_SEQUENTIAL, KS_SCAN_HILLIS_STEELE, 1, KS_BLOCKTRI_AUTO },
};

enum {
    MEANS = KS_OUT_PREDICTED_MEAN | KS_OUT_FILTERED_MEAN | KS_OUT_SMOOTHED_MEAN |
            KS_OUT_PRIOR_MEAN | KS_OUT_INNOVATION
};

/** What `precision` makes of g against double: the largest deviation of the outputs `judged`. */
static golden_difference off_by(const golden *g, const method_case *m, ks_precision precision,
                                unsigned judged)
{
    const unsigned outputs = outputs_of(m->job);
    const golden_norm norm = { 0, false };
    golden_buffers *exact = run_well(g, m, KS_F64, 1, outputs, NULL);
    golden_buffers *b = run_well(g, m, precision, 1, outputs, NULL);
    golden_results expected = *golden_widen(exact);
    if (g->prior == KS_PRIOR_X1)
        expected.array[__builtin_ctz(KS_OUT_PRIOR_MEAN)] =
            expected.array[__builtin_ctz(KS_OUT_PRIOR_COV)] = NULL;
    const golden_difference d = golden_compare(golden_widen(b), &expected, judged & outputs, norm);
    golden_buffers_free(b);
    golden_buffers_free(exact);
    return d;
}

static const model_spec specs[] = {
    { 701, 1, 1, 4, 2, KS_PRIOR_X0, HAS_OFFSETS },
    { 702, 1, 1, 3, 2, KS_PRIOR_X1, 0 },
    { 703, 2, 1, 4, 2, KS_PRIOR_X1, HAS_OFFSETS | MISSING },
    { 704, 1200, 1, 1, 1, KS_PRIOR_X0, VARIES_ALL | MISSING },
    { 705, 1500, 1, 2, 1, KS_PRIOR_X1, HAS_OFFSETS | MISSING },
    { 706, 2500, 1, 4, 2, KS_PRIOR_X0, VARIES_ALL | MISSING },
    { 707, 2500, 1, 4, 2, KS_PRIOR_X0, HAS_OFFSETS },
    { 708, 700, 1, 4, 5, KS_PRIOR_X1, VARIES_F | VARIES_U | HAS_OFFSETS | MISSING },
    { 709, 700, 1, 5, 3, KS_PRIOR_X0, VARIES_H | VARIES_D | HAS_OFFSETS | MISSING },
    { 710, 900, 1, 6, 3, KS_PRIOR_X1, VARIES_ALL | MISSING },
    { 711, 400, 1, 8, 6, KS_PRIOR_X0, VARIES_R | MISSING },
    { 712, 300, 1, 12, 6, KS_PRIOR_X0, VARIES_ALL | MISSING },
    { 713, 150, 1, 23, 7, KS_PRIOR_X0, VARIES_ALL | MISSING },
    { 714, 600, 9, 4, 2, KS_PRIOR_X0, VARIES_ALL | OWN_MODELS | MISSING },
    { 715, 600, 9, 4, 2, KS_PRIOR_X1, HAS_OFFSETS | MISSING },
    { 716, 300, 9, 6, 3, KS_PRIOR_X0, VARIES_ALL | MISSING },
};

/** Ordinary models of all sizes, more steps than a block has: means, innovations and the
 *  log-likelihood to what gains in single precision leave of them, the rest as good as in f32. */
static void near_double(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; ++i) {
        golden *g = model_random(specs[i]);
        for (int j = 0; j < 2; ++j) {
            const golden_difference means = off_by(g, &jobs[j], KS_MIXED, MEANS);
            const golden_difference sum = off_by(g, &jobs[j], KS_MIXED, KS_OUT_LOGLIK);
            const golden_difference all = off_by(g, &jobs[j], KS_MIXED, outputs_of(jobs[j].job));
            if (!(means.error <= 1e-5 && sum.error <= 1e-6 && all.error <= 1e-4))
                fail_msg("model %d, %s: %s off by %.3g, %.3g, %s off by %.3g", (int)i,
                         method_case_name(&jobs[j]), golden_output_name(means.output), means.error,
                         sum.error, golden_output_name(all.output), all.error);
        }
        golden_free(g);
    }
}

/** A point that moves far at nearly constant velocity: its position is so large that a float holds
 *  less of it than is known. */
static golden *drifting(int64_t B)
{
    enum { T = 3000 };
    const double dt = 0.0625, q = 1, r = 0.5;
    golden *g = model_random((model_spec){ 720, T, B, 2, 1, KS_PRIOR_X0, 0 });
    source s = { 721 };
    const double F[4] = { 1, dt, 0, 1 };
    const double Q[4] = { q * dt * dt * dt / 3, q * dt * dt / 2, q * dt * dt / 2, q * dt };
    memcpy(model_block(&g->F, 0, 0), F, sizeof F);
    memcpy(model_block(&g->Q, 0, 0), Q, sizeof Q);
    model_block(&g->H, 0, 0)[0] = 1;
    model_block(&g->H, 0, 0)[1] = 0;
    model_block(&g->R, 0, 0)[0] = r;
    for (int i = 0; i < 4; ++i) model_block(&g->P0, 0, 0)[i] = i % 3 == 0;
    model_block(&g->m0, 0, 0)[0] = 0;
    model_block(&g->m0, 0, 0)[1] = 4096;
    for (int64_t b = 0; b < B; ++b) {
        double x = 0, v = 4096;
        for (int64_t k = 0; k < T; ++k) {
            x += dt * v;
            v += sqrt(q * dt) * normal(&s);
            model_block(&g->y, b, k)[0] = x + sqrt(r) * normal(&s);
        }
    }
    model_round(g);
    return g;
}

static void drifting_states(void **state)
{
    (void)state;
    for (int64_t B = 1; B <= 9; B += 8) {
        golden *g = drifting(B);
        for (int j = 0; j < 2; ++j) {
            const golden_difference single = off_by(g, &jobs[j], KS_F32, MEANS);
            const golden_difference mixed = off_by(g, &jobs[j], KS_MIXED, MEANS);
            const golden_difference sum = off_by(g, &jobs[j], KS_MIXED, KS_OUT_LOGLIK);
            assert_true(single.error > 1e-2);
            /* A gain has some 2 nx + 3 round-offs of 2^-24, and the filter and the way back remember ten steps each
             * (the closed loop has eigenvalues of .90): 8e-6 of a step's innovation, of which the largest of 3000 are
             * several standard deviations. */
            assert_true(mixed.error < 6 * 8e-6);
            assert_true(sum.error < 1e-6);
        }
        golden_free(g);
    }
}

/** What a run of g in `precision` is told about its failure. */
static ks_info failure_of(const golden *g, const method_case *m, ks_precision precision)
{
    ks_info info = KS_INFO_INIT;
    golden_buffers *b = NULL;
    (void)run_case(g, m, precision, 1, outputs_of(m->job), &b, &info);
    golden_buffers_free(b);
    return info;
}

/** A mean that leaves the range of double does so at the step at which it does in double. */
static void mean_overflows(void **state)
{
    (void)state;
    for (int64_t B = 1; B <= 9; B += 8) {
        golden *g = model_random((model_spec){ 730, 300, B, 4, 2, KS_PRIOR_X0, OWN_MODELS | VARIES_ALL });
        for (int64_t k = 150; k < 300; ++k)
            for (int i = 0; i < 4; ++i) model_block(&g->u, B / 2, k)[i] = 1e307;
        for (int j = 0; j < 2; ++j) {
            const ks_info in_double = failure_of(g, &jobs[j], KS_F64);
            const ks_info info = failure_of(g, &jobs[j], KS_MIXED);
            assert_int_equal(in_double.status, KS_ENONFINITE);
            assert_int_equal(info.status, KS_ENONFINITE);
            assert_int_equal(info.array, KS_ARRAY_ESTIMATE);
            assert_int_equal(info.series, in_double.series);
            assert_int_equal(info.step, in_double.step);
        }
        golden_free(g);
    }
}

/** Covariances are bounded by the range of float, means are not. */
static void ranges(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 740, 60, 1, 2, 1, KS_PRIOR_X0, VARIES_ALL });
    model_block(&g->y, 0, 30)[0] = 1e60;
    model_block(&g->d, 0, 30)[0] = 1e60;
    golden_buffers *b = run_well(g, &jobs[1], KS_MIXED, 1, outputs_of(KS_JOB_SMOOTH), NULL);
    golden_buffers_free(b);
    model_block(&g->Q, 0, 40)[0] = 1e60;
    assert_int_equal(failure_of(g, &jobs[1], KS_F64).status, KS_OK);
    const ks_info info = failure_of(g, &jobs[1], KS_MIXED);
    assert_int_equal(info.status, KS_ENONFINITE);
    assert_int_equal(info.step, 40);
    golden_free(g);
}

/** Rows that lead out of a step are the same rows, one earlier. */
static void leading_out(void **state)
{
    (void)state;
    for (int64_t B = 1; B <= 5; B += 4) {
        golden *g = model_random((model_spec){ 750, 200, B, 4, 2, KS_PRIOR_X1,
                                               VARIES_ALL | HAS_OFFSETS | MISSING });
        const ks_smooth_options o = options_of(&jobs[1], KS_MIXED, outputs_of(KS_JOB_SMOOTH));
        ks_model model = golden_model(g, KS_MIXED);
        golden_buffers *into = run_well(g, &jobs[1], KS_MIXED, 1, o.outputs, NULL), *out = NULL;
        ks_view *shifted[] = { &model.F, &model.Q, &model.u };
        for (int i = 0; i < 3; ++i)
            shifted[i]->data = (const double *)shifted[i]->data + shifted[i]->step_stride;
        model.transition = KS_OUT_OF;
        assert_int_equal(run_model(g, &model, golden_y(g, KS_MIXED), &o, 1, &out, NULL), KS_OK);
        assert_int_equal(first_different(into, out, o.outputs), 0);
        golden_buffers_free(into);
        golden_buffers_free(out);
        golden_free(g);
    }
}

/** All other methods say no when planning. */
static void refusals(void **state)
{
    (void)state;
    for (int i = 0; i < all_methods_count; ++i) {
        const method_case *m = &all_methods[i];
        const ks_smooth_options o = options_of(m, KS_MIXED, KS_OUT_LOGLIK);
        ks_smooth_plan *plan = NULL;
        const ks_status status = ks_smooth_plan_create(&plan, NULL, 10, 1, 2, 1, &o);
        assert_int_equal(status, takes_mixed(m) ? KS_OK : KS_EINVAL);
        ks_smooth_plan_destroy(plan);
    }
    /* One long series on two threads, too, is for the method that takes it. */
    ks_context_options threads = KS_CONTEXT_OPTIONS_INIT;
    ks_context *context = NULL;
    ks_smooth_options device = KS_SMOOTH_OPTIONS_INIT;
    ks_smooth_plan *plan = NULL;
    threads.threads = 2;
    device.precision = KS_MIXED;
    assert_int_equal(ks_context_create(&context, &threads), KS_OK);
    assert_int_equal(ks_smooth_plan_create(&plan, context, 20000, 1, 4, 2, &device), KS_OK);
    assert_int_equal(ks_smooth_plan_method(plan), KS_METHOD_SEQUENTIAL);
    ks_smooth_plan_destroy(plan);
    ks_context_destroy(context);
    device.backend = KS_BACKEND_CUDA;
    device.scan = KS_SCAN_LADNER_FISCHER;
    assert_int_equal(ks_smooth_plan_create(&plan, NULL, 10, 1, 2, 1, &device), KS_EINVAL);
    assert_true(ks_smooth_device_bytes(10, 1, 2, 1, &device) == SIZE_MAX);
    assert_int_equal(ks_covariance_symmetrize(KS_MIXED, 1, 1, &device, 1, 1, NULL), KS_EINVAL);
}

/** The model that is checked is in double. */
static void model_check(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 760, 20, 3, 3, 2, KS_PRIOR_X0, VARIES_ALL | OWN_MODELS });
    const ks_smooth_options o = options_of(&jobs[1], KS_MIXED, KS_OUT_LOGLIK);
    const ks_model model = golden_model(g, KS_MIXED);
    ks_smooth_plan *plan = NULL;
    ks_info info = KS_INFO_INIT;
    assert_int_equal(ks_smooth_plan_create(&plan, NULL, 20, 3, 3, 2, &o), KS_OK);
    assert_int_equal(ks_model_check(plan, &model, 1e-8, 1e-10, &info), KS_OK);
    model_block(&g->Q, 2, 11)[1] += 1e-6;
    assert_int_equal(ks_model_check(plan, &model, 1e-8, 1e-10, &info), KS_EMODEL);
    assert_true(info.series == 2 && info.step == 11 && info.array == KS_ARRAY_Q);
    ks_smooth_plan_destroy(plan);
    golden_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_double),    cmocka_unit_test(drifting_states),
        cmocka_unit_test(mean_overflows), cmocka_unit_test(ranges),
        cmocka_unit_test(leading_out),    cmocka_unit_test(refusals),
        cmocka_unit_test(model_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
