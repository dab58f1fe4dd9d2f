/* model_parts.h -- the steps of reading an input, one file each; private to src/io. */
#ifndef KS_IO_MODEL_PARTS_H
#define KS_IO_MODEL_PARTS_H

#include "model_file.h"
#include "values.h"

/** Largest nx and ny: the square still fits an int. */
#define KS_BLOCK_MAX 32768

/** Find the arrays of the model and fit their shapes; sets nx. The sizes of y must be known. */
ks_exit ks_model_resolve(ks_input *input, ks_failure *failure);

/** Read the observations. Fill values become NaN; scale and offset are applied. */
ks_exit ks_observations_load(ks_input *input, ks_load_progress *progress, ks_failure *failure);

/** Note what stands in the group of the model, or at the observations, and is not read though it looks as
 *  if it were meant. */
void ks_model_note_unread(ks_input *input, hid_t group);
void ks_observations_note_unread(ks_input *input);

/** Whether this array is a covariance. */
bool ks_input_is_covariance(ks_input_name name);

#endif
