/* test_contraction.c -- models without process noise whose transitions contract: predictions become sharper than
 * a step of the RTS smoother can be taken back from. There is a closed form: the state before the first step is a
 * regression on all observations, solved here in long double, and every later state follows from it. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "kalscan/smooth.h"
#include "models.h"

enum { MOST = 14 };

/** x[k] = F x[k-1] + u, y[k] = H x[k] + v with v ~ N(0, I / 100), and rows of y missing. */
typedef struct problem {
    int nx, ny;
    int64_t T, B;
    double F[MOST * MOST], Q[MOST * MOST], u[MOST], H[2 * MOST], R[4], m0[MOST], P0[MOST * MOST];
    long double bound; /* in double, of means and covariances                  */
    double *y;    /* (B, T, ny)                                                */
    int per_step; /* F has a row for each step, which are the same             */
    double *rows; /* these                                                     */
} problem;

/** What the library returns, in double: (B, T, ..), and of the prior (B, ..). */
typedef struct results {
    double *mean, *cov, *var, *lag, *prior_mean, *prior_cov, *loglik;
    ks_info info;
} results;

typedef struct lengthy { long double x[MOST], C[MOST * MOST]; } lengthy;

/** a (n, n) <- its inverse, by Gauss-Jordan elimination with row pivots. */
static void invert(int n, long double *a)
{
    long double b[MOST * MOST] = { 0 };
    for (int i = 0; i < n; ++i) b[i * n + i] = 1;
    for (int c = 0; c < n; ++c) {
        int p = c;
        for (int i = c; i < n; ++i)
            if (fabsl(a[i * n + c]) > fabsl(a[p * n + c])) p = i;
        for (int j = 0; j < n; ++j) {
            const long double s = a[c * n + j], t = b[c * n + j];
            a[c * n + j] = a[p * n + j], a[p * n + j] = s;
            b[c * n + j] = b[p * n + j], b[p * n + j] = t;
        }
        const long double pivot = 1 / a[c * n + c];
        for (int j = 0; j < n; ++j) a[c * n + j] *= pivot, b[c * n + j] *= pivot;
        for (int i = 0; i < n; ++i) {
            const long double f = a[i * n + c];
            for (int j = 0; i != c && j < n; ++j) a[i * n + j] -= f * a[c * n + j], b[i * n + j] -= f * b[c * n + j];
        }
    }
    memcpy(a, b, sizeof(long double) * (size_t)(n * n));
}

/** Modes that shrink by `slow` to `fast` in each step, mixed; numbers are floats, so that both precisions solve one
 *  problem. */
static problem *make(int nx, int64_t T, int64_t B, double slow, double fast, int per_step)
{
    problem *p = zeroed(1, sizeof *p);
    source s = { 77 };
    long double V[MOST * MOST], W[MOST * MOST];
    p->nx = nx;
    p->ny = nx == 1 ? 1 : 2;
    p->T = T;
    p->B = B;
    p->per_step = per_step;
    p->bound = 1e-7L;
    for (int i = 0; i < nx * nx; ++i) V[i] = W[i] = (i % (nx + 1) == 0) + 0.3L * (long double)(uniform(&s) - 0.5);
    invert(nx, W);
    for (int i = 0; i < nx; ++i)
        for (int j = 0; j < nx; ++j) {
            long double sum = 0;
            for (int l = 0; l < nx; ++l) {
                const double at = nx == 1 ? 1 : (double)l / (nx - 1);
                sum += V[i * nx + l] * (long double)(slow + (fast - slow) * at) * W[l * nx + j];
            }
            p->F[i * nx + j] = (double)(float)sum;
        }
    for (int i = 0; i < nx; ++i) p->u[i] = 1 + i, p->P0[i * (nx + 1)] = 100;
    for (int i = 0; i < p->ny * nx; ++i) p->H[i] = (double)(float)normal(&s);
    for (int i = 0; i < p->ny; ++i) p->R[i * (p->ny + 1)] = (double)(float)0.01;
    p->y = zeroed((size_t)(B * T * p->ny), sizeof(double));
    for (int64_t b = 0; b < B; ++b) {
        double x[MOST], next[MOST];
        for (int i = 0; i < nx; ++i) x[i] = 10 * normal(&s);
        for (int64_t k = 0; k < T; ++k) {
            for (int i = 0; i < nx; ++i) {
                next[i] = p->u[i];
                for (int j = 0; j < nx; ++j) next[i] += p->F[i * nx + j] * x[j];
            }
            memcpy(x, next, sizeof x);
            for (int a = 0; a < p->ny; ++a) {
                double y = 0.1 * normal(&s);
                for (int j = 0; j < nx; ++j) y += p->H[a * nx + j] * x[j];
                p->y[(b * T + k) * p->ny + a] = k % 11 == 5 ? (double)NAN : (double)(float)y;
            }
        }
    }
    if (per_step) {
        p->rows = zeroed((size_t)(T * nx * nx), sizeof(double));
        for (int64_t k = 0; k < T; ++k) memcpy(p->rows + k * nx * nx, p->F, sizeof(double) * (size_t)(nx * nx));
    }
    return p;
}

