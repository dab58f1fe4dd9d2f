/* shared.h -- series of one model: where F, Q, u, H, R and P0 are the same for all series, so are the
 * covariances as long as no entry is missing, and are made once for many series (shared.c). */
#ifndef KS_SHARED_H
#define KS_SHARED_H

#include "mixed.h"
#include "smooth_plan.h"
#include "tiled.h"

/** Series at most that run together. */
enum { KS_PARTY = 64 };

/** A series of a party. */
typedef struct ks_member {
    int64_t b;
    ks_series series;
    ks_state state;          /* the covariance counts where it is not the leader's */
    int together;            /* the covariance is the leader's                     */
    ks_forward_sinks forward;
    ks_backward_sinks backward;
    float *before;           /* of KS_MIXED: variances where blocks are looked at  */
    unsigned char *form;     /* of each step, for the way back                     */
    unsigned char *followed; /* of each block, on the way there                    */
    ks_tally tally;
} ks_member;

/** Memory for series that run together. The leader is a series of the same model that observes zeros
 *  only, so that its mean is zero; none of the members' numbers is in it. */
typedef struct ks_party {
    const ks_tiled_kernels *tiled;
    const ks_tiled_kernels *data; /* for the precision of y, which differs in KS_MIXED       */
    int most, count, alive;  /* members; those that are still worth computing, the first ones */
    int64_t length, blocks;  /* steps of a block but the first, blocks of a series            */
    int64_t block;           /* the one that runs                                             */
    ks_member *member;
    ks_series lead;
    ks_state state;          /* of the leader                                                 */
    ks_estimates before;     /* the same before the block                                     */
    ks_form before_form;
    ks_steady before_steady;
    int leads;               /* the leader has come so far                                    */
    int sharp;               /* a prediction is too sharp for the RTS smoother: see ks_sharp() */
    ks_estimates kept, smoothed, checkpoints; /* of a block, of a block, before each block    */
    unsigned char *form, *checkpoint_form;
    ks_steady *checkpoint_steady;
    char *filter_gains, *smooth_gains;
    void *means;             /* of followers, before they follow                              */
    void *scratch;
    ks_mixed mixed;          /* of KS_MIXED: for members who go alone, and for the leader's   */
    ks_group group;          /* model, which is the twin's                                    */
} ks_party;

/** Whether the series of a run have one model. It decides which arithmetic a series takes: that of one
 *  series, and not of packs, but for those with many gaps. */
int ks_shared_model(const ks_plan_run *run);

/** Whether most blocks of series b have a missing entry. */
int ks_shared_gaps(const ks_plan_run *run, int64_t b);

/** Whether runs of the plan may have parties. */
int ks_shared_planned(const ks_smooth_plan *plan);

void ks_party_carve(ks_carver *carver, const ks_smooth_plan *plan, void *scratch, ks_party *party);

/** Run the series `b` (count <= party->most, ascending): each comes to the bits that it comes to alone.
 *  Returns the place of the first that fails, with its fault in its tally, or count; 0 where the run
 *  has been canceled. Where party->sharp is set afterwards all of them are to be run alone. */
int ks_party_run(ks_plan_run *run, ks_party *party, const int64_t *b, int count);

#endif
