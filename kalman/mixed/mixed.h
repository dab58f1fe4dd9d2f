/* mixed.h -- KS_MIXED: covariances and gains in single precision, means in double.
 *
 * A twin of each series goes through the kernels of single precision: the model rounded, zeros for
 * u, d and every entry of y that is present, so that its mean stays zero and what it makes is the
 * covariances, the gains and the determinants. The means follow in double, block of steps by block. */
#ifndef KS_MIXED_H
#define KS_MIXED_H

#include "means.h"
#include "smooth_plan.h"
#include "whitened_back.h"

/** A model array of a twin. */
typedef struct ks_twin_array {
    int numbers;       /* of a row                                            */
    int own, varies;   /* not another series' too; whether rows differ        */
    float *rows;       /* of a block, or the one                              */
} ks_twin_array;

enum { KS_TWIN_F, KS_TWIN_Q, KS_TWIN_H, KS_TWIN_R, KS_TWIN_ARRAYS };

/** What a series has beside its twin, which is the group's. */
typedef struct ks_mixed_lane {
    ks_series series;
    double *x;                          /* the mean between steps        */
    ks_evidence evidence;               /* before a block's steps        */
    ks_twin_array array[KS_TWIN_ARRAYS];
    float *y, *gains, *prior;           /* the twin's                    */
    float *mean, *kept;                 /* zeros, also the twin's        */
    float *before, *after;              /* variances on either side of some blocks: ks_look_length() */
    double *behind;                     /* the filtered mean of the step smoothed last   */
    float *pool;
} ks_mixed_lane;

/** Memory of a group. */
typedef struct ks_mixed {
    const ks_means *means;
    int64_t length;  /* steps of a block */
    int64_t pool;    /* floats of a lane's pool */
    float *zeros;    /* the twins' u and d */
    void *work;      /* of the means       */
    ks_mixed_lane lane[KS_LANES_MOST];
} ks_mixed;

/** Blocks are to have `least` steps or more. */
void ks_mixed_carve(ks_carver *carver, const ks_smooth_plan *plan, int lanes, int64_t least,
                    ks_mixed *mixed);

/** Turn the series of the first `lanes` lanes, in double as their means in g->state are, into twins. The
 *  means start as the priors' and stay where they are. */
void ks_mixed_start(const ks_plan_run *run, ks_mixed *mixed, ks_group *g, int lanes);

/** Steps of the group's filter and smoother: in packs, or where that is NULL its one series alone.
 *  Sinks are those of the outputs: means double, all else float. Where the way back comes upon a sharp prediction,
 *  which is in the tally then, no lane is left alive and all of it is void. */
void ks_mixed_filter(const ks_smooth_plan *plan, ks_mixed *mixed, ks_group *g,
                     const ks_pack_kernels *packs, int64_t k0, int64_t k1,
                     const ks_forward_sinks *to, ks_tally *tally);
void ks_mixed_smooth(const ks_smooth_plan *plan, ks_mixed *mixed, ks_group *g,
                     const ks_pack_kernels *packs, int64_t k0, int64_t k1,
                     const ks_forward_sinks *kept, const ks_backward_sinks *to, ks_tally *tally);

/** Steps of lane 0 alone, filtered again for ks_mixed_back() from w->state: to->kept_C, where that is wanted. */
void ks_mixed_whiten(const ks_smooth_plan *plan, ks_mixed *mixed, ks_whitening *w, ks_group *g, int64_t k0, int64_t k1,
                     const ks_forward_sinks *to, ks_tally *tally);

/** Their way back, after ks_whitening_start(), from the last step down. */
void ks_mixed_back(const ks_smooth_plan *plan, ks_mixed *mixed, ks_whitening *w, ks_group *g, int64_t k0, int64_t k1,
                   const ks_forward_sinks *kept, const ks_backward_sinks *to, ks_tally *tally);

/** Transitions into steps t0 .. t1 - 1 and observations of steps k0 .. k1 - 1 of lane 0 to its twin, no
 *  more of them than a block has. */
void ks_mixed_bring(const ks_smooth_plan *plan, const ks_mixed *mixed, ks_group *g, int64_t t0,
                    int64_t t1, int64_t k0, int64_t k1);

/** Whether rounding the mean x in double costs what single precision loses at a sharp prediction (ks_sharp()), its
 *  variance having shrunk in a block of steps: the twin, which has no mean, cannot tell. */
int ks_mixed_is_sharp(double x, double before, double after);

/** From the smoothed estimate of step 0 of lane l, series b, to what the plan puts out of the prior. */
void ks_mixed_prior(ks_plan_run *run, ks_mixed *mixed, ks_group *g, int l, int64_t b, ks_tally *tally);

/** The same after ks_mixed_back(). */
void ks_mixed_back_prior(ks_plan_run *run, ks_mixed *mixed, ks_whitening *w, ks_group *g, int64_t b, ks_tally *tally);

/* Of mixed.c for mixed_back.c. */

/** Rows of a twin that start with `first`. The base may lie before the memory; rows before `first` are
 *  not read. */
ks_rows ks_twin_rows(const float *rows, int64_t numbers, int64_t first);

/** A step of lane l whose mean is not finite: it ends this series and those above it. */
void ks_mixed_fail(ks_group *g, int l, int64_t k, ks_tally *tally);

#endif
