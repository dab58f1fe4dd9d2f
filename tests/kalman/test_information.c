/* test_information.c -- the information filter from the right and the way back out, range by range: against the scans'
 * elements, and any middle, either form and any passage through the transitions give the same answer. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "models.h"
#include "run_case.h"
#include "textbook.h"
#include "two_ended.h"

/** Series 0 of g in double, as the steps see it. */
static ks_series series_of(const golden *g)
{
    static const double zeros[32];
    ks_series s;
    memset(&s, 0, sizeof s);
    s.nx = g->nx;
    s.ny = g->ny;
    s.prior_x1 = g->prior == KS_PRIOR_X1;
    s.steps = g->T;
    const golden_input *from[] = { &g->F, &g->Q, &g->u, &g->H, &g->R, &g->d, &g->y };
    ks_rows *to[] = { &s.F, &s.Q, &s.u, &s.H, &s.R, &s.d, &s.y };
    for (int i = 0; i < 7; ++i) {
        to[i]->base = (const char *)(from[i]->f64 ? from[i]->f64 : zeros);
        to[i]->stride = from[i]->step_stride * (int64_t)sizeof(double);
    }
    s.m0 = g->m0.f64;
    s.P0 = g->P0.f64;
    return s;
}

/** One run of the kernels over all steps, with memory of its own. */
typedef struct engine {
    const ks_kernels *kernels;
    const ks_two_ended_kernels *ends;
    ks_series series;
    double *A, *b, *K, *bound, *J, *eta;
    unsigned char *passage;
    void *work;
    ks_right_rows rows;
} engine;

static engine engine_of(const golden *g, ks_tier tier)
{
    engine e;
    const size_t n = (size_t)g->nx, T = (size_t)g->T;
    e.kernels = ks_kernels_of(KS_F64, tier);
    e.ends = ks_two_ended_kernels_of(e.kernels);
    e.series = series_of(g);
    e.A = zeroed(T * n * n, sizeof(double));
    e.b = zeroed(T * n, sizeof(double));
    e.K = zeroed(T * n * (n + 1) / 2, sizeof(double));
    e.bound = zeroed((T + KS_BOUND_STEPS) * 2 * n, sizeof(double));
    e.passage = zeroed(T, 1);
    e.J = zeroed(n * n, sizeof(double));
    e.eta = zeroed(n, sizeof(double));
    const size_t a = e.ends->scratch_bytes(g->nx, g->ny);
    const size_t b = e.kernels->scratch_bytes(g->nx, g->ny) + e.kernels->combine_bytes(g->nx);
    e.work = zeroed_work(a > b ? a : b);
    const int64_t bytes = sizeof(double);
    e.rows.A = (ks_sink){ (char *)e.A, g->nx * g->nx * bytes, 0 };
    e.rows.b = (ks_sink){ (char *)e.b, g->nx * bytes, 0 };
    e.rows.K = (ks_sink){ (char *)e.K, g->nx * (g->nx + 1) / 2 * bytes, 0 };
    e.rows.bound = (ks_sink){ (char *)e.bound, 2 * g->nx * bytes, 0 };
    e.rows.passage = (ks_sink){ (char *)e.passage, 1, 0 };
    e.rows.size = 0;
    e.rows.first = 0;
    e.rows.last = g->T - 1;
    return e;
}

static void engine_free(engine *e)
{
    void *all[] = { e->A, e->b, e->K, e->bound, e->passage, e->J, e->eta, e->work };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) free(all[i]);
}

/** The information on x[k - 1] of observations k and later, step by step, in the form asked for,
 *  turned into J and eta. */
static void information_before(engine *e, int64_t k, ks_form form, double *J, double *eta,
                               ks_tally *tally)
{
    const int n = e->series.nx;
    ks_information information = { e->J, e->eta, form, -1, -1 };
    memset(e->J, 0, (size_t)(n * n) * sizeof(double));
    memset(e->eta, 0, (size_t)n * sizeof(double));
    *tally = ks_tally_start();
    if (k < e->series.steps)
        assert_int_equal(e->ends->inform(&e->series, k, e->series.steps, &information, &e->rows,
                                         e->work, tally),
                         0);
    memcpy(J, e->J, (size_t)(n * n) * sizeof(double));
    memcpy(eta, e->eta, (size_t)n * sizeof(double));
    if (form == KS_FORM_ORDINARY) return;
    for (int i = 0; i < n; ++i) {
        eta[i] = 0;
        for (int l = 0; l < n; ++l) eta[i] += e->J[i * n + l] * e->eta[l];
        for (int j = 0; j < n; ++j) {
            J[i * n + j] = 0;
            for (int l = 0; l < n; ++l) J[i * n + j] += e->J[i * n + l] * e->J[j * n + l];
        }
    }
}

