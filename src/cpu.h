/* cpu.h -- instruction sets and traits of the processor that runs this. */
#ifndef KS_CPU_H
#define KS_CPU_H

#include <stddef.h>
#include "kalscan/number.h"
#include "ks_tiers.h"

/** Non-zero where the kernels compiled for AVX2 and FMA can run. */
static inline int ks_has_avx2(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return 0;
#endif
}

/** Non-zero where kernels compiled for AVX-512 exist (Meson's -Davx512=true) and can run. */
static inline int ks_has_avx512(void)
{
#if defined(KS_WITH_AVX512)
    return ks_has_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#else
    return 0;
#endif
}

/** Whether the processor splits 512-bit operations into two halves, as Zen 4 does. There AVX-512 has no more throughput
 *  than AVX2, and unused lanes cost as much as used ones. */
static inline int ks_halves_vectors(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_is("amdfam19h") != 0;
#else
    return 0;
#endif
}

/** Whether vectors of `width` numbers, twice those of AVX2, are faster for panels of blocks of order n: if they are
 *  filled as well as the narrower ones, or if the blocks are so large that unused lanes do not matter. On processors
 *  that split vectors only if the caller asks for AVX-512. Limits are measured. */
static inline int ks_pays_wide(ks_tier tier, int n, int width)
{
    const int half = width / 2;
    if (tier != KS_TIER_AVX512 && ks_halves_vectors()) return 0;
    return n >= width && ((n - 1) / half % 2 == 1 || n > 6 * width);
}

/** Whether small matrices are faster with rows of one 512-bit vector than of two 256-bit ones. Measured: on a Xeon
 *  filters were slower. */
static inline int ks_pays_wide_rows(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_is("amd") != 0;
#else
    return 0;
#endif
}

/** Whether writing rows that are not read again soon past the caches (stream.h) is faster. Measured: on a Xeon it took
 *  1.18 times as long. Builds that need not be fast always do it, so that their tests cover it. */
static inline int ks_pays_past(void)
{
#if defined(KS_PAST_ANYWHERE)
    return 1;
#elif defined(__x86_64__)
    return __builtin_cpu_is("amd") != 0;
#else
    return 0;
#endif
}

/** Whether a value is a ks_tier. */
static inline int ks_is_tier(ks_tier tier)
{
    return tier == KS_TIER_AUTO || tier == KS_TIER_BASELINE || tier == KS_TIER_AVX2 ||
           tier == KS_TIER_AVX512;
}

/** Return the tier that serves a request on this processor, or KS_TIER_AUTO if it lacks that tier. */
static inline ks_tier ks_tier_here(ks_tier tier)
{
    const int avx2 = ks_has_avx2(), avx512 = ks_has_avx512();
#if defined(KS_WITHOUT_BASELINE)
    const ks_tier least = avx2 ? KS_TIER_AVX2 : KS_TIER_AUTO;
#else
    const ks_tier least = KS_TIER_BASELINE;
#endif
    switch (tier) {
    case KS_TIER_AUTO: return avx512 ? KS_TIER_AVX512 : avx2 ? KS_TIER_AVX2 : least;
    case KS_TIER_AVX512: return avx512 ? tier : KS_TIER_AUTO;
    case KS_TIER_AVX2: return avx2 ? tier : KS_TIER_AUTO;
    case KS_TIER_BASELINE: break;
    }
    return least;
}

/** Choose the kernel table that serves a request on this processor; NULL if it lacks the tier. AVX-512 is served by the
 *  table for AVX2. The expression `avx2` is not compiled for other architectures. */
#if defined(__x86_64__)
#  define KS_TABLE_HERE(tier, baseline, avx2)                                                \
    (ks_tier_here(tier) == KS_TIER_AUTO       ? NULL                                         \
     : ks_tier_here(tier) == KS_TIER_BASELINE ? (baseline)                                   \
                                              : (avx2))
#else
#  define KS_TABLE_HERE(tier, baseline, avx2) (ks_tier_here(tier) == KS_TIER_AUTO ? NULL : (baseline))
#endif

#endif
