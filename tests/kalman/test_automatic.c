/* test_automatic.c -- what KS_METHOD_AUTO takes on two threads, and that it is told: both ends of long
 * series, the sequential method, to the bit, where covariances repeat, the information from the right will
 * not do, or something fails; and on many threads a scan in chunks, unless that refuses. */
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

enum { T = 6000 };

static const method_case automatic = { .job = KS_JOB_SMOOTH, .method = KS_METHOD_AUTO };
static const method_case filter = { .job = KS_JOB_FILTER, .method = KS_METHOD_SEQUENTIAL };
static const method_case filter_chunks = { .job = KS_JOB_FILTER, .method = KS_METHOD_SCAN, .scan = KS_SCAN_CHUNKED };
static const method_case smoother_chunks = { .job = KS_JOB_SMOOTH, .method = KS_METHOD_SCAN_RTS,
                                             .scan = KS_SCAN_CHUNKED };
static const method_case sequential = { .job = KS_JOB_SMOOTH, .method = KS_METHOD_SEQUENTIAL };
static const method_case two_ended = { .job = KS_JOB_SMOOTH, .method = KS_METHOD_TWO_ENDED };
static const unsigned outputs = KS_OUT_LOGLIK | KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV |
                                KS_OUT_LAG_ONE_COV | KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV;

static const unsigned filter_outputs = KS_OUT_LOGLIK | KS_OUT_LOGLIK_TERMS | KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV |
                                       KS_OUT_PREDICTED_MEAN | KS_OUT_PREDICTED_COV | KS_OUT_INNOVATION_STD;

/** The automatic run on `threads` threads takes `expected` and gives its bits and its counts, or its failure. Where threads
 *  are watched, what `expected` does by itself is left to its own tests. */
static void takes(const golden *g, ks_precision precision, int threads, const method_case *expected,
                  ks_status status, int asked)
{
    const method_case any = { .job = expected->job, .method = KS_METHOD_AUTO };
    const unsigned made = (expected->job == KS_JOB_FILTER ? filter_outputs : outputs) & (unsigned)asked;
    golden_buffers *got, *want;
    ks_info info = KS_INFO_INIT, other = KS_INFO_INIT;
    assert_int_equal(run_case(g, &any, precision, threads, made, &got, &info), status);
    assert_int_equal(info.method, expected->method);
    if (WATCHES_THREADS) {
        golden_buffers_free(got);
        return;
    }
    assert_int_equal(run_case(g, expected, precision, threads, made, &want, &other), status);
    assert_int_equal(info.series, other.series);
    assert_int_equal(info.step, other.step);
    assert_int_equal(info.row, other.row);
    assert_int_equal(info.array, other.array);
    assert_int_equal(info.fault, other.fault);
    if (status == KS_OK) {
        assert_int_equal(info.ordinary_steps, other.ordinary_steps);
        assert_int_equal(info.array_steps, other.array_steps);
        assert_int_equal(info.missing, other.missing);
        assert_int_equal(first_different(got, want, made), 0);
    }
    golden_buffers_free(got);
    golden_buffers_free(want);
}

static golden *varying(int nx, int ny, int64_t steps, unsigned more)
{
    return model_random((model_spec){ 900 + (uint64_t)nx, steps, 1, nx, ny, KS_PRIOR_X1,
                                      VARIES_F | VARIES_H | HAS_OFFSETS | more });
}

static void both_ends(void **state)
{
    (void)state;
    static const int many[] = { 9, 12, 17 }; /* AVX-512 where there is, beyond twelve */
    for (int i = 1; i <= 11; ++i)
        for (int p = 0; p < 2; ++p) {
            if (SANITIZED && (i + p) % 2) continue;
            const int nx = i <= 8 ? i : many[i - 9];
            golden *g = varying(nx, (nx + 1) / 2, i <= 8 ? T : 500, i % 2 ? MISSING : 0);
            takes(g, (ks_precision)p, 2, &two_ended, KS_OK, ~0);
            takes(g, (ks_precision)p, 5, &two_ended, KS_OK, ~0);
            golden_free(g);
        }
}

