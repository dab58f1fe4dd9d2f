/* test_arguments.c -- arguments of runs that are not valid, of every kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "models.h"
#include "run_case.h"

/** A plan and all that a run of it takes, valid. */
typedef struct call {
    ks_smooth_plan *plan;
    golden *g;
    golden_buffers *buffers;
    ks_model model;
    ks_view y;
    ks_outputs outputs;
    char *work;
    ks_info info;
} call;

static void open_call(call *c, const method_case *m, ks_prior prior, int64_t T)
{
    const ks_info info = KS_INFO_INIT;
    const unsigned of_x0 = KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV;
    const unsigned outputs = outputs_made(m) & ~(prior == KS_PRIOR_X1 ? of_x0 : 0u);
    const ks_smooth_options o = options_of(m, KS_F64, outputs);
    c->g = model_random((model_spec){ 91, T, 2, 3, 2, prior, VARIES_ALL | OWN_MODELS });
    c->buffers = golden_buffers_new(T, 2, 3, 2, KS_F64, o.outputs);
    c->plan = NULL;
    assert_int_equal(ks_smooth_plan_create(&c->plan, NULL, T, 2, 3, 2, &o), KS_OK);
    c->model = golden_model(c->g, KS_F64);
    c->y = golden_y(c->g, KS_F64);
    c->outputs = *golden_outputs(c->buffers);
    c->work = aligned_alloc(64, (ks_smooth_workspace_bytes(c->plan) + 127) / 64 * 64);
    assert_non_null(c->work);
    c->info = info;
}

static void close_call(call *c)
{
    free(c->work);
    ks_smooth_plan_destroy(c->plan);
    golden_buffers_free(c->buffers);
    golden_free(c->g);
}

static ks_status run(call *c)
{
    const ks_status status =
        ks_smooth_run(c->plan, &c->model, c->y, &c->outputs, c->work, &c->info);
    assert_int_equal(c->info.status, status);
    return status;
}

