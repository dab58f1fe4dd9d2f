/* test_signal_calls.c -- how ks_signal() is called: threads, strides, parts of all that it makes; what cannot be done
 * is told, and nothing is allocated. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "failalloc.h"
#include "models.h"
#include "signal_case.h"

static void same_bits_on_threads(void **state)
{
    (void)state;
    for (int p = 0; p < 3; ++p) {
        golden *g = model_random((model_spec){ 33, 701, 5, 5, 3, KS_PRIOR_X0,
                                               VARIES_H | VARIES_D | OWN_MODELS | MISSING });
        golden_buffers *states = smooth(g, (ks_precision)p);
        const given from = smoothed_of(g, (ks_precision)p, states);
        made one = make(&from, 1, ALL);
        for (int threads = 2; threads <= 7; ++threads) {
            made many = make(&from, threads, ALL);
            assert_int_equal(many.info.threads, threads);
            assert_same(&one, &many, ALL, "on several threads");
            drop(&many);
        }
        drop(&one);
        golden_buffers_free(states);
        golden_free(g);
    }
}

/** One block for all steps, and the same block at each of them. */
static void same_bits_step_by_step(void **state)
{
    (void)state;
    for (int p = 0; p < 3; ++p) {
        golden *g = model_random((model_spec){ 34, 19, 1, 5, 3, KS_PRIOR_X0, HAS_OFFSETS | MISSING });
        golden *steps = model_slice(g, 0, 0, g->T);
        model_round(steps);
        assert_true(steps->H.step_stride && steps->R.step_stride && steps->d.step_stride && !g->H.step_stride);
        golden_buffers *states = smooth(g, (ks_precision)p);
        const given constant = smoothed_of(g, (ks_precision)p, states);
        const given varying = smoothed_of(steps, (ks_precision)p, states);
        made one = make(&constant, 1, ALL), other = make(&varying, 1, ALL);
        assert_same(&one, &other, ALL, "given step by step");
        drop(&one);
        drop(&other);
        golden_buffers_free(states);
        golden_free(steps);
        golden_free(g);
    }
}

/** Each set of parts is made of what it needs and nothing else, and comes to the same bits. */
static void what_is_asked_for(void **state)
{
    (void)state;
    const ks_view none = { NULL, 0, 0 };
    golden *g = model_random((model_spec){ 35, 11, 2, 4, 3, KS_PRIOR_X0, VARIES_H | VARIES_D | VARIES_R });
    golden_buffers *states = smooth(g, KS_F64);
    const given from = smoothed_of(g, KS_F64, states);
    made all = make(&from, 1, ALL);
    for (unsigned parts = 1; parts <= ALL; ++parts) {
        given least = from;
        ks_model *m = &least.model;
        m->F = m->Q = m->u = m->m0 = m->P0 = none;
        if (!(parts & 1u << MEAN)) m->d = least.mean = none;
        if (!(parts & 1u << OBSERVED)) m->R = none;
        if (!(parts & ~(1u << MEAN))) least.cov = none;
        made some = make(&least, 1, parts);
        assert_same(&all, &some, parts, "a part of all");
        drop(&some);
    }
    drop(&all);
    golden_buffers_free(states);
    golden_free(g);
}

/** Between rows that are apart nothing is written. */
static void rows_apart(void **state)
{
    (void)state;
    enum { APART = 3 };
    golden *g = model_random((model_spec){ 36, 6, 2, 3, 2, KS_PRIOR_X0, VARIES_H });
    golden_buffers *states = smooth(g, KS_F32);
    const given from = smoothed_of(g, KS_F32, states);
    made close = make(&from, 1, ALL), wide = make_apart(&from, 1, ALL, APART);
    assert_int_equal(wide.status, KS_OK);
    for (int i = 0; i < PARTS; ++i) {
        const int64_t row = i == COV ? 4 : 2;
        for (int64_t at = 0; at < g->B * g->T * (row + APART); ++at) {
            const int64_t column = at % (row + APART);
            const double found = number_of(&wide, i, at);
            if (column < row) assert_true(found == number_of(&close, i, at / (row + APART) * row + column));
            else assert_true(isnan(found));
        }
    }
    drop(&close);
    drop(&wide);
    golden_buffers_free(states);
    golden_free(g);
}

