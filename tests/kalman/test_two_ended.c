/* test_two_ended.c -- laws of smoothing from both ends: R at the edge of what is taken, the rules that ask for another
 * passage and for the array form, and memory of steps. test_information.c has those of its ranges. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "models.h"
#include "run_case.h"
#include "sanitizers.h"
#include "textbook.h"

static const method_case two_ended = { .job = KS_JOB_SMOOTH, .method = KS_METHOD_TWO_ENDED };
static const golden_norm strict = { 0, false };
static const unsigned outputs = KS_OUT_LOGLIK | KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV;

/** R = [1 1 - c; 1 - c 1]: its second pivot is 2 c, about. */
static void correlated_noise(void **state)
{
    (void)state;
    for (int p = 0; p < 2; ++p) {
        const double edge = p == KS_F64 ? 0x1p-26 : 0x1p-12;
        for (int above = 0; above < 2; ++above) {
            golden *g = model_random((model_spec){ 151, 30, 1, 2, 2, KS_PRIOR_X0, VARIES_R });
            double *R = model_block(&g->R, 0, 20);
            const double c = above ? 2 * edge : edge / 4;
            R[0] = R[3] = 1;
            R[1] = R[2] = 1 - c;
            model_round(g);
            R[1] = R[2] = 1 - c; /* in double c would not survive the rounding to float */
            textbook_smooth(g);
            golden_buffers *b = NULL;
            ks_info info = KS_INFO_INIT;
            const ks_status status = run_case(g, &two_ended, (ks_precision)p, 1, outputs, &b, &info);
            assert_int_equal(status, above ? KS_OK : KS_EREFUSED);
            if (!above) {
                assert_int_equal(info.array, KS_ARRAY_R);
                assert_int_equal(info.step, 20);
                assert_int_equal(info.row, 1);
                assert_int_equal(info.suggestion, KS_METHOD_SEQUENTIAL);
            } else {
                assert_true(golden_judge(golden_widen(b), g, outputs, GOLDEN_TWO_ENDED,
                                         (ks_precision)p, strict).good);
            }
            golden_buffers_free(b);
            golden_free(g);
        }
    }
}

/** The refusal concerns the right half alone, and of several steps the lowest is told. */
static void lowest_step_of_the_right_half(void **state)
{
    (void)state;
    for (int64_t T = 3; T <= 21; ++T) {
        golden *g = model_random((model_spec){ 152, T, 1, 2, 1, KS_PRIOR_X0, VARIES_R });
        ks_info info = KS_INFO_INIT;
        golden_buffers *b = NULL;
        for (int64_t k = 0; k < T - T * 2 / 5; ++k) g->R.f64[k] = 0;
        model_round(g);
        golden_buffers_free(run_well(g, &two_ended, KS_F64, 1, outputs, NULL));
        for (int64_t k = T - 1; k >= T - T * 2 / 5; k -= 2) {
            g->R.f64[k] = 0;
            assert_int_equal(run_case(g, &two_ended, KS_F64, 1, outputs, &b, &info), KS_EREFUSED);
            golden_buffers_free(b);
            assert_int_equal(info.step, k);
        }
        golden_free(g);
    }
}

/** Which steps are the right half's depends on sizes, precision and Q; these alone are refused. */
static void right_half_of_every_size(void **state)
{
    (void)state;
    static const int sizes[] = { 1, 2, 4, 5, 8, 9, 12, 13 };
    for (size_t c = 0; c < sizeof sizes / sizeof sizes[0]; ++c)
        for (int p = 0; p < 2; ++p)
            for (int varies = 0; varies < 2; ++varies) {
                golden *g = model_random((model_spec){ 158, 72, 1, sizes[c], 1, KS_PRIOR_X0,
                                                       VARIES_R | (varies ? VARIES_Q : 0u) });
                ks_info info = KS_INFO_INIT;
                golden_buffers *b = NULL;
                int64_t series, first;
                int row;
                for (int64_t k = 0; k < g->T; ++k) g->R.f64[k] = 0;
                model_round(g);
                assert_true(two_ended_refuses(g, (ks_precision)p, &series, &first, &row));
                assert_int_equal(run_case(g, &two_ended, (ks_precision)p, 1, outputs, &b, &info), KS_EREFUSED);
                assert_int_equal(info.step, first);
                golden_buffers_free(b);
                golden_free(g);
            }
}

