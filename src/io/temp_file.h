/* temp_file.h -- a file that appears under its name only when it is complete. It is written beside its target and
 * renamed. On failure, and on signals that end the program, it is removed. */
#ifndef KS_IO_TEMP_FILE_H
#define KS_IO_TEMP_FILE_H

#include <signal.h>
#include <stdbool.h>
#include <limits.h>
#include "failure.h"

typedef struct ks_temp_file {
    char path[PATH_MAX];    /**< where to write                                */
    char target[PATH_MAX];  /**< where it will be                              */
    char name[PATH_MAX];    /**< the target as the user calls it, for messages */
    bool replace;           /**< an existing target may be replaced            */
    int descriptor;
} ks_temp_file;

/** Install signal handlers. SIGINT, SIGTERM and SIGHUP then remove the temporary file, if there is one, and end the
 *  program with KS_EXIT_INTERRUPTED, unless an output is about to get its name: from then on they do nothing. SIGPIPE,
 *  SIGQUIT and SIGXCPU remove it and end the program as they do by default; so do SIGSEGV and the like, which damaged
 *  files can cause in libhdf5. */
void ks_interrupt_install(void);

/** Not 0 while the last line on standard error is incomplete (a progress bar): a message must then begin a new line. */
extern volatile sig_atomic_t ks_interrupt_line_begun;

/** Resolve the path of a target. Existing links are followed, so that they remain links. Returns KS_EXIT_FILE if the
 *  name is empty or too long. */
ks_exit ks_target_resolve(const char *target, char resolved[PATH_MAX], ks_failure *failure);

/** Create an empty temporary file beside the target, readable by its owner only. Only one may exist at a time. */
ks_exit ks_temp_create(ks_temp_file *temp, const char *target, bool replace, ks_failure *failure);

/** Start writing what has been written so far to the disk, so that ks_temp_commit() waits less. */
void ks_temp_ripen(const ks_temp_file *temp);

/** Call this when the file is written and closed. Flushes it to the disk, gives it the permissions of the file that it
 *  replaces, or those of a new one, and its name. On failure the file is removed. */
ks_exit ks_temp_commit(ks_temp_file *temp, ks_failure *failure);

/** Remove the temporary file. */
void ks_temp_discard(ks_temp_file *temp);

#endif
