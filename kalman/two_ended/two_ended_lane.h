/* two_ended_lane.h -- a series that is smoothed from both ends: memory of its halves, their ways in and out, and the
 * middle. Driven by two_ended_run.c and automatic.c. */
#ifndef KS_TWO_ENDED_LANE_H
#define KS_TWO_ENDED_LANE_H

#include "smooth_plan.h"
#include "two_ended.h"
#include "whitened_back.h"

/** One half of a series: its state, the rows of the current segment, and one checkpoint for each segment. */
typedef struct ks_half {
    void *scratch;
    ks_estimates state;         /* left: filtered, right: information                  */
    ks_estimates again;         /* the same while a segment is done again              */
    ks_estimates smoothed;
    ks_estimates kept;          /* of a segment                                        */
    ks_estimates checkpoints;
    unsigned char *form, *checkpoint_form; /* left                                     */
    ks_steady *checkpoint_steady; /* left                                              */
    void *K, *bound;            /* right                                               */
    unsigned char *passage;     /* right                                               */
    int64_t segments, length;
    ks_tally in, out;
    ks_form out_form;           /* of the smoothed state                               */
    double error;               /* right: of an R that is too ill-conditioned          */
} ks_half;

typedef struct ks_lane {
    ks_plan_run *run;
    int64_t b;                  /* the series */
    ks_series series;
    ks_backward_sinks back;
    ks_half left, right;
    int64_t left_steps;         /* the remaining steps, possibly none, are the right half's */
    int gives_up;               /* whether one half alone is to go on if steps of the left half repeat at its end */
    int looks;                  /* whether it checks early if they do                        */
    int rounds;                 /* whether it is to go on if a prediction of the left half is sharp */
    atomic_int alone;           /* it is to, and the right half is no longer needed          */
    ks_form form;               /* of the information in the right half */
    double size;                /* of observations, see ks_right_rows   */
    int inverts;                /* see ks_two_ended_kernels             */
    ks_form left_form;          /* of the filtered state in the middle  */
    ks_steady left_steady;
    ks_evidence met;
    ks_whitening whitening;     /* of the left half */
    int left_rc, right_rc;      /* 0; -1 failed; 1 the ordinary form of the information is not good enough */
    int64_t tried;              /* steps of the right half that ks_lane_try_out() has smoothed */
    ks_tally total;
    int64_t failed;             /* the series that failed, or -1 */
    double error;               /* of its right half             */
} ks_lane;

/** Steps of the left half of one series; the fewest and the most of any series, for which memory is made. */
int64_t ks_left_steps_of(const ks_plan_run *run, const ks_series *s);
int64_t ks_left_steps_least(const ks_smooth_plan *plan);
int64_t ks_left_steps_most(const ks_smooth_plan *plan);

/** The largest sum over (y - d)² / R_ii of a row, of some rows spread over the series. */
double ks_size_of_observations(const ks_smooth_plan *plan, const ks_series *s);

/** Whether one half alone is faster than both if its steps repeat; and whether they may repeat early, which needs a
 *  model that allows it and no sign of missing entries. */
int ks_alone_where_repeated(const ks_lane *l);
int ks_may_repeat_early(const ks_lane *l);

/** Whether most covariances of the left half just before step `end` equal those of a few steps before. */
int ks_left_repeats(const ks_lane *l, int64_t end);

void ks_lane_carve(ks_carver *carver, const ks_smooth_plan *plan, ks_lane *l);

/** Prepare the lane for series b. */
void ks_lane_open(ks_lane *l, int64_t b);

/** The way in, or out once the halves have met, of one half. The outcome goes to left_rc or right_rc. */
void ks_lane_in(ks_lane *l, int right);
void ks_lane_out(ks_lane *l, int right);

/** Compute the smoothed state in the middle, for both halves, once both have come in. */
void ks_lane_meet(ks_lane *l);

/** Smooth the first steps of the right half's way out. Returns as its way out does. */
int ks_lane_try_out(ks_lane *l);

/** Where the filter of the left half keeps the estimates of segment i. */
ks_forward_sinks ks_left_rows(const ks_lane *l, int64_t i);

/** Write the log-likelihood of a series and add up its tallies. Returns 0, or -1 if it failed. */
int ks_lane_close(ks_lane *l);

/** Run `half` for both halves of each of `count` lanes, in parallel. */
void ks_lanes_both(ks_plan_run *run, ks_lane *lanes, int count, void (*half)(ks_lane *l, int right));

#endif
