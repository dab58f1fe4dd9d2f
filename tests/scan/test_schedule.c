/* test_schedule.c -- proof that the schedules are scans: intervals for elements, races, counts. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "assert_within.h"

#include "cases.h"
#include "plan.h"

static ks_scan_plan *plan_for(const ks_scan_options *options, int64_t length)
{
    ks_scan_plan *plan = NULL;
    assert_int_equal(ks_scan_plan_create(&plan, NULL, length, options), KS_OK);
    return plan;
}

static void name_case(const ks_scan_options *o, int64_t length)
{
    print_error("%s, N = %" PRId64 ", chunks = %" PRId64 ", %s, length %" PRId64 "\n",
                ks_scan_name(o->algorithm), o->threshold, o->chunks,
                o->direction == KS_FORWARD ? "forward" : "reverse", length);
}

/* Every combine joins neighbours, slot k ends as [0, k + 1) or [k, length), and the statistics say
 * how many combines there were. Uninitialised work slots hold intervals that join nothing. */
static int intervals_hold(const ks_scan_options *options, int64_t length)
{
    ks_scan_plan *plan = plan_for(options, length);
    interval_user user;
    const ks_operator op = interval_operator(&user);
    const size_t bytes = ks_scan_workspace_bytes(plan, &op);
    interval *x = aligned_block((size_t)length * sizeof *x);
    void *work = aligned_block(bytes);
    memset(work, 0x5b, bytes);
    for (int64_t *w = work; (size_t)(w - (int64_t *)work) + 2 <= bytes / sizeof *w; w += 2) {
        w[0] = -7000;
        w[1] = -6000;
    }
    for (int64_t k = 0; k < length; ++k) {
        x[k].lo = k;
        x[k].hi = k + 1;
    }
    int holds = ks_scan_run(plan, &op, x, work) == KS_OK;
    for (int64_t k = 0; k < length && holds; ++k) {
        const int forward = options->direction == KS_FORWARD;
        holds = x[k].lo == (forward ? 0 : k) && x[k].hi == (forward ? k + 1 : length);
    }
    holds = holds && ks_scan_plan_stats(plan).combines == atomic_load(&user.combines);
    free(work);
    free(x);
    ks_scan_plan_destroy(plan);
    return holds;
}

/* Walks the slots of a schedule: what each lane reads and writes in a round. */
typedef struct walk {
    const ks_schedule *schedule;
    int64_t *writer[KS_BUFFERS]; /* stamp of the lane that wrote the slot last */
    int64_t stamp;               /* of the lane at hand; grows                 */
    int64_t round_start;         /* first stamp of the round                   */
    int good;
} walk;

static void walk_write(walk *w, const ks_slots *s, int64_t slot)
{
    if (s->buffer == KS_NO_BUFFER) return;
    if (slot < 0 || slot >= w->schedule->length[s->buffer]) {
        w->good = 0;
        return;
    }
    int64_t *writer = &w->writer[s->buffer][slot];
    if (*writer >= w->round_start && *writer != w->stamp) w->good = 0;
    *writer = w->stamp;
}

static void walk_read(walk *w, const ks_slots *s, int64_t slot)
{
    if (s->buffer == KS_NO_BUFFER) return;
    if (slot < 0 || slot >= w->schedule->length[s->buffer]) {
        w->good = 0;
        return;
    }
    const int64_t writer = w->writer[s->buffer][slot];
    if (writer >= w->round_start && writer != w->stamp) w->good = 0;
}

static void walk_lane(walk *w, const ks_part *part, int64_t lane, int reads)
{
    const int64_t slots = part->kind == KS_PART_ABSORB ? 1 : part->chain;
    for (int64_t c = 0; c < slots; ++c) {
        if (reads) {
            walk_read(w, &part->lhs, ks_slot(&part->lhs, lane, c));
            walk_read(w, &part->rhs, ks_slot(&part->rhs, lane, c));
            continue;
        }
        walk_write(w, &part->dst, ks_slot(&part->dst, lane, c));
        if (part->kind == KS_PART_RERUN)
            walk_write(w, &part->rhs, ks_slot(&part->rhs, lane, c));
        if (part->kind == KS_PART_DOWN_SWEEP) { /* one of them is dst */
            walk_write(w, &part->lhs, ks_slot(&part->lhs, lane, c));
            walk_write(w, &part->rhs, ks_slot(&part->rhs, lane, c));
        }
    }
}

/* No slot written by one lane is read or written by another lane of the same round, and all slots
 * lie inside their buffers. */
