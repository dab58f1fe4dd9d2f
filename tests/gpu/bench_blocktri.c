/* bench_blocktri.c -- block-tridiagonal systems on the first device, timed on the device itself.
 *
 * Usage: bench_blocktri [SECONDS]
 * Writes one line of JSON for each size: milliseconds of factor, solve with one right-hand side, and
 * both, the least and the median of the repeats; operations and bytes of the method, beside them the
 * relative residual and how far the solution is from that of the CPU. Systems that take longer to
 * make than SECONDS (300) in all are left out. 77: no device. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cuda/cuda_plan.h"
#include "kalscan/blocktri.h"

enum { WARM = 3, REPEATS = 20, TABLE = 7 };
typedef struct arrays { double *D, *L, *b, *x, *y; } arrays;
typedef struct times { double least, median; } times;

#define TRY(call)                                                                     \
    do {                                                                              \
        const ks_status status_ = (call);                                             \
        if (status_) {                                                                \
            fprintf(stderr, "%s: %s\n", #call, ks_strerror(status_));                 \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

static void *memory(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!p) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return p;
}

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0 - 0.5;
}

static arrays make(int64_t N, int n)
{
    const size_t block = (size_t)n * (size_t)n, count = (size_t)N;
    uint64_t state = 12345;
    arrays a = { memory(count * block * 8), memory(count * block * 8), memory(count * (size_t)n * 8),
                 memory(count * (size_t)n * 8), memory(count * (size_t)n * 8) };
    for (size_t i = 0; i < count * block; ++i) {
        const size_t row = i % block / (size_t)n, column = i % (size_t)n;
        a.D[i] = uniform(&state) + (row == column ? 0.1 + 1.6 * sqrt((double)n) : 0);
        a.L[i] = uniform(&state);
    }
    for (size_t i = 0; i < count * (size_t)n; ++i) a.b[i] = uniform(&state);
    return a;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

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
    qsort(t, REPEATS, sizeof *t, ascending);
    const times result = { t[0], t[REPEATS / 2] };
    return result;
}

/* Operations of the CPU's solver that are worth the wait. */
static const double most_on_cpu = 1e11;

/* Relative residual of a.x, and the largest difference to the CPU's solution in units of its largest
 * entry, 0 where that would take too long. Overwrites D and L. */
static void judge(int64_t N, int n, const arrays *a, double *residual, double *difference)
{
    const ks_blocktri_matrix matrix = { { a->D, n * n }, { a->L, n * n } };
    const ks_blocktri_factor factor = { { a->D, n * n }, { a->L, n * n }, NULL };
    const ks_const_blocks b = { a->b, n }, x = { a->x, n };
    const ks_blocks y = { a->y, n };
    ks_blocktri_options options = KS_BLOCKTRI_OPTIONS_INIT;
    ks_blocktri_norms norms;
    ks_blocktri_plan *plan;
    options.order = KS_BLOCKTRI_SEQUENTIAL;
    TRY(ks_blocktri_plan_create(&plan, NULL, N, n, &options));
    void *work = memory(ks_blocktri_workspace_bytes(plan));
    TRY(ks_blocktri_residual(plan, &matrix, 1, x, b, &norms));
    *residual = norms.residual / (norms.matrix * norms.solution + norms.right_hand_side);
    double largest = 1e-300;
    *difference = 0;
    if (7.0 / 3 * (double)N * n * n * n < most_on_cpu) {
        TRY(ks_blocktri_factorize(plan, &matrix, &factor, work, NULL));
        TRY(ks_blocktri_solve(plan, &factor, 1, b, y, work));
        for (int64_t i = 0; i < N * n; ++i) {
            largest = fmax(largest, fabs(a->y[i]));
            *difference = fmax(*difference, fabs(a->x[i] - a->y[i]));
        }
    }
    *difference /= largest;
    free(work);
    ks_blocktri_plan_destroy(plan);
}

