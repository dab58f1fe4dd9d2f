/* test_batch.c -- many series in one call: they run side by side, and each comes to what it does
 * alone, whoever its neighbours are. */
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

static char **paths;
static size_t count;

static const method_case jobs[2] = {
    { KS_JOB_FILTER, KS_METHOD_SEQUENTIAL, KS_SCAN_HILLIS_STEELE, 1, KS_BLOCKTRI_AUTO },
    { KS_JOB_SMOOTH, KS_METHOD_SEQUENTIAL, KS_SCAN_HILLIS_STEELE, 1, KS_BLOCKTRI_AUTO },
};

static const char *const precision_names[] = { "f64", "f32", "mixed" };

/** Bytes of an output of one series. */
static size_t bytes_of_one(const golden_buffers *b, const golden *g, unsigned bit)
{
    size_t bytes = 0;
    (void)golden_bytes(b, (ks_output)bit, &bytes);
    return bytes / (size_t)g->B;
}

/** Series b of a run of g, as results of their own; borrowed. */
static golden_results series_of(golden_buffers *of, const golden *g, unsigned outputs, int64_t b)
{
    golden_results r = *golden_widen(of);
    r.B = 1;
    for (int i = 0; i < GOLDEN_OUTPUTS; ++i) {
        const unsigned bit = 1u << i;
        if (!(outputs & bit) || !r.array[i]) continue;
        const size_t one = bytes_of_one(of, g, bit) / golden_number_bytes(of, (ks_output)bit);
        r.array[i] += (size_t)b * one;
    }
    return r;
}

/** The series of the test's list: sizes, lengths around the width of a pack and the steps between
 *  two looks, and what varies. */
static const model_spec specs[] = {
    { 201, 1, 4, 4, 2, KS_PRIOR_X0, HAS_OFFSETS },
    { 202, 2, 5, 4, 2, KS_PRIOR_X1, HAS_OFFSETS | MISSING },
    { 203, 97, 6, 4, 2, KS_PRIOR_X0, HAS_OFFSETS | MISSING },
    { 204, 67, 7, 4, 2, KS_PRIOR_X1, VARIES_ALL | OWN_MODELS | MISSING },
    { 205, 41, 8, 4, 3, KS_PRIOR_X0, VARIES_ALL },
    { 206, 53, 9, 1, 1, KS_PRIOR_X0, OWN_MODELS | MISSING },
    { 207, 37, 17, 2, 1, KS_PRIOR_X1, HAS_OFFSETS | OWN_MODELS },
    { 208, 31, 4, 2, 2, KS_PRIOR_X0, VARIES_F | MISSING },
    { 209, 61, 9, 3, 2, KS_PRIOR_X0, VARIES_R | VARIES_D | MISSING },
    { 210, 71, 5, 6, 3, KS_PRIOR_X0, HAS_OFFSETS | MISSING },
    { 211, 3, 17, 6, 4, KS_PRIOR_X1, OWN_MODELS | VARIES_Q },
    { 212, 43, 8, 5, 3, KS_PRIOR_X0, VARIES_H | VARIES_U | MISSING },
    { 213, 29, 9, 7, 1, KS_PRIOR_X0, OWN_MODELS | HAS_OFFSETS },
    { 214, 47, 6, 8, 4, KS_PRIOR_X1, MISSING },
    { 215, 19, 5, 9, 5, KS_PRIOR_X0, VARIES_ALL | OWN_MODELS | MISSING },
    { 216, 35, 4, 12, 6, KS_PRIOR_X0, HAS_OFFSETS | MISSING },
    { 217, 5, 4, 3, 5, KS_PRIOR_X0, NO_Q | MISSING },
    { 218, 23, 6, 3, 2, KS_PRIOR_X0, NO_P0 | EXACT_ENTRY },
    { 219, 40, 1, 4, 2, KS_PRIOR_X0, MISSING },
    { 220, 40, 3, 4, 2, KS_PRIOR_X0, MISSING },
    /* enough for packs of AVX-512: of eight in double, of sixteen in single precision */
    { 221, 37, 32, 4, 2, KS_PRIOR_X0, VARIES_ALL | OWN_MODELS | MISSING },
    { 222, 21, 67, 4, 2, KS_PRIOR_X1, HAS_OFFSETS | MISSING },
    { 223, 9, 70, 6, 3, KS_PRIOR_X0, VARIES_ALL | OWN_MODELS },
    { 224, 35, 65, 1, 1, KS_PRIOR_X0, OWN_MODELS | MISSING },
    { 225, 7, 81, 3, 2, KS_PRIOR_X0, VARIES_F | VARIES_D | MISSING },
    { 226, 11, 64, 10, 5, KS_PRIOR_X1, VARIES_H | VARIES_U | MISSING },
    { 227, 5, 66, 20, 9, KS_PRIOR_X0, OWN_MODELS | VARIES_Q | MISSING },
};
enum { MANY_SERIES = 7, SPECS = sizeof specs / sizeof specs[0] - (SANITIZED ? MANY_SERIES : 0) };

