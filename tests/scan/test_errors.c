/* test_errors.c -- operators that fail, memory that runs out, arguments that are wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include "cases.h"
#include "failalloc.h"
#include "plan.h"
#include "pool.h"
#include "sanitizers.h"

/* An operator that reports a failure at its n-th call, whichever function that is. */
typedef struct fuse {
    atomic_llong left, calls;
} fuse;

static int burn(void *user)
{
    fuse *f = user;
    atomic_fetch_add(&f->calls, 1);
    return atomic_fetch_sub(&f->left, 1) == 1 ? -1 : 0;
}

static int fuse_combine(void *user, void *scratch, const ks_combine_job *job)
{
    (void)scratch;
    (void)job;
    return burn(user);
}

static int fuse_neutral(void *user, void *dst)
{
    (void)dst;
    return burn(user);
}

static int fuse_absorb(void *user, void *scratch, void *dst, int64_t first, int64_t count)
{
    (void)scratch;
    (void)dst;
    (void)first;
    (void)count;
    return burn(user);
}

static int fuse_rerun(void *user, void *scratch, const void *carry, int64_t first, int64_t count)
{
    (void)scratch;
    (void)carry;
    (void)first;
    (void)count;
    return burn(user);
}

/* Every call that a run makes fails once; each failure is reported and the pool goes on. */
static void failure_in_any_call_is_reported(void **state)
{
    (void)state;
    const int64_t length = 200;
    char *x = aligned_block((size_t)length);
    for (int threads = 1; threads <= 3; threads += 2) {
        ks_context_options co = KS_CONTEXT_OPTIONS_INIT;
        co.threads = threads;
        ks_context *context = NULL;
        assert_int_equal(ks_context_create(&context, &co), KS_OK);
        for (int i = 0; i < 2 * case_count; ++i) {
            fuse f;
            ks_operator op = {sizeof op, 1, 0, &f, fuse_combine, fuse_neutral, NULL, NULL};
            if (i >= case_count) {
                op.absorb = fuse_absorb;
                op.rerun = fuse_rerun;
            }
            ks_scan_plan *plan = NULL;
            assert_int_equal(ks_scan_plan_create(&plan, context, length, &cases[i % case_count]),
                             KS_OK);
            void *work = aligned_block(ks_scan_workspace_bytes(plan, &op));
            memset(x, 0, (size_t)length);
            atomic_init(&f.left, 0);
            atomic_init(&f.calls, 0);
            assert_int_equal(ks_scan_run(plan, &op, x, work), KS_OK);
            const long long calls = atomic_load(&f.calls);
            assert_true(calls > 0);
            for (long long n = 1; n <= calls; ++n) {
                atomic_store(&f.left, n);
                assert_int_equal(ks_scan_run(plan, &op, x, work), KS_ENOTPD);
            }
            atomic_store(&f.left, 0);
            assert_int_equal(ks_scan_run(plan, &op, x, work), KS_OK);
            free(work);
            ks_scan_plan_destroy(plan);
        }
        ks_context_destroy(context);
    }
    free(x);
}

static ks_status make_and_drop(const ks_context_options *co, const ks_scan_options *so)
{
    ks_context *context = (ks_context *)&context;
    ks_scan_plan *plan = (ks_scan_plan *)&plan;
    ks_status status = ks_context_create(&context, co);
    if (status) {
        assert_null(context);
        return status;
    }
    status = ks_scan_plan_create(&plan, context, 12345, so);
    if (status) assert_null(plan);
    ks_scan_plan_destroy(plan);
    ks_context_destroy(context);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (int i = 0; i < case_count; ++i)
        for (int threads = 1; threads <= 4; threads += 3) {
            failalloc memory = FAILALLOC_INIT;
            ks_context_options co = KS_CONTEXT_OPTIONS_INIT;
            co.allocator = failalloc_allocator(&memory);
            co.threads = threads;
            ks_status status = KS_ENOMEM;
            long k = 0;
            while (status != KS_OK) {
                atomic_store(&memory.fail_at, ++k);
                atomic_store(&memory.calls, 0);
                status = make_and_drop(&co, &cases[i]);
                assert_int_equal(atomic_load(&memory.live), 0);
                assert_int_equal(atomic_load(&memory.bytes), 0);
                assert_true(status == KS_OK || status == KS_ENOMEM);
            }
            assert_int_equal(k, threads > 1 ? 4 : 3); /* context, pool, plan */
        }
}