static int races_absent(const ks_schedule *schedule)
{
    walk w = {schedule, {NULL, NULL, NULL}, 1, 1, 1};
    for (int b = 0; b < KS_BUFFERS; ++b) {
        w.writer[b] = calloc((size_t)schedule->length[b] + 1, sizeof *w.writer[b]);
        assert_non_null(w.writer[b]);
    }
    for (int64_t r = 0; r < schedule->rounds; ++r) {
        const ks_round *round = &schedule->round[r];
        const int64_t start = w.round_start = w.stamp;
        for (int reads = 0; reads <= 1; ++reads) {
            w.stamp = start;
            for (int p = 0; p < round->parts; ++p)
                for (int64_t l = 0; l < round->part[p].lanes; ++l, ++w.stamp)
                    walk_lane(&w, &round->part[p], l, reads);
        }
    }
    for (int b = 0; b < KS_BUFFERS; ++b) free(w.writer[b]);
    return w.good;
}

static int schedules_race_free(const ks_scan_options *options, int64_t length)
{
    ks_scan_plan *plan = plan_for(options, length);
    const int good = races_absent(&plan->inside) && races_absent(&plan->outside);
    ks_scan_plan_destroy(plan);
    return good;
}

/* Calls check for every planner, both directions, lengths 1..300 and the long ones. */
static void for_all_plans(int (*check)(const ks_scan_options *options, int64_t length))
{
    for (int i = 0; i < case_count; ++i)
        for (int direction = KS_FORWARD; direction <= KS_REVERSE; ++direction) {
            ks_scan_options options = cases[i];
            options.direction = (ks_direction)direction;
            for (int64_t j = 1; j <= 300 + long_length_count; ++j) {
                const int64_t length = j <= 300 ? j : long_lengths[j - 301];
                if (!check(&options, length)) {
                    name_case(&options, length);
                    fail();
                }
            }
        }
}

static void every_combine_joins_neighbours(void **state)
{
    (void)state;
    for_all_plans(intervals_hold);
}

static void no_lane_touches_what_another_writes(void **state)
{
    (void)state;
    for_all_plans(schedules_race_free);
}

/* The check itself must see a race: two lanes that write neighbouring slots which both read. */
static void race_check_sees_races(void **state)
{
    (void)state;
    ks_round shared = {0};
    const ks_slots dst = {KS_ELEMENTS, 1, 1, 0}, lhs = {KS_ELEMENTS, 0, 1, 0};
    ks_round_add(&shared, KS_PART_COMBINE, 3, 1, dst, lhs, dst);
    const ks_schedule racy = {{4, 0, 0}, 1, &shared};
    assert_false(races_absent(&racy));
    const ks_schedule outside = {{3, 0, 0}, 1, &shared};
    assert_false(races_absent(&outside));
    shared.part[0].lanes = 1;
    assert_true(races_absent(&racy));
}

/* Run a schedule of combines alone on intervals: false where two that join are no neighbours. */
static int join_intervals(const ks_schedule *schedule, interval *const buffer[2])
{
    for (int64_t r = 0; r < schedule->rounds; ++r)
        for (int p = 0; p < schedule->round[r].parts; ++p) {
            const ks_part *part = &schedule->round[r].part[p];
            for (int64_t l = 0; l < part->lanes; ++l) {
                const interval lhs = buffer[part->lhs.buffer][ks_slot(&part->lhs, l, 0)];
                const interval rhs = buffer[part->rhs.buffer][ks_slot(&part->rhs, l, 0)];
                if (part->kind != KS_PART_COMBINE || part->chain != 1 || lhs.hi != rhs.lo) return 0;
                buffer[part->dst.buffer][ks_slot(&part->dst, l, 0)] = (interval){ lhs.lo, rhs.hi };
            }
        }
    return 1;
}

/* Both directions side by side: prefixes in one buffer and suffixes in the other, in the rounds of one direction. */
static void both_ways_at_once(void **state)
{
    (void)state;
    enum { MOST = 200 };
    ks_scan_options options = KS_SCAN_OPTIONS_INIT;
    options.algorithm = KS_SCAN_LADNER_FISCHER;
    for (int64_t length = 1; length <= MOST; ++length) {
        interval x[MOST], y[MOST], *const buffer[2] = { x, y };
        ks_scan_plan *plan = plan_for(&options, length);
        const ks_scan_stats one = ks_scan_plan_stats(plan);
        ks_scan_plan_both_ways(plan);
        const ks_scan_stats both = ks_scan_plan_stats(plan);
        assert_int_equal(both.combines, 2 * one.combines);
        assert_int_equal(both.rounds, one.rounds);
        assert_int_equal(both.span, one.span);
        assert_int_equal(ks_scan_plan_spare(plan), length);
        assert_true(races_absent(&plan->inside));
        for (int64_t k = 0; k < length; ++k) x[k] = y[k] = (interval){ k, k + 1 };
        assert_true(join_intervals(&plan->inside, buffer));
        for (int64_t k = 0; k < length; ++k)
            assert_true(x[k].lo == 0 && x[k].hi == k + 1 && y[k].lo == k && y[k].hi == length);
        ks_scan_plan_destroy(plan);
    }
}

