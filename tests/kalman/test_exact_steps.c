/* test_exact_steps.c -- ordinary steps whose observation is exact (kalman/tiled/exact_step_text.h): they are taken where noise
 * enters every combination of states before the next observation, they are right there, and the array form takes those after
 * which it does not, wherever a range of steps ends. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "models.h"
#include "run_case.h"
#include "sanitizers.h"
#include "textbook.h"

static const method_case smooth_once = { KS_JOB_SMOOTH, KS_METHOD_SEQUENTIAL, 0, 1, 0 };
static const method_case filter_once = { KS_JOB_FILTER, KS_METHOD_SEQUENTIAL, 0, 1, 0 };

/** A model of well-conditioned noise that observes without any. */
static golden *exact(uint64_t seed, int nx, int ny, int64_t T, unsigned flags)
{
    golden *g = model_random((model_spec){ seed, T, 1, nx, ny, (ks_prior)(seed % 2), flags });
    for (int64_t k = 0; k < (g->R.step_stride ? T : 1); ++k)
        memset(model_block(&g->R, 0, k), 0, (size_t)(ny * ny) * sizeof(double));
    return g;
}

/** No noise enters step k: what is known exactly of step k - 1 is of this one. */
static void lose(golden *g, int64_t k)
{
    memset(model_block(&g->Q, 0, k), 0, (size_t)(g->nx * g->nx) * sizeof(double));
}

/** Step k has for its first state what the last entry has observed of step k - 1, most of it that state, and knows it
 *  exactly: what round-off leaves of it is many round-offs of the variance that the observation has left of the state. */
static void come_back(golden *g, int64_t k)
{
    double *F = model_block(&g->F, 0, k), *Q = model_block(&g->Q, 0, k);
    double *H = model_block(&g->H, 0, k - 1) + (g->ny - 1) * g->nx;
    for (int i = 0; i < g->nx; ++i) {
        H[i] = F[i] = i == 0 ? 1 : 0x1p-6 * H[i];
        Q[i] = Q[i * g->nx] = 0;
    }
}

static golden *finished(golden *g)
{
    model_round(g);
    textbook_smooth(g);
    return g;
}

static void check(const golden *g, golden_buffers *b, ks_precision precision, unsigned outputs, const char *what)
{
    const golden_difference d =
        golden_compare(golden_widen(b), &g->expected, outputs, golden_norm_of(g, precision));
    if (!(d.error <= (precision == KS_F64 ? 1e-9 : 5e-3)))
        fail_msg("%s, %d states, %d entries, T = %lld, precision %d: %s at step %lld off by %.3g", what, g->nx, g->ny,
                 (long long)g->T, (int)precision, golden_output_name(d.output), (long long)d.step, d.error);
}

/** Every shape of kernel, of models that vary and do not, with entries missing and without. */
static void as_the_textbook(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 2, 1 },  { 3, 1 },  { 4, 1 },  { 4, 2 },  { 5, 1 },  { 5, 3 },  { 6, 2 },
                                    { 7, 1 },  { 7, 5 },  { 8, 4 },  { 9, 1 },  { 9, 3 },  { 10, 1 }, { 11, 7 },
                                    { 12, 2 }, { 12, 8 }, { 13, 1 }, { 14, 3 }, { 17, 1 }, { 24, 2 }, { 31, 1 } };
    enum { VARIES = VARIES_ALL & ~VARIES_H };
    static const unsigned flags[] = { 0, MISSING | HAS_OFFSETS, VARIES, VARIES | MISSING, VARIES_ALL, VARIES_ALL | MISSING };
    const int count = (int)(sizeof sizes / sizeof sizes[0]), kinds = (int)(sizeof flags / sizeof flags[0]);
    for (int c = 0; c < count * kinds; ++c) {
        const int nx = sizes[c / kinds][0], ny = sizes[c / kinds][1];
        if (SANITIZED && nx > 14) continue;
        golden *g = finished(exact(700 + (uint64_t)c, nx, ny, 90 + c, flags[c % kinds]));
        for (int p = 0; p < 2; ++p) {
            ks_info info = KS_INFO_INIT;
            const unsigned outputs = outputs_made(&smooth_once);
            golden_buffers *b = run_well(g, &smooth_once, (ks_precision)p, 1, outputs, &info);
            check(g, b, (ks_precision)p, outputs, "exact");
            /* Of an H that varies a row is all but one state now and then, which is known exactly then. */
            if (p == KS_F64 && !(flags[c % kinds] & VARIES_H) && info.array_steps > g->T / 4)
                fail_msg("%d states, %d entries, case %d: %lld of %lld steps in the array form", nx, ny, c % kinds,
                         (long long)info.array_steps, (long long)(2 * g->T));
            golden_buffers_free(b);
        }
        golden_free(g);
    }
}

