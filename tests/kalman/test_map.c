/* test_map.c -- what is the MAP route's own: what it refuses and what it still takes, its orders, its
 * outputs with gaps, its memory. That it agrees with the other methods is for their tests. */
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

/* The orders to be tested, and what an emulated device takes too long for. */
#ifdef ON_DEVICE
enum { FIRST = KS_BLOCKTRI_PARTITION, END = KS_BLOCKTRI_NESTED_DISSECTION + 1, LONG = 40,
       SHORT = 17, ONE_PASS = KS_BLOCKTRI_PARTITION, EVERY = 8 };
#else
enum { FIRST = KS_BLOCKTRI_SEQUENTIAL, END = KS_BLOCKTRI_ORDERS, LONG = 1000, SHORT = 400,
       ONE_PASS = KS_BLOCKTRI_TWISTED, EVERY = 1 };
#endif

/** What the emulated device has little time for. */
static int slow_on_device(int order) { return ALL_ON_DEVICE && order > ONE_PASS; }

static const golden_norm strict = { 0, false };

static ks_status status_of(const golden *g, ks_blocktri_order order, int precision, ks_info *info)
{
    const ks_info none = KS_INFO_INIT;
    const method_case m = map_by(order);
    golden_buffers *b = NULL;
    *info = none;
    const ks_status status =
        run_case(g, &m, (ks_precision)precision, 1, outputs_made(&m), &b, info);
    golden_buffers_free(b);
    return status;
}

/** The largest deviation from the slow reference. */
static double error_of(const golden *g, ks_blocktri_order order, int precision)
{
    const method_case m = map_by(order);
    const unsigned outputs = outputs_made(&m);
    golden_buffers *b = run_well(g, &m, (ks_precision)precision, 1, outputs, NULL);
    const double error = golden_compare(golden_widen(b), &g->expected, outputs, strict).error;
    golden_buffers_free(b);
    return error;
}

/** The f32 arrays from the f64 ones, which are left as they are. */
static void copy_to_float(golden *g)
{
    const int64_t n = g->nx * g->nx, m = g->ny * g->ny;
    for (int64_t i = 0; i < g->T * n; ++i) {
        g->Q.f32[i] = (float)g->Q.f64[i];
        if (i < n) g->P0.f32[i] = (float)g->P0.f64[i];
    }
    for (int64_t i = 0; i < g->T * m; ++i) g->R.f32[i] = (float)g->R.f64[i];
    for (int64_t i = 0; i < n; ++i) g->F.f32[i] = (float)g->F.f64[i];
}

/** Unit variances of which the second component keeps a share of 2^-bits once the first is known. */
static void set_share(double *A, int bits)
{
    const double s = ldexp(1, -bits);
    /* 1 + s is a double, and a float where s is that of one. */
    A[0] = A[1] = A[2] = 1;
    A[3] = 1 + s;
}

/** On one side of the bound a covariance is singular for the method, on the other it is not. */
static void nearly_singular(void **state)
{
    (void)state;
    static const ks_array named[] = { KS_ARRAY_Q, KS_ARRAY_R, KS_ARRAY_P0, KS_ARRAY_PRIOR_COV };
    for (int which = 0; which < 4; ++which)
        for (int p = 0; p < 2; ++p) {
            const ks_prior prior = which == 3 ? KS_PRIOR_X0 : KS_PRIOR_X1;
            golden *g = model_random((model_spec){ 130, 9, 1, 2, 2, prior,
                                                   VARIES_Q | VARIES_R });
            const int64_t step = which < 2 ? 6 : 0;
            double *A = which == 0   ? model_block(&g->Q, 0, step)
                        : which == 1 ? model_block(&g->R, 0, step)
                                     : g->P0.f64;
            if (which == 3) {
                memset(model_block(&g->Q, 0, 0), 0, 4 * sizeof(double));
                memcpy(model_block(&g->F, 0, 0), (double[]){ 1, 0, 0, 1 }, 4 * sizeof(double));
            }
            /* The bound is 8 times the round-off, 2^-53 or 2^-24. */
            const int bits = p == KS_F64 ? 50 : 21;
            ks_info info;
            model_round(g);
            set_share(A, bits + 2);
            copy_to_float(g);
            assert_int_equal(status_of(g, (ks_blocktri_order)FIRST, p, &info), KS_EREFUSED);
            assert_int_equal(info.array, named[which]);
            assert_int_equal(info.fault, KS_FAULT_NOT_POSITIVE);
            assert_int_equal(info.step, step);
            assert_int_equal(info.row, 1);
            assert_int_equal(info.suggestion, KS_METHOD_SEQUENTIAL);
            set_share(A, bits - 2);
            copy_to_float(g);
            /* In double the Hessian cannot be told from a singular one, single has digits left. */
            const ks_status status = status_of(g, (ks_blocktri_order)FIRST, p, &info);
            if (p == KS_F64) {
                assert_int_equal(status, KS_EREFUSED);
                assert_int_equal(info.array, KS_ARRAY_HESSIAN);
            } else {
                assert_int_equal(status, KS_OK);
            }
            golden_free(g);
        }
}

