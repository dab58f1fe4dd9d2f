/* test_scan_elements.c -- filtering and smoothing elements scanned on a device, against the serial
 * machine with the same text: every algorithm, both directions, numbers of states with kernels of
 * their own, whose elements come through shared memory, and without, by a thread for each lane and by
 * teams of them. On the emulated device threads leave the serial machine's bits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cases.h"
#include "gpu/gpu.h"
#include "hd.h"
#include "machine_cuda.h"
#include "plan.h"
#include "scan_elements.h"
#include "num_f64.h"
#undef KS_GEMM /* sums in the order of device code */
#include "smallmat_text.h"
#include "array_text.h"
#include "step_text.h"
#include "array_step_text.h"
#include "element_text.h"
#include "num_end.h"
#include "session.h"

enum { SEEDS = SEEDS_OF(3, 1) };
enum { MOST_NX = 7, MOST_SIZE = 2 * MOST_NX * MOST_NX + 3 * MOST_NX, WORK = 40 * MOST_NX * MOST_NX,
       MOST_LITERAL = 4, WARP = 32, BLOCKS = 2 };

/* What is scanned: the operator of one kind of element, by threads (0) or by teams of so many, in memory of the device
 * or of blocks. */
typedef struct kind {
    const char *name;
    int nx, smooths, team, of_device;
    double scale; /* of roots of covariances and informations */
    int warps;    /* of a block of threads */
    int together; /* all rounds in one launch */
} kind;

static int combine(void *user, void *scratch, const ks_combine_job *job)
{
    const kind *e = user;
    for (int64_t l = 0; l < job->lanes; ++l)
        for (int64_t c = 0; c < job->chain; ++c) {
            double *dst = (void *)(job->dst + l * job->dst_lane + c * job->dst_chain);
            const double *lhs = (const void *)(job->lhs + l * job->lhs_lane + c * job->lhs_chain);
            const double *rhs = (const void *)(job->rhs + l * job->rhs_lane + c * job->rhs_chain);
            if (e->smooths) ks_smooth_combine_f64(e->nx, dst, lhs, rhs, scratch);
            else ks_filter_combine_f64(e->nx, dst, lhs, rhs, scratch);
        }
    return 0;
}

static int neutral(void *user, void *dst)
{
    const kind *e = user;
    if (e->smooths) ks_smooth_neutral_f64(e->nx, dst);
    else ks_filter_neutral_f64(e->nx, dst);
    return 0;
}

static double uniform(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) / 9007199254740992.0 - 0.5;
}

/* Packed G Gᵀ with random G of rank n or, one time in four, 1. */
static void random_covariance(uint64_t *state, int n, double scale, double *packed)
{
    double g[MOST_NX * MOST_NX];
    const int rank = uniform(state) < -0.25 ? 1 : n;
    for (int i = 0; i < n * rank; ++i) g[i] = scale * uniform(state);
    for (int i = 0, at = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j, ++at) {
            packed[at] = 0;
            for (int r = 0; r < rank; ++r) packed[at] += g[i * rank + r] * g[j * rank + r];
        }
}

static void random_element(uint64_t *state, const kind *e, double *to)
{
    const int n = e->nx, nn = n * n, half = n * (n + 1) / 2;
    for (int i = 0; i < nn + n; ++i) to[i] = 1.5 * uniform(state);
    random_covariance(state, n, e->scale, to + nn + n);
    if (e->smooths) return;
    for (int i = 0; i < n; ++i) to[nn + n + half + i] = uniform(state);
    random_covariance(state, n, e->scale, to + nn + 2 * n + half);
}

static int64_t size_of(const kind *e)
{
    return e->smooths ? ks_smooth_element_size(e->nx) : ks_filter_element_size(e->nx);
}

/* A plan's rounds in the device's memory. */
static void *rounds_of(const ks_scan_plan *plan)
{
    const size_t bytes = (size_t)plan->inside.rounds * sizeof *plan->inside.round;
    void *rounds;
    OK(ks_gpu_alloc(gpu, &rounds, bytes));
    OK(ks_gpu_copy_in(gpu, rounds, plan->inside.round, bytes, stream));
    OK(ks_gpu_stream_sync(gpu, stream));
    return rounds;
}

