/* map_method.h -- one run of the MAP route, shared by its driver and by what puts its results out. */
#ifndef KS_MAP_METHOD_H
#define KS_MAP_METHOD_H

#include "kalscan/blocktri.h"
#include "map.h"
#include "scan_method.h"

typedef struct ks_map_worker {
    void *memory;
    ks_tally tally;
} ks_map_worker;

/** One run, and the series that is on its way. */
typedef struct ks_map_method {
    ks_plan_run *run;
    const ks_smooth_plan *plan;
    const ks_map_kernels *kernels;
    ks_scan_method rows;      /* for rows of the model in double, see ks_wide_series() */
    ks_map_worker *worker;
    ks_map_system system;
    ks_blocks D, L, x, S, lag;
    void *fill, *solver;      /* the factor's and the solver's memory                  */
    void *z;
    double *own_x, *own_S, *own_lag;
    ks_map_review *chunk;     /* of each                                               */
    int reviewing;
} ks_map_method;

/** Lanes that run_lanes() would take a plan's order in: 1, 2, or 0 where it cannot. */
static inline int ks_map_lanes(const ks_smooth_plan *plan)
{
    const ks_blocktri_order order = ks_blocktri_plan_order(plan->hessian);
    return order == KS_BLOCKTRI_SEQUENTIAL                 ? 1
           : order == KS_BLOCKTRI_TWISTED && plan->T > 1 ? 2
                                                           : 0;
}

/** Workers' memories: one for each lane, too. */
static inline int ks_map_workers(const ks_smooth_plan *plan)
{
    const int lanes = ks_map_lanes(plan);
    return plan->workers > lanes ? plan->workers : lanes;
}

ks_map_review ks_map_nothing_found(void);

/** One pass inwards and one outwards over all steps, see map_chain_text.h. Returns 0, or -1 on a fault
 *  or when the run is canceled. */
int ks_map_run_lanes(ks_map_method *m, ks_map_review *all);

/** Put out what is not made in its place: the other precision, variances, row 0 of the lag-one
 *  covariances, the prior. */
void ks_map_put(ks_map_method *m, int64_t b);

#endif
