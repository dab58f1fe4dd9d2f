/* test_far.c -- single precision in chunks on a device beside the sequential filter and smoother in single precision,
 * where what is left when an aggregate meets the estimate before it is a small difference of large numbers: states that
 * wander far from zero, and states of which the prior knows nothing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "models.h"
#include "run_case.h"
#include "session.h"

enum {
    FILTERED = KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV,
    OUTPUTS = KS_OUT_LOGLIK | FILTERED | KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_LAG_ONE_COV
};

/** States that noise of variance q moves each by itself, from about `from` or minus that. */
static golden *wanderers(uint64_t seed, int nx, int ny, double q, double from)
{
    golden *g = model_random((model_spec){ seed, 150, 1, nx, ny, KS_PRIOR_X0, 0 });
    source noise = { seed };
    double x[16];
    for (int i = 0; i < nx * nx; ++i) {
        const double same = i % (nx + 1) == 0;
        g->F.f64[i] = same;
        g->Q.f64[i] = q * same;
        g->P0.f64[i] = 100 * same;
    }
    for (int i = 0; i < ny * ny; ++i) g->R.f64[i] = i % (ny + 1) == 0;
    for (int i = 0; i < nx; ++i) {
        g->m0.f64[i] = i % 2 ? -from : from;
        x[i] = g->m0.f64[i] + 10 * normal(&noise);
    }
    for (int64_t k = 0; k < g->T; ++k) {
        for (int i = 0; i < nx; ++i) x[i] += sqrt(q) * normal(&noise);
        for (int i = 0; i < ny; ++i) {
            double *y = &g->y.f64[k * ny + i];
            *y = normal(&noise);
            for (int c = 0; c < nx; ++c) *y += g->H.f64[i * nx + c] * x[c];
        }
    }
    model_round(g);
    return g;
}

/** A level and a season of three about which the prior knows nothing, observed by two sums, at first now and then. */
static golden *season(uint64_t seed)
{
    static const double F[] = { 1, 0, 0, 0, -1, -1, 0, 1, 0 }, H[] = { 1, 1, 0, -0.625, 0.875, 0 };
    static const unsigned char seen[8] = { 0, 2, 0, 0, 1, 2, 3, 1 }; /* of both entries, each a bit */
    golden *g = model_random((model_spec){ seed, 40, 1, 3, 2, KS_PRIOR_X0, 0 });
    source noise = { seed };
    double x[3];
    for (int i = 0; i < 9; ++i) {
        g->F.f64[i] = F[i];
        g->Q.f64[i] = i ? 0 : 0.01;
        g->P0.f64[i] = i % 4 ? 0 : 1e11;
    }
    for (int i = 0; i < 4; ++i) g->R.f64[i] = i == 0 ? 10 : i == 3;
    for (int i = 0; i < 6; ++i) g->H.f64[i] = H[i];
    for (int i = 0; i < 3; ++i) {
        g->m0.f64[i] = 0;
        x[i] = 3e5 * normal(&noise);
    }
    for (int64_t k = 0; k < g->T; ++k) {
        const double before = x[1];
        x[0] += 0.1 * normal(&noise);
        x[1] = -before - x[2];
        x[2] = before;
        for (int i = 0; i < 2; ++i) {
            double *y = &g->y.f64[k * 2 + i];
            *y = sqrt(g->R.f64[3 * i]) * normal(&noise);
            for (int c = 0; c < 3; ++c) *y += H[i * 3 + c] * x[c];
            if (!((k < 8 ? seen[k] : 3) >> i & 1)) *y = (double)NAN;
        }
    }
    model_round(g);
    return g;
}

static const method_case chunked_filter = { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_CHUNKED, 1, 0 };
static const method_case chunked[] = { { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_CHUNKED, 1, 0 },
                                       { KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER, KS_SCAN_CHUNKED, 1, 0 } };

static golden_buffers *run_sequential(const golden *g, ks_precision precision)
{
    ks_smooth_options o = options_of(&chunked[0], precision, OUTPUTS);
    const ks_model model = golden_model(g, precision);
    golden_buffers *b = NULL;
    o.method = KS_METHOD_SEQUENTIAL;
    o.backend = KS_BACKEND_CPU;
    OK(run_model(g, &model, golden_y(g, precision), &o, 1, &b, NULL));
    return b;
}

/** How far results in single precision, which are freed, are from those in double. */
static double error_of(golden_buffers *b, golden_buffers *exact, unsigned outputs)
{
    const golden_norm strict = { 0, false };
    const double error = golden_compare(golden_widen(b), golden_widen(exact), outputs, strict).error;
    golden_buffers_free(b);
    return error;
}

/** Aggregates by threads that sum all of A, b, eta and J in double, by threads of five and six states, and by teams. Five and
 *  six states leave no registers for A and b in double; with these in single precision results may be twice as far off. */
static void states_far_from_zero(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 2, 1 }, { 3, 1 }, { 4, 2 }, { 4, 3 }, { 5, 2 }, { 6, 3 }, { 8, 3 } };
    static const double moves[][2] = { { 1e-2, 1e3 }, { 1e-2, 1e4 }, { 1e-4, 1e4 } };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i)
        for (size_t j = 0; j < sizeof moves / sizeof moves[0]; ++j) {
            golden *g = wanderers(1400 + i, sizes[i][0], sizes[i][1], moves[j][0], moves[j][1]);
            golden_buffers *exact = run_sequential(g, KS_F64);
            const double sequential = error_of(run_sequential(g, KS_F32), exact, OUTPUTS);
            const double most = sizes[i][0] == 5 || sizes[i][0] == 6 ? 6 : 3;
            for (int m = 0; m < 2; ++m) {
                const double error = error_of(run_well(g, &chunked[m], KS_F32, 1, OUTPUTS, NULL), exact, OUTPUTS);
                if (!(error <= most * sequential))
                    fail_msg("nx = %d, ny = %d, Q %g, from %g, %s: %.3g in chunks, %.3g sequential", sizes[i][0],
                             sizes[i][1], moves[j][0], moves[j][1], method_case_name(&chunked[m]), error, sequential);
            }
            golden_buffers_free(exact);
            golden_free(g);
        }
}

/** What the first chunk comes to, which no ordinary form takes, does not bear the round-off of its prior. */
static void seasons_of_which_nothing_is_known(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        golden *g = season(1420 + seed);
        golden_buffers *exact = run_sequential(g, KS_F64);
        const double sequential = error_of(run_sequential(g, KS_F32), exact, FILTERED);
        const double error = error_of(run_well(g, &chunked_filter, KS_F32, 1, FILTERED, NULL), exact, FILTERED);
        if (!(error <= 3 * sequential))
            fail_msg("season %d: %.3g in chunks, %.3g sequential", (int)seed, error, sequential);
        golden_buffers_free(exact);
        golden_free(g);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(states_far_from_zero),
                                        cmocka_unit_test(seasons_of_which_nothing_is_known) };
    only_tests(argc, argv, tests);
    if (no_device()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
