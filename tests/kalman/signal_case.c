/* signal_case.c -- see signal_case.h. */
#include "signal_case.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { GUARD = 64 };
const method_case smoother = { .job = KS_JOB_SMOOTH, .method = KS_METHOD_SEQUENTIAL };
const method_case filter = { .job = KS_JOB_FILTER, .method = KS_METHOD_SEQUENTIAL };

given smoothed_of(const golden *g, ks_precision precision, const golden_buffers *states)
{
    const ks_outputs *o = golden_outputs(states);
    const given all = { g, precision, golden_model(g, precision),
                        { o->smoothed_mean.data, o->smoothed_mean.step_stride, o->smoothed_mean.series_stride },
                        { o->smoothed_cov.data, o->smoothed_cov.step_stride, o->smoothed_cov.series_stride } };
    return all;
}

const char *part_name(int part)
{
    return (const char *[]){ "mean", "cov", "var", "observed_var" }[part];
}

golden_buffers *smooth(const golden *g, ks_precision precision)
{
    return run_well(g, &smoother, precision, 1, KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV, NULL);
}

ks_smooth_plan *plan_for(const given *from, ks_context *context)
{
    ks_smooth_plan *plan = NULL;
    const ks_smooth_options options = options_of(&filter, from->precision, KS_OUT_LOGLIK);
    const golden *g = from->g;
    assert_int_equal(ks_smooth_plan_create(&plan, context, g->T, g->B, g->nx, g->ny, &options), KS_OK);
    return plan;
}

char *work_for(const ks_smooth_plan *plan)
{
    const size_t bytes = ks_signal_workspace_bytes(plan);
    assert_true(bytes > 0 && bytes % 64 == 0);
    char *work = aligned_alloc(64, bytes + GUARD);
    assert_non_null(work);
    memset(work, 0xff, bytes);
    memset(work + bytes, 7, GUARD);
    return work;
}

void check_guard(const ks_smooth_plan *plan, const char *work)
{
    for (int i = 0; i < GUARD; ++i) assert_int_equal(work[ks_signal_workspace_bytes(plan) + (size_t)i], 7);
}

made make_apart(const given *from, int threads, unsigned parts, int64_t apart)
{
    ks_context_options resources = KS_CONTEXT_OPTIONS_INIT;
    ks_context *context = NULL;
    ks_signal_outputs outputs = KS_SIGNAL_OUTPUTS_INIT;
    ks_out *const places[] = { &outputs.mean, &outputs.cov, &outputs.var, &outputs.observed_var };
    const golden *g = from->g;
    made m = { .info = KS_INFO_INIT };
    resources.threads = threads;
    assert_int_equal(ks_context_create(&context, &resources), KS_OK);
    ks_smooth_plan *plan = plan_for(from, context);
    char *work = work_for(plan);
    for (int i = 0; i < PARTS; ++i) {
        const int64_t row = (i == COV ? g->ny * g->ny : g->ny) + apart;
        const int narrow = from->precision == KS_F32 || (from->precision == KS_MIXED && i != MEAN);
        m.number[i] = narrow ? sizeof(float) : sizeof(double);
        if (!(parts >> i & 1u)) continue;
        m.bytes[i] = (size_t)(g->B * g->T * row) * m.number[i];
        m.part[i] = malloc(m.bytes[i]);
        assert_non_null(m.part[i]);
        memset(m.part[i], 0xff, m.bytes[i]);
        *places[i] = (ks_out){ m.part[i], row, g->T * row };
    }
    m.status = ks_signal(plan, &from->model, from->mean, from->cov, &outputs, work, &m.info);
    assert_int_equal(m.info.status, m.status);
    check_guard(plan, work);
    free(work);
    ks_smooth_plan_destroy(plan);
    ks_context_destroy(context);
    return m;
}

made make(const given *from, int threads, unsigned parts)
{
    const made m = make_apart(from, threads, parts, 0);
    assert_int_equal(m.status, KS_OK);
    assert_true(m.info.threads >= 1 && m.info.threads <= threads);
    return m;
}

void drop(made *m)
{
    for (int i = 0; i < PARTS; ++i) free(m->part[i]);
}

void assert_same(const made *a, const made *b, unsigned parts, const char *what)
{
    for (int i = 0; i < PARTS; ++i)
        if (parts >> i & 1u && memcmp(a->part[i], b->part[i], a->bytes[i]) != 0)
            fail_msg("%s: %s has other bits", what, part_name(i));
}

static double number_at(const void *data, size_t number, int64_t i)
{
    return number == sizeof(float) ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

double number_of(const made *m, int part, int64_t i) { return number_at(m->part[part], m->number[part], i); }

double read_view(ks_view view, size_t number, int64_t b, int64_t k, int64_t i)
{
    return number_at(view.data, number, b * view.series_stride + k * view.step_stride + i);
}
