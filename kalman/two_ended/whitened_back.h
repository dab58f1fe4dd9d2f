/* whitened_back.h -- the way back of a series some of whose predictions are too sharp for steps of the RTS smoother
 * (ks_sharp()): filtered again in the array form alone, and smoothed in the coordinates that its roots whiten
 * (whitened_text.h). Whitened steps are good to a round-off of what the filter knows. Where that is vague beside what the
 * future tells, below the first sharp prediction, steps of the RTS smoother take over. */
#ifndef KS_WHITENED_BACK_H
#define KS_WHITENED_BACK_H

#include "carve.h"
#include "smooth_plan.h"
#include "whitened.h"

typedef struct ks_whitening {
    ks_whitened known;   /* of the step that has been smoothed last  */
    ks_estimates state;  /* of the filter                            */
    ks_estimates prior;  /* as if it were filtered                   */
    ks_estimates behind; /* smoothed, where steps of the RTS smoother go on */
    ks_estimates checkpoints;
    ks_tally filtered;   /* its sharp is the first sharp step, or -1 */
    int left;            /* steps of the RTS smoother have taken over */
    void *work;
} ks_whitening;

/** count: checkpoints, where the caller keeps some of w->state. */
void ks_whitening_carve(ks_carver *carver, const ks_smooth_plan *plan, int64_t count, ks_whitening *w);

/** To begin with the last step, of which nothing is known but what the filter knows, or where the halves meet. */
void ks_whitening_start(const ks_smooth_plan *plan, ks_whitening *w);

/** What has been filtered and what comes of it: steps 0 .. steps - 1 of a series in segments of `length`, the last of
 *  which may be shorter. kept: rows for one segment, none where the smoothed outputs are to keep all of them.
 *  checkpoints: one for each segment where there are several. filtered: the tally of the filter that has left its
 *  rows there, all of them, or NULL. */
typedef struct ks_segments {
    int64_t steps, length;
    ks_estimates kept, checkpoints;
    unsigned char *form; /* rows for a segment */
    const ks_tally *filtered;
} ks_segments;

/** Whether the rows of a filter are those that a rooted one makes, to the bit: it has never left the array form. */
static inline int ks_is_rooted(const ks_tally *filtered)
{
    return filtered->ordinary == 0 && filtered->left == 0;
}

/** From so many states on steps of the RTS smoother in the array form take longer than whitened ones: 3700 ns at six, 3000
 *  whitened, 2100 and 1900 at four. Of fewer states steps that are remembered take less: 330 ns at four, 440 whitened. */
enum { KS_WHITENED_FROM = 5 };

/** Whether the way back of a series is whitened: where it must be, and where it takes less, the filter's rows being
 *  rooted. */
static inline int ks_goes_whitened(int nx, const ks_tally *filtered)
{
    return filtered->sharp >= 0 || (nx >= KS_WHITENED_FROM && ks_is_rooted(filtered));
}

/** The way back of series b from nothing, filter and all, but for what the filter puts out: down from the last step, or
 *  where `information` is not NULL from what that tells of the last of the segments' steps from its right, which has been
 *  put out. Returns 0, or -1 with the fault in the tally or the run canceled. */
int ks_whitening_run(ks_plan_run *run, ks_whitening *w, int64_t b, const ks_series *s, const ks_segments *segments,
                     const ks_information *information, const ks_backward_sinks *to, void *scratch,
                     ks_tally *tally);

#endif
