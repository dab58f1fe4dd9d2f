/* test_diffuse_signal.c -- the signal of filtered estimates whose prior is infinite in some directions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "diffuse_case.h"
#include "failalloc.h"
#include "signal_case.h"

static const double identity[] = { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1 };
static const float narrow_identity[] = { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1 };

/* A filter of g with a diffuse prior of four states, and the signal of its estimates. */
typedef struct both {
    const golden *g;
    ks_precision precision;
    int threads;                /* 0: one                */
    unsigned parts;             /* 0: all of the signal  */
    const ks_allocator *memory; /* NULL: the C library's */
    /* The call's: */
    golden_buffers *states;
    made signal;
    int64_t steps;
} both;

static ks_status run_both(both *c)
{
    const golden *g = c->g;
    const size_t wide = c->precision == KS_F32 ? sizeof(float) : sizeof(double);
    const size_t narrow = c->precision == KS_F64 ? sizeof(double) : sizeof(float);
    const size_t rows = (size_t)(g->T * g->B), ny = (size_t)g->ny;
    const size_t numbers[PARTS] = { rows * ny, rows * ny * ny, rows * ny, rows * ny };
    const unsigned wanted = KS_OUT_LOGLIK | KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV;
    const ks_smooth_options options = options_of(&filter, c->precision, wanted);
    const ks_model model = golden_model(g, c->precision);
    const ks_view y = golden_y(g, c->precision);
    const ks_view P0_inf = { c->precision == KS_F32 ? (const void *)narrow_identity : identity, 0, 0 };
    ks_context_options resources = KS_CONTEXT_OPTIONS_INIT;
    ks_signal_outputs o = KS_SIGNAL_OUTPUTS_INIT;
    ks_out *const to[PARTS] = { &o.mean, &o.cov, &o.var, &o.observed_var };
    ks_context *context = NULL;
    ks_smooth_plan *plan = NULL;
    assert_int_equal(g->nx, 4);
    memset(&c->signal, 0, sizeof c->signal);
    for (int i = 0; i < PARTS; ++i) {
        if (!((c->parts ? c->parts : ALL) >> i & 1)) continue;
        c->signal.number[i] = i == MEAN ? wide : narrow;
        c->signal.bytes[i] = numbers[i] * c->signal.number[i];
        c->signal.part[i] = zeroed(c->signal.bytes[i], 1);
        memset(c->signal.part[i], 0xa5, c->signal.bytes[i]);
        const int64_t block = (int64_t)(numbers[i] / rows);
        *to[i] = (ks_out){ c->signal.part[i], block, g->T * block };
    }
    c->states = golden_buffers_new(g->T, g->B, g->nx, g->ny, c->precision, wanted);
    resources.threads = c->threads ? c->threads : 1;
    if (c->memory) resources.allocator = *c->memory;
    c->signal.info = (ks_info)KS_INFO_INIT;
    ks_status status = ks_context_create(&context, &resources);
    if (status == KS_OK) status = ks_smooth_plan_create(&plan, context, g->T, g->B, g->nx, g->ny, &options);
    if (status == KS_OK)
        status = ks_diffuse_run(plan, &model, P0_inf, y, golden_outputs(c->states), &c->steps, NULL);
    if (status == KS_OK) {
        const ks_outputs *states = golden_outputs(c->states);
        const ks_view mean = { states->filtered_mean.data, states->filtered_mean.step_stride,
                               states->filtered_mean.series_stride };
        const ks_view cov = { states->filtered_cov.data, states->filtered_cov.step_stride,
                              states->filtered_cov.series_stride };
        status = ks_diffuse_signal(plan, &model, P0_inf, y, mean, cov, &o, &c->signal.info);
        assert_int_equal(status, c->signal.info.status);
    }
    ks_smooth_plan_destroy(plan);
    ks_context_destroy(context);
    return c->signal.status = status;
}

static void drop_both(both *c)
{
    drop(&c->signal);
    golden_buffers_free(c->states);
}

