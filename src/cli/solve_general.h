/* solve_general.h -- the methods for general systems: the functions behind their entries in the table. */
#ifndef KS_CLI_SOLVE_GENERAL_H
#define KS_CLI_SOLVE_GENERAL_H

#include "solve.h"

/** Read one option of these methods. `id` counts from 0. */
ks_exit ks_general_read_option(ks_solve_settings *settings, int id, const char *value,
                               ks_failure *failure);

/** Whether a method is a block iteration. */
bool ks_general_is_sweep(ks_general_method method);

/** Fail (KS_EXIT_USAGE) for options that the method, one of these, does not use. */
ks_exit ks_general_check_options(const ks_solve *run, ks_failure *failure);

/** Fail (KS_EXIT_USAGE) for options with which no device runs these methods. */
ks_exit ks_general_check_device(const ks_solve *run, ks_failure *failure);

/** Note options of iterations that the method which `auto` stands for does not use; KS_GENERAL_AUTO: one that is none of
 *  these methods, and uses none of them. */
void ks_general_note_options(const ks_solve *run, ks_general_method method);

/** Note a solver of tridiagonal blocks that has nothing to solve. */
void ks_general_note_solver(const ks_solve *run, const ks_general_matrix *matrix, ks_general_method method);

/** Fail because the plan was not made, the matrix not factored or not solved, as run->report says. */
ks_exit ks_general_explain_plan(const ks_solve *run, ks_status status, ks_failure *failure);
ks_exit ks_general_explain_factor(const ks_solve *run, ks_general_method method, ks_failure *failure);
ks_exit ks_general_explain_solve(const ks_solve *run, ks_general_method method, ks_failure *failure);

/** Fail because banded LU does not take so many rows. */
ks_exit ks_general_refuse_size(const ks_solve *run, ks_failure *failure);

/** Write what a method has failed of to text, as words that follow its name. Return whether another one may not. */
bool ks_general_reason(const ks_solve *run, ks_general_method method, char text[96]);

ks_exit ks_general_prepare(ks_solve *run, ks_failure *failure);
ks_exit ks_general_settle(ks_solve *run, ks_failure *failure);
ks_exit ks_general_run(ks_solve *run, ks_failure *failure);
void ks_general_release(ks_solve *run);

#endif
