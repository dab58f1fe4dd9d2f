/* test_memory.c -- plans survive the failure of any allocation, runs allocate nothing, and the
 * sequential method needs little beside its outputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "failalloc.h"
#include "models.h"
#include "run_case.h"
#include "sanitizers.h"

static ks_context *context_on(failalloc *memory, int threads)
{
    ks_context_options options = KS_CONTEXT_OPTIONS_INIT;
    ks_context *context = NULL;
    options.allocator = failalloc_allocator(memory);
    options.threads = threads;
    assert_int_equal(ks_context_create(&context, &options), KS_OK);
    return context;
}

static void every_allocation_fails_once(void **state)
{
    (void)state;
    for (int i = 0; i < all_methods_count; ++i)
        for (int p = 0; p < 2 + takes_mixed(&all_methods[i]); ++p) {
            const method_case *m = &all_methods[i];
            const ks_smooth_options o = options_of(m, (ks_precision)p, outputs_made(m));
            failalloc memory = FAILALLOC_INIT;
            ks_context *context = context_on(&memory, 2);
            const long live = atomic_load(&memory.live);
            int succeeded = 0, failures = 0;
            for (long k = 1; !succeeded; ++k) {
                ks_smooth_plan *plan = (ks_smooth_plan *)(uintptr_t)64;
                atomic_store(&memory.calls, 0);
                atomic_store(&memory.fail_at, k);
                const ks_status status = ks_smooth_plan_create(&plan, context, 100, 5, 3, 2, &o);
                succeeded = status == KS_OK;
                failures += !succeeded;
                if (!succeeded) {
                    assert_int_equal(status, KS_ENOMEM);
                    assert_null(plan);
                }
                ks_smooth_plan_destroy(plan);
                assert_int_equal(atomic_load(&memory.live), live);
            }
            /* The plan itself and those of its scans. */
            assert_true(failures >= (is_scan(m) ? 2 : 1));
            atomic_store(&memory.fail_at, 0);
            ks_context_destroy(context);
            assert_int_equal(atomic_load(&memory.live), 0);
        }
}

/** The check of a model, which needs scratch of its own. */
static void model_check_fails_cleanly(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 101, 10, 1, 3, 2, KS_PRIOR_X0, VARIES_ALL });
    const ks_model model = golden_model(g, KS_F64);
    failalloc memory = FAILALLOC_INIT;
    ks_context *context = context_on(&memory, 1);
    ks_smooth_plan *plan = NULL;
    assert_int_equal(ks_smooth_plan_create(&plan, context, 10, 1, 3, 2, NULL), KS_OK);
    const long live = atomic_load(&memory.live);
    ks_status status = KS_ENOMEM;
    for (long k = 1; status != KS_OK; ++k) {
        ks_info info = KS_INFO_INIT;
        atomic_store(&memory.calls, 0);
        atomic_store(&memory.fail_at, k);
        status = ks_model_check(plan, &model, 1e-8, 1e-10, &info);
        assert_true(status == KS_OK || status == KS_ENOMEM);
        assert_int_equal(info.status, status);
        assert_int_equal(atomic_load(&memory.live), live);
    }
    ks_smooth_plan_destroy(plan);
    ks_context_destroy(context);
    golden_free(g);
}

static void runs_allocate_nothing(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 102, 100, 5, 7, 2, KS_PRIOR_X0, MISSING });
    for (int i = 0; i < all_methods_count; ++i)
        for (int p = 0; p < 2 + takes_mixed(&all_methods[i]); ++p)
            for (int threads = 1; threads <= 4; threads += 3) {
                if (SANITIZED && (i + p + threads / 4) % 2) continue;
                const method_case *m = &all_methods[i];
                const ks_smooth_options o = options_of(m, (ks_precision)p, outputs_made(m));
                failalloc memory = FAILALLOC_INIT;
                ks_context *context = context_on(&memory, threads);
                ks_smooth_plan *plan = NULL;
                assert_int_equal(ks_smooth_plan_create(&plan, context, 100, 5, 7, 2, &o), KS_OK);
                golden_buffers *b = golden_buffers_new(100, 5, 7, 2, o.precision, o.outputs);
                /* One byte of workspace more than is asked for would be seen by the sanitizer. */
                void *work = NULL;
                assert_int_equal(posix_memalign(&work, 64, ks_smooth_workspace_bytes(plan)), 0);
                const ks_model model = golden_model(g, o.precision);
                atomic_store(&memory.calls, 0);
                for (int twice = 0; twice < 2; ++twice)
                    assert_int_equal(ks_smooth_run(plan, &model, golden_y(g, o.precision),
                                                   golden_outputs(b), work, NULL),
                                     KS_OK);
                assert_int_equal(atomic_load(&memory.calls), 0);
                free(work);
                golden_buffers_free(b);
                ks_smooth_plan_destroy(plan);
                ks_context_destroy(context);
                assert_int_equal(atomic_load(&memory.live), 0);
            }
    golden_free(g);
}

static size_t output_bytes_of(unsigned outputs, ks_precision precision, int64_t T, int nx, int ny)
{
    golden_buffers *b = golden_buffers_new(T, 1, nx, ny, precision, outputs);
    size_t all = 0;
    assert_non_null(b);
    for (unsigned bit = 1; bit <= outputs; bit <<= 1) {
        size_t bytes = 0;
        if (outputs & bit) (void)golden_bytes(b, (ks_output)bit, &bytes);
        all += bytes;
    }
    golden_buffers_free(b);
    return all;
}

