/* target.h -- what can be known of an output before it is made: a run that cannot end well shall not
 * begin. */
#ifndef KS_IO_TARGET_H
#define KS_IO_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include "failure.h"

/** Refuse (KS_EXIT_USAGE) "-", for standard output is no file, a target that exists when it may not be replaced, and in any case one
 *  that is one of the inputs, also by another name; refuse (KS_EXIT_FILE) one that cannot be made:
 *  a file is made in its folder, and removed. inputs ends with NULL; they need not exist yet. */
ks_exit ks_target_check(const char *target, bool replace, const char *const *inputs,
                        ks_failure *failure);

/** Refuse (KS_EXIT_FILE) a target of so many bytes, SIZE_MAX standing for more than can be counted,
 *  for which its disk has no room, beside the file that it may replace, or which is larger than the
 *  process may make. */
ks_exit ks_target_room(const char *target, size_t bytes, ks_failure *failure);

#endif
