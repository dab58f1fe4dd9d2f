/* test_automatic.c -- a plan that may choose method and back end: a scan in chunks on the device where that would take the
 * CPU long, and what the CPU has where the device declines, refuses or fails. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "models.h"
#include "seed_run.h"
#include "smooth_plan.h"

static const method_case any[] = { { .job = KS_JOB_SMOOTH, .method = KS_METHOD_AUTO },
                                   { .job = KS_JOB_FILTER, .method = KS_METHOD_AUTO } };
static const method_case chunks[] = {
    { .job = KS_JOB_SMOOTH, .method = KS_METHOD_SCAN_RTS, .scan = KS_SCAN_CHUNKED },
    { .job = KS_JOB_FILTER, .method = KS_METHOD_SCAN, .scan = KS_SCAN_CHUNKED },
};
static const method_case steps[] = { { .job = KS_JOB_SMOOTH, .method = KS_METHOD_SEQUENTIAL },
                                     { .job = KS_JOB_FILTER, .method = KS_METHOD_SEQUENTIAL } };
static const unsigned made[] = { KS_OUT_LOGLIK | KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_LAG_ONE_COV,
                                 KS_OUT_LOGLIK | KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV };

static ks_smooth_options options_for(const method_case *m, int job, ks_backend backend)
{
    ks_smooth_options o = options_of(m, KS_F64, made[job]);
    o.backend = backend;
    return o;
}

/** Plans for T steps of four states, with `devices` of them there: which try one, and what is said where none is. */
static void plans(ks_backend backend, int64_t T, int devices, int tries, ks_status declined)
{
    for (int job = 0; job < 2; ++job) {
        const ks_smooth_options o = options_for(&any[job], job, backend);
        ks_smooth_plan *plan;
        use_seed(1);
        ks_emulated.devices = devices;
        ks_emulated.memory = (size_t)3 << 28;
        OK(ks_smooth_plan_create(&plan, NULL, T, 1, 4, 2, &o));
        assert_int_equal(ks_smooth_plan_backend(plan), KS_BACKEND_CPU);
        assert_int_equal(ks_smooth_plan_declined(plan), declined);
        assert_int_equal(ks_smooth_plan_backend(plan->chunked), tries ? KS_BACKEND_CUDA : KS_BACKEND_CPU);
        assert_true(!tries == !plan->chunked);
        ks_smooth_plan_destroy(plan);
        check_clean();
    }
}

static void long_series_try_a_device(void **state)
{
    (void)state;
    plans(KS_BACKEND_AUTO, 3000000, 1, 1, KS_OK);
    plans(KS_BACKEND_AUTO, 3000000, 0, 0, KS_ENODEV);
    plans(KS_BACKEND_AUTO, 2000000, 1, 0, KS_EINVAL);
    plans(KS_BACKEND_AUTO, 2000000, 0, 0, KS_ENODEV);
    plans(KS_BACKEND_CPU, 3000000, 1, 0, KS_OK);
}

/** Run g by an automatic plan that tries the device, lost with piece `lose_at` of its work, and by `expected` on `backend`:
 *  the same status, place and bits. */
static void takes(const golden *g, int job, const method_case *expected, ks_backend backend, ks_status status, long lose_at)
{
    const ks_smooth_options o = options_for(&any[job], job, KS_BACKEND_CPU);
    const ks_smooth_options tried = options_for(&chunks[job], job, KS_BACKEND_CUDA);
    const ks_smooth_options other = options_for(expected, job, backend);
    golden_buffers *b[2];
    ks_info info[2];
    const ks_model model = golden_model(g, KS_F64);
    for (int i = 0; i < 2; ++i) {
        ks_smooth_plan *plan;
        use_seed(3);
        OK(ks_smooth_plan_create(&plan, NULL, g->T, g->B, g->nx, g->ny, i ? &other : &o));
        if (i == 0) {
            /* As it would be of a series that were long. */
            OK(ks_smooth_plan_create(&plan->chunked, NULL, g->T, g->B, g->nx, g->ny, &tried));
            plan->automatic = 1;
            ks_emulated.lose_at = lose_at ? ks_emulated.pieces + lose_at : 0;
        }
        void *work = workspace(plan);
        b[i] = golden_buffers_new(g->T, g->B, g->nx, g->ny, KS_F64, made[job]);
        info[i] = (ks_info)KS_INFO_INIT;
        assert_int_equal(ks_smooth_run(plan, &model, golden_y(g, KS_F64), golden_outputs(b[i]), work, &info[i]), status);
        free(work);
        ks_smooth_plan_destroy(plan);
        ks_emulated.lose_at = 0;
        check_clean();
    }
    assert_int_equal(info[0].backend, backend);
    assert_int_equal(info[0].method, expected->method);
    assert_int_equal(info[0].step, info[1].step);
    assert_int_equal(info[0].array, info[1].array);
    assert_int_equal(info[0].missing, info[1].missing);
    assert_int_equal(info[0].device_code, 0);
    if (status == KS_OK) assert_int_equal(first_different(b[0], b[1], made[job]), 0);
    for (int i = 0; i < 2; ++i) golden_buffers_free(b[i]);
}

/** Models that vary go to the device, constant ones, of which steps are remembered, do not. */
static void runs(void **state)
{
    (void)state;
    for (int job = 0; job < 2; ++job) {
        golden *varies = model_random((model_spec){ 950, 60, 2, 2, 1, KS_PRIOR_X0, VARIES_F | VARIES_R | MISSING });
        golden *constant = model_random((model_spec){ 951, 60, 1, 2, 1, KS_PRIOR_X0, MISSING });
        takes(varies, job, &chunks[job], KS_BACKEND_CUDA, KS_OK, 0);
        takes(constant, job, &steps[job], KS_BACKEND_CPU, KS_OK, 0);
        golden_free(varies);
        golden_free(constant);
    }
}

/** What the device refuses, fails for or does not come to the end of the CPU does, or says why not. */
static void falls_back(void **state)
{
    (void)state;
    for (int job = 0; job < 2; ++job) {
        golden *g = model_random((model_spec){ 952, 60, 1, 2, 1, KS_PRIOR_X1, VARIES_F });
        for (long piece = 1; piece < 12; piece += 5) takes(g, job, &steps[job], KS_BACKEND_CPU, KS_OK, piece);
        g->y.f64[41] = (double)INFINITY;
        takes(g, job, &steps[job], KS_BACKEND_CPU, KS_EMODEL, 0);
        golden_free(g);
        g = model_observed_late(60);
        takes(g, job, &steps[job], KS_BACKEND_CPU, KS_OK, 0);
        golden_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(long_series_try_a_device), cmocka_unit_test(runs),
                                        cmocka_unit_test(falls_back) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