/** Of steps whose signal leaves the range the first is told, on any number of threads. */
static void out_of_range(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 38, 12, 3, 3, 2, KS_PRIOR_X0, VARIES_H | OWN_MODELS });
    for (int p = 0; p < 3; ++p) {
        golden_buffers *states = smooth(g, (ks_precision)p);
        const given from = smoothed_of(g, (ks_precision)p, states);
        const ks_outputs *o = golden_outputs(states);
        /* In mixed precision the covariance alone is too large for a float. */
        const int64_t places[] = { 1 * 12 + 7, 1 * 12 + 4, 2 * 12 + 1 };
        for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i)
            for (int e = 0; e < 9; ++e) {
                const int64_t at = places[i] * 9 + e;
                if (p == KS_F64) ((double *)o->smoothed_cov.data)[at] = e % 4 == 0 ? 1.7e308 : 0;
                else ((float *)o->smoothed_cov.data)[at] = e % 4 == 0 ? 3.3e38f : 0;
            }
        for (int64_t i = 0; i < 3 * 12 * 6; ++i) g->H.f64[i] = 4;
        model_round(g);
        for (int threads = 1; threads <= 6; ++threads) {
            made m = make_apart(&from, threads, 1u << VAR, 0);
            assert_int_equal(m.status, KS_ENONFINITE);
            assert_int_equal(m.info.array, KS_ARRAY_SIGNAL);
            assert_int_equal(m.info.fault, KS_FAULT_NOT_FINITE);
            assert_int_equal(m.info.series, 1);
            assert_int_equal(m.info.step, 4);
            drop(&m);
        }
        made means = make(&from, 2, 1u << MEAN);
        drop(&means);
        const int64_t spoilt = 2 * 3 + 1; /* of series 0, step 2 */
        if (p == KS_F32) ((float *)o->smoothed_mean.data)[spoilt] = NAN;
        else ((double *)o->smoothed_mean.data)[spoilt] = (double)INFINITY;
        made m = make_apart(&from, 3, ALL, 0);
        assert_int_equal(m.status, KS_ENONFINITE);
        assert_int_equal(m.info.series, 0);
        assert_int_equal(m.info.step, 2);
        drop(&m);
        golden_buffers_free(states);
    }
    golden_free(g);
}

