/* test_rts_chunks.c -- the parallel RTS smoother in chunks goes back from information, where that has the digits, and
 * from smoothing elements where it has not; chunks of any length, one step among them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "assert_within.h"
#include "models.h"
#include "run_case.h"

static const unsigned made = KS_OUT_LOGLIK | KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_SMOOTHED_VAR |
                             KS_OUT_LAG_ONE_COV | KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV;
static const method_case sequential = { .job = KS_JOB_SMOOTH, .method = KS_METHOD_SEQUENTIAL };
static const method_case chunks = { .job = KS_JOB_SMOOTH, .method = KS_METHOD_SCAN_RTS, .scan = KS_SCAN_CHUNKED };

/** Chunks make `elements` of each step, come to the same bits on any number of threads, and agree with the sequential
 *  method to `most` standard deviations, and what these are to covariances and the log-likelihood. */
static void agrees(const golden *g, ks_precision precision, int64_t elements, double most)
{
    static const int threads[] = { 1, 2, 5 };
    golden_buffers *b[3], *want;
    ks_info info[3], other = KS_INFO_INIT;
    assert_int_equal(run_case(g, &sequential, precision, 1, made, &want, &other), KS_OK);
    for (int i = 0; i < 3; ++i) {
        info[i] = (ks_info)KS_INFO_INIT;
        assert_int_equal(run_case(g, &chunks, precision, threads[i], made, &b[i], &info[i]), KS_OK);
        assert_int_equal(info[i].elements, elements * g->T * g->B);
        assert_int_equal(first_different(b[i], b[0], made), 0);
    }
    assert_int_equal(info[0].missing, other.missing);
    /* As many steps are taken, each by one chunk. */
    assert_int_equal(info[0].ordinary_steps + info[0].array_steps, other.ordinary_steps + other.array_steps);
    const golden_difference d =
        golden_compare(golden_widen(b[0]), golden_widen(want), made, (golden_norm){ 0, false });
    if (!(d.error <= most))
        fail_msg("T = %lld, nx = %d: %s of step %lld off by %.3g", (long long)g->T, g->nx, golden_output_name(d.output),
                 (long long)d.step, d.error);
    for (int i = 0; i < 3; ++i) golden_buffers_free(b[i]);
    golden_buffers_free(want);
}

/** Chunks of one step, of several and a last one that is not full. */
static void any_length(void **state)
{
    (void)state;
    for (int64_t steps = 1; steps < 40; steps += 1 + (steps > 20) * 3)
        for (int p = 0; p < 2; ++p) {
            golden *g = model_random((model_spec){ 40 + (uint64_t)steps, steps, 2, 3, 2, p ? KS_PRIOR_X1 : KS_PRIOR_X0,
                                                   VARIES_ALL | OWN_MODELS | MISSING | HAS_OFFSETS });
            agrees(g, KS_F64, 1, 1e-11);
            agrees(g, KS_F32, 1, 1e-3);
            golden_free(g);
        }
}

static void long_series(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 1, 1 }, { 4, 2 }, { 7, 3 }, { 12, 5 } };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        golden *g = model_random((model_spec){ 80 + i, 2003, 1, sizes[i][0], sizes[i][1], KS_PRIOR_X0,
                                               VARIES_F | VARIES_R | MISSING });
        agrees(g, KS_F64, 1, 1e-11);
        agrees(g, KS_F32, 1, 2e-3);
        golden_free(g);
    }
}

/** Two states of a vague prior that hardly move, only their sum observed: information has lost the digits that tell the
 *  difference apart, smoothing elements have them. */
