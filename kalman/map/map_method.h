/* map_method.h -- one run of the MAP route, shared by its driver, its lanes and the output of results. */
#ifndef KS_MAP_METHOD_H
#define KS_MAP_METHOD_H

#include "kalscan/blocktri.h"
#include "map.h"
#include "scan_method.h"

typedef struct ks_map_worker {
    void *memory;
    ks_tally tally;
} ks_map_worker;

/** One run, and the series in progress. */
typedef struct ks_map_method {
    ks_plan_run *run;
    const ks_smooth_plan *plan;
    const ks_map_kernels *kernels;
    ks_scan_method rows;      /* for rows of the model in double, see ks_wide_series() */
    ks_map_worker *worker;
    ks_map_system system;
    ks_blocks D, L, x, S, lag;
    void *fill, *solver;      /* memory of factor and solver                           */
    void *z;
    double *own_x, *own_S, *own_lag;
    ks_map_review *chunk;     /* one for each                                          */
    int reviewing;
} ks_map_method;

/** Return the lanes that ks_map_run_lanes() uses for the plan's order: 1, 2, or 0 if it does not support the order. */
static inline int ks_map_lanes(const ks_smooth_plan *plan)
{
    const ks_blocktri_order order = ks_blocktri_plan_order(plan->hessian);
    return order == KS_BLOCKTRI_SEQUENTIAL                 ? 1
           : order == KS_BLOCKTRI_TWISTED && plan->T > 1 ? 2
                                                           : 0;
}

/** Return the workers' memories. Each lane needs one, too. */
static inline int ks_map_workers(const ks_smooth_plan *plan)
{
    const int lanes = ks_map_lanes(plan);
    return plan->workers > lanes ? plan->workers : lanes;
}

ks_map_review ks_map_nothing_found(void);

/** Take all steps in one pass inwards and one outwards, see map_chain_text.h. Return 0, or -1 on a fault or when the
 *  run is canceled. */
int ks_map_run_lanes(ks_map_method *m, ks_map_review *all);

/** Put out results that are not made in place: in single precision, variances, row 0 of the lag-one covariances, and
 *  the prior. */
void ks_map_put(ks_map_method *m, int64_t b);

#endif