static void drop(problem *p)
{
    free(p->rows);
    free(p->y);
    free(p);
}

/** The state before the first step given series b. */
static lengthy regress(const problem *p, int64_t b)
{
    const int n = p->nx;
    lengthy prior = { { 0 }, { 0 } };
    long double A[MOST * MOST] = { 0 }, c[MOST] = { 0 }, eta[MOST] = { 0 };
    for (int i = 0; i < n; ++i) {
        A[i * (n + 1)] = 1;
        prior.C[i * (n + 1)] = 1 / (long double)p->P0[i * (n + 1)];
    }
    for (int64_t k = 0; k < p->T; ++k) {
        long double next[MOST * MOST], shift[MOST];
        for (int i = 0; i < n; ++i) {
            shift[i] = (long double)p->u[i];
            for (int l = 0; l < n; ++l) shift[i] += (long double)p->F[i * n + l] * c[l];
            for (int j = 0; j < n; ++j) {
                next[i * n + j] = 0;
                for (int l = 0; l < n; ++l) next[i * n + j] += (long double)p->F[i * n + l] * A[l * n + j];
            }
        }
        memcpy(A, next, sizeof A);
        memcpy(c, shift, sizeof c);
        for (int a = 0; a < p->ny; ++a) {
            const double y = p->y[(b * p->T + k) * p->ny + a];
            const long double weight = 1 / (long double)p->R[a * (p->ny + 1)];
            long double h[MOST] = { 0 }, r = (long double)y;
            if (isnan(y)) continue;
            for (int l = 0; l < n; ++l) {
                r -= (long double)p->H[a * n + l] * c[l];
                for (int j = 0; j < n; ++j) h[j] += (long double)p->H[a * n + l] * A[l * n + j];
            }
            for (int i = 0; i < n; ++i) {
                eta[i] += weight * h[i] * r;
                for (int j = 0; j < n; ++j) prior.C[i * n + j] += weight * h[i] * h[j];
            }
        }
    }
    invert(n, prior.C);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) prior.x[i] += prior.C[i * n + j] * eta[j];
    return prior;
}

/** The state of one step to that of the next; lag (n, n) <- the covariance of both. */
static void advance(const problem *p, lengthy *at, long double *lag)
{
    const int n = p->nx;
    lengthy next = { { 0 }, { 0 } };
    for (int i = 0; i < n; ++i) {
        next.x[i] = (long double)p->u[i];
        for (int j = 0; j < n; ++j) {
            next.x[i] += (long double)p->F[i * n + j] * at->x[j];
            lag[i * n + j] = 0;
            for (int l = 0; l < n; ++l) lag[i * n + j] += (long double)p->F[i * n + l] * at->C[l * n + j];
        }
    }
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
            for (int l = 0; l < n; ++l) next.C[i * n + j] += lag[i * n + l] * (long double)p->F[j * n + l];
    *at = next;
}

