/* scan_steps.h -- what the steps of the scan methods work on, on the CPU and on a device.
 *
 * Elements, and the estimates between one phase and the next, are kept in double whatever the
 * plan's precision: an element holds covariances, and those of a vague prior or a long gap do not
 * fit 24 bits. For single precision the rows of the model are widened step by step, and results
 * are narrowed as they are put out. */
#ifndef KS_SCAN_STEPS_H
#define KS_SCAN_STEPS_H

#include "carve.h"
#include "series.h"

/** One series: its model and data, and where everything goes. */
typedef struct ks_scan_arrays {
    int single;                      /* model, data and means are float, not double        */
    int single_cov;                  /* covariances that are put out are                   */
    ks_series series;
    ks_forward_sinks to;             /* the filter's outputs                               */
    ks_backward_sinks back;          /* the smoother's                                     */
    ks_sink prior_mean, prior_cov;
    ks_estimates filtered, smoothed; /* T estimates in double                              */
    double *loglik_terms;            /* T                                                  */
    void *elements;                  /* one for each step, or an aggregate for each chunk  */
} ks_scan_arrays;

/** Results of one step in a worker's memory; what a phase does not make serves it as scratch. */
enum {
    KS_STEP_PREDICTED_MEAN, KS_STEP_PREDICTED_COV, KS_STEP_INNOVATION, KS_STEP_INNOVATION_COV,
    KS_STEP_INNOVATION_STD, /* whitened */
    KS_STEP_LAG_ONE_COV, KS_STEP_OUTPUTS
};

/** A worker's own memory: of one thread of the CPU or of a device. */
typedef struct ks_scan_worker {
    void *scratch;                   /* of the arithmetic in double                        */
    ks_estimates state, results;     /* one estimate each, double                          */
    double *rows[9];                 /* single precision: F Q u H R d y m0 P0, double      */
    double *outputs[KS_STEP_OUTPUTS]; /* results of one step, double                       */
    ks_series wide;                  /* the series of `rows`                               */
    ks_tally tally;
    int doubts;                      /* whether the scan of filtering elements is suspect   */
    int no_transition;               /* single precision: rows of F, Q, u are yet to widen  */
    double moves;                    /* a fault of a scan that was asked: by so many sd     */
    const struct ks_kernels *kernels; /* the CPU's arithmetic in double                    */
} ks_scan_worker;

/** An estimate of a suspect series that is not finite: round-off has been multiplied so far. Whether there is one. */
KS_HD int ks_blame_rounding(ks_tally *tally)
{
    if (tally->bad_step < 0 || tally->bad_array != KS_ARRAY_ESTIMATE || tally->fault != KS_FAULT_NOT_FINITE) return 0;
    tally->fault = KS_FAULT_ILL_CONDITIONED;
    return 1;
}

#endif
