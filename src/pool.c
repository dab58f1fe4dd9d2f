/* pool.c -- a thread pool for short parallel loops.
 *
 * The rounds of a scan last microseconds. A worker therefore spins for a while before it sleeps, and so does the caller
 * that waits for the workers. They spin about as long as it takes to sleep and be woken, so that a thread that waits
 * because of other programs loses little more than it must.
 *
 * Each worker has its own ticket, so posting work to two of eight workers wakes two. Sleeping is guarded by the usual
 * pair of sequentially consistent accesses: the sleeper announces itself and then reads the ticket, the waker writes
 * the ticket and then looks for sleepers. At least one of the two sees the other.
 *
 * A system may wake a worker on the caller's own processor although another one is idle, and leave it there for
 * milliseconds. A worker that finds itself there moves away. If it can go nowhere else, the thread that waits sleeps at
 * once, since the other one cannot run until it does. */
#ifdef __linux__
#  define _GNU_SOURCE /* sched_getcpu() */
#endif
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "context_body.h"

#define CACHE_LINE 64
#define SPINS      2000
#define LOOK_EVERY 16 /* spins between two checks of the processor */

/* A place where one thread waits for a value to change. */
typedef struct gate {
    atomic_uint value;
    atomic_int asleep;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
} gate;

typedef struct worker {
    _Alignas(CACHE_LINE) gate ticket; /* changes when there is work */
    atomic_int processor;             /* where it was last seen; -1: unknown */
    ks_pool *pool;
    pthread_t thread;
    int number;
} worker;

struct ks_pool {
    /* Written by the caller that holds `busy`, before it writes the tickets. */
    ks_range_function function;
    void *arg;
    int64_t items;
    int workers;
    int stop;

    int threads, spins, started;
    atomic_flag busy;
    atomic_int processor; /* of the caller; -1: unknown */
    _Alignas(CACHE_LINE) gate pending; /* workers that have not finished */
    _Alignas(CACHE_LINE) worker worker[]; /* [0] stands for the caller and is unused */
};

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* Return the processor that this thread runs on, or a negative number if it is unknown. */
static int this_processor(void)
{
#ifdef __linux__
    return sched_getcpu();
#else
    return -1;
#endif
}

/* Return the number of processors that this thread may run on. */
static int processors(void)
{
#ifdef __linux__
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
#endif
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* Move this thread away from processor `from`, to which it may return later. Returns false if there is no other one. */
static int step_aside(int from)
{
#ifdef __linux__
    cpu_set_t allowed, others;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || from >= CPU_SETSIZE) return 0;
    others = allowed;
    CPU_CLR((size_t)from, &others);
    if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0) return 0;
    return sched_setaffinity(0, sizeof allowed, &allowed) == 0;
#else
    (void)from;
    return 0;
#endif
}

static int gate_init(gate *g)
{
    atomic_init(&g->value, 0);
    atomic_init(&g->asleep, 0);
    if (pthread_mutex_init(&g->mutex, NULL)) return -1;
    if (pthread_cond_init(&g->changed, NULL)) {
        pthread_mutex_destroy(&g->mutex);
        return -1;
    }
    return 0;
}

static void gate_destroy(gate *g)
{
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->mutex);
}

/* Wake the waiting thread. Call it after the value has changed. */
static void gate_wake(gate *g)
{
    if (!atomic_load(&g->asleep)) return;
    pthread_mutex_lock(&g->mutex);
    pthread_cond_signal(&g->changed);
    pthread_mutex_unlock(&g->mutex);
}

/* Record the processor of a worker. Returns false if it is the caller's and the worker can go nowhere else. */
static int find_place(ks_pool *pool, worker *self)
{
    int here = this_processor();
    if (here >= 0 && here == atomic_load_explicit(&pool->processor, memory_order_relaxed)) {
        if (!step_aside(here)) return 0;
        here = this_processor();
    }
    atomic_store_explicit(&self->processor, here, memory_order_relaxed);
    return 1;
}

/* Record the caller's processor. Returns whether a worker was last seen on it. */
static int in_the_way(ks_pool *pool)
{
    const int here = this_processor();
    atomic_store_explicit(&pool->processor, here, memory_order_relaxed);
    for (int i = 1; here >= 0 && i < pool->workers; ++i)
        if (atomic_load_explicit(&pool->worker[i].processor, memory_order_relaxed) == here) return 1;
    return 0;
}

