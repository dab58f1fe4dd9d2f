/* test_diffuse.c -- priors that are infinite in some directions, by laws that lead back to finite priors. Closed forms are
 * in test_diffuse_closed.c; tests/golden/diffuse has models that neither reaches (tests/cli/check_diffuse.py). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "diffuse_case.h"

static const double log_2_pi = 1.8378770664093454836;

/* Numbers that are floats, with a determinant that is told. */
static double full_prior(int n, double *P)
{
    double determinant = 1;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) P[i * n + j] = 0;
    /* L L' with a unit lower L that is one below the diagonal, times a power of two. */
    for (int i = 0; i < n; ++i) {
        P[i * n + i] += 4;
        if (i > 0) {
            P[i * n + i] += 4;
            P[i * n + i - 1] = P[(i - 1) * n + i] = 4;
        }
        determinant *= 4;
    }
    return determinant;
}

/* g with as many entries as states, of which the first row is the state itself under noise. */
static golden *told_at_once(uint64_t seed, int64_t T, int64_t B, int n, unsigned flags)
{
    golden *g = model_random((model_spec){ seed, T, B, n, n, KS_PRIOR_X1,
                                           VARIES_ALL | HAS_OFFSETS | OWN_MODELS | flags });
    for (int64_t b = 0; b < B; ++b) {
        double *H = model_block(&g->H, b, 0), *y = model_block(&g->y, b, 0), *d = model_block(&g->d, b, 0);
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) H[i * n + j] = i == j;
            if (isnan(y[i])) y[i] = 0.25 * i;
            d[i] = 0;
        }
    }
    model_round(g);
    return g;
}

/* Series b of g without its first step, which is its prior instead. */
static golden *after_first(const golden *g, int64_t b)
{
    golden *later = model_slice(g, b, 1, g->T - 1);
    later->prior = KS_PRIOR_X0;
    memcpy(later->m0.f64, model_block(&g->y, b, 0), (size_t)g->nx * sizeof(double));
    memcpy(later->P0.f64, model_block(&g->R, b, 0), (size_t)(g->nx * g->nx) * sizeof(double));
    model_round(later);
    return later;
}

/* What a diffuse run of g must be, by method m, from ordinary runs of what follows the first step. */
static golden_results *expected_of(const golden *g, const method_case *m, ks_precision precision, double determinant,
                                   unsigned outputs)
{
    static const ks_output same[] = { KS_OUT_FILTERED_MEAN, KS_OUT_FILTERED_COV, KS_OUT_SMOOTHED_MEAN,
                                      KS_OUT_SMOOTHED_COV, KS_OUT_LAG_ONE_COV, KS_OUT_LOGLIK_TERMS };
    const double first = -0.5 * (g->nx * log_2_pi + log(determinant));
    golden_results *r = results_new(g->T, g->B, g->nx, g->ny, outputs);
    for (int64_t b = 0; b < g->B; ++b) {
        golden *later = after_first(g, b);
        golden_buffers *buffers = run_well(later, m, precision, 1, outputs_there(later, m), NULL);
        const golden_results *from = golden_widen(buffers);
        for (size_t i = 0; i < sizeof same / sizeof *same; ++i)
            if (outputs & same[i]) results_copy(r, b, 1, from, 0, same[i], g->T - 1);
        *results_block(r, KS_OUT_LOGLIK, b, 0) = *results_block(from, KS_OUT_LOGLIK, 0, 0) + first;
        if (outputs & KS_OUT_LOGLIK_TERMS) *results_block(r, KS_OUT_LOGLIK_TERMS, b, 0) = first;
        const ks_output at[2] = { m->job == KS_JOB_SMOOTH ? KS_OUT_SMOOTHED_MEAN : KS_OUT_FILTERED_MEAN,
                                  m->job == KS_JOB_SMOOTH ? KS_OUT_SMOOTHED_COV : KS_OUT_FILTERED_COV };
        if (m->job == KS_JOB_SMOOTH) {
            memcpy(results_block(r, at[0], b, 0), results_block(from, KS_OUT_PRIOR_MEAN, 0, 0),
                   (size_t)g->nx * sizeof(double));
            memcpy(results_block(r, at[1], b, 0), results_block(from, KS_OUT_PRIOR_COV, 0, 0),
                   (size_t)(g->nx * g->nx) * sizeof(double));
        } else {
            memcpy(results_block(r, at[0], b, 0), later->m0.f64, (size_t)g->nx * sizeof(double));
            memcpy(results_block(r, at[1], b, 0), later->P0.f64, (size_t)(g->nx * g->nx) * sizeof(double));
        }
        golden_buffers_free(buffers);
        golden_free(later);
    }
    return r;
}

