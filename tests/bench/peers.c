/* peers.c -- block-tridiagonal Cholesky as others offer it, to be measured beside `kalscan bench solve`:
 * OpenBLAS block by block, and CHOLMOD in the natural order where it is installed.
 *
 *     bench_peers n [N [repeats]]
 *
 * Prints a list of JSON objects with medians in ms for one right-hand side. One thread. Not a test. */
#include <cblas.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/seconds.h"
#ifdef HAVE_CHOLMOD
#  include <suitesparse/cholmod.h>
#endif

enum { MOST_REPEATS = 1000 };

/* Column-major blocks: D (lower triangle read) and L = A[i + 1, i]. */
typedef struct problem {
    int64_t N;
    int n, repeats;
    double *D, *L, *b;
} problem;

void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);

static void *allocate(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
    if (!p) {
        fputs("bench_peers: out of memory\n", stderr);
        exit(5);
    }
    memset(p, 0, bytes);
    return p;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_ms(double *samples, int count)
{
    qsort(samples, (size_t)count, sizeof *samples, ascending);
    return 1e3 * samples[count / 2];
}

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0 - 0.5;
}

/* Symmetric blocks with a diagonal that outweighs the rest. */
static problem make_problem(int64_t N, int n, int repeats)
{
    const int64_t block = (int64_t)n * n;
    problem s = { N, n, repeats, allocate((size_t)(N * block) * 8),
                  allocate((size_t)(N * block) * 8), allocate((size_t)(N * n) * 8) };
    uint64_t state = 1;
    for (int64_t k = 0; k < N; ++k) {
        double *D = s.D + k * block;
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j <= i; ++j) D[i * n + j] = D[j * n + i] = uniform(&state);
            D[i * n + i] += 2.0 * sqrt((double)n) + 1.0;
        }
        for (int i = 0; i < n * n; ++i) s.L[k * block + i] = uniform(&state);
        for (int i = 0; i < n; ++i) s.b[k * n + i] = uniform(&state);
    }
    return s;
}

/* ||A x - b|| / ||b|| */
static double residual(const problem *s, const double *x)
{
    const int n = s->n;
    const int64_t block = (int64_t)n * n;
    double sum = 0.0, of_b = 0.0, *r = allocate((size_t)n * 8);
    for (int64_t k = 0; k < s->N; ++k) {
        memcpy(r, s->b + k * n, (size_t)n * 8);
        cblas_dsymv(CblasColMajor, CblasLower, n, -1, s->D + k * block, n, x + k * n, 1, 1, r, 1);
        if (k > 0)
            cblas_dgemv(CblasColMajor, CblasNoTrans, n, n, -1, s->L + (k - 1) * block, n,
                        x + (k - 1) * n, 1, 1, r, 1);
        if (k + 1 < s->N)
            cblas_dgemv(CblasColMajor, CblasTrans, n, n, -1, s->L + k * block, n, x + (k + 1) * n,
                        1, 1, r, 1);
        for (int i = 0; i < n; ++i) {
            sum += r[i] * r[i];
            of_b += s->b[k * n + i] * s->b[k * n + i];
        }
    }
    free(r);
    return sqrt(sum / of_b);
}

static void print(const char *peer, const problem *s, double *factor, double *solve,
                  const double *x, int first)
{
    printf("%s{\"peer\": \"%s\", \"n\": %d, \"N\": %lld, \"repeats\": %d, \"factor_ms\": %.6g, "
           "\"solve_ms\": %.6g, \"residual\": %.3g, \"openblas\": \"%s\"}",
           first ? "[" : ",\n ", peer, s->n, (long long)s->N, s->repeats,
           median_ms(factor, s->repeats), median_ms(solve, s->repeats), residual(s, x),
           openblas_get_corename());
}

static void factor_blocks(const problem *s, double *D, double *L)
{
    const int n = s->n;
    const int64_t block = (int64_t)n * n;
    for (int64_t k = 0; k < s->N; ++k) {
        int info;
        dpotrf_("L", &n, D + k * block, &n, &info);
        if (info) exit(1);
        if (k + 1 == s->N) break;
        cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, n, n, 1,
                    D + k * block, n, L + k * block, n);
        cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, n, n, -1, L + k * block, n, 1,
                    D + (k + 1) * block, n);
    }
}

static void solve_blocks(const problem *s, const double *D, const double *L, double *x)
{
    const int n = s->n;
    const int64_t block = (int64_t)n * n;
    for (int64_t k = 0; k < s->N; ++k) {
        if (k > 0)
            cblas_dgemv(CblasColMajor, CblasNoTrans, n, n, -1, L + (k - 1) * block, n,
                        x + (k - 1) * n, 1, 1, x + k * n, 1);
        cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, D + k * block, n,
                    x + k * n, 1);
    }
    for (int64_t k = s->N - 1; k >= 0; --k) {
        if (k + 1 < s->N)
            cblas_dgemv(CblasColMajor, CblasTrans, n, n, -1, L + k * block, n, x + (k + 1) * n, 1,
                        1, x + k * n, 1);
        cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, n, D + k * block, n,
                    x + k * n, 1);
    }
}

