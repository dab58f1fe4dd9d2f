/* start.h -- the first steps of a series whose prior is infinite in some directions; of it gradients use directions and
 * their reference.
 *
 * With P0_inf = A A' the prior is x = m0 + A delta + w, w ~ N(0, P0), delta (d) flat. The first steps are those of an
 * ordinary model with the states z = (x, eta), where
 *
 *     delta = centre + diag(width) eta,   eta ~ N(0, I)
 *
 * is a reference in place of the flat prior. Its density is divided out of each estimate afterwards, which is exact
 * whatever centre and width are (limit.c). They only have to suit what the observations tell of delta, so that no
 * digits are lost (reference.c). Which directions the observations tell at all is found without any variance
 * (unknown.c). */
#ifndef KS_DIFFUSE_START_H
#define KS_DIFFUSE_START_H

#include <float.h>
#include <math.h>
#include "carve.h"
#include "kalscan/smooth.h"
#include "smooth_plan.h"

/** The start of one series. n states, m entries of y, d directions, N = n + d. */
typedef struct ks_start {
    const ks_smooth_plan *plan; /* of all steps */
    ks_series series;           /* the caller's arrays, conventions resolved  */
    int64_t number;             /* of the series */
    size_t bytes;               /* of a number of the model and the means     */
    int n, m, d, N;
    double tiny;                /* relative size of what round-off of model and data may leave of a zero */
    double grain;               /* a number of the model so much smaller than others counts as round-off of a zero */
    double *A;                  /* (n, n), of which n x d are used: A[i * d + c] */
    double *centre;             /* (d) */
    double *width;              /* (d) */
    double *move, *look;        /* scratch for a transition, a row of y, or roots; and for one H (m, n) or a row (n) */
    ks_carver memory;
} ks_start;

/** Make the start of series b of the run: its directions, with a reference of N(0, I). zeros: of the run. Returns
 *  KS_ENOMEM; to be freed with ks_start_free(), also then. */
ks_status ks_start_make(ks_start *start, const ks_plan_run *run, ks_view P0_inf, int64_t b);
void ks_start_free(ks_start *start);

/** Copy step k's block of (rows, columns) numbers to `to`, whose rows are `apart` apart, in double. */
void ks_start_read(const ks_start *start, ks_rows from, int64_t k, int rows, int columns, double *to, int apart);
/** F of step k; the identity where step k has no transition. */
void ks_start_transition(const ks_start *start, int64_t k, double *F);
/** Whether no transition leads into step k, the prior being that of x[0]. */
static inline int ks_start_stays(const ks_start *start, int64_t k) { return k == 0 && start->series.prior_x1; }

/** The directions of delta that observations do not tell so far, by the transitions and observations alone.
 *
 *  Rows of U (d, d) are orthonormal. The first q of them are such directions, and rows c of X (d, n), c < q, are what
 *  they are in the state: X[c] = F ... F A U[c]'. */
typedef struct ks_unknown {
    int n, d, q;
    double tiny, grain;
    double *U, *X;
    double *terms;  /* (d, d): sizes of what entries of U are the sums of, at most 1 */
    double *whole;  /* (d, n): rows F ... F A e_c, X[c] = sum over e of U[c, e] whole[e] */
    double *size;   /* (d, n): of each direction, the size of the terms that X is the sum of */
    double *all;    /* (n): of all directions, told or not, the size of what they are in each state */
    double *moved;  /* (n) scratch */
    double *shares; /* (d) scratch */
} ks_unknown;

void ks_unknown_carve(ks_carver *carver, const ks_start *start, ks_unknown *unknown);
/** In memory of its own, for ks_start_release(). Returns 0 where there is none. */
int ks_unknown_make(ks_unknown *unknown, const ks_start *start, ks_carver *memory);
/** Before the first step. Uses A and d of the start alone. */
void ks_unknown_start(ks_unknown *unknown, const ks_start *start);
/** After the transition of step k, and after its observations. */
void ks_unknown_move(ks_unknown *unknown, const ks_start *start, int64_t k);
void ks_unknown_observe(ks_unknown *unknown, const ks_start *start, int64_t k);
/** Take one direction from those that are not told, if a sum of states with coefficients h (n) tells one. */
void ks_unknown_tell(ks_unknown *unknown, const double *h);
/** Whether the state still has a part that is not told. A transition may have ended what directions were in it. */
int ks_unknown_left(const ks_unknown *unknown);
/** From before the first step on: the number of steps after which all of the state is told, or as much of it as ever is
 *  (*all: 0). */