/** A level that moves little: neighbours are as good as equal, and what they differ by is all that
 *  the Hessian's digits are for. Its loss is about 1 / q. */
static golden *slow_level(int64_t T, double q)
{
    golden *g = model_random((model_spec){ 131, T, 1, 1, 1, KS_PRIOR_X0, 0 });
    g->F.f64[0] = g->H.f64[0] = g->R.f64[0] = g->P0.f64[0] = 1;
    g->Q.f64[0] = q;
    model_round(g);
    textbook_smooth(g);
    return g;
}

/** How many models of growing loss an order has taken in one precision, and refused. */
typedef struct verdicts {
    int taken, refused;
} verdicts;

static void judge_slow_level(const golden *g, int digits, int order, int p, verdicts *v)
{
    const double limit = p == KS_F64 ? 1e-6 : 1e-3;
    ks_info info;
    const ks_status status = status_of(g, (ks_blocktri_order)order, p, &info);
    if (status == KS_OK) {
        const double error = error_of(g, (ks_blocktri_order)order, p);
        if (!(error <= limit) || v->refused)
            fail_msg("order %d, Q = 1e-%d: taken, and off by %.3g", order, digits, error);
        ++v->taken;
        return;
    }
    assert_int_equal(status, KS_EREFUSED);
    assert_int_equal(info.array, KS_ARRAY_HESSIAN);
    assert_int_equal(info.suggestion, KS_METHOD_SEQUENTIAL);
    assert_true(info.step >= 0 && info.step < g->T);
    if (info.fault == KS_FAULT_ILL_CONDITIONED) assert_true(info.value > limit);
    ++v->refused;
}

static void ill_conditioned(void **state)
{
    verdicts found[END][2] = { { { 0, 0 } } };
    (void)state;
    /* The reference takes longest: each serves all orders and both precisions. */
    for (int slow = 0; slow < 2; ++slow)
        for (int digits = 2; digits <= 18; digits += slow ? 15 : EVERY) {
            golden *g = NULL;
            for (int order = FIRST; order < END; ++order) {
                if (slow_on_device(order) != slow) continue;
                if (!g) g = slow_level(slow ? 7 : LONG, pow(10, -digits));
                for (int p = 0; p < 2 - slow; ++p)
                    judge_slow_level(g, digits, order, p, &found[order][p]);
            }
            golden_free(g);
        }
    for (int order = FIRST; order < END; ++order)
        for (int p = 0; p < (slow_on_device(order) ? 1 : 2); ++p) {
            /* 1 / q of 1e-6 / 1.1e-16 and of 1e-3 / 1.1e-16, within the spread of the probes. */
            const int most = p == KS_F64 ? 9 : 12;
            const int few = (most - 2) / EVERY;
            const verdicts *v = &found[order][p];
            if (v->taken < (slow_on_device(order) ? 1 : few) || v->taken > most ||
                v->refused < (slow_on_device(order) ? 1 : 4 / EVERY))
                fail_msg("order %d in %s: %d taken, %d refused", order, p ? "f32" : "f64", v->taken,
                         v->refused);
        }
}

