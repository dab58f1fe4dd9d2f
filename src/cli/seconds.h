/* seconds.h -- a clock to measure with. */
#ifndef KS_CLI_SECONDS_H
#define KS_CLI_SECONDS_H

#include <time.h>

/** Seconds since some time in the past; never back. */
static inline double ks_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
