/* test_length.c -- long series lose no accuracy: the log-likelihood of the whole and estimates from its
 * middle against the same arithmetic in long double. usage: test_length [STEPS], 1e5 unless told.
 *
 * The model forgets fast, so the reference smooths back to the middle from WINDOW steps behind it, where
 * it takes the filtered estimate for the smoothed one. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <kalscan/smooth.h>
#include "hd.h"

#define KS_NUM long double
#define KS_T(name) name##_long
#define KS_LIT(x) ((long double)(x))
#define KS_SQRT(x) sqrtl(x)
#define KS_MASK int
#define KS_GT(a, b) ((a) > (b))
#define KS_SELECT(m, a, b) ((m) ? (a) : (b))
#define KS_ALL(m) (m)
#define KS_EPS ((double)LDBL_EPSILON / 2)
#define KS_GROWTH 1e5
#include "smallmat_text.h"
#include "step_text.h"
#include "num_end.h"

enum { NX = 3, NY = 2, WINDOW = 3000, COMPARED = 50 };

static int64_t steps = 100000;
static double F[NX * NX] = { 0.9, 0.3, 0, -0.3, 0.9, 0.1, 0, 0, 0.97 };
static double Q[NX * NX] = { 0.5, 0.1, 0, 0.1, 0.4, 0.05, 0, 0.05, 0.2 }, u[NX] = { 0.1, 0, -0.05 };
static double H[NY * NX] = { 1, 0, 0.5, 0, 1, 1 }, R[NY * NY] = { 0.7, 0.2, 0.2, 0.9 };
static double d[NY] = { 40, -25 }, m0[NX] = { 1, 2, 3 };
static double P0[NX * NX] = { 2, 0, 0, 0, 2, 0, 0, 0, 2 };

static long double in_long(double x) { return (long double)x; }

static uint64_t generator = 1;

static double uniform(void)
{
    generator = generator * 6364136223846793005u + 1442695040888963407u;
    return (double)(generator >> 11) / 9007199254740992.0;
}

/** Mean 0, variance 1, nearly normal. */
static double noise(void)
{
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
}

/** A series of the model but for the correlations of its noise, one entry in ten missing. */
static double *series(void)
{
    double *y = malloc((size_t)steps * NY * sizeof *y), x[NX] = { 0 };
    assert_non_null(y);
    for (int64_t k = 0; k < steps; ++k) {
        double next[NX];
        for (int i = 0; i < NX; ++i) {
            next[i] = u[i] + sqrt(Q[i * NX + i]) * noise();
            for (int j = 0; j < NX; ++j) next[i] += F[i * NX + j] * x[j];
        }
        memcpy(x, next, sizeof x);
        for (int i = 0; i < NY; ++i) {
            double *at = &y[k * NY + i];
            *at = d[i] + sqrt(R[i * NY + i]) * noise();
            for (int j = 0; j < NX; ++j) *at += H[i * NX + j] * x[j];
            if (uniform() < 0.1) *at = (double)NAN;
        }
    }
    return y;
}

typedef struct estimate {
    long double x[NX], P[NX * NX];
} estimate;

/** Smoothed estimates of COMPARED steps from the middle on, and the log-likelihood. */
typedef struct reference {
    estimate smoothed[COMPARED];
    long double loglik;
} reference;

static void widen(int count, const double *from, long double *to)
{
    for (int i = 0; i < count; ++i) to[i] = in_long(from[i]);
}

/** The model in long double. */
typedef struct model_long {
    long double F[NX * NX], Q[NX * NX], u[NX];
} model_long;

/** One filter step of those entries of y that are there; returns twice its negative log-likelihood. */
static long double filter_step(const model_long *m, int first, const double *y, estimate *e)
{
    static long double W[1000], G[NY * NX], Z[NY * NX];
    long double xp[NX], Pp[NX * NX], h[NY * NX], r[NY * NY], dd[NY], yy[NY], v[NY], S[NY * NY], D[NY];
    int present[NY], count = 0;
    for (int i = 0; i < NY; ++i)
        if (y[i] == y[i]) present[count++] = i;
    for (int i = 0; i < count; ++i) {
        yy[i] = in_long(y[present[i]]);
        dd[i] = in_long(d[present[i]]);
        widen(NX, H + present[i] * NX, h + i * NX);
        for (int j = 0; j < count; ++j) r[i * count + j] = in_long(R[present[i] * NY + present[j]]);
    }
    memcpy(xp, e->x, sizeof xp);
    memcpy(Pp, e->P, sizeof Pp);
    if (!first) ks_predict_long(NX, m->F, m->Q, m->u, e->x, e->P, xp, Pp, W);
    ks_mirror_long(NX, Pp);
    memcpy(e->x, xp, sizeof xp);
    memcpy(e->P, Pp, sizeof Pp);
    if (count == 0) return 0;
    const long double times = ks_noise_times_in_long(count, r, count, S, D);
    assert_true(ks_innovation_long(NX, count, h, r, times, dd, yy, xp, Pp, G, S, D, v, W));
    ks_posterior_long(NX, count, G, D, v, xp, Pp, e->x, e->P, Z);
    long double sum = 0;
    for (int i = 0; i < count; ++i)
        sum += logl(2 * acosl(-1) * S[i * count + i]) + v[i] * v[i] * D[i];
    return sum;
}

