/* gradient_series.c -- the passes of the gradient over one series.
 *
 * The filter keeps its state before each of about sqrt(T) segments. Each segment is filtered again, the last one first,
 * and then taken back.
 *
 * With a diffuse prior x = m0 + A delta + w, w ~ N(0, P0), delta flat, log p(y) is a quadratic function of delta, whose
 * coefficients a pass before these finds. delta is then set to where it is largest, in m0, and A gets a basis in which
 * delta has the covariance I given y. A share of A A' in P0, about as large as what y leaves open of delta, changes
 * nothing, since delta is flat. It keeps innovation covariances regular where observations have no noise, and the
 * quadratic function well conditioned: its inverse is that share and what y leaves open. */
#include "gradient_series.h"

#include <math.h>
#include <string.h>

/* Least pivot of the correlation of directions. With a share in P0 that suits none is small. */
#define LEAST_PIVOT 0x1p-20
/* Least share of a direction beside the largest mean. Where observations have no noise, what is left of an innovation
 * at the likeliest directions is round-off of a mean: so small a part of its standard deviation that it does not count. */
#define LEAST_WIDTH 0x1p-33

void ks_gradient_memory_carve(ks_carver *carver, const ks_smooth_plan *plan, ks_gradient_memory *m)
{
    const size_t nx = (size_t)plan->nx, ny = (size_t)plan->ny, square = nx * nx * sizeof(double);
    memset(m, 0, sizeof *m);
    ks_checkpoints_carve(carver, nx, plan->T, &m->checkpoints);
    const size_t length = (size_t)m->checkpoints.length, segments = ((size_t)plan->T + length - 1) / length;
    m->state = ks_carve_doubles(carver, nx, 1);
    m->before = ks_carve_doubles(carver, nx, 1);
    m->predicted = ks_carve_doubles(carver, nx, m->checkpoints.length);
    m->filtered = ks_carve_doubles(carver, nx, m->checkpoints.length);
    m->back.r = ks_carve(carver, nx, sizeof(double));
    m->back.N = ks_carve(carver, 1, square);
    m->back.columns = ks_carve(carver, 1, square);
    m->work = ks_carve(carver, ks_gradient_work(nx, ny), sizeof(double));
    m->scratch = ks_carve(carver, 1, plan->aggregates->scratch_bytes(plan->nx, plan->ny));
    m->m0 = ks_carve(carver, nx, sizeof(double));
    m->P0 = ks_carve(carver, 1, square);
    m->A = ks_carve(carver, 1, square);
    m->X = ks_carve(carver, 1, square);
    m->predicted_columns = ks_carve(carver, length, square);
    m->filtered_columns = ks_carve(carver, length, square);
    m->column_checkpoints = ks_carve(carver, segments, square);
    m->basis = ks_carve(carver, 1, square);
    m->told.J = ks_carve(carver, 1, square);
    m->told.b = ks_carve(carver, nx, sizeof(double));
    m->told.v = ks_carve(carver, nx, ny * sizeof(double));
}

/** Set the rows of a segment that begins with step k, and return where the filter keeps its estimates. */
static ks_forward_sinks rows_from(const ks_plan_run *run, const ks_gradient_memory *m, int64_t k, ks_gradient_rows *rows)
{
    const ks_smooth_plan *plan = run->plan;
    const int64_t n = plan->nx, line = n * (int64_t)sizeof(double);
    ks_forward_sinks to = { 0 };
    to.predicted_mean = rows->predicted_mean = (ks_sink){ m->predicted.mean, line, k };
    to.predicted_cov = rows->predicted_cov = (ks_sink){ m->predicted.cov, n * line, k };
    to.filtered_mean = rows->filtered_mean = (ks_sink){ m->filtered.mean, line, k };
    to.filtered_cov = rows->filtered_cov = (ks_sink){ m->filtered.cov, n * line, k };
    to.exact = ks_tiled_exact(ks_tiled_kernels_of(plan->aggregates), plan->nx, plan->ny);
    return to;
}

