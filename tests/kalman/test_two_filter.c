/* test_two_filter.c -- the two-filter smoother in chunks: its way back cut anywhere, against the scans' elements, and
 * single precision beside the sequential smoother's. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "kernels.h"
#include "models.h"
#include "run_case.h"
#include "sanitizers.h"
#include "textbook.h"

/** Series 0 of g in the numbers of `precision`, as the steps see it. */
static ks_series series_of(const golden *g, ks_precision precision)
{
    static const double zeros[32];
    const int64_t bytes = precision == KS_F64 ? sizeof(double) : sizeof(float);
    const golden_input *from[] = { &g->F, &g->Q, &g->u, &g->H, &g->R, &g->d, &g->y };
    ks_series s = { 0 };
    ks_rows *to[] = { &s.F, &s.Q, &s.u, &s.H, &s.R, &s.d, &s.y };
    s.nx = g->nx;
    s.ny = g->ny;
    s.prior_x1 = g->prior == KS_PRIOR_X1;
    s.steps = g->T;
    for (int i = 0; i < 7; ++i) {
        const void *rows = precision == KS_F64 ? (const void *)from[i]->f64 : (const void *)from[i]->f32;
        to[i]->base = (const char *)(rows ? rows : zeros);
        to[i]->stride = from[i]->step_stride * bytes;
    }
    s.m0 = precision == KS_F64 ? (const void *)g->m0.f64 : (const void *)g->m0.f32;
    s.P0 = precision == KS_F64 ? (const void *)g->P0.f64 : (const void *)g->P0.f32;
    return s;
}

/** A series that has been filtered, and where its smoothed estimates go. */
typedef struct filtered {
    const ks_kernels *kernels;
    ks_series series;
    size_t number;
    char *mean, *C, *smoothed, *cov, *lag;
    unsigned char *form;
    void *work, *x, *P, *behind;
    int array; /* the way back, in the array form */
} filtered;

static ks_sink rows_of(const filtered *f, char *base, int64_t numbers)
{
    const ks_sink rows = { base, numbers * (int64_t)f->number, 0 };
    return rows;
}

static ks_forward_sinks kept_of(const filtered *f)
{
    const int64_t n = f->series.nx;
    ks_forward_sinks kept = { 0 };
    kept.kept_mean = rows_of(f, f->mean, n);
    kept.kept_C = rows_of(f, f->C, n * n);
    kept.form = f->form;
    return kept;
}

static filtered filter_series(const golden *g, ks_precision precision, ks_tier tier)
{
    const size_t T = (size_t)g->T, n = (size_t)g->nx;
    filtered f = { ks_kernels_of(precision, tier), series_of(g, precision), 0, NULL, NULL, NULL, NULL, NULL, NULL,
                   NULL, NULL, NULL, NULL, 0 };
    if (!f.kernels) return f;
    const size_t number = f.number = f.kernels->number_bytes;
    f.mean = zeroed(T * n, number);
    f.C = zeroed(T * n * n, number);
    f.smoothed = zeroed(T * n, number);
    f.cov = zeroed(T * n * n, number);
    f.lag = zeroed(T * n * n, number);
    f.form = zeroed(T, 1);
    f.work = zeroed_work(f.kernels->scratch_bytes(g->nx, g->ny) + f.kernels->combine_bytes(g->nx));
    f.x = zeroed(n, number);
    f.P = zeroed(n * n, number);
    f.behind = zeroed(n * (n + 1), number);
    const ks_forward_sinks kept = kept_of(&f);
    ks_state state = { f.x, f.P, KS_FORM_ORDINARY, KS_NOT_STEADY };
    ks_tally tally = ks_tally_start();
    f.kernels->start(&f.series, &state, f.work);
    assert_int_equal(f.kernels->filter(&f.series, 0, g->T, &state, &kept, f.work, &tally), 0);
    return f;
}

static void filtered_free(filtered *f)
{
    void *all[] = { f->mean, f->C, f->smoothed, f->cov, f->lag, f->form, f->work, f->x, f->P, f->behind };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) free(all[i]);
}

/** What the filter made of step k. */
static ks_state state_at(const filtered *f, int64_t k)
{
    const ks_forward_sinks kept = kept_of(f);
    const ks_state state = { ks_slot_of(kept.kept_mean, k), ks_slot_of(kept.kept_C, k), (ks_form)f->form[k],
                             KS_NOT_STEADY };
    return state;
}

