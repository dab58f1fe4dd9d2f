/* test_arguments.c -- arguments that are wrong, memory that runs out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "chains.h"
#include "cpu.h"
#include "failalloc.h"
#include "kalscan/blocktri_refine.h"
#include "system.h"

/** name: what is not valid, or NULL. */
static void refused(int64_t N, int n, const ks_blocktri_options *o, ks_status wanted, const char *name)
{
    ks_blocktri_plan *plan = (ks_blocktri_plan *)&plan;
    assert_int_equal(ks_blocktri_plan_create(&plan, NULL, N, n, o), wanted);
    assert_null(plan);
    const char *told = ks_blocktri_plan_invalid(N, n, o);
    if (name) assert_string_equal(told, name);
    else assert_null(told);
}

static void test_plan_arguments(void **state)
{
    (void)state;
    const ks_blocktri_options good = KS_BLOCKTRI_OPTIONS_INIT;
    ks_blocktri_options o = good;
    refused(0, 4, &o, KS_EINVAL, "N");
    refused(-1, 4, &o, KS_EINVAL, "N");
    refused(4, 0, &o, KS_EINVAL, "n");
    refused(INT64_MAX, 1, &o, KS_ENOMEM, NULL);
    refused(1, 1 << 20, &o, KS_ENOMEM, NULL);
    o.size = 1, refused(4, 4, &o, KS_EINVAL, "size"), o = good;
    o.order = (ks_blocktri_order)KS_BLOCKTRI_ORDERS, refused(4, 4, &o, KS_EINVAL, "order"), o = good;
    o.precision = (ks_precision)7, refused(4, 4, &o, KS_EINVAL, "precision"), o = good;
    o.tier = (ks_tier)7, refused(4, 4, &o, KS_EINVAL, "tier"), o = good;
    o.threads = -1, refused(4, 4, &o, KS_EINVAL, "threads"), o = good;
    o.segments = 1, refused(4, 4, &o, KS_EINVAL, "segments"), o = good;
    o.separator_spacing = 1, refused(4, 4, &o, KS_EINVAL, "separator_spacing"), o = good;
    o.crossover = 1, refused(4, 4, &o, KS_EINVAL, "crossover"), o = good;
    assert_int_equal(ks_blocktri_plan_create(NULL, NULL, 4, 4, NULL), KS_EINVAL);
    ks_blocktri_plan_destroy(NULL);
    assert_int_equal(ks_blocktri_plan_order(NULL), KS_BLOCKTRI_AUTO);
    assert_int_equal(ks_blocktri_plan_segments(NULL), 0);
    assert_int_equal(ks_blocktri_plan_threads(NULL), 1);
    assert_int_equal(ks_blocktri_fill_bytes(NULL), 0);
    assert_int_equal(ks_blocktri_workspace_bytes(NULL), 0);
    assert_int_equal(ks_blocktri_inverse_workspace_bytes(NULL), 0);
    assert_int_equal(ks_blocktri_refine_workspace_bytes(NULL, 1), 0);
}

/* Every tier is made of its own kernels or refused; the automatic one is the last that is there, of a processor that halves
 * vectors of AVX-512 the last before that. */
static void test_tiers(void **state)
{
    (void)state;
#if defined(KS_WITHOUT_BASELINE)
    static const char *const names[] = { NULL, "avx2", "avx2", "avx512" };
#else
    static const char *const names[] = { NULL, "baseline", "avx2", "avx512" };
#endif
    for (int p = 0; p < 2; ++p) {
        ks_blocktri_options o = KS_BLOCKTRI_OPTIONS_INIT;
        const ks_bt_kernels *best = NULL;
        o.precision = (ks_precision)p;
        for (int tier = KS_TIER_BASELINE; tier <= KS_TIER_AVX512; ++tier) {
            const ks_bt_kernels *kernels = ks_bt_kernels_of(o.precision, (ks_tier)tier, 32);
            o.tier = (ks_tier)tier;
            if (!kernels) {
                refused(4, 4, &o, KS_EUNAVAILABLE, NULL);
                continue;
            }
            assert_string_equal(kernels->name, names[tier]);
            assert_int_equal(kernels->number, p == KS_F64 ? sizeof(double) : sizeof(float));
            if (tier < KS_TIER_AVX512 || !ks_halves_vectors()) best = kernels;
        }
        assert_non_null(best);
        assert_ptr_equal(best, ks_bt_kernels_of(o.precision, KS_TIER_AUTO, 32));
    }
}