static reference reference_of(const double *y)
{
    static reference to;
    static estimate kept[WINDOW + 1];
    static long double W[1000];
    const int64_t middle = steps / 2;
    model_long m;
    estimate e;
    long double xn[NX], Pn[NX * NX], ET[NX * NX];
    widen(NX * NX, F, m.F);
    widen(NX * NX, Q, m.Q);
    widen(NX, u, m.u);
    widen(NX, m0, e.x);
    widen(NX * NX, P0, e.P);
    to.loglik = 0;
    for (int64_t k = 0; k < steps; ++k) {
        to.loglik -= filter_step(&m, k == 0, y + k * NY, &e) / 2;
        if (k >= middle && k <= middle + WINDOW) kept[k - middle] = e;
    }
    e = kept[WINDOW];
    for (int i = WINDOW - 1; i >= 0; --i) {
        assert_true(ks_smooth_back_long(NX, m.F, m.Q, m.u, kept[i].x, kept[i].P, e.x, e.P, xn, Pn,
                                        ET, W));
        memcpy(e.x, xn, sizeof xn);
        memcpy(e.P, Pn, sizeof Pn);
        if (i < COMPARED) to.smoothed[i] = e;
    }
    return to;
}

/** The errors of a method: of means in standard deviations, of covariances in products of two, and of
 *  the log-likelihood relative to it. */
static void check(ks_method method, int threads, const double *y, const reference *expected)
{
    double *mean = malloc((size_t)steps * NX * sizeof *mean), loglik = 0;
    double *cov = malloc((size_t)steps * NX * NX * sizeof *cov);
    assert_true(mean && cov);
    ks_model model = KS_MODEL_INIT;
    model.F.data = F, model.Q.data = Q, model.u.data = u;
    model.H.data = H, model.R.data = R, model.d.data = d;
    model.m0.data = m0, model.P0.data = P0, model.prior = KS_PRIOR_X1;
    ks_context *context = NULL;
    ks_context_options resources = KS_CONTEXT_OPTIONS_INIT;
    resources.threads = threads;
    assert_int_equal(ks_context_create(&context, &resources), KS_OK);
    ks_smooth_options options = KS_SMOOTH_OPTIONS_INIT;
    options.method = method;
    options.outputs = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_LOGLIK;
    ks_smooth_plan *plan = NULL;
    assert_int_equal(ks_smooth_plan_create(&plan, context, steps, 1, NX, NY, &options), KS_OK);
    ks_outputs outputs = KS_OUTPUTS_INIT;
    outputs.smoothed_mean = (ks_out){ mean, NX, 0 };
    outputs.smoothed_cov = (ks_out){ cov, NX * NX, 0 };
    outputs.loglik = (ks_out){ &loglik, 0, 0 };
    void *work = aligned_alloc(64, (ks_smooth_workspace_bytes(plan) + 63) / 64 * 64);
    assert_non_null(work);
    assert_int_equal(ks_smooth_run(plan, &model, (ks_view){ y, NY, 0 }, &outputs, work, NULL), KS_OK);
    double worst_mean = 0, worst_cov = 0;
    for (int k = 0; k < COMPARED; ++k)
        for (int i = 0; i < NX; ++i) {
            const estimate *e = &expected->smoothed[k];
            const int64_t at = steps / 2 + k;
            const double sd = (double)sqrtl(e->P[i * NX + i]);
            worst_mean = fmax(worst_mean, (double)fabsl(in_long(mean[at * NX + i]) - e->x[i]) / sd);
            for (int j = 0; j < NX; ++j)
                worst_cov = fmax(worst_cov,
                                 (double)fabsl(in_long(cov[(at * NX + i) * NX + j]) - e->P[i * NX + j]) /
                                     (sd * (double)sqrtl(e->P[j * NX + j])));
        }
    const double error = (double)fabsl((in_long(loglik) - expected->loglik) / expected->loglik);
    printf("%lld steps, %s: mean %.1e sd, cov %.1e, log-likelihood %.1e\n", (long long)steps,
           ks_method_name(method), worst_mean, worst_cov, error);
    free(work);
    free(mean);
    free(cov);
    ks_smooth_plan_destroy(plan);
    ks_context_destroy(context);
    assert_true(worst_mean < 1e-13);
    assert_true(worst_cov < 1e-13);
    assert_true(error < 1e-12);
}

static void every_method(void **state)
{
    (void)state;
    double *y = series();
    const reference expected = reference_of(y);
    check(KS_METHOD_SEQUENTIAL, 1, y, &expected);
    check(KS_METHOD_TWO_ENDED, 2, y, &expected);
    check(KS_METHOD_BLOCKTRI, 2, y, &expected);
    check(KS_METHOD_SCAN_RTS, 2, y, &expected);
    free(y);
}

int main(int argc, char **argv)
{
    if (argc > 1) steps = (int64_t)strtod(argv[1], NULL);
    if (steps < 2 * WINDOW) return 2;
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_method) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
