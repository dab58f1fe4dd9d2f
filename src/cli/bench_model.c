/* Models to time: random, stable and dense, or ARMA. Numbers are stored as double or single. */
#include <math.h>
#include <string.h>
#include "bench.h"
#include "memory.h"
#include "random_numbers.h"

typedef struct writer {
    ks_random random;
    ks_precision precision;
    char *next;
} writer;

static size_t number(ks_precision precision)
{
    return precision == KS_F32 ? sizeof(float) : sizeof(double);
}

/* Return a uniform number in [-1/2, 1/2). */
static double centred(writer *w) { return ks_random_uniform(&w->random) - 0.5; }

static void put(const writer *w, void *block, int64_t at, double value)
{
    if (w->precision == KS_F32) ((float *)block)[at] = (float)value;
    else ((double *)block)[at] = value;
}

/* Store scale (G G' / n + I / 10) with uniform entries of G. */
static void put_covariance(writer *w, void *block, int n, double scale, double *G)
{
    for (int i = 0; i < n * n; ++i) G[i] = centred(w);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) {
            double sum = i == j ? 0.1 : 0.0;
            for (int l = 0; l < n; ++l) sum += G[i * n + l] * G[j * n + l] / n;
            put(w, block, (int64_t)i * n + j, scale * sum);
            put(w, block, (int64_t)j * n + i, scale * sum);
        }
}

/* Store a matrix of uniform entries of the given width, plus `diagonal` on the diagonal. */
static void put_matrix(writer *w, void *block, int rows, int columns, double diagonal, double width)
{
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j)
            put(w, block, (int64_t)i * columns + j, (i == j ? diagonal : 0.0) + width * centred(w));
}

static ks_view take(writer *w, int64_t models, int64_t blocks, int64_t elements)
{
    const ks_view view = {w->next, blocks > 1 ? elements : 0, models > 1 ? blocks * elements : 0};
    w->next += (size_t)(models * blocks * elements) * number(w->precision);
    return view;
}

/* Return block k of series b. */
static void *block_at(const writer *w, const ks_view *view, int64_t b, int64_t k)
{
    return (char *)(uintptr_t)view->data +
           (size_t)(b * view->series_stride + k * view->step_stride) * number(w->precision);
}

/* Draw n numbers whose absolute values sum to 9/10. As coefficients of a recursion they give a stable one. */
static void draw_recursion(writer *w, int n, double *to)
{
    double sum = 0.0;
    for (int i = 0; i < n; ++i) to[i] = centred(w), sum += fabs(to[i]);
    for (int i = 0; i < n && sum > 0.0; ++i) to[i] *= 0.9 / sum;
}

/* ARMA(n, n - 1) in companion form. x[0] is observed without noise (Harvey, "Forecasting, Structural Time Series Models
 * and the Kalman Filter", 1989, sec. 3.3). */
static void fill_arma(writer *w, ks_model *model, int64_t b, int64_t F_blocks, int n, double *G)
{
    double *phi = G, *theta = G + n;
    draw_recursion(w, n, phi);
    theta[0] = 1.0;
    draw_recursion(w, n - 1, theta + 1);
    for (int64_t k = 0; k < F_blocks; ++k)
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j)
                put(w, block_at(w, &model->F, b, k), (int64_t)i * n + j, j == 0 ? phi[i] : j == i + 1);
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            put(w, block_at(w, &model->Q, b, 0), (int64_t)i * n + j, theta[i] * theta[j]);
            put(w, block_at(w, &model->P0, b, 0), (int64_t)i * n + j, i == j);
        }
        put(w, block_at(w, &model->H, b, 0), i, i == 0);
        put(w, block_at(w, &model->m0, b, 0), i, 0.0);
    }
    put(w, block_at(w, &model->R, b, 0), 0, 0.0);
}

