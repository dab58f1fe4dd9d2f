/* test_map_alone.c -- segments of the MAP route on a device by threads alone and by teams of threads: small
 * models, for which there are kernels of both kinds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "map_case.h"
#include "models.h"
#include "run_case.h"
#include "scan_device.h"
#include "session.h"
#include "textbook.h"

/** A run of a plan whose segments threads take, or teams; -1: as the plan is made. */
static golden_buffers *run_by(const golden *g, const ks_smooth_options *o, int alone, int seed)
{
    const ks_model model = golden_model(g, o->precision);
    ks_smooth_plan *plan;
    use_seed(seed);
    golden_buffers *b = golden_buffers_new(g->T, g->B, g->nx, g->ny, o->precision, o->outputs);
    OK(ks_smooth_plan_create(&plan, NULL, g->T, g->B, g->nx, g->ny, o));
    void *work = aligned_alloc(64, (ks_smooth_workspace_bytes(plan) + 63) / 64 * 64);
    assert_non_null(work);
    /* A graph of the other way is there already. */
    if (alone >= 0) OK(ks_smooth_run(plan, &model, golden_y(g, o->precision), golden_outputs(b), work, NULL));
    if (alone >= 0) OK(ks_map_device_alone(plan->device, plan, alone));
#ifdef EMULATED
    ks_emulated.watch = alone == 1 ? "ks_map_rerun_" : "ks_map_rerun";
    ks_emulated.watched = 0;
#endif
    OK(ks_smooth_run(plan, &model, golden_y(g, o->precision), golden_outputs(b), work, NULL));
#ifdef EMULATED
    assert_true(ks_emulated.watched > 0);
#endif
    free(work);
    ks_smooth_plan_destroy(plan);
    check_clean();
    return b;
}

/** Small models by a thread for each segment and by a team: the reference's results both ways, the same bits
 *  in whatever order threads run, and each time the same way is taken. */
static void threads_and_teams(void **state)
{
    (void)state;
    static const size_case all[] = {
        { 70, 1, 2, 1, KS_PRIOR_X0, MISSING, KS_BLOCKTRI_AUTO },
        { 27, 1, 4, 1, KS_PRIOR_X1, VARIES_ALL | MISSING, KS_BLOCKTRI_AUTO },
        { 75, 1, 4, 2, KS_PRIOR_X0, VARIES_ALL | HAS_OFFSETS | MISSING, KS_BLOCKTRI_AUTO },
        { 300, 1, 4, 2, KS_PRIOR_X0, 0, KS_BLOCKTRI_PARTITION },
        { 1, 1, 4, 2, KS_PRIOR_X1, 0, KS_BLOCKTRI_AUTO },
    };
    for (size_t c = 0; c < sizeof all / sizeof all[0]; ++c)
        for (int p = 0; p < 2; ++p) {
            const size_case *s = &all[c];
            const method_case m = map_by((ks_blocktri_order)s->order);
            golden *g = model_random((model_spec){ 1400 + c, s->T, s->B, s->nx, s->ny, s->prior, s->flags });
            const ks_smooth_options o = options_of(&m, (ks_precision)p, outputs_there(g, &m));
            textbook_smooth(g);
            for (int alone = 0; alone < 2; ++alone) {
                golden_buffers *first = run_by(g, &o, alone, 1), *other = run_by(g, &o, alone, 2);
                const double error = golden_compare(golden_widen(first), &g->expected, o.outputs,
                                                    golden_norm_of(g, (ks_precision)p)).error;
                if (!(error <= golden_ordinary_bound(GOLDEN_MAP, (ks_precision)p)))
                    fail_msg("case %d, precision %d, %s: off by %.3g", (int)c, p,
                             alone ? "threads" : "teams", error);
                assert_int_equal(first_different(first, other, o.outputs), 0);
                golden_buffers_free(other);
                golden_buffers *as_made = run_by(g, &o, -1, 2);
                if (alone) assert_int_equal(first_different(first, as_made, o.outputs), 0);
                golden_buffers_free(as_made);
                golden_buffers_free(first);
            }
            golden_free(g);
        }
}