/** Two states of which only the sum is observed well: J is much larger than what is known of either,
 *  by a factor of about 4 q / r. */
static golden *sum_observed(double r, double level)
{
    golden *g = model_random((model_spec){ 153, 60, 1, 2, 1, KS_PRIOR_X0, 0 });
    const double F[4] = { 0.75, 0, 0, 0.5 }, Q[4] = { 1, 0, 0, 1 }, H[2] = { 1, 1 };
    memcpy(g->F.f64, F, sizeof F);
    memcpy(g->Q.f64, Q, sizeof Q);
    memcpy(g->H.f64, H, sizeof H);
    g->R.f64[0] = r;
    for (int64_t k = 0; k < g->T; ++k) g->y.f64[k] += level;
    model_round(g);
    textbook_smooth(g);
    return g;
}

static ks_info error_within(golden *g, ks_precision precision, double bound)
{
    ks_info info = KS_INFO_INIT;
    golden_buffers *b = run_well(g, &two_ended, precision, 1, outputs, &info);
    const golden_difference d = golden_compare(golden_widen(b), &g->expected, outputs, strict);
    if (!(d.error <= bound))
        fail_msg("%s of step %lld off by %.3g", golden_output_name(d.output), (long long)d.step,
                 d.error);
    golden_buffers_free(b);
    return info;
}

/** The information goes over to the array form where its round-off would show, and only there. */
static void array_form_where_needed(void **state)
{
    (void)state;
    for (int p = 0; p < 2; ++p) {
        const double growth = p == KS_F64 ? 1e5 : 500;
        golden *easy = sum_observed(16 / growth, 0), *hard = sum_observed(0.1 / growth, 0);
        ks_info info = error_within(easy, (ks_precision)p, p == KS_F64 ? 1e-10 : 1e-3);
        assert_true(info.array_steps <= 6);
        info = error_within(hard, (ks_precision)p, p == KS_F64 ? 1e-9 : 1e-2);
        /* A fifth of the 60 steps at least, both ways: the left may take the ordinary form for such observations. */
        assert_true(info.array_steps >= 24);
        golden_free(easy);
        golden_free(hard);
    }
    /* A level far from zero is no reason in double, and one in single precision. */
    golden *far = sum_observed(1, 4096);
    assert_true(error_within(far, KS_F64, 1e-9).array_steps <= 6);
    (void)error_within(far, KS_F32, 2e-2);
    golden_free(far);
}

/** Of two series side by side the one that has to be done again is, whichever it is, with the bits that it has
 *  on one thread. */
static void one_of_two_again(void **state)
{
    (void)state;
    for (int64_t vague = 0; vague < 2; ++vague) {
        golden *g = model_random((model_spec){ 156, 60, 2, 2, 1, KS_PRIOR_X0, OWN_MODELS });
        for (int64_t b = 0; b < 2; ++b) {
            const double F[4] = { 1, 0, 0, 1 }, Q[4] = { 0x1p-10, 0, 0, 0x1p-10 };
            const double unknown = b == vague ? 0x1p17 : 16, P0[4] = { unknown, 0, 0, unknown };
            double *H = model_block(&g->H, b, 0);
            memcpy(model_block(&g->F, b, 0), F, sizeof F);
            memcpy(model_block(&g->Q, b, 0), Q, sizeof Q);
            memcpy(model_block(&g->P0, b, 0), P0, sizeof P0);
            H[0] = H[1] = *model_block(&g->R, b, 0) = 1;
        }
        model_round(g);
        textbook_smooth(g);
        ks_info one = KS_INFO_INIT, four = KS_INFO_INIT;
        golden_buffers *alone = run_well(g, &two_ended, KS_F64, 1, outputs, &one);
        golden_buffers *both = run_well(g, &two_ended, KS_F64, 4, outputs, &four);
        assert_true(golden_compare(golden_widen(both), &g->expected, outputs, strict).error <= 1e-8);
        assert_int_equal(first_different(alone, both, outputs), 0);
        assert_int_equal(one.array_steps, four.array_steps);
        assert_true(four.array_steps >= 20); /* one right half */
        golden_buffers_free(alone);
        golden_buffers_free(both);
        golden_free(g);
    }
}

