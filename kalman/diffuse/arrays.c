/* arrays.c -- the model of z = (x, eta), an ordinary one whose steps are those of the series. */
#include "start.h"
#include "dense.h"

void ks_start_arrays_carve(ks_carver *carver, ks_start_arrays *a, int64_t steps, int N, int entries)
{
    const size_t count = (size_t)steps, n = (size_t)N, m = (size_t)entries, one = sizeof(double);
    a->N = N;
    a->entries = entries;
    a->F = ks_carve(carver, count * n * n, one);
    a->Q = ks_carve(carver, count * n * n, one);
    a->u = ks_carve(carver, count * n, one);
    a->H = ks_carve(carver, count * m * n, one);
    a->R = ks_carve(carver, count * m * m, one);
    a->d = ks_carve(carver, count * m, one);
    a->y = ks_carve(carver, count * m, one);
    a->m0 = ks_carve(carver, n, one);
    a->P0 = ks_carve(carver, n * n, one);
}

void ks_start_stay(int64_t at, ks_start_arrays *a)
{
    const size_t k = (size_t)at, n = (size_t)a->N, m = (size_t)a->entries, one = sizeof(double);
    ks_identity_f64(a->N, a->F + k * n * n);
    memset(a->Q + k * n * n, 0, n * n * one);
    memset(a->u + k * n, 0, n * one);
    memset(a->H + k * m * n, 0, m * n * one);
    ks_identity_f64(a->entries, a->R + k * m * m);
    memset(a->d + k * m, 0, m * one);
    for (size_t i = 0; i < m; ++i) a->y[k * m + i] = (double)NAN;
}

void ks_start_place(const ks_start *start, int64_t k, int64_t at, ks_start_arrays *a)
{
    const ks_series *s = &start->series;
    const int n = start->n, m = start->m, N = a->N;
    const size_t slot = (size_t)at, states = (size_t)N, entries = (size_t)a->entries;
    ks_start_stay(at, a);
    if (!ks_start_stays(start, k)) {
        ks_start_read(start, s->F, k - s->shift, n, n, a->F + slot * states * states, N);
        ks_start_read(start, s->Q, k - s->shift, n, n, a->Q + slot * states * states, N);
        ks_start_read(start, s->u, k - s->shift, 1, n, a->u + slot * states, n);
    }
    ks_start_read(start, s->H, k, m, n, a->H + slot * entries * states, N);
    ks_start_read(start, s->R, k, m, m, a->R + slot * entries * entries, a->entries);
    ks_start_read(start, s->d, k, 1, m, a->d + slot * entries, m);
    ks_start_read(start, s->y, k, 1, m, a->y + slot * entries, m);
}

void ks_start_prior(const ks_start *start, ks_start_arrays *a)
{
    const int n = start->n, d = start->d, N = a->N;
    double *wide = start->move, *finite = wide + n * d, *cov = a->P0;
    const ks_rows m0 = { start->series.m0, 0 }, P0 = { start->series.P0, 0 };
    ks_start_read(start, m0, 0, 1, n, a->m0, n);
    ks_mv_add_f64(n, d, start->A, start->centre, a->m0);
    for (int c = 0; c < d; ++c) a->m0[n + c] = 0;
    for (int i = 0; i < n; ++i)
        for (int c = 0; c < d; ++c) wide[i * d + c] = start->A[i * d + c] * start->width[c];
    memset(cov, 0, (size_t)N * (size_t)N * sizeof *cov);
    ks_start_read(start, P0, 0, n, n, finite, n);
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j <= i; ++j)
            cov[i * N + j] = cov[j * N + i] = finite[i * n + j] + ks_dot(d, wide + i * d, wide + j * d);
        for (int c = 0; c < d; ++c) cov[i * N + n + c] = cov[(n + c) * N + i] = wide[i * d + c];
    }
    for (int c = 0; c < d; ++c) cov[(n + c) * N + n + c] = 1;
}

ks_model ks_start_model(const ks_start_arrays *a)
{
    const size_t n = (size_t)a->N, m = (size_t)a->entries;
    ks_model model = KS_MODEL_INIT;
    model.F = ks_blocks_in(a->F, n * n);
    model.Q = ks_blocks_in(a->Q, n * n);
    model.u = ks_blocks_in(a->u, n);
    model.H = ks_blocks_in(a->H, m * n);
    model.R = ks_blocks_in(a->R, m * m);
    model.d = ks_blocks_in(a->d, m);
    model.m0 = ks_blocks_in(a->m0, n);
    model.P0 = ks_blocks_in(a->P0, n * n);
    return model;
}

ks_view ks_start_observations(const ks_start_arrays *a) { return ks_blocks_in(a->y, (size_t)a->entries); }
