/* test_shared.c -- series of one model make their covariances together, and each comes to the bits that
 * it comes to alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "models.h"
#include "run_case.h"
#include "sanitizers.h"

static const method_case jobs[2] = {
    { KS_JOB_FILTER, KS_METHOD_SEQUENTIAL, KS_SCAN_HILLIS_STEELE, 1, KS_BLOCKTRI_AUTO },
    { KS_JOB_SMOOTH, KS_METHOD_SEQUENTIAL, KS_SCAN_HILLIS_STEELE, 1, KS_BLOCKTRI_AUTO },
};

/** The outputs with which series run together. */
static unsigned made(const method_case *m)
{
    return KS_OUT_LOGLIK | (m->job == KS_JOB_FILTER ? KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV
                                                    : KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV);
}

/** y of series b at step k is missing, from entry `from` on. */
static void lose(golden *g, int64_t b, int64_t k, int from)
{
    for (int i = from; k < g->T && i < g->ny; ++i) model_block(&g->y, b, k)[i] = (double)NAN;
}

/** Eleven series: whole ones, and such with gaps at the start, in the middle, at the end, in all of it.
 *  Less than half of any block of one is lost, but for the last two. */
static golden *with_gaps(uint64_t seed, int64_t T, int nx, int ny, ks_prior prior, unsigned flags)
{
    golden *g = model_random((model_spec){ seed, T, 11, nx, ny, prior, flags });
    for (int64_t b = 0; b < g->B; ++b)
        for (int64_t k = 0; k < T; ++k)
            for (int i = 0; i < ny; ++i)
                if (!isfinite(model_block(&g->y, b, k)[i])) model_block(&g->y, b, k)[i] = 1;
    lose(g, 1, 0, 0);
    lose(g, 2, T / 3, ny - 1);
    lose(g, 3, T - 1, 0);
    for (int64_t k = T / 2; k < T / 2 + 20; ++k) lose(g, 4, k, 0);
    for (int64_t k = T - T / 4; k < T; ++k) lose(g, 5, k, 0);
    lose(g, 6, 9, 0);
    lose(g, 6, 70, ny - 1);
    for (int64_t k = 3; k < T; k += 5) lose(g, 9, k, 0);
    for (int64_t k = 0; k < T; ++k) lose(g, 10, k, 0);
    model_round(g);
    return g;
}

/** Whether all of one output of series b of `many` has the bits of `one`. */
static int same(const golden_buffers *many, const golden_buffers *one, unsigned bit, int64_t b)
{
    size_t all = 0, bytes = 0;
    const char *in_many = golden_bytes(many, (ks_output)bit, &all);
    const char *in_one = golden_bytes(one, (ks_output)bit, &bytes);
    return memcmp(in_many + (size_t)b * bytes, in_one, bytes) == 0;
}

/** The first `compared` series have the bits that they have alone; of all, steps add up. */
static void check_alone(const golden *g, int64_t compared, const method_case *m, ks_precision precision,
                        const golden_buffers *many, const ks_info *all)
{
    int64_t ordinary = 0, array = 0, missing = 0;
    for (int64_t b = 0; b < g->B; ++b) {
        ks_info info = KS_INFO_INIT;
        golden *alone = model_series(g, b);
        golden_buffers *one = run_well(alone, m, precision, 1, made(m), &info);
        for (unsigned bit = 1; bit <= made(m); bit <<= 1)
            if (b < compared && (made(m) & bit) && !same(many, one, bit, b))
                fail_msg("(%d, %d), T = %lld, %s in %s: %s of series %lld has other bits than "
                         "alone",
                         g->nx, g->ny, (long long)g->T, method_case_name(m),
                         (const char *[]){ "f64", "f32", "mixed" }[precision], golden_output_name((ks_output)bit),
                         (long long)b);
        ordinary += info.ordinary_steps;
        array += info.array_steps;
        missing += info.missing;
        golden_buffers_free(one);
        golden_free(alone);
    }
    assert_int_equal(all->ordinary_steps, ordinary);
    assert_int_equal(all->array_steps, array);
    assert_int_equal(all->missing, missing);
}

/** The same in every precision from `first` on, on one thread and on several. Bits are the same under sanitizers: where
 *  they watch addresses each series runs alone in a third of the jobs, others with other models, and on several threads
 *  in the rest, and where they watch threads none runs alone. */
