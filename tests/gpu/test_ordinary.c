/* test_ordinary.c -- the phases of scans of small models on a device: that threads with their registers take every ordinary
 * step, by which what comes out does not change, and leave all others to the kernels for any model. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "assert_within.h"
#include "models.h"
#include "scan_device.h"
#include "seed_run.h"
#include "textbook.h"

static const method_case *const methods[] = { &filter, &rts, &two_filter };
enum { METHODS = sizeof methods / sizeof methods[0] };

/* What the last run's phases have said of it. */
static ks_scan_status said;

/** Run g, with `all_left` by the kernels for any model alone. */
static golden_buffers *try(const golden *g, const method_case *m, ks_precision precision, unsigned outputs, int seed,
                           int all_left, ks_status *status, ks_info *info)
{
    const ks_smooth_options o = options_of(m, precision, outputs);
    golden_buffers *b = golden_buffers_new(g->T, g->B, g->nx, g->ny, precision, outputs);
    const ks_model model = golden_model(g, precision);
    ks_smooth_plan *plan;
    use_seed(seed);
    OK(ks_smooth_plan_create(&plan, NULL, g->T, g->B, g->nx, g->ny, &o));
    assert_non_null(plan->device->ordinary[KS_PHASE_elements]);
    if (all_left) memset(plan->device->ordinary, 0, sizeof plan->device->ordinary);
    void *work = workspace(plan);
    *info = (ks_info)KS_INFO_INIT;
    *status = ks_smooth_run(plan, &model, golden_y(g, precision), golden_outputs(b), work, info);
    said = plan->device->report->status;
    free(work);
    ks_smooth_plan_destroy(plan);
    check_clean();
    return b;
}

static golden_buffers *run(const golden *g, const method_case *m, ks_precision precision, unsigned outputs, int seed,
                           int all_left, ks_info *info)
{
    ks_status status;
    golden_buffers *b = try(g, m, precision, outputs, seed, all_left, &status, info);
    OK(status);
    return b;
}

static void compare(const golden *g, const method_case *m, ks_precision precision, golden_buffers *b,
                    const golden_results *expected, unsigned outputs, double bound)
{
    const golden_difference d = golden_compare(golden_widen(b), expected, outputs, golden_norm_of(g, precision));
    if (!(d.error <= bound))
        fail_msg("T = %lld, nx = %d, ny = %d, %s, precision %d: %s at step %lld off by %.3g", (long long)g->T, g->nx, g->ny,
                 method_case_name(m), (int)precision, golden_output_name(d.output), (long long)d.step, d.error);
}

/** No step of an ordinary model is left, the first one included, and what is made of it is what the others make. */
static void ordinary_models(void **state)
{
    (void)state;
    /* Warps with one step, some, and all 32, behind which there is another one or none. */
    static const int64_t lengths[] = { 1, 2, 33, 64, 129, 158 };
    enum { LENGTHS = sizeof lengths / sizeof lengths[0] };
    for (int nx = 1; nx <= KS_ORDINARY_STATES; ++nx)
        for (int ny = 1; ny <= KS_ORDINARY_ENTRIES; ++ny)
            for (int i = 0; i < LENGTHS * METHODS; ++i) {
                const ks_prior prior = (ks_prior)((nx + i + i / LENGTHS) % 2);
                const method_case *m = methods[i / LENGTHS];
                const unsigned traits = nx == 2 ? HAS_OFFSETS | MISSING : VARIES_ALL | MISSING;
                golden *g = model_random((model_spec){ 1400 + (unsigned)nx, lengths[i % LENGTHS], 2, nx, ny, prior, traits });
                textbook_smooth(g);
                for (int p = 0; p < 2; ++p) {
                    const unsigned outputs = outputs_there(g, m);
                    ks_info info, of_others;
                    golden_buffers *b = run(g, m, (ks_precision)p, outputs, i + p, 0, &info);
                    compare(g, m, (ks_precision)p, b, &g->expected, outputs,
                            golden_ordinary_bound(GOLDEN_ELEMENTS, (ks_precision)p));
                    /* The smoothed prior is a step of its own. */
                    const int64_t priors = m->job == KS_JOB_SMOOTH && prior == KS_PRIOR_X0 ? g->B : 0;
                    assert_within(info.array_steps, 0, priors);
                    assert_int_equal(info.ordinary_steps + info.array_steps, g->T * g->B + priors);
                    /* Threads beside one another compare what each filter step comes to with what the scan has. */
                    const unsigned long long doubts = said.doubts;
                    golden_buffers *others = run(g, m, (ks_precision)p, outputs, i, 1, &of_others);
                    compare(g, m, (ks_precision)p, b, golden_widen(others), outputs, p ? 1e-5 : 1e-11);
                    assert_int_equal(of_others.ordinary_steps + of_others.array_steps, g->T * g->B + priors);
                    assert_int_equal(of_others.missing, info.missing);
                    assert_int_equal(of_others.elements, info.elements);
                    assert_int_equal(said.doubts, doubts);
                    golden_buffers_free(others);
                    golden_buffers_free(b);
                }
                golden_free(g);
            }
}

