/* shared.h -- series of one model: if F, Q, u, H, R and P0 are the same for all series, so are the covariances as long
 * as no entry is missing. They are made once for many series (shared.c). */
#ifndef KS_SHARED_H
#define KS_SHARED_H

#include "mixed.h"
#include "smooth_plan.h"
#include "tiled.h"

/** Most series that run together. */
enum { KS_PARTY = 64 };

/** A series of a party. */
typedef struct ks_member {
    int64_t b;
    ks_series series;
    ks_state state;          /* the covariance is used only if not the leader's    */
    int together;            /* the covariance equals the leader's                 */
    ks_forward_sinks forward;
    ks_backward_sinks backward;
    float *before;           /* KS_MIXED: variances at the last look               */
    unsigned char *form;     /* of each step, for the way back                     */
    unsigned char *followed; /* of each block: it followed on the way there        */
    ks_tally tally;
} ks_member;

/** Memory of a party, that is of series that run together. The leader is a series of the same model that observes zeros
 *  only, so its mean is zero. It has no number of the members. */
typedef struct ks_party {
    const ks_tiled_kernels *tiled;
    const ks_tiled_kernels *data; /* for the precision of y, which differs in KS_MIXED       */
    int most, count, alive;  /* members; those still to be computed, the first ones           */
    int64_t length, blocks;  /* steps of a block but the short ones, blocks of a series       */
    int64_t block;           /* the current one                                               */
    ks_member *member;
    ks_series lead;
    ks_state state;          /* of the leader                                                 */
    ks_estimates before;     /* of the leader before the block                                */
    ks_form before_form;
    ks_steady before_steady;
    int leads;               /* the leader has not failed so far                              */
    int sharp;               /* a prediction is too sharp for the RTS smoother: see ks_sharp() */
    ks_estimates kept, smoothed, checkpoints; /* of a block, of a block, before each block    */
    unsigned char *form, *checkpoint_form;
    ks_steady *checkpoint_steady;
    char *filter_gains, *smooth_gains;
    void *means;             /* of followers, before they follow                              */
    void *scratch;
    ks_mixed mixed;          /* KS_MIXED: for members alone, and for the leader's model,      */
    ks_group group;          /* which is that of the twin                                     */
} ks_party;

/** Return whether the series of a run have one model. Then they run in the arithmetic of single series and not in
 *  packs, except those with many gaps. */
int ks_shared_model(const ks_plan_run *run);

/** Return whether most blocks of series b have a missing entry. */
int ks_shared_gaps(const ks_plan_run *run, int64_t b);

/** Return whether runs of the plan may have parties. */
int ks_shared_planned(const ks_smooth_plan *plan);

void ks_party_carve(ks_carver *carver, const ks_smooth_plan *plan, void *scratch, ks_party *party);

/** Run the series `b` (count <= party->most, ascending). Each has the bits that it has alone. Return the index of the
 *  first that fails, with the fault in its tally; count if none does; 0 if the run was canceled. If party->sharp is set
 *  afterwards, all of them must be run alone. */
int ks_party_run(ks_plan_run *run, ks_party *party, const int64_t *b, int count);

#endif
