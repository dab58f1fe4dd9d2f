/* series.h -- one series as the steps see it: conventions resolved, strides in bytes.
 *
 * Whatever the caller's layout, series and transition convention, row k of these arrays concerns
 * step k; the drivers make one ks_series for each of the B series (series.c). */
#ifndef KS_SERIES_H
#define KS_SERIES_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include "hd.h"
#include "kalscan/smooth.h"

typedef struct ks_rows { const char *base; int64_t stride; } ks_rows;

/** Where rows go: row k stands (k - first) strides from base. */
typedef struct ks_sink { char *base; int64_t stride, first; } ks_sink;

/** Means and square matrices, one of each or many behind one another. */
typedef struct ks_estimates { void *mean, *cov; } ks_estimates;

typedef struct ks_series {
    int nx, ny;
    int prior_x1;        /* the prior is that of x[0]: no transition into step 0 */
    int64_t steps;       /* T                                                    */
    int64_t all_steps;   /* of all series of the call, or 0 where nothing is to go past the caches */
    ks_steady_state steady_state; /* what becomes of a constant model's covariances       */
    int64_t shift;       /* row k - shift of F, Q, u leads into step k           */
    ks_rows F, Q, u, H, R, d, y;
    const void *m0, *P0;
} ks_series;

/* Every so many steps the covariances themselves are looked at for the choice of the form. */
#define KS_LOOK 32
/** Whether that before step k is. */
#define KS_IS_LOOKED_AT(k) ((k) % KS_LOOK == KS_LOOK - 1)
/* The least share of a variance that the states before may leave it and still have the digits that results need, in numbers of so
 * many bytes: in double precision nine, in single precision three. */
#define KS_LEAST_LEFT(bytes) ((bytes) == 8 ? 1e-7 : 2.5e-4)
/* Every so many steps, and at the last one, the predictions are (ks_sharp() in range_text.h). */
#define KS_SHARP_LOOK 8

/** How far the covariances of a constant model have come to a steady state (tiled/steady_text.h): not yet, as far
 *  as is known; they hardly move, and may repeat; they repeat; they do not, and must not be held; they are held. */
typedef enum ks_steady_stage {
    KS_STEADY_UNKNOWN = 0,
    KS_STEADY_ASKED,
    KS_STEADY_REPEATS,
    KS_STEADY_REFUSED,
    KS_STEADY_HELD
} ks_steady_stage;
typedef struct ks_steady {
    ks_steady_stage stage;
    uint64_t mark, given; /* of the covariance when asked, and of the filtered one that goes into a smoother's step */
} ks_steady;
#define KS_NOT_STEADY { KS_STEADY_UNKNOWN, 0, 0 }

/** The estimate between two steps. C (nx, nx) is the covariance in the ordinary form, any S with
 *  covariance S Sᵀ in the array form. */
typedef enum ks_form { KS_FORM_ORDINARY = 0, KS_FORM_ARRAY = 1 } ks_form;
/** Kept in place of a form: ordinary, and C is that of the step before, which alone is there. */
#define KS_KEPT_BEFORE 2
typedef struct ks_state {
    void *x, *C;
    ks_form form;
    ks_steady steady;
} ks_state;

/** Where the filter's results go; base NULL: not wanted. kept_* and form carry the estimates to
 *  the backward pass: mean, C and the form it is in. */
typedef struct ks_forward_sinks {
    ks_sink predicted_mean, predicted_cov, predicted_var;
    ks_sink filtered_mean, filtered_cov, filtered_var;
    ks_sink innovation, innovation_cov, innovation_std;
    ks_sink loglik_terms;
    ks_sink kept_mean, kept_C;
    unsigned char *form; /* of step form_first and on */
    int64_t form_first;
    ks_sink gain;        /* what a mean of another precision takes, see ks_gain_numbers() */
    int watched;         /* sharp predictions go to the tally: steps back follow          */
    int rooted;          /* no step leaves the array form: whitened steps back follow     */
    int exact;           /* ordinary steps may observe exactly (tiled/exact_step_text.h) */
    int sparse;          /* KS_KEPT_BEFORE may stand among the forms: whoever takes the steps back knows it */
    int narrowed;        /* what is kept has been in single precision before steps back in double     */
} ks_forward_sinks;

typedef struct ks_backward_sinks {
    ks_sink smoothed_mean, smoothed_cov, smoothed_var, lag_one_cov;
    ks_sink gain; /* Eᵀ (nx, nx) of the step from k + 1 to k */
} ks_backward_sinks;

/** Numbers of a row of ks_forward_sinks' gain: Z (ny, nx) | L (ny, ny), unit lower triangular with D
 *  on its diagonal; what is above means nothing | 1 / D (ny). With v = L⁻¹ (y - d - H xp) the posterior's mean is xp + Zᵀ v and the
 *  quadratic form of the evidence vᵀ D⁻¹ v. Missing entries keep their places and change nothing. */
