/* cpu.h -- what the processor that runs this has. */
#ifndef KS_CPU_H
#define KS_CPU_H

#include <stddef.h>
#include "kalscan/number.h"

/** Non-zero where the kernels compiled for AVX2 and FMA can run. */
static inline int ks_has_avx2(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return 0;
#endif
}

/** Non-zero where kernels compiled for AVX-512 are there (Meson's -Davx512=true) and can run. */
static inline int ks_has_avx512(void)
{
#if defined(__x86_64__) && defined(KS_WITH_AVX512)
    return ks_has_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#else
    return 0;
#endif
}

/** Whether the processor takes what is done to 512 bits in two halves, as Zen 4 does. Twice the arithmetic of AVX2 is
 *  not to be had there, and what stays empty of a vector costs what it does. */
static inline int ks_halves_vectors(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_is("amdfam19h") != 0;
#else
    return 0;
#endif
}

/** Whether vectors of `width` numbers, twice as wide as those of AVX2, pay for panels of blocks of order n, or are asked
 *  for: where they are filled as well, or blocks are large enough for what stays empty not to count; measured. */
static inline int ks_pays_wide(ks_tier tier, int n, int width)
{
    const int half = width / 2;
    if (tier != KS_TIER_AVX512 && ks_halves_vectors()) return 0;
    return n >= width && ((n - 1) / half % 2 == 1 || n > 6 * width);
}

/** Whether small matrices pay whose rows are one vector of 512 bits where they were two of 256: measured. A Xeon
 *  filtered more slowly. */
static inline int ks_pays_wide_rows(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_is("amd") != 0;
#else
    return 0;
#endif
}

/** Whether rows that are not read again soon pay to be written past the caches (stream.h): measured. A Xeon took 1.18
 *  of the time for it. Builds that need not be fast do it anywhere, so that their tests do. */
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

/** Whether a number is a tier's. */
static inline int ks_is_tier(ks_tier tier)
{
    return tier == KS_TIER_AUTO || tier == KS_TIER_BASELINE || tier == KS_TIER_AVX2 ||
           tier == KS_TIER_AVX512;
}

/** The tier that serves a request on this processor; KS_TIER_AUTO where it lacks that tier. */
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

/** Of two kernel tables, or NULL, the one that serves a request on this processor; NULL where it lacks the tier. AVX-512
 *  is served by AVX2's; the expression `avx2` is not compiled for other architectures. */
#if defined(__x86_64__)
#  define KS_TABLE_HERE(tier, baseline, avx2)                                                \
    (ks_tier_here(tier) == KS_TIER_AUTO       ? NULL                                         \
     : ks_tier_here(tier) == KS_TIER_BASELINE ? (baseline)                                   \
                                              : (avx2))
#else
#  define KS_TABLE_HERE(tier, baseline, avx2) (ks_tier_here(tier) == KS_TIER_AUTO ? NULL : (baseline))
#endif

#endif
