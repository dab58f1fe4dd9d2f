/* test_check.c -- ks_model_check() and ks_covariance_symmetrize(): each fault is named, limits hold
 * on both sides, and what a run does not read is not read. */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "models.h"
#include "run_case.h"

enum { T = 7, B = 3, NX = 3, NY = 2 };
static const double asymmetry = 1e-8, indefinite = 1e-10;

static ks_smooth_plan *plan_of(ks_precision precision)
{
    ks_smooth_options o = KS_SMOOTH_OPTIONS_INIT;
    ks_smooth_plan *plan = NULL;
    o.precision = precision;
    assert_int_equal(ks_smooth_plan_create(&plan, NULL, T, B, NX, NY, &o), KS_OK);
    return plan;
}

/** A model of which every array varies in every way that it can. */
static golden *whole_model(ks_prior prior)
{
    return model_random((model_spec){ 111, T, B, NX, NY, prior, VARIES_ALL | OWN_MODELS });
}

static ks_status check(const golden *g, int precision, ks_info *info)
{
    const ks_info fresh = KS_INFO_INIT;
    ks_smooth_plan *plan = plan_of((ks_precision)precision);
    const ks_model model = golden_model(g, (ks_precision)precision);
    *info = fresh;
    const ks_status status =
        ks_model_check(plan, &model, precision == KS_F64 ? asymmetry : 1e-4,
                       precision == KS_F64 ? indefinite : 1e-5, info);
    assert_int_equal(info->status, status);
    ks_smooth_plan_destroy(plan);
    return status;
}

/** Spoil entry (row, column) of an array and expect it to be named. */
static void names(golden *g, golden_input *in, ks_array array, int64_t b, int64_t k, int row,
                  int column, int columns, ks_fault fault, double value)
{
    double *at = model_block(in, b, k) + row * columns + column;
    const double saved = *at;
    *at = value;
    model_round(g);
    for (int p = 0; p < 2; ++p) {
        ks_info info;
        assert_int_equal(check(g, p, &info), KS_EMODEL);
        if (info.array != array || info.fault != fault || info.series != b || info.step != k ||
            info.row != row || info.column != column)
            fail_msg("%s: told %s, fault %d, series %lld, step %lld, (%d, %d)",
                     ks_array_name(array), ks_array_name(info.array), (int)info.fault,
                     (long long)info.series, (long long)info.step, info.row, info.column);
    }
    *at = saved;
    model_round(g);
}

static void not_finite(void **state)
{
    (void)state;
    golden *g = whole_model(KS_PRIOR_X0);
    const double values[] = { (double)NAN, (double)INFINITY, -(double)INFINITY };
    struct { golden_input *in; ks_array array; int rows, columns, steps; } parts[] = {
        { &g->F, KS_ARRAY_F, NX, NX, T },  { &g->Q, KS_ARRAY_Q, NX, NX, T },
        { &g->H, KS_ARRAY_H, NY, NX, T },  { &g->R, KS_ARRAY_R, NY, NY, T },
        { &g->u, KS_ARRAY_U, NX, 1, T },   { &g->d, KS_ARRAY_D, NY, 1, T },
        { &g->m0, KS_ARRAY_M0, NX, 1, 1 }, { &g->P0, KS_ARRAY_P0, NX, NX, 1 },
    };
    ks_info info;
    for (int p = 0; p < 2; ++p) assert_int_equal(check(g, p, &info), KS_OK);
    assert_true(info.array == KS_ARRAY_NONE && info.fault == KS_FAULT_NONE && info.step == -1);
    for (size_t a = 0; a < sizeof parts / sizeof parts[0]; ++a)
        for (int64_t b = 0; b < B; b += B - 1)
            for (int64_t k = 0; k < parts[a].steps; k += T - 1)
                for (int v = 0; v < 3; ++v) {
                    names(g, parts[a].in, parts[a].array, b, k, 0, 0, parts[a].columns,
                          KS_FAULT_NOT_FINITE, values[v]);
                    names(g, parts[a].in, parts[a].array, b, k, parts[a].rows - 1,
                          parts[a].columns - 1, parts[a].columns, KS_FAULT_NOT_FINITE, values[v]);
                }
    golden_free(g);
}

