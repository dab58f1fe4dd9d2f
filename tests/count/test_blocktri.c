/* test_blocktri.c -- the block-tridiagonal orders as they are counted, by classes of lanes: the same
 * as executing every lane, and as the library's own drivers, to the last operation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "blocktri_cost.h"
#include "blocktri_plan.h"
#include "count.h"
#include "count_chains.h"
#include "same_flops.h"

enum { FACTOR, FORWARD, BACKWARD, INVERSE };

/* A system and its plan, with the counting kernels in place of the library's. */
typedef struct full {
    ks_bt_kernels kernels;
    ks_blocktri_plan *plan;
    ks_blocktri_factor factor;
    ks_blocks x, S;
    double *S_edges;
    void *work, *memory[8];
    int arrays;
    int64_t threads, *own;
    ks_count count;
} full;

static double *array(full *f, size_t doubles)
{
    void *memory = NULL;
    assert_int_equal(posix_memalign(&memory, 64, (doubles + 8) * sizeof(double)), 0);
    memset(memory, 0, (doubles + 8) * sizeof(double));
    f->memory[f->arrays++] = memory;
    return memory;
}

static void full_open(full *f, const ks_bt_choice *choice, int64_t N, int n, int64_t threads)
{
    const size_t size = (size_t)n * (size_t)n, blocks = (size_t)N;
    memset(f, 0, sizeof *f);
    f->threads = threads;
    ks_bt_counting_kernels(&f->kernels);
    assert_int_equal(ks_bt_count_plan(&f->plan, choice, N, n, threads), KS_OK);
    f->work = array(f, ks_blocktri_inverse_workspace_bytes(f->plan) / sizeof(double));
    f->plan->kernels = &f->kernels;
    f->plan->ld = ks_bt_ld(&f->kernels, n);
    f->factor.D.data = array(f, blocks * size);
    f->factor.L.data = array(f, blocks * size);
    f->factor.fill = array(f, (size_t)f->plan->schedule.fill_blocks * size);
    f->factor.D.stride = f->factor.L.stride = f->S.stride = (int64_t)size;
    f->x.data = array(f, blocks * (size_t)n);
    f->x.stride = n;
    f->S.data = array(f, blocks * size);
    f->S_edges = array(f, (size_t)f->plan->schedule.edge_blocks * size);
    f->own = (int64_t *)array(f, (size_t)threads);
}

static void fill(full *f)
{
    const int64_t n = f->plan->n;
    double *D = f->factor.D.data, *L = f->factor.L.data, *x = f->x.data;
    for (int64_t i = 0; i < f->plan->N * n * n; ++i) {
        D[i] = i % (n * n) % (n + 1) == 0 ? 4 : 0.1;
        L[i] = 0.3 / (double)n;
    }
    for (int64_t i = 0; i < f->plan->N * n; ++i) x[i] = 1;
    (void)ks_bt_take_flops();
}

static void full_close(full *f)
{
    ks_blocktri_plan_destroy(f->plan);
    for (int i = 0; i < f->arrays; ++i) free(f->memory[i]);
}

/* Lane `number` of the parallel step has run. */
static void charge(full *f, int64_t number, int64_t *critical)
{
    const ks_flops done = ks_bt_take_flops();
    const int64_t total = ks_flops_total(done);
    assert_int_equal(ks_flops_add(&f->count.work, done, 1), 0);
    f->own[number % f->threads] += total;
    if (total > *critical) *critical = total;
}

static void end_step(full *f, int64_t critical)
{
    int64_t busiest = 0;
    for (int64_t t = 0; t < f->threads; ++t) {
        if (f->own[t] > busiest) busiest = f->own[t];
        f->own[t] = 0;
    }
    f->count.time += busiest;
    f->count.critical += critical;
    f->count.span += 1;
}

static void run_lanes(full *f, int part, int l)
{
    const ks_bt_level *level = &f->plan->schedule.level[l];
    const int64_t size = ks_bt_size(f->plan);
    int64_t critical = 0;
    for (int64_t q = 0; q < level->lanes; ++q) {
        ks_bt_chain c = ks_bt_chain_of(f->plan, &f->factor, l, q);
        c.scratch = f->work;
        c.m = 1;
        c.x = f->x.data;
        c.x_stride = f->x.stride;
        c.S = f->S.data;
        c.S_stride = f->S.stride;
        c.S_edge = l > 0 ? f->S_edges + level->edges * size : NULL;
        c.S_edge_stride = size;
        if (c.bridge) c.S_bridge = f->S_edges + (level[1].edges + q - 1) * size;
        switch (part) {
        case FACTOR: assert_int_equal(f->kernels.factor(&c).block, -1); break;
        case FORWARD: f->kernels.forward(&c); break;
        case BACKWARD: f->kernels.backward(&c); break;
        default: f->kernels.inverse(&c); break;
        }
        charge(f, q, &critical);
    }
    end_step(f, critical);
}

