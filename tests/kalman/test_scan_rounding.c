/* test_scan_rounding.c -- scans of smoothing elements multiply round-off where transitions contract without noise: they
 * are right or they refuse, and refuse no model for being short, or singular (test_golden.c, test_edges.c). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "assert_within.h"
#include "contraction.h"
#include "models.h"
#include "run_case.h"
#include "sanitizers.h"

static const ks_scan_algorithm scans[] = { KS_SCAN_CHUNKED, KS_SCAN_HILLIS_STEELE, KS_SCAN_BLELLOCH,
                                           KS_SCAN_LADNER_FISCHER, KS_SCAN_SENGUPTA };
enum { SCANS = sizeof scans / sizeof scans[0] };

/** Smooth by scan i: true where that refuses, as it says it does; else results are right. */
static int refuses(problem *p, int i, ks_precision precision)
{
    const int other = (i + (int)p->T) % 2;
    const ks_backend backend = ALL_ON_DEVICE ? KS_BACKEND_CUDA : KS_BACKEND_CPU;
    results r = contraction_smooth(p, KS_METHOD_SCAN_RTS, scans[i], backend, precision, 1 + other, other ? NO_COVS : ALL);
    const int refused = r.info.status != KS_OK;
    /* Covariances may be off by 1e-7 where they are compared, and the prior is one contraction on. */
    p->bound = 1e-5L;
    if (!refused) {
        contraction_agrees(p, &r, precision);
    } else {
        assert_int_equal(r.info.status, KS_EREFUSED);
        assert_int_equal(r.info.array, KS_ARRAY_ESTIMATE);
        assert_int_equal(r.info.fault, KS_FAULT_ILL_CONDITIONED);
        assert_int_equal(r.info.suggestion, KS_METHOD_SEQUENTIAL);
        assert_within(r.info.step, 0, p->T - 1);
        assert_true(r.info.value > 1e-8);
    }
    contraction_drop_results(&r);
    return refused;
}

/** Scans take a model up to `most` steps, and refuse it from `least` on; but chunks of a device, which are short and go
 *  back from where the filter's aggregates have led from behind, may do. */
static void scan(int nx, int64_t T, double slow, double fast, ks_precision precision, int64_t most, int64_t least)
{
    problem *p = contraction_make(77, nx, T, 1, slow, fast, 1, nx % 2);
    for (int i = 0; i < SCANS; ++i) {
        const int refused = refuses(p, i, precision);
        assert_true(!refused || T > most);
        assert_true(refused || T < least || (ALL_ON_DEVICE && scans[i] == KS_SCAN_CHUNKED));
    }
    contraction_drop(p);
}

static void by_length(void **state)
{
    static const int sizes[] = { 1, 3, 4, 2, 5, 6, 8, 12, 14 };
    static const int64_t lengths[] = { 1, 3, 7, 12, 15, 18, 25, 30, 60, 200, 600 };
    const int all_sizes = ALL_ON_DEVICE ? 3 : sizeof sizes / sizeof sizes[0];
    const int all_lengths = ALL_ON_DEVICE ? 9 : sizeof lengths / sizeof lengths[0];
    (void)state;
    for (int i = 0; i < all_sizes; ++i)
        for (int t = SANITIZED ? i % 5 : 0; t < all_lengths; t += 1 + 4 * SANITIZED) {
            scan(sizes[i], lengths[t], 0.95, 0.5, KS_F64, 7, 600);
            scan(sizes[i], lengths[t], 1, 0.3, KS_F64, 3, sizes[i] > 1 ? 60 : 1000);
            scan(sizes[i], lengths[t], 0.99, 0.9, KS_F64, 12, 4000);
            scan(sizes[i], lengths[t], 0.95, 0.5, KS_F32, 7, 600);
        }
}

/** A model that nobody has chosen: how many of the scans refuse it. */
static int draw(uint64_t seed)
{
    source s = { 1000 + seed };
    const int nx = 1 + (int)(6 * uniform(&s));
    const int64_t T = 5 + (int64_t)((ALL_ON_DEVICE ? 30 : 100) * uniform(&s) * uniform(&s));
    const double slow = 0.6 + 0.4 * uniform(&s), fast = 0.1 + 0.6 * uniform(&s);
    const float R = (float)exp(4 - 8 * uniform(&s)), P0 = uniform(&s) < 0.5 ? 1 : 100;
    /* Where means are near zero it is covariances that lose digits. */
    problem *p = contraction_make(seed, nx, T, 1, slow, fast, seed % 3 == 0, nx % 2);
    int refused = 0;
    for (int i = 0; i < p->ny; ++i) p->R[i * (p->ny + 1)] = (double)R;
    for (int i = 0; i < nx; ++i) p->P0[i * (nx + 1)] = (double)P0;
    for (int i = 0; i < SCANS; ++i) refused += refuses(p, i, seed % 5 == 0 ? KS_F32 : KS_F64);
    contraction_drop(p);
    return refused;
}

/** What a covariance has lost at the border of a chunk, or in an element, counts as much as the round-off of means. */
static void drawn(void **state)
{
    /* A pivot is taken for round-off before it is. */
    static const uint64_t dropping[] = { 2054, 2501, 2692, 3077 };
    const int all = ALL_ON_DEVICE ? 40 : SANITIZED ? 25 : 300, each = SCANS;
    int refused = 0;
    (void)state;
    for (int seed = 1; seed <= all; ++seed) refused += draw((uint64_t)seed);
    for (int i = 0; i < 4 && !ALL_ON_DEVICE; ++i) refused += draw(dropping[i]);
    assert_true(refused > all * each / 10 && refused < all * each * 9 / 10);
}

/** States that decay at their own rates, all moved by one disturbance, unobserved for long: no prediction has lost
 *  half of its digits, nor are means far from zero, but a step back multiplies what covariances round of it by 1e6.
 *  */
static void one_disturbance(void **state)
{
    enum { NX = 6, STEPS = 40 };
    (void)state;
    golden *g = model_random((model_spec){ 4100, STEPS, 1, NX, 1, KS_PRIOR_X0, 0 });
    for (int i = 0; i < NX * NX; ++i) {
        const int own = i % (NX + 1) == 0;
        g->F.f64[i] = own ? (5 + i % NX) / 16. : 0;
        g->Q.f64[i] = 0x1p-7;
        g->P0.f64[i] = own ? 100 : 0;
    }
    for (int i = 0; i < NX; ++i) g->H.f64[i] = 1, g->m0.f64[i] = 0;
    g->R.f64[0] = 0x1p-4;
    for (int k = 0; k < STEPS; ++k) g->y.f64[k] = k < 4 || k == STEPS - 1 ? 0.5 * (k % 3 - 1) : (double)NAN;
    model_round(g);
    for (int i = 0; i < SCANS; ++i) {
        const method_case m = { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, scans[i], 1, 0 };
        golden_buffers *b;
        ks_info info = KS_INFO_INIT;
        if (scans[i] == KS_SCAN_CHUNKED) continue;
        const ks_status status = run_case(g, &m, KS_F64, 1, KS_OUT_SMOOTHED_MEAN, &b, &info);
        assert_int_equal(status, KS_EREFUSED);
        assert_int_equal(info.fault, KS_FAULT_ILL_CONDITIONED);
        golden_buffers_free(b);
    }
    golden_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(by_length), cmocka_unit_test(drawn),
                                        cmocka_unit_test(one_disturbance) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
