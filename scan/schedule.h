/* schedule.h -- a scan as data: building and mirroring the rounds of <kalscan/scan_rounds.h>. */
#ifndef KS_SCHEDULE_H
#define KS_SCHEDULE_H

#include <stdint.h>
#include "kalscan/scan_rounds.h"

typedef struct ks_schedule {
    int64_t length[KS_BUFFERS]; /**< slots of each buffer                                   */
    int64_t rounds;
    ks_round *round;            /**< not owned; NULL while a planner only counts its rounds */
} ks_schedule;

/** All lanes of a round. */
int64_t ks_round_lanes(const ks_round *round);

/** Add a part; one without lanes or with an empty chain is left out. */
void ks_round_add(ks_round *round, ks_part_kind kind, int64_t lanes, int64_t chain, ks_slots dst,
                  ks_slots lhs, ks_slots rhs);

/** Append a round; one without parts is left out. */
void ks_schedule_add(ks_schedule *schedule, const ks_round *round);

/** Turn a forward schedule into the reverse one. */
void ks_schedule_reverse(ks_schedule *schedule);

/** Let a forward schedule that works in place, by at most one part a round, scan as many slots of KS_WORK in reverse
 *  beside its own. */
void ks_schedule_both_ways(ks_schedule *schedule);

/** Rounds, combines and span, saturating at INT64_MAX; chunks 0. The work inside absorb and re-run
 *  is the operator's and is not counted. */
ks_scan_stats ks_schedule_stats(const ks_schedule *schedule);

#endif
