/* planners.h -- pure functions from an algorithm and a length to rounds, forward.
 *
 * Each appends rounds to a schedule whose lengths of KS_ELEMENTS and KS_STEPS are set, and raises
 * the length of KS_WORK to what it uses. Numbering follows Sarkka & Garcia-Fernandez, "On the
 * performance of prefix-sum parallel Kalman filters and smoothers on GPUs", Sec. II, but from 0:
 * their a_k is array slot k - 1. */
#ifndef KS_PLANNERS_H
#define KS_PLANNERS_H

#include "schedule.h"

/** Every stride-th slot of a buffer: what a planner scans. */
typedef struct ks_array {
    ks_buffer buffer;
    int64_t base, stride, length;
} ks_array;

/** Slots of a part: lane l at chain position c is element index + l * lane + c * chain. */
static inline ks_slots ks_array_slots(const ks_array *a, int64_t index, int64_t lane,
                                      int64_t chain)
{
    ks_slots s = {a->buffer, a->base + a->stride * index, a->stride * lane, a->stride * chain};
    return s;
}

static inline ks_slots ks_no_slots(void)
{
    ks_slots s = {KS_NO_BUFFER, 0, 0, 0};
    return s;
}

/** `length` new slots of KS_WORK. */
static inline ks_array ks_work_array(ks_schedule *schedule, int64_t length)
{
    ks_array a = {KS_WORK, schedule->length[KS_WORK], 1, length};
    schedule->length[KS_WORK] += length;
    return a;
}

void ks_plan_hillis_steele(ks_schedule *schedule, const ks_array *a);
void ks_plan_blelloch(ks_schedule *schedule, const ks_array *a);
void ks_plan_ladner_fischer(ks_schedule *schedule, const ks_array *a);
void ks_plan_sengupta(ks_schedule *schedule, const ks_array *a, int64_t threshold);

/** How a length is cut: all chunks hold `size` steps but the last, which holds `last`. */
typedef struct ks_chunks {
    int64_t count, size, last;
} ks_chunks;

/** wanted == 0: about sqrt(length) chunks, at most 256. That keeps 64 workers evenly busy, and the
 *  scan of the aggregates small beside the work inside the chunks. */
ks_chunks ks_cut_chunks(int64_t length, int64_t wanted);

/** All elements stored: chunks are scanned in place, then joined. */
void ks_plan_chunked(ks_schedule *schedule, const ks_array *a, ks_chunks chunks);

/** The operator reduces and re-runs the chunks; `a` holds the aggregates. */
void ks_plan_chunked_outside(ks_schedule *schedule, const ks_array *a, ks_chunks chunks);

#endif