static golden *model_at(int i) { return model_random(specs[i]); }

static void near(const golden_results *got, const golden_results *expected, unsigned outputs,
                 double bound, const char *what, int64_t b)
{
    const golden_norm strict = { 0, false };
    const golden_difference d = golden_compare(got, expected, outputs, strict);
    if (!(d.error <= bound))
        fail_msg("%s, series %lld: %s at step %lld is off by %.3g", what, (long long)b,
                 golden_output_name(d.output), (long long)d.step, d.error);
}

/** All outputs of every series are those of the series alone, up to round-off. */
static void together_as_alone(void **state)
{
    (void)state;
    for (int i = 0; i < SPECS; ++i) {
        golden *g = model_at(i);
        for (int j = 0; j < 6; ++j) {
            const method_case *m = &jobs[j & 1];
            const ks_precision precision = (ks_precision)(j >> 1);
            const unsigned outputs = outputs_of(m->job);
            char what[128];
            ks_info all = KS_INFO_INIT;
            int64_t steps = 0, missing = 0;
            golden_buffers *many = run_well(g, m, precision, 1, outputs, &all);
            snprintf(what, sizeof what, "(%d, %d), %lld series, %s in %s", g->nx, g->ny,
                     (long long)g->B, method_case_name(m), precision_names[precision]);
            assert_true(covariances_sound(many, precision,
                                          g->prior == KS_PRIOR_X1
                                              ? outputs & ~(unsigned)KS_OUT_PRIOR_COV
                                              : outputs));
            for (int64_t b = 0; b < g->B; ++b) {
                golden *one = model_slice(g, b, 0, g->T);
                ks_info info = KS_INFO_INIT;
                golden_buffers *alone = run_well(one, m, precision, 1, outputs, &info);
                golden_results expected = *golden_widen(alone);
                const golden_results got = series_of(many, g, outputs, b);
                if (g->prior == KS_PRIOR_X1)
                    expected.array[__builtin_ctz(KS_OUT_PRIOR_MEAN)] =
                        expected.array[__builtin_ctz(KS_OUT_PRIOR_COV)] = NULL;
                near(&got, &expected, outputs, golden_ordinary_bound(GOLDEN_STEPS, precision), what, b);
                steps += info.ordinary_steps + info.array_steps;
                missing += info.missing;
                golden_buffers_free(alone);
                golden_free(one);
            }
            assert_int_equal(all.ordinary_steps + all.array_steps, steps);
            assert_int_equal(all.missing, missing);
            golden_buffers_free(many);
        }
        golden_free(g);
    }
}

/* How many series packs take that are half a register of AVX-512, or a whole one. Sanitized builds have no AVX-512. */
static const int64_t few_and_many[] = { 9, 65 };
enum { WIDTHS = SANITIZED ? 1 : 2 };

