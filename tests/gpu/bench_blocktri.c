/* bench_blocktri.c -- block-tridiagonal systems on the first device, timed on the device itself.
 *
 * Usage: bench_blocktri [SECONDS]
 * Writes one line of JSON for each size: milliseconds of factor, solve with one right-hand side, and
 * both, the least and the median of the repeats; operations and bytes of the method, beside them the
 * relative residual and how far the solution is from that of the CPU. Systems that take longer to
 * make than SECONDS (300) in all are left out. 77: no device. */
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
    const int n = plan->n, together = plan->blocked ? plan->rounds.count - plan->together : 0;
    const double cube = (double)n * n * n, P = plan->padded;
    const int64_t N = plan->N;
    const double flops = cube * (plan->blocked ? ks_bt_rounds_operations(&plan->rounds) : 19.0 / 3 * (double)N);
    const double bytes = 8 * (double)N * (2.0 * n * n + 7.5 * P * P);
    printf("{\"job\": \"solve\", \"method\": \"%s\", \"backend\": \"cuda\", "
           "\"precision\": \"f64\", \"N\": %lld, \"n\": %d, \"repeats\": %d, \"together\": %d, "
           "\"factor_ms\": %.5f, \"factor_min_ms\": %.5f, \"solve_ms\": %.5f, \"solve_min_ms\": %.5f, "
           "\"factor_solve_ms\": %.5f, \"factor_solve_min_ms\": %.5f, "
           "\"factor_flops\": %.4g, \"factor_bytes\": %.4g, "
           "\"residual\": %.3g, \"cpu_difference\": %.3g}\n",
           ks_blocktri_order_name(options->order), (long long)N, n, REPEATS, together, t[0].median,
           t[0].least, t[1].median, t[1].least, t[2].median, t[2].least, flops, bytes, residual, difference);
    fflush(stdout);
}

static int bench(int64_t N, int n, ks_blocktri_order order, int together)
{
    device_run r;
    ks_blocktri_cuda_options options = KS_BLOCKTRI_CUDA_OPTIONS_INIT;
    options.order = order;
    options.together = together;
    const ks_status status = ks_blocktri_cuda_plan_create(&r.plan, NULL, N, n, &options);
    if (status == KS_ENODEV) return 77;
    if (status == KS_EUNAVAILABLE && order == KS_BLOCKTRI_RECURSIVE_SCHUR) return 0; /* no libraries */
    TRY(status);
    arrays a = make(N, n);
    const size_t blocks = (size_t)N * (size_t)n * (size_t)n * 8, vectors = (size_t)N * (size_t)n * 8;
    void *D, *L, *b, *x;
    TRY(ks_blocktri_cuda_alloc(r.plan, &D, blocks));
    TRY(ks_blocktri_cuda_alloc(r.plan, &L, blocks));
    TRY(ks_blocktri_cuda_alloc(r.plan, &b, vectors));
    TRY(ks_blocktri_cuda_alloc(r.plan, &x, vectors));
    TRY(ks_blocktri_cuda_upload(r.plan, D, a.D, blocks));
    TRY(ks_blocktri_cuda_upload(r.plan, L, a.L, blocks));
    TRY(ks_blocktri_cuda_upload(r.plan, b, a.b, vectors));
    TRY(ks_gpu_event_create(r.plan->gpu, &r.start));
    TRY(ks_gpu_event_create(r.plan->gpu, &r.stop));
    const ks_cuda_const_blocks Db = { D, n * n, 0 }, Lb = { L, n * n, 0 }, bb = { b, n, 0 };
    const ks_cuda_blocks xb = { x, n, 0 };
    r.D = Db, r.L = Lb, r.b = bb, r.x = xb;
    times t[3];
    double residual, difference;
    for (int what = 0; what < 3; ++what) t[what] = measure(&r, what);
    TRY(ks_blocktri_cuda_download(r.plan, a.x, x, vectors));
    judge(N, n, &a, &residual, &difference);
    report(r.plan, &options, t, residual, difference);
    ks_gpu_event_destroy(r.plan->gpu, r.start);
    ks_gpu_event_destroy(r.plan->gpu, r.stop);
    void *const taken[] = { D, L, b, x };
    for (int i = 0; i < 4; ++i) ks_blocktri_cuda_free(r.plan, taken[i]);
    ks_blocktri_cuda_plan_destroy(r.plan);
    free_arrays(&a);
    return residual < 1e-13 && difference < 1e-9 ? 0 : 1;
}

int main(int argc, char **argv)
{
    const double most = argc > 1 ? atof(argv[1]) : 300;
    const time_t begun = time(NULL);
    int failed = 0;
    for (int i = 0; i < BENCH_SIZES; ++i) {
        if (difftime(time(NULL), begun) > most) break;
        /* Beside the rows of the table: of large blocks the same without a cooperative launch, cheap
         * ends where blocks are few, and the libraries' method. */
        const int64_t N = bench_sizes[i].N;
        const int n = bench_sizes[i].n;
        int status = bench(N, n, KS_BLOCKTRI_NESTED_DISSECTION, -1);
        if (status == 0 && i < TABLE && n > 32) status = bench(N, n, KS_BLOCKTRI_NESTED_DISSECTION, 0);
        if (status == 0 && i < TABLE && n >= 512) status = bench(N, n, KS_BLOCKTRI_PARTITION, -1);
        if (status == 0 && i < TABLE) status = bench(N, n, KS_BLOCKTRI_RECURSIVE_SCHUR, 0);
        if (status == 77) {
            puts("no device");
            return 77;
        }
        failed |= status;
    }
    return failed;
}
