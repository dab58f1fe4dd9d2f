/* test_published.c -- figures in print, by every method. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "../golden/published.h"
#include "map_refusal.h"
#include "run_case.h"

/* What the published figures say must come out of the numbers as they are printed, whatever the
 * rounding: a printed 15099 stands for itself. So this is f64 only. */

static ks_model model_of(const published_case *p)
{
    ks_model model = KS_MODEL_INIT;
    model.F.data = p->F;
    model.Q.data = p->Q;
    model.H.data = p->H;
    model.R.data = p->R;
    model.m0.data = p->m0;
    model.P0.data = p->P0;
    model.prior = KS_PRIOR_X1;
    return model;
}

/** Whether H Q H' + R is zero (ny = 1) or singular; the scans refuse such a model. */
static int scan_takes(const published_case *p)
{
    if (p->ny > 1) return 1;
    double s = p->R[0];
    for (int i = 0; i < p->nx; ++i)
        for (int j = 0; j < p->nx; ++j) s += p->H[i] * p->Q[i * p->nx + j] * p->H[j];
    return s > 0;
}

/** The figure as the source counts it: terms from `skip` on, less its constants. */
static double figure(const published_case *p, const golden_results *r)
{
    double sum = 0;
    for (int64_t k = p->skip; k < p->T; ++k) sum += r->array[__builtin_ctz(KS_OUT_LOGLIK_TERMS)][k];
    return sum - p->constants * log(2 * acos(-1)) / 2;
}

static int64_t block_of(const published_case *p, ks_output output)
{
    switch (output) {
    case KS_OUT_PREDICTED_COV: case KS_OUT_FILTERED_COV: case KS_OUT_SMOOTHED_COV:
        return (int64_t)p->nx * p->nx;
    case KS_OUT_INNOVATION: case KS_OUT_INNOVATION_STD: return p->ny;
    default: return p->nx;
    }
}

/** Number of figures compared; fails on the first that is off. */
static int compare(const published_case *p, const method_case *m, const golden_results *r)
{
    int compared = 0;
    /* A method without terms can be compared where the figure is all of the log-likelihood. */
    const int terms = r->array[__builtin_ctz(KS_OUT_LOGLIK_TERMS)] != NULL;
    if (!isnan(p->loglik) && (terms || (p->skip == 0 && p->constants == 0))) {
        const double got = terms ? figure(p, r) : r->array[0][0];
        if (!(fabs(got - p->loglik) <= p->loglik_bound))
            fail_msg("%s by %s: log-likelihood %.9f, published %.9f", p->name,
                     method_case_name(m), got, p->loglik);
        if (p->skip == 0 && p->constants == 0 &&
            !(fabs(r->array[0][0] - p->loglik) <= p->loglik_bound))
            fail_msg("%s by %s: loglik %.9f is not the sum of its terms", p->name,
                     method_case_name(m), r->array[0][0]);
        ++compared;
    }
    for (int i = 0; i < p->count; ++i) {
        const published_value *v = &p->values[i];
        const double *array = r->array[__builtin_ctz(v->output)];
        if (!array) continue; /* a smoothed value, and this is the filter */
        const double got = array[v->step * block_of(p, v->output) + v->entry];
        if (!(fabs(got - v->value) <= v->bound))
            fail_msg("%s by %s: %s at step %lld is %.9g, published %.9g", p->name,
                     method_case_name(m), golden_output_name(v->output), (long long)v->step, got,
                     v->value);
        ++compared;
    }
    return compared;
}

static void figures_in_print(void **state)
{
    (void)state;
    int compared = 0;
    for (size_t c = 0; c < PUBLISHED_COUNT; ++c) {
        const published_case *p = &published_cases[c];
        golden sizes = { .T = p->T, .B = 1, .nx = p->nx, .ny = p->ny };
        const ks_model model = model_of(p);
        const ks_view y = { p->y, p->T > 1 ? p->ny : 0, 0 };
        for (int i = 0; i < all_methods_count; ++i) {
            const method_case *m = &all_methods[i];
            const ks_smooth_options options = options_of(m, KS_F64, outputs_made(m));
            golden_buffers *b = NULL;
            ks_info info = KS_INFO_INIT;
            const ks_status status = run_model(&sizes, &model, y, &options, 1, &b, &info);
            const int exact = p->R[0] == 0;
            const map_refusal refusal =
                map_refusal_of(&model, y, p->T, 1, p->nx, p->ny, KS_F64);
            if (is_map(m) && refusal.array != KS_ARRAY_NONE) {
                assert_true(is_refused(status, &info, refusal));
            } else if ((is_scan(m) && !scan_takes(p)) || (is_two_ended(m) && exact)) {
                assert_int_equal(status, KS_EREFUSED);
            } else {
                if (status != KS_OK)
                    fail_msg("%s by %s: %s", p->name, method_case_name(m), ks_status_name(status));
                compared += compare(p, m, golden_widen(b));
            }
            golden_buffers_free(b);
        }
    }
    assert_true(compared > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(figures_in_print) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
