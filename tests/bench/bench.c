/* bench.c -- nanoseconds per step of filter and smoother in memory, through the public plan.
 *
 *     bench [--T N] [--repeats N] [--threads N] [--size NX,NY] [--scans] [--f32] [--json]
 *
 * One line for each job, method and size: minimum, median and maximum over the repeats of the time
 * of a run, divided by T. Models are random and stable; constant (one block for all steps) and
 * varying (a block for each step), without and with a tenth of the entries missing. Means,
 * covariances and the log-likelihood are stored. Machines are noisy: compare ratios inside one
 * run. A program to measure with, not a test. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "kalscan/smooth.h"

typedef struct settings {
    int64_t T;
    int repeats, threads, nx, ny, scans, json;
    ks_precision precision;
} settings;

typedef struct problem {
    int64_t T, blocks; /* blocks: 1 constant, T varying */
    int nx, ny;
    ks_precision precision;
    void *F, *Q, *H, *R, *m0, *P0, *y;
} problem;

static uint64_t generator = 1;

static double uniform(void)
{
    generator = generator * 6364136223846793005u + 1442695040888963407u;
    return (double)(generator >> 11) / 9007199254740992.0 - 0.5;
}

static void *allocate(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
    if (!p) {
        fputs("bench: out of memory\n", stderr);
        exit(1);
    }
    memset(p, 0, bytes); /* pages are there before the clock starts */
    return p;
}

static size_t number(ks_precision precision)
{
    return precision == KS_F64 ? sizeof(double) : sizeof(float);
}

static void put(void *array, ks_precision precision, int64_t i, double value)
{
    if (precision == KS_F64)
        ((double *)array)[i] = value;
    else
        ((float *)array)[i] = (float)value;
}

static void fill_covariance(void *array, ks_precision precision, int64_t block, int n, double scale)
{
    double G[64 * 64];
    for (int i = 0; i < n * n; ++i) G[i] = uniform();
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            double s = i == j ? 0.1 : 0;
            for (int l = 0; l < n; ++l) s += G[i * n + l] * G[j * n + l] / n;
            put(array, precision, (block * n + i) * n + j, scale * s);
        }
}

static problem make_problem(const settings *s, int nx, int ny, int varying, double missing)
{
    problem p = { s->T, varying ? s->T : 1, nx, ny, s->precision, 0, 0, 0, 0, 0, 0, 0 };
    const size_t b = number(s->precision), blocks = (size_t)p.blocks;
    const size_t n = (size_t)nx, m = (size_t)ny;
    p.F = allocate(blocks * n * n * b);
    p.Q = allocate(blocks * n * n * b);
    p.H = allocate(blocks * m * n * b);
    p.R = allocate(blocks * m * m * b);
    p.m0 = allocate(n * b);
    p.P0 = allocate(n * n * b);
    p.y = allocate((size_t)s->T * m * b);
    for (int64_t k = 0; k < p.blocks; ++k) {
        for (int i = 0; i < nx; ++i)
            for (int j = 0; j < nx; ++j)
                put(p.F, p.precision, (k * nx + i) * nx + j,
                    (i == j ? 0.9 : 0) + 0.4 * uniform() / nx);
        for (int i = 0; i < ny; ++i)
            for (int j = 0; j < nx; ++j)
                put(p.H, p.precision, (k * ny + i) * nx + j, (i == j) + 0.4 * uniform());
        fill_covariance(p.Q, p.precision, k, nx, 1);
        fill_covariance(p.R, p.precision, k, ny, 2);
    }
    fill_covariance(p.P0, p.precision, 0, nx, 1);
    for (int64_t i = 0; i < s->T * ny; ++i)
        put(p.y, p.precision, i, uniform() + 0.5 < missing ? (double)NAN : 4 * uniform());
    return p;
}

