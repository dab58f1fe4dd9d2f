/* test_paths.c -- kernels of the block-tridiagonal orders against closed forms, and critical paths
 * against the formulas of the papers. The closed forms are written down here and nowhere else.
 *
 * "JMS" and "GPU-Cholesky" are the papers named in kalscan/blocktri.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "blocktri_cost.h"
#include "count.h"
#include "same_flops.h"

enum { FACTOR, FORWARD, BACKWARD, INVERSE, PARTS };
static const char *const part_names[PARTS] = {"factor", "forward", "backward", "inverse"};

static ks_flops plus(ks_flops a, int64_t times, ks_flops b)
{
    assert_int_equal(ks_flops_add(&a, b, times), 0);
    return a;
}

static ks_flops fused(int64_t n) { return flops(n, n, 0, 0); }

/* Closed forms of the kernels: GPU-Cholesky, Table 1, to the last term. */
static ks_flops potrf(int64_t n)
{
    return plus(fused((n - 1) * n * (n + 1) / 6), 1, flops(0, n * (n + 1) / 2, n, n));
}
static ks_flops trsm(int64_t n) { return plus(fused(n * n * (n - 1) / 2), 1, flops(0, n * n, 0, 0)); }
static ks_flops syrk(int64_t n) { return fused(n * n * (n + 1) / 2); }
static ks_flops gemm(int64_t n) { return fused(n * n * n); }
static ks_flops trsv(int64_t n) { return plus(fused(n * (n - 1) / 2), 1, flops(0, n, n, 0)); }
static ks_flops gemv(int64_t n) { return fused(n * n); }
/* R^-1 and the triangle of R^-1 R'^-1. */
static ks_flops potri(int64_t n)
{
    return plus(plus(fused((n - 1) * n * (n + 1) / 6), 1, flops(0, n * (n - 1) / 2, n, 0)), 1,
                fused(n * (n + 1) * (n + 2) / 6));
}

/* A block of a lane; `inner`: not the last of it. */
static ks_flops block(int part, int64_t n, int anchored, int inner, int targeted)
{
    const int coupled = inner || targeted;
    const int64_t a = anchored, c = coupled, both = anchored && coupled;
    switch (part) {
    case FACTOR: return plus(plus(plus(potrf(n), a + c, trsm(n)), a + inner, syrk(n)), both, gemm(n));
    case FORWARD: return plus(trsv(n), a + inner, gemv(n));
    case BACKWARD: return plus(trsv(n), a + c, gemv(n));
    default:
        return plus(plus(plus(potri(n), a + c, trsm(n)), a + c + 2 * both, gemm(n)), a + c,
                    syrk(n));
    }
}

static ks_flops lane(int part, int64_t n, int64_t blocks, int anchored, int targeted)
{
    const ks_flops none = flops(0, 0, 0, 0);
    if (blocks == 0) return none;
    return plus(block(part, n, anchored, 0, targeted), blocks - 1, block(part, n, anchored, 1, 1));
}

static ks_flops gather(int part, int64_t n)
{
    return part == FACTOR ? syrk(n) : part == FORWARD ? gemv(n) : flops(0, 0, 0, 0);
}

static void closed_forms(void **state)
{
    static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 33, 64};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        const int n = sizes[i];
        ks_bt_unit_costs u;
        assert_int_equal(ks_bt_unit_costs_find(&u, n, 1), KS_OK);
        const ks_bt_lane_cost *const cost[PARTS] = {&u.factor, &u.forward, &u.backward, &u.inverse};
        for (int p = 0; p < PARTS; ++p)
            for (int a = 0; a < 2; ++a) {
                assert_same(part_names[p], n, a, cost[p]->inner[a], block(p, n, a, 1, 1));
                for (int t = 0; t < 2; ++t)
                    assert_same(part_names[p], n, 10 + 2 * a + t, cost[p]->end[a][t],
                                block(p, n, a, 0, t));
            }
        assert_same("gather", n, FACTOR, u.gather, syrk(n));
        assert_same("gather", n, FORWARD, u.gather_x, gemv(n));
    }
}

