/* meet_back.h -- the way back of a series some of whose predictions may be too sharp for steps of the RTS
 * smoother (ks_sharp()): those behind the last of them as ever, those before it from where the filter meets the
 * information on what follows. */
#ifndef KS_MEET_BACK_H
#define KS_MEET_BACK_H

#include "carve.h"
#include "smooth_plan.h"
#include "two_ended.h"

typedef struct ks_meeting {
    int64_t sharp;              /* the last step whose prediction is, as far as is known, or -1    */
    ks_information information; /* on step `at`, from those after it                               */
    int64_t at;
    int given_up;               /* R is singular there: the rest goes by steps of the RTS smoother */
    ks_estimates prior;         /* as if it were filtered                                          */
    void *work;
} ks_meeting;

void ks_meeting_carve(ks_carver *carver, const ks_smooth_plan *plan, ks_meeting *m);

/** Nothing follows the last step. sharp: ks_tally.sharp of the steps that have been filtered. */
void ks_meeting_start(const ks_run *run, ks_meeting *m, int64_t sharp);

/** Steps k1 - 1 .. k0 as ks_smooth_blocks() takes them, kept being watched; ranges follow on one another from
 *  the last step down. */
int ks_meeting_smooth(ks_run *run, ks_meeting *m, const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                      const ks_forward_sinks *kept, const ks_backward_sinks *to, void *scratch,
                      ks_tally *tally);

/** ks_smooth_start() after it. */
void ks_meeting_prior(ks_run *run, ks_meeting *m, int64_t b, const ks_series *s, ks_state *state, void *scratch,
                      ks_tally *tally);

#endif
