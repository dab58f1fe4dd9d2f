/* test_judge.c -- chunks on a device are judged for round-off: an estimate at a border that is off is told, whichever
 * kernels run the chunks, and so is a stiff model, from the host, in parts, in a batch, on arrays of the device.
 * tests/kalman/test_filter_rounding.c and test_scan_rounding.c have the models that are taken or refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "assert_within.h"
#include "kalscan/smooth_cuda.h"
#include "models.h"
#include "scan_device.h"
#include "seed_run.h"
#include "sanitizers.h"

static const method_case chunked_filter = { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_CHUNKED, 1, 0 };
static const method_case meets = { KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER, KS_SCAN_CHUNKED, 1, 0 };

enum { LENGTH = 63 };

/** What is done to a border. The two-filter smoother has the information where the others have the last mean. */
typedef enum wrong { NOTHING, MEAN, COVARIANCE, OTHER_BORDER, NO_NUMBER, LAST_MEAN, WRONGS, FIRST_STATE } wrong;

/** A border of the last run in the device's memory, in double; `put`: back to there. */
static void border(ks_scan_device *d, double *where, int64_t chunk, double *own, int put)
{
    const int64_t n = d->chunks.a.series.nx ? d->chunks.a.series.nx : d->a.series.nx, all = n + n * n;
    double *const at = where + chunk * all;
    if (put) OK(ks_gpu_copy_in(d->gpu, at, own, (size_t)all * sizeof(double), d->stream));
    else OK(ks_gpu_copy_out(d->gpu, own, at, (size_t)all * sizeof(double), d->stream));
    OK(ks_gpu_stream_sync(d->gpu, d->stream));
}

/** Chunks of the last run once more, from borders of which that before `chunk` is wrong. */
static ks_scan_status again(ks_scan_device *d, wrong what, int64_t chunk, double share)
{
    const int n = d->a.series.nx;
    double own[80 * 81], other[80 * 81];
    double *const where = what == LAST_MEAN ? d->chunks.last : d->chunks.before;
    if (what == LAST_MEAN) --chunk;
    border(d, where, chunk, own, 0);
    border(d, where, chunk == 1 ? 2 : 1, other, 0);
    double *const changed = what == OTHER_BORDER ? other : own;
    double right[80 * 81];
    memcpy(right, own, sizeof right);
    if (what == MEAN || what == LAST_MEAN) changed[n - 1] += share * sqrt(changed[n + n * n - 1]);
    if (what == COVARIANCE)
        for (int i = 0; i < n * n; ++i) changed[n + i] *= 1 + share;
    if (what == NO_NUMBER) changed[0] = (double)NAN;
    if (what == FIRST_STATE) changed[0] += share;
    if (what != NOTHING) border(d, where, chunk, changed, 1);
    OK(ks_scan_device_begin(d));
    OK(ks_chunks_rerun(d));
    OK(ks_scan_device_report(d, d->stream));
    border(d, where, chunk, right, 1);
    return d->report->status;
}

