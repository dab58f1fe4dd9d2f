/* test_ring.c -- rows that come through shared memory beside rows that threads or teams load where they lie, wherever
 * chunks, windows and arrays begin and end: the same results. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "kalscan/smooth_cuda.h"
#include "models.h"
#include "run_case.h"
#include "scan_device.h"
#include "session.h"

static const method_case chunked = { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_CHUNKED, 1, 0 };
static const method_case chunked_filter = { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_CHUNKED, 1, 0 };
static const method_case two_filter = { KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER, KS_SCAN_CHUNKED, 1, 0 };
enum { FILTERED = KS_OUT_LOGLIK | KS_OUT_LOGLIK_TERMS | KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV |
                  KS_OUT_FILTERED_VAR,
       SMOOTHED = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_SMOOTHED_VAR |
                  KS_OUT_LAG_ONE_COV };

/** A way for rows to come. */
typedef struct way { ks_fill fill; int window, stages; } way;

/** A model, and how it is to be run. */
typedef struct trial {
    golden *g;
    const method_case *method;
    ks_precision precision;
    ks_transition transition;
    size_t memory;                  /* of the emulated device, 0: plenty */
    int resident;                   /* whether arrays are in the device's memory */
    int teams;                      /* whether chunks have teams                 */
} trial;

static void *on_device(const ks_smooth_plan *plan, const void *host, size_t bytes, void **owned, int *count)
{
    void *device;
    OK(ks_smooth_cuda_alloc(plan, &device, bytes));
    if (host) OK(ks_smooth_cuda_upload(plan, device, host, bytes));
    return owned[(*count)++] = device;
}

/** The same with everything in the device's memory, no byte behind any array. */
static void run_resident(const trial *t, const ks_smooth_plan *plan, const ks_model *from, ks_view y,
                         const ks_outputs *host, ks_info *info)
{
    const golden *g = t->g;
    const size_t number = t->precision == KS_F64 ? sizeof(double) : sizeof(float);
    const size_t T = (size_t)g->T, n = (size_t)g->nx, m = (size_t)g->ny;
    ks_model model = *from;
    ks_outputs to = *host;
    void *owned[24];
    int count = 0;
    ks_view *const views[] = { &model.F, &model.Q, &model.u, &model.H, &model.R, &model.d, &model.m0, &model.P0, &y };
    const size_t blocks[] = { n * n, n * n, n, m * n, m * m, m, n, n * n, m };
    for (int i = 0; i < 9; ++i)
        if (views[i]->data)
            views[i]->data = on_device(plan, views[i]->data,
                                       blocks[i] * number * (views[i]->step_stride ? T : 1), owned, &count);
    ks_out *const outs[] = { &to.filtered_mean, &to.filtered_cov, &to.filtered_var, &to.smoothed_mean,
                             &to.smoothed_cov, &to.smoothed_var, &to.lag_one_cov };
    const ks_out *const back[] = { &host->filtered_mean, &host->filtered_cov, &host->filtered_var,
                                   &host->smoothed_mean, &host->smoothed_cov, &host->smoothed_var,
                                   &host->lag_one_cov };
    const size_t rows[] = { n, n * n, n, n, n * n, n, n * n };
    for (int i = 0; i < 7; ++i)
        if (outs[i]->data) outs[i]->data = on_device(plan, NULL, rows[i] * T * number, owned, &count);
    to.loglik.data = on_device(plan, NULL, sizeof(double), owned, &count);
    to.loglik_terms.data = on_device(plan, NULL, T * sizeof(double), owned, &count);
    OK(ks_smooth_cuda_enqueue(plan, &model, y, &to, NULL));
    OK(ks_smooth_cuda_wait(plan, info, NULL));
    for (int i = 0; i < 7; ++i)
        if (outs[i]->data) OK(ks_smooth_cuda_download(plan, back[i]->data, outs[i]->data, rows[i] * T * number));
    OK(ks_smooth_cuda_download(plan, host->loglik.data, to.loglik.data, sizeof(double)));
    OK(ks_smooth_cuda_download(plan, host->loglik_terms.data, to.loglik_terms.data, T * sizeof(double)));
    for (int i = 0; i < count; ++i) ks_smooth_cuda_free(plan, owned[i]);
}

