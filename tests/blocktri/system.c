/* system.c -- random block-tridiagonal systems for the tests. */
#include "system.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static size_t number(const bt_system *s) { return s->precision == KS_F64 ? 8 : 4; }

static void *allocate(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 64) / 64 * 64);
    assert_non_null(memory);
    return memory;
}

double bt_get(const bt_system *s, const void *array, int64_t at)
{
    return s->precision == KS_F64 ? ((const double *)array)[at]
                                  : (double)((const float *)array)[at];
}

void bt_put(const bt_system *s, void *array, int64_t at, double value)
{
    if (s->precision == KS_F64)
        ((double *)array)[at] = value;
    else
        ((float *)array)[at] = (float)value;
}

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0 - 0.5;
}

static void *blanks(const bt_system *s, int64_t count, int64_t stride)
{
    void *array = allocate((size_t)(count * stride) * number(s));
    for (int64_t i = 0; i < count * stride; ++i) bt_put(s, array, i, (double)NAN);
    return array;
}

bt_system bt_system_make(ks_precision precision, int64_t N, int n, int nrhs, int64_t gap,
                         unsigned seed)
{
    bt_system s = { N, (int64_t)n * n + gap, n, nrhs, (int64_t)n * nrhs + gap, precision,
                    NULL, NULL, NULL, NULL };
    uint64_t state = 88172645463325252u + seed;
    s.D = blanks(&s, N, s.stride);
    s.L = blanks(&s, N, s.stride);
    s.b = blanks(&s, N, s.rhs_stride);
    s.x = blanks(&s, N, s.rhs_stride);
    for (int64_t k = 0; k < N; ++k) {
        for (int i = 0; i < n; ++i)
            for (int j = 0; j <= i; ++j)
                bt_put(&s, s.D, k * s.stride + i * n + j,
                       uniform(&state) + (i == j ? 0.1 + 1.6 * sqrt((double)n) : 0));
        for (int i = 0; i < n * n && k + 1 < N; ++i)
            bt_put(&s, s.L, k * s.stride + i, uniform(&state));
        for (int i = 0; i < n * nrhs; ++i)
            bt_put(&s, s.b, k * s.rhs_stride + i, uniform(&state));
    }
    return s;
}

void bt_system_free(bt_system *s)
{
    free(s->D);
    free(s->L);
    free(s->b);
    free(s->x);
}

ks_blocktri_options bt_options(ks_blocktri_order order, ks_precision precision)
{
    ks_blocktri_options o = KS_BLOCKTRI_OPTIONS_INIT;
    o.order = order;
    o.precision = precision;
    o.segments = 3;
    o.separator_spacing = 3;
    o.crossover = 2;
    return o;
}

bt_solver bt_solver_make(const bt_system *s, const ks_blocktri_options *options, int threads,
                         int in_place)
{
    bt_solver solver = { NULL, NULL, { { NULL, 0 }, { NULL, 0 }, NULL }, NULL, NULL, NULL, NULL };
    ks_context_options c = KS_CONTEXT_OPTIONS_INIT;
    c.threads = threads;
    assert_int_equal(ks_context_create(&solver.context, &c), KS_OK);
    assert_int_equal(ks_blocktri_plan_create(&solver.plan, solver.context, s->N, s->n, options),
                     KS_OK);
    const int64_t size = (int64_t)s->n * s->n;
    if (!in_place) {
        solver.D = blanks(s, s->N, size);
        solver.L = blanks(s, s->N, size);
    }
    solver.factor.D.data = in_place ? s->D : solver.D;
    solver.factor.L.data = in_place ? s->L : solver.L;
    solver.factor.D.stride = solver.factor.L.stride = in_place ? s->stride : size;
    const size_t fill = ks_blocktri_fill_bytes(solver.plan);
    solver.factor.fill = fill ? allocate(fill) : NULL;
    if (fill) memset(solver.factor.fill, 0xff, fill);
    solver.work = allocate(ks_blocktri_workspace_bytes(solver.plan));
    solver.inverse_work = allocate(ks_blocktri_inverse_workspace_bytes(solver.plan));
    memset(solver.work, 0xff, ks_blocktri_workspace_bytes(solver.plan));
    memset(solver.inverse_work, 0xff, ks_blocktri_inverse_workspace_bytes(solver.plan));
    return solver;
}

void bt_solver_free(bt_solver *solver)
{
    ks_blocktri_plan_destroy(solver->plan);
    ks_context_destroy(solver->context);
    free(solver->D);
    free(solver->L);
    free(solver->factor.fill);
    free(solver->work);
    free(solver->inverse_work);
}

