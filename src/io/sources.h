/* sources.h -- other files that hold values of an input: datasets behind external links, raw data outside of HDF5, and
 * the sources of virtual datasets, which may have sources of their own. */
#ifndef KS_IO_SOURCES_H
#define KS_IO_SOURCES_H

#include "dataset.h"
#include "failure.h"
#include "problems.h"

/** Add missing values to the problems: HDF5 would read its fill value for a missing source of a virtual dataset, and
 *  zeros for raw data that end early. A virtual dataset whose fill value is NaN may lack sources. */
void ks_sources_check(const ks_dataset *dataset, ks_problems *problems);

/** Fail (KS_EXIT_USAGE) if the output is a file that holds values of the dataset. output NULL: none. */
ks_exit ks_sources_spare(const ks_dataset *dataset, const char *output, ks_failure *failure);

#endif