/** J and eta of the product a[k] (+) ... (+) a[T - 1] of filtering elements are the information of
 *  y[k..] on x[k - 1]: Sarkka & Garcia-Fernandez, eq. 42-46. */
static void information_of_elements(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 1, 1 }, { 2, 1 }, { 3, 2 }, { 4, 2 }, { 5, 7 }, { 6, 3 },
                                    { 9, 4 } };
    for (size_t c = 0; c < sizeof sizes / sizeof sizes[0]; ++c)
        for (int form = 0; form < 2; ++form) {
            const int n = sizes[c][0], half = n * (n + 1) / 2;
            golden *g = model_random((model_spec){ 140 + c, 24, 1, n, sizes[c][1], KS_PRIOR_X0,
                                                   VARIES_ALL | MISSING });
            engine e = engine_of(g, KS_TIER_AUTO);
            const size_t size = e.kernels->filter_element_bytes(n);
            double *suffix = zeroed(1, size), *element = zeroed(1, size);
            double J[81], eta[9], scale[9];
            e.kernels->filter_neutral(n, suffix);
            for (int64_t k = g->T - 1; k >= 1; --k) {
                ks_tally tally = ks_tally_start();
                const ks_sink to = { (char *)element, 0, 0 };
                const ks_combine_job job = { .lanes = 1, .chain = 1, .dst = (char *)suffix,
                                             .lhs = (const char *)element,
                                             .rhs = (const char *)suffix };
                assert_int_equal(e.kernels->filter_elements(&e.series, k, k + 1, to, e.work,
                                                            &tally), 0);
                e.kernels->filter_combine(n, &job, e.work);
                information_before(&e, k, (ks_form)form, J, eta, &tally);
                const double *of_element = suffix + n * n + n + half;
                for (int i = 0; i < n; ++i) scale[i] = sqrt(J[i * n + i]) + 1e-12;
                for (int i = 0; i < n; ++i) {
                    assert_true(fabs(eta[i] - of_element[i]) <=
                                1e-10 * scale[i] * (1 + fabs(eta[i])));
                    for (int j = 0; j <= i; ++j)
                        assert_true(fabs(J[i * n + j] - of_element[n + i * (i + 1) / 2 + j]) <=
                                    1e-11 * scale[i] * scale[j]);
                }
            }
            free(suffix);
            free(element);
            engine_free(&e);
            golden_free(g);
        }
}

/** A way of the information through the transitions: the form, `size` of ks_right_rows, what varies, and the passage
 *  that most steps take with so many states or fewer; the error, in standard deviations. */
typedef struct way {
    ks_form form;
    double size;
    unsigned flags;
    ks_passage most;
    int states;
    double bound;
} way;

static void one_middle(const golden *g, const way *w, int64_t middle, ks_tier tier)
{
    enum { N = 16, T = 37 };
    const double *mean = g->expected.array[__builtin_ctz(KS_OUT_SMOOTHED_MEAN)];
    const double *cov = g->expected.array[__builtin_ctz(KS_OUT_SMOOTHED_COV)];
    const int n = g->nx;
    engine e = engine_of(g, tier);
    double x[N], C[N * N], J[N * N], eta[N], means[T * N], covs[T * N * N];
    assert_true(n <= N && g->T == T);
    ks_tally left = ks_tally_start(), right, out = ks_tally_start();
    ks_evidence met = ks_evidence_start();
    ks_state at = { x, C, KS_FORM_ORDINARY, KS_NOT_STEADY };
    ks_forward_sinks nothing;
    memset(&nothing, 0, sizeof nothing);
    const int64_t bytes = sizeof(double);
    const ks_backward_sinks to = { { (char *)means, n * bytes, 0 }, { (char *)covs, n * n * bytes, 0 },
                                   { NULL, 0, 0 }, { NULL, 0, 0 }, { NULL, 0, 0 } };
    e.rows.size = w->size;
    e.kernels->start(&e.series, &at, e.work);
    assert_int_equal(e.kernels->filter(&e.series, 0, middle + 1, &at, &nothing, e.work, &left), 0);
    information_before(&e, middle + 1, w->form, J, eta, &right);
    ks_information information = { e.J, e.eta, w->form, -1, -1 };
    e.ends->meet(n, middle, &at, &information, &e.rows, &to, e.work, &met);
    if (middle + 1 < T)
        assert_int_equal(e.ends->outward(&e.series, middle + 1, T, w->form, &at, &e.rows, &to, e.work, &out), 0);
    int64_t taken = 0;
    for (int64_t k = middle + 1; k < T; ++k) taken += e.passage[k] == w->most;
    if (n <= w->states) assert_true(2 * taken >= T - middle - n);
    for (int64_t k = middle; k < T; ++k)
        for (int i = 0; i < n; ++i) {
            const double sd = sqrt(cov[(k * n + i) * n + i]);
            assert_true(fabs(means[k * n + i] - mean[k * n + i]) <= w->bound * sd);
            for (int j = 0; j < n; ++j)
                assert_true(fabs(covs[(k * n + i) * n + j] - cov[(k * n + i) * n + j]) <=
                            w->bound * sd * sqrt(cov[(k * n + j) * n + j]));
        }
    const double loglik = ks_evidence_loglik(&left.evidence) + ks_evidence_loglik(&right.evidence) +
                          ks_evidence_loglik(&met) + ks_evidence_loglik(&out.evidence);
    assert_true(fabs(loglik - g->expected.array[0][0]) <= 1e-12 * fabs(loglik));
    engine_free(&e);
}

