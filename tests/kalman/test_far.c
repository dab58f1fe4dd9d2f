/* test_far.c -- states far from zero in single precision. Their predictions are sharp, and the way back is in double: its
 * results are those of double precision, rounded once. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "models.h"
#include "run_case.h"
#include "sanitizers.h"
#include "stopper.h"

enum { FAR = 1 << 15 };

static const method_case sequential = { .job = KS_JOB_SMOOTH, .method = KS_METHOD_SEQUENTIAL };
static const method_case automatic = { .job = KS_JOB_SMOOTH, .method = KS_METHOD_AUTO };
static const method_case two_ended = { .job = KS_JOB_SMOOTH, .method = KS_METHOD_TWO_ENDED };
static const unsigned smoothed = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_SMOOTHED_VAR | KS_OUT_LAG_ONE_COV |
                                 KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV;

/** States that return to where they are, so that they are known better after a transition than before. */
static golden *far_from_zero(int nx, int64_t T, int64_t B, ks_prior prior, unsigned flags)
{
    const int ny = (nx + 1) / 2;
    golden *g = model_random((model_spec){ 400 + (uint64_t)nx, T, B, nx, ny, prior, flags | HAS_OFFSETS });
    source s = { 5 };
    for (int64_t b = 0; b < B; ++b) {
        for (int64_t k = 0; k < T; ++k) {
            double *F = model_block(&g->F, b, k), *Q = model_block(&g->Q, b, k), *H = model_block(&g->H, b, k);
            for (int i = 0; i < nx; ++i) model_block(&g->u, b, k)[i] = 0.125 * FAR;
            for (int i = 0; i < nx * nx; ++i) {
                F[i] = i % (nx + 1) ? 0 : 0.875;
                Q[i] = i % (nx + 1) ? 0 : 0x1p-6;
            }
            for (int i = 0; i < ny * ny; ++i) model_block(&g->R, b, k)[i] = i % (ny + 1) ? 0 : 64 + (double)(k % 5);
            for (int j = 0; j < ny; ++j) {
                double sum = normal(&s);
                for (int i = 0; i < nx; ++i) sum += H[j * nx + i] * FAR;
                if (!isnan(g->y.f64[(b * T + k) * ny + j])) g->y.f64[(b * T + k) * ny + j] = sum;
            }
        }
        for (int i = 0; i < nx; ++i) model_block(&g->m0, b, 0)[i] = FAR;
        for (int i = 0; i < nx * nx; ++i) model_block(&g->P0, b, 0)[i] = i % (nx + 1) ? 0 : 16;
    }
    model_round(g);
    return g;
}

/** Every one of `outputs` of `single` is that of `wide`, rounded. */
static void is_rounded(const golden *g, const golden_buffers *single, const golden_buffers *wide, unsigned outputs)
{
    for (int i = 0; i < GOLDEN_OUTPUTS; ++i) {
        size_t bytes, other;
        if (!(outputs >> i & 1)) continue;
        const float *a = golden_bytes(single, (ks_output)(1u << i), &bytes);
        const double *b = golden_bytes(wide, (ks_output)(1u << i), &other);
        assert_int_equal(2 * bytes, other);
        for (size_t j = 0; j < bytes / sizeof(float); ++j)
            if (a[j] != (float)b[j])
                fail_msg("T = %lld, nx = %d, %s, number %zu: %.9g for %.17g", (long long)g->T, g->nx,
                         golden_output_name((ks_output)(1u << i)), j, (double)a[j], b[j]);
    }
}

/** Results of g in single precision are rounded ones. Whether the way back is in double tell the counts of steps. */
static void smooths_rounded(const golden *g, const method_case *m, int threads, unsigned outputs)
{
    if (g->prior == KS_PRIOR_X1) outputs &= ~(unsigned)(KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV);
    ks_info info = KS_INFO_INIT;
    golden_buffers *single = run_well(g, m, KS_F32, threads, outputs, &info);
    golden_buffers *wide = run_well(g, &sequential, KS_F64, 1, outputs, NULL);
    assert_int_equal(info.method, KS_METHOD_SEQUENTIAL);
    /* Both passes, and the filter once more; the last step is none back. */
    assert_true(info.ordinary_steps + info.array_steps >= (3 * g->T - 1) * g->B);
    is_rounded(g, single, wide, outputs);
    golden_buffers_free(single);
    golden_buffers_free(wide);
}

