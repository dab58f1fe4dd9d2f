/* kalscan/number.h -- which numbers a plan computes with, and for which processors its arithmetic is compiled. */
#ifndef KALSCAN_NUMBER_H
#define KALSCAN_NUMBER_H

#include "kalscan/export.h"

KS_BEGIN_DECLS

/** Numbers that are computed with, and those of what a plan reads and writes: KS_F64 double, KS_F32 float.
 *  KS_MIXED, of <kalscan/smooth.h> alone: covariances and gains in float, means in double, so that a mean
 *  that is large against its standard deviation keeps its digits: by KS_METHOD_SEQUENTIAL on the CPU, and
 *  by KS_SCAN_CHUNKED on a device. Model and y are double then, and of the outputs means, innovation and
 *  innovation_std; covariances, variances and innovation_cov are float. */
typedef enum ks_precision { KS_F64 = 0, KS_F32 = 1, KS_MIXED = 2 } ks_precision;

/** Instruction-set tier of the arithmetic. Results of different tiers differ by rounding. */
typedef enum ks_tier {
    KS_TIER_AUTO = 0,     /**< the fastest that the library has and the processor runs: AVX-512  */
                          /**< where it was measured to pay, which on Zen 4 is seldom            */
    KS_TIER_BASELINE = 1, /**< what every processor of the architecture has, or the least that   */
                          /**< the library is built for                                          */
    KS_TIER_AVX2 = 2,     /**< x86-64 with AVX2 and FMA                                          */
    KS_TIER_AVX512 = 3    /**< x86-64 with AVX-512 F, VL and DQ, where the library is built with */
                          /**< it; what has no kernels of its own there uses those of AVX2       */
} ks_tier;

KS_END_DECLS
#endif
