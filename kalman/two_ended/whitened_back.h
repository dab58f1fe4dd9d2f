/* whitened_back.h -- the way back of a series with predictions that are too sharp for steps of the RTS smoother
 * (ks_sharp()). The series is filtered again in the array form only, and smoothed in the coordinates that the filter's
 * roots whiten (whitened_text.h). The error of whitened steps is one round-off of what the filter knows. Where the
 * filter's knowledge is vague compared with that of the future, below the first sharp prediction, steps of the RTS
 * smoother take over. */
#ifndef KS_WHITENED_BACK_H
#define KS_WHITENED_BACK_H

#include "double_back.h"
#include "smooth_plan.h"
#include "whitened.h"

typedef struct ks_whitening {
    ks_whitened known;   /* of the step smoothed last                */
    ks_estimates state;  /* of the filter                            */
    ks_estimates prior;  /* as if it were a filtered estimate        */
    ks_estimates behind; /* smoothed, of the step smoothed last      */
    ks_estimates checkpoints;
    ks_tally filtered;   /* its `sharp` is the first sharp step, or -1 */
    int left;            /* steps of the RTS smoother have taken over */
    int lenient;         /* they may divide by round-off: there is no other way left */
    void *work;
    ks_double_back doubled; /* single precision: the way back that is tried first */
} ks_whitening;

/** count: number of checkpoints, if the caller keeps copies of w->state. */
void ks_whitening_carve(ks_carver *carver, const ks_smooth_plan *plan, int64_t count, ks_whitening *w);

/** Start at the last step, about which only the filter knows something, or where the halves meet. */
void ks_whitening_start(const ks_smooth_plan *plan, ks_whitening *w);

/** The part of a series to be smoothed: steps 0 .. steps - 1 in segments of `length`, the last of which may be shorter.
 *  kept: rows for one segment; NULL: the smoothed outputs keep all of them. checkpoints: one for each segment if there
 *  are several. filtered: the tally of the filter whose rows are all there; NULL: the series must be filtered first. */
typedef struct ks_segments {
    int64_t steps, length;
    ks_estimates kept, checkpoints;
    unsigned char *form; /* rows for a segment */
    const ks_tally *filtered;
} ks_segments;

/** Whether a filter has never left the array form. Its rows are then those of a rooted one, to the bit. */
static inline int ks_is_rooted(const ks_tally *filtered)
{
    return filtered->ordinary == 0 && filtered->left == 0;
}

/** Least number of states for which whitened steps are faster than steps of the RTS smoother in the array form.
 *  Measured: 3700 ns at six states, 3000 ns whitened; 2100 and 1900 ns at four. With up to four states, RTS steps from
 *  the memo are faster: 330 ns at four, 440 ns whitened. */
enum { KS_WHITENED_FROM = 5 };

/** Whether the way back of a series is whitened: if it must be, or if that is faster and the filter's
 *  rows are rooted. */
static inline int ks_goes_whitened(int nx, const ks_tally *filtered)
{
    return filtered->sharp >= 0 || (nx >= KS_WHITENED_FROM && ks_is_rooted(filtered));
}

/** The way back of series b: in single precision in double if that will do (double_back.h), else whitened. Filters
 *  first, unless segments->filtered, without the filter's outputs. Then smooths from the last step down. information:
 *  where the halves of a series have met, about the last step from later observations, in the array form; the smoothed
 *  estimate of that step has been written already. Else NULL. Returns 0, or -1 with the fault in the tally or the run
 *  canceled. */
int ks_whitening_run(ks_plan_run *run, ks_whitening *w, int64_t b, const ks_series *s, const ks_segments *segments,
                     const ks_information *information, const ks_backward_sinks *to, void *scratch, ks_tally *tally);

#endif