int64_t ks_unknown_steps(ks_unknown *unknown, const ks_start *start, int *all);
/** Whether a sum of states with coefficients h (n) has a part that is not told. */
int ks_unknown_reaches(const ks_unknown *unknown, const double *h);
/** The covariance, for an infinite prior, of two sums of states whose parts along the directions that are not told are
 *  given, `apart` numbers apart: inf, -inf, or 0 where it is finite. */
double ks_unknown_entry(const ks_unknown *unknown, const double *a, const double *b, int apart);

/** The flat prior's limit of an estimate. */
typedef struct ks_limit {
    double *mean;      /* (n) */
    double *cov;       /* (n, n): the finite part */
    double evidence;   /* to be added to the log-likelihood of the model with the reference */
    int known;         /* r: directions that are told */
    double *told_mean; /* (r): E(G eta), of the model with the reference */
    double *told_cov;  /* (r, r): Cov(G eta), of the same */
    double *G;         /* (r, d): orthonormal rows */
    double *R;         /* (r, r): U_told diag(width) = R G, lower triangular */
    double *held;      /* (n, r): Cov(x, G eta) */
    double *rest;      /* (r, r) and (r): factor of I - told_cov */
    double *scratch;
} ks_limit;

void ks_limit_carve(ks_carver *carver, const ks_start *start, ks_limit *limit);
/** Find the limit for z ~ N(mean (N), cov (N, N)). Returns 0, or -1 where no digits are left. */
int ks_limit_find(ks_limit *limit, const ks_start *start, const ks_unknown *unknown, const double *mean,
                  const double *cov);

/** cov (m, m) <- H Cov(x) H' in the limit, inf and -inf where there is none. Rows of H are `apart` apart. scratch: (m, n)
 *  and (m, d). Returns whether all that is finite has numbers. */
int ks_limit_look(const ks_limit *limit, const ks_unknown *unknown, int m, const double *H, int apart, double *scratch,
                  double *cov);

/** The model and data of z for some steps, each array given step by step, under KS_PRIOR_X0. */
typedef struct ks_start_arrays {
    int N, entries;      /* at least m: those beyond are missing */
    double *F, *Q, *u, *H, *R, *d, *y, *m0, *P0;
} ks_start_arrays;

void ks_start_arrays_carve(ks_carver *carver, ks_start_arrays *arrays, int64_t steps, int N, int entries);
/** Put step k of the series at step `at` of the arrays. */
void ks_start_place(const ks_start *start, int64_t k, int64_t at, ks_start_arrays *arrays);
/** Make step `at` one in which z stays and nothing is observed. */
void ks_start_stay(int64_t at, ks_start_arrays *arrays);
/** The prior of z. */
void ks_start_prior(const ks_start *start, ks_start_arrays *arrays);
/** As arguments of a run. */
ks_model ks_start_model(const ks_start_arrays *arrays);
ks_view ks_start_observations(const ks_start_arrays *arrays);

/** A filter of z, window by window. */
typedef struct ks_start_filter {
    const ks_start *start;
    ks_smooth_plan *plan;     /* of a window */
    int64_t steps;            /* in a window */
    ks_start_arrays in;
    double *predicted_mean, *predicted_cov, *filtered_mean, *filtered_cov, *terms, *loglik;
    ks_unknown unknown;
    ks_limit limit;
    int64_t found;            /* steps after which `limit` is, or 0 */
    int64_t missing;          /* entries of y */
    void *work;
    ks_carver memory;
} ks_start_filter;

/** What a visitor is told of a step. */
typedef struct ks_start_step {
    int64_t k;
    int observed;              /* 0: predicted, 1: filtered */
    const double *mean, *cov;  /* of z */
    const double *H, *R, *d, *y; /* rows of H are N apart */
    double loglik;             /* of the reference's model, up to and with the step where it is observed */
} ks_start_step;

/** Called for the prediction and for the estimate of each step. A status other than KS_OK ends the sweep. */
typedef ks_status ks_start_visitor(void *user, ks_start_filter *filter, const ks_start_step *step);

ks_status ks_start_filter_make(ks_start_filter *filter, const ks_start *start, int64_t steps);
void ks_start_filter_free(ks_start_filter *filter);
/** Filter steps 0 .. end - 1. visit may be NULL. Afterwards filter->limit is that of step end - 1, and `unknown` too.
 *  info tells failures, as steps of the series. *loglik is the limit's. */