/* Running allocates nothing. */
static void running_allocates_nothing(void **state)
{
    (void)state;
    failalloc memory = FAILALLOC_INIT;
    ks_context_options co = KS_CONTEXT_OPTIONS_INIT;
    co.allocator = failalloc_allocator(&memory);
    co.threads = 3;
    ks_context *context = NULL;
    ks_scan_plan *plan = NULL;
    matrix x[100];
    const ks_operator op = matrix_operator();
    for (int k = 0; k < 100; ++k) x[k] = matrix_at(k);
    assert_int_equal(ks_context_create(&context, &co), KS_OK);
    assert_int_equal(ks_scan_plan_create(&plan, context, 100, NULL), KS_OK);
    void *work = aligned_block(ks_scan_workspace_bytes(plan, &op));
    const long calls = atomic_load(&memory.calls);
    assert_int_equal(ks_scan_run(plan, &op, x, work), KS_OK);
    assert_int_equal(atomic_load(&memory.calls), calls);
    free(work);
    ks_scan_plan_destroy(plan);
    ks_context_destroy(context);
}

/* With little address space left the system gives some threads, then no more. */
static void threads_that_do_not_start(void **state)
{
    (void)state;
    if (SANITIZED) skip(); /* the sanitizers reserve address space of their own */
    FILE *statm = fopen("/proc/self/statm", "r");
    long pages = 0;
    if (!statm) skip();
    assert_int_equal(fscanf(statm, "%ld", &pages), 1);
    fclose(statm);
    struct rlimit before, tight;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    tight = before;
    tight.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)64 << 20);

    failalloc memory = FAILALLOC_INIT;
    ks_context_options co = KS_CONTEXT_OPTIONS_INIT;
    co.allocator = failalloc_allocator(&memory);
    co.threads = 1000;
    ks_context *context = (ks_context *)&co;
    assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
    const ks_status status = ks_context_create(&context, &co);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(status, KS_ENOMEM);
    assert_null(context);
    assert_int_equal(atomic_load(&memory.live), 0);
}

static void bad_contexts(void **state)
{
    (void)state;
    ks_context *context = NULL;
    ks_context_options o = KS_CONTEXT_OPTIONS_INIT;
    assert_int_equal(ks_context_create(NULL, &o), KS_EINVAL);
    o.size -= 1;
    context = (ks_context *)&o;
    assert_int_equal(ks_context_create(&context, &o), KS_EINVAL);
    assert_null(context);
    o.size += 1;
    const int threads[] = {-1, 4097, INT32_MAX, INT32_MIN};
    for (int i = 0; i < 4; ++i) {
        o.threads = threads[i];
        assert_int_equal(ks_context_create(&context, &o), KS_EINVAL);
    }
    failalloc memory = FAILALLOC_INIT;
    o.threads = 1;
    o.allocator = failalloc_allocator(&memory);
    o.allocator.release = NULL;
    assert_int_equal(ks_context_create(&context, &o), KS_EINVAL);
    ks_context_destroy(NULL);
    assert_int_equal(ks_context_create(&context, NULL), KS_OK);
    assert_int_equal(ks_context_threads(context), 1);
    ks_context_destroy(context);
    o = (ks_context_options)KS_CONTEXT_OPTIONS_INIT;
    o.threads = 0;
    assert_int_equal(ks_context_create(&context, &o), KS_OK);
    assert_int_equal(ks_context_threads(context), sysconf(_SC_NPROCESSORS_ONLN));
    ks_context_destroy(context);
}