/** Steps k1 - 1 .. k0; results over the filtered estimates where it is `in_place`. */
static void go_back(filtered *f, int64_t k0, int64_t k1, int in_place)
{
    const int64_t n = f->series.nx;
    const ks_forward_sinks kept = kept_of(f);
    const ks_state before = k0 > 0 ? state_at(f, k0 - 1) : (ks_state){ NULL, NULL, KS_FORM_ORDINARY, KS_NOT_STEADY };
    ks_state state = { f->x, f->P, KS_FORM_ORDINARY, KS_NOT_STEADY };
    ks_backward_sinks to = { 0 };
    ks_tally tally = ks_tally_start();
    to.smoothed_mean = rows_of(f, in_place ? f->mean : f->smoothed, n);
    to.smoothed_cov = rows_of(f, in_place ? f->C : f->cov, n * n);
    to.lag_one_cov = rows_of(f, f->lag, n * n);
    assert_int_equal((f->array ? f->kernels->two_filter_back_array : f->kernels->two_filter_back)(
                         &f->series, k0, k1, k0 > 0 ? &before : NULL, f->behind, &state, &kept, &to, f->work, &tally),
                     0);
    assert_int_equal(tally.elements, k1 - k0 - (k0 == 0));
}

static const ks_tier tiers[] = { KS_TIER_BASELINE, KS_TIER_AVX2 };
static const unsigned kinds[] = { 0, MISSING | VARIES_ALL, NO_Q | HAS_OFFSETS, NO_P0 | MISSING, EXACT_ENTRY };
enum { TIERS = sizeof tiers / sizeof tiers[0], KINDS = sizeof kinds / sizeof kinds[0] };

/** The way back cut at random, and over what the filter has kept, comes to the same bits. */
static void same_however_cut(int array)
{
    static const int sizes[][2] = { { 1, 1 }, { 2, 1 }, { 3, 2 }, { 4, 2 }, { 5, 3 }, { 6, 2 } };
    source random = { 5 };
    for (int i = 0; i < 6 * KINDS * TIERS * 2; ++i) {
        const int *size = sizes[i % 6];
        const ks_prior prior = i % 7 < 3 ? KS_PRIOR_X1 : KS_PRIOR_X0;
        golden *g = model_random((model_spec){ 900 + (uint64_t)i, 40, 1, size[0], size[1], prior,
                                               kinds[i / 6 % KINDS] });
        filtered whole = filter_series(g, i / 60 ? KS_F32 : KS_F64, tiers[i / 30 % TIERS]);
        filtered parts = filter_series(g, i / 60 ? KS_F32 : KS_F64, tiers[i / 30 % TIERS]);
        whole.array = parts.array = array;
        if (whole.kernels) {
            const size_t n = (size_t)g->nx, T = (size_t)g->T;
            const int in_place = i % 2;
            go_back(&whole, 0, g->T, 0);
            for (int64_t k = g->T, from; k > 0; k = from) {
                from = k - 1 - (int64_t)(9 * uniform(&random));
                go_back(&parts, from < 0 ? 0 : from, k, in_place);
            }
            assert_memory_equal(whole.smoothed, in_place ? parts.mean : parts.smoothed, T * n * whole.number);
            assert_memory_equal(whole.cov, in_place ? parts.C : parts.cov, T * n * n * whole.number);
            assert_memory_equal(whole.lag, parts.lag, T * n * n * whole.number);
        }
        filtered_free(&whole);
        filtered_free(&parts);
        golden_free(g);
    }
}

static void cut_anywhere(void **state)
{
    (void)state;
    same_however_cut(0);
    same_however_cut(1);
}