ks_status ks_start_sweep(ks_start_filter *filter, int64_t end, ks_start_visitor *visit, void *user, double *loglik,
                         ks_info *info);

/** Choose centre and width by what steps 0 .. end - 1 tell of delta. */
ks_status ks_start_refer(ks_start *start, ks_start_filter *filter, int64_t end, ks_info *info);

/** Most steps after those that tell all directions that a reference looks at. */
enum { KS_START_MORE = 64 };
/** Choose them anew, by more steps, if steps behind `end` tell so much more that a reference that suits those before
 *  would hide it: the first observation may tell next to nothing of a direction. The filter is then of these steps. */
ks_status ks_start_refer_later(ks_start *start, ks_start_filter *filter, int64_t end, ks_info *info);
/** Return KS_EREFUSED if beside this reference more than some 1e-6 is lost of what such steps tell. */
ks_status ks_start_keeps_later(const ks_start *start, int64_t end, ks_info *info);

/** Find how many first steps, at least `told`, leave a state whose covariance later steps can start from without losing
 *  digits. */
ks_status ks_start_settle(ks_start_filter *filter, int64_t told, int64_t *steps, ks_info *info);

/** What a run of the later steps makes of the state before them: of N(before, prior_cov) it makes N(mean, cov). All are
 *  of n states in double. */
typedef struct ks_start_later {
    const double *prior_cov, *mean, *cov;
} ks_start_later;

/** Smooth steps 0 .. steps - 1. before: E(x[steps - 1]) given y[0..steps-1]. later: from the covariance of that state;
 *  NULL: no steps follow. wider: from a larger one; NULL: there is no such run. Writes the plan's smoothed outputs. */
ks_status ks_start_smooth(ks_start *start, const ks_outputs *outputs, int64_t steps, const double *before,
                          const ks_start_later *later, const ks_start_later *wider, ks_info *info);

/** Whether P (n, n) is far enough from singular for later steps to start from it. W (n, n) and scratch, of
 *  ks_whiten_scratch() numbers, are used. */
int ks_start_settled(int n, const double *P, double *W, double *scratch);

/** W (n, n) <- rows that are combinations of states with variance 1 under P (n, n), zero for those without a variance.
 *  *least becomes the smallest eigenvalue of P scaled to correlations. scratch: ks_whiten_scratch() numbers. Returns 0,
 *  or -1 where eigenvalues were not found. */
int ks_whiten(int n, const double *P, double *W, double *least, double *scratch);
size_t ks_whiten_scratch(int n);

/** Filter steps 0 .. steps - 1 and write the plan's filtered outputs. *loglik is the log-likelihood of these steps,
 *  and filter->limit the estimate at the last of them. */
ks_status ks_start_write(ks_start_filter *filter, const ks_outputs *outputs, int64_t steps, double *loglik,
                         ks_info *info);

/** Allocate what a carver at NULL has measured, for carving it once more. Returns 0 where there is no memory. */
static inline int ks_start_allocate(ks_context *context, const ks_carver *measured, ks_carver *place)
{
    const size_t bytes = ks_carved_bytes(measured);
    *place = ks_carver_at(bytes == SIZE_MAX ? NULL : ks_allocate(context, bytes));
    return place->base != NULL;
}
static inline void ks_start_release(ks_context *context, ks_carver *place)
{
    ks_carve_end(place);
    ks_release(context, place->base);
    place->base = NULL;
}

/** Whether numbers of so many bytes hold these: they are finite there. */
static inline int ks_start_holds(int64_t count, const double *a, size_t bytes)
{
    const double most = bytes == sizeof(double) ? DBL_MAX : (double)FLT_MAX;
    for (int64_t i = 0; i < count; ++i)
        if (!(fabs(a[i]) <= most)) return 0;
    return 1;
}

/** Write `count` doubles as the numbers of an output; nothing without a base. */
void ks_start_put(ks_sink sink, int64_t k, size_t bytes, int64_t count, const double *from);

/** Blocks of an input and an output that follow each other. */
static inline ks_view ks_blocks_in(const void *data, size_t block)
{
    const ks_view v = { data, (int64_t)block, (int64_t)block };
    return v;
}
static inline ks_out ks_blocks_out(void *data, size_t block)
{
    const ks_out o = { data, (int64_t)block, (int64_t)block };
    return o;
}

#endif
