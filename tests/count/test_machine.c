/* test_machine.c -- counting by classes of lanes gives what executing every lane gives, to the last
 * operation, for every method and scan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "full.h"
#include "machine_count.h"

/* Every length up to DENSE, twice the threshold of a scan and its remainders; from there on some, beyond the
 * next two powers of two. */
enum { DENSE = 80, SPARSE = 11, LONGEST = 300 };

static const ks_count_case scans[] = {
    {.scan = KS_SCAN_HILLIS_STEELE, .threshold = 1},
    {.scan = KS_SCAN_BLELLOCH, .threshold = 1},
    {.scan = KS_SCAN_LADNER_FISCHER, .threshold = 1},
    {.scan = KS_SCAN_SENGUPTA, .threshold = 1},
    {.scan = KS_SCAN_SENGUPTA, .threshold = 40},
    {.scan = KS_SCAN_CHUNKED, .threshold = 1},
};
enum { SCANS = sizeof scans / sizeof *scans };

static void assert_case(full *f, const ks_unit_costs *costs, const ks_count_case *what)
{
    ks_count_result fast, slow;
    assert_int_equal(ks_count_method(&fast, costs, what), KS_OK);
    full_count(f, &slow, what);
    fast.combine_flops = fast.storage_elements = fast.storage_bytes = 0;
    if (memcmp(&fast, &slow, sizeof fast) == 0) return;
    fail_msg("%s %s:%lld T = %lld P = %lld: work %lld, executed %lld; time %lld, executed %lld; "
             "span %lld, executed %lld; combines %lld, executed %lld; critical %lld, executed %lld",
             ks_counted_method_name(what->method), ks_scan_name(what->scan),
             (long long)what->threshold, (long long)what->T, (long long)what->threads,
             (long long)fast.work_flops, (long long)slow.work_flops, (long long)fast.time_flops,
             (long long)slow.time_flops, (long long)fast.span_steps, (long long)slow.span_steps,
             (long long)fast.combines, (long long)slow.combines, (long long)fast.span_flops,
             (long long)slow.span_flops);
}

/* Forward and reverse: the smoothers scan in both directions. Each T with two of the thread counts, in
 * turn. */
static void many_lengths(void **state)
{
    static const int64_t threads[] = {1, 2, 3, 7, 16, 64, 1000};
    enum { THREADS = sizeof threads / sizeof *threads };
    full f;
    ks_unit_costs costs;
    int turn = 0;
    (void)state;
    full_open(&f, LONGEST, 2, 1);
    assert_int_equal(ks_unit_costs_find(&costs, 2, 1), KS_OK);
    for (int64_t T = 1; T <= LONGEST; T += T < DENSE ? 1 : SPARSE)
        for (int s = 0; s < SCANS; ++s)
            for (int m = KS_COUNT_FILTER; m <= KS_COUNT_SCAN_TWO_FILTER; ++m) {
                ks_count_case what = scans[s];
                what.method = (ks_counted_method)m;
                what.T = T;
                what.loglik = (int)(T % 2);
                for (int i = 0; i < 2; ++i, ++turn) {
                    what.threads = threads[turn % THREADS];
                    assert_case(&f, &costs, &what);
                }
            }
    full_close(&f);
}

/* Some lengths with every number of threads, one and two devices, and other sizes. */
static void every_thread_count(void **state)
{
    static const int64_t lengths[] = {1, 2, 3, 17, 64, 100};
    full f;
    ks_unit_costs costs;
    (void)state;
    full_open(&f, 100, 3, 2);
    assert_int_equal(ks_unit_costs_find(&costs, 3, 2), KS_OK);
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; ++l)
        for (int s = 0; s < SCANS; ++s)
            for (int64_t P = 1; P <= 20; ++P) {
                ks_count_case what = scans[s];
                what.method = KS_COUNT_SCAN_TWO_FILTER;
                what.T = lengths[l];
                what.threads = P;
                what.two_devices = (int)(P % 2);
                assert_case(&f, &costs, &what);
                what.method = KS_COUNT_SCAN_RTS;
                what.two_devices = 0;
                assert_case(&f, &costs, &what);
            }
    full_close(&f);
}

/* A parallel step of classes of any sizes and costs, against counting lane by lane. */
static void any_classes(void **state)
{
    uint64_t seed = 7;
    (void)state;
    for (int round = 0; round < 5000; ++round) {
        ks_lane_class list[5];
        int64_t own[40] = {0}, lane = 0, busiest = 0, work = 0;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const int classes = (int)(seed >> 33) % 6;
        const int64_t threads = 1 + (int64_t)(seed >> 40) % 40;
        for (int c = 0; c < classes; ++c) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            const ks_flops each = {(int64_t)(seed >> 35) % 9, 0, (int64_t)(seed >> 45) % 3, 0};
            list[c].lanes = (int64_t)(seed >> 50) % 100;
            list[c].each = each;
            for (int64_t l = 0; l < list[c].lanes; ++l, ++lane) {
                own[lane % threads] += ks_flops_total(each);
                work += ks_flops_total(each);
            }
        }
        for (int64_t p = 0; p < threads; ++p)
            if (own[p] > busiest) busiest = own[p];
        ks_count count;
        memset(&count, 0, sizeof count);
        assert_int_equal(ks_count_step(&count, list, classes, threads), KS_OK);
        assert_int_equal(count.time, busiest);
        assert_int_equal(ks_flops_total(count.work), work);
        assert_int_equal(count.span, 1);
    }
}

static int refuse_costs(void *user, int64_t first, int64_t count, ks_flops *flops)
{
    (void)user;
    (void)first;
    flops->adds = count;
    return 1;
}

static void errors(void **state)
{
    const ks_lane_class one = {1, {1, 0, 0, 0}}, huge = {INT64_MAX, {1, 1, 0, 0}};
    const ks_lane_class negative = {-1, {1, 0, 0, 0}};
    ks_round round = {1, {{KS_PART_ABSORB, 3, 2, {KS_ELEMENTS, 0, 1, 0}, {KS_STEPS, 0, 2, 1},
                           {KS_NO_BUFFER, 0, 0, 0}}}};
    const ks_schedule schedule = {{3, 0, 6}, 1, &round};
    ks_operation_costs costs = {{1, 0, 0, 0}, {0, 0, 0, 0}, NULL, NULL, NULL};
    ks_count count;
    (void)state;
    memset(&count, 0, sizeof count);
    assert_int_equal(ks_count_step(&count, &one, 1, 0), KS_EINVAL);
    assert_int_equal(ks_count_step(&count, &negative, 1, 1), KS_EINVAL);
    assert_int_equal(ks_count_step(&count, &huge, 1, 1), KS_ENOMEM);
    memset(&count, 0, sizeof count);
    assert_int_equal(ks_count_step(&count, &huge, 1, 1000), KS_ENOMEM);
    assert_int_equal(ks_count_schedule(&count, &schedule, &costs, 1), KS_EINVAL);
    costs.absorb = refuse_costs;
    assert_int_equal(ks_count_schedule(&count, &schedule, &costs, 1), KS_ENOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_classes),
        cmocka_unit_test(many_lengths),
        cmocka_unit_test(every_thread_count),
        cmocka_unit_test(errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
