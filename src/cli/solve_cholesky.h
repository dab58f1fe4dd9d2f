/* solve_cholesky.h -- the Cholesky methods of `kalscan solve`, one for each order. */
#ifndef KS_CLI_SOLVE_CHOLESKY_H
#define KS_CLI_SOLVE_CHOLESKY_H

#include "solve.h"

ks_exit ks_cholesky_plan(ks_solve *run, ks_failure *failure);
ks_exit ks_cholesky_run(ks_solve *run, ks_failure *failure);
void ks_cholesky_release(ks_solve *run);

/** Why there is no factor; with KS_ENOTPD the block and its row whose pivot is not positive. */
ks_exit ks_cholesky_explain(const ks_solve *run, ks_status status, int64_t block, int pivot,
                            ks_failure *failure);

/** Residual and norms of the system and of run->x. plan: of their precision, or NULL. */
ks_exit ks_cholesky_judge(ks_solve *run, const ks_blocktri_plan *plan, ks_failure *failure);

/** Whether refinement, run->steps of it, came to a residual that will do; 0 where none was made. */
ks_exit ks_cholesky_refined(const ks_solve *run, double residual, ks_failure *failure);

/** The inverse stands where the system was: keep it, and see that it is numbers. */
ks_exit ks_cholesky_keep_inverse(ks_solve *run, ks_failure *failure);

/** run->logdet is there: see that it is a number. */
ks_exit ks_cholesky_keep_logdet(ks_solve *run, ks_failure *failure);

#endif
