/* progress.h -- a bar on stderr while something takes long; nothing when stderr is no terminal. */
#ifndef KS_CLI_PROGRESS_H
#define KS_CLI_PROGRESS_H

#include <stdbool.h>
#include "seconds.h"

typedef struct ks_progress {
    bool shown;         /**< may be drawn at all                                                 */
    bool drawn;         /**< something is on the line                                            */
    const char *phase;
    double last;        /**< when it was drawn last, s                                           */
} ks_progress;

/** quiet: never draw. */
void ks_progress_start(ks_progress *progress, bool quiet);

/** A new phase: "read", "compute", "write". */
void ks_progress_phase(ks_progress *progress, const char *phase);

/** `done` in 0 .. 1. Draws at most ten times in a second. */
void ks_progress_set(ks_progress *progress, double done);

/** Wipe the bar. */
void ks_progress_clear(ks_progress *progress);

#endif
