#include "sample_model.h"

void ks_sample_model_carve(ks_carver *carver, int nx, int ny, ks_sample_model *model)
{
    const size_t n = (size_t)nx, m = (size_t)ny, number = sizeof(double);
    model->F = ks_carve(carver, n * n, number);
    model->Q = ks_carve(carver, n * n, number);
    model->u = ks_carve(carver, n, number);
    model->H = ks_carve(carver, m * n, number);
    model->R = ks_carve(carver, m * m, number);
    model->d = ks_carve(carver, m, number);
    model->y = ks_carve(carver, m, number);
}

void ks_sample_fill(double *A, int rows, int columns, double diagonal, double beside)
{
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) A[i * columns + j] = i == j ? diagonal : beside;
}

/** Rows with the same block at every step. */
static ks_rows filled(double *A, int rows, int columns, double diagonal, double beside)
{
    const ks_rows constant = {(const char *)A, 0};
    ks_sample_fill(A, rows, columns, diagonal, beside);
    return constant;
}

void ks_sample_model_fill(const ks_sample_model *model, ks_series *s)
{
    const int n = s->nx, m = s->ny;
    s->F = filled(model->F, n, n, 0.5, 0.25 / n);
    s->Q = filled(model->Q, n, n, 1.0, 0.5 / n);
    s->u = filled(model->u, n, 1, 0.25, 0.25);
    s->H = filled(model->H, m, n, 1.0, 0.25 / n);
    s->R = filled(model->R, m, m, 1.0, 0.0); /* uncorrelated, as is usual: a correlated R costs more flops */
    s->d = filled(model->d, m, 1, 0.25, 0.25);
    s->y = filled(model->y, m, 1, 1.0, 1.0);
    s->m0 = model->u;
    s->P0 = model->Q;
}

ks_sink ks_sample_rows(void *memory, size_t bytes)
{
    const ks_sink sink = {(char *)memory, (int64_t)bytes, 0};
    return sink;
}
