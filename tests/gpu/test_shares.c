/* test_shares.c -- runs whose work several launches, streams or devices share: scans in one launch or many, the
 * reverse scan on a second device, series in parts that travel while others are computed. The bits are those of the
 * plain run. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "models.h"
#include "scan_device.h"
#include "seed_run.h"
#include "textbook.h"

/** Scans in one cooperative launch each, or in one for each round: the bits are the same, by turns, on two devices
 *  too. */
static void scans_in_one_launch(void **state)
{
    (void)state;
    const method_case *const methods[] = { &filter, &rts, &two_filter, &two_filter, &chunked };
    for (int i = 0; i < 5; ++i) {
        golden *g = model_random((model_spec){ 905, i ? 61 : 2, 1, i == 1 ? 6 : 3, 2, KS_PRIOR_X0,
                                               VARIES_ALL | MISSING });
        ks_smooth_options o = options_of(methods[i], (ks_precision)(i % 2), outputs_made(methods[i]));
        const ks_model model = golden_model(g, o.precision);
        golden_buffers *first = run_seed(g, &o, 1);
        if (i == 3) o.second_device = second_device();
        for (int seed = 0; seed < ORDERS; ++seed) {
            long launches[2] = { 0, 0 };
            ks_smooth_plan *plan;
            use_seed(seed);
            OK(ks_smooth_plan_create(&plan, NULL, g->T, 1, g->nx, g->ny, &o));
            void *work = workspace(plan);
            for (int turn = 0; turn < 4; ++turn) {
                golden_buffers *b = golden_buffers_new(g->T, 1, g->nx, g->ny, o.precision, o.outputs);
                OK(ks_scan_device_together(plan->device, plan, turn % 2));
#ifdef EMULATED
                launches[turn % 2] -= ks_emulated.launches;
#endif
                OK(ks_smooth_run(plan, &model, golden_y(g, o.precision), golden_outputs(b), work, NULL));
#ifdef EMULATED
                launches[turn % 2] += ks_emulated.launches;
#endif
                assert_int_equal(first_different(first, b, o.outputs), 0);
                golden_buffers_free(b);
            }
            /* Two steps have one round, and chunks keep their launches. */
            assert_true(i > 0 && i < 4 ? SEEDS_OF(launches[1] < launches[0], 1) : launches[1] == launches[0]);
            free(work);
            ks_smooth_plan_destroy(plan);
            check_clean();
        }
        golden_buffers_free(first);
        golden_free(g);
    }
}

#ifdef EMULATED
/** Whether a run in cooperative launches with such a barrier of the grid fails or has other results. */
static int shows(const golden *g, const ks_smooth_options *o, const golden_buffers *right, int seed,
                 ks_emulated_barrier barrier)
{
    ks_smooth_plan *plan;
    const ks_model model = golden_model(g, o->precision);
    golden_buffers *b = golden_buffers_new(g->T, g->B, g->nx, g->ny, o->precision, o->outputs);
    use_seed(seed);
    ks_emulated.grid_barrier = barrier;
    OK(ks_smooth_plan_create(&plan, NULL, g->T, g->B, g->nx, g->ny, o));
    void *work = workspace(plan);
    OK(ks_scan_device_together(plan->device, plan, 1));
    const ks_status status = ks_smooth_run(plan, &model, golden_y(g, o->precision), golden_outputs(b), work, NULL);
    const int found = status != KS_OK || first_different(right, b, o->outputs) != 0;
    golden_buffers_free(b);
    free(work);
    ks_smooth_plan_destroy(plan);
    assert_int_equal(ks_emulated.live, 0);
    return found;
}

/** Rounds in one launch need a barrier of the whole grid between any two: one that does not wait, or too little, or
 *  that blocks pass by, shows under most seeds. */
