/* test_orders.c -- the orders as data: what they eliminate, side by side with what, and how much
 * of it stands on the critical path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "orders.h"

static void make(ks_bt_schedule *s, int64_t N, int order, int64_t segments, int64_t spacing,
                 int64_t crossover)
{
    ks_blocktri_options o = KS_BLOCKTRI_OPTIONS_INIT;
    o.segments = segments;
    o.separator_spacing = spacing;
    o.crossover = crossover;
    ks_bt_schedule_make(s, N, (ks_blocktri_order)order, &o);
}

/* Elimination on the path itself: the neighbours that a block has when its turn comes. */
typedef struct path {
    int64_t *below, *above; /* neighbours; -1: none */
    int *gone;
} path;

static void eliminate(path *p, int64_t block, int64_t anchor, int64_t ahead, int down)
{
    const int64_t below = p->below[block], above = p->above[block];
    assert_false(p->gone[block]);
    p->gone[block] = 1;
    if (below >= 0) p->above[below] = above;
    if (above >= 0) p->below[above] = below;
    /* What the schedule takes for its neighbours must be all that it has. */
    if (down) {
        assert_int_equal(above, -1);
        assert_int_equal(below, ahead);
    } else {
        assert_int_equal(below, anchor);
        assert_int_equal(above, ahead);
    }
}

static void check_schedule(const ks_bt_schedule *s)
{
    const int64_t N = s->N;
    path p = { malloc((size_t)N * sizeof(int64_t)), malloc((size_t)N * sizeof(int64_t)),
               calloc((size_t)N, sizeof(int)) };
    int *filled = calloc((size_t)s->fill_blocks + 1, sizeof(int));
    assert_true(p.below && p.above && p.gone && filled);
    for (int64_t i = 0; i < N; ++i) p.below[i] = i - 1, p.above[i] = i + 1 < N ? i + 1 : -1;
    for (int l = 0; l < s->levels; ++l) {
        const ks_bt_level *level = &s->level[l];
        if (l > 0)
            for (int64_t e = 0; e < level->nodes - 1; ++e) ++filled[level->edges + e];
        for (int64_t q = 0; q < level->lanes; ++q) {
            const ks_bt_lane lane = ks_bt_lane_of(level, q);
            const int64_t anchor = lane.anchor >= 0 ? ks_bt_block(s, level, lane.anchor) : -1;
            assert_true(lane.count >= 0);
            for (int64_t k = 0; k < lane.count; ++k) {
                const int64_t at = lane.down ? lane.begin + lane.count - 1 - k : lane.begin + k;
                const int64_t next = k + 1 < lane.count ? at + (lane.down ? -1 : 1) : lane.target;
                eliminate(&p, ks_bt_block(s, level, at), anchor,
                          next >= 0 ? ks_bt_block(s, level, next) : -1, lane.down);
                if (anchor >= 0 && k > 0) ++filled[lane.fill + k - 1];
            }
        }
    }
    for (int64_t i = 0; i < N; ++i) assert_true(p.gone[i]);
    for (int64_t i = 0; i < s->fill_blocks; ++i) assert_int_equal(filled[i], 1);
    free(p.below);
    free(p.above);
    free(p.gone);
    free(filled);
}

static void test_every_block_once(void **state)
{
    (void)state;
    ks_bt_schedule s;
    for (int64_t N = 1; N <= 130; ++N)
        for (int order = 1; order < KS_BLOCKTRI_ORDERS; ++order)
            for (int64_t a = 2; a <= 9; ++a)
                for (int64_t b = 2; b <= 4; ++b) {
                    make(&s, N, order, a, a < N ? a : 2, b);
                    check_schedule(&s);
                }
}

/* Thirds of n^3 flops: 7 for a block without an anchor, 19 with one. */
static int64_t cost(const ks_bt_lane *lane) { return lane->count * (lane->anchor >= 0 ? 19 : 7); }