/** Observations that are far sharper than predictions, correlated noise that is, a singular transition: steps with such are
 *  left, and no other. They are a warp's first and last ones, and between others. */
static void hard_steps_are_left(void **state)
{
    (void)state;
    static const int64_t hard[] = { 0, 31, 40, 64, 130 };
    enum { HARD = sizeof hard / sizeof hard[0] };
    for (int kind = 0; kind < 3; ++kind)
        for (int i = 0; i < METHODS; ++i) {
            golden *g = model_random((model_spec){ 1410, 131, 1, 4, 2, KS_PRIOR_X0, VARIES_R | VARIES_Q | VARIES_F });
            for (int j = 0; j < HARD; ++j) {
                double *R = model_block(&g->R, 0, hard[j]), *F = model_block(&g->F, 0, hard[j]);
                if (kind == 0) {
                    for (int e = 0; e < 4; ++e) R[e] *= 0x1p-20;
                } else if (kind == 1) {
                    R[0] = R[3] = 1;
                    R[1] = R[2] = 1 - 0x1p-20;
                } else {
                    memset(F + 8, 0, 8 * sizeof *F);
                    memset(model_block(&g->Q, 0, hard[j]), 0, 16 * sizeof *F);
                }
            }
            model_round(g);
            textbook_smooth(g);
            ks_info info;
            const unsigned outputs = outputs_there(g, methods[i]);
            golden_buffers *b = run(g, methods[i], KS_F64, outputs, kind + i, 0, &info);
            compare(g, methods[i], KS_F64, b, &g->expected, outputs, 1e-11);
            const int64_t priors = methods[i]->job == KS_JOB_SMOOTH;
            if (kind < 2) assert_within(info.array_steps, HARD, HARD + priors);
            assert_int_equal(info.ordinary_steps + info.array_steps, g->T + priors);
            golden_buffers_free(b);
            golden_free(g);
        }
}

/** A vague prior leaves the first step alone, or what it needs, and so does one that is nearly singular. */
static void first_steps(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 1420, 50, 1, 3, 2, KS_PRIOR_X0, VARIES_ALL });
    for (int j = 0; j < 9; ++j) g->P0.f64[j] = j % 4 == 0 ? 0x1p22 : 0;
    model_round(g);
    textbook_smooth(g);
    ks_info info;
    golden_buffers *b = run(g, &filter, KS_F64, outputs_there(g, &filter), 1, 0, &info);
    compare(g, &filter, KS_F64, b, &g->expected, outputs_there(g, &filter), 1e-10);
    assert_within(info.array_steps, 1, 3);
    golden_buffers_free(b);
    golden_free(g);
    /* Two states that are known to be all but the same, which the first observation tells apart. */
    g = model_random((model_spec){ 1421, 50, 1, 2, 1, KS_PRIOR_X0, VARIES_F });
    for (int j = 0; j < 4; ++j) g->P0.f64[j] = j < 3 ? 1 : 1 + 0x1p-22, g->Q.f64[j] = j % 3 == 0 ? 0x1p-40 : 0;
    model_round(g);
    textbook_smooth(g);
    b = run(g, &filter, KS_F64, outputs_there(g, &filter), 2, 0, &info);
    compare(g, &filter, KS_F64, b, &g->expected, outputs_there(g, &filter), 1e-11);
    assert_within(info.array_steps, 1, 50);
    golden_buffers_free(b);
    golden_free(g);
}

/** A run that cannot end well ends in the same way whoever takes its steps. */
static void fails(const golden *g, const method_case *m, ks_precision precision, ks_status expected)
{
    const unsigned outputs = outputs_there(g, m);
    ks_info info[2];
    for (int all_left = 0; all_left < 2; ++all_left) {
        ks_status status;
        golden_buffers_free(try(g, m, precision, outputs, all_left, all_left, &status, &info[all_left]));
        assert_int_equal(status, expected);
    }
    assert_int_equal(info[0].array, info[1].array);
    assert_int_equal(info[0].fault, info[1].fault);
    /* Where a scan is found to be off first may hang on a rounding. */
    if (expected != KS_EREFUSED) assert_int_equal(info[0].step, info[1].step);
}