/** Of every output each step has the same number of bytes, so that a long one need not be made. */
static size_t output_bytes(unsigned outputs, ks_precision precision, int64_t T, int nx, int ny)
{
    const size_t one = output_bytes_of(outputs, precision, 1, nx, ny);
    return one + (size_t)(T - 1) * (output_bytes_of(outputs, precision, 2, nx, ny) - one);
}

/* What the command asks for with --cov full, diag and none. */
static const unsigned smoother_sets[] = {
    KS_OUT_LOGLIK | KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV,
    KS_OUT_LOGLIK | KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_VAR,
    KS_OUT_LOGLIK | KS_OUT_SMOOTHED_MEAN,
};
static const unsigned filter_sets[] = {
    KS_OUT_LOGLIK | KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV,
    KS_OUT_LOGLIK | KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_VAR,
    KS_OUT_LOGLIK | KS_OUT_FILTERED_MEAN,
};

static size_t workspace_of(ks_context *context, const ks_smooth_options *o, int64_t T, int nx, int ny)
{
    ks_smooth_plan *plan = NULL;
    assert_int_equal(ks_smooth_plan_create(&plan, context, T, 1, nx, ny, o), KS_OK);
    const size_t bytes = ks_smooth_workspace_bytes(plan);
    ks_smooth_plan_destroy(plan);
    return bytes;
}

/** What grows with T is at most half of the requested outputs. The scratch of one step, some
 *  kilobytes that do not grow, is what a series of one step needs. */
static int half_of_outputs(ks_job job, unsigned outputs, ks_precision precision, int64_t T, int nx,
                           int ny)
{
    const method_case m = { job, KS_METHOD_SEQUENTIAL, KS_SCAN_HILLIS_STEELE, 1, 0 };
    const ks_smooth_options o = options_of(&m, precision, outputs);
    const size_t work = workspace_of(NULL, &o, T, nx, ny) - workspace_of(NULL, &o, 1, nx, ny);
    const size_t out = output_bytes(outputs, precision, T, nx, ny);
    if (2 * work <= out) return 1;
    print_error("%s %s, T = %lld, (%d, %d), outputs %#x: %zu bytes of workspace beside %zu\n",
                job == KS_JOB_SMOOTH ? "smooth" : "filter", (const char *[]){ "f64", "f32", "mixed" }[precision],
                (long long)T, nx, ny, outputs, work, out);
    return 0;
}

static void sequential_needs_little(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 1, 1 }, { 2, 1 }, { 4, 2 }, { 6, 3 }, { 12, 6 } };
    static const int64_t lengths[] = { 1000, 10000, 1000000 };
    int above = 0;
    /* Checkpoints are estimates of 2 sqrt(T) steps with their covariances, nx + 1 numbers for every
     * mean: without covariances in the output they are at most half of it from
     * T = 16 (nx + 1)^2 on, and rounding to whole segments comes to it. A way back in double takes twice
     * as much once more, and bytes of its own for each segment: in single precision from T = 300 (nx + 1)^2 on. */
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s)
        for (size_t l = 0; l < 3; ++l)
            for (int p = 0; p < 3; ++p)
                for (int set = 0; set < 3; ++set) {
                    const int64_t n = sizes[s][0] + 1;
                    if (set > 0 && lengths[l] < (p == KS_F32 ? 300 : 20) * n * n) continue;
                    above += !half_of_outputs(KS_JOB_SMOOTH, smoother_sets[set], (ks_precision)p,
                                              lengths[l], sizes[s][0], sizes[s][1]);
                    above += !half_of_outputs(KS_JOB_FILTER, filter_sets[set], (ks_precision)p,
                                              lengths[l], sizes[s][0], sizes[s][1]);
                }
    assert_int_equal(above, 0);
}

/** From both ends, whether asked for or taken by itself, means and covariances need three tenths of themselves beside
 *  them. Of one state in single precision, eight bytes a step, one more of them is a form. */
static void both_ends_need_little(void **state)
{
    (void)state;
    enum { T = 1000000 };
    static const int sizes[][2] = { { 1, 1 }, { 2, 1 }, { 3, 2 }, { 4, 2 }, { 5, 2 }, { 8, 4 }, { 12, 6 }, { 13, 6 },
                                    { 25, 3 }, { 48, 24 } };
    static const ks_method methods[] = { KS_METHOD_TWO_ENDED, KS_METHOD_AUTO };
    failalloc memory = FAILALLOC_INIT;
    ks_context *context = context_on(&memory, 2);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s)
        for (int m = 0; m < 2; ++m)
            for (int p = s == 0; p < 2; ++p) {
                const ks_precision precision = p ? KS_F64 : KS_F32;
                const int nx = sizes[s][0], ny = sizes[s][1];
                const method_case c = { .job = KS_JOB_SMOOTH, .method = methods[m] };
                ks_smooth_options o = options_of(&c, precision, smoother_sets[0]);
                const size_t work = workspace_of(context, &o, T, nx, ny) - workspace_of(context, &o, 1, nx, ny);
                const size_t out = output_bytes(smoother_sets[0], precision, T, nx, ny);
                if (10 * work > 3 * out) fail_msg("(%d, %d): %zu bytes beside %zu", nx, ny, work, out);
            }
    ks_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_fails_once),
        cmocka_unit_test(model_check_fails_cleanly),
        cmocka_unit_test(runs_allocate_nothing),
        cmocka_unit_test(sequential_needs_little),
        cmocka_unit_test(both_ends_need_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