/** Smoothed estimate and log-likelihood do not depend on where the filters meet, nor on the form in
 *  which the information comes there, nor on its way through the transitions; the way out leads to the same
 *  estimates. */
static void any_middle(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 1, 1 }, { 2, 1 }, { 3, 2 }, { 4, 2 }, { 4, 6 }, { 5, 2 }, { 6, 3 },
                                    { 7, 3 }, { 8, 4 }, { 9, 4 }, { 12, 5 }, { 13, 6 } };
    static const way ways[] = {
        { KS_FORM_ORDINARY, 0, VARIES_ALL, KS_BY_ROOT, 8, 1e-11 },
        { KS_FORM_ORDINARY, 0, VARIES_Q, KS_BY_ROOT, 8, 1e-11 },
        { KS_FORM_ORDINARY, 0, VARIES_F, KS_BY_PRECISION, 16, 1e-11 },
        { KS_FORM_ORDINARY, (double)INFINITY, VARIES_F, KS_BY_INVERSE, 16, 1e-11 },
        { KS_FORM_ORDINARY, 0, 0, KS_BY_PRECISION, 16, 1e-11 },
        { KS_FORM_ORDINARY, 0, VARIES_R, KS_BY_PRECISION, 16, 1e-11 },
        { KS_FORM_ORDINARY, 0, VARIES_H, KS_BY_PRECISION, 16, 1e-11 },
        { KS_FORM_ARRAY, 0, VARIES_ALL, KS_BY_ROOT, 16, 1e-11 },
    };
    for (size_t c = 0; c < sizeof sizes / sizeof sizes[0]; ++c)
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; ++i) {
            golden *g = model_random((model_spec){ 150 + c, 37, 1, sizes[c][0], sizes[c][1], KS_PRIOR_X0,
                                                   ways[i].flags | MISSING });
            textbook_smooth(g);
            for (int64_t middle = 0; middle < g->T; middle += sizes[c][0] == 4 ? 1 : 6)
                one_middle(g, &ways[i], middle, middle % 2 ? KS_TIER_AUTO : KS_TIER_BASELINE);
            golden_free(g);
        }
}

/** Two states that hardly move, and only their sum observed: J is never large beside 1 / Q, but the
 *  difference stays as unknown as it was before. What the way in cannot see the way out does. */