/** What a run came to: steps in the array form, and on the emulated device passes by the kernels of that way. */
typedef struct tally { int64_t array_steps; long passes; } tally;

/** Run it that way. */
static golden_buffers *run_way(const trial *t, way w, int seed, tally *p)
{
    const golden *g = t->g;
    const unsigned outputs = t->method->job == KS_JOB_SMOOTH ? (unsigned)(FILTERED | SMOOTHED) : (unsigned)FILTERED;
    const ks_smooth_options o = options_of(t->method, t->precision, outputs);
    golden_buffers *b = golden_buffers_new(g->T, g->B, g->nx, g->ny, t->precision, outputs);
    ks_model model = golden_model(g, t->precision);
    ks_smooth_plan *plan;
    ks_info info = KS_INFO_INIT;
    void *work = NULL;
    use_seed(seed);
#ifdef EMULATED
    if (t->memory) ks_emulated.memory = t->memory;
    ks_emulated.watch = w.fill == KS_FILL_NONE ? (t->teams ? "ks_team_" : "ks_fast_")
                                               : t->teams ? "ks_team_ring_" : "ks_ring_";
#endif
    model.transition = t->transition;
    OK(ks_smooth_plan_create(&plan, NULL, g->T, g->B, g->nx, g->ny, &o));
    OK(ks_chunks_by_columns(plan->device, plan, 0));
    plan->device->ring_window = w.window;
    plan->device->ring_stages = w.stages;
    OK(ks_chunks_fill(plan->device, plan, w.fill));
    assert_int_equal(plan->device->team.lanes != 0, t->teams);
    /* Teams with memory of the device's do several chunks each. */
    if (plan->device->team.blocks > 2) plan->device->team.blocks = 2;
    if (plan->device->team_back.blocks > 2) plan->device->team_back.blocks = 2;
    assert_int_equal(posix_memalign(&work, 64, ks_smooth_workspace_bytes(plan) + 64), 0);
    if (t->resident)
        run_resident(t, plan, &model, golden_y(g, t->precision), golden_outputs(b), &info);
    else
        OK(ks_smooth_run(plan, &model, golden_y(g, t->precision), golden_outputs(b), work, &info));
    p->array_steps = info.array_steps;
    free(work);
    ks_smooth_plan_destroy(plan);
    check_clean();
#ifdef EMULATED
    p->passes = ks_emulated.watched;
#endif
    return b;
}

/** What two runs differ in, 0 if in nothing. All ways are one text, so that on the host they are the same bits; nvcc
 *  may contract products and sums of one kernel otherwise than of the next, so that on a device they are as far apart
 *  as both may be from what is right, see test_chunks.c and the golden cases. */
static unsigned differ(const trial *t, golden_buffers *a, golden_buffers *b, unsigned outputs)
{
    const golden_difference d = golden_compare(golden_widen(b), golden_widen(a), outputs,
                                               golden_norm_of(t->g, t->precision));
    if (!(d.error <= 2 * (t->precision == KS_F64 ? 1e-9 : 5e-3))) return d.output ? (unsigned)d.output : outputs;
    return SEEDS_OF(first_different(a, b, outputs), 0);
}

/** The way through a ring leads where none does, and every pass has one where data vary. Threads' has two stages. */
static void check(const trial *t, int window, int stages, int seed)
{
    const unsigned outputs = t->method->job == KS_JOB_SMOOTH ? (unsigned)(FILTERED | SMOOTHED) : (unsigned)FILTERED;
    tally of_plain = { 0, 0 }, of_ring = { 0, 0 };
    golden_buffers *plain = run_way(t, (way){ KS_FILL_NONE, 0, 0 }, seed, &of_plain);
    const ks_fill fill = t->teams ? KS_FILL_BULK : KS_FILL_PIECES;
    golden_buffers *b = run_way(t, (way){ fill, window, stages }, seed + 1, &of_ring);
    const unsigned different = differ(t, plain, b, outputs);
    if (different)
        fail_msg("T = %lld, nx = %d, ny = %d, window %d, stages %d: output %u differs", (long long)t->g->T, t->g->nx,
                 t->g->ny, window, stages, different);
    assert_int_equal(of_ring.array_steps, of_plain.array_steps);
    /* In a single step nothing varies but what the smoother keeps. */
    const long without = t->g->T > 1 ? 0 : 2;
    assert_int_equal(of_ring.passes, of_plain.passes - SEEDS_OF(1, 0) * without * (long)t->g->B);
    golden_buffers_free(b);
    golden_buffers_free(plain);
}