static void test_names(void **state)
{
    (void)state;
    static const char *const names[KS_BLOCKTRI_ORDERS] = {
        "auto", "sequential", "twisted", "partition", "nested-dissection", "recursive-schur",
    };
    for (int i = 0; i < KS_BLOCKTRI_ORDERS; ++i)
        assert_string_equal(ks_blocktri_order_name((ks_blocktri_order)i), names[i]);
    assert_null(ks_blocktri_order_name((ks_blocktri_order)KS_BLOCKTRI_ORDERS));
}

static int64_t segments_of(int64_t N, int n, const ks_blocktri_options *o, int threads,
                           ks_blocktri_order wanted)
{
    ks_context_options c = KS_CONTEXT_OPTIONS_INIT;
    ks_context *context;
    ks_blocktri_plan *plan;
    c.threads = threads;
    assert_int_equal(ks_context_create(&context, &c), KS_OK);
    assert_int_equal(ks_blocktri_plan_create(&plan, context, N, n, o), KS_OK);
    assert_int_equal(ks_blocktri_plan_order(plan), wanted);
    const int64_t segments = ks_blocktri_plan_segments(plan);
    const int workers = ks_blocktri_plan_threads(plan);
    assert_true(workers >= 1 && workers <= threads);
    if (segments <= 2) assert_int_equal(workers, threads < segments ? threads : segments);
    ks_blocktri_plan_destroy(plan);
    ks_context_destroy(context);
    return segments;
}

static void test_choice(void **state)
{
    (void)state;
    ks_blocktri_options o = KS_BLOCKTRI_OPTIONS_INIT;
    assert_int_equal(segments_of(100000, 4, &o, 1, KS_BLOCKTRI_SEQUENTIAL), 1);
    assert_int_equal(segments_of(3, 200, &o, 8, KS_BLOCKTRI_SEQUENTIAL), 1);
    assert_int_equal(segments_of(100000, 4, &o, 2, KS_BLOCKTRI_TWISTED), 2);
    assert_int_equal(segments_of(100000, 4, &o, 5, KS_BLOCKTRI_TWISTED), 2);
    assert_int_equal(segments_of(100000, 4, &o, 8, KS_BLOCKTRI_PARTITION), 8);
    /* Too small for threads: few blocks, unless they are large. */
    for (int n = 1; n <= 4; ++n)
        assert_int_equal(segments_of(1000, n, &o, 2, KS_BLOCKTRI_SEQUENTIAL), 1);
    assert_int_equal(segments_of(100, 12, &o, 8, KS_BLOCKTRI_SEQUENTIAL), 1);
    assert_int_equal(segments_of(100, 24, &o, 2, KS_BLOCKTRI_TWISTED), 2);
    assert_int_equal(segments_of(4, 128, &o, 2, KS_BLOCKTRI_TWISTED), 2);
    assert_int_equal(segments_of(4, 1000, &o, 2, KS_BLOCKTRI_TWISTED), 2);
    o.order = KS_BLOCKTRI_PARTITION;
    assert_int_equal(segments_of(1000, 4, &o, 8, KS_BLOCKTRI_PARTITION), 4);
    assert_int_equal(segments_of(6, 4, &o, 8, KS_BLOCKTRI_PARTITION), 3);
    o.order = KS_BLOCKTRI_RECURSIVE_SCHUR;
    assert_int_equal(segments_of(1000, 4, &o, 1, KS_BLOCKTRI_RECURSIVE_SCHUR), 125);
    for (int order = 1; order < KS_BLOCKTRI_ORDERS; ++order) {
        o.order = (ks_blocktri_order)order;
        assert_int_equal(segments_of(1, 4, &o, 8, o.order), 1);
    }
}

