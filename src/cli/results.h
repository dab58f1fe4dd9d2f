/* results.h -- the arrays that a run makes: their memory, their places in the output file. */
#ifndef KS_CLI_RESULTS_H
#define KS_CLI_RESULTS_H

#include <stddef.h>
#include <stdint.h>
#include "kalscan/smooth.h"
#include "failure.h"
#include "model_file.h"
#include "output_file.h"
#include "settings.h"

#define KS_RESULTS_MAX 20

/** One array of results. */
typedef struct ks_result {
    ks_output_array array;  /**< what it is in the file                                          */
    char path[64];
    size_t bytes;
    void *data;             /**< owned; NULL until allocated                                     */
    size_t member;          /**< where its ks_out lies in ks_outputs                             */
    bool transposed;        /**< written transposed in the fortran layout                        */
} ks_result;

typedef struct ks_results {
    int count;
    ks_result items[KS_RESULTS_MAX];
    unsigned outputs;       /**< ks_output bits                                                  */
} ks_results;

/** Which arrays the settings ask for, with their sizes. */
void ks_results_plan(ks_results *results, const ks_settings *settings, const ks_input *input);

/** Bytes of all arrays, SIZE_MAX where that overflows. */
size_t ks_results_bytes(const ks_results *results);

/** Bytes of the output with them and its time axis, before compression; SIZE_MAX likewise. */
size_t ks_results_disk_bytes(const ks_results *results, const ks_input *input);

/** Allocate them and set the library's pointers and strides. */
ks_exit ks_results_allocate(ks_results *results, const ks_input *input, ks_outputs *outputs,
                            ks_failure *failure);

/** Write them with their axes. */
ks_exit ks_results_write(ks_results *results, const ks_input *input, ks_output_file *out,
                         ks_output_progress progress, void *user, ks_failure *failure);

/** Log-likelihoods, one per series; NULL before ks_results_allocate(). */
const double *ks_results_loglik(const ks_results *results);

void ks_results_free(ks_results *results);

#endif
