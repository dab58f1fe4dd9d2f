/* test_map.c -- the MAP smoother as it is counted: what the library does, and its passes over the
 * model by executing every chunk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "blocktri_cost.h"
#include "blocktri_plan.h"
#include "full.h"
#include "map_cost.h"
#include "same_flops.h"
#include "smooth_plan.h"

static ks_flops plus(ks_flops a, ks_flops b)
{
    assert_int_equal(ks_flops_add(&a, b, 1), 0);
    return a;
}

/* As many multiply-adds, and more multiplications. */
static ks_flops fused(int64_t n, int64_t multiplies) { return flops(n, n + multiplies, 0, 0); }

/* L D L' of (n, n) with pivots compared, and L^-1 B with B (n, columns). */
static ks_flops ldl(int64_t n)
{
    return plus(fused((n - 1) * n * (n + 1) / 6, n * (n - 1) / 2 + n), flops(0, 0, n, 0));
}
static ks_flops forward(int64_t n, int64_t columns) { return fused(n * (n - 1) / 2 * columns, 0); }

/* Q^-1, -Q^-1 F and F' Q^-1 F. */
static ks_flops transition(int64_t n)
{
    return plus(plus(ldl(n), forward(n, 2 * n)), fused(3 * n * n * n, 2 * n * n));
}

/* H' R^-1 H, and whether the entries of y are finite. */
static ks_flops sight(int64_t n, int64_t m)
{
    return plus(plus(flops(m, 0, 0, 0), ldl(m)), plus(forward(m, n), fused(n * n * m, m * n)));
}

static ks_flops probe(int64_t n, int64_t probes) { return flops(0, n * probes, 0, n); }

/* What a step adds to the block and right-hand side before it, and its own. */
static ks_flops assembled(int64_t n, int64_t m, int own, int before, int64_t probes)
{
    ks_flops f = transition(n);
    if (before) f = plus(f, plus(plus(fused(n * n, 0), flops(n * n, 0, 0, 0)), probe(n, probes)));
    if (own) f = plus(f, plus(sight(n, m), plus(fused(n * n + m * n, 0), forward(m, 1))));
    return own ? plus(f, flops(n * n + m, 0, 0, 0)) : f;
}

/* Residuals x - F x' - u and y - H x - d, their squares, gradient and diagonal. */
static ks_flops reviewed(int64_t n, int64_t m, int own, int before)
{
    ks_flops f = plus(transition(n), plus(fused(n * n, n), flops(n, 0, 0, 0)));
    f = plus(f, forward(n, 2));
    if (before) f = plus(f, plus(fused(n * n, 0), flops(n, 0, 0, 0)));
    if (own)
        f = plus(f, plus(plus(sight(n, m), forward(m, 1)),
                         plus(fused(2 * m * n, 2 * n + 2 * m), flops(m + n, 0, 0, 0))));
    return f;
}

/* A step of the lane from the first step on: Q^-1 and what follows from it and F, the observation, the
 * block before swept, and what it leaves. */
static ks_flops passed(int64_t n, int64_t m)
{
    const int64_t n3 = n * n * n;
    const ks_flops noise = plus(plus(ldl(n), fused((n - 1) * n * (n + 1) / 6, 0)), fused(n3, n * n));
    const ks_flops link = plus(plus(forward(n, n), fused(n3 + 2 * n * n, n * n)), forward(n, n));
    const ks_flops seen = plus(plus(flops(m, 0, 0, 0), ldl(m)), plus(forward(m, 2 * n), fused(0, m * n)));
    const ks_flops own = plus(seen, plus(fused(n * n * m + m * n, 0), flops(m, 0, 0, 0)));
    const ks_flops sweep = plus(fused(n * n * (n - 1), n * n), flops(n * n + n, 0, n, 0));
    return plus(plus(plus(noise, link), own), plus(sweep, fused(2 * n3 + 2 * n * n, 0)));
}

/* R with R' R = C (n, n), and R^-T B with B (n, columns). */
static ks_flops cholesky(int64_t n, int64_t columns)
{
    const ks_flops own = plus(fused((n - 1) * n * (n + 1) / 6, n * (n - 1) / 2), flops(0, 0, n, n));
    return plus(own, fused(n * (n - 1) / 2 * columns, n * columns));
}

/* The same with more than KS_MAP_FEW states: products with a triangle, or of which a triangle is made, are
 * half a product. */
