/* test_pool.c -- the thread pool and workspace carving. */
#ifdef __linux__
#  define _GNU_SOURCE /* sched_getaffinity() */
#endif
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "assert_within.h"

#include "carve.h"
#include "pool.h"

#define MOST_ITEMS 100

static ks_context *context_with(int threads)
{
    ks_context_options options = KS_CONTEXT_OPTIONS_INIT;
    options.threads = threads;
    ks_context *context = NULL;
    assert_int_equal(ks_context_create(&context, &options), KS_OK);
    assert_int_equal(ks_context_threads(context), threads);
    return context;
}

/* Which worker had which item. Plain ints: the pool's own synchronisation orders them. */
typedef struct log {
    int worker[MOST_ITEMS];
    atomic_int calls;
} log;

static void write_log(void *arg, int64_t begin, int64_t end, int worker)
{
    log *l = arg;
    atomic_fetch_add(&l->calls, 1);
    for (int64_t i = begin; i < end; ++i) l->worker[i] = l->worker[i] < 0 ? worker : -2;
}

static void run_logged(ks_context *context, int workers, int items, log *l)
{
    for (int i = 0; i < MOST_ITEMS; ++i) l->worker[i] = -1;
    atomic_init(&l->calls, 0);
    ks_parallel_for(context, workers, items, write_log, l);
}

/* Ranges are contiguous, in the order of the workers, equal but for one item, and do not depend on
 * who runs them. */
static void ranges_depend_on_items_and_workers_alone(void **state)
{
    (void)state;
    ks_context *pools[] = {NULL, context_with(1), context_with(2), context_with(8)};
    for (int items = 0; items <= MOST_ITEMS; items += 1 + items / 8)
        for (int workers = 1; workers <= 8; ++workers) {
            log first, other;
            run_logged(NULL, workers, items, &first);
            int count[8] = {0};
            for (int i = 0; i < items; ++i) {
                assert_within(first.worker[i], 0, workers - 1);
                if (i) assert_true(first.worker[i] >= first.worker[i - 1]);
                ++count[first.worker[i]];
            }
            for (int w = 0; w < workers; ++w)
                assert_within(count[w], items / workers, (items + workers - 1) / workers);
            assert_int_equal(atomic_load(&first.calls), items < workers ? items : workers);
            for (int p = 1; p < 4; ++p) {
                run_logged(pools[p], workers, items, &other);
                assert_memory_equal(other.worker, first.worker, sizeof other.worker);
            }
        }
    for (int p = 1; p < 4; ++p) ks_context_destroy(pools[p]);
}

static void worker_counts(void **state)
{
    (void)state;
    ks_context *four = context_with(4);
    assert_int_equal(ks_workers(NULL, 0, 100), 1);
    assert_int_equal(ks_workers(NULL, 9, 100), 1);
    assert_int_equal(ks_workers(four, 0, 100), 4);
    assert_int_equal(ks_workers(four, 3, 100), 3);
    assert_int_equal(ks_workers(four, 9, 100), 4);
    assert_int_equal(ks_workers(four, 0, 2), 2);
    assert_int_equal(ks_workers(four, 0, 0), 1);
    assert_int_equal(ks_workers(four, 0, INT64_MAX), 4);
    ks_context_destroy(four);
}

/* Two workers that wait for each other: the loop ends only where they run at the same time. */
static void meet(void *arg, int64_t begin, int64_t end, int worker)
{
    atomic_int *arrived = arg;
    (void)worker;
    atomic_fetch_add(arrived, (int)(end - begin));
    while (atomic_load(arrived) < 3) {}
}

static void workers_run_at_the_same_time(void **state)
{
    (void)state;
    ks_context *context = context_with(3);
    atomic_int arrived = 0;
    ks_parallel_for(context, 3, 3, meet, &arrived);
    assert_int_equal(atomic_load(&arrived), 3);
    ks_context_destroy(context);
}

