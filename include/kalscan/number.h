/* kalscan/number.h -- precisions of a plan, and instruction sets of its arithmetic. */
#ifndef KALSCAN_NUMBER_H
#define KALSCAN_NUMBER_H

#include "kalscan/export.h"

KS_BEGIN_DECLS

/** Precision of the arrays of a plan, and of its arithmetic unless that needs more: KS_F64 is double, KS_F32 is float.
 *
 *  KS_MIXED is for <kalscan/smooth.h> only: covariances and gains in float, means in double, for means that are large
 *  beside their standard deviations. KS_METHOD_SEQUENTIAL has it on the CPU; on a device KS_METHOD_SCAN and
 *  KS_METHOD_SCAN_RTS have it with KS_SCAN_CHUNKED. Model, y, means, innovation and innovation_std are double then;
 *  covariances, variances and innovation_cov are float. */
typedef enum ks_precision { KS_F64 = 0, KS_F32 = 1, KS_MIXED = 2 } ks_precision;

/** Instruction set of the arithmetic. Results of different tiers differ by rounding. On x86-64, AVX-512 is built in by
 *  default. Code without AVX-512 kernels uses those of AVX2 in that tier. */
typedef enum ks_tier {
    KS_TIER_AUTO = 0,     /**< the fastest that the processor has, by measurements */
    KS_TIER_BASELINE = 1, /**< what every processor of the architecture has, or the least that the build has */
    KS_TIER_AVX2 = 2,     /**< x86-64 with AVX2 and FMA */
    KS_TIER_AVX512 = 3    /**< x86-64 with AVX-512 F, VL and DQ */
} ks_tier;

KS_END_DECLS
#endif