static void *copy_as(ks_precision precision, const double *from, size_t count)
{
    void *to = zeroed(count, sizeof(double));
    for (size_t i = 0; i < count; ++i)
        if (precision == KS_F32) ((float *)to)[i] = (float)from[i];
        else ((double *)to)[i] = from[i];
    return to;
}

static void widen(ks_precision precision, double *data, size_t count)
{
    for (size_t i = count; precision == KS_F32 && i-- > 0;) {
        float value;
        memcpy(&value, (char *)data + i * sizeof value, sizeof value);
        data[i] = (double)value;
    }
}

/** What is asked for: without covariances the sequential method goes by checkpoints, and with means and covariances
 *  alone series of one model go together. */
enum { NO_COVS, ALL, ESTIMATES, CHOICES };

/** Smooth by `method`. */
static results smooth(const problem *p, ks_method method, ks_scan_algorithm scan, ks_precision precision, int threads,
                      int choice)
{
    const int whole = choice != NO_COVS, more = choice != ESTIMATES;
    const size_t n = (size_t)p->nx, m = (size_t)p->ny, T = (size_t)p->T, B = (size_t)p->B;
    const int64_t nn = p->nx * p->nx;
    void *F = p->per_step ? copy_as(precision, p->rows, T * n * n) : copy_as(precision, p->F, n * n);
    void *Q = copy_as(precision, p->Q, n * n), *u = copy_as(precision, p->u, n);
    void *H = copy_as(precision, p->H, m * n), *R = copy_as(precision, p->R, m * m);
    void *m0 = copy_as(precision, p->m0, n), *P0 = copy_as(precision, p->P0, n * n);
    void *y = copy_as(precision, p->y, B * T * m);
    ks_model model = KS_MODEL_INIT;
    model.F = (ks_view){ F, p->per_step ? nn : 0, 0 };
    model.Q.data = Q, model.u.data = u, model.H.data = H, model.R.data = R, model.m0.data = m0, model.P0.data = P0;
    results r = { zeroed(B * T * n, 8), whole ? zeroed(B * T * n * n, 8) : NULL, NULL, NULL, NULL, NULL,
                  zeroed(B, 8), KS_INFO_INIT };
    if (more) {
        r.var = zeroed(B * T * n, 8), r.lag = zeroed(B * T * n * n, 8);
        r.prior_mean = zeroed(B * n, 8), r.prior_cov = zeroed(B * n * n, 8);
    }
    ks_smooth_options options = KS_SMOOTH_OPTIONS_INIT;
    options.method = method;
    options.scan = scan;
    options.precision = precision;
    const unsigned others = KS_OUT_SMOOTHED_VAR | KS_OUT_LAG_ONE_COV | KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV;
    options.outputs = KS_OUT_SMOOTHED_MEAN | KS_OUT_LOGLIK | (whole ? KS_OUT_SMOOTHED_COV : 0u) | (more ? others : 0u);
    ks_outputs outputs = KS_OUTPUTS_INIT;
    const int64_t steps = p->T;
    outputs.smoothed_mean = (ks_out){ r.mean, p->nx, steps * p->nx };
    if (whole) outputs.smoothed_cov = (ks_out){ r.cov, nn, steps * nn };
    if (more) {
        outputs.smoothed_var = (ks_out){ r.var, p->nx, steps * p->nx };
        outputs.lag_one_cov = (ks_out){ r.lag, nn, steps * nn };
        outputs.prior_mean = (ks_out){ r.prior_mean, 0, p->nx };
        outputs.prior_cov = (ks_out){ r.prior_cov, 0, nn };
    }
    outputs.loglik = (ks_out){ r.loglik, 0, 1 };
    ks_context *context = NULL;
    ks_smooth_plan *plan = NULL;
    ks_context_options resources = KS_CONTEXT_OPTIONS_INIT;
    resources.threads = threads;
    assert_int_equal(ks_context_create(&context, &resources), KS_OK);
    assert_int_equal(ks_smooth_plan_create(&plan, context, p->T, p->B, p->nx, p->ny, &options), KS_OK);
    void *work = aligned_alloc(64, (ks_smooth_workspace_bytes(plan) + 63) / 64 * 64);
    assert_non_null(work);
    const ks_status status =
        ks_smooth_run(plan, &model, (ks_view){ y, p->ny, steps * p->ny }, &outputs, work, &r.info);
    assert_int_equal(status, r.info.status);
    if (method != KS_METHOD_SCAN_RTS) assert_int_equal(status, KS_OK);
    ks_smooth_plan_destroy(plan);
    ks_context_destroy(context);
    void *arrays[] = { work, F, Q, u, H, R, m0, P0, y };
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; ++i) free(arrays[i]);
    const ks_precision covs = precision == KS_MIXED ? KS_F32 : precision;
    widen(precision, r.mean, B * T * n);
    if (whole) widen(covs, r.cov, B * T * n * n);
    widen(covs, r.var, more ? B * T * n : 0);
    widen(covs, r.lag, more ? B * T * n * n : 0);
    widen(precision, r.prior_mean, more ? B * n : 0);
    widen(covs, r.prior_cov, more ? B * n * n : 0);
    return r;
}