static void check_from(ks_precision first, const golden *g, int64_t compared)
{
    for (int j = 2 * (int)first; j < 6; ++j) {
        const method_case *m = &jobs[j & 1];
        const ks_precision precision = (ks_precision)(j >> 1);
        ks_info all = KS_INFO_INIT;
        if (g->nx < 3 && precision != KS_F64) continue; /* nobody leads: they go in packs */
        if (WATCHES_THREADS && precision == KS_F32) continue; /* whose arithmetic is not watched, and the rest is one text */
        golden_buffers *many = WATCHES_THREADS ? NULL : run_well(g, m, precision, 1, made(m), &all);
        const int alone = !WATCHES_THREADS && (!SANITIZED || (g->T + g->nx + j) % 3 == 0);
        if (alone) check_alone(g, compared, m, precision, many, &all);
        for (int t = 2 + SANITIZED; t <= 4 && !(SANITIZED && alone); t += 1 + SANITIZED) {
            golden_buffers *others = run_well(g, m, precision, t, made(m), NULL);
            if (many) assert_int_equal(first_different(many, others, made(m)), 0);
            golden_buffers_free(others);
        }
        if (many) golden_buffers_free(many);
    }
}

static void check(const golden *g, int64_t compared) { check_from(KS_F64, g, compared); }

/** Every shape of kernel, constant and varying models, both priors; lengths around those of blocks. */
static void bits_of_series_alone(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 4, 2 }, { 4, 3 }, { 4, 5 }, { 5, 2 }, { 6, 3 },
                                    { 7, 4 }, { 8, 5 }, { 9, 2 }, { 12, 6 }, { 17, 5 }, { 12, 3 },
                                    { 2, 1 }, { 2, 4 }, { 3, 2 }, { 3, 3 }, { 3, 4 }, { 2, 2 } };
    for (int i = 0; i < (int)(sizeof sizes / sizeof sizes[0]); ++i) {
        const int nx = sizes[i][0], ny = sizes[i][1];
        const unsigned flags = i % 3 == 0 ? HAS_OFFSETS : i % 3 == 1 ? VARIES_ALL : VARIES_F | VARIES_D;
        golden *g = with_gaps(500 + (uint64_t)i, 200 + i, nx, ny, (ks_prior)(i % 2), flags);
        /* Those with gaps in most blocks go in packs, where there are any. */
        check(g, 9);
        golden_free(g);
    }
    static const int64_t lengths[] = { 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 71, 72, 73, 137 };
    for (int i = 0; i < 15; ++i) {
        golden *g = model_random((model_spec){ 520, lengths[i], 7, 4, 2, KS_PRIOR_X1, 0 });
        model_round(g);
        check(g, g->B);
        golden_free(g);
    }
}

/** A model that needs the array form in the middle of a series: nobody leads there. */
static void array_form_between(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 530, 190, 6, 4, 2, KS_PRIOR_X0, VARIES_ALL });
    for (int i = 0; i < 4; ++i) {
        model_block(&g->R, 0, 90)[i] *= 1e-9;
        model_block(&g->R, 0, 150)[i] *= 1e-9;
    }
    model_round(g);
    check(g, g->B);
    golden_free(g);
}

/** Steps that observe exactly are ordinary ones of leaders and members alike, but where no noise enters in between. */
static void exact_steps(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 3, 1 }, { 4, 2 }, { 5, 2 }, { 8, 1 }, { 9, 2 }, { 12, 3 }, { 14, 1 } };
    for (int c = SANITIZED; c < 7 * 2; c += 1 + SANITIZED) {
        const int nx = sizes[c / 2][0], ny = sizes[c / 2][1];
        golden *g = with_gaps(535 + (uint64_t)c, 200, nx, ny, (ks_prior)(c % 2), c % 2 ? VARIES_ALL : HAS_OFFSETS);
        for (int64_t k = 0; k < (c % 2 ? g->T : 1); ++k)
            memset(model_block(&g->R, 0, k), 0, (size_t)(ny * ny) * sizeof(double));
        for (int64_t k = 31; c % 2 && k < g->T; k += 33)
            memset(model_block(&g->Q, 0, k), 0, (size_t)(nx * nx) * sizeof(double));
        for (int64_t b = 9; b < g->B; ++b) /* none goes in a pack, where steps that observe exactly are in the array form */
            for (int64_t i = 0; i < g->T * ny; ++i) model_block(&g->y, b, 0)[i] = 1;
        model_round(g);
        check(g, g->B);
        golden_free(g);
    }
}

