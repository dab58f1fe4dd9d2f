/* test_gradient.c -- the gradient of the log-likelihood beside differences of the log-likelihood itself, its sums over
 * steps and series, and what it refuses. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "failalloc.h"
#include "kalscan/diffuse.h"
#include "kalscan/gradient.h"
#include "models.h"
#include "run_case.h"
#include "sanitizers.h"

enum { BY_F, BY_Q, BY_U, BY_H, BY_R, BY_D, BY_M0, BY_P0, ARRAYS };
static const char *const names[ARRAYS] = { "F", "Q", "u", "H", "R", "d", "m0", "P0" };

/** A model that can be moved, and its gradient. Rows of `by` are those of the model. */
typedef struct problem {
    golden *g;
    ks_model model;
    golden_input *array[ARRAYS];
    ks_view *view[ARRAYS];
    int64_t block[ARRAYS], rows[ARRAYS], series[ARRAYS];
    double *by[ARRAYS], loglik;
    ks_view P0_inf;
} problem;

static ks_out *output_of(ks_gradient *o, int a)
{
    ks_out *const all[ARRAYS] = { &o->F, &o->Q, &o->u, &o->H, &o->R, &o->d, &o->m0, &o->P0 };
    return all[a];
}

static problem problem_of(golden *g, ks_transition transition)
{
    const int64_t n = g->nx, m = g->ny;
    problem p = { g, golden_model(g, KS_F64), { &g->F, &g->Q, &g->u, &g->H, &g->R, &g->d, &g->m0, &g->P0 }, { 0 },
                  { n * n, n * n, n, m * n, m * m, m, n, n * n }, { 0 }, { 0 }, { 0 }, 0, { NULL, 0, 0 } };
    p.model.transition = transition;
    for (int a = 0; a < ARRAYS; ++a) {
        const golden_input *in = p.array[a];
        p.rows[a] = a >= BY_M0 || !in->step_stride ? 1 : g->T;
        p.series[a] = in->series_stride ? g->B : 1;
        if (in->f64) p.by[a] = zeroed((size_t)(p.rows[a] * p.series[a] * p.block[a]), sizeof(double));
    }
    return p;
}

static void problem_drop(problem *p)
{
    for (int a = 0; a < ARRAYS; ++a) free(p->by[a]);
    golden_free(p->g);
}

/** Outputs with the strides of `rows` rows and of all series, or sums over them. */
static ks_out shaped(double *data, int64_t rows, int64_t series, int64_t block)
{
    return (ks_out){ data, rows > 1 ? block : 0, series > 1 ? rows * block : 0 };
}

static ks_status run(const problem *p, const ks_gradient *o, int threads, ks_info *info)
{
    const golden *g = p->g;
    ks_smooth_plan *plan = NULL;
    ks_context_options resources = KS_CONTEXT_OPTIONS_INIT;
    ks_context *context = NULL;
    resources.threads = threads;
    assert_int_equal(ks_context_create(&context, &resources), KS_OK);
    assert_int_equal(ks_smooth_plan_create(&plan, context, g->T, g->B, g->nx, g->ny, NULL), KS_OK);
    void *work = zeroed_work(ks_gradient_workspace_bytes(plan));
    const ks_status status = ks_gradient_run(plan, &p->model, p->P0_inf, golden_y(g, KS_F64), o, work, info);
    free(work);
    ks_smooth_plan_destroy(plan);
    ks_context_destroy(context);
    return status;
}

static void differentiate(problem *p, int threads)
{
    ks_gradient o = KS_GRADIENT_INIT;
    for (int a = 0; a < ARRAYS; ++a) *output_of(&o, a) = shaped(p->by[a], p->rows[a], p->series[a], p->block[a]);
    o.loglik = (ks_out){ &p->loglik, 0, 0 };
    assert_int_equal(run(p, &o, threads, NULL), KS_OK);
}

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

