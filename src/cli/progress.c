#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "temp_file.h"

enum { CELLS = 40 };

void ks_progress_start(ks_progress *progress, bool quiet)
{
    const char *terminal = getenv("TERM");
    memset(progress, 0, sizeof *progress);
    progress->shown = !quiet && isatty(STDERR_FILENO) &&
                      !(terminal && strcmp(terminal, "dumb") == 0);
    progress->phase = "";
    progress->last = ks_seconds();
}

void ks_progress_phase(ks_progress *progress, const char *phase) { progress->phase = phase; }

void ks_progress_set(ks_progress *progress, double done)
{
    if (!progress->shown) return;
    const double now = ks_seconds();
    if (now - progress->last < 0.1) return;
    progress->last = now;
    if (done < 0.0) done = 0.0;
    if (done > 1.0) done = 1.0;
    char bar[CELLS + 1];
    const int filled = (int)(done * CELLS);
    memset(bar, '#', (size_t)filled);
    memset(bar + filled, '.', (size_t)(CELLS - filled));
    bar[CELLS] = '\0';
    ks_interrupt_line_begun = 1;
    fprintf(stderr, "\r%-8s[%s] %3d%%", progress->phase, bar, (int)(done * 100.0));
    fflush(stderr);
    progress->drawn = true;
}

void ks_progress_clear(ks_progress *progress)
{
    if (!progress->drawn) return;
    fprintf(stderr, "\r%*s\r", CELLS + 16, "");
    fflush(stderr);
    ks_interrupt_line_begun = 0;
    progress->drawn = false;
}
