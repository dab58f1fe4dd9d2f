/* dispatch.c -- the kernel tables of a precision and tier on this processor. */
#include "batch.h"
#include "kernels.h"
#include "cpu.h"
#include "gradient/gradient_rows.h"
#include "map.h"
#include "means.h"
#include "signal_rows.h"
#include "tiled.h"
#include "two_ended.h"
#include "whitened.h"

const ks_kernels *ks_kernels_of(ks_precision precision, ks_tier tier)
{
    if (precision == KS_F64) return KS_TABLE_HERE(tier, &ks_kernels_baseline_f64, &ks_kernels_avx2_f64);
    return KS_TABLE_HERE(tier, &ks_kernels_baseline_f32, &ks_kernels_avx2_f32);
}

#if defined(KS_WITH_AVX512)
/** Whether vectors of 512 bits pay for so many states and entries, or are asked for where they do on some processor. */
static int wide_enough(ks_precision precision, ks_tier tier, int nx, int ny)
{
    const int asked = tier == KS_TIER_AVX512, many = asked || !ks_halves_vectors();
    if (precision != KS_F64) return (nx >= KS_WIDE_FROM && many) || nx == KS_WIDE_LITERAL_F32;
    const int rows = nx >= KS_WIDE_ROWS_FROM && nx <= KS_WIDE_ROWS_TO && ny <= KS_ROWS_ENTRIES;
    return (nx >= KS_WIDE_FROM && many) || (rows && (asked || ks_pays_wide_rows()));
}
#endif

const ks_kernels *ks_kernels_for(ks_precision precision, ks_tier tier, int nx, int ny)
{
#if defined(KS_WITH_AVX512)
    if (ks_tier_here(tier) == KS_TIER_AVX512 && wide_enough(precision, tier, nx, ny))
        return precision == KS_F64 ? &ks_kernels_avx512_f64 : &ks_kernels_avx512_f32;
#endif
    (void)nx;
    (void)ny;
    return ks_kernels_of(precision, tier);
}

int ks_one_thread_pays(const ks_kernels *kernels, int nx)
{
#if defined(KS_WITH_AVX512)
    const int wide = kernels == &ks_kernels_avx512_f64 || kernels == &ks_kernels_avx512_f32;
    return wide && nx >= KS_WIDE_FROM && nx <= KS_WIDE_ALONE_TO;
#else
    (void)kernels;
    (void)nx;
    return 0;
#endif
}

const ks_tiled_kernels *ks_tiled_kernels_of(const ks_kernels *kernels)
{
#if defined(KS_WITH_AVX512)
    if (kernels == &ks_kernels_avx512_f64) return &ks_tiled_avx512_f64;
    if (kernels == &ks_kernels_avx512_f32) return &ks_tiled_avx512_f32;
#endif
#if defined(__x86_64__)
    if (kernels == &ks_kernels_avx2_f64) return &ks_tiled_avx2_f64;
    if (kernels == &ks_kernels_avx2_f32) return &ks_tiled_avx2_f32;
#endif
    return kernels == &ks_kernels_baseline_f64 ? &ks_tiled_baseline_f64 : &ks_tiled_baseline_f32;
}

const ks_two_ended_kernels *ks_two_ended_kernels_of(const ks_kernels *kernels)
{
#if defined(__x86_64__)
    if (kernels == &ks_kernels_avx2_f64) return &ks_ends_avx2_f64;
    if (kernels == &ks_kernels_avx2_f32) return &ks_ends_avx2_f32;
#  if defined(KS_WITH_AVX512)
    if (kernels == &ks_kernels_avx512_f64) return &ks_ends_avx512_f64;
    if (kernels == &ks_kernels_avx512_f32) return &ks_ends_avx2_f32;
#  endif
#endif
    return kernels == &ks_kernels_baseline_f64 ? &ks_ends_baseline_f64 : &ks_ends_baseline_f32;
}

const ks_whitened_kernels *ks_whitened_kernels_of(const ks_kernels *kernels)
{
#if defined(__x86_64__)
        /* AVX-512 tables take steps in the array form by the code of AVX2. */
    if (kernels != &ks_kernels_baseline_f64 && kernels != &ks_kernels_baseline_f32)
        return kernels->number_bytes == sizeof(double) ? &ks_whitened_avx2_f64 : &ks_whitened_avx2_f32;
#endif
    return kernels->number_bytes == sizeof(double) ? &ks_whitened_baseline_f64 : &ks_whitened_baseline_f32;
}

const ks_means *ks_means_of(ks_tier tier)
{
    return KS_TABLE_HERE(tier, &ks_means_baseline, &ks_means_avx2);
}

const ks_signal_kernels *ks_signal_kernels_of(ks_tier tier)
{
    return KS_TABLE_HERE(tier, &ks_signal_baseline, &ks_signal_avx2);
}

const ks_gradient_kernels *ks_gradient_kernels_of(ks_tier tier)
{
    return KS_TABLE_HERE(tier, &ks_gradient_baseline, &ks_gradient_avx2);
}

const ks_map_kernels *ks_map_kernels_of(ks_tier tier, int nx)
{
#if defined(KS_WITH_AVX512)
    if (ks_tier_here(tier) == KS_TIER_AVX512 && nx > KS_MAP_FEW && ks_pays_wide(tier, nx, 8)) return &ks_map_avx512_f64;
#endif
    (void)nx;
    return KS_TABLE_HERE(tier, &ks_map_baseline_f64, &ks_map_avx2_f64);
}

const ks_pack_kernels *ks_packs_of(ks_precision precision, ks_tier tier)
{
    (void)precision;
    return KS_TABLE_HERE(tier, NULL, precision == KS_F64 ? &ks_packs_avx2_f64 : &ks_packs_avx2_f32);
}

const ks_pack_kernels *ks_wide_packs_of(ks_precision precision, ks_tier tier)
{
#if defined(KS_WITH_AVX512)
    if (ks_tier_here(tier) == KS_TIER_AVX512)
        return precision == KS_F64 ? &ks_packs_avx512_f64 : &ks_packs_avx512_f32;
#endif
    (void)precision;
    (void)tier;
    return NULL;
}
