/* dispatch.c -- which kernel table serves a precision and tier on this processor. */
#include "kernels.h"
#include "cpu.h"

const ks_kernels *ks_kernels_of(ks_precision precision, ks_tier tier)
{
    const int wide = precision == KS_F64;
    if (tier == KS_TIER_BASELINE)
        return wide ? &ks_kernels_baseline_f64 : &ks_kernels_baseline_f32;
#if defined(__x86_64__)
    if (ks_has_avx2()) return wide ? &ks_kernels_avx2_f64 : &ks_kernels_avx2_f32;
#endif
    if (tier == KS_TIER_AVX2) return NULL;
    return wide ? &ks_kernels_baseline_f64 : &ks_kernels_baseline_f32;
}
