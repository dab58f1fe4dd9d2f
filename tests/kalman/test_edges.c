/* test_edges.c -- short series, odd sizes, nothing observed, singular Q, R and P0: against the slow
 * reference. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "map_refusal.h"
#include "models.h"
#include "run_case.h"
#include "textbook.h"

/** Exactly known directions have no standard deviation to judge by: they are judged against a
 *  fraction of the largest one, as the golden cases of singular models are. There ten times what is
 *  reached, 6.2e-11 and 2.5e-3, by 25 steps without noise that are traced back to their prior. */
static golden_verdict judge(const golden *g, golden_buffers *b, const method_case *m, ks_precision precision)
{
    golden_verdict v = golden_judge(golden_widen(b), g, outputs_made(m), route_of(m), precision,
                                    golden_norm_of(g, precision));
    if (strcmp(g->condition, "singular") == 0) {
        v.worst = golden_compare(golden_widen(b), &g->expected, outputs_made(m), golden_norm_of(g, precision));
        v.bound = precision == KS_F64 ? 6e-10 : 2.5e-2;
        v.good = v.worst.error <= v.bound;
    }
    return v;
}

/** Compare all methods; `scans` says whether the scans take the model or must refuse it. */
static void agree(golden *g, int scans)
{
    textbook_smooth(g);
    for (int i = 0; i < all_methods_count; ++i)
        for (int p = 0; p < 2 + takes_mixed(&all_methods[i]); ++p) {
            const method_case *m = &all_methods[i];
            const ks_precision precision = (ks_precision)p;
            const unsigned outputs = outputs_made(m);
            int64_t series, step;
            int row;
            if (is_two_ended(m) && two_ended_refuses(g, precision, &series, &step, &row)) {
                golden_buffers *b = NULL;
                ks_info info = KS_INFO_INIT;
                assert_int_equal(run_case(g, m, precision, 1, outputs, &b, &info), KS_EREFUSED);
                assert_int_equal(info.array, KS_ARRAY_R);
                assert_int_equal(info.series, series);
                assert_int_equal(info.step, step);
                assert_int_equal(info.row, row);
                assert_int_equal(info.suggestion, KS_METHOD_SEQUENTIAL);
                golden_buffers_free(b);
                continue;
            }
            const map_refusal refusal = golden_refusal(g, precision);
            if (is_map(m) && refusal.array != KS_ARRAY_NONE) {
                golden_buffers *b = NULL;
                ks_info info = KS_INFO_INIT;
                const ks_status status = run_case(g, m, precision, 1, outputs, &b, &info);
                golden_buffers_free(b);
                if (!is_refused(status, &info, refusal))
                    fail_msg("%s: %s, %s at step %lld, row %d", method_case_name(m),
                             ks_status_name(status), ks_array_name(info.array),
                             (long long)info.step, info.row);
                continue;
            }
            if (is_scan(m) && !scans) {
                golden_buffers *b = NULL;
                ks_info info = KS_INFO_INIT;
                assert_int_equal(run_case(g, m, precision, 1, outputs, &b, &info), KS_EREFUSED);
                assert_int_equal(info.suggestion, KS_METHOD_SEQUENTIAL);
                golden_buffers_free(b);
                continue;
            }
            golden_buffers *b = run_well(g, m, precision, 1, outputs, NULL);
            const golden_verdict v = judge(g, b, m, precision);
            if (!v.good)
                fail_msg("T = %lld, nx = %d, ny = %d, %s, precision %d: %s at step %lld off by %.3g, not %.3g",
                         (long long)g->T, g->nx, g->ny, method_case_name(m), p,
                         golden_output_name(v.worst.output), (long long)v.worst.step, v.worst.error, v.bound);
            const unsigned written =
                g->prior == KS_PRIOR_X1 ? outputs & ~(unsigned)KS_OUT_PRIOR_COV : outputs;
            assert_true(covariances_sound(b, precision, written));
            golden_buffers_free(b);
        }
}

static void agree_on(model_spec spec, int scans)
{
    golden *g = model_random(spec);
    if (spec.flags & (NO_Q | NO_P0 | EXACT_ENTRY)) strcpy(g->condition, "singular");
    agree(g, scans);
    golden_free(g);
}

static void short_series(void **state)
{
    (void)state;
    for (int64_t T = 1; T <= 3; ++T)
        for (int nx = 1; nx <= 4; ++nx)
            for (int prior = 0; prior < 2; ++prior)
                agree_on((model_spec){ 50, T, 1, nx, 1 + nx % 3, (ks_prior)prior,
                                       HAS_OFFSETS | VARIES_F }, 1);
}