static void barriers_of_the_grid(void **state)
{
    (void)state;
    const method_case *const methods[] = { &filter, &rts, &two_filter };
    for (int i = 0; i < 3; ++i) {
        /* Three blocks of threads. */
        golden *g = model_random((model_spec){ 906, 2 * KS_SCAN_THREADS + 45, 1, 1 + i, 1, KS_PRIOR_X0, VARIES_ALL });
        const ks_smooth_options o = options_of(methods[i], KS_F64, outputs_made(methods[i]));
        golden_buffers *right = run_seed(g, &o, 1);
        for (int barrier = 0; barrier < KS_BARRIERS; ++barrier) {
            int found = 0;
            for (int seed = 0; seed < ORDERS; ++seed)
                found += shows(g, &o, right, seed, (ks_emulated_barrier)barrier);
            if (barrier == KS_BARRIER_RIGHT ? found : found <= ORDERS / 2)
                fail_msg("barrier %d of method %d: found by %d seeds", barrier, i, found);
        }
        golden_buffers_free(right);
        golden_free(g);
    }
}
#endif

/** The reverse scan on another device, or beside the forward one on the same: the bits of one device alone. */
static void two_devices(void **state)
{
    (void)state;
    for (int i = 0; i < 8; ++i) {
        const ks_precision precision = (ks_precision)(i % 2);
        golden *g = model_random((model_spec){ 990 + (uint64_t)i, 23 + 9 * i, 1 + i % 3, 3, 2,
                                               (ks_prior)(i / 2 % 2), VARIES_ALL | MISSING | OWN_MODELS });
        ks_smooth_options o = options_of(&two_filter, precision, outputs_made(&two_filter));
        if (i / 2 % 2) o.outputs &= ~(unsigned)(KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV);
        if (i % 4 == 3) o.scan = KS_SCAN_BLELLOCH;
        golden_buffers *alone = run_seed(g, &o, 1);
        for (int run = 0; run < 2 * ORDERS; ++run) {
            o.second_device = run % 2 ? 0 : second_device();
            golden_buffers *b = run_seed(g, &o, run / 2);
            assert_int_equal(first_different(alone, b, o.outputs), 0);
            golden_buffers_free(b);
        }
        golden_buffers_free(alone);
        golden_free(g);
    }
}

/** One plan for two devices runs other models next time; one that fails says where. */
static void two_devices_again(void **state)
{
    (void)state;
    ks_smooth_options o =
        options_of(&two_filter, KS_F64, KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_LOGLIK);
    ks_smooth_plan *plan;
    o.second_device = second_device();
    use_seed(6);
    OK(ks_smooth_plan_create(&plan, NULL, 21, 1, 3, 2, &o));
    void *work = workspace(plan);
    for (int i = 0; i < 3; ++i) {
        golden *g = model_random((model_spec){ 995, 21, 1, 3, 2, KS_PRIOR_X0,
                                               i % 2 ? VARIES_ALL : HAS_OFFSETS });
        golden_buffers *b = golden_buffers_new(21, 1, 3, 2, KS_F64, o.outputs);
        const ks_model model = golden_model(g, KS_F64);
        ks_info info = KS_INFO_INIT;
        textbook_smooth(g);
        OK(ks_smooth_run(plan, &model, golden_y(g, KS_F64), golden_outputs(b), work, &info));
        assert_true(golden_compare(golden_widen(b), &g->expected, o.outputs,
                                   golden_norm_of(g, KS_F64)).error <= 1e-9);
        g->y.f64[2 * 13] = (double)INFINITY;
        assert_int_equal(ks_smooth_run(plan, &model, golden_y(g, KS_F64), golden_outputs(b), work,
                                       &info), KS_EMODEL);
        assert_int_equal(info.step, 13);
        golden_buffers_free(b);
        golden_free(g);
    }
    free(work);
    ks_smooth_plan_destroy(plan);
    check_clean();
}

/** Rows with and without gaps there and back through a stage: every byte in its place, nothing between them, whoever
 *  fills the halves. */
