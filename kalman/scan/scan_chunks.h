/* scan_chunks.h -- what goes through the steps of a chunk: of the filter and of the smoothers, forward and back. */
#ifndef KS_SCAN_CHUNKS_H
#define KS_SCAN_CHUNKS_H

#include "wide_rows.h"

/** Scratch of one call. */
typedef struct ks_chunk_memory {
    ks_scan_worker worker;
    ks_wide_rows wide;    /* of a plan in single precision          */
    double *element;      /* a copy of one                          */
    void *absorb;         /* scratch of those that make aggregates */
    void *scratch;        /* of the kernels in the plan's precision */
    ks_estimates state;   /* one, in the plan's precision           */
} ks_chunk_memory;

/** Lay it out in `scratch`, ks_chunk_scratch() bytes. */
void ks_chunk_open(ks_carver *carver, const ks_scan_method *m, void *scratch, ks_chunk_memory *c);

/** Add what the chunk's own worker counted, or its fault, to the chunk's tally. Each has one tally, so no two threads
 *  write the same. */
void ks_chunk_tell(const ks_tally *own, ks_tally *tally);
/** The same of an open chunk, which is closed. */
void ks_chunk_close(ks_carver *carver, const ks_chunk_memory *c, ks_tally *tally);

/** The estimate in the worker's state as one in the plan's precision: a square root made in double, which stays there in
 *  the covariance's place, so that narrowing it loses nothing that matters. */
ks_state ks_chunk_state(const ks_scan_method *m, const ks_chunk_memory *c);

/** Whether such a root S is of a covariance that has lost half of its digits in some combination of states, or all of
 *  them. */
int ks_root_is_ill_conditioned(const ks_smooth_plan *plan, const double *S);

/** Whether the estimate x, P, at a border, and what a chunk has come to there, in the plan's precision, disagree.
 *  w->state is scratch. */
int ks_chunk_differs(const ks_scan_method *m, ks_scan_worker *w, const ks_state *state, const double *x, const double *P);

/** Room for the aggregates that are scanned from the end, and for the smoothed estimates at the ends of chunks. */
void ks_chunk_information_carve(ks_carver *carver, ks_scan_method *m);

/** Scan the aggregates that the filter's chunks have left, from the end. Returns 0, or -1. */
int ks_scan_suffixes(ks_scan_method *m);

/** Numbers of the information about a state, v (nx) | J (packed). */
size_t ks_information_numbers(const ks_smooth_plan *plan);

/** That of the steps behind chunk `chunk` about what the state at its end is more than x: of the suffix that begins with
 *  the next chunk. */
void ks_chunk_behind(const ks_scan_method *m, int64_t chunk, const double *x, double *behind);

#endif