/** Of a border that is off a run tells the lowest step that meets it, and how far. */
static void check_borders(int nx, int ny, const method_case *m, ks_precision precision, unsigned outputs, int seed)
{
    golden *g = model_random((model_spec){ 1400, LENGTH, 1, nx, ny, (ks_prior)(seed % 2),
                                           seed % 3 ? VARIES_ALL | MISSING : HAS_OFFSETS });
    const ks_smooth_options o = options_of(m, precision, outputs);
    golden_buffers *b = golden_buffers_new(g->T, g->B, nx, ny, precision, outputs);
    const ks_model model = golden_model(g, precision);
    const double share = precision == KS_F64 ? 1e-5 : 0.3;
    ks_smooth_plan *plan;
    ks_scan_status good;
    use_seed(seed);
    OK(ks_smooth_plan_create(&plan, NULL, g->T, g->B, nx, ny, &o));
    void *work = workspace(plan);
    OK(ks_smooth_run(plan, &model, golden_y(g, precision), golden_outputs(b), work, NULL));
    ks_scan_device *d = plan->device;
    memset(&good, KS_SCAN_GOOD, sizeof good);
    for (int64_t chunk = 1; chunk < d->tiles.count; chunk += 2)
        for (wrong what = NOTHING; what < WRONGS; ++what) {
            if (what == LAST_MEAN && m->job == KS_JOB_FILTER) continue;
            const ks_scan_status status = again(d, what, chunk, share);
            const int64_t step = (int64_t)(status.bad >> 24);
            double moves;
            memcpy(&moves, &status.moves, sizeof moves);
            if (what == NOTHING) {
                assert_true(status.bad == good.bad);
                assert_true(moves == 0);
            } else if (what == NO_NUMBER) {
                assert_true(status.bad != good.bad);
            } else {
                if (status.bad == good.bad)
                    fail_msg("nx = %d, precision %d, method %d: wrong %d of border %d is not told", nx, (int)precision,
                             (int)m->method, (int)what, (int)chunk);
                assert_int_equal(status.bad >> 16 & 7, KS_FAULT_ILL_CONDITIONED);
                assert_int_equal(status.bad >> 19 & 31, KS_ARRAY_ESTIMATE);
                assert_true(moves >= share / 100);
                if (what != LAST_MEAN && m->job == KS_JOB_FILTER) assert_int_equal(step, chunk * d->chunks.size);
                assert_true(step <= chunk * d->chunks.size);
            }
        }
    free(work);
    ks_smooth_plan_destroy(plan);
    check_clean();
    golden_buffers_free(b);
    golden_free(g);
}

/** Of two states only the difference is observed, so it is known a thousand times better than they are: a mean is off by more
 *  than that bears where it is by nothing to speak of for either state. */
static void combinations_that_are_off(void **state)
{
    (void)state;
    static const int sizes[] = { 2, 3, 4, 6, 66 };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        const int nx = sizes[i];
        golden *g = model_random((model_spec){ 1405, LENGTH, 1, nx, 1, KS_PRIOR_X1, 0 });
        for (int j = 0; j < nx * nx; ++j) {
            const int same = j % (nx + 1) == 0;
            g->F.f64[j] = g->P0.f64[j] = same, g->Q.f64[j] = same ? 0x1p-27 : 0;
        }
        for (int c = 0; c < nx; ++c) g->H.f64[c] = c == 0 ? 1 : c == 1 ? -1 : 0;
        g->R.f64[0] = 0x1p-16;
        for (int k = 0; k < LENGTH; ++k) g->y.f64[k] = 0x1p-9 * (k % 3);
        model_round(g);
        const ks_smooth_options o = options_of(&chunked_filter, KS_F64, KS_OUT_FILTERED_MEAN);
        golden_buffers *b = golden_buffers_new(LENGTH, 1, nx, 1, KS_F64, o.outputs);
        const ks_model model = golden_model(g, KS_F64);
        ks_smooth_plan *plan;
        ks_scan_status good;
        memset(&good, KS_SCAN_GOOD, sizeof good);
        use_seed(nx);
        OK(ks_smooth_plan_create(&plan, NULL, LENGTH, 1, nx, 1, &o));
        void *work = workspace(plan);
        OK(ks_smooth_run(plan, &model, golden_y(g, KS_F64), golden_outputs(b), work, NULL));
        for (int64_t chunk = 2; chunk < plan->device->tiles.count; chunk += 3) {
            assert_true(again(plan->device, NOTHING, chunk, 0).bad == good.bad);
            const ks_scan_status status = again(plan->device, FIRST_STATE, chunk, 1e-7);
            if (status.bad == good.bad) fail_msg("nx = %d: what is off at border %d is not told", nx, (int)chunk);
            assert_int_equal(status.bad >> 16 & 7, KS_FAULT_ILL_CONDITIONED);
        }
        free(work);
        ks_smooth_plan_destroy(plan);
        check_clean();
        golden_buffers_free(b);
        golden_free(g);
    }
}

/** Chunks of threads, of teams, and of kernels for any model. */
static void borders_that_are_off(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 2, 1 }, { 3, 2 }, { 6, 3 }, { 9, 2 } };
    static const method_case *const methods[] = { &chunked_filter, &chunked, &meets };
    int seed = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i)
        for (int m = 0; m < 3; ++m)
            for (int p = SANITIZED ? ((int)i + m) % 2 : 0; p < (m == 2 ? 2 : 3); p += 1 + SANITIZED) {
                const unsigned means = m ? (unsigned)KS_OUT_SMOOTHED_MEAN : (unsigned)KS_OUT_FILTERED_MEAN;
                check_borders(sizes[i][0], sizes[i][1], methods[m], (ks_precision)p, means, ++seed);
                if (i == 1)
                    check_borders(sizes[i][0], sizes[i][1], methods[m], (ks_precision)p,
                                  means | KS_OUT_PREDICTED_MEAN | KS_OUT_LOGLIK_TERMS, ++seed);
            }
}

