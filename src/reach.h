/* reach.h -- whether an array of the caller's lies where numbers may, and can be addressed with its strides. */
#ifndef KS_REACH_H
#define KS_REACH_H

#include <stddef.h>
#include <stdint.h>

/** Whether `data` is a place for numbers of `number` bytes. Some processors, and devices, load nothing from others. */
static inline int ks_is_aligned(const void *data, size_t number) { return (uintptr_t)data % number == 0; }

/** Whether the end of the last of count x outer_count blocks of `block` elements can be addressed. Elements are doubles
 *  or smaller. Strides count elements and must not be negative. The stride of an axis of length 1 is ignored. */
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