/** Constant models: covariances of larger models that come to rest are the sequential method's, but not where
 *  entries are missing time and again. */
static void constant_models(void **state)
{
    (void)state;
    static const int states[] = { 1, 4, 7, 10, 16 };
    for (int i = 0; i < 5; ++i)
        for (int p = 0; p < 2; ++p)
            for (unsigned missing = 0; missing < 2; ++missing) {
                const int nx = states[i], ny = (nx + 1) / 2;
                golden *g = model_random((model_spec){ 77 + (uint64_t)nx, nx <= 8 ? T : 700, 1, nx, ny,
                                                       KS_PRIOR_X0,
                                                       HAS_OFFSETS | VARIES_U | (missing ? MISSING : 0) });
                for (int r = 0; r < nx; ++r)
                    for (int c = 0; c < nx; ++c) {
                        g->F.f64[r * nx + c] = r == c ? 0.5 : 0;
                        g->Q.f64[r * nx + c] = g->P0.f64[r * nx + c] = r == c;
                        if (r < ny) g->H.f64[r * nx + c] = r == c;
                        if (r < ny && c < ny) g->R.f64[r * ny + c] = r == c;
                    }
                model_round(g);
                takes(g, (ks_precision)p, 2,
                      missing || nx <= 4 ? &two_ended : &sequential, KS_OK, ~0);
                golden_free(g);
            }
}

/** A constant model whose steps are all to be computed is taken as one that varies. */
static void computed_steps(void **state)
{
    (void)state;
    static const struct { ks_steady_state word; int threads; ks_method method; } cases[] = {
        { KS_STEADY_STATE_HOLD, 2, KS_METHOD_SEQUENTIAL },     { KS_STEADY_STATE_HOLD, 8, KS_METHOD_SEQUENTIAL },
        { KS_STEADY_STATE_REPEAT, 2, KS_METHOD_SEQUENTIAL },   { KS_STEADY_STATE_REPEAT, 8, KS_METHOD_SEQUENTIAL },
        { KS_STEADY_STATE_COMPUTE, 2, KS_METHOD_TWO_ENDED },   { KS_STEADY_STATE_COMPUTE, 8, KS_METHOD_SCAN_RTS },
    };
    enum { N = 6, M = 3 };
    golden *g = model_random((model_spec){ 86, 8000, 1, N, M, KS_PRIOR_X0, 0 });
    for (int i = 0; i < N * N; ++i) {
        g->F.f64[i] = i % (N + 1) ? 0 : 0.5;
        g->Q.f64[i] = g->P0.f64[i] = i % (N + 1) == 0;
    }
    for (int i = 0; i < M * N; ++i) g->H.f64[i] = i % (N + 1) == 0;
    model_round(g);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const ks_model model = golden_model(g, KS_F64);
        ks_smooth_options o = options_of(&automatic, KS_F64, outputs);
        ks_info info = KS_INFO_INIT;
        golden_buffers *b = NULL;
        o.steady_state = cases[i].word;
        assert_int_equal(run_model(g, &model, golden_y(g, KS_F64), &o, cases[i].threads, &b, &info), KS_OK);
        assert_int_equal(info.method, cases[i].method);
        golden_buffers_free(b);
    }
    golden_free(g);
}

