/* test_two_ended.c -- laws of smoothing from both ends: the information filter against the scans'
 * elements, any middle and either form of the information give the same answer, R at the edge of
 * what is taken, the rule that asks for the array form, and memory of steps. */
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

static const method_case two_ended = { .job = KS_JOB_SMOOTH, .method = KS_METHOD_TWO_ENDED };
static const golden_norm strict = { 0, false };
static const unsigned outputs = KS_OUT_LOGLIK | KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV;

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
    e.J = zeroed(n * n, sizeof(double));
    e.eta = zeroed(n, sizeof(double));
    const size_t a = e.ends->scratch_bytes(g->nx, g->ny);
    const size_t b = e.kernels->scratch_bytes(g->nx, g->ny);
    e.work = zeroed(a > b ? a : b, 1);
    const int64_t bytes = sizeof(double);
    e.rows.A = (ks_sink){ (char *)e.A, g->nx * g->nx * bytes, 0 };
    e.rows.b = (ks_sink){ (char *)e.b, g->nx * bytes, 0 };
    e.rows.K = (ks_sink){ (char *)e.K, g->nx * (g->nx + 1) / 2 * bytes, 0 };
    e.rows.bound = (ks_sink){ (char *)e.bound, 2 * g->nx * bytes, 0 };
    e.rows.first = 0;
    e.rows.last = g->T - 1;
    return e;
}

static void engine_free(engine *e)
{
    void *all[] = { e->A, e->b, e->K, e->bound, e->J, e->eta, e->work };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) free(all[i]);
}

/** The information on x[k - 1] of observations k and later, step by step, in the form asked for,
 *  turned into J and eta. */
