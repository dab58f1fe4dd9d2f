/* test_forms.c -- the rule that chooses the form of a step, on both sides: where the ordinary form
 * would lose the digits the array form takes the step, and nowhere else. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "assert_within.h"
#include "models.h"
#include "run_case.h"
#include "textbook.h"

static const method_case filter_once = { KS_JOB_FILTER, KS_METHOD_SEQUENTIAL, 0, 1, 0 };
static const method_case smooth_once = { KS_JOB_SMOOTH, KS_METHOD_SEQUENTIAL, 0, 1, 0 };

/** Step by step: the floor of the golden cases, a fraction of the largest standard deviation of a
 *  series, would hide what a vague start loses. */
static const golden_norm strict = { 0, false };

/** Position and velocity, the position measured; P0 = `vague` I and measurement variance r. */
static golden *tracking(int64_t T, double vague, double r)
{
    golden *g = model_random((model_spec){ 131, T, 1, 2, 1, KS_PRIOR_X0, 0 });
    const double F[4] = { 1, 1, 0, 1 }, Q[4] = { 0.02, 0.03, 0.03, 0.06 };
    memcpy(g->F.f64, F, sizeof F);
    memcpy(g->Q.f64, Q, sizeof Q);
    const double H[2] = { 1, 0 }, P0[4] = { vague, 0, 0, vague };
    memcpy(g->H.f64, H, sizeof H);
    memcpy(g->P0.f64, P0, sizeof P0);
    g->R.f64[0] = r;
    model_round(g);
    textbook_smooth(g);
    return g;
}

/** The difference form alone, P - K H P, in float: what the library would do without the other
 *  form. The largest error of its filtered means and covariances as golden_compare() counts it. */
static double difference_form_error(const golden *g)
{
    float x[2], P[4];
    golden_results r = g->expected;
    double *mean = zeroed((size_t)g->T * 2, sizeof *mean);
    double *cov = zeroed((size_t)g->T * 4, sizeof *cov);
    const float *F = g->F.f32, *Q = g->Q.f32;
    memcpy(x, g->m0.f32, sizeof x);
    memcpy(P, g->P0.f32, sizeof P);
    for (int64_t k = 0; k < g->T; ++k) {
        float FP[4], Pp[4];
        const float x0 = F[0] * x[0] + F[1] * x[1], x1 = F[2] * x[0] + F[3] * x[1];
        for (int i = 0; i < 4; ++i)
            FP[i] = F[i / 2 * 2] * P[i % 2] + F[i / 2 * 2 + 1] * P[2 + i % 2];
        for (int i = 0; i < 4; ++i)
            Pp[i] = FP[i / 2 * 2] * F[i % 2 * 2] + FP[i / 2 * 2 + 1] * F[i % 2 * 2 + 1] + Q[i];
        const float S = Pp[0] + g->R.f32[0], v = g->y.f32[k] - x0;
        x[0] = x0 + Pp[0] / S * v;
        x[1] = x1 + Pp[2] / S * v;
        for (int i = 0; i < 4; ++i) P[i] = Pp[i] - Pp[i / 2 * 2] / S * Pp[i % 2];
        for (int i = 0; i < 2; ++i) mean[k * 2 + i] = (double)x[i];
        for (int i = 0; i < 4; ++i) cov[k * 4 + i] = (double)P[i];
    }
    r.array[__builtin_ctz(KS_OUT_FILTERED_MEAN)] = mean;
    r.array[__builtin_ctz(KS_OUT_FILTERED_COV)] = cov;
    const double error =
        golden_compare(&r, &g->expected, KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV, strict).error;
    free(mean);
    free(cov);
    return error;
}

/** The largest error of the outputs in `compared`. */
static double error_of(const golden *g, const method_case *m, int precision, unsigned compared,
                       ks_info *info)
{
    const unsigned outputs = outputs_made(m);
    golden_buffers *b = run_well(g, m, (ks_precision)precision, 1, outputs, info);
    const double error =
        golden_compare(golden_widen(b), &g->expected, outputs & compared, strict).error;
    golden_buffers_free(b);
    return error;
}

static double library_error(const golden *g, const method_case *m, int precision, ks_info *info)
{
    return error_of(g, m, precision, outputs_of(KS_JOB_SMOOTH), info);
}

static void vague_start(void **state)
{
    (void)state;
    golden *g = tracking(40, 1e7, 0.25);
    ks_info info = KS_INFO_INIT;
    /* The difference form is not merely worse: it has no digit left. */
    const double alone = difference_form_error(g);
    if (!(alone > 0.5)) fail_msg("the difference form is off by %.3g only", alone);
    for (int i = 0; i < all_methods_count; ++i)
        for (int p = 0; p < 2; ++p) {
            /* The reference's own smoother, P - P N P, has not the digits for a vague start: that
             * is for the golden cases. */
            const double error =
                error_of(g, &all_methods[i], p, outputs_of(KS_JOB_FILTER), &info);
            if (!(error <= (p == KS_F64 ? 1e-7 : 5e-2)))
                fail_msg("%s in %s is off by %.3g", method_case_name(&all_methods[i]),
                         p == KS_F64 ? "f64" : "f32", error);
        }
    /* The start needs the array form for as long as it is vague, the rest does not. */
    assert_true(library_error(g, &filter_once, KS_F32, &info) <= 5e-3);
    assert_true(info.array_steps >= 2 && info.array_steps <= 8);
    assert_true(library_error(g, &filter_once, KS_F64, &info) <= 1e-9);
    assert_true(info.array_steps >= 2 && info.array_steps <= 8);
    golden_free(g);
}

