/* bench_blocktri.c -- block-tridiagonal systems on the first device, timed on the device itself.
 *
 * Usage: bench_blocktri [SECONDS [N n]...]
 * Writes one line of JSON for each size and way: orders of elimination, segments of a partition, how many
 * rounds are one launch, atomic sums or none. Milliseconds of factor, solve with one right-hand side, and
 * both, the least and the median of the repeats; operations and bytes of the method, beside them the
 * relative residual and how far the solution is from that of the CPU. All ways for sizes that are named,
 * otherwise for the rows of TBD-GPU's tables, a partition from order 512 on; no size is begun after SECONDS
 * (300). 77: no device. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "bench_system.h"
#include "cuda/cuda_plan.h"

typedef struct device_run {
    ks_blocktri_cuda_plan *plan;
    ks_cuda_const_blocks D, L, b;
    ks_cuda_blocks x;
    ks_gpu_event *start, *stop;
} device_run;

static void call(const device_run *r, int what)
{
    if (what == 0) TRY(ks_blocktri_cuda_factorize(r->plan, r->D, r->L, NULL));
    if (what == 1) TRY(ks_blocktri_cuda_solve(r->plan, 1, r->b, r->x, NULL));
    if (what == 2) TRY(ks_blocktri_cuda_factor_solve(r->plan, r->D, r->L, 1, r->b, r->x, NULL));
}

static times measure(const device_run *r, int what)
{
    double t[REPEATS];
    ks_gpu *gpu = r->plan->gpu;
    for (int i = 0; i < WARM; ++i) call(r, what);
    for (int i = 0; i < REPEATS; ++i) {
        TRY(ks_gpu_event_record(gpu, r->start, r->plan->stream));
        call(r, what);
        TRY(ks_gpu_event_record(gpu, r->stop, r->plan->stream));
        TRY(ks_blocktri_cuda_wait(r->plan, NULL, NULL));
        TRY(ks_gpu_event_elapsed(gpu, &t[i], r->start, r->stop));
    }
    return times_of(t);
}

/* Operations of a factorization on blocks of order n, and the bytes that its kernels ask for. In
 * arrays of the padded order, each block: L written (1/2), both W written and read once (4), the new
 * coupling written and read (2), what is left of D written and read (1). */
static void report(const ks_blocktri_cuda_plan *plan, const ks_blocktri_cuda_options *options,
                   const times t[3], double residual, double difference)
{
    const int n = plan->n, rounds = plan->blocked ? plan->rounds.count : 0;
    const double cube = (double)n * n * n, P = plan->padded;
    const int64_t N = plan->N;
    const double flops = cube * (plan->blocked ? ks_bt_rounds_operations(&plan->rounds) : 19.0 / 3 * (double)N);
    const double bytes = 8 * (double)N * (2.0 * n * n + 7.5 * P * P);
    printf("{\"job\": \"solve\", \"method\": \"%s\", \"backend\": \"cuda\", "
           "\"precision\": \"f64\", \"N\": %lld, \"n\": %d, \"repeats\": %d, \"segments\": %d, \"rounds\": %d, "
           "\"together\": %d, \"atomic\": %d, "
           "\"factor_ms\": %.5f, \"factor_min_ms\": %.5f, \"solve_ms\": %.5f, \"solve_min_ms\": %.5f, "
           "\"factor_solve_ms\": %.5f, \"factor_solve_min_ms\": %.5f, "
           "\"factor_flops\": %.4g, \"factor_bytes\": %.4g, "
           "\"residual\": %.3g, \"cpu_difference\": %.3g}\n",
           ks_blocktri_order_name(options->order), (long long)N, n, REPEATS,
           ks_blocktri_cuda_plan_segments(plan), rounds, ks_blocktri_cuda_plan_together(plan), plan->atomic, t[0].median,
           t[0].least, t[1].median, t[1].least, t[2].median, t[2].least, flops, bytes, residual, difference);
    fflush(stdout);
}

/* A system of which all ways are tried, in memory of the plan of the first one. */
typedef struct problem {
    int64_t N;
    int n;
    arrays a;
    ks_blocktri_cuda_plan *home;
    void *D, *L, *b, *x;
    size_t blocks, vectors; /* bytes of D, and of b */
} problem;

