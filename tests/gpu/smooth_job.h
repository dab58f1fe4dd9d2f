/* smooth_job.h -- common to benchmarks of filters and smoothers on a device: models that vary at every step, times of
 * the device, a line of JSON. */
#ifndef SMOOTH_JOB_H
#define SMOOTH_JOB_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "copy_speed.h"
#include "scan_device.h"
#include "cli/seconds.h"

#ifdef EMULATED
enum { REPEATS = 3 }; /* it runs, and its times mean nothing */
#else
enum { REPEATS = 9 };
#endif

typedef struct job {
    ks_job job;
    ks_method method;
    ks_scan_algorithm scan;
    ks_precision precision;
    int64_t T;
    int nx, ny;
} job;

/* A model that varies at every step, and observations, in any precision. */
typedef struct arrays {
    ks_model model;
    ks_view y;
    ks_outputs outputs;
    void *owned[16];
    int count;
    double bytes; /* of model and results */
} arrays;

static inline const char *precision_name(const job *j)
{
    return j->precision == KS_F64 ? "f64" : j->precision == KS_F32 ? "f32" : "mixed";
}

/* Return the bytes of a number of the model, of y and of means, and of a number of covariances. */
static inline size_t mean_number(const job *j)
{
    return j->precision == KS_F32 ? sizeof(float) : sizeof(double);
}

static inline size_t cov_number(const job *j)
{
    return j->precision == KS_F64 ? sizeof(double) : sizeof(float);
}

static inline void *owned(arrays *a, int64_t numbers, size_t number)
{
    void *memory = calloc((size_t)numbers, number);
    if (!memory) exit(1);
    a->owned[a->count++] = memory;
    a->bytes += (double)numbers * (double)number;
    return memory;
}

static inline void set(void *memory, const job *j, int64_t at, double value)
{
    if (j->precision == KS_F32) ((float *)memory)[at] = (float)value;
    else ((double *)memory)[at] = value;
}

/* Make (rows, columns) blocks with `diagonal` on the diagonal and small numbers off it. */
static inline ks_view blocks(arrays *a, const job *j, int64_t steps, int rows, int columns, double diagonal,
                      double beside)
{
    const int64_t block = (int64_t)rows * columns;
    const ks_view view = { owned(a, steps * block, mean_number(j)), steps > 1 ? block : 0, 0 };
    void *memory = a->owned[a->count - 1];
    for (int64_t k = 0; k < steps; ++k)
        for (int r = 0; r < rows; ++r)
            for (int c = 0; c < columns; ++c)
                set(memory, j, k * block + (int64_t)r * columns + c,
                    r == c ? diagonal : beside * (double)((k + r + c) % 7 - 3));
    return view;
}

static inline arrays make(const job *j, unsigned outputs)
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
    const ks_out mean = { owned(&a, T * n, mean_number(j)), n, T * n };
    const ks_out cov = { owned(&a, T * n * n, cov_number(j)), n * n, 0 };
    if (outputs & KS_OUT_SMOOTHED_MEAN) a.outputs.smoothed_mean = mean, a.outputs.smoothed_cov = cov;
    else a.outputs.filtered_mean = mean, a.outputs.filtered_cov = cov;
    static double loglik;
    a.outputs.loglik = (ks_out){ &loglik, 1, 1 };
    return a;
}

static inline int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Print the beginning of every line of a job. */
static inline void print_head(const job *j, const char *where)
{
    const char *scan = j->method == KS_METHOD_BLOCKTRI ? "none" : ks_scan_name(j->scan);
    printf("{\"job\": \"%s\", \"method\": \"%s\", \"scan\": \"%s\", \"backend\": \"%s\", "
           "\"precision\": \"%s\", \"threads\": 1, \"T\": %lld, \"nx\": %d, \"ny\": %d, "
           "\"where\": \"%s\", ", j->job == KS_JOB_SMOOTH ? "smooth" : "filter", ks_method_name(j->method),
           scan, strcmp(where, "cpu") ? "cuda" : "cpu", precision_name(j), (long long)j->T, j->nx, j->ny, where);
}

static inline void print(const job *j, const char *where, double *ns, int repeats, double floor_ns,
                         const char *more)
{
    const char *scan = j->method == KS_METHOD_BLOCKTRI ? "none" : ks_scan_name(j->scan);
    qsort(ns, (size_t)repeats, sizeof *ns, by_value);
    print_head(j, where);
    printf("\"repeats\": %d, \"median_ns\": %.0f, \"min_ns\": %.0f, \"max_ns\": %.0f, "
           "\"ns_per_step\": %.4g, \"floor_ns\": %.0f, \"of_floor\": %.3g%s}\n",
           repeats, ns[repeats / 2], ns[0], ns[repeats - 1], ns[repeats / 2] / (double)j->T, floor_ns,
           ns[repeats / 2] / floor_ns, more);
    fprintf(stderr, "%-16s %-15s %-5s T = %-9lld nx = %-3d %-10s %12.3f us  %8.2f x floor\n",
            ks_method_name(j->method), scan, precision_name(j), (long long)j->T, j->nx, where,
            ns[repeats / 2] * 1e-3, ns[repeats / 2] / floor_ns);
    fflush(stdout);
}

/* Repeat the last run `times` times between two events, by its graph or without one. *ns: nanoseconds of one run. */
static inline ks_status again(ks_scan_device *d, const ks_smooth_plan *plan, ks_gpu_event *const event[2],
                              int times, double *ns)
{
    double ms = 0;
    ks_status status = ks_gpu_event_record(d->gpu, event[0], d->stream);
    for (int i = 0; i < times && status == KS_OK; ++i)
        status = d->part[KS_RUN_WHOLE] ? ks_gpu_graph_launch(d->gpu, d->part[KS_RUN_WHOLE], d->stream)
                                       : ks_scan_device_enqueue(d, plan, KS_RUN_WHOLE);
    if (status == KS_OK) status = ks_gpu_event_record(d->gpu, event[1], d->stream);
    if (status == KS_OK) status = ks_gpu_stream_sync(d->gpu, d->stream);
    if (status == KS_OK) status = ks_gpu_event_elapsed(d->gpu, &ms, event[0], event[1]);
    *ns = ms * 1e6 / times;
    return status;
}

#endif