/* In place; the copy of the system is not timed. */
static void time_lapack(const problem *s)
{
    const size_t bytes = (size_t)s->N * (size_t)s->n * (size_t)s->n * 8;
    double factor[MOST_REPEATS], solve[MOST_REPEATS];
    double *D = allocate(bytes), *L = allocate(bytes), *x = allocate((size_t)(s->N * s->n) * 8);
    for (int r = -1; r < s->repeats; ++r) {
        memcpy(D, s->D, bytes);
        memcpy(L, s->L, bytes);
        memcpy(x, s->b, (size_t)(s->N * s->n) * 8);
        const double start = ks_seconds();
        factor_blocks(s, D, L);
        const double middle = ks_seconds();
        solve_blocks(s, D, L, x);
        const double end = ks_seconds();
        if (r < 0) continue;
        factor[r] = middle - start;
        solve[r] = end - middle;
    }
    print("lapack", s, factor, solve, x, 1);
    free(x);
    free(L);
    free(D);
}

#ifdef HAVE_CHOLMOD
/* The lower triangle, compressed by columns. */
static cholmod_sparse *sparse_of(const problem *s, cholmod_common *common)
{
    const int64_t n = s->n, block = n * n, rows = s->N * n;
    const int64_t entries = s->N * (n * (n + 1) / 2) + (s->N - 1) * block;
    cholmod_sparse *A = cholmod_l_allocate_sparse((size_t)rows, (size_t)rows, (size_t)entries, 1, 1,
                                                  -1, CHOLMOD_REAL, common);
    if (!A) exit(5);
    int64_t *p = A->p, *i = A->i, at = 0;
    double *v = A->x;
    for (int64_t column = 0; column < rows; ++column) {
        const int64_t k = column / n, c = column % n;
        p[column] = at;
        for (int64_t r = c; r < n; ++r, ++at) {
            i[at] = k * n + r;
            v[at] = s->D[k * block + c * n + r];
        }
        for (int64_t r = 0; r < n && k + 1 < s->N; ++r, ++at) {
            i[at] = (k + 1) * n + r;
            v[at] = s->L[k * block + c * n + r];
        }
    }
    p[rows] = at;
    return A;
}

/* The analysis is made once and not timed: factor and solve are what a plan repeats. */
static void time_cholmod(const problem *s)
{
    cholmod_common common;
    double factor[MOST_REPEATS], solve[MOST_REPEATS];
    cholmod_l_start(&common);
    common.nmethods = 1;
    common.method[0].ordering = CHOLMOD_NATURAL;
    common.postorder = 0;
    common.supernodal = CHOLMOD_SUPERNODAL;
    cholmod_sparse *A = sparse_of(s, &common);
    cholmod_factor *L = cholmod_l_analyze(A, &common);
    cholmod_dense *b = cholmod_l_zeros((size_t)(s->N * s->n), 1, CHOLMOD_REAL, &common), *x = NULL;
    if (!L || !b) exit(5);
    memcpy(b->x, s->b, (size_t)(s->N * s->n) * 8);
    for (int r = -1; r < s->repeats; ++r) {
        cholmod_l_free_dense(&x, &common);
        const double start = ks_seconds();
        cholmod_l_factorize(A, L, &common);
        const double middle = ks_seconds();
        x = cholmod_l_solve(CHOLMOD_A, L, b, &common);
        const double end = ks_seconds();
        if (!x || common.status != CHOLMOD_OK) exit(1);
        if (r < 0) continue;
        factor[r] = middle - start;
        solve[r] = end - middle;
    }
    print("cholmod", s, factor, solve, x->x, 0);
    cholmod_l_free_dense(&x, &common);
    cholmod_l_free_dense(&b, &common);
    cholmod_l_free_factor(&L, &common);
    cholmod_l_free_sparse(&A, &common);
    cholmod_l_finish(&common);
}
#endif

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 0;
    const int64_t N = argc > 2 ? atoll(argv[2]) : n > 0 ? (262144 + n - 1) / n : 0;
    const int repeats = argc > 3 ? atoi(argv[3]) : 9;
    if (n < 1 || n > 4096 || N < 1 || repeats < 1 || repeats > MOST_REPEATS) {
        fputs("usage: bench_peers n [N [repeats]]\n", stderr);
        return 2;
    }
    openblas_set_num_threads(1);
    problem s = make_problem(N, n, repeats);
    time_lapack(&s);
#ifdef HAVE_CHOLMOD
    time_cholmod(&s);
#endif
    printf("]\n");
    free(s.b);
    free(s.L);
    free(s.D);
    return 0;
}