/* The states themselves are observed, of which entries are missing for some steps: their signal is their estimate, to
 * the bit, infinite or not. */
static void of_the_states(void **state)
{
    (void)state;
    for (int p = 0; p < 3; ++p) {
        golden *g = model_random((model_spec){ 71, 23, 3, 4, 4, KS_PRIOR_X0, VARIES_R | OWN_MODELS });
        for (int64_t b = 0; b < 3; ++b) {
            memcpy(model_block(&g->H, b, 0), identity, sizeof identity);
            for (int64_t k = 0; k < 5; ++k)
                for (int i = 0; i < 4; ++i)
                    if (k < i + b) model_block(&g->y, b, k)[i] = (double)NAN;
        }
        model_round(g);
        both c = { .g = g, .precision = (ks_precision)p };
        assert_int_equal(run_both(&c), KS_OK);
        const golden_results *r = golden_widen(c.states);
        int endless = 0;
        for (int64_t b = 0; b < 3; ++b)
            for (int64_t k = 0; k < 23; ++k) {
                const double *mean = results_block(r, KS_OUT_FILTERED_MEAN, b, k);
                const double *cov = results_block(r, KS_OUT_FILTERED_COV, b, k);
                const int64_t row = b * 23 + k;
                for (int i = 0; i < 4; ++i) {
                    assert_true(number_of(&c.signal, MEAN, row * 4 + i) == mean[i]);
                    assert_true(number_of(&c.signal, VAR, row * 4 + i) == cov[5 * i]);
                    const double R = model_block(&g->R, b, k)[5 * i], both_of = number_of(&c.signal, OBSERVED, row * 4 + i);
                    assert_true(isinf(cov[5 * i]) ? both_of == cov[5 * i]
                                                  : fabs(both_of - cov[5 * i] - R) <= 1e-6 * (cov[5 * i] + R));
                    for (int j = 0; j < 4; ++j) {
                        assert_true(number_of(&c.signal, COV, row * 16 + 4 * i + j) == cov[4 * i + j]);
                        endless += isinf(cov[4 * i + j]) != 0;
                    }
                }
            }
        assert_true(c.steps >= 5 && c.steps < 23 && endless > 50);
        drop_both(&c);
        golden_free(g);
    }
}

/* A level and a season of four, of which a sum is seen: the first observation tells that sum and no state, and without
 * an observation it is unknown. */
static void told_before_the_states(void **state)
{
    (void)state;
    const double F[] = { 1, 0, 0, 0, 0, -1, -1, -1, 0, 1, 0, 0, 0, 0, 1, 0 }, Q[16] = { [0] = 0.25, [5] = 0.5 };
    const double H[] = { 1, 1, 0, 0 };
    golden *g = model_random((model_spec){ 72, 20, 1, 4, 1, KS_PRIOR_X0, 0 });
    memcpy(g->F.f64, F, sizeof F);
    memcpy(g->Q.f64, Q, sizeof Q);
    memcpy(g->H.f64, H, sizeof H);
    g->R.f64[0] = 2;
    g->y.f64[1] = (double)NAN;
    model_round(g);
    both c = { .g = g };
    assert_int_equal(run_both(&c), KS_OK);
    const double *cov = results_block(golden_widen(c.states), KS_OUT_FILTERED_COV, 0, 0);
    assert_true(isinf(cov[0]) && isinf(cov[5]) && cov[1] < 0 && isinf(cov[1]));
    /* Four quarters, the second again: from then on the states are known. */
    for (int k = 0; k < 4; ++k) {
        const double var = number_of(&c.signal, VAR, k), observed = number_of(&c.signal, OBSERVED, k);
        if (k == 1) assert_true(isinf(var) && var > 0 && isinf(observed));
        else {
            assert_true(fabs(var - 2) < 1e-12 && fabs(observed - 4) < 1e-12);
            assert_true(fabs(number_of(&c.signal, MEAN, k) - g->y.f64[k]) < 1e-12);
        }
    }
    for (int k = 4; k < 20; ++k) assert_true(isfinite(number_of(&c.signal, VAR, k)));
    assert_true(isfinite(number_of(&c.signal, MEAN, 1)));
    drop_both(&c);
    golden_free(g);
}