static void judged_on_the_way_out(void **state)
{
    (void)state;
    enum { T = 60, N = 2 };
    for (int vague = 0; vague < 2; ++vague) {
        golden *g = model_random((model_spec){ 155, T, 1, N, 1, KS_PRIOR_X0, 0 });
        const double unknown = vague ? 0x1p17 : 16;
        const double F[4] = { 1, 0, 0, 1 }, H[2] = { 1, 1 };
        const double Q[4] = { 0x1p-10, 0, 0, 0x1p-10 }, P0[4] = { unknown, 0, 0, unknown };
        memcpy(g->F.f64, F, sizeof F);
        memcpy(g->Q.f64, Q, sizeof Q);
        memcpy(g->H.f64, H, sizeof H);
        memcpy(g->P0.f64, P0, sizeof P0);
        g->R.f64[0] = 1;
        model_round(g);
        engine e = engine_of(g, KS_TIER_AUTO);
        double x[N], C[N * N], J[N * N], eta[N];
        ks_tally tally = ks_tally_start(), right;
        ks_evidence met = ks_evidence_start();
        ks_state at = { x, C, KS_FORM_ORDINARY, KS_NOT_STEADY };
        ks_forward_sinks nothing;
        ks_backward_sinks nowhere;
        memset(&nothing, 0, sizeof nothing);
        memset(&nowhere, 0, sizeof nowhere);
        e.kernels->start(&e.series, &at, e.work);
        assert_int_equal(e.kernels->filter(&e.series, 0, T / 2, &at, &nothing, e.work, &tally), 0);
        information_before(&e, T / 2, KS_FORM_ORDINARY, J, eta, &right);
        ks_information information = { e.J, e.eta, KS_FORM_ORDINARY, -1, -1 };
        e.ends->meet(N, T / 2 - 1, &at, &information, &e.rows, &nowhere, e.work, &met);
        assert_int_equal(e.ends->outward(&e.series, T / 2, T, KS_FORM_ORDINARY, &at, &e.rows,
                                         &nowhere, e.work, &tally),
                         vague);
        engine_free(&e);
        golden_free(g);
    }
}

/** Observations so sharp that some steps go by a root and others, between them, by the inverse of Q. */
static void roots_among_inverses(void **state)
{
    (void)state;
    enum { T = 37, N = 13 };
    static const way by_inverse = { KS_FORM_ORDINARY, (double)INFINITY, 0, KS_BY_INVERSE, 0, 1e-9 };
    golden *g = model_random((model_spec){ 170, T, 1, N, 6, KS_PRIOR_X0, VARIES_R });
    for (int i = 0; i < N * N; ++i) g->Q.f64[i] = i % (N + 1) ? 128 : 1024;
    for (int64_t k = 0; k < T; ++k)
        for (int i = 0; i < 36; ++i) model_block(&g->R, 0, k)[i] = i % 7 ? 0 : k % 3 ? 1 : 0x1p-5;
    model_round(g);
    textbook_smooth(g);
    engine e = engine_of(g, KS_TIER_AUTO);
    double J[N * N], eta[N];
    ks_tally tally;
    int64_t roots = 0, inverses = 0;
    e.rows.size = (double)INFINITY;
    information_before(&e, 1, KS_FORM_ORDINARY, J, eta, &tally);
    for (int64_t k = 1; k < T; ++k) {
        roots += e.passage[k] == KS_BY_ROOT;
        inverses += e.passage[k] == KS_BY_INVERSE;
    }
    assert_true(roots >= 8 && inverses >= 16);
    engine_free(&e);
    for (int tier = 0; tier < 2; ++tier) one_middle(g, &by_inverse, 3, tier ? KS_TIER_AUTO : KS_TIER_BASELINE);
    golden_free(g);
}

/** Few observations after the middle, and a column of F that they see of next to nothing, since products of it and H
 *  cancel: that part of the information is round-off of the others. */
static void cancelled_information(void **state)
{
    static const unsigned made = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_LOGLIK;
    static const method_case two_ended = { .job = KS_JOB_SMOOTH, .method = KS_METHOD_TWO_ENDED };
    const golden_norm strict = { 0, false };
    (void)state;
    for (int seed = 0; seed < 60; ++seed)
        for (int p = 0; p < 2; ++p) {
            golden *g = model_random((model_spec){ 190 + (uint64_t)seed, 5 + seed % 2, 1, 4, 1, KS_PRIOR_X0, 0 });
            double *F = g->F.f64;
            const double *h = g->H.f64;
            const double left = h[0] * F[0] + h[1] * F[4] + h[2] * F[8];
            F[12] = (ldexp((seed & 1) - 0.5, -3 - seed % 12) - left) / h[3];
            for (int i = 0; i < 16; ++i) g->P0.f64[i] *= 30;
            if (g->T > 5) g->y.f64[5] = (double)NAN;
            model_round(g);
            textbook_smooth(g);
            golden_buffers *b = run_well(g, &two_ended, (ks_precision)p, 1, made, NULL);
            assert_true(golden_judge(golden_widen(b), g, made, GOLDEN_STEPS, (ks_precision)p, strict).good);
            golden_buffers_free(b);
            golden_free(g);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(information_of_elements),
        cmocka_unit_test(any_middle),
        cmocka_unit_test(judged_on_the_way_out),
        cmocka_unit_test(roots_among_inverses),
        cmocka_unit_test(cancelled_information),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