/** Two states that wander a little far from zero, where no row of y tells how far that ks_size_of_observations() looks
 *  at: steps by the precision of Q lose the mean, and the series is done again without them, in the ordinary form. */
static void far_from_zero_unseen(void **state)
{
    (void)state;
    enum { T = 64 };
    golden *g = model_random((model_spec){ 156, T, 1, 2, 2, KS_PRIOR_X0, 0 });
    const double level = 0x1p20, F[4] = { 1, 0, 0, 1 }, Q[4] = { 0x1p-7, 0, 0, 0x1p-7 };
    memcpy(g->F.f64, F, sizeof F);
    memcpy(g->H.f64, F, sizeof F);
    memcpy(g->R.f64, F, sizeof F);
    memcpy(g->P0.f64, F, sizeof F);
    memcpy(g->Q.f64, Q, sizeof Q);
    for (int i = 0; i < 2; ++i) g->m0.f64[i] += level;
    for (int64_t i = 0; i < 2 * T; ++i) g->y.f64[i] = i / 2 % 4 == 2 ? (double)NAN : g->y.f64[i] + level;
    model_round(g);
    textbook_smooth(g);
    assert_true(error_within(g, KS_F64, 1e-8).array_steps <= 2);
    golden_free(g);
}

/** The sum of two states is observed, and into step `a` their difference becomes unknown, by `burst`; it halves with each
 *  step, or with `gone` is none any more after the next. At step c the variance of the observation is `sharp`. Both have
 *  the mean `level`. More states are there, of which nothing is observed. */
static golden *burst_of_difference(int n, int64_t T, int64_t a, double burst, int gone, int64_t c, double sharp,
                                   double level)
{
    golden *g = model_random((model_spec){ 159, T, 1, n, 1, KS_PRIOR_X0, VARIES_F | VARIES_Q | VARIES_R | HAS_OFFSETS });
    for (int64_t k = 0; k < T; ++k) {
        double *F = model_block(&g->F, 0, k), *Q = model_block(&g->Q, 0, k);
        for (int i = 0; i < n * n; ++i) F[i] = i % (n + 1) ? 0 : 0.5, Q[i] = i % (n + 1) == 0;
        F[0] = F[n + 1] = gone && k == a + 1 ? 0.5 : 0.75;
        F[1] = F[n] = gone && k == a + 1 ? 0.5 : 0.25;
        Q[0] = Q[n + 1] += k == a ? burst : 0;
        Q[1] = Q[n] -= k == a ? burst : 0;
        *model_block(&g->R, 0, k) = k == c ? sharp : 1;
        *model_block(&g->y, 0, k) = 2 * level;
    }
    for (int i = 0; i < n; ++i) g->H.f64[i] = i < 2, g->u.f64[i] = 0, g->m0.f64[i] = i < 2 ? level : 0;
    g->d.f64[0] = 0;
    for (int i = 0; i < n * n; ++i) g->P0.f64[i] = i % (n + 1) == 0;
    model_round(g);
    return g;
}

/** Whether such a series is done again with the information in the array form: then every step of the right half is. */
static int goes_again(golden *g)
{
    ks_info info = KS_INFO_INIT;
    golden_buffers_free(run_well(g, &two_ended, KS_F64, 1, outputs, &info));
    const int64_t right = g->T / 3;
    golden_free(g);
    return info.array_steps >= right;
}

/** The rule that docs/numerics.md gives holds at every step, wherever it stands among those that share a bound: J P
 *  beyond 1e5 at one step alone, before its transition or after it, is not taken in the ordinary form; nor is a mean
 *  far from zero, from where J P tells its round-off more than itself has. */