/** One member spoilt at a time; the run refuses, and takes it again once it is put back. */
#define SPOIL(type, lvalue, value)                                                          \
    do {                                                                                    \
        type saved = (lvalue);                                                              \
        (lvalue) = (value);                                                                 \
        if (run(&c) != KS_EINVAL)                                                           \
            fail_msg("%s: %s = %s is taken", method_case_name(m), #lvalue, #value);         \
        (lvalue) = saved;                                                                   \
    } while (0)

static void models_of_runs(void **state)
{
    (void)state;
    for (int i = 0; i < all_methods_count; ++i) {
        const method_case *m = &all_methods[i];
        call c;
        open_call(&c, m, KS_PRIOR_X0, 6);
        assert_int_equal(run(&c), KS_OK);
        SPOIL(size_t, c.model.size, sizeof(ks_model) - 8);
        SPOIL(ks_prior, c.model.prior, (ks_prior)2);
        SPOIL(ks_transition, c.model.transition, (ks_transition)2);
        /* Out of a step, with a prior that is that of x[-1]: nothing leads into step 0. */
        SPOIL(ks_transition, c.model.transition, KS_OUT_OF);
        assert_int_equal(c.info.array, KS_ARRAY_F);
        ks_view *all[] = { &c.model.F, &c.model.Q, &c.model.H, &c.model.R, &c.model.u, &c.model.d,
                           &c.y, &c.model.m0, &c.model.P0 };
        const ks_array names[] = { KS_ARRAY_F, KS_ARRAY_Q, KS_ARRAY_H, KS_ARRAY_R, KS_ARRAY_U, KS_ARRAY_D,
                                   KS_ARRAY_Y, KS_ARRAY_M0, KS_ARRAY_P0 };
        for (size_t v = 0; v < sizeof all / sizeof all[0]; ++v) {
#define SPOIL_VIEW(type, lvalue, value)                                                     \
    SPOIL(type, lvalue, value);                                                             \
    assert_int_equal(c.info.array, names[v])
            if (v != 4 && v != 5) { /* u and d may be absent */
                SPOIL_VIEW(const void *, all[v]->data, NULL);
            }
            SPOIL_VIEW(const void *, all[v]->data, (const char *)all[v]->data + 4);
            SPOIL_VIEW(int64_t, all[v]->series_stride, -9);
            SPOIL_VIEW(int64_t, all[v]->series_stride, 1);
            if (v < 7) { /* less than a block */
                SPOIL_VIEW(int64_t, all[v]->step_stride, 1);
                SPOIL_VIEW(int64_t, all[v]->step_stride, -1);
            }
#undef SPOIL_VIEW
        }
        assert_int_equal(run(&c), KS_OK);
        close_call(&c);
    }
}

static void places_of_runs(void **state)
{
    (void)state;
    for (int i = 0; i < all_methods_count; ++i) {
        const method_case *m = &all_methods[i];
        call c;
        open_call(&c, m, KS_PRIOR_X0, 6);
        const ks_status status = run(&c);
        assert_int_equal(status, KS_OK);
        SPOIL(size_t, c.outputs.size, 0);
        ks_out *outs = &c.outputs.loglik;
        static double somewhere[512];
        for (int o = 0; o < GOLDEN_OUTPUTS; ++o) {
            if (!outs[o].data) { /* an output that the plan does not make */
                const ks_out out = { somewhere, 9, 100 };
                const ks_out none = KS_OUTPUTS_NONE;
                outs[o] = out;
                assert_int_equal(run(&c), KS_EINVAL);
                outs[o] = none;
                continue;
            }
            SPOIL(void *, outs[o].data, NULL); /* one that it makes without a place */
            SPOIL(void *, outs[o].data, (char *)outs[o].data + 4);
            SPOIL(int64_t, outs[o].series_stride, 0);
            SPOIL(int64_t, outs[o].series_stride, -100);
            if (outs[o].step_stride) {
                SPOIL(int64_t, outs[o].step_stride, 0);
                SPOIL(int64_t, outs[o].step_stride, outs[o].step_stride - 1);
            }
        }
        ks_model model = c.model;
        assert_int_equal(ks_smooth_run(NULL, &model, c.y, &c.outputs, c.work, NULL), KS_EINVAL);
        assert_int_equal(ks_smooth_run(c.plan, NULL, c.y, &c.outputs, c.work, NULL), KS_EINVAL);
        assert_int_equal(ks_smooth_run(c.plan, &model, c.y, NULL, c.work, NULL), KS_EINVAL);
        assert_int_equal(ks_smooth_run(c.plan, &model, c.y, &c.outputs, NULL, NULL), KS_EINVAL);
        assert_int_equal(ks_smooth_run(c.plan, &model, c.y, &c.outputs, c.work + 8, NULL),
                         KS_EINVAL);
        /* What is said of the run before is forgotten, whatever is refused. */
        const struct { const ks_smooth_plan *plan; void *work; } refused[] = {
            { NULL, c.work }, { c.plan, NULL }, { c.plan, c.work + 8 },
        };
        for (size_t r = 0; r < sizeof refused / sizeof refused[0]; ++r) {
            ks_info stale = c.info;
            stale.array = KS_ARRAY_Q;
            stale.step = 5;
            stale.value = 3;
            assert_int_equal(ks_smooth_run(refused[r].plan, &model, c.y, &c.outputs, refused[r].work, &stale), KS_EINVAL);
            assert_int_equal(stale.status, KS_EINVAL);
            assert_true(stale.array == KS_ARRAY_NONE && stale.step == -1 && stale.value == 0);
        }
        ks_info other = KS_INFO_INIT;
        other.size = 8;
        assert_int_equal(ks_smooth_run(c.plan, &model, c.y, &c.outputs, c.work, &other),
                         KS_EINVAL);
        assert_int_equal(ks_smooth_run(c.plan, &model, c.y, &c.outputs, c.work, NULL), KS_OK);
        close_call(&c);
    }
}

/** Strides that lead out of what can be addressed, or around it to where the last step would be again. */
static void strides_of_runs(void **state)
{
    (void)state;
    const int64_t far[] = { INT64_MAX, INT64_MAX / 2, INT64_MAX / 5 + 1, (int64_t)1 << 60, PTRDIFF_MAX / 8 };
    for (int i = 0; i < all_methods_count; ++i) {
        const method_case *m = &all_methods[i];
        call c;
        open_call(&c, m, KS_PRIOR_X0, 6);
        ks_view *views[] = { &c.model.F, &c.model.Q, &c.model.H, &c.model.R, &c.model.u, &c.model.d, &c.y,
                             &c.model.m0, &c.model.P0 };
        ks_out *outs = &c.outputs.loglik;
        for (size_t k = 0; k < sizeof far / sizeof far[0]; ++k) {
            for (size_t v = 0; v < sizeof views / sizeof views[0]; ++v) {
                SPOIL(int64_t, views[v]->series_stride, far[k]);
                if (v >= 7) continue; /* without steps */
                SPOIL(int64_t, views[v]->step_stride, far[k]);
                ks_info info = KS_INFO_INIT;
                const int64_t saved = views[v]->step_stride;
                views[v]->step_stride = far[k];
                if (v != 6) assert_int_equal(ks_model_check(c.plan, &c.model, 1e-8, 1e-10, &info), KS_EINVAL);
                views[v]->step_stride = saved;
            }
            for (int o = 0; o < GOLDEN_OUTPUTS; ++o) {
                if (!outs[o].data) continue;
                SPOIL(int64_t, outs[o].series_stride, far[k]);
                if (outs[o].step_stride) SPOIL(int64_t, outs[o].step_stride, far[k]);
            }
        }
        assert_int_equal(run(&c), KS_OK);
        close_call(&c);
    }
}

/** With the prior on the first step there is no state before it to smooth: the array that would be smoothed is named. */
static void no_state_before_prior_x1(void **state)
{
    (void)state;
    const struct { unsigned outputs; ks_array named; } all[] = {
        { KS_OUT_PRIOR_MEAN, KS_ARRAY_M0 },
        { KS_OUT_PRIOR_COV, KS_ARRAY_P0 },
        { KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV, KS_ARRAY_M0 },
    };
    for (int i = 0; i < all_methods_count; ++i) {
        const method_case *m = &all_methods[i];
        for (size_t w = 0; m->job == KS_JOB_SMOOTH && w < sizeof all / sizeof all[0]; ++w) {
            call c;
            open_call(&c, m, KS_PRIOR_X1, 6);
            assert_int_equal(run(&c), KS_OK);
            const ks_smooth_options o = options_of(m, KS_F64, all[w].outputs);
            ks_smooth_plan_destroy(c.plan);
            golden_buffers_free(c.buffers);
            assert_int_equal(ks_smooth_plan_create(&c.plan, NULL, 6, 2, 3, 2, &o), KS_OK);
            c.buffers = golden_buffers_new(6, 2, 3, 2, KS_F64, all[w].outputs);
            c.outputs = *golden_outputs(c.buffers);
            free(c.work);
            c.work = aligned_alloc(64, (ks_smooth_workspace_bytes(c.plan) + 127) / 64 * 64);
            assert_non_null(c.work);
            assert_int_equal(run(&c), KS_EINVAL);
            assert_int_equal(c.info.array, all[w].named);
            c.model.prior = KS_PRIOR_X0;
            assert_int_equal(run(&c), KS_OK);
            close_call(&c);
        }
    }
}

/** The first number of every output. */
static void first_numbers(const call *c, double numbers[GOLDEN_OUTPUTS])
{
    const ks_out *outs = &c->outputs.loglik;
    for (int o = 0; o < GOLDEN_OUTPUTS; ++o) numbers[o] = outs[o].data ? *(const double *)outs[o].data : 0;
}

/** Strides of one step, of one series, or of what has no steps, are not looked at: nothing depends on them. */
static void unused_strides(void **state)
{
    (void)state;
    const int64_t any[] = { INT64_MIN, -1, 1, 2, INT64_MAX };
    for (int i = 0; i < all_methods_count; ++i)
        for (size_t k = 0; k < 2 * sizeof any / sizeof any[0]; ++k) {
            const int one_step = k % 2 == 0;
            call c;
            double expected[GOLDEN_OUTPUTS], found[GOLDEN_OUTPUTS];
            open_call(&c, &all_methods[i], KS_PRIOR_X0, one_step ? 1 : 6);
            if (!one_step) {
                const ks_smooth_options o = options_of(&all_methods[i], KS_F64, outputs_made(&all_methods[i]));
                ks_smooth_plan_destroy(c.plan);
                assert_int_equal(ks_smooth_plan_create(&c.plan, NULL, 6, 1, 3, 2, &o), KS_OK);
                free(c.work);
                c.work = aligned_alloc(64, ks_smooth_workspace_bytes(c.plan));
                assert_non_null(c.work);
            }
            assert_int_equal(run(&c), KS_OK);
            first_numbers(&c, expected);
            ks_view *views[] = { &c.model.F, &c.model.Q, &c.model.H, &c.model.R, &c.model.u, &c.model.d, &c.y,
                                 &c.model.m0, &c.model.P0 };
            ks_out *outs = &c.outputs.loglik;
            for (size_t v = 0; v < sizeof views / sizeof views[0]; ++v) {
                if (one_step || v >= 7) views[v]->step_stride = any[k / 2];
                if (!one_step) views[v]->series_stride = any[k / 2];
            }
            for (int o = 0; o < GOLDEN_OUTPUTS; ++o)
                if (one_step) outs[o].step_stride = any[k / 2];
                else outs[o].series_stride = any[k / 2];
            for (int out_of = 0; out_of <= one_step; ++out_of) {
                c.model.transition = out_of ? KS_OUT_OF : KS_INTO;
                const ks_status checked = ks_model_check(c.plan, &c.model, 1e-8, 1e-10, NULL), status = run(&c);
                first_numbers(&c, found);
                if (checked || status || memcmp(found, expected, sizeof found) != 0)
                    fail_msg("%s: strides of one %s, %lld: %s, %s", method_case_name(&all_methods[i]),
                             one_step ? "step" : "series", (long long)any[k / 2], ks_status_name(checked),
                             ks_status_name(status));
            }
            close_call(&c);
        }
}

/** Out of a state, T - 1 rows of F, Q and u are there. With one row its stride is ignored, as that of an absent array is;
 *  with more, strides are refused under KS_PRIOR_X0, where none of them leads to x[0]. */
static void transitions_out_of(void **state)
{
    (void)state;
    for (int i = 0; i < all_methods_count; ++i) {
        const method_case *m = &all_methods[i];
        const int64_t any[] = { -1, 1, INT64_MAX, INT64_MIN };
        const ks_view none = { NULL, 3, 0 };
        for (int x0 = 0; x0 < 2; ++x0) {
            double expected[GOLDEN_OUTPUTS], found[GOLDEN_OUTPUTS];
            call c;
            open_call(&c, m, x0 ? KS_PRIOR_X0 : KS_PRIOR_X1, 2);
            c.model.transition = KS_OUT_OF;
            c.model.F.step_stride = c.model.Q.step_stride = c.model.u.step_stride = 0;
            assert_int_equal(run(&c), KS_OK);
            first_numbers(&c, expected);
            for (int s = 0; s < 4; ++s) {
                c.model.F.step_stride = c.model.Q.step_stride = c.model.u.step_stride = any[s];
                assert_int_equal(ks_model_check(c.plan, &c.model, 1e-8, 1e-10, NULL), KS_OK);
                assert_int_equal(run(&c), KS_OK);
                first_numbers(&c, found);
                assert_memory_equal(found, expected, sizeof found);
            }
            close_call(&c);
        }
        call c;
        open_call(&c, m, KS_PRIOR_X0, 6);
        c.model.F.step_stride = c.model.Q.step_stride = 0;
        c.model.transition = KS_OUT_OF;
        c.model.u = none;
        assert_int_equal(run(&c), KS_OK);
        SPOIL(int64_t, c.model.F.step_stride, 4);
        assert_int_equal(c.info.array, KS_ARRAY_F);
        SPOIL(int64_t, c.model.Q.step_stride, 4);
        assert_int_equal(c.info.array, KS_ARRAY_Q);
        close_call(&c);
    }
}

/** With one step and the prior on it there is no transition, and none need be given. */
static void no_transition_at_all(void **state)
{
    (void)state;
    for (int i = 0; i < all_methods_count; ++i) {
        const method_case *m = &all_methods[i];
        const ks_view none = { NULL, 0, 0 };
        call c;
        open_call(&c, m, KS_PRIOR_X1, 1);
        c.model.F = c.model.Q = c.model.u = none;
        assert_int_equal(run(&c), KS_OK);
        c.model.prior = KS_PRIOR_X0;
        assert_int_equal(run(&c), KS_EINVAL);
        close_call(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_of_runs),       cmocka_unit_test(places_of_runs),
        cmocka_unit_test(strides_of_runs),      cmocka_unit_test(unused_strides),
        cmocka_unit_test(no_transition_at_all), cmocka_unit_test(no_state_before_prior_x1),
        cmocka_unit_test(transitions_out_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
