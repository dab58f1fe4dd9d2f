/* solve_cholesky.h -- the Cholesky methods of `kalscan solve`, one for each order. */
#ifndef KS_CLI_SOLVE_CHOLESKY_H
#define KS_CLI_SOLVE_CHOLESKY_H

#include "solve.h"

ks_exit ks_cholesky_plan(ks_solve *run, ks_failure *failure);
ks_exit ks_cholesky_run(ks_solve *run, ks_failure *failure);
void ks_cholesky_release(ks_solve *run);

#endif
