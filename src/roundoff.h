/* roundoff.h -- the unit round-off, for the host and the device. */
#ifndef KS_ROUNDOFF_H
#define KS_ROUNDOFF_H

#include "hd.h"

/** Return the largest relative error of one rounded operation, half the distance from 1 to the next number: 2^-53 in
 *  double, 2^-24 in single precision. */
KS_HD double ks_unit_roundoff(int single) { return single ? 0x1p-24 : 0x1p-53; }

#endif
