/* gradient_series.h -- the gradient of one series: its memory, and its passes. */
#ifndef KS_GRADIENT_SERIES_H
#define KS_GRADIENT_SERIES_H

#include "gradient_rows.h"
#include "smooth_plan.h"

/** Memory for one series at a time. Estimates are double. */
typedef struct ks_gradient_memory {
    int64_t length;                    /* steps of a segment */
    ks_estimates state, before;
    ks_estimates predicted, filtered;  /* of a segment */
    ks_estimates checkpoints;          /* before each segment */
    unsigned char *form;
    ks_steady *steady;
    ks_gradient_state back;
    double *work;
    void *scratch;
    /* Of a diffuse prior. */
    double *m0, *P0;                   /* with the reference */
    double *X, *predicted_columns, *filtered_columns, *column_checkpoints;
    double *basis;                     /* (d, d) */
    ks_gradient_told told;
} ks_gradient_memory;

void ks_gradient_memory_carve(ks_carver *carver, const ks_smooth_plan *plan, ks_gradient_memory *m);

/** The log-likelihood and the derivatives of a series, which are added to `to`. A (nx, d): the directions of its diffuse
 *  prior, which the observations must tell; d = 0: none. Returns 0, or -1 with the fault in the tally or the run
 *  canceled. */
int ks_gradient_series(ks_plan_run *run, ks_gradient_memory *m, const ks_series *series, int d, const double *A,
                       const ks_sink *to, double *loglik, ks_tally *tally);

#endif