static void asymmetric(void **state)
{
    (void)state;
    golden *g = whole_model(KS_PRIOR_X0);
    struct { golden_input *in; ks_array array; int n; int64_t k; } parts[] = {
        { &g->Q, KS_ARRAY_Q, NX, 4 }, { &g->R, KS_ARRAY_R, NY, 2 }, { &g->P0, KS_ARRAY_P0, NX, 0 },
    };
    for (size_t a = 0; a < 3; ++a) {
        const int n = parts[a].n;
        double *block = model_block(parts[a].in, 1, parts[a].k);
        const double old = block[(n - 1) * n], largest = 4;
        names(g, parts[a].in, parts[a].array, 1, parts[a].k, n - 1, 0, n, KS_FAULT_ASYMMETRIC,
              old + 0.25);
        block[0] = largest; /* the largest entry, to which the limit is relative */
        ks_info info;
        /* The value is the difference; the limit itself is allowed, a little more is not. */
        block[(n - 1) * n] = old + 0.99 * asymmetry * largest;
        assert_int_equal(check(g, KS_F64, &info), KS_OK);
        block[(n - 1) * n] = old + 1.01 * asymmetry * largest;
        assert_int_equal(check(g, KS_F64, &info), KS_EMODEL);
        assert_int_equal(info.fault, KS_FAULT_ASYMMETRIC);
        assert_true(fabs(info.value - 1.01 * asymmetry * largest) <= 1e-14);
        block[(n - 1) * n] = old;
    }
    golden_free(g);
}

static void set_diagonal(double *block, int n, double first, double rest)
{
    memset(block, 0, (size_t)(n * n) * sizeof *block);
    for (int i = 0; i < n; ++i) block[i * n + i] = i ? rest : first;
}

static void not_semidefinite(void **state)
{
    (void)state;
    golden *g = whole_model(KS_PRIOR_X0);
    struct { golden_input *in; ks_array array; int n; int64_t k; } parts[] = {
        { &g->Q, KS_ARRAY_Q, NX, 6 }, { &g->R, KS_ARRAY_R, NY, 0 }, { &g->P0, KS_ARRAY_P0, NX, 0 },
    };
    for (size_t a = 0; a < 3; ++a) {
        const int n = parts[a].n;
        double *block = model_block(parts[a].in, 2, parts[a].k), saved[NX * NX];
        memcpy(saved, block, (size_t)(n * n) * sizeof *saved);
        for (int side = 0; side < 2; ++side) { /* diagonal, limits on both sides */
            const double trace = (n - 1) * 2.0;
            const double least = -(side ? 1.01 : 0.99) * indefinite * trace;
            ks_info info;
            set_diagonal(block, n, least, 2);
            assert_int_equal(check(g, KS_F64, &info), side ? KS_EMODEL : KS_OK);
            if (!side) continue;
            assert_true(info.array == parts[a].array && info.fault == KS_FAULT_INDEFINITE);
            assert_true(info.series == 2 && info.step == parts[a].k);
            assert_true(fabs(info.value - least) <= 1e-3 * fabs(least));
        }
        for (int side = 0; side < 2; ++side) { /* eigenvalues 1 +- (1 + e) of a full block */
            const double e = (side ? 1.01 : 0.99) * indefinite * n;
            ks_info info;
            set_diagonal(block, n, 1, 1);
            block[n * n - 2] = block[n * n - 1 - n] = 1 + e;
            assert_int_equal(check(g, KS_F64, &info), side ? KS_EMODEL : KS_OK);
            if (!side) continue;
            assert_int_equal(info.fault, KS_FAULT_INDEFINITE);
            assert_true(fabs(info.value + e) <= 1e-3 * e);
        }
        /* Zero is a covariance. */
        ks_info info;
        set_diagonal(block, n, 0, 0);
        assert_int_equal(check(g, KS_F64, &info), KS_OK);
        set_diagonal(block, n, 0, -1); /* with a negative trace nothing is allowed */
        assert_int_equal(check(g, KS_F64, &info), KS_EMODEL);
        memcpy(block, saved, (size_t)(n * n) * sizeof *saved);
    }
    golden_free(g);
}

static void fill_nan(golden_input *in, int64_t k, int numbers)
{
    for (int64_t b = 0; b < B; ++b)
        for (int i = 0; i < numbers; ++i) model_block(in, b, k)[i] = (double)NAN;
}

