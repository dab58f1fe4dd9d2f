/* test_arithmetic.c -- the arithmetic texts against their definitions, both precisions, and the
 * instruction-set tiers against each other. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "assert_within.h"
#include "cpu.h"
#include "hd.h"
#include "models.h"
#include "run_case.h"
#include "kernels.h"

enum { LARGEST = 20, MOST = LARGEST * LARGEST + 8 };

#include "num_f64.h"
#include "gemm_text.h"
#include "smallmat_text.h"
#include "array_text.h"
#include "arithmetic_text.h"
#include "num_end.h"
#include "num_f32.h"
#include "gemm_text.h"
#include "smallmat_text.h"
#include "array_text.h"
#include "arithmetic_text.h"
#include "num_end.h"

/** Every output of two tiers agrees to rounding. */
static void tiers_agree(void **state)
{
    (void)state;
    if (!ks_kernels_of(KS_F64, KS_TIER_AVX2)) skip();
    static const int sizes[][2] = { { 1, 1 }, { 2, 1 }, { 3, 2 }, { 4, 2 },
                                    { 5, 3 }, { 6, 3 }, { 9, 4 }, { 14, 7 } };
    const golden_norm strict = { 0, false };
    for (size_t c = 0; c < sizeof sizes / sizeof sizes[0]; ++c) {
        golden *g = model_random((model_spec){ 127 + c, 60, 1, sizes[c][0], sizes[c][1],
                                               KS_PRIOR_X0, HAS_OFFSETS | MISSING });
        for (int i = 0; i < all_methods_count; ++i)
            for (int p = 0; p < 2; ++p) {
                const method_case *m = &all_methods[i];
                const unsigned outputs = outputs_made(m);
                ks_smooth_options o = options_of(m, (ks_precision)p, outputs_made(m));
                const ks_model model = golden_model(g, o.precision);
                golden_buffers *b[2] = { NULL, NULL };
                for (int tier = 0; tier < 2; ++tier) {
                    o.tier = tier ? KS_TIER_AVX2 : KS_TIER_BASELINE;
                    assert_int_equal(run_model(g, &model, golden_y(g, o.precision), &o, 1,
                                               &b[tier], NULL),
                                     KS_OK);
                }
                const golden_difference d = golden_compare(
                    golden_widen(b[1]), golden_widen(b[0]),
                    outputs, strict);
                if (!(d.error <= (p == KS_F64 ? 1e-10 : 1e-3)))
                    fail_msg("(%d, %d), %s in %s: the tiers' %s differ by %.3g at step %lld",
                             g->nx, g->ny, method_case_name(m), p == KS_F64 ? "f64" : "f32",
                             golden_output_name(d.output), d.error, (long long)d.step);
                golden_buffers_free(b[0]);
                golden_buffers_free(b[1]);
            }
        golden_free(g);
    }
}

static void tiers_are_what_they_are_called(void **state)
{
    (void)state;
    for (int p = 0; p < 2; ++p) {
        const ks_kernels *baseline = ks_kernels_of((ks_precision)p, KS_TIER_BASELINE);
        const ks_kernels *avx2 = ks_kernels_of((ks_precision)p, KS_TIER_AVX2);
        const ks_kernels *best = ks_kernels_of((ks_precision)p, KS_TIER_AUTO);
#if !defined(KS_WITHOUT_BASELINE)
        assert_string_equal(baseline->tier, "baseline");
#endif
        if (avx2) assert_string_equal(avx2->tier, "avx2");
        assert_ptr_equal(best, avx2 ? avx2 : baseline);
        assert_int_equal(baseline->number_bytes, p == KS_F64 ? sizeof(double) : sizeof(float));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_f64), cmocka_unit_test(products_f32),
        cmocka_unit_test(vectors_f64),  cmocka_unit_test(vectors_f32),
        cmocka_unit_test(ldl_f64),      cmocka_unit_test(ldl_f32),
        cmocka_unit_test(semidefinite_roots_f64), cmocka_unit_test(semidefinite_roots_f32),
        cmocka_unit_test(lq_f64),       cmocka_unit_test(lq_f32),
        cmocka_unit_test(lq_of_columns_f64), cmocka_unit_test(lq_of_columns_f32),
        cmocka_unit_test(lq_of_extremes_f64), cmocka_unit_test(lq_of_extremes_f32),
        cmocka_unit_test(lq_sorted_f64), cmocka_unit_test(lq_sorted_f32),
        cmocka_unit_test(packing_f64),  cmocka_unit_test(packing_f32),
        cmocka_unit_test(tiers_agree),  cmocka_unit_test(tiers_are_what_they_are_called),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