static ks_flops passed_wide(int64_t n, int64_t m)
{
    const int64_t half = n * n * (n + 1) / 2;
    const ks_flops root = plus(fused((n - 1) * n * (n + 1) / 6, n * (n - 1) / 2), flops(0, 0, n, 0));
    const ks_flops noise = plus(plus(cholesky(n, 0), root), fused(n * (n + 1) * (n + 2) / 6, 2 * n));
    const ks_flops link = fused(3 * half + 2 * n * n, 0);
    const ks_flops seen = plus(plus(flops(m, 0, 0, 0), ldl(m)), plus(forward(m, 2 * n), fused(0, m * n)));
    const ks_flops own = plus(seen, plus(fused(n * n * m + m * n, 0), flops(m, 0, 0, 0)));
    const ks_flops factor = plus(cholesky(n, n), flops(n * (n + 1) / 2 + n, 0, n, 0));
    return plus(plus(plus(noise, link), own),
                plus(factor, fused(half + n * (n - 1) / 2 + n * n, 0)));
}

static void closed_forms(void **state)
{
    static const int sizes[][2] = {{1, 1}, {1, 3}, {2, 1}, {3, 2},  {4, 2},
                                   {5, 7}, {6, 3}, {8, 3}, {12, 6}, {17, 4}};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        const int n = sizes[i][0], m = sizes[i][1];
        ks_unit_costs c;
        assert_int_equal(ks_unit_costs_find(&c, n, m), KS_OK);
        assert_int_equal(ks_block_costs_find(&c), KS_OK);
        assert_same("inner step passed", n, m, c.lanes.ascend,
                     n > KS_MAP_FEW ? passed_wide(n, m) : passed(n, m));
        for (int brief = 0; brief < 2; ++brief) {
            const int64_t probes = brief ? KS_MAP_PROBES : 1;
            const ks_map_step_cost *a = &c.assemble[brief], *r = &c.review[brief];
            const ks_flops end = probe(n, probes);
            assert_same("inner step assembled", n, m, a->inner, assembled(n, m, 1, 1, probes));
            assert_same("last one", n, m, a->inner_last, plus(assembled(n, m, 1, 1, probes), end));
            assert_same("first of a chunk", n, m, a->opens, assembled(n, m, 1, 0, probes));
            assert_same("first and last", n, m, a->opens_last, plus(assembled(n, m, 1, 0, probes), end));
            assert_same("beyond a chunk", n, m, a->beyond, assembled(n, m, 0, 1, probes));
            assert_same("alone", n, m, a->prior_only, plus(a->prior, end));
            assert_same("inner step reviewed", n, m, r->inner, reviewed(n, m, 1, 1));
            assert_same("last one", n, m, r->inner_last, reviewed(n, m, 1, 1));
            assert_same("first of a chunk", n, m, r->opens, reviewed(n, m, 1, 0));
            assert_same("beyond a chunk", n, m, r->beyond, reviewed(n, m, 0, 1));
        }
    }
}

/* The system of a series, and the arithmetic of both passes over it. */
typedef struct passes {
    full f;
    ks_map_kernels kernels;
    ks_map_system system;
    double *memory, *numbers;
} passes;

static void passes_open(passes *p, int64_t longest, int nx, int ny)
{
    const int64_t n = nx, n2 = n * n, number = (int64_t)sizeof(double);
    full_open(&p->f, longest, nx, ny);
    ks_counting_map_kernels(&p->kernels);
    p->memory = malloc(p->kernels.memory_bytes(nx, ny));
    p->numbers = calloc((size_t)(longest * (3 * n2 + n + n * KS_MAP_PROBES)), sizeof(double));
    assert_true(p->memory && p->numbers);
    double *D = p->numbers, *L = D + longest * n2, *S = L + longest * n2, *x = S + longest * n2;
    const ks_map_system system = {{(char *)D, n2 * number, 0},
                                  {(char *)L, n2 * number, 0},
                                  {(char *)x, n * number, 0},
                                  {(char *)(x + longest * n), 0, 0},
                                  {(char *)S, n2 * number, 0},
                                  {NULL, 0, 0},
                                  0, 0, 0, 0, 1e300};
    p->system = system;
    for (int64_t i = 0; i < longest * n2; ++i) S[i] = i % n2 % (n + 1) == 0;
}

static void passes_close(passes *p)
{
    full_close(&p->f);
    free(p->memory);
    free(p->numbers);
}

static ks_flops one_chunk(passes *p, int review, int64_t k0, int64_t k1, int64_t T)
{
    ks_map_review r;
    ks_tally tally;
    memset(&r, 0, sizeof r);
    memset(&tally, 0, sizeof tally);
    (void)ks_take_flops();
    for (int64_t k = k0; k <= k1 && k < T; ++k)
        assert_int_equal(review ? p->kernels.review(&p->f.series, k, k < k1, k > k0, &p->system,
                                                    p->memory, &r, &tally)
                                : p->kernels.assemble(&p->f.series, k, k < k1, k > k0, &p->system,
                                                      p->memory, &tally), 0);
    return ks_take_flops();
}