static void nothing_observed(void **state)
{
    (void)state;
    for (int64_t T = 1; T <= 33; T += 16) {
        golden *g = model_random((model_spec){ 51, T, 1, 3, 2, KS_PRIOR_X0, HAS_OFFSETS });
        for (int64_t i = 0; i < T * 2; ++i) g->y.f64[i] = (double)NAN;
        model_round(g);
        agree(g, 1);
        golden_free(g);
    }
}

static void no_process_noise(void **state)
{
    (void)state;
    agree_on((model_spec){ 52, 25, 1, 3, 2, KS_PRIOR_X0, NO_Q | MISSING }, 1);
    agree_on((model_spec){ 53, 25, 1, 2, 1, KS_PRIOR_X1, NO_Q | HAS_OFFSETS }, 1);
}

static void exactly_known_start(void **state)
{
    (void)state;
    agree_on((model_spec){ 54, 25, 1, 3, 2, KS_PRIOR_X0, NO_P0 | MISSING }, 1);
    agree_on((model_spec){ 55, 25, 1, 3, 2, KS_PRIOR_X1, NO_P0 | HAS_OFFSETS }, 1);
}

/** Nothing is random but the measurements: every estimate is the path of the model, and certain. */
static void certain_path(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 56, 20, 1, 3, 2, KS_PRIOR_X0,
                                           NO_P0 | NO_Q | HAS_OFFSETS });
    textbook_smooth(g);
    for (int i = 0; i < all_methods_count; ++i)
        for (int p = 0; p < 2 + takes_mixed(&all_methods[i]); ++p) {
            const method_case *m = &all_methods[i];
            const double bound = p == KS_F64 ? 1e-13 : 1e-5;
            if (is_map(m)) continue; /* refuses it, see no_process_noise() */
            golden_buffers *b = run_well(g, m, (ks_precision)p, 1, outputs_made(m), NULL);
            const golden_results *r = golden_widen(b);
            for (int o = 0; o < GOLDEN_OUTPUTS; ++o) {
                const int certain = (1 << o) & (KS_OUT_PREDICTED_COV | KS_OUT_FILTERED_COV |
                                                KS_OUT_SMOOTHED_COV | KS_OUT_LAG_ONE_COV);
                const int mean = (1 << o) & (KS_OUT_PREDICTED_MEAN | KS_OUT_FILTERED_MEAN |
                                             KS_OUT_SMOOTHED_MEAN);
                for (int64_t j = 0; r->array[o] && certain && j < 20 * 9; ++j)
                    assert_true(r->array[o][j] == 0);
                for (int64_t j = 0; r->array[o] && mean && j < 20 * 3; ++j)
                    assert_true(fabs(r->array[o][j] - g->expected.array[o][j]) <=
                                bound * (1 + fabs(g->expected.array[o][j])));
            }
            assert_true(fabs(r->array[0][0] - g->expected.array[0][0]) <=
                        10 * bound * (1 + fabs(g->expected.array[0][0])));
            golden_buffers_free(b);
        }
    golden_free(g);
}

static void one_exact_channel(void **state)
{
    (void)state;
    agree_on((model_spec){ 57, 25, 1, 3, 2, KS_PRIOR_X0, EXACT_ENTRY }, 1);
    agree_on((model_spec){ 58, 25, 1, 4, 3, KS_PRIOR_X1, EXACT_ENTRY | MISSING | VARIES_H }, 1);
    agree_on((model_spec){ 59, 25, 1, 2, 1, KS_PRIOR_X0, EXACT_ENTRY }, 1);
}

/** H Q H' + R is singular where H Pp H' + R is not: for the sequential method alone. */
static void models_that_scans_refuse(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 60, 2, 1, 4, 1, KS_PRIOR_X0, NO_Q | EXACT_ENTRY });
    strcpy(g->condition, "singular");
    agree(g, 0);
    golden_free(g);
}

/** A first step that is singular in that way is no reason to refuse: no element is made of it. */
static void exact_first_step(void **state)
{
    (void)state;
    for (int prior = 0; prior < 2; ++prior) {
        golden *g = model_random((model_spec){ 61, 20, 1, 3, 1, (ks_prior)prior,
                                               NO_Q | VARIES_R });
        g->R.f64[0] = 0;
        model_round(g);
        strcpy(g->condition, "singular");
        agree(g, 1);
        golden_free(g);
    }
}