/** Every golden case with B = 1, many times side by side, against the 50-digit results. */
static void golden_cases(void **state)
{
    (void)state;
    int compared = 0;
    for (size_t c = 0; c < count; ++c) {
        golden *g = golden_load(paths[c]);
        assert_non_null(g);
        for (int j = 0; g->B == 1 && j < 6 * WIDTHS; ++j) {
            const method_case *m = &jobs[j & 1];
            const ks_precision precision = (ks_precision)(j / 2 % 3);
            const unsigned outputs = outputs_of(m->job);
            golden many = *g;
            golden_input *inputs[] = { &many.y, &many.F, &many.Q, &many.H, &many.R,
                                       &many.u, &many.d, &many.m0, &many.P0 };
            for (int i = 0; i < 9; ++i) inputs[i]->series_stride = 0;
            many.B = few_and_many[j / 6];
            golden_buffers *b = run_well(&many, m, precision, 1, outputs, NULL);
            for (int64_t s = 0; s < many.B; s += many.B - 1) {
                const golden_results got = series_of(b, &many, outputs, s);
                const golden_verdict v =
                    golden_judge(&got, g, outputs, GOLDEN_STEPS, precision, golden_norm_of(g, precision));
                if (!v.good)
                    fail_msg("%s, %s in %s, series %lld: %s at step %lld off by %.3g, not %.3g",
                             g->name, method_case_name(m), precision_names[precision],
                             (long long)s, golden_output_name(v.worst.output),
                             (long long)v.worst.step, v.worst.error, v.bound);
            }
            ++compared;
            golden_buffers_free(b);
        }
        golden_free(g);
    }
    assert_true(compared > 100);
}

/** g with its series in another order: series b of the result is series order[b] of g. */
static golden *reordered(const golden *g, int64_t B, const int64_t *order)
{
    golden *r = model_random((model_spec){ 1, g->T, B, g->nx, g->ny, g->prior,
                                           OWN_MODELS | VARIES_ALL });
    golden_input *to[] = { &r->y, &r->F, &r->Q, &r->H, &r->R, &r->u, &r->d, &r->m0, &r->P0 };
    for (int64_t b = 0; b < B; ++b) {
        golden *one = model_slice(g, order[b], 0, g->T);
        golden_input *from[] = { &one->y, &one->F, &one->Q, &one->H, &one->R,
                                 &one->u, &one->d, &one->m0, &one->P0 };
        for (int i = 0; i < 9; ++i)
            for (int64_t k = 0; k < (to[i]->step_stride ? g->T : 1); ++k)
                memcpy(model_block(to[i], b, k), model_block(from[i], 0, k),
                       (size_t)(to[i]->step_stride ? to[i]->step_stride : to[i]->series_stride) *
                           sizeof(double));
        golden_free(one);
    }
    model_round(r);
    return r;
}

/** Series of every kind in one call, the eleven that come first again and again with other numbers: ordinary ones, with
 *  gaps, vague and stiff ones that need the array form now and then, one whose tail is missing, one without any
 *  observation. */
static golden *mixed(int nx, int ny, uint64_t seed, int64_t B)
{
    enum { T = 83 };
    golden *g = model_random((model_spec){ seed, T, B, nx, ny, KS_PRIOR_X0,
                                           OWN_MODELS | VARIES_ALL | MISSING });
    for (int64_t b = 0; b < B; ++b) {
        const int kind = (int)(b % 11);
        for (int i = 0; i < nx * nx; ++i) model_block(&g->P0, b, 0)[i] *= kind == 1 ? 1e8 : kind == 6 ? 1e4 : 1;
        for (int64_t k = 0; k < T; ++k) {
            double *R = model_block(&g->R, b, k), *Q = model_block(&g->Q, b, k), *y = model_block(&g->y, b, k);
            const int sharp = (kind == 2 && k % 13 == 5) || (kind == 7 && k % 9 == 4);
            for (int i = 0; i < ny * ny; ++i) R[i] *= sharp ? 1e-9 : 1;
            for (int i = 0; i < nx * nx; ++i) Q[i] *= kind == 3 && k % 20 < 15 ? 0 : 1;
            for (int i = 0; i < ny; ++i) {
                if ((kind == 4 && k >= 50) || kind == 9) y[i] = (double)NAN;
                if (kind == 5) y[i] = model_block(&g->d, b, k)[i]; /* all present */
            }
        }
    }
    model_round(g);
    return g;
}

