/* smooth_series.h -- a model and data whose rows recur, for benchmarks of long series. The host's arrays are made once
 * for a size and serve every method. Those of a device are made there, from the first rows. */
#ifndef SMOOTH_SERIES_H
#define SMOOTH_SERIES_H

#include <stdlib.h>
#include <unistd.h>
#include "smooth_job.h"

/* Rows after which a series recurs; arrays of a model and its data; of these, arrays that vary: all but the last
 * two. */
enum { PERIOD = 7, ROWS = 9, VARYING = 7 };

/* Rows (rows, columns) of an array: `diagonal` on the diagonal, small numbers off it. */
typedef struct recurring {
    int rows, columns;
    double diagonal, beside;
} recurring;

/* F, Q, u, H, R, d, y, m0, P0 in this order. */
static inline void recurring_rows(const job *j, recurring all[ROWS])
{
    const int n = j->nx, m = j->ny;
    const recurring of[ROWS] = {
        { n, n, 0.95, 0.1 / n }, { n, n, 0.1, 0 }, { 1, n, 0.1, 0.1 }, { m, n, 1, 0.1 }, { m, m, 0.5, 0 },
        { 1, m, 0, 0.1 },        { 1, m, 1, 1 },   { 1, n, 0, 0 },     { n, n, 1, 0 },
    };
    memcpy(all, of, sizeof of);
}

static inline size_t row_bytes(const job *j, const recurring *r)
{
    return (size_t)r->rows * (size_t)r->columns * mean_number(j);
}

/* Write row k of an array. */
static inline void write_row(const job *j, const recurring *r, int64_t k, void *memory, int64_t at)
{
    for (int a = 0; a < r->rows; ++a)
        for (int b = 0; b < r->columns; ++b)
            set(memory, j, at + (int64_t)a * r->columns + b,
                a == b ? r->diagonal : r->beside * (double)((k + a + b) % PERIOD - PERIOD / 2));
}

/* Return the bytes of model, data and results, each touched once. held: the model is constant. */
static inline double touched(const job *j, int held)
{
    recurring all[ROWS];
    double bytes = 0;
    recurring_rows(j, all);
    for (int i = 0; i < ROWS; ++i)
        bytes += (double)row_bytes(j, &all[i]) * (i < VARYING && (!held || i == VARYING - 1) ? (double)j->T : 1);
    return bytes + (double)j->T * j->nx * ((double)mean_number(j) + j->nx * (double)cov_number(j));
}

/* The host's arrays for steps of a size, in one precision. */
typedef struct host_series {
    int nx, ny;
    int64_t steps;
    double bytes; /* of all of them */
    void *row[ROWS], *mean, *cov;
} host_series;

static inline void host_free(host_series *s)
{
    for (int i = 0; i < ROWS; ++i) free(s->row[i]);
    free(s->mean);
    free(s->cov);
    memset(s, 0, sizeof *s);
}

/* Return the bytes to make before `s` has the steps of a job; 0 if it has them. */
static inline double host_bytes(const host_series *s, const job *j)
{
    return s->nx == j->nx && s->ny == j->ny && s->steps >= j->T ? 0 : touched(j, 0);
}

/* Return the bytes of host memory to use: three quarters of the machine's, or of what a container may have. On a machine
 * whose memory grows as it is used, the environment variable KALSCAN_HOST_BYTES says how much there may be. */
static inline double host_room(void)
{
    const char *const told = getenv("KALSCAN_HOST_BYTES");
    double bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE), most = 0;
    FILE *const limit = told ? NULL : fopen("/sys/fs/cgroup/memory.max", "r");
    if (told) bytes = strtod(told, NULL);
    else if (limit && fscanf(limit, "%lf", &most) == 1 && most < bytes) bytes = most; /* "max": no limit */
    if (limit) fclose(limit);
    return 0.75 * bytes;
}

/* Complete `count` rows, of which the first period is there, by copies that stay in a cache. */
static inline void recur(char *memory, size_t row, int64_t count)
{
    const size_t all = row * (size_t)count, period = row * PERIOD;
    const size_t most = period > 1 << 18 ? period : ((size_t)1 << 18) / period * period;
    for (size_t there = period; there < all;) {
        const size_t more = there < most ? there : most, left = all - there;
        memcpy(memory + there, memory, more < left ? more : left);
        there += more < left ? more : left;
    }
}

