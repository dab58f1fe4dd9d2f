/* series.h -- one series as the steps see it: conventions resolved, strides in bytes.
 *
 * Row k of these arrays belongs to step k, whatever the caller's layout, series and transition convention. The drivers
 * make one ks_series for each of the B series (series.c). */
#ifndef KS_SERIES_H
#define KS_SERIES_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include "hd.h"
#include "kalscan/smooth.h"

typedef struct ks_rows { const char *base; int64_t stride; } ks_rows;

/** Where rows go: row k is (k - first) strides from base. */
typedef struct ks_sink { char *base; int64_t stride, first; } ks_sink;

/** Means and square matrices: one of each, or arrays of them. */
typedef struct ks_estimates { void *mean, *cov; } ks_estimates;

typedef struct ks_series {
    int nx, ny;
    int prior_x1;        /* the prior is that of x[0]: no transition into step 0 */
    int64_t steps;       /* T                                                    */
    int64_t all_steps;   /* of all series of the call; 0: stores never bypass the caches */
    ks_steady_state steady_state; /* how covariances of a constant model are treated      */
    int64_t shift;       /* row k - shift of F, Q, u leads into step k           */
    ks_rows F, Q, u, H, R, d, y;
    const void *m0, *P0;
} ks_series;

/* Interval, in steps, at which the conditioning of the covariance is checked to choose the form. */
#define KS_LOOK 32
/** Whether the covariance before step k is checked. */
#define KS_IS_LOOKED_AT(k) ((k) % KS_LOOK == KS_LOOK - 1)
/* Least pivot of a covariance as a share of its variance: the part that the states before it leave. Below it, too few
 * digits remain for the results: they need nine in double and three in single precision. bytes: size of a number. */
#define KS_LEAST_LEFT(bytes) ((bytes) == 8 ? 1e-7 : 2.5e-4)
/* Interval, in steps, at which predictions are checked by ks_sharp() of range_text.h. The last step is checked, too. */
#define KS_SHARP_LOOK 8

/** Progress of a constant model's covariances towards a steady state (tiled/steady_text.h):
 *
 *      UNKNOWN   no sign of a steady state
 *      ASKED     they hardly move, and may repeat
 *      REPEATS   they repeat to the bit
 *      REFUSED   they do not repeat, and must not be held
 *      HELD      they are held */
typedef enum ks_steady_stage {
    KS_STEADY_UNKNOWN = 0,
    KS_STEADY_ASKED,
    KS_STEADY_REPEATS,
    KS_STEADY_REFUSED,
    KS_STEADY_HELD
} ks_steady_stage;
typedef struct ks_steady {
    ks_steady_stage stage;
    uint64_t mark, given; /* hashes: of the covariance when asked, of the filtered one that a smoother step takes */
} ks_steady;
#define KS_NOT_STEADY { KS_STEADY_UNKNOWN, 0, 0 }

/** The estimate between two steps. C (nx, nx) is the covariance P in the ordinary form. In the array form it is any S
 *  with S Sᵀ = P. */
typedef enum ks_form { KS_FORM_ORDINARY = 0, KS_FORM_ARRAY = 1 } ks_form;
/** Kept in place of a form: the form is ordinary, and C was not stored because it equals that of the step before. */
#define KS_KEPT_BEFORE 2
typedef struct ks_state {
    void *x, *C;
    ks_form form;
    ks_steady steady;
} ks_state;

/** Where the filter's results go. base NULL: the result is not wanted. kept_mean, kept_C and form carry the estimates
 *  to the backward pass: mean, C and its form. */
typedef struct ks_forward_sinks {
    ks_sink predicted_mean, predicted_cov, predicted_var;
    ks_sink filtered_mean, filtered_cov, filtered_var;
    ks_sink innovation, innovation_cov, innovation_std;
    ks_sink loglik_terms;
    ks_sink kept_mean, kept_C;
    unsigned char *form; /* element 0 belongs to step form_first */
    int64_t form_first;
    ks_sink gain;        /* what a mean of another precision takes, see ks_gain_numbers() */
    int watched;         /* report sharp predictions in the tally: a backward pass follows */
    int64_t last;        /* a step that is checked for it as the series' last is; 0: none, step 0 is never ordinary */
    int rooted;          /* no step leaves the array form: whitened steps back follow     */
    int exact;           /* ordinary steps may observe exactly (tiled/exact_step_text.h) */
    int sparse;          /* form may be KS_KEPT_BEFORE: the backward pass can handle it */
    int narrowed;        /* kept estimates are rounded to single precision, steps back are in double  */
} ks_forward_sinks;

typedef struct ks_backward_sinks {
    ks_sink smoothed_mean, smoothed_cov, smoothed_var, lag_one_cov;
    ks_sink gain; /* Eᵀ (nx, nx) of the step from k + 1 to k */
} ks_backward_sinks;

/** Numbers of a row of ks_forward_sinks.gain: Z (ny, nx) | L (ny, ny) | 1 / D (ny). L is unit lower triangular with D
 *  on its diagonal; its upper triangle is undefined. With v = L⁻¹ (y - d - H xp) the posterior mean is xp + Zᵀ v, and
 *  the quadratic form of the log-likelihood is vᵀ D⁻¹ v. Missing entries keep their places and have no effect. */
KS_HD int64_t ks_gain_numbers(int nx, int ny) { return (int64_t)ny * (nx + ny + 1); }