/** That the bits of r's series are those of g's with the numbers in `order`. */
static void same_in_order(const golden *g, const int64_t *order, int64_t B, const method_case *m, ks_precision precision,
                          const golden_buffers *a)
{
    const unsigned outputs = outputs_of(m->job);
    golden *r = reordered(g, B, order);
    golden_buffers *b = run_well(r, m, precision, 1, outputs, NULL);
    for (unsigned bit = 1; bit <= outputs; bit <<= 1) {
        if (!(outputs & bit)) continue;
        size_t bytes = 0;
        const size_t one = bytes_of_one(a, g, bit);
        const char *in_a = golden_bytes(a, (ks_output)bit, &bytes);
        const char *in_b = golden_bytes(b, (ks_output)bit, &bytes);
        for (int64_t l = 0; l < B; ++l)
            if (memcmp(in_b + (size_t)l * one, in_a + (size_t)order[l] * one, one) != 0)
                fail_msg("(%d, %d), %s in %s: %s of series %lld has other bits beside others", g->nx, g->ny,
                         method_case_name(m), precision_names[precision], golden_output_name((ks_output)bit),
                         (long long)order[l]);
    }
    golden_buffers_free(b);
    golden_free(r);
}

/** The bits of a series do not depend on those beside it, nor on its place, nor on how many there
 *  are. */
static void neighbours(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 1, 1 }, { 2, 2 }, { 4, 2 }, { 5, 3 }, { 6, 3 } };
    static const int64_t orders[][11] = {
        { 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0 },
        { 5, 5, 5, 5, 1, 1, 1, 1, 5, 5, 1 },
        { 3, 0, 2, 9, 4, 4, 8, 7, 1, 10, 6 },
        { 2, 7, 1, 5, 0, 3 },
    };
    static const int64_t counts[] = { 11, 11, 11, 6 };
    enum { MANY = 75 };
    int64_t turned[MANY];
    for (int64_t l = 0; l < MANY; ++l) turned[l] = (l * 37 + 5) % MANY;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
        golden *g = mixed(sizes[s][0], sizes[s][1], 300 + s, 11), *many = mixed(sizes[s][0], sizes[s][1], 300 + s, MANY);
        for (int j = 0; j < 6; ++j) {
            const method_case *m = &jobs[j & 1];
            const ks_precision precision = (ks_precision)(j >> 1);
            ks_info info = KS_INFO_INIT;
            golden_buffers *a = run_well(g, m, precision, 1, outputs_of(m->job), &info);
            assert_true(info.array_steps > g->B && info.ordinary_steps > info.array_steps);
            for (size_t o = 0; o < sizeof counts / sizeof counts[0]; ++o)
                same_in_order(g, orders[o], counts[o], m, precision, a);
            golden_buffers_free(a);
            if (WIDTHS == 1) continue;
            a = run_well(many, m, precision, 1, outputs_of(m->job), NULL);
            same_in_order(many, turned, MANY, m, precision, a);
            same_in_order(many, turned, 64, m, precision, a);
            golden_buffers_free(a);
        }
        golden_free(g);
        golden_free(many);
    }
}

static void threads(void **state)
{
    (void)state;
    for (int i = 0; i < 6 * WIDTHS; ++i) {
        golden *g = mixed(4, 2, 310, i < 6 ? 11 : 75);
        const int j = i % 6;
        const method_case *m = &jobs[j & 1];
        const unsigned outputs = outputs_of(m->job);
        golden_buffers *one = run_well(g, m, (ks_precision)(j >> 1), 1, outputs, NULL);
        for (int t = 2; t <= 8; ++t) {
            golden_buffers *many = run_well(g, m, (ks_precision)(j >> 1), t, outputs, NULL);
            assert_int_equal(first_different(one, many, outputs), 0);
            golden_buffers_free(many);
        }
        golden_buffers_free(one);
        golden_free(g);
    }
}

/** The estimates have the same bits whatever else is asked for, and by checkpoints. */
static void fewer_outputs(void **state)
{
    (void)state;
    static const unsigned sets[] = {
        KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_LOGLIK,
        KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_VAR | KS_OUT_LOGLIK,
        KS_OUT_SMOOTHED_COV | KS_OUT_FILTERED_VAR,
        KS_OUT_LAG_ONE_COV | KS_OUT_SMOOTHED_MEAN | KS_OUT_PREDICTED_COV,
        KS_OUT_LOGLIK | KS_OUT_INNOVATION_COV | KS_OUT_LOGLIK_TERMS,
    };
    for (int q = 0; q < 3 * WIDTHS; ++q) {
        golden *g = mixed(4, 2, 320, q < 3 ? 11 : 65);
        const int p = q % 3;
        const unsigned every = outputs_of(KS_JOB_SMOOTH);
        golden_buffers *all = run_well(g, &jobs[1], (ks_precision)p, 1, every, NULL);
        for (size_t i = 0; i < sizeof sets / sizeof sets[0]; ++i) {
            golden_buffers *some = run_well(g, &jobs[1], (ks_precision)p, 1, sets[i], NULL);
            const unsigned different = first_different(all, some, sets[i]);
            if (different)
                fail_msg("%s has other bits without the rest",
                         golden_output_name((ks_output)different));
            golden_buffers_free(some);
        }
        golden_buffers_free(all);
        golden_free(g);
    }
}