static void information_before(engine *e, int64_t k, ks_form form, double *J, double *eta,
                               ks_tally *tally)
{
    const int n = e->series.nx;
    ks_information information = { e->J, e->eta, form };
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

/** Smoothed estimate and log-likelihood do not depend on where the filters meet, nor on the form in
 *  which the information comes there; the way out leads to the same estimates. */
static void any_middle(void **state)
{
    (void)state;
    enum { T = 37, N = 4 };
    golden *g = model_random((model_spec){ 150, T, 1, N, 2, KS_PRIOR_X0,
                                           VARIES_ALL | MISSING });
    textbook_smooth(g);
    const double *mean = g->expected.array[__builtin_ctz(KS_OUT_SMOOTHED_MEAN)];
    const double *cov = g->expected.array[__builtin_ctz(KS_OUT_SMOOTHED_COV)];
    for (int64_t middle = 0; middle < T; ++middle)
        for (int form = 0; form < 2; ++form) {
            engine e = engine_of(g, middle % 2 ? KS_TIER_AUTO : KS_TIER_BASELINE);
            double x[N], C[N * N], J[N * N], eta[N], means[T][N], covs[T][N * N];
            ks_tally left = ks_tally_start(), right, out = ks_tally_start();
            ks_evidence met = ks_evidence_start();
            ks_state at = { x, C, KS_FORM_ORDINARY };
            ks_forward_sinks nothing;
            memset(&nothing, 0, sizeof nothing);
            const int64_t bytes = sizeof(double);
            const ks_backward_sinks to = { { (char *)means, N * bytes, 0 },
                                           { (char *)covs, N * N * bytes, 0 },
                                           { NULL, 0, 0 }, { NULL, 0, 0 }, { NULL, 0, 0 } };
            e.kernels->start(&e.series, &at, e.work);
            assert_int_equal(e.kernels->filter(&e.series, 0, middle + 1, &at, &nothing, e.work,
                                               &left), 0);
            information_before(&e, middle + 1, (ks_form)form, J, eta, &right);
            ks_information information = { e.J, e.eta, (ks_form)form };
            e.ends->meet(N, middle, &at, &information, &to, e.work, &met);
            if (middle + 1 < T)
                assert_int_equal(e.ends->outward(&e.series, middle + 1, T, (ks_form)form, &at,
                                                 &e.rows, &to, e.work, &out), 0);
            for (int64_t k = middle; k < T; ++k)
                for (int i = 0; i < N; ++i) {
                    const double sd = sqrt(cov[(k * N + i) * N + i]);
                    assert_true(fabs(means[k][i] - mean[k * N + i]) <= 1e-11 * sd);
                    for (int j = 0; j < N; ++j)
                        assert_true(fabs(covs[k][i * N + j] - cov[(k * N + i) * N + j]) <=
                                    1e-11 * sd * sqrt(cov[(k * N + j) * N + j]));
                }
            const double loglik = ks_evidence_loglik(&left.evidence) +
                                  ks_evidence_loglik(&right.evidence) + ks_evidence_loglik(&met) +
                                  ks_evidence_loglik(&out.evidence);
            assert_true(fabs(loglik - g->expected.array[0][0]) <= 1e-12 * fabs(loglik));
            engine_free(&e);
        }
    golden_free(g);
}

/** R = [1 1 - c; 1 - c 1]: its second pivot is 2 c, about. */
static void correlated_noise(void **state)
{
    (void)state;
    for (int p = 0; p < 2; ++p) {
        const double edge = p == KS_F64 ? 0x1p-26 : 0x1p-12;
        for (int above = 0; above < 2; ++above) {
            golden *g = model_random((model_spec){ 151, 30, 1, 2, 2, KS_PRIOR_X0, VARIES_R });
            double *R = model_block(&g->R, 0, 20);
            const double c = above ? 2 * edge : edge / 4;
            R[0] = R[3] = 1;
            R[1] = R[2] = 1 - c;
            model_round(g);
            R[1] = R[2] = 1 - c; /* in double c would not survive the rounding to float */
            textbook_smooth(g);
            golden_buffers *b = NULL;
            ks_info info = KS_INFO_INIT;
            const ks_status status = run_case(g, &two_ended, (ks_precision)p, 1, outputs, &b, &info);
            assert_int_equal(status, above ? KS_OK : KS_EREFUSED);
            if (!above) {
                assert_int_equal(info.array, KS_ARRAY_R);
                assert_int_equal(info.step, 20);
                assert_int_equal(info.row, 1);
                assert_int_equal(info.suggestion, KS_METHOD_SEQUENTIAL);
            } else {
                const golden_difference d =
                    golden_compare(golden_widen(b), &g->expected, outputs, strict);
                assert_true(d.error <= (p == KS_F64 ? 1e-7 : 5e-3));
            }
            golden_buffers_free(b);
            golden_free(g);
        }
    }
}

/** The refusal concerns the right half alone, and of several steps the lowest is told. */
static void lowest_step_of_the_right_half(void **state)
{
    (void)state;
    for (int64_t T = 3; T <= 21; ++T) {
        golden *g = model_random((model_spec){ 152, T, 1, 2, 1, KS_PRIOR_X0, VARIES_R });
        ks_info info = KS_INFO_INIT;
        golden_buffers *b = NULL;
        for (int64_t k = 0; k < T - T / 3; ++k) g->R.f64[k] = 0;
        model_round(g);
        golden_buffers_free(run_well(g, &two_ended, KS_F64, 1, outputs, NULL));
        for (int64_t k = T - 1; k >= T - T / 3; k -= 2) {
            g->R.f64[k] = 0;
            assert_int_equal(run_case(g, &two_ended, KS_F64, 1, outputs, &b, &info), KS_EREFUSED);
            golden_buffers_free(b);
            assert_int_equal(info.step, k);
        }
        golden_free(g);
    }
}

/** Two states of which only the sum is observed well: J is much larger than what is known of either,
 *  by a factor of about 4 q / r. */
static golden *sum_observed(double r, double level)
{
    golden *g = model_random((model_spec){ 153, 60, 1, 2, 1, KS_PRIOR_X0, 0 });
    const double F[4] = { 0.75, 0, 0, 0.5 }, Q[4] = { 1, 0, 0, 1 }, H[2] = { 1, 1 };
    memcpy(g->F.f64, F, sizeof F);
    memcpy(g->Q.f64, Q, sizeof Q);
    memcpy(g->H.f64, H, sizeof H);
    g->R.f64[0] = r;
    for (int64_t k = 0; k < g->T; ++k) g->y.f64[k] += level;
    model_round(g);
    textbook_smooth(g);
    return g;
}

static ks_info error_within(golden *g, ks_precision precision, double bound)
{
    ks_info info = KS_INFO_INIT;
    golden_buffers *b = run_well(g, &two_ended, precision, 1, outputs, &info);
    const golden_difference d = golden_compare(golden_widen(b), &g->expected, outputs, strict);
    if (!(d.error <= bound))
        fail_msg("%s of step %lld off by %.3g", golden_output_name(d.output), (long long)d.step,
                 d.error);
    golden_buffers_free(b);
    return info;
}

/** The information goes over to the array form where its round-off would show, and only there. */
static void array_form_where_needed(void **state)
{
    (void)state;
    for (int p = 0; p < 2; ++p) {
        const double growth = p == KS_F64 ? 1e5 : 500;
        golden *easy = sum_observed(16 / growth, 0), *hard = sum_observed(0.1 / growth, 0);
        ks_info info = error_within(easy, (ks_precision)p, p == KS_F64 ? 1e-10 : 1e-3);
        assert_true(info.array_steps <= 6);
        info = error_within(hard, (ks_precision)p, p == KS_F64 ? 1e-9 : 1e-2);
        assert_true(info.array_steps >= 30);
        golden_free(easy);
        golden_free(hard);
    }
    /* A level far from zero is no reason in double, and one in single precision. */
    golden *far = sum_observed(1, 4096);
    assert_true(error_within(far, KS_F64, 1e-9).array_steps <= 6);
    (void)error_within(far, KS_F32, 2e-2);
    golden_free(far);
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
        ks_state at = { x, C, KS_FORM_ORDINARY };
        ks_forward_sinks nothing;
        ks_backward_sinks nowhere;
        memset(&nothing, 0, sizeof nothing);
        memset(&nowhere, 0, sizeof nowhere);
        e.kernels->start(&e.series, &at, e.work);
        assert_int_equal(e.kernels->filter(&e.series, 0, T / 2, &at, &nothing, e.work, &tally), 0);
        information_before(&e, T / 2, KS_FORM_ORDINARY, J, eta, &right);
        ks_information information = { e.J, e.eta, KS_FORM_ORDINARY };
        e.ends->meet(N, T / 2 - 1, &at, &information, &nowhere, e.work, &met);
        assert_int_equal(e.ends->outward(&e.series, T / 2, T, KS_FORM_ORDINARY, &at, &e.rows,
                                         &nowhere, e.work, &tally),
                         vague);
        engine_free(&e);
        golden_free(g);
    }
}

