/* gradient.h -- --gradient: the gradient of the log-likelihood, in the shapes of the model's datasets. */
#ifndef KS_CLI_GRADIENT_H
#define KS_CLI_GRADIENT_H

#include <stddef.h>
#include "kalscan/gradient.h"
#include "failure.h"
#include "model_file.h"
#include "output_file.h"

/** The derivatives by one dataset. */
typedef struct ks_derivative {
    const ks_input_array *of;  /**< what it is the gradient by; borrowed       */
    ks_output_array array;     /**< description in the file                     */
    char path[KS_PATH_MOST];
    double *values;            /**< by what is in memory; owned, NULL until computed */
} ks_derivative;

typedef struct ks_derivatives {
    int count;                 /**< 0: none are asked for */
    ks_derivative items[KS_INPUT_ARRAYS];
} ks_derivatives;

/** Find the datasets of the model that derivatives are asked for by. */
void ks_derivatives_plan(ks_derivatives *derivatives, const ks_input *input);

/** Return the bytes of the arrays in memory; SIZE_MAX if they overflow. */
size_t ks_derivatives_bytes(const ks_derivatives *derivatives);

/** Return their bytes in a file without compression; SIZE_MAX if they overflow. */
size_t ks_derivatives_disk_bytes(const ks_derivatives *derivatives);

/** Compute them with a plan of the input, whose arrays are double. `status` and info as ks_gradient_run() returns them;
 *  fails only if there is no memory. */
ks_exit ks_derivatives_run(ks_derivatives *derivatives, const ks_smooth_plan *plan, const ks_input *input, void *work,
                           ks_status *status, ks_info *info, ks_failure *failure);

/** Write them as /gradient/NAME, NAME being that of the dataset. */
ks_exit ks_derivatives_write(ks_derivatives *derivatives, const ks_input *input, ks_output_file *out,
                             ks_failure *failure);

void ks_derivatives_free(ks_derivatives *derivatives);

#endif
