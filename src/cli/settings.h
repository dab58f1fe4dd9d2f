/* settings.h -- the settings of `smooth` and `filter`. */
#ifndef KS_CLI_SETTINGS_H
#define KS_CLI_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>
#include "kalscan/smooth.h"
#include "command.h"
#include "failure.h"
#include "model_file.h"

/** The part of the covariances of the estimates that is written. */
typedef enum ks_cov { KS_COV_FULL = 0, KS_COV_DIAG = 1, KS_COV_NONE = 2 } ks_cov;

typedef struct ks_settings {
    ks_job job;
    ks_input_places places;
    const char *output;      /**< NULL with dry_run, or for a filter that prints the log-likelihood only */
    ks_method method;
    bool scan_given;
    ks_scan_algorithm scan;
    int64_t scan_threshold;
    bool order_given;
    ks_blocktri_order order;
    ks_backend backend;
    int device;              /**< of the back end                */
    int second_device;       /**< for the reverse scan; -1: none */
    bool device_given;
    int threads;             /**< 0: all                                                         */
    ks_precision precision;
    bool cov_given;
    ks_cov cov;
    bool steady_given;
    ks_steady_state steady_state;
    int64_t forecast;        /**< steps ahead                                                    */
    bool filtered, lag_one, innovations, predicted, signal, gradient;
    bool force, quiet, json, dry_run;
    int compress;
    bool help_shown;         /**< --help or --version was served: nothing else to do */
} ks_settings;

/** Read the command line of a job, or serve --help and --version. Returns usage failures. */
ks_exit ks_settings_read(ks_settings *settings, ks_job job, const ks_call *call,
                         ks_failure *failure);

#endif
