/* dispatch.c -- which kernel tables serve a precision and tier on this processor. */
#include "chains.h"
#include "cpu.h"
#include "general/kernels.h"
#include "refine_kernels.h"

const ks_bt_kernels *ks_bt_kernels_of(ks_precision precision, ks_tier tier)
{
    const int wide = precision == KS_F64;
    if (tier == KS_TIER_AVX2 && !ks_has_avx2()) return NULL;
#if defined(__x86_64__)
    if (tier != KS_TIER_BASELINE && ks_has_avx2()) return wide ? &ks_bt_avx2_f64 : &ks_bt_avx2_f32;
#endif
    return wide ? &ks_bt_baseline_f64 : &ks_bt_baseline_f32;
}

const ks_gb_kernels *ks_gb_kernels_of(ks_tier tier)
{
    if (tier == KS_TIER_AVX2 && !ks_has_avx2()) return NULL;
#if defined(__x86_64__)
    if (tier != KS_TIER_BASELINE && ks_has_avx2()) return &ks_gb_avx2;
#endif
    return &ks_gb_baseline;
}

const ks_bt_refine_kernels *ks_bt_refine_kernels_of(ks_tier tier)
{
#if defined(__x86_64__)
    if (tier != KS_TIER_BASELINE && ks_has_avx2()) return &ks_bt_refine_avx2;
#endif
    (void)tier;
    return &ks_bt_refine_baseline;
}
