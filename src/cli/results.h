/* results.h -- the arrays that a run makes: their memory, their places in the output file. */
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

/** Where the library puts them. */
typedef struct ks_result_places {
    ks_outputs outputs;
    ks_signal_outputs signal;
} ks_result_places;

/** One array of results. */
typedef struct ks_result {
    ks_output_array array;  /**< what it is in the file                                          */
    char path[64];
    size_t bytes;
    void *data;             /**< owned; NULL until allocated                                     */
    size_t member;          /**< where its ks_out lies in ks_result_places                       */
    bool transposed;        /**< written transposed in the fortran layout                        */
    bool hidden;            /**< others are made of it, it is not written                        */
} ks_result;

typedef struct ks_results {
    int count;
    ks_result items[KS_RESULTS_MAX];
    unsigned outputs;       /**< ks_output bits                                                  */
    bool smoothed;          /**< the signal is that of the smoothed estimates, not the filtered  */
} ks_results;

/** Which arrays the settings ask for, with their sizes. */
void ks_results_plan(ks_results *results, const ks_settings *settings, const ks_input *input);

/** Arrays that are written, and their bytes, SIZE_MAX where that overflows. */
int ks_results_written(const ks_results *results);
size_t ks_results_bytes(const ks_results *results);

/** Bytes of those that are not; SIZE_MAX likewise. */
size_t ks_results_hidden_bytes(const ks_results *results);

/** Bytes of the output with them and its time axis, before compression; SIZE_MAX likewise. */
size_t ks_results_disk_bytes(const ks_results *results, const ks_input *input);

/** Allocate them and set the library's pointers and strides. */
ks_exit ks_results_allocate(ks_results *results, const ks_input *input, ks_result_places *places,
                            ks_failure *failure);

/** Means and covariances that the signal is made of, as far as they are there. */
void ks_results_states(const ks_results *results, const ks_result_places *places, ks_view *mean, ks_view *cov);

/** Write them with their axes. */
ks_exit ks_results_write(ks_results *results, const ks_input *input, ks_output_file *out,
                         ks_output_progress progress, void *user, ks_failure *failure);

/** Log-likelihoods, one per series; NULL before ks_results_allocate(). */
const double *ks_results_loglik(const ks_results *results);

void ks_results_free(ks_results *results);

#endif
