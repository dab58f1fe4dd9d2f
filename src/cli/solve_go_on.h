/* solve_go_on.h -- what `auto` does where the method that it chose fails: banded LU takes any nonsingular matrix. */
#ifndef KS_CLI_SOLVE_GO_ON_H
#define KS_CLI_SOLVE_GO_ON_H

#include "solve.h"

/** Whether the method is the choice of `auto`, and banded LU gives all that is asked for. */
bool ks_may_go_on(const ks_solve *run);

/** Note that the method has failed, in the words of `reason`, release its state, and run banded LU. */
ks_exit ks_go_on(ks_solve *run, const char *reason, ks_failure *failure);

#endif
