/* run.h -- one run of `smooth` or `filter`, and the report about it. */
#ifndef KS_CLI_RUN_H
#define KS_CLI_RUN_H

#include <stddef.h>
#include "kalscan/smooth.h"
#include "command.h"
#include "failure.h"
#include "gradient.h"
#include "model_file.h"
#include "progress.h"
#include "results.h"
#include "settings.h"

typedef struct ks_run {
    const ks_settings *settings;
    const ks_call *call;
    ks_input *input;
    ks_context *context;
    ks_smooth_plan *plan;
    ks_results results;
    ks_derivatives derivatives;
    ks_info info;
    int64_t diffuse_steps;     /**< at the beginning, run apart because of a diffuse prior */
    ks_progress progress;
    size_t input_bytes, output_bytes;
    size_t work_bytes;         /**< of the library, and of arrays that are not written */
    size_t device_bytes;       /**< memory of the device                               */
    double read_seconds, compute_seconds, write_seconds;
    double written;            /**< bytes, for the progress bar */
    int notes_told;            /**< of the notes on the input   */
} ks_run;

/** Print the summary on stdout, as text or JSON. For a dry run it describes the plan. */
void ks_summary_print(const ks_run *run);

/** Write the attributes of the root of an output file. */
ks_exit ks_provenance_write(const ks_run *run, ks_output_file *out, ks_failure *failure);

#endif