/** Filter the series, with checkpoints, and its columns X from `rows`, if it has any, with what is told of them. */
static int filter(ks_plan_run *run, ks_gradient_memory *m, ks_gradient_rows *rows, int columns, ks_tally *tally)
{
    const ks_smooth_plan *plan = run->plan;
    const ks_kernels *kernels = plan->aggregates;
    const size_t nx = (size_t)plan->nx, numbers = nx * (size_t)rows->columns;
    ks_state state = { m->state.mean, m->state.cov, KS_FORM_ORDINARY, KS_NOT_STEADY };
    kernels->start(rows->series, &state, m->scratch);
    for (int64_t i = 0, k = 0; k < plan->T; k = ks_segment_end(&m->checkpoints, i++, plan->T)) {
        const int64_t end = ks_segment_end(&m->checkpoints, i, plan->T);
        const ks_forward_sinks kept = rows_from(run, m, k, rows), nowhere = { .exact = kept.exact };
        ks_checkpoint_keep(&m->checkpoints, nx, i, &state);
        if (kernels->filter(rows->series, k, end, &state, columns ? &kept : &nowhere, m->scratch, tally)) return -1;
        if (columns) {
            memcpy(m->column_checkpoints + (size_t)i * nx * nx, m->X, numbers * sizeof(double));
            if (ks_gradient_kernels_of(plan->options.tier)->forward(rows, k, end, m->X, &m->told, m->work, tally))
                return -1;
        }
        if (ks_run_progress(run, columns ? 0 : end - k)) return -1;
    }
    return 0;
}

/** Take segment i back. */
static int back(ks_plan_run *run, ks_gradient_memory *m, int64_t i, ks_gradient_rows *rows, ks_tally *tally)
{
    const ks_smooth_plan *plan = run->plan;
    const ks_gradient_kernels *kernels = ks_gradient_kernels_of(plan->options.tier);
    const size_t nx = (size_t)plan->nx, numbers = nx * (size_t)rows->columns;
    const int64_t k0 = i * m->checkpoints.length, k1 = ks_segment_end(&m->checkpoints, i, plan->T);
    const int64_t line = (int64_t)(numbers * sizeof(double));
    const ks_forward_sinks kept = rows_from(run, m, k0, rows);
    ks_state state = { m->before.mean, m->before.cov, KS_FORM_ORDINARY, KS_NOT_STEADY };
    ks_tally again = ks_tally_start();
    ks_checkpoint_restore(&m->checkpoints, nx, i, &state);
    if (plan->aggregates->filter(rows->series, k0, k1, &state, &kept, m->scratch, &again)) {
        tally->bad_step = again.bad_step;
        tally->bad_row = again.bad_row;
        tally->bad_array = again.bad_array;
        tally->fault = again.fault;
        return -1;
    }
    ks_checkpoint_restore(&m->checkpoints, nx, i, &state);
    plan->aggregates->square(plan->nx, &state, m->scratch);
    rows->mean_before = k0 > 0 ? state.x : rows->series->m0;
    rows->cov_before = k0 > 0 ? state.C : rows->series->P0;
    rows->columns_before = m->column_checkpoints + (size_t)i * nx * nx;
    if (rows->columns > 0) {
        ks_gradient_told nothing = { NULL, NULL, m->told.v };
        rows->predicted_columns = (ks_sink){ (char *)m->predicted_columns, line, k0 };
        rows->filtered_columns = (ks_sink){ (char *)m->filtered_columns, line, k0 };
        memcpy(m->X, rows->columns_before, numbers * sizeof(double));
        if (kernels->forward(rows, k0, k1, m->X, &nothing, m->work, tally)) return -1;
    }
    if (kernels->back(rows, k0, k1, &m->back, m->work, tally)) return -1;
    return ks_run_progress(run, k1 - k0) ? -1 : 0;
}

/** Replace the columns by those of a basis in which they are independent of variance 1 given y, and the prior mean by
 *  that of the likeliest ones. Half of the log-determinant of their covariance is added to *half. Returns 0 if y does
 *  not tell them. */