/** Shares of steps and of series add up to the sums, and threads change no bit. */
static void sums(void **state)
{
    (void)state;
    enum { T = 30, B = 5, N = 3, M = 2 };
    problem p = problem_of(model_random((model_spec){ 630, T, B, N, M, KS_PRIOR_X0, HAS_OFFSETS | MISSING }), KS_INTO);
    const int64_t block[ARRAYS] = { N * N, N * N, N, M * N, M * M, M, N, N * N };
    double *each[ARRAYS], *steps[ARRAYS];
    ks_gradient by_each = KS_GRADIENT_INIT, by_step = KS_GRADIENT_INIT;
    for (int a = 0; a < ARRAYS; ++a) {
        each[a] = zeroed(T * B * N * N, sizeof(double));
        steps[a] = zeroed(T * N * N, sizeof(double));
        *output_of(&by_each, a) = (ks_out){ each[a], block[a], T * block[a] };
        *output_of(&by_step, a) = (ks_out){ steps[a], block[a], 0 };
    }
    assert_int_equal(run(&p, &by_each, 2, NULL), KS_OK);
    assert_int_equal(run(&p, &by_step, 2, NULL), KS_OK);
    for (int threads = 1; threads <= 4; ++threads) {
        double *first[ARRAYS];
        for (int a = 0; a < ARRAYS; ++a) {
            first[a] = zeroed((size_t)block[a], sizeof(double));
            if (threads > 1) memcpy(first[a], p.by[a], (size_t)block[a] * sizeof(double));
        }
        differentiate(&p, threads);
        for (int a = 0; a < ARRAYS; ++a) {
            if (threads > 1) assert_memory_equal(first[a], p.by[a], (size_t)block[a] * sizeof(double));
            free(first[a]);
        }
    }
    for (int a = 0; a < ARRAYS; ++a) {
        const int64_t rows = a < BY_M0 ? T : 1;
        for (int64_t i = 0; i < block[a]; ++i) {
            double sum = 0, by_steps = 0, size = 0;
            for (int64_t k = 0; k < rows; ++k) {
                for (int64_t b = 0; b < B; ++b) {
                    sum += each[a][(b * T + k) * block[a] + i];
                    size += fabs(each[a][(b * T + k) * block[a] + i]);
                }
                by_steps += steps[a][k * block[a] + i];
            }
            assert_true(fabs(sum - p.by[a][i]) <= 1e-13 * size && fabs(by_steps - p.by[a][i]) <= 1e-13 * size);
        }
        free(each[a]);
        free(steps[a]);
    }
    problem_drop(&p);
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

/** Rows of a transition are numbered as the model says also if it does not vary: those that lead out of a step are those
 *  that lead into the next. */
static void rows_of_constant_models(void **state)
{
    (void)state;
    enum { T = 7, N = 2 };
    for (int which = 0; which < 3; ++which) {
        problem p = problem_of(model_random((model_spec){ 680, T, 1, N, 1, KS_PRIOR_X1, HAS_OFFSETS }), KS_INTO);
        double into[T * N * N], out_of[T * N * N];
        const int64_t block = which == BY_U ? N : N * N;
        for (int i = 0; i < T * N * N; ++i) out_of[i] = 77;
        for (int out = 0; out < 2; ++out) {
            ks_gradient o = KS_GRADIENT_INIT;
            p.model.transition = out ? KS_OUT_OF : KS_INTO;
            *output_of(&o, which) = (ks_out){ out ? out_of : into, block, 0 };
            assert_int_equal(run(&p, &o, 1, NULL), KS_OK);
        }
        assert_memory_equal(out_of, into + block, (size_t)((T - 1) * block) * sizeof(double));
        for (int64_t i = 0; i < block; ++i) assert_true(into[i] == 0 && out_of[(T - 1) * block + i] == 77);
        problem_drop(&p);
    }
}

/** What else a plan makes does not matter: not even an x[-1] that the model does not have, or that a transition ends. */
static void any_plan(void **state)
{
    (void)state;
    problem p = problem_of(model_random((model_spec){ 690, 12, 1, 2, 1, KS_PRIOR_X1, 0 }), KS_INTO);
    const double identity[4] = { 1, 0, 0, 1 };
    for (int diffuse_too = 0; diffuse_too < 2; ++diffuse_too) {
        double number[2][4] = { { 0 } };
        if (diffuse_too) {
            p.model.prior = KS_PRIOR_X0;
            p.P0_inf.data = identity;
            p.g->F.f64[2] = p.g->F.f64[3] = 0; /* singular */
        }
        for (int all = 0; all < 2; ++all) {
            ks_smooth_options options = KS_SMOOTH_OPTIONS_INIT;
            ks_gradient o = KS_GRADIENT_INIT;
            ks_smooth_plan *plan = NULL;
            if (all) options.outputs |= KS_OUT_PRIOR_MEAN | KS_OUT_LAG_ONE_COV;
            o.F = (ks_out){ number[all], 0, 0 };
            assert_int_equal(ks_smooth_plan_create(&plan, NULL, 12, 1, 2, 1, &options), KS_OK);
            void *work = zeroed_work(ks_gradient_workspace_bytes(plan));
            assert_int_equal(ks_gradient_run(plan, &p.model, p.P0_inf, golden_y(p.g, KS_F64), &o, work, NULL), KS_OK);
            free(work);
            ks_smooth_plan_destroy(plan);
        }
        assert_memory_equal(number[0], number[1], sizeof number[0]);
    }
    problem_drop(&p);
}

/** Observations that do not tell all of a diffuse prior; of several series, the one. */
static void not_told(void **state)
{
    (void)state;
    problem p = problem_of(model_random((model_spec){ 695, 10, 3, 2, 1, KS_PRIOR_X1, 0 }), KS_INTO);
    const double identity[4] = { 1, 0, 0, 1 };
    double number[4];
    ks_gradient o = KS_GRADIENT_INIT;
    ks_info info = KS_INFO_INIT;
    p.P0_inf.data = identity;
    o.Q = (ks_out){ number, 0, 0 };
    assert_int_equal(run(&p, &o, 2, &info), KS_OK);
    for (int k = 1; k < 10; ++k) p.g->y.f64[10 + k] = (double)NAN;
    assert_int_equal(run(&p, &o, 2, &info), KS_EREFUSED);
    assert_true(info.series == 1 && info.array == KS_ARRAY_P0 && info.fault == KS_FAULT_NOT_FINITE);
    assert_int_equal(info.suggestion, KS_METHOD_AUTO);
    problem_drop(&p);
}

static void refused(void **state)
{
    (void)state;
    problem p = problem_of(model_random((model_spec){ 650, 50, 3, 2, 2, KS_PRIOR_X0, VARIES_R }), KS_INTO);
    double numbers[50 * 4];
    ks_gradient o = KS_GRADIENT_INIT;
    ks_info info = KS_INFO_INIT;
    assert_int_equal(run(&p, &o, 1, &info), KS_EINVAL); /* nothing is asked for */
    o.loglik = (ks_out){ numbers, 0, 0 };
    assert_int_equal(run(&p, &o, 1, &info), KS_EINVAL);
    o.F = (ks_out){ numbers, 3, 0 };
    assert_int_equal(run(&p, &o, 1, &info), KS_EINVAL);
    o.F = (ks_out){ (char *)numbers + 1, 4, 0 };
    assert_int_equal(run(&p, &o, 1, &info), KS_EINVAL);
    o.F = (ks_out){ numbers, 0, 0 };
    p.model.H.data = NULL;
    assert_int_equal(run(&p, &o, 1, &info), KS_EINVAL);
    assert_int_equal(info.array, KS_ARRAY_H);
    p.model = golden_model(p.g, KS_F64);
    p.g->y.f64[(50 + 30) * 2 + 1] = (double)INFINITY;
    assert_int_equal(run(&p, &o, 2, &info), KS_EMODEL);
    assert_true(info.series == 1 && info.step == 30 && info.row == 1 && info.array == KS_ARRAY_Y);
    p.g->y.f64[(50 + 30) * 2 + 1] = 0;
    for (int i = 0; i < 4; ++i) model_block(&p.g->R, 0, 20)[i] = i % 3 ? 0 : -1e9;
    assert_int_equal(run(&p, &o, 2, &info), KS_ENOTPD);
    assert_true(info.series == 0 && info.step == 20 && info.array == KS_ARRAY_INNOVATION_COV);
    problem_drop(&p);

    ks_smooth_options options = KS_SMOOTH_OPTIONS_INIT;
    ks_smooth_plan *plan = NULL;
    options.precision = KS_F32;
    assert_int_equal(ks_smooth_plan_create(&plan, NULL, 50, 3, 2, 2, &options), KS_OK);
    p = problem_of(model_random((model_spec){ 650, 50, 3, 2, 2, KS_PRIOR_X0, 0 }), KS_INTO);
    void *work = zeroed_work(ks_gradient_workspace_bytes(plan));
    assert_int_equal(ks_gradient_run(plan, &p.model, p.P0_inf, golden_y(p.g, KS_F64), &o, work, &info), KS_EINVAL);
    assert_int_equal(ks_gradient_run(NULL, &p.model, p.P0_inf, golden_y(p.g, KS_F64), &o, work, &info), KS_EINVAL);
    assert_int_equal(ks_gradient_run(plan, &p.model, p.P0_inf, golden_y(p.g, KS_F64), &o, NULL, &info), KS_EINVAL);
    assert_int_equal(ks_gradient_workspace_bytes(NULL), 0);
    free(work);
    ks_smooth_plan_destroy(plan);
    problem_drop(&p);
}

typedef struct stopper { int calls, stop_at; } stopper;

static int stopping(void *user, int64_t done, int64_t total)
{
    stopper *s = user;
    assert_true(done <= total);
    return ++s->calls == s->stop_at;
}

/** A run allocates nothing, in plans of both precisions that it takes, and can be stopped at each call of the progress
 *  function; it needs little beside the observations where these are many. */
static void stopped(void **state)
{
    (void)state;
    problem p = problem_of(model_random((model_spec){ 660, 300, 1, 2, 1, KS_PRIOR_X0, 0 }), KS_INTO);
    double number[4];
    for (int precision = 0; precision < 3; precision += 2) {
        failalloc memory = FAILALLOC_INIT;
        ks_context_options resources = KS_CONTEXT_OPTIONS_INIT;
        ks_context *context = NULL;
        resources.allocator = failalloc_allocator(&memory);
        assert_int_equal(ks_context_create(&context, &resources), KS_OK);
        ks_status status = KS_ECANCELED;
        stopper s = { 0, 0 };
        for (int at = 1; status == KS_ECANCELED; ++at) {
            ks_smooth_options options = KS_SMOOTH_OPTIONS_INIT;
            ks_gradient o = KS_GRADIENT_INIT;
            ks_smooth_plan *plan = NULL;
            o.Q = (ks_out){ number, 0, 0 };
            s = (stopper){ 0, at };
            options.precision = (ks_precision)precision;
            options.progress = stopping;
            options.progress_user = &s;
            assert_int_equal(ks_smooth_plan_create(&plan, context, 300, 1, 2, 1, &options), KS_OK);
            void *work = zeroed_work(ks_gradient_workspace_bytes(plan));
            atomic_store(&memory.calls, 0);
            status = ks_gradient_run(plan, &p.model, p.P0_inf, golden_y(p.g, KS_F64), &o, work, NULL);
            assert_int_equal(atomic_load(&memory.calls), 0);
            free(work);
            ks_smooth_plan_destroy(plan);
        }
        assert_int_equal(status, KS_OK);
        assert_int_equal(s.calls, 2 * 17); /* segments of 18 steps, there and back */
        ks_context_destroy(context);
    }
    problem_drop(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences),     cmocka_unit_test(shapes),  cmocka_unit_test(diffuse), cmocka_unit_test(sums),
        cmocka_unit_test(missing_entries), cmocka_unit_test(rows_of_constant_models), cmocka_unit_test(any_plan),
        cmocka_unit_test(not_told),        cmocka_unit_test(refused), cmocka_unit_test(stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