/* Operations of a factorization on blocks of order n, and the bytes that its kernels ask for. In
 * arrays of the padded order, each block: L written (1/2), both W written and read once (4), the new
 * coupling written and read (2), what is left of D written and read (1). */
static void report(const char *method, int64_t N, int n, int padded, const times t[3], double residual, double difference)
{
    const double cube = (double)n * n * n, P = padded;
    const double flops = 19.0 / 3 * cube * (double)N;
    const double bytes = 8 * (double)N * (2.0 * n * n + 7.5 * P * P);
    printf("{\"job\": \"solve\", \"method\": \"%s\", \"backend\": \"cuda\", "
           "\"precision\": \"f64\", \"N\": %lld, \"n\": %d, \"repeats\": %d, "
           "\"factor_ms\": %.5f, \"factor_min_ms\": %.5f, \"solve_ms\": %.5f, \"solve_min_ms\": %.5f, "
           "\"factor_solve_ms\": %.5f, \"factor_solve_min_ms\": %.5f, "
           "\"factor_flops\": %.4g, \"factor_bytes\": %.4g, "
           "\"residual\": %.3g, \"cpu_difference\": %.3g}\n",
           method, (long long)N, n, REPEATS, t[0].median, t[0].least, t[1].median, t[1].least, t[2].median,
           t[2].least, flops, bytes, residual, difference);
    fflush(stdout);
}

static int bench(int64_t N, int n, ks_blocktri_order order)
{
    device_run r;
    ks_blocktri_cuda_options options = KS_BLOCKTRI_CUDA_OPTIONS_INIT;
    options.order = order;
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
    report(ks_blocktri_order_name(order), N, n, r.plan->padded, t, residual, difference);
    ks_gpu_event_destroy(r.plan->gpu, r.start);
    ks_gpu_event_destroy(r.plan->gpu, r.stop);
    void *const taken[] = { D, L, b, x };
    for (int i = 0; i < 4; ++i) ks_blocktri_cuda_free(r.plan, taken[i]);
    ks_blocktri_cuda_plan_destroy(r.plan);
    double *const host[] = { a.D, a.L, a.b, a.x, a.y };
    for (int i = 0; i < 5; ++i) free(host[i]);
    return residual < 1e-13 && difference < 1e-9 ? 0 : 1;
}

int main(int argc, char **argv)
{
    /* Table 4.1 of TBD-GPU (see kalscan/order.h), its Kalman smoother, and small blocks as other
     * smoothers have them. */
    static const struct { int64_t N; int n; } sizes[] = {
        { 8192, 32 },    { 4096, 64 },   { 2048, 128 },  { 1024, 256 },  { 512, 512 },
        { 256, 1024 },   { 100, 256 },   { 16384, 16 },  { 32768, 8 },   { 65536, 4 },   { 10000, 2 },
        { 10000, 4 },    { 10000, 6 },   { 10000, 8 },   { 10000, 12 },  { 10000, 16 },
        { 100000, 2 },   { 100000, 4 },  { 100000, 6 },  { 100000, 8 },  { 100000, 12 },
        { 100000, 16 },  { 1000000, 2 }, { 1000000, 4 }, { 1000000, 6 }, { 1000000, 8 },
        { 1000000, 12 }, { 1000000, 16 },
    };
    const double most = argc > 1 ? atof(argv[1]) : 300;
    const time_t begun = time(NULL);
    int failed = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        if (difftime(time(NULL), begun) > most) break;
        /* The libraries' method beside the rows of the table. */
        int status = bench(sizes[i].N, sizes[i].n, KS_BLOCKTRI_NESTED_DISSECTION);
        if (status == 0 && i < TABLE)
            status = bench(sizes[i].N, sizes[i].n, KS_BLOCKTRI_RECURSIVE_SCHUR);
        if (status == 77) {
            puts("no device");
            return 77;
        }
        failed |= status;
    }
    return failed;
}