static void rows_by_several_workers(void **state)
{
    (void)state;
    enum { HALF = 3 << 19, COUNT = 5000, LONGEST = 1 << 20 };
    static const int64_t sizes[][2] = { { 1000, 1000 }, { 1000, 1016 }, { LONGEST, LONGEST + 8 }, { 8, 24 } };
    ks_context_options options = KS_CONTEXT_OPTIONS_INIT;
    options.threads = 3;
    for (int run = 0; run < 8; ++run) {
        const int64_t bytes = sizes[run / 2][0], stride = sizes[run / 2][1], count = bytes == LONGEST ? 4 : COUNT;
        const size_t all = (size_t)(count * stride);
        ks_context *context;
        ks_gpu_stage stage;
        void *device;
        char *const from = malloc(all), *const to = malloc(all);
        assert_true(from && to);
        for (size_t i = 0; i < all; ++i) from[i] = (char)(i * 2654435761u >> 20), to[i] = 1;
        OK(ks_context_create(&context, &options));
        begin(run);
        OK(ks_gpu_alloc(gpu, &device, (size_t)(count * bytes)));
        OK(ks_gpu_stage_open(&stage, gpu, stream, context, run % 2 ? 3 : 1, HALF));
        const ks_gpu_rows in = { from, stride, count, (size_t)bytes }, out = { to, stride, count, (size_t)bytes };
        OK(ks_gpu_stage_in(&stage, device, &in));
        OK(ks_gpu_stage_out(&stage, &out, device));
        ks_gpu_stage_close(&stage);
        ks_gpu_free(gpu, device);
        end();
        ks_context_destroy(context);
        for (int64_t k = 0; k < count; ++k) {
            assert_memory_equal(to + k * stride, from + k * stride, (size_t)bytes);
            for (int64_t i = bytes; i < stride; ++i) assert_int_equal(to[k * stride + i], 1);
        }
        free(from);
        free(to);
    }
}

/** A run of g whose series travels in at most so many parts; how many they were. */
static int64_t run_travelling(const golden *g, const ks_smooth_options *o, ks_transition transition, int parts,
                              int seed, golden_buffers *b)
{
    ks_smooth_plan *plan;
    ks_model model = golden_model(g, o->precision);
    model.transition = transition;
    use_seed(seed);
    OK(ks_smooth_plan_create(&plan, NULL, g->T, g->B, g->nx, g->ny, o));
    OK(ks_scan_device_travel(plan->device, parts));
    void *work = workspace(plan);
    /* Twice, so that what the first run has left would be found. */
    for (int run = 0; run < 2; ++run)
        OK(ks_smooth_run(plan, &model, golden_y(g, o->precision), golden_outputs(b), work, NULL));
    check_idle();
    const int64_t made = ks_scan_device_parts(plan->device);
    free(work);
    ks_smooth_plan_destroy(plan);
    check_clean();
    return made;
}

/** A series that the device has room for may travel in parts, beside what is computed, with the same bits: models
 *  that vary, that do not, whose transitions lead out of steps, of many series; threads, teams, kernels for any
 *  model; filters. */
