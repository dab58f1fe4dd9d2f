/* test_blocktri_schur.c -- recursive Schur complements by batched calls, on the emulated device, where plain
 * kernels stand for NVIDIA's libraries, and on the first device of the machine. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "blocktri_laws.h"

static ks_blocktri_cuda_options schur_options(ks_precision precision, int spacing, int crossover)
{
    ks_blocktri_cuda_options options = KS_BLOCKTRI_CUDA_OPTIONS_INIT;
    options.precision = precision;
    options.order = KS_BLOCKTRI_RECURSIVE_SCHUR;
    options.separator_spacing = spacing;
    options.crossover = crossover;
    return options;
}

static void run_all(ks_precision precision, int spacing, int crossover, int64_t N, int n, int nrhs)
{
    run_with(schur_options(precision, spacing, crossover), N, n, nrhs, (unsigned)(N + n));
}

/* Every length, also where a level's last segment is empty, as long as the others, or alone. */
static void lengths(void **state)
{
    (void)state;
    for (int N = 1; N <= 33; N += N < 20 ? 1 : 5) {
        use_seed(N);
        run_all(KS_F64, 2 + N % 3, 2, N, 1 + N % 3, 1 + N % 2);
        run_all(KS_F32, 4, 2 + N % 7, N, 2, 1);
    }
    use_seed(2);
    run_all(KS_F64, 0, 0, 70, 2, 1);
}

static void orders_of_blocks(void **state)
{
    (void)state;
    for (int n = 1; n <= 33; n += 16) {
        use_seed(n);
        run_all(KS_F64, 3, 3, 8, n, 3);
    }
}

/* The first call of a kind takes what the libraries need, the next makes a graph, those behind it launch that
 * again; or all go into the stream, where the libraries cannot be captured. */
static void calls_again(void **state)
{
    (void)state;
    for (int captured = 0; captured < 2; ++captured)
        for (int seed = 0; seed < ORDERS; ++seed) {
            double logdet;
            use_seed(seed);
            job j = begin_with(schur_options(KS_F64, 3, 2), 11, 3, 2, 4);
#ifdef EMULATED
            ks_emulated.uncapturable = captured ? NULL : "plain_blas";
            long made[5], ran[5];
#endif
            for (int call = 0; call < 5; ++call) {
                const int nrhs = call < 4 ? 1 : 2;
                OK(ks_blocktri_cuda_factorize(j.plan, j.D, j.L, NULL));
                OK(ks_blocktri_cuda_solve(j.plan, nrhs, j.b, j.x, NULL));
                wait(&j);
#ifdef EMULATED
                made[call] = ks_emulated.calls;
                ran[call] = ks_emulated.launches;
#endif
            }
            OK(ks_blocktri_cuda_logdet(j.plan, &logdet, NULL));
            fetch(&j, j.x.data);
            judge(&j, &logdet);
#ifdef EMULATED
            assert_int_equal(made[1] - made[0], captured ? 2 : 0);
            assert_int_equal(made[4], made[1]);
            for (int call = 2; call < 5; ++call) assert_int_equal(ran[call] - ran[call - 1], ran[1] - ran[0]);
#endif
            end(&j);
        }
}

static void failures_are_named(void **state)
{
    (void)state;
    static const struct { int block, pivot; } bad[] = { { 3, 1 }, { 8, 0 }, { 2, 2 }, { 13, 1 } };
    use_seed(3);
    job j = begin_with(schur_options(KS_F64, 3, 2), 14, 3, 1, 5);
    bt_system *s = &j.system[0];
    for (int i = 0; i < 4; ++i) {
        ks_blocktri_cuda_info info = KS_BLOCKTRI_CUDA_INFO_INIT;
        const int64_t at = bad[i].block * s->stride + bad[i].pivot * 4;
        const double was = bt_get(s, s->D, at);
        void *const D = (void *)(uintptr_t)j.D.data;
        bt_put(s, s->D, at, -1);
        OK(ks_blocktri_cuda_upload(j.plan, D, s->D, (size_t)j.blocks * j.number));
        OK(ks_blocktri_cuda_factorize(j.plan, j.D, j.L, NULL));
        assert_int_equal(ks_blocktri_cuda_wait(j.plan, &info, NULL), KS_ENOTPD);
        assert_int_equal(info.block, bad[i].block);
        assert_int_equal(info.pivot, bad[i].pivot);
        bt_put(s, s->D, at, was);
        OK(ks_blocktri_cuda_upload(j.plan, D, s->D, (size_t)j.blocks * j.number));
    }
    OK(ks_blocktri_cuda_factorize(j.plan, j.D, j.L, NULL));
    wait(&j);
    end(&j);
}

static void arguments(void **state)
{
    (void)state;
    use_seed(1);
    ks_blocktri_cuda_plan *plan;
    ks_blocktri_cuda_options o = schur_options(KS_F64, 0, 0);
    const ks_blocktri_cuda_options good = o;
#define INVALID(member, value)                                                             \
    o.member = (value);                                                                    \
    assert_int_equal(ks_blocktri_cuda_plan_create(&plan, NULL, 9, 2, &o), KS_EINVAL);      \
    assert_string_equal(ks_blocktri_cuda_plan_invalid(9, 2, &o), #member);                 \
    o = good
    INVALID(systems, 2);
    INVALID(inverse, 1);
    INVALID(separator_spacing, 1);
    INVALID(crossover, 1);
    INVALID(order, KS_BLOCKTRI_TWISTED);
    assert_true(ks_blocktri_cuda_bytes(9, 2, &o) > (size_t)3 * 9 * 4 * 8);
}

#ifdef EMULATED
static void allocations_fail(void **state)
{
    (void)state;
    const ks_blocktri_cuda_options o = schur_options(KS_F64, 2, 2);
    for (long fail_at = 1;; ++fail_at) {
        ks_blocktri_cuda_plan *plan;
        use_seed(2);
        ks_emulated.fail_at = fail_at;
        const ks_status status = ks_blocktri_cuda_plan_create(&plan, NULL, 6, 2, &o);
        ks_blocktri_cuda_plan_destroy(plan);
        check_clean();
        if (ks_emulated.calls < fail_at) {
            assert_int_equal(status, KS_OK);
            assert_true(fail_at > 12);
            break;
        }
        assert_int_equal(status, KS_ENOMEM);
    }
}
#endif

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths),
        cmocka_unit_test(orders_of_blocks),
        cmocka_unit_test(calls_again),
        cmocka_unit_test(failures_are_named),
        cmocka_unit_test(arguments),
#ifdef EMULATED
        cmocka_unit_test(allocations_fail),
#endif
    };
    only_tests(argc, argv, tests);
    use_seed(0);
    ks_blocktri_cuda_plan *plan;
    const ks_blocktri_cuda_options options = schur_options(KS_F64, 0, 0);
    const ks_status status = ks_blocktri_cuda_plan_create(&plan, NULL, 1, 1, &options);
    if (status == KS_ENODEV || status == KS_EUNAVAILABLE) {
        puts("no device, or no libraries");
        return 77;
    }
    ks_blocktri_cuda_plan_destroy(plan);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
