/* bench_map.c -- MAP smoothing on the first device beside the CPU's, as lines of JSON: 2 to 16 states in 1e4 to
 * 1e6 steps, and the 256 states and 1024 entries in 100 steps of Jin, Montoison & Shin. Models vary at every
 * step; `floor_ns` as in bench_smooth.c, `flops` the leading terms of the eliminations: by segments 19/3, 7/3 and
 * 14/3 n^3 of a step, by nested dissection 19/3 and 38/3. `error` is the largest deviation from the CPU's means
 * and covariances in standard deviations. Small models are timed as plans take them and, `by-threads` or `by-teams`,
 * with segments taken the other way. After the seconds of its first argument (60) no other case begins;
 * the second one bounds the steps. Exit code 77 without a device, 1 where an error is too large. */
#include <math.h>
#include "smooth_job.h"

static double flops_of(const job *j)
{
    const double n = j->nx, each = j->nx > 16 ? 19 : 40.0 / 3;
    return each * n * n * n * (double)j->T;
}

static double number_at(const job *j, const void *memory, int64_t i)
{
    return j->precision == KS_F64 ? ((const double *)memory)[i] : (double)((const float *)memory)[i];
}

/* The largest deviation of means and covariances from others, in the standard deviations of these. */
static double error_of(const job *j, const void *mean, const void *cov, const ks_outputs *truth)
{
    const int64_t n = j->nx;
    double most = 0;
    for (int64_t k = 0; k < j->T; ++k)
        for (int64_t i = 0; i < n; ++i) {
            const void *const C = truth->smoothed_cov.data, *const m = truth->smoothed_mean.data;
            const double sd = sqrt(number_at(j, C, k * n * n + i * (n + 1)));
            const double off = fabs(number_at(j, mean, k * n + i) - number_at(j, m, k * n + i)) / sd;
            if (!(off <= most)) most = off;
            for (int64_t l = 0; l < n; ++l) {
                const int64_t at = k * n * n + i * n + l;
                const double both = sd * sqrt(number_at(j, C, k * n * n + l * (n + 1)));
                const double apart = fabs(number_at(j, cov, at) - number_at(j, C, at)) / both;
                if (!(apart <= most)) most = apart;
            }
        }
    return most;
}

static void *copy_of(const job *j, const void *memory, int64_t numbers)
{
    const size_t bytes = (size_t)numbers * (j->precision == KS_F64 ? sizeof(double) : sizeof(float));
    void *copy = malloc(bytes);
    if (!copy) exit(1);
    return memcpy(copy, memory, bytes);
}

/* Whole runs of a plan, in nanoseconds. */
static ks_status time_runs(const ks_smooth_plan *plan, const arrays *a, int repeats, double *ns)
{
    void *work = NULL;
    if (posix_memalign(&work, 64, ks_smooth_workspace_bytes(plan) + 64) != 0) return KS_ENOMEM;
    ks_status status = KS_OK;
    for (int i = 0; i < repeats && status == KS_OK; ++i) {
        const double start = ks_seconds();
        status = ks_smooth_run(plan, &a->model, a->y, &a->outputs, work, NULL);
        ns[i] = (ks_seconds() - start) * 1e9;
    }
    free(work);
    return status;
}

static ks_status time_device(const ks_smooth_plan *plan, const arrays *a, double *device, double *whole)
{
    ks_scan_device *d = plan->device;
    ks_gpu_event *event[2] = { NULL };
    ks_status status = time_runs(plan, a, REPEATS / 3, whole);
    for (int i = 0; i < 2 && status == KS_OK; ++i) status = ks_gpu_event_create(d->gpu, &event[i]);
    if (status == KS_OK) status = again(d, plan, event, 1, device);
    for (int i = 0, times = back_to_back(device[0]); i < REPEATS && status == KS_OK; ++i)
        status = again(d, plan, event, times, &device[i]);
    for (int i = 0; i < 2; ++i)
        if (event[i]) ks_gpu_event_destroy(d->gpu, event[i]);
    return status;
}

/* A way of a plan on the device: its times, and what it has found. */
typedef struct device_way {
    const char *where;
    int there;
    double device[REPEATS], whole[REPEATS];
    void *mean, *cov;
} device_way;

static ks_status time_way(const job *j, const ks_smooth_plan *plan, const arrays *a, device_way *way)
{
    const ks_status status = time_device(plan, a, way->device, way->whole);
    way->there = 1;
    way->mean = copy_of(j, a->outputs.smoothed_mean.data, j->T * j->nx);
    way->cov = copy_of(j, a->outputs.smoothed_cov.data, j->T * j->nx * j->nx);
    return status;
}

/* As the plan is made; then, where segments may be taken by threads alone and by teams, the other way. */
static ks_status time_ways(const job *j, const ks_smooth_plan *plan, const arrays *a, device_way way[2])
{
    ks_scan_device *d = plan->device;
    const int alone = d->map.alone;
    ks_status status = time_way(j, plan, a, &way[0]);
    if (status != KS_OK) return status;
    status = ks_map_device_alone(d, plan, !alone);
    if (status == KS_EUNAVAILABLE) return KS_OK;
    way[1].where = alone ? "by-teams" : "by-threads";
    return status == KS_OK ? time_way(j, plan, a, &way[1]) : status;
}