/* Make the steps of a job, with all pages touched. KS_ENOMEM leaves nothing allocated. */
static inline ks_status host_make(host_series *s, const job *j)
{
    recurring all[ROWS];
    if (host_bytes(s, j) == 0) return KS_OK;
    host_free(s);
    recurring_rows(j, all);
    const size_t means = (size_t)j->T * (size_t)j->nx * mean_number(j), covs = means * (size_t)j->nx;
    s->mean = malloc(means);
    s->cov = malloc(covs);
    int whole = s->mean && s->cov;
    for (int i = 0; i < ROWS; ++i) {
        const int64_t steps = i < VARYING ? j->T : 1, first = steps < PERIOD ? steps : PERIOD;
        s->row[i] = malloc((size_t)steps * row_bytes(j, &all[i]));
        whole = whole && s->row[i];
        for (int64_t k = 0; k < first && whole; ++k)
            write_row(j, &all[i], k, s->row[i], k * all[i].rows * all[i].columns);
        if (whole) recur(s->row[i], row_bytes(j, &all[i]), steps);
    }
    if (!whole) {
        host_free(s);
        return KS_ENOMEM;
    }
    memset(s->mean, 0, means);
    memset(s->cov, 0, covs);
    s->nx = j->nx;
    s->ny = j->ny;
    s->steps = j->T;
    s->bytes = touched(j, 0);
    return KS_OK;
}

/* Set the arguments of a run from these arrays. held: the model's first rows at every step. */
static inline void host_views(const host_series *s, const job *j, int held, double *loglik, ks_model *model,
                              ks_view *y, ks_outputs *outputs)
{
    ks_view views[ROWS];
    recurring all[ROWS];
    recurring_rows(j, all);
    for (int i = 0; i < ROWS; ++i) {
        const int varies = i < VARYING && (!held || i == VARYING - 1);
        views[i] = (ks_view){ s->row[i], varies ? (int64_t)all[i].rows * all[i].columns : 0, 0 };
    }
    *model = (ks_model)KS_MODEL_INIT;
    model->F = views[0], model->Q = views[1], model->u = views[2], model->H = views[3], model->R = views[4];
    model->d = views[5], model->m0 = views[7], model->P0 = views[8];
    *y = views[6];
    const ks_out mean = { s->mean, j->nx, j->T * j->nx };
    const ks_out cov = { s->cov, (int64_t)j->nx * j->nx, 0 };
    *outputs = (ks_outputs)KS_OUTPUTS_INIT;
    if (j->job == KS_JOB_SMOOTH) outputs->smoothed_mean = mean, outputs->smoothed_cov = cov;
    else outputs->filtered_mean = mean, outputs->filtered_cov = cov;
    outputs->loglik = (ks_out){ loglik, 1, 1 };
}

/* Make rows of a plan's own array, one or all: the first period is copied from the host, the others on the device. */
static inline ks_status device_rows(ks_scan_device *d, const job *j, const recurring *r, int64_t count, void *to)
{
    const int64_t first = count < PERIOD ? count : PERIOD;
    const size_t row = row_bytes(j, r), all = row * (size_t)count;
    void *const rows = malloc(row * (size_t)first);
    if (!rows) return KS_ENOMEM;
    for (int64_t k = 0; k < first; ++k) write_row(j, r, k, rows, k * r->rows * r->columns);
    ks_status status = ks_gpu_copy_in(d->gpu, to, rows, row * (size_t)first, d->stream);
    for (size_t there = row * (size_t)first; there < all && status == KS_OK;) {
        const size_t more = there < all - there ? there : all - there;
        status = ks_gpu_copy(d->gpu, (char *)to + there, to, more, d->stream);
        there += more;
    }
    const ks_status waited = ks_gpu_stream_sync(d->gpu, d->stream);
    free(rows);
    return status != KS_OK ? status : waited;
}

/* Make the series of a job in the plan's device memory. */
static inline ks_status device_make(ks_scan_device *d, const job *j, int held)
{
    ks_series *const s = &d->a.series;
    ks_rows *const rows[VARYING] = { &s->F, &s->Q, &s->u, &s->H, &s->R, &s->d, &s->y };
    const void *const single[] = { s->m0, s->P0 };
    recurring all[ROWS];
    ks_status status = KS_OK;
    recurring_rows(j, all);
    s->prior_x1 = 0;
    s->shift = 0;
    for (int i = 0; i < ROWS && status == KS_OK; ++i) {
        const int varies = i < VARYING && (!held || i == VARYING - 1);
        const void *const to = i < VARYING ? rows[i]->base : single[i - VARYING];
        if (i < VARYING) rows[i]->stride = varies ? (int64_t)row_bytes(j, &all[i]) : 0;
        status = device_rows(d, j, &all[i], varies ? j->T : 1, (void *)(uintptr_t)to);
    }
    return status;
}

#endif
