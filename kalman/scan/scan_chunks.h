/* scan_chunks.h -- functions on the steps of one chunk, for the filter and both smoothers. */
#ifndef KS_SCAN_CHUNKS_H
#define KS_SCAN_CHUNKS_H

#include "wide_rows.h"

/** Scratch of one call. */
typedef struct ks_chunk_memory {
    ks_scan_worker worker;
    ks_wide_rows wide;    /* only for plans in single precision     */
    double *element;      /* a copy of one element                  */
    void *absorb;         /* scratch of filter_absorb, smooth_absorb */
    void *scratch;        /* of the kernels in the plan's precision */
    ks_estimates state;   /* one, in the plan's precision           */
} ks_chunk_memory;

/** Lay out *c in `scratch`, ks_chunk_scratch() bytes. */
void ks_chunk_open(ks_carver *carver, const ks_scan_method *m, void *scratch, ks_chunk_memory *c);

/** Add the counts, or the fault, of the chunk's worker to the chunk's tally. Each chunk has a tally of its own, so no
 *  two threads write the same one. */
void ks_chunk_tell(const ks_tally *own, ks_tally *tally);
/** The same for an open chunk, which is closed. */
void ks_chunk_close(ks_carver *carver, const ks_chunk_memory *c, ks_tally *tally);

/** Return the estimate in the worker's state in the plan's precision, as a square root. The root is made in double, in
 *  the place of the covariance, so that narrowing it loses nothing that matters. */
ks_state ks_chunk_state(const ks_scan_method *m, const ks_chunk_memory *c);

/** Return whether the root S is of a covariance that has lost half of its digits, or all, in some combination of
 *  states. */
int ks_root_is_ill_conditioned(const ks_smooth_plan *plan, const double *S);

/** Return whether a chunk's result at a border, `state` in the plan's precision, disagrees with the estimate x, P
 *  there. w->state is scratch. */
int ks_chunk_differs(const ks_scan_method *m, ks_scan_worker *w, const ks_state *state, const double *x, const double *P);

/** Carve the aggregates of the reverse scan, and the smoothed estimates at the ends of chunks. */
void ks_chunk_information_carve(ks_carver *carver, ks_scan_method *m);

/** Scan the aggregates of the filter's chunks from the end. Return 0, or -1. */
int ks_scan_suffixes(ks_scan_method *m);

/** Return the numbers of the information about a state, v (nx) | J (packed). */
size_t ks_information_numbers(const ks_smooth_plan *plan);

/** Set `behind` to the information of the steps after chunk `chunk` about the state at its end, minus x. It comes from
 *  the suffix that begins with the next chunk. */
void ks_chunk_behind(const ks_scan_method *m, int64_t chunk, const double *x, double *behind);

#endif
