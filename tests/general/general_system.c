/* general_system.c -- see general_system.h. */
#include "general_system.h"

#include <lapacke.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static double uniform(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) / 8388608.0 - 1.0;
}

static void *zeros(int64_t count)
{
    void *memory = calloc(count > 0 ? (size_t)count : 1, sizeof(double));
    assert_non_null(memory);
    return memory;
}

general_system general_system_empty(int64_t N, int n, int nrhs)
{
    const int64_t block = (int64_t)n * n, rows = N * n * nrhs;
    general_system s = { N, n, nrhs, NULL, NULL, NULL, NULL, NULL, NULL };
    s.D = zeros(N * block);
    s.L = zeros((N - 1) * block);
    s.U = zeros((N - 1) * block);
    s.b = zeros(rows);
    s.x = zeros(rows);
    s.truth = zeros(rows);
    for (int64_t i = 0; i < rows; ++i) s.x[i] = nan("");
    return s;
}

static void fill_diagonal(double *D, int n, int tridiagonal, unsigned *state)
{
    for (int r = 0; r < n; ++r) {
        for (int c = 0; c < n; ++c)
            if (!tridiagonal || abs(r - c) <= 1) D[r * n + c] = uniform(state);
        D[r * n + r] = (tridiagonal ? 3 : 2 + sqrt(n)) * (uniform(state) < -0.8 ? -1 : 1) +
                       uniform(state);
    }
}

/* density: 0 one entry a row and column or so, otherwise the probability of an entry. */
static void fill_off(double *A, int n, double density, unsigned *state)
{
    for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c) {
            const double value = uniform(state), chance = 0.5 + 0.5 * uniform(state);
            if (density > 0 ? chance < density : c == (r + n / 2) % n) A[r * n + c] = value;
        }
}

/** The dense matrix (N n, N n), row-major; the caller frees it. */
static double *dense_matrix(const general_system *s)
{
    const int64_t n = s->n, M = s->N * n;
    double *A = zeros(M * M);
    for (int64_t j = 0; j < s->N; ++j)
        for (int64_t r = 0; r < n; ++r)
            for (int64_t c = 0; c < n; ++c) {
                const int64_t at = (j * n + r) * n + c;
                A[(j * n + r) * M + j * n + c] = s->D[at];
                if (j + 1 == s->N) continue;
                A[((j + 1) * n + r) * M + j * n + c] = s->L[at];
                A[(j * n + r) * M + (j + 1) * n + c] = s->U[at];
            }
    return A;
}

/** Spectral radius of D^-1 (L + U) by dense eigenvalues. */
static double spectral_radius(const general_system *s)
{
    const int n = s->n, M = (int)s->N * n;
    double *B = dense_matrix(s), *wr = zeros(M), *wi = zeros(M), radius = 0;
    double *D = zeros((int64_t)n * n);
    int *pivots = calloc((size_t)n, sizeof *pivots);
    assert_non_null(pivots);
    for (int64_t j = 0; j < s->N; ++j) {
        memcpy(D, s->D + j * n * n, (size_t)n * (size_t)n * sizeof *D);
        double *rows = B + j * n * M;
        for (int r = 0; r < n; ++r)
            memset(rows + (int64_t)r * M + j * n, 0, (size_t)n * sizeof *rows);
        assert_int_equal(LAPACKE_dgesv(LAPACK_ROW_MAJOR, n, M, D, n, pivots, rows, M), 0);
    }
    assert_int_equal(LAPACKE_dgeev(LAPACK_ROW_MAJOR, 'N', 'N', M, B, M, wr, wi, NULL, 1, NULL, 1),
                     0);
    for (int i = 0; i < M; ++i) radius = fmax(radius, hypot(wr[i], wi[i]));
    free(B);
    free(wr);
    free(wi);
    free(D);
    free(pivots);
    return radius;
}