/* Critical paths at N = 10^4, as each paper has them. */

static int64_t total(ks_flops f) { return ks_flops_total(f); }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* Busiest of P threads that take turns at `lanes` lanes of cost `each`, the first and the last of
 * which cost no more than that. Where there is a last, incomplete turn, these two stand on the first
 * and the last of the threads that have it. */
static int64_t step(int64_t lanes, int64_t P, int64_t each, int64_t first, int64_t last)
{
    const int64_t most = (lanes + P - 1) / P * each, busy = (lanes - 1) % P + 1;
    if (lanes == 1) return first;
    if (busy > 2) return most;
    if (busy == 2) return most - each + larger(first, last);
    return P > 1 ? larger(most - 2 * each + first + last, most - each)
                 : most - 2 * each + first + last;
}

/* JMS Alg. 1, 2; GPU-Cholesky Alg. 1: one after the other, whatever P is. */
static int64_t sequential_path(int part, int64_t N, int64_t n)
{
    return total(lane(part, n, N, 0, 0));
}

/* Both halves at once, what they leave for the middle block, and that block. */
static int64_t twisted_path(int part, int64_t N, int64_t n)
{
    return total(lane(part, n, N / 2, 0, 1)) + 2 * total(gather(part, n)) +
           total(lane(part, n, 1, 0, 0));
}

/* GPU-Cholesky Alg. 2 with the lengths of Prop. 1: P segments at once, then P - 1 pivots. The last
 * segment, without a pivot behind it, is never the longest way. */
static int64_t partition_path(int part, int64_t N, int64_t n, int64_t P)
{
    const double N2 = 7.0 * (double)(N - P + 1) / (7.0 * (double)(P - 1) + 19.0);
    int64_t best = INT64_MAX, path = 0;
    for (int64_t other = (int64_t)N2; other <= (int64_t)N2 + 1; ++other) {
        const int64_t first = N - (P - 1) * (other + 1);
        const int64_t cost = larger(7 * first, 19 * other); /* thirds of n^3 */
        if (cost >= best) continue;
        best = cost;
        path = larger(total(lane(part, n, first, 0, 1)),
                      total(lane(part, n, other, 1, P > 2))) +
               total(gather(part, n)) + total(lane(part, n, P - 1, 0, 0));
    }
    return path;
}

/* GPU-Cholesky Alg. 4, 5, eq. (1), (2): levels of every other block. */
static int64_t dissection_path(int part, int64_t N, int64_t n, int64_t P)
{
    const int64_t each = total(lane(part, n, 1, 1, 1)), left = total(gather(part, n));
    int64_t path = 0;
    for (int64_t m = N; m > 1; m /= 2)
        path += step(m - m / 2, P, each, total(lane(part, n, 1, 0, 1)),
                     total(lane(part, n, 1, 1, m % 2 == 0))) +
                step(m / 2, P, left, left, left);
    return path + total(lane(part, n, 1, 0, 0));
}

/* JMS Alg. 4, 7: segments of spacing - 1 blocks between separators at both ends, the separators in
 * the same way, and once there are few one after the other. Nothing stands before the first
 * separator. */
static int64_t schur_path(int part, int64_t N, int64_t n, int64_t P, int64_t spacing,
                          int64_t crossover)
{
    const int64_t each = total(lane(part, n, spacing - 1, 1, 1)), left = total(gather(part, n));
    int64_t path = 0, m = N;
    while (m > crossover) {
        const int64_t separators = (m - 2) / spacing + 2, rest = (m - 2) % spacing;
        path += step(separators, P, each, 0, total(lane(part, n, rest, 1, 1))) +
                step(separators, P, left, 0, rest > 0 ? left : 0);
        m = separators;
    }
    return path + total(lane(part, n, m, 0, 0));
}

