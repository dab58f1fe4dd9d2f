/* test_methods.c -- whole methods: what is counted is what the library does, and the totals hang
 * together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "full.h"
#include "smooth_plan.h"

static const struct {
    ks_scan_algorithm scan;
    int64_t threshold;
} scans[] = {{KS_SCAN_HILLIS_STEELE, 1}, {KS_SCAN_BLELLOCH, 1}, {KS_SCAN_LADNER_FISCHER, 1},
             {KS_SCAN_SENGUPTA, 1}, {KS_SCAN_SENGUPTA, 15000}, {KS_SCAN_CHUNKED, 1}};
enum { SCANS = sizeof scans / sizeof *scans };

static ks_count_result count_of(const ks_unit_costs *costs, const ks_count_case *what)
{
    ks_count_result result;
    assert_int_equal(ks_count_method(&result, costs, what), KS_OK);
    return result;
}

static ks_count_case case_of(ks_counted_method method, int s, int64_t T, int64_t threads)
{
    const ks_count_case what = {.method = method, .scan = scans[s].scan,
                                .threshold = scans[s].threshold, .T = T, .threads = threads};
    return what;
}

/* Run the library's own driver with the counting table in place of its kernels. */
static ks_flops run_library(const full *f, const ks_count_case *what, ks_info *info)
{
    static const ks_method methods[KS_COUNTED_METHODS] = {
        KS_METHOD_SCAN, KS_METHOD_SCAN_RTS, KS_METHOD_SCAN_TWO_FILTER, KS_METHOD_SEQUENTIAL,
        KS_METHOD_SEQUENTIAL};
    const int filters = what->method == KS_COUNT_FILTER ||
                        what->method == KS_COUNT_SEQUENTIAL_FILTER;
    const int64_t n = f->series.nx;
    ks_smooth_options options = KS_SMOOTH_OPTIONS_INIT;
    ks_outputs outputs = KS_OUTPUTS_INIT;
    const ks_out mean = {f->smoothed_mean, n, 0}, cov = {f->smoothed_cov, n * n, 0};
    ks_smooth_plan *plan = NULL;
    ks_model model;
    ks_view y;
    void *work = NULL;
    options.job = filters ? KS_JOB_FILTER : KS_JOB_SMOOTH;
    options.method = methods[what->method];
    options.scan = what->scan;
    options.scan_threshold = what->threshold;
    options.outputs = filters ? KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV
                              : KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV;
    if (filters) {
        outputs.filtered_mean = mean;
        outputs.filtered_cov = cov;
    } else {
        outputs.smoothed_mean = mean;
        outputs.smoothed_cov = cov;
    }
    full_model(f, &model, &y);
    assert_int_equal(ks_smooth_plan_create(&plan, NULL, what->T, 1, f->series.nx, f->series.ny,
                                           &options), KS_OK);
    plan->kernels = plan->aggregates = &f->kernels;
    assert_int_equal(posix_memalign(&work, 64, ks_smooth_workspace_bytes(plan) + 64), 0);
    (void)ks_take_flops();
    assert_int_equal(ks_smooth_run(plan, &model, y, &outputs, work, info), KS_OK);
    const ks_flops flops = ks_take_flops();
    free(work);
    ks_smooth_plan_destroy(plan);
    return flops;
}

/* The phases are those of the library's drivers: its work and its combines are counted, all of
 * them. Chunks that are run again enter through the array form; there the combines are compared. */
static void the_library_does_what_is_counted(void **state)
{
    full f;
    ks_unit_costs costs;
    (void)state;
    full_open(&f, 50, 3, 2);
    assert_int_equal(ks_unit_costs_find(&costs, 3, 2), KS_OK);
    for (int64_t T = 1; T <= 50; ++T)
        for (int m = 0; m < KS_COUNT_BLOCKTRI; ++m)
            for (int s = 0; s < SCANS; ++s) {
                const ks_counted_method method = (ks_counted_method)m;
                ks_count_case what = case_of(method, s, T, 1);
                ks_info info = KS_INFO_INIT;
                what.loglik = 1;
                if (!ks_counted_method_scans(method) && s > 0) continue;
                const ks_count_result counted = count_of(&costs, &what);
                const ks_flops done = run_library(&f, &what, &info);
                assert_int_equal(counted.combines, info.combines);
                if (what.scan == KS_SCAN_CHUNKED) continue;
                assert_int_equal(info.array_steps, 0);
                assert_int_equal(counted.work.adds, done.adds);
                assert_int_equal(counted.work.multiplies, done.multiplies);
                assert_int_equal(counted.work.divisions, done.divisions);
                assert_int_equal(counted.work.square_roots, done.square_roots);
            }
    full_close(&f);
}