general_system general_system_make(gs_kind kind, int64_t N, int n, int nrhs, double radius,
                                   unsigned seed)
{
    general_system s = general_system_empty(N, n, nrhs);
    unsigned state = seed * 2654435761u + 12345u;
    const int64_t block = (int64_t)n * n;
    const double densities[] = { 0, 1, 0.1, 0.5, 0.3 };
    for (int64_t j = 0; j < N; ++j) {
        const int tridiagonal = kind == GS_TRIDIAGONAL || (kind == GS_MIXED && j % 3 != 1);
        fill_diagonal(s.D + j * block, n, tridiagonal, &state);
    }
    for (int64_t j = 0; j + 1 < N; ++j) {
        const double lower = kind == GS_MIXED ? densities[j % 5] : kind == GS_DENSE;
        const double upper = kind == GS_MIXED ? densities[(j + 3) % 5] : kind == GS_DENSE;
        fill_off(s.L + j * block, n, lower, &state);
        fill_off(s.U + j * block, n, upper, &state);
    }
    if (radius >= 0 && N > 1) {
        const double factor = radius / spectral_radius(&s);
        for (int64_t i = 0; i < (N - 1) * block; ++i) {
            s.L[i] *= factor;
            s.U[i] *= factor;
        }
    }
    general_system_truth(&s, seed);
    return s;
}

void general_system_truth(general_system *s, unsigned seed)
{
    const int64_t M = s->N * s->n;
    unsigned state = seed + 77u;
    double *A = dense_matrix(s);
    for (int64_t i = 0; i < M * s->nrhs; ++i) s->truth[i] = uniform(&state);
    for (int64_t i = 0; i < M; ++i)
        for (int c = 0; c < s->nrhs; ++c) {
            double sum = 0;
            for (int64_t k = 0; k < M; ++k) sum += A[i * M + k] * s->truth[k * s->nrhs + c];
            s->b[i * s->nrhs + c] = sum;
        }
    free(A);
}

void general_system_free(general_system *s)
{
    double *const all[] = { s->D, s->L, s->U, s->b, s->x, s->truth };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) free(all[i]);
}

ks_general_packed *general_system_pack(const general_system *s, ks_context *context)
{
    const int64_t block = (int64_t)s->n * s->n;
    ks_general_source source = KS_GENERAL_SOURCE_INIT;
    ks_general_packed *packed;
    source.D = (ks_const_blocks){ s->D, block };
    source.L = (ks_const_blocks){ s->L, block };
    source.U = (ks_const_blocks){ s->U, block };
    assert_int_equal(ks_general_pack(&packed, context, s->N, s->n, &source), KS_OK);
    return packed;
}

double *general_system_solution(const general_system *s)
{
    const int M = (int)s->N * s->n;
    double *A = dense_matrix(s), *x = zeros((int64_t)M * s->nrhs);
    int *pivots = calloc((size_t)M, sizeof *pivots);
    assert_non_null(pivots);
    memcpy(x, s->b, (size_t)M * (size_t)s->nrhs * sizeof *x);
    assert_int_equal(LAPACKE_dgesv(LAPACK_ROW_MAJOR, M, s->nrhs, A, M, pivots, x, s->nrhs), 0);
    free(A);
    free(pivots);
    return x;
}

void *general_system_memory(size_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 64, bytes) != 0) fail_msg("out of memory");
    return memory;
}

ks_status general_system_solve(general_system *s, ks_context *context,
                               const ks_general_options *options, ks_general_report *report,
                               ks_general_method *method)
{
    ks_general_packed *packed = general_system_pack(s, context);
    const ks_general_matrix *matrix = ks_general_packed_matrix(packed);
    const int64_t size = (int64_t)s->n * s->nrhs;
    ks_general_plan *plan;
    ks_status status = ks_general_plan_create(&plan, context, s->N, s->n, matrix, options);
    if (status == KS_OK) {
        void *factor, *work;
        factor = general_system_memory(ks_general_factor_bytes(plan));
        work = general_system_memory(ks_general_workspace_bytes(plan));
        if (method) *method = ks_general_plan_method(plan);
        status = ks_general_factorize(plan, matrix, factor, work, report);
        assert_int_equal(report->status, status);
        if (status == KS_OK) {
            status = ks_general_solve(plan, matrix, factor, s->nrhs,
                                      (ks_const_blocks){ s->b, size }, (ks_blocks){ s->x, size },
                                      work, report);
            assert_int_equal(report->status, status);
        }
        free(factor);
        free(work);
    }
    ks_general_plan_destroy(plan);
    ks_general_packed_destroy(packed);
    return status;
}

double general_system_error(const general_system *s)
{
    double most = 0, scale = 0;
    for (int64_t i = 0; i < s->N * s->n * s->nrhs; ++i) {
        const double error = fabs(s->x[i] - s->truth[i]);
        if (!(error <= most)) most = error;
        scale = fmax(scale, fabs(s->truth[i]));
    }
    return most / scale;
}