static void series_travel_in_parts(void **state)
{
    (void)state;
    static const struct { int T, B, nx, ny; ks_precision precision; ks_prior prior; unsigned traits; int filters;
                          ks_transition transition; } all[] = {
        { 2600, 1, 2, 1, KS_F64, KS_PRIOR_X0, VARIES_ALL | MISSING, 0, KS_INTO },
        { 2100, 2, 2, 1, KS_F32, KS_PRIOR_X0, HAS_OFFSETS, 0, KS_INTO },
        { 2100, 2, 4, 2, KS_F32, KS_PRIOR_X1, VARIES_ALL | OWN_MODELS, 0, KS_OUT_OF },
        { 2055, 1, 1, 2, KS_F64, KS_PRIOR_X1, VARIES_ALL | MISSING, 1, KS_OUT_OF },
        { 1100, 1, 5, 2, KS_F64, KS_PRIOR_X0, VARIES_ALL, 0, KS_INTO },
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        golden *g = model_random((model_spec){ 1200 + i, all[i].T, all[i].B, all[i].nx, all[i].ny, all[i].prior,
                                               all[i].traits });
        const method_case *const method = all[i].filters ? &filter : &chunked;
        ks_smooth_options o = options_of(method, all[i].precision, outputs_made(method));
        o.scan = KS_SCAN_CHUNKED;
        if (all[i].prior == KS_PRIOR_X1) o.outputs &= ~(unsigned)(KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV);
        /* Those of the kernels that keep everything in registers alone. */
        if (i % 2 == 0) o.outputs &= KS_OUT_LOGLIK | KS_OUT_FILTERED_MEAN | KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV |
                                     KS_OUT_LAG_ONE_COV;
        golden_buffers *at_once = golden_buffers_new(g->T, g->B, g->nx, g->ny, o.precision, o.outputs);
        assert_int_equal(run_travelling(g, &o, all[i].transition, 1, 1, at_once), 1);
        const int64_t most = (all[i].T + 8 * KS_LEAST_PART - 1) / (8 * KS_LEAST_PART);
        for (int seed = 0; seed < ORDERS; ++seed) {
            golden_buffers *b = golden_buffers_new(g->T, g->B, g->nx, g->ny, o.precision, o.outputs);
            const int parts = seed % 3 == 0 ? 9 : 1 + seed % 3;
            assert_int_equal(run_travelling(g, &o, all[i].transition, parts, seed, b), parts < most ? parts : most);
            assert_int_equal(first_different(at_once, b, o.outputs), 0);
            golden_buffers_free(b);
        }
        golden_buffers_free(at_once);
        golden_free(g);
    }
}

/** Long series of more than eight states do so by themselves. */
static void series_that_travel_in_parts(void **state)
{
    (void)state;
    static const struct { int T, nx, parts; } all[] = {
        { 16384, 8, 1 }, { 16384, 9, 2 }, { 16376, 9, 1 }, { 131072, 9, 8 }, { 200000, 9, 8 },
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i)
        for (int other = 0; other < 2; ++other) {
            const ks_smooth_options o = options_of(other ? &rts : &chunked, KS_F32, KS_OUT_SMOOTHED_MEAN);
            ks_smooth_plan *plan;
            if (other && all[i].parts > 2) continue;
            use_seed(1);
            OK(ks_smooth_plan_create(&plan, NULL, all[i].T, 1, all[i].nx, 1, &o));
            assert_int_equal(ks_scan_device_parts(plan->device), other ? 1 : all[i].parts);
            ks_smooth_plan_destroy(plan);
            check_clean();
        }
}

#ifdef EMULATED
/** Run g on a device with so much memory; the number of launches. */
static long run_within(const golden *g, const ks_smooth_options *o, size_t memory, int seed, golden_buffers *b)
{
    ks_smooth_plan *plan;
    const ks_model model = golden_model(g, o->precision);
    ks_info info = KS_INFO_INIT;
    use_seed(seed);
    ks_emulated.memory = memory;
    OK(ks_smooth_plan_create(&plan, NULL, g->T, g->B, g->nx, g->ny, o));
    void *work = workspace(plan);
    OK(ks_smooth_run(plan, &model, golden_y(g, o->precision), golden_outputs(b), work, &info));
    check_idle();
    free(work);
    ks_smooth_plan_destroy(plan);
    check_clean();
    return ks_emulated.launches;
}

