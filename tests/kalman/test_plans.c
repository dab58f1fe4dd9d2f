/* test_plans.c -- what plans are refused for, sizes that overflow, and what a plan tells of itself. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "gpu/gpu.h"
#include "run_case.h"

static ks_status create(int64_t T, int64_t B, int nx, int ny, const ks_smooth_options *o)
{
    ks_smooth_plan *plan = (ks_smooth_plan *)(uintptr_t)64;
    const ks_status status = ks_smooth_plan_create(&plan, NULL, T, B, nx, ny, o);
    assert_true((status == KS_OK) == (plan != NULL));
    assert_true((status == KS_EINVAL) == (ks_smooth_plan_invalid(T, B, nx, ny, o) != NULL));
    ks_smooth_plan_destroy(plan);
    return status;
}

/** Such a plan is KS_EINVAL, and that is the argument or option that is told. */
static void invalid(const char *name, int64_t T, int64_t B, int nx, int ny, const ks_smooth_options *o)
{
    assert_int_equal(create(T, B, nx, ny, o), KS_EINVAL);
    assert_string_equal(ks_smooth_plan_invalid(T, B, nx, ny, o), name);
}

static void sizes_of_plans(void **state)
{
    (void)state;
    assert_int_equal(ks_smooth_plan_create(NULL, NULL, 1, 1, 1, 1, NULL), KS_EINVAL);
    assert_int_equal(create(1, 1, 1, 1, NULL), KS_OK);
    invalid("T", 0, 1, 1, 1, NULL);
    invalid("T", -1, 1, 1, 1, NULL);
    invalid("T", INT64_MIN, 1, 1, 1, NULL);
    invalid("B", 1, 0, 1, 1, NULL);
    invalid("B", 1, -5, 1, 1, NULL);
    invalid("nx", 1, 1, 0, 1, NULL);
    invalid("nx", 1, 1, -1, 1, NULL);
    invalid("ny", 1, 1, 1, 0, NULL);
    invalid("ny", 1, 1, 1, INT_MIN, NULL);
    ks_smooth_plan_destroy(NULL);
    assert_int_equal(ks_smooth_plan_method(NULL), KS_METHOD_AUTO);
    assert_int_equal(ks_smooth_plan_backend(NULL), KS_BACKEND_CPU);
    assert_int_equal(ks_smooth_plan_declined(NULL), KS_OK);
    assert_int_equal(ks_smooth_plan_order(NULL), KS_BLOCKTRI_AUTO);
    assert_int_equal(ks_smooth_plan_threads(NULL), 1);
    assert_int_equal(ks_smooth_workspace_bytes(NULL), 0);
}

static void sizes_that_overflow(void **state)
{
    (void)state;
    for (int i = 0; i < all_methods_count; ++i) {
        const method_case *m = &all_methods[i];
        const ks_smooth_options o = options_of(m, KS_F64, outputs_made(m));
        assert_int_equal(create(1000000000000000000, 1, 4, 2, &o), KS_ENOMEM);
        assert_int_equal(create(INT64_MAX, 1, 1, 1, &o), KS_ENOMEM);
        assert_int_equal(create(1, INT64_MAX, 1, 1, &o), KS_ENOMEM);
        assert_int_equal(create(INT64_MAX / 2, INT64_MAX / 2, 1, 1, &o), KS_ENOMEM);
        assert_int_equal(create((int64_t)1 << 31, (int64_t)1 << 31, 3, 1, &o), KS_ENOMEM);
        assert_int_equal(create(1, 1, 1000000, 1, &o), KS_ENOMEM);
        assert_int_equal(create(1, 1, 1, 1000000, &o), KS_ENOMEM);
        assert_int_equal(create(1, 1, INT_MAX, INT_MAX, &o), KS_ENOMEM);
        assert_int_equal(create(INT64_MAX, INT64_MAX, INT_MAX, INT_MAX, &o), KS_ENOMEM);
    }
}