/** Where no noise enters now and then, or none what has been observed, the step before is not an ordinary one. */
static void noise_that_fails_to_come(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 3, 1 }, { 4, 1 }, { 5, 1 }, { 7, 2 }, { 8, 2 }, { 9, 1 }, { 12, 2 }, { 14, 1 }, { 17, 3 } };
    for (int c = 0; c < 9 * 3; ++c) {
        golden *g = exact(800 + (uint64_t)c, sizes[c / 3][0], sizes[c / 3][1], 150, VARIES_ALL | (c % 3 == 1 ? MISSING : 0));
        for (int64_t k = 20; k < g->T; k += 17) {
            if (c % 3 == 2) come_back(g, k);
            else lose(g, k);
        }
        if (c % 3 < 2) lose(g, 38); /* two in succession */
        (void)finished(g);
        for (int p = 0; p < 2; ++p)
            for (int filters = 0; filters < 2; ++filters) {
                const method_case *m = filters ? &filter_once : &smooth_once;
                ks_info info = KS_INFO_INIT;
                golden_buffers *b = run_well(g, m, (ks_precision)p, 1, outputs_made(m), &info);
                check(g, b, (ks_precision)p, outputs_made(m), "without noise now and then");
                if (p == KS_F64 && filters) assert_true(info.array_steps >= 8 && info.ordinary_steps >= g->T / 2);
                golden_buffers_free(b);
            }
        golden_free(g);
    }
}

/** The same where ranges end: at the steps of a block, and at those of a checkpoint. Bits do not depend on it. */
static void at_ends_of_ranges(void **state)
{
    (void)state;
    const int64_t T = 4110;
    static const unsigned sets[] = { KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV, KS_OUT_SMOOTHED_MEAN };
    for (int c = 0; c < (SANITIZED ? 3 : 9); ++c) {
        golden *g = exact(900 + (uint64_t)c, (const int[]){ 4, 5, 9 }[c % 3], 1, T, VARIES_Q);
        for (int64_t k = 4090 + (c + c / 3) % 3; k < T; k += 3) lose(g, k); /* 4096 is one of each three */
        /* Checkpoints stand about the root of T apart. */
        for (int64_t k = 60; k < 4080; k += 13) lose(g, k);
        (void)finished(g);
        golden_buffers *b[2];
        for (int set = 0; set < 2; ++set) {
            size_t bytes = 0;
            b[set] = run_well(g, &smooth_once, KS_F64, 1, sets[set], NULL);
            check(g, b[set], KS_F64, sets[set], "ends");
            const void *first = golden_bytes(b[0], KS_OUT_SMOOTHED_MEAN, &bytes);
            assert_memory_equal(first, golden_bytes(b[set], KS_OUT_SMOOTHED_MEAN, &bytes), bytes);
        }
        golden_buffers_free(b[0]);
        golden_buffers_free(b[1]);
        golden_free(g);
    }
}

/** A variance that all but vanishes is the array form's: a state that is itself observed. */
static void observed_states(void **state)
{
    (void)state;
    for (int nx = 2; nx <= 13; nx += nx < 5 ? 1 : 4) {
        golden *g = exact(950 + (uint64_t)nx, nx, 1, 80, MISSING);
        for (int i = 0; i < nx; ++i) model_block(&g->H, 0, 0)[i] = i == 0;
        (void)finished(g);
        ks_info info = KS_INFO_INIT;
        golden_buffers *b = run_well(g, &filter_once, KS_F64, 1, outputs_made(&filter_once), &info);
        check(g, b, KS_F64, outputs_made(&filter_once), "an observed state");
        const double *P = golden_widen(b)->array[__builtin_ctz(KS_OUT_FILTERED_COV)];
        const double *y = g->y.f64;
        for (int64_t k = 0; k < g->T; ++k)
            if (isfinite(y[k])) assert_true(P[k * nx * nx] == 0);
        golden_buffers_free(b);
        golden_free(g);
    }
}

/** Where what follows tells ever more of the past, which the filter never comes to know: no step back may take for known
 *  what is round-off of predictions. Of several series of a model, too. */
