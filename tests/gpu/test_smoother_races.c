/* test_smoother_races.c -- filters and smoothers by teams of threads and with rows through shared memory, each of whose
 * accesses is watched (emulator/races.h): no thread touches what another one does with nothing between them, also where
 * no result shows it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "models.h"
#include "scan_device.h"
#include "seed_run.h"

static const method_case chunked_filter = { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_CHUNKED, 1, 0 };
static const method_case meets = { KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER, KS_SCAN_CHUNKED, 1, 0 };
static const method_case map = { KS_JOB_SMOOTH, KS_METHOD_BLOCKTRI, KS_SCAN_HILLIS_STEELE, 1, KS_BLOCKTRI_PARTITION };

/** Which rows come through shared memory, and in windows of how many steps. */
typedef struct ring { ks_fill fill; int window, stages; } ring;
static const ring none = { KS_FILL_NONE, 0, 0 };

/** Run it with those of these outputs that it has; a race is the launch's fault, and so the run's. */
static void watch_outputs(const golden *g, const method_case *m, ks_precision precision, unsigned wanted, ring r, int seed)
{
    const unsigned outputs = outputs_there(g, m) & wanted;
    const ks_smooth_options o = options_of(m, precision, outputs);
    golden_buffers *b = golden_buffers_new(g->T, g->B, g->nx, g->ny, precision, outputs);
    const ks_model model = golden_model(g, precision);
    ks_smooth_plan *plan;
    ks_info info = KS_INFO_INIT;
    use_seed(seed);
    OK(ks_smooth_plan_create(&plan, NULL, g->T, g->B, g->nx, g->ny, &o));
    if (r.fill != KS_FILL_NONE) {
        plan->device->ring_window = r.window;
        plan->device->ring_stages = r.stages;
        OK(ks_chunks_fill(plan->device, plan, r.fill));
    }
    void *work = workspace(plan);
    const ks_status status = ks_smooth_run(plan, &model, golden_y(g, precision), golden_outputs(b), work, &info);
    if (status) fail_msg("nx = %d, %s: %s", g->nx, method_case_name(m), ks_emulated.report);
    free(work);
    ks_smooth_plan_destroy(plan);
    check_clean();
    golden_buffers_free(b);
}

static void watch(const golden *g, const method_case *m, ks_precision precision, ring r, int seed)
{
    const unsigned filtered = KS_OUT_LOGLIK | KS_OUT_LOGLIK_TERMS | KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV |
                              KS_OUT_FILTERED_VAR;
    const unsigned smoothed = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_SMOOTHED_VAR | KS_OUT_LAG_ONE_COV;
    watch_outputs(g, m, precision, filtered | smoothed, r, seed);
}

/** Teams of 8 and 16 threads with columns in registers, of 8, 32, 128 and 256 without: chunks, what joins them, borders,
 *  and steps that they leave to a thread. */
static void teams(void **state)
{
    static const struct { int nx, ny; int64_t T; } sizes[] = { { 5, 2, 61 }, { 8, 3, 35 }, { 13, 4, 27 }, { 7, 5, 31 },
                                                               { 12, 9, 19 }, { 20, 3, 18 }, { 34, 2, 17 } };
    const method_case *const methods[] = { &chunked_filter, &chunked, &meets };
    (void)state;
    for (int i = 0; i < 7; ++i)
        for (int m = 0; m < 3; ++m) {
            const ks_precision precision = i < 5 ? (ks_precision)((i + m) % (m == 2 ? 2 : 3)) : KS_F64;
            golden *g = model_random((model_spec){ 1900 + (uint64_t)i, sizes[i].T, 1, sizes[i].nx, sizes[i].ny,
                                                   (ks_prior)(m % 2), VARIES_ALL | MISSING });
            if (i == 1) /* one chunk of it is for the array form */
                for (int j = 0; j < g->ny * g->ny; ++j) model_block(&g->R, 0, 20)[j] *= 0x1p-24;
            model_round(g);
            watch(g, methods[m], precision, none, 3 * i + m);
            golden_free(g);
        }
}

