/* test_model.c -- the papers' formulas: what the papers say of them, and what is counted beside them.
 *
 * "JMS" and "GPU-Cholesky" are the papers named in kalscan/blocktri.h. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "blocktri_model.h"
#include "count.h"
#include "orders.h"

static const ks_bt_choice sequential = {KS_BLOCKTRI_SEQUENTIAL, 0, 0, 0};
static const ks_bt_choice twisted = {KS_BLOCKTRI_TWISTED, 0, 0, 0};
static const ks_bt_choice partition = {KS_BLOCKTRI_PARTITION, 0, 0, 0};
static const ks_bt_choice dissection = {KS_BLOCKTRI_NESTED_DISSECTION, 0, 0, 0};
static const ks_bt_choice schur = {KS_BLOCKTRI_RECURSIVE_SCHUR, 0, 0, 0};
static const ks_bt_choice single_stage = {KS_BLOCKTRI_PARTITION, (int64_t)1 << 40, 0, 0};

enum { AMPLE = 1 << 30 };

static double speedup(const ks_bt_choice *choice, int64_t N, int64_t P)
{
    return (double)ks_bt_model_time(&sequential, N, 1) / (double)ks_bt_model_time(choice, N, P);
}

/* GPU-Cholesky Sec. 4.1: with two threads 26 / 19, with four barely more than 2, reached from below
 * as N grows; Prop. 1 for the lengths, and its rounding, which the library's partition shares. */
static void partition_as_in_the_paper(void **state)
{
    (void)state;
    assert_true(fabs(ks_bt_model_partition_limit(2) - 26.0 / 19) < 1e-15);
    assert_true(fabs(ks_bt_model_partition_limit(4) - 40.0 / 19) < 1e-15);
    for (int64_t P = 2; P <= 64; P *= 2) {
        double before = 0;
        for (int64_t N = 1000; N <= 100000000; N *= 10) {
            double first, other;
            ks_bt_model_segments(N, P, &first, &other);
            assert_true(fabs(first / other - 19.0 / 7) < 1e-12);
            assert_true(fabs(first + (double)(P - 1) * (other + 1) - (double)N) < 1e-6);
            const double now = speedup(&partition, N, P);
            assert_true(now > before && now < ks_bt_model_partition_limit(P) * (1 + 1e-4));
            before = now;
        }
        assert_true(before > ks_bt_model_partition_limit(P) * (1 - 1e-4));
    }
    for (int64_t N = 3; N <= 400; ++N)
        for (int64_t P = 2; P <= (N + 1) / 2; ++P) {
            /* The best of all lengths, with the parallel phase of P threads. */
            const int64_t other = ks_bt_partition_other(N, P), first = N - (P - 1) * (other + 1);
            int64_t best = INT64_MAX;
            for (int64_t o = 1; N - (P - 1) * (o + 1) >= 1; ++o) {
                const int64_t f = 7 * (N - (P - 1) * (o + 1)), cost = f > 19 * o ? f : 19 * o;
                if (cost < best) best = cost;
            }
            const int64_t cost = 7 * first > 19 * other ? 7 * first : 19 * other;
            assert_int_equal(cost, best);
            const ks_bt_choice here = {KS_BLOCKTRI_PARTITION, P, 0, 0};
            assert_int_equal(ks_bt_model_time(&here, N, P), cost - 3 + 10 * (P - 1) - 6);
        }
}

/* Sec. 4.2: 16 thirds a column, then 10 for each of the others, so that a speed-up is only had with
 * more than four threads, and never more than 7 / 5. */
static void single_stage_as_in_the_paper(void **state)
{
    enum { N = 1000001 };
    (void)state;
    for (int64_t P = 1; P <= 64; ++P) {
        /* The first column has no coupling before it: 12 less for the thread that has it. */
        const int64_t columns = (N + 1) / 2, alone = (columns - 1) % P == 0;
        assert_int_equal(ks_bt_model_time(&single_stage, N, P),
                         16 * ((columns + P - 1) / P) - 12 * alone + 10 * (N / 2) - 6);
        assert_int_equal(speedup(&single_stage, N, P) > 1.001, P > 4);
    }
    assert_true(fabs(speedup(&single_stage, N, AMPLE) - 1.4) < 1e-3);
}

