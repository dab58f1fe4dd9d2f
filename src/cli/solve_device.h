/* solve_device.h -- the Cholesky method of `kalscan solve --backend cuda`. */
#ifndef KS_CLI_SOLVE_DEVICE_H
#define KS_CLI_SOLVE_DEVICE_H

#include "solve.h"

extern const ks_solver ks_device_solver;

#endif