/* On one thread the time is the work; more threads never take longer where the old ones divide
 * them; no number of threads beats the longest lanes or an even share of the work. */
static void totals_hang_together(void **state)
{
    static const int64_t lengths[] = {1, 2, 3, 1000, 12345, 1000000};
    ks_unit_costs costs;
    (void)state;
    assert_int_equal(ks_unit_costs_find(&costs, 4, 2), KS_OK);
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; ++l)
        for (int m = 0; m < KS_COUNT_BLOCKTRI; ++m)
            for (int s = 0; s < SCANS; ++s) {
                ks_count_case what = case_of((ks_counted_method)m, s, lengths[l], 1);
                ks_count_result r = count_of(&costs, &what);
                const int64_t work = r.work_flops, combines = r.combines;
                int64_t before = r.time_flops;
                assert_int_equal(r.time_flops, work);
                assert_int_equal(ks_flops_total(r.work), work);
                assert_true(r.combine_flops <= work);
                for (what.threads = 3; what.threads < 10000000; what.threads *= 3) {
                    r = count_of(&costs, &what);
                    assert_int_equal(r.work_flops, work);
                    assert_int_equal(r.combines, combines);
                    assert_true(r.time_flops <= before);
                    assert_true(r.time_flops >= r.span_flops);
                    assert_true(r.time_flops >= work / what.threads);
                    before = r.time_flops;
                }
                if (what.threads > lengths[l] * 2) assert_int_equal(r.time_flops, r.span_flops);
            }
}

/* Forward and reverse scan at the same time: the same work in less time, twice the elements. */
static void two_devices(void **state)
{
    ks_unit_costs costs;
    (void)state;
    assert_int_equal(ks_unit_costs_find(&costs, 4, 2), KS_OK);
    for (int s = 0; s < SCANS; ++s) {
        ks_count_case what = case_of(KS_COUNT_SCAN_TWO_FILTER, s, 100000, 15000);
        const ks_count_result one = count_of(&costs, &what);
        what.two_devices = 1;
        const ks_count_result two = count_of(&costs, &what);
        if (what.scan == KS_SCAN_CHUNKED) {
            /* One device needs no element of a step. */
            assert_true(2 * one.work_flops < two.work_flops && one.storage_elements < two.storage_elements);
            continue;
        }
        assert_int_equal(one.work_flops, two.work_flops);
        assert_int_equal(one.combines, two.combines);
        assert_true(two.time_flops < one.time_flops && 2 * two.time_flops > one.time_flops);
        assert_true(two.span_steps < one.span_steps);
        assert_int_equal(two.storage_elements, 2 * one.storage_elements);
        what.method = KS_COUNT_SCAN_RTS;
        ks_count_result refused;
        assert_int_equal(ks_count_method(&refused, &costs, &what), KS_EINVAL);
    }
}

/* T = 1e9 is counted like any other; what leaves 64 bits is an error. */
static void long_series(void **state)
{
    ks_unit_costs costs;
    ks_count_result r;
    (void)state;
    assert_int_equal(ks_unit_costs_find(&costs, 12, 6), KS_OK);
    for (int m = 0; m < KS_COUNT_BLOCKTRI; ++m)
        for (int s = 0; s < SCANS; ++s) {
            const ks_count_case what = case_of((ks_counted_method)m, s, 1000000000, 84480);
            r = count_of(&costs, &what);
            assert_true(r.work_flops > r.time_flops || !ks_counted_method_scans(what.method));
        }
    const ks_count_case huge = case_of(KS_COUNT_FILTER, 0, (int64_t)1 << 52, 1);
    assert_int_equal(ks_count_method(&r, &costs, &huge), KS_ENOMEM);
    const ks_count_case no_steps = case_of(KS_COUNT_FILTER, 0, 0, 1);
    const ks_count_case no_threads = case_of(KS_COUNT_FILTER, 0, 1, 0);
    assert_int_equal(ks_count_method(&r, &costs, &no_steps), KS_EINVAL);
    assert_int_equal(ks_count_method(&r, &costs, &no_threads), KS_EINVAL);
    assert_int_equal(ks_unit_costs_find(&costs, 0, 1), KS_EINVAL);
    assert_int_equal(ks_unit_costs_find(&costs, 1, 0), KS_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_does_what_is_counted),
        cmocka_unit_test(totals_hang_together),
        cmocka_unit_test(two_devices),
        cmocka_unit_test(long_series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