/* Strides of one block alone are not looked at. */
static void test_unused_strides(void **state)
{
    (void)state;
    static const int64_t strides[] = { INT64_MIN, -1, 0, 1, INT64_MAX };
    for (int order = 1; order < KS_BLOCKTRI_ORDERS; ++order)
        for (size_t i = 0; i < sizeof strides / sizeof *strides; ++i) {
            bt_system s = bt_system_make(KS_F64, 1, 3, 1, 0, 5);
            const ks_blocktri_options o = bt_options((ks_blocktri_order)order, KS_F64);
            bt_solver v = bt_solver_make(&s, &o, 1, 0);
            double logdet, expected;
            const ks_blocktri_matrix A = { { s.D, strides[i] }, { NULL, strides[i] } };
            ks_blocktri_norms norms;
            assert_int_equal(bt_factorize(&v, &s, NULL), KS_OK);
            assert_int_equal(ks_blocktri_logdet(v.plan, &v.factor, &expected), KS_OK);
            v.factor.D.stride = v.factor.L.stride = strides[i];
            assert_int_equal(ks_blocktri_factorize(v.plan, &A, &v.factor, v.work, NULL), KS_OK);
            assert_int_equal(ks_blocktri_logdet(v.plan, &v.factor, &logdet), KS_OK);
            assert_memory_equal(&logdet, &expected, sizeof logdet);
            const ks_const_blocks b = { s.b, strides[i] }, x = { s.x, strides[i] };
            assert_int_equal(ks_blocktri_solve(v.plan, &v.factor, 1, b, (ks_blocks){ s.x, strides[i] }, v.work), KS_OK);
            assert_int_equal(ks_blocktri_residual(v.plan, &A, 1, x, b, &norms), KS_OK);
            assert_true(norms.residual <= 1e-14 * norms.right_hand_side);
            assert_int_equal(ks_blocktri_inverse_blocks(v.plan, &v.factor, (ks_blocks){ s.D, strides[i] },
                                                        (ks_blocks){ NULL, 0 }, v.inverse_work), KS_OK);
            bt_solver_free(&v);
            bt_system_free(&s);
        }
}