KS_HD int64_t ks_gain_numbers(int nx, int ny) { return (int64_t)ny * (nx + ny + 1); }

/** log p of whitened innovations: the product of their variances is gathered in `product` and
 *  turned into a logarithm only when it leaves the middle of the range. Carried from range to range,
 *  so that the sum does not depend on where a series is cut. */
typedef struct ks_evidence {
    double quadratic, product, logs;
    int64_t entries;
} ks_evidence;

KS_HD ks_evidence ks_evidence_start(void)
{
    const ks_evidence none = { 0, 1, 0, 0 };
    return none;
}

/** log(product) of what was `before` and a pivot: the logarithm of each where no number holds the product. */
KS_HD double ks_log_of_product(double product, double before, double pivot)
{
    return product >= DBL_MIN && product <= DBL_MAX ? log(product) : log(before) + log(pivot);
}

/** A factor of the determinant. */
KS_HD void ks_gather_determinant(ks_evidence *e, double pivot)
{
    const double before = e->product;
    e->product *= pivot;
    if (!(e->product > 1e-120 && e->product < 1e120)) {
        e->logs += ks_log_of_product(e->product, before, pivot);
        e->product = 1;
    }
}

/** The same with a part of the quadratic form. */
KS_HD void ks_gather_factor(ks_evidence *e, double pivot, double quadratic)
{
    /* A product fused into one sum and not into another would make the sum depend on what else is
     * asked for. */
    e->quadratic = ks_add_rounded(e->quadratic, quadratic);
    ks_gather_determinant(e, pivot);
}

/** The same of one more entry. */
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

/** The same to the sum and, where that is asked for, to the term of the step. */
KS_HD void ks_gather_both(ks_evidence *sum, ks_evidence *term, double pivot,
                                  double quadratic)
{
    ks_gather_pivot(sum, pivot, quadratic);
    if (term) ks_gather_pivot(term, pivot, quadratic);
}

/** What is known of the digits that covariances in the ordinary form have left. While a transition lets one combination of
 *  states grow beside others, unobserved, it takes digits of those at every step, and one that puts a vague state into the
 *  places of others takes them at once; the first observation wants them back. So steps behind which they turn out to be
 *  lost are filtered once more, with a look at every covariance and every prediction. */
typedef struct ks_digits {
    int watched;      /* these are such steps                                              */
    int singular;     /* exact steps have left a covariance that is rightly singular       */
    int64_t begin;    /* the step that the range begins with                               */
    int64_t lost;     /* the first step that found them lost, or the one behind, or -1     */
} ks_digits;
#define KS_ALL_DIGITS { 0, 0, 0, -1 }

/** Whether there is nothing to go on for: a range has lost digits, and not before it began. */
KS_HD int ks_has_lost(const ks_digits *digits) { return digits->lost > digits->begin && !digits->watched; }

/** What ranges of steps add up to, and the first thing that went wrong in them. */
typedef struct ks_tally {
    ks_evidence evidence;
    int64_t ordinary, array, missing, elements;
    int64_t left;     /* how often the filter has left the array form */
    int64_t bad_step; /* -1: none */
    int bad_row;
    ks_array bad_array;
    ks_fault fault;
    int64_t sharp;    /* a step whose prediction is too sharp for a step back from it, or -1 */
    ks_digits digits;
} ks_tally;

KS_HD ks_tally ks_tally_start(void)
{
    ks_tally none = { { 0, 1, 0, 0 }, 0, 0, 0, 0, 0, -1, 0, KS_ARRAY_NONE, KS_FAULT_NONE, -1,
                      KS_ALL_DIGITS };
    return none;
}

KS_HD const void *ks_row(ks_rows rows, int64_t k) { return rows.base + k * rows.stride; }
KS_HD void *ks_slot_of(ks_sink sink, int64_t k)
{
    return sink.base + (k - sink.first) * sink.stride;
}

/** Whether ordinary steps may observe exactly. */
KS_HD int ks_takes_exact(const ks_forward_sinks *to) { return to->exact && !to->rooted; }

/** Whether sharp predictions of step k count, in numbers of so many bytes: in single precision the first ones may be
 *  for what was observed under a vague prior, and steps of the RTS smoother keep more digits of as few. */
KS_HD int ks_counts_sharp(const ks_series *s, int64_t k, size_t number)
{
    return number > sizeof(float) || k >= s->nx;
}

/** Whether a step in the ordinary form is one of those that are looked at for a sharp prediction. */
KS_HD int ks_is_look(const ks_series *s, int64_t k, size_t number)
{
    return ks_counts_sharp(s, k, number) && (k % KS_SHARP_LOOK == KS_SHARP_LOOK - 1 || k == s->steps - 1);
}

/** Whether it is looked at: only the last of them counts. */
KS_HD int ks_looks_sharp(const ks_forward_sinks *to, const ks_series *s, int64_t k, size_t number)
{
    return to->watched && ks_is_look(s, k, number);
}

#endif
