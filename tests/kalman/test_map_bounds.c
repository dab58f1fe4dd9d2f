/* test_map_bounds.c -- what the passes of the MAP route in one way and back vouch for, by each instruction set and
 * on a device: models whose blocks nearly cancel, and units in which no product of three entries is a double. */
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

/* The orders that have such passes: on a device its segments. */
#ifdef ON_DEVICE
enum { FIRST = KS_BLOCKTRI_PARTITION, LAST = KS_BLOCKTRI_PARTITION, EVERY = 3 };
#else
enum { FIRST = KS_BLOCKTRI_SEQUENTIAL, LAST = KS_BLOCKTRI_TWISTED, EVERY = 1 };

static const golden_norm strict = { 0, false };

/** How many runs there were, how many of them stood as one pass each way made them, and how many were refused. */
typedef struct verdicts {
    int runs, stood, refused;
} verdicts;

/** Run g by an order and a tier, if it is there: refused, or off by no more than `most`. */
static void judge(const golden *g, ks_blocktri_order order, ks_tier tier, double most, verdicts *v)
{
    const method_case m = map_by(order);
    const ks_model model = golden_model(g, KS_F64);
    const unsigned outputs = outputs_made(&m);
    ks_smooth_options o = options_of(&m, KS_F64, outputs);
    golden_buffers *b = NULL;
    ks_info info = KS_INFO_INIT;
    o.tier = tier;
    const ks_status status = run_model(g, &model, golden_y(g, KS_F64), &o, 1, &b, &info);
    if (status == KS_OK) {
        const golden_difference d = golden_compare(golden_widen(b), &g->expected, outputs, strict);
        if (!(d.error <= most))
            fail_msg("order %d, tier %d, nx %d, ny %d: %s off by %.3g", (int)order, (int)tier, g->nx, g->ny,
                     golden_output_name(d.output), d.error);
        v->stood += info.ordinary_steps > 0;
    } else if (status != KS_EUNAVAILABLE) {
        assert_int_equal(status, KS_EREFUSED);
        assert_int_equal(info.array, KS_ARRAY_HESSIAN);
        ++v->refused;
    }
    v->runs += status != KS_EUNAVAILABLE;
    golden_buffers_free(b);
}

static void judge_all(const golden *g, double most, verdicts *v)
{
    for (int order = FIRST; order <= LAST; ++order)
        for (int tier = KS_TIER_BASELINE; tier <= KS_TIER_AVX512; ++tier)
            judge(g, (ks_blocktri_order)order, (ks_tier)tier, most, v);
}

/** A few steps of a model that observes one combination of its states far better than any other, 10^digits times:
 *  entries of a step's block are large and cancel, though its states tell little of those beside it. As the digits
 *  grow the passes must come to doubt what they find, and in the end the route has to refuse it. */
static void blocks_that_cancel(void **state)
{
    static const int states[] = { 2, 3, 5, 6, 8, 9, 12 };
    verdicts v = { 0, 0, 0 };
    (void)state;
    for (size_t c = 0; c < sizeof states / sizeof states[0]; ++c)
        for (int digits = 1; digits <= 13; ++digits) {
            for (int T = 1; T <= 3; ++T) {
                golden *g = model_random((model_spec){ 140 + 13 * c + (size_t)digits, T, 1, states[c], 2,
                                                       T == 2 ? KS_PRIOR_X1 : KS_PRIOR_X0, 0 });
                const double x = cos(1 + 0.3 * digits), y = sin(1 + 0.3 * digits);
                const double large = 1, small = large * pow(10, -digits);
                g->R.f64[0] = large * x * x + small * y * y;
                g->R.f64[1] = g->R.f64[2] = (large - small) * x * y;
                g->R.f64[3] = large * y * y + small * x * x;
                textbook_smooth(g);
                /* A loss of 1e-6 / eps may stand, and round-off in A is eps times a multiple of nx. */
                judge_all(g, 1e-6 * states[c], &v);
                golden_free(g);
            }
        }
    /* Some of each. */
    assert_within(v.stood, v.runs / 10, v.runs / 2);
    assert_within(v.refused, v.runs / 10, v.runs / 2);
}

