/* map_limits.h -- how far the results of the MAP route may be off, on the CPU and on a device. */
#ifndef KS_MAP_LIMITS_H
#define KS_MAP_LIMITS_H

#include <math.h>
#include "kalscan/smooth.h"
#include "roundoff.h"

/** Corrections of the means by the gradient at the solution: each leaves of their error what one
 *  factorization leaves of a right-hand side. */
enum { KS_MAP_REFINEMENTS = 2 };

/** The most that round-off may have cost a covariance, relative to it. */
static inline double ks_map_worst_error(ks_precision precision)
{
    return precision == KS_F64 ? 1e-6 : 1e-3;
}

/** The most by which the means may be off, in standard deviations, before they are refined. */
static inline double ks_map_worst_mean(ks_precision precision)
{
    return precision == KS_F64 ? 1e-9 : 1e-6;
}

/** Whether a largest gᵀ S g of a step may move the means further than that. A change of x is at most
 *  the sum of the gradients, in standard deviations, of the steps that it is correlated with, and
 *  these are no more than twice the loss. */
static inline int ks_map_may_move(ks_precision precision, double loss, double gradient)
{
    return 2 * sqrt(gradient) * loss > ks_map_worst_mean(precision);
}

/** Whether results with this largest trace, inflation and gradient may stand: what is known of the loss and
 *  of the means' error then are bounds, see map_chain_text.h. The system is in double. */
static inline int ks_map_bounds_do(ks_precision precision, double trace, double inflation,
                                   double gradient)
{
    return 2 * trace * inflation * ks_unit_roundoff(0) <= ks_map_worst_error(precision) &&
           4 * trace * sqrt(gradient) <= ks_map_worst_mean(precision);
}

#endif