/** Under prior x1 nothing leads into step 0: neither checked nor read by any method. */
static void step_zero_under_prior_x1(void **state)
{
    (void)state;
    golden *g = whole_model(KS_PRIOR_X1), *spoilt = whole_model(KS_PRIOR_X1);
    fill_nan(&spoilt->F, 0, NX * NX);
    fill_nan(&spoilt->Q, 0, NX * NX);
    fill_nan(&spoilt->u, 0, NX);
    model_round(spoilt);
    ks_info info;
    for (int p = 0; p < 2; ++p) {
        assert_int_equal(check(spoilt, p, &info), KS_OK);
        for (int i = 0; i < all_methods_count; ++i) {
            const method_case *m = &all_methods[i];
            golden_buffers *a = run_well(g, m, (ks_precision)p, 1, outputs_made(m), NULL);
            golden_buffers *b = run_well(spoilt, m, (ks_precision)p, 1, outputs_made(m), NULL);
            assert_int_equal(first_different(a, b, outputs_made(m)), 0);
            golden_buffers_free(a);
            golden_buffers_free(b);
        }
    }
    /* Step 1 is read. */
    model_block(&spoilt->F, 0, 1)[3] = (double)NAN;
    model_round(spoilt);
    assert_int_equal(check(spoilt, KS_F64, &info), KS_EMODEL);
    assert_true(info.array == KS_ARRAY_F && info.series == 0 && info.step == 1 && info.row == 1);
    golden_free(spoilt);
    golden_free(g);
}

/** Given out of a step, the last row leads nowhere: it is not read, and need not exist. */
static void last_row_of_out_of(void **state)
{
    (void)state;
    for (int p = 0; p < 2; ++p) {
        const ks_precision precision = (ks_precision)p;
        const int64_t bytes = p == KS_F64 ? (int64_t)sizeof(double) : (int64_t)sizeof(float);
        golden *g = model_random((model_spec){ 112, T, 1, NX, NY, KS_PRIOR_X1, VARIES_ALL });
        ks_model model = golden_model(g, precision);
        /* Rows 1 .. T - 1 of the arrays as rows 0 .. T - 2; row T - 1 lies beyond their end. */
        ks_view *views[] = { &model.F, &model.Q, &model.u };
        char *copies[3];
        for (int v = 0; v < 3; ++v) {
            const size_t size = (size_t)(views[v]->step_stride * (T - 1) * bytes);
            copies[v] = malloc(size);
            assert_non_null(copies[v]);
            memcpy(copies[v], (const char *)views[v]->data + views[v]->step_stride * bytes, size);
            views[v]->data = copies[v];
        }
        model.transition = KS_OUT_OF;
        ks_smooth_options o = KS_SMOOTH_OPTIONS_INIT;
        ks_smooth_plan *plan = NULL;
        o.precision = precision;
        assert_int_equal(ks_smooth_plan_create(&plan, NULL, T, 1, NX, NY, &o), KS_OK);
        ks_info info = KS_INFO_INIT;
        assert_int_equal(ks_model_check(plan, &model, 1e-4, 1e-5, &info), KS_OK);
        for (int i = 0; i < all_methods_count; ++i) {
            const method_case *m = &all_methods[i];
            const ks_smooth_options options = options_of(m, precision, outputs_made(m));
            golden_buffers *b = NULL;
            assert_int_equal(run_model(g, &model, golden_y(g, precision), &options, 1, &b, NULL),
                             KS_OK);
            golden_buffers_free(b);
        }
        ks_smooth_plan_destroy(plan);
        for (int v = 0; v < 3; ++v) free(copies[v]);
        golden_free(g);
    }
}

static void constant_arrays_are_one_block(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 113, T, B, NX, NY, KS_PRIOR_X1, HAS_OFFSETS });
    names(g, &g->Q, KS_ARRAY_Q, 0, 0, 1, 1, NX, KS_FAULT_NOT_FINITE, (double)NAN);
    names(g, &g->F, KS_ARRAY_F, 0, 0, 2, 0, NX, KS_FAULT_NOT_FINITE, (double)NAN);
    golden_free(g);
}