/* Wait until (value == number) == equal. self: the worker that waits, or NULL for the caller. */
static void gate_wait(gate *g, unsigned number, int equal, ks_pool *pool, worker *self)
{
    for (int i = 0; i <= pool->spins; ++i) {
        const unsigned value = atomic_load_explicit(&g->value, memory_order_acquire);
        if ((value == number) == equal) return;
        if (i % LOOK_EVERY == 0 && (self ? !find_place(pool, self) : in_the_way(pool))) break;
        relax();
    }
    pthread_mutex_lock(&g->mutex);
    atomic_store(&g->asleep, 1);
    while ((atomic_load(&g->value) == number) != equal)
        pthread_cond_wait(&g->changed, &g->mutex);
    atomic_store(&g->asleep, 0);
    pthread_mutex_unlock(&g->mutex);
}

/* Run range `number` of 0 .. items - 1 cut into `workers` ranges, whose lengths differ by at most 1. */
static void run_range(ks_range_function function, void *arg, int64_t items, int workers,
                      int number)
{
    const int64_t size = items / workers, longer = items % workers;
    const int64_t begin = number * size + (number < longer ? number : longer);
    const int64_t end = begin + size + (number < longer);
    if (begin < end) function(arg, begin, end, number);
}

static void *work(void *arg)
{
    worker *self = arg;
    ks_pool *pool = self->pool;
    for (unsigned seen = 0;; ++seen) {
        gate_wait(&self->ticket, seen, 0, pool, self);
        if (pool->stop) return NULL;
        (void)find_place(pool, self);
        run_range(pool->function, pool->arg, pool->items, pool->workers, self->number);
        if (atomic_fetch_sub(&pool->pending.value, 1) == 1) gate_wake(&pool->pending);
    }
}

static void post(worker *to)
{
    atomic_fetch_add(&to->ticket.value, 1);
    gate_wake(&to->ticket);
}

static int start_worker(ks_pool *pool, int number)
{
    worker *w = &pool->worker[number];
    w->pool = pool;
    w->number = number;
    atomic_init(&w->processor, -1);
    if (gate_init(&w->ticket)) return -1;
    if (pthread_create(&w->thread, NULL, work, w)) {
        gate_destroy(&w->ticket);
        return -1;
    }
    pool->started = number + 1;
    return 0;
}

ks_status ks_pool_create(ks_pool **out, ks_context *context, int threads)
{
    *out = NULL;
    const size_t bytes = sizeof(ks_pool) + (size_t)threads * sizeof(worker);
    ks_pool *pool = ks_allocate(context, bytes);
    if (!pool) return KS_ENOMEM;
    pool->stop = 0;
    pool->threads = threads;
    pool->started = 1;
    atomic_init(&pool->processor, -1);
    /* If threads outnumber processors, a spinning thread delays the thread that it waits for. */
    pool->spins = threads <= processors() ? SPINS : 0;
    atomic_flag_clear(&pool->busy);
    if (gate_init(&pool->pending)) {
        ks_release(context, pool);
        return KS_ENOMEM;
    }
    for (int i = 1; i < threads; ++i)
        if (start_worker(pool, i)) {
            ks_pool_destroy(pool, context);
            return KS_ENOMEM;
        }
    *out = pool;
    return KS_OK;
}

void ks_pool_destroy(ks_pool *pool, ks_context *context)
{
    if (!pool) return;
    pool->stop = 1;
    for (int i = 1; i < pool->started; ++i) post(&pool->worker[i]);
    for (int i = 1; i < pool->started; ++i) {
        pthread_join(pool->worker[i].thread, NULL);
        gate_destroy(&pool->worker[i].ticket);
    }
    gate_destroy(&pool->pending);
    ks_release(context, pool);
}

int ks_workers(const ks_context *context, int threads, int64_t items)
{
    int64_t workers = context ? context->threads : 1;
    if (threads > 0 && threads < workers) workers = threads;
    if (items < workers) workers = items;
    return workers < 1 ? 1 : (int)workers;
}

void ks_parallel_for(ks_context *context, int workers, int64_t items, ks_range_function function,
                     void *arg)
{
    ks_pool *pool = context ? context->pool : NULL;
    const int shared = pool && workers > 1 && workers <= pool->threads && items > 1 &&
                       !atomic_flag_test_and_set_explicit(&pool->busy, memory_order_acquire);
    if (!shared) {
        for (int i = 0; i < workers; ++i) run_range(function, arg, items, workers, i);
        return;
    }
    pool->function = function;
    pool->arg = arg;
    pool->items = items;
    pool->workers = workers;
    atomic_store_explicit(&pool->processor, this_processor(), memory_order_relaxed);
    atomic_store(&pool->pending.value, (unsigned)workers - 1);
    for (int i = 1; i < workers; ++i) post(&pool->worker[i]);
    run_range(function, arg, items, workers, 0);
    gate_wait(&pool->pending, 0, 1, pool, NULL);
    atomic_flag_clear_explicit(&pool->busy, memory_order_release);
}

const void *ks_this_thread(void)
{
    static _Thread_local char own;
    return &own;
}