/* Of a level on P workers, lanes dealt in turn. */
static int64_t level_time(const ks_bt_level *level, int64_t P)
{
    int64_t most = 0;
    for (int64_t p = 0; p < P; ++p) {
        int64_t sum = 0;
        for (int64_t q = p; q < level->lanes; q += P) {
            const ks_bt_lane lane = ks_bt_lane_of(level, q);
            sum += cost(&lane);
        }
        if (sum > most) most = sum;
    }
    return most;
}

static int64_t schedule_time(const ks_bt_schedule *s, int64_t P)
{
    int64_t sum = 0;
    for (int l = 0; l < s->levels; ++l) sum += level_time(&s->level[l], P);
    return sum;
}

static void test_critical_paths(void **state)
{
    (void)state;
    const int64_t N = 10000;
    ks_bt_schedule s;
    for (int64_t P = 2; P <= 16; P *= P) {
        make(&s, N, KS_BLOCKTRI_SEQUENTIAL, 2, 2, 2);
        assert_int_equal(schedule_time(&s, P), 7 * N);
        make(&s, N, KS_BLOCKTRI_TWISTED, 2, 2, 2);
        assert_int_equal(schedule_time(&s, P), 7 * (N / 2 + 1));
        assert_int_equal(s.fill_blocks, 0);

        /* Partition: N - (P - 1) blocks shared out 19 : 7, then the pivots. */
        make(&s, N, KS_BLOCKTRI_PARTITION, P, 2, 2);
        const double ideal = (double)(N - (P - 1)) * 7 * 19 / (double)(19 + 7 * (P - 1));
        const double time = (double)(schedule_time(&s, P) - 7 * (P - 1));
        assert_true(time >= ideal && time <= ideal + 19);

        /* Nested dissection with a worker for each lane: one block a level, without an anchor in
         * the last two. */
        make(&s, N, KS_BLOCKTRI_NESTED_DISSECTION, 2, 2, 2);
        assert_int_equal(s.levels, 14);
        assert_int_equal(schedule_time(&s, N), 12 * 19 + 2 * 7);
        int64_t sum = 0;
        for (int l = 0; l < 13; ++l) {
            /* Lane 0 has no anchor, which shows where no other worker has as many lanes. */
            const int64_t lanes = s.level[l].lanes, share = (lanes + P - 1) / P;
            assert_int_equal(lanes, ((N >> l) + 1) / 2);
            sum += 19 * share - (lanes % P == 1 ? 12 : 0);
        }
        assert_int_equal(schedule_time(&s, P), sum + 7);
    }
    /* Recursive Schur: segments of spacing - 1 blocks on every level above the crossover. */
    make(&s, N, KS_BLOCKTRI_RECURSIVE_SCHUR, 2, 10, 12);
    assert_int_equal(s.levels, 4);
    assert_int_equal(s.level[1].nodes, 1001);
    assert_int_equal(s.level[2].nodes, 101);
    assert_int_equal(s.level[3].nodes, 11);
    assert_int_equal(schedule_time(&s, N), 3 * 9 * 19 + 7 * 11);
}

/* Both roundings of the ideal length are tried: no other has a cheaper slowest segment. */
static void test_partition_lengths(void **state)
{
    (void)state;
    for (int64_t N = 5; N <= 300; ++N)
        for (int64_t P = 2; P <= 8 && 2 * P - 1 <= N; ++P) {
            int64_t best = INT64_MAX;
            for (int64_t other = 1; N - (P - 1) * (other + 1) >= 1; ++other) {
                const int64_t first = N - (P - 1) * (other + 1);
                const int64_t most = 7 * first > 19 * other ? 7 * first : 19 * other;
                if (most < best) best = most;
            }
            const int64_t other = ks_bt_partition_other(N, P);
            const int64_t first = N - (P - 1) * (other + 1);
            assert_true(other >= 1 && first >= 1);
            assert_int_equal(7 * first > 19 * other ? 7 * first : 19 * other, best);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_block_once),
        cmocka_unit_test(test_critical_paths),
        cmocka_unit_test(test_partition_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