static void every_chunk(void **state)
{
    static const int64_t lengths[] = {1,   2,   3,   60,  255, 256, 257, 258, 511,
                                      512, 513, 700, 768, 769, 1023, 1024, 1025};
    static const int64_t threads[] = {1, 2, 3, 5};
    ks_unit_costs costs;
    passes p;
    (void)state;
    passes_open(&p, 1025, 3, 2);
    assert_int_equal(ks_unit_costs_find(&costs, 3, 2), KS_OK);
    assert_int_equal(ks_block_costs_find(&costs), KS_OK);
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; ++l)
        for (size_t t = 0; t < 4; ++t)
            for (int review = 0; review < 2; ++review) {
                const int64_t T = lengths[l], P = threads[t];
                int64_t own[5] = {0}, busiest = 0;
                ks_flops work = {0, 0, 0, 0};
                ks_count count;
                memset(&count, 0, sizeof count);
                assert_int_equal(review ? ks_map_count_review(&count, &costs, T, P)
                                        : ks_map_count_assembly(&count, &costs, T, P), KS_OK);
                p.f.series.steps = T;
                p.system.probes = T <= KS_MAP_SHORT ? KS_MAP_PROBES : 1;
                p.system.z.stride = 3 * p.system.probes * (int64_t)sizeof(double);
                p.kernels.open(3, 2, p.memory);
                for (int64_t k0 = 0, c = 0; k0 < T; k0 += KS_MAP_CHUNK, ++c) {
                    const int64_t k1 = k0 + KS_MAP_CHUNK < T ? k0 + KS_MAP_CHUNK : T;
                    const ks_flops flops = one_chunk(&p, review, k0, k1, T);
                    assert_int_equal(ks_flops_add(&work, flops, 1), 0);
                    own[c % P] += ks_flops_total(flops);
                    if (own[c % P] > busiest) busiest = own[c % P];
                }
                assert_same(review ? "review" : "assembly", T, P, count.work, work);
                assert_int_equal(count.time, busiest);
                assert_int_equal(count.span, 1);
            }
    passes_close(&p);
}

/* In the sequential and the twisted order the smoother is one pass each way, on one thread or two. */
static void one_pass_each_way(void **state)
{
    ks_unit_costs costs;
    passes p;
    (void)state;
    passes_open(&p, 40, 3, 2);
    assert_int_equal(ks_unit_costs_find(&costs, 3, 2), KS_OK);
    assert_int_equal(ks_block_costs_find(&costs), KS_OK);
    void *upper = malloc(p.kernels.memory_bytes(3, 2));
    assert_non_null(upper);
    for (int64_t T = 1; T <= 40; ++T)
        for (int order = KS_BLOCKTRI_SEQUENTIAL; order <= KS_BLOCKTRI_TWISTED; ++order) {
            if (order == KS_BLOCKTRI_TWISTED && T == 1) continue;
            const ks_count_case what = {.method = KS_COUNT_BLOCKTRI, .T = T, .threads = 1 + T % 3,
                                        .blocks = {(ks_blocktri_order)order, 0, 0, 0}};
            const int64_t middle = order == KS_BLOCKTRI_TWISTED ? T / 2 : T - 1;
            void *above = middle + 1 < T ? upper : NULL;
            ks_count_result r;
            ks_map_review review;
            ks_tally tally;
            ks_flops part[6];
            assert_int_equal(ks_count_method(&r, &costs, &what), KS_OK);
            memset(&review, 0, sizeof review);
            memset(&tally, 0, sizeof tally);
            review.evidence.product = 1;
            p.f.series.steps = T;
            p.system.middle = middle;
            p.kernels.open(3, 2, p.memory);
            p.kernels.open(3, 2, upper);
            (void)ks_take_flops();
#define LANE(step, k0, k1, memory) \
    p.kernels.step(&p.f.series, k0, k1, &p.system, memory, &review, &tally)
            assert_int_equal(LANE(ascend, 0, middle + 1, p.memory), 0);
            part[0] = ks_take_flops();
            assert_int_equal(LANE(descend, middle + 1, T, upper), 0);
            part[1] = ks_take_flops();
            p.kernels.meet(3, middle, &p.system, p.memory, above, &review);
            part[2] = ks_take_flops();
            assert_int_equal(LANE(back_down, 0, middle + 1, p.memory), 0);
            part[3] = ks_take_flops();
            assert_int_equal(LANE(back_up, middle + 1, T, upper), 0);
            part[4] = ks_take_flops();
            p.kernels.join(3, middle, &p.system, p.memory, above, &review);
            part[5] = ks_take_flops();
#undef LANE
            ks_flops work = {0, 0, 0, 0};
            int64_t total[6];
            for (int i = 0; i < 6; ++i) {
                assert_int_equal(ks_flops_add(&work, part[i], 1), 0);
                total[i] = ks_flops_total(part[i]);
            }
            assert_same("one pass each way", T, what.threads, r.work, work);
            const int64_t in = total[0] > total[1] ? total[0] : total[1];
            const int64_t out = total[3] > total[4] ? total[3] : total[4];
            assert_int_equal(r.time_flops, above && what.threads > 1
                                               ? in + total[2] + out + total[5]
                                               : ks_flops_total(work));
            assert_int_equal(r.span_steps, above ? 4 : 2);
        }
    free(upper);
    passes_close(&p);
}