static void test_run_arguments(void **state)
{
    (void)state;
    bt_system s = bt_system_make(KS_F64, 12, 3, 2, 0, 1);
    const ks_blocktri_options o = bt_options(KS_BLOCKTRI_PARTITION, KS_F64);
    bt_solver v = bt_solver_make(&s, &o, 1, 0);
    ks_blocktri_matrix A = bt_matrix(&s);
    ks_blocktri_factor f = v.factor;
    ks_blocktri_info info = KS_BLOCKTRI_INFO_INIT;
    const ks_blocks none = { NULL, 0 };
    double value;
    ks_blocktri_norms norms;

    assert_int_equal(ks_blocktri_factorize(NULL, &A, &f, v.work, &info), KS_EINVAL);
    assert_int_equal(info.status, KS_EINVAL);
    assert_int_equal(ks_blocktri_factorize(v.plan, NULL, &f, v.work, &info), KS_EINVAL);
    assert_int_equal(ks_blocktri_factorize(v.plan, &A, NULL, v.work, &info), KS_EINVAL);
    assert_int_equal(ks_blocktri_factorize(v.plan, &A, &f, NULL, &info), KS_EINVAL);
    assert_int_equal(ks_blocktri_factorize(v.plan, &A, &f, (char *)v.work + 8, &info), KS_EINVAL);
    info.size = 3;
    assert_int_equal(ks_blocktri_factorize(v.plan, &A, &f, v.work, &info), KS_EINVAL);
    f.fill = NULL;
    assert_int_equal(ks_blocktri_factorize(v.plan, &A, &f, v.work, NULL), KS_EINVAL);
    f = v.factor, f.D.stride = 8;
    assert_int_equal(ks_blocktri_factorize(v.plan, &A, &f, v.work, NULL), KS_EINVAL);
    f.D.stride = v.factor.D.stride, f.D.data = (char *)v.factor.D.data + 4;
    assert_int_equal(ks_blocktri_factorize(v.plan, &A, &f, v.work, NULL), KS_EINVAL);
    f = v.factor, f.fill = (char *)v.factor.fill + 4;
    assert_int_equal(ks_blocktri_factorize(v.plan, &A, &f, v.work, NULL), KS_EINVAL);
    f = v.factor, A.D.data = (const char *)A.D.data + 4;
    assert_int_equal(ks_blocktri_factorize(v.plan, &A, &f, v.work, NULL), KS_EINVAL);
    A = bt_matrix(&s), f.L.data = NULL;
    assert_int_equal(ks_blocktri_factorize(v.plan, &A, &f, v.work, NULL), KS_EINVAL);
    f = v.factor, A.L.data = NULL;
    assert_int_equal(ks_blocktri_factorize(v.plan, &A, &f, v.work, NULL), KS_EINVAL);
    A = bt_matrix(&s), A.D.stride = -9;
    assert_int_equal(ks_blocktri_factorize(v.plan, &A, &f, v.work, NULL), KS_EINVAL);
    f = v.factor, f.D.stride = INT64_MAX; /* what has no address */
    assert_int_equal(ks_blocktri_factorize(v.plan, &A, &f, v.work, NULL), KS_EINVAL);
    f = v.factor, A = bt_matrix(&s), A.L.stride = INT64_MAX / 2;
    assert_int_equal(ks_blocktri_factorize(v.plan, &A, &f, v.work, NULL), KS_EINVAL);
    A = bt_matrix(&s), A.D.data = f.D.data, A.D.stride = 0; /* in place, stepping otherwise */
    assert_int_equal(ks_blocktri_factorize(v.plan, &A, &f, v.work, NULL), KS_EINVAL);
    A = bt_matrix(&s), A.L.data = f.L.data, A.L.stride = 0;
    assert_int_equal(ks_blocktri_factorize(v.plan, &A, &f, v.work, NULL), KS_EINVAL);
    A = bt_matrix(&s);
    assert_int_equal(ks_blocktri_factorize(v.plan, &A, &f, v.work, NULL), KS_OK);

    ks_blocks x = bt_x(&s), lag = f.L;
    const ks_const_blocks other = { x.data, 0 };
    assert_int_equal(ks_blocktri_solve(v.plan, &f, 2, other, x, v.work), KS_EINVAL);
    lag.stride = 8;
    assert_int_equal(ks_blocktri_inverse_blocks(v.plan, &f, f.D, lag, v.inverse_work), KS_EINVAL);
    assert_int_equal(ks_blocktri_solve(v.plan, &f, 0, bt_b(&s), x, v.work), KS_EINVAL);
    assert_int_equal(ks_blocktri_solve(v.plan, &f, 3, bt_b(&s), x, v.work), KS_EINVAL);
    assert_int_equal(ks_blocktri_solve(v.plan, &f, 2, bt_b(&s), none, v.work), KS_EINVAL);
    assert_int_equal(ks_blocktri_solve(v.plan, &f, 2, bt_b(&s), x, NULL), KS_EINVAL);
    assert_int_equal(ks_blocktri_solve(v.plan, NULL, 2, bt_b(&s), x, v.work), KS_EINVAL);
    x.data = (char *)x.data + 4;
    assert_int_equal(ks_blocktri_solve(v.plan, &f, 2, bt_b(&s), x, v.work), KS_EINVAL);
    x = bt_x(&s), x.stride = INT64_MAX;
    assert_int_equal(ks_blocktri_solve(v.plan, &f, 2, bt_b(&s), x, v.work), KS_EINVAL);
    x.stride = 0;
    assert_int_equal(ks_blocktri_solve(v.plan, &f, 2, bt_b(&s), x, v.work), KS_EINVAL);
    assert_int_equal(ks_blocktri_logdet(v.plan, &f, NULL), KS_EINVAL);
    assert_int_equal(ks_blocktri_logdet(NULL, &f, &value), KS_EINVAL);
    assert_int_equal(ks_blocktri_inverse_blocks(v.plan, &f, none, none, v.inverse_work), KS_EINVAL);
    assert_int_equal(ks_blocktri_residual(v.plan, &A, 2, bt_x_in(&s), bt_b(&s), NULL), KS_EINVAL);
    assert_int_equal(ks_blocktri_residual(v.plan, &A, 0, bt_x_in(&s), bt_b(&s), &norms), KS_EINVAL);
    bt_solver_free(&v);
    bt_system_free(&s);
}