static void what_the_future_tells(void **state)
{
    (void)state;
    static const double F[] = { 0.07, 1, 0.49, 0 }, H[] = { -1.12, -0.28 };
    for (int c = 0; c < 3 * 2; ++c) {
        const int nx = 2 + 2 * (c / 2);
        golden *g = model_random((model_spec){ 960 + (uint64_t)nx, 60, c % 2 ? 5 : 1, nx, nx / 2, KS_PRIOR_X0, 0 });
        memset(model_block(&g->R, 0, 0), 0, (size_t)(g->ny * g->ny) * sizeof(double));
        double *to[] = { model_block(&g->F, 0, 0), model_block(&g->Q, 0, 0) };
        for (int i = 0; i < nx * nx; ++i) to[0][i] = to[1][i] = 0;
        for (int i = 0; i < nx / 2 * nx; ++i) model_block(&g->H, 0, 0)[i] = 0;
        for (int i = 0; i < nx; i += 2) {
            for (int j = 0; j < 4; ++j) to[0][(i + j / 2) * nx + i + j % 2] = F[j];
            for (int j = 0; j < 2; ++j) model_block(&g->H, 0, 0)[i / 2 * nx + i + j] = H[j];
            to[1][i * nx + i] = 0x1p-25;
            to[1][(i + 1) * nx + i + 1] = 64;
            to[1][i * nx + i + 1] = to[1][(i + 1) * nx + i] = 0x1p-11;
        }
        (void)finished(g);
        /* With no more than these asked for series of one model go together. */
        const unsigned few = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_LOGLIK;
        const unsigned outputs = c % 2 ? few : outputs_made(&smooth_once);
        golden_buffers *b = run_well(g, &smooth_once, KS_F64, 1, outputs, NULL);
        check(g, b, KS_F64, outputs, "the future");
        golden_buffers_free(b);
        ks_info info = KS_INFO_INIT;
        golden_buffers_free(run_well(g, &filter_once, KS_F64, 1, outputs_made(&filter_once), &info));
        if (g->B == 1) assert_true(info.ordinary_steps > g->T / 2);
        golden_free(g);
    }
}

/** A constant model whose covariances come from memory in the end, held or as they are, and after gaps. */
static void from_memory(void **state)
{
    (void)state;
    const unsigned outputs = outputs_made(&smooth_once);
    for (int c = 0; c < 12; ++c) {
        golden *g = exact(970 + (uint64_t)c, (const int[]){ 2, 3, 4, 5, 8, 13 }[c / 2], c < 2 ? 1 : 1 + c % 2, 600, 0);
        for (int64_t k = 400; k < 405; ++k) model_block(&g->y, 0, k)[0] = (double)NAN;
        model_block(&g->y, 0, 500)[0] = (double)NAN;
        (void)finished(g);
        for (int word = 0; word < 3; ++word) {
            golden_buffers *b = run_steady(g, &smooth_once, KS_F64, 1, outputs, (ks_steady_state)word);
            check(g, b, KS_F64, outputs, ks_steady_state_name((ks_steady_state)word));
            golden_buffers_free(b);
        }
        golden_buffers *few = run_steady(g, &smooth_once, KS_F64, 1, KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV,
                                         KS_STEADY_STATE_HOLD);
        golden_buffers *all = run_steady(g, &smooth_once, KS_F64, 1, outputs, KS_STEADY_STATE_HOLD);
        assert_int_equal(first_different(few, all, KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV), 0);
        golden_buffers_free(few);
        golden_buffers_free(all);
        golden_free(g);
    }
}

/** A gap under a vague prior, then sharp observations, fewer than there are states, with noise in one direction alone: the
 *  first of them leaves the others as vague as they were, and the next one fails for its own innovation before anybody asks
 *  what its prediction is worth. */
static void sharp_after_a_gap(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 2, 1 }, { 3, 2 }, { 4, 2 }, { 4, 3 }, { 5, 3 }, { 6, 4 }, { 7, 4 }, { 8, 5 }, { 9, 5 },
                                    { 12, 7 }, { 13, 7 } };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i)
        for (int gap = 1; gap < 8; gap += 3) {
            const int nx = sizes[i][0], ny = sizes[i][1];
            golden *g = model_random((model_spec){ 760 + i, 14, 1, nx, ny, KS_PRIOR_X0, 0 });
            memset(g->R.f64, 0, (size_t)(ny * ny) * sizeof(double));
            for (int a = 0; a < nx; ++a)
                for (int c = 0; c < nx; ++c) {
                    g->Q.f64[a * nx + c] = 0x1p-6 * (1 + a * a % 7) * (1 + c * c % 7); /* of rank one to the last bit */
                    g->P0.f64[a * nx + c] = a == c ? 0x1p13 : 0;
                }
            for (int a = 0; a < ny; ++a) g->R.f64[a * ny + a] = 0x1p-28;
            for (int a = 0; a < gap * ny; ++a) g->y.f64[a] = (double)NAN;
            golden_buffers *b = NULL;
            textbook_smooth(g);
            assert_int_equal(run_case(g, &filter_once, KS_F64, 1, outputs_made(&filter_once), &b, NULL), KS_OK);
            /* What is observed has nothing to do with the model: means are anywhere. */
            const golden_difference d =
                golden_compare(golden_widen(b), &g->expected, KS_OUT_FILTERED_COV, (golden_norm){ 0, false });
            if (!(d.error <= 2e-6))
                fail_msg("%d states, %d entries, gap %d: %s at step %lld off by %.3g", nx, ny, gap,
                         golden_output_name(d.output), (long long)d.step, d.error);
            golden_buffers_free(b);
            golden_free(g);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(as_the_textbook), cmocka_unit_test(noise_that_fails_to_come),
                                        cmocka_unit_test(at_ends_of_ranges), cmocka_unit_test(observed_states),
                                        cmocka_unit_test(what_the_future_tells), cmocka_unit_test(from_memory),
                                        cmocka_unit_test(sharp_after_a_gap) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
