/* bench_blocktri.c -- block-tridiagonal systems on the first device, timed on the device itself.
 *
 * Usage: bench_blocktri [SECONDS [schur | N n...]]
 * Writes one line of JSON for each size, precision and way: orders of elimination, segments of a partition, how
 * many rounds are one launch, atomic sums or none. Milliseconds of factor, solve with one right-hand side, and
 * both, the least and the median of the repeats; of the whole call from arrays of the host, in pages, to the
 * solution there; operations and bytes of the method, and how many times each takes what its floor does;
 * beside them the relative residual and how far the solution is from that of the CPU.
 *
 * A floor is the larger one of two times: the operations at 67e12 a second, which is what tensor cores do in
 * double and all others in single precision on an H200; matrix and factor touched once, or by a solution the factor
 * twice, at the speed of a copy inside the device.
 *
 * All ways in double, and in single precision one, for sizes that are named. Otherwise those of bench_system.h, the
 * smallest first: each as plans take it by themselves, small blocks in both precisions; then the tables' rows in
 * other ways and in single precision, a partition from order 512 on. `schur`: the tables' rows by recursive Schur
 * complements, which need cuBLAS and cuSOLVER, alone. A way that fails has a line with its status. Nothing is begun
 * after SECONDS (300). 77: no device. */
#include <stdio.h>
#include <stdlib.h>
#include "bench_system.h"
#include "copy_speed.h"
#include "cuda/cuda_plan.h"
#include "cli/seconds.h"

/* What fails of one way is a line of its own, and the others go on. */
#define PASS(call)                                                                    \
    do {                                                                              \
        const ks_status status_ = (call);                                             \
        if (status_) return status_;                                                  \
    } while (0)

/* Operations of a second, see above, and bytes of a nanosecond. */
static const double operations = 67e12;
static double copied;

/* When nothing else is begun. */
static double over;

typedef struct device_run {
    ks_blocktri_cuda_plan *plan;
    ks_cuda_const_blocks D, L, b;
    ks_cuda_blocks x;
    ks_gpu_event *start, *stop;
} device_run;

static ks_status call(const device_run *r, int what)
{
    if (what == 0) return ks_blocktri_cuda_factorize(r->plan, r->D, r->L, NULL);
    if (what == 1) return ks_blocktri_cuda_solve(r->plan, 1, r->b, r->x, NULL);
    return ks_blocktri_cuda_factor_solve(r->plan, r->D, r->L, 1, r->b, r->x, NULL);
}

/* Milliseconds of a call, `count` of them one behind the other. */
static ks_status time_of(const device_run *r, int what, int count, double *ms)
{
    ks_gpu *gpu = r->plan->gpu;
    PASS(ks_gpu_event_record(gpu, r->start, r->plan->stream));
    for (int i = 0; i < count; ++i) PASS(call(r, what));
    PASS(ks_gpu_event_record(gpu, r->stop, r->plan->stream));
    PASS(ks_blocktri_cuda_wait(r->plan, NULL, NULL));
    PASS(ks_gpu_event_elapsed(gpu, ms, r->start, r->stop));
    *ms /= count;
    return KS_OK;
}

static ks_status measure(const device_run *r, int what, times *found)
{
    double t[REPEATS], warm = 0;
    for (int i = 0; i < WARM; ++i) PASS(time_of(r, what, 1, &warm));
    const int count = back_to_back(warm * 1e6);
    for (int i = 0; i < REPEATS; ++i) PASS(time_of(r, what, count, &t[i]));
    *found = times_of(t);
    return KS_OK;
}

/* A system of which all ways are tried, in memory of the plan of the first one. */
typedef struct problem {
    int64_t N;
    int n;
    ks_precision precision;
    size_t number;             /* bytes of one                   */
    arrays a;
    float *narrow;             /* N n n of them, or NULL         */
    ks_blocktri_cuda_plan *home;
    void *D, *L, *b, *x;
    int64_t blocks, vectors;   /* numbers of D, and of b         */
} problem;

/* Milliseconds, and operations and bytes that cannot be done without. */
typedef struct timing {
    times t;
    double flops, bytes;
} timing;

static double of_floor(const timing *t)
{
    const double compute = t->flops / operations, move = t->bytes / copied * 1e-9;
    return t->t.median * 1e-3 / (compute > move ? compute : move);
}

