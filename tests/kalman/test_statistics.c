/* test_statistics.c -- each method did what its own planner planned: rounds, combines, elements and
 * steps, counted against plans that the test makes itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "models.h"
#include "plan.h"
#include "run_case.h"

typedef struct counts { int64_t rounds, combines; } counts;

/** What one scan of `length` elements takes by the method's algorithm. Where chunks are run again
 *  nothing is combined in the re-run: a chunk of c steps is absorbed with c - 1 combines, so all
 *  chunks take length - chunks, and to them come those that scan the aggregates. */
static counts counts_of(const method_case *m, int64_t length, ks_direction direction)
{
    ks_scan_options options = KS_SCAN_OPTIONS_INIT;
    ks_scan_plan *plan = NULL;
    options.algorithm = m->scan;
    options.threshold = m->threshold;
    options.direction = direction;
    assert_int_equal(ks_scan_plan_create(&plan, NULL, length, &options), KS_OK);
    ks_scan_stats stats = ks_scan_plan_stats(plan);
    counts c = { stats.rounds, stats.combines };
    if (!stores_elements(m)) {
        const ks_scan_stats outside = ks_schedule_stats(&plan->outside);
        c.rounds = outside.rounds;
        c.combines = outside.combines + length - stats.chunks;
    }
    ks_scan_plan_destroy(plan);
    return c;
}

/** The scan of the aggregates of chunks from the end, which are there already, and the way back over all chunks at
 *  once; of the RTS smoother their ends before that, but for the last one's. */
static counts counts_of_suffixes(const method_case *m, int64_t length)
{
    ks_scan_options options = KS_SCAN_OPTIONS_INIT;
    ks_scan_plan *plan = NULL;
    options.algorithm = m->scan;
    assert_int_equal(ks_scan_plan_create(&plan, NULL, length, &options), KS_OK);
    const int64_t chunks = ks_scan_plan_stats(plan).chunks;
    const method_case aggregates = { m->job, m->method, KS_SCAN_LADNER_FISCHER, 1, 0 };
    counts c = counts_of(&aggregates, chunks, KS_REVERSE);
    c.rounds += m->method == KS_METHOD_SCAN_RTS && chunks > 1 ? 2 : 1;
    ks_scan_plan_destroy(plan);
    return c;
}

/** Both scans of a smoother, the one of a filter, none of the sequential method. */
static counts expected_counts(const method_case *m, int64_t T, int64_t B)
{
    counts all = { 0, 0 };
    if (!is_scan(m)) return all;
    all = counts_of(m, T, KS_FORWARD);
    if (m->job == KS_JOB_SMOOTH) {
        const counts back = stores_elements(m) ? counts_of(m, T, KS_REVERSE) : counts_of_suffixes(m, T);
        all.rounds += back.rounds;
        all.combines += back.combines;
    }
    all.rounds *= B;
    all.combines *= B;
    return all;
}

/** Elements made of model and data: one of each step for each scan, where the RTS smoother in chunks has none of its own;
 *  the two-filter smoother's reverse scan needs none of step 0. */
static int64_t expected_elements(const method_case *m, int64_t T)
{
    if (!is_scan(m)) return 0;
    if (m->job == KS_JOB_FILTER) return T;
    if (m->method == KS_METHOD_SCAN_RTS) return stores_elements(m) ? 2 * T : T;
    return 2 * T - 1;
}

static void methods_follow_their_plans(void **state)
{
    (void)state;
    static const int64_t lengths[] = { 1, 2, 3, 16, 17, 40, 127, 1000 };
    for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; ++l)
        for (int64_t B = 1; B <= 2; ++B) {
            const int64_t T = lengths[l];
            golden *g = model_random((model_spec){ 7, T, B, 2, 1, KS_PRIOR_X0, MISSING });
            for (int i = 0; i < all_methods_count; ++i) {
                const method_case *m = &all_methods[i];
                const counts expected = expected_counts(m, T, B);
                ks_info info = KS_INFO_INIT;
                golden_buffers_free(run_well(g, m, KS_F64, 1, outputs_made(m), &info));
                if (info.combines != expected.combines || info.rounds != expected.rounds ||
                    info.elements != B * expected_elements(m, T))
                    fail_msg("%s, T = %lld, B = %lld: %lld combines in %lld rounds, not %lld in "
                             "%lld; %lld elements",
                             method_case_name(m), (long long)T, (long long)B,
                             (long long)info.combines, (long long)info.rounds,
                             (long long)expected.combines, (long long)expected.rounds,
                             (long long)info.elements);
                assert_int_equal(info.method, m->method == KS_METHOD_AUTO ? KS_METHOD_SEQUENTIAL
                                                                          : m->method);
                if (is_scan(m)) assert_int_equal(info.scan, m->scan);
                assert_int_equal(info.threads, 1);
            }
            golden_free(g);
        }
}

/** No two scans of one method have the same counts, so one cannot pass for another. (At lengths such
 *  as 1000, Sengupta with N = 1 and Ladner-Fischer do have the same.) */
static void plans_differ(void **state)
{
    (void)state;
    for (int i = 0; i < all_methods_count; ++i)
        for (int j = 0; j < i; ++j) {
            const method_case *a = &all_methods[i], *b = &all_methods[j];
            if (!is_scan(a) || a->method != b->method || a->job != b->job) continue;
            const counts ca = expected_counts(a, 40, 1), cb = expected_counts(b, 40, 1);
            if (ca.rounds == cb.rounds && ca.combines == cb.combines)
                fail_msg("%s counts as another scan does", method_case_name(a));
        }
}