static int settle(const ks_smooth_plan *plan, ks_gradient_memory *m, int d, double *half)
{
    const size_t nx = (size_t)plan->nx;
    double *J = m->told.J, *b = m->told.b, *C = m->basis, *scale = m->work;
    for (int c = 0; c < d; ++c) {
        if (!(J[c * d + c] > 0)) return 0;
        scale[c] = 1 / sqrt(J[c * d + c]);
    }
    /* J = D L L' D, so that its inverse is C C' with C = D^-1 L^-T. */
    for (int c = 0; c < d; ++c)
        for (int e = 0; e <= c; ++e) {
            double sum = J[c * d + e] * scale[c] * scale[e];
            for (int l = 0; l < e; ++l) sum -= J[c * d + l] * J[e * d + l];
            if (c == e && !(sum > LEAST_PIVOT)) return 0;
            J[c * d + e] = c == e ? sqrt(sum) : sum / J[e * d + e];
        }
    for (int c = 0; c < d; ++c) *half += log(scale[c]) - log(J[c * d + c]);
    for (int c = 0; c < d; ++c)
        for (int i = d - 1; i >= 0; --i) {
            double sum = i == c;
            for (int l = i + 1; l < d; ++l) sum -= J[l * d + i] * C[l * d + c];
            C[i * d + c] = sum / J[i * d + i];
        }
    for (int i = 0; i < d; ++i)
        for (int c = 0; c < d; ++c) C[i * d + c] *= scale[i];
    for (int c = 0; c < d; ++c) {
        double sum = 0;
        for (int i = 0; i < d; ++i) sum -= C[i * d + c] * b[i];
        for (int i = 0; i < d; ++i)
            for (size_t l = 0; l < nx; ++l) m->m0[l] += m->A[l * (size_t)d + (size_t)i] * C[i * d + c] * sum;
    }
    for (int64_t at = 0, i = 0; at < plan->T; at = ks_segment_end(&m->checkpoints, i++, plan->T)) {
        double *X = m->column_checkpoints + (size_t)i * nx * nx;
        for (size_t l = 0; l < nx; ++l)
            for (int c = 0; c < d; ++c) {
                double sum = 0;
                for (int e = 0; e < d; ++e) sum += X[(size_t)e * nx + l] * C[e * d + c];
                m->X[(size_t)c * nx + l] = sum;
            }
        memcpy(X, m->X, nx * (size_t)d * sizeof(double));
    }
    return 1;
}

/** Find what y tells of the directions: the series s gets a prior of its own. */
static int find_directions(ks_plan_run *run, ks_gradient_memory *m, ks_series *s, ks_gradient_rows *rows,
                           const ks_directions *of, double *half, ks_tally *tally)
{
    const int n = s->nx, d = of->count;
    double largest = 0;
    memcpy(m->m0, s->m0, (size_t)n * sizeof(double));
    memcpy(m->P0, s->P0, (size_t)(n * n) * sizeof(double));
    *half = 0;
    for (int i = 0; i < n; ++i) {
        for (int c = 0; c < d; ++c) m->m0[i] += of->A[i * d + c] * of->centre[c];
        largest = fmax(largest, fabs(m->m0[i]));
    }
    for (int c = 0; c < d; ++c) {
        double size = 0;
        for (int i = 0; i < n; ++i) size = fmax(size, fabs(of->A[i * d + c]));
        const double width = fmax(of->width[c], LEAST_WIDTH * largest / size);
        for (int i = 0; i < n; ++i) m->A[i * d + c] = m->X[c * n + i] = of->A[i * d + c] * width;
        *half += log(width);
    }
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
            for (int c = 0; c < d; ++c) m->P0[i * n + j] += m->A[i * d + c] * m->A[j * d + c];
    s->m0 = m->m0;
    s->P0 = m->P0;
    memset(m->told.J, 0, (size_t)(d * d) * sizeof(double));
    memset(m->told.b, 0, (size_t)d * sizeof(double));
    if (filter(run, m, rows, 1, tally)) return -1;
    if (settle(run->plan, m, d, half)) return 0;
    tally->bad_step = 0;
    tally->bad_row = 0;
    tally->bad_array = KS_ARRAY_P0;
    tally->fault = KS_FAULT_ILL_CONDITIONED;
    return -1;
}

int ks_gradient_series(ks_plan_run *run, ks_gradient_memory *m, const ks_series *series,
                       const ks_directions *directions, const ks_sink *to, double *loglik, ks_tally *tally)
{
    const ks_smooth_plan *plan = run->plan;
    const size_t n = (size_t)plan->nx;
    ks_series s = *series;
    ks_gradient_rows rows = { .series = &s, .columns = directions->count };
    ks_tally first = ks_tally_start();
    double half = 0;
    memcpy(rows.to, to, sizeof rows.to);
    if (directions->count > 0 && find_directions(run, m, &s, &rows, directions, &half, &first)) {
        *tally = first;
        return -1;
    }
    if (filter(run, m, &rows, 0, tally)) return -1;
    *loglik = ks_evidence_loglik(&tally->evidence) + half + 0.0;
    memset(m->back.r, 0, n * sizeof(double));
    memset(m->back.N, 0, n * n * sizeof(double));
    memset(m->back.columns, 0, n * n * sizeof(double));
    for (int64_t i = (plan->T - 1) / m->checkpoints.length; i >= 0; --i)
        if (back(run, m, i, &rows, tally)) return -1;
    return 0;
}
