/* models.c -- see models.h. */
#include "models.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

double uniform(source *s)
{
    s->state += 0x9e3779b97f4a7c15u;
    uint64_t z = s->state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return ((double)(z >> 12) + 0.5) / 4503599627370496.0;
}

double normal(source *s)
{
    const double radius = sqrt(-2 * log(uniform(s)));
    return radius * cos(6.283185307179586 * uniform(s));
}

void *zeroed(size_t count, size_t bytes)
{
    void *memory = calloc(count > 0 ? count : 1, bytes);
    if (!memory) fail_msg("out of memory");
    return memory;
}

void *zeroed_work(size_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 64, bytes)) fail_msg("out of memory");
    return memset(memory, 0, bytes);
}

double *model_block(const golden_input *in, int64_t b, int64_t k)
{
    return in->f64 + b * in->series_stride + k * in->step_stride;
}

/** Numbers of an input of g with blocks of `block` numbers. */
static size_t numbers_of(const golden *g, const golden_input *in, int64_t block)
{
    const int64_t steps = in->step_stride ? g->T : 1, series = in->series_stride ? g->B : 1;
    return (size_t)(series * steps * block);
}

static golden_input input_new(int64_t series, int64_t steps, int64_t block)
{
    golden_input in;
    in.f64 = zeroed((size_t)(series * steps * block), sizeof(double));
    in.f32 = zeroed((size_t)(series * steps * block), sizeof(float));
    in.step_stride = steps > 1 ? block : 0;
    in.series_stride = series > 1 ? steps * block : 0;
    return in;
}

static void round_input(const golden *g, golden_input *in, int64_t block)
{
    if (!in->f64) return;
    const size_t numbers = numbers_of(g, in, block);
    for (size_t i = 0; i < numbers; ++i) {
        in->f32[i] = (float)in->f64[i];
        in->f64[i] = (double)in->f32[i];
    }
}

void model_round(golden *g)
{
    const int64_t nx = g->nx, ny = g->ny;
    round_input(g, &g->y, ny);
    round_input(g, &g->F, nx * nx);
    round_input(g, &g->Q, nx * nx);
    round_input(g, &g->H, ny * nx);
    round_input(g, &g->R, ny * ny);
    round_input(g, &g->u, nx);
    round_input(g, &g->d, ny);
    round_input(g, &g->m0, nx);
    round_input(g, &g->P0, nx * nx);
}

static golden *blank(int64_t T, int64_t B, int nx, int ny, ks_prior prior)
{
    golden *g = zeroed(1, sizeof *g);
    g->T = T;
    g->B = B;
    g->nx = nx;
    g->ny = ny;
    g->prior = prior;
    g->scan_takes = true;
    g->f32_exact = true;
    snprintf(g->condition, sizeof g->condition, "ordinary");
    g->expected.T = T;
    g->expected.B = B;
    g->expected.nx = nx;
    g->expected.ny = ny;
    return g;
}

/** least I + G G' scaled to `size`, with G random. */
static void random_covariance(source *s, int n, double size, double least, double *to)
{
    double *G = zeroed((size_t)(n * n), sizeof *G);
    for (int i = 0; i < n * n; ++i) G[i] = normal(s) / sqrt(n);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) {
            double sum = i == j ? least : 0;
            for (int l = 0; l < n; ++l) sum += G[i * n + l] * G[j * n + l];
            to[i * n + j] = to[j * n + i] = size * sum;
        }
    free(G);
}

static void random_transition(source *s, int n, double *F)
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
            F[i * n + j] = (i == j ? 0.7 : 0) + 0.25 * (2 * uniform(s) - 1) / n;
}

static void fill_block(source *s, golden *g, int array, double *to)
{
    const int nx = g->nx, ny = g->ny;
    switch (array) {
    case KS_ARRAY_F: random_transition(s, nx, to); break;
    case KS_ARRAY_Q: random_covariance(s, nx, 0.5, 0.2, to); break;
    case KS_ARRAY_R: random_covariance(s, ny, 0.5, 0.5, to); break;
    case KS_ARRAY_P0: random_covariance(s, nx, 2, 0.5, to); break;
    case KS_ARRAY_H:
        for (int i = 0; i < ny * nx; ++i) to[i] = 2 * uniform(s) - 1;
        break;
    default:
        for (int i = 0; i < (array == KS_ARRAY_D ? ny : nx); ++i) to[i] = normal(s);
        break;
    }
}

