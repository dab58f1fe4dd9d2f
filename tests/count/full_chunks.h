/* full_chunks.h -- what full.c and full_chunks.c have of one another. */
#ifndef FULL_CHUNKS_H
#define FULL_CHUNKS_H

#include "full.h"

/** What the filter's chunks have kept. */
ks_forward_sinks full_kept(const full *f);
/** Room for an element, of the one worker. */
double *full_spare_element(full *f);

/** Chunk `chunk` of f->chunks, whose aggregates have been scanned from the end: the RTS smoother's estimate at its end,
 *  that smoother's steps from there, and all of the two-filter smoother's. */
void full_chunk_end(full *f, int64_t chunk);
void full_chunk_smoothed(full *f, int64_t chunk);
void full_chunk_back(full *f, int64_t chunk);

#endif