/** Lengths about those of chunks and windows, every size of kernels and smaller models, everything that varies or
 *  does not. */
static void bits_of_rows_where_they_lie(void **state)
{
    (void)state;
    static const int lengths[] = { 1, 2, 7, 8, 9, 13, 31, 64, 101 };
    static const int sizes[][2] = { { 1, 1 }, { 2, 2 }, { 2, 1 }, { 3, 2 }, { 4, 2 }, { 4, 3 }, { 5, 1 }, { 6, 4 } };
    static const unsigned flags[] = { VARIES_ALL | MISSING, HAS_OFFSETS | MISSING, VARIES_F | VARIES_R,
                                      VARIES_H | VARIES_Q | VARIES_D, VARIES_U | MISSING };
    int seed = 0;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
            const size_t at = i + s;
            const int p = sizes[s][0] > 4 || sizes[s][1] > 2 || at % 2;
            golden *g = model_random((model_spec){ 700 + at, lengths[i], 1 + at % 2, sizes[s][0], sizes[s][1],
                                                   (ks_prior)(at % 2), flags[at % 5] });
            /* The way back of the two-filter smoother has teams beyond four states. */
            const method_case *const smoother = at % 3 == 1 ? &two_filter : &chunked;
            const trial t = { g, at % 3 ? smoother : &chunked_filter, (ks_precision)p, KS_INTO, 0, 0, 0 };
            check(&t, 1 << at % 4, p ? 2 : 2 + (int)at % 3, ++seed);
            golden_free(g);
        }
}

/** A prime number of chunks over several blocks, rows that lead out of steps, several series, windows that are
 *  chosen as there is room. */
static void many_chunks(void **state)
{
    (void)state;
    for (int i = 0; i < SEEDS_OF(4, 8); ++i) {
        golden *g = model_random((model_spec){ 720 + (uint64_t)i, 2099 - i, 1, 2 + i % 2, 1 + i % 2, KS_PRIOR_X1,
                                               i % 4 == 1 ? HAS_OFFSETS : VARIES_ALL | MISSING });
        const trial t = { g, i % 2 ? &chunked : &two_filter, (ks_precision)(i / 2 % 2),
                          i % 4 == 1 ? KS_INTO : KS_OUT_OF, 0, 0, 0 };
        check(&t, 0, 0, i);
        golden_free(g);
    }
}

/** Arrays of the caller's on the device, which end inside of a piece of 16 bytes. */
static void arrays_that_end_anywhere(void **state)
{
    (void)state;
    for (int i = 0; i < 12; ++i) {
        golden *g = model_random((model_spec){ 740 + (uint64_t)i, 17 + i, 1, 1 + i % 3, 1 + i % 2, KS_PRIOR_X1,
                                               VARIES_ALL });
        const method_case *const methods[] = { &chunked_filter, &chunked, &two_filter };
        const trial t = { g, methods[i % 3], (ks_precision)(i / 2 % 2),
                          i % 4 < 2 ? KS_INTO : KS_OUT_OF, 0, 1, 0 };
        check(&t, 1 << i % 4, 2 + i % 3, i);
        golden_free(g);
    }
}

/** Models that do not vary, whose rows one thread brings for others of the block. */
static void rows_of_the_block(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 750, 1020, 1, 6, 4, KS_PRIOR_X0, HAS_OFFSETS });
    const trial t = { g, &chunked_filter, KS_F32, KS_INTO, 0, 0, 0 };
    for (int seed = 0; seed < SEEDS_OF(6, 1); ++seed) check(&t, 8, 2, seed);
    golden_free(g);
}