static void free_problem(problem *p)
{
    free(p->F);
    free(p->Q);
    free(p->H);
    free(p->R);
    free(p->m0);
    free(p->P0);
    free(p->y);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void die(const char *what, ks_status status)
{
    fprintf(stderr, "bench: %s: %s\n", what, ks_strerror(status));
    exit(1);
}

static void time_one(const settings *s, const problem *p, ks_job job, ks_method method,
                     ks_scan_algorithm scan, const char *kind)
{
    ks_context_options resources = KS_CONTEXT_OPTIONS_INIT;
    ks_smooth_options options = KS_SMOOTH_OPTIONS_INIT;
    ks_context *context;
    ks_smooth_plan *plan;
    resources.threads = s->threads;
    options.job = job;
    options.method = method;
    options.scan = scan;
    options.precision = p->precision;
    options.outputs = KS_OUT_LOGLIK | (job == KS_JOB_FILTER
                                           ? KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV
                                           : KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV);
    ks_status status = ks_context_create(&context, &resources);
    if (status) die("context", status);
    status = ks_smooth_plan_create(&plan, context, p->T, 1, p->nx, p->ny, &options);
    if (status) die("plan", status);
    const int64_t nx = p->nx, ny = p->ny, step = p->blocks > 1;
    const size_t b = number(p->precision);
    void *work = allocate(ks_smooth_workspace_bytes(plan));
    void *mean = allocate((size_t)(p->T * nx) * b), *cov = allocate((size_t)(p->T * nx * nx) * b);
    double loglik, times[101];
    ks_model model = KS_MODEL_INIT;
    ks_outputs out = KS_OUTPUTS_INIT;
    const ks_view F = { p->F, step * nx * nx, 0 }, Q = { p->Q, step * nx * nx, 0 };
    const ks_view H = { p->H, step * ny * nx, 0 }, R = { p->R, step * ny * ny, 0 };
    const ks_view m0 = { p->m0, 0, 0 }, P0 = { p->P0, 0, 0 }, y = { p->y, ny, 0 };
    const ks_out to_mean = { mean, nx, 0 }, to_cov = { cov, nx * nx, 0 }, to_ll = { &loglik, 0, 1 };
    model.F = F;
    model.Q = Q;
    model.H = H;
    model.R = R;
    model.m0 = m0;
    model.P0 = P0;
    out.loglik = to_ll;
    if (job == KS_JOB_FILTER) {
        out.filtered_mean = to_mean;
        out.filtered_cov = to_cov;
    } else {
        out.smoothed_mean = to_mean;
        out.smoothed_cov = to_cov;
    }
    ks_info info = KS_INFO_INIT;
    for (int r = -1; r < s->repeats; ++r) {
        const double start = seconds();
        status = ks_smooth_run(plan, &model, y, &out, work, &info);
        if (r >= 0) times[r] = 1e9 * (seconds() - start) / (double)p->T;
        if (status) die("run", status);
    }
    qsort(times, (size_t)s->repeats, sizeof times[0], ascending);
    const char *scan_name = method == KS_METHOD_SEQUENTIAL ? "-" : ks_scan_name(scan);
    printf(s->json ? "{\"job\": \"%s\", \"method\": \"%s\", \"scan\": \"%s\", \"model\": \"%s\", "
                     "\"precision\": \"%s\", \"threads\": %d, \"nx\": %d, \"ny\": %d, \"T\": %lld, "
                     "\"min_ns\": %.1f, \"median_ns\": %.1f, \"max_ns\": %.1f, "
                     "\"workspace_bytes\": %zu}\n"
                   : "%-7s %-16s %-15s %-17s %s  threads %d  nx %2d ny %2d T %lld  "
                     "min %8.1f  median %8.1f  max %8.1f ns/step  work %zu\n",
           job == KS_JOB_FILTER ? "filter" : "smooth", ks_method_name(method), scan_name, kind,
           p->precision == KS_F64 ? "f64" : "f32", s->threads, p->nx, p->ny, (long long)p->T,
           times[0], times[s->repeats / 2], times[s->repeats - 1],
           ks_smooth_workspace_bytes(plan));
    fflush(stdout);
    free(cov);
    free(mean);
    free(work);
    ks_smooth_plan_destroy(plan);
    ks_context_destroy(context);
}

static void time_size(const settings *s, int nx, int ny)
{
    static const struct { const char *name; int varying; double missing; } kinds[] = {
        { "constant", 0, 0 }, { "varying", 1, 0 }, { "constant, missing", 0, 0.1 },
    };
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
        problem p = make_problem(s, nx, ny, kinds[k].varying, kinds[k].missing);
        time_one(s, &p, KS_JOB_FILTER, KS_METHOD_SEQUENTIAL, KS_SCAN_CHUNKED, kinds[k].name);
        time_one(s, &p, KS_JOB_SMOOTH, KS_METHOD_SEQUENTIAL, KS_SCAN_CHUNKED, kinds[k].name);
        for (int a = 0; s->scans && k == 1 && a < KS_SCAN_ALGORITHMS; ++a) {
            const ks_scan_algorithm scan = (ks_scan_algorithm)a;
            time_one(s, &p, KS_JOB_FILTER, KS_METHOD_SCAN, scan, kinds[k].name);
            time_one(s, &p, KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, scan, kinds[k].name);
            time_one(s, &p, KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER, scan, kinds[k].name);
        }
        free_problem(&p);
    }
}

int main(int argc, char **argv)
{
    settings s = { 20000, 7, 1, 0, 0, 0, 0, KS_F64 };
    for (int i = 1; i < argc; ++i) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--T")) s.T = (int64_t)atof(value), ++i;
        else if (!strcmp(argv[i], "--repeats")) s.repeats = atoi(value), ++i;
        else if (!strcmp(argv[i], "--threads")) s.threads = atoi(value), ++i;
        else if (!strcmp(argv[i], "--size") && sscanf(value, "%d,%d", &s.nx, &s.ny) == 2) ++i;
        else if (!strcmp(argv[i], "--scans")) s.scans = 1;
        else if (!strcmp(argv[i], "--f32")) s.precision = KS_F32;
        else if (!strcmp(argv[i], "--json")) s.json = 1;
        else {
            fputs("usage: bench [--T N] [--repeats N] [--threads N] [--size NX,NY] [--scans] "
                  "[--f32] [--json]\n", stderr);
            return 2;
        }
    }
    if (s.T < 1 || s.repeats < 1 || s.repeats > 100 || s.nx < 0 || s.nx > 64 || s.ny > 64) {
        fputs("bench: T and repeats (at most 100) must be positive, sizes at most 64\n", stderr);
        return 2;
    }
    if (s.nx > 0) {
        time_size(&s, s.nx, s.ny);
        return 0;
    }
    time_size(&s, 4, 2);
    time_size(&s, 6, 3);
    time_size(&s, 12, 6);
    time_size(&s, 48, 24);
    return 0;
}