/** Of two series side by side the one that has to be done again is, whichever it is, with the bits that it has
 *  on one thread. */
static void one_of_two_again(void **state)
{
    (void)state;
    for (int64_t vague = 0; vague < 2; ++vague) {
        golden *g = model_random((model_spec){ 156, 60, 2, 2, 1, KS_PRIOR_X0, OWN_MODELS });
        for (int64_t b = 0; b < 2; ++b) {
            const double F[4] = { 1, 0, 0, 1 }, Q[4] = { 0x1p-10, 0, 0, 0x1p-10 };
            const double unknown = b == vague ? 0x1p17 : 16, P0[4] = { unknown, 0, 0, unknown };
            double *H = model_block(&g->H, b, 0);
            memcpy(model_block(&g->F, b, 0), F, sizeof F);
            memcpy(model_block(&g->Q, b, 0), Q, sizeof Q);
            memcpy(model_block(&g->P0, b, 0), P0, sizeof P0);
            H[0] = H[1] = *model_block(&g->R, b, 0) = 1;
        }
        model_round(g);
        textbook_smooth(g);
        ks_info one = KS_INFO_INIT, four = KS_INFO_INIT;
        golden_buffers *alone = run_well(g, &two_ended, KS_F64, 1, outputs, &one);
        golden_buffers *both = run_well(g, &two_ended, KS_F64, 4, outputs, &four);
        assert_true(golden_compare(golden_widen(both), &g->expected, outputs, strict).error <= 1e-8);
        assert_int_equal(first_different(alone, both, outputs), 0);
        assert_int_equal(one.array_steps, four.array_steps);
        assert_true(four.array_steps >= 20); /* one right half */
        golden_buffers_free(alone);
        golden_buffers_free(both);
        golden_free(g);
    }
}