/** A check refuses the models that a run refuses, and names the same array. */
static void what_runs_refuse(void **state)
{
    (void)state;
    golden *g = whole_model(KS_PRIOR_X0);
    ks_smooth_plan *plan = plan_of(KS_F64);
    const ks_model good = golden_model(g, KS_F64);
    ks_model model = good;
    ks_view *const views[] = { &model.F, &model.Q, &model.H, &model.R, &model.m0, &model.P0 };
    const ks_array names[] = { KS_ARRAY_F, KS_ARRAY_Q, KS_ARRAY_H, KS_ARRAY_R, KS_ARRAY_M0, KS_ARRAY_P0 };
    for (size_t v = 0; v < sizeof views / sizeof views[0]; ++v)
        for (int wrong = 0; wrong < (v < 4 ? 3 : 2); ++wrong) {
            ks_info info = KS_INFO_INIT;
            if (wrong == 0) views[v]->data = NULL;
            else if (wrong == 1) views[v]->series_stride = 1;
            else views[v]->step_stride = 1;
            assert_int_equal(ks_model_check(plan, &model, asymmetry, indefinite, &info), KS_EINVAL);
            assert_true(info.status == KS_EINVAL && info.array == names[v]);
            model = good;
        }
    /* Out of a step, with a prior that is that of x[-1]. */
    model.transition = KS_OUT_OF;
    assert_int_equal(ks_model_check(plan, &model, asymmetry, indefinite, NULL), KS_EINVAL);
    model.F.step_stride = model.Q.step_stride = model.u.step_stride = 0;
    assert_int_equal(ks_model_check(plan, &model, asymmetry, indefinite, NULL), KS_OK);
    model.prior = (ks_prior)2;
    assert_int_equal(ks_model_check(plan, &model, asymmetry, indefinite, NULL), KS_EINVAL);
    ks_smooth_plan_destroy(plan);
    /* What would be smoothed of a prior that is on the first step. */
    ks_smooth_options o = KS_SMOOTH_OPTIONS_INIT;
    o.outputs = KS_OUT_PRIOR_COV;
    assert_int_equal(ks_smooth_plan_create(&plan, NULL, T, B, NX, NY, &o), KS_OK);
    model = good;
    ks_info info = KS_INFO_INIT;
    assert_int_equal(ks_model_check(plan, &model, asymmetry, indefinite, &info), KS_OK);
    assert_true(info.value == 0 && info.row == -1);
    model.prior = KS_PRIOR_X1;
    assert_int_equal(ks_model_check(plan, &model, asymmetry, indefinite, &info), KS_EINVAL);
    assert_int_equal(info.array, KS_ARRAY_P0);
    ks_smooth_plan_destroy(plan);
    golden_free(g);
}

static void arguments_of_checks(void **state)
{
    (void)state;
    golden *g = whole_model(KS_PRIOR_X0);
    ks_smooth_plan *plan = plan_of(KS_F64);
    ks_model model = golden_model(g, KS_F64);
    ks_info info = KS_INFO_INIT;
    double block[4] = { 1, 0, 0, 1 };
    assert_int_equal(ks_model_check(NULL, &model, 1e-8, 1e-10, &info), KS_EINVAL);
    assert_int_equal(ks_model_check(plan, NULL, 1e-8, 1e-10, &info), KS_EINVAL);
    assert_int_equal(ks_model_check(plan, &model, 1e-8, 1e-10, NULL), KS_OK);
    /* A tolerance that nothing is beyond would take any matrix. */
    const double no_limits[] = { (double)NAN, -1e-300 };
    for (int i = 0; i < 2; ++i) {
        info.status = KS_OK;
        assert_int_equal(ks_model_check(plan, &model, no_limits[i], 1, &info), KS_EINVAL);
        assert_int_equal(info.status, KS_EINVAL);
        info.status = KS_OK;
        assert_int_equal(ks_covariance_symmetrize(KS_F64, 2, 1, block, no_limits[i], 1, &info), KS_EINVAL);
        assert_int_equal(info.status, KS_EINVAL);
        assert_int_equal(ks_covariance_symmetrize(KS_F64, 2, 1, block, no_limits[i], 1, NULL), KS_EINVAL);
        assert_int_equal(ks_covariance_symmetrize(KS_F64, 2, 1, block, 1, no_limits[i], NULL), KS_EINVAL);
        assert_int_equal(ks_model_check(plan, &model, no_limits[i], 1, NULL), KS_EINVAL);
        assert_int_equal(ks_model_check(plan, &model, 1, no_limits[i], NULL), KS_EINVAL);
    }
    model.size = 0;
    assert_int_equal(ks_model_check(plan, &model, 1e-8, 1e-10, &info), KS_EINVAL);
    assert_int_equal(ks_covariance_symmetrize(KS_F64, 0, 1, block, 1, 1, NULL), KS_EINVAL);
    assert_int_equal(ks_covariance_symmetrize(KS_F64, 2, -1, block, 1, 1, NULL), KS_EINVAL);
    assert_int_equal(ks_covariance_symmetrize(KS_F64, 2, 1, NULL, 1, 1, NULL), KS_EINVAL);
    assert_int_equal(ks_covariance_symmetrize((ks_precision)7, 2, 1, block, 1, 1, NULL),
                     KS_EINVAL);
    assert_int_equal(ks_covariance_symmetrize(KS_F64, 2, 0, NULL, 1, 1, NULL), KS_OK);
    assert_int_equal(ks_covariance_symmetrize(KS_F32, INT_MAX, 0, NULL, 1, 1, NULL), KS_OK);
    assert_int_equal(ks_covariance_symmetrize(KS_MIXED, 2, 0, NULL, 1, 1, NULL), KS_EINVAL);
    assert_int_equal(ks_covariance_symmetrize(KS_F64, 2, INT64_MAX, block, 1, 1, NULL), KS_EINVAL);
    assert_int_equal(ks_covariance_symmetrize(KS_F64, 2, PTRDIFF_MAX / 32 + 1, block, 1, 1, NULL), KS_EINVAL);
    assert_int_equal(ks_covariance_symmetrize(KS_F32, INT_MAX, 1, block, 1, 1, NULL), KS_EINVAL);
    info.size = 1;
    assert_int_equal(ks_covariance_symmetrize(KS_F64, 2, 1, block, 1, 1, &info), KS_EINVAL);
    ks_smooth_plan_destroy(plan);
    golden_free(g);
}

