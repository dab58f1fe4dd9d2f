/* test_checkpoints.c -- outputs do not depend on which others are asked for: smoothing by
 * checkpoints, where the filtered estimates have nowhere to wait, has the bits of smoothing in
 * place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "models.h"
#include "run_case.h"

static const unsigned sets[] = {
    KS_OUT_SMOOTHED_MEAN,
    KS_OUT_LOGLIK | KS_OUT_SMOOTHED_VAR,
    KS_OUT_LOGLIK | KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV,
    KS_OUT_LOGLIK | KS_OUT_LOGLIK_TERMS,
    KS_OUT_SMOOTHED_COV,
    KS_OUT_LAG_ONE_COV,
    KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV,
    KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_VAR | KS_OUT_FILTERED_VAR,
    KS_OUT_SMOOTHED_VAR | KS_OUT_LAG_ONE_COV | KS_OUT_PRIOR_COV | KS_OUT_FILTERED_MEAN,
    KS_OUT_PREDICTED_COV,
    KS_OUT_INNOVATION_COV,
    KS_OUT_INNOVATION | KS_OUT_PREDICTED_MEAN,
    KS_OUT_FILTERED_COV,
    KS_OUT_PREDICTED_VAR | KS_OUT_INNOVATION_STD | KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV,
};

static void same_bits_of(golden *g, const method_case *m, ks_precision precision)
{
    const unsigned all = outputs_made(m);
    golden_buffers *whole = run_well(g, m, precision, 1, all, NULL);
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; ++i) {
        const unsigned set = sets[i] & all;
        if (!set) continue;
        golden_buffers *part = run_well(g, m, precision, 1, set, NULL);
        const unsigned different = first_different(whole, part, set);
        if (different)
            fail_msg("T = %lld, %s, set %zu: %s has other bits", (long long)g->T,
                     method_case_name(m), i, golden_output_name((ks_output)different));
        golden_buffers_free(part);
    }
    golden_buffers_free(whole);
}

static const method_case sequential = { KS_JOB_SMOOTH, KS_METHOD_SEQUENTIAL, 0, 1, 0 };

/** T around squares, where the length of the segments changes; the last one short or whole. */
static void lengths_around_the_segments(void **state)
{
    (void)state;
    static const int64_t lengths[] = { 1, 2, 3, 4, 5, 15, 16, 17, 255, 256, 257, 1000, 5000 };
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i)
        for (int prior = 0; prior < 2; ++prior)
            for (int p = 0; p < 3; ++p) {
                golden *g = model_random((model_spec){ 31, lengths[i], 1, 2, 1, (ks_prior)prior,
                                                       HAS_OFFSETS | MISSING });
                same_bits_of(g, &sequential, (ks_precision)p);
                golden_free(g);
            }
}

/** Many segments. */
static void long_series(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 32, 17000, 1, 1, 1, KS_PRIOR_X0, MISSING });
    same_bits_of(g, &sequential, KS_F64);
    golden_free(g);
}

/** Steps in the array form are kept as square roots: they come back in the form they were in. */
static void steps_of_both_forms(void **state)
{
    (void)state;
    for (int p = 0; p < 3; ++p) {
        golden *g = model_random((model_spec){ 33, 333, 1, 4, 2, KS_PRIOR_X0, VARIES_R | VARIES_H | MISSING });
        for (int64_t k = 0; k < g->T; k += 7) { /* exact measurements of states now and then */
            memset(model_block(&g->R, 0, k), 0, 4 * sizeof(double));
            for (int i = 0; i < 8; ++i) model_block(&g->H, 0, k)[i] = i % 5 == 0;
        }
        model_round(g);
        ks_info info = KS_INFO_INIT;
        golden_buffers_free(run_well(g, &sequential, (ks_precision)p, 1, KS_OUT_LOGLIK, &info));
        assert_true(info.array_steps > 20 && info.ordinary_steps > 20);
        same_bits_of(g, &sequential, (ks_precision)p);
        golden_free(g);
    }
}

/** The other methods, too, write the same whatever else is asked for, and so do filters. */
static void outputs_of_all_methods(void **state)
{
    (void)state;
    for (int i = 0; i < all_methods_count; ++i) {
        for (int p = 0; p < 2 + takes_mixed(&all_methods[i]); ++p) {
            golden *g = model_random((model_spec){ 34, 150, 1, 3, 2, KS_PRIOR_X0,
                                                   VARIES_ALL | MISSING });
            same_bits_of(g, &all_methods[i], (ks_precision)p);
            golden_free(g);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_around_the_segments),
        cmocka_unit_test(long_series),
        cmocka_unit_test(steps_of_both_forms),
        cmocka_unit_test(outputs_of_all_methods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
