/* test_blocktri_rounds.c -- orders of elimination of large blocks on a device: what the rounds say, a
 * partition with cheap ends, and the last rounds in one launch, which must leave what many leave. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "blocktri_laws.h"
#include "cuda/cuda_rounds.h"
#include "sanitizers.h"

enum { SEEDS = SANITIZED ? 1 : SEEDS_OF(3, 3), ALL = 1 << 20 };

/* ---- what the rounds say ---- */

typedef struct order {
    ks_bt_rounds r;
    void *memory;
} order;

static order order_of(int N, int segments)
{
    order o;
    o.memory = malloc(ks_bt_rounds_bytes(N));
    assert_non_null(o.memory);
    OK(ks_bt_rounds_make(&o.r, NULL, N, segments, o.memory));
    return o;
}

/* A chain that is eliminated as the rounds say has each block once, its neighbours at that time, no two of
 * a round side by side, and each product subtracted once, from who is there, after its round. */
static void check_order(int N, int segments)
{
    const order o = order_of(N, segments);
    const ks_bt_rounds *r = &o.r;
    int *gone = calloc((size_t)N, sizeof *gone), *owed = calloc((size_t)N, sizeof *owed);
    int *seen = calloc((size_t)N, sizeof *seen);
    assert_true(gone && owed && seen);
    int64_t nodes = 0;
    for (int q = 0; q < r->count; ++q) {
        const ks_bt_round *round = &r->round[q];
        assert_int_equal(round->number, q);
        assert_int_equal(round->first, nodes);
        assert_true(round->touched >= round->eliminated && round->eliminated >= 1);
        assert_int_equal(round->last, q + 1 == r->count);
        assert_int_equal(round->bare, q == 0 || (q == r->side && r->joined > r->side));
        for (int i = 0; i < round->touched; ++i) {
            const ks_bt_node *node = &r->node[nodes + i];
            const int k = node->k, from[] = { node->from_before, node->from_behind };
            assert_true(!gone[k] && seen[k] != q + 1);
            seen[k] = q + 1;
            assert_true(from[0] < k && (from[1] < 0 || from[1] > k));
            assert_int_equal(round->bare, from[0] < 0 && from[1] < 0 ? 1 : 0);
            for (int side = 0; side < 2; ++side) {
                if (from[side] < 0) continue;
                assert_true(gone[from[side]] && r->round_of[from[side]] < q);
                assert_true(owed[from[side]] & 1 << side);
                owed[from[side]] -= 1 << side;
            }
            if (i >= round->eliminated) {
                assert_true(r->round_of[k] > q);
                continue;
            }
            assert_int_equal(r->round_of[k], q);
            int before = k - 1, behind = k + 1;
            while (before >= 0 && gone[before] && r->round_of[before] < q) --before;
            while (behind < N && gone[behind] && r->round_of[behind] < q) ++behind;
            /* Side 0 of what a block owes goes to the neighbour behind it. */
            owed[k] = (behind < N ? 1 : 0) + (before >= 0 ? 2 : 0);
            assert_int_equal(node->before, before);
            assert_int_equal(node->behind, behind < N ? behind : -1);
            assert_true(before < 0 || r->round_of[before] > q);
            assert_true(behind == N || r->round_of[behind] > q);
            if (before >= 0 && behind < N)
                assert_int_equal(node->to_before, r->round_of[before] < r->round_of[behind]);
        }
        for (int i = 0; i < round->eliminated; ++i) gone[r->node[nodes + i].k] = 1;
        nodes += round->touched;
    }
    assert_int_equal(nodes, r->nodes);
    assert_true(nodes <= 3 * (int64_t)N);
    for (int k = 0; k < N; ++k) assert_true(gone[k] && !owed[k]);
    free(gone);
    free(owed);
    free(seen);
    free(o.memory);
}

static void rounds(void **state)
{
    (void)state;
    for (int N = 1; N <= 40; ++N) {
        check_order(N, 0);
        for (int segments = 2; 2 * segments - 1 <= N; ++segments) check_order(N, segments);
    }
    check_order(256, ks_bt_segments(256, 0));
    check_order(1000, 31);
}

