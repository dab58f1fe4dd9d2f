/* device.c -- driver of hbisa.cu and hbisa_rows.cu. The kernel does a limited number of sweeps. Then the host computes
 * the true residual and judges as it does for its own sweeps. */
#include "device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Most sweeps of a launch. */
enum { SWEEPS = 1024 };
/* Alignment of the parts of the device allocation, in bytes. */
enum { ALIGNMENT = 256 };
/* Bytes of diagonal blocks that are copied at once. A block alone is much shorter than the time that a copy takes to
 * begin. */
enum { COPIED = 1 << 20 };

struct ks_gb_device {
    ks_gpu *gpu;
    ks_gpu_stream *stream;
    const ks_gpu_kernel *kernel;
    const ks_general_plan *plan;
    ks_gb_system system;
    ks_hbisa_args args;
    ks_hbisa_shape shape;
    char *memory;              /* device memory, one allocation */
    double *host;              /* 2 N n: x, and b - A x */
};

/* Rows of L + U. */
typedef struct rows {
    int32_t *start, *col;
    double *value;
} rows;

/* Count the entries of row r of the blocks beside the diagonal of block row j, and write them if `to` is given. */
static int64_t take_row(const ks_gb_device *d, const double *below, const double *above, int64_t j,
                        int r, rows *to, int64_t at)
{
    const int n = d->plan->n;
    for (int side = 0; side < 2; ++side) {
        const double *block = side ? above : below;
        const int64_t first = (side ? j + 1 : j - 1) * n;
        for (int c = 0; block && c < n; ++c) {
            if (block[r * n + c] == 0) continue;
            if (to) {
                to->col[at] = (int32_t)(first + c);
                to->value[at] = block[r * n + c];
            }
            ++at;
        }
    }
    return at;
}

/* Count the entries of all rows, and write them if `to` is given. scratch: 2 n n numbers. */
static int64_t take_rows(const ks_gb_device *d, const ks_general_matrix *m, rows *to, double *scratch)
{
    const int64_t N = d->plan->N, n = d->plan->n;
    int64_t at = 0;
    for (int64_t j = 0; j < N; ++j) {
        double *below = j > 0 ? scratch : NULL, *above = j + 1 < N ? scratch + n * n : NULL;
        if (below) ks_general_block_unpack((int)n, &m->L[j - 1], below);
        if (above) ks_general_block_unpack((int)n, &m->U[j], above);
        for (int r = 0; r < n; ++r) {
            if (to) to->start[j * n + r] = (int32_t)at;
            at = take_row(d, below, above, j, r, to, at);
        }
    }
    if (to) to->start[N * n] = (int32_t)at;
    return at;
}

static int longest(const ks_gb_device *d, const rows *r)
{
    int most = 0;
    for (int64_t i = 0; i < d->plan->N * d->plan->n; ++i)
        if (r->start[i + 1] - r->start[i] > most) most = r->start[i + 1] - r->start[i];
    return most;
}

/* Choose the shape, the one asked for or the one that should be fastest, and find its kernel. */
static ks_status choose_shape(ks_gb_device *d, const rows *r, const ks_hbisa_shape *asked)
{
    static const char *const kernels[KS_HBISA_FORMS][2] = {
        [KS_HBISA_LANES] = { "hbisa_rows", "ks_hbisa_lanes_f64" },
        [KS_HBISA_ROWS] = { "hbisa_rows", "ks_hbisa_rows_f64" },
        [KS_HBISA_RESIDENT] = { "hbisa", "ks_hbisa_f64" },
        [KS_HBISA_STREAMED] = { "hbisa", "ks_hbisa_f64" },
    };
    ks_hbisa_args *a = &d->args;
    const ks_hbisa_problem problem = { a->N, a->n, a->levels, a->colours, r->start, longest(d, r) };
    if (asked) d->shape = *asked;
    if (!(asked ? ks_hbisa_complete : ks_hbisa_choose)(&d->shape, &problem, &d->gpu->attributes)) return KS_EREFUSED;
    a->form = (int32_t)d->shape.form;
    a->sweeps = d->shape.sweeps;
    a->width = d->shape.width;
    a->beyond = d->shape.beyond;
    const char *const *name = kernels[d->shape.form];
    ks_status status = ks_gpu_find(d->gpu, &d->kernel, name[0], name[1]);
    int each = 0;
    if (status == KS_OK) status = ks_gpu_resident(d->gpu, &each, d->kernel, d->shape.threads, d->shape.shared);
    if (status != KS_OK) return status;
    return each > 0 ? KS_OK : KS_EREFUSED;
}