static void odd_sizes(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 5, 2 }, { 7, 3 }, { 9, 10 }, { 13, 1 }, { 20, 4 } };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i)
        for (int prior = 0; prior < 2; ++prior)
            for (int64_t T = 1; T <= 12; T += 11)
                agree_on((model_spec){ 62 + i, T, 1, sizes[i][0], sizes[i][1], (ks_prior)prior,
                                       VARIES_F | HAS_OFFSETS | MISSING }, 1);
}

static void more_entries_than_states(void **state)
{
    (void)state;
    agree_on((model_spec){ 70, 15, 1, 1, 6, KS_PRIOR_X0, MISSING }, 1);
    agree_on((model_spec){ 71, 15, 1, 2, 11, KS_PRIOR_X1, MISSING | VARIES_H }, 1);
}

/** Outputs with gaps between their rows: what lies in the gaps is not touched. */
static void strided_outputs(void **state)
{
    (void)state;
    enum { T = 9, B = 2, NX = 2, ROW = 7, SERIES = ROW * T + 5 };
    golden *g = model_random((model_spec){ 72, T, B, NX, 1, KS_PRIOR_X0, 0 });
    for (int i = 0; i < all_methods_count; ++i) {
        const method_case *m = &all_methods[i];
        /* These make none of them, see test_two_ended.c and test_map.c. */
        if (is_two_ended(m) || is_map(m)) continue;
        ks_smooth_options o =
            options_of(m, KS_F64, KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV | KS_OUT_LOGLIK_TERMS);
        golden_buffers *plain = run_well(g, m, KS_F64, 1, o.outputs, NULL);
        const golden_results *r = golden_widen(plain);
        ks_smooth_plan *plan = NULL;
        double mean[B * SERIES], cov[B * SERIES], terms[B * SERIES];
        for (int j = 0; j < B * SERIES; ++j) mean[j] = cov[j] = terms[j] = -1234;
        ks_outputs to = KS_OUTPUTS_INIT;
        to.filtered_mean = (ks_out){ mean, ROW, SERIES };
        to.filtered_cov = (ks_out){ cov, ROW, SERIES };
        to.loglik_terms = (ks_out){ terms, ROW, SERIES };
        assert_int_equal(ks_smooth_plan_create(&plan, NULL, T, B, NX, 1, &o), KS_OK);
        void *work = aligned_alloc(64, (ks_smooth_workspace_bytes(plan) + 63) / 64 * 64);
        const ks_model model = golden_model(g, KS_F64);
        assert_int_equal(ks_smooth_run(plan, &model, golden_y(g, KS_F64), &to, work, NULL), KS_OK);
        for (int b = 0; b < B; ++b)
            for (int at = 0; at < SERIES; ++at) {
                const int k = at / ROW, j = at % ROW;
                const double *x = r->array[4] + (b * T + k) * NX;
                const double *P = r->array[5] + (b * T + k) * NX * NX;
                const int inside = k < T;
                const double em = inside && j < NX ? x[j] : -1234;
                const double ec = inside && j < NX * NX ? P[j] : -1234;
                const double et = inside && j < 1 ? r->array[1][b * T + k] : -1234;
                assert_memory_equal(&mean[b * SERIES + at], &em, sizeof em);
                assert_memory_equal(&cov[b * SERIES + at], &ec, sizeof ec);
                assert_memory_equal(&terms[b * SERIES + at], &et, sizeof et);
            }
        free(work);
        ks_smooth_plan_destroy(plan);
        golden_buffers_free(plain);
    }
    golden_free(g);
}