/** A prediction that is sharp in the middle of a block, behind which noise enters again: alone a series goes back in
 *  another form for it, and so it does among others. */
static void sharp_within_blocks(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 4, 2 }, { 3, 2 }, { 7, 1 }, { 14, 3 }, { 4, 1 } };
    static const double means[] = { 40, 4e6, 1e11 };
    for (int c = 0; c < 5 * 3; ++c) {
        const int nx = sizes[c / 3][0], ny = sizes[c / 3][1];
        golden *g = model_random((model_spec){ 580 + (uint64_t)c, 150, 5, nx, ny, KS_PRIOR_X0, VARIES_ALL });
        /* Variances grow all the while, so that they are none the smaller at the ends of blocks. */
        for (int64_t k = 0; k < g->T; ++k) {
            const double growth = exp2((double)k / 16);
            for (int i = 0; i < nx; ++i) model_block(&g->u, 0, k)[i] = means[c % 3];
            for (int i = 0; i < nx * nx; ++i) model_block(&g->Q, 0, k)[i] *= k == 23 || k == 87 ? 0 : growth;
            for (int i = 0; i < nx * nx && (k == 23 || k == 87); ++i) model_block(&g->F, 0, k)[i] *= 0x1p-8;
            for (int i = 0; i < ny * ny; ++i) model_block(&g->R, 0, k)[i] *= growth;
        }
        model_round(g);
        check(g, g->B);
        golden_free(g);
    }
}

/** Long series in mixed precision are looked at where some blocks start alone: of 13000 steps, 4 states and 2 entries at
 *  8 + 192 i. There the mean is large, and the variance has shrunk in the step before, some blocks before, of which a
 *  little is left, or in a step that is not looked at. */
static void looks_of_long_series(void **state)
{
    (void)state;
    static const int64_t shrinks[] = { 8 + 192 * 5 - 1, 8 + 192 * 5 - 65, 8 + 192 * 5 - 70 };
    for (int c = 0; c < 6 - 4 * SANITIZED; ++c) {
        golden *g = model_random((model_spec){ 610, 13000, 5, 4, 2, KS_PRIOR_X0, VARIES_F | VARIES_Q | HAS_OFFSETS });
        const int64_t k = shrinks[c % 3];
        for (int i = 0; i < 4; ++i) model_block(&g->u, 0, 0)[i] = 1e11;
        for (int i = 0; i < 16; ++i) model_block(&g->F, 0, k)[i] *= 0x1p-12;
        memset(model_block(&g->Q, 0, k), 0, 16 * sizeof(double));
        for (int64_t j = k + 1; j < k + 65 && c % 3 == 1; ++j)
            for (int i = 0; i < 16; ++i) model_block(&g->Q, 0, j)[i] *= 0x1p-13;
        for (int64_t j = 800; j < 820 && c > 2; ++j) lose(g, 2, j, 0);
        model_round(g);
        check_from(KS_MIXED, g, g->B);
        golden_free(g);
    }
}

/** A series that fails is named as it is alone: an infinite entry, a mean that overflows,
 *  an innovation covariance that is singular for all. */
static void failing(void **state)
{
    (void)state;
    for (int j = 0; j < 6; ++j)
        for (int kind = 0; kind < 3; ++kind)
            for (int t = 1; t <= 3; t += 2) {
                const ks_precision precision = (ks_precision)(j >> 1);
                golden *g = model_random((model_spec){ 540, 150, 9, 4, 2, KS_PRIOR_X0, VARIES_R });
                if (kind == 0) model_block(&g->y, 5, 100)[1] = (double)INFINITY;
                if (kind == 0) model_block(&g->y, 7, 20)[0] = (double)INFINITY;
                if (kind == 1)
                    for (int64_t k = 120; k < 123; ++k) model_block(&g->y, 5, k)[0] = 3e38;
                if (kind == 2) memset(model_block(&g->R, 0, 77), 0, 4 * sizeof(double));
                if (kind == 2) memset(model_block(&g->H, 0, 0), 0, 8 * sizeof(double));
                model_round(g);
                golden *alone = model_series(g, kind == 2 ? 0 : 5);
                if (kind == 1 && precision == KS_MIXED) /* beyond single precision, and too much */
                    model_block(&g->y, 5, 121)[0] = model_block(&alone->y, 0, 121)[0] = 1e200;
                ks_info info = KS_INFO_INIT, expected = KS_INFO_INIT;
                golden_buffers *many = NULL, *one = NULL;
                const ks_status status =
                    run_case(g, &jobs[j & 1], precision, t, made(&jobs[j & 1]), &many, &info);
                const ks_status should = run_case(alone, &jobs[j & 1], precision, 1,
                                                  made(&jobs[j & 1]), &one, &expected);
                /* In double the third kind of number is a number like others. */
                if (kind != 1) assert_true(should != KS_OK);
                if (kind == 1 && precision != KS_F64) assert_int_equal(should, KS_ENONFINITE);
                assert_int_equal(status, should);
                if (should != KS_OK) {
                    assert_int_equal(info.series, kind == 2 ? 0 : 5);
                    assert_int_equal(info.step, expected.step);
                    assert_int_equal(info.row, expected.row);
                    assert_int_equal(info.array, expected.array);
                }
                golden_buffers_free(many);
                golden_buffers_free(one);
                golden_free(alone);
                golden_free(g);
            }
}

