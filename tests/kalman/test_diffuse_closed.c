/* test_diffuse_closed.c -- priors that are infinite in some directions, where what comes out is known in closed form. */
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

static void close_to(double actual, double expected, double relative)
{
    const double bound = relative * fmax(1, fabs(expected));
    if (fabs(actual - expected) <= bound) return;
    fail_msg("%.15g, expected %.15g within %.2g", actual, expected, bound);
}

/* A constant model whose numbers are given, of which nothing is missing. */
static golden *model_of(int64_t T, int nx, int ny, const double *F, const double *Q, const double *H, const double *R,
                        const double *y)
{
    golden *g = model_random((model_spec){ 1, T, 1, nx, ny, KS_PRIOR_X1, NO_P0 });
    memcpy(g->F.f64, F, (size_t)(nx * nx) * sizeof *F);
    memcpy(g->Q.f64, Q, (size_t)(nx * nx) * sizeof *Q);
    memcpy(g->H.f64, H, (size_t)(ny * nx) * sizeof *H);
    memcpy(g->R.f64, R, (size_t)(ny * ny) * sizeof *R);
    memcpy(g->y.f64, y, (size_t)(T * ny) * sizeof *y);
    memset(g->m0.f64, 0, (size_t)nx * sizeof *g->m0.f64);
    return g;
}

/* A local linear trend: the variance of its observations, and those of level and slope as multiples of it. */
typedef struct trend { double s, qm, qb; } trend;

static golden *trend_model(const trend *t, int64_t T, const double *y)
{
    const double F[] = { 1, 1, 0, 1 }, H[] = { 1, 0 }, Q[] = { t->s * t->qm, 0, 0, t->s * t->qb };
    return model_of(T, 2, 1, F, Q, H, &t->s, y);
}

static diffuse_case filter_trend(const golden *g)
{
    static const double identity[] = { 1, 0, 0, 1 };
    diffuse_case c = { .g = g, .P0_inf = identity, .m = first_method(KS_JOB_FILTER) };
    diffuse_well(&c);
    return c;
}

/* The prediction of step k: level and slope, and of the covariance the entries of one triangle. */
static void predicted(const diffuse_case *c, int64_t k, double level, double slope, const double P[3])
{
    const golden_results *r = golden_widen(c->buffers);
    const double *mean = results_block(r, KS_OUT_PREDICTED_MEAN, 0, k);
    const double *cov = results_block(r, KS_OUT_PREDICTED_COV, 0, k);
    close_to(mean[0], level, 1e-14);
    close_to(mean[1], slope, 1e-14);
    close_to(cov[0], P[0], 1e-14);
    close_to(cov[1], P[1], 1e-14);
    close_to(cov[3], P[2], 1e-14);
}

/* Koopman 1997: a trend of which nothing is known is known from two observations. */
static void trend_of_two(void **state)
{
    (void)state;
    const trend t = { 2, 0.5, 0.25 };
    const double y[] = { 3, 5.5, 4, 7, 8, 6, 9 };
    const double P[] = { t.s * (5 + 2 * t.qm + t.qb), t.s * (3 + t.qm + t.qb), t.s * (2 + t.qm + 2 * t.qb) };
    golden *g = trend_model(&t, 7, y);
    diffuse_case c = filter_trend(g);
    predicted(&c, 2, 2 * y[1] - y[0], y[1] - y[0], P);
    /* After one observation the level is known, the slope is not; the next level is neither. */
    const golden_results *r = golden_widen(c.buffers);
    const double *first = results_block(r, KS_OUT_FILTERED_COV, 0, 0);
    const double *second = results_block(r, KS_OUT_PREDICTED_COV, 0, 1);
    close_to(first[0], t.s, 1e-14);
    close_to(first[1], 0, 1e-14);
    assert_true(isinf(first[3]) && first[3] > 0);
    for (int i = 0; i < 4; ++i) assert_true(isinf(second[i]) && second[i] > 0);
    assert_true(isnan(*results_block(r, KS_OUT_INNOVATION_STD, 0, 0)));
    assert_true(isnan(*results_block(r, KS_OUT_INNOVATION_STD, 0, 1)));
    assert_true(isfinite(*results_block(r, KS_OUT_INNOVATION_STD, 0, 2)));
    close_to(*results_block(r, KS_OUT_LOGLIK_TERMS, 0, 0), -log_2_pi / 2, 1e-14);
    close_to(*results_block(r, KS_OUT_LOGLIK_TERMS, 0, 1), -log_2_pi / 2, 1e-14);
    golden_buffers_free(c.buffers);
    golden_free(g);
}

