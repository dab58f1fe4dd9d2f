/* solve_condition.h -- notes on systems so ill-conditioned that their solutions may have no correct digit. */
#ifndef KS_CLI_SOLVE_CONDITION_H
#define KS_CLI_SOLVE_CONDITION_H

#include "solve.h"

/** Return a lower bound of the condition number of a symmetric positive definite system that was solved, with rows and
 *  columns in the units in which the diagonal is one; 0 if there is none. Reads the diagonal, x and b. */
double ks_scaled_condition(const ks_solve *run);

/** Print a note if a bound of ks_scaled_condition() leaves x no digit in the precision of the run. */
void ks_note_scaled_condition(const ks_solve *run, double condition);

/** Print a note if the norms of a solution of a direct method for general systems show that it may have no digit. */
void ks_note_condition(const ks_solve *run);

#endif