static void symmetrize(void **state)
{
    (void)state;
    double d[3][4] = { { 2, 1, 1 + 1e-10, 3 }, { 1, 0, 0, 1 }, { 1, 0.5, 0.5, 1 } };
    float f[2][4] = { { 2, 1, 1.00001f, 3 }, { 1, 0, 0, 0 } };
    ks_info info = KS_INFO_INIT;
    assert_int_equal(ks_covariance_symmetrize(KS_F64, 2, 3, d, 1e-8, 1e-10, &info), KS_OK);
    assert_true(d[0][1] == d[0][2] && fabs(d[0][1] - (1 + 0.5e-10)) <= 1e-15);
    assert_true(d[0][0] == 2 && d[0][3] == 3 && d[2][1] == 0.5);
    assert_int_equal(ks_covariance_symmetrize(KS_F32, 2, 2, f, 1e-4, 1e-5, &info), KS_OK);
    assert_true(f[0][1] == f[0][2] && fabsf(f[0][1] - 1.000005f) <= 2e-7f);
    assert_int_equal(info.status, KS_OK);
    d[2][1] = 0.6;
    assert_int_equal(ks_covariance_symmetrize(KS_F64, 2, 3, d, 1e-8, 1e-10, &info), KS_EMODEL);
    assert_true(info.step == 2 && info.fault == KS_FAULT_ASYMMETRIC && info.row == 1 &&
                info.column == 0 && info.status == KS_EMODEL);
    assert_true(fabs(info.value - 0.1) <= 1e-15);
    d[1][3] = -1;
    assert_int_equal(ks_covariance_symmetrize(KS_F64, 2, 3, d, 1e-8, 1e-10, &info), KS_EMODEL);
    assert_true(info.step == 1 && info.fault == KS_FAULT_INDEFINITE && info.value == -1);
    d[0][2] = (double)NAN;
    assert_int_equal(ks_covariance_symmetrize(KS_F64, 2, 3, d, 1e-8, 1e-10, &info), KS_EMODEL);
    assert_true(info.step == 0 && info.fault == KS_FAULT_NOT_FINITE && info.row == 1 &&
                info.column == 0 && info.value == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_finite),         cmocka_unit_test(asymmetric),
        cmocka_unit_test(not_semidefinite),   cmocka_unit_test(step_zero_under_prior_x1),
        cmocka_unit_test(last_row_of_out_of), cmocka_unit_test(constant_arrays_are_one_block),
        cmocka_unit_test(what_runs_refuse),   cmocka_unit_test(arguments_of_checks),
        cmocka_unit_test(symmetrize),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