static int64_t floor_log2(int64_t n)
{
    int64_t log = 0;
    while (n >>= 1) ++log;
    return log;
}

static int64_t ceil_log2(int64_t n) { return n == 1 ? 0 : floor_log2(n - 1) + 1; }

static int64_t ones(int64_t n)
{
    int64_t count = 0;
    for (; n; n >>= 1) count += n & 1;
    return count;
}

static int64_t hillis_steele_combines(int64_t n)
{
    int64_t sum = 0;
    for (int64_t h = 1; h < n; h *= 2) sum += n - h;
    return sum;
}

/* sum of floor(n / 2^d) is n - ones(n); the way down has n - 1 - floor(log2 n), by Hermite. */
static int64_t ladner_fischer_combines(int64_t n)
{
    return n == 0 ? 0 : 2 * n - ones(n) - 1 - floor_log2(n);
}

static int64_t ladner_fischer_rounds(int64_t n)
{
    if (n < 2) return 0;
    const int64_t up = floor_log2(n);
    return up + (n >= 3 * (INT64_C(1) << (up - 1)) ? up : up - 1);
}

static void counts_follow_closed_forms(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 1100; ++n) {
        ks_scan_options options = KS_SCAN_OPTIONS_INIT;
        for (int algorithm = 0; algorithm < KS_SCAN_CHUNKED; ++algorithm) {
            options.algorithm = (ks_scan_algorithm)algorithm;
            ks_scan_plan *plan = plan_for(&options, n);
            const ks_scan_stats stats = ks_scan_plan_stats(plan);
            int64_t combines = 0, rounds = 0, span = -1;
            switch (options.algorithm) {
            case KS_SCAN_HILLIS_STEELE:
                combines = hillis_steele_combines(n);
                span = rounds = ceil_log2(n);
                break;
            case KS_SCAN_BLELLOCH:
                combines = 3 * n - 2;
                rounds = 2 * ceil_log2(n) + 3;
                span = rounds - 2; /* storing the input and the neutral root combine nothing */
                break;
            case KS_SCAN_LADNER_FISCHER:
                combines = ladner_fischer_combines(n);
                span = rounds = ladner_fischer_rounds(n);
                break;
            case KS_SCAN_SENGUPTA:
                combines = ladner_fischer_combines(n); /* N = 1: the same tree, stored otherwise */
                rounds = 2 * floor_log2(n);
                span = ladner_fischer_rounds(n); /* its first round down may only copy */
                break;
            case KS_SCAN_CHUNKED: break;
            }
            int64_t count = 0;
            assert_non_null(ks_scan_plan_rounds(plan, &count));
            assert_int_equal(count, stats.rounds);
            assert_int_equal(stats.combines, combines);
            assert_int_equal(stats.rounds, rounds);
            assert_int_equal(stats.span, span);
            assert_int_equal(stats.chunks, 0);
            ks_scan_plan_destroy(plan);
        }
    }
}

static void sengupta_stops_at_its_threshold(void **state)
{
    (void)state;
    const int64_t thresholds[] = {2, 7, 16, 1000, 20000};
    for (int i = 0; i < 5; ++i)
        for (int64_t n = 1; n <= 40000; n += 1 + n / 5) {
            ks_scan_options options = KS_SCAN_OPTIONS_INIT;
            options.algorithm = KS_SCAN_SENGUPTA;
            options.threshold = thresholds[i];
            int64_t combines = 0, rounds = 0, m = n;
            for (; m > thresholds[i]; m /= 2, rounds += 2) combines += m / 2 + (m - 1) / 2;
            combines += hillis_steele_combines(m);
            rounds += ceil_log2(m);
            ks_scan_plan *plan = plan_for(&options, n);
            assert_int_equal(ks_scan_plan_stats(plan).combines, combines);
            assert_int_equal(ks_scan_plan_stats(plan).rounds, rounds);
            ks_scan_plan_destroy(plan);
        }
}

