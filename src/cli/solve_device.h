/* solve_device.h -- the Cholesky methods of `kalscan solve --backend cuda`. */
#ifndef KS_CLI_SOLVE_DEVICE_H
#define KS_CLI_SOLVE_DEVICE_H

#include "solve.h"

extern const ks_solver ks_device_solver;

/** Whether a device factors in this order. KS_BLOCKTRI_AUTO is nested dissection there. */
bool ks_device_has(ks_blocktri_order order);

/** Check whether N blocks of order n can be cut into that many segments on a device, which KS_EINVAL and KS_ENOMEM of a
 *  plan do not tell. Otherwise a usage failure. */
ks_exit ks_device_check_segments(int64_t N, int n, int64_t segments, ks_failure *failure);

#endif