/** Data come to what their sum of squares comes to, where that loses nothing. */
static void either_form(void **state)
{
    (void)state;
    for (int i = 0; i < 6 * KINDS * TIERS; ++i) {
        const int nx = 1 + i % 6;
        const ks_prior prior = i % 5 < 2 ? KS_PRIOR_X1 : KS_PRIOR_X0;
        golden *g = model_random((model_spec){ 1200 + (uint64_t)i, 30, 1, nx, 1 + i % 3, prior, kinds[i / 6 % KINDS] });
        filtered f = filter_series(g, KS_F64, tiers[i / 30]), data = filter_series(g, KS_F64, tiers[i / 30]);
        data.array = 1;
        if (f.kernels) {
            go_back(&f, 0, g->T, 0);
            go_back(&data, 0, g->T, 0);
            const double *x = (double *)f.smoothed, *P = (double *)f.cov, *lag = (double *)f.lag;
            for (int64_t k = 0, at = 0; k < g->T; ++k)
                for (int a = 0; a < nx; ++a) {
                    const double *variance = P + k * nx * nx, sd = sqrt(variance[a * nx + a]) + 1e-9;
                    assert_true(fabs(((double *)data.smoothed)[k * nx + a] - x[k * nx + a]) <= 1e-10 * sd);
                    for (int c = 0; c < nx; ++c, ++at) {
                        const double both = sd * (sqrt(variance[c * nx + c]) + 1e-9);
                        assert_true(fabs(((double *)data.cov)[at] - P[at]) <= 1e-10 * both);
                        assert_true(k == 0 || fabs(((double *)data.lag)[at] - lag[at]) <= 1e-8 * both);
                    }
                }
        }
        filtered_free(&f);
        filtered_free(&data);
        golden_free(g);
    }
}

/** The filtering element of steps k .. T - 1. */
static void suffix_of(filtered *f, int64_t k, double *element, double *step)
{
    const size_t bytes = f->kernels->filter_element_bytes(f->series.nx);
    ks_tally tally = ks_tally_start();
    for (int64_t i = f->series.steps - 1; i >= k; --i) {
        const ks_sink to = { (char *)step, 0, i };
        assert_int_equal(f->kernels->filter_elements(&f->series, i, i + 1, to, f->work, &tally), 0);
        const ks_combine_job job = { 1, 1, (char *)element, (char *)step, (char *)element, 0, 0, 0, 0, 0, 0 };
        if (i == f->series.steps - 1) memcpy(element, step, bytes);
        else f->kernels->filter_combine(f->series.nx, &job, f->work);
    }
}

/** What is behind a step, about the filter's mean, is eta and J of the product of all later elements: Sarkka &
 *  Garcia-Fernandez, eq. 42-46. */
static void information_of_elements(void **state)
{
    (void)state;
    for (int i = 0; i < 4 * KINDS; ++i) {
        const int n = 1 + i % 4, half = n * (n + 1) / 2, tail = n * n + n + half;
        golden *g = model_random((model_spec){ 950 + (uint64_t)i, 21, 1, n, 1 + i % 3, KS_PRIOR_X0, kinds[i / 4] });
        filtered f = filter_series(g, KS_F64, KS_TIER_AUTO);
        double *element = zeroed(1, f.kernels->filter_element_bytes(n));
        double *step = zeroed(1, f.kernels->filter_element_bytes(n));
        const double *v = f.behind, *J = v + n, *eta_e = element + tail, *J_e = eta_e + n;
        for (int64_t k = g->T - 1; k > 0; --k) {
            go_back(&f, k, k + 1, 0);
            suffix_of(&f, k, element, step);
            const double *x = state_at(&f, k - 1).x;
            double size = 1e-300;
            for (int a = 0; a < n; ++a) size = fmax(size, J_e[a * (a + 1) / 2 + a]);
            for (int a = 0; a < half; ++a) assert_true(fabs(J[a] - J_e[a]) <= 1e-11 * size);
            for (int a = 0; a < n; ++a) {
                double eta = v[a], scale = fabs(v[a]);
                for (int c = 0; c < n; ++c) {
                    const double term = J[a > c ? a * (a + 1) / 2 + c : c * (c + 1) / 2 + a] * x[c];
                    eta += term;
                    scale += fabs(term) + size * fabs(x[c]);
                }
                assert_true(fabs(eta - eta_e[a]) <= 1e-11 * (scale + fabs(eta_e[a])));
            }
        }
        free(element);
        free(step);
        filtered_free(&f);
        golden_free(g);
    }
}

static const method_case chunked = { KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER, KS_SCAN_CHUNKED, 1, 0 };
static const method_case sequential = { KS_JOB_SMOOTH, KS_METHOD_SEQUENTIAL, KS_SCAN_HILLIS_STEELE, 1, 0 };