static void on_device(int seed, const kind *e, const ks_scan_plan *plan, double *x)
{
    void *elements, *spare, *scratch = NULL, *memory = NULL, *rounds = NULL;
    const size_t bytes = (size_t)size_of(e) * sizeof *x;
    const size_t all = (size_t)plan->inside.length[KS_ELEMENTS] * bytes;
    char name[64];
    const unsigned lanes = e->team == 0 ? (unsigned)e->warps * WARP : e->team > 32 ? 1 : 64 / (unsigned)e->team;
    const size_t slice = e->team ? (size_t)ks_scan_team_bytes(e->nx) : 0;
    if (e->team) snprintf(name, sizeof name, "ks_%s_scan_team", e->name);
    else if (e->nx > MOST_LITERAL) snprintf(name, sizeof name, "ks_%s_scan_any", e->name);
    else snprintf(name, sizeof name, "ks_%s_scan_%d", e->name, e->nx);
    begin(seed);
    OK(ks_gpu_alloc(gpu, &elements, all));
    OK(ks_gpu_alloc(gpu, &spare, (size_t)ks_scan_plan_spare(plan) * bytes));
    if (e->nx > MOST_LITERAL || e->team)
        OK(ks_gpu_alloc(gpu, &scratch, (size_t)ks_scan_elements_scratch(e->nx) * lanes * BLOCKS *
                                           sizeof *x));
    if (e->of_device) OK(ks_gpu_alloc(gpu, &memory, slice * lanes * BLOCKS));
    if (e->together) rounds = rounds_of(plan);
    ks_scan_elements_args args;
    memset(&args, 0, sizeof args);
    args.nx = e->nx;
    args.scratch = scratch;
    args.team.memory = memory;
    args.team.slice = (int64_t)slice;
    ks_cuda_operator op = {NULL, NULL, NULL, lanes, (unsigned)e->team, memory ? 0 : slice * lanes, BLOCKS, &args,
                           sizeof args, rounds};
    if (!e->team && e->nx <= MOST_LITERAL) op.shared = (size_t)ks_scan_elements_shared(e->nx, e->smooths, (int)lanes);
    OK(ks_gpu_find(gpu, &op.combine, e->team ? "ks_scan_team" : "ks_scan_elements", name));
    OK(ks_gpu_copy_in(gpu, elements, x, all, stream));
    OK(ks_cuda_scan(gpu, &plan->inside, &op, elements, spare, stream));
    OK(ks_gpu_copy_out(gpu, x, elements, all, stream));
    OK(ks_gpu_stream_sync(gpu, stream));
    ks_gpu_free(gpu, rounds);
    ks_gpu_free(gpu, memory);
    ks_gpu_free(gpu, scratch);
    ks_gpu_free(gpu, spare);
    ks_gpu_free(gpu, elements);
    end();
}

static void check(int seed, const kind *e, const ks_scan_options *options, int64_t length)
{
    const int64_t size = size_of(e);
    const size_t bytes = (size_t)size * sizeof(double);
    const ks_operator op = {sizeof op, bytes, WORK * sizeof(double), (void *)(uintptr_t)e, combine,
                            neutral, NULL, NULL};
    ks_scan_plan *plan;
    OK(ks_scan_plan_create(&plan, NULL, length, options));
    double *expected = aligned_block((size_t)length * bytes), *x = aligned_block((size_t)length * bytes);
    void *work = aligned_block(ks_scan_workspace_bytes(plan, &op));
    uint64_t state = (uint64_t)(length + 100 * e->nx);
    for (int64_t k = 0; k < length; ++k) random_element(&state, e, x + k * size);
    memcpy(expected, x, (size_t)length * bytes);
    OK(ks_scan_run_on(&ks_machine_serial, plan, &op, expected, work));
    on_device(seed, e, plan, x);
#ifdef EMULATED
    if (!e->team) assert_memory_equal(x, expected, (size_t)length * bytes);
#endif
    for (int64_t i = 0; i < length * size; ++i) {
        const double difference = fabs(x[i] - expected[i]);
        /* Round-off grows with covariance times information. */
        assert_true(difference <= 1e-9 * e->scale * e->scale * (1 + fabs(expected[i])));
    }
    free(work);
    free(x);
    free(expected);
    ks_scan_plan_destroy(plan);
}