/** Of any size and length, in place and by checkpoints, constant and varying. */
static void rounded_results(void **state)
{
    (void)state;
    static const int sizes[] = { 1, 2, 3, 4, 6, 9, 17 };
    static const int64_t lengths[] = { 40, 97, 700 };
    static const unsigned kinds[] = { MISSING, VARIES_ALL, VARIES_R | VARIES_H | MISSING, VARIES_F | VARIES_Q };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i)
        for (size_t t = 0; t < 3; ++t)
            for (size_t kind = 0; kind < 4; ++kind) {
                if (SANITIZED && (i + t + kind) % 3) continue;
                golden *g = far_from_zero(sizes[i], lengths[t], 1, (ks_prior)(kind % 2), kinds[kind]);
                smooths_rounded(g, &sequential, 1, smoothed);
                smooths_rounded(g, &sequential, 1, KS_OUT_SMOOTHED_MEAN | KS_OUT_LAG_ONE_COV);
                smooths_rounded(g, &sequential, 1, KS_OUT_SMOOTHED_VAR | KS_OUT_PRIOR_COV);
                golden_free(g);
            }
}

/** Several series, of one model and each of its own, on any number of threads. */
static void several_series(void **state)
{
    (void)state;
    for (int own = 0; own < 2; ++own)
        for (int threads = 1; threads <= 3; ++threads) {
            golden *g = far_from_zero(3, 200, 5, KS_PRIOR_X0, own ? OWN_MODELS | VARIES_F : 0);
            smooths_rounded(g, &sequential, threads, smoothed);
            smooths_rounded(g, &sequential, threads, KS_OUT_SMOOTHED_MEAN);
            golden_free(g);
        }
}

/** KS_METHOD_AUTO gives up the right half. */
static void left_to_the_library(void **state)
{
    (void)state;
    for (int nx = 2; nx <= 6; nx += 4) {
        golden *g = far_from_zero(nx, 6000, 1, KS_PRIOR_X0, nx == 2 ? VARIES_F : MISSING);
        smooths_rounded(g, &automatic, 2, smoothed);
        golden_free(g);
    }
}

/** The left half goes back in double from where the halves have met: only that and the right half are single. */
static void from_both_ends(void **state)
{
    (void)state;
    for (int nx = 1; nx <= 6; ++nx)
        for (int in_place = 0; in_place < 2; ++in_place) {
            enum { T = 500 };
            const unsigned outputs = KS_OUT_SMOOTHED_MEAN | (in_place ? KS_OUT_SMOOTHED_COV : KS_OUT_SMOOTHED_VAR);
            golden *g = far_from_zero(nx, T, 1, KS_PRIOR_X0, VARIES_R);
            ks_info info = KS_INFO_INIT;
            golden_buffers *single = run_well(g, &two_ended, KS_F32, 2, outputs, &info);
            golden_buffers *wide = run_well(g, &two_ended, KS_F64, 2, outputs, NULL);
            size_t bytes, other;
            const float *a = golden_bytes(single, KS_OUT_SMOOTHED_MEAN, &bytes);
            const double *b = golden_bytes(wide, KS_OUT_SMOOTHED_MEAN, &other);
            assert_true(info.ordinary_steps + info.array_steps > 2 * T + T / 4);
            for (int64_t i = 0; i < (int64_t)T * nx; ++i) {
                /* A rounding is 2^-10 at most; steps back forget that of the middle. */
                const double most = i < (int64_t)nx * T / 2 ? 0x1p-9 : 0x1p-4;
                if (!(fabs((double)a[i] - b[i]) <= most))
                    fail_msg("nx = %d, number %lld: %.9g for %.17g", nx, (long long)i, (double)a[i], b[i]);
            }
            golden_buffers_free(single);
            golden_buffers_free(wide);
            golden_free(g);
        }
}

/** A run can be stopped at each call of the progress function. */
static void stopped(void **state)
{
    (void)state;
    golden *g = far_from_zero(2, 300, 1, KS_PRIOR_X0, 0);
    const ks_model model = golden_model(g, KS_F32);
    ks_status status = KS_ECANCELED;
    int calls = 0;
    while (status == KS_ECANCELED) {
        ks_smooth_options o = options_of(&sequential, KS_F32, smoothed);
        stopper s = { 0, ++calls };
        golden_buffers *b = NULL;
        o.progress = stopping;
        o.progress_user = &s;
        status = run_model(g, &model, golden_y(g, KS_F32), &o, 1, &b, NULL);
        golden_buffers_free(b);
    }
    assert_int_equal(status, KS_OK);
    /* The filter, and each segment of the way back twice. */
    assert_true(calls > 1 + 2 * 17);
    golden_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounded_results), cmocka_unit_test(several_series), cmocka_unit_test(left_to_the_library),
        cmocka_unit_test(from_both_ends), cmocka_unit_test(stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
