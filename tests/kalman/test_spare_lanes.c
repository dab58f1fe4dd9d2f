/* test_spare_lanes.c -- lanes of a pack without a series of their own hold numbers, whatever the memory held before. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "batch.h"
#include "models.h"
#include "run_case.h"
#include "smooth_plan.h"

/** Filter B series as one group whose memory is full of what is no number, and look at the means that it keeps first in
 *  there. */
static void check_spare_lanes(const golden *g, ks_precision precision)
{
    enum { STEPS = 70, NX = 3 };
    const method_case filter = { KS_JOB_FILTER, KS_METHOD_SEQUENTIAL, KS_SCAN_HILLIS_STEELE, 1, KS_BLOCKTRI_AUTO };
    const ks_smooth_options o = options_of(&filter, precision, KS_OUT_LOGLIK);
    ks_smooth_plan *plan = NULL;
    assert_int_equal(ks_smooth_plan_create(&plan, NULL, g->T, g->B, g->nx, g->ny, &o), KS_OK);
    const ks_pack_kernels *packs = ks_packs_of(precision, KS_TIER_AUTO);
    const ks_model model = golden_model(g, precision);
    const ks_plan_run run = { .plan = plan, .model = &model, .y = golden_y(g, precision) };
    const size_t bytes = packs ? (packs->scratch_bytes(g->nx, g->ny) + 63) / 64 * 64 : 64;
    const size_t step = (plan->kernels->scratch_bytes(g->nx, g->ny) + 63) / 64 * 64;
    ks_group group = { .kernels = plan->kernels, .scratch = aligned_alloc(64, step), .pack = aligned_alloc(64, bytes) };
    ks_forward_sinks to[KS_LANES_MOST];
    ks_tally tally[KS_LANES_MOST];
    double x[KS_LANES_MOST][NX] = { { 0 } }, C[KS_LANES_MOST][NX * NX] = { { 0 } };
    assert_true(group.scratch && group.pack && g->T == STEPS && g->nx == NX);
    memset(group.pack, 0xff, bytes);
    memset(to, 0, sizeof to);
    group.alive = (int)g->B;
    for (int l = 0; packs && l < packs->width; ++l) {
        ks_series_of(&run, l < g->B ? l : g->B - 1, &group.series[l]);
        group.state[l] = (ks_state){ x[l], C[l], KS_FORM_ORDINARY, KS_NOT_STEADY };
        tally[l] = ks_tally_start();
    }
    if (packs) packs->filter(&group, 0, STEPS, to, tally);
    for (int i = 0; packs && i < NX * packs->width; ++i)
        assert_true(precision == KS_F64 ? isfinite(((const double *)group.pack)[i])
                                        : isfinite(((const float *)group.pack)[i]));
    free(group.scratch);
    free(group.pack);
    ks_smooth_plan_destroy(plan);
}

/** Lanes without a series of their own are computed with and looked at: they hold numbers. */
static void spare_lanes_are_written(void **state)
{
    (void)state;
    for (int p = 0; p < 2; ++p)
        for (int B = p == KS_F64 ? 3 : 4; B <= (p == KS_F64 ? 4 : 8); ++B) {
            golden *g = model_random((model_spec){ 231, 70, B, 3, 2, KS_PRIOR_X0, VARIES_ALL | OWN_MODELS });
            check_spare_lanes(g, (ks_precision)p);
            golden_free(g);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(spare_lanes_are_written) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