/* All directions are infinite, and the first row tells them: the prior does not matter, and what follows is an ordinary
 * model with that row as its prior. */
static void first_row_is_the_prior(void **state)
{
    (void)state;
    static const struct { int64_t T, B; int n; unsigned flags; } sizes[] = {
        { 2, 1, 1, 0 }, { 3, 2, 2, 0 }, { 40, 1, 1, MISSING }, { 41, 3, 2, MISSING }, { 97, 2, 3, MISSING },
        { 60, 1, 5, MISSING }, { 200, 1, 8, 0 }, { 30, 1, 13, 0 },
    };
    /* What is infinite at first is looked at elsewhere. */
    const unsigned of_smoother = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_LAG_ONE_COV | KS_OUT_LOGLIK;
    const unsigned of_filter = KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV | KS_OUT_LOGLIK_TERMS | KS_OUT_LOGLIK;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        const int n = sizes[i].n;
        golden *g = told_at_once(70 + i, sizes[i].T, sizes[i].B, n, sizes[i].flags);
        double P0_inf[13 * 13];
        const double determinant = full_prior(n, P0_inf);
        for (int a = 0; a < all_methods_count; ++a)
            for (int p = KS_F64; p <= KS_MIXED; ++p) {
                const method_case *m = &all_methods[a];
                if (p == KS_MIXED && !takes_mixed(m)) continue;
                diffuse_case c = { .g = g, .P0_inf = P0_inf, .m = m, .precision = (ks_precision)p };
                c.outputs = outputs_there(g, m) & (m->job == KS_JOB_SMOOTH ? of_smoother : of_filter);
                diffuse_well(&c);
                golden_results *expected = expected_of(g, m, (ks_precision)p, determinant, c.outputs);
                const golden_difference d = golden_compare(golden_widen(c.buffers), expected, c.outputs,
                                                           golden_norm_of(g, (ks_precision)p));
                const double bound = 4 * golden_ordinary_bound(route_of(m), (ks_precision)p);
                if (d.error > bound)
                    fail_msg("%s, precision %d, n = %d: %s at step %d is off by %.2g, bound %.2g", method_case_name(m), p,
                             n, golden_output_name(d.output), (int)d.step, d.error, bound);
                assert_true(covariances_sound(c.buffers, (ks_precision)p, c.outputs));
                results_free(expected);
                golden_buffers_free(c.buffers);
            }
        golden_free(g);
    }
}

/* The block of `from` at (at, at_column) of `to`, whose rows have `width` numbers. */
static void put_block(double *to, int width, int at, int at_column, const double *from, int rows, int columns)
{
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) to[(at + i) * width + at_column + j] = from[i * columns + j];
}

/* Two models side by side, all arrays given step by step. */
static golden *side_by_side(const golden *a, const golden *b)
{
    const int nx = a->nx + b->nx, ny = a->ny + b->ny;
    golden *g = model_random((model_spec){ 5, a->T, 1, nx, ny, KS_PRIOR_X1, VARIES_ALL | HAS_OFFSETS });
    for (int64_t k = 0; k < g->T; ++k)
        for (int i = 0; i < 2; ++i) {
            const golden *of = i ? b : a;
            const int x = i ? a->nx : 0, y = i ? a->ny : 0, n = of->nx, m = of->ny;
            if (i == 0) {
                memset(model_block(&g->F, 0, k), 0, (size_t)(nx * nx) * sizeof(double));
                memset(model_block(&g->Q, 0, k), 0, (size_t)(nx * nx) * sizeof(double));
                memset(model_block(&g->H, 0, k), 0, (size_t)(ny * nx) * sizeof(double));
                memset(model_block(&g->R, 0, k), 0, (size_t)(ny * ny) * sizeof(double));
                memset(g->P0.f64, 0, (size_t)(nx * nx) * sizeof(double));
            }
            put_block(model_block(&g->F, 0, k), nx, x, x, model_block(&of->F, 0, k), n, n);
            put_block(model_block(&g->Q, 0, k), nx, x, x, model_block(&of->Q, 0, k), n, n);
            put_block(model_block(&g->H, 0, k), nx, y, x, model_block(&of->H, 0, k), m, n);
            put_block(model_block(&g->R, 0, k), ny, y, y, model_block(&of->R, 0, k), m, m);
            put_block(g->P0.f64, nx, x, x, of->P0.f64, n, n);
            memcpy(model_block(&g->u, 0, k) + x, model_block(&of->u, 0, k), (size_t)n * sizeof(double));
            memcpy(model_block(&g->d, 0, k) + y, model_block(&of->d, 0, k), (size_t)m * sizeof(double));
            memcpy(model_block(&g->y, 0, k) + y, model_block(&of->y, 0, k), (size_t)m * sizeof(double));
            memcpy(g->m0.f64 + x, of->m0.f64, (size_t)n * sizeof(double));
        }
    return g;
}