#endif

/** Steps that know nothing of each other or of y, with unit covariances but for one step's: that is
 *
 *     1     -m                      m m + 1  m
 *     -m  m m + 1   with inverse    m        1,
 *
 * made without any round-off as long as m m + 1 is a double. The trace of both is 2 whatever m is. */
static golden *one_inflated(int n, int64_t T, int64_t step, double m)
{
    golden *g = model_random((model_spec){ 160, T, 1, n, 1, KS_PRIOR_X1, VARIES_Q });
    memset(g->F.f64, 0, (size_t)(n * n) * sizeof(double));
    memset(g->H.f64, 0, (size_t)n * sizeof(double));
    memset(g->m0.f64, 0, (size_t)n * sizeof(double));
    memset(g->y.f64, 0, (size_t)T * sizeof(double));
    g->R.f64[0] = 1;
    for (int64_t k = 0; k < T; ++k) {
        double *Q = k > 0 ? model_block(&g->Q, 0, k) : g->P0.f64;
        for (int i = 0; i < n * n; ++i) Q[i] = i / n == i % n;
        if (k != step) continue;
        Q[1] = Q[n] = -m;
        Q[n + 1] = m * m + 1;
    }
    return g;
}

/** What one step inflates counts, in either lane and where they meet, though no trace tells of it. */
static void one_step_inflates(void **state)
{
    enum { STEPS = 8 };
    (void)state;
    for (int n = 2; n <= 8; n += EVERY)
        for (int64_t step = 0; step < STEPS; step += EVERY)
            for (int order = FIRST; order <= LAST; ++order)
                for (int much = 0; much < 2; ++much) {
                    /* 2 n (2 m m + n) eps: 2e-10 n, and 9.5e-7 n. */
                    golden *g = one_inflated(n, STEPS, step, much ? 46341 : 724);
                    const method_case m = map_by((ks_blocktri_order)order);
                    ks_info info = KS_INFO_INIT;
                    golden_buffers_free(run_well(g, &m, KS_F64, 1, outputs_made(&m), &info));
                    assert_int_equal(info.ordinary_steps, much ? 0 : 2 * STEPS);
                    golden_free(g);
                }
}

#ifndef ON_DEVICE
/** The same in units 2^exponent times as large, with zeros for the prior mean and for what is observed: whatever the
 *  covariances are, the means are zero and no gradient gives them away. */
static golden *in_units(golden *g, int exponent)
{
    const int n = g->nx;
    for (int i = 0; i < n; ++i) g->m0.f64[i] = 0;
    for (int i = 0; i < g->T * g->ny; ++i) g->y.f64[i] *= 0;
    for (int i = 0; i < g->ny * n; ++i) g->H.f64[i] = ldexp(g->H.f64[i], -exponent);
    for (int i = 0; i < n * n; ++i) {
        g->Q.f64[i] = ldexp(g->Q.f64[i], 2 * exponent);
        g->P0.f64[i] = ldexp(g->P0.f64[i], 2 * exponent);
    }
    textbook_smooth(g);
    return g;
}

/** Units of the state change nothing, though entries of the Hessian be of 1e-112 or of 1e112, of which no three can be
 *  multiplied. */
static void any_units(void **state)
{
    (void)state;
    for (int n = 1; n <= 9; ++n)
        for (int e = -4; e <= 4; ++e) {
            verdicts v = { 0, 0, 0 };
            golden *g = in_units(model_random((model_spec){ 240 + (uint64_t)n, 2 + n % 3, 1, n, 2,
                                                            n % 2 ? KS_PRIOR_X1 : KS_PRIOR_X0, 0 }), 62 * e);
            judge_all(g, 1e-9, &v);
            assert_true(v.runs > 0);
            assert_int_equal(v.refused, 0);
            /* Units that are merely far from 1 do not take longer. */
            if (abs(e) <= 1) assert_int_equal(v.stood, v.runs);
            golden_free(g);
        }
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_step_inflates),
#ifndef ON_DEVICE
        cmocka_unit_test(blocks_that_cancel),
        cmocka_unit_test(any_units),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