/** What there are no kernels for is said. */
static void teams_alone(void **state)
{
    (void)state;
    static const size_case all[] = {
        { 9, 1, 5, 2, KS_PRIOR_X0, 0, KS_BLOCKTRI_AUTO }, { 9, 1, 4, 3, KS_PRIOR_X0, 0, KS_BLOCKTRI_AUTO },
        { 9, 1, 1, 2, KS_PRIOR_X0, 0, KS_BLOCKTRI_AUTO },
        { 9, 1, 4, 2, KS_PRIOR_X0, 0, KS_BLOCKTRI_NESTED_DISSECTION },
    };
    for (size_t c = 0; c < sizeof all / sizeof all[0]; ++c) {
        const method_case m = map_by((ks_blocktri_order)all[c].order);
        const ks_smooth_options o = options_of(&m, KS_F64, outputs_made(&m));
        ks_smooth_plan *plan;
        use_seed(1);
        OK(ks_smooth_plan_create(&plan, NULL, all[c].T, 1, all[c].nx, all[c].ny, &o));
        assert_int_equal(ks_map_device_alone(plan->device, plan, 1), KS_EUNAVAILABLE);
        ks_smooth_plan_destroy(plan);
        check_clean();
    }
}

#ifdef EMULATED
/** Where a series is long threads have more segments than teams, and the plan has room for them: their
 *  results are those of the sequential smoother. */
static void threads_have_more_segments(void **state)
{
    (void)state;
    const int64_t T = 131080;
    const method_case by[] = { map_by(KS_BLOCKTRI_AUTO), { KS_JOB_SMOOTH, KS_METHOD_SEQUENTIAL, 0, 1, 0 } };
    golden *g = model_random((model_spec){ 1500, T, 1, 4, 1, KS_PRIOR_X0, 0 });
    const unsigned outputs = KS_OUT_LOGLIK | KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV;
    const ks_smooth_options o = options_of(&by[0], KS_F64, outputs);
    const ks_model model = golden_model(g, KS_F64);
    ks_smooth_options sequential = KS_SMOOTH_OPTIONS_INIT;
    ks_smooth_plan *plan;
    golden_buffers *b[2];
    use_seed(1);
    for (int i = 0; i < 2; ++i) {
        sequential.method = by[i].method;
        sequential.outputs = outputs;
        b[i] = golden_buffers_new(T, 1, 4, 1, KS_F64, outputs);
        OK(ks_smooth_plan_create(&plan, NULL, T, 1, 4, 1, i ? &sequential : &o));
        void *work = aligned_alloc(64, (ks_smooth_workspace_bytes(plan) + 127) / 64 * 64);
        assert_non_null(work);
        if (i == 0) {
            const int64_t of_threads = plan->device->map.pieces;
            OK(ks_map_device_alone(plan->device, plan, 0));
            assert_true(plan->device->map.pieces < of_threads);
            OK(ks_map_device_alone(plan->device, plan, 1));
            assert_int_equal(plan->device->map.pieces, of_threads);
        }
        OK(ks_smooth_run(plan, &model, golden_y(g, KS_F64), golden_outputs(b[i]), work, NULL));
        free(work);
        ks_smooth_plan_destroy(plan);
    }
    check_clean();
    const double error = golden_compare(golden_widen(b[0]), golden_widen(b[1]), outputs,
                                        golden_norm_of(g, KS_F64)).error;
    if (!(error <= golden_ordinary_bound(GOLDEN_MAP, KS_F64))) fail_msg("off by %.3g", error);
    golden_buffers_free(b[0]);
    golden_buffers_free(b[1]);
    golden_free(g);
}
#endif

int main(int argc, char **argv)
{
    if (no_device()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_teams),
        cmocka_unit_test(teams_alone),
#ifdef EMULATED
        cmocka_unit_test(threads_have_more_segments),
#endif
    };
    only_tests(argc, argv, tests);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