static void chunked_counts(void **state)
{
    (void)state;
    const int64_t wanted[] = {0, 1, 2, 3, 64, 1000};
    for (int i = 0; i < 6; ++i)
        for (int64_t n = 1; n <= 100000; n += 1 + n / 3) {
            ks_scan_options options = KS_SCAN_OPTIONS_INIT;
            options.algorithm = KS_SCAN_CHUNKED;
            options.chunks = wanted[i];
            ks_scan_plan *plan = plan_for(&options, n);
            const ks_scan_stats stats = ks_scan_plan_stats(plan);
            const int64_t count = stats.chunks, most = wanted[i] ? wanted[i] : 256;
            assert_within(count, 1, most < n ? most : n);
            const int64_t size = (n + count - 1) / count, last = n - (count - 1) * size;
            assert_within(last, 1, size);
            const int64_t inside = n - count;
            const int64_t middle = ladner_fischer_combines(count - 1);
            const int64_t again = count == 1 ? 0 : (count - 2) * (size - 1) + last;
            assert_int_equal(stats.combines, inside + middle + again);
            int64_t span = size - 1 + ladner_fischer_rounds(count - 1);
            if (count > 1) span += count > 2 && size - 1 > last ? size - 1 : last;
            assert_int_equal(stats.span, span);
            ks_scan_plan_destroy(plan);
        }
}

/* Work slots: what the paper's algorithms need and no more. */
static void extra_storage(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 300; ++n) {
        ks_scan_options options = KS_SCAN_OPTIONS_INIT;
        for (int algorithm = 0; algorithm < KS_SCAN_ALGORITHMS; ++algorithm) {
            options.algorithm = (ks_scan_algorithm)algorithm;
            ks_scan_plan *plan = plan_for(&options, n);
            const int64_t slots = plan->inside.length[KS_WORK];
            switch (options.algorithm) {
            case KS_SCAN_HILLIS_STEELE: assert_int_equal(slots, n > 2 ? n : 0); break;
            case KS_SCAN_BLELLOCH: assert_int_equal(slots, n); break;
            case KS_SCAN_LADNER_FISCHER: assert_int_equal(slots, 0); break;
            case KS_SCAN_SENGUPTA: assert_int_equal(slots, n - ones(n)); break;
            case KS_SCAN_CHUNKED: assert_int_equal(slots, 0); break;
            }
            ks_scan_plan_destroy(plan);
        }
    }
}

/* Affine slots of a part take their extremes at its corners. */
static void assert_corners_inside(const ks_schedule *schedule, const ks_part *part,
                                  const ks_slots *s)
{
    if (s->buffer == KS_NO_BUFFER) return;
    for (int corner = 0; corner < 4; ++corner) {
        const int64_t lane = corner & 1 ? part->lanes - 1 : 0;
        const int64_t position = corner & 2 ? part->chain - 1 : 0;
        const int64_t slot = ks_slot(s, lane, position);
        assert_true(slot >= 0 && slot < schedule->length[s->buffer]);
    }
}

static void huge_lengths_plan_small(void **state)
{
    (void)state;
    const int64_t lengths[] = {1000000000, INT64_C(1000000000000), (INT64_C(1) << 40) - 1,
                               INT64_MAX / 4};
    for (int i = 0; i < case_count; ++i)
        for (int j = 0; j < 8; ++j) {
            ks_scan_options options = cases[i];
            options.direction = j < 4 ? KS_FORWARD : KS_REVERSE;
            ks_scan_plan *plan = plan_for(&options, lengths[j % 4]);
            const ks_schedule *schedule = &plan->inside;
            assert_within(schedule->rounds, 1, 130);
            for (int64_t r = 0; r < schedule->rounds; ++r)
                for (int p = 0; p < schedule->round[r].parts; ++p) {
                    const ks_part *part = &schedule->round[r].part[p];
                    assert_true(part->lanes >= 1 && part->chain >= 1);
                    assert_corners_inside(schedule, part, &part->dst);
                    assert_corners_inside(schedule, part, &part->lhs);
                    assert_corners_inside(schedule, part, &part->rhs);
                }
            assert_true(ks_scan_plan_stats(plan).combines >= lengths[j % 4] - 1);
            ks_scan_plan_destroy(plan);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_combine_joins_neighbours),
        cmocka_unit_test(no_lane_touches_what_another_writes),
        cmocka_unit_test(race_check_sees_races),
        cmocka_unit_test(both_ways_at_once),
        cmocka_unit_test(counts_follow_closed_forms),
        cmocka_unit_test(sengupta_stops_at_its_threshold),
        cmocka_unit_test(chunked_counts),
        cmocka_unit_test(extra_storage),
        cmocka_unit_test(huge_lengths_plan_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
