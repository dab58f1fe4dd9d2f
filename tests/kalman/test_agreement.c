/* test_agreement.c -- all methods against the slow reference, step by step, on random models. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "cpu.h"
#include "models.h"
#include "run_case.h"
#include "sanitizers.h"
#include "textbook.h"

/** Step by step, no standard deviation taken for larger than it is. */
static const golden_norm strict = { 0, false };

/** Nothing where the processor or the build lacks the tier. */
static void agree(const golden *g, ks_tier tier)
{
    for (int i = 0; i < all_methods_count; ++i)
        for (int p = 0; p < 2; ++p) {
            const method_case *m = &all_methods[i];
            const unsigned outputs = outputs_made(m);
            golden_buffers *b = run_by_tier(g, m, (ks_precision)p, outputs, tier);
            if (!b) return;
            const golden_verdict v =
                golden_judge(golden_widen(b), g, outputs, route_of(m), (ks_precision)p, strict);
            if (!v.good)
                fail_msg("T = %lld, nx = %d, ny = %d, prior %d, tier %d, %s, %s: %s of series %lld, step "
                         "%lld off by %.3g, not %.3g", (long long)g->T, g->nx, g->ny, (int)g->prior, (int)tier,
                         method_case_name(m), p == KS_F64 ? "f64" : "f32",
                         golden_output_name(v.worst.output), (long long)v.worst.series,
                         (long long)v.worst.step, v.worst.error, v.bound);
            const unsigned written =
                g->prior == KS_PRIOR_X1 ? outputs & ~(unsigned)KS_OUT_PRIOR_COV : outputs;
            assert_true(covariances_sound(b, (ks_precision)p, written));
            golden_buffers_free(b);
        }
}

static void agree_on_tiers(model_spec spec, ks_tier first, ks_tier last)
{
    golden *g = model_random(spec);
    textbook_smooth(g);
    for (int tier = (int)first; tier <= (int)last; ++tier) agree(g, (ks_tier)tier);
    golden_free(g);
}

static void agree_on(model_spec spec) { agree_on_tiers(spec, KS_TIER_AUTO, KS_TIER_AUTO); }

static void constant_models(void **state)
{
    (void)state;
    static const struct { int64_t T; int nx, ny; } sizes[] = {
        { 1, 1, 1 }, { 2, 1, 1 }, { 3, 2, 1 }, { 7, 2, 3 },  { 31, 3, 2 },
        { 61, 4, 2 }, { 97, 5, 3 }, { 101, 6, 3 }, { 211, 2, 2 }, { 67, 7, 2 }, { 59, 8, 4 },
        { 41, 6, 5 },
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i)
        for (int prior = 0; prior < 2; ++prior)
            agree_on((model_spec){ 100 + i, sizes[i].T, 1, sizes[i].nx, sizes[i].ny,
                                   (ks_prior)prior, i % 2 ? HAS_OFFSETS : 0 });
}

static void varying_models_with_gaps(void **state)
{
    (void)state;
    static const struct { int64_t T; int nx, ny; } sizes[] = {
        { 1, 2, 2 }, { 2, 3, 1 }, { 5, 1, 2 }, { 13, 4, 3 }, { 43, 6, 2 }, { 89, 3, 5 },
        { 37, 5, 4 }, { 41, 6, 3 }, { 37, 7, 4 }, { 53, 8, 1 }, { 29, 8, 4 },
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i)
        for (int prior = 0; prior < 2; ++prior)
            agree_on((model_spec){ 200 + i, sizes[i].T, 1, sizes[i].nx, sizes[i].ny,
                                   (ks_prior)prior, VARIES_ALL | MISSING });
}

/** One array varies, the others do not: no stride is taken for another's. */
static void one_array_varies(void **state)
{
    (void)state;
    for (unsigned flag = VARIES_F; flag <= VARIES_D; flag <<= 1)
        for (int prior = 0; prior < 2; ++prior)
            agree_on((model_spec){ 300 + flag, 23, 1, 3, 2, (ks_prior)prior, flag });
}

static void several_series(void **state)
{
    (void)state;
    agree_on((model_spec){ 400, 29, 3, 2, 2, KS_PRIOR_X0, HAS_OFFSETS | MISSING });
    agree_on((model_spec){ 401, 29, 3, 2, 2, KS_PRIOR_X0, OWN_MODELS | HAS_OFFSETS | MISSING });
    agree_on((model_spec){ 402, 19, 4, 3, 1, KS_PRIOR_X1, OWN_MODELS | VARIES_ALL | MISSING });
}

