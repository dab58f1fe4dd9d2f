/* flops.h -- counts of floating-point operations. */
#ifndef KS_FLOPS_H
#define KS_FLOPS_H

#include <stdint.h>

/** Operations by kind. A fused multiply-add counts as one addition and one multiplication. Sign changes, comparisons,
 *  copies and conversions do not count. */
typedef struct ks_flops {
    int64_t adds;         /**< additions and subtractions */
    int64_t multiplies;
    int64_t divisions;
    int64_t square_roots;
} ks_flops;

static inline int64_t ks_flops_total(ks_flops f)
{
    return f.adds + f.multiplies + f.divisions + f.square_roots;
}

/** *sum += times * f, times >= 0. Returns non-zero if a count or the total exceeds 64 bits; *sum is then undefined. */
static inline int ks_flops_add(ks_flops *sum, ks_flops f, int64_t times)
{
    int64_t a, m, d, s, total;
    return __builtin_mul_overflow(f.adds, times, &a) ||
           __builtin_add_overflow(sum->adds, a, &sum->adds) ||
           __builtin_mul_overflow(f.multiplies, times, &m) ||
           __builtin_add_overflow(sum->multiplies, m, &sum->multiplies) ||
           __builtin_mul_overflow(f.divisions, times, &d) ||
           __builtin_add_overflow(sum->divisions, d, &sum->divisions) ||
           __builtin_mul_overflow(f.square_roots, times, &s) ||
           __builtin_add_overflow(sum->square_roots, s, &sum->square_roots) ||
           __builtin_add_overflow(sum->adds, sum->multiplies, &total) ||
           __builtin_add_overflow(total, sum->divisions, &total) ||
           __builtin_add_overflow(total, sum->square_roots, &total);
}

#endif
