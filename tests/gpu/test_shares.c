/* test_shares.c -- runs whose work several launches or devices share: scans in one launch or many, the reverse scan on
 * a second device. The bits are those of the plain run. */
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

/** Scans in one cooperative launch each, or in one for each round, of aggregates by teams too: the bits are the same, by
 *  turns, on two devices too. */
static void scans_in_one_launch(void **state)
{
    (void)state;
    const method_case *const methods[] = { &filter, &rts, &two_filter, &two_filter, &chunked, &chunked };
    for (int i = 0; i < 6; ++i) {
        golden *g = model_random((model_spec){ 905, i ? 61 : 2, 1, i == 1 || i == 5 ? 6 : 3, 2, KS_PRIOR_X0,
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
            /* Two steps have one round, and tiles of aggregates keep their launches. */
            assert_true(i > 0 && i != 4 ? SEEDS_OF(launches[1] < launches[0], 1) : launches[1] == launches[0]);
            free(work);
            ks_smooth_plan_destroy(plan);
            check_clean();
        }
        golden_buffers_free(first);
        golden_free(g);
    }
}

#ifdef EMULATED
/** Launches of a run in chunks. */
static long launches_of(int64_t steps, int nx)
{
    golden *g = model_random((model_spec){ 907, steps, 1, nx, 2, KS_PRIOR_X0, VARIES_ALL });
    const ks_smooth_options o = options_of(&chunked, KS_F64, KS_OUT_SMOOTHED_MEAN);
    const ks_model model = golden_model(g, KS_F64);
    golden_buffers *b = golden_buffers_new(steps, 1, nx, 2, KS_F64, o.outputs);
    ks_smooth_plan *plan;
    use_seed(1);
    OK(ks_smooth_plan_create(&plan, NULL, steps, 1, nx, 2, &o));
    void *work = workspace(plan);
    const long before = ks_emulated.launches;
    OK(ks_smooth_run(plan, &model, golden_y(g, KS_F64), golden_outputs(b), work, NULL));
    const long launches = ks_emulated.launches - before;
    free(work);
    ks_smooth_plan_destroy(plan);
    check_clean();
    golden_buffers_free(b);
    golden_free(g);
    return launches;
}

/** Reduce, scan, re-run are as many kernels for ten times as many chunks, joined by threads or by teams. */
static void kernels_at_any_length(void **state)
{
    (void)state;
    static const int sizes[] = { 3, 6, 9 };
    for (int i = 0; i < 3; ++i) assert_int_equal(launches_of(100, sizes[i]), launches_of(1000, sizes[i]));
}

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
    const method_case *const methods[] = { &filter, &rts, &two_filter, &chunked };
    for (int i = 0; i < 4; ++i) {
        /* Three blocks of threads, or several of teams. */
        golden *g = model_random((model_spec){ 906, 2 * KS_SCAN_THREADS + 45, 1, i < 3 ? 1 + i : 6, 1, KS_PRIOR_X0,
                                               VARIES_ALL });
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
                                   golden_norm_of(g, KS_F64)).error <= golden_ordinary_bound(GOLDEN_ELEMENTS, KS_F64));
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

#ifdef EMULATED
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scans_in_one_launch),
        cmocka_unit_test(two_devices),
        cmocka_unit_test(two_devices_again),
#ifdef EMULATED
        cmocka_unit_test(kernels_at_any_length),
        cmocka_unit_test(barriers_of_the_grid),
        cmocka_unit_test(memory_of_two_devices),
#endif
    };
    only_tests(argc, argv, tests);
    if (no_device()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