/* Return the next part of the device memory. Without memory, only count the bytes. */
static void *part(const ks_gb_device *d, size_t *used, size_t bytes)
{
    char *at = d->memory ? d->memory + *used : NULL;
    *used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return at;
}

static size_t carve(ks_gb_device *d, size_t entries)
{
    const size_t count = (size_t)d->plan->N * (size_t)d->plan->n;
    size_t used = 0;
    ks_hbisa_args *a = &d->args;
    a->factor = part(d, &used, (size_t)d->plan->numbers * 8);
    a->dia = part(d, &used, 24 * count);
    a->start = part(d, &used, 4 * (count + 1));
    a->col = part(d, &used, 4 * entries);
    a->value = part(d, &used, 8 * entries);
    a->b = part(d, &used, 8 * count);
    a->x = part(d, &used, 8 * count);
    a->y = part(d, &used, 8 * count);
    a->partial = part(d, &used, 32 * (size_t)d->shape.grid);
    a->report = part(d, &used, sizeof *a->report);
    return used;
}

static ks_status put(ks_gb_device *d, const void *to, const void *from, size_t bytes)
{
    return ks_gpu_copy_in(d->gpu, (void *)(uintptr_t)to, from, bytes, d->stream);
}

/* Copy the diagonal blocks, which may lie anywhere in host memory, many at once. */
static ks_status put_diagonal(ks_gb_device *d, const ks_general_matrix *m)
{
    ks_context *context = d->plan->context;
    const size_t numbers = 3 * (size_t)d->plan->n, block = numbers * sizeof(double);
    const int64_t N = d->plan->N, room = (int64_t)(COPIED / block), most = room < 1 ? 1 : room < N ? room : N;
    double *packed = ks_allocate(context, (size_t)most * block);
    ks_status status = packed ? KS_OK : KS_ENOMEM;
    for (int64_t j = 0; j < N && status == KS_OK; j += most) {
        const int64_t count = N - j < most ? N - j : most;
        for (int64_t i = 0; i < count; ++i) memcpy(packed + (size_t)i * numbers, m->D[j + i].values, block);
        status = put(d, d->args.dia + (size_t)j * numbers, packed, (size_t)count * block);
        /* Pinned memory may be read after the call. */
        const ks_status waited = ks_gpu_stream_sync(d->gpu, d->stream);
        if (status == KS_OK) status = waited;
    }
    ks_release(context, packed);
    return status;
}

/* Copy the matrix to the device. r: rows in host memory. */
static ks_status upload(ks_gb_device *d, const ks_general_matrix *m, const rows *r, int64_t entries,
                        const ks_hbisa_shape *asked)
{
    const size_t n = (size_t)d->plan->n, count = (size_t)d->plan->N * n;
    ks_status status = choose_shape(d, r, asked);
    if (status != KS_OK) return status;
    void *memory;
    status = ks_gpu_alloc(d->gpu, &memory, carve(d, (size_t)entries));
    if (status != KS_OK) return status;
    d->memory = memory;
    carve(d, (size_t)entries);
    status = put(d, d->args.factor, d->system.factor, (size_t)d->plan->numbers * 8);
    if (status == KS_OK) status = put_diagonal(d, m);
    if (status == KS_OK) status = put(d, d->args.start, r->start, 4 * (count + 1));
    if (status == KS_OK) status = put(d, d->args.col, r->col, 4 * (size_t)entries);
    if (status == KS_OK) status = put(d, d->args.value, r->value, 8 * (size_t)entries);
    const ks_status waited = ks_gpu_stream_sync(d->gpu, d->stream);
    return status == KS_OK ? waited : status;
}