static void show(const job *j, device_way *way, const arrays *a, double floor_ns, double *error)
{
    char more[64];
    const double off = error_of(j, way->mean, way->cov, &a->outputs);
    if (!(off <= *error)) *error = off;
    snprintf(more, sizeof more, ", \"flops\": %.3g, \"error\": %.3g", flops_of(j), off);
    print(j, way->where ? way->where : "device", way->device, REPEATS, floor_ns, more);
    if (!way->where) print(j, "end-to-end", way->whole, REPEATS / 3, floor_ns, more);
}

/* One size on the device and then on the CPU; the error, or what has gone wrong. */
static ks_status run(const job *j, double copy_bytes_per_ns, double *error)
{
    ks_smooth_options o = KS_SMOOTH_OPTIONS_INIT;
    ks_context_options resources = KS_CONTEXT_OPTIONS_INIT;
    ks_context *context = NULL;
    ks_smooth_plan *plan;
    device_way way[2] = { { .there = 0 }, { .there = 0 } };
    double cpu[REPEATS];
    o.method = KS_METHOD_BLOCKTRI;
    o.precision = j->precision;
    o.backend = KS_BACKEND_CUDA;
    o.outputs = KS_OUT_LOGLIK | KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV;
    ks_status status = ks_smooth_plan_create(&plan, NULL, j->T, 1, j->nx, j->ny, &o);
    if (status != KS_OK) return status;
    arrays a = make(j, o.outputs);
    status = time_ways(j, plan, &a, way);
    ks_smooth_plan_destroy(plan);
    o.backend = KS_BACKEND_CPU;
    if (status == KS_OK) status = ks_context_create(&context, &resources);
    if (status == KS_OK) status = ks_smooth_plan_create(&plan, context, j->T, 1, j->nx, j->ny, &o);
    if (status == KS_OK) {
        status = time_runs(plan, &a, REPEATS / 3, cpu);
        ks_smooth_plan_destroy(plan);
    }
    if (status == KS_OK) {
        char more[64];
        const double floor_ns = a.bytes / copy_bytes_per_ns;
        *error = 0;
        for (int i = 0; i < 2; ++i)
            if (way[i].there) show(j, &way[i], &a, floor_ns, error);
        snprintf(more, sizeof more, ", \"flops\": %.3g, \"error\": 0", flops_of(j));
        print(j, "cpu", cpu, REPEATS / 3, floor_ns, more);
    }
    ks_context_destroy(context);
    for (int i = 0; i < 2; ++i) {
        free(way[i].mean);
        free(way[i].cov);
    }
    for (int i = 0; i < a.count; ++i) free(a.owned[i]);
    return status;
}

int main(int argc, char **argv)
{
    static const struct { double T; int nx, ny; } sizes[] = {
        { 1e4, 4, 2 }, { 1e5, 4, 2 }, { 100, 256, 1024 }, { 1e4, 2, 1 }, { 1e5, 2, 1 }, { 1e4, 6, 3 },
        { 1e4, 8, 4 }, { 1e4, 12, 6 }, { 1e4, 16, 8 }, { 1e3, 17, 8 }, { 1e3, 32, 16 }, { 1e5, 6, 3 },
        { 1e5, 8, 4 }, { 1e5, 12, 6 }, { 1e5, 16, 8 }, { 1e6, 4, 2 }, { 1e6, 2, 1 }, { 1e6, 6, 3 },
        { 1e6, 8, 4 }, { 1e6, 12, 6 }, { 1e6, 16, 8 }, { 20, 1, 1 },
    };
    const double seconds = argc > 1 ? atof(argv[1]) : 60, begun = ks_seconds();
    const double longest = argc > 2 ? atof(argv[2]) : 1e7;
    int wrong = 0, cases = 0;
    ks_gpu *gpu;
    const ks_status opened = ks_gpu_open(&gpu, NULL, 0);
    if (opened != KS_OK) {
        puts(opened == KS_ENODEV ? "no device" : ks_strerror(opened));
        return opened == KS_ENODEV ? 77 : 1;
    }
    const double speed = copy_speed(gpu);
    ks_gpu_close(gpu);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s)
        for (int p = 0; p < 2; ++p) {
            const job j = { KS_JOB_SMOOTH, KS_METHOD_BLOCKTRI, KS_SCAN_CHUNKED, p ? KS_F32 : KS_F64,
                            (int64_t)sizes[s].T, sizes[s].nx, sizes[s].ny };
            double error = 0;
            if (sizes[s].T > longest || (sizes[s].nx > 16 && longest < 1e4)) continue;
            if (cases++ > 0 && ks_seconds() - begun > seconds) return wrong;
            const ks_status status = run(&j, speed, &error);
            if (status != KS_OK)
                printf("{\"job\": \"smooth\", \"method\": \"blocktri\", \"T\": %lld, \"nx\": %d, "
                       "\"status\": \"%s\"}\n", (long long)j.T, j.nx, ks_status_name(status));
            wrong |= status != KS_OK || !(error <= (p ? 1e-2 : 1e-6));
        }
    return wrong;
}