/** One step that hardly moves among many that do: found, whatever the signs of the probes and in either
 *  lane, and named. */
static void ill_conditioned_at_one_step(void **state)
{
    enum { STEPS = ALL_ON_DEVICE ? 50 : 300 };
    (void)state;
    for (int64_t step = ALL_ON_DEVICE ? 34 : 1; step < STEPS; step += ALL_ON_DEVICE ? 40 : 13) {
        golden *g = model_random((model_spec){ 132, STEPS, 1, 2, 1, KS_PRIOR_X0, VARIES_Q });
        double *Q = model_block(&g->Q, 0, step);
        const ks_blocktri_order order = (ks_blocktri_order)(ALL_ON_DEVICE   ? FIRST
                                                            : step % 2 == 0 ? KS_BLOCKTRI_TWISTED
                                                                            : KS_BLOCKTRI_SEQUENTIAL);
        ks_info info;
        for (int i = 0; i < 4; ++i) Q[i] *= 0x1p-20;
        assert_int_equal(status_of(g, order, KS_F64, &info), KS_OK);
        for (int i = 0; i < 4; ++i) Q[i] *= 0x1p-20;
        assert_int_equal(status_of(g, order, KS_F64, &info), KS_EREFUSED);
        assert_int_equal(info.fault, KS_FAULT_ILL_CONDITIONED);
        assert_true(info.step == step || info.step == step - 1);
        assert_true(info.value > 1e-6);
        /* Nothing is left of it: a pivot is lost. */
        for (int i = 0; i < 4; ++i) Q[i] *= 0x1p-20;
        assert_int_equal(status_of(g, order, KS_F64, &info), KS_EREFUSED);
        assert_int_equal(info.array, KS_ARRAY_HESSIAN);
        golden_free(g);
    }
}

/** What either lane alone finds counts: a step that hardly moves where the means leave no gradient, and means far
 *  away where nothing is lost. */
static void either_lane(void **state)
{
    enum { STEPS = 60 };
    (void)state;
    for (int64_t step = 10; step < STEPS && !ALL_ON_DEVICE; step += 40) {
        golden *g = model_random((model_spec){ 135, STEPS, 1, 1, 1, KS_PRIOR_X0, VARIES_Q });
        ks_info info;
        g->F.f64[0] = g->H.f64[0] = g->R.f64[0] = g->P0.f64[0] = 1;
        g->m0.f64[0] = 0;
        for (int64_t k = 0; k < STEPS; ++k) {
            g->Q.f64[k] = 1;
            g->y.f64[k] = (step < STEPS / 2 ? k < STEPS / 4 : k >= STEPS / 4 * 3) ? 0x1p24 : 0;
        }
        model_round(g);
        assert_int_equal(status_of(g, KS_BLOCKTRI_TWISTED, KS_F64, &info), KS_OK);
        assert_int_equal(info.ordinary_steps, 0); /* at length */
        memset(g->y.f64, 0, STEPS * sizeof *g->y.f64);
        model_round(g);
        assert_int_equal(status_of(g, KS_BLOCKTRI_TWISTED, KS_F64, &info), KS_OK);
        assert_int_equal(info.ordinary_steps, 2 * STEPS); /* in one pass each way */
        g->Q.f64[step] = 0x1p-40;
        model_round(g);
        assert_int_equal(status_of(g, KS_BLOCKTRI_TWISTED, KS_F64, &info), KS_EREFUSED);
        assert_int_equal(info.fault, KS_FAULT_ILL_CONDITIONED);
        assert_true(info.step == step || info.step == step - 1);
        g->Q.f64[step] = 0x1p-70; /* a pivot is lost */
        model_round(g);
        assert_int_equal(status_of(g, KS_BLOCKTRI_TWISTED, KS_F64, &info), KS_EREFUSED);
        assert_int_equal(info.array, KS_ARRAY_HESSIAN);
        golden_free(g);
    }
}

