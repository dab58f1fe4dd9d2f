/* seed_run.h -- runs from the host under a seed, common to tests of filters and smoothers on a device. */
#ifndef SEED_RUN_H
#define SEED_RUN_H

#include <stdlib.h>
#include "run_case.h"
#include "session.h"

static const method_case filter = { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_LADNER_FISCHER, 1, 0 };
static const method_case rts = { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_BLELLOCH, 1, 0 };
static const method_case two_filter = { KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER,
                                        KS_SCAN_SENGUPTA, 4, 0 };

static const method_case chunked = { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_CHUNKED, 1, 0 };

static inline void *workspace(const ks_smooth_plan *plan)
{
    void *work = aligned_alloc(64, (ks_smooth_workspace_bytes(plan) + 63) / 64 * 64);
    assert_non_null(work);
    return work;
}

/** The number of the second device. A real machine may have only one, which is used twice. */
static inline int second_device(void)
{
#ifdef EMULATED
    return 1;
#else
    return 0;
#endif
}

/** Plan and run g on the device in the order of a seed. */
static inline golden_buffers *run_seed(const golden *g, const ks_smooth_options *o, int seed)
{
    ks_smooth_plan *plan;
    use_seed(seed);
    golden_buffers *b = golden_buffers_new(g->T, g->B, g->nx, g->ny, o->precision, o->outputs);
    OK(ks_smooth_plan_create(&plan, NULL, g->T, g->B, g->nx, g->ny, o));
    assert_int_equal(ks_smooth_plan_backend(plan), KS_BACKEND_CUDA);
    void *work = workspace(plan);
    const ks_model model = golden_model(g, o->precision);
    ks_info info = KS_INFO_INIT;
    OK(ks_smooth_run(plan, &model, golden_y(g, o->precision), golden_outputs(b), work, &info));
    check_idle();
    assert_int_equal(info.backend, KS_BACKEND_CUDA);
    assert_true(info.elements >= g->T * g->B && info.rounds > 0 && info.combines > 0);
    free(work);
    ks_smooth_plan_destroy(plan);
    check_clean();
    return b;
}

#ifdef EMULATED
/** Whatever cannot be allocated, on the device or for it, is KS_ENOMEM, and nothing is left. */
static inline void each_allocation_fails(const golden *g, ks_smooth_options o)
{
    const ks_model model = golden_model(g, o.precision);
    for (long fail_at = 1;; ++fail_at) {
        golden_buffers *b = golden_buffers_new(g->T, g->B, g->nx, g->ny, o.precision, o.outputs);
        ks_smooth_plan *plan;
        ks_info info = KS_INFO_INIT;
        use_seed(2);
        ks_emulated.fail_at = fail_at;
        ks_status status = ks_smooth_plan_create(&plan, NULL, g->T, g->B, g->nx, g->ny, &o);
        const int planned = status == KS_OK;
        assert_int_equal(planned, plan != NULL);
        if (planned) {
            void *work = workspace(plan);
            status = ks_smooth_run(plan, &model, golden_y(g, o.precision), golden_outputs(b), work, &info);
            assert_int_equal(info.status, status);
            free(work);
        }
        ks_smooth_plan_destroy(plan);
        check_clean();
        golden_buffers_free(b);
        if (ks_emulated.calls < fail_at) {
            assert_true(fail_at > 20 && status == KS_OK);
            break;
        }
        assert_int_equal(status, KS_ENOMEM);
        if (planned) continue;
        /* Left free to choose, it runs where there is room. */
        o.backend = KS_BACKEND_AUTO;
        use_seed(2);
        ks_emulated.fail_at = fail_at;
        OK(ks_smooth_plan_create(&plan, NULL, g->T, g->B, g->nx, g->ny, &o));
        assert_int_equal(ks_smooth_plan_backend(plan), KS_BACKEND_CPU);
        assert_int_equal(ks_smooth_plan_declined(plan), KS_ENOMEM);
        ks_smooth_plan_destroy(plan);
        check_clean();
        o.backend = KS_BACKEND_CUDA;
    }
}
#endif

#endif