static golden *any_model(int64_t T, int64_t B)
{
    return model_random((model_spec){ 73, T, B, 4, 2, KS_PRIOR_X1, VARIES_ALL | HAS_OFFSETS | MISSING });
}

/* Behind the first steps it is the signal of any estimates; each part is what it is with the others, on any number of
 * threads. */
static void same_bits(void **state)
{
    (void)state;
    for (int p = 0; p < 3; ++p) {
        golden *g = any_model(101, 3);
        both one = { .g = g, .precision = (ks_precision)p };
        assert_int_equal(run_both(&one), KS_OK);
        const given from = { g, one.precision, golden_model(g, one.precision),
                             { golden_outputs(one.states)->filtered_mean.data, 4, 4 * 101 },
                             { golden_outputs(one.states)->filtered_cov.data, 16, 16 * 101 } };
        given later = from;
        golden *rest = model_slice(g, 1, one.steps, 101 - one.steps);
        later.g = rest;
        later.model = golden_model(rest, one.precision);
        later.mean.data = (const char *)from.mean.data + (size_t)(101 + one.steps) * 4 * one.signal.number[MEAN];
        later.cov.data = (const char *)from.cov.data + (size_t)(101 + one.steps) * 16 * one.signal.number[COV];
        made of_rest = make(&later, 1, ALL);
        assert_int_equal(of_rest.status, KS_OK);
        for (int i = 0; i < PARTS; ++i) {
            const size_t block = (i == COV ? 4 : 2) * one.signal.number[i];
            assert_memory_equal(of_rest.part[i], (char *)one.signal.part[i] + (size_t)(101 + one.steps) * block,
                                (size_t)(101 - one.steps) * block);
        }
        drop(&of_rest);
        golden_free(rest);
        for (int threads = 2; threads <= 4; ++threads) {
            both many = { .g = g, .precision = one.precision, .threads = threads };
            assert_int_equal(run_both(&many), KS_OK);
            assert_same(&one.signal, &many.signal, ALL, "on several threads");
            drop_both(&many);
        }
        for (unsigned parts = 1; parts < ALL; ++parts) {
            both some = { .g = g, .precision = one.precision, .parts = parts };
            assert_int_equal(run_both(&some), KS_OK);
            assert_same(&one.signal, &some.signal, parts, "a part of all");
            drop_both(&some);
        }
        drop_both(&one);
        golden_free(g);
    }
}

/* Nothing is told at all: no step is left for the plan's method. */
static void nothing_observed(void **state)
{
    (void)state;
    golden *g = any_model(7, 1);
    for (int i = 0; i < 14; ++i) g->y.f64[i] = (double)NAN;
    model_round(g);
    both c = { .g = g };
    assert_int_equal(run_both(&c), KS_OK);
    assert_int_equal(c.steps, 7);
    for (int i = 0; i < 14; ++i) assert_true(isinf(number_of(&c.signal, VAR, i)) && isfinite(number_of(&c.signal, MEAN, i)));
    drop_both(&c);
    golden_free(g);
}

static void memory_fails(void **state)
{
    (void)state;
    golden *g = any_model(40, 2);
    failalloc memory = FAILALLOC_INIT;
    const ks_allocator allocator = failalloc_allocator(&memory);
    int failed = 0;
    ks_status status = KS_ENOMEM;
    for (memory.fail_at = 1; status != KS_OK; ++memory.fail_at) {
        both c = { .g = g, .memory = &allocator };
        memory.calls = 0;
        status = run_both(&c);
        drop_both(&c);
        assert_int_equal(atomic_load(&memory.live), 0);
        assert_true(status == KS_OK || status == KS_ENOMEM);
        failed += c.signal.info.status == KS_ENOMEM;
    }
    assert_true(failed > 7);
    golden_free(g);
}

