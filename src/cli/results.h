/* results.h -- the arrays that a run computes: their memory and their places in the output file. */
#ifndef KS_CLI_RESULTS_H
#define KS_CLI_RESULTS_H

#include <stddef.h>
#include <stdint.h>
#include "kalscan/signal.h"
#include "kalscan/smooth.h"
#include "failure.h"
#include "model_file.h"
#include "output_file.h"
#include "settings.h"

#define KS_RESULTS_MAX 24

/** Where the library stores the results. */
typedef struct ks_result_places {
    ks_outputs outputs;
    ks_signal_outputs signal;
} ks_result_places;

/** One array of results. */
typedef struct ks_result {
    ks_output_array array;  /**< description in the file */
    char path[64];
    size_t bytes;
    void *data;             /**< owned; NULL until allocated                    */
    size_t member;          /**< offset of its ks_out in ks_result_places       */
    bool transposed;        /**< written transposed in the fortran layout       */
    bool hidden;            /**< not written; other arrays are computed from it */
} ks_result;

typedef struct ks_results {
    int count;
    ks_result items[KS_RESULTS_MAX];
    unsigned outputs;       /**< ks_output bits                                                 */
    bool smoothed;          /**< the signal is of the smoothed estimates, not the filtered ones */
} ks_results;

/** Find the arrays that the settings ask for, with their sizes. */
void ks_results_plan(ks_results *results, const ks_settings *settings, const ks_input *input);

/** Return the number of arrays that are written, and their bytes; SIZE_MAX if they overflow. */
int ks_results_written(const ks_results *results);
size_t ks_results_bytes(const ks_results *results);

/** Return the bytes of the arrays that are not written; SIZE_MAX if they overflow. */
size_t ks_results_hidden_bytes(const ks_results *results);

/** Return the bytes of the output, with the arrays and the time axis, before compression; SIZE_MAX if they overflow. */
size_t ks_results_disk_bytes(const ks_results *results, const ks_input *input);

/** Allocate the arrays and set the library's pointers and strides. */
ks_exit ks_results_allocate(ks_results *results, const ks_input *input, ks_result_places *places,
                            ks_failure *failure);

/** Return the means and covariances that the signal is computed from, as far as they exist. */
void ks_results_states(const ks_results *results, const ks_result_places *places, ks_view *mean, ks_view *cov);

/** Write the arrays with their axes. */
ks_exit ks_results_write(ks_results *results, const ks_input *input, ks_output_file *out,
                         ks_output_progress progress, void *user, ks_failure *failure);

/** Return the log-likelihoods, one per series; NULL before ks_results_allocate(). */
const double *ks_results_loglik(const ks_results *results);

void ks_results_free(ks_results *results);

#endif
