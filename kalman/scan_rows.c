/* scan_rows.c -- rows of models in double for the scans, and rows of results back. */
#include <math.h>
#include <string.h>
#include "scan_method.h"

enum { ROW_F, ROW_Q, ROW_U, ROW_H, ROW_R, ROW_D, ROW_Y, ROW_M0, ROW_P0, ROWS };

static int64_t row_numbers(const ks_smooth_plan *plan, int row)
{
    const int64_t nx = plan->nx, ny = plan->ny;
    switch (row) {
    case ROW_F: case ROW_Q: case ROW_P0: return nx * nx;
    case ROW_H: return ny * nx;
    case ROW_R: return ny * ny;
    case ROW_D: case ROW_Y: return ny;
    default: return nx;
    }
}

/* Results of one step: predicted mean and covariance, innovation, its covariance, whitened. */
static int64_t output_numbers(const ks_smooth_plan *plan, int output)
{
    const int64_t nx = plan->nx, ny = plan->ny;
    const int64_t numbers[6] = { nx, nx * nx, ny, ny * ny, ny, nx * nx };
    return numbers[output];
}

void ks_carve_scan_worker(ks_carver *carver, const ks_smooth_plan *plan, ks_scan_worker *w)
{
    const size_t n = (size_t)plan->nx;
    memset(w, 0, sizeof *w);
    w->scratch = ks_carve(carver, 1, plan->aggregates->scratch_bytes(plan->nx, plan->ny));
    w->state.mean = ks_carve(carver, n, sizeof(double));
    w->state.cov = ks_carve(carver, n * n, sizeof(double));
    w->results.mean = ks_carve(carver, n, sizeof(double));
    w->results.cov = ks_carve(carver, n * n, sizeof(double));
    for (int i = 0; i < 6; ++i)
        w->outputs[i] = ks_carve(carver, (size_t)output_numbers(plan, i), sizeof(double));
    if (plan->options.precision == KS_F64) return;
    for (int i = 0; i < ROWS; ++i)
        w->rows[i] = ks_carve(carver, (size_t)row_numbers(plan, i), sizeof(double));
}

/** Widen row k into w->rows[i]; a row that never changes, once for each series. */
static ks_rows widen_row(const ks_scan_method *m, ks_scan_worker *w, int i, ks_rows from, int64_t k,
                         int first_time)
{
    const ks_rows rows = { (const char *)w->rows[i], 0 };
    if (from.base && (from.stride || first_time))
        m->plan->kernels->widen(row_numbers(m->plan, i), ks_row(from, k), w->rows[i]);
    return rows;
}

const ks_series *ks_wide_series(const ks_scan_method *m, ks_scan_worker *w, int64_t k)
{
    if (m->plan->options.precision == KS_F64) return &m->series;
    const ks_series *s = &m->series;
    const int first_time = w->wide.nx == 0;
    const int transition = k > 0 || !s->prior_x1;
    const ks_rows m0 = { s->m0, 0 }, P0 = { s->P0, 0 };
    const ks_rows none = { NULL, 0 };
    ks_series *wide = &w->wide;
    /* Under prior x1 there is no row that leads into step 0. */
    const int fresh = first_time || (!transition ? 0 : wide->shift);
    wide->F = widen_row(m, w, ROW_F, transition ? s->F : none, k - s->shift, fresh);
    wide->Q = widen_row(m, w, ROW_Q, transition ? s->Q : none, k - s->shift, fresh);
    wide->u = widen_row(m, w, ROW_U, transition ? s->u : none, k - s->shift, fresh);
    wide->H = widen_row(m, w, ROW_H, s->H, k, first_time);
    wide->R = widen_row(m, w, ROW_R, s->R, k, first_time);
    wide->d = widen_row(m, w, ROW_D, s->d, k, first_time);
    wide->y = widen_row(m, w, ROW_Y, s->y, k, first_time);
    wide->m0 = widen_row(m, w, ROW_M0, m0, 0, first_time).base;
    wide->P0 = widen_row(m, w, ROW_P0, P0, 0, first_time).base;
    /* All strides are zero, so the shift is free to remember that no transition has been read. */
    wide->shift = first_time ? !transition : transition ? 0 : wide->shift;
    wide->nx = s->nx;
    wide->ny = s->ny;
    wide->prior_x1 = s->prior_x1;
    wide->steps = s->steps;
    return wide;
}

int ks_fits(const ks_scan_method *m, ks_scan_worker *w, ks_estimates estimates, int64_t k)
{
    const int nx = m->plan->nx;
    const double *x = (const double *)estimates.mean + k * nx;
    const double *P = (const double *)estimates.cov + k * nx * nx;
    const double largest = m->plan->kernels->largest;
    int fits = m->plan->aggregates->not_finite(nx, k, k + 1, ks_wide_mean(m, estimates, 0),
                                               ks_wide_cov(m, estimates, 0)) < 0;
    /* What is finite in double may not be so in the plan's precision. */
    for (int i = 0; i < nx; ++i)
        fits = fits && fabs(x[i]) <= largest && fabs(P[i * nx + i]) <= largest;
    if (fits) return 1;
    w->tally.bad_step = k;
    w->tally.bad_array = KS_ARRAY_ESTIMATE;
    w->tally.fault = KS_FAULT_NOT_FINITE;
    return 0;
}

void ks_put(const ks_scan_method *m, ks_sink to, int64_t k, int64_t numbers, const double *from)
{
    if (to.base) m->plan->kernels->narrow(numbers, from, ks_slot_of(to, k));
}

void ks_put_cov(const ks_scan_method *m, ks_sink full, ks_sink diagonal, int64_t k,
                const double *cov)
{
    const int64_t n = m->plan->nx, bytes = (int64_t)m->plan->kernels->number_bytes;
    ks_put(m, full, k, n * n, cov);
    if (!diagonal.base) return;
    for (int64_t i = 0; i < n; ++i)
        m->plan->kernels->narrow(1, cov + i * n + i, (char *)ks_slot_of(diagonal, k) + i * bytes);
}

ks_sink ks_wide_mean(const ks_scan_method *m, ks_estimates estimates, int64_t first)
{
    ks_sink sink = { estimates.mean, m->plan->nx * (int64_t)sizeof(double), first };
    return sink;
}

ks_sink ks_wide_cov(const ks_scan_method *m, ks_estimates estimates, int64_t first)
{
    const int64_t n = m->plan->nx;
    ks_sink sink = { estimates.cov, n * n * (int64_t)sizeof(double), first };
    return sink;
}

ks_sink ks_element_sink(const ks_scan_method *m, size_t element_bytes)
{
    ks_sink sink = { m->elements, (int64_t)element_bytes, 0 };
    return sink;
}