static void options_of_plans(void **state)
{
    (void)state;
    const ks_smooth_options good = KS_SMOOTH_OPTIONS_INIT;
    ks_smooth_options o = good;
    assert_int_equal(create(2, 1, 1, 1, &o), KS_OK);
    for (int word = KS_STEADY_STATE_HOLD; word <= KS_STEADY_STATE_COMPUTE; ++word) {
        o.steady_state = (ks_steady_state)word;
        assert_int_equal(create(2, 1, 1, 1, &o), KS_OK);
        assert_non_null(ks_steady_state_name(o.steady_state));
    }
    assert_null(ks_steady_state_name((ks_steady_state)3));
#define WRONG(member, value)                                                                \
    o = good;                                                                               \
    o.member = (value);                                                                     \
    invalid(#member, 2, 1, 1, 1, &o)
    WRONG(size, 0);
    WRONG(size, sizeof o - 1);
    WRONG(job, (ks_job)2);
    WRONG(method, (ks_method)KS_METHODS);
    WRONG(method, (ks_method)-1);
    WRONG(precision, (ks_precision)3);
    WRONG(outputs, 1u << GOLDEN_OUTPUTS);
    WRONG(outputs, 1u << 31);
    WRONG(scan, (ks_scan_algorithm)KS_SCAN_ALGORITHMS);
    WRONG(threads, -1);
    WRONG(scan_threshold, -1);
    WRONG(tier, (ks_tier)4);
    WRONG(steady_state, (ks_steady_state)3);
    WRONG(steady_state, (ks_steady_state)-1);
    WRONG(order, (ks_blocktri_order)KS_BLOCKTRI_ORDERS);
    WRONG(backend, (ks_backend)3);
    WRONG(device, -1);
    WRONG(second_device, -2);
    WRONG(second_device, 0);
    /* A job does not have every method, nor a method every output. */
    WRONG(method, KS_METHOD_SCAN);
#undef WRONG
    o = good;
    o.method = KS_METHOD_SCAN_RTS;
    o.scan = KS_SCAN_SENGUPTA;
    o.scan_threshold = 0;
    assert_int_equal(create(2, 1, 1, 1, &o), KS_EINVAL);
    o.scan_threshold = 1;
    assert_int_equal(create(2, 1, 1, 1, &o), KS_OK);
    const ks_method smoothers[] = { KS_METHOD_SCAN_RTS, KS_METHOD_SCAN_TWO_FILTER };
    for (int i = 0; i < 2; ++i) {
        o = good;
        o.job = KS_JOB_FILTER;
        o.outputs = KS_OUT_LOGLIK;
        assert_int_equal(create(2, 1, 1, 1, &o), KS_OK);
        o.method = smoothers[i];
        invalid("method", 2, 1, 1, 1, &o);
    }
}

static void outputs_of_jobs(void **state)
{
    (void)state;
    for (int i = 0; i < all_methods_count; ++i) {
        const method_case *m = &all_methods[i];
        for (int bit = 0; bit < GOLDEN_OUTPUTS; ++bit) {
            const ks_smooth_options o = options_of(m, KS_F64, 1u << bit);
            const int made = (outputs_made(m) >> bit) & 1;
            assert_int_equal(create(5, 1, 2, 1, &o), made ? KS_OK : KS_EINVAL);
            if (!made) invalid("outputs", 5, 1, 2, 1, &o);
        }
    }
}

/** What is told where each option is a valid one, and they do not go together. */
static void options_that_do_not_go_together(void **state)
{
    (void)state;
    const ks_smooth_options good = KS_SMOOTH_OPTIONS_INIT;
    ks_smooth_options o = good;
    assert_null(ks_smooth_plan_invalid(2, 1, 1, 1, NULL));
    o.method = KS_METHOD_TWO_ENDED;
    o.precision = KS_MIXED;
    invalid("precision", 2, 1, 1, 1, &o);
    o.precision = KS_F64;
    o.backend = KS_BACKEND_CUDA;
    invalid("backend", 2, 1, 1, 1, &o);
    o.method = KS_METHOD_SCAN_RTS;
    assert_null(ks_smooth_plan_invalid(2, 1, 1, 1, &o));
    o.second_device = 1;
    invalid("second_device", 2, 1, 1, 1, &o);
    o.second_device = -1;
    o.precision = KS_MIXED;
    o.scan = KS_SCAN_BLELLOCH;
    invalid("precision", 2, 1, 1, 1, &o);
    o = good;
    o.job = KS_JOB_FILTER;
    invalid("outputs", 2, 1, 1, 1, &o);
    o.outputs = KS_OUT_LOGLIK;
    o.method = KS_METHOD_BLOCKTRI;
    invalid("method", 2, 1, 1, 1, &o);
}

static void method_that_auto_takes(void **state)
{
    (void)state;
    for (int i = 0; i < all_methods_count; ++i) {
        const method_case *m = &all_methods[i];
        const ks_smooth_options o = options_of(m, KS_F32, outputs_made(m));
        ks_smooth_plan *plan = NULL;
        assert_int_equal(ks_smooth_plan_create(&plan, NULL, 5, 1, 2, 1, &o), KS_OK);
        const ks_method method = ks_smooth_plan_method(plan);
        assert_int_not_equal(method, KS_METHOD_AUTO);
        if (m->method != KS_METHOD_AUTO) assert_int_equal(method, m->method);
        ks_smooth_plan_destroy(plan);
    }
    for (int method = 0; method < KS_METHODS; ++method)
        assert_non_null(ks_method_name((ks_method)method));
    assert_null(ks_method_name((ks_method)KS_METHODS));
    for (int array = 0; array <= KS_ARRAY_LOGLIK; ++array)
        assert_non_null(ks_array_name((ks_array)array));
    assert_non_null(ks_array_name((ks_array)1000));
}

/** Where the method is left to the library, too, a device that is not there is what the plan was declined by. */
static void devices_that_are_not_there(void **state)
{
    (void)state;
    ks_smooth_options o = KS_SMOOTH_OPTIONS_INIT;
    ks_smooth_plan *plan = NULL;
    const int absent = ks_gpu_absent(0);
    o.backend = KS_BACKEND_CUDA;
    if (absent) assert_int_equal(create(5, 1, 2, 1, &o), KS_ENODEV);
    o.backend = KS_BACKEND_AUTO;
    assert_int_equal(ks_smooth_plan_create(&plan, NULL, 5, 1, 2, 1, &o), KS_OK);
    assert_int_equal(ks_smooth_plan_declined(plan), absent ? KS_ENODEV : KS_EINVAL);
    ks_smooth_plan_destroy(plan);
    /* A device would not have it either. */
    o.method = KS_METHOD_SEQUENTIAL;
    assert_int_equal(ks_smooth_plan_create(&plan, NULL, 5, 1, 2, 1, &o), KS_OK);
    assert_int_equal(ks_smooth_plan_declined(plan), KS_EINVAL);
    ks_smooth_plan_destroy(plan);
}

/** Bytes on a device of what cannot be planned, and of what would be planned without one. */
static void bytes_of_devices(void **state)
{
    (void)state;
    ks_smooth_options o = KS_SMOOTH_OPTIONS_INIT;
    assert_int_equal(ks_smooth_device_bytes(5, 1, 2, 1, NULL), 0);
    assert_int_equal(ks_smooth_device_bytes(5, 1, 2, 1, &o), 0);
    o.backend = KS_BACKEND_CUDA;
    const size_t bytes = ks_smooth_device_bytes(5, 1, 2, 1, &o);
    assert_true(bytes > 0 && bytes < SIZE_MAX);
    assert_true(ks_smooth_device_bytes(0, 1, 2, 1, &o) == SIZE_MAX);
    assert_true(ks_smooth_device_bytes(5, -1, 2, 1, &o) == SIZE_MAX);
    assert_true(ks_smooth_device_bytes(5, 1, 0, 1, &o) == SIZE_MAX);
    assert_true(ks_smooth_device_bytes(5, 1, 2, 0, &o) == SIZE_MAX);
    o.threads = -1;
    assert_true(ks_smooth_device_bytes(5, 1, 2, 1, &o) == SIZE_MAX);
    /* Options that do not go together, on either back end. */
    static const struct { ks_job job; ks_method method; ks_precision precision; unsigned outputs; } bad[] = {
        { KS_JOB_SMOOTH, KS_METHOD_SCAN, KS_F64, KS_OUT_LOGLIK },
        { KS_JOB_FILTER, KS_METHOD_TWO_ENDED, KS_F64, KS_OUT_LOGLIK },
        { KS_JOB_SMOOTH, KS_METHOD_TWO_ENDED, KS_F64, KS_OUT_FILTERED_MEAN },
        { KS_JOB_SMOOTH, KS_METHOD_BLOCKTRI, KS_MIXED, KS_OUT_LOGLIK },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
        for (int device = 0; device < 2; ++device) {
            ks_smooth_options wrong = KS_SMOOTH_OPTIONS_INIT;
            wrong.job = bad[i].job;
            wrong.method = bad[i].method;
            wrong.precision = bad[i].precision;
            wrong.outputs = bad[i].outputs;
            wrong.backend = device ? KS_BACKEND_CUDA : KS_BACKEND_CPU;
            assert_true(ks_smooth_device_bytes(5, 1, 2, 1, &wrong) == SIZE_MAX);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_of_plans),   cmocka_unit_test(sizes_that_overflow),
        cmocka_unit_test(options_of_plans), cmocka_unit_test(outputs_of_jobs),
        cmocka_unit_test(options_that_do_not_go_together), cmocka_unit_test(method_that_auto_takes),
        cmocka_unit_test(devices_that_are_not_there), cmocka_unit_test(bytes_of_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
