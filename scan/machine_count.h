/* machine_count.h -- schedules on simulated parallel hardware, in floating-point operations.
 *
 * P simulated threads take the lanes of a round as on a GPU: lane l runs on thread l mod P. Lanes are numbered across
 * the parts of the round. A round ends when its busiest thread is done. Copies and neutral elements cost no operations,
 * but a round of them is a parallel step like any other.
 *
 * ks_count_execute() runs every lane with counting arithmetic. ks_count_schedule() returns the same numbers without
 * running the lanes: those of a round fall into few classes of equal cost, and one executed operation of each class
 * gives the cost of all of them. Its time depends on the number of rounds, not of lanes, so series of any length take
 * no time to count. */
#ifndef KS_MACHINE_COUNT_H
#define KS_MACHINE_COUNT_H

#include "flops.h"
#include "machine.h"

/** The counts so far. Initialize with zeros; each function below adds to them. */
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

/** The costs of the operations of a schedule. */
typedef struct ks_operation_costs {
    ks_flops combine; /**< one application of the operator */
    ks_flops neutral; /**< making a neutral element        */
    void *user;
    /** Absorb or re-run steps first .. first + count - 1, with or without a carry. Return non-zero if a count exceeds
     *  64 bits. NULL if no schedule uses them. */
    int (*absorb)(void *user, int64_t first, int64_t count, ks_flops *flops);
    int (*rerun)(void *user, int64_t first, int64_t count, ks_flops *flops);
} ks_operation_costs;

/** Count one parallel step whose lanes, numbered from 0, belong to `classes` classes in this order. threads >= 1.
 *  Errors: KS_EINVAL; KS_ENOMEM if a count exceeds 64 bits. */
KS_MUST_CHECK ks_status ks_count_step(ks_count *count, const ks_lane_class *lane_class, int classes,
                                      int64_t threads);

/** Count all rounds of a schedule. Lanes that absorb or re-run may have any costs, but a round may have at most
 *  KS_LANE_CLASSES runs of adjacent lanes of equal cost. Errors: KS_EINVAL; KS_ENOMEM if a count exceeds 64 bits. */
KS_MUST_CHECK ks_status ks_count_schedule(ks_count *count, const ks_schedule *schedule,
                                          const ks_operation_costs *costs, int64_t threads);
#define KS_LANE_CLASSES 64

/** Count by executing every lane on the calling thread. `take` returns the operations counted since its last call.
 *  Errors: as ks_count_schedule(); KS_ENOTPD if the operator reports a failure. */
KS_MUST_CHECK ks_status ks_count_execute(ks_count *count, const ks_schedule *schedule,
                                         const ks_binding *binding, ks_flops (*take)(void),
                                         int64_t threads);

#endif