/* Of a part; substitution is forward and back. */
static int64_t path(int part, int order, int64_t N, int64_t n, int64_t P)
{
    switch (order) {
    case KS_BLOCKTRI_SEQUENTIAL: return sequential_path(part, N, n);
    case KS_BLOCKTRI_TWISTED: return twisted_path(part, N, n);
    case KS_BLOCKTRI_PARTITION: return partition_path(part, N, n, P);
    case KS_BLOCKTRI_NESTED_DISSECTION: return dissection_path(part, N, n, P);
    default: return schur_path(part, N, n, P, 8, 32);
    }
}

static void critical_paths(void **state)
{
    enum { N = 10000 };
    static const int64_t threads[] = {2, 4, 16};
    static const int sizes[] = {4, 16};
    (void)state;
    for (size_t i = 0; i < 2; ++i)
        for (size_t p = 0; p < 3; ++p)
            for (int m = KS_COUNT_FACTOR; m <= KS_COUNT_INVERSE; ++m) {
                const int64_t n = sizes[i], P = threads[p];
                const ks_counted_method method = (ks_counted_method)m;
                ks_unit_costs costs;
                int64_t time[KS_BLOCKTRI_ORDERS] = {0};
                assert_int_equal(ks_unit_costs_find(&costs, sizes[i], 1), KS_OK);
                assert_int_equal(ks_block_costs_find(&costs), KS_OK);
                for (int order = 1; order < KS_BLOCKTRI_ORDERS; ++order) {
                    const int64_t expected =
                        m == KS_COUNT_SOLVE ? path(FORWARD, order, N, n, P) +
                                                  path(BACKWARD, order, N, n, P)
                                            : path(m == KS_COUNT_FACTOR ? FACTOR : INVERSE, order,
                                                   N, n, P);
                    time[order] = counted(&costs, method, order, N, P).time_flops;
                    if (time[order] != expected)
                        fail_msg("%s %s, n = %lld, P = %lld: counted %lld, by the formula %lld",
                                 ks_counted_method_name(method),
                                 ks_blocktri_order_name((ks_blocktri_order)order), (long long)n,
                                 (long long)P, (long long)time[order], (long long)expected);
                    /* None is another one under its name. */
                    for (int other = 1; other < order; ++other)
                        assert_int_not_equal(time[order], time[other]);
                }
            }
}

/* On as many threads as there are lanes, twice the blocks: as many steps again where the order is
 * sequential within a lane, one more level where every other block is eliminated at once. */
static void without_a_limit(void **state)
{
    enum { N = 1 << 13, n = 4 };
    ks_unit_costs costs;
    (void)state;
    assert_int_equal(ks_unit_costs_find(&costs, n, 1), KS_OK);
    assert_int_equal(ks_block_costs_find(&costs), KS_OK);
    assert_int_equal(counted(&costs, KS_COUNT_FACTOR, KS_BLOCKTRI_SEQUENTIAL, 1000000000, 1).work_flops,
                     total(lane(FACTOR, n, 1000000000, 0, 0)));
    for (int order = 1; order < KS_BLOCKTRI_ORDERS; ++order) {
        const int64_t P = order == KS_BLOCKTRI_PARTITION ? 16 : 1 << 20;
        const ks_count_result small = counted(&costs, KS_COUNT_FACTOR, order, N, P);
        const ks_count_result large = counted(&costs, KS_COUNT_FACTOR, order, 2 * N, P);
        const double growth = (double)large.span_flops / (double)small.span_flops;
        assert_int_equal(large.span_flops, large.time_flops);
        if (order == KS_BLOCKTRI_NESTED_DISSECTION)
            assert_int_equal(large.span_flops - small.span_flops,
                             total(lane(FACTOR, n, 1, 1, 1)) + total(gather(FACTOR, n)));
        else if (order == KS_BLOCKTRI_RECURSIVE_SCHUR)
            assert_true(growth < 1.2);
        else
            assert_true(growth > 1.95);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_forms),
        cmocka_unit_test(critical_paths),
        cmocka_unit_test(without_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
