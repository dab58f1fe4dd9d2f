/* schedule.c -- building and reversing schedules, and their statistics. */
#include "schedule.h"

int64_t ks_round_lanes(const ks_round *round)
{
    int64_t lanes = 0;
    for (int p = 0; p < round->parts; ++p) lanes += round->part[p].lanes;
    return lanes;
}

void ks_round_add(ks_round *round, ks_part_kind kind, int64_t lanes, int64_t chain, ks_slots dst,
                  ks_slots lhs, ks_slots rhs)
{
    if (lanes <= 0 || chain <= 0) return;
    ks_part *part = &round->part[round->parts++];
    part->kind = kind;
    part->lanes = lanes;
    part->chain = chain;
    part->dst = dst;
    part->lhs = lhs;
    part->rhs = rhs;
}

void ks_schedule_add(ks_schedule *schedule, const ks_round *round)
{
    if (round->parts == 0) return;
    if (schedule->round) schedule->round[schedule->rounds] = *round;
    ++schedule->rounds;
}

static void mirror(const ks_schedule *schedule, const ks_part *part, ks_slots *s)
{
    if (s->buffer == KS_NO_BUFFER) return;
    const int64_t length = schedule->length[s->buffer];
    s->lane = -s->lane;
    if (s->buffer == KS_STEPS) { /* named by its first step in both directions */
        s->base = length - s->base - part->chain;
    } else {
        s->base = length - 1 - s->base;
        s->chain = -s->chain;
    }
}

/* A suffix scan is a prefix scan of the mirrored array with swapped operands. Only this function knows that: operators
 * and machines always see the earlier operand on the left. */
static void reverse_part(const ks_schedule *schedule, ks_part *part)
{
    mirror(schedule, part, &part->dst);
    mirror(schedule, part, &part->lhs);
    mirror(schedule, part, &part->rhs);
    if (part->kind == KS_PART_COMBINE || part->kind == KS_PART_DOWN_SWEEP) {
        const ks_slots lhs = part->lhs;
        part->lhs = part->rhs;
        part->rhs = lhs;
    }
}

void ks_schedule_reverse(ks_schedule *schedule)
{
    for (int64_t r = 0; r < schedule->rounds; ++r)
        for (int p = 0; p < schedule->round[r].parts; ++p) reverse_part(schedule, &schedule->round[r].part[p]);
}

void ks_schedule_both_ways(ks_schedule *schedule)
{
    schedule->length[KS_WORK] = schedule->length[KS_ELEMENTS];
    for (int64_t r = 0; r < schedule->rounds; ++r) {
        ks_round *const round = &schedule->round[r];
        ks_part other = round->part[0];
        other.dst.buffer = other.lhs.buffer = other.rhs.buffer = KS_WORK;
        reverse_part(schedule, &other);
        round->part[round->parts++] = other;
    }
}

/* Return a + b * c for non-negative numbers, saturating at INT64_MAX. */
static int64_t add_product(int64_t a, int64_t b, int64_t c)
{
    if (c != 0 && b > (INT64_MAX - a) / c) return INT64_MAX;
    return a + b * c;
}

ks_scan_stats ks_schedule_stats(const ks_schedule *schedule)
{
    ks_scan_stats stats = {schedule->rounds, 0, 0, 0};
    for (int64_t r = 0; r < schedule->rounds; ++r) {
        const ks_round *round = &schedule->round[r];
        int64_t longest = 0;
        for (int p = 0; p < round->parts; ++p) {
            const ks_part *part = &round->part[p];
            if (part->kind != KS_PART_COMBINE && part->kind != KS_PART_DOWN_SWEEP) continue;
            stats.combines = add_product(stats.combines, part->lanes, part->chain);
            if (part->chain > longest) longest = part->chain;
        }
        stats.span = add_product(stats.span, longest, 1);
    }
    return stats;
}
