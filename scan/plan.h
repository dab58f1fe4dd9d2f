/* plan.h -- the inside of a scan plan, for the library and its tests. */
#ifndef KS_PLAN_H
#define KS_PLAN_H

#include "machine.h"

struct ks_scan_plan {
    ks_context *context;
    int threads;
    ks_scan_algorithm algorithm;
    ks_direction direction;
    ks_schedule inside;  /**< all elements stored                                            */
    ks_schedule outside; /**< KS_SCAN_CHUNKED with an operator that absorbs; otherwise empty */
    ks_scan_stats stats; /**< of `inside`                                                    */
};

/** The schedule that a run with this operator executes; borrowed from the plan. */
const ks_schedule *ks_scan_plan_schedule(const ks_scan_plan *plan, const ks_operator *op);

/** Let a forward plan of Ladner and Fischer scan as many elements of KS_WORK in reverse beside its own: it keeps none
 *  there. */
void ks_scan_plan_both_ways(ks_scan_plan *plan);

/** ks_scan_run() on a machine of the caller's choice; NULL: serial for one worker, else threads. */
ks_status ks_scan_run_on(const ks_machine *machine, const ks_scan_plan *plan,
                         const ks_operator *op, void *elements, void *work);

#endif
