/* machine_count.h -- schedules on simulated parallel hardware, in floating-point operations.
 *
 * P simulated threads take the lanes of a round as on a GPU: lane l goes to thread l mod P, lanes
 * numbered through the parts of the round. A round ends when its busiest thread is done. Copies and
 * neutral elements cost no operations, but a round of them is a parallel step like any other.
 *
 * ks_count_execute() runs every lane with counting arithmetic. ks_count_schedule() gives the same
 * numbers without running them: the lanes of a round fall into few classes of equal cost, and one
 * executed operation of each class tells what all of them cost. Its time depends on the number of
 * rounds, not of lanes, so that series of any length are counted at once. */
#ifndef KS_MACHINE_COUNT_H
#define KS_MACHINE_COUNT_H

#include "flops.h"
#include "machine.h"

/** What has been counted so far. Zero-initialise; every function below adds to it. */
typedef struct ks_count {
    ks_flops work;     /**< of all threads                                             */
    int64_t time;      /**< sum over parallel steps of the busiest thread's operations */
    int64_t critical;  /**< sum over parallel steps of the most expensive lane: the    */
                       /**< time on as many threads as there are lanes                 */
    int64_t span;      /**< parallel steps                                             */
    int64_t combines;  /**< applications of the operator                               */
} ks_count;

/** Lanes that cost the same. */
typedef struct ks_lane_class {
    int64_t lanes;
    ks_flops each;
} ks_lane_class;

/** What the operations of a schedule cost. */
typedef struct ks_operation_costs {
    ks_flops combine; /**< one application of the operator                                     */
    ks_flops neutral; /**< making a neutral element                                            */
    void *user;
    /** Absorbing steps first .. first + count - 1, and running them again, from a carry or from
     *  none. Return non-zero where 64 bits do not hold the counts. NULL where no schedule asks. */
    int (*absorb)(void *user, int64_t first, int64_t count, ks_flops *flops);
    int (*rerun)(void *user, int64_t first, int64_t count, ks_flops *flops);
} ks_operation_costs;

/** One parallel step whose lanes, numbered from 0, belong to `classes` classes in this order.
 *  threads >= 1. Errors: KS_EINVAL; KS_ENOMEM where a count leaves 64 bits. */
KS_MUST_CHECK ks_status ks_count_step(ks_count *count, const ks_lane_class *lane_class, int classes,
                                      int64_t threads);

/** All rounds of a schedule. Lanes that absorb or re-run may have any costs, but at most
 *  KS_LANE_CLASSES runs of neighbours of the same cost in a round.
 *  Errors: KS_EINVAL; KS_ENOMEM where a count leaves 64 bits. */
KS_MUST_CHECK ks_status ks_count_schedule(ks_count *count, const ks_schedule *schedule,
                                          const ks_operation_costs *costs, int64_t threads);
#define KS_LANE_CLASSES 64

/** The same by executing every lane on the calling thread; `take` tells what has been counted since
 *  the last call. Errors: those above; KS_ENOTPD when the operator reports a failure. */
KS_MUST_CHECK ks_status ks_count_execute(ks_count *count, const ks_schedule *schedule,
                                         const ks_binding *binding, ks_flops (*take)(void),
                                         int64_t threads);

#endif
