/* test_chunks.c -- reduce, scan, re-run on a device: that small models stay in registers and larger ones
 * with their teams of threads, both ways, that what these cannot do goes to the other kernels, and the accuracy of
 * single precision. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "assert_within.h"
#include "models.h"
#include "run_case.h"
#include "scan_device.h"
#include "session.h"
#include "textbook.h"
#include "sanitizers.h"

static const method_case chunked = { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_CHUNKED, 1, 0 };
static const method_case chunked_filter = { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_CHUNKED, 1, 0 };
static const method_case two_filter = { KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER, KS_SCAN_CHUNKED, 1, 0 };
/* Steps of a chunk of a short series. */
enum { CHUNK = 8 };
/* What the kernels that do most chunks put out. */
enum { FILTERED = KS_OUT_LOGLIK | KS_OUT_LOGLIK_TERMS | KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV |
                  KS_OUT_FILTERED_VAR,
       SMOOTHED = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_SMOOTHED_VAR |
                  KS_OUT_LAG_ONE_COV };

static const char *const precision_names[] = { "f64", "f32", "mixed" };

static void *workspace(const ks_smooth_plan *plan)
{
    void *work = aligned_alloc(64, (ks_smooth_workspace_bytes(plan) + 63) / 64 * 64);
    assert_non_null(work);
    return work;
}

/** Run g in chunks and compare it with what is expected; the steps in the array form. */
static int64_t check_chunks(const golden *g, ks_precision precision, double bound, int seed)
{
    int64_t array_steps = 0;
    const method_case *const methods[] = { &chunked_filter, &chunked, &two_filter };
    for (int i = 0; i < (precision == KS_MIXED ? 2 : 3); ++i) {
        const unsigned outputs = i ? (unsigned)(FILTERED | SMOOTHED) : (unsigned)FILTERED;
        const ks_smooth_options o = options_of(methods[i], precision, outputs);
        golden_buffers *b = golden_buffers_new(g->T, g->B, g->nx, g->ny, precision, outputs);
        const ks_model model = golden_model(g, precision);
        ks_smooth_plan *plan;
        ks_info info = KS_INFO_INIT;
        use_seed(seed);
        OK(ks_smooth_plan_create(&plan, NULL, g->T, g->B, g->nx, g->ny, &o));
        void *work = workspace(plan);
        OK(ks_smooth_run(plan, &model, golden_y(g, precision), golden_outputs(b), work, &info));
        free(work);
        const int64_t chunks = plan->device->tiles.count;
        ks_smooth_plan_destroy(plan);
        check_clean();
        const golden_difference d = golden_compare(golden_widen(b), &g->expected, outputs,
                                                   golden_norm_of(g, precision));
        if (!(d.error <= bound))
            fail_msg("nx = %d, ny = %d, %s: %s at step %lld off by %.3g", g->nx, g->ny,
                     precision_names[precision], golden_output_name(d.output),
                     (long long)d.step, d.error);
        int64_t missing = 0;
        for (int64_t at = 0; at < g->T * g->B * g->ny; ++at) missing += isnan(g->y.f64[at]) != 0;
        assert_int_equal(info.missing, missing);
        /* On its way back a chunk makes an element of every step but its first. */
        const int64_t again = i == 2 ? g->T - chunks : 0;
        assert_true(info.elements == (g->T + again) * g->B);
        if (i < 2) array_steps += info.array_steps;
        golden_buffers_free(b);
    }
    return array_steps;
}

/** Models that fit the kernels for small ones, exactly and with room to spare, and the next larger ones
 *  never leave them. */
static void chunks_of_small_models(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 1, 1 }, { 2, 2 }, { 3, 1 }, { 4, 2 }, { 4, 3 }, { 5, 2 },
                                    { 6, 4 } };
    int seed = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i)
        for (int prior = 0; prior < 2; ++prior)
            for (int p = 0; p < 3; ++p) {
                const int nx = sizes[i][0], ny = sizes[i][1];
                const unsigned flags = prior ? VARIES_ALL | MISSING : HAS_OFFSETS | MISSING;
                golden *g = model_random((model_spec){ 950 + i, 75 + (int64_t)i, 1 + prior, nx, ny,
                                                       (ks_prior)prior, flags });
                textbook_smooth(g);
                const int64_t array_steps =
                    check_chunks(g, (ks_precision)p, golden_ordinary_bound(GOLDEN_ELEMENTS, (ks_precision)p), ++seed);
                /* The step back to the prior x[-1] is taken in that form. */
                const int64_t before = prior == KS_PRIOR_X0 ? g->B : 0;
                assert_int_equal(array_steps, before);
                golden_free(g);
            }
}

