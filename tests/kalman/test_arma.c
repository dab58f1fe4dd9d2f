/* test_arma.c -- ARMA models: one disturbance, observed without noise, so that roots of covariances keep few columns
 * and the way back is by reflections. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "models.h"
#include "run_case.h"
#include "sanitizers.h"
#include "textbook.h"

static const method_case smooth_once = { KS_JOB_SMOOTH, KS_METHOD_SEQUENTIAL, 0, 1, 0 };

static const int sizes[] = { 2, 3, 4, 5, 8, 14 };
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/** ARMA of nx lags and nx - 1 moving averages, each of them alone where `gaps` is 0; every seventh entry (gaps < 3), some at once and
 *  the end are missing otherwise. per_step: F is given for each step. */
static golden *arma(int nx, int64_t T, ks_prior prior, int gaps, int per_step)
{
    golden *g = model_random((model_spec){ 150 + (uint64_t)nx, T, 1, nx, 1, prior, per_step ? VARIES_F : 0 });
    double theta[14] = { 1 };
    for (int i = 1; i < nx; ++i) theta[i] = (i % 2 ? 1 : -1) * ldexp(1, -i); /* invertible */
    for (int64_t k = 0; k < (per_step ? T : 1); ++k) {
        double *F = model_block(&g->F, 0, k);
        for (int i = 0; i < nx; ++i)
            for (int j = 0; j < nx; ++j)
                F[i * nx + j] = j == i + 1 ? 1 : j > 0 ? 0 : i == 0 ? 0.5 : (i % 3 ? 0.125 : -0.25) / nx;
    }
    for (int i = 0; i < nx; ++i) {
        for (int j = 0; j < nx; ++j) {
            g->Q.f64[i * nx + j] = theta[i] * theta[j];
            g->P0.f64[i * nx + j] = i == j;
        }
        g->H.f64[i] = i == 0;
    }
    g->R.f64[0] = 0;
    for (int64_t k = 0; gaps && k < T; ++k)
        if ((gaps < 3 && k % 7 == 0) || (k > 20 && k < 28) || k == T - 1) g->y.f64[k] = (double)NAN;
    model_round(g);
    textbook_smooth(g);
    return g;
}

/** To what a step back may cost before it counts as sharp, as in test_contraction.c. */
static void as_the_textbook(void **state)
{
    (void)state;
    static const int64_t lengths[] = { 1, 2, 3, 60, 300 };
    for (int i = 0; i < SIZES; ++i)
        for (size_t t = 0; t < sizeof lengths / sizeof lengths[0]; ++t)
            for (int way = 0; way < 8; ++way) {
                if (SANITIZED && (i + (int)t + way) % 4) continue;
                golden *g = arma(sizes[i], lengths[t], way & 1 ? KS_PRIOR_X1 : KS_PRIOR_X0, way & 2, way & 4);
                for (int p = 0; p < 3; ++p) {
                    const unsigned outputs = outputs_made(&smooth_once);
                    golden_buffers *b = run_well(g, &smooth_once, (ks_precision)p, 1, outputs, NULL);
                    const golden_difference d = golden_compare(golden_widen(b), &g->expected, outputs,
                                                               golden_norm_of(g, (ks_precision)p));
                    if (!(d.error <= (p == KS_F64 ? 1e-7 : 5e-2)))
                        fail_msg("nx = %d, T = %lld, way %d, precision %d: %s at step %lld off by %.3g", sizes[i],
                                 (long long)lengths[t], way, p, golden_output_name(d.output), (long long)d.step, d.error);
                    golden_buffers_free(b);
                }
                golden_free(g);
            }
}

/** What the filter leaves in place goes back as it is; by checkpoints it is made again, and is the same to the bit. */
static void filtered_once(void **state)
{
    (void)state;
    const int64_t T = 2000;
    for (int i = 0; i < SIZES; ++i)
        for (int p = 0; p < 2; ++p) {
            golden *g = arma(sizes[i], T, KS_PRIOR_X1, 3, 0);
            static const unsigned sets[] = { KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV, KS_OUT_SMOOTHED_MEAN,
                                             KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_PREDICTED_COV |
                                                 KS_OUT_LAG_ONE_COV };
            golden_buffers *b[3];
            for (int set = 0; set < 3; ++set) {
                size_t bytes = 0;
                ks_info info = KS_INFO_INIT;
                b[set] = run_well(g, &smooth_once, (ks_precision)p, 1, sets[set], &info);
                assert_int_equal(info.ordinary_steps, 0);
                assert_int_equal(info.array_steps, 2 * T);
                const void *first = golden_bytes(b[0], KS_OUT_SMOOTHED_MEAN, &bytes);
                assert_memory_equal(first, golden_bytes(b[set], KS_OUT_SMOOTHED_MEAN, &bytes), bytes);
            }
            for (int set = 0; set < 3; ++set) golden_buffers_free(b[set]);
            golden_free(g);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(as_the_textbook), cmocka_unit_test(filtered_once) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
