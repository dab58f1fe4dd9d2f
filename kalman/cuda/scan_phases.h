/* scan_phases.h -- arguments of the kernels that take the steps of a phase.
 *
 * For each name in KS_SCAN_PHASES module ks_scan_phases has a kernel ks_phase_NAME, for any model. Kernels
 * ks_ordinary_NAME_N of module ks_scan_ordinary, and of what takes observations ks_ordinary_NAME_N_M, take the ordinary
 * steps of models of up to N states and M entries before them, for the sizes that ks_scan_ordinary.cu closes with, in blocks of
 * KS_SCAN_THREADS with ks_ordinary_shared() bytes of dynamic shared memory. */
#ifndef KS_SCAN_PHASES_H
#define KS_SCAN_PHASES_H

#include "scan_elements.h"
#include "scan_steps.h"

#define KS_SCAN_PHASES(E)                                                                   \
    E(elements) E(filtered) E(evidence) E(smoothing) E(smoothed) E(suffixes) E(two_filter)  \
    E(lag_one) E(start) E(rounded) E(moved) E(rounded_filter) E(moved_filter)               \
    E(moved_two_filter)

#define KS_PHASE_NUMBER(name) KS_PHASE_##name,
typedef enum ks_scan_phase_number { KS_SCAN_PHASES(KS_PHASE_NUMBER) KS_PHASES } ks_scan_phase_number;

/** Most states and entries of models that have kernels for ordinary steps. */
enum { KS_ORDINARY_STATES = 4, KS_ORDINARY_ENTRIES = 4 };

enum { KS_SCAN_THREADS = 128, KS_SCAN_SMALL = 9216, KS_SCAN_SUM_BLOCKS = 64 };

/** Bytes that a block of those of N states and M entries shares: a slot for each step, and for evidence one more for each
 *  warp. */
KS_SLOT int64_t ks_ordinary_shared(ks_scan_phase_number phase, int N, int M)
{
    const int half = N * (N + 1) / 2, estimate = N * N + 2 * N, warps = KS_SCAN_THREADS / 32;
    int numbers = estimate, slots = 32;
    switch (phase) {
    case KS_PHASE_elements: case KS_PHASE_suffixes: numbers = N * N + 2 * N + 2 * half; break;
    case KS_PHASE_evidence: numbers = N + N * N + estimate + 2 * M + M * M; ++slots; break;
    case KS_PHASE_smoothing: numbers = N * N + N + half; break;
    case KS_PHASE_two_filter: numbers = estimate + N + half; break;
    case KS_PHASE_lag_one: numbers = 2 * N * N; break;
    default: break; /* estimates alone */
    }
    return warps * slots * ks_scan_slot(numbers) * (int64_t)sizeof(double);
}

/** What the phases of a run have come to. The first failing phase is what counts, and of its faults
 *  that of the lowest step: step, array, fault and row, in this order, in one number. */
typedef struct ks_scan_status {
    unsigned long long bad;
    long long phase;
    unsigned long long ordinary, array, missing, elements;
    unsigned long long sharp;    /* threads that have come upon a sharp prediction            */
    unsigned long long doubts;   /* those that suspect the scan of filtering elements         */
    unsigned long long moves;    /* the largest of the workers' own, the bits of a double     */
} ks_scan_status;

/** Every byte of `bad` and `phase` before there is a fault. */
enum { KS_SCAN_GOOD = 0x7f };

typedef struct ks_scan_phase_args {
    ks_scan_arrays arrays;
    int64_t first, end;      /* steps                                      */
    long long phase;         /* its number in this run                     */
    ks_scan_status *status;
    char *memory;            /* `slice` bytes for each thread; where that is 0 they have */
    int64_t slice;           /* KS_SCAN_SMALL bytes of their own           */
    size_t scratch;          /* bytes of that for the arithmetic           */
    unsigned char *hard;     /* of each step whether kernels for ordinary steps have left it, or NULL: all are     */
    int64_t first_ordinary;  /* they leave those before it                 */
} ks_scan_phase_args;

/** Kernel ks_scan_sum: to[block] = sum of the block's share of `count` numbers. */
typedef struct ks_scan_sum_args {
    const double *from;
    int64_t count;
    double *to;
} ks_scan_sum_args;

/** Kernel ks_scan_pack: `count` rows of `words` 4-byte words, `stride` bytes apart, to `to`, where they are
 *  close together. */
typedef struct ks_scan_pack_args {
    const char *from;
    int64_t stride, words, count;
    char *to;
} ks_scan_pack_args;

#endif
