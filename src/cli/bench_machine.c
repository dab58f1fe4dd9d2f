/* The limits of the machine: OpenBLAS multiplies matrices, and a = b + s c runs on arrays far larger than the caches,
 * on all threads at once. */
#include <cblas.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"
#include "memory.h"
#include "progress.h"

enum { ORDER = 512, TRIAD = 4 << 20 };

typedef struct party {
    pthread_barrier_t barrier;
    bool f32;
    int repeats;
    double *dgemm, *triad;  /* samples, s */
} party;

typedef struct worker {
    party *all;
    bool first;
    double *memory;         /* three arrays of TRIAD numbers */
    pthread_t thread;
} worker;

static void multiply(const worker *w)
{
    const int n = ORDER;
    double *a = w->memory, *b = a + TRIAD, *c = b + TRIAD;
    if (w->all->f32)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0f, (float *)a, n,
                    (float *)b, n, 0.0f, (float *)c, n);
    else
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0, a, n, b, n, 0.0, c, n);
}

static void triad(const worker *w)
{
    double *restrict a = w->memory;
    const double *restrict b = a + TRIAD, *restrict c = b + TRIAD;
    for (int64_t i = 0; i < TRIAD; ++i) a[i] = b[i] + 0.4 * c[i];
}

/* All threads begin together. The clock stops when the last one is done. */
static void timed(const worker *w, void (*work)(const worker *), double *samples)
{
    for (int r = -1; r < w->all->repeats; ++r) {
        pthread_barrier_wait(&w->all->barrier);
        const double start = ks_seconds();
        work(w);
        pthread_barrier_wait(&w->all->barrier);
        if (w->first && r >= 0) samples[r] = ks_seconds() - start;
    }
}

static void *run_worker(void *arg)
{
    const worker *w = arg;
    const int64_t matrix = (int64_t)ORDER * ORDER;
    for (int64_t i = 0; i < 3 * (int64_t)TRIAD; ++i) w->memory[i] = 0.0;
    /* Ones, in either precision, so that sums stay finite. */
    for (int64_t i = 0; i < matrix; ++i)
        for (int array = 0; array < 2; ++array)
            if (w->all->f32) ((float *)(w->memory + array * TRIAD))[i] = 1.0f;
            else w->memory[array * TRIAD + i] = 1.0;
    timed(w, multiply, w->all->dgemm);
    for (int64_t i = 0; i < 3 * (int64_t)TRIAD; ++i) w->memory[i] = 1.0;
    timed(w, triad, w->all->triad);
    return NULL;
}

static ks_exit run_workers(worker *workers, int threads, ks_failure *failure)
{
    int started = 1;
    for (; started < threads; ++started)
        if (pthread_create(&workers[started].thread, NULL, run_worker, &workers[started]) != 0)
            break;
    if (started < threads) {
        /* The threads that have started would wait at the barrier forever. */
        for (int i = 1; i < started; ++i) {
            pthread_cancel(workers[i].thread);
            pthread_join(workers[i].thread, NULL);
        }
        return ks_fail(failure, KS_EXIT_RESOURCES,
                       "out of memory: the system gives no more threads");
    }
    run_worker(&workers[0]);
    for (int i = 1; i < threads; ++i) pthread_join(workers[i].thread, NULL);
    return KS_EXIT_DONE;
}

ks_exit ks_bench_measure(ks_bench_machine *machine, int threads, bool f32, int repeats,
                         ks_failure *failure)
{
    double dgemm[KS_BENCH_REPEATS], triads[KS_BENCH_REPEATS];
    party all = {.f32 = f32, .repeats = repeats, .dgemm = dgemm, .triad = triads};
    const size_t each = 3 * (size_t)TRIAD * sizeof(double);
    worker *workers = calloc((size_t)threads, sizeof *workers);
    if (!workers || ks_memory_check(ks_size_product((size_t)threads, each), "--machine", failure)) {
        free(workers);
        return ks_fail(failure, KS_EXIT_RESOURCES, "out of memory");
    }
    for (int i = 0; i < threads && !failure->code; ++i) {
        workers[i].all = &all;
        workers[i].first = i == 0;
        workers[i].memory = ks_memory_raw(each, "--machine", failure);
    }
    if (!failure->code && pthread_barrier_init(&all.barrier, NULL, (unsigned)threads) != 0)
        ks_fail(failure, KS_EXIT_RESOURCES, "out of memory: no barrier");
    if (!failure->code && run_workers(workers, threads, failure) == KS_EXIT_DONE) {
        const double order = ORDER, count = (double)threads;
        machine->dgemm_time = ks_bench_time_of(dgemm, repeats);
        machine->triad_time = ks_bench_time_of(triads, repeats);
        machine->dgemm = count * 2.0 * order * order * order / machine->dgemm_time.median;
        machine->triad = count * 3.0 * TRIAD * (double)sizeof(double) / machine->triad_time.median;
        pthread_barrier_destroy(&all.barrier);
    }
    for (int i = 0; i < threads; ++i) free(workers[i].memory);
    free(workers);
    return failure->code;
}