typedef struct fault { int64_t series, step; } fault;

/** y infinite, or S singular, at each fault; the lowest series is told, and its first step. */
static void fails_at(int singular, const fault *faults, size_t n, int64_t B)
{
    golden *g = model_random((model_spec){ 330, 45, B, 4, 2, KS_PRIOR_X0,
                                           OWN_MODELS | VARIES_H | VARIES_R | MISSING });
    fault first = faults[0];
    for (size_t i = 0; i < n; ++i) {
        const int64_t b = faults[i].series, k = faults[i].step;
        double *H = model_block(&g->H, b, k), *y = model_block(&g->y, b, k);
        y[0] = 0;
        y[1] = singular ? 0 : (double)INFINITY;
        if (singular) {
            memset(model_block(&g->R, b, k), 0, 4 * sizeof(double));
            memcpy(H + 4, H, 4 * sizeof *H);
        }
        if (b < first.series || (b == first.series && k < first.step)) first = faults[i];
    }
    model_round(g);
    for (int j = 0; j < 6; ++j)
        for (int t = 1; t <= 4; t += 3) {
            golden_buffers *b = NULL;
            ks_info info = KS_INFO_INIT;
            const ks_status status = run_case(g, &jobs[j & 1], (ks_precision)(j >> 1), t,
                                              outputs_of(jobs[j & 1].job), &b, &info);
            golden_buffers_free(b);
            if (status != (singular ? KS_ENOTPD : KS_EMODEL) || info.status != status ||
                info.array != (singular ? KS_ARRAY_INNOVATION_COV : KS_ARRAY_Y) ||
                info.series != first.series || info.step != first.step || info.row != 1)
                fail_msg("%s of %lld: %s, %s, series %lld not %lld, step %lld not %lld, row %d",
                         method_case_name(&jobs[j & 1]), (long long)B, ks_status_name(status),
                         ks_array_name(info.array), (long long)info.series,
                         (long long)first.series, (long long)info.step, (long long)first.step,
                         info.row);
        }
    golden_free(g);
}

static void failing_series(void **state)
{
    (void)state;
    for (int singular = 0; singular < 2; ++singular)
        for (int64_t b = 0; b < 9; ++b) {
            const fault one[] = { { b, 7 + 3 * b } };
            const fault several[] = { { 8, 0 }, { b, 30 }, { b, 17 }, { 8 - b / 2, 2 } };
            fails_at(singular, one, 1, 9);
            fails_at(singular, several, 4, 9);
        }
    for (int64_t b = 0; WIDTHS > 1 && b < 66; b += 13) {
        const fault one[] = { { b, 7 + b / 2 } }, several[] = { { 65, 0 }, { b, 30 }, { b, 17 }, { 65 - b / 2, 2 } };
        fails_at(b % 2 == 1, one, 1, 66);
        fails_at(b % 2 == 0, several, 4, 66);
    }
}

/** An array of the caller's with gaps between its rows and series, one number off alignment. */
static void *spread(ks_view *view, int64_t block, int64_t T, int64_t B, ks_precision precision)
{
    const size_t number = precision == KS_F32 ? sizeof(float) : sizeof(double);
    const int64_t step = block + 3, series = T * step + 5;
    char *memory = zeroed((size_t)(B * series + 1), number), *base = memory + number;
    for (int64_t b = 0; b < B; ++b)
        for (int64_t k = 0; k < T; ++k)
            memcpy(base + (size_t)(b * series + k * step) * number,
                   (const char *)view->data +
                       (size_t)(b * view->series_stride + k * view->step_stride) * number,
                   (size_t)block * number);
    *view = (ks_view){ base, step, series };
    return memory;
}