static void drop_results(results *r)
{
    free(r->mean), free(r->cov), free(r->var), free(r->lag), free(r->prior_mean), free(r->prior_cov), free(r->loglik);
}

/* Bounds are those of the golden cases for singular covariances. */

/** What standard deviations must exceed to be looked at: their squares are numbers. */
static long double least(ks_precision precision) { return precision != KS_F64 ? 1e-15L : 1e-140L; }

static void check_mean(const problem *p, const lengthy *at, const double *mean, ks_precision precision, int64_t k)
{
    const long double eps = precision == KS_F32 ? (long double)FLT_EPSILON : (long double)DBL_EPSILON;
    const long double bound = precision != KS_F64 ? 5e-2L : p->bound;
    for (int i = 0; i < p->nx; ++i) {
        const long double sd = sqrtl(at->C[i * (p->nx + 1)]), off = fabsl((long double)mean[i] - at->x[i]);
        if (!(off <= bound * sd + 64 * eps * fabsl(at->x[i])))
            fail_msg("nx = %d, T = %lld, step %lld: mean %d is %Lg sd off", p->nx, (long long)p->T, (long long)k, i,
                     off / sd);
    }
}

/** A covariance of the states a and b, with standard deviations that are those of a and of b. */
static void check_cov(const problem *p, const lengthy *a, const lengthy *b, const long double *expected,
                      const double *cov, ks_precision precision, int64_t k)
{
    const int n = p->nx;
    const long double bound = precision != KS_F64 ? 5e-2L : p->bound;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            const long double s = sqrtl(a->C[i * (n + 1)]), t = sqrtl(b->C[j * (n + 1)]);
            if (s < least(precision) || t < least(precision)) continue;
            const long double off = fabsl((long double)cov[i * n + j] - expected[i * n + j]) / (s * t);
            if (!(off <= bound))
                fail_msg("nx = %d, T = %lld, step %lld: covariance (%d, %d) is %Lg off", n, (long long)p->T,
                         (long long)k, i, j, off);
        }
}

static void agrees(const problem *p, const results *r, ks_precision precision)
{
    const int n = p->nx;
    for (int64_t b = 0; b < p->B; ++b) {
        lengthy at = regress(p, b);
        if (r->prior_mean) {
            check_mean(p, &at, r->prior_mean + b * n, precision, -1);
            check_cov(p, &at, &at, at.C, r->prior_cov + b * n * n, precision, -1);
        }
        for (int64_t k = 0; k < p->T; ++k) {
            const lengthy before = at;
            const int64_t row = b * p->T + k;
            long double lag[MOST * MOST];
            double variances[MOST * MOST] = { 0 };
            advance(p, &at, lag);
            check_mean(p, &at, r->mean + row * n, precision, k);
            if (r->lag) check_cov(p, &at, &before, lag, r->lag + row * n * n, precision, k);
            if (r->cov) check_cov(p, &at, &at, at.C, r->cov + row * n * n, precision, k);
            for (int i = 0; r->var && i < n; ++i) {
                for (int j = 0; j < n; ++j) variances[i * n + j] = (double)at.C[i * n + j];
                variances[i * (n + 1)] = r->var[row * n + i];
            }
            if (r->var) check_cov(p, &at, &at, at.C, variances, precision, k);
        }
    }
}

