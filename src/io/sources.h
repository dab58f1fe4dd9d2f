/* sources.h -- other files that hold values of an input: datasets behind external links, raw data outside of
 * HDF5, and the sources of virtual datasets, which may have sources of their own. */
#ifndef KS_IO_SOURCES_H
#define KS_IO_SOURCES_H

#include "dataset.h"
#include "failure.h"
#include "problems.h"

/** A virtual dataset of which a source is not there would be read as its fill value, raw data that end early as
 *  zeros: add that to the problems, unless the fill value is NaN. */
void ks_sources_check(const ks_dataset *dataset, ks_problems *problems);

/** Refuse (KS_EXIT_USAGE) an output that holds values of the dataset. output NULL: none. */
ks_exit ks_sources_spare(const ks_dataset *dataset, const char *output, ks_failure *failure);

#endif