/** Of a series that follows and of one with gaps in most blocks, which does not, the lower is told. */
static void lowest_of_both_kinds(void **state)
{
    (void)state;
    for (int j = 0; j < 2; ++j)
        for (int low = 0; low < 2; ++low) {
            golden *g = model_random((model_spec){ 550, 150, 7, 4, 2, KS_PRIOR_X0, VARIES_R });
            const int64_t whole = low ? 5 : 2, gaps = low ? 2 : 5;
            for (int64_t k = 0; k < g->T; k += 3) lose(g, gaps, k, 0);
            model_block(&g->y, whole, low ? 10 : 100)[0] = (double)INFINITY;
            model_block(&g->y, gaps, low ? 100 : 10)[1] = -(double)INFINITY;
            model_round(g);
            golden_buffers *b = NULL;
            ks_info info = KS_INFO_INIT;
            assert_int_equal(run_case(g, &jobs[j], KS_F64, 1, made(&jobs[j]), &b, &info), KS_EMODEL);
            assert_int_equal(info.series, 2);
            assert_int_equal(info.step, 100);
            assert_int_equal(info.row, low);
            golden_buffers_free(b);
            golden_free(g);
        }
}

/** Steps are filtered again where digits turn out to be lost, and which ones depends on where ranges end: series that
 *  follow have the bits of series that do not. */
static void lost_digits(void **state)
{
    (void)state;
    static const double F[] = { -0.0973611102, 0.196703136, 0.099185124, -0.340529084, -0.928156674, -0.0533824302,
                                -0.394214571, 0.346581042, 0.0229123719 };
    static const double H[] = { -1.51595819, 0.625, 0 };
    static const method_case filter = { KS_JOB_FILTER, KS_METHOD_SEQUENTIAL, 0, 1, 0 };
    const unsigned outputs = KS_OUT_LOGLIK | KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV;
    golden *g = model_random((model_spec){ 610, 21, 3, 3, 1, KS_PRIOR_X1, HAS_OFFSETS });
    memcpy(g->F.f64, F, sizeof F);
    memcpy(g->H.f64, H, sizeof H);
    for (int i = 0; i < 9; ++i) {
        g->Q.f64[i] = 0;
        g->P0.f64[i] = i % 4 == 0 ? 0.5 : 0;
    }
    g->R.f64[0] = 0.25;
    for (int64_t b = 0; b < 3; ++b)
        for (int64_t k = 0; k < 7; ++k) *model_block(&g->y, b, k) = (double)NAN;
    ks_info info = KS_INFO_INIT;
    golden_buffers *one = run_well(g, &filter, KS_F64, 1, outputs, &info);
    assert_true(info.array_steps > 0 && info.ordinary_steps > 0);
    for (int threads = 2; threads <= 4; ++threads) {
        golden_buffers *many = run_well(g, &filter, KS_F64, threads, outputs, NULL);
        assert_int_equal(first_different(one, many, outputs), 0);
        golden_buffers_free(many);
    }
    golden_buffers_free(one);
    golden_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_digits),
        cmocka_unit_test(bits_of_series_alone),
        cmocka_unit_test(array_form_between), cmocka_unit_test(exact_steps), cmocka_unit_test(sharp_within_blocks),
        cmocka_unit_test(looks_of_long_series), cmocka_unit_test(failing),
        cmocka_unit_test(lowest_of_both_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
