/* progress.h -- a progress bar on stderr for long operations. Draws nothing if stderr is not a terminal. */
#ifndef KS_CLI_PROGRESS_H
#define KS_CLI_PROGRESS_H

#include <stdbool.h>
#include "seconds.h"

typedef struct ks_progress {
    bool shown;         /**< may be drawn at all   */
    bool drawn;         /**< the line is not empty */
    const char *phase;
    double last;        /**< time of the last drawing, s */
} ks_progress;

/** quiet: never draw. */
void ks_progress_start(ks_progress *progress, bool quiet);

/** Begin a new phase: "read", "compute", "write". */
void ks_progress_phase(ks_progress *progress, const char *phase);

/** Set the fraction done, 0 .. 1. Draws at most ten times per second. */
void ks_progress_set(ks_progress *progress, double done);

/** Erase the bar. */
void ks_progress_clear(ks_progress *progress);

#endif