/** An ordinary model takes the first step in the array form, as every series does, and no other;
 *  there the difference form has its digits. */
static void ordinary_start(void **state)
{
    (void)state;
    golden *g = tracking(200, 10, 1);
    ks_info info = KS_INFO_INIT;
    assert_true(difference_form_error(g) <= 5e-3);
    for (int p = 0; p < 2; ++p) {
        assert_true(library_error(g, &filter_once, p, &info) <= (p == KS_F64 ? 1e-9 : 5e-3));
        assert_true(info.array_steps <= 3);
        assert_int_equal(info.ordinary_steps + info.array_steps, 200);
        assert_true(library_error(g, &smooth_once, p, &info) <= (p == KS_F64 ? 1e-9 : 5e-3));
        assert_true(info.array_steps <= 8);
        assert_int_equal(info.ordinary_steps + info.array_steps, 400);
    }
    golden_free(g);
}

/** How far a measurement may sharpen the prediction decides: a level whose R is raised and lowered
 *  around the bound, 1e5 in f64 and 500 in f32. */
static void sharpness_decides(void **state)
{
    (void)state;
    for (int p = 0; p < 2; ++p) {
        const double growth = p == KS_F64 ? 1e5 : 5e2;
        for (int sharp = 0; sharp < 2; ++sharp) {
            const int64_t T = 50;
            golden *g = model_random((model_spec){ 132, T, 1, 1, 1, KS_PRIOR_X0, 0 });
            g->F.f64[0] = g->H.f64[0] = g->Q.f64[0] = g->P0.f64[0] = 1;
            /* The predicted variance is 1 + P with P below R: about Q alone. */
            g->R.f64[0] = sharp ? 0.25 / growth : 8 / growth;
            model_round(g);
            textbook_smooth(g);
            ks_info info = KS_INFO_INIT;
            assert_true(library_error(g, &filter_once, p, &info) <= (p == KS_F64 ? 1e-9 : 5e-3));
            if (sharp)
                assert_int_equal(info.ordinary_steps, 0);
            else
                assert_true(info.ordinary_steps >= T - 2);
            golden_free(g);
        }
    }
}

/** Entries whose noise is nearly the same tell of their difference as sharply as if it were measured without. One series
 *  of each shape of steps, and packs; R constant, and of each step, correlated in the second half; nothing missing, or one
 *  more entry. */
static void correlation_decides(void **state)
{
    static const int sizes[] = { 1, 2, 4, 6, 12, 13 };
    (void)state;
    for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; ++n)
        for (int64_t B = 1; B < 10; B += 8)
            for (int varies = 0; varies < 2; ++varies)
                for (int p = 0; p < 2; ++p)
                    for (int way = 0; way < 6; ++way) {
                        const int64_t T = 20;
                        const int kind = way % 3, gap = way / 3; /* a third entry, which is missing */
                        const int nx = sizes[n], ny = nx > 12 ? 6 : 2 + gap;
                        const unsigned flags = (varies ? VARIES_R : 0u) | (B > 1 ? OWN_MODELS | VARIES_F : 0u);
                        golden *g = model_random((model_spec){ 139, T, B, nx, ny, KS_PRIOR_X0, flags });
                        const double c = kind == 2 ? 1 : kind == 1 ? 1 - 0x1p-20 : 0.875;
                        for (int64_t b = 0; b < B; ++b)
                            for (int64_t k = 0; k < T; ++k) {
                                double *H = model_block(&g->H, b, k), *R = model_block(&g->R, b, k);
                                memset(H, 0, sizeof *H * (size_t)(ny * nx));
                                H[0] = 1, H[nx] = 2;
                                for (int i = 0; i < ny * ny; ++i) R[i] = i % (ny + 1) == 0;
                                R[1] = R[ny] = varies && k < T / 2 ? 0 : c;
                                if (gap) model_block(&g->y, b, k)[2] = (double)NAN;
                            }
                        model_round(g);
                        textbook_smooth(g);
                        ks_info info = KS_INFO_INIT;
                        golden_buffers *f = run_well(g, &filter_once, (ks_precision)p, 1, outputs_made(&filter_once), &info);
                        assert_true(covariances_sound(f, (ks_precision)p, outputs_made(&filter_once)));
                        golden_buffers_free(f);
                        if (kind && varies) assert_within(info.array_steps, B * (T / 2), B * (T / 2 + 3));
                        else if (kind) assert_int_equal(info.ordinary_steps, 0);
                        else assert_true(info.ordinary_steps >= B * (T - 3));
                        golden_free(g);
                    }
}

/** The same in double by all methods, among them those that make elements of steps, whose noise then is all that tells two
 *  entries apart. */