static void bad_plans(void **state)
{
    (void)state;
    const ks_scan_options good = KS_SCAN_OPTIONS_INIT;
    ks_scan_options bad[10];
    static const char *const names[] = {"size", "algorithm", "algorithm", "direction", "threshold", "chunks", "threads",
                                        "direction", "threshold", "chunks"};
    for (int i = 0; i < 10; ++i) bad[i] = good;
    bad[0].size = 0;
    bad[1].algorithm = (ks_scan_algorithm)KS_SCAN_ALGORITHMS;
    bad[2].algorithm = (ks_scan_algorithm)-1;
    bad[3].direction = (ks_direction)2;
    bad[4].algorithm = KS_SCAN_SENGUPTA;
    bad[4].threshold = 0;
    bad[5].algorithm = KS_SCAN_CHUNKED;
    bad[5].chunks = -1;
    bad[6].threads = -1;
    bad[7].direction = (ks_direction)-1;
    bad[8].threshold = -1; /* also where the algorithm has no use for it */
    bad[9].chunks = -1;
    for (int i = 0; i < 10; ++i) {
        ks_scan_plan *plan = (ks_scan_plan *)&bad;
        assert_int_equal(ks_scan_plan_create(&plan, NULL, 10, &bad[i]), KS_EINVAL);
        assert_null(plan);
        assert_string_equal(ks_scan_plan_invalid(10, &bad[i]), names[i]);
    }
    const int64_t lengths[] = {0, -1, INT64_MIN, INT64_MAX};
    for (int i = 0; i < 4; ++i) {
        ks_scan_plan *plan = (ks_scan_plan *)&bad;
        assert_int_equal(ks_scan_plan_create(&plan, NULL, lengths[i], &good), KS_EINVAL);
        assert_null(plan);
        assert_string_equal(ks_scan_plan_invalid(lengths[i], NULL), "length");
    }
    assert_null(ks_scan_plan_invalid(10, &good));
    assert_int_equal(ks_scan_plan_create(NULL, NULL, 10, &good), KS_EINVAL);
    assert_int_equal(ks_scan_plan_stats(NULL).rounds, 0);
    ks_scan_plan_destroy(NULL);
}

static void bad_runs(void **state)
{
    (void)state;
    ks_scan_options options = KS_SCAN_OPTIONS_INIT;
    options.algorithm = KS_SCAN_BLELLOCH;
    ks_scan_plan *plan = NULL;
    assert_int_equal(ks_scan_plan_create(&plan, NULL, 10, &options), KS_OK);
    const ks_operator good = matrix_operator();
    matrix x[10];
    for (int k = 0; k < 10; ++k) x[k] = matrix_at(k);
    char *work = aligned_block(ks_scan_workspace_bytes(plan, &good) + 64);
    assert_int_equal(ks_scan_run(plan, &good, x, work), KS_OK);
    assert_int_equal(ks_scan_run(NULL, &good, x, work), KS_EINVAL);
    assert_int_equal(ks_scan_run(plan, NULL, x, work), KS_EINVAL);
    assert_int_equal(ks_scan_run(plan, &good, NULL, work), KS_EINVAL);
    assert_int_equal(ks_scan_run(plan, &good, x, NULL), KS_EINVAL);
    assert_int_equal(ks_scan_run(plan, &good, x, work + 8), KS_EINVAL);
    ks_operator bad[6];
    for (int i = 0; i < 6; ++i) bad[i] = good;
    fuse f;
    bad[0].size = 0;
    bad[1].element_bytes = 0;
    bad[2].combine = NULL;
    bad[3].neutral = NULL;
    bad[4].absorb = fuse_absorb;
    bad[5].rerun = fuse_rerun;
    bad[4].user = bad[5].user = &f;
    for (int i = 0; i < 6; ++i) {
        assert_int_equal(ks_scan_run(plan, &bad[i], x, work), KS_EINVAL);
        assert_true(ks_scan_workspace_bytes(plan, &bad[i]) == SIZE_MAX);
    }
    ks_scan_plan_destroy(plan);
    /* A plan without a neutral element in it does not ask for one, nor for unused workspace. */
    assert_int_equal(ks_scan_plan_create(&plan, NULL, 10, NULL), KS_OK);
    ks_operator plain = affine_operator();
    plain.neutral = NULL;
    affine a[10];
    for (int k = 0; k < 10; ++k) a[k] = affine_at(k);
    assert_int_equal(ks_scan_run(plan, &plain, a, work), KS_OK);
    /* Where addresses are watched there is room between what is carved out of workspace. */
    const size_t needed = ks_scan_workspace_bytes(plan, &plain);
    assert_true(needed == 0 || WATCHES_ADDRESSES);
    assert_int_equal(ks_scan_run(plan, &plain, a, NULL), needed == 0 ? KS_OK : KS_EINVAL);
    ks_scan_plan_destroy(plan);
    free(work);
}

