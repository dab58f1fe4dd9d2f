/* test_blocktri_blocked.c -- block-tridiagonal systems with large blocks on a device: against the solver
 * of the CPU, on the emulated device under several seeds, and on the first device of the machine. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "blocktri_laws.h"
#include "sanitizers.h"

enum { SEEDS = SANITIZED ? 2 : SEEDS_OF(3, 3) };

static void run_all(ks_precision precision, int64_t N, int n, int nrhs, int systems, unsigned seed)
{
    run_with(options_of(precision, systems, 1), N, n, nrhs, seed);
}

static void invert(ks_precision precision, int64_t N, int n, int systems, unsigned seed, int with_lag)
{
    invert_with(options_of(precision, systems, 1), N, n, seed, with_lag);
}

/* Tiles of 64: orders below, at and beyond one and two of them; multiples of 16 and others. */
static void orders(void **state)
{
    (void)state;
    static const struct { int n, N, nrhs; } sizes[] = {
        { 33, 5, 1 }, { 48, 3, 9 }, { 64, 4, 2 }, { 65, 3, 1 }, { 100, 2, 3 }, { 130, 3, 1 },
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        use_seed((int)i);
        run_all(i % 3 == 1 ? KS_F32 : KS_F64, sizes[i].N, sizes[i].n, sizes[i].nrhs, 1, (unsigned)i);
        if (i % 3 == 0)
            run_all(KS_F32, sizes[i].N, sizes[i].n, sizes[i].nrhs, 1, (unsigned)i);
    }
}

static void lengths(void **state)
{
    (void)state;
    for (int N = 1; N <= 19; N += N < 8 ? 1 : 9) {
        use_seed(N);
        run_all(KS_F64, N, 3 + 13 * (N % 3), 1 + N % 2, 1, (unsigned)N);
    }
}

static void many_right_hand_sides(void **state)
{
    (void)state;
    static const struct { int n, N, nrhs; } sizes[] = { { 70, 2, 17 }, { 40, 2, 64 }, { 33, 2, 70 } };
    for (int i = 0; i < 3; ++i) {
        use_seed(i);
        run_all(i == 1 ? KS_F32 : KS_F64, sizes[i].N, sizes[i].n, sizes[i].nrhs, 1, (unsigned)i);
    }
}

static void many_systems_at_once(void **state)
{
    (void)state;
    for (int seed = 0; seed < SEEDS; ++seed) {
        use_seed(seed);
        run_all(KS_F64, 2 + seed, 35, 1 + 20 * (seed == 1), 3, (unsigned)seed);
        run_all(KS_F32, 3, 20, 2, 2, (unsigned)seed);
    }
}

static void blocks_of_the_inverse(void **state)
{
    (void)state;
    for (int N = 1; N <= 12; N += N < 8 ? 1 : 4) {
        use_seed(N);
        invert(KS_F64, N, 1 + 5 * (N % 4), 1, (unsigned)N, 1);
    }
    use_seed(1);
    invert(KS_F64, 4, 70, 1, 1, 1);
    invert(KS_F32, 2, 130, 1, 1, 1);
    invert(KS_F32, 6, 17, 3, 2, 1);
    invert(KS_F64, 3, 33, 1, 3, 0);
}

/* Rows and columns i of a job's blocks times 10^(steep i / n). */
static void steepen(job *j, double steep)
{
    for (int s = 0; s < j->count; ++s) {
        const bt_system *system = &j->system[s];
        const int n = system->n;
        for (int64_t e = 0; e < system->N * system->stride; ++e) {
            const int64_t i = e % system->stride / n, c = e % system->stride % n;
            const double by = pow(10, steep * (double)(i + c) / n);
            bt_put(system, system->D, e, bt_get(system, system->D, e) * by);
            bt_put(system, system->L, e, bt_get(system, system->L, e) * by);
        }
        OK(ks_blocktri_cuda_upload(j->plan, (char *)(uintptr_t)j->D.data + (size_t)(s * j->blocks) * 8,
                                   system->D, (size_t)j->blocks * 8));
        OK(ks_blocktri_cuda_upload(j->plan, (char *)(uintptr_t)j->L.data + (size_t)(s * j->blocks) * 8,
                                   system->L, (size_t)j->blocks * 8));
    }
}