static void check_kind(const char *name, int smooths)
{
    static const int64_t lengths[] = {1, 2, 7, 33};
    for (int seed = 0; seed < SEEDS; ++seed)
        for (int nx = 1; nx <= MOST_NX; ++nx)
            for (int i = 0; i < case_count; ++i)
                for (int j = 0; j < 8; ++j) {
                    const kind e = {name, nx, smooths, 0, 0, 1, 1, 0};
                    ks_scan_options options = cases[i];
                    options.direction = j & 1 ? KS_REVERSE : KS_FORWARD;
                    check(seed, &e, &options, lengths[j / 2]);
                }
}

/* Elements of literal sizes by blocks of several warps, each of which brings those of 32 lanes at a time: rounds that
 * end within 32 lanes, and more lanes than all warps of the launch; also elements that join in the array form, and all
 * rounds in one launch. */
static void check_warps(const char *name, int smooths)
{
    static const int64_t lengths[] = {31, 33, 64, 97, 300};
    for (int seed = 0; seed < SEEDS; ++seed)
        for (int i = 0; i < case_count; ++i)
            for (int j = 0; j < 5; ++j) {
                const int turn = i + j + seed, scale = lengths[j] > 33 || turn % 3 ? 1 : 100;
                const kind e = {name, 1 + turn % MOST_LITERAL, smooths, 0, 0, scale, 2 + turn % 3, turn / 2 % 2};
                ks_scan_options options = cases[i];
                options.direction = KS_FORWARD;
                check(seed, &e, &options, lengths[j]);
                options.direction = KS_REVERSE;
                check(seed, &e, &options, lengths[j]);
            }
}

/* Teams that are part of a warp, one, and several, smaller and larger than a row of an element; of elements that join in the array
 * form, too, where covariance and information are both large. */
static void check_teams(const char *name, int smooths)
{
    static const int teams[] = {8, 32, 128};
    for (int seed = 0; seed < SEEDS; ++seed)
        for (int i = 0; i < case_count; ++i)
            for (int j = 0; j < 3; ++j) {
                const kind e = {name, j == 0 ? MOST_NX : 5, smooths, teams[(i + j + seed) % 3], (i + seed) % 2,
                                i % 3 ? 1 : 100, 0, 0};
                ks_scan_options options = cases[i];
                options.direction = (i + seed) & 1 ? KS_REVERSE : KS_FORWARD;
                check(seed, &e, &options, j == 2 ? 2 : 11);
            }
}

static void filtering_elements(void **state)
{
    (void)state;
    check_kind("filter", 0);
}

static void smoothing_elements(void **state)
{
    (void)state;
    check_kind("smooth", 1);
}

static void filtering_elements_by_warps(void **state)
{
    (void)state;
    check_warps("filter", 0);
}

static void smoothing_elements_by_warps(void **state)
{
    (void)state;
    check_warps("smooth", 1);
}

static void filtering_elements_by_teams(void **state)
{
    (void)state;
    check_teams("filter", 0);
}

static void smoothing_elements_by_teams(void **state)
{
    (void)state;
    check_teams("smooth", 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filtering_elements),
        cmocka_unit_test(smoothing_elements),
        cmocka_unit_test(filtering_elements_by_warps),
        cmocka_unit_test(smoothing_elements_by_warps),
        cmocka_unit_test(filtering_elements_by_teams),
        cmocka_unit_test(smoothing_elements_by_teams),
    };
    only_tests(argc, argv, tests);
    if (no_device()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