/* The same with the second observation missing. */
static void trend_with_a_gap(void **state)
{
    (void)state;
    const trend t = { 2, 0.5, 0.25 };
    const double y[] = { 3, (double)NAN, 4, 7, 8 };
    const double P[] = { t.s * (2.5 + 1.5 * t.qm + 1.25 * t.qb), t.s * (1 + 0.5 * t.qm + 1.25 * t.qb),
                         t.s * (0.5 + 0.5 * t.qm + 2.25 * t.qb) };
    golden *g = trend_model(&t, 5, y);
    diffuse_case c = filter_trend(g);
    predicted(&c, 3, 1.5 * y[2] - 0.5 * y[0], 0.5 * y[2] - 0.5 * y[0], P);
    assert_int_equal(c.info.missing, 1);
    golden_buffers_free(c.buffers);
    golden_free(g);
}

/* Without any noise one observation tells the state to the bit, and the centre of the reference is round-off away from
 * it: what is divided out must not be narrower than that. */
static void told_exactly(void **state)
{
    (void)state;
    const double one = 1, none = 0, H = 1.2030335664749146, y[] = { 0.69383723, 2.3 };
    for (int64_t T = 1; T <= 2; ++T) {
        golden *g = model_of(T, 1, 1, &one, &one, &H, &none, y);
        diffuse_case c = { .g = g, .P0_inf = &one, .m = first_method(KS_JOB_FILTER) };
        diffuse_well(&c);
        const golden_results *r = golden_widen(c.buffers);
        close_to(*results_block(r, KS_OUT_LOGLIK_TERMS, 0, 0), -log_2_pi / 2 - log(H), 1e-14);
        close_to(*results_block(r, KS_OUT_FILTERED_MEAN, 0, 0), y[0] / H, 1e-15);
        assert_true(fabs(*results_block(r, KS_OUT_FILTERED_COV, 0, 0)) < 1e-30);
        const double e = y[1] - y[0];
        if (T == 2)
            close_to(*results_block(r, KS_OUT_LOGLIK_TERMS, 0, 1), -0.5 * (log_2_pi + log(H * H) + e * e / (H * H)), 1e-14);
        golden_buffers_free(c.buffers);
        golden_free(g);
    }
}

/* The variance at step 0 and the mean there, which are known, of a state that y tells. */
static void told_at_first(const golden *g, const method_case *m, ks_precision precision, double mean, double size)
{
    static const double one = 1;
    diffuse_case c = { .g = g, .P0_inf = &one, .m = m, .precision = precision };
    c.outputs = outputs_there(g, m) & (KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV | KS_OUT_SMOOTHED_MEAN |
                                       KS_OUT_SMOOTHED_COV | KS_OUT_LOGLIK);
    diffuse_well(&c);
    const golden_results *r = golden_widen(c.buffers);
    const int smooths = m->job == KS_JOB_SMOOTH;
    const double unit = precision == KS_F64 ? 1e-12 : 1e-5;
    const double at = *results_block(r, smooths ? KS_OUT_SMOOTHED_MEAN : KS_OUT_FILTERED_MEAN, 0, 0);
    const double cov = *results_block(r, smooths ? KS_OUT_SMOOTHED_COV : KS_OUT_FILTERED_COV, 0, 0);
    close_to(at / size, mean / size, unit);
    assert_true(fabs(cov) <= unit * unit * size * size);
    golden_buffers_free(c.buffers);
}

/* R of rank two for three entries: the combination of them that has no noise tells the state exactly, and none of the
 * entries does. */