/** Chunks that the kernels leave to others: their threads go along to the end. */
static void chunks_that_need_more(void **state)
{
    (void)state;
    for (int i = 0; i < 6; ++i) {
        golden *g = model_random((model_spec){ 760, 131, 1, 3, 2, KS_PRIOR_X0, VARIES_R | VARIES_F });
        for (int at = 20; at < 131; at += 41) {
            double *R = model_block(&g->R, 0, at);
            for (int j = 0; j < 4; ++j) R[j] *= i % 2 ? 0x1p-14 : 0x1p-24;
        }
        model_round(g);
        const method_case *const methods[] = { &chunked, &chunked_filter, &two_filter };
        const trial t = { g, methods[i / 2], (ks_precision)(i % 2), KS_INTO, 0, 0, 0 };
        check(&t, 1 << i % 4, 2, i);
        golden_free(g);
    }
}

/** Teams of every size, in every precision, with memory of the block's or (41, 21) of the device's. */
static void rows_of_teams(void **state)
{
    (void)state;
    static const int sizes[][3] = { { 7, 3, 29 }, { 8, 4, 9 }, { 7, 1, 40 }, { 12, 5, 21 }, { 17, 6, 17 },
                                    { 33, 3, 10 }, { 41, 21, 34 } };
    static const unsigned flags[] = { VARIES_ALL | MISSING, HAS_OFFSETS | MISSING, VARIES_F | VARIES_R,
                                      VARIES_H | VARIES_Q | VARIES_D };
    for (int i = 0; i < 20; ++i) {
        const int *s = sizes[i % 7], large = s[0] > 20;
        if (large && i > 13) continue;
        const int p = i % 7 == 6 ? KS_F64 : i % 3;
        golden *g = model_random((model_spec){ 800 + (uint64_t)i, s[2] - i % 2, 1, s[0], s[1], (ks_prior)(i / 7 % 2),
                                               flags[i % 4] });
        const int out_of = i / 7 % 2 && i % 2;
        const method_case *const smoother = p != KS_MIXED && i % 2 ? &two_filter : &chunked;
        const trial t = { g, i % 5 ? smoother : &chunked_filter, (ks_precision)p, out_of ? KS_OUT_OF : KS_INTO,
                          0, 0, 1 };
        check(&t, large ? 1 : 1 << i % 4, large ? 2 : 2 + i % 3, i);
        golden_free(g);
    }
}

/** Chunks that teams leave to others: nothing of them is under way when the next ones begin. */
static void teams_that_need_more(void **state)
{
    (void)state;
    for (int i = 0; i < 4; ++i) {
        const int large = i == 3, n = large ? 41 : 7 + i, m = large ? 21 : 2;
        golden *g = model_random((model_spec){ 820, 61, 1, n, m, KS_PRIOR_X0, VARIES_R | VARIES_F });
        for (int at = 11; at < 61; at += 22) {
            double *R = model_block(&g->R, 0, at);
            for (int j = 0; j < m * m; ++j) R[j] *= i % 2 ? 0x1p-40 : 0x1p-24;
        }
        model_round(g);
        const method_case *const methods[] = { &chunked_filter, &chunked, &two_filter, &chunked };
        const trial t = { g, methods[i], i == 1 ? KS_F32 : KS_F64, KS_INTO, 0, 0, 1 };
        check(&t, 1, 2 + i % 2, i);
        golden_free(g);
    }
}

/** Arrays of the caller's on the device, for teams. */
static void teams_with_arrays_of_the_callers(void **state)
{
    (void)state;
    for (int i = 0; i < 6; ++i) {
        golden *g = model_random((model_spec){ 830 + (uint64_t)i, 17 + i, 1, 7 + 2 * (i % 2), 1 + i % 3, KS_PRIOR_X1,
                                               VARIES_ALL });
        const method_case *const methods[] = { &chunked_filter, &chunked, &two_filter };
        const trial t = { g, methods[i % 3], i % 2 ? KS_F32 : KS_F64, i % 4 < 2 ? KS_INTO : KS_OUT_OF, 0, 1, 1 };
        check(&t, 1 << i % 4, 2 + i % 3, i);
        golden_free(g);
    }
}