/* Workers that have gone to sleep wake up, and contexts end in either state. */
static void sleeping_workers_wake(void **state)
{
    (void)state;
    const struct timespec nap = {0, 20 * 1000 * 1000};
    ks_context *context = context_with(3);
    for (int i = 0; i < 4; ++i) {
        atomic_int arrived = 0;
        nanosleep(&nap, NULL);
        ks_parallel_for(context, 3, 3, meet, &arrived);
        assert_int_equal(atomic_load(&arrived), 3);
    }
    ks_context_destroy(context);
    context = context_with(5);
    nanosleep(&nap, NULL);
    ks_context_destroy(context);
    for (int i = 0; i < 50; ++i) ks_context_destroy(context_with(4));
}

static void add_range(void *arg, int64_t begin, int64_t end, int worker)
{
    int64_t *sums = arg;
    for (int64_t i = begin; i < end; ++i) sums[16 * worker] += i;
}

static int sums_right(ks_context *context, int rounds)
{
    int right = 1;
    for (int r = 0; r < rounds; ++r) {
        int64_t sums[4 * 16] = {0};
        ks_parallel_for(context, 4, 1000, add_range, sums);
        right = right && sums[0] + sums[16] + sums[32] + sums[48] == 999 * 500;
    }
    return right;
}

static void *call_often(void *arg) { return sums_right(arg, 300) ? arg : NULL; }

static void many_callers_at_once(void **state)
{
    (void)state;
    ks_context *context = context_with(4);
    pthread_t thread[6];
    for (int i = 0; i < 6; ++i)
        assert_int_equal(pthread_create(&thread[i], NULL, call_often, context), 0);
    for (int i = 0; i < 6; ++i) {
        void *result = NULL;
        pthread_join(thread[i], &result);
        assert_ptr_equal(result, context);
    }
    ks_context_destroy(context);
}

typedef struct nest {
    ks_context *context;
    atomic_int good;
} nest;

static void nested(void *arg, int64_t begin, int64_t end, int worker)
{
    nest *n = arg;
    (void)worker;
    for (int64_t i = begin; i < end; ++i)
        if (sums_right(n->context, 3)) atomic_fetch_add(&n->good, 1);
}

static void calls_from_inside_a_worker(void **state)
{
    (void)state;
    ks_context *context = context_with(4), *other = context_with(4);
    nest same_pool = {context, 0}, other_pool = {other, 0};
    ks_parallel_for(context, 4, 40, nested, &same_pool);
    assert_int_equal(atomic_load(&same_pool.good), 40);
    ks_parallel_for(context, 4, 40, nested, &other_pool);
    assert_int_equal(atomic_load(&other_pool.good), 40);
    ks_context_destroy(other);
    ks_context_destroy(context);
}

static void many_short_rounds(void **state)
{
    (void)state;
    ks_context *context = context_with(2);
    assert_true(sums_right(context, 3000));
    ks_context_destroy(context);
}

#ifdef __linux__
/* The processors that threads shall be allowed to run on, and how often one was not as allowed. */
typedef struct places {
    cpu_set_t allowed;
    atomic_int others, items;
} places;

static void look_at_place(void *arg, int64_t begin, int64_t end, int worker)
{
    places *p = arg;
    cpu_set_t now;
    (void)worker;
    const int known = sched_getaffinity(0, sizeof now, &now) == 0;
    if (!known || !CPU_EQUAL(&now, &p->allowed)) atomic_fetch_add(&p->others, 1);
    atomic_fetch_add(&p->items, (int)(end - begin));
}

/* Workers get out of each other's way, and yet may run wherever the process may: on one processor alone, where they
 * all are in the way, and on those that are there. */
static void workers_keep_their_processors(void **state)
{
    (void)state;
    places p;
    cpu_set_t all;
    if (sched_getaffinity(0, sizeof all, &all) != 0) skip();
    for (int alone = 0; alone < 2; ++alone) {
        p.allowed = all;
        for (int i = CPU_SETSIZE - 1; alone && i >= 0 && CPU_COUNT(&p.allowed) > 1; --i) CPU_CLR((size_t)i, &p.allowed);
        assert_int_equal(sched_setaffinity(0, sizeof p.allowed, &p.allowed), 0);
        atomic_init(&p.others, 0);
        atomic_init(&p.items, 0);
        ks_context *contexts[] = {context_with(2), context_with(5)};
        for (int round = 0; round < 600; ++round) {
            ks_parallel_for(contexts[round % 2], 2 + round % 2 * 3, 5, look_at_place, &p);
            /* Workers fall asleep now and then. */
            const struct timespec pause = {0, 1000000};
            if (round % 60 == 59) nanosleep(&pause, NULL);
        }
        for (int i = 0; i < 2; ++i) ks_context_destroy(contexts[i]);
        assert_int_equal(atomic_load(&p.items), 600 * 5);
        assert_int_equal(atomic_load(&p.others), 0);
    }
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}
#endif