static void fill_input(source *s, golden *g, golden_input *in, int array, int64_t block,
                       int varies, unsigned flags)
{
    const int64_t series = flags & OWN_MODELS ? g->B : 1, steps = varies ? g->T : 1;
    *in = input_new(series, steps, block);
    for (int64_t b = 0; b < series; ++b)
        for (int64_t k = 0; k < steps; ++k) fill_block(s, g, array, model_block(in, b, k));
}

/** A path through the model with noise of about the size that the covariances say. */
static void draw_data(source *s, golden *g, unsigned flags)
{
    const int nx = g->nx, ny = g->ny;
    double *x = zeroed((size_t)(2 * nx), sizeof *x), *next = x + nx;
    g->y = input_new(g->B, g->T, ny);
    for (int64_t b = 0; b < g->B; ++b) {
        memcpy(x, model_block(&g->m0, b, 0), (size_t)nx * sizeof *x);
        for (int64_t k = 0; k < g->T; ++k) {
            const double *F = model_block(&g->F, b, k), *H = model_block(&g->H, b, k);
            const double *Q = model_block(&g->Q, b, k), *R = model_block(&g->R, b, k);
            double *y = model_block(&g->y, b, k);
            for (int i = 0; i < nx; ++i) {
                next[i] = (g->u.f64 ? model_block(&g->u, b, k)[i] : 0) +
                          sqrt(Q[i * nx + i]) * normal(s);
                for (int j = 0; j < nx; ++j) next[i] += F[i * nx + j] * x[j];
            }
            memcpy(x, next, (size_t)nx * sizeof *x);
            const int gap = flags & MISSING && uniform(s) < 0.15;
            for (int i = 0; i < ny; ++i) {
                y[i] = (g->d.f64 ? model_block(&g->d, b, k)[i] : 0) +
                       sqrt(R[i * ny + i]) * normal(s);
                for (int j = 0; j < nx; ++j) y[i] += H[i * nx + j] * x[j];
                if (gap || (flags & MISSING && uniform(s) < 0.15)) y[i] = (double)NAN;
            }
        }
    }
    free(x);
}

/** Q, R, P0 of all series and steps to what the flags ask for. */
static void make_singular(golden *g, unsigned flags)
{
    const int64_t nn = (int64_t)g->nx * g->nx, mm = (int64_t)g->ny * g->ny;
    const size_t R = numbers_of(g, &g->R, mm);
    if (flags & NO_Q) memset(g->Q.f64, 0, numbers_of(g, &g->Q, nn) * sizeof(double));
    if (flags & NO_P0) memset(g->P0.f64, 0, numbers_of(g, &g->P0, nn) * sizeof(double));
    for (size_t at = 0; flags & EXACT_ENTRY && at < R; at += (size_t)mm)
        for (size_t i = 0; i < (size_t)g->ny; ++i)
            g->R.f64[at + i] = g->R.f64[at + i * (size_t)g->ny] = 0;
}

golden *model_random(model_spec spec)
{
    const int64_t nx = spec.nx, ny = spec.ny;
    const unsigned f = spec.flags;
    source s = { spec.seed };
    golden *g = blank(spec.T, spec.B, spec.nx, spec.ny, spec.prior);
    fill_input(&s, g, &g->F, KS_ARRAY_F, nx * nx, f & VARIES_F, f);
    fill_input(&s, g, &g->Q, KS_ARRAY_Q, nx * nx, f & VARIES_Q, f);
    fill_input(&s, g, &g->H, KS_ARRAY_H, ny * nx, f & VARIES_H, f);
    fill_input(&s, g, &g->R, KS_ARRAY_R, ny * ny, f & VARIES_R, f);
    if (f & (HAS_OFFSETS | VARIES_U)) fill_input(&s, g, &g->u, KS_ARRAY_U, nx, f & VARIES_U, f);
    if (f & (HAS_OFFSETS | VARIES_D)) fill_input(&s, g, &g->d, KS_ARRAY_D, ny, f & VARIES_D, f);
    fill_input(&s, g, &g->m0, KS_ARRAY_M0, nx, 0, f);
    fill_input(&s, g, &g->P0, KS_ARRAY_P0, nx * nx, 0, f);
    make_singular(g, f);
    draw_data(&s, g, f);
    model_round(g);
    return g;
}

static golden_input slice_of(const golden_input *from, int64_t b, int64_t k0, int64_t T,
                             int64_t block)
{
    golden_input in = input_new(1, T, block);
    for (int64_t k = 0; k < T && from->f64; ++k)
        memcpy(in.f64 + k * block, model_block(from, b, k0 + k), (size_t)block * sizeof(double));
    return in;
}