/** Of models that vary a scan in chunks from six threads on, from eight in single precision. */
static void many_threads(void **state)
{
    (void)state;
    golden *few = varying(2, 1, 10000, MISSING), *more = varying(8, 4, 8000, 0);
    for (int p = 0; p < 2; ++p) {
        const int least = p == KS_F64 ? 6 : 8;
        for (int i = 0; i < 2; ++i) {
            const method_case *chunks = i ? &filter_chunks : &smoother_chunks, *before = i ? &filter : &two_ended;
            takes(few, (ks_precision)p, 20, chunks, KS_OK, ~0);
            takes(few, (ks_precision)p, least, chunks, KS_OK, ~0);
            takes(few, (ks_precision)p, least - 1, before, KS_OK, ~0);
            takes(more, (ks_precision)p, least, chunks, KS_OK, ~0);
            takes(more, (ks_precision)p, least - 1, before, KS_OK, ~0);
        }
    }
    golden_free(few);
    golden_free(more);
    few = varying(9, 1, 2999, 0);
    takes(few, KS_F64, 20, &two_ended, KS_OK, ~0);
    takes(few, KS_F64, 20, &filter, KS_OK, ~0);
    golden_free(few);
    few = model_random((model_spec){ 8, 10000, 1, 2, 1, KS_PRIOR_X0, MISSING });
    takes(few, KS_F64, 20, &two_ended, KS_OK, ~0);
    takes(few, KS_F64, 20, &filter, KS_OK, ~0);
    golden_free(few);
    /* So many for each series. */
    few = model_random((model_spec){ 8, 4000, 3, 2, 1, KS_PRIOR_X0, VARIES_F | OWN_MODELS | MISSING });
    for (int i = 0; i < 2; ++i) {
        takes(few, KS_F64, 18, i ? &filter_chunks : &smoother_chunks, KS_OK, ~0);
        takes(few, KS_F64, 17, i ? &filter : &sequential, KS_OK, ~0);
    }
    takes(few, KS_F64, 20, &sequential, KS_OK, ~KS_OUT_SMOOTHED_COV);
    golden_free(few);
}

/** What fails does so as it does in the sequential method, whichever chunk comes upon it. */
static void many_threads_fail(void **state)
{
    (void)state;
    for (int what = 0; what < 3; ++what) {
        golden *g = varying(3, 2, 8000, VARIES_R);
        const ks_status status = what == 2 ? KS_EMODEL : KS_ENOTPD;
        for (int i = 0; i < 4; ++i) model_block(&g->R, 0, what ? 7000 : 0)[i] = what == 2 ? 0 : i % 3 ? 0 : -1e9;
        if (what == 2) {
            model_block(&g->R, 0, 7000)[0] = model_block(&g->R, 0, 7000)[3] = 1;
            g->y.f64[7000 * 2 + 1] = (double)INFINITY;
        }
        takes(g, KS_F64, 16, &sequential, status, ~0);
        takes(g, KS_F64, 16, &filter, status, ~0);
        golden_free(g);
    }
}

/** What the scan refuses the sequential method takes. */
static void many_threads_refused(void **state)
{
    (void)state;
    golden *g = model_observed_late(10000);
    for (int i = 0; i < 2; ++i) {
        golden_buffers *b;
        ks_info info = KS_INFO_INIT;
        assert_int_equal(run_case(g, i ? &filter_chunks : &smoother_chunks, KS_F64, 8, i ? filter_outputs : outputs, &b,
                                  &info),
                         KS_EREFUSED);
        assert_int_equal(info.array, KS_ARRAY_ELEMENT_COV);
        golden_buffers_free(b);
        takes(g, KS_F64, 8, i ? &filter : &sequential, KS_OK, ~0);
    }
    golden_free(g);
}

/** A chunk of the filter that begins from a covariance that has lost half of its digits, in what only the sum is told of, is
 *  right again where it ends: by its end it is not seen. */
static void many_threads_lose_digits(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 33, 5100, 1, 2, 2, KS_PRIOR_X1, VARIES_F });
    for (int64_t k = 0; k < g->T; ++k) {
        double *F = model_block(&g->F, 0, k), *y = g->y.f64 + 2 * k;
        F[0] = F[3] = 1;
        F[1] = F[2] = 0;
        y[0] = 1e-2 * (double)(k % 7);
        y[1] = k % 500 == 71 ? 1e-2 * (double)(k % 5) : (double)NAN;
    }
    for (int i = 0; i < 4; ++i) {
        g->Q.f64[i] = i % 3 ? 0 : 1e-5;
        g->R.f64[i] = i % 3 ? 0 : 1e-4;
        g->P0.f64[i] = i % 3 ? 0 : 1e12;
        g->H.f64[i] = i == 3 ? -1 : 1;
    }
    model_round(g);
    takes(g, KS_F64, 8, &filter, KS_OK, ~0);
    golden_free(g);
}