/** A mean of a million standard deviations keeps the digits that a double has for it. */
static void distant_means(void **state)
{
    enum { STEPS = ALL_ON_DEVICE ? 60 : 200 };
    (void)state;
    golden *g = model_random((model_spec){ 133, STEPS, 1, 1, 1, KS_PRIOR_X0, 0 });
    g->F.f64[0] = g->H.f64[0] = g->R.f64[0] = 1;
    g->P0.f64[0] = 16;
    g->Q.f64[0] = 0x1p-20;
    g->m0.f64[0] = 0x1p20;
    for (int64_t k = 0; k < STEPS; ++k) g->y.f64[k] = 0x1p20 + floor(8 * g->y.f64[k]) / 8;
    model_round(g);
    textbook_smooth(g);
    for (int order = FIRST; order < END - ALL_ON_DEVICE; ++order) {
        const method_case m = map_by((ks_blocktri_order)order);
        golden_buffers *b = run_well(g, &m, KS_F64, 1, KS_OUT_SMOOTHED_MEAN, NULL);
        const double error =
            golden_compare(golden_widen(b), &g->expected, KS_OUT_SMOOTHED_MEAN, strict).error;
        if (!(error <= 2e-8)) fail_msg("order %d: off by %.3g", order, error);
        golden_buffers_free(b);
    }
    golden_free(g);
}

/** What is not a number comes to no good end. */
static void not_finite(void **state)
{
    (void)state;
    for (int which = 0; which < 6; ++which)
        for (int64_t step = 0; step < 20; step += ALL_ON_DEVICE ? 11 : 7) {
            golden *g = model_random((model_spec){ 134, 20, 1, 3, 2, KS_PRIOR_X0, VARIES_ALL });
            golden_input *in[] = { &g->F, &g->Q, &g->u, &g->H, &g->R, &g->d };
            for (int order = FIRST; order < END; ++order) {
                ks_info info;
                if (slow_on_device(order) && (which != 1 || step > 0)) continue;
                model_block(in[which], 0, step)[0] = (double)NAN;
                assert_int_not_equal(status_of(g, (ks_blocktri_order)order, KS_F64, &info), KS_OK);
                assert_int_equal(info.series, 0);
                if (ALL_ON_DEVICE && step > 0) continue;
                model_block(in[which], 0, step)[0] = (double)INFINITY;
                assert_int_not_equal(status_of(g, (ks_blocktri_order)order, KS_F64, &info), KS_OK);
            }
            golden_free(g);
        }
}

/** In the sequential and the twisted order, and a device's segments, one pass each way does for a tame model, and not for one that
 *  the pass cannot vouch for; other orders have no such pass. */
static void one_pass_each_way(void **state)
{
    (void)state;
    ks_info info;
    golden *tame = model_random((model_spec){ 137, SHORT, 2, 4, 2, KS_PRIOR_X0, MISSING });
    golden *large = model_random((model_spec){ 138, 60, 1, 40, 20, KS_PRIOR_X0, 0 });
    golden *slow = slow_level(SHORT, 0x1p-24);
    for (int order = FIRST; order < END; ++order)
        for (int p = 0; p < (slow_on_device(order) ? 1 : 2); ++p) {
            assert_int_equal(status_of(tame, (ks_blocktri_order)order, p, &info), KS_OK);
            assert_int_equal(info.ordinary_steps,
                             order <= ONE_PASS ? 2 * 2 * SHORT : 0);
            if (!ALL_ON_DEVICE) {
                assert_int_equal(status_of(large, (ks_blocktri_order)order, p, &info), KS_OK);
                assert_int_equal(info.ordinary_steps, order <= ONE_PASS ? 2 * 60 : 0);
            }
            if (slow_on_device(order)) continue;
            assert_int_equal(status_of(slow, (ks_blocktri_order)order, p, &info), KS_OK);
            if (p == KS_F64) assert_int_equal(info.ordinary_steps, 0);
        }
    golden_free(slow);
    golden_free(large);
    golden_free(tame);
}

