/* scan_elements.h -- arguments of the kernels that scan filtering and smoothing elements on a device.
 *
 * Elements are in double, stored as in element_text.h.
 *
 * Module ks_scan_elements has ks_filter_scan_N and ks_smooth_scan_N for N = 1, 2, 3, 4 states. Their threads have local
 * scratch. Their blocks have whole warps and ks_scan_elements_shared() bytes of dynamic shared memory (staged_round.h).
 * It also has ks_filter_scan_any and ks_smooth_scan_any, whose launches provide the scratch.
 *
 * Module ks_scan_team has ks_filter_scan_team and ks_smooth_scan_team, with a team of threads for each lane
 * (team.h). */
#ifndef KS_SCAN_ELEMENTS_H
#define KS_SCAN_ELEMENTS_H

#include "kalscan/scan_rounds.h"
#include "team_memory.h"

typedef struct ks_scan_elements_args {
    ks_scan_task task;
    int nx;          /**< read by the kernels for any number of states, and by teams */
    double *scratch; /**< theirs: ks_scan_elements_scratch() numbers for each thread or team */
    ks_team_memory team; /**< of ks_scan_team_bytes() each */
} ks_scan_elements_args;

/** Return the numbers of scratch of a thread, room for an element included. */
KS_SLOT int64_t ks_scan_elements_scratch(int nx)
{
    const int64_t n = nx;
    return 22 * n * n + 16 * n;
}

/** Return the distance between elements in shared memory, in numbers. It is odd, so that neighbouring threads, each of
 *  which reads its own element, have no bank conflicts. */
KS_SLOT int64_t ks_scan_slot(int64_t size) { return size | 1; }

/** Return the shared memory of a block where nx is literal, in bytes: two elements, filtering or smoothing ones, for
 *  each thread. */
KS_SLOT int64_t ks_scan_elements_shared(int nx, int smooths, int threads)
{
    const int64_t n = nx, one = n * (n + 1) / 2 + n, size = n * n + (smooths ? one : 2 * one);
    return 2 * threads * ks_scan_slot(size) * (int64_t)sizeof(double);
}

/** Return the bytes of memory of a team. */
KS_SLOT int64_t ks_scan_team_bytes(int nx)
{
    const int64_t n = nx;
    return ((7 * n * n + 3 * n) * (int64_t)sizeof(double) + 15) / 16 * 16;
}

#endif
