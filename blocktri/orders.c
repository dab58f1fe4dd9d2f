/* orders.c -- the elimination orders: pure functions of N and the options. */
#include "orders.h"

/* Append a level whose path is the separators of the level before, or all blocks. */
static ks_bt_level *next_level(ks_bt_schedule *s)
{
    ks_bt_level *level = &s->level[s->levels];
    const ks_bt_level empty = { 0 };
    *level = empty;
    if (s->levels == 0) {
        level->nodes = s->N;
        level->stride = 1;
    } else {
        const ks_bt_level *below = level - 1;
        level->nodes = below->separators;
        level->offset = below->offset + below->stride * below->first;
        /* The period of a single separator has no meaning and may be larger than N. */
        level->stride = below->separators > 1 ? below->stride * below->period : 1;
    }
    ++s->levels;
    return level;
}

static void separate(ks_bt_level *level, int64_t first, int64_t period, int64_t separators)
{
    level->first = first;
    level->period = period;
    level->separators = separators;
    const int64_t last = separators ? ks_bt_separator(level, separators - 1) : -1;
    level->lanes = separators + (last < level->nodes - 1);
}

/* The last level: one lane with all remaining blocks. */
static void one_after_the_other(ks_bt_schedule *s)
{
    ks_bt_level *level = next_level(s);
    separate(level, level->nodes, 1, 0);
}

static void twisted(ks_bt_schedule *s)
{
    ks_bt_level *level = next_level(s);
    separate(level, s->N / 2, s->N, 1);
    level->mirrored = 1;
    one_after_the_other(s);
}

/* Flops for one block in thirds of n^3. First segment: potrf + trsm + syrk. Other segments carry the
 * coupling with their anchor along: potrf + 2 trsm + 2 syrk + gemm. */
enum { FIRST_COST = 7, OTHER_COST = 19 };

static int64_t slowest(int64_t N, int64_t segments, int64_t other)
{
    const int64_t first = N - (segments - 1) * (other + 1);
    if (other < 1 || first < 1) return INT64_MAX;
    /* In double: the products may overflow 64 bits. */
    const double a = (double)first * FIRST_COST, b = (double)other * OTHER_COST;
    const double most = a > b ? a : b;
    return most < 9e18 ? (int64_t)most : INT64_MAX - 1;
}

int64_t ks_bt_partition_other(int64_t N, int64_t segments)
{
    /* Solve first * 7 = other * 19 and first + (segments - 1) (other + 1) = N, and try both roundings. */
    const double ideal = (double)(N - (segments - 1)) * FIRST_COST /
                         ((double)OTHER_COST + (double)(segments - 1) * FIRST_COST);
    int64_t down = (int64_t)ideal;
    if (down < 1) down = 1;
    return slowest(N, segments, down + 1) < slowest(N, segments, down) ? down + 1 : down;
}

static void partition(ks_bt_schedule *s, int64_t segments)
{
    /* Every segment has at least one block, and every pivot between segments is one block. */
    if (segments > (s->N + 1) / 2) segments = (s->N + 1) / 2;
    if (segments >= 2) {
        const int64_t other = ks_bt_partition_other(s->N, segments);
        ks_bt_level *level = next_level(s);
        separate(level, s->N - (segments - 1) * (other + 1), other + 1, segments - 1);
    }
    one_after_the_other(s);
}

static void nested_dissection(ks_bt_schedule *s)
{
    for (int64_t nodes = s->N; nodes > 1; nodes /= 2)
        separate(next_level(s), 1, 2, nodes / 2);
    one_after_the_other(s);
}

static void recursive_schur(ks_bt_schedule *s, int64_t spacing, int64_t crossover)
{
    int64_t nodes = s->N;
    while (nodes > crossover) {
        ks_bt_level *level = next_level(s);
        /* Separators at both ends: positions 0, spacing, 2 spacing, ... and the last one. */
        separate(level, 0, spacing, (nodes - 2) / spacing + 2);
        nodes = level->separators;
    }
    one_after_the_other(s);
}

/* Fill indices: first the couplings of all levels above 0, then those with anchors. */
static void place_fill(ks_bt_schedule *s)
{
    int64_t at = 0;
    for (int l = 1; l < s->levels; ++l) {
        s->level[l].edges = at;
        at += s->level[l].nodes - 1;
    }
    s->edge_blocks = at;
    for (int l = 0; l < s->levels; ++l) {
        ks_bt_level *level = &s->level[l];
        level->fill = at;
        if (!level->mirrored && level->lanes > 0) {
            const ks_bt_lane last = ks_bt_lane_of(level, level->lanes - 1);
            if (last.anchor >= 0) at = last.fill + (last.count > 1 ? last.count - 1 : 0);
        }
        if (level->lanes > s->widest) s->widest = level->lanes;
    }
    s->fill_blocks = at;
}

void ks_bt_schedule_make(ks_bt_schedule *s, int64_t N, ks_blocktri_order order,
                         const ks_blocktri_options *options)
{
    s->N = N;
    s->order = order;
    s->levels = 0;
    s->widest = 1;
    switch (order) {
    case KS_BLOCKTRI_TWISTED: twisted(s); break;
    case KS_BLOCKTRI_PARTITION: partition(s, options->segments); break;
    case KS_BLOCKTRI_NESTED_DISSECTION: nested_dissection(s); break;
    case KS_BLOCKTRI_RECURSIVE_SCHUR:
        recursive_schur(s, options->separator_spacing, options->crossover);
        break;
    default: one_after_the_other(s); break;
    }
    place_fill(s);
}

ks_bt_lane ks_bt_lane_of(const ks_bt_level *level, int64_t number)
{
    ks_bt_lane lane;
    lane.anchor = number > 0 ? ks_bt_separator(level, number - 1) : -1;
    lane.target = number < level->separators ? ks_bt_separator(level, number) : -1;
    lane.begin = lane.anchor + 1;
    lane.count = (lane.target >= 0 ? lane.target : level->nodes) - lane.begin;
    lane.fill = level->fill + (number > 0 ? (number - 1) * (level->period - 2) : 0);
    lane.down = level->mirrored && number == 1;
    if (lane.down) {
        lane.target = lane.anchor;
        lane.anchor = -1;
    }
    return lane;
}
