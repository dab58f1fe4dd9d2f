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
    ks_run *run;
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

/** Put out what is not made in its place: the other precision, variances, row 0 of the lag-one
 *  covariances, the prior. */
void ks_map_put(ks_map_method *m, int64_t b);

#endif