static void correlation_in_all_methods(void **state)
{
    static const double F[16] = { 1, .125, 0, 0, 0, 1, 0, 0, 0, 0, 1, .125, 0, 0, 0, 1 };
    static const double H[8] = { 1, 0, .25, 0, 1, 0, -.25, 0 };
    (void)state;
    for (int bits = 26; bits <= 40; bits += 14)
        for (int gap = 0; gap < 2; ++gap) {
            golden *g = model_random((model_spec){ 140, 60, 1, 4, 2, KS_PRIOR_X0, gap ? MISSING : 0 });
            memcpy(g->F.f64, F, sizeof F);
            memcpy(g->H.f64, H, sizeof H);
            for (int j = 0; j < 16; ++j) g->Q.f64[j] = j % 5 == 0 ? 0x1p-10 : 0;
            g->R.f64[0] = g->R.f64[3] = 1;
            g->R.f64[1] = g->R.f64[2] = 1 - ldexp(1, -bits);
            textbook_smooth(g);
            for (int i = 0; i < all_methods_count; ++i) {
                ks_info info = KS_INFO_INIT;
                if (bits > 26 && is_two_ended(&all_methods[i])) continue; /* inverts R, or refuses to */
                const double error = library_error(g, &all_methods[i], KS_F64, &info);
                if (!(error <= (bits == 26 ? 1e-9 : 1e-6)))
                    fail_msg("%s, %d bits: off by %.3g", method_case_name(&all_methods[i]), bits, error);
            }
            golden_free(g);
        }
}

/** A gap after which a sharp measurement comes: back to the array form for that step, and out. */
static void returns_for_one_step(void **state)
{
    (void)state;
    const int64_t T = 60;
    golden *g = model_random((model_spec){ 133, T, 1, 1, 1, KS_PRIOR_X0, VARIES_R });
    g->F.f64[0] = g->H.f64[0] = g->P0.f64[0] = g->Q.f64[0] = 1;
    for (int64_t k = 0; k < T; ++k) model_block(&g->R, 0, k)[0] = k == 30 ? 1e-7 : 1;
    model_round(g);
    textbook_smooth(g);
    for (int p = 0; p < 2; ++p) {
        ks_info info = KS_INFO_INIT;
        assert_true(library_error(g, &filter_once, p, &info) <= (p == KS_F64 ? 1e-9 : 5e-3));
        /* The start, the sharp step, and one to find that the next is ordinary again. */
        assert_true(info.array_steps >= 2 && info.array_steps <= 4);
        assert_int_equal(info.array_steps + info.ordinary_steps, T);
    }
    golden_free(g);
}

/** A long gap in which what one combination of states does hides what is known of another: nothing sharp is
 *  observed, so the posterior itself must be looked at. One pair of states goes in plain loops, two in tiles. */
static void looks_at_the_posterior(void **state)
{
    (void)state;
    for (int pairs = 1; pairs <= 2; ++pairs) {
        const int n = 2 * pairs;
        golden *g = model_random((model_spec){ 134, 68, 1, n, 1, KS_PRIOR_X0, 0 });
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                /* Eigenvalues 1.15 of sums and .6 of differences. */
                g->F.f64[i * n + j] = i / 2 != j / 2 ? 0 : i == j ? 0.875 : 0.275;
                g->Q.f64[i * n + j] = i == j ? 1e-4 : 0;
                g->P0.f64[i * n + j] = i == j;
            }
            g->H.f64[i] = i % 2 ? -1 : 1;
        }
        g->R.f64[0] = 1e-4;
        for (int64_t k = 20; k < 60; ++k) g->y.f64[k] = (double)NAN;
        model_round(g);
        textbook_smooth(g);
        ks_info info = KS_INFO_INIT;
        const double error = error_of(g, &filter_once, KS_F64, outputs_of(KS_JOB_FILTER), &info);
        /* The reference has 64 bits for variances from 1e-4 to 1e8. */
        if (!(error <= 1e-5)) fail_msg("(%d, 1): off by %.3g", n, error);
        assert_true(info.array_steps >= 35 && info.ordinary_steps >= 15);
        golden_free(g);
    }
}

/** Single precision over a long series: it neither drifts nor loses positive definiteness. */
static void no_drift(void **state)
{
    (void)state;
    golden *g = tracking(20000, 1e4, 0.5);
    ks_info info = KS_INFO_INIT;
    assert_true(library_error(g, &smooth_once, KS_F32, &info) <= 5e-3);
    golden_buffers *b = run_well(g, &smooth_once, KS_F32, 1, outputs_of(KS_JOB_SMOOTH), NULL);
    assert_true(covariances_sound(b, KS_F32, outputs_of(KS_JOB_SMOOTH)));
    golden_buffers_free(b);
    golden_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vague_start),       cmocka_unit_test(ordinary_start),
        cmocka_unit_test(sharpness_decides), cmocka_unit_test(correlation_decides),
        cmocka_unit_test(correlation_in_all_methods), cmocka_unit_test(returns_for_one_step),
        cmocka_unit_test(looks_at_the_posterior), cmocka_unit_test(no_drift),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
