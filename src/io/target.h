/* target.h -- checks of an output before it is made, so that a run that would fail at its end does not start. */
#ifndef KS_IO_TARGET_H
#define KS_IO_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include "failure.h"

/** Fail (KS_EXIT_USAGE) if the target is "-" (there is no standard output for HDF5), if it exists and may not be
 *  replaced, or if it is one of the inputs, also under another name. Fail (KS_EXIT_FILE) if it cannot be made: a file
 *  is created in its folder and removed again. inputs ends with NULL; they need not exist. */
ks_exit ks_target_check(const char *target, bool replace, const char *const *inputs,
                        ks_failure *failure);

/** Fail (KS_EXIT_FILE) if a target of `bytes` bytes does not fit on its disk, beside the file that it replaces, or is
 *  larger than the process may write. SIZE_MAX: more than can be counted. */
ks_exit ks_target_room(const char *target, size_t bytes, ks_failure *failure);

#endif
