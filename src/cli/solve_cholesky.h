/* solve_cholesky.h -- the Cholesky methods of `kalscan solve`, one for each order. */
#ifndef KS_CLI_SOLVE_CHOLESKY_H
#define KS_CLI_SOLVE_CHOLESKY_H

#include "solve.h"

ks_exit ks_cholesky_plan(ks_solve *run, ks_failure *failure);
ks_exit ks_cholesky_run(ks_solve *run, ks_failure *failure);
void ks_cholesky_release(ks_solve *run);

/** Fail because there is no factor. For KS_ENOTPD, name the block and the row whose pivot is not positive. */
ks_exit ks_cholesky_explain(const ks_solve *run, ks_status status, int64_t block, int pivot,
                            ks_failure *failure);

/** Compute the residual and the norms of the system and of run->x. plan: a plan of their precision, or NULL. */
ks_exit ks_cholesky_judge(ks_solve *run, const ks_blocktri_plan *plan, ks_failure *failure);

/** Fail if refinement, run->steps steps of it, has not reached a small enough residual. Without refinement residual is
 *  0. */
ks_exit ks_cholesky_refined(const ks_solve *run, double residual, ks_failure *failure);

/** The inverse has replaced the system: keep it, and check that it is finite. */
ks_exit ks_cholesky_keep_inverse(ks_solve *run, ks_failure *failure);

/** run->logdet is set: check that it is finite. */
ks_exit ks_cholesky_keep_logdet(ks_solve *run, ks_failure *failure);

#endif
