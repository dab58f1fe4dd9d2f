/* test_smooth.c -- filters and smoothers on a device through the public plan: what tests of the CPU's
 * methods, which run on a device too, do not look at. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "models.h"
#include "seed_run.h"
#include "textbook.h"

enum { SEEDS = SEEDS_OF(10, 3) };

/** The order in which threads run makes no difference to the bits. */
static void same_bits_for_every_seed(void **state)
{
    (void)state;
    const method_case *const methods[] = { &filter, &rts, &two_filter, &chunked };
    for (int prior = 0; prior < 2; ++prior) {
        golden *g = model_random((model_spec){ 900, 37, 2, 3, 2, (ks_prior)prior,
                                               VARIES_ALL | MISSING | OWN_MODELS });
        textbook_smooth(g);
        for (int i = 0; i < 8; ++i) {
            const ks_precision precision = i % 2 ? KS_F32 : KS_F64;
            const method_case *m = methods[i / 2];
            const unsigned outputs = outputs_made(m) & ~(unsigned)(KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV);
            const ks_smooth_options o = options_of(m, precision, outputs);
            golden_buffers *first = run_seed(g, &o, 1);
            const golden_difference d = golden_compare(golden_widen(first), &g->expected, outputs,
                                                       golden_norm_of(g, precision));
            assert_true(d.error <= golden_ordinary_bound(GOLDEN_ELEMENTS, precision));
            for (int seed = 2; seed <= SEEDS; ++seed) {
                golden_buffers *b = run_seed(g, &o, seed);
                assert_int_equal(first_different(first, b, outputs), 0);
                golden_buffers_free(b);
            }
            golden_buffers_free(first);
        }
        golden_free(g);
    }
}

/** One plan, models whose arrays vary and do not, by turns, with failures between. */
static void other_models_next_time(void **state)
{
    (void)state;
    static const unsigned flags[] = { 0, VARIES_ALL, HAS_OFFSETS, VARIES_F | MISSING, VARIES_ALL };
    const ks_smooth_options o =
        options_of(&rts, KS_F64, KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_LOGLIK);
    ks_smooth_plan *plan;
    use_seed(4);
    OK(ks_smooth_plan_create(&plan, NULL, 23, 1, 3, 2, &o));
    void *work = workspace(plan);
    for (int i = 0; i < 10; ++i) {
        golden *g = model_random((model_spec){ 910, 23, 1, 3, 2, (ks_prior)(i % 2),
                                               flags[i % 5] });
        golden_buffers *b = golden_buffers_new(23, 1, 3, 2, KS_F64, o.outputs);
        ks_info info = KS_INFO_INIT;
        textbook_smooth(g);
        ks_model model = golden_model(g, KS_F64);
        OK(ks_smooth_run(plan, &model, golden_y(g, KS_F64), golden_outputs(b), work, &info));
        assert_true(golden_compare(golden_widen(b), &g->expected, o.outputs,
                                   golden_norm_of(g, KS_F64)).error <= golden_ordinary_bound(GOLDEN_ELEMENTS, KS_F64));
        g->y.f64[2 * 11] = (double)INFINITY;
        assert_int_equal(ks_smooth_run(plan, &model, golden_y(g, KS_F64), golden_outputs(b), work,
                                       &info), KS_EMODEL);
        assert_int_equal(info.step, 11);
        golden_buffers_free(b);
        golden_free(g);
    }
    free(work);
    ks_smooth_plan_destroy(plan);
    check_clean();
}