static void told_by_a_combination(void **state)
{
    (void)state;
    static const double noise[][6] = { { 1, 2, 3, -1, 2, 2 }, { 4, 0, 1, 3, 0, 5 }, { 1, 1, 2, -3, 7, 1 } };
    static const double H[][3] = { { 1, 1, 1 }, { 2, -1, 3 }, { 1, 0, 0 } }, scales[] = { 1, 0x1p40, 0x1p-40 };
    const double one = 1;
    for (size_t i = 0; i < 3; ++i)
        for (size_t j = 0; j < 3; ++j)
            for (size_t s = 0; s < 3; ++s) {
                const double *B = noise[i], unit = scales[s];
                const double w[] = { B[2] * B[5] - B[4] * B[3], B[4] * B[1] - B[0] * B[5], B[0] * B[3] - B[2] * B[1] };
                const double y[] = { 3 * unit, -2 * unit, 5 * unit, unit, 4 * unit, -unit };
                const double sees = w[0] * H[j][0] + w[1] * H[j][1] + w[2] * H[j][2];
                const double mean = (w[0] * y[0] + w[1] * y[1] + w[2] * y[2]) / sees;
                double R[9];
                for (int a = 0; a < 3; ++a)
                    for (int b = 0; b < 3; ++b)
                        R[3 * a + b] = unit * unit * (B[2 * a] * B[2 * b] + B[2 * a + 1] * B[2 * b + 1]);
                assert_true(sees != 0);
                for (int64_t T = 1; T <= 2; ++T) {
                    golden *g = model_of(T, 1, 3, &one, &one, H[j], R, y);
                    g->Q.f64[0] = unit * unit;
                    model_round(g);
                    for (int a = 0; a < all_methods_count; ++a)
                        for (int p = KS_F64; p <= KS_MIXED && route_of(&all_methods[a]) == GOLDEN_STEPS; ++p)
                            if (p != KS_MIXED || takes_mixed(&all_methods[a]))
                                told_at_first(g, &all_methods[a], (ks_precision)p, mean, unit);
                    golden_free(g);
                }
            }
}

/* A level and a cycle, observed every `every` steps from step `from` on for a while and then always; F as sine and cosine
 * are computed. */
static golden *level_and_cycle(int period, int every, int from, int with_level)
{
    enum { T = 60, RARE = 36 };
    const double angle = 2 * 3.14159265358979323846 / period, c = cos(angle), s = sin(angle);
    const double F[] = { 1, 0, 0, 0, c, s, 0, -s, c }, H[] = { with_level, 1, 0 }, R[] = { 0.5 };
    const double Q[] = { 0.01, 0, 0, 0, 0.01, 0, 0, 0, 0.01 };
    double y[T];
    for (int k = 0; k < T; ++k)
        y[k] = k >= RARE || k % every == from ? 3 + 2 * cos(0.5 * k) + 0.5 * ((double)(k * 7 % 11) / 11) : (double)NAN;
    golden *g = model_of(T, 3, 1, F, Q, H, R, y);
    model_round(g);
    memcpy(g->F.f64, F, sizeof F);
    return g;
}

/* After half a period a cycle is where it was, but for its sign: of two states rare observations tell one, and round-off
 * of the other beside it is none of it. The finite prior is so wide that its own share is 1e-8. */
static void aliased(golden *g, const double *P0_inf, int directions, const method_case *m, ks_precision precision)
{
    const double wide = 0x1p28, bound = precision == KS_F64 ? 1e-6 : 2e-3;
    const unsigned outputs = KS_OUT_LOGLIK | (m->job == KS_JOB_SMOOTH ? KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV : 0);
    const int n = g->nx;
    for (int i = 0; i < n * n; ++i) g->P0.f64[i] = wide * P0_inf[i];
    golden_buffers *b = run_well(g, first_method(m->job), KS_F64, 1, outputs, NULL);
    memset(g->P0.f64, 0, (size_t)(n * n) * sizeof *g->P0.f64);
    diffuse_case c = { .g = g, .P0_inf = P0_inf, .m = m, .precision = precision, .outputs = outputs };
    diffuse_well(&c);
    const golden_results *r = golden_widen(c.buffers), *expected = golden_widen(b);
    close_to(*results_block(r, KS_OUT_LOGLIK, 0, 0),
             *results_block(expected, KS_OUT_LOGLIK, 0, 0) + 0.5 * directions * log(wide), bound);
    for (int64_t k = 0; k < g->T && m->job == KS_JOB_SMOOTH; ++k)
        for (int i = 0; i < n; ++i) {
            const double variance = results_block(expected, KS_OUT_SMOOTHED_COV, 0, k)[(n + 1) * i];
            close_to(results_block(r, KS_OUT_SMOOTHED_MEAN, 0, k)[i] / sqrt(variance + 1e-12),
                     results_block(expected, KS_OUT_SMOOTHED_MEAN, 0, k)[i] / sqrt(variance + 1e-12), bound);
            close_to(results_block(r, KS_OUT_SMOOTHED_COV, 0, k)[(n + 1) * i], variance, bound);
        }
    golden_buffers_free(c.buffers);
    golden_buffers_free(b);
}