/** A team of threads for each chunk: 8, 32, 128 and 256 of them, several or one to a block, in memory that
 *  a block shares and, in double from 48 states on, in the device's. */
static void chunks_of_larger_models(void **state)
{
    (void)state;
    static const struct { int nx, ny; int64_t T; } sizes[] = {
        { 7, 1, 43 }, { 8, 9, 19 }, { 13, 4, 19 }, { 16, 13, 9 }, { 21, 10, 10 }, { 48, 24, 9 },
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i)
        for (int p = SANITIZED ? (int)i % 3 : 0; p < (sizes[i].nx > 32 ? 1 : 3); p += 1 + 2 * SANITIZED) {
            const int nx = sizes[i].nx, ny = sizes[i].ny;
            golden *g = model_random((model_spec){ 1000 + i, sizes[i].T, 1, nx, ny, (ks_prior)(i % 2),
                                                   i % 3 ? VARIES_ALL | MISSING : HAS_OFFSETS | MISSING });
            textbook_smooth(g);
            const double bound = golden_ordinary_bound(GOLDEN_ELEMENTS, (ks_precision)p);
            const int64_t array_steps = check_chunks(g, (ks_precision)p, bound, (int)(3 * i) + p);
            assert_int_equal(array_steps, i % 2 ? 0 : 1);
            golden_free(g);
        }
}

/** One observation that is far sharper than the rest: its chunk alone goes to the other kernels, and
 *  the result is as good. */
static void chunks_that_need_more(void **state)
{
    (void)state;
    for (int at = 0; at < 60; at += 29)
        for (int i = 0; i < 6; ++i) {
            const int p = i % 3, nx = i < 3 ? 3 : 7;
            golden *g = model_random((model_spec){ 960, 61, 1, nx, 2, KS_PRIOR_X0, VARIES_R });
            double *R = model_block(&g->R, 0, at);
            for (int j = 0; j < 4; ++j) R[j] *= p ? 0x1p-14 : 0x1p-24;
            model_round(g);
            textbook_smooth(g);
            const int64_t array_steps = check_chunks(g, (ks_precision)p, p ? 1e-3 : 1e-12, at + 1);
            assert_true(array_steps > 0 && array_steps < 4 * 8);
            golden_free(g);
        }
}

/** What single precision has no ordinary form for small models take in double, larger ones in the array form. */
static void chunks_that_double_will_do(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 1, 1 }, { 2, 2 }, { 3, 2 }, { 4, 1 }, { 4, 2 }, { 3, 3 }, { 7, 2 } };
    for (int i = 0; i < 7; ++i)
        for (int at = 0; at < 60; at += 29) {
            const int nx = sizes[i][0], ny = sizes[i][1];
            golden *g = model_random((model_spec){ 965, 61, 1, nx, ny, (ks_prior)(at % 2), VARIES_R });
            double *R = model_block(&g->R, 0, at);
            for (int j = 0; j < ny * ny; ++j) R[j] *= 0x1p-11;
            model_round(g);
            textbook_smooth(g);
            const int64_t array_steps = check_chunks(g, KS_F32, 1e-3, at + i);
            /* A step back from the sharp one, or all filter steps behind it. */
            if (nx <= 4 && ny <= 2 ? array_steps > 1 : array_steps < 7)
                fail_msg("nx = %d, ny = %d, step %d: %lld steps in the array form", nx, ny, at, (long long)array_steps);
            golden_free(g);
        }
}

/** Chunks of the last run that were left to the kernels for any model as `what` says. */
static int64_t chunks_left(const ks_smooth_plan *plan, int what)
{
    const ks_scan_device *d = plan->device;
    unsigned char left[64];
    int64_t count = 0;
    assert_within(d->chunks.chunks, 1, sizeof left);
    OK(ks_gpu_copy_out(d->gpu, left, d->chunks.hard_rerun, (size_t)d->chunks.chunks, d->stream));
    OK(ks_gpu_stream_sync(d->gpu, d->stream));
    for (int64_t i = 0; i < d->chunks.chunks; ++i) count += left[i] == what;
    return count;
}

