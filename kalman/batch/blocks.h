/* blocks.h -- where series of one model may part and meet (shared.c): the first steps of blocks, which are the same for
 * every series of a size. A series alone in KS_MIXED is looked at where some of them start, too, so that it is in the form
 * that it has among others. */
#ifndef KS_BLOCKS_H
#define KS_BLOCKS_H

#include "smooth_plan.h"

/** Blocks that are short, and their steps: 1, 1, 2 and 4. All series start in the array form, in which nobody leads, and
 *  should not stay alone for long after it. */
enum { KS_SHORT_BLOCKS = 4, KS_LEAD_IN = 1 << (KS_SHORT_BLOCKS - 1) };

/** Steps of a block behind those: what the leader leaves of them to the others should stay in a near cache. */
static inline int64_t ks_block_length(const ks_smooth_plan *plan)
{
    const int64_t n = plan->nx, m = plan->ny;
    const int64_t bytes = (2 * n * n + m * (n + m)) * (int64_t)plan->kernels->number_bytes;
    const int64_t length = 32768 / bytes;
    return length > 64 ? 64 : length < KS_LEAD_IN ? KS_LEAD_IN : length;
}

/** The same of what is looked at in KS_MIXED: so many of those blocks that a look costs little. */
static inline int64_t ks_look_length(const ks_smooth_plan *plan)
{
    const int64_t length = ks_block_length(plan), blocks = plan->T / 64 / length;
    return length * (blocks > 8 ? 8 : blocks < 1 ? 1 : blocks);
}

/** The first step of block i, or T. */
static inline int64_t ks_block_start(int64_t length, int64_t T, int64_t i)
{
    const int64_t k = i == 0                 ? 0
                      : i <= KS_SHORT_BLOCKS ? (int64_t)1 << (i - 1)
                                             : KS_LEAD_IN + (i - KS_SHORT_BLOCKS) * length;
    return k < T ? k : T;
}

/** The first step, or T, of the block that comes behind step k, and whether one starts at k. */
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