static void strided_memory(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 2, 1 }, { 3, 2 }, { 4, 2 }, { 5, 3 } };
    for (int s = 0; s < 4; ++s)
        for (int p = 0; p < 3 * WIDTHS; ++p) {
            const ks_precision precision = (ks_precision)(p % 3);
            const int nx = sizes[s][0], ny = sizes[s][1];
            golden *g = model_random((model_spec){ 340, 33, few_and_many[p / 3], nx, ny, KS_PRIOR_X0,
                                                   VARIES_ALL | HAS_OFFSETS | OWN_MODELS |
                                                   MISSING });
            const int64_t T = g->T, B = g->B;
            const unsigned outputs = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV |
                                     KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV;
            golden_buffers *plain = run_well(g, &jobs[1], precision, 1, outputs, NULL);
            ks_model model = golden_model(g, precision);
            ks_view y = golden_y(g, precision);
            void *memory[] = {
                spread(&model.F, nx * nx, T, B, precision),
                spread(&model.Q, nx * nx, T, B, precision),
                spread(&model.u, nx, T, B, precision),
                spread(&model.H, ny * nx, T, B, precision),
                spread(&model.R, ny * ny, T, B, precision),
                spread(&model.d, ny, T, B, precision),
                spread(&y, ny, T, B, precision),
            };
            const ks_output bits[4] = { KS_OUT_SMOOTHED_MEAN, KS_OUT_SMOOTHED_COV,
                                        KS_OUT_FILTERED_MEAN, KS_OUT_FILTERED_COV };
            ks_outputs to = KS_OUTPUTS_INIT;
            ks_out *outs[4] = { &to.smoothed_mean, &to.smoothed_cov, &to.filtered_mean,
                                &to.filtered_cov };
            char *results[4];
            for (int i = 0; i < 4; ++i) {
                const size_t number = golden_number_bytes(plain, bits[i]);
                const int64_t step = (i & 1 ? nx * nx : nx) + 1, series = T * step + 7;
                results[i] = zeroed((size_t)(B * series + 1), number);
                *outs[i] = (ks_out){ results[i] + number, step, series };
            }
            const ks_smooth_options o = options_of(&jobs[1], precision, outputs);
            ks_smooth_plan *plan = NULL;
            assert_int_equal(ks_smooth_plan_create(&plan, NULL, T, B, nx, ny, &o), KS_OK);
            void *work = aligned_alloc(64, (ks_smooth_workspace_bytes(plan) + 63) / 64 * 64);
            assert_non_null(work);
            assert_int_equal(ks_smooth_run(plan, &model, y, &to, work, NULL), KS_OK);
            for (int i = 0; i < 4; ++i) {
                const size_t number = golden_number_bytes(plain, bits[i]);
                const size_t block = (size_t)(i & 1 ? nx * nx : nx) * number;
                size_t bytes = 0;
                const char *expected = golden_bytes(plain, bits[i], &bytes);
                /* The number after each row is the caller's and stays as it was. */
                static const char untouched[8];
                for (int64_t b = 0; b < B; ++b)
                    for (int64_t k = 0; k < T; ++k) {
                        const char *at = results[i] + number +
                                         (size_t)(b * outs[i]->series_stride +
                                                  k * outs[i]->step_stride) * number;
                        assert_memory_equal(at, expected + (size_t)(b * T + k) * block, block);
                        assert_memory_equal(at + block, untouched, number);
                    }
            }
            free(work);
            ks_smooth_plan_destroy(plan);
            for (int i = 0; i < 4; ++i) free(results[i]);
            for (size_t i = 0; i < sizeof memory / sizeof memory[0]; ++i) free(memory[i]);
            golden_buffers_free(plain);
            golden_free(g);
        }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 1;
    }
    paths = golden_list(argv[1], &count);
    if (!paths || count == 0) return 1;
    const struct CMUnitTest threaded[] = {
        cmocka_unit_test(threads),
        cmocka_unit_test(failing_series),
    };
    const struct CMUnitTest others[] = {
        cmocka_unit_test(together_as_alone), cmocka_unit_test(golden_cases),
        cmocka_unit_test(neighbours),        cmocka_unit_test(fewer_outputs),
        cmocka_unit_test(strided_memory),
    };
    int failed = cmocka_run_group_tests(threaded, NULL, NULL);
    if (!WATCHES_THREADS) failed += cmocka_run_group_tests(others, NULL, NULL);
    golden_free_list(paths, count);
    return failed;
}