static void judged_at_every_step(void **state)
{
    (void)state;
    enum { T = 120, RIGHT = T / 3 };
    static const int sizes[] = { 2, 4, 6, 9 };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i)
        for (int64_t c = T - RIGHT + 1; c < T; c += WATCHES_THREADS ? 7 : 1) { /* every one elsewhere */
            const int n = sizes[i];
            const struct { int again; golden *g; } cases[] = {
                { 0, burst_of_difference(n, T, c, 0x1p13, 0, c, 1, 0) },
                { 0, burst_of_difference(n, T, c, 1, 0, c, 0x1p-10, 0) },
                { 1, burst_of_difference(n, T, c, 0x1p13, 0, c, 0x1p-10, 0) },
                { 1, burst_of_difference(n, T, c - 1, 0x1p13, 1, c, 0x1p-10, 0) },
                { 0, burst_of_difference(n, T, c, 1, 0, c, 1, 0x1p16) },
                { 1, burst_of_difference(n, T, c, 0x1p6, 0, c, 1, 0x1p16) },
            };
            for (size_t j = 0; j < sizeof cases / sizeof cases[0]; ++j)
                if (goes_again(cases[j].g) != cases[j].again)
                    fail_msg("nx = %d, step %lld, case %zu: %s", n, (long long)c, j,
                             cases[j].again ? "not done again" : "done again");
        }
}

/** Up to half of the states are without noise, or have the same as another: Q has no inverse and, of whole numbers,
 *  pivots that are zero. */
static void singular_noise(void **state)
{
    (void)state;
    for (int n = 2; n <= 12; ++n)
        for (int rank = (n + 1) / 2; rank < n; ++rank)
            for (int same = 0; same < 2; ++same) {
                golden *g = model_random((model_spec){ 161, 40, 1, n, 2, KS_PRIOR_X0, 0 });
                for (int i = 0; i < n; ++i)
                    for (int j = 0; j < n; ++j)
                        g->Q.f64[i * n + j] = same ? i % rank == j % rank : i == j && i < rank;
                model_round(g);
                textbook_smooth(g);
                (void)error_within(g, KS_F64, 1e-8);
                golden_free(g);
            }
}

/** What is no covariance: ks_smooth_run() does not look at Q, but what it makes of it is no success. */
static void noise_that_is_none(void **state)
{
    (void)state;
    for (int n = 2; n <= 9; ++n)
        for (int varies = 0; varies < 2; ++varies)
            for (int at = 0; at < n; ++at)
                for (int nan = 0; nan < 2; ++nan) {
                    golden *g = model_random((model_spec){ 162, 40, 1, n, 2, KS_PRIOR_X0, varies ? VARIES_Q : 0u });
                    golden_buffers *b = NULL;
                    for (int i = 0; i < n * n; ++i)
                        if (i / n == at || i % n == at) model_block(&g->Q, 0, 35)[i] = 0;
                    model_block(&g->Q, 0, 35)[at * (n + 1)] = nan ? (double)NAN : -1;
                    assert_int_not_equal(run_case(g, &two_ended, KS_F64, 1, outputs, &b, NULL), KS_OK);
                    golden_buffers_free(b);
                    golden_free(g);
                }
}

/** States that are seen the less the longer ago: of most of them later observations tell less than round-off of what they
 *  tell of the others, J, but half of the digits of that of the mean, eta. */
static void little_told_where_the_halves_meet(void **state)
{
    (void)state;
    enum { N = 12 };
    golden *g = model_random((model_spec){ 157, 90, 1, N, 1, KS_PRIOR_X0, 0 });
    for (int i = 0; i < N; ++i) { /* rows of F, orthogonal, of length .3 */
        double *row = g->F.f64 + i * N, square = 0;
        for (int r = 0; r < i; ++r) {
            double dot = 0;
            for (int j = 0; j < N; ++j) dot += row[j] * g->F.f64[r * N + j];
            for (int j = 0; j < N; ++j) row[j] -= dot / 0.09 * g->F.f64[r * N + j];
        }
        for (int j = 0; j < N; ++j) square += row[j] * row[j];
        for (int j = 0; j < N; ++j) row[j] *= 0.3 / sqrt(square);
        for (int j = 0; j < N; ++j) g->Q.f64[i * N + j] = i == j ? 1024 : 0;
    }
    g->R.f64[0] = 1;
    for (int64_t k = 0; k < g->T; ++k) g->y.f64[k] *= 64;
    model_round(g);
    textbook_smooth(g);
    (void)error_within(g, KS_F64, 1e-10);
    golden_free(g);
}