static ks_status convert_and_upload(ks_gb_device *d, const ks_general_matrix *m, const ks_hbisa_shape *asked)
{
    ks_context *context = d->plan->context;
    const size_t n = (size_t)d->plan->n, count = (size_t)d->plan->N * n;
    double *scratch = ks_allocate(context, 2 * n * n * sizeof *scratch);
    if (!scratch) return KS_ENOMEM;
    const int64_t entries = take_rows(d, m, NULL, scratch);
    rows r = { ks_allocate(context, (count + 1) * sizeof *r.start),
               ks_allocate(context, (size_t)entries * sizeof *r.col),
               ks_allocate(context, (size_t)entries * sizeof *r.value) };
    ks_status status = r.start && r.col && r.value ? KS_OK : KS_ENOMEM;
    if (status == KS_OK && (entries > INT32_MAX || count > INT32_MAX)) status = KS_EREFUSED;
    if (status == KS_OK) {
        take_rows(d, m, &r, scratch);
        status = upload(d, m, &r, entries, asked);
    }
    ks_release(context, r.start);
    ks_release(context, r.col);
    ks_release(context, r.value);
    ks_release(context, scratch);
    return status;
}

static int fits(const ks_general_plan *plan, const ks_general_matrix *m, const void *factor)
{
    const ks_general_options *o = &plan->options;
    const int32_t *kind = (const void *)((const double *)factor + plan->numbers);
    if (o->method != KS_BLOCK_JACOBI && o->method != KS_RED_BLACK) return 0;
    if (o->relaxation != 1) return 0;
    for (int64_t j = 0; j < plan->N; ++j)
        if (m->D[j].format != KS_BLOCK_DIA || kind[j] != KS_GB_PCR) return 0;
    return 1;
}

ks_status ks_gb_device_create(ks_gb_device **out, ks_gpu *gpu, const ks_general_plan *plan,
                              const ks_general_matrix *matrix, const void *factor,
                              const ks_hbisa_shape *asked)
{
    const size_t count = (size_t)plan->N * (size_t)plan->n;
    *out = NULL;
    if (!fits(plan, matrix, factor)) return KS_EREFUSED;
    ks_gb_device *d = ks_allocate(plan->context, sizeof *d);
    if (!d) return KS_ENOMEM;
    *d = (ks_gb_device){ .gpu = gpu, .plan = plan };
    d->system = (ks_gb_system){ plan->N,   plan->n, matrix->D,    matrix->L,
                                matrix->U, factor,  plan->offset, NULL };
    d->args = (ks_hbisa_args){ .N = plan->N, .n = plan->n,
                               .colours = plan->options.method == KS_RED_BLACK ? 2 : 1,
                               .by_change = plan->options.stop == KS_STOP_CHANGE };
    for (int64_t s = 1; s < plan->n; s *= 2) ++d->args.levels;
    d->host = ks_allocate(plan->context, 2 * count * sizeof *d->host);
    ks_status status = d->host ? ks_gpu_stream_create(gpu, &d->stream) : KS_ENOMEM;
    if (status == KS_OK) status = convert_and_upload(d, matrix, asked);
    if (status != KS_OK) {
        ks_gb_device_destroy(d);
        return status;
    }
    *out = d;
    return KS_OK;
}

void ks_gb_device_destroy(ks_gb_device *d)
{
    if (!d) return;
    ks_gpu_free(d->gpu, d->memory);
    ks_gpu_stream_destroy(d->gpu, d->stream);
    ks_release(d->plan->context, d->host);
    ks_release(d->plan->context, d);
}

const ks_hbisa_shape *ks_gb_device_shape(const ks_gb_device *d) { return &d->shape; }

