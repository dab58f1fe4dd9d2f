/* contraction.c -- see contraction.h. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "contraction.h"
#include "models.h"

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

problem *contraction_make(uint64_t seed, int nx, int64_t T, int64_t B, double slow, double fast, double offset,
                          int per_step)
{
    problem *p = zeroed(1, sizeof *p);
    source s = { seed };
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
    for (int i = 0; i < nx; ++i) p->u[i] = offset * (1 + i), p->P0[i * (nx + 1)] = 100;
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

void contraction_drop(problem *p)
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

results contraction_smooth(const problem *p, ks_method method, ks_scan_algorithm scan, ks_backend backend,
                           ks_precision precision, int threads, int choice)
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
    options.backend = backend;
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

void contraction_drop_results(results *r)
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

void contraction_agrees(const problem *p, const results *r, ks_precision precision)
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