/** Outputs with gaps between their rows: what lies in the gaps is not touched, although what waits
 *  for the way out waits in them. */
static void strided_outputs(void **state)
{
    (void)state;
    enum { T = 9, B = 3, NX = 2, ROW = 7, SERIES = ROW * T + 5 };
    golden *g = model_random((model_spec){ 154, T, B, NX, 1, KS_PRIOR_X0, 0 });
    const ks_smooth_options o = options_of(&two_ended, KS_F64, outputs | KS_OUT_LAG_ONE_COV);
    golden_buffers *plain = run_well(g, &two_ended, KS_F64, 1, o.outputs, NULL);
    const golden_results *r = golden_widen(plain);
    static const ks_output which[3] = { KS_OUT_SMOOTHED_MEAN, KS_OUT_SMOOTHED_COV,
                                        KS_OUT_LAG_ONE_COV };
    ks_smooth_plan *plan = NULL;
    double to[3][B * SERIES], loglik[B];
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < B * SERIES; ++j) to[i][j] = -1234;
    ks_outputs out = KS_OUTPUTS_INIT;
    out.loglik = (ks_out){ loglik, 0, 1 };
    out.smoothed_mean = (ks_out){ to[0], ROW, SERIES };
    out.smoothed_cov = (ks_out){ to[1], ROW, SERIES };
    out.lag_one_cov = (ks_out){ to[2], ROW, SERIES };
    assert_int_equal(ks_smooth_plan_create(&plan, NULL, T, B, NX, 1, &o), KS_OK);
    void *work = aligned_alloc(64, (ks_smooth_workspace_bytes(plan) + 63) / 64 * 64);
    const ks_model model = golden_model(g, KS_F64);
    assert_int_equal(ks_smooth_run(plan, &model, golden_y(g, KS_F64), &out, work, NULL), KS_OK);
    for (int i = 0; i < 3; ++i) {
        const int block = i ? NX * NX : NX;
        const double *expected = r->array[__builtin_ctz(which[i])];
        for (int b = 0; b < B; ++b)
            for (int at = 0; at < SERIES; ++at) {
                const int k = at / ROW, j = at % ROW;
                const double e =
                    k < T && j < block ? expected[(b * T + k) * block + j] : -1234;
                assert_memory_equal(&to[i][b * SERIES + at], &e, sizeof e);
            }
    }
    free(work);
    ks_smooth_plan_destroy(plan);
    golden_buffers_free(plain);
    golden_free(g);
}

/** Steps that are taken from memory where nothing but y varies are the bits of those that are
 *  computed, also around missing entries. */
static void memory_changes_no_bit(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 4, 1 }, { 4, 2 }, { 4, 5 }, { 5, 2 }, { 6, 3 }, { 8, 4 } };
    const unsigned made = outputs | KS_OUT_LAG_ONE_COV;
    for (size_t c = 0; c < sizeof sizes / sizeof sizes[0]; ++c)
        for (int p = 0; p < 2; ++p) {
            golden *g = model_random((model_spec){ 160 + c, 1500, 1, sizes[c][0], sizes[c][1],
                                                   KS_PRIOR_X1, HAS_OFFSETS });
            same_with_and_without_memory(g, &two_ended, (ks_precision)p, made);
            golden_free(g);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(information_of_elements),
        cmocka_unit_test(any_middle),
        cmocka_unit_test(correlated_noise),
        cmocka_unit_test(lowest_step_of_the_right_half),
        cmocka_unit_test(array_form_where_needed),
        cmocka_unit_test(judged_on_the_way_out),
        cmocka_unit_test(one_of_two_again),
        cmocka_unit_test(strided_outputs),
        cmocka_unit_test(memory_changes_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