static double error_of(const golden *g, const method_case *m, ks_precision precision, unsigned outputs)
{
    const golden_norm strict = { 0, false };
    golden_buffers *b = run_well(g, m, precision, 2, outputs, NULL);
    const double error = golden_compare(golden_widen(b), &g->expected, outputs, strict).error;
    golden_buffers_free(b);
    return error;
}

/** Chunks of more steps than are widened at once, and states far from zero: in single precision the chunks lose no more
 *  than the sequential smoother does, in double next to nothing. */
static void no_worse_than_step_by_step(void **state)
{
    (void)state;
    const unsigned outputs = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_SMOOTHED_VAR | KS_OUT_LAG_ONE_COV |
                             KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV;
    static const unsigned flags[] = { VARIES_ALL | MISSING, HAS_OFFSETS, MISSING, EXACT_ENTRY };
    for (int i = 0; i < 8; ++i) {
        golden *g = model_random((model_spec){ 980 + (uint64_t)i, 2503, 1, 1 + i % 5, 1 + i % 3, KS_PRIOR_X0,
                                               flags[i % 4] });
        if (i >= 4)
            for (int c = 0; c < g->nx; ++c) model_block(&g->m0, 0, 0)[c] += 5000;
        model_round(g);
        textbook_smooth(g);
        const double own = error_of(g, &chunked, KS_F32, outputs), other = error_of(g, &sequential, KS_F32, outputs);
        if (!(own <= 2 * other + 1e-5)) fail_msg("model %d: off by %.3g, step by step by %.3g", i, own, other);
        const double exact = error_of(g, &chunked, KS_F64, outputs);
        if (!(exact <= 1e-9)) fail_msg("model %d: off by %.3g in f64", i, exact);
        golden_free(g);
    }
}

/** How far the chunks are off the sequential smoother, in standard deviations of each step; less than 0: they refuse. */
static double error_beside_sequential(const golden *g)
{
    const unsigned outputs = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_LAG_ONE_COV;
    const golden_norm strict = { 0, false };
    golden_buffers *right = run_well(g, &sequential, KS_F64, 1, outputs, NULL), *b = NULL;
    double error = -1;
    if (run_case(g, &chunked, KS_F64, 1, outputs, &b, NULL) == KS_OK)
        error = golden_compare(golden_widen(b), golden_widen(right), outputs, strict).error;
    golden_buffers_free(right);
    golden_buffers_free(b);
    return error;
}

/** Two entries with all but the same noise behind a step without any tell a million times more of one combination of
 *  states than of the others, of which round-off leaves nothing in the information of what follows. A mean is told its
 *  root, and loses none of that. */
static void two_entries_of_one_noise(void **state)
{
    (void)state;
    for (int i = 0; i < (SANITIZED ? 15 : 45); ++i) {
        const int nx = 10 + i % 15;
        golden *g = model_random((model_spec){ 1000 + (uint64_t)i, 20 + i, 1, nx, 2, i % 2 ? KS_PRIOR_X1 : KS_PRIOR_X0,
                                               VARIES_R | VARIES_Q });
        double *R = model_block(&g->R, 0, 1 + 7 * i % 19);
        memset(model_block(&g->Q, 0, 1 + 7 * i % 19), 0, (size_t)(nx * nx) * sizeof(double));
        R[0] = R[3] = 1;
        R[1] = R[2] = 1 - ldexp(1, -17 - i % 5);
        model_round(g);
        const double error = error_beside_sequential(g);
        if (!(error >= 0 && error <= 1e-6)) fail_msg("model %d: off by %.3g", i, error);
        golden_free(g);
    }
}

/** A position and a velocity that nothing is known of at first, and a gap before the second observation: what is filtered
 *  in it is vague in one direction, in which all that follows moves it. */