static void sizes_that_overflow(void **state)
{
    (void)state;
    const struct {
        int64_t length;
        size_t element_bytes, scratch_bytes;
    } sizes[] = {{1000, SIZE_MAX, 0},          {1000, SIZE_MAX / 2, 0},
                 {1000, SIZE_MAX / 1000, 0},   {INT64_MAX / 4, 8, 0},
                 {INT64_MAX / 4, SIZE_MAX, 0}, {1000, 8, SIZE_MAX},
                 {1000, 8, SIZE_MAX - 100},    {INT64_C(1) << 60, 7, SIZE_MAX / 2}};
    ks_context_options co = KS_CONTEXT_OPTIONS_INIT;
    co.threads = 4;
    ks_context *context = NULL;
    assert_int_equal(ks_context_create(&context, &co), KS_OK);
    for (int i = 0; i < 8; ++i) {
        ks_scan_options options = KS_SCAN_OPTIONS_INIT;
        options.algorithm = KS_SCAN_BLELLOCH;
        ks_scan_plan *plan = NULL;
        assert_int_equal(ks_scan_plan_create(&plan, context, sizes[i].length, &options), KS_OK);
        ks_operator op = matrix_operator();
        op.element_bytes = sizes[i].element_bytes;
        op.scratch_bytes = sizes[i].scratch_bytes;
        assert_true(ks_scan_workspace_bytes(plan, &op) == SIZE_MAX);
        matrix unused[1];
        _Alignas(64) char work[64];
        assert_int_equal(ks_scan_run(plan, &op, unused, work), KS_EINVAL);
        ks_scan_plan_destroy(plan);
    }
    ks_context_destroy(context);
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(ks_scan_name(KS_SCAN_HILLIS_STEELE), "hillis-steele");
    assert_string_equal(ks_scan_name(KS_SCAN_BLELLOCH), "blelloch");
    assert_string_equal(ks_scan_name(KS_SCAN_LADNER_FISCHER), "ladner-fischer");
    assert_string_equal(ks_scan_name(KS_SCAN_SENGUPTA), "sengupta");
    assert_string_equal(ks_scan_name(KS_SCAN_CHUNKED), "chunked");
    assert_null(ks_scan_name((ks_scan_algorithm)KS_SCAN_ALGORITHMS));
    assert_null(ks_scan_name((ks_scan_algorithm)-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failure_in_any_call_is_reported),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(running_allocates_nothing),
        cmocka_unit_test(threads_that_do_not_start),
        cmocka_unit_test(bad_contexts),
        cmocka_unit_test(bad_plans),
        cmocka_unit_test(bad_runs),
        cmocka_unit_test(sizes_that_overflow),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