/* A factor in single precision, solutions and log-determinants of the matrix in double: `steep` is the
 * power of ten that the scales of its rows span. */
static void refine(int64_t N, int n, int nrhs, int systems, unsigned seed, double steep)
{
    ks_blocktri_cuda_options options = options_of(KS_F64, systems, 0);
    ks_blocktri_refine_report report = { -1, 1 };
    double logdet[MOST_SYSTEMS], expected[MOST_SYSTEMS];
    job j = begin_with(options, N, n, nrhs, seed);
    steepen(&j, steep);
    OK(ks_blocktri_cuda_factorize(j.plan, j.D, j.L, NULL));
    OK(ks_blocktri_cuda_logdet(j.plan, expected, NULL));
    end(&j);
    options.precision = KS_F32;
    options.refine = 1;
    j = begin_with(options, N, n, nrhs, seed);
    steepen(&j, steep);
    void *work;
    OK(ks_blocktri_cuda_alloc(j.plan, &work, ks_blocktri_cuda_refine_bytes(j.plan, nrhs)));
    OK(ks_blocktri_cuda_factorize(j.plan, j.D, j.L, NULL));
    for (int repeat = 0; repeat < 2; ++repeat)
        OK(ks_blocktri_cuda_refine_solve(j.plan, j.D, j.L, nrhs, j.b, j.x, work, NULL, &report, NULL));
    wait(&j);
    OK(ks_blocktri_cuda_logdet(j.plan, logdet, NULL));
    if (!(report.steps >= 1 && report.residual <= 1e-15))
        fail_msg("residual %g after %d steps", report.residual, report.steps);
    for (int s = 0; s < systems; ++s)
        assert_true(fabs(logdet[s] - expected[s]) <= 5e-6 * (double)(N * n) * 10);
    ks_blocktri_cuda_free(j.plan, work);
    fetch(&j, j.x.data);
    judge(&j, expected);
    end(&j);
}

static void refinement(void **state)
{
    (void)state;
    for (int seed = 0; seed < SEEDS; ++seed) {
        use_seed(seed);
        refine(1 + 2 * seed, 5 + 30 * (seed == 1), 1 + 9 * (seed == 2), 1 + seed % 2, (unsigned)seed,
               seed == 2 ? 24 : 0);
    }
}

/* The same bits under every order of threads and blocks. */
static void same_bits_each_time(void **state)
{
    (void)state;
    void *first = NULL;
    for (int seed = 0; seed < SEEDS; ++seed) {
        use_seed(seed);
        job j = begin(KS_F64, 3, 70, 2, 1, 7);
        const size_t bytes = (size_t)j.columns * j.number;
        OK(ks_blocktri_cuda_factor_solve(j.plan, j.D, j.L, 2, j.b, j.x, NULL));
        wait(&j);
        fetch(&j, j.x.data);
        if (!first) {
            first = malloc(bytes);
            assert_non_null(first);
            memcpy(first, j.system[0].x, bytes);
        }
        assert_memory_equal(first, j.system[0].x, bytes);
        end(&j);
    }
    free(first);
}

static void expect_failure(job *j, int system, int64_t k, int pivot, double value)
{
    bt_system *s = &j->system[system];
    ks_blocktri_cuda_info info = KS_BLOCKTRI_CUDA_INFO_INIT;
    const int64_t at = k * s->stride + (int64_t)pivot * (s->n + 1);
    const double was = bt_get(s, s->D, at);
    char *const device = (char *)(uintptr_t)j->D.data + (size_t)(system * j->blocks) * j->number;
    bt_put(s, s->D, at, value);
    OK(ks_blocktri_cuda_upload(j->plan, device, s->D, (size_t)j->blocks * j->number));
    OK(ks_blocktri_cuda_factor_solve(j->plan, j->D, j->L, 1, j->b, j->x, NULL));
    assert_int_equal(ks_blocktri_cuda_wait(j->plan, &info, NULL), KS_ENOTPD);
    assert_int_equal(info.system, system);
    assert_int_equal(info.block, k);
    assert_int_equal(info.pivot, pivot);
    bt_put(s, s->D, at, was);
    OK(ks_blocktri_cuda_upload(j->plan, device, s->D, (size_t)j->blocks * j->number));
}