#ifdef EMULATED
/** A series that goes to the device in parts, whose rows begin and end elsewhere. */
static void series_in_parts(void **state)
{
    (void)state;
    for (int i = 0; i < 6; ++i) {
        const int nx = i < 4 ? 2 : 7;
        golden *g = model_random((model_spec){ 780 + (uint64_t)i, 2100 - i, 1, nx, 1, KS_PRIOR_X1,
                                               i == 1 ? HAS_OFFSETS : VARIES_ALL | MISSING });
        const ks_smooth_options o = options_of(&chunked, (ks_precision)(i % 2), FILTERED | SMOOTHED);
        const size_t least = ks_smooth_device_bytes(g->T, 1, nx, 1, &o);
        const trial t = { g, &chunked, (ks_precision)(i % 2), i > 1 ? KS_OUT_OF : KS_INTO, least, 0, nx > 2 };
        check(&t, 4, 2, i);
        golden_free(g);
    }
}
#endif

/** A ring takes no more than leaves every block its place. */
static void rings_leave_room(void **state)
{
    (void)state;
    static const int sizes[][3] = { { 4, 2, KS_F64 }, { 2, 2, KS_F64 }, { 4, 2, KS_F32 }, { 6, 4, KS_F32 },
                                    { 6, 2, KS_F32 }, { 2, 1, KS_F32 }, { 5, 2, KS_F64 }, { 8, 4, KS_F32 },
                                    { 16, 4, KS_F64 }, { 32, 2, KS_F32 }, { 48, 8, KS_F64 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        for (int varies = 0; varies < 2; ++varies) {
            const ks_smooth_options o = options_of(&chunked, (ks_precision)sizes[i][2], FILTERED | SMOOTHED);
            ks_smooth_plan *plan;
            use_seed(1);
            OK(ks_smooth_plan_create(&plan, NULL, sizes[i][0] > 8 ? 1 << 9 : 1 << 15, 1, sizes[i][0], sizes[i][1], &o));
            ks_scan_device *d = plan->device;
            OK(ks_chunks_by_columns(d, plan, 0));
            OK(ks_chunks_fill(d, plan, d->team.lanes ? KS_FILL_BULK : KS_FILL_PIECES));
            const int64_t number = (int64_t)plan->kernels->number_bytes, n = sizes[i][0] * number;
            const int64_t m = sizes[i][1] * number;
            ks_series *s = &d->a.series;
            ks_rows *const rows[] = { &s->F, &s->Q, &s->u, &s->H, &s->R, &s->d };
            const int64_t bytes[] = { n * sizes[i][0], n * sizes[i][0], n, m * sizes[i][0], m * sizes[i][1], m };
            for (int j = 0; j < 6; ++j) rows[j]->stride = varies ? bytes[j] : 0;
            s->y.stride = m;
            int last = KS_RING_WINDOW + 1;
            for (int blocks = 1; blocks <= 32; ++blocks) {
                ks_ring ring;
                ks_chunks_ring(d, KS_PASS_ABSORB, blocks, &ring);
                const int64_t each = d->team.lanes ? d->team.teams : KS_CHUNK_THREADS;
                const int64_t grid = d->team.blocks ? d->team.blocks : (d->chunks.chunks + each - 1) / each;
                const int64_t places = d->gpu->attributes.multiprocessors, all = (grid + places - 1) / places;
                const int64_t side = all < blocks ? all : blocks, own = (int64_t)ks_team_shared(&d->team);
                const int64_t shared = (int64_t)d->gpu->attributes.block_shared + 1024;
                assert_true(!ring.bytes || side * (own + ring.bytes + 1024) <= shared);
                assert_true((ring.fill == KS_FILL_NONE) == (ring.bytes == 0));
                if (!ring.bytes) ring.window = 0;
                assert_true(ring.window <= last && (!ring.bytes || ring.slot % 32 == 16));
                last = ring.window;
            }
            ks_smooth_plan_destroy(plan);
            check_clean();
        }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_of_rows_where_they_lie),
        cmocka_unit_test(many_chunks),
        cmocka_unit_test(arrays_that_end_anywhere),
        cmocka_unit_test(rows_of_the_block),
        cmocka_unit_test(chunks_that_need_more),
        cmocka_unit_test(rows_of_teams),
        cmocka_unit_test(teams_that_need_more),
        cmocka_unit_test(teams_with_arrays_of_the_callers),
#ifdef EMULATED
        cmocka_unit_test(series_in_parts),
#endif
        cmocka_unit_test(rings_leave_room),
    };
    only_tests(argc, argv, tests);
    if (no_device()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