/* aligned_alloc(64, ...) takes all of them, of any shape. */
static void test_sizes(void **state)
{
    (void)state;
    size_t most = 0;
    for (int order = 0; order < KS_BLOCKTRI_ORDERS; ++order)
        for (int precision = KS_F64; precision <= KS_F32; ++precision)
            for (int n = 1; n <= 5; ++n)
                for (int64_t N = 1; N <= 23; N += 11) {
                    const ks_blocktri_options o = bt_options((ks_blocktri_order)order, (ks_precision)precision);
                    ks_blocktri_plan *plan;
                    assert_int_equal(ks_blocktri_plan_create(&plan, NULL, N, n, &o), KS_OK);
                    const size_t fill = ks_blocktri_fill_bytes(plan);
                    assert_int_equal(fill % 64, 0);
                    assert_int_equal(ks_blocktri_workspace_bytes(plan) % 64, 0);
                    assert_int_equal(ks_blocktri_inverse_workspace_bytes(plan) % 64, 0);
                    assert_int_equal(ks_blocktri_refine_workspace_bytes(plan, 3) % 64, 0);
                    if (order == KS_BLOCKTRI_SEQUENTIAL || order == KS_BLOCKTRI_TWISTED)
                        assert_int_equal(fill, 0);
                    most = fill > most ? fill : most;
                    ks_blocktri_plan_destroy(plan);
                }
    assert_true(most > 0);
}

/* Every allocation fails once; and nothing but making the plan allocates. */
static void test_memory(void **state)
{
    (void)state;
    failalloc memory = FAILALLOC_INIT;
    for (int order = 0; order < KS_BLOCKTRI_ORDERS; ++order) {
        const ks_blocktri_options o = bt_options((ks_blocktri_order)order, KS_F64);
        for (memory.fail_at = 1;; ++memory.fail_at) {
            memory.calls = 0;
            ks_context_options c = KS_CONTEXT_OPTIONS_INIT;
            c.allocator = failalloc_allocator(&memory);
            ks_context *context = NULL;
            ks_blocktri_plan *plan = NULL;
            ks_status status = ks_context_create(&context, &c);
            if (status == KS_OK) status = ks_blocktri_plan_create(&plan, context, 40, 4, &o);
            const long calls = memory.calls;
            if (status == KS_OK) {
                bt_system s = bt_system_make(KS_F64, 40, 4, 1, 0, 9);
                bt_solver v = bt_solver_make(&s, &o, 1, 0);
                const ks_blocktri_matrix A = bt_matrix(&s);
                assert_int_equal(ks_blocktri_factorize(plan, &A, &v.factor, v.work, NULL), KS_OK);
                assert_int_equal(ks_blocktri_solve(plan, &v.factor, 1, bt_b(&s), bt_x(&s), v.work),
                                 KS_OK);
                assert_int_equal(memory.calls, calls);
                bt_solver_free(&v);
                bt_system_free(&s);
            }
            ks_blocktri_plan_destroy(plan);
            ks_context_destroy(context);
            assert_int_equal(atomic_load(&memory.live), 0);
            if (status == KS_OK) break;
            assert_int_equal(status, KS_ENOMEM);
            assert_null(plan);
        }
        assert_true(memory.fail_at > 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_arguments), cmocka_unit_test(test_tiers),
        cmocka_unit_test(test_names),          cmocka_unit_test(test_choice),
        cmocka_unit_test(test_run_arguments),  cmocka_unit_test(test_memory),
        cmocka_unit_test(test_sizes),          cmocka_unit_test(test_unused_strides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