/** Elements of all steps joined by threads and by teams, and aggregates in more than one tile of 256. */
static void elements(void **state)
{
    static const struct { int nx; int64_t T; } sizes[] = { { 2, 70 }, { 4, 33 }, { 6, 21 }, { 13, 17 }, { 18, 13 },
                                                           { 1, 2500 } };
    (void)state;
    for (int i = 0; i < 6; ++i) {
        const method_case *const m = i == 5 ? &meets : i % 2 ? &two_filter : &rts;
        golden *g = model_random((model_spec){ 1910 + (uint64_t)i, sizes[i].T, 1, sizes[i].nx, 2, KS_PRIOR_X0, VARIES_Q });
        watch(g, m, i % 3 ? KS_F64 : KS_F32, none, 20 + i);
        golden_free(g);
    }
}

/** Elements that come and go through shared memory, by rounds of every kind, lanes of more than one block. */
static void staged(void **state)
{
    static const ks_scan_algorithm algorithms[] = { KS_SCAN_HILLIS_STEELE, KS_SCAN_BLELLOCH, KS_SCAN_LADNER_FISCHER,
                                                    KS_SCAN_SENGUPTA };
    (void)state;
    for (int i = 0; i < 8; ++i) {
        const ks_method method = i / 4 ? KS_METHOD_SCAN_RTS : KS_METHOD_SCAN_TWO_FILTER;
        const method_case m = { KS_JOB_SMOOTH, method, algorithms[i % 4], 1, 0 };
        golden *g = model_random((model_spec){ 1940 + (uint64_t)i, 300, 1, 1 + (i + i / 4) % 4, 1, KS_PRIOR_X0, VARIES_Q });
        watch(g, &m, KS_F64, none, 70 + i);
        golden_free(g);
    }
}

/** Ordinary steps of stored elements, whose warps move what is kept and put out of them, and a step in the midst of them that
 *  is left. */
static void ordinary(void **state)
{
    (void)state;
    for (int i = 0; i < 8; ++i) {
        const method_case *const m = i / 4 ? &two_filter : &rts;
        golden *g = model_random((model_spec){ 1950 + (uint64_t)i, 131 - i / 2, 1, 1 + i % 4, i % 4 == 3 ? 3 : 1 + i % 2,
                                               (ks_prior)(i / 2 % 2), VARIES_ALL | MISSING });
        for (int j = 0; j < g->ny * g->ny; ++j) model_block(&g->R, 0, 40)[j] *= 0x1p-24;
        model_round(g);
        watch_outputs(g, m, i % 2 ? KS_F32 : KS_F64, outputs_made(m), none, 80 + i);
        golden_free(g);
    }
}

/** Windows of rows that warps bring for their threads, and the copy engine for teams. */
static void rings(void **state)
{
    static const struct { int nx, ny; ring r; } all[] = {
        { 2, 2, { KS_FILL_PIECES, 2, 2 } }, { 4, 2, { KS_FILL_PIECES, 1, 2 } }, { 3, 1, { KS_FILL_PIECES, 4, 2 } },
        { 4, 2, { KS_FILL_PIECES, 8, 2 } }, { 8, 2, { KS_FILL_BULK, 1, 2 } },   { 11, 3, { KS_FILL_BULK, 2, 3 } },
    };
    (void)state;
    for (int i = 0; i < 6; ++i) {
        golden *g = model_random((model_spec){ 1920 + (uint64_t)i, 75, 1, all[i].nx, all[i].ny, KS_PRIOR_X1,
                                               i % 2 ? VARIES_ALL | MISSING : MISSING });
        watch(g, &chunked, i % 3 == 1 ? KS_F32 : KS_F64, all[i].r, 40 + i);
        if (i % 2) watch(g, &meets, KS_F64, all[i].r, 50 + i);
        golden_free(g);
    }
}

/** The MAP route by segments, of threads and of teams. */
static void segments(void **state)
{
    static const struct { int nx, ny; } sizes[] = { { 2, 1 }, { 4, 2 }, { 8, 3 }, { 13, 2 } };
    (void)state;
    for (int i = 0; i < 4; ++i) {
        golden *g = model_random((model_spec){ 1930 + (uint64_t)i, 150 - 30 * i, 1, sizes[i].nx, sizes[i].ny, KS_PRIOR_X0,
                                               VARIES_ALL | MISSING });
        watch(g, &map, i % 2 ? KS_F32 : KS_F64, none, 60 + i);
        golden_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(teams),
        cmocka_unit_test(elements),
        cmocka_unit_test(staged),
        cmocka_unit_test(ordinary),
        cmocka_unit_test(rings),
        cmocka_unit_test(segments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