/** The flags of chunk 1's border and of the first chunk after a run that is right or refused. */
static void flags_of(const golden *g, ks_precision precision, unsigned char flags[2])
{
    const unsigned outputs = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV;
    const ks_smooth_options o = options_of(&chunked, precision, outputs);
    golden_buffers *b = golden_buffers_new(g->T, 1, g->nx, g->ny, precision, outputs);
    const ks_model model = golden_model(g, precision);
    ks_smooth_plan *plan;
    use_seed(g->nx);
    OK(ks_smooth_plan_create(&plan, NULL, g->T, 1, g->nx, g->ny, &o));
    void *work = workspace(plan);
    const ks_status status = ks_smooth_run(plan, &model, golden_y(g, precision), golden_outputs(b), work, NULL);
    assert_true(status == KS_OK || status == KS_EREFUSED);
    ks_scan_device *d = plan->device;
    OK(ks_gpu_copy_out(d->gpu, flags, d->chunks.hard_absorb, 2, d->stream));
    OK(ks_gpu_stream_sync(d->gpu, d->stream));
    free(work);
    ks_smooth_plan_destroy(plan);
    check_clean();
    golden_buffers_free(b);
}

/** The first chunk's way back is asked where means are large beside what is known of them, or combinations of states are
 *  known far better than each; a border whose way back has no ordinary form is left to the kernels for any model. */
static void what_borders_leave(void **state)
{
    typedef enum { PLAIN, LARGE_MEANS, SHARP, NO_ORDINARY, CASES } special;
    (void)state;
    for (int nx = 2; nx <= 6; nx += nx == 4 ? 2 : 1)
        for (int p = 0; p < 3; ++p)
            for (special what = PLAIN; what < CASES; ++what) {
                golden *g = model_random((model_spec){ 1440 + (uint64_t)nx, LENGTH, 1, nx, 1, KS_PRIOR_X0, 0 });
                for (int i = 0; what == LARGE_MEANS && i < nx; ++i) g->m0.f64[i] = p == KS_F32 ? 1e5 : 1e10;
                for (int i = 0; what >= SHARP && i < nx * nx; ++i) {
                    const double beside = i % (nx + 1) ? 0 : p == KS_F64 ? 1e-7 : 1e-5;
                    g->F.f64[i] = (what == SHARP ? 0.5 : 1) / nx + beside;
                    g->Q.f64[i] = beside * beside;
                }
                unsigned char flags[2];
                model_round(g);
                flags_of(g, (ks_precision)p, flags);
                const int suspect = flags[0] == KS_SUSPECT, unjudged = (flags[1] & KS_UNJUDGED) != 0;
                if (suspect != (what != PLAIN) || (unjudged != (what == NO_ORDINARY) && what != SHARP))
                    fail_msg("nx = %d, precision %d, case %d: flags %d and %d", nx, p, (int)what, flags[0], flags[1]);
                golden_free(g);
            }
}

/** Of a batch, series number `series` has transitions that grow for 30 steps behind a vague prior, and is refused. */
static golden *growing(int64_t steps, int64_t B, int nx, int64_t series)
{
    golden *g = model_random((model_spec){ 1410, steps, B, nx, 1, KS_PRIOR_X0, VARIES_F | OWN_MODELS });
    double *const Q = model_block(&g->Q, series, 0), *const P0 = model_block(&g->P0, series, 0);
    const double *const H = model_block(&g->H, series, 0), *const m0 = model_block(&g->m0, series, 0);
    double x[8], next[8];
    source noise = { 1411 };
    for (int i = 0; i < nx * nx; ++i) Q[i] *= 1e-3, P0[i] *= 1e10;
    for (int i = 0; i < nx; ++i) x[i] = m0[i];
    for (int64_t k = 0; k < 30; ++k) {
        double *const F = model_block(&g->F, series, k), *const y = model_block(&g->y, series, k);
        for (int i = 0; i < nx * nx; ++i) F[i] = k > 0 ? model_block(&g->F, series, 0)[i] : 2.5 * F[i];
        *y = 0.1 * normal(&noise);
        for (int i = 0; i < nx; ++i) {
            next[i] = 0;
            for (int c = 0; c < nx; ++c) next[i] += F[i * nx + c] * x[c];
        }
        memcpy(x, next, sizeof x);
        for (int i = 0; i < nx; ++i) *y += H[i] * x[i];
    }
    model_round(g);
    return g;
}

