/* kalscan/scan_rounds.h -- a scan as data: integers only, no pointers into elements, no element type.
 *
 * A plan is a list of rounds with a barrier after each. A round is a few parts that run together;
 * a part is a number of independent lanes of the same kind, each a chain of dependent combines,
 * with slots that are affine in lane and chain position. So whatever walks it does so with integer
 * arithmetic: threads, a device (<kalscan/scan.cuh>), or a program that merely counts. The rounds
 * are O(log length) in number, whatever the length. */
#ifndef KALSCAN_SCAN_ROUNDS_H
#define KALSCAN_SCAN_ROUNDS_H

#include <stdint.h>
#include "kalscan/export.h"
#include "kalscan/scan.h"

/* Device code calls this header's one function too. */
#ifdef __CUDACC__
#  define KS_SLOT static inline __host__ __device__
#else
#  define KS_SLOT static inline
#endif

KS_BEGIN_DECLS

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

KS_SLOT int64_t ks_slot(const ks_slots *s, int64_t lane, int64_t position)
{
    return s->base + lane * s->lane + position * s->chain;
}

/** A round and where its buffers are: what a device is given to run it. */
typedef struct ks_scan_task {
    ks_round round;
    void *buffer[2]; /**< first bytes of KS_ELEMENTS and KS_WORK */
    /** Instead of `round`, where not NULL: so many, in the device's memory, for one cooperative launch. */
    const ks_round *rounds;
    int64_t count;
} ks_scan_task;

/** The rounds of a plan for elements that are all stored, `*count` of them. They belong to the
 *  plan. NULL and 0 where the plan is NULL. */
KS_API const ks_round *ks_scan_plan_rounds(const ks_scan_plan *plan, int64_t *count);

/** How many elements the rounds keep in KS_WORK. 0 if plan is NULL. */
KS_API int64_t ks_scan_plan_spare(const ks_scan_plan *plan);

KS_END_DECLS
#endif