static void failures_are_named(void **state)
{
    (void)state;
    use_seed(2);
    job j = begin(KS_F64, 4, 101, 1, 2, 1);
    expect_failure(&j, 1, 3, 100, -1);
    expect_failure(&j, 0, 1, 40, (double)NAN);
    expect_failure(&j, 1, 2, 64, 0);
    expect_failure(&j, 0, 0, 7, (double)INFINITY);
    OK(ks_blocktri_cuda_factorize(j.plan, j.D, j.L, NULL));
    wait(&j);
    end(&j);
}

static void arguments(void **state)
{
    (void)state;
    use_seed(1);
    ks_blocktri_cuda_plan *plan;
    const ks_blocktri_cuda_options with = options_of(KS_F64, 2, 1);
    ks_blocktri_cuda_options mixed = options_of(KS_F64, 1, 0);
    double memory[2];
    mixed.refine = 1;
    assert_int_equal(ks_blocktri_cuda_plan_create(&plan, NULL, 3, 4, &mixed), KS_EINVAL);
    mixed.precision = KS_F32;
    OK(ks_blocktri_cuda_plan_create(&plan, NULL, 3, 4, &mixed));
    assert_true(ks_blocktri_cuda_refine_bytes(plan, 2) >= 3 * 4 * 2 * (sizeof(double) + sizeof(float)));
    assert_int_equal(ks_blocktri_cuda_refine_bytes(plan, 0), 0);
    const ks_cuda_const_blocks in = { memory, 16, 0 };
    const ks_cuda_blocks out = { memory + 1, 16, 0 };
    assert_int_equal(ks_blocktri_cuda_refine_solve(plan, in, in, 1, in, out, memory, NULL, NULL, NULL),
                     KS_EINVAL);
    assert_int_equal(ks_blocktri_cuda_factor_solve(plan, in, in, 1, in, out, NULL), KS_EINVAL);
    ks_blocktri_cuda_plan_destroy(plan);
    void *const work = memory;
    const ks_cuda_blocks S = { memory, 16, 48 }, none = { NULL, 0, 0 }, narrow = { memory, 15, 48 };
    assert_int_equal(ks_blocktri_cuda_inverse_bytes(NULL), 0);
    OK(ks_blocktri_cuda_plan_create(&plan, NULL, 3, 4, &with));
    assert_int_equal(ks_blocktri_cuda_inverse_bytes(plan), 2 * (9 + 6) * 256 * sizeof(double));
    assert_int_equal(ks_blocktri_cuda_inverse_blocks(plan, S, S, work, NULL), KS_EINVAL);
    ks_blocktri_cuda_plan_destroy(plan);
    for (int inverse = 0; inverse < 2; ++inverse) {
        job j = begin_with(options_of(KS_F64, 1, inverse), 3, 4, 1, 1);
        const ks_status valid = inverse ? KS_EINVAL : KS_EUNAVAILABLE;
        OK(ks_blocktri_cuda_factorize(j.plan, j.D, j.L, NULL));
        assert_int_equal(ks_blocktri_cuda_inverse_blocks(j.plan, S, none, NULL, NULL), KS_EINVAL);
        assert_int_equal(ks_blocktri_cuda_inverse_blocks(j.plan, none, S, work, NULL), valid);
        assert_int_equal(ks_blocktri_cuda_inverse_blocks(j.plan, narrow, S, work, NULL), valid);
        assert_int_equal(ks_blocktri_cuda_inverse_blocks(j.plan, S, narrow, work, NULL), valid);
        assert_true((ks_blocktri_cuda_inverse_bytes(j.plan) > 0) == (inverse == 1));
        wait(&j);
        end(&j);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders),
        cmocka_unit_test(lengths),
        cmocka_unit_test(many_right_hand_sides),
        cmocka_unit_test(many_systems_at_once),
        cmocka_unit_test(blocks_of_the_inverse),
        cmocka_unit_test(refinement),
        cmocka_unit_test(same_bits_each_time),
        cmocka_unit_test(failures_are_named),
        cmocka_unit_test(arguments),
    };
    only_tests(argc, argv, tests);
    if (no_device()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