/** The numbers of the papers, for a length at which they are easily worked out. */
static void counts_of_the_papers(void **state)
{
    (void)state;
    const method_case hillis = { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_HILLIS_STEELE, 1, 0 };
    /* log2 T rounds; in round d the T - 2^d elements from the 2^d-th on are combined. */
    const counts c = expected_counts(&hillis, 1024, 1);
    assert_int_equal(c.rounds, 10);
    assert_int_equal(c.combines, 10 * 1024 - 1023);
    const method_case ladner = { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_LADNER_FISCHER, 1, 0 };
    /* Up: T - 1. Down: T - 1 - log2 T. */
    assert_int_equal(expected_counts(&ladner, 1024, 1).combines, 2 * 1023 - 10);
    const method_case chunked = { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_CHUNKED, 1, 0 };
    /* 32 chunks of 32; the prefixes of 31 aggregates are needed, but Ladner-Fischer scans them
     * all: 2 * 31 - 5 combines. */
    assert_int_equal(expected_counts(&chunked, 1024, 1).combines, 1024 - 32 + 2 * 31 - 5);
}

static ks_info steps_of(golden *g, const method_case *m, ks_precision precision)
{
    ks_info info = KS_INFO_INIT;
    golden_buffers_free(run_well(g, m, precision, 1, outputs_made(m), &info));
    return info;
}

static const method_case filter_once = { KS_JOB_FILTER, KS_METHOD_SEQUENTIAL, 0, 1, 0 };
static const method_case smooth_once = { KS_JOB_SMOOTH, KS_METHOD_SEQUENTIAL, 0, 1, 0 };

static void ordinary_steps(void **state)
{
    (void)state;
    const int64_t T = 1000;
    golden *g = model_random((model_spec){ 3, T, 1, 4, 2, KS_PRIOR_X0, 0 });
    for (int p = 0; p < 2; ++p) {
        const ks_info filter = steps_of(g, &filter_once, (ks_precision)p);
        /* Every series starts in the array form. */
        assert_int_equal(filter.array_steps, 1);
        assert_int_equal(filter.ordinary_steps, T - 1);
        const ks_info smooth = steps_of(g, &smooth_once, (ks_precision)p);
        /* Back: T - 1 steps and that to the prior, which is taken in the array form. */
        assert_int_equal(smooth.array_steps, 2);
        assert_int_equal(smooth.ordinary_steps, T - 1 + T - 1);
    }
    golden_free(g);
}

static void states_measured_exactly_stay_in_array_form(void **state)
{
    (void)state;
    const int64_t T = 100;
    golden *g = model_random((model_spec){ 4, T, 1, 3, 1, KS_PRIOR_X0, EXACT_ENTRY });
    for (int i = 0; i < 3; ++i) model_block(&g->H, 0, 0)[i] = i == 0;
    model_round(g);
    for (int p = 0; p < 2; ++p) {
        const ks_info filter = steps_of(g, &filter_once, (ks_precision)p);
        assert_int_equal(filter.array_steps, T);
        assert_int_equal(filter.ordinary_steps, 0);
        const ks_info smooth = steps_of(g, &smooth_once, (ks_precision)p);
        assert_int_equal(smooth.ordinary_steps + smooth.array_steps, 2 * T);
        assert_int_equal(smooth.ordinary_steps, 0);
    }
    golden_free(g);
}

static void steps_add_up(void **state)
{
    (void)state;
    for (int prior = 0; prior < 2; ++prior)
        for (int64_t B = 1; B <= 3; B += 2) {
            const int64_t T = 50;
            golden *g = model_random((model_spec){ 5, T, B, 3, 2, (ks_prior)prior, 0 });
            const ks_info filter = steps_of(g, &filter_once, KS_F64);
            const ks_info smooth = steps_of(g, &smooth_once, KS_F64);
            const int64_t back = prior == KS_PRIOR_X0 ? T : T - 1;
            assert_int_equal(filter.ordinary_steps + filter.array_steps, B * T);
            assert_int_equal(smooth.ordinary_steps + smooth.array_steps, B * (T + back));
            golden_free(g);
        }
}

static void missing_entries_are_counted(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 6, 60, 2, 3, 2, KS_PRIOR_X0, MISSING });
    int64_t missing = 0;
    for (int i = 0; i < 2 * 60 * 2; ++i) missing += g->y.f64[i] != g->y.f64[i];
    assert_true(missing > 0);
    for (int i = 0; i < all_methods_count; ++i) {
        const ks_info info = steps_of(g, &all_methods[i], KS_F64);
        if (info.missing != missing)
            fail_msg("%s: %lld missing, not %lld", method_case_name(&all_methods[i]),
                     (long long)info.missing, (long long)missing);
    }
    golden_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_follow_their_plans),
        cmocka_unit_test(plans_differ),
        cmocka_unit_test(counts_of_the_papers),
        cmocka_unit_test(ordinary_steps),
        cmocka_unit_test(states_measured_exactly_stay_in_array_form),
        cmocka_unit_test(steps_add_up),
        cmocka_unit_test(missing_entries_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