static void orders_of_plans(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 135, 50, 1, 2, 1, KS_PRIOR_X0, 0 });
    ks_smooth_plan *plan = NULL;
    for (int order = 0; order < END; ++order) {
        if (order != KS_BLOCKTRI_AUTO && order < FIRST) continue;
        const method_case m = map_by((ks_blocktri_order)order);
        ks_smooth_options o = options_of(&m, KS_F64, outputs_made(&m));
        assert_int_equal(ks_smooth_plan_create(&plan, NULL, 50, 1, 2, 1, &o), KS_OK);
        assert_int_equal(ks_smooth_plan_order(plan),
                         order == KS_BLOCKTRI_AUTO ? FIRST : order);
        ks_info info;
        assert_int_equal(status_of(g, (ks_blocktri_order)order, KS_F64, &info), KS_OK);
        assert_int_equal(info.order, ks_smooth_plan_order(plan));
        assert_int_equal(info.method, KS_METHOD_BLOCKTRI);
        ks_smooth_plan_destroy(plan);
        o.job = KS_JOB_FILTER;
        o.outputs = KS_OUT_LOGLIK;
        assert_int_equal(ks_smooth_plan_create(&plan, NULL, 50, 1, 2, 1, &o), KS_EINVAL);
    }
    ks_smooth_options o = KS_SMOOTH_OPTIONS_INIT;
    assert_int_equal(ks_smooth_plan_create(&plan, NULL, 50, 1, 2, 1, &o), KS_OK);
    assert_int_equal(ks_smooth_plan_order(plan), KS_BLOCKTRI_AUTO);
    ks_smooth_plan_destroy(plan);
    o.method = KS_METHOD_BLOCKTRI;
    o.order = (ks_blocktri_order)KS_BLOCKTRI_ORDERS;
    assert_int_equal(ks_smooth_plan_create(&plan, NULL, 50, 1, 2, 1, &o), KS_EINVAL);
    o.order = KS_BLOCKTRI_AUTO;
    o.outputs |= KS_OUT_FILTERED_MEAN;
    assert_int_equal(ks_smooth_plan_create(&plan, NULL, 50, 1, 2, 1, &o), KS_EINVAL);
    golden_free(g);
}

enum { T = 9, B = 2, NX = 2, ROW = 7, SERIES = ROW * T + 5 };

/** Rows of `block` numbers at their places, and what lies between them untouched. */
static void in_place(const void *got, int precision, const double *expected, int block)
{
    for (int b = 0; b < B; ++b)
        for (int at = 0; at < SERIES; ++at) {
            const int k = at / ROW, j = at % ROW, i = b * SERIES + at;
            const double value = precision == KS_F64 ? ((const double *)got)[i]
                                                     : (double)((const float *)got)[i];
            const double should =
                k < T && j < block ? expected[(b * T + k) * block + j] : -1234;
            assert_memory_equal(&value, &should, sizeof value);
        }
}

/** Outputs with gaps between their rows, in which the system is solved: what lies in the gaps is
 *  not touched, and the results are the same. */