static void check_refusal(ks_status status, const ks_info *info, int64_t series)
{
    assert_int_equal(status, KS_EREFUSED);
    assert_int_equal(info->status, KS_EREFUSED);
    assert_int_equal(info->array, KS_ARRAY_ESTIMATE);
    assert_int_equal(info->fault, KS_FAULT_ILL_CONDITIONED);
    assert_int_equal(info->suggestion, KS_METHOD_SEQUENTIAL);
    assert_int_equal(info->series, series);
    assert_within(info->step, 7, 47);
    assert_true(info->value > 7e-7);
}

/** The second series of a batch, whose next run is good again; a series in parts; the same word in every order of
 *  threads. */
static void stiff_models(void **state)
{
    (void)state;
    static const method_case *const methods[] = { &chunked_filter, &chunked, &meets };
    for (int m = 0; m < 3; ++m)
        for (int travels = 0; travels < 2; ++travels)
            for (int nx = 3; nx < (travels ? 4 : 6); nx += 2) {
                const int64_t steps = travels ? 1100 : 61;
                const unsigned outputs = m ? KS_OUT_SMOOTHED_MEAN : KS_OUT_FILTERED_MEAN;
                golden *g = growing(steps, 3, nx, 1), *well = model_random((model_spec){
                    1420, steps, 3, nx, 1, KS_PRIOR_X0, VARIES_F | OWN_MODELS });
                const ks_smooth_options o = options_of(methods[m], KS_F64, outputs);
                golden_buffers *b = golden_buffers_new(steps, 3, nx, 1, KS_F64, outputs);
                ks_info first = KS_INFO_INIT;
                for (int seed = 0; seed < 3 - travels; ++seed) {
                    const ks_model model = golden_model(g, KS_F64), next = golden_model(well, KS_F64);
                    ks_info info = KS_INFO_INIT;
                    ks_smooth_plan *plan;
                    use_seed(seed);
                    OK(ks_smooth_plan_create(&plan, NULL, steps, 3, nx, 1, &o));
                    if (travels) OK(ks_scan_device_travel(plan->device, 2));
                    void *work = workspace(plan);
                    const ks_status status = ks_smooth_run(plan, &model, golden_y(g, KS_F64), golden_outputs(b), work,
                                                           &info);
                    check_refusal(status, &info, 1);
                    if (seed == 0) first = info;
                    assert_int_equal(info.step, first.step);
                    assert_memory_equal(&info.value, &first.value, sizeof info.value);
                    OK(ks_smooth_run(plan, &next, golden_y(well, KS_F64), golden_outputs(b), work, NULL));
                    free(work);
                    ks_smooth_plan_destroy(plan);
                    check_clean();
                }
                golden_buffers_free(b);
                golden_free(g);
                golden_free(well);
            }
}

/** An array of the host in the device's memory. */
static ks_view there(const ks_smooth_plan *plan, ks_view from, int64_t numbers, void **kept)
{
    ks_view view = from;
    const size_t bytes = (size_t)numbers * sizeof(double);
    OK(ks_smooth_cuda_alloc(plan, kept, bytes));
    OK(ks_smooth_cuda_upload(plan, *kept, from.data, bytes));
    view.data = *kept;
    return view;
}