/** Rows of the model lead out of steps and have gaps between them; T - 1 of them are there. */
static void rows_that_lead_out(void **state)
{
    (void)state;
    enum { T = 19, NX = 2, GAP = 3 };
    golden *g = model_random((model_spec){ 920, T, 1, NX, 1, KS_PRIOR_X1, VARIES_ALL });
    textbook_smooth(g);
    for (int p = 0; p < 2; ++p) {
        const ks_precision precision = (ks_precision)p;
        const ks_smooth_options o = options_of(&two_filter, precision, KS_OUT_SMOOTHED_MEAN |
                                               KS_OUT_SMOOTHED_COV | KS_OUT_LAG_ONE_COV);
        const size_t number = p ? sizeof(float) : sizeof(double), row = NX * NX + GAP;
        ks_model model = golden_model(g, precision);
        ks_view *const views[] = { &model.F, &model.Q, &model.u };
        char *copies[3];
        for (int i = 0; i < 3; ++i) {
            const size_t block = (i < 2 ? NX * NX : NX) * number;
            copies[i] = zeroed(T - 1, row * number);
            for (size_t k = 0; k + 1 < T; ++k)
                memcpy(copies[i] + k * row * number,
                       (const char *)views[i]->data + (k + 1) * block, block);
            *views[i] = (ks_view){ copies[i], (int64_t)row, 0 };
        }
        model.transition = KS_OUT_OF;
        golden_buffers *b = NULL;
        OK(run_model(g, &model, golden_y(g, precision), &o, 1, &b, NULL));
        assert_true(golden_compare(golden_widen(b), &g->expected, o.outputs,
                                   golden_norm_of(g, precision)).error <= golden_ordinary_bound(GOLDEN_ELEMENTS, precision));
        golden_buffers_free(b);
        for (int i = 0; i < 3; ++i) free(copies[i]);
    }
    golden_free(g);
}

/** What a plan refuses, and what it chooses. */
static void choices(void **state)
{
    (void)state;
    ks_smooth_plan *plan;
    ks_smooth_options o = KS_SMOOTH_OPTIONS_INIT;
    use_seed(1);
    o.backend = KS_BACKEND_CUDA;
    OK(ks_smooth_plan_create(&plan, NULL, 5, 1, 2, 1, &o));
    assert_int_equal(ks_smooth_plan_method(plan), KS_METHOD_SCAN_RTS);
    ks_smooth_plan_destroy(plan);
    static const ks_method not_there[] = { KS_METHOD_SEQUENTIAL, KS_METHOD_TWO_ENDED,
                                           KS_METHOD_BLOCKTRI };
    for (int i = 0; i < 3; ++i) {
        o.backend = KS_BACKEND_CUDA;
        o.method = not_there[i];
        o.order = i == 2 ? KS_BLOCKTRI_TWISTED : KS_BLOCKTRI_AUTO;
        assert_int_equal(ks_smooth_plan_create(&plan, NULL, 5, 1, 2, 1, &o), KS_EINVAL);
        o.backend = KS_BACKEND_AUTO;
        OK(ks_smooth_plan_create(&plan, NULL, 5, 1, 2, 1, &o));
        assert_int_equal(ks_smooth_plan_backend(plan), KS_BACKEND_CPU);
        assert_int_equal(ks_smooth_plan_declined(plan), KS_EINVAL);
        assert_int_equal(ks_smooth_device_bytes(5, 1, 2, 1, &o), 0);
        ks_smooth_plan_destroy(plan);
    }
    o.method = KS_METHOD_SCAN_RTS;
    OK(ks_smooth_plan_create(&plan, NULL, 5, 1, 2, 1, &o));
    assert_int_equal(ks_smooth_plan_backend(plan), KS_BACKEND_CUDA);
    assert_int_equal(ks_smooth_plan_declined(plan), KS_OK);
    ks_smooth_plan_destroy(plan);
    o.device = 1000;
    o.backend = KS_BACKEND_CUDA;
    assert_int_equal(ks_smooth_plan_create(&plan, NULL, 5, 1, 2, 1, &o), KS_ENODEV);
    o.device = -1;
    assert_int_equal(ks_smooth_plan_create(&plan, NULL, 5, 1, 2, 1, &o), KS_EINVAL);
    check_clean();
}

/** The largest plan that there can be says so, whether or not it fits. */
static void bytes_are_told(void **state)
{
    (void)state;
    ks_smooth_options o = options_of(&rts, KS_F64, KS_OUT_SMOOTHED_MEAN);
    const size_t one = ks_smooth_device_bytes(1000, 1, 4, 2, &o);
    const size_t ten = ks_smooth_device_bytes(10000, 1, 4, 2, &o);
    assert_true(one > 1000 * 100 * sizeof(double) && ten > 9 * one && ten < 11 * one);
    assert_true(ks_smooth_device_bytes(INT64_C(1) << 54, 1, 4, 2, &o) == SIZE_MAX);
    o.backend = KS_BACKEND_CPU;
    assert_int_equal(ks_smooth_device_bytes(1000, 1, 4, 2, &o), 0);
}

