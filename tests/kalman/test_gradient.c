/* test_gradient.c -- the gradient of the log-likelihood beside differences of the log-likelihood itself. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "gradient_case.h"
#include "kalscan/diffuse.h"
#include "sanitizers.h"

static const char *const names[ARRAYS] = { "F", "Q", "u", "H", "R", "d", "m0", "P0" };

/** The same of a diffuse prior. */
static double diffuse_loglik_of(const problem *p)
{
    const golden *g = p->g;
    ks_smooth_plan *plan = NULL;
    ks_smooth_options o = KS_SMOOTH_OPTIONS_INIT;
    ks_outputs outputs = KS_OUTPUTS_INIT;
    double loglik[8], sum = 0;
    o.job = KS_JOB_FILTER;
    o.method = KS_METHOD_SEQUENTIAL;
    o.outputs = KS_OUT_LOGLIK;
    outputs.loglik = (ks_out){ loglik, 0, 1 };
    assert_true(g->B <= 8);
    assert_int_equal(ks_smooth_plan_create(&plan, NULL, g->T, g->B, g->nx, g->ny, &o), KS_OK);
    assert_int_equal(ks_diffuse_run(plan, &p->model, p->P0_inf, golden_y(g, KS_F64), &outputs, NULL, NULL), KS_OK);
    ks_smooth_plan_destroy(plan);
    for (int64_t b = 0; b < g->B; ++b) sum += loglik[b];
    return sum;
}

static double loglik_of(const problem *p)
{
    static const method_case filter = { KS_JOB_FILTER, KS_METHOD_SEQUENTIAL, 0, 1, 0 };
    if (p->P0_inf.data) return diffuse_loglik_of(p);
    ks_smooth_options options = options_of(&filter, KS_F64, KS_OUT_LOGLIK);
    golden_buffers *b = NULL;
    size_t bytes;
    double sum = 0;
    assert_int_equal(run_model(p->g, &p->model, golden_y(p->g, KS_F64), &options, 1, &b, NULL), KS_OK);
    const double *loglik = golden_bytes(b, KS_OUT_LOGLIK, &bytes);
    for (int64_t i = 0; i < p->g->B; ++i) sum += loglik[i];
    golden_buffers_free(b);
    return sum;
}

/** Move array a by h times `direction`. */
static void move(const problem *p, int a, double h, const double *direction)
{
    for (int64_t b = 0; b < p->series[a]; ++b)
        for (int64_t k = 0; k < p->rows[a]; ++k) {
            double *block = p->array[a]->f64 + b * p->array[a]->series_stride + k * p->array[a]->step_stride;
            for (int64_t i = 0; i < p->block[a]; ++i)
                block[i] += h * direction[(b * p->rows[a] + k) * p->block[a] + i];
        }
}

/** The derivative along a direction in array a, by differences of the fourth order. */
static double slope(const problem *p, int a, const double *direction)
{
    static const double at[4] = { -2, -1, 1, 2 }, weight[4] = { 1, -8, 8, -1 };
    const double h = 0x1p-14;
    double sum = 0;
    for (int i = 0; i < 4; ++i) {
        move(p, a, at[i] * h, direction);
        sum += weight[i] * loglik_of(p);
        move(p, a, -at[i] * h, direction);
    }
    return sum / (12 * h);
}

static void draw_direction(const problem *p, int a, source *s, double *direction)
{
    const int64_t n = a == BY_R ? p->g->ny : p->g->nx;
    const int symmetric = a == BY_Q || a == BY_R || a == BY_P0;
    for (int64_t row = 0; row < p->rows[a] * p->series[a]; ++row) {
        double *block = direction + row * p->block[a];
        for (int64_t i = 0; i < p->block[a]; ++i) block[i] = normal(s);
        for (int64_t i = 0; symmetric && i < n; ++i)
            for (int64_t j = 0; j < i; ++j) block[i * n + j] = block[j * n + i];
    }
}

/** Along some directions in every array the gradient is what differences are. */
static void is_the_slope(golden *g, ks_transition transition, uint64_t seed, const double *P0_inf)
{
    problem p = problem_of(g, transition);
    source s = { seed };
    p.P0_inf.data = P0_inf;
    differentiate(&p, 1);
    const double before = loglik_of(&p);
    assert_true(fabs(p.loglik - before) <= 1e-12 * fabs(before));
    for (int a = 0; a < ARRAYS; ++a) {
        const int64_t numbers = p.rows[a] * p.series[a] * p.block[a];
        if (!p.by[a] || (a == BY_P0 && g->P0.f64[0] == 0) || (a == BY_R && g->R.f64[0] == 0))
            continue; /* zero is no covariance when moved */
        double *direction = zeroed((size_t)numbers, sizeof(double));
        draw_direction(&p, a, &s, direction);
        double told = 0, size = 1;
        for (int64_t i = 0; i < numbers; ++i) {
            told += p.by[a][i] * direction[i];
            size += fabs(p.by[a][i] * direction[i]);
        }
        const double seen = slope(&p, a, direction);
        if (!(fabs(told - seen) <= 1e-7 * size + 1e-9 * fabs(before)))
            fail_msg("(%d, %d), T = %lld: by %s %.12g, differences %.12g", g->nx, g->ny, (long long)g->T, names[a],
                     told, seen);
        free(direction);
    }
    problem_drop(&p);
}