/** Run g by the two-filter smoother in chunks, of which so many are left on the way back by teams. */
static golden_buffers *meet(const golden *g, ks_precision precision, unsigned outputs, int seed, int64_t left)
{
    const ks_smooth_options o = options_of(&two_filter, precision, outputs);
    golden_buffers *b = golden_buffers_new(g->T, g->B, g->nx, g->ny, precision, outputs);
    const ks_model model = golden_model(g, precision);
    ks_smooth_plan *plan;
    use_seed(seed);
    OK(ks_smooth_plan_create(&plan, NULL, g->T, g->B, g->nx, g->ny, &o));
#ifdef EMULATED
    static const char *const names[2][2] = { { "ks_team_meet_f64", "ks_team_meet_f32" },
                                             { "ks_team_far_meet_f64", "ks_team_far_meet_f32" } };
    ks_emulated.watch = names[plan->device->team_back.blocks > 0][precision == KS_F32];
#endif
    /* Teams with memory of the device's do several chunks each. */
    if (plan->device->team_back.blocks > 2) plan->device->team_back.blocks = 2;
    void *work = workspace(plan);
    OK(ks_smooth_run(plan, &model, golden_y(g, precision), golden_outputs(b), work, NULL));
    assert_int_equal(chunks_left(plan, KS_HARD), 0);
    assert_int_equal(chunks_left(plan, KS_HARD_SMOOTH), left);
#ifdef EMULATED
    const int registers = g->nx <= 4 && g->ny <= (precision == KS_F64 ? 2 : 4);
    assert_int_equal(ks_emulated.watched, registers ? 0 : g->B);
#endif
    free(work);
    ks_smooth_plan_destroy(plan);
    check_clean();
    return b;
}

/** The way back of the two-filter smoother is that of the CPU's sequential smoother, and the same bits in every order
 *  of threads and with fewer outputs. */
static void check_meeting(const golden *g, ks_precision precision, double bound, int seeds, int64_t left)
{
    unsigned outputs = FILTERED | SMOOTHED;
    if (g->prior == KS_PRIOR_X0) outputs |= KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV;
    ks_smooth_options o = options_of(&chunked, KS_F64, outputs);
    golden_buffers *expected = NULL;
    const ks_model model = golden_model(g, KS_F64);
    o.method = KS_METHOD_SEQUENTIAL;
    o.backend = KS_BACKEND_CPU;
    OK(run_model(g, &model, golden_y(g, KS_F64), &o, 1, &expected, NULL));
    golden_buffers *b = meet(g, precision, outputs, 0, left);
    const golden_difference d = golden_compare(golden_widen(b), golden_widen(expected), outputs,
                                               golden_norm_of(g, precision));
    if (!(d.error <= bound))
        fail_msg("nx = %d, ny = %d, %s: %s at step %lld off by %.3g", g->nx, g->ny, precision_names[precision],
                 golden_output_name(d.output), (long long)d.step, d.error);
    for (int seed = 1; seed <= seeds; ++seed) {
        const unsigned some = seed == 2 ? KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_VAR : outputs;
        golden_buffers *again = meet(g, precision, some, seed, left);
        assert_int_equal(first_different(b, again, some), 0);
        golden_buffers_free(again);
    }
    golden_buffers_free(b);
    golden_buffers_free(expected);
}

/** The two-filter smoother's way back by teams of 8, 32, 128 and 256 threads, in memory that a block shares and, with
 *  48 and 64 states, in the device's, behind a forward pass in registers, in shared and in the device's memory; models
 *  that vary or not, many series, states that nothing disturbs, no noise at all. */
