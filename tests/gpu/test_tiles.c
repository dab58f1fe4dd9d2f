/* test_tiles.c -- what joins the aggregates of chunks on a device, in tiles by a thread or two elements of a thread, and what
 * a thread does where there are more states than teams take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>
#include "models.h"
#include "run_case.h"
#include "scan_device.h"
#include "session.h"

static const method_case methods[] = {
    { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_CHUNKED, 1, 0 },
    { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_CHUNKED, 1, 0 },
    { KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER, KS_SCAN_CHUNKED, 1, 0 },
};
enum { METHODS = sizeof methods / sizeof methods[0], CHUNK = 8 /* of a short series */ };

static unsigned outputs_for(int method)
{
    const unsigned filtered = KS_OUT_LOGLIK | KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV;
    return method ? filtered | KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_LAG_ONE_COV : filtered;
}

/** Run g in chunks, with tiles of so many aggregates of which a thread has two, or 0: as the plan has them. The results
 *  are those of the CPU's sequential filter and smoother. */
static void check(const golden *g, int method, int64_t tile_of_pairs, int seed)
{
    const unsigned outputs = outputs_for(method);
    ks_smooth_options o = options_of(&methods[method], KS_F64, outputs);
    golden_buffers *b = golden_buffers_new(g->T, g->B, g->nx, g->ny, KS_F64, outputs), *expected = NULL;
    const ks_model model = golden_model(g, KS_F64);
    ks_smooth_plan *plan;
    use_seed(seed);
    OK(ks_smooth_plan_create(&plan, NULL, g->T, g->B, g->nx, g->ny, &o));
    if (tile_of_pairs) {
        plan->device->tiles.tile = tile_of_pairs;
        plan->device->tiles.each = 2;
    }
    void *work = aligned_alloc(64, (ks_smooth_workspace_bytes(plan) + 63) / 64 * 64);
    assert_non_null(work);
    OK(ks_smooth_run(plan, &model, golden_y(g, KS_F64), golden_outputs(b), work, NULL));
    free(work);
    ks_smooth_plan_destroy(plan);
    check_clean();
    o.method = KS_METHOD_SEQUENTIAL;
    o.backend = KS_BACKEND_CPU;
    OK(run_model(g, &model, golden_y(g, KS_F64), &o, 1, &expected, NULL));
    const golden_difference d =
        golden_compare(golden_widen(b), golden_widen(expected), outputs, (golden_norm){ 0, false });
    if (!(d.error <= golden_ordinary_bound(GOLDEN_ELEMENTS, KS_F64)))
        fail_msg("T = %lld, nx = %d: %s at step %lld off by %.3g", (long long)g->T, g->nx, golden_output_name(d.output),
                 (long long)d.step, d.error);
    golden_buffers_free(b);
    golden_buffers_free(expected);
}

/** Long series have tiles in which a thread has two: any number of chunks, whole tiles and others. */
static void tiles_of_pairs(void **state)
{
    (void)state;
    for (int chunks = 1; chunks <= 34; chunks += chunks < 19 ? 1 : 5)
        for (int nx = 1 + chunks % 2; nx <= 4; nx += 2) {
            golden *g = model_random((model_spec){ 970 + (uint64_t)chunks, chunks * CHUNK - chunks % 3, 1, nx, 2, KS_PRIOR_X1,
                                                   VARIES_ALL | MISSING });
            for (int m = 0; m < METHODS; ++m) check(g, m, chunks <= 16 && nx < 3 ? 4 : 8, chunks);
            golden_free(g);
        }
}

/** Those of the plan, in which a thread has one. */
static void tiles(void **state)
{
    (void)state;
    for (int chunks = 1; chunks <= 70; chunks += 1 + chunks / 4)
        for (int nx = 1; nx <= 4; ++nx) {
            golden *g = model_random((model_spec){ 930 + (uint64_t)chunks, chunks * CHUNK - chunks % 5, 1, nx, 1, KS_PRIOR_X0,
                                                   VARIES_R | MISSING });
            for (int m = 0; m < METHODS; ++m) check(g, m, 0, chunks);
            golden_free(g);
        }
}

/** Tiles of 128 aggregates, and of 256, of which a thread has two, with as many chunks as there may be. */
static void longer_series(void **state)
{
    (void)state;
    for (int i = 0; i < 2; ++i) {
        golden *g = model_random((model_spec){ 920, i ? 262141 : 65539, 1, 3, 1, KS_PRIOR_X0, MISSING });
        check(g, 1, 0, i);
        golden_free(g);
    }
}

static void more_states_than_teams_take(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 1010, 17, 1, 65, 2, KS_PRIOR_X0, VARIES_R | MISSING });
    for (int m = 0; m < METHODS; ++m) check(g, m, 0, m);
    golden_free(g);
}

/** A series of any length is cut into chunks whose aggregates the kernels can join: where threads do, one block scans the
 *  totals of all tiles. */
static void any_length(void **state)
{
    (void)state;
    for (int nx = 1; nx <= 70; ++nx)
        for (int64_t T = 1; T < INT64_C(1) << 40; T += T / 3 + 1)
            for (int more = 0; more < 2; ++more) {
                const int64_t steps = T + more * KS_MOST_TILE * KS_MOST_TILE;
                const ks_chunk_cut cut = ks_cut_into_chunks(steps, nx);
                assert_int_equal(cut.size % 4, 0);
                assert_true(cut.size >= CHUNK && (cut.chunks - 1) * cut.size < steps && cut.chunks * cut.size >= steps);
                const int teams = nx > KS_SCAN_LITERAL && nx <= KS_MOST_TEAM_STATES;
                const int64_t tiles = (cut.chunks + cut.tile - 1) / cut.tile;
                assert_true(cut.tile <= KS_MOST_TILE && (teams || tiles <= KS_MOST_TILE));
            }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles),
        cmocka_unit_test(tiles_of_pairs),
        cmocka_unit_test(longer_series),
        cmocka_unit_test(more_states_than_teams_take),
        cmocka_unit_test(any_length),
    };
    only_tests(argc, argv, tests);
    if (no_device()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