golden *model_slice(const golden *g, int64_t b, int64_t k0, int64_t T)
{
    const int64_t nx = g->nx, ny = g->ny;
    golden *s = blank(T, 1, g->nx, g->ny, g->prior);
    s->y = slice_of(&g->y, b, k0, T, ny);
    s->F = slice_of(&g->F, b, k0, T, nx * nx);
    s->Q = slice_of(&g->Q, b, k0, T, nx * nx);
    s->H = slice_of(&g->H, b, k0, T, ny * nx);
    s->R = slice_of(&g->R, b, k0, T, ny * ny);
    s->u = slice_of(&g->u, b, k0, T, nx);
    s->d = slice_of(&g->d, b, k0, T, ny);
    s->m0 = slice_of(&g->m0, b, 0, 1, nx);
    s->P0 = slice_of(&g->P0, b, 0, 1, nx * nx);
    model_round(s);
    return s;
}

golden *model_series(const golden *g, int64_t b)
{
    golden *s = model_slice(g, b, 0, g->T);
    golden_input *to[] = { &s->F, &s->Q, &s->H, &s->R, &s->u, &s->d };
    const golden_input *from[] = { &g->F, &g->Q, &g->H, &g->R, &g->u, &g->d };
    for (int i = 0; i < 6; ++i)
        if (!from[i]->step_stride) to[i]->step_stride = 0;
    return s;
}

/** C = A B, all (n, n) but B and C, which have `columns` columns. */
static void product(int rows, int n, int columns, const double *A, const double *B, double *C)
{
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) {
            double sum = 0;
            for (int l = 0; l < n; ++l) sum += A[i * n + l] * B[l * columns + j];
            C[i * columns + j] = sum;
        }
}

/** block <- left block right', in place. */
static void sandwich(int n, const double *left, double *block, const double *right)
{
    double *T = zeroed((size_t)(2 * n * n), sizeof *T), *Rt = T + n * n;
    for (int i = 0; i < n * n; ++i) Rt[i % n * n + i / n] = right[i];
    product(n, n, n, left, block, T);
    product(n, n, n, T, Rt, block);
    free(T);
}

void model_change_basis(golden *g, const double *M, const double *M_inverse)
{
    const int nx = g->nx, ny = g->ny;
    const size_t most = (size_t)(nx > ny ? nx : ny) * (size_t)nx;
    double *copy = zeroed(most, sizeof *copy), *Mt = zeroed((size_t)(nx * nx), sizeof *Mt);
    for (int i = 0; i < nx * nx; ++i) Mt[i % nx * nx + i / nx] = M_inverse[i];
    for (int64_t k = 0; k < (g->F.step_stride ? g->T : 1); ++k)
        sandwich(nx, M, model_block(&g->F, 0, k), Mt);
    for (int64_t k = 0; k < (g->Q.step_stride ? g->T : 1); ++k)
        sandwich(nx, M, model_block(&g->Q, 0, k), M);
    sandwich(nx, M, g->P0.f64, M);
    for (int64_t k = 0; k < (g->H.step_stride ? g->T : 1); ++k) {
        double *H = model_block(&g->H, 0, k);
        memcpy(copy, H, (size_t)(ny * nx) * sizeof *copy);
        product(ny, nx, nx, copy, M_inverse, H);
    }
    for (int64_t k = 0; g->u.f64 && k < (g->u.step_stride ? g->T : 1); ++k) {
        double *u = model_block(&g->u, 0, k);
        memcpy(copy, u, (size_t)nx * sizeof *copy);
        product(nx, nx, 1, M, copy, u);
    }
    memcpy(copy, g->m0.f64, (size_t)nx * sizeof *copy);
    product(nx, nx, 1, M, copy, g->m0.f64);
    free(Mt);
    free(copy);
}

golden *model_observed_late(int64_t T)
{
    golden *g = model_random((model_spec){ 31, T, 1, 2, 1, KS_PRIOR_X1, VARIES_F });
    for (int64_t k = 0; k < T; ++k) {
        double *F = model_block(&g->F, 0, k);
        F[0] = F[1] = 1;
        F[2] = 0;
        F[3] = k % 2 ? .5 : .75;
    }
    g->Q.f64[0] = g->Q.f64[1] = g->Q.f64[2] = g->R.f64[0] = g->H.f64[1] = 0;
    model_round(g);
    return g;
}