/* Sec. 4.3: floor(log2 N) + 1 stages, the same cost from one power of two to the next. */
static void multi_stage_as_in_the_paper(void **state)
{
    (void)state;
    assert_int_equal(ks_bt_model_time(&dissection, 1, AMPLE), 1);
    for (int64_t k = 1; k < 30; ++k)
        for (int64_t N = (int64_t)1 << k; N < (int64_t)2 << k; N += 1 + N / 5)
            assert_int_equal(ks_bt_model_time(&dissection, N, AMPLE), 16 + 22 * (k - 1) + 4);
    /* Threads that do not suffice for the first stage. */
    assert_true(ks_bt_model_time(&dissection, 1024, 512) == 16 + 22 * 9 + 4);
    assert_true(ks_bt_model_time(&dissection, 1024, 511) == 16 + 16 + 22 * 9 + 4);
    /* Two stages of two, with a sequential end: ahead of one stage, behind all of them. */
    const ks_bt_choice two = {KS_BLOCKTRI_RECURSIVE_SCHUR, 0, 2, 300};
    assert_int_equal(ks_bt_model_time(&two, 1001, AMPLE), 16 + 22 + 10 * 251 - 6);
    assert_true(speedup(&two, 1001, AMPLE) > speedup(&single_stage, 1001, AMPLE));
    assert_true(speedup(&two, 1001, AMPLE) < speedup(&dissection, 1001, AMPLE));
}

/* Coefficients of n^3 in the cost of each operation, in thirds: third differences over n. */
static ks_flops leading(ks_flops a, ks_flops b, ks_flops c, ks_flops d)
{
    const int64_t sum = ks_flops_total(d) - 3 * ks_flops_total(c) + 3 * ks_flops_total(b) -
                        ks_flops_total(a);
    const ks_flops thirds = {sum / 2, 0, 0, 0};
    assert_int_equal(sum % 2, 0);
    return thirds;
}

static const ks_unit_costs *leading_costs(void)
{
    enum { FROM = 5 };
    static ks_unit_costs costs[5];
    ks_unit_costs *to = &costs[4];
    if (to->nx > 0) return to;
    for (int i = 0; i < 5; ++i) {
        assert_int_equal(ks_unit_costs_find(&costs[i], FROM + i, 1), KS_OK);
        assert_int_equal(ks_block_costs_find(&costs[i]), KS_OK);
    }
    const ks_bt_lane_cost *l[4];
    for (int i = 0; i < 4; ++i) l[i] = &costs[i].blocks.factor;
    for (int a = 0; a < 2; ++a) {
        to->blocks.factor.inner[a] = leading(l[0]->inner[a], l[1]->inner[a], l[2]->inner[a],
                                             l[3]->inner[a]);
        for (int t = 0; t < 2; ++t)
            to->blocks.factor.end[a][t] = leading(l[0]->end[a][t], l[1]->end[a][t],
                                                  l[2]->end[a][t], l[3]->end[a][t]);
    }
    to->blocks.gather = leading(costs[0].blocks.gather, costs[1].blocks.gather,
                                costs[2].blocks.gather, costs[3].blocks.gather);
    return to;
}

/* What is counted, without lower powers of n. */
static int64_t counted_thirds(const ks_bt_choice *choice, int64_t N, int64_t P)
{
    const ks_unit_costs *costs = leading_costs();
    const int64_t n = costs->nx;
    const ks_count_case what = {.method = KS_COUNT_FACTOR, .T = N, .threads = P,
                                .blocks = *choice};
    ks_count_result result;
    assert_int_equal(ks_count_method(&result, costs, &what), KS_OK);
    assert_int_equal(result.model_flops, ks_bt_model_time(choice, N, P) * n * n * n / 3);
    return result.time_flops;
}

