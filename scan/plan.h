/* plan.h -- the inside of a scan plan, for the library and its tests. */
#ifndef KS_PLAN_H
#define KS_PLAN_H

#include "machine.h"

struct ks_scan_plan {
    ks_context *context;
    int threads;
    ks_scan_algorithm algorithm;
    ks_direction direction;
    ks_schedule inside;  /**< for elements that are all stored                               */
    ks_schedule outside; /**< KS_SCAN_CHUNKED with an operator that absorbs; otherwise empty */
    ks_scan_stats stats; /**< of `inside`                                                    */
};

/** Return the schedule that a run with this operator executes. The plan owns it. */
const ks_schedule *ks_scan_plan_schedule(const ks_scan_plan *plan, const ks_operator *op);

/** Make a forward Ladner-Fischer plan also scan as many elements of KS_WORK in reverse, at the same time. Such a plan
 *  does not use KS_WORK itself. */
void ks_scan_plan_both_ways(ks_scan_plan *plan);

/** ks_scan_run() on a given machine. NULL: serial for one worker, else threads. */
ks_status ks_scan_run_on(const ks_machine *machine, const ks_scan_plan *plan,
                         const ks_operator *op, void *elements, void *work);

#endif
