/* solve_general.h -- the methods for general systems: the functions behind their entries in the table. */
#ifndef KS_CLI_SOLVE_GENERAL_H
#define KS_CLI_SOLVE_GENERAL_H

#include "solve.h"

/** Read one option of these methods. `id` counts from 0. */
ks_exit ks_general_read_option(ks_solve_settings *settings, int id, const char *value,
                               ks_failure *failure);

/** Fail (KS_EXIT_USAGE) for options that the method, one of these, does not use. */
ks_exit ks_general_check_options(const ks_solve *run, ks_failure *failure);

/** Fail (KS_EXIT_USAGE) for options with which no device runs these methods. */
ks_exit ks_general_check_device(const ks_solve *run, ks_failure *failure);

ks_exit ks_general_prepare(ks_solve *run, ks_failure *failure);
ks_exit ks_general_settle(ks_solve *run, ks_failure *failure);
ks_exit ks_general_run(ks_solve *run, ks_failure *failure);
void ks_general_release(ks_solve *run);

#endif