/** Of a valid call one thing is spoilt at a time. */
#define SPOIL(type, lvalue, value)                                                          \
    do {                                                                                    \
        type saved = (lvalue);                                                              \
        (lvalue) = (value);                                                                 \
        if (ks_signal(plan, &from.model, from.mean, from.cov, &outputs, work, &info) != KS_EINVAL || \
            info.status != KS_EINVAL)                                                       \
            fail_msg("%s = %s is taken", #lvalue, #value);                                  \
        (lvalue) = saved;                                                                   \
    } while (0)

static void arguments(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 39, 5, 2, 3, 2, KS_PRIOR_X0, VARIES_ALL | OWN_MODELS });
    golden_buffers *states = smooth(g, KS_F64);
    given from = smoothed_of(g, KS_F64, states);
    ks_smooth_plan *plan = plan_for(&from, NULL);
    char *work = work_for(plan);
    static double place[PARTS][40];
    ks_signal_outputs outputs = { sizeof outputs, { place[MEAN], 2, 10 }, { place[COV], 4, 20 },
                                  { place[VAR], 2, 10 }, { place[OBSERVED], 2, 10 } };
    ks_info info = KS_INFO_INIT;
    assert_int_equal(ks_signal(plan, &from.model, from.mean, from.cov, &outputs, work, &info), KS_OK);
    assert_int_equal(ks_signal(plan, &from.model, from.mean, from.cov, &outputs, work, NULL), KS_OK);
    SPOIL(size_t, from.model.size, sizeof(ks_model) - 8);
    SPOIL(size_t, outputs.size, 0);
    SPOIL(const void *, from.model.H.data, (const char *)from.model.H.data + 4);
    SPOIL(const void *, from.mean.data, (const char *)from.mean.data + 1);
    SPOIL(void *, outputs.cov.data, (char *)outputs.cov.data + 4);
    assert_int_equal(info.array, KS_ARRAY_NONE);
    ks_view *views[] = { &from.model.H, &from.model.d, &from.model.R, &from.mean, &from.cov };
    const ks_array names[] = { KS_ARRAY_H, KS_ARRAY_D, KS_ARRAY_R, KS_ARRAY_ESTIMATE, KS_ARRAY_ESTIMATE };
    for (size_t v = 0; v < sizeof views / sizeof views[0]; ++v) {
        if (v != 1) SPOIL(const void *, views[v]->data, NULL); /* d may be absent */
        SPOIL(int64_t, views[v]->step_stride, -1);
        SPOIL(int64_t, views[v]->step_stride, 1);
        SPOIL(int64_t, views[v]->series_stride, -9);
        SPOIL(int64_t, views[v]->series_stride, 1);
        SPOIL(int64_t, views[v]->series_stride, INT64_MAX / 2);
        assert_int_equal(info.array, names[v]);
    }
    ks_out *outs = &outputs.mean;
    for (int i = 0; i < PARTS; ++i) {
        SPOIL(int64_t, outs[i].step_stride, 0);
        SPOIL(int64_t, outs[i].step_stride, outs[i].step_stride - 1);
        SPOIL(int64_t, outs[i].series_stride, 1);
        SPOIL(int64_t, outs[i].series_stride, INT64_MAX);
        assert_int_equal(info.array, KS_ARRAY_NONE);
    }
    ks_signal_outputs nothing = KS_SIGNAL_OUTPUTS_INIT;
    assert_int_equal(ks_signal(plan, &from.model, from.mean, from.cov, &nothing, work, &info), KS_EINVAL);
    assert_int_equal(ks_signal(NULL, &from.model, from.mean, from.cov, &outputs, work, &info), KS_EINVAL);
    assert_int_equal(ks_signal(plan, NULL, from.mean, from.cov, &outputs, work, &info), KS_EINVAL);
    assert_int_equal(ks_signal(plan, &from.model, from.mean, from.cov, NULL, work, &info), KS_EINVAL);
    char *const nowhere[] = { NULL, work + 8 };
    for (int i = 0; i < 2; ++i) {
        info.status = KS_OK;
        info.array = KS_ARRAY_H;
        assert_int_equal(ks_signal(plan, &from.model, from.mean, from.cov, &outputs, nowhere[i], &info), KS_EINVAL);
        assert_true(info.status == KS_EINVAL && info.array == KS_ARRAY_NONE);
    }
    info.size = 8;
    assert_int_equal(ks_signal(plan, &from.model, from.mean, from.cov, &outputs, work, &info), KS_EINVAL);
    assert_int_equal(ks_signal_workspace_bytes(NULL), 0);
    free(work);
    ks_smooth_plan_destroy(plan);
    golden_buffers_free(states);
    golden_free(g);
}
#undef SPOIL

static void nothing_is_allocated(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 40, 50, 2, 3, 2, KS_PRIOR_X0, 0 });
    golden_buffers *states = smooth(g, KS_F64);
    const given from = smoothed_of(g, KS_F64, states);
    failalloc memory = FAILALLOC_INIT;
    ks_context_options resources = KS_CONTEXT_OPTIONS_INIT;
    ks_context *context = NULL;
    resources.allocator = failalloc_allocator(&memory);
    resources.threads = 3;
    assert_int_equal(ks_context_create(&context, &resources), KS_OK);
    ks_smooth_plan *plan = plan_for(&from, context);
    char *work = work_for(plan);
    double place[200];
    ks_signal_outputs outputs = KS_SIGNAL_OUTPUTS_INIT;
    outputs.var = (ks_out){ place, 2, 100 };
    atomic_store(&memory.calls, 0);
    assert_int_equal(ks_signal(plan, &from.model, from.mean, from.cov, &outputs, work, NULL), KS_OK);
    assert_int_equal(atomic_load(&memory.calls), 0);
    check_guard(plan, work);
    free(work);
    ks_smooth_plan_destroy(plan);
    ks_context_destroy(context);
    golden_buffers_free(states);
    golden_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits_on_threads),
        cmocka_unit_test(same_bits_step_by_step),
        cmocka_unit_test(what_is_asked_for),
        cmocka_unit_test(rows_apart),
        cmocka_unit_test(out_of_range),
        cmocka_unit_test(arguments),
        cmocka_unit_test(nothing_is_allocated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