/* The same by all methods that take steps in order. */
static void aliased_by_all(golden *g, const double *P0_inf, int directions)
{
    for (int a = 0; a < all_methods_count; ++a)
        for (int p = KS_F64; p <= KS_MIXED && route_of(&all_methods[a]) == GOLDEN_STEPS; ++p)
            if (p != KS_MIXED || takes_mixed(&all_methods[a]))
                aliased(g, P0_inf, directions, &all_methods[a], (ks_precision)p);
}

static void aliased_cycles(void **state)
{
    (void)state;
    static const struct { int period, every, from, with_level; } cases[] = {
        { 6, 3, 0, 1 }, { 6, 3, 0, 0 }, { 4, 2, 0, 1 },  { 4, 2, 1, 1 },
        { 4, 2, 1, 0 }, { 4, 4, 0, 1 }, { 12, 6, 0, 1 }, { 12, 6, 3, 0 },
    };
    static const double all[] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 }, first[] = { 1, 0, 0, 0, 1, 0, 0, 0, 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const int with_level = cases[i].with_level;
        golden *g = level_and_cycle(cases[i].period, cases[i].every, cases[i].from, with_level);
        for (int some = 0; some < 2; ++some) {
            double P0_inf[9];
            memcpy(P0_inf, some ? first : all, sizeof P0_inf);
            P0_inf[0] = with_level;
            aliased_by_all(g, P0_inf, 2 - some + with_level);
        }
        golden_free(g);
    }
}

/* A level whose slope alone is observed at first, and what round-off has left of it in the slope's own transition. */
static void round_off_in_F(void **state)
{
    (void)state;
    enum { T = 40, LEVEL_FROM = 10 };
    const double F[] = { 1, 1, 3e-17, 1 }, Q[] = { 0.1, 0, 0, 0.2 }, H[] = { 1, 0, 0, 1 }, R[] = { 1, 0, 0, 2 };
    const double P0_inf[] = { 1, 0, 0, 1 };
    double y[2 * T];
    for (int k = 0; k < T; ++k) {
        y[2 * k] = k < LEVEL_FROM ? (double)NAN : 5 + 0.3 * k + cos(0.7 * k);
        y[2 * k + 1] = 0.3 + 0.5 * sin(1.3 * k);
    }
    golden *g = model_of(T, 2, 2, F, Q, H, R, y);
    model_round(g);
    aliased_by_all(g, P0_inf, 2);
    golden_free(g);
}

/* A level and what has decayed to 2^-40 of it when the first observation comes, which tells the level; the second one
 * tells the other. In whatever units the two are. */
static void directions_of_any_size(void **state)
{
    (void)state;
    enum { T = 60, LEAD = 40 };
    static const double units[] = { 1, 0x1p-60, 0x1p60 };
    double first_mean[2] = { 0 }, first_loglik = 0;
    for (int s = 0; s < 3; ++s) {
        const double one = units[s], F[] = { 1, 0, 0, 0.5 }, Q[] = { 0.25, 0, 0, one * one };
        const double H[] = { 1, 1 / one }, R[] = { 1 }, P0_inf[] = { 1, 0, 0, one * one };
        double y[T];
        for (int k = 0; k < T; ++k) y[k] = k < LEAD ? (double)NAN : sin(0.7 * k) + 0.1 * k;
        golden *g = model_of(T, 2, 1, F, Q, H, R, y);
        diffuse_case c = { .g = g, .P0_inf = P0_inf, .m = first_method(KS_JOB_FILTER) };
        diffuse_well(&c);
        const golden_results *r = golden_widen(c.buffers);
        assert_true(isinf(results_block(r, KS_OUT_FILTERED_COV, 0, LEAD)[3]));
        assert_true(isfinite(results_block(r, KS_OUT_FILTERED_COV, 0, LEAD + 1)[3]));
        const double *mean = results_block(r, KS_OUT_FILTERED_MEAN, 0, T - 1);
        const double loglik = *results_block(r, KS_OUT_LOGLIK, 0, 0);
        if (s == 0) {
            memcpy(first_mean, mean, sizeof first_mean);
            first_loglik = loglik;
        }
        close_to(mean[0], first_mean[0], 1e-9);
        close_to(mean[1] / one, first_mean[1], 1e-9);
        close_to(loglik, first_loglik, 1e-9);
        golden_buffers_free(c.buffers);
        golden_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trend_of_two),
        cmocka_unit_test(trend_with_a_gap),
        cmocka_unit_test(told_exactly),
        cmocka_unit_test(told_by_a_combination),
        cmocka_unit_test(aliased_cycles),
        cmocka_unit_test(round_off_in_F),
        cmocka_unit_test(directions_of_any_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
