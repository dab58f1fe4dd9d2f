/* bench_smooth.c -- filters and smoothers by scans on the first device, as lines of JSON: the device's own
 * work on arrays that are there, and the whole call with arrays of the host. Models vary at every step.
 * `floor_ns` is what touching model and results once would take at the speed of a copy inside the device,
 * measured here first. Ends after the seconds of its first argument (60); the second one bounds T. Exit
 * code 77 without a device. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "scan_device.h"

enum { REPEATS = 9 };

typedef struct job {
    ks_job job;
    ks_method method;
    ks_scan_algorithm scan;
    ks_precision precision;
    int64_t T;
    int nx, ny;
} job;

/* A model that varies at every step, and observations, of any precision. */
typedef struct arrays {
    ks_model model;
    ks_view y;
    ks_outputs outputs;
    void *owned[16];
    int count;
    double bytes; /* of model and results */
} arrays;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *owned(arrays *a, int64_t numbers, const job *j)
{
    const size_t number = j->precision == KS_F64 ? sizeof(double) : sizeof(float);
    void *memory = calloc((size_t)numbers, number);
    if (!memory) exit(1);
    a->owned[a->count++] = memory;
    a->bytes += (double)numbers * (double)number;
    return memory;
}

static void set(void *memory, const job *j, int64_t at, double value)
{
    if (j->precision == KS_F64) ((double *)memory)[at] = value;
    else ((float *)memory)[at] = (float)value;
}

/* Rows of (rows, columns) blocks, `diagonal` on the diagonal and small numbers beside it. */
static ks_view blocks(arrays *a, const job *j, int64_t steps, int rows, int columns, double diagonal,
                      double beside)
{
    const int64_t block = (int64_t)rows * columns;
    const ks_view view = { owned(a, steps * block, j), steps > 1 ? block : 0, 0 };
    void *memory = a->owned[a->count - 1];
    for (int64_t k = 0; k < steps; ++k)
        for (int r = 0; r < rows; ++r)
            for (int c = 0; c < columns; ++c)
                set(memory, j, k * block + (int64_t)r * columns + c,
                    r == c ? diagonal : beside * (double)((k + r + c) % 7 - 3));
    return view;
}

