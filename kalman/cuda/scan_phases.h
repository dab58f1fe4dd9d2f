/* scan_phases.h -- arguments of the kernels that do the steps of a phase.
 *
 * For each name in KS_SCAN_PHASES, module ks_scan_phases has a kernel ks_phase_NAME for any model.
 *
 * Module ks_scan_ordinary has kernels ks_ordinary_NAME_N and, for phases that read observations, ks_ordinary_NAME_N_M.
 * They run first and do the ordinary steps of models of up to N states and M entries. The list of sizes is at the end
 * of ks_scan_ordinary.cu. Their blocks have KS_SCAN_THREADS threads and ks_ordinary_shared() bytes of dynamic shared
 * memory. */
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

/** Most states and entries for which there are kernels for ordinary steps. */
enum { KS_ORDINARY_STATES = 4, KS_ORDINARY_ENTRIES = 4 };

enum { KS_SCAN_THREADS = 128, KS_SCAN_SMALL = 9216, KS_SCAN_SUM_BLOCKS = 64 };

/** Return the shared memory of a block of these kernels for N states and M entries, in bytes: a slot for each step and,
 *  for evidence, one more for each warp. */
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

/** The result of the phases of a run. Of faults, the first failing phase counts, and in it the lowest step. `bad` has
 *  step, array, fault and row, in this order of significance. */
typedef struct ks_scan_status {
    unsigned long long bad;
    long long phase;
    unsigned long long ordinary, array, missing, elements;
    unsigned long long sharp;    /* threads that found a sharp prediction */
    unsigned long long doubts;   /* threads that suspect the scan of filtering elements */
    unsigned long long moves;    /* the largest move of an estimate; bits of a double */
} ks_scan_status;

/** Each byte of `bad` and `phase` while there is no fault. */
enum { KS_SCAN_GOOD = 0x7f };

typedef struct ks_scan_phase_args {
    ks_scan_arrays arrays;
    int64_t first, end;      /* steps                                      */
    long long phase;         /* number of the phase in this run */
    ks_scan_status *status;
    char *memory;            /* `slice` bytes for each thread; if slice is 0, threads */
    int64_t slice;           /* have KS_SCAN_SMALL bytes of local memory instead */
    size_t scratch;          /* bytes of it for the arithmetic */
    unsigned char *hard;     /* of each step: whether kernels for ordinary steps have left it; NULL: all are left */
    int64_t first_ordinary;  /* they leave the steps before it */
} ks_scan_phase_args;

/** Kernel ks_scan_sum: to[block] = sum of the block's share of `count` numbers. */
typedef struct ks_scan_sum_args {
    const double *from;
    int64_t count;
    double *to;
} ks_scan_sum_args;

/** Kernel ks_scan_pack: copy `count` rows of `words` 4-byte words, `stride` bytes apart, to contiguous rows at `to`. */
typedef struct ks_scan_pack_args {
    const char *from;
    int64_t stride, words, count;
    char *to;
} ks_scan_pack_args;

#endif