static void ways_back_by_teams(void **state)
{
    (void)state;
    static const struct { int nx, ny; int64_t T, B; ks_prior prior; unsigned traits; } all[] = {
        { 4, 3, 21, 1, KS_PRIOR_X1, VARIES_ALL | MISSING },
        { 5, 2, 21, 2, KS_PRIOR_X0, VARIES_ALL | MISSING },
        { 8, 4, 26, 1, KS_PRIOR_X1, HAS_OFFSETS | MISSING },
        { 8, 9, 9, 1, KS_PRIOR_X0, VARIES_ALL | NO_Q },
        { 11, 3, 19, 2, KS_PRIOR_X1, VARIES_ALL | MISSING | OWN_MODELS },
        { 16, 5, 17, 1, KS_PRIOR_X0, HAS_OFFSETS },
        { 17, 6, 10, 1, KS_PRIOR_X1, VARIES_ALL | MISSING },
        { 33, 3, 18, 1, KS_PRIOR_X0, VARIES_ALL },
        { 48, 24, 9, 1, KS_PRIOR_X1, HAS_OFFSETS | MISSING },
        { 64, 2, 26, 1, KS_PRIOR_X0, VARIES_ALL | MISSING },
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i)
        for (int p = 0; p < 2; ++p) {
            const int nx = all[i].nx, large = nx > 32;
            if (large && p == (int)i % 2) continue;
            golden *g = model_random((model_spec){ 1300 + i, all[i].T, all[i].B, nx, all[i].ny, all[i].prior,
                                                   all[i].traits });
            const int64_t steps = i % 2 ? (all[i].traits & VARIES_Q ? g->T : 1) : 0;
            for (int64_t k = 0; k < steps * nx; ++k) {
                double *Q = model_block(&g->Q, 0, k / nx);
                Q[k % nx] = Q[k % nx * nx] = 0;
            }
            model_round(g);
            check_meeting(g, (ks_precision)p, p ? 5e-4 : 5e-12, large || SANITIZED ? 1 : 3, 0);
            golden_free(g);
        }
}

/** Two entries with all but the same noise behind a step whose noise they see as the same: the filter's prediction tells
 *  them apart, and the element of the step, which has none, cannot be made in the ordinary form. Its chunk alone is left on
 *  the way back, for the array form. (In single precision the filter itself takes it there first.) */
static void ways_back_that_need_more(void **state)
{
    (void)state;
    for (int nx = 7; nx <= 12; nx += 5) {
        golden *g = model_random((model_spec){ 1330, 37, 1, nx, 2, KS_PRIOR_X0, VARIES_H | VARIES_R | VARIES_Q });
        double *H = model_block(&g->H, 0, 20), *R = model_block(&g->R, 0, 20), *Q = model_block(&g->Q, 0, 20);
        memset(H, 0, (size_t)(2 * nx) * sizeof(double));
        memset(Q, 0, (size_t)(nx * nx) * sizeof(double));
        H[0] = H[nx] = H[nx + 1] = 1;
        Q[0] = 8;
        R[0] = R[3] = 10;
        R[1] = R[2] = 10 * (1 - 0x1p-17);
        model_round(g);
        check_meeting(g, KS_F64, 1e-9, 2, 1); /* 4.7e-11 is reached */
        golden_free(g);
    }
}

/** What teams leave of borders between chunks: where the transition across one forgets a state and adds no noise, no
 *  ordinary step leads back, and where a vague prior meets a few observations no ordinary form joins both. */
static void borders_that_need_more(void **state)
{
    (void)state;
    static const method_case *const methods[] = { &chunked, &two_filter };
    for (int i = 0; i < 4; ++i) {
        const int vague = i / 2, nx = 6;
        const unsigned outputs = FILTERED | SMOOTHED;
        golden *g = model_random((model_spec){ 1340, vague ? 11 : 29, 1, nx, 1, KS_PRIOR_X1, vague ? 0 : VARIES_F | VARIES_Q });
        if (vague) {
            for (int j = 0; j < nx * nx; ++j) g->P0.f64[j] *= 0x1p23;
            for (int k = 0; k < CHUNK; ++k) g->y.f64[k] = (double)NAN;
        } else {
            memset(model_block(&g->Q, 0, 2 * CHUNK), 0, (size_t)(nx * nx) * sizeof(double));
            memset(model_block(&g->F, 0, 2 * CHUNK) + 2 * nx, 0, (size_t)nx * sizeof(double));
        }
        model_round(g);
        ks_smooth_options o = options_of(methods[i % 2], KS_F64, outputs);
        golden_buffers *b = NULL, *expected = NULL;
        const ks_model model = golden_model(g, KS_F64);
        OK(run_model(g, &model, golden_y(g, KS_F64), &o, 1, &b, NULL));
        o.method = KS_METHOD_SEQUENTIAL;
        o.backend = KS_BACKEND_CPU;
        OK(run_model(g, &model, golden_y(g, KS_F64), &o, 1, &expected, NULL));
        const golden_difference d = golden_compare(golden_widen(b), golden_widen(expected), outputs,
                                                   golden_norm_of(g, KS_F64));
        if (!(d.error <= 1e-8))
            fail_msg("%d: %s at step %lld off by %.3g", i, golden_output_name(d.output), (long long)d.step, d.error);
        golden_buffers_free(b);
        golden_buffers_free(expected);
        golden_free(g);
    }
}