static arrays make(const job *j, unsigned outputs)
{
    arrays a = { KS_MODEL_INIT, { NULL, 0, 0 }, KS_OUTPUTS_INIT, { NULL }, 0, 0 };
    const int64_t T = j->T, n = j->nx;
    a.model.F = blocks(&a, j, T, j->nx, j->nx, 0.95, 0.1 / j->nx);
    a.model.Q = blocks(&a, j, T, j->nx, j->nx, 0.1, 0);
    a.model.u = blocks(&a, j, T, 1, j->nx, 0.1, 0.1);
    a.model.H = blocks(&a, j, T, j->ny, j->nx, 1, 0.1);
    a.model.R = blocks(&a, j, T, j->ny, j->ny, 0.5, 0);
    a.model.d = blocks(&a, j, T, 1, j->ny, 0, 0.1);
    a.model.m0 = blocks(&a, j, 1, 1, j->nx, 0, 0);
    a.model.P0 = blocks(&a, j, 1, j->nx, j->nx, 1, 0);
    a.y = blocks(&a, j, T, 1, j->ny, 1, 1);
    const ks_out mean = { owned(&a, T * n, j), n, T * n }, cov = { owned(&a, T * n * n, j), n * n, 0 };
    if (outputs & KS_OUT_SMOOTHED_MEAN) a.outputs.smoothed_mean = mean, a.outputs.smoothed_cov = cov;
    else a.outputs.filtered_mean = mean, a.outputs.filtered_cov = cov;
    static double loglik;
    a.outputs.loglik = (ks_out){ &loglik, 1, 1 };
    return a;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(const job *j, const char *where, double *ns, int repeats, double floor_ns)
{
    qsort(ns, (size_t)repeats, sizeof *ns, by_value);
    printf("{\"job\": \"%s\", \"method\": \"%s\", \"scan\": \"%s\", \"backend\": \"cuda\", "
           "\"precision\": \"%s\", \"threads\": 1, \"T\": %lld, \"nx\": %d, \"ny\": %d, "
           "\"where\": \"%s\", \"repeats\": %d, \"median_ns\": %.0f, \"min_ns\": %.0f, "
           "\"max_ns\": %.0f, \"ns_per_step\": %.4g, \"floor_ns\": %.0f, \"of_floor\": %.3g}\n",
           j->job == KS_JOB_SMOOTH ? "smooth" : "filter", ks_method_name(j->method),
           ks_scan_name(j->scan), j->precision == KS_F64 ? "f64" : "f32", (long long)j->T, j->nx,
           j->ny, where, repeats, ns[repeats / 2], ns[0], ns[repeats - 1],
           ns[repeats / 2] / (double)j->T, floor_ns, ns[repeats / 2] / floor_ns);
    fprintf(stderr, "%-16s %-15s %s T = %-9lld nx = %-3d %-10s %12.3f us  %8.2f x floor\n",
            ks_method_name(j->method), ks_scan_name(j->scan),
            j->precision == KS_F64 ? "f64" : "f32", (long long)j->T, j->nx, where,
            ns[repeats / 2] * 1e-3, ns[repeats / 2] / floor_ns);
    fflush(stdout);
}

/* The graph of the last run again, between two events. */
static ks_status again(const ks_scan_device *d, ks_gpu_event *const event[2], double *ns)
{
    double ms = 0;
    ks_status status = ks_gpu_event_record(d->gpu, event[0], d->stream);
    if (status == KS_OK) status = ks_gpu_graph_launch(d->gpu, d->part[KS_RUN_WHOLE], d->stream);
    if (status == KS_OK) status = ks_gpu_event_record(d->gpu, event[1], d->stream);
    if (status == KS_OK) status = ks_gpu_stream_sync(d->gpu, d->stream);
    if (status == KS_OK) status = ks_gpu_event_elapsed(d->gpu, &ms, event[0], event[1]);
    *ns = ms * 1e6;
    return status;
}

static ks_status time_plan(const job *j, const ks_smooth_plan *plan, const arrays *a,
                           double copy_bytes_per_ns)
{
    const ks_scan_device *d = plan->device;
    ks_gpu_event *event[2] = { NULL };
    double whole[REPEATS], device[REPEATS];
    const double floor_ns = a->bytes / copy_bytes_per_ns;
    void *work = NULL;
    if (posix_memalign(&work, 64, ks_smooth_workspace_bytes(plan) + 64) != 0) return KS_ENOMEM;
    ks_status status = ks_smooth_run(plan, &a->model, a->y, &a->outputs, work, NULL);
    for (int i = 0; i < 2 && status == KS_OK; ++i) status = ks_gpu_event_create(d->gpu, &event[i]);
    for (int i = 0; i < REPEATS && status == KS_OK; ++i) status = again(d, event, &device[i]);
    for (int i = 0; i < REPEATS / 3 && status == KS_OK; ++i) {
        const double start = now();
        status = ks_smooth_run(plan, &a->model, a->y, &a->outputs, work, NULL);
        whole[i] = (now() - start) * 1e9;
    }
    for (int i = 0; i < 2; ++i)
        if (event[i]) ks_gpu_event_destroy(d->gpu, event[i]);
    free(work);
    if (status != KS_OK) return status;
    print(j, "device", device, REPEATS, floor_ns);
    print(j, "end-to-end", whole, REPEATS / 3, floor_ns);
    return KS_OK;
}

static void run(const job *j, double copy_bytes_per_ns)
{
    ks_smooth_options o = KS_SMOOTH_OPTIONS_INIT;
    ks_smooth_plan *plan;
    o.job = j->job;
    o.method = j->method;
    o.scan = j->scan;
    o.precision = j->precision;
    o.backend = KS_BACKEND_CUDA;
    o.outputs = KS_OUT_LOGLIK | (j->job == KS_JOB_SMOOTH
                                     ? KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV
                                     : KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV);
    ks_status status = ks_smooth_plan_create(&plan, NULL, j->T, 1, j->nx, j->ny, &o);
    if (status == KS_OK) {
        arrays a = make(j, o.outputs);
        status = time_plan(j, plan, &a, copy_bytes_per_ns);
        ks_smooth_plan_destroy(plan);
        for (int i = 0; i < a.count; ++i) free(a.owned[i]);
    }
    if (status != KS_OK)
        printf("{\"job\": \"%s\", \"method\": \"%s\", \"scan\": \"%s\", \"T\": %lld, \"nx\": %d, "
               "\"status\": \"%s\"}\n", j->job == KS_JOB_SMOOTH ? "smooth" : "filter",
               ks_method_name(j->method), ks_scan_name(j->scan), (long long)j->T, j->nx,
               ks_status_name(status));
}

/* Bytes read and written in a nanosecond by a copy inside the device. */
static double copy_speed(ks_gpu *gpu)
{
    size_t bytes = gpu->attributes.memory / 16;
    void *memory[2] = { NULL };
    ks_gpu_stream *stream = NULL;
    ks_gpu_event *event[2] = { NULL };
    double best = 0;
    if (bytes > (size_t)1 << 30) bytes = (size_t)1 << 30;
    ks_status status = ks_gpu_stream_create(gpu, &stream);
    for (int i = 0; i < 2 && status == KS_OK; ++i) {
        status = ks_gpu_alloc(gpu, &memory[i], bytes);
        if (status == KS_OK) status = ks_gpu_event_create(gpu, &event[i]);
    }
    for (int i = 0; i < 5 && status == KS_OK; ++i) {
        double ms = 0;
        status = ks_gpu_event_record(gpu, event[0], stream);
        if (status == KS_OK) status = ks_gpu_copy(gpu, memory[1], memory[0], bytes, stream);
        if (status == KS_OK) status = ks_gpu_event_record(gpu, event[1], stream);
        if (status == KS_OK) status = ks_gpu_stream_sync(gpu, stream);
        if (status == KS_OK) status = ks_gpu_event_elapsed(gpu, &ms, event[0], event[1]);
        if (ms > 0 && 2 * (double)bytes / (ms * 1e6) > best) best = 2 * (double)bytes / (ms * 1e6);
    }
    for (int i = 0; i < 2; ++i) {
        ks_gpu_free(gpu, memory[i]);
        if (event[i]) ks_gpu_event_destroy(gpu, event[i]);
    }
    ks_gpu_stream_destroy(gpu, stream);
    printf("{\"what\": \"copy inside the device\", \"bytes\": %.0f, \"gb_per_s\": %.1f, "
           "\"device\": \"%s\"}\n", (double)bytes, best, gpu->attributes.name);
    return best > 0 ? best : 1;
}

int main(int argc, char **argv)
{
    static const struct { ks_job job; ks_method method; ks_scan_algorithm scan; } methods[] = {
        { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_CHUNKED },
        { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_CHUNKED },
        { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_LADNER_FISCHER },
        { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_BLELLOCH },
        { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_SENGUPTA },
        { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_HILLIS_STEELE },
        { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_LADNER_FISCHER },
        { KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER, KS_SCAN_LADNER_FISCHER },
    };
    static const int sizes[][2] = { { 4, 2 }, { 2, 1 }, { 6, 3 }, { 8, 4 }, { 16, 8 }, { 32, 16 } };
    const double seconds = argc > 1 ? atof(argv[1]) : 60, begun = now();
    const double longest = argc > 2 ? atof(argv[2]) : 1e7;
    ks_gpu *gpu;
    if (ks_gpu_open(&gpu, NULL, 0) != KS_OK) {
        puts("no device");
        return 77;
    }
    const double speed = copy_speed(gpu);
    ks_gpu_close(gpu);
    /* What is asked for first comes first: (4, 2) by all methods, then the other sizes in chunks. */
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s)
        for (size_t m = 0; m < sizeof methods / sizeof methods[0]; ++m)
            for (double T = 1e3; T <= longest && T <= (m < 2 && s == 0 ? 1e7 : 1e6); T *= 10)
                for (int p = 0; p < 2; ++p) {
                    const job j = { methods[m].job, methods[m].method, methods[m].scan,
                                    p ? KS_F32 : KS_F64, (int64_t)T, sizes[s][0], sizes[s][1] };
                    const double bytes = T * 8 * 4 * sizes[s][0] * sizes[s][0];
                    if (now() - begun > seconds) return 0;
                    if (bytes < 4e9 && (s == 0 || m < 3)) run(&j, speed);
                }
    return 0;
}