static void run(int nx, int64_t T, int64_t B, double slow, double fast, int per_step, ks_method method,
                ks_precision precision, int threads)
{
    problem *p = make(nx, T, B, slow, fast, per_step);
    for (int choice = 0; choice < CHOICES; ++choice) {
        results r = smooth(p, method, KS_SCAN_CHUNKED, precision, threads, choice);
        agrees(p, &r, precision);
        drop_results(&r);
    }
    drop(p);
}

static const int sizes[] = { 1, 2, 3, 4, 5, 6, 8, 12, 14 };
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static void one_series(ks_precision precision)
{
    static const int64_t lengths[] = { 1, 7, 20, 40, 300 };
    for (int i = 0; i < SIZES; ++i)
        for (size_t t = 0; t < sizeof lengths / sizeof lengths[0]; ++t)
            for (int per_step = 0; per_step < 2; ++per_step) {
                run(sizes[i], lengths[t], 1, 0.95, 0.5, per_step, KS_METHOD_SEQUENTIAL, precision, 1);
                run(sizes[i], lengths[t], 1, 1, 0.3, per_step, KS_METHOD_SEQUENTIAL, precision, 1);
                run(sizes[i], lengths[t], 1, 0.99, 0.9, per_step, KS_METHOD_SEQUENTIAL, precision, 1);
            }
}

static void one_series_in_double(void **state)
{
    (void)state;
    one_series(KS_F64);
}

static void one_series_in_single(void **state)
{
    (void)state;
    one_series(KS_F32);
}

/** Covariances in single precision; means in double must not lose more than these. */
static void one_series_in_mixed(void **state)
{
    (void)state;
    one_series(KS_MIXED);
}

/** Two blocks of the progress function, and what underflows. */
static void long_series(void **state)
{
    (void)state;
    run(1, 9000, 1, 0.9, 0.9, 0, KS_METHOD_SEQUENTIAL, KS_F64, 1);
    run(4, 9000, 1, 1, 0.99, 0, KS_METHOD_SEQUENTIAL, KS_F64, 1);
}

static void from_both_ends(void **state)
{
    (void)state;
    for (int i = 0; i < SIZES; ++i)
        for (int threads = 1; threads < 3; ++threads) {
            run(sizes[i], 40, 1, 0.95, 0.5, 0, KS_METHOD_TWO_ENDED, KS_F64, threads);
            run(sizes[i], 300, 1, 1, 0.3, 1, KS_METHOD_TWO_ENDED, KS_F64, threads);
            run(sizes[i], 60, 3, 0.99, 0.9, 0, KS_METHOD_TWO_ENDED, KS_F64, threads);
        }
}

static void left_to_the_library(void **state)
{
    (void)state;
    run(4, 6000, 1, 0.999, 0.9, 1, KS_METHOD_AUTO, KS_F64, 2);
    run(14, 600, 1, 0.99, 0.8, 1, KS_METHOD_AUTO, KS_F64, 2);
    run(4, 6000, 1, 0.999, 0.9, 1, KS_METHOD_AUTO, KS_F64, 8); /* begins with a scan in chunks */
}

/** In packs where the model varies, together where it is one. */
static void several_series(void **state)
{
    (void)state;
    for (int i = 0; i < SIZES; ++i)
        for (int per_step = 0; per_step < 2; ++per_step) {
            run(sizes[i], 40, 6, 0.95, 0.5, per_step, KS_METHOD_SEQUENTIAL, KS_F64, 1);
            run(sizes[i], 200, 11, 1, 0.3, per_step, KS_METHOD_SEQUENTIAL, KS_F64, 1);
            run(sizes[i], 100, 9, 0.95, 0.9, per_step, KS_METHOD_SEQUENTIAL, KS_F32, 1);
            run(sizes[i], 40, 6, 0.95, 0.5, per_step, KS_METHOD_SEQUENTIAL, KS_MIXED, 1);
            run(sizes[i], 200, 11, 1, 0.3, per_step, KS_METHOD_SEQUENTIAL, KS_MIXED, 1);
            run(sizes[i], 100, 9, 0.95, 0.9, per_step, KS_METHOD_SEQUENTIAL, KS_MIXED, 1);
        }
}

