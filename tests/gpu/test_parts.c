/* test_parts.c -- rows on their way: filled into pinned memory by several workers, and series in parts that travel while
 * others are computed, because the device has no room for all or to save time. The bits are those of the plain run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "models.h"
#include "scan_device.h"
#include "sanitizers.h"
#include "seed_run.h"

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

/** A run says how many of the host's workers bring its rows: those of the context, at most as many as it was asked
 *  to take and as find bandwidth. */
static void workers_are_told(void **state)
{
    (void)state;
    static const struct { int context, asked, told; } all[] = { { 1, 0, 1 }, { 3, 0, 3 }, { 3, 2, 2 }, { 12, 0, 8 } };
    golden *g = model_random((model_spec){ 1190, 40, 1, 2, 1, KS_PRIOR_X0, VARIES_ALL });
    const ks_model model = golden_model(g, KS_F64);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        ks_smooth_options o = options_of(&chunked, KS_F64, KS_OUT_SMOOTHED_MEAN);
        golden_buffers *b = NULL;
        ks_info info = KS_INFO_INIT;
        o.threads = all[i].asked;
        OK(run_model(g, &model, golden_y(g, KS_F64), &o, all[i].context, &b, &info));
        assert_int_equal(info.threads, all[i].told);
        golden_buffers_free(b);
        /* The plan knows before. */
        ks_context_options options = KS_CONTEXT_OPTIONS_INIT;
        ks_context *context;
        ks_smooth_plan *plan;
        options.threads = all[i].context;
        use_seed(1);
        o.backend = KS_BACKEND_CUDA;
        OK(ks_context_create(&context, &options));
        OK(ks_smooth_plan_create(&plan, context, g->T, g->B, 2, 1, &o));
        assert_int_equal(ks_smooth_plan_threads(plan), all[i].told);
        ks_smooth_plan_destroy(plan);
        ks_context_destroy(context);
    }
    golden_free(g);
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
 *  that vary, that do not, whose transitions lead out of steps, of many series; threads, teams, both, kernels for any
 *  model; filters. */
static void series_travel_in_parts(void **state)
{
    (void)state;
    static const method_case meets = { KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER, KS_SCAN_CHUNKED, 1, 0 };
    static const struct { int T, B, nx, ny; ks_precision precision; ks_prior prior; unsigned traits;
                          const method_case *method; ks_transition transition; } all[] = {
        { 2600, 1, 2, 1, KS_F64, KS_PRIOR_X0, VARIES_ALL | MISSING, &chunked, KS_INTO },
        { 2100, 2, 2, 1, KS_F32, KS_PRIOR_X0, HAS_OFFSETS, &chunked, KS_INTO },
        { 2100, 2, 4, 2, KS_F32, KS_PRIOR_X1, VARIES_ALL | OWN_MODELS, &chunked, KS_OUT_OF },
        { 2055, 1, 1, 2, KS_F64, KS_PRIOR_X1, VARIES_ALL | MISSING, &filter, KS_OUT_OF },
        { 1100, 1, 5, 2, KS_F64, KS_PRIOR_X0, VARIES_ALL, &chunked, KS_INTO },
        { 1100, 1, 5, 2, KS_F64, KS_PRIOR_X1, VARIES_ALL | MISSING, &meets, KS_OUT_OF },
        { 1100, 1, 5, 2, KS_F32, KS_PRIOR_X0, VARIES_ALL | MISSING, &meets, KS_INTO },
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        golden *g = model_random((model_spec){ 1200 + i, all[i].T, all[i].B, all[i].nx, all[i].ny, all[i].prior,
                                               all[i].traits });
        const method_case *const method = all[i].method;
        ks_smooth_options o = options_of(method, all[i].precision, outputs_made(method));
        o.scan = KS_SCAN_CHUNKED;
        if (all[i].prior == KS_PRIOR_X1) o.outputs &= ~(unsigned)(KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV);
        /* Those of the kernels that keep everything in registers, and of teams, alone. */
        if (i % 2 == 0 || method == &meets)
            o.outputs &= KS_OUT_LOGLIK | KS_OUT_FILTERED_MEAN | KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV |
                         KS_OUT_LAG_ONE_COV;
        golden_buffers *at_once = golden_buffers_new(g->T, g->B, g->nx, g->ny, o.precision, o.outputs);
        assert_int_equal(run_travelling(g, &o, all[i].transition, 1, 1, at_once), 1);
        const int64_t most = (all[i].T + 8 * KS_LEAST_PART - 1) / (8 * KS_LEAST_PART);
        for (int seed = 0; seed < ORDERS; seed += SANITIZED ? 4 : 1) {
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
        { 16384, 8, 1 }, { 16384, 9, 2 }, { 16376, 9, 1 }, { 131072, 9, 8 }, { 200000, 9, 6 },
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

/** Room for what threads have beside their registers is left when a plan is made: a series then goes in parts, and
 *  what knows of none is refused, where its first launch would fail. */
static void room_for_threads(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 997, 2100, 1, 2, 1, KS_PRIOR_X0, VARIES_ALL });
    for (int i = 0; i < 2; ++i) {
        const ks_smooth_options o = options_of(i ? &rts : &chunked, KS_F64, KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV);
        golden_buffers *whole = golden_buffers_new(g->T, g->B, 2, 1, o.precision, o.outputs);
        const ks_model model = golden_model(g, o.precision);
        (void)run_within(g, &o, (size_t)1 << 30, 1, whole);
        ks_smooth_plan *plan;
        use_seed(1);
        OK(ks_smooth_plan_create(&plan, NULL, g->T, g->B, 2, 1, &o));
        const size_t bytes = plan->device->bytes;
        ks_smooth_plan_destroy(plan);
        for (int less = 0; less < 2; ++less) {
            use_seed(1);
            ks_emulated.local = 40;
            ks_emulated.memory = bytes + (40 + 40 / 8) * 2048 * (size_t)ks_emulated.multiprocessors - (size_t)less;
            const ks_status status = ks_smooth_plan_create(&plan, NULL, g->T, g->B, 2, 1, &o);
            assert_int_equal(status, i && less ? KS_ENOMEM : KS_OK);
            if (status != KS_OK) continue;
            assert_true((plan->device->part_chunks != 0) == (less != 0));
            golden_buffers *b = golden_buffers_new(g->T, g->B, 2, 1, o.precision, o.outputs);
            void *work = workspace(plan);
            OK(ks_smooth_run(plan, &model, golden_y(g, o.precision), golden_outputs(b), work, NULL));
            assert_int_equal(first_different(whole, b, o.outputs), 0);
            golden_buffers_free(b);
            free(work);
            ks_smooth_plan_destroy(plan);
            check_clean();
        }
        golden_buffers_free(whole);
    }
    golden_free(g);
}
#endif

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_by_several_workers),
        cmocka_unit_test(workers_are_told),
        cmocka_unit_test(series_travel_in_parts),
        cmocka_unit_test(series_that_travel_in_parts),
#ifdef EMULATED
        cmocka_unit_test(series_in_parts),
        cmocka_unit_test(room_for_threads),
#endif
    };
    only_tests(argc, argv, tests);
    if (no_device()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
