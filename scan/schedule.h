/* schedule.h -- a scan as data: integers only, no pointers into elements, no element type.
 *
 * A schedule is a list of rounds with a barrier after each. A round is a few parts that run
 * together; a part is a number of independent lanes of the same kind, each a chain of dependent
 * combines, with slots that are affine in lane and chain position. So a machine walks it with
 * integer arithmetic, on threads, on a device, or merely counting. The rounds are O(log length) in
 * number, whatever the length. */
#ifndef KS_SCHEDULE_H
#define KS_SCHEDULE_H

#include <stdint.h>
#include "kalscan/scan.h"

/** What the lanes of a part do. x[s] is the element in slot s. */
typedef enum ks_part_kind {
    KS_PART_COMBINE = 0, /**< x[dst] = x[lhs] (+) x[rhs], for each chain position in order       */
    KS_PART_COPY,        /**< x[dst] = x[lhs]                                                    */
    KS_PART_NEUTRAL,     /**< x[dst] = e                                                         */
    KS_PART_DOWN_SWEEP,  /**< dst is one operand; the other one, at the same time as             */
                         /**< x[dst] = x[lhs] (+) x[rhs], takes the old x[dst]                   */
    KS_PART_ABSORB,      /**< x[dst] = product of `chain` steps, the first of them in lhs        */
    KS_PART_RERUN        /**< make the results of `chain` steps, the first of them in rhs, from  */
                         /**< the carry x[lhs], or from none where lhs is KS_NO_BUFFER           */
} ks_part_kind;

/** Where slots lie. Slots of KS_STEPS are numbers of steps and have no memory. */
typedef enum ks_buffer {
    KS_ELEMENTS = 0, /**< the caller's array                  */
    KS_WORK = 1,     /**< elements in the workspace of a run  */
    KS_STEPS = 2,
    KS_NO_BUFFER = 3
} ks_buffer;
#define KS_BUFFERS 3

/** Slot of lane l at chain position c: base + l * lane + c * chain. */
typedef struct ks_slots {
    ks_buffer buffer;
    int64_t base, lane, chain;
} ks_slots;

typedef struct ks_part {
    ks_part_kind kind;
    int64_t lanes, chain;
    ks_slots dst, lhs, rhs;
} ks_part;

#define KS_PARTS 3

/** Parts that run together: no slot written by one lane is read or written by another. */
typedef struct ks_round {
    int parts;
    ks_part part[KS_PARTS];
} ks_round;

typedef struct ks_schedule {
    int64_t length[KS_BUFFERS]; /**< slots of each buffer                                   */
    int64_t rounds;
    ks_round *round;            /**< not owned; NULL while a planner only counts its rounds */
} ks_schedule;

static inline int64_t ks_slot(const ks_slots *s, int64_t lane, int64_t position)
{
    return s->base + lane * s->lane + position * s->chain;
}

/** All lanes of a round. */
int64_t ks_round_lanes(const ks_round *round);

/** Add a part; one without lanes or with an empty chain is left out. */
void ks_round_add(ks_round *round, ks_part_kind kind, int64_t lanes, int64_t chain, ks_slots dst,
                  ks_slots lhs, ks_slots rhs);

/** Append a round; one without parts is left out. */
void ks_schedule_add(ks_schedule *schedule, const ks_round *round);

/** Turn a forward schedule into the reverse one. */
void ks_schedule_reverse(ks_schedule *schedule);

/** Rounds, combines and span, saturating at INT64_MAX; chunks 0. The work inside absorb and re-run
 *  is the operator's and is not counted. */
ks_scan_stats ks_schedule_stats(const ks_schedule *schedule);

#endif