/* Begin a line: what is timed. */
static void name_way(const problem *p, const ks_blocktri_cuda_plan *plan, const ks_blocktri_cuda_options *options)
{
    printf("{\"job\": \"solve\", \"method\": \"%s\", \"backend\": \"cuda\", "
           "\"precision\": \"%s\", \"N\": %lld, \"n\": %d, \"repeats\": %d, \"segments\": %d, \"rounds\": %d, "
           "\"together\": %d, \"atomic\": %d, ",
           ks_blocktri_order_name(options->order), p->precision == KS_F64 ? "f64" : "f32", (long long)p->N, p->n,
           REPEATS, ks_blocktri_cuda_plan_segments(plan), plan->blocked ? plan->rounds.count : 0,
           ks_blocktri_cuda_plan_together(plan), plan->atomic);
}

/* Bytes that its kernels ask for, in arrays of the padded order, each block: L written (1/2), both W written and
 * read once (4), the new coupling written and read (2), what is left of D written and read (1). */
static void report(const problem *p, const ks_blocktri_cuda_plan *plan, const ks_blocktri_cuda_options *options,
                   const timing t[3], const times *whole, double residual, double difference)
{
    static const char *const names[] = { "factor", "solve", "factor_solve" };
    const double n = p->n, P = plan->padded;
    name_way(p, plan, options);
    for (int i = 0; i < 3; ++i)
        printf("\"%s_ms\": %.5f, \"%s_min_ms\": %.5f, \"%s_of_floor\": %.3g, ", names[i], t[i].t.median, names[i],
               t[i].t.least, names[i], of_floor(&t[i]));
    if (whole) printf("\"end_to_end_ms\": %.5f, \"end_to_end_min_ms\": %.5f, ", whole->median, whole->least);
    printf("\"factor_flops\": %.4g, \"factor_bytes\": %.4g, \"residual\": %.3g, \"cpu_difference\": %.3g}\n",
           t[0].flops, (double)p->number * (double)p->N * (2 * n * n + 7.5 * P * P), residual, difference);
    fflush(stdout);
}

/* Numbers of the host, in double, to the device, and back. */
static ks_status upload(const problem *p, void *to, const double *from, int64_t count)
{
    for (int64_t i = 0; i < count && p->narrow; ++i) p->narrow[i] = (float)from[i];
    return ks_blocktri_cuda_upload(p->home, to, p->narrow ? (const void *)p->narrow : from, (size_t)count * p->number);
}

static ks_status download(const problem *p, double *to, const void *from, int64_t count)
{
    PASS(ks_blocktri_cuda_download(p->home, p->narrow ? (void *)p->narrow : to, from, (size_t)count * p->number));
    for (int64_t i = 0; i < count && p->narrow; ++i) to[i] = (double)p->narrow[i];
    return KS_OK;
}

static ks_status bring(const problem *p)
{
    PASS(upload(p, p->D, p->a.D, p->blocks));
    PASS(upload(p, p->L, p->a.L, p->blocks - (int64_t)p->n * p->n));
    return upload(p, p->b, p->a.b, p->vectors);
}

static problem problem_of(int64_t N, int n, ks_precision precision, ks_blocktri_cuda_plan *home)
{
    problem p = { .N = N, .n = n, .precision = precision, .number = precision == KS_F64 ? 8 : 4, .a = make(N, n),
                  .home = home, .vectors = N * n, .blocks = N * n * n };
    const size_t blocks = (size_t)p.blocks * p.number, vectors = (size_t)p.vectors * p.number;
    if (precision == KS_F32) p.narrow = memory((size_t)p.blocks * sizeof(float));
    TRY(ks_blocktri_cuda_alloc(home, &p.D, blocks));
    TRY(ks_blocktri_cuda_alloc(home, &p.L, blocks));
    TRY(ks_blocktri_cuda_alloc(home, &p.b, vectors));
    TRY(ks_blocktri_cuda_alloc(home, &p.x, vectors));
    TRY(bring(&p));
    solve_on_cpu(N, n, &p.a);
    return p;
}

static void forget(problem *p)
{
    void *const taken[] = { p->D, p->L, p->b, p->x };
    for (int i = 0; i < 4; ++i) ks_blocktri_cuda_free(p->home, taken[i]);
    ks_blocktri_cuda_plan_destroy(p->home);
    free(p->narrow);
    free_arrays(&p->a);
}