/** Sizes that are compiled as literals and those that are not; more entries than states. */
static void sizes_of_states(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 1, 4 }, { 5, 1 }, { 7, 2 }, { 8, 9 }, { 9, 3 },
                                    { 10, 12 }, { 13, 4 }, { 17, 8 }, { 20, 6 } };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i)
        agree_on((model_spec){ 500 + i, 17, 1, sizes[i][0], sizes[i][1], KS_PRIOR_X0,
                               VARIES_H | MISSING | HAS_OFFSETS });
}

#ifndef ON_DEVICE
/** Each tier that is there, asked for by its name: sizes at which those of wider vectors have kernels of their own, and
 *  series enough for wide packs, and one more. */
static void every_tier(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 7, 3 }, { 8, 4 }, { 12, 6 }, { 13, 4 }, { 15, 1 }, { 16, 8 }, { 18, 5 }, { 23, 3 } };
#ifdef KS_WITHOUT_BASELINE /* whose name is another one of AVX2's kernels */
    const ks_tier first = KS_TIER_AVX2;
#else
    const ks_tier first = KS_TIER_BASELINE;
#endif
#ifdef KS_WITH_AVX512
    const ks_tier last = KS_TIER_AVX512;
#else /* another name of AVX2's, too */
    const ks_tier last = KS_TIER_AVX2;
#endif
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i)
        agree_on_tiers((model_spec){ 700 + i, 31, 1, sizes[i][0], sizes[i][1], KS_PRIOR_X0, VARIES_F | MISSING | HAS_OFFSETS },
                       first, last);
    for (int nx = 2; nx < 18; nx += 7)
        agree_on_tiers((model_spec){ 710, 9, SANITIZED ? 33 : 65, nx, 2, KS_PRIOR_X0, OWN_MODELS | VARIES_ALL | MISSING },
                       first, last);
}
#endif

/** The two routes to the log-likelihood: term by term, and the joint Gaussian of all entries. */
static void loglik_by_two_routes(void **state)
{
    (void)state;
    for (int prior = 0; prior < 2; ++prior) {
        golden *g = model_random((model_spec){ 600, 12, 2, 3, 2, (ks_prior)prior,
                                               VARIES_ALL | OWN_MODELS | MISSING });
        for (int i = 0; i < all_methods_count; ++i)
            for (int p = 0; p < 2; ++p)
                for (int terms = 0; terms < 2; ++terms) {
                    const method_case *m = &all_methods[i];
                    const unsigned outputs = KS_OUT_LOGLIK | (terms ? KS_OUT_LOGLIK_TERMS : 0u);
                    if (outputs & ~outputs_made(m)) continue;
                    golden_buffers *b = run_well(g, m, (ks_precision)p, 1, outputs, NULL);
                    const golden_results *r = golden_widen(b);
                    for (int64_t s = 0; s < g->B; ++s) {
                        const double joint = textbook_joint_loglik(g, s);
                        double sum = 0;
                        assert_true(fabs(r->array[0][s] - joint) <=
                                    (p == KS_F64 ? 1e-11 : 1e-4) * (1 + fabs(joint)));
                        if (!terms) continue;
                        for (int64_t k = 0; k < g->T; ++k) sum += r->array[1][s * g->T + k];
                        assert_true(fabs(sum - r->array[0][s]) <= 1e-12 * (1 + fabs(sum)));
                    }
                    golden_buffers_free(b);
                }
        golden_free(g);
    }
}

/** The reference itself, whose log-likelihood must be that of the joint Gaussian. */
static void reference_is_right(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 601, 9, 1, 4, 3, KS_PRIOR_X0, VARIES_ALL | MISSING });
    textbook_smooth(g);
    const double joint = textbook_joint_loglik(g, 0);
    assert_true(fabs(joint - g->expected.array[0][0]) <= 1e-13 * (1 + fabs(joint)));
    golden_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_is_right),    cmocka_unit_test(constant_models),
        cmocka_unit_test(varying_models_with_gaps), cmocka_unit_test(one_array_varies),
        cmocka_unit_test(several_series),        cmocka_unit_test(sizes_of_states),
        cmocka_unit_test(loglik_by_two_routes),
#ifndef ON_DEVICE
        cmocka_unit_test(every_tier),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
