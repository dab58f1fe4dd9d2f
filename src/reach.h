/* reach.h -- how far from the first number of an array the caller's strides lead. */
#ifndef KS_REACH_H
#define KS_REACH_H

#include <stddef.h>
#include <stdint.h>

/** Whether the end of the last of count x outer_count blocks of `block` elements can be addressed, elements being
 *  doubles or less. Strides count elements and are not negative; that of an axis of one block is not looked at. */
static inline int ks_within_reach(int64_t count, int64_t stride, int64_t outer_count, int64_t outer_stride,
                                  int64_t block)
{
    int64_t inner = 0, outer = 0, end;
    if (count > 1 && (stride < 0 || __builtin_mul_overflow(count - 1, stride, &inner))) return 0;
    if (outer_count > 1 && (outer_stride < 0 || __builtin_mul_overflow(outer_count - 1, outer_stride, &outer))) return 0;
    return !__builtin_add_overflow(inner, outer, &end) && !__builtin_add_overflow(end, block, &end) &&
           end <= (int64_t)(PTRDIFF_MAX / sizeof(double));
}

#endif
