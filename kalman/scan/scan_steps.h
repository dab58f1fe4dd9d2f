/* scan_steps.h -- the data of the steps of the scan methods, on the CPU and on a device.
 *
 * Elements, and the estimates that one phase leaves to the next, are kept in double in every precision: an element
 * holds covariances, and those of a vague prior or a long gap do not fit 24 bits. In single precision the rows of the
 * model are widened step by step, and results are narrowed when they are written. */
#ifndef KS_SCAN_STEPS_H
#define KS_SCAN_STEPS_H

#include "carve.h"
#include "series.h"

/** One series: its model and data, and where all results go. */
typedef struct ks_scan_arrays {
    int single;                      /* model, data and means are float, not double        */
    int single_cov;                  /* covariances that are put out are float             */
    ks_series series;
    ks_forward_sinks to;             /* outputs of the filter                              */
    ks_backward_sinks back;          /* outputs of the smoother                            */
    ks_sink prior_mean, prior_cov;
    ks_estimates filtered, smoothed; /* T estimates in double                              */
    double *loglik_terms;            /* T                                                  */
    void *elements;                  /* one for each step, or an aggregate for each chunk  */
} ks_scan_arrays;

/** Results of one step in a worker's memory. A phase uses those that it does not make as scratch. */
enum {
    KS_STEP_PREDICTED_MEAN, KS_STEP_PREDICTED_COV, KS_STEP_INNOVATION, KS_STEP_INNOVATION_COV,
    KS_STEP_INNOVATION_STD, /* whitened */
    KS_STEP_LAG_ONE_COV, KS_STEP_OUTPUTS
};

/** Memory of a worker: a thread of the CPU or of a device. */
typedef struct ks_scan_worker {
    void *scratch;                   /* of the arithmetic in double                        */
    ks_estimates state, results;     /* one estimate each, double                          */
    double *rows[9];                 /* single precision: F Q u H R d y m0 P0, double      */
    double *outputs[KS_STEP_OUTPUTS]; /* results of one step, double                       */
    ks_series wide;                  /* the series of `rows`                               */
    ks_tally tally;
    int doubts;                      /* the scan of filtering elements is suspect           */
    int no_transition;               /* single precision: rows of F, Q, u are not yet widened */
    double moves;                    /* fault of a disturbed scan: moved by so many sd      */
    const struct ks_kernels *kernels; /* the CPU's arithmetic in double                    */
} ks_scan_worker;

/** In a suspect series, blame round-off for an estimate that is not finite. Return whether there is one. */
KS_HD int ks_blame_rounding(ks_tally *tally)
{
    if (tally->bad_step < 0 || tally->bad_array != KS_ARRAY_ESTIMATE || tally->fault != KS_FAULT_NOT_FINITE) return 0;
    tally->fault = KS_FAULT_ILL_CONDITIONED;
    return 1;
}

#endif
