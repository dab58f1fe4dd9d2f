/* scan_elements.h -- arguments of the kernels that scan filtering and smoothing elements on a device.
 *
 * Module ks_scan_elements, elements in double as element_text.h stores them:
 * ks_filter_scan_N and ks_smooth_scan_N for N = 1, 2, 3, 4 states, each thread with scratch of its own,
 * and ks_filter_scan_any and ks_smooth_scan_any, whose launches bring it. Module ks_scan_team:
 * ks_filter_scan_team and ks_smooth_scan_team, a team of threads for each lane (team.h). */
#ifndef KS_SCAN_ELEMENTS_H
#define KS_SCAN_ELEMENTS_H

#include "kalscan/scan_rounds.h"
#include "team_memory.h"

typedef struct ks_scan_elements_args {
    ks_scan_task task;
    int nx;          /**< read by the kernels for any number of states, and for teams            */
    double *scratch; /**< of those: ks_scan_elements_scratch() numbers for each thread, or team  */
    ks_team_memory team; /**< ks_scan_team_bytes()                                               */
} ks_scan_elements_args;

/** Numbers of scratch of a thread, room for an element included. */
KS_SLOT int64_t ks_scan_elements_scratch(int nx)
{
    const int64_t n = nx;
    return 22 * n * n + 16 * n;
}

/** Bytes that a team shares. */
KS_SLOT int64_t ks_scan_team_bytes(int nx)
{
    const int64_t n = nx;
    return ((7 * n * n + 3 * n) * (int64_t)sizeof(double) + 15) / 16 * 16;
}

#endif
