/* kalscan/scan_rounds.h -- the schedule of a scan as data, for programs that execute, translate or count it.
 *
 * A plan (<kalscan/scan.h>) is a list of rounds, with a barrier after each. A round has a few parts that run at the
 * same time. A part has independent lanes of one kind; a lane is a chain of dependent operations. The slots that a lane
 * reads and writes are affine functions of lane and chain position. So a schedule contains integers only: it knows
 * neither element type nor memory. The number of rounds is O(log length).
 *
 * Example: count the combines of a plan; its down-sweeps come on top.
 *
 *     int64_t combines(const ks_scan_plan *plan)
 *     {
 *         int64_t count, sum = 0;
 *         const ks_round *round = ks_scan_plan_rounds(plan, &count);
 *         for (int64_t r = 0; r < count; ++r)
 *             for (int p = 0; p < round[r].parts; ++p)
 *                 if (round[r].part[p].kind == KS_PART_COMBINE) sum += round[r].part[p].lanes * round[r].part[p].chain;
 *         return sum;
 *     }
 *
 * Source: SF Sec. II; see <kalscan/scan.h>. */
#ifndef KALSCAN_SCAN_ROUNDS_H
#define KALSCAN_SCAN_ROUNDS_H

#include <stdint.h>
#include "kalscan/export.h"
#include "kalscan/scan.h"

/* ks_slot() is for host and device code. */
#ifdef __CUDACC__
#  define KS_SLOT static inline __host__ __device__
#else
#  define KS_SLOT static inline
#endif

KS_BEGIN_DECLS

/** What the lanes of a part do. x[s] is the element in slot s; e is the neutral element. Copies, neutral elements and
 *  down-sweeps have chains of length 1. Absorbing and re-running occur only in runs with an operator that has absorb
 *  and rerun, not in ks_scan_plan_rounds(). */
typedef enum ks_part_kind {
    KS_PART_COMBINE = 0, /**< x[dst] = x[lhs] (+) x[rhs], for each chain position in order */
    KS_PART_COPY,        /**< x[dst] = x[lhs] */
    KS_PART_NEUTRAL,     /**< x[dst] = e */
    KS_PART_DOWN_SWEEP,  /**< dst is lhs or rhs: x[dst] = x[lhs] (+) x[rhs]; the other one takes the old x[dst] */
    KS_PART_ABSORB,      /**< x[dst] = product of `chain` steps, the first of them lhs */
    KS_PART_RERUN        /**< results of `chain` steps, the first of them rhs, from the carry x[lhs], if any */
} ks_part_kind;

/** Where slots are. */
typedef enum ks_buffer {
    KS_ELEMENTS = 0, /**< the caller's array */
    KS_WORK = 1,     /**< elements in the workspace of a run */
    KS_STEPS = 2,    /**< numbers of steps: no memory */
    KS_NO_BUFFER = 3 /**< no operand */
} ks_buffer;
#define KS_BUFFERS 3

/** Slots of an operand: base + l * lane + c * chain for lane l at chain position c. */
typedef struct ks_slots {
    ks_buffer buffer;
    int64_t base, lane, chain;
} ks_slots;

/** A part: `lanes` lanes of `chain` operations each. */
typedef struct ks_part {
    ks_part_kind kind;
    int64_t lanes, chain;
    ks_slots dst, lhs, rhs;
} ks_part;

/** Most parts of a round. */
#define KS_PARTS 3

/** Parts that run at the same time. No lane writes a slot that another lane of the round reads or writes. */
typedef struct ks_round {
    int parts;
    ks_part part[KS_PARTS];
} ks_round;

/** Return the slot of a lane at a chain position. */
KS_SLOT int64_t ks_slot(const ks_slots *s, int64_t lane, int64_t position)
{
    return s->base + lane * s->lane + position * s->chain;
}

/** What a device is given to run: one round, or all of them in one cooperative launch. */
typedef struct ks_scan_task {
    ks_round round;
    void *buffer[2];        /**< first bytes of KS_ELEMENTS and KS_WORK */
    const ks_round *rounds; /**< all rounds, in device memory, instead of `round`; NULL: `round` */
    int64_t count;          /**< number of `rounds` */
} ks_scan_task;

/** Return the rounds of a plan for stored elements, and their number in *count, which must not be NULL. They belong to
 *  the plan. NULL and 0 if plan is NULL. */
KS_API const ks_round *ks_scan_plan_rounds(const ks_scan_plan *plan, int64_t *count);

/** Return the number of elements that these rounds keep in KS_WORK; 0 if plan is NULL. */
KS_API int64_t ks_scan_plan_spare(const ks_scan_plan *plan);

KS_END_DECLS
#endif
