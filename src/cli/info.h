/* info.h -- the kinds of files that `kalscan info` explains, and what they share. */
#ifndef KS_CLI_INFO_H
#define KS_CLI_INFO_H

#include <stdbool.h>
#include <hdf5.h>
#include "dataset.h"
#include "failure.h"
#include "json.h"
#include "model_file.h"
#include "problems.h"

/** An input: sizes, conventions, datasets, missing entries; KS_EXIT_CONTENT where problems are
 *  found. */
ks_exit ks_info_model(const ks_input_places *places, bool json, ks_failure *failure);

/** A block-tridiagonal system; layout -1: as the file says. KS_EXIT_CONTENT where problems are
 *  found. */
ks_exit ks_info_system(const char *file, int layout, bool json, ks_failure *failure);

/** An output: attributes and arrays. */
ks_exit ks_info_output(hid_t file, const char *name, bool json, ks_failure *failure);

/** A line about a dataset, or an object in the open list. */
void ks_info_print_dataset(const ks_dataset *dataset, const char *meaning);
void ks_info_json_dataset(ks_json *json, const ks_dataset *dataset, const char *meaning);

/** Notes and problems, at the end. */
void ks_info_print_findings(const ks_notes *list, const ks_problems *problems);
void ks_info_json_findings(ks_json *json, const ks_notes *list, const ks_problems *problems);

/** A size, null where it is not known (negative). */
void ks_info_json_size(ks_json *json, const char *name, int64_t size);

#endif
