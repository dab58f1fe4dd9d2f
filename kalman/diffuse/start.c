/* start.c -- the start of a series: its arrays in double, and the directions of its infinite prior. */
#include "start.h"
#include "dense.h"

#include "num_f64.h"
#undef KS_GEMM
#include "array_text.h"
#include "num_end.h"

static double entry(const void *data, size_t bytes, int64_t i)
{
    return bytes == sizeof(double) ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

void ks_start_read(const ks_start *start, ks_rows from, int64_t k, int rows, int columns, double *to, int apart)
{
    const void *block = ks_row(from, k);
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j)
            to[(size_t)i * (size_t)apart + (size_t)j] = entry(block, start->bytes, (int64_t)i * columns + j);
}

void ks_start_put(ks_sink sink, int64_t k, size_t bytes, int64_t count, const double *from)
{
    if (!sink.base) return;
    void *to = ks_slot_of(sink, k);
    for (int64_t i = 0; i < count; ++i) {
        if (bytes == sizeof(double)) ((double *)to)[i] = from[i];
        else ((float *)to)[i] = (float)from[i];
    }
}

void ks_start_transition(const ks_start *start, int64_t k, double *F)
{
    const int n = start->n;
    if (ks_start_stays(start, k)) ks_identity_f64(n, F);
    else ks_start_read(start, start->series.F, k - start->series.shift, n, n, F, n);
}

static void carve(ks_carver *carver, ks_start *start)
{
    const size_t n = (size_t)start->n, m = (size_t)start->m, one = sizeof(double);
    start->A = ks_carve(carver, n * n, one);
    start->centre = ks_carve(carver, n, one);
    start->width = ks_carve(carver, n, one);
    start->move = ks_carve(carver, 2 * n * n + n + m, one);
    start->look = ks_carve(carver, m * n + n, one);
}

/* Leave out the directions of x[-1] that no transition brings to x[0]. */
static ks_status leave_lost(ks_start *start)
{
    const int n = start->n, d = start->d;
    ks_unknown unknown;
    ks_carver memory;
    if (!ks_unknown_make(&unknown, start, &memory)) return KS_ENOMEM;
    ks_unknown_start(&unknown, start);
    ks_start_transition(start, 0, start->move);
    for (int i = 0; i < n; ++i) ks_unknown_tell(&unknown, start->move + i * n);
    const int q = unknown.q, kept = d - q;
    for (int i = 0; q > 0 && i < n; ++i) {
        double *row = start->look;
        for (int c = 0; c < kept; ++c) row[c] = ks_dot(d, start->A + i * d, unknown.U + (q + c) * d);
        /* Rows move up: no row is read after it has been overwritten. */
        ks_copy_f64(kept, row, start->A + i * kept);
    }
    start->d = kept;
    ks_start_release(start->plan->context, &memory);
    return KS_OK;
}

/* Smallest share of a variance of P0_inf that makes a direction of its own. */
#define LEAST_SHARE 0x1p-20

/* A root of P0_inf without its columns of zeros. */
static void find_directions(ks_start *start, ks_rows P0_inf)
{
    const int n = start->n;
    double *root = start->A, *whole = start->move, *scratch = whole + n * n;
    ks_start_read(start, P0_inf, 0, n, n, whole, n);
    const int rank = ks_pivoted_factor_f64(n, whole, root, scratch);
    const double *used = scratch + n * n;
    int d = rank;
    /* What a covariance of less rank has left of a variance is the round-off of whoever made it. */
    for (int i = 0; i < n; ++i) {
        const int c = (int)used[i] - 1;
        if (c >= 0 && c < d && root[i * n + c] * root[i * n + c] < LEAST_SHARE * whole[i * n + i]) d = c;
    }
    start->d = d;
    for (int i = 0; i < n; ++i)
        for (int c = 0; c < d; ++c) root[i * d + c] = root[i * n + c];
}

ks_status ks_start_make(ks_start *start, const ks_plan_run *run, ks_view P0_inf, int64_t b)
{
    const ks_smooth_plan *plan = run->plan;
    const ks_start empty = { .plan = plan, .number = b, .bytes = plan->mean_bytes, .n = plan->nx, .m = plan->ny };
    *start = empty;
    ks_series_of(run, b, &start->series);
    /* Numbers of the model may themselves be rounded to single precision. */
    start->tiny = plan->mean_bytes == sizeof(double) ? 0x1p-33 : 0x1p-17;
    start->grain = plan->mean_bytes == sizeof(double) ? 0x1p-46 : 0x1p-20;
    ks_carver measure = ks_carver_at(NULL);
    carve(&measure, start);
    if (!ks_start_allocate(plan->context, &measure, &start->memory)) return KS_ENOMEM;
    carve(&start->memory, start);
    find_directions(start, ks_rows_at(P0_inf, b, start->bytes));
    const int whole = ks_makes_any(plan, KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV);
    const ks_status status = start->series.prior_x1 || whole || start->d == 0 ? KS_OK : leave_lost(start);
    start->N = start->n + start->d;
    for (int c = 0; c < start->d; ++c) {
        start->centre[c] = 0;
        start->width[c] = 1;
    }
    return status;
}

void ks_start_free(ks_start *start)
{
    if (start->plan) ks_start_release(start->plan->context, &start->memory);
}
