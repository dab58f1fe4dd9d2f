/* test_less_shared.c -- devices whose blocks have less shared memory than most, 99 KB: teams are fewer in a block, or keep
 * their memory in the device's, and results are as good. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>
#include "models.h"
#include "run_case.h"
#include "scan_device.h"
#include "session.h"
#include "textbook.h"

static const method_case methods[] = {
    { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_CHUNKED, 1, 0 },
    { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_CHUNKED, 1, 0 },
    { KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER, KS_SCAN_CHUNKED, 1, 0 },
    { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_LADNER_FISCHER, 1, 0 },
    { KS_JOB_SMOOTH, KS_METHOD_BLOCKTRI, KS_SCAN_CHUNKED, 1, 0 },
};
enum { METHODS = sizeof methods / sizeof *methods, LESS = 99 * 1024 };

/** Teams of a block whose memory they share. */
static int of_block(const ks_team_shape *s) { return s->blocks ? 0 : s->teams; }

/** Run g and compare it with what is expected; whether teams are fewer, or elsewhere, than with more shared memory. */
static int check(const golden *g, const method_case *m, int seed)
{
    const unsigned outputs = m->job == KS_JOB_FILTER ? KS_OUT_LOGLIK | KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV
                                                     : KS_OUT_LOGLIK | KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV;
    const ks_smooth_options o = options_of(m, KS_F64, outputs);
    const ks_model model = golden_model(g, KS_F64);
    int teams[2] = { 0, 0 };
    for (int less = 0; less < 2; ++less) {
        golden_buffers *b = golden_buffers_new(g->T, 1, g->nx, g->ny, KS_F64, outputs);
        ks_smooth_plan *plan;
        ks_info info = KS_INFO_INIT;
        use_seed(seed);
        if (less) ks_emulated.block_shared = LESS;
        OK(ks_smooth_plan_create(&plan, NULL, g->T, 1, g->nx, g->ny, &o));
        const ks_scan_device *d = plan->device;
        assert_non_null(d);
        teams[less] = d->map.teams * !d->map.blocks + of_block(&d->team) + of_block(&d->team_back) + of_block(&d->join);
        void *work = aligned_alloc(64, (ks_smooth_workspace_bytes(plan) + 63) / 64 * 64);
        assert_non_null(work);
        OK(ks_smooth_run(plan, &model, golden_y(g, KS_F64), golden_outputs(b), work, &info));
        free(work);
        ks_smooth_plan_destroy(plan);
        check_clean();
        assert_true(golden_compare(golden_widen(b), &g->expected, outputs, golden_norm_of(g, KS_F64)).error <=
                    golden_ordinary_bound(GOLDEN_ELEMENTS, KS_F64));
        golden_buffers_free(b);
    }
    return teams[1] < teams[0];
}

static void teams_make_do(void **state)
{
    (void)state;
    static const struct { int nx, ny; int64_t T; } sizes[] = {
        { 3, 2, 40 }, { 7, 9, 20 }, { 13, 4, 12 }, { 16, 13, 9 }, { 30, 10, 9 }, { 44, 4, 9 },
    };
    int fewer[METHODS] = { 0 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        golden *g = model_random((model_spec){ 1700 + i, sizes[i].T, 1, sizes[i].nx, sizes[i].ny, (ks_prior)(i % 2),
                                               i % 3 ? VARIES_ALL | MISSING : HAS_OFFSETS | MISSING });
        textbook_smooth(g);
        for (int m = 0; m < METHODS; ++m) fewer[m] += check(g, &methods[m], (int)i + m);
        golden_free(g);
    }
    for (int m = 0; m < METHODS; ++m) assert_true(fewer[m] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(teams_make_do) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