static void memory_is_aligned(void **state)
{
    (void)state;
    ks_context *context = context_with(1);
    ks_context *from[] = {NULL, context};
    for (int i = 0; i < 2; ++i) {
        for (size_t bytes = 0; bytes < 300; bytes += 7) {
            char *block = ks_allocate(from[i], bytes);
            assert_non_null(block);
            assert_int_equal((uintptr_t)block % 64, 0);
            memset(block, 1, bytes);
            ks_release(from[i], block);
        }
        assert_null(ks_allocate(from[i], SIZE_MAX));
        assert_null(ks_allocate(from[i], (size_t)PTRDIFF_MAX + 1));
        ks_release(from[i], NULL);
    }
    ks_context_destroy(context);
}

static void carving_measures_what_it_places(void **state)
{
    (void)state;
    const size_t counts[] = {1, 0, 3, 64, 65, 1000}, sizes[] = {1, 8, 24, 1, 1, 16};
    ks_carver measure = ks_carver_at(NULL);
    for (int i = 0; i < 6; ++i) assert_null(ks_carve(&measure, counts[i], sizes[i]));
    const size_t bytes = ks_carved_bytes(&measure);
    char *block = ks_allocate(NULL, bytes);
    assert_non_null(block);
    for (int again = 0; again < 2; ++again) {
        ks_carver place = ks_carver_at(block);
        char *end = block;
        for (int i = 0; i < 6; ++i) {
            char *piece = ks_carve(&place, counts[i], sizes[i]);
            assert_true(piece >= end);
            assert_int_equal((uintptr_t)piece % 64, 0);
            memset(piece, i, counts[i] * sizes[i]);
            end = piece + counts[i] * sizes[i];
        }
        assert_true(end <= block + bytes);
        assert_int_equal(ks_carved_bytes(&place), bytes);
        ks_carve_end(&place);
        memset(block, 0, bytes); /* no red zone is left */
    }
    ks_release(NULL, block);
}

static void carving_saturates(void **state)
{
    (void)state;
    const size_t counts[] = {SIZE_MAX, SIZE_MAX / 2 + 1, SIZE_MAX, SIZE_MAX - 70, 2};
    const size_t sizes[] = {2, 2, 1, 1, SIZE_MAX / 2 + 1};
    for (int i = 0; i < 5; ++i) {
        ks_carver carver = ks_carver_at(NULL);
        assert_null(ks_carve(&carver, 10, 10));
        assert_null(ks_carve(&carver, counts[i], sizes[i]));
        assert_true(ks_carved_bytes(&carver) == SIZE_MAX);
        assert_null(ks_carve(&carver, 1, 1)); /* for good */
        assert_true(ks_carved_bytes(&carver) == SIZE_MAX);
    }
    ks_carver sum = ks_carver_at(NULL);
    for (int i = 0; i < 3; ++i) assert_null(ks_carve(&sum, SIZE_MAX / 2 - 200, 1));
    assert_true(ks_carved_bytes(&sum) == SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_depend_on_items_and_workers_alone),
        cmocka_unit_test(worker_counts),
        cmocka_unit_test(workers_run_at_the_same_time),
        cmocka_unit_test(sleeping_workers_wake),
        cmocka_unit_test(many_callers_at_once),
        cmocka_unit_test(calls_from_inside_a_worker),
        cmocka_unit_test(many_short_rounds),
#ifdef __linux__
        cmocka_unit_test(workers_keep_their_processors),
#endif
        cmocka_unit_test(memory_is_aligned),
        cmocka_unit_test(carving_measures_what_it_places),
        cmocka_unit_test(carving_saturates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