static const int64_t lengths[] = {1, 2, 3, 10, 101, 1000, 4097, 10000, 100000};
static const int64_t threads[] = {1, 2, 4, 16, 256, AMPLE};
enum { LENGTHS = sizeof lengths / sizeof *lengths, THREADS = sizeof threads / sizeof *threads };

static void counted_beside_the_formulas(void **state)
{
    (void)state;
    for (int l = 0; l < LENGTHS; ++l)
        for (int p = 0; p < THREADS; ++p) {
            const int64_t N = lengths[l], P = threads[p];
            const double levels = ceil(log2((double)N) + 1);
            assert_int_equal(counted_thirds(&sequential, N, P), ks_bt_model_time(&sequential, N, P));
            assert_int_equal(counted_thirds(&twisted, N, P), ks_bt_model_time(&twisted, N, P));
            /* The paper updates pivots one after the other; here it is a step of all threads. The
             * last segment has no pivot behind it. */
            const ks_bt_choice some = {KS_BLOCKTRI_PARTITION, P > 256 ? 256 : 0, 0, 0};
            int64_t segments = P > 256 ? 256 : P > 2 ? P : 2;
            if (segments > (N + 1) / 2) segments = (N + 1) / 2;
            int64_t saved = ks_bt_model_time(&some, N, P) - counted_thirds(&some, N, P);
            assert_true(saved >= 0 && saved <= 3 * segments + 9);
            /* The paper leaves the two updates of a block to the thread that eliminates its
             * neighbour, 22 a stage; here each block has its own, 19 a stage. At either end of a
             * level a column has less to do. */
            double model = (double)ks_bt_model_time(&dissection, N, P);
            double counted = (double)counted_thirds(&dissection, N, P);
            assert_true(counted <= model && counted >= 19.0 / 22 * model - 12 * levels);
            model = (double)ks_bt_model_time(&schur, N, P);
            counted = (double)counted_thirds(&schur, N, P);
            assert_true(counted <= model && counted >= 0.7 * model - 12 * levels);
        }
}

/* JMS Sec. 3.3: up to how many blocks the sequential sweep is no worse than another level. */
static void crossover(void **state)
{
    (void)state;
    /* 7 against at least 19 / P a block: never with two threads. */
    assert_int_equal(ks_bt_model_crossover(8, 1), INT64_MAX);
    assert_int_equal(ks_bt_model_crossover(8, 2), INT64_MAX);
    for (int64_t spacing = 2; spacing <= 32; spacing *= 2) {
        const int64_t most = ks_bt_model_crossover(spacing, AMPLE);
        int64_t counted = 1000;
        for (; counted > 2; --counted) {
            const ks_bt_choice once = {KS_BLOCKTRI_RECURSIVE_SCHUR, 0, spacing, counted - 1};
            if (counted_thirds(&sequential, counted, AMPLE) <= counted_thirds(&once, counted, AMPLE))
                break;
        }
        /* The formula lets what a stage leaves be updated one after the other. */
        assert_true(counted <= most && counted >= most - 6);
        assert_true(ks_bt_model_crossover(2 * spacing, AMPLE) > most);
        assert_true(ks_bt_model_crossover(spacing, 16) >= most);
    }
}

static void arguments(void **state)
{
    const ks_bt_choice automatic = {KS_BLOCKTRI_AUTO, 0, 0, 0};
    (void)state;
    assert_int_equal(ks_bt_model_time(&automatic, 10, 1), 0);
    assert_int_equal(ks_bt_model_time(&sequential, 0, 1), 0);
    assert_int_equal(ks_bt_model_time(&sequential, 10, 0), 0);
    assert_int_equal(ks_bt_model_time(&sequential, INT64_MAX, 1), 0);
    assert_int_equal(ks_bt_model_time(&sequential, 1000000000, 1), 7 * (int64_t)1000000000 - 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partition_as_in_the_paper),
        cmocka_unit_test(single_stage_as_in_the_paper),
        cmocka_unit_test(multi_stage_as_in_the_paper),
        cmocka_unit_test(counted_beside_the_formulas),
        cmocka_unit_test(crossover),
        cmocka_unit_test(arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
