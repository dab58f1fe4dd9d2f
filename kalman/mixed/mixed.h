/* mixed.h -- KS_MIXED: covariances and gains in single precision, means in double.
 *
 * A twin of each series runs through the kernels of single precision. It has the rounded model, and zeros for u, d and
 * every present entry of y. So its mean stays zero, and its results are the covariances, the gains and the
 * determinants. The means follow in double, block of steps by block. */
#ifndef KS_MIXED_H
#define KS_MIXED_H

#include "means.h"
#include "smooth_plan.h"
#include "whitened_back.h"

/** A model array of a twin. */
typedef struct ks_twin_array {
    int numbers;       /* of a row                                            */
    int own, varies;   /* not shared with another series; rows differ         */
    float *rows;       /* of a block, or the only one                         */
} ks_twin_array;

enum { KS_TWIN_F, KS_TWIN_Q, KS_TWIN_H, KS_TWIN_R, KS_TWIN_ARRAYS };

/** The part of a series that is not in its twin. The twin is in the group. */
typedef struct ks_mixed_lane {
    ks_series series;
    double *x;                          /* the mean between steps        */
    ks_evidence evidence;               /* before the steps of a block   */
    ks_twin_array array[KS_TWIN_ARRAYS];
    float *y, *gains, *prior;           /* of the twin                   */
    float *mean, *kept;                 /* zeros; of the twin            */
    float *before, *after;              /* variances before and after blocks: ks_look_length() */
    double *behind;                     /* the filtered mean of the last smoothed step   */
    float *pool;
} ks_mixed_lane;

/** Memory of a group. */
typedef struct ks_mixed {
    const ks_means *means;
    int64_t length;  /* steps of a block */
    int64_t pool;    /* floats of a lane's pool */
    float *zeros;    /* u and d of the twins */
    void *work;      /* of the means       */
    ks_mixed_lane lane[KS_LANES_MOST];
} ks_mixed;

/** Carve the memory of `lanes` lanes. Blocks have at least `least` steps. */
void ks_mixed_carve(ks_carver *carver, const ks_smooth_plan *plan, int lanes, int64_t least,
                    ks_mixed *mixed);

/** Turn the series of the first `lanes` lanes into twins. Series, and means in g->state, are double. The means start
 *  with those of the priors, and stay in their place. */
void ks_mixed_start(const ks_plan_run *run, ks_mixed *mixed, ks_group *g, int lanes);

/** Take filter or smoother steps of the group: in packs, or of its one series alone if `packs` is NULL. Sinks are those
 *  of the outputs: means double, all else float. If the way back finds a sharp prediction, which then is in the tally,
 *  no lane is left alive and all results are void. */
void ks_mixed_filter(const ks_smooth_plan *plan, ks_mixed *mixed, ks_group *g,
                     const ks_pack_kernels *packs, int64_t k0, int64_t k1,
                     const ks_forward_sinks *to, ks_tally *tally);
void ks_mixed_smooth(const ks_smooth_plan *plan, ks_mixed *mixed, ks_group *g,
                     const ks_pack_kernels *packs, int64_t k0, int64_t k1,
                     const ks_forward_sinks *kept, const ks_backward_sinks *to, ks_tally *tally);

/** Filter steps of lane 0 alone again, from w->state, for ks_mixed_back(). It fills to->kept_C, if that is wanted. */
void ks_mixed_whiten(const ks_smooth_plan *plan, ks_mixed *mixed, ks_whitening *w, ks_group *g, int64_t k0, int64_t k1,
                     const ks_forward_sinks *to, ks_tally *tally);

/** Take these steps back, after ks_whitening_start(), from the last step down. */
void ks_mixed_back(const ks_smooth_plan *plan, ks_mixed *mixed, ks_whitening *w, ks_group *g, int64_t k0, int64_t k1,
                   const ks_forward_sinks *kept, const ks_backward_sinks *to, ks_tally *tally);

/** Give the twin of lane 0 the transitions into steps t0 .. t1 - 1 and the observations of steps k0 .. k1 - 1, at most
 *  as many as a block has. */
void ks_mixed_bring(const ks_smooth_plan *plan, const ks_mixed *mixed, ks_group *g, int64_t t0,
                    int64_t t1, int64_t k0, int64_t k1);

/** Return whether rounding the mean x in double costs what single precision loses at a sharp prediction (ks_sharp()),
 *  if its variance has shrunk in a block of steps. The twin cannot tell, since it has no mean. */
int ks_mixed_is_sharp(double x, double before, double after);

/** Put out the smoothed prior of series b in lane l, from the smoothed estimate of step 0. */
void ks_mixed_prior(ks_plan_run *run, ks_mixed *mixed, ks_group *g, int l, int64_t b, ks_tally *tally);

/** The same after ks_mixed_back(). */
void ks_mixed_back_prior(ks_plan_run *run, ks_mixed *mixed, ks_whitening *w, ks_group *g, int64_t b, ks_tally *tally);

/* Functions of mixed.c for mixed_back.c. */

/** Return rows of a twin that start with row `first`. The base may lie before the memory; earlier rows are not read. */
ks_rows ks_twin_rows(const float *rows, int64_t numbers, int64_t first);

/** Report a step of lane l whose mean is not finite. It ends this series and those above it. */
void ks_mixed_fail(ks_group *g, int l, int64_t k, ks_tally *tally);

#endif
