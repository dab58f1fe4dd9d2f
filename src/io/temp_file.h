/* temp_file.h -- a file that appears under its name only when it is whole. It is written beside
 * its destination and renamed; on failure and on the signals that end a program politely it is removed. */
#ifndef KS_IO_TEMP_FILE_H
#define KS_IO_TEMP_FILE_H

#include <signal.h>
#include <stdbool.h>
#include <limits.h>
#include "failure.h"

typedef struct ks_temp_file {
    char path[PATH_MAX];    /**< where to write                                                  */
    char target[PATH_MAX];  /**< where it will be                                                */
    char name[PATH_MAX];    /**< the target as the user calls it, for messages                   */
    bool replace;           /**< an existing target may be replaced                              */
    int descriptor;
} ks_temp_file;

/** From now on SIGINT, SIGTERM and SIGHUP remove the temporary file, if there is one, and end the program with
 *  KS_EXIT_INTERRUPTED; SIGPIPE, SIGQUIT and SIGXCPU remove it and end the program as they do by themselves. */
void ks_interrupt_install(void);

/** Other than 0 while standard error ends within a line, a progress bar: the end is then told on a new one. */
extern volatile sig_atomic_t ks_interrupt_line_begun;

/** Where a target will be: links that exist are followed, so that they stay links. KS_EXIT_FILE where the
 *  name is empty or too long. */
ks_exit ks_target_resolve(const char *target, char resolved[PATH_MAX], ks_failure *failure);

/** Make an empty temporary file beside the target, for its owner alone. One at a time. */
ks_exit ks_temp_create(ks_temp_file *temp, const char *target, bool replace, ks_failure *failure);

/** Have what is written so far go to the disk beside what is written next, so that ks_temp_commit() waits
 *  less. */
void ks_temp_ripen(const ks_temp_file *temp);

/** The file is written and closed: flush it to the disk, give it the permissions of the file that it replaces, or
 *  those of a new one, and its name. On failure it is removed. */
ks_exit ks_temp_commit(ks_temp_file *temp, ks_failure *failure);

/** Remove it. */
void ks_temp_discard(ks_temp_file *temp);

#endif