/** One thread, few steps, many states, outputs that only a filter makes or that do not hold what waits. */
static void sequential_at_once(void **state)
{
    (void)state;
    golden *g = varying(4, 2, T, 0);
    takes(g, KS_F64, 1, &sequential, KS_OK, ~0);
    takes(g, KS_F64, 2, &sequential, KS_OK, ~KS_OUT_SMOOTHED_COV);
    golden_free(g);
    g = varying(9, 2, 499, 0);
    takes(g, KS_F64, 2, &sequential, KS_OK, ~0);
    golden_free(g);
    if (!SANITIZED) {
        g = varying(65, 1, 500, 0);
        takes(g, KS_F64, 2, &sequential, KS_OK, ~0);
        golden_free(g);
    }
    g = model_random((model_spec){ 2, 150, 1, 4, 2, KS_PRIOR_X1, VARIES_ALL });
    takes(g, KS_F64, 2, &sequential, KS_OK, ~0);
    golden_free(g);
}

/** Two states that hardly move, and only their sum observed: the difference stays as unknown as it was, or
 *  becomes so by what moves the states from step `from` on. */
static golden *sum_observed(double unknown, double R, int64_t from, double Q)
{
    golden *g = model_random((model_spec){ 155, T, 1, 2, 1, KS_PRIOR_X0, VARIES_Q | VARIES_U });
    const double P0[4] = { unknown, 0, 0, unknown };
    g->F.f64[0] = g->F.f64[3] = g->H.f64[0] = g->H.f64[1] = 1;
    g->F.f64[1] = g->F.f64[2] = 0;
    memcpy(g->P0.f64, P0, sizeof P0);
    g->R.f64[0] = R;
    for (int64_t k = 0; k < T; ++k) {
        double *block = model_block(&g->Q, 0, k);
        block[0] = block[3] = k < from ? 0x1p-10 : Q;
        block[1] = block[2] = 0;
    }
    model_round(g);
    return g;
}

/** What comes from the right does not hold what is needed: seen on the way in, in the middle, and only
 *  behind it. */
static void information_not_enough(void **state)
{
    (void)state;
    for (int p = 0; p < 2; ++p) {
        golden *in = sum_observed(16, p == KS_F64 ? 0x1p-30 : 0x1p-20, 0, 16);
        golden *middle = sum_observed(0x1p17, 1, T, 0);
        /* In single precision R = 1 would be where steps lose digits, and which ones are filtered again depends on where
         * a range ends. */
        golden *late = sum_observed(1, p == KS_F64 ? 1 : 0.25, T - 250, p == KS_F64 ? 1024 : 64);
        golden *never = sum_observed(1, 1, T, 0);
        takes(in, (ks_precision)p, 2, &sequential, KS_OK, ~0);
        takes(middle, (ks_precision)p, 2, &sequential, KS_OK, ~0);
        takes(late, (ks_precision)p, 2, &sequential, KS_OK, ~0);
        /* Single precision asks for more. */
        if (p == KS_F64) takes(never, KS_F64, 2, &two_ended, KS_OK, ~0);
        golden_free(in);
        golden_free(middle);
        golden_free(late);
        golden_free(never);
    }
}

/** An entry observed exactly: R cannot be inverted, which the right half needs. */
static void exact_entry(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 30, T, 1, 4, 2, KS_PRIOR_X1, VARIES_F | EXACT_ENTRY });
    takes(g, KS_F64, 2, &sequential, KS_OK, ~0);
    golden_free(g);
}

/** What fails in either half fails as it does in the sequential method. */
static void failures(void **state)
{
    (void)state;
    for (int64_t step = 100; step < T; step += 5700)
        for (int what = 0; what < 2; ++what) {
            golden *g = varying(4, 2, T, what ? VARIES_R : 0);
            if (what)
                for (int i = 0; i < 4; ++i) model_block(&g->R, 0, step)[i] = i % 3 ? 0 : -1e9;
            else
                g->y.f64[step * 2 + 1] = (double)INFINITY;
            takes(g, KS_F64, 2, &sequential, what ? KS_ENOTPD : KS_EMODEL, ~0);
            golden_free(g);
        }
}