/** An infinite entry; an estimate beyond a float's range, of the filter, and of both smoothers. */
static void faults_are_told(void **state)
{
    (void)state;
    for (int i = 0; i < METHODS; ++i) {
        golden *g = model_random((model_spec){ 1430, 50, 1, 3, 2, KS_PRIOR_X0, VARIES_ALL });
        g->y.f64[2 * 49 + 1] = (double)INFINITY;
        fails(g, methods[i], KS_F64, KS_EMODEL);
        g->y.f64[1] = -(double)INFINITY;
        fails(g, methods[i], KS_F64, KS_EMODEL);
        golden_free(g);
    }
    for (int i = 0; i < 2 * METHODS; ++i) {
        const method_case *m = methods[i % METHODS];
        const int behind = i >= METHODS; /* only what comes later tells of a state that has halved many times */
        golden *g = model_random((model_spec){ 1440, 40, 1, 1, 1, KS_PRIOR_X1, VARIES_F | VARIES_R });
        g->m0.f64[0] = 0, g->P0.f64[0] = 0x1p60, g->H.f64[0] = 0x1p-10, g->Q.f64[0] = 0x1p30;
        for (int k = 0; k < 40; ++k) {
            const int told = behind ? k >= 30 : 1;
            *model_block(&g->F, 0, k) = behind && k == 21 ? 0x1p-12 : 1;
            *model_block(&g->R, 0, k) = told ? 0x1p-20 : 0x1p100;
            g->y.f64[k] = behind ? (told ? 0x1p110 : 0) : k == 25 ? 0x1p126 : 0;
        }
        model_round(g);
        /* Means so far away are no longer those of a smoother whose steps subtract, either. */
        if (!behind) fails(g, m, KS_F32, KS_ENONFINITE);
        else if (m->job == KS_JOB_SMOOTH) fails(g, m, KS_F32, m == &rts ? KS_EREFUSED : KS_ENONFINITE);
        golden_free(g);
    }
}

/** Scans that may have lost what they were to tell are found out. */
static void suspects_are_refused(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 1450, 50, 1, 3, 2, KS_PRIOR_X0, VARIES_ALL });
    for (int j = 0; j < 9; ++j) g->P0.f64[j] = j % 4 == 0 ? 0x1p40 : 0;
    model_round(g);
    fails(g, &filter, KS_F64, KS_EREFUSED);
    golden_free(g);
    /* A combination of states that two ordinary steps tell so well that covariances hardly hold it. */
    g = model_random((model_spec){ 1452, 3, 1, 2, 1, KS_PRIOR_X1, VARIES_R });
    for (int j = 0; j < 4; ++j) g->F.f64[j] = j % 3 == 0, g->Q.f64[j] = 0x1p-40 * (j % 3 == 0), g->P0.f64[j] = 10 * (j % 3 == 0);
    g->H.f64[0] = 1, g->H.f64[1] = -1;
    for (int k = 0; k < 3; ++k) g->R.f64[k] = k == 0 ? 0x1p-12 : 0x1p-26, g->y.f64[k] = 0;
    model_round(g);
    unsigned long long doubts[2][2];
    for (int i = 0; i < 4; ++i) {
        const method_case *m = i % 2 ? &two_filter : &filter;
        ks_info info;
        ks_status status;
        golden_buffers_free(try(g, m, KS_F64, outputs_there(g, m), 1, i / 2, &status, &info));
        doubts[i % 2][i / 2] = said.doubts;
        if (i < 2) assert_int_equal(info.array_steps, 0);
    }
    assert_true(doubts[0][0] > 0 && doubts[1][0] > doubts[0][0]);
    assert_int_equal(doubts[0][0], doubts[0][1]);
    assert_int_equal(doubts[1][0], doubts[1][1]);
    golden_free(g);
    /* A state that halves without noise, and goes to 2: the way back doubles the round-off of each step. */
    g = model_random((model_spec){ 1451, 90, 1, 2, 1, KS_PRIOR_X1, HAS_OFFSETS });
    for (int j = 0; j < 4; ++j) g->F.f64[j] = j % 3 == 0 ? 0.5 : 0, g->Q.f64[j] = 0;
    g->u.f64[0] = g->u.f64[1] = 1;
    model_round(g);
    fails(g, &rts, KS_F64, KS_EREFUSED);
    golden_free(g);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordinary_models),
        cmocka_unit_test(hard_steps_are_left),
        cmocka_unit_test(first_steps),
        cmocka_unit_test(faults_are_told),
        cmocka_unit_test(suspects_are_refused),
    };
    only_tests(argc, argv, tests);
    if (no_device()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