static void fill_model(writer *w, ks_model *model, int64_t b, int64_t F_blocks, int64_t blocks, int nx, int ny,
                       double *G)
{
    for (int64_t k = 0; k < F_blocks; ++k) {
        void *F = block_at(w, &model->F, b, k);
        if (k == 0 || blocks > 1) put_matrix(w, F, nx, nx, 0.9, 0.4 / nx);
        else memcpy(F, block_at(w, &model->F, b, 0), (size_t)nx * (size_t)nx * number(w->precision));
    }
    for (int64_t k = 0; k < blocks; ++k) {
        put_covariance(w, block_at(w, &model->Q, b, k), nx, 1.0, G);
        put_matrix(w, block_at(w, &model->H, b, k), ny, nx, 1.0, 0.4);
        put_covariance(w, block_at(w, &model->R, b, k), ny, 2.0, G);
    }
    put_matrix(w, block_at(w, &model->m0, b, 0), nx, 1, 0.0, 1.0);
    put_covariance(w, block_at(w, &model->P0, b, 0), nx, 1.0, G);
}

int64_t ks_bench_steps(const ks_bench_settings *settings)
{
    /* Covariances take 64 MiB, so that they do not stay in the caches. */
    const int64_t fitting = ((int64_t)1 << 23) / ((int64_t)settings->nx * settings->nx);
    if (settings->T > 0) return settings->T;
    if (settings->B > 1) return fitting / settings->B > 1000 ? 1000 : fitting / settings->B + 1;
    return fitting < 100 ? 100 : fitting > 100000 ? 100000 : fitting;
}

ks_exit ks_bench_problem_make(ks_bench_problem *problem, const ks_bench_settings *settings,
                              ks_precision precision, ks_failure *failure)
{
    const int64_t T = ks_bench_steps(settings), B = settings->B > 0 ? settings->B : 1;
    const int64_t n = settings->nx, m = settings->ny;
    const int64_t blocks = settings->model == KS_BENCH_VARYING ? T : 1;
    const int64_t F_blocks = settings->model == KS_BENCH_CONSTANT ? 1 : T;
    const int64_t models = settings->own ? B : 1;
    const int64_t model_numbers = F_blocks * n * n + blocks * (n * n + m * n + m * m) + n + n * n;
    const int64_t most = (n > m ? n : m) + 1;
    const size_t bytes = ks_size_product(number(precision), (size_t)(models * model_numbers + B * T * m));
    writer w = {.precision = precision};
    const ks_model empty = KS_MODEL_INIT;
    memset(problem, 0, sizeof *problem);
    problem->model = empty;
    problem->memory = ks_memory_raw(
        ks_size_sum(bytes, (size_t)(most * most) * sizeof(double) + 64), "the model", failure);
    if (!problem->memory) return failure->code;
    double *G = problem->memory;
    w.next = (char *)(G + most * most);
    ks_random_start(&w.random, (uint64_t)settings->seed, 0);
    problem->model.F = take(&w, models, F_blocks, n * n);
    problem->model.Q = take(&w, models, blocks, n * n);
    problem->model.H = take(&w, models, blocks, m * n);
    problem->model.R = take(&w, models, blocks, m * m);
    problem->model.m0 = take(&w, models, 1, n);
    problem->model.P0 = take(&w, models, 1, n * n);
    for (int64_t b = 0; b < models; ++b)
        if (settings->arma) fill_arma(&w, &problem->model, b, F_blocks, settings->nx, G);
        else fill_model(&w, &problem->model, b, F_blocks, blocks, settings->nx, settings->ny, G);
    problem->y = (ks_view){w.next, m, m * T};
    for (int64_t i = 0; i < B * T * m; ++i)
        put(&w, w.next, i, ks_random_uniform(&w.random) < settings->missing ? (double)NAN
                                                                            : 4.0 * centred(&w));
    /* Constant arrays stay in the caches and do not count. */
    problem->bytes = (double)number(precision) *
                     (double)(T * m + (F_blocks > 1 ? F_blocks * n * n : 0) +
                              (blocks > 1 ? blocks * (n * n + m * n + m * m) : 0));
    return KS_EXIT_DONE;
}