/** Variances that end below the smallest number, and covariances with them: nothing that is put out is not a number. */
static void underflow(void **state)
{
    (void)state;
    for (int nx = 1; nx < 4; nx += 2)
        for (int i = 0; i < all_methods_count; ++i)
            for (int p = 0; p < 2 + takes_mixed(&all_methods[i]); ++p) {
                const method_case *m = &all_methods[i];
                golden *g = model_random((model_spec){ 171, p == KS_F64 ? 300 : 60, 1, nx, 1, KS_PRIOR_X0, NO_Q });
                for (int64_t c = 0; c < (int64_t)nx * nx; ++c) g->F.f64[c] = c % (nx + 1) ? 0 : 0.03 + 0.03 * (double)c;
                g->R.f64[0] = 1;
                model_round(g);
                const unsigned outputs = outputs_made(m);
                golden_buffers *b = NULL;
                ks_info info = KS_INFO_INIT;
                const ks_status status = run_case(g, m, (ks_precision)p, 1, outputs, &b, &info);
                if (status != KS_EREFUSED) assert_int_equal(status, KS_OK);
                for (int o = 0; o < GOLDEN_OUTPUTS && status == KS_OK; ++o) {
                    const double *a = outputs >> o & 1 ? golden_widen(b)->array[o] : NULL;
                    const int64_t entries = 1u << o == KS_OUT_SMOOTHED_MEAN || 1u << o == KS_OUT_FILTERED_MEAN ? nx
                                            : 1u << o == KS_OUT_SMOOTHED_COV || 1u << o == KS_OUT_FILTERED_COV ||
                                                      1u << o == KS_OUT_LAG_ONE_COV
                                                ? nx * nx
                                                : 0;
                    for (int64_t j = 0; a && j < g->T * entries; ++j)
                        if (!isfinite(a[j]))
                            fail_msg("%s: %s is %g at step %lld", method_case_name(m),
                                     golden_output_name((ks_output)(1u << o)), a[j], (long long)(j / entries));
                }
                golden_buffers_free(b);
                golden_free(g);
            }
}

/** Entries in units that no number holds the product of the variances of: the same log-likelihood, but for the units. */
static void units_of_entries(void **state)
{
    enum { NY = 5, T = 11 };
    static const int units[2][NY] = { { -70, -97, -353, 2, -50 }, { -122, -390, 348, 315, 332 } };
    static const unsigned flags[] = { 0, OWN_MODELS };
    const unsigned sums = KS_OUT_LOGLIK | KS_OUT_LOGLIK_TERMS;
    (void)state;
    for (int i = 0; i < 8 * all_methods_count; ++i) {
        const method_case *m = &all_methods[i / 8];
        const int *unit = units[i & 1], B = i & 2 ? 1 : 9;
        golden *g = model_random((model_spec){ 171, T, B, 2, NY, KS_PRIOR_X0, flags[i >> 2 & 1] });
        const unsigned outputs = outputs_made(m) & sums;
        golden_buffers *b[2] = { run_well(g, m, KS_F64, 1, outputs, NULL), NULL };
        double shift = 0;
        for (int j = 0; j < NY; ++j) shift += unit[j] * 0.69314718055994530942;
        for (int s = 0; s < B; ++s) {
            if (s == 0 || flags[i >> 2 & 1])
                for (int j = 0; j < NY; ++j) {
                    for (int c = 0; c < 2; ++c) {
                        double *h = model_block(&g->H, s, 0) + 2 * j + c;
                        *h = ldexp(*h, unit[j]);
                    }
                    for (int c = 0; c < NY; ++c) {
                        double *r = model_block(&g->R, s, 0) + NY * j + c;
                        *r = ldexp(*r, unit[j] + unit[c]);
                    }
                }
            for (int k = 0; k < T * NY; ++k) {
                double *y = model_block(&g->y, s, k / NY) + k % NY;
                *y = ldexp(*y, unit[k % NY]);
            }
        }
        b[1] = run_well(g, m, KS_F64, 1, outputs, NULL);
        for (int o = 0; o < 2; ++o) {
            const unsigned bit = o ? KS_OUT_LOGLIK_TERMS : KS_OUT_LOGLIK;
            const double *plain = golden_widen(b[0])->array[__builtin_ctz(bit)];
            const double *found = golden_widen(b[1])->array[__builtin_ctz(bit)];
            for (int k = 0; outputs & bit && k < (o ? T * B : B); ++k)
                if (!(fabs(found[k] + (o ? 1 : T) * shift - plain[k]) < 1e-9 * (1 + fabs(plain[k]))))
                    fail_msg("%s, %d series, units %d: %s is off by %g", method_case_name(m), B, i & 1,
                             golden_output_name((ks_output)bit), found[k] + (o ? 1 : T) * shift - plain[k]);
        }
        golden_buffers_free(b[0]);
        golden_buffers_free(b[1]);
        golden_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_of_entries),
        cmocka_unit_test(short_series),      cmocka_unit_test(nothing_observed),
        cmocka_unit_test(no_process_noise),  cmocka_unit_test(exactly_known_start),
        cmocka_unit_test(certain_path), cmocka_unit_test(underflow),
        cmocka_unit_test(one_exact_channel), cmocka_unit_test(models_that_scans_refuse),
        cmocka_unit_test(exact_first_step),  cmocka_unit_test(odd_sizes),
        cmocka_unit_test(more_entries_than_states), cmocka_unit_test(strided_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