static problem problem_of(int64_t N, int n, ks_blocktri_cuda_plan *home)
{
    problem p = { .N = N, .n = n, .a = make(N, n), .home = home, .vectors = (size_t)N * (size_t)n * 8 };
    p.blocks = p.vectors * (size_t)n;
    TRY(ks_blocktri_cuda_alloc(home, &p.D, p.blocks));
    TRY(ks_blocktri_cuda_alloc(home, &p.L, p.blocks));
    TRY(ks_blocktri_cuda_alloc(home, &p.b, p.vectors));
    TRY(ks_blocktri_cuda_alloc(home, &p.x, p.vectors));
    TRY(ks_blocktri_cuda_upload(home, p.D, p.a.D, p.blocks));
    TRY(ks_blocktri_cuda_upload(home, p.L, p.a.L, p.blocks));
    TRY(ks_blocktri_cuda_upload(home, p.b, p.a.b, p.vectors));
    solve_on_cpu(N, n, &p.a);
    return p;
}

static void forget(problem *p)
{
    void *const taken[] = { p->D, p->L, p->b, p->x };
    for (int i = 0; i < 4; ++i) ks_blocktri_cuda_free(p->home, taken[i]);
    ks_blocktri_cuda_plan_destroy(p->home);
    free_arrays(&p->a);
}

/* Times a plan on the problem, and judges what it finds. */
static int run(problem *p, ks_blocktri_cuda_plan *plan, const ks_blocktri_cuda_options *options)
{
    const int n = p->n;
    device_run r = { plan, { p->D, n * n, 0 }, { p->L, n * n, 0 }, { p->b, n, 0 }, { p->x, n, 0 }, NULL, NULL };
    times t[3];
    double residual, difference;
    TRY(ks_gpu_event_create(plan->gpu, &r.start));
    TRY(ks_gpu_event_create(plan->gpu, &r.stop));
    for (int what = 0; what < 3; ++what) t[what] = measure(&r, what);
    TRY(ks_blocktri_cuda_download(plan, p->a.x, p->x, p->vectors));
    judge(p->N, n, &p->a, &residual, &difference);
    report(plan, options, t, residual, difference);
    ks_gpu_event_destroy(plan->gpu, r.start);
    ks_gpu_event_destroy(plan->gpu, r.stop);
    return residual < 1e-13 && difference < 1e-9 ? 0 : 1;
}

/* The problem by a plan of its own, on the same device. */
static int way(problem *p, ks_blocktri_order order, int64_t segments, int together, int atomic)
{
    ks_blocktri_cuda_options options = KS_BLOCKTRI_CUDA_OPTIONS_INIT;
    ks_blocktri_cuda_plan *plan;
    options.order = order;
    options.segments = segments;
    options.together = together;
    options.atomic = atomic;
    const ks_status status = ks_bt_plan_create(&plan, NULL, p->home->gpu, p->N, p->n, &options);
    if (status == KS_EUNAVAILABLE && order == KS_BLOCKTRI_RECURSIVE_SCHUR) return 0; /* no libraries */
    TRY(status);
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

static int bench(int64_t N, int n, int all_orders, int cheap_ends)
{
    ks_blocktri_cuda_options options = KS_BLOCKTRI_CUDA_OPTIONS_INIT;
    ks_blocktri_cuda_plan *home;
    options.order = KS_BLOCKTRI_NESTED_DISSECTION;
    const ks_status status = ks_blocktri_cuda_plan_create(&home, NULL, N, n, &options);
    if (status == KS_ENODEV) return 77;
    TRY(status);
    problem p = problem_of(N, n, home);
    int failed = run(&p, home, &options);
    if (all_orders) failed |= launches(&p);
    if (cheap_ends) failed |= partitions(&p);
    if (all_orders && home->blocked) failed |= way(&p, KS_BLOCKTRI_NESTED_DISSECTION, 0, 0, 1);
    if (all_orders) failed |= way(&p, KS_BLOCKTRI_RECURSIVE_SCHUR, 0, 0, 0);
    forget(&p);
    return failed;
}

int main(int argc, char **argv)
{
    const double most = argc > 1 ? atof(argv[1]) : 300;
    const time_t begun = time(NULL);
    const int named = argc > 2;
    int failed = 0;
    for (int i = 0; i < (named ? (argc - 2) / 2 : BENCH_SIZES); ++i) {
        if (i > 0 && difftime(time(NULL), begun) > most) break;
        const int64_t N = named ? atoll(argv[2 + 2 * i]) : bench_sizes[i].N;
        const int n = named ? atoi(argv[3 + 2 * i]) : bench_sizes[i].n;
        const int row = named || i < TABLE; /* cheap ends pay where blocks are few and large */
        const int status = bench(N, n, row, named || (row && n >= 512));
        if (status == 77) {
            puts("no device");
            return 77;
        }
        failed |= status;
    }
    return failed;
}