/** A chain of twelve of which the last ones tell of themselves by 1e-38 of what the first one does: next to nothing in
 *  single precision. */
static void hardly_seen(void **state)
{
    (void)state;
    enum { N = 12 };
    for (int64_t T = 2; T < 12; ++T) {
        golden *g = model_random((model_spec){ 158, T, 1, N, 1, KS_PRIOR_X0, 0 });
        for (int i = 0; i < N; ++i) {
            double entry = 1;
            for (int j = 0; j < N; ++j) {
                g->F.f64[i * N + j] = j < i ? 0 : entry;
                if (j >= i) entry *= 0.1 / (j - i + 1);
                g->Q.f64[i * N + j] = i == j ? 0.5 : 0;
                g->P0.f64[i * N + j] = i == j;
            }
            g->H.f64[i] = i == 0;
        }
        g->R.f64[0] = 1;
        model_round(g);
        textbook_smooth(g);
        (void)error_within(g, KS_F64, 1e-10);
        (void)error_within(g, KS_F32, 5e-3);
        golden_free(g);
    }
}

/** Roots of a Q that varies are made of four steps side by side, whatever is left over at the ends, next to steps without
 *  noise and with noise in one direction only, whose roots are made by themselves. */
static void noise_of_some_steps_singular(void **state)
{
    (void)state;
    enum { FOUR = 4 };
    for (int n = 4; n <= 8; ++n)
        for (int64_t T = 21; T < 21 + FOUR; ++T)
            for (int p = 0; p < 2; ++p) {
                golden *g = model_random((model_spec){ 158 + (unsigned)n, T, 1, n, 2, KS_PRIOR_X0, VARIES_Q | VARIES_R });
                for (int64_t k = 0; k < T - 1; ++k) {
                    double *Q = model_block(&g->Q, 0, k);
                    for (int i = 0; i < n * n; ++i)
                        if (k % 7 == 3) Q[i] = 1;
                        else if (k % 5 == 1) Q[i] = 0;
                }
                model_round(g);
                textbook_smooth(g);
                const ks_info info = error_within(g, (ks_precision)p, p == KS_F64 ? 1e-10 : 5e-3);
                assert_true(info.array_steps <= 2);
                golden_free(g);
            }
}

/** Outputs with gaps between their rows: what lies in the gaps is not touched, although what waits
 *  for the way out waits in them. */
static void strided_outputs(void **state)
{
    (void)state;
    enum { T = 9, B = 3, NX = 2, ROW = 7, SERIES = ROW * T + 5 };
    golden *g = model_random((model_spec){ 154, T, B, NX, 1, KS_PRIOR_X0, 0 });
    const ks_smooth_options o = options_of(&two_ended, KS_F64, outputs | KS_OUT_LAG_ONE_COV);
    golden_buffers *plain = run_well(g, &two_ended, KS_F64, 1, o.outputs, NULL);
    const golden_results *r = golden_widen(plain);
    static const ks_output which[3] = { KS_OUT_SMOOTHED_MEAN, KS_OUT_SMOOTHED_COV,
                                        KS_OUT_LAG_ONE_COV };
    ks_smooth_plan *plan = NULL;
    double to[3][B * SERIES], loglik[B];
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < B * SERIES; ++j) to[i][j] = -1234;
    ks_outputs out = KS_OUTPUTS_INIT;
    out.loglik = (ks_out){ loglik, 0, 1 };
    out.smoothed_mean = (ks_out){ to[0], ROW, SERIES };
    out.smoothed_cov = (ks_out){ to[1], ROW, SERIES };
    out.lag_one_cov = (ks_out){ to[2], ROW, SERIES };
    assert_int_equal(ks_smooth_plan_create(&plan, NULL, T, B, NX, 1, &o), KS_OK);
    void *work = aligned_alloc(64, (ks_smooth_workspace_bytes(plan) + 63) / 64 * 64);
    const ks_model model = golden_model(g, KS_F64);
    assert_int_equal(ks_smooth_run(plan, &model, golden_y(g, KS_F64), &out, work, NULL), KS_OK);
    for (int i = 0; i < 3; ++i) {
        const int block = i ? NX * NX : NX;
        const double *expected = r->array[__builtin_ctz(which[i])];
        for (int b = 0; b < B; ++b)
            for (int at = 0; at < SERIES; ++at) {
                const int k = at / ROW, j = at % ROW;
                const double e =
                    k < T && j < block ? expected[(b * T + k) * block + j] : -1234;
                assert_memory_equal(&to[i][b * SERIES + at], &e, sizeof e);
            }
    }
    free(work);
    ks_smooth_plan_destroy(plan);
    golden_buffers_free(plain);
    golden_free(g);
}

