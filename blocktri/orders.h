/* orders.h -- an elimination order as data.
 *
 * The blocks form a path; eliminating one links its two neighbours. Every order here is a list of
 * levels. A level is a path of `nodes` blocks with separators at regular positions. The blocks
 * between two separators are a lane. Blocks of a lane are eliminated one after the other, all lanes
 * at once. The separators are the path of the next level. The last level has no separators.
 * Positions are indices in a level, blocks are indices in the matrix:
 *
 *     block of a position      min(offset + position * stride, N - 1)
 *     position of separator q  min(first + q * period, nodes - 1)
 *     lane q                   the positions between separators q - 1 and q
 *
 * A lane is eliminated upwards, from its anchor (the separator below it) to its target (the one
 * above). If it has an anchor, every block of it gets a coupling with the anchor as fill. The upper
 * lane of a twisted order runs downwards to its target and has no anchor. */
#ifndef KS_BT_ORDERS_H
#define KS_BT_ORDERS_H

#include <stdint.h>
#include "kalscan/blocktri.h"

typedef struct ks_bt_level {
    int64_t nodes;          /* blocks in this level's path                              */
    int64_t offset, stride; /* position to block                                        */
    int64_t first, period;  /* separators                                               */
    int64_t separators;     /* how many; the nodes of the next level                    */
    int64_t lanes;          /* separators + 1, or separators if the last would be empty */
    int64_t edges;          /* fill index of the level's couplings; unused in level 0   */
    int64_t fill;           /* fill index of the anchor couplings of its lanes          */
    int mirrored;           /* lane 1 runs downwards                                    */
} ks_bt_level;

/** Most levels of a path with int64_t blocks. */
enum { KS_BT_LEVELS = 66 };

typedef struct ks_bt_schedule {
    int64_t N;
    ks_blocktri_order order; /* never auto                                               */
    int levels;
    int64_t edge_blocks;     /* fill blocks that are couplings of levels 1, 2, ...       */
    int64_t fill_blocks;     /* all fill blocks; the couplings come first                */
    int64_t widest;          /* lanes of the widest level                                */
    ks_bt_level level[KS_BT_LEVELS];
} ks_bt_schedule;

/** Positions; -1: none. */
typedef struct ks_bt_lane {
    int64_t begin, count, anchor, target;
    int64_t fill; /* fill index of the anchor coupling of its second block */
    int down;
} ks_bt_lane;

/** Fill in a schedule. `order` is not auto; options hold their final values. */
void ks_bt_schedule_make(ks_bt_schedule *schedule, int64_t N, ks_blocktri_order order,
                         const ks_blocktri_options *options);

/** Lane `number` of a level. A lane between neighbouring separators has no blocks. */
ks_bt_lane ks_bt_lane_of(const ks_bt_level *level, int64_t number);

/** Return the number of blocks `other` of each segment of a partition but the first. The first one has the
 *  rest, N - (segments - 1) (other + 1): there is one pivot before each of the others. */
int64_t ks_bt_partition_other(int64_t N, int64_t segments);

static inline int64_t ks_bt_separator(const ks_bt_level *level, int64_t number)
{
    const int64_t at = level->first + number * level->period;
    return at < level->nodes - 1 ? at : level->nodes - 1;
}

static inline int64_t ks_bt_block(const ks_bt_schedule *s, const ks_bt_level *level,
                                  int64_t position)
{
    const int64_t at = level->offset + position * level->stride;
    return at < s->N - 1 ? at : s->N - 1;
}

#endif