/* Blocks that rounds which may run at once write or read: those whose nodes they hold, and neighbours to
 * which a coupling goes. */
static void rounds_beside_each_other(void **state)
{
    (void)state;
    for (int N = 5; N <= 60; ++N)
        for (int segments = 3; 2 * segments - 1 <= N; ++segments) {
            const order o = order_of(N, segments);
            const ks_bt_rounds *r = &o.r;
            int *owner = calloc((size_t)N, sizeof *owner);
            assert_non_null(owner);
            for (int q = 0; q < r->joined; ++q)
                for (int i = 0; i < r->round[q].touched; ++i) {
                    const int who = q < r->side ? 1 : 2, k = r->node[r->round[q].first + i].k;
                    assert_true(owner[k] == 0 || owner[k] == who);
                    owner[k] = who;
                    /* Who is at the ends holds no coupling of separators, and owes them what is
                     * subtracted once both are done. */
                    assert_true(who == 2 || r->round_of[k] < r->side);
                }
            free(owner);
            free(o.memory);
        }
}

static void operations_of_orders(void **state)
{
    (void)state;
    const order nested = order_of(256, 0), cheap = order_of(256, ks_bt_segments(256, 0));
    const double cube = 1024.0 * 1024 * 1024;
    /* 19/3 n^3 a block but for the ends and the last one; and the plan for n = 1024 needs 1.22 to 1.35
     * TFLOP, as a few figures of the sizes give by hand. */
    const double dear = ks_bt_rounds_operations(&nested.r), low = ks_bt_rounds_operations(&cheap.r) * cube;
    assert_true(dear <= 256 * 19.0 / 3 && dear >= 246 * 19.0 / 3);
    assert_true(low < 1.35e12 && low > 1.2e12);
    /* A chain from both ends costs 7/3 n^3 a block. */
    const order twisted = order_of(101, 2);
    assert_true(fabs(ks_bt_rounds_operations(&twisted.r) - (100 * 7.0 / 3 + 1.0 / 3)) < 1e-9);
    free(nested.memory);
    free(cheap.memory);
    free(twisted.memory);
    assert_int_equal(ks_bt_segments(2, 0), 0);
    assert_int_equal(ks_bt_segments(3, 9), 2);
    assert_int_equal(ks_bt_segments(1000000, 2), 0);
    assert_int_equal(ks_bt_segments(INT64_MAX / 64, 0), 0);
    /* Where ten segments are too long, the default is the first number of twice as many that is not. */
    const int many = ks_bt_segments(1000000, 0);
    assert_true(many > 10 && many % 10 == 0);
    assert_int_equal(ks_bt_segments(1000000, many), many);
    assert_int_equal(ks_bt_segments(1000000, many / 2), 0);
}

/* ---- a partition on the device ---- */

static ks_blocktri_cuda_options partition_of(ks_precision precision, int systems, int inverse,
                                             int64_t segments)
{
    ks_blocktri_cuda_options options = options_of(precision, systems, inverse);
    options.order = KS_BLOCKTRI_PARTITION;
    options.segments = segments;
    return options;
}

static void partitions(void **state)
{
    (void)state;
    static const struct { int N, n, nrhs, systems, segments; } sizes[] = {
        { 1, 5, 1, 1, 0 },  { 2, 5, 1, 1, 2 },  { 3, 17, 1, 1, 2 },  { 5, 9, 2, 1, 3 },
        { 9, 20, 1, 2, 4 }, { 14, 6, 9, 1, 3 }, { 23, 8, 20, 1, 5 }, { 8, 70, 1, 1, 3 },
        { 30, 4, 1, 1, 0 },
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i)
        for (int seed = 0; seed < SEEDS; ++seed) {
            use_seed(2 + 4 * seed + (int)i % 2);
            run_with(partition_of(i % 4 == 3 ? KS_F32 : KS_F64, sizes[i].systems, 0, sizes[i].segments),
                     sizes[i].N, sizes[i].n, sizes[i].nrhs, (unsigned)i);
        }
}