static void information_lost(void **state)
{
    (void)state;
    for (int i = 0; i < 2; ++i) {
        golden *g = model_random((model_spec){ 90, 500, 1, 2, 1, i ? KS_PRIOR_X1 : KS_PRIOR_X0, VARIES_U });
        g->F.f64[0] = g->F.f64[3] = g->H.f64[0] = g->H.f64[1] = g->R.f64[0] = 1;
        g->F.f64[1] = g->F.f64[2] = 0;
        g->Q.f64[0] = g->Q.f64[3] = 0x1p-10;
        g->Q.f64[1] = g->Q.f64[2] = g->P0.f64[1] = g->P0.f64[2] = 0;
        g->P0.f64[0] = g->P0.f64[3] = 0x1p20;
        model_round(g);
        agrees(g, KS_F64, 2, 1e-8);
        golden_free(g);
    }
}

/** Four integrators in a row of which nothing is observed for a hundred steps: the information about the end of no chunk
 *  tells so much that its round-off would show there, but a chunk that goes back from it through the gap does not meet the
 *  one before, by up to 1.6e-5 standard deviations. Smoothing elements have the digits. */
static void chunks_apart(void **state)
{
    (void)state;
    for (int i = 0; i < 4; ++i) {
        const unsigned varies = i < 2 ? VARIES_Q | VARIES_R : VARIES_H;
        golden *g = model_random(
            (model_spec){ i < 2 ? 96 : 95, 200, 1, 4, 1, i % 2 ? KS_PRIOR_X1 : KS_PRIOR_X0, varies });
        for (int j = 0; j < 16; ++j) g->F.f64[j] = j % 5 == 0 || j % 5 == 1;
        for (int k = 0; k < 100; ++k) model_block(&g->y, 0, k)[0] = (double)NAN;
        model_round(g);
        agrees(g, KS_F64, 2, 1e-9);
        golden_free(g);
    }
}

/** Contracting states of which noise disturbs one alone, with vague priors: neither information nor smoothing elements have
 *  the digits. Some chunks do not come to what the ones before them go back from, whatever their predictions look like. */
static void neither_has_the_digits(void **state)
{
    (void)state;
    int refused = 0;
    for (uint64_t seed = 1; seed <= 60; ++seed) {
        golden *g = model_random((model_spec){ 200 + seed, 110, 1, 4, 4, KS_PRIOR_X0, MISSING });
        double *F = model_block(&g->F, 0, 0), *Q = model_block(&g->Q, 0, 0), *P0 = model_block(&g->P0, 0, 0);
        source s = { seed };
        double u[4], v[4], product = 0;
        for (int i = 0; i < 4; ++i) {
            u[i] = normal(&s);
            v[i] = u[i] + normal(&s) / 2;
            product += u[i] * v[i];
        }
        for (int i = 0; i < 16; ++i) {
            const int row = i / 4, column = i % 4;
            F[i] = (row == column ? 0.64 + 0.02 * row : 0) + 0.3 * u[row] * v[column] / product;
            Q[i] = i == 10 ? 0.125 : 0;
            P0[i] = row == column ? pow(2, 7 * row) : 0;
        }
        model_round(g);
        golden_buffers *b = NULL, *want;
        ks_info info = KS_INFO_INIT, other = KS_INFO_INIT;
        assert_int_equal(run_case(g, &sequential, KS_F64, 1, made, &want, &other), KS_OK);
        if (run_case(g, &chunks, KS_F64, 2, made, &b, &info) != KS_OK) {
            assert_int_equal(info.status, KS_EREFUSED);
            ++refused;
        } else {
            const golden_difference d =
                golden_compare(golden_widen(b), golden_widen(want), made, (golden_norm){ 0, false });
            if (!(d.error <= 1e-6))
                fail_msg("seed %d: %s of step %lld off by %.3g", (int)seed, golden_output_name(d.output),
                         (long long)d.step, d.error);
        }
        golden_buffers_free(b);
        golden_buffers_free(want);
        golden_free(g);
    }
    assert_within(refused, 1, 58);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(any_length), cmocka_unit_test(long_series),
                                        cmocka_unit_test(information_lost), cmocka_unit_test(chunks_apart),
                                        cmocka_unit_test(neither_has_the_digits) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