static void arguments(void **state)
{
    (void)state;
    golden *g = any_model(9, 1);
    const ks_smooth_options options = options_of(&filter, KS_F64, KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV);
    golden_buffers *b = golden_buffers_new(9, 1, 4, 2, KS_F64, KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV);
    const ks_view P0_inf = { identity, 0, 0 }, none = { NULL, 0, 0 }, y = golden_y(g, KS_F64);
    const ks_view mean = { golden_outputs(b)->filtered_mean.data, 4, 0 };
    const ks_view cov = { golden_outputs(b)->filtered_cov.data, 16, 0 };
    ks_model model = golden_model(g, KS_F64), bare = model;
    double place[18];
    ks_signal_outputs o = KS_SIGNAL_OUTPUTS_INIT, nothing = KS_SIGNAL_OUTPUTS_INIT;
    ks_smooth_plan *plan = NULL;
    ks_info info = KS_INFO_INIT, wrong = KS_INFO_INIT;
    wrong.size = 3;
    o.observed_var = (ks_out){ place, 2, 0 };
    bare.F = none;
    assert_int_equal(ks_smooth_plan_create(&plan, NULL, 9, 1, 4, 2, &options), KS_OK);
    assert_int_equal(ks_diffuse_run(plan, &model, P0_inf, y, golden_outputs(b), NULL, NULL), KS_OK);
    assert_int_equal(ks_diffuse_signal(plan, &model, P0_inf, y, none, cov, &o, NULL), KS_OK);
    assert_int_equal(ks_diffuse_signal(NULL, &model, P0_inf, y, mean, cov, &o, &info), KS_EINVAL);
    assert_int_equal(ks_diffuse_signal(plan, NULL, P0_inf, y, mean, cov, &o, &info), KS_EINVAL);
    assert_int_equal(ks_diffuse_signal(plan, &model, P0_inf, y, mean, cov, NULL, &info), KS_EINVAL);
    assert_int_equal(ks_diffuse_signal(plan, &model, P0_inf, y, mean, cov, &nothing, &info), KS_EINVAL);
    assert_int_equal(ks_diffuse_signal(plan, &model, P0_inf, y, mean, cov, &o, &wrong), KS_EINVAL);
    const struct { const ks_model *model; ks_view P0_inf, y, cov; ks_array array; } bad[] = {
        { &model, none, y, cov, KS_ARRAY_P0 }, { &model, P0_inf, none, cov, KS_ARRAY_Y },
        { &model, P0_inf, y, none, KS_ARRAY_ESTIMATE }, { &bare, P0_inf, y, cov, KS_ARRAY_F },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        assert_int_equal(ks_diffuse_signal(plan, bad[i].model, bad[i].P0_inf, bad[i].y, mean, bad[i].cov, &o, &info),
                         KS_EINVAL);
        assert_int_equal(info.array, bad[i].array);
    }
    /* A signal that no number holds, in the first steps and behind them. */
    for (int64_t k = 0; k < 9; k += 8) {
        double *H = model_block(&g->H, 0, k), *d = model_block(&g->d, 0, k), before = d[0];
        ks_signal_outputs of_mean = KS_SIGNAL_OUTPUTS_INIT;
        of_mean.mean = (ks_out){ place, 2, 0 };
        assert_non_null(H);
        d[0] = (double)INFINITY;
        ks_model endless = golden_model(g, KS_F64);
        const ks_status status = ks_diffuse_signal(plan, &endless, P0_inf, y, mean, cov, &of_mean, &info);
        assert_true(status == KS_ENONFINITE || (k == 0 && status == KS_EMODEL));
        assert_int_equal(info.step, k);
        d[0] = before;
    }
    ks_smooth_plan_destroy(plan);
    golden_buffers_free(b);
    golden_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_the_states), cmocka_unit_test(told_before_the_states), cmocka_unit_test(same_bits),
        cmocka_unit_test(nothing_observed), cmocka_unit_test(memory_fails), cmocka_unit_test(arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
