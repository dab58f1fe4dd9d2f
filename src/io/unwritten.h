/* unwritten.h -- parts of a dataset that were never written. HDF5 reads its fill value there, 0 unless set. */
#ifndef KS_IO_UNWRITTEN_H
#define KS_IO_UNWRITTEN_H

#include <stdbool.h>
#include <stddef.h>
#include "dataset.h"

/** Describe what was never written, as far as HDF5 knows: "/y was never written" or "3 of 4 chunks of /y were never
 *  written". Returns false if everything was written. */
bool ks_unwritten(const ks_dataset *dataset, char *text, size_t size);

/** Add that to the notes, for an array that has no missing entries. A dataset with id -1 is ignored. */
void ks_unwritten_note(const ks_dataset *dataset, ks_notes *notes);

#endif
