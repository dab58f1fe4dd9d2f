/* info.h -- the kinds of files that `kalscan info` explains, and functions they share. */
#ifndef KS_CLI_INFO_H
#define KS_CLI_INFO_H

#include <stdbool.h>
#include <hdf5.h>
#include "dataset.h"
#include "failure.h"
#include "json.h"
#include "model_file.h"
#include "problems.h"

/** Explain an input: sizes, conventions, datasets, missing entries. Returns KS_EXIT_CONTENT if there are problems. */
ks_exit ks_info_model(const ks_input_places *places, bool json, ks_failure *failure);

/** Explain a block-tridiagonal system. layout -1: as the file says. Returns KS_EXIT_CONTENT if there are problems. */
ks_exit ks_info_system(const char *file, int layout, bool json, ks_failure *failure);

/** Explain an output: attributes and arrays. */
ks_exit ks_info_output(hid_t file, const char *name, bool json, ks_failure *failure);

/** Print a line about a dataset, or an object in the open list. */
void ks_info_print_dataset(const ks_dataset *dataset, const char *meaning);
void ks_info_json_dataset(ks_json *json, const ks_dataset *dataset, const char *meaning);

/** Print notes and problems, at the end. */
void ks_info_print_findings(const ks_notes *list, const ks_problems *problems);
void ks_info_json_findings(ks_json *json, const ks_notes *list, const ks_problems *problems);

/** Print a size; null if it is not known (negative). */
void ks_info_json_size(ks_json *json, const char *name, int64_t size);

#endif