/* Matrix and right-hand side to the device, both solved, the solution back: by the host's clock. */
static ks_status time_whole(const problem *p, const device_run *r, times *found)
{
    double t[REPEATS];
    for (int i = 0; i < WHOLE; ++i) {
        const double begun = ks_seconds();
        PASS(bring(p));
        PASS(call(r, 2));
        PASS(ks_blocktri_cuda_wait(r->plan, NULL, NULL));
        PASS(download(p, p->a.x, p->x, p->vectors));
        t[i] = 1e3 * (ks_seconds() - begun);
    }
    qsort(t, WHOLE, sizeof *t, ascending);
    *found = (times){ t[0], t[WHOLE / 2] };
    return KS_OK;
}

/* All that is timed of a plan: factor, solve and both, and where it is the first one the whole call. */
static ks_status time_plan(problem *p, device_run *r, timing t[3], times *whole)
{
    PASS(ks_gpu_event_create(r->plan->gpu, &r->start));
    PASS(ks_gpu_event_create(r->plan->gpu, &r->stop));
    for (int what = 0; what < 3; ++what) PASS(measure(r, what, &t[what].t));
    if (r->plan == p->home) PASS(time_whole(p, r, whole));
    return download(p, p->a.x, p->x, p->vectors);
}

/* Times a plan on the problem, the first one's also as a whole, and judges what it finds. */
static int run(problem *p, ks_blocktri_cuda_plan *plan, const ks_blocktri_cuda_options *options)
{
    const int n = p->n;
    const double N = (double)p->N, matrix = 2.0 * n * n, factor = 3.0 * plan->padded * plan->padded;
    const double cube = (double)n * n * n, each = N * (double)p->number;
    const double flops = cube * (plan->blocked ? ks_bt_rounds_operations(&plan->rounds) : 19.0 / 3 * N);
    device_run r = { plan, { p->D, n * n, 0 }, { p->L, n * n, 0 }, { p->b, n, 0 }, { p->x, n, 0 }, NULL, NULL };
    /* Of a solution and a factorization at once the way forward goes along. */
    timing t[3] = { { .flops = flops, .bytes = each * (matrix + factor) },
                    { .flops = 10 * N * n * n, .bytes = each * 2 * factor },
                    { .flops = flops + 10 * N * n * n, .bytes = each * (matrix + 2 * factor) } };
    double residual = 0, difference = 0;
    times whole = { 0, 0 };
    const ks_status status = time_plan(p, &r, t, &whole);
    ks_gpu_event_destroy(plan->gpu, r.start);
    ks_gpu_event_destroy(plan->gpu, r.stop);
    if (status) {
        name_way(p, plan, options);
        printf("\"status\": \"%s\"}\n", ks_strerror(status));
        fflush(stdout);
        return 1;
    }
    judge(p->N, n, &p->a, &residual, &difference);
    report(p, plan, options, t, plan == p->home ? &whole : NULL, residual, difference);
    const int wide = p->precision == KS_F64;
    return residual < (wide ? 1e-13 : 1e-5) && difference < (wide ? 1e-9 : 1e-3) ? 0 : 1;
}

/* One case that has no plan does not stop the others. */
static int not_planned(int64_t N, int n, ks_status status)
{
    fprintf(stderr, "N = %lld, n = %d: %s\n", (long long)N, n, ks_strerror(status));
    return 1;
}

/* The problem by a plan of its own, on the same device. */
static int way(problem *p, ks_blocktri_order order, int64_t segments, int together, int atomic)
{
    ks_blocktri_cuda_options options = KS_BLOCKTRI_CUDA_OPTIONS_INIT;
    ks_blocktri_cuda_plan *plan;
    options.precision = p->precision;
    options.order = order;
    options.segments = segments;
    options.together = together;
    options.atomic = atomic;
    if (ks_seconds() > over) return 0;
    const ks_status status = ks_bt_plan_create(&plan, NULL, p->home->gpu, p->N, p->n, &options);
    if (status == KS_EUNAVAILABLE && order == KS_BLOCKTRI_RECURSIVE_SCHUR) return 0; /* no libraries */
    if (status) return not_planned(p->N, p->n, status);
    const int failed = run(p, plan, &options);
    ks_blocktri_cuda_plan_destroy(plan);
    return failed;
}