static void strided_outputs(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 136, T, B, NX, 1, KS_PRIOR_X0, 0 });
    for (int order = FIRST; order < END; ++order)
        for (int p = 0; p < 2; ++p) {
            const method_case m = map_by((ks_blocktri_order)order);
            const ks_precision precision = (ks_precision)p;
            const ks_smooth_options o =
                options_of(&m, precision, KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV |
                                              KS_OUT_LAG_ONE_COV | KS_OUT_SMOOTHED_VAR);
            golden_buffers *plain = run_well(g, &m, precision, 1, o.outputs, NULL);
            const golden_results *r = golden_widen(plain);
            double memory[4][B * SERIES];
            for (int a = 0; a < 4; ++a)
                for (int j = 0; j < B * SERIES; ++j) {
                    if (p == KS_F64) memory[a][j] = -1234;
                    else ((float *)(void *)memory[a])[j] = -1234;
                }
            ks_outputs to = KS_OUTPUTS_INIT;
            to.smoothed_mean = (ks_out){ memory[0], ROW, SERIES };
            to.smoothed_cov = (ks_out){ memory[1], ROW, SERIES };
            to.lag_one_cov = (ks_out){ memory[2], ROW, SERIES };
            to.smoothed_var = (ks_out){ memory[3], ROW, SERIES };
            ks_smooth_plan *plan = NULL;
            assert_int_equal(ks_smooth_plan_create(&plan, NULL, T, B, NX, 1, &o), KS_OK);
            void *work = aligned_alloc(64, (ks_smooth_workspace_bytes(plan) + 63) / 64 * 64);
            const ks_model model = golden_model(g, precision);
            assert_int_equal(
                ks_smooth_run(plan, &model, golden_y(g, precision), &to, work, NULL), KS_OK);
            static const ks_output outputs[] = { KS_OUT_SMOOTHED_MEAN, KS_OUT_SMOOTHED_COV,
                                                 KS_OUT_LAG_ONE_COV, KS_OUT_SMOOTHED_VAR };
            for (int a = 0; a < 4; ++a)
                in_place(memory[a], p, r->array[__builtin_ctz(outputs[a])],
                         a == 1 || a == 2 ? NX * NX : NX);
            free(work);
            ks_smooth_plan_destroy(plan);
            golden_buffers_free(plain);
        }
    golden_free(g);
}

#ifndef ON_DEVICE
/** Steps that are taken from memory and steps that are not, in blocks of the model's that are the same
 *  each time, lead to the same bits. */
static void memory_changes_no_bit(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 1, 1 }, { 2, 1 }, { 4, 2 }, { 4, 5 },  { 5, 2 },
                                    { 6, 3 }, { 8, 4 }, { 9, 4 }, { 12, 6 }, { 18, 9 } };
    for (size_t c = 0; c < sizeof sizes / sizeof sizes[0]; ++c)
        for (int order = KS_BLOCKTRI_SEQUENTIAL; order <= KS_BLOCKTRI_TWISTED; ++order)
            for (int p = 0; p < 2; ++p) {
                if (SANITIZED && ((int)c + order + p) % 2) continue;
                const method_case m = map_by((ks_blocktri_order)order);
                golden *g = model_random((model_spec){ 170 + c, 1500, 1, sizes[c][0], sizes[c][1],
                                                       KS_PRIOR_X1, HAS_OFFSETS });
                same_with_and_without_memory(g, &m, (ks_precision)p, outputs_made(&m));
                golden_free(g);
            }
}

/** Beside factor and results, a tenth of them. */
static void memory_of_plans(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 4, 2 }, { 6, 3 }, { 12, 6 } };
    for (int order = KS_BLOCKTRI_SEQUENTIAL; order <= KS_BLOCKTRI_TWISTED; ++order)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
            const int64_t steps = 100000, n = sizes[s][0];
            ks_smooth_options o = KS_SMOOTH_OPTIONS_INIT;
            ks_smooth_plan *plan = NULL;
            o.method = KS_METHOD_BLOCKTRI;
            o.order = (ks_blocktri_order)order;
            assert_int_equal(
                ks_smooth_plan_create(&plan, NULL, steps, 1, (int)n, sizes[s][1], &o), KS_OK);
            const int64_t factor = steps * 2 * n * n * 8, results = steps * (n + n * n) * 8;
            assert_true((int64_t)ks_smooth_workspace_bytes(plan) <=
                        factor + (factor + results) / 10);
            ks_smooth_plan_destroy(plan);
        }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearly_singular), cmocka_unit_test(ill_conditioned),
        cmocka_unit_test(ill_conditioned_at_one_step), cmocka_unit_test(either_lane), cmocka_unit_test(distant_means),
        cmocka_unit_test(not_finite),      cmocka_unit_test(one_pass_each_way),
        cmocka_unit_test(orders_of_plans),
        cmocka_unit_test(strided_outputs),
#ifndef ON_DEVICE
        cmocka_unit_test(memory_changes_no_bit), cmocka_unit_test(memory_of_plans),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