/* P <- M P M' for blocks of (n, n). */
static void in_basis(int n, const double *M, double *P)
{
    double MP[64], to[64];
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            MP[i * n + j] = 0;
            for (int l = 0; l < n; ++l) MP[i * n + j] += M[i * n + l] * P[l * n + j];
        }
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            to[i * n + j] = 0;
            for (int l = 0; l < n; ++l) to[i * n + j] += MP[i * n + l] * M[j * n + l];
        }
    memcpy(P, to, (size_t)(n * n) * sizeof *P);
}

/* A diffuse model and one with a finite prior that do not touch each other, in a basis in which all states look alike:
 * P0_inf has half of the directions, and none along a state. */
static void part_of_the_directions(void **state)
{
    (void)state;
    enum { A = 3, N = 6, T = 50 };
    static const ks_output kinds[] = { KS_OUT_SMOOTHED_COV, KS_OUT_LAG_ONE_COV };
    golden *a = told_at_once(91, T, 1, A, MISSING);
    golden *b = model_random((model_spec){ 92, T, 1, N - A, 2, KS_PRIOR_X1, VARIES_ALL | HAS_OFFSETS | MISSING });
    golden *g = side_by_side(a, b);
    double own[A * A], P0_inf[N * N] = { 0 }, M[N * N], inverse[N * N];
    full_prior(A, own);
    put_block(P0_inf, N, 0, 0, own, A, A);
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) {
            /* Unit triangular, 1 below the diagonal; bidiagonal in the inverse. */
            M[i * N + j] = i >= j;
            inverse[i * N + j] = i == j ? 1 : i == j + 1 ? -1 : 0;
        }
    diffuse_case alone = { .g = a, .P0_inf = own, .m = first_method(KS_JOB_SMOOTH) };
    diffuse_well(&alone);
    golden_buffers *ordinary = run_well(b, alone.m, KS_F64, 1, outputs_there(b, alone.m), NULL);
    const unsigned outputs = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_LAG_ONE_COV | KS_OUT_LOGLIK;
    golden_results *expected = results_new(T, 1, N, g->ny, outputs);
    const golden_results *of[2] = { golden_widen(alone.buffers), golden_widen(ordinary) };
    for (int64_t k = 0; k < T; ++k) {
        double *mean = results_block(expected, KS_OUT_SMOOTHED_MEAN, 0, k), sum = 0;
        for (int i = 0; i < 2; ++i) {
            memcpy(mean + i * A, results_block(of[i], KS_OUT_SMOOTHED_MEAN, 0, k), A * sizeof *mean);
            for (int c = 0; c < 2; ++c)
                put_block(results_block(expected, kinds[c], 0, k), N, i * A, i * A, results_block(of[i], kinds[c], 0, k),
                          A, A);
        }
        for (int i = 0; i < N; ++i) mean[i] = sum += mean[i];
        for (int c = 0; c < 2; ++c) in_basis(N, M, results_block(expected, kinds[c], 0, k));
    }
    *results_block(expected, KS_OUT_LOGLIK, 0, 0) = *results_block(of[0], KS_OUT_LOGLIK, 0, 0) +
                                                     *results_block(of[1], KS_OUT_LOGLIK, 0, 0);
    model_change_basis(g, M, inverse);
    in_basis(N, M, P0_inf);
    for (int i = 0; i < all_methods_count; ++i) {
        if (all_methods[i].job != KS_JOB_SMOOTH) continue;
        diffuse_case c = { .g = g, .P0_inf = P0_inf, .m = &all_methods[i], .outputs = outputs };
        diffuse_well(&c);
        const golden_difference d =
            golden_compare(golden_widen(c.buffers), expected, outputs, golden_norm_of(g, KS_F64));
        if (d.error > 1e-9)
            fail_msg("%s: %s at step %d is off by %.2g", method_case_name(c.m), golden_output_name(d.output), (int)d.step,
                     d.error);
        golden_buffers_free(c.buffers);
    }
    results_free(expected);
    golden_buffers_free(ordinary);
    golden_buffers_free(alone.buffers);
    golden_free(g);
    golden_free(b);
    golden_free(a);
}

