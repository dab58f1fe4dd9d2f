/* unwritten.h -- parts of a dataset that nobody wrote: HDF5 reads its fill value there, 0 unless stated. */
#ifndef KS_IO_UNWRITTEN_H
#define KS_IO_UNWRITTEN_H

#include <stdbool.h>
#include <stddef.h>
#include "dataset.h"

/** What was never written, as far as HDF5 knows, as "/y was never written" or "3 of 4 chunks of /y were never
 *  written". False where all is there. */
bool ks_unwritten(const ks_dataset *dataset, char *text, size_t size);

/** Note it of an array that has no missing entries. One of no use (id -1) is left alone. */
void ks_unwritten_note(const ks_dataset *dataset, ks_notes *notes);

#endif
