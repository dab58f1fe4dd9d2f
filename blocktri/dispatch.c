/* dispatch.c -- which kernel tables serve a precision and tier on this processor. */
#include "chains.h"
#include "cpu.h"
#include "general/kernels.h"
#include "refine_kernels.h"

const ks_bt_kernels *ks_bt_kernels_of(ks_precision precision, ks_tier tier, int n)
{
    const int wide = precision == KS_F64;
#if defined(KS_WITH_AVX512)
    if (ks_tier_here(tier) == KS_TIER_AVX512 && ks_pays_wide(tier, n, wide ? 8 : 16))
        return wide ? &ks_bt_avx512_f64 : &ks_bt_avx512_f32;
#endif
    (void)n;
    if (wide) return KS_TABLE_HERE(tier, &ks_bt_baseline_f64, &ks_bt_avx2_f64);
    return KS_TABLE_HERE(tier, &ks_bt_baseline_f32, &ks_bt_avx2_f32);
}

const ks_gb_kernels *ks_gb_kernels_of(ks_tier tier)
{
    return KS_TABLE_HERE(tier, &ks_gb_baseline, &ks_gb_avx2);
}

const ks_bt_refine_kernels *ks_bt_refine_kernels_of(ks_tier tier)
{
    return KS_TABLE_HERE(tier, &ks_bt_refine_baseline, &ks_bt_refine_avx2);
}