static void inverses(void **state)
{
    (void)state;
    for (int N = 3; N <= 17; N += 7)
        for (int segments = 2; segments <= 4; ++segments) {
            use_seed(N + segments);
            invert_with(partition_of(segments == 3 ? KS_F32 : KS_F64, 1 + segments % 2, 1, segments), N,
                        3 + 5 * segments, (unsigned)N, 1);
        }
}

/* ---- who eliminates subtracts, by atomic sums ---- */

static ks_blocktri_cuda_options pushing(ks_blocktri_cuda_options options)
{
    options.atomic = 1;
    return options;
}

/* The laws of any order, also where two streams push to the same separator, and blocks of the inverse. The
 * factor is made anew in the memory of the last one. */
static void atomic_sums(void **state)
{
    (void)state;
    static const struct { int N, n, nrhs, systems, segments; } sizes[] = {
        { 1, 5, 1, 1, 0 },  { 2, 20, 1, 1, 0 }, { 9, 20, 2, 2, 0 }, { 7, 70, 1, 1, 0 },
        { 3, 130, 1, 1, 0 }, { 23, 8, 20, 1, 5 }, { 8, 70, 1, 1, 3 }, { 16, 33, 1, 1, 0 },
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i)
        for (int seed = 0; seed < SEEDS; ++seed) {
            const ks_precision precision = i % 4 == 2 ? KS_F32 : KS_F64;
            use_seed(2 + 4 * seed + (int)i % 2);
#ifdef EMULATED
            ks_emulated.watch = "ks_bt_push";
#endif
            run_with(pushing(sizes[i].segments
                                 ? partition_of(precision, sizes[i].systems, 0, sizes[i].segments)
                                 : options_of(precision, sizes[i].systems, 0)),
                     sizes[i].N, sizes[i].n, sizes[i].nrhs, (unsigned)i);
#ifdef EMULATED
            assert_true(sizes[i].N == 1 || ks_emulated.watched > 0);
#endif
        }
    use_seed(3);
    invert_with(pushing(options_of(KS_F64, 2, 1)), 9, 18, 4, 1);
}

/* ---- the last rounds in one launch ---- */

/* Of the systems: entries of a symmetric matrix that are drawn from -1/2 .. 1/2, 3 n in a row, have eigenvalues
 * between -sqrt(n) and sqrt(n), and 1.6 sqrt(n) is added to the diagonal. */
enum { CONDITION = 5 };

typedef struct answers {
    double logdet[MOST_SYSTEMS];
    double slack;            /* what a solution may be off by, relative, and a log-determinant       */
    double logdet_slack;
    size_t bytes, number;    /* of a solution, of a number                                          */
    char *x[3];              /* factor and solve at once; factor, then solve; in the place of b  */
    long launches;
} answers;

static long launches_so_far(void)
{
#ifdef EMULATED
    return ks_emulated.launches;
#else
    return 0;
#endif
}

static void keep(job *j, answers *a, int which, const void *from)
{
    const size_t each = (size_t)j->columns * j->number;
    fetch(j, from);
    a->bytes = each * (size_t)j->count;
    a->x[which] = malloc(a->bytes);
    assert_non_null(a->x[which]);
    for (int s = 0; s < j->count; ++s) memcpy(a->x[which] + (size_t)s * each, j->system[s].x, each);
}

