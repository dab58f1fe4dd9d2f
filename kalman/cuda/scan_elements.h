/* scan_elements.h -- arguments of the kernels that scan filtering and smoothing elements on a device.
 *
 * Module ks_scan_elements, elements in double as element_text.h stores them:
 * ks_filter_scan_N and ks_smooth_scan_N for N = 1, 2, 3, 4 states, each thread with scratch of its own, in blocks
 * of whole warps with ks_scan_elements_shared() bytes of dynamic shared memory (staged_round.h),
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

/** Numbers from one element to the next in shared memory, where threads beside one another each read their own: an odd
 *  number, so that they meet in no bank. */
KS_SLOT int64_t ks_scan_slot(int64_t size) { return size | 1; }

/** Bytes that a block shares where nx is literal: room for two elements, filtering or smoothing ones, for each thread. */
KS_SLOT int64_t ks_scan_elements_shared(int nx, int smooths, int threads)
{
    const int64_t n = nx, one = n * (n + 1) / 2 + n, size = n * n + (smooths ? one : 2 * one);
    return 2 * threads * ks_scan_slot(size) * (int64_t)sizeof(double);
}

/** Bytes that a team shares. */
KS_SLOT int64_t ks_scan_team_bytes(int nx)
{
    const int64_t n = nx;
    return ((7 * n * n + 3 * n) * (int64_t)sizeof(double) + 15) / 16 * 16;
}

#endif
