/* blocks.h -- the blocks of steps at whose borders series of one model may part and meet (shared.c). They are the same
 * for every series of a size. In KS_MIXED a series alone is looked at where some of these blocks begin, too, so that it
 * takes the form that it takes among others. */
#ifndef KS_BLOCKS_H
#define KS_BLOCKS_H

#include "smooth_plan.h"

/** The number of short blocks, and their steps together: 1, 1, 2 and 4. All series start in the array form, in which
 *  there is no leader, and should not stay alone for long afterwards. */
enum { KS_SHORT_BLOCKS = 4, KS_LEAD_IN = 1 << (KS_SHORT_BLOCKS - 1) };

/** Return the steps of a later block. What the leader leaves of them to the others should stay in a near cache. */
static inline int64_t ks_block_length(const ks_smooth_plan *plan)
{
    const int64_t n = plan->nx, m = plan->ny;
    const int64_t bytes = (2 * n * n + m * (n + m)) * (int64_t)plan->kernels->number_bytes;
    const int64_t length = 32768 / bytes;
    return length > 64 ? 64 : length < KS_LEAD_IN ? KS_LEAD_IN : length;
}

/** Return the steps between two looks in KS_MIXED: so many blocks that a look costs little. */
static inline int64_t ks_look_length(const ks_smooth_plan *plan)
{
    const int64_t length = ks_block_length(plan), blocks = plan->T / 64 / length;
    return length * (blocks > 8 ? 8 : blocks < 1 ? 1 : blocks);
}

/** Return the first step of block i, or T. */
static inline int64_t ks_block_start(int64_t length, int64_t T, int64_t i)
{
    const int64_t k = i == 0                 ? 0
                      : i <= KS_SHORT_BLOCKS ? (int64_t)1 << (i - 1)
                                             : KS_LEAD_IN + (i - KS_SHORT_BLOCKS) * length;
    return k < T ? k : T;
}

/** Return the first step of the next block that begins after step k, or T. ks_block_starts() returns whether one begins
 *  at k. */
static inline int64_t ks_block_end(int64_t length, int64_t T, int64_t k)
{
    int64_t end = 1;
    if (k >= KS_LEAD_IN) end = k + length - (k - KS_LEAD_IN) % length;
    else
        while (end <= k) end *= 2;
    return end < T ? end : T;
}

static inline int ks_block_starts(int64_t length, int64_t k)
{
    return k >= KS_LEAD_IN ? (k - KS_LEAD_IN) % length == 0 : (k & (k - 1)) == 0;
}

#endif
