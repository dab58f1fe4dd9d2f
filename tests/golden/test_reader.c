/* The golden files as the reader sees them, and that comparisons with them can fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "golden.h"

static const char *folder;

/* Call `check` on every case. */
static void every_case(void (*check)(const golden *g))
{
    size_t count = 0;
    char **paths = golden_list(folder, &count);
    assert_true(count >= 60);
    for (size_t i = 0; i < count; i++) {
        golden *g = golden_load(paths[i]);
        assert_non_null(g);
        check(g);
        golden_free(g);
    }
    golden_free_list(paths, count);
}

static double *values(const golden *g, ks_output output)
{
    int i = 0;
    while ((1 << i) != (int)output) i++;
    return g->expected.array[i];
}

/* What must hold of any results, so a wrong stride or a wrong dataset shows. */
static void check_laws(const golden *g)
{
    size_t n = (size_t)g->nx, T = (size_t)g->T;
    const double *smoothed = values(g, KS_OUT_SMOOTHED_COV);
    const double *filtered = values(g, KS_OUT_FILTERED_COV);
    const double *terms = values(g, KS_OUT_LOGLIK_TERMS);
    for (size_t b = 0; b < (size_t)g->B; b++) {
        size_t last = (b * T + T - 1) * n * n;
        assert_memory_equal(smoothed + last, filtered + last, n * n * sizeof *smoothed);
        double sum = 0;
        for (size_t k = 0; k < T; k++) sum += terms[b * T + k];
        double loglik = values(g, KS_OUT_LOGLIK)[b];
        assert_true(fabs(sum - loglik) <= 1e-13 * fmax(1, fabs(loglik)) * (double)T);
    }
    for (size_t k = 0; k < (size_t)g->B * T; k++)
        for (size_t i = 0; i < n; i++) {
            assert_true(values(g, KS_OUT_SMOOTHED_VAR)[k * n + i] == smoothed[(k * n + i) * n + i]);
            for (size_t j = 0; j < i; j++)
                assert_true(smoothed[(k * n + i) * n + j] == smoothed[(k * n + j) * n + i]);
        }
    bool x0 = g->prior == KS_PRIOR_X0;
    assert_true((values(g, KS_OUT_PRIOR_COV) != NULL) == x0);
    assert_true(g->scan_takes == (g->element_pivot > 0));
    assert_true(g->sensitivity > 0 && g->sensitivity < 1e-7);
}

static void the_files_obey_the_laws(void **state)
{
    (void)state;
    every_case(check_laws);
}

/* Missing entries have no innovation, present ones have, and floats are the rounded doubles. */
static void check_inputs(const golden *g)
{
    const ks_view wide = golden_y(g, KS_F64), narrow = golden_y(g, KS_F32);
    const double *y = wide.data;
    const float *narrow_y = narrow.data;
    for (int64_t b = 0; b < g->B; b++)
        for (int64_t k = 0; k < g->T; k++)
            for (int i = 0; i < g->ny; i++) {
                int64_t at = b * wide.series_stride + k * wide.step_stride + i;
                double e = values(g, KS_OUT_INNOVATION)[(b * g->T + k) * g->ny + i];
                assert_true(isnan(y[at]) == isnan(e));
                assert_true(isnan(y[at]) ? isnan(narrow_y[at]) : (float)y[at] == narrow_y[at]);
                if (g->f32_exact && !isnan(y[at])) assert_true((double)narrow_y[at] == y[at]);
            }
    const ks_model m = golden_model(g, KS_F64), f = golden_model(g, KS_F32);
    assert_non_null(m.F.data);
    assert_true(m.F.step_stride == f.F.step_stride && m.F.data != f.F.data);
    assert_true(m.F.step_stride == 0 || m.F.step_stride == (int64_t)g->nx * g->nx);
    assert_true(m.H.step_stride == 0 || m.H.step_stride == (int64_t)g->ny * g->nx);
}

static void inputs_have_both_precisions(void **state)
{
    (void)state;
    every_case(check_inputs);
}

/* Copy the expected results into buffers, as a run would. */
static golden_buffers *filled(const golden *g, unsigned outputs)
{
    golden_buffers *b = golden_buffers_new(g->T, g->B, g->nx, g->ny, KS_F64, outputs);
    assert_non_null(b);
    for (int i = 0; i < GOLDEN_OUTPUTS; i++) {
        size_t bytes = 0;
        void *to = (void *)(uintptr_t)golden_bytes(b, (ks_output)(1 << i), &bytes);
        if (to && g->expected.array[i]) memcpy(to, g->expected.array[i], bytes);
    }
    return b;
}

