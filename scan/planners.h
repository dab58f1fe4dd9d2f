/* planners.h -- pure functions from an algorithm and a length to the rounds of a forward scan.
 *
 * Each function appends rounds to a schedule whose lengths of KS_ELEMENTS and KS_STEPS are set, and increases the
 * length of KS_WORK by what it uses. "Paper" is Sarkka & Garcia-Fernandez, "On the performance of prefix-sum parallel
 * Kalman filters and smoothers on GPUs", arXiv:2511.10363, Sec. II. Slots are numbered from 0: the paper's a_k is slot
 * k - 1. */
#ifndef KS_PLANNERS_H
#define KS_PLANNERS_H

#include "schedule.h"

/** What a planner scans: every stride-th slot of a buffer. */
typedef struct ks_array {
    ks_buffer buffer;
    int64_t base, stride, length;
} ks_array;

/** Return the slots of a part: lane l at chain position c is element index + l * lane + c * chain. */
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

/** Add `length` slots to KS_WORK and return them. */
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

/** How a length is cut: all chunks have `size` steps except the last one, which has `last`. */
typedef struct ks_chunks {
    int64_t count, size, last;
} ks_chunks;

/** Cut a length into about `wanted` chunks; 0: about sqrt(length), at most 256. That many keep 64 workers evenly busy,
 *  and the scan of the aggregates stays small compared to the work inside the chunks. */
ks_chunks ks_cut_chunks(int64_t length, int64_t wanted);

/** For elements that are all stored: chunks are scanned in place, then joined. */
void ks_plan_chunked(ks_schedule *schedule, const ks_array *a, ks_chunks chunks);

/** For an operator that reduces and re-runs the chunks; `a` holds the aggregates. */
void ks_plan_chunked_outside(ks_schedule *schedule, const ks_array *a, ks_chunks chunks);

#endif