/* Where the mean of an infinite direction is, and how P0_inf measures it, is nothing that the estimates know. */
static void scale_and_mean_do_not_matter(void **state)
{
    (void)state;
    enum { N = 4, RANK = 2 };
    static const double scales[] = { 0x1p-20, 0x1p-4, 0x1p30 };
    const unsigned judged = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_LAG_ONE_COV | KS_OUT_PRIOR_MEAN |
                            KS_OUT_PRIOR_COV | KS_OUT_LOGLIK;
    golden *g = model_random((model_spec){ 93, 80, 1, N, 2, KS_PRIOR_X0, VARIES_ALL | HAS_OFFSETS | MISSING });
    const double direction[RANK][N] = { { 1, 2, -1, 0.5 }, { 0, 1, 1, -2 } };
    double P0_inf[N * N], scaled[N * N];
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j)
            P0_inf[i * N + j] = direction[0][i] * direction[0][j] + direction[1][i] * direction[1][j];
    for (int a = 0; a < all_methods_count; ++a) {
        const method_case *m = &all_methods[a];
        diffuse_case first = { .g = g, .P0_inf = P0_inf, .m = m };
        first.outputs = outputs_there(g, m) & judged;
        diffuse_well(&first);
        const golden_results *of = golden_widen(first.buffers);
        double *loglik = results_block(of, KS_OUT_LOGLIK, 0, 0);
        const double before = *loglik;
        for (int s = 0; s < 3; ++s) {
            for (int i = 0; i < N * N; ++i) scaled[i] = scales[s] * P0_inf[i];
            for (int i = 0; i < N; ++i) g->m0.f64[i] += 3 * direction[0][i] - 5 * direction[1][i];
            diffuse_case c = { .g = g, .P0_inf = scaled, .m = m, .outputs = first.outputs };
            diffuse_well(&c);
            *loglik = before - 0.5 * RANK * log(scales[s]);
            const golden_difference d =
                golden_compare(golden_widen(c.buffers), of, c.outputs, golden_norm_of(g, KS_F64));
            if (d.error > 1e-9)
                fail_msg("%s, times %.1e: %s at step %d is off by %.2g", method_case_name(m), scales[s],
                         golden_output_name(d.output), (int)d.step, d.error);
            golden_buffers_free(c.buffers);
        }
        golden_buffers_free(first.buffers);
    }
    golden_free(g);
}

/* a a' rounded to single precision has two more directions in its last digits, which are not meant. */
static void rank_is_that_of_the_numbers(void **state)
{
    (void)state;
    const unsigned outputs = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_LOGLIK;
    const double a[] = { 1, 0.3, 0.7 };
    double product[9], rounded[9];
    golden *g = model_random((model_spec){ 94, 30, 1, 3, 2, KS_PRIOR_X1, HAS_OFFSETS });
    for (int i = 0; i < 9; ++i) {
        product[i] = a[i / 3] * a[i % 3];
        rounded[i] = (double)(float)product[i];
    }
    const method_case *m = first_method(KS_JOB_SMOOTH);
    diffuse_case exact = { .g = g, .P0_inf = product, .m = m, .outputs = outputs };
    diffuse_well(&exact);
    for (int p = KS_F64; p <= KS_F32; ++p) {
        diffuse_case c = { .g = g, .P0_inf = rounded, .m = m, .precision = (ks_precision)p, .outputs = outputs };
        diffuse_well(&c);
        const golden_difference d = golden_compare(golden_widen(c.buffers), golden_widen(exact.buffers), outputs,
                                                   golden_norm_of(g, (ks_precision)p));
        if (d.error > (p == KS_F64 ? 1e-6 : 1e-3)) fail_msg("precision %d is off by %.2g", p, d.error);
        golden_buffers_free(c.buffers);
    }
    golden_buffers_free(exact.buffers);
    golden_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_row_is_the_prior),
        cmocka_unit_test(part_of_the_directions),
        cmocka_unit_test(scale_and_mean_do_not_matter),
        cmocka_unit_test(rank_is_that_of_the_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