/** A run on arrays of the device is judged when it is waited for. */
static void arrays_of_the_device(void **state)
{
    (void)state;
    enum { STEPS = 61, NX = 3 };
    for (int stiff = 0; stiff < 2; ++stiff) {
        golden *g = stiff ? growing(STEPS, 1, NX, 0)
                          : model_random((model_spec){ 1430, STEPS, 1, NX, 1, KS_PRIOR_X0, VARIES_F | OWN_MODELS });
        const ks_smooth_options o = options_of(&chunked, KS_F64, KS_OUT_SMOOTHED_MEAN);
        ks_smooth_plan *plan;
        ks_info info = KS_INFO_INIT;
        const ks_view none = { NULL, 0, 0 };
        void *kept[10] = { NULL };
        use_seed(stiff);
        OK(ks_smooth_plan_create(&plan, NULL, STEPS, 1, NX, 1, &o));
        ks_model model = golden_model(g, KS_F64);
        ks_view y = golden_y(g, KS_F64);
        model.F = there(plan, model.F, STEPS * NX * NX, &kept[0]);
        model.Q = there(plan, model.Q, NX * NX, &kept[1]);
        model.u = none;
        model.d = none;
        model.H = there(plan, model.H, NX, &kept[3]);
        model.R = there(plan, model.R, 1, &kept[4]);
        model.m0 = there(plan, model.m0, NX, &kept[6]);
        model.P0 = there(plan, model.P0, NX * NX, &kept[7]);
        y = there(plan, y, STEPS, &kept[8]);
        OK(ks_smooth_cuda_alloc(plan, &kept[9], STEPS * NX * sizeof(double)));
        ks_outputs to;
        memset(&to, 0, sizeof to);
        to.size = sizeof to;
        to.smoothed_mean.data = kept[9];
        to.smoothed_mean.step_stride = NX;
        OK(ks_smooth_cuda_enqueue(plan, &model, y, &to, NULL));
        const ks_status status = ks_smooth_cuda_wait(plan, &info, NULL);
        if (stiff) check_refusal(status, &info, 0);
        else OK(status);
        for (int i = 0; i < 10; ++i) ks_smooth_cuda_free(plan, kept[i]);
        ks_smooth_plan_destroy(plan);
        check_clean();
        golden_free(g);
    }
}

/** Level and a season of two steps behind a prior that knows of neither: an observation tells their sum, and what
 *  that comes to two steps later, better than covariances of 1e12 have digits. Other states beside them. */
static void sums_behind_vague_priors(void **state)
{
    static const method_case *const methods[] = { &chunked_filter, &chunked, &meets };
    static const int sizes[] = { 2, 4, 6, 66 };
    (void)state;
    for (int i = 0; i < 4 * 3; ++i) {
        const method_case *const m = methods[i / 4];
        const int nx = sizes[i % 4];
        golden *g = model_random((model_spec){ 1450, 10, 1, nx, 1, KS_PRIOR_X0, 0 });
        golden_buffers *b;
        ks_info info = KS_INFO_INIT;
        for (int j = 0; j < nx * nx; ++j) {
            const int own = j % (nx + 1) == 0, row = j / nx;
            g->F.f64[j] = !own ? 0 : row == 0 ? 1 : row == 1 ? -1 : 0.5;
            g->Q.f64[j] = !own ? 0 : row < 2 ? 1e-4 : 1;
            g->P0.f64[j] = !own ? 0 : row < 2 ? 1e12 : 1;
        }
        for (int j = 0; j < nx; ++j) g->H.f64[j] = j < 2, g->m0.f64[j] = 0;
        g->R.f64[0] = 1e-3;
        for (int k = 0; k < 10; ++k) g->y.f64[k] = k == 3 || k == 9 ? 50 : (double)NAN;
        model_round(g);
        use_seed(i);
        const unsigned outputs = m->job == KS_JOB_SMOOTH ? KS_OUT_SMOOTHED_MEAN : KS_OUT_FILTERED_MEAN;
        assert_int_equal(run_case(g, m, KS_F64, 1, outputs, &b, &info), KS_EREFUSED);
        assert_int_equal(info.fault, KS_FAULT_ILL_CONDITIONED);
        assert_within(info.step, m->job == KS_JOB_SMOOTH ? 0 : 8, 9);
        golden_buffers_free(b);
        golden_free(g);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(borders_that_are_off), cmocka_unit_test(combinations_that_are_off),
        cmocka_unit_test(what_borders_leave),
        cmocka_unit_test(stiff_models),
        cmocka_unit_test(arrays_of_the_device),
        cmocka_unit_test(sums_behind_vague_priors),
    };
    only_tests(argc, argv, tests);
    if (no_device()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