static void differences(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 1, 1 }, { 2, 1 }, { 3, 2 }, { 4, 2 }, { 5, 5 }, { 7, 2 }, { 9, 4 }, { 2, 4 } };
    static const unsigned kinds[] = { 0, VARIES_ALL | MISSING, HAS_OFFSETS | MISSING | VARIES_R, VARIES_F | HAS_OFFSETS,
                                      NO_P0 | MISSING };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i)
        for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; ++kind)
            for (int prior = 0; prior < 2; ++prior) {
                if (SANITIZED && (i + kind + (size_t)prior) % 3) continue;
                const int64_t T = i % 2 ? 7 : 40;
                is_the_slope(model_random((model_spec){ 600 + i, T, 1, sizes[i][0], sizes[i][1], (ks_prior)prior,
                                                        kinds[kind] }),
                             KS_INTO, i, NULL);
            }
}

/** One step; rows of a transition that leads out of a step; several series, with models of their own and without. */
static void shapes(void **state)
{
    (void)state;
    for (int prior = 0; prior < 2; ++prior) {
        is_the_slope(model_random((model_spec){ 620, 1, 1, 3, 2, (ks_prior)prior, HAS_OFFSETS }), KS_INTO, 1, NULL);
        for (int own = 0; own < 2; ++own)
            for (int varies = 0; varies < 2; ++varies)
                is_the_slope(model_random((model_spec){ 621, 12, 3, 2, 2, (ks_prior)prior,
                                                        (own ? OWN_MODELS : 0) | (varies ? VARIES_ALL : HAS_OFFSETS) |
                                                            MISSING }),
                             KS_INTO, 2, NULL);
    }
    is_the_slope(model_random((model_spec){ 622, 9, 1, 3, 1, KS_PRIOR_X1, VARIES_ALL }), KS_OUT_OF, 3, NULL);
    is_the_slope(model_random((model_spec){ 623, 9, 2, 3, 1, KS_PRIOR_X1, OWN_MODELS | VARIES_F }), KS_OUT_OF, 4, NULL);
    is_the_slope(model_random((model_spec){ 624, 9, 1, 3, 1, KS_PRIOR_X1, HAS_OFFSETS }), KS_OUT_OF, 5, NULL);
}

/** Diffuse priors: in all directions, in one, and in one that is a sum of states; beside a P0 and a mean, and without
 *  noise of observations. */
static void diffuse(void **state)
{
    (void)state;
    enum { MOST = 5 };
    static const unsigned kinds[] = { 0, VARIES_ALL | MISSING, HAS_OFFSETS | MISSING | VARIES_R, NO_P0 | MISSING };
    for (int nx = 1; nx <= MOST; ++nx)
        for (int kind = 0; kind < 4; ++kind)
            for (int prior = 0; prior < 2; ++prior)
                for (int what = 0; what < 3; ++what) {
                    if (SANITIZED && (nx + kind + prior + what) % 3) continue;
                    double P0_inf[MOST * MOST] = { 0 };
                    for (int i = 0; i < nx; ++i)
                        for (int j = 0; j < nx; ++j)
                            P0_inf[i * nx + j] = what == 0 ? i == j : what == 1 ? i == 0 && j == 0 : (1 + i) * (1 + j);
                    golden *g = model_random((model_spec){ 670 + (uint64_t)nx, nx % 2 ? 30 : 9, kind == 2 ? 2 : 1, nx,
                                                           (nx + 1) / 2, (ks_prior)prior, kinds[kind] });
                    if (nx == 4 && kind == 0) memset(g->R.f64, 0, 4 * sizeof(double));
                    is_the_slope(g, KS_INTO, (uint64_t)what, P0_inf);
                }
}

/** Entries that are missing have no share; where nothing is observed there is no gradient. */
static void missing_entries(void **state)
{
    (void)state;
    enum { T = 20 };
    problem p = problem_of(model_random((model_spec){ 640, T, 1, 2, 2, KS_PRIOR_X1, VARIES_ALL | MISSING }), KS_INTO);
    const double *y = p.g->y.f64;
    int missing = 0;
    differentiate(&p, 1);
    for (int64_t k = 0; k < T; ++k)
        for (int i = 0; i < 2; ++i) {
            if (!isnan(y[2 * k + i])) continue;
            missing += 1;
            assert_true(p.by[BY_D][2 * k + i] == 0 && p.by[BY_H][4 * k + 2 * i] == 0 && p.by[BY_R][4 * k + 2 * i] == 0);
            assert_true(p.by[BY_H][4 * k + 2 * i + 1] == 0 && p.by[BY_R][4 * k + 2 * i + 1] == 0);
        }
    assert_true(missing > 4);
    /* No transition leads into step 0. */
    for (int i = 0; i < 4; ++i) assert_true(p.by[BY_F][i] == 0 && p.by[BY_Q][i] == 0 && p.by[BY_U][i / 2] == 0);
    for (int64_t i = 0; i < 2 * T; ++i) p.g->y.f64[i] = (double)NAN;
    differentiate(&p, 1);
    for (int a = 0; a < ARRAYS; ++a)
        for (int64_t i = 0; i < p.rows[a] * p.block[a]; ++i) assert_true(p.by[a][i] == 0);
    assert_true(p.loglik == 0);
    problem_drop(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences), cmocka_unit_test(shapes), cmocka_unit_test(diffuse),
        cmocka_unit_test(missing_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