static ks_context *context_of(int threads)
{
    ks_context_options resources = KS_CONTEXT_OPTIONS_INIT;
    ks_context *context = NULL;
    resources.threads = threads;
    assert_int_equal(ks_context_create(&context, &resources), KS_OK);
    return context;
}

/** A plan that may take either says so, and what a run with a model begins with. */
static void plans(void **state)
{
    (void)state;
    ks_context *context = context_of(8);
    static const struct { int threads; ks_method method, varies; } cases[] = {
        { 1, KS_METHOD_SEQUENTIAL, KS_METHOD_SEQUENTIAL },
        { 2, KS_METHOD_TWO_ENDED, KS_METHOD_TWO_ENDED },
        { 8, KS_METHOD_TWO_ENDED, KS_METHOD_SCAN_RTS },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        ks_smooth_options o = options_of(&automatic, KS_F64, outputs);
        ks_smooth_plan *plan = NULL;
        ks_model model = KS_MODEL_INIT;
        ks_info info = KS_INFO_INIT;
        o.threads = cases[i].threads;
        assert_int_equal(ks_smooth_plan_create(&plan, context, T, 1, 4, 2, &o), KS_OK);
        assert_int_equal(ks_smooth_plan_method(plan), cases[i].method);
        assert_int_equal(ks_smooth_plan_begins(plan, &model, &info), KS_OK);
        assert_int_equal(info.method, cases[i].method);
        assert_int_equal(info.threads, cases[i].threads < 2 ? 1 : 2);
        model.R.step_stride = 4;
        assert_int_equal(ks_smooth_plan_begins(plan, &model, &info), KS_OK);
        assert_int_equal(info.method, cases[i].varies);
        assert_int_equal(info.threads, cases[i].threads);
        if (info.method == KS_METHOD_SCAN_RTS) assert_int_equal(info.scan, KS_SCAN_CHUNKED);
        assert_int_equal(info.backend, KS_BACKEND_CPU);
        assert_int_equal(ks_smooth_plan_begins(NULL, &model, &info), KS_EINVAL);
        assert_int_equal(ks_smooth_plan_begins(plan, NULL, &info), KS_EINVAL);
        assert_int_equal(ks_smooth_plan_begins(plan, &model, NULL), KS_OK);
        info.size = 1;
        assert_int_equal(ks_smooth_plan_begins(plan, &model, &info), KS_EINVAL);
        ks_smooth_plan_destroy(plan);
    }
    ks_context_destroy(context);
}

/** Two threads begin from both ends, but where the steps of one have literal sizes for AVX-512 and theirs do not. */
static void sizes(void **state)
{
    (void)state;
    ks_context *context = context_of(2);
    for (int p = 0; p < 2; ++p)
        for (int nx = 9; nx <= 20; ++nx) {
            const ks_kernels *kernels = ks_kernels_for((ks_precision)p, KS_TIER_AUTO, nx, 1);
            const int alone = nx >= 13 && nx <= 15 && strcmp(kernels->tier, "avx512") == 0;
            ks_smooth_options o = options_of(&automatic, (ks_precision)p, outputs);
            ks_smooth_plan *plan = NULL;
            o.threads = 2;
            assert_int_equal(ks_smooth_plan_create(&plan, context, T, 1, nx, 1, &o), KS_OK);
            assert_int_equal(ks_smooth_plan_method(plan), alone ? KS_METHOD_SEQUENTIAL : KS_METHOD_TWO_ENDED);
            ks_smooth_plan_destroy(plan);
        }
    ks_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ends),   cmocka_unit_test(constant_models),
        cmocka_unit_test(computed_steps),
        cmocka_unit_test(many_threads), cmocka_unit_test(many_threads_fail),
        cmocka_unit_test(many_threads_refused), cmocka_unit_test(many_threads_lose_digits),
        cmocka_unit_test(sequential_at_once),
        cmocka_unit_test(information_not_enough), cmocka_unit_test(exact_entry),
        cmocka_unit_test(failures),    cmocka_unit_test(plans), cmocka_unit_test(sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