/** Steps of these stay in the ordinary form, where series that share a model follow a leader, which has no mean: what
 *  is sharp is so beside the followers' means alone. */
static void followers(void **state)
{
    static const ks_precision precisions[] = { KS_F64, KS_F32, KS_MIXED };
    (void)state;
    for (int nx = 4; nx < 7; ++nx)
        for (int i = 0; i < 3; ++i) {
            problem *p = make(nx, 400, 9, 0.9, 0.9, 0);
            for (int j = 0; j < nx; ++j) p->P0[j * (nx + 1)] = 0.1;
            results r = smooth(p, KS_METHOD_SEQUENTIAL, KS_SCAN_CHUNKED, precisions[i], 1, ESTIMATES);
            agrees(p, &r, precisions[i]);
            drop_results(&r);
            drop(p);
        }
}

/** Scans of smoothing elements are right, and must be up to `most` steps, or refuse, and must from `least` on. */
static void scan(int nx, int64_t T, double slow, double fast, ks_precision precision, int64_t most, int64_t least)
{
    static const ks_scan_algorithm scans[] = { KS_SCAN_CHUNKED, KS_SCAN_HILLIS_STEELE, KS_SCAN_BLELLOCH,
                                               KS_SCAN_LADNER_FISCHER, KS_SCAN_SENGUPTA };
    problem *p = make(nx, T, 1, slow, fast, nx % 2);
    /* Means may be off by 1e-8, covariances lose some hundred times as much, and the prior is one contraction on. */
    p->bound = 1e-5L;
    for (int i = 0; i < 5; ++i) {
        const int other = (i + (int)T) % 2;
        results r = smooth(p, KS_METHOD_SCAN_RTS, scans[i], precision, 1 + other, other ? NO_COVS : ALL);
        if (r.info.status == KS_OK) {
            assert_true(T < least);
            agrees(p, &r, precision);
        } else {
            assert_true(T > most);
            assert_int_equal(r.info.status, KS_EREFUSED);
            assert_int_equal(r.info.array, KS_ARRAY_ESTIMATE);
            assert_int_equal(r.info.fault, KS_FAULT_ILL_CONDITIONED);
            assert_int_equal(r.info.suggestion, KS_METHOD_SEQUENTIAL);
            assert_in_range(r.info.step, 0, T - 1);
            assert_true(r.info.value > 1e-8);
        }
        drop_results(&r);
    }
    drop(p);
}

static void by_scans(void **state)
{
    static const int64_t lengths[] = { 1, 3, 7, 12, 15, 18, 25, 30, 60, 200, 600 };
    (void)state;
    for (int i = 0; i < SIZES; ++i)
        for (size_t t = 0; t < sizeof lengths / sizeof lengths[0]; ++t) {
            scan(sizes[i], lengths[t], 0.95, 0.5, KS_F64, 7, 600);
            scan(sizes[i], lengths[t], 1, 0.3, KS_F64, 3, sizes[i] > 1 ? 60 : 1000);
            scan(sizes[i], lengths[t], 0.99, 0.9, KS_F64, 12, 4000);
            scan(sizes[i], lengths[t], 0.95, 0.5, KS_F32, 7, 600);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_series_in_double), cmocka_unit_test(one_series_in_single),
        cmocka_unit_test(one_series_in_mixed),  cmocka_unit_test(long_series),
        cmocka_unit_test(from_both_ends),       cmocka_unit_test(left_to_the_library),  cmocka_unit_test(several_series),
        cmocka_unit_test(followers),            cmocka_unit_test(by_scans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
