/* scan_report.h -- device code: what a thread's steps came to, added to what all came to. */
#ifndef KS_SCAN_REPORT_H
#define KS_SCAN_REPORT_H

#include <string.h>
#include "gpu/kernel.h"
#include "scan_phases.h"

/* Whether a phase before this one has failed; one that fails beside this thread has failed in this phase. */
KS_DEVICE bool ks_failed_before(const ks_scan_status *status, long long phase)
{
    return ks_relaxed_load(&status->phase) < phase;
}

KS_DEVICE void ks_report(const ks_tally &tally, ks_scan_status *status, long long phase)
{
    if (tally.ordinary) atomicAdd(&status->ordinary, (unsigned long long)tally.ordinary);
    if (tally.array) atomicAdd(&status->array, (unsigned long long)tally.array);
    if (tally.missing) atomicAdd(&status->missing, (unsigned long long)tally.missing);
    if (tally.elements) atomicAdd(&status->elements, (unsigned long long)tally.elements);
    if (tally.sharp >= 0) atomicAdd(&status->sharp, 1ull);
    if (tally.bad_step < 0) return;
    const unsigned long long where = (unsigned long long)tally.bad_step << 24 |
                                     (unsigned long long)tally.bad_array << 19 |
                                     (unsigned long long)tally.fault << 16 |
                                     (unsigned long long)tally.bad_row;
    atomicMin(&status->bad, where);
    atomicMin(&status->phase, phase);
}

/* A fault of a scan that was asked: by how much. Positive numbers are in the order of their bits. */
KS_DEVICE void ks_report_moves(double value, ks_scan_status *status)
{
    unsigned long long moves;
    if (value <= 0) return;
    memcpy(&moves, &value, sizeof moves);
    atomicMax(&status->moves, moves);
}

#endif