static answers answer(ks_blocktri_cuda_options options, int together, int64_t N, int n, int nrhs)
{
    answers a = { .bytes = 0 };
    options.together = together;
    job j = begin_with(options, N, n, nrhs, 3);
    a.number = j.number;
    a.slack = 2 * CONDITION * tolerance(&j);
    a.logdet_slack = tolerance(&j) * (double)(N * n) * 10;
    const long begun = launches_so_far();
    OK(ks_blocktri_cuda_factor_solve(j.plan, j.D, j.L, nrhs, j.b, j.x, NULL));
    wait(&j);
    a.launches = launches_so_far() - begun;
    keep(&j, &a, 0, j.x.data);
    OK(ks_blocktri_cuda_factorize(j.plan, j.D, j.L, NULL));
    OK(ks_blocktri_cuda_solve(j.plan, nrhs, j.b, j.x, NULL));
    wait(&j);
    OK(ks_blocktri_cuda_logdet(j.plan, a.logdet, NULL));
    keep(&j, &a, 1, j.x.data);
    const ks_cuda_blocks over = { (void *)(uintptr_t)j.b.data, j.b.stride, j.b.system_stride };
    OK(ks_blocktri_cuda_solve(j.plan, nrhs, j.b, over, NULL));
    wait(&j);
    keep(&j, &a, 2, j.b.data);
    end(&j);
    return a;
}

static void forget(answers *a)
{
    for (int i = 0; i < 3; ++i) free(a->x[i]);
}

/* The relative distance of two solutions; nothing stands between the blocks of either. */
static double distance(const answers *a, const answers *b, int which)
{
    double apart = 0, all = 0;
    for (size_t at = 0; at < a->bytes; at += a->number) {
        double of[2];
        for (int i = 0; i < 2; ++i) {
            const char *const x = (i ? b : a)->x[which] + at;
            float narrow;
            memcpy(&narrow, x, sizeof narrow);
            if (a->number == sizeof narrow) of[i] = (double)narrow;
            else memcpy(&of[i], x, sizeof of[i]);
        }
        assert_int_equal(isnan(of[0]) != 0, isnan(of[1]) != 0);
        if (isnan(of[0])) continue;
        apart += (of[0] - of[1]) * (of[0] - of[1]);
        all += of[1] * of[1];
    }
    return all > 0 ? sqrt(apart / all) : (double)INFINITY;
}

/* One launch has the text of many, in another kernel: where nvcc contracts products and sums of one otherwise than of
 * the other they are as far apart as both may be from what is right. */
static void same_answers(const answers *a, const answers *b, int systems)
{
    assert_int_equal(a->bytes, b->bytes);
    for (int i = 0; i < 3; ++i) {
        const double apart = distance(a, b, i);
        if (!(apart <= 2 * a->slack)) fail_msg("solution %d is %.3g apart", i, apart);
    }
    for (int s = 0; s < systems; ++s) assert_true(fabs(a->logdet[s] - b->logdet[s]) <= 2 * a->logdet_slack);
#ifdef EMULATED
    for (int i = 0; i < 3; ++i) assert_memory_equal(a->x[i], b->x[i], a->bytes);
    assert_memory_equal(a->logdet, b->logdet, (size_t)systems * sizeof(double));
#endif
}

static void answers_of_many_launches(void **state)
{
    (void)state;
    static const struct { int N, n, nrhs, systems; } sizes[] = {
        { 1, 40, 1, 1 }, { 6, 33, 1, 1 }, { 4, 70, 2, 1 }, { 5, 35, 17, 1 }, { 3, 130, 1, 1 }, { 7, 36, 10, 2 },
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        const int systems = sizes[i].systems;
        const ks_blocktri_cuda_options options = options_of(i % 3 == 2 ? KS_F32 : KS_F64, systems, 0);
        use_seed(1);
        answers many = answer(options, 0, sizes[i].N, sizes[i].n, sizes[i].nrhs);
        for (int seed = 0; seed < SEEDS; ++seed) {
            const int together = seed == 0 ? -1 : seed == 1 ? 2 : ALL;
            use_seed(seed + 5 * (int)i);
            answers one = answer(options, together, sizes[i].N, sizes[i].n, sizes[i].nrhs);
            same_answers(&many, &one, systems);
#ifdef EMULATED
            /* One launch, the failures' memory aside, where right-hand sides are few. */
            if (together == ALL && sizes[i].nrhs <= 16) assert_int_equal(one.launches, 1);
            if (together > 0) assert_true(one.launches < many.launches);
#endif
            forget(&one);
        }
        forget(&many);
    }
}