/* A separator gathers from the block before it and, where the lane behind runs down to it, from the
 * one after. */
static void run_gather(full *f, int part, int l)
{
    const ks_bt_schedule *s = &f->plan->schedule;
    const ks_bt_level *level = &s->level[l];
    const ks_blocks edges = ks_bt_edges(f->plan, &f->factor, l);
    double *D = f->factor.D.data, *x = f->x.data;
    const double *edge = edges.data;
    int64_t critical = 0;
    for (int64_t q = 0; q < level->separators; ++q) {
        const int64_t at = ks_bt_separator(level, q), to = ks_bt_block(s, level, at);
        for (int side = -1; side <= 1; side += 2) {
            const ks_bt_lane from = ks_bt_lane_of(level, side < 0 ? q : q + 1);
            if (side < 0 ? from.count == 0 : !level->mirrored || level->lanes < 2) continue;
            const double *X = edge + (side < 0 ? at - 1 : at) * edges.stride;
            const int64_t other = ks_bt_block(s, level, at + side);
            if (part == FACTOR)
                f->kernels.gather(f->plan->n, X, D + to * f->factor.D.stride, f->work);
            else
                f->kernels.gather_x(f->plan->n, 1, X, x + other * f->x.stride,
                                    x + to * f->x.stride, NULL);
        }
        charge(f, q, &critical);
    }
    if (level->separators > 0) end_step(f, critical);
}

static void run_up(full *f, int part)
{
    for (int l = 0; l < f->plan->schedule.levels; ++l) {
        run_lanes(f, part, l);
        run_gather(f, part, l);
    }
}

static void run_down(full *f, int part)
{
    for (int l = f->plan->schedule.levels - 1; l >= 0; --l) run_lanes(f, part, l);
}

/* The library's own driver on counting numbers. */
static ks_flops run_library(full *f, ks_counted_method method)
{
    const ks_blocktri_matrix matrix = {{f->factor.D.data, f->factor.D.stride},
                                       {f->factor.L.data, f->factor.L.stride}};
    const ks_const_blocks b = {f->x.data, f->x.stride};
    const ks_blocks none = {NULL, 0};
    fill(f);
    assert_int_equal(ks_blocktri_factorize(f->plan, &matrix, &f->factor, f->work, NULL), KS_OK);
    if (method == KS_COUNT_FACTOR) return ks_bt_take_flops();
    (void)ks_bt_take_flops();
    if (method == KS_COUNT_SOLVE)
        assert_int_equal(ks_blocktri_solve(f->plan, &f->factor, 1, b, f->x, f->work), KS_OK);
    else
        assert_int_equal(ks_blocktri_inverse_blocks(f->plan, &f->factor, f->S, none, f->work),
                         KS_OK);
    return ks_bt_take_flops();
}

static void assert_case(const ks_unit_costs *costs, const ks_count_case *what)
{
    full f;
    ks_count_result fast;
    full_open(&f, &what->blocks, what->T, costs->nx, what->threads);
    assert_int_equal(ks_count_method(&fast, costs, what), KS_OK);
    assert_same("the library's own run", costs->nx, what->T, fast.work,
                run_library(&f, what->method));
    fill(&f);
    run_up(&f, FACTOR);
    if (what->method != KS_COUNT_FACTOR) memset(&f.count, 0, sizeof f.count);
    if (what->method == KS_COUNT_SOLVE) {
        run_up(&f, FORWARD);
        run_down(&f, BACKWARD);
    }
    if (what->method == KS_COUNT_INVERSE) run_down(&f, INVERSE);
    assert_same("executed work", costs->nx, what->T, fast.work, f.count.work);
    if (fast.time_flops != f.count.time || fast.span_flops != f.count.critical ||
        fast.span_steps != f.count.span || fast.combines != 0)
        fail_msg("%s %s, T = %lld, P = %lld: time %lld, executed %lld; span %lld, executed %lld; "
                 "%lld steps, executed %lld", ks_counted_method_name(what->method),
                 ks_blocktri_order_name(what->blocks.order), (long long)what->T,
                 (long long)what->threads, (long long)fast.time_flops, (long long)f.count.time,
                 (long long)fast.span_flops, (long long)f.count.critical,
                 (long long)fast.span_steps, (long long)f.count.span);
    full_close(&f);
}