/** log p of whitened innovations. `product` gathers their variances; its logarithm is taken only when it leaves the
 *  middle of the range. The sum is carried from range to range, so that it does not depend on where a series is cut. */
typedef struct ks_evidence {
    double quadratic, product, logs;
    int64_t entries;
} ks_evidence;

KS_HD ks_evidence ks_evidence_start(void)
{
    const ks_evidence none = { 0, 1, 0, 0 };
    return none;
}

/** log(product) with product = before * pivot. If it overflows or underflows, the sum of the two logarithms. */
KS_HD double ks_log_of_product(double product, double before, double pivot)
{
    return product >= DBL_MIN && product <= DBL_MAX ? log(product) : log(before) + log(pivot);
}

/** Multiply the determinant by a pivot. */
KS_HD void ks_gather_determinant(ks_evidence *e, double pivot)
{
    const double before = e->product;
    e->product *= pivot;
    if (!(e->product > 1e-120 && e->product < 1e120)) {
        e->logs += ks_log_of_product(e->product, before, pivot);
        e->product = 1;
    }
}

/** As ks_gather_determinant(), and add a term of the quadratic form. */
KS_HD void ks_gather_factor(ks_evidence *e, double pivot, double quadratic)
{
    /* A fused multiply-add in one sum and not in the other would make the log-likelihood depend on which outputs are
     * asked for. */
    e->quadratic = ks_add_rounded(e->quadratic, quadratic);
    ks_gather_determinant(e, pivot);
}

/** As ks_gather_factor(), and count one entry. */
KS_HD void ks_gather_pivot(ks_evidence *e, double pivot, double quadratic)
{
    e->entries += 1;
    ks_gather_factor(e, pivot, quadratic);
}

KS_HD double ks_evidence_loglik(const ks_evidence *e)
{
    return -0.5 * ((double)e->entries * 1.8378770664093454836 + e->logs + log(e->product) +
                   e->quadratic);
}

/** As ks_gather_pivot(), for the sum and, if `term` is not NULL, for the term of the step. */
KS_HD void ks_gather_both(ks_evidence *sum, ks_evidence *term, double pivot,
                                  double quadratic)
{
    ks_gather_pivot(sum, pivot, quadratic);
    if (term) ks_gather_pivot(term, pivot, quadratic);
}

/** Digits that covariances in the ordinary form have left.
 *
 *  A transition that lets one combination of states grow unobserved costs the others digits at every step. One that
 *  puts a vague state in the place of others costs them digits at once. The next observation needs these digits. So if
 *  digits turn out to be lost, the steps before are filtered again, and every covariance and prediction is checked. */
typedef struct ks_digits {
    int watched;      /* steps are being filtered again, with every check                  */
    int singular;     /* exact steps have left a covariance that is rightly singular       */
    int64_t begin;    /* first step of the range                                           */
    int64_t lost;     /* first step found to start from a covariance without digits, or -1 */
} ks_digits;
#define KS_ALL_DIGITS { 0, 0, 0, -1 }

/** Whether the range should stop: digits were lost after its first step. */
KS_HD int ks_has_lost(const ks_digits *digits) { return digits->lost > digits->begin && !digits->watched; }

/** Sums over ranges of steps, and the first fault in them. */
typedef struct ks_tally {
    ks_evidence evidence;
    int64_t ordinary, array, missing, elements;
    int64_t left;     /* number of times that the filter has left the array form */
    int64_t bad_step; /* -1: none */
    int bad_row;
    ks_array bad_array;
    ks_fault fault;
    int64_t sharp;    /* a step whose prediction is too sharp for a step back from it, or -1 */
    ks_digits digits;
    int blurred;      /* `sharp` was found in the array form: a step back would have divided by round-off */
} ks_tally;

KS_HD ks_tally ks_tally_start(void)
{
    ks_tally none = { { 0, 1, 0, 0 }, 0, 0, 0, 0, 0, -1, 0, KS_ARRAY_NONE, KS_FAULT_NONE, -1,
                      KS_ALL_DIGITS, 0 };
    return none;
}

KS_HD const void *ks_row(ks_rows rows, int64_t k) { return rows.base + k * rows.stride; }
KS_HD void *ks_slot_of(ks_sink sink, int64_t k)
{
    return sink.base + (k - sink.first) * sink.stride;
}

/** Whether ordinary steps may observe exactly. */
KS_HD int ks_takes_exact(const ks_forward_sinks *to) { return to->exact && !to->rooted; }

/** How many times the round-off that makes a prediction sharp the prediction of step k may have. `number` is the size of
 *  a number in bytes. In single precision observations under a vague prior bring the first nx predictions close to being
 *  sharp, and what so few RTS steps lose by it is little beside what a second pass costs. */
KS_HD double ks_sharp_times(const ks_series *s, int64_t k, size_t number)
{
    return number > sizeof(float) || k >= s->nx ? 1 : 4;
}

/** Whether an ordinary step k is one at which predictions are checked for being sharp. */
KS_HD int ks_is_look(const ks_series *s, int64_t k)
{
    return k % KS_SHARP_LOOK == KS_SHARP_LOOK - 1 || k == s->steps - 1;
}

/** Whether the prediction of an ordinary step k is checked. */
KS_HD int ks_looks_sharp(const ks_forward_sinks *to, const ks_series *s, int64_t k)
{
    return to->watched && (ks_is_look(s, k) || k == to->last);
}

#endif