/** Steps that are taken from memory where nothing but y varies are the bits of those that are
 *  computed, also around missing entries. */
static void memory_changes_no_bit(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 4, 1 }, { 4, 2 }, { 4, 5 }, { 5, 2 }, { 6, 3 }, { 8, 4 } };
    const unsigned made = outputs | KS_OUT_LAG_ONE_COV;
    for (size_t c = 0; c < sizeof sizes / sizeof sizes[0]; ++c)
        for (int p = 0; p < 2; ++p) {
            golden *g = model_random((model_spec){ 160 + c, 1500, 1, sizes[c][0], sizes[c][1],
                                                   KS_PRIOR_X1, HAS_OFFSETS });
            same_with_and_without_memory(g, &two_ended, (ks_precision)p, made);
            golden_free(g);
        }
}

/** Where y is so large beside its noise that the residuals of the smoothed mean are round-off the likelihood cannot be
 *  told: refused, unless nobody asks for it. It is the first such step of the right half that is told. */
static void large_observations(void **state)
{
    static const int sizes[] = { 1, 3, 4, 6, 12 };
    const int64_t T = 60;
    (void)state;
    for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; ++n)
        for (int p = 0; p < 2; ++p)
            for (int gaps = 0; gaps < 2; ++gaps) {
                const method_case both = { KS_JOB_SMOOTH, KS_METHOD_TWO_ENDED, 0, 1, 0 };
                golden *g = model_random((model_spec){ 205, T, 1, sizes[n], 1, KS_PRIOR_X0, 0 });
                g->R.f64[0] = 1;
                for (int64_t k = 0; k < T; ++k) {
                    if (gaps && k % 7 == 3) g->y.f64[k] = (double)NAN;
                    if (k == 10 || k == 52 || k == 57) g->y.f64[k] = p == KS_F64 ? 1e14 : 3e7;
                }
                model_round(g);
                golden_buffers *b = NULL;
                ks_info info = KS_INFO_INIT;
                const unsigned estimates = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV;
                assert_int_equal(run_case(g, &both, (ks_precision)p, 1, estimates | KS_OUT_LOGLIK, &b, &info), KS_EREFUSED);
                assert_true(info.array == KS_ARRAY_R && info.fault == KS_FAULT_TOO_SMALL && info.row == 0);
                assert_true(info.step == 52 && info.suggestion == KS_METHOD_SEQUENTIAL);
                golden_buffers_free(b);
                assert_int_equal(run_case(g, &both, (ks_precision)p, 1, estimates, &b, &info), KS_OK);
                golden_buffers_free(b);
                golden_free(g);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(correlated_noise),
        cmocka_unit_test(lowest_step_of_the_right_half),
        cmocka_unit_test(right_half_of_every_size),
        cmocka_unit_test(array_form_where_needed),
        cmocka_unit_test(judged_at_every_step),
        cmocka_unit_test(singular_noise),
        cmocka_unit_test(noise_that_is_none),
        cmocka_unit_test(one_of_two_again),
        cmocka_unit_test(far_from_zero_unseen),
        cmocka_unit_test(little_told_where_the_halves_meet),
        cmocka_unit_test(noise_of_some_steps_singular),
        cmocka_unit_test(hardly_seen),
        cmocka_unit_test(strided_outputs),
        cmocka_unit_test(memory_changes_no_bit),
        cmocka_unit_test(large_observations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