/* How many of the last rounds should be one launch: none, half and all of them beside the plan's choice. */
static int launches(problem *p)
{
    const int rounds = p->home->rounds.count, chosen = ks_blocktri_cuda_plan_together(p->home);
    const int others[] = { 0, (rounds + 1) / 2, rounds };
    int failed = 0;
    for (int i = 0; i < 3 && p->home->blocked; ++i)
        if (others[i] != chosen && (i == 0 || others[i] != others[i - 1]))
            failed |= way(p, KS_BLOCKTRI_NESTED_DISSECTION, 0, others[i], 0);
    return failed;
}

/* Cheap ends, between few and many segments. */
static int partitions(problem *p)
{
    static const int64_t segments[] = { 4, 10, 20 };
    int failed = 0;
    for (int i = 0; i < 3; ++i) failed |= way(p, KS_BLOCKTRI_PARTITION, segments[i], -1, 0);
    return failed | way(p, KS_BLOCKTRI_PARTITION, segments[1], 0, 0);
}

/* What of a size is timed: as plans take it, in other ways, by recursive Schur complements, or several of them. */
enum { CHOSEN = 1, OTHERS = 2, SCHUR = 4 };

static int bench(int64_t N, int n, ks_precision precision, int what, int cheap_ends)
{
    ks_blocktri_cuda_options options = KS_BLOCKTRI_CUDA_OPTIONS_INIT;
    ks_blocktri_cuda_plan *home;
    options.precision = precision;
    options.order = KS_BLOCKTRI_NESTED_DISSECTION;
    if (ks_seconds() > over) return 0;
    const ks_status status = ks_blocktri_cuda_plan_create(&home, NULL, N, n, &options);
    if (status) return not_planned(N, n, status);
    problem p = problem_of(N, n, precision, home);
    int failed = what & CHOSEN ? run(&p, home, &options) : 0;
    if (what & OTHERS) {
        failed |= launches(&p);
        if (cheap_ends) failed |= partitions(&p);
        if (home->blocked) failed |= way(&p, KS_BLOCKTRI_NESTED_DISSECTION, 0, 0, 1);
    }
    if (what & SCHUR) failed |= way(&p, KS_BLOCKTRI_RECURSIVE_SCHUR, 0, 0, 0);
    forget(&p);
    return failed;
}

/* All sizes of bench_system.h. */
static int bench_all(void)
{
    int failed = 0, order[BENCH_SIZES];
    bench_order(order);
    for (int i = 0; i < BENCH_SIZES; ++i) {
        const int next = order[i];
        failed |= bench(bench_sizes[next].N, bench_sizes[next].n, KS_F64, CHOSEN, 0);
        if (next >= TABLE) failed |= bench(bench_sizes[next].N, bench_sizes[next].n, KS_F32, CHOSEN, 0);
    }
    for (int i = 0; i < TABLE; ++i) {
        failed |= bench(bench_sizes[i].N, bench_sizes[i].n, KS_F64, OTHERS, bench_sizes[i].n >= 512);
        failed |= bench(bench_sizes[i].N, bench_sizes[i].n, KS_F32, CHOSEN, 0);
    }
    return failed;
}

int main(int argc, char **argv)
{
    ks_gpu *gpu;
    const ks_status status = ks_gpu_open(&gpu, NULL, 0);
    if (status == KS_ENODEV) {
        puts("no device");
        return 77;
    }
    TRY(status);
    over = ks_seconds() + (argc > 1 ? atof(argv[1]) : 300);
    copied = copy_speed(gpu);
    int failed = 0;
    if (argc == 3 && !strcmp(argv[2], "schur"))
        for (int i = 0; i < TABLE; ++i) failed |= bench(bench_sizes[i].N, bench_sizes[i].n, KS_F64, SCHUR, 0);
    else if (argc <= 2) failed = bench_all();
    for (int i = 2; i + 1 < argc; i += 2) {
        failed |= bench(atoll(argv[i]), atoi(argv[i + 1]), KS_F64, CHOSEN | OTHERS | SCHUR, 1);
        failed |= bench(atoll(argv[i]), atoi(argv[i + 1]), KS_F32, CHOSEN, 0);
    }
    ks_gpu_close(gpu);
    return failed;
}