static void every_length(void **state)
{
    static const ks_bt_choice choices[] = {
        {KS_BLOCKTRI_SEQUENTIAL, 0, 0, 0},        {KS_BLOCKTRI_TWISTED, 0, 0, 0},
        {KS_BLOCKTRI_PARTITION, 0, 0, 0},         {KS_BLOCKTRI_PARTITION, 5, 0, 0},
        {KS_BLOCKTRI_PARTITION, 1000, 0, 0},      {KS_BLOCKTRI_NESTED_DISSECTION, 0, 0, 0},
        {KS_BLOCKTRI_RECURSIVE_SCHUR, 0, 0, 0},   {KS_BLOCKTRI_RECURSIVE_SCHUR, 0, 2, 2},
        {KS_BLOCKTRI_RECURSIVE_SCHUR, 0, 3, 4}};
    static const int64_t threads[] = {1, 2, 3, 4, 7, 16, 100};
    ks_unit_costs costs;
    (void)state;
    assert_int_equal(ks_unit_costs_find(&costs, 2, 1), KS_OK);
    assert_int_equal(ks_block_costs_find(&costs), KS_OK);
    for (int64_t T = 1; T <= 60; ++T)
        for (size_t c = 0; c < sizeof choices / sizeof *choices; ++c)
            for (size_t p = 0; p < sizeof threads / sizeof *threads; ++p)
                for (int m = KS_COUNT_FACTOR; m <= KS_COUNT_INVERSE; ++m) {
                    const ks_count_case what = {.method = (ks_counted_method)m, .T = T,
                                                .threads = threads[p], .blocks = choices[c]};
                    assert_case(&costs, &what);
                }
}

static void long_systems(void **state)
{
    ks_unit_costs costs;
    ks_count_result r;
    (void)state;
    assert_int_equal(ks_unit_costs_find(&costs, 12, 6), KS_OK);
    assert_int_equal(ks_block_costs_find(&costs), KS_OK);
    for (int order = 1; order < KS_BLOCKTRI_ORDERS; ++order)
        for (int m = KS_COUNT_FACTOR; m <= KS_COUNT_INVERSE; ++m) {
            r = counted(&costs, (ks_counted_method)m, order, 1000000000, 84480);
            assert_int_equal(r.work_flops, ks_flops_total(r.work));
            assert_true(r.span_flops <= r.time_flops && r.time_flops <= r.work_flops);
        }
    const int64_t N = 1000000000;
    r = counted(&costs, KS_COUNT_FACTOR, KS_BLOCKTRI_SEQUENTIAL, N, 1);
    assert_int_equal(r.storage_elements, 2 * N - 1);
    assert_int_equal(r.storage_bytes, (2 * N - 1) * 144 * 8);
    r = counted(&costs, KS_COUNT_SOLVE, KS_BLOCKTRI_TWISTED, N, 1);
    assert_int_equal(r.storage_bytes, (2 * N - 1) * 144 * 8 + N * 12 * 8);
    r = counted(&costs, KS_COUNT_INVERSE, KS_BLOCKTRI_SEQUENTIAL, N, 1);
    assert_int_equal(r.storage_elements, 3 * N - 1);
    r = counted(&costs, KS_COUNT_FACTOR, KS_BLOCKTRI_PARTITION, 100, 4);
    assert_true(r.storage_elements > 199 + 30);
    const ks_count_case huge = {.method = KS_COUNT_FACTOR, .T = (int64_t)1 << 51, .threads = 1,
                                .blocks = {KS_BLOCKTRI_SEQUENTIAL, 0, 0, 0}};
    assert_int_equal(ks_count_method(&r, &costs, &huge), KS_ENOMEM);
    ks_count_case automatic = huge;
    ks_unit_costs without = costs;
    automatic.T = 10;
    without.blocks.n = 0;
    assert_int_equal(ks_count_method(&r, &without, &automatic), KS_EINVAL);
    automatic.T = 10;
    automatic.blocks.order = KS_BLOCKTRI_AUTO;
    assert_int_equal(ks_count_method(&r, &costs, &automatic), KS_EINVAL);
    assert_int_equal(ks_bt_unit_costs_find(&costs.blocks, 0, 1), KS_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_length),
        cmocka_unit_test(long_systems),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
