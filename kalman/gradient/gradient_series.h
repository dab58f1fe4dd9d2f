/* gradient_series.h -- the gradient of one series: its memory, and its passes. */
#ifndef KS_GRADIENT_SERIES_H
#define KS_GRADIENT_SERIES_H

#include "checkpoints.h"
#include "gradient_rows.h"
#include "smooth_plan.h"

/** Memory for one series at a time. Estimates are double. */
typedef struct ks_gradient_memory {
    ks_checkpoints checkpoints;
    ks_estimates state, before;
    ks_estimates predicted, filtered;  /* of a segment */
    ks_gradient_state back;
    double *work;
    void *scratch;
    /* Of a diffuse prior. */
    double *m0, *P0;                   /* with what the directions add to them */
    double *A;                         /* (nx, d), by their widths */
    double *X, *predicted_columns, *filtered_columns, *column_checkpoints;
    double *basis;                     /* (d, d) */
    ks_gradient_told told;
} ks_gradient_memory;

void ks_gradient_memory_carve(ks_carver *carver, const ks_smooth_plan *plan, ks_gradient_memory *m);

/** The directions of a diffuse prior, x = m0 + A delta + w, delta flat. The observations tell of delta that it is about
 *  as far from `centre` as `width`, or nearer. */
typedef struct ks_directions {
    int count;                    /* 0: the prior is finite */
    const double *A;              /* (nx, count)            */
    const double *centre, *width; /* (count)                */
} ks_directions;

/** The log-likelihood and the derivatives of a series, which are added to `to`. Returns 0, or -1 with the fault in the
 *  tally or the run canceled. */
int ks_gradient_series(ks_plan_run *run, ks_gradient_memory *m, const ks_series *series,
                       const ks_directions *directions, const ks_sink *to, double *loglik, ks_tally *tally);

#endif