static void vague_until_later(void **state)
{
    (void)state;
    static const double F[] = { 1, 0.125, 0, 1 }, Q[] = { 0, 0, 0, 0x1p-31 }, H[] = { -0.75, -0.125 };
    for (int i = 0; i < 30; ++i) {
        golden *g = model_random((model_spec){ 1100 + (uint64_t)i, 60 + 5 * i, 1, 2, 1, KS_PRIOR_X1, 0 });
        source noise = { 1100 + (uint64_t)i };
        double x[2] = { 1000 * normal(&noise), 1000 * normal(&noise) };
        memcpy(model_block(&g->F, 0, 0), F, sizeof F);
        memcpy(model_block(&g->Q, 0, 0), Q, sizeof Q);
        memcpy(model_block(&g->H, 0, 0), H, sizeof H);
        model_block(&g->R, 0, 0)[0] = 0x1p-13;
        for (int c = 0; c < 4; ++c) model_block(&g->P0, 0, 0)[c] *= 0x1p30;
        for (int64_t k = 0; k < g->T; ++k) {
            double *y = model_block(&g->y, 0, k);
            *y = H[0] * x[0] + H[1] * x[1] + 0.011 * normal(&noise);
            if (k > 0 && k <= 1 + i % 4) *y = (double)NAN;
            x[0] += F[1] * x[1];
        }
        model_round(g);
        const double error = error_beside_sequential(g);
        if (!(error >= 0 && error <= 1e-6)) fail_msg("model %d: off by %.3g", i, error);
        golden_free(g);
    }
}

/** A vague prior of rank one, which a gap hands on: filtered covariances of a scan keep too few digits for the gains of
 *  lag-one covariances, although smoothed ones have all. Such a scan refuses. */
static void lag_one_covariances_are_right_or_refused(void **state)
{
    (void)state;
    static const double F[] = { 1, 0, 0, 0, 0, 0.58580637, 0, 0, 0, 0, 0.692934752, 0, 0, 0, 0, 0.516397417 };
    static const double H[] = { 0.212802693, 0.885212243, 0.146129876, 1.25, 0.625, 0, -0.264597118, 0 };
    static const double R[] = { 0.0625, 0, 0, 0.0078125 }, root[] = { 384, -320, 256, 256 };
    const unsigned outputs = KS_OUT_SMOOTHED_COV | KS_OUT_LAG_ONE_COV;
    int refused = 0;
    golden *g = model_random((model_spec){ 1200, 12, 1, 4, 2, KS_PRIOR_X1, 0 });
    memcpy(g->F.f64, F, sizeof F);
    memcpy(g->H.f64, H, sizeof H);
    memcpy(g->R.f64, R, sizeof R);
    for (int i = 0; i < 16; ++i) {
        g->Q.f64[i] = i == 10 ? 0.0625 : 0;
        g->P0.f64[i] = root[i / 4] * root[i % 4];
    }
    for (int i = 0; i < 8; ++i) g->y.f64[i] = (double)NAN;
    model_round(g);
    golden_buffers *right = run_well(g, &sequential, KS_F64, 1, outputs, NULL);
    const golden_results *want = golden_widen(right);
    const double *P = want->array[__builtin_ctz(KS_OUT_SMOOTHED_COV)];
    for (int a = 0; a < all_methods_count; ++a) {
        const method_case *m = &all_methods[a];
        golden_buffers *b = NULL;
        ks_info info = KS_INFO_INIT;
        if (m->job != KS_JOB_SMOOTH || !is_scan(m)) continue;
        const ks_status status = run_case(g, m, KS_F64, 1, outputs, &b, &info);
        assert_true(status == KS_OK || (status == KS_EREFUSED && info.suggestion == KS_METHOD_SEQUENTIAL));
        refused += status != KS_OK;
        for (int k = 1; status == KS_OK && k < 12; ++k)
            for (int i = 0; i < 16; ++i) {
                const int at = 16 * k + i, lag = __builtin_ctz(KS_OUT_LAG_ONE_COV);
                const double size = sqrt(P[16 * k + 5 * (i / 4)] * P[16 * (k - 1) + 5 * (i % 4)]);
                const double error = fabs(golden_widen(b)->array[lag][at] - want->array[lag][at]);
                if (!(error <= 1e-3 * size))
                    fail_msg("%s: step %d, entry %d off by %.3g", method_case_name(m), k, i, error / size);
            }
        golden_buffers_free(b);
    }
    assert_true(refused > 0);
    golden_buffers_free(right);
    golden_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lag_one_covariances_are_right_or_refused),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(either_form),
        cmocka_unit_test(information_of_elements),
        cmocka_unit_test(no_worse_than_step_by_step),
        cmocka_unit_test(two_entries_of_one_noise),
        cmocka_unit_test(vague_until_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