#ifdef EMULATED
/* By itself the plan takes rounds together as far as the device holds all work of each at once: the more
 * multiprocessors, the more rounds, so the fewer launches; and none where there is but a launch to save. */
static void as_many_as_fit(void **state)
{
    (void)state;
    long launches[3];
    static const int multiprocessors[3] = { 1, 4, 16 };
    const ks_blocktri_cuda_options options = options_of(KS_F64, 1, 0);
    for (int i = 0; i < 3; ++i) {
        use_seed(1 + i);
        ks_emulated.multiprocessors = multiprocessors[i];
        answers a = answer(options, -1, 20, 33, 1);
        launches[i] = a.launches;
        forget(&a);
    }
    assert_true(launches[0] > launches[1] && launches[1] > launches[2]);
    assert_int_equal(launches[2], 1);
    use_seed(1);
    answers alone = answer(options, -1, 1, 40, 1);
    assert_true(alone.launches > 1);
    forget(&alone);
}
#endif

static void separators_in_one_launch(void **state)
{
    (void)state;
    const ks_blocktri_cuda_options options = partition_of(KS_F64, 1, 0, 5);
    use_seed(2);
    answers many = answer(options, 0, 15, 12, 1);
    for (int seed = 0; seed < SEEDS; ++seed) {
        use_seed(6 + seed);
        answers one = answer(options, seed == 1 ? 1 : ALL, 15, 12, 1);
        same_answers(&many, &one, 1);
        forget(&one);
    }
    forget(&many);
}

static void arguments(void **state)
{
    (void)state;
    use_seed(1);
    ks_blocktri_cuda_plan *plan;
    ks_blocktri_cuda_options options = partition_of(KS_F64, 1, 0, 1);
    assert_int_equal(ks_blocktri_cuda_plan_create(&plan, NULL, 9, 4, &options), KS_EINVAL);
    options.segments = 3;
    options.together = -2;
    assert_int_equal(ks_blocktri_cuda_plan_create(&plan, NULL, 9, 4, &options), KS_EINVAL);
    options.together = 2;
    options.atomic = 1;
    assert_int_equal(ks_blocktri_cuda_plan_create(&plan, NULL, 9, 4, &options), KS_EINVAL);
    options.together = 0;
    options.order = KS_BLOCKTRI_RECURSIVE_SCHUR;
    assert_int_equal(ks_blocktri_cuda_plan_create(&plan, NULL, 9, 4, &options), KS_EINVAL);
    options.order = KS_BLOCKTRI_PARTITION;
    options.atomic = 2;
    assert_int_equal(ks_blocktri_cuda_plan_create(&plan, NULL, 9, 4, &options), KS_EINVAL);
    options.atomic = 0;
    options.together = -1;
    options.segments = 2;
    assert_int_equal(ks_blocktri_cuda_plan_create(&plan, NULL, 1000000, 4, &options), KS_ENOMEM);
    assert_true(ks_blocktri_cuda_bytes(1000000, 4, &options) == SIZE_MAX);
#ifdef EMULATED
    /* Whatever cannot be had: nothing is left of a plan that is not made. */
    for (int fail = 1; fail < 40; ++fail) {
        use_seed(1);
        ks_emulated.fail_at = fail;
        const ks_status status = ks_blocktri_cuda_plan_create(&plan, NULL, 9, 4, &options);
        ks_emulated.fail_at = 0;
        if (status) assert_int_equal(status, KS_ENOMEM);
        ks_blocktri_cuda_plan_destroy(plan);
        check_clean();
        if (!status) break;
    }
#endif
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds),
        cmocka_unit_test(rounds_beside_each_other),
        cmocka_unit_test(operations_of_orders),
        cmocka_unit_test(partitions),
        cmocka_unit_test(inverses),
        cmocka_unit_test(atomic_sums),
        cmocka_unit_test(answers_of_many_launches),
#ifdef EMULATED
        cmocka_unit_test(as_many_as_fit),
#endif
        cmocka_unit_test(separators_in_one_launch),
        cmocka_unit_test(arguments),
    };
    only_tests(argc, argv, tests);
    if (no_device()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