/** Positions, which begin at `from`, and velocities: they drift far from zero, where single precision is
 *  coarse. */
static golden *constant_velocity(double dt, double q, double r, double from)
{
    golden *g = model_random((model_spec){ 970, 500, 1, 4, 2, KS_PRIOR_X0, 0 });
    source noise = { 971 };
    double x[4] = { from, from, 1, -1 };
    for (int i = 0; i < 2; ++i) g->m0.f64[i] += from;
    memset(g->F.f64, 0, 16 * sizeof(double));
    memset(g->Q.f64, 0, 16 * sizeof(double));
    memset(g->H.f64, 0, 8 * sizeof(double));
    memset(g->R.f64, 0, 4 * sizeof(double));
    for (int i = 0; i < 2; ++i) {
        const int v = i + 2;
        g->F.f64[5 * i] = g->F.f64[5 * v] = 1;
        g->F.f64[4 * i + v] = dt;
        g->Q.f64[5 * i] = q * dt * dt * dt / 3;
        g->Q.f64[4 * i + v] = g->Q.f64[4 * v + i] = q * dt * dt / 2;
        g->Q.f64[5 * v] = q * dt;
        g->H.f64[5 * i] = 1;
        g->R.f64[3 * i] = r;
    }
    for (int64_t k = 0; k < g->T; ++k)
        for (int i = 0; i < 2; ++i) {
            x[i] += dt * x[i + 2];
            x[i + 2] += sqrt(q * dt) * normal(&noise);
            g->y.f64[2 * k + i] = x[i] + sqrt(r) * normal(&noise);
        }
    model_round(g);
    return g;
}

/** The largest error of single precision against double, both sequential on the CPU or the former in
 *  chunks on the device. */
static double error_of(const golden *g, int on_device, golden_buffers *reference)
{
    const unsigned outputs = FILTERED | SMOOTHED;
    ks_smooth_options o = options_of(&chunked, KS_F32, outputs);
    golden_buffers *b = NULL;
    const ks_model model = golden_model(g, KS_F32);
    if (!on_device) {
        o.method = KS_METHOD_SEQUENTIAL;
        o.backend = KS_BACKEND_CPU;
    }
    OK(run_model(g, &model, golden_y(g, KS_F32), &o, 1, &b, NULL));
    const golden_norm strict = { 0, false };
    const double error =
        golden_compare(golden_widen(b), golden_widen(reference), outputs, strict).error;
    golden_buffers_free(b);
    return error;
}

/** Single precision in chunks stays within three times the error of the sequential filter and smoother
 *  in single precision. */
static void single_precision_keeps_its_promise(void **state)
{
    (void)state;
    for (int i = 0; i < 5; ++i) {
        golden *g = i == 0 ? constant_velocity(0.1, 1, 0.5, 0)
                    : i == 1 ? constant_velocity(0.01, 0.01, 0.01, 0)
                    : i == 2 ? constant_velocity(1, 1e-4, 1, 0)
                             : model_random((model_spec){ 980 + (uint64_t)i, 500, 1, 2 * i - 2, 2,
                                                          KS_PRIOR_X0, VARIES_ALL });
        ks_smooth_options o = options_of(&chunked, KS_F64, FILTERED | SMOOTHED);
        golden_buffers *reference = NULL;
        const ks_model model = golden_model(g, KS_F64);
        o.method = KS_METHOD_SEQUENTIAL;
        o.backend = KS_BACKEND_CPU;
        OK(run_model(g, &model, golden_y(g, KS_F64), &o, 1, &reference, NULL));
        const double sequential = error_of(g, 0, reference), chunks = error_of(g, 1, reference);
        if (!(chunks <= 3 * sequential))
            fail_msg("model %d: %.3g in chunks, %.3g sequential", i, chunks, sequential);
        golden_buffers_free(reference);
        golden_free(g);
    }
}

/** How far chunks on the device in `precision` are from such chunks in double: of the outputs `judged`. */
static double error_in_chunks(const golden *g, ks_precision precision, unsigned judged)
{
    const unsigned outputs = FILTERED | SMOOTHED;
    const golden_norm strict = { 0, false };
    golden_buffers *exact = run_well(g, &chunked, KS_F64, 1, outputs, NULL);
    golden_buffers *b = run_well(g, &chunked, precision, 1, outputs, NULL);
    const double error = golden_compare(golden_widen(b), golden_widen(exact), judged, strict).error;
    golden_buffers_free(b);
    golden_buffers_free(exact);
    return error;
}