ks_blocktri_matrix bt_matrix(const bt_system *s)
{
    const ks_blocktri_matrix matrix = { { s->D, s->stride }, { s->L, s->stride } };
    return matrix;
}

ks_const_blocks bt_b(const bt_system *s)
{
    const ks_const_blocks b = { s->b, s->rhs_stride };
    return b;
}

ks_const_blocks bt_x_in(const bt_system *s)
{
    const ks_const_blocks x = { s->x, s->rhs_stride };
    return x;
}

ks_blocks bt_x(const bt_system *s)
{
    const ks_blocks x = { s->x, s->rhs_stride };
    return x;
}

double *bt_dense(const bt_system *s)
{
    const int64_t n = s->n, rows = s->N * n;
    double *A = calloc((size_t)(rows * rows), sizeof *A);
    assert_non_null(A);
    for (int64_t k = 0; k < s->N; ++k)
        for (int64_t i = 0; i < n; ++i) {
            for (int64_t j = 0; j <= i; ++j)
                A[(k * n + i) * rows + k * n + j] = A[(k * n + j) * rows + k * n + i] =
                    bt_get(s, s->D, k * s->stride + i * n + j);
            for (int64_t j = 0; j < n && k + 1 < s->N; ++j)
                A[((k + 1) * n + i) * rows + k * n + j] = A[(k * n + j) * rows + (k + 1) * n + i] =
                    bt_get(s, s->L, k * s->stride + i * n + j);
        }
    return A;
}

double *bt_know(const bt_system *s)
{
    const int64_t rows = s->N * s->n, m = s->nrhs;
    double *A = bt_dense(s), *z = allocate((size_t)(rows * m) * sizeof *z);
    uint64_t state = 4711;
    for (int64_t i = 0; i < rows * m; ++i) z[i] = 1.0 + uniform(&state);
    for (int64_t i = 0; i < rows * m; ++i) {
        long double sum = 0;
        for (int64_t j = 0; j < rows; ++j) sum += (long double)A[i / m * rows + j] * (long double)z[j * m + i % m];
        bt_put(s, s->b, i / m / s->n * s->rhs_stride + i / m % s->n * m + i % m, (double)sum);
    }
    free(A);
    return z;
}

static int exponent_of_unit(int units, int64_t row)
{
    if (units == 0) return 0;
    if (units == BT_UNITS - 2) return row % 2 ? 498 : -498;
    if (units == BT_UNITS - 1) return (int)(row * 37 % 23) * 16 - 180;
    return row % 2 ? -(int)lround(units * 2 / 0.30103) : 0;
}

static void multiply_by_power(double *number, int power) { *number = ldexp(*number, power); }

void bt_change_units(const bt_system *s, int units, int sign)
{
    const int64_t n = s->n, m = s->nrhs;
    for (int64_t row = 0; row < s->N * n; ++row) {
        const int64_t k = row / n, i = row % n;
        const int power = sign * exponent_of_unit(units, row);
        for (int64_t j = 0; j < n; ++j) {
            const int D_power = power + sign * exponent_of_unit(units, k * n + j);
            const int L_power = power + sign * exponent_of_unit(units, (k - 1) * n + j);
            multiply_by_power((double *)s->D + k * s->stride + i * n + j, -D_power);
            if (k > 0) multiply_by_power((double *)s->L + (k - 1) * s->stride + i * n + j, -L_power);
        }
        for (int64_t c = 0; c < m; ++c) {
            multiply_by_power((double *)s->b + k * s->rhs_stride + i * m + c, -power);
            multiply_by_power((double *)s->x + k * s->rhs_stride + i * m + c, power);
        }
    }
}

double bt_backward_error(const bt_solver *solver, const bt_system *s)
{
    const ks_blocktri_matrix matrix = bt_matrix(s);
    ks_blocktri_norms norms;
    assert_int_equal(ks_blocktri_residual(solver->plan, &matrix, s->nrhs, bt_x_in(s), bt_b(s),
                                          &norms),
                     KS_OK);
    return norms.residual / (norms.matrix * norms.solution + norms.right_hand_side);
}

ks_status bt_factorize(const bt_solver *solver, const bt_system *system, ks_blocktri_info *info)
{
    const ks_blocktri_matrix matrix = bt_matrix(system);
    return ks_blocktri_factorize(solver->plan, &matrix, &solver->factor, solver->work, info);
}
