/* dispatch.c -- which kernel tables serve a precision and tier on this processor. */
#include "chains.h"
#include "cpu.h"
#include "general/kernels.h"
#include "refine_kernels.h"

const ks_bt_kernels *ks_bt_kernels_of(ks_precision precision, ks_tier tier, int n)
{
    const int wide = precision == KS_F64;
    switch (ks_tier_here(tier)) {
    case KS_TIER_AUTO: return NULL;
#if defined(__x86_64__)
    case KS_TIER_AVX512:
#  if defined(KS_WITH_AVX512)
        if (ks_pays_wide(tier, n, wide ? 8 : 16)) return wide ? &ks_bt_avx512_f64 : &ks_bt_avx512_f32;
#  endif
        /* fall through */
    case KS_TIER_AVX2: return wide ? &ks_bt_avx2_f64 : &ks_bt_avx2_f32;
#endif
    default: (void)n; return wide ? &ks_bt_baseline_f64 : &ks_bt_baseline_f32;
    }
}

const ks_gb_kernels *ks_gb_kernels_of(ks_tier tier)
{
    switch (ks_tier_here(tier)) {
    case KS_TIER_AUTO: return NULL;
#if defined(__x86_64__)
    case KS_TIER_AVX512:
    case KS_TIER_AVX2: return &ks_gb_avx2;
#endif
    default: return &ks_gb_baseline;
    }
}

const ks_bt_refine_kernels *ks_bt_refine_kernels_of(ks_tier tier)
{
    switch (ks_tier_here(tier)) {
#if defined(__x86_64__)
    case KS_TIER_AVX512:
    case KS_TIER_AVX2: return &ks_bt_refine_avx2;
#endif
    default: return &ks_bt_refine_baseline;
    }
}
