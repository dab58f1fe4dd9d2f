/* test_contraction.c -- models without process noise whose transitions contract: predictions become sharper than
 * a step of the RTS smoother can be taken back from. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "contraction.h"
#include "sanitizers.h"

static void run(int nx, int64_t T, int64_t B, double slow, double fast, int per_step, ks_method method,
                ks_precision precision, int threads)
{
    problem *p = contraction_make(77, nx, T, B, slow, fast, 1, per_step);
    for (int choice = 0; choice < CHOICES; ++choice) {
        results r = contraction_smooth(p, method, KS_SCAN_CHUNKED, KS_BACKEND_CPU, precision, threads, choice);
        contraction_agrees(p, &r, precision);
        contraction_drop_results(&r);
    }
    contraction_drop(p);
}

static const int sizes[] = { 1, 2, 3, 4, 5, 6, 8, 12, 14 };
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static void one_series(ks_precision precision)
{
    static const int64_t lengths[] = { 1, 7, 20, 40, 300 };
    for (int i = 0; i < SIZES; ++i)
        for (size_t t = 0; t < sizeof lengths / sizeof lengths[0]; ++t)
            for (int per_step = 0; per_step < 2; ++per_step) {
                /* The text of all precisions is one. */
                if (SANITIZED && (i + (int)t + 2 * per_step) % (precision == KS_F64 ? 4 : 7)) continue;
                run(sizes[i], lengths[t], 1, 0.95, 0.5, per_step, KS_METHOD_SEQUENTIAL, precision, 1);
                run(sizes[i], lengths[t], 1, 1, 0.3, per_step, KS_METHOD_SEQUENTIAL, precision, 1);
                run(sizes[i], lengths[t], 1, 0.99, 0.9, per_step, KS_METHOD_SEQUENTIAL, precision, 1);
            }
}

static void one_series_in_double(void **state)
{
    (void)state;
    one_series(KS_F64);
}

static void one_series_in_single(void **state)
{
    (void)state;
    one_series(KS_F32);
}

/** Covariances in single precision; means in double must not lose more than these. */
static void one_series_in_mixed(void **state)
{
    (void)state;
    one_series(KS_MIXED);
}

/** Two blocks of the progress function, and what underflows. */
static void long_series(void **state)
{
    (void)state;
    run(1, 9000, 1, 0.9, 0.9, 0, KS_METHOD_SEQUENTIAL, KS_F64, 1);
    run(4, 9000, 1, 1, 0.99, 0, KS_METHOD_SEQUENTIAL, KS_F64, 1);
}

static void from_both_ends(void **state)
{
    (void)state;
    for (int i = 0; i < SIZES; i += 1 + SANITIZED)
        for (int threads = 1; threads < 3; ++threads) {
            run(sizes[i], 40, 1, 0.95, 0.5, 0, KS_METHOD_TWO_ENDED, KS_F64, threads);
            run(sizes[i], 300, 1, 1, 0.3, 1, KS_METHOD_TWO_ENDED, KS_F64, threads);
            run(sizes[i], 60, 3, 0.99, 0.9, 0, KS_METHOD_TWO_ENDED, KS_F64, threads);
        }
}

static void left_to_the_library(void **state)
{
    (void)state;
    run(4, 6000, 1, 0.999, 0.9, 1, KS_METHOD_AUTO, KS_F64, 2);
    run(14, 600, 1, 0.99, 0.8, 1, KS_METHOD_AUTO, KS_F64, 2);
    run(4, 6000, 1, 0.999, 0.9, 1, KS_METHOD_AUTO, KS_F64, 8); /* begins with a scan in chunks */
}