/* Launch, and wait for x and the kernel's report. */
static ks_status sweep(ks_gb_device *d, ks_hbisa_report *told)
{
    const size_t bytes = 8 * (size_t)d->plan->N * (size_t)d->plan->n;
    const ks_gpu_shape shape = {
        { (unsigned)d->shape.grid, 1, 1 }, { (unsigned)d->shape.threads, 1, 1 }, d->shape.shared, 1
    };
    ks_status status = ks_gpu_launch(d->gpu, d->kernel, &shape, &d->args, sizeof d->args, d->stream);
    if (status == KS_OK)
        status = ks_gpu_copy_out(d->gpu, told, d->args.report, sizeof *told, d->stream);
    if (status == KS_OK) status = ks_gpu_stream_sync(d->gpu, d->stream);
    if (status != KS_OK) return status;
    if (told->newest) {
        double *const newest = d->args.y;
        d->args.y = d->args.x;
        d->args.x = newest;
    }
    status = ks_gpu_copy_out(d->gpu, d->host, d->args.x, bytes, d->stream);
    return status == KS_OK ? ks_gpu_stream_sync(d->gpu, d->stream) : status;
}

static ks_status iterate(ks_gb_device *d, const double *b, double norm_b, int exponent,
                         ks_general_report *report)
{
    const ks_general_options *o = &d->plan->options;
    const int64_t N = d->plan->N;
    double *x = d->host, *r = d->host + N * d->plan->n;
    const double target = o->tolerance * norm_b;
    ks_gb_monitor monitor = { 0, 0, 0 };
    d->args.tolerance = d->args.by_change ? ldexp(o->tolerance, -exponent) : target * target;
    while (report->end == KS_END_NONE) {
        const int64_t left = o->max_iterations - report->iterations;
        ks_hbisa_report told = { 0, 0, 0, 0, 0 };
        d->args.max_iterations = left < SWEEPS ? (int32_t)left : SWEEPS;
        const ks_status status = sweep(d, &told);
        if (status != KS_OK) return status;
        report->iterations += told.iterations;
        report->change = told.change;
        report->residual = sqrt(d->plan->kernels->apply(&d->system, b, x, r, 0, N));
        report->relative_residual = report->residual / norm_b;
        const int done = d->args.by_change ? told.converged
                                           : report->relative_residual <= o->tolerance;
        /* The kernel's residual is of the previous x, and met the tolerance only by round-off. Ask for a smaller
         * one. */
        if (told.converged && !done) d->args.tolerance *= 0.25;
        if (done) report->end = KS_END_CONVERGED;
        else if (report->iterations >= o->max_iterations) report->end = KS_END_MAX_ITERATIONS;
        else report->end = ks_gb_judge(&monitor, KS_GB_PATIENCE(N), report->iterations, report->residual);
    }
    return report->end == KS_END_CONVERGED ? KS_OK : KS_ENOTCONVERGED;
}

ks_status ks_gb_device_solve(ks_gb_device *d, const double *b, int exponent, double *x,
                             ks_general_report *report)
{
    const int64_t count = d->plan->N * d->plan->n;
    const size_t bytes = 8 * (size_t)count;
    const double norm_b = sqrt(d->plan->kernels->dot(count, b, b));
    *report = (ks_general_report)KS_GENERAL_REPORT_INIT;
    ks_status status = KS_OK;
    if (norm_b == 0) {
        memset(d->host, 0, bytes);
        report->end = KS_END_CONVERGED;
        report->residual = report->relative_residual = 0;
    } else {
        status = put(d, d->args.b, b, bytes);
        if (status == KS_OK) status = ks_gpu_fill(d->gpu, d->args.x, 0, bytes, d->stream);
        if (status == KS_OK) status = iterate(d, b, norm_b, exponent, report);
    }
    if (status == KS_OK || status == KS_ENOTCONVERGED) {
        memcpy(x, d->host, bytes);
    } else {
        /* The copy of b may still be running. */
        const ks_status waited = ks_gpu_stream_sync(d->gpu, d->stream);
        status = status == KS_OK ? waited : status;
    }
    report->status = status;
    return status;
}