/** A series that the device has no room for goes there in parts, with the same bits. */
static void series_in_parts(void **state)
{
    (void)state;
    for (int i = 0; i < 4; ++i) {
        const ks_precision precision = (ks_precision)(i % 2);
        golden *g = model_random((model_spec){ 996, 2100 - i, 1 + i % 2, 2, 1, (ks_prior)(i / 2),
                                               i == 1 ? HAS_OFFSETS : VARIES_ALL | MISSING });
        ks_smooth_options o = options_of(&chunked, precision, outputs_made(&chunked));
        if (i == 3) o = options_of(&filter, precision, outputs_made(&filter));
        o.scan = KS_SCAN_CHUNKED;
        if (i / 2) o.outputs &= ~(unsigned)(KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV);
        if (i < 3) o.outputs &= ~(unsigned)(KS_OUT_LOGLIK_TERMS | KS_OUT_INNOVATION |
                                            KS_OUT_INNOVATION_COV | KS_OUT_INNOVATION_STD |
                                            KS_OUT_PREDICTED_MEAN | KS_OUT_PREDICTED_COV |
                                            KS_OUT_PREDICTED_VAR);
        const size_t least = ks_smooth_device_bytes(g->T, g->B, 2, 1, &o);
        golden_buffers *whole = golden_buffers_new(g->T, g->B, 2, 1, precision, o.outputs);
        const long launches = run_within(g, &o, (size_t)1 << 30, 1, whole);
        for (int seed = 0; seed < ORDERS; ++seed) {
            golden_buffers *b = golden_buffers_new(g->T, g->B, 2, 1, precision, o.outputs);
            const long now = run_within(g, &o, seed < 4 ? least : least + 4000, seed, b);
            assert_true(now > launches);
            assert_int_equal(first_different(whole, b, o.outputs), 0);
            golden_buffers_free(b);
        }
        ks_smooth_plan *plan;
        use_seed(1);
        ks_emulated.memory = least - 1;
        assert_int_equal(ks_smooth_plan_create(&plan, NULL, g->T, g->B, 2, 1, &o), KS_ENOMEM);
        check_clean();
        golden_buffers_free(whole);
        golden_free(g);
    }
}

/** What two devices need of each: as much as is told, and a device that is not there. */
static void memory_of_two_devices(void **state)
{
    (void)state;
    ks_smooth_options o = options_of(&two_filter, KS_F64, outputs_made(&two_filter));
    const size_t alone = ks_smooth_device_bytes(100, 1, 3, 2, &o);
    ks_smooth_plan *plan;
    for (int second = 0; second < 2; ++second)
        for (int less = 0; less < 2; ++less) {
            o.second_device = second;
            const size_t bytes = ks_smooth_device_bytes(100, 1, 3, 2, &o);
            assert_true(second ? bytes == alone : bytes > alone && bytes < 2 * alone);
            use_seed(1);
            ks_emulated.memory = bytes - (size_t)less;
            assert_int_equal(ks_smooth_plan_create(&plan, NULL, 100, 1, 3, 2, &o),
                             less ? KS_ENOMEM : KS_OK);
            ks_smooth_plan_destroy(plan);
            check_clean();
        }
    use_seed(1);
    o.second_device = 2;
    assert_int_equal(ks_smooth_plan_create(&plan, NULL, 9, 1, 3, 2, &o), KS_ENODEV);
    o.second_device = -2;
    assert_int_equal(ks_smooth_plan_create(&plan, NULL, 9, 1, 3, 2, &o), KS_EINVAL);
    o = options_of(&rts, KS_F64, KS_OUT_SMOOTHED_MEAN);
    o.second_device = 1;
    assert_int_equal(ks_smooth_plan_create(&plan, NULL, 9, 1, 3, 2, &o), KS_EINVAL);
    check_clean();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scans_in_one_launch),
        cmocka_unit_test(two_devices),
        cmocka_unit_test(two_devices_again),
        cmocka_unit_test(rows_by_several_workers),
        cmocka_unit_test(series_travel_in_parts),
        cmocka_unit_test(series_that_travel_in_parts),
#ifdef EMULATED
        cmocka_unit_test(barriers_of_the_grid),
        cmocka_unit_test(memory_of_two_devices),
        cmocka_unit_test(series_in_parts),
#endif
    };
    if (no_device()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