/* The smoother counts the parts that a run of the library goes through, in its order. */
static void whole_smoother(void **state)
{
    static const int64_t lengths[] = {1, 2, 5, 256, 257, 10000};
    ks_unit_costs costs;
    (void)state;
    assert_int_equal(ks_unit_costs_find(&costs, 4, 2), KS_OK);
    assert_int_equal(ks_block_costs_find(&costs), KS_OK);
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; ++l)
        for (int order = KS_BLOCKTRI_PARTITION; order < KS_BLOCKTRI_ORDERS; ++order) {
            ks_count_case what = {.method = KS_COUNT_BLOCKTRI, .T = lengths[l], .threads = 3,
                                  .blocks = {(ks_blocktri_order)order, 0, 0, 0}};
            ks_count_result whole, part;
            ks_count probes;
            ks_flops work = {0, 0, 0, 0};
            int64_t time = 0, span = 0;
            assert_int_equal(ks_count_method(&whole, &costs, &what), KS_OK);
            for (int m = KS_COUNT_ASSEMBLE; m <= KS_COUNT_INVERSE; ++m) {
                what.method = (ks_counted_method)m;
                assert_int_equal(ks_count_method(&part, &costs, &what), KS_OK);
                assert_int_equal(ks_flops_add(&work, part.work, 1), 0);
                time += part.time_flops;
                span += part.span_steps;
            }
            ks_blocktri_plan *plan = NULL;
            memset(&probes, 0, sizeof probes);
            assert_int_equal(ks_bt_count_plan(&plan, &what.blocks, what.T, 4, 3), KS_OK);
            const int many = what.T <= KS_MAP_SHORT;
            assert_int_equal(ks_bt_count_solve(&probes, many ? &costs.probed : &costs.blocks, plan,
                                               3), KS_OK);
            assert_int_equal(ks_map_count_review(&probes, &costs, what.T, 3), KS_OK);
            assert_int_equal(ks_flops_add(&work, probes.work, 1), 0);
            assert_same("the smoother", what.T, what.threads, whole.work, work);
            assert_int_equal(whole.time_flops, time + probes.time);
            assert_int_equal(whole.span_steps, span + probes.span);
            assert_int_equal(whole.combines, 0);
            assert_int_equal(whole.storage_elements, part.storage_elements);
            assert_int_equal(whole.storage_bytes - part.storage_bytes,
                             what.T * 4 * 8 * (1 + ks_map_count_probes(what.T)));
            ks_blocktri_plan_destroy(plan);
        }
    const ks_count_case long_one = {.method = KS_COUNT_BLOCKTRI, .T = 1000000000, .threads = 84480,
                                    .blocks = {KS_BLOCKTRI_NESTED_DISSECTION, 0, 0, 0}};
    ks_count_result r;
    assert_int_equal(ks_count_method(&r, &costs, &long_one), KS_OK);
    assert_true(r.time_flops >= r.work_flops / 84480 && r.span_flops <= r.time_flops);
}

/* Probes are counted for as many right-hand sides as there are. */
static void several_right_hand_sides(void **state)
{
    ks_bt_unit_costs one, many;
    (void)state;
    assert_int_equal(ks_bt_unit_costs_find(&one, 5, 1), KS_OK);
    assert_int_equal(ks_bt_unit_costs_find(&many, 5, KS_MAP_PROBES), KS_OK);
    assert_memory_equal(&one.factor, &many.factor, sizeof one.factor);
    /* Reciprocals are taken once. */
    assert_int_equal(many.forward.inner[1].adds, KS_MAP_PROBES * one.forward.inner[1].adds);
    assert_int_equal(many.forward.inner[1].divisions, one.forward.inner[1].divisions);
    assert_int_equal(many.gather_x.multiplies, KS_MAP_PROBES * one.gather_x.multiplies);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_forms),
        cmocka_unit_test(every_chunk),
        cmocka_unit_test(one_pass_each_way),
        cmocka_unit_test(whole_smoother),
        cmocka_unit_test(several_right_hand_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
