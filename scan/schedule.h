/* schedule.h -- a scan as data: building and reversing the rounds of <kalscan/scan_rounds.h>. */
#ifndef KS_SCHEDULE_H
#define KS_SCHEDULE_H

#include <stdint.h>
#include "kalscan/scan_rounds.h"

typedef struct ks_schedule {
    int64_t length[KS_BUFFERS]; /**< slots of each buffer                                   */
    int64_t rounds;
    ks_round *round;            /**< not owned; NULL while a planner only counts its rounds */
} ks_schedule;

/** Return the number of lanes of all parts of a round. */
int64_t ks_round_lanes(const ks_round *round);

/** Add a part to a round. A part without lanes or with an empty chain is ignored. */
void ks_round_add(ks_round *round, ks_part_kind kind, int64_t lanes, int64_t chain, ks_slots dst,
                  ks_slots lhs, ks_slots rhs);

/** Append a round to a schedule. A round without parts is ignored. */
void ks_schedule_add(ks_schedule *schedule, const ks_round *round);

/** Turn the schedule of a forward scan into that of a reverse scan. */
void ks_schedule_reverse(ks_schedule *schedule);

/** Make a forward schedule also scan as many slots of KS_WORK in reverse, in the same rounds. The schedule must work in
 *  place and have at most one part in each round. */
void ks_schedule_both_ways(ks_schedule *schedule);

/** Return rounds, combines and span, saturating at INT64_MAX; chunks is 0. Combines inside absorb and re-run belong to
 *  the operator and are not counted. */
ks_scan_stats ks_schedule_stats(const ks_schedule *schedule);

#endif