/** Means in double do not care where zero is: with gains of single precision their error is a share of what
 *  observations move them, while that of means in single precision is a share of the mean itself. The
 *  rounding of double, 2^-53 of a mean 2^20 away, is beyond what is judged. */
static void mixed_is_the_same_everywhere(void **state)
{
    (void)state;
    enum { MEANS = KS_OUT_FILTERED_MEAN | KS_OUT_SMOOTHED_MEAN };
    static const double models[][3] = { { 0.1, 1, 0.5 }, { 0.01, 0.01, 0.01 }, { 1, 0.25, 1 } };
    for (size_t i = 0; i < sizeof models / sizeof models[0]; ++i) {
        golden *near = constant_velocity(models[i][0], models[i][1], models[i][2], 0);
        golden *far = constant_velocity(models[i][0], models[i][1], models[i][2], 0x1p20);
        const double single = error_in_chunks(far, KS_F32, MEANS);
        const double mixed[] = { error_in_chunks(near, KS_MIXED, MEANS), error_in_chunks(far, KS_MIXED, MEANS) };
        const double evidence = error_in_chunks(far, KS_MIXED, KS_OUT_LOGLIK);
        const double sd = sqrt(models[i][2]); /* of a position, at most */
        if (!(single > 0x1p20 * 0x1p-25 / sd && mixed[0] < 1e-4 && mixed[1] <= 4 * mixed[0] &&
              mixed[1] < 1e-2 * single && evidence < 1e-5))
            fail_msg("model %d: %.3g in single precision, %.3g and %.3g mixed, log-likelihood %.3g", (int)i,
                     single, mixed[0], mixed[1], evidence);
        golden_free(near);
        golden_free(far);
    }
}

/** Lengths of one chunk, of several and of a last one that is cut, a state that nothing disturbs, entries
 *  that are missing, rows that vary or do not, by a thread and by teams: what gains in single precision
 *  leave of the means, and covariances as good as theirs. */
static void mixed_of_every_kind(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 1, 1 }, { 2, 1 }, { 4, 2 }, { 3, 4 }, { 6, 3 }, { 7, 2 }, { 17, 5 } };
    static const int64_t lengths[] = { 1, 2, 8, 9, 61, 128 };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i)
        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; ++l) {
            const int nx = sizes[i][0], ny = sizes[i][1];
            const unsigned flags = (l % 2 ? VARIES_ALL : HAS_OFFSETS) | MISSING;
            golden *g = model_random((model_spec){ 1100 + i, lengths[l], 1, nx, ny, (ks_prior)(i % 2), flags });
            for (int64_t k = 0; k < (l % 2 ? lengths[l] : 1) && nx > 1; ++k)
                for (int c = 0; c < nx; ++c)
                    model_block(&g->Q, 0, k)[c] = model_block(&g->Q, 0, k)[c * nx] = 0;
            model_round(g);
            const double means = error_in_chunks(g, KS_MIXED, KS_OUT_FILTERED_MEAN | KS_OUT_SMOOTHED_MEAN);
            const double sum = error_in_chunks(g, KS_MIXED, KS_OUT_LOGLIK);
            const double all = error_in_chunks(g, KS_MIXED, FILTERED | SMOOTHED);
            if (!(means <= 1e-5 && sum <= 1e-6 && all <= 1e-4))
                fail_msg("nx = %d, ny = %d, T = %lld: means off by %.3g, log-likelihood %.3g, all %.3g", nx, ny,
                         (long long)lengths[l], means, sum, all);
            golden_free(g);
        }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_of_small_models),
        cmocka_unit_test(chunks_of_larger_models),
        cmocka_unit_test(chunks_that_need_more),
        cmocka_unit_test(chunks_that_double_will_do),
        cmocka_unit_test(ways_back_by_teams),
        cmocka_unit_test(ways_back_that_need_more),
        cmocka_unit_test(borders_that_need_more),
        cmocka_unit_test(single_precision_keeps_its_promise),
        cmocka_unit_test(mixed_is_the_same_everywhere),
        cmocka_unit_test(mixed_of_every_kind),
    };
    only_tests(argc, argv, tests);
    if (no_device()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