typedef struct turn {
    const ks_smooth_plan *plan;
    const golden *g;
    golden_buffers *b;
    ks_status status;
} turn;

static void *take_turn(void *arg)
{
    turn *t = arg;
    const ks_model model = golden_model(t->g, KS_F64);
    void *work = workspace(t->plan);
    for (int i = 0; i < 3; ++i)
        t->status |= ks_smooth_run(t->plan, &model, golden_y(t->g, KS_F64), golden_outputs(t->b),
                                   work, NULL);
    free(work);
    return NULL;
}

/** Two threads run one plan, each with a model of its own. */
static void threads_take_turns(void **state)
{
    (void)state;
    const ks_smooth_options o =
        options_of(&filter, KS_F64, KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV | KS_OUT_LOGLIK);
    ks_smooth_plan *plan;
    pthread_t thread[2];
    turn t[2];
    use_seed(2);
    OK(ks_smooth_plan_create(&plan, NULL, 31, 1, 2, 2, &o));
    for (int i = 0; i < 2; ++i) {
        golden *g = model_random((model_spec){ 930 + (uint64_t)i, 31, 1, 2, 2, KS_PRIOR_X0,
                                               i ? VARIES_ALL : MISSING });
        textbook_smooth(g);
        t[i] = (turn){ plan, g, golden_buffers_new(31, 1, 2, 2, KS_F64, o.outputs), KS_OK };
    }
    for (int i = 0; i < 2; ++i) assert_int_equal(pthread_create(&thread[i], NULL, take_turn, &t[i]), 0);
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        OK(t[i].status);
        assert_true(golden_compare(golden_widen(t[i].b), &t[i].g->expected, o.outputs,
                                   golden_norm_of(t[i].g, KS_F64)).error <= golden_ordinary_bound(GOLDEN_ELEMENTS, KS_F64));
        golden_buffers_free(t[i].b);
        golden_free((golden *)(uintptr_t)t[i].g);
    }
    ks_smooth_plan_destroy(plan);
    check_clean();
}

#ifdef EMULATED
static void allocations_fail(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 940, 9, 1, 5, 1, KS_PRIOR_X0, 0 });
    for (int i = 0; i < 5; ++i) {
        const method_case *m = i == 0 ? &filter : i == 1 ? &rts : i == 4 ? &chunked : &two_filter;
        ks_smooth_options o = options_of(m, KS_F32, outputs_made(m));
        if (i == 3) o.second_device = 1;
        each_allocation_fails(g, o);
    }
    golden_free(g);
}

/** The device is as large as the plan says that it must be, and then one byte smaller. */
static void as_much_memory_as_told(void **state)
{
    (void)state;
    ks_smooth_options o = options_of(&rts, KS_F64, outputs_made(&rts));
    for (int nx = 3; nx < 6; nx += 2)
        for (int less = 0; less < 2; ++less) {
            ks_smooth_plan *plan;
            use_seed(1);
            ks_emulated.memory = ks_smooth_device_bytes(100, 1, nx, 2, &o) - (size_t)less;
            assert_int_equal(ks_smooth_plan_create(&plan, NULL, 100, 1, nx, 2, &o),
                             less ? KS_ENOMEM : KS_OK);
            ks_smooth_plan_destroy(plan);
            check_clean();
        }
}

/* Plenty for a device. */
#define MEMORY ((size_t)1 << 30)

/** Plan and run g on a device that is lost with a piece of its work, 0: with none. How many pieces it has done, and the
 *  status. */
