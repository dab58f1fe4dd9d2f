/* scan_report.h -- device code: add the tally of a thread to the status of the run. */
#ifndef KS_SCAN_REPORT_H
#define KS_SCAN_REPORT_H

#include <string.h>
#include "gpu/kernel.h"
#include "scan_phases.h"

/* Whether an earlier phase has failed. A thread that fails at the same time has failed in this phase, which does not
 * count. */
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

/* Sum over the threads of a warp. All of them call it. */
KS_DEVICE unsigned long long ks_warp_sum(int64_t count)
{
    unsigned long long sum = (unsigned long long)count;
    for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, apart);
    return sum;
}

/* Add what the threads of a warp have counted of chunks without a fault. All of them call it; one adds to the
 * status. */
KS_DEVICE void ks_report_warp(const ks_tally &tally, ks_scan_status *status)
{
    const unsigned long long ordinary = ks_warp_sum(tally.ordinary), missing = ks_warp_sum(tally.missing);
    const unsigned long long elements = ks_warp_sum(tally.elements);
    if (threadIdx.x % 32 > 0) return;
    if (ordinary) atomicAdd(&status->ordinary, ordinary);
    if (missing) atomicAdd(&status->missing, missing);
    if (elements) atomicAdd(&status->elements, elements);
}

/* Add what the threads of a block have counted without a fault. All of them call it; one adds to the status. */
KS_DEVICE void ks_report_together(const ks_tally &tally, int doubts, ks_scan_status *status)
{
    enum { ORDINARY, MISSING, ELEMENTS, SHARP, DOUBTS, COUNTS };
    KS_SHARED(unsigned, sums, COUNTS);
    const unsigned own[COUNTS] = {(unsigned)tally.ordinary, (unsigned)tally.missing, (unsigned)tally.elements,
                                  tally.sharp >= 0, doubts != 0};
    unsigned long long *const of[COUNTS] = {&status->ordinary, &status->missing, &status->elements, &status->sharp,
                                            &status->doubts};
    if (threadIdx.x < COUNTS) sums[threadIdx.x] = 0;
    __syncthreads();
    for (int i = 0; i < COUNTS; ++i)
        if (own[i]) atomicAdd(&sums[i], own[i]);
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (int i = 0; i < COUNTS; ++i)
        if (sums[i]) atomicAdd(of[i], (unsigned long long)sums[i]);
}

/* Record how far a repeated scan has moved an estimate. Positive doubles are ordered like their bits. */
KS_DEVICE void ks_report_moves(double value, ks_scan_status *status)
{
    unsigned long long moves;
    if (value <= 0) return;
    memcpy(&moves, &value, sizeof moves);
    atomicMax(&status->moves, moves);
}

#endif
