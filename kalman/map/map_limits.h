/* map_limits.h -- the errors that results of the MAP route may have, on the CPU and on a device. */
#ifndef KS_MAP_LIMITS_H
#define KS_MAP_LIMITS_H

#include <math.h>
#include "kalscan/smooth.h"
#include "roundoff.h"

/** How often the means are corrected by the gradient at the solution. Each correction reduces their error to the share
 *  that one factorization leaves of a right-hand side. */
enum { KS_MAP_REFINEMENTS = 2 };

/** Return the largest relative error that round-off may cause in a covariance. */
static inline double ks_map_worst_error(ks_precision precision)
{
    return precision == KS_F64 ? 1e-6 : 1e-3;
}

/** Return by how many standard deviations the means may be off without being refined. */
static inline double ks_map_worst_mean(ks_precision precision)
{
    return precision == KS_F64 ? 1e-9 : 1e-6;
}

/** Return whether a largest gᵀ S g of a step may move the means by more than that. A change of x is at most the sum of
 *  the gradients, in standard deviations, of the steps with which it is correlated, and these are no more than twice
 *  the loss. */
static inline int ks_map_may_move(ks_precision precision, double loss, double gradient)
{
    return 2 * sqrt(gradient) * loss > ks_map_worst_mean(precision);
}

/** Return whether results with this largest trace, inflation and gradient are accurate enough. Loss and error of the
 *  means are bounded by them, see map_chain_text.h. The system is in double. */
static inline int ks_map_bounds_do(ks_precision precision, double trace, double inflation,
                                   double gradient)
{
    return 2 * trace * inflation * ks_unit_roundoff(0) <= ks_map_worst_error(precision) &&
           4 * trace * sqrt(gradient) <= ks_map_worst_mean(precision);
}

#endif