static long run_and_lose(const golden *g, const ks_smooth_options *o, size_t memory, long lose_at, ks_status *status)
{
    golden_buffers *b = golden_buffers_new(g->T, 1, g->nx, g->ny, o->precision, o->outputs);
    const ks_model model = golden_model(g, o->precision);
    ks_smooth_plan *plan;
    ks_info info = KS_INFO_INIT;
    use_seed((int)lose_at);
    ks_emulated.memory = memory;
    ks_emulated.lose_at = lose_at;
    *status = ks_smooth_plan_create(&plan, NULL, g->T, 1, g->nx, g->ny, o);
    if (*status == KS_OK) {
        void *work = workspace(plan);
        *status = ks_smooth_run(plan, &model, golden_y(g, o->precision), golden_outputs(b), work, &info);
        assert_int_equal(info.status, *status);
        if (*status != KS_OK) assert_int_equal(info.device_code, 719);
        if (*status == KS_OK) check_idle();
        free(work);
    }
    const long pieces = ks_emulated.pieces;
    ks_smooth_plan_destroy(plan);
    check_clean();
    golden_buffers_free(b);
    return pieces;
}

/** A device that is lost, whatever it does just then, is KS_EDEVICE with the driver's number, and nothing is left. */
static void devices_are_lost(void **state)
{
    (void)state;
    const method_case *const methods[] = { &filter, &rts, &two_filter, &two_filter, &chunked, &chunked };
    for (int i = 0; i < 6; ++i) {
        const int parts = i == 5, T = parts ? 2100 : 40;
        golden *g = model_random((model_spec){ 945, T, 1, 2, 1, KS_PRIOR_X0, VARIES_ALL });
        ks_smooth_options o = options_of(methods[i], KS_F64, parts ? KS_OUT_SMOOTHED_MEAN : outputs_made(methods[i]));
        const size_t memory = parts ? ks_smooth_device_bytes(T, 1, 2, 1, &o) : MEMORY;
        ks_status status;
        if (i == 3) o.second_device = 1;
        const long all = run_and_lose(g, &o, memory, 0, &status);
        assert_true(status == KS_OK && all > 20);
        for (long lose_at = 1; lose_at <= all; lose_at += 1 + all / 60) {
            (void)run_and_lose(g, &o, memory, lose_at, &status);
            assert_int_equal(status, KS_EDEVICE);
        }
        golden_free(g);
    }
}

/** A device that is older than the kernels. */
static void devices_that_are_too_old(void **state)
{
    (void)state;
    ks_smooth_options o = options_of(&rts, KS_F64, KS_OUT_SMOOTHED_MEAN);
    ks_smooth_plan *plan;
    use_seed(1);
    ks_emulated.old = 1;
    assert_int_equal(ks_smooth_plan_create(&plan, NULL, 5, 1, 2, 1, &o), KS_EUNAVAILABLE);
    check_clean();
    o.backend = KS_BACKEND_AUTO;
    OK(ks_smooth_plan_create(&plan, NULL, 5, 1, 2, 1, &o));
    assert_int_equal(ks_smooth_plan_backend(plan), KS_BACKEND_CPU);
    assert_int_equal(ks_smooth_plan_declined(plan), KS_EUNAVAILABLE);
    ks_smooth_plan_destroy(plan);
    check_clean();
}

static void no_such_device(void **state)
{
    (void)state;
    ks_smooth_options o = options_of(&rts, KS_F64, KS_OUT_SMOOTHED_MEAN);
    ks_smooth_plan *plan;
    use_seed(1);
    ks_emulated.devices = 0;
    assert_int_equal(ks_smooth_plan_create(&plan, NULL, 5, 1, 2, 1, &o), KS_ENODEV);
    o.backend = KS_BACKEND_AUTO;
    OK(ks_smooth_plan_create(&plan, NULL, 5, 1, 2, 1, &o));
    assert_int_equal(ks_smooth_plan_backend(plan), KS_BACKEND_CPU);
    assert_int_equal(ks_smooth_plan_declined(plan), KS_ENODEV);
    ks_smooth_plan_destroy(plan);
    check_clean();
}
#endif

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits_for_every_seed),
        cmocka_unit_test(other_models_next_time),
        cmocka_unit_test(rows_that_lead_out),       cmocka_unit_test(choices),
        cmocka_unit_test(bytes_are_told),           cmocka_unit_test(threads_take_turns),
#ifdef EMULATED
        cmocka_unit_test(allocations_fail),         cmocka_unit_test(as_much_memory_as_told),
        cmocka_unit_test(no_such_device),           cmocka_unit_test(devices_are_lost),
        cmocka_unit_test(devices_that_are_too_old),
#endif
    };
    only_tests(argc, argv, tests);
    if (no_device()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