/** Modes that shrink so fast that covariances leave the numbers within the first nx steps. */
static void vanishing(void **state)
{
    static const ks_precision precisions[] = { KS_F64, KS_F32, KS_MIXED };
    static const int states[] = { 1, 4, 13, 16, 20 };
    static const double modes[][2] = { { 0.012, 0.012 }, { 0.1, 0.1 }, { 1, 0.05 }, { 1.02, 0.003 }, { 1e-4, 1e-4 } };
    (void)state;
    for (int i = 0; i < 5; ++i)
        for (int m = 0; m < 5; ++m)
            for (int a = 0; a < 3; ++a) {
                if (SANITIZED && (i + m + a) % 4) continue;
                run(states[i], 50, 1, modes[m][0], modes[m][1], m % 2, KS_METHOD_SEQUENTIAL, precisions[a], 1);
                run(states[i], 50, 1, modes[m][0], modes[m][1], 1 - m % 2, KS_METHOD_AUTO, precisions[a], 2);
            }
}

/** The halves meet between two steps at which predictions of the ordinary form are checked. */
static void meeting_between_looks(void **state)
{
    (void)state;
    for (int64_t T = 2; T < 60; T += 1 + 6 * SANITIZED)
        for (int m = 0; m < 3; ++m) {
            static const double modes[] = { 0.02, 0.065, 0.3 };
            run(1, T, 1, modes[m], modes[m], 0, KS_METHOD_TWO_ENDED, KS_F64, 1);
            run(1, T, 1, modes[m], modes[m], 0, KS_METHOD_TWO_ENDED, KS_F32, 1);
            run(3, T, 1, modes[m], modes[m], 1, KS_METHOD_TWO_ENDED, KS_F64, 2);
        }
}

/** In packs where the model varies, together where it is one. */
static void several_series(void **state)
{
    (void)state;
    for (int i = 0; i < SIZES; ++i)
        for (int per_step = 0; per_step < 2; ++per_step) {
            if (SANITIZED && (i + per_step) % 5) continue;
            run(sizes[i], 40, 6, 0.95, 0.5, per_step, KS_METHOD_SEQUENTIAL, KS_F64, 1);
            run(sizes[i], 200, 11, 1, 0.3, per_step, KS_METHOD_SEQUENTIAL, KS_F64, 1);
            run(sizes[i], 100, 9, 0.95, 0.9, per_step, KS_METHOD_SEQUENTIAL, KS_F32, 1);
            run(sizes[i], 40, 6, 0.95, 0.5, per_step, KS_METHOD_SEQUENTIAL, KS_MIXED, 1);
            run(sizes[i], 200, 11, 1, 0.3, per_step, KS_METHOD_SEQUENTIAL, KS_MIXED, 1);
            run(sizes[i], 100, 9, 0.95, 0.9, per_step, KS_METHOD_SEQUENTIAL, KS_MIXED, 1);
        }
}

/** Steps of these stay in the ordinary form, where series that share a model follow a leader, which has no mean: what
 *  is sharp is so beside the followers' means alone. */
static void followers(void **state)
{
    static const ks_precision precisions[] = { KS_F64, KS_F32, KS_MIXED };
    (void)state;
    for (int nx = 4; nx < 7; ++nx)
        for (int i = 0; i < 3; ++i) {
            problem *p = contraction_make(77, nx, 400, 9, 0.9, 0.9, 1, 0);
            for (int j = 0; j < nx; ++j) p->P0[j * (nx + 1)] = 0.1;
            results r = contraction_smooth(p, KS_METHOD_SEQUENTIAL, KS_SCAN_CHUNKED, KS_BACKEND_CPU, precisions[i], 1, ESTIMATES);
            contraction_agrees(p, &r, precisions[i]);
            contraction_drop_results(&r);
            contraction_drop(p);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_series_in_double), cmocka_unit_test(one_series_in_single),
        cmocka_unit_test(one_series_in_mixed),  cmocka_unit_test(long_series),
        cmocka_unit_test(from_both_ends),       cmocka_unit_test(left_to_the_library),
        cmocka_unit_test(several_series),       cmocka_unit_test(followers),
        cmocka_unit_test(vanishing),            cmocka_unit_test(meeting_between_looks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
