/* info.h -- the two kinds of files that `kalscan info` explains. */
#ifndef KS_CLI_INFO_H
#define KS_CLI_INFO_H

#include <stdbool.h>
#include <hdf5.h>
#include "failure.h"
#include "model_file.h"

/** An input: sizes, conventions, datasets, missing entries; KS_EXIT_CONTENT where problems are
 *  found. */
ks_exit ks_info_model(const ks_input_places *places, bool json, ks_failure *failure);

/** Is this an output of kalscan? */
bool ks_info_is_output(hid_t file);

/** An output: attributes and arrays. */
ks_exit ks_info_output(hid_t file, const char *name, bool json, ks_failure *failure);

#endif
