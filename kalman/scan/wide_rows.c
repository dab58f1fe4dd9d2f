/* wide_rows.c -- widen rows of several steps from single precision to double. */
#include "wide_rows.h"

/* Bytes and steps that are widened together. They are read again at once, so they should still be in cache. */
enum { BYTES = 65536, MOST_STEPS = 32, LEAST_STEPS = 4 };

void ks_carve_wide_rows(ks_carver *carver, const ks_smooth_plan *plan, ks_wide_rows *w)
{
    int64_t numbers = (int64_t)plan->nx * (plan->nx + 1);
    w->steps = plan->T;
    if (plan->options.precision != KS_F32) return;
    for (int i = 0; i <= KS_ROW_Y; ++i) numbers += ks_row_numbers(plan->nx, plan->ny, i);
    const int64_t fit = BYTES / (numbers * (int64_t)sizeof(double));
    w->steps = fit > MOST_STEPS ? MOST_STEPS : fit < LEAST_STEPS ? LEAST_STEPS : fit;
    const size_t steps = (size_t)w->steps, n = (size_t)plan->nx;
    for (int i = 0; i <= KS_ROW_Y; ++i)
        w->row[i] = ks_carve(carver, steps * (size_t)ks_row_numbers(plan->nx, plan->ny, i), sizeof(double));
    w->kept.mean = ks_carve(carver, steps * n, sizeof(double));
    w->kept.cov = ks_carve(carver, steps * n * n, sizeof(double));
}

/** Widen rows k0 .. k1 - 1 of an array that varies to `to`. Row k of the result is that of step k. */
static ks_rows widened(const ks_scan_method *m, int array, ks_rows from, int64_t shift, int64_t k0, int64_t k1,
                       double *to)
{
    const int64_t numbers = ks_row_numbers(m->plan->nx, m->plan->ny, array);
    const ks_rows rows = { (const char *)to - k0 * numbers * (int64_t)sizeof(double),
                           numbers * (int64_t)sizeof(double) };
    for (int64_t k = k0; k < k1; ++k)
        m->plan->kernels->widen(numbers, ks_row(from, k - shift), to + (k - k0) * numbers);
    return rows;
}

const ks_series *ks_widen_steps(const ks_scan_method *m, ks_scan_worker *worker, ks_wide_rows *w, int64_t k0,
                                int64_t k1, int observed)
{
    const ks_series *s = &m->a.series;
    if (!m->a.single) return s;
    /* Rows that do not vary come from the last step, since under prior x1 no transition leads into step 0. */
    w->series = *ks_wide_series(&m->a, worker, k1 - 1);
    w->series.shift = 0;
    const int64_t first = k0 == 0 && s->prior_x1 ? 1 : k0;
#define WIDEN(array, name, from, shift)                                                     \
    if (s->name.stride) w->series.name = widened(m, array, s->name, shift, from, k1, w->row[array])
    WIDEN(KS_ROW_F, F, first, s->shift);
    WIDEN(KS_ROW_Q, Q, first, s->shift);
    WIDEN(KS_ROW_U, u, first, s->shift);
    if (!observed) return &w->series;
    WIDEN(KS_ROW_H, H, k0, 0);
    WIDEN(KS_ROW_R, R, k0, 0);
    WIDEN(KS_ROW_D, d, k0, 0);
    WIDEN(KS_ROW_Y, y, k0, 0);
#undef WIDEN
    return &w->series;
}

ks_forward_sinks ks_widen_kept(const ks_scan_method *m, const ks_wide_rows *w, int64_t k0, int64_t k1)
{
    const int64_t n = m->plan->nx, number = (int64_t)sizeof(double);
    ks_forward_sinks kept = { 0 };
    kept.form = m->form;
    kept.kept_mean = m->kept_mean;
    kept.kept_C = m->kept_C;
    if (!m->a.single) return kept;
    const ks_sink mean = { w->kept.mean, n * number, k0 }, C = { w->kept.cov, n * n * number, k0 };
    for (int64_t k = k0; k < k1; ++k) {
        m->plan->kernels->widen(n, ks_slot_of(m->kept_mean, k), ks_slot_of(mean, k));
        m->plan->kernels->widen(n * n, ks_slot_of(m->kept_C, k), ks_slot_of(C, k));
    }
    kept.kept_mean = mean;
    kept.kept_C = C;
    kept.narrowed = 1;
    return kept;
}
