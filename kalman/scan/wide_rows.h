/* wide_rows.h -- model, data and filtered estimates of several steps in double, for ranges of steps of a plan in single
 * precision. */
#ifndef KS_WIDE_ROWS_H
#define KS_WIDE_ROWS_H

#include "scan_method.h"

typedef struct ks_wide_rows {
    int64_t steps;          /* most steps at once                                   */
    double *row[KS_ROW_Y + 1];
    ks_estimates kept;      /* `steps` estimates                                    */
    ks_series series;       /* the series of `row`                                  */
} ks_wide_rows;

/** Carve them. They take no memory if the plan is in double. */
void ks_carve_wide_rows(ks_carver *carver, const ks_smooth_plan *plan, ks_wide_rows *w);

/** Return a series in double of which the transitions into steps k0 .. k1 - 1, at most w->steps, may be read, and if
 *  `observed` also H, R, d and y of these steps. It is valid until the next call with w. For a plan in double it is the
 *  series itself. */
const ks_series *ks_widen_steps(const ks_scan_method *m, ks_scan_worker *worker, ks_wide_rows *w, int64_t k0,
                                int64_t k1, int observed);

/** Return what the filter kept of steps k0 .. k1 - 1 in the same way. */
ks_forward_sinks ks_widen_kept(const ks_scan_method *m, const ks_wide_rows *w, int64_t k0, int64_t k1);

#endif