/* Exact results pass; one number that is off by a thousandth of its unit is found, and so is a NaN,
 * wherever it is. */
static void check_detection(const golden *g)
{
    golden_norm norm = golden_norm_of(g, KS_F64);
    for (int i = 0; i < GOLDEN_OUTPUTS; i++) {
        unsigned output = 1u << i;
        if (!g->expected.array[i]) continue;
        golden_buffers *b = filled(g, output);
        assert_true(golden_compare(golden_widen(b), &g->expected, output, norm).error == 0);
        size_t bytes = 0;
        double *raw = (double *)(uintptr_t)golden_bytes(b, (ks_output)output, &bytes);
        size_t count = bytes / sizeof *raw, at = count - 1;
        while (at > 0 && isnan(raw[at])) at--;
        double was = raw[at];
        if (!isnan(was)) {
            raw[at] = was * 1.001 + 1e-300;
            double off = golden_compare(golden_widen(b), &g->expected, output, norm).error;
            assert_true(off > 0 || was == 0);
            raw[at] = nan("");
            golden_difference d = golden_compare(golden_widen(b), &g->expected, output, norm);
            assert_true(isinf(d.error) && (unsigned)d.output == output && d.series == g->B - 1);
        } else {
            raw[at] = 0; /* a number where the entry is missing */
            assert_true(isinf(golden_compare(golden_widen(b), &g->expected, output, norm).error));
        }
        golden_buffers_free(b);
    }
}

static void deviations_are_found(void **state)
{
    (void)state;
    every_case(check_detection);
}

/* Unwritten buffers must never pass for results. */
static void check_unwritten(const golden *g)
{
    const ks_precision precisions[] = {KS_F64, KS_F32};
    for (int p = 0; p < 2; p++) {
        unsigned output = KS_OUT_SMOOTHED_MEAN | KS_OUT_LOGLIK | KS_OUT_LAG_ONE_COV;
        golden_buffers *b = golden_buffers_new(g->T, g->B, g->nx, g->ny, precisions[p], output);
        assert_non_null(b);
        golden_difference d =
            golden_compare(golden_widen(b), &g->expected, output, golden_norm_of(g, precisions[p]));
        assert_true(isinf(d.error));
        const ks_outputs *to = golden_outputs(b);
        assert_non_null(to->smoothed_mean.data);
        assert_null(to->smoothed_cov.data);
        d = golden_compare(golden_widen(b), &g->expected, KS_OUT_SMOOTHED_COV,
                           golden_norm_of(g, precisions[p]));
        assert_true(isinf(d.error)); /* there are none */
        assert_int_equal((int)to->smoothed_mean.step_stride, g->nx);
        golden_buffers_free(b);
    }
}

static void unwritten_buffers_do_not_pass(void **state)
{
    (void)state;
    every_case(check_unwritten);
}

/* A mean that is off by half a standard deviation has error 1/2, a covariance relative. */
static void errors_are_in_standard_deviations(void **state)
{
    (void)state;
    double mean[2] = {1, 2}, cov[4] = {4, 1, 1, 9}, other[2] = {2, 2}, off[4] = {4, 1.6, 1.6, 9};
    golden_results e = {.T = 1, .B = 1, .nx = 2, .ny = 1}, a = e;
    int at_mean = 6, at_cov = 7;
    assert_int_equal(KS_OUT_SMOOTHED_MEAN, 1 << at_mean);
    assert_int_equal(KS_OUT_SMOOTHED_COV, 1 << at_cov);
    e.array[at_mean] = mean, e.array[at_cov] = cov;
    a.array[at_mean] = other, a.array[at_cov] = off;
    golden_norm norm = {1e-4, false};
    golden_difference d = golden_compare(&a, &e, KS_OUT_SMOOTHED_MEAN, norm);
    assert_true(fabs(d.error - 0.5) < 1e-15 && d.step == 0);
    d = golden_compare(&a, &e, KS_OUT_SMOOTHED_COV, norm);
    assert_true(fabs(d.error - 0.1) < 1e-15);
    cov[0] = 0; /* an exactly known state is judged by the floor */
    d = golden_compare(&a, &e, KS_OUT_SMOOTHED_MEAN, norm);
    assert_true(fabs(d.error - 1 / 3e-4) < 1e-8);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 1;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_files_obey_the_laws),
        cmocka_unit_test(inputs_have_both_precisions),
        cmocka_unit_test(deviations_are_found),
        cmocka_unit_test(unwritten_buffers_do_not_pass),
        cmocka_unit_test(errors_are_in_standard_deviations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
