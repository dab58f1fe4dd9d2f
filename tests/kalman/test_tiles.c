/* test_tiles.c -- the hand-shaped filter and smoother ranges against the plain text that they stand
 * beside: every specialised size and those around it, both precisions, both tiers, time-varying and
 * constant models, missing entries, strided and unaligned memory. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "hd.h"
#include "kernels.h"
#include "models.h"
#include "run_case.h"

enum { STEPS = 70 };

/** Numbers of states and of entries: 2 to 8, 12 and, with AVX-512, 13 to 16 have kernels of their own, 9 to 11 and 13
 *  to 16 share some. Rows of 28 and 52 numbers in double, and of 56 in single precision, end in two pairs of vectors. */
static const int sizes[][2] = {
    { 1, 1 },  { 2, 1 },  { 2, 2 },  { 2, 4 },  { 2, 5 },  { 3, 1 },   { 3, 2 },  { 3, 3 },  { 3, 4 }, { 3, 6 },
    { 4, 1 },  { 4, 2 },  { 4, 3 },  { 4, 4 },  { 4, 5 },  { 4, 7 },   { 5, 2 },  { 5, 5 },
    { 6, 1 },  { 6, 3 },  { 6, 6 },  { 6, 9 },  { 7, 2 },  { 7, 4 },   { 8, 1 },  { 8, 4 },
    { 8, 8 },  { 9, 3 },  { 9, 4 },  { 9, 9 },  { 10, 1 },  { 10, 5 }, { 10, 7 }, { 11, 2 },
    { 11, 5 }, { 11, 6 }, { 11, 8 }, { 12, 1 }, { 12, 5 }, { 12, 6 }, { 12, 13 }, { 13, 5 }, { 14, 3 },
    { 15, 7 }, { 16, 4 }, { 17, 8 }, { 22, 5 }, { 24, 7 }, { 25, 1 }, { 28, 14 }, { 29, 3 }, { 33, 17 }, { 50, 3 },
};

static const ks_tier tiers[] = { KS_TIER_BASELINE, KS_TIER_AVX2, KS_TIER_AVX512 };

/** NULL where processor or build have no kernels of that tier, or none but those of the tier before. */
static const ks_kernels *kernels_of_tier(ks_precision precision, int tier, int nx, int ny)
{
    const ks_kernels *kernels = ks_kernels_for(precision, tiers[tier], nx, ny);
    return tier > 0 && kernels == ks_kernels_for(precision, tiers[tier - 1], nx, ny) ? NULL : kernels;
}

#include "num_f64.h"
#include "gemm_text.h"
#include "smallmat_text.h"
#include "array_text.h"
#include "step_text.h"
#include "array_step_text.h"
#include "memo_text.h"
#include "range_text.h"
#include "filter_range_text.h"
#include "smooth_range_text.h"
#include "tiles_text.h"
#include "num_end.h"
#include "num_f32.h"
#include "gemm_text.h"
#include "smallmat_text.h"
#include "array_text.h"
#include "step_text.h"
#include "array_step_text.h"
#include "memo_text.h"
#include "range_text.h"
#include "filter_range_text.h"
#include "smooth_range_text.h"
#include "tiles_text.h"
#include "num_end.h"

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_agree_f64),    cmocka_unit_test(ranges_agree_f32),
        cmocka_unit_test(singular_models_agree_f64), cmocka_unit_test(singular_models_agree_f32),
        cmocka_unit_test(faults_agree_f64),    cmocka_unit_test(faults_agree_f32),
        cmocka_unit_test(memory_changes_no_bit_f64), cmocka_unit_test(memory_changes_no_bit_f32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
