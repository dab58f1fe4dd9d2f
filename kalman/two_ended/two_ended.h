/* two_ended.h -- the dispatched arithmetic of the two-ended smoother's right half: one table for each
 * precision and instruction-set tier, beside that of kernels.h. */
#ifndef KS_TWO_ENDED_H
#define KS_TWO_ENDED_H

#include <stddef.h>
#include <stdint.h>
#include "kernels.h"
#include "series.h"

/** Steps that share one bound on the information, see ks_right_rows. */
enum { KS_BOUND_STEPS = 16 };

/** What the information filter knows of a state: J (nx, nx) and eta (nx) in the ordinary form; in
 *  the array form any U with J = U Uᵀ and the z with eta = U z. And whether the way out can tell how likely the
 *  observations are: not from where one is so large beside its noise that round-off of its residual counts. */
typedef struct ks_information {
    void *J, *eta;
    ks_form form;
    int64_t large_step; /* the last one that was taken in, and its row, while large_row >= 0 */
    int large_row;
} ks_information;

/** How the information has come through the transition into a step (two_ended_text.h): by a root of Q, or where Q is
 *  well positive definite by its inverse, from Fᵀ J F or from Fᵀ Q⁻¹ F. */
typedef enum ks_passage { KS_BY_ROOT, KS_BY_INVERSE, KS_BY_PRECISION } ks_passage;

/** What the way in leaves to the way out: for step k A (nx, nx), b (nx), the packed factors of K and its ks_passage;
 *  for every KS_BOUND_STEPS steps, counted from step `first`, a bound (2 nx) on the diagonals of J and of what it comes to.
 *  Rows of A, b, K and passage go by steps, those of bound by such blocks. */
typedef struct ks_right_rows {
    ks_sink A, b, K, bound, passage;
    double size;   /* of observations: their squares in R's own units; infinite: none by KS_BY_PRECISION */
    int64_t first; /* of the series' right half                                  */
    int64_t last;  /* of the steps whose rows these are, where the way in starts */
} ks_right_rows;

typedef struct ks_two_ended_kernels {
    size_t (*scratch_bytes)(int nx, int ny);
    /** Take in the observations k1 - 1 .. k0, k0 >= 1, and go through the transitions into them:
     *  `information` on x[k1 - 1] from later observations in, on x[k0 - 1] out. Returns 0, -1 with
     *  the fault in the tally, or 1 where the ordinary form will not do. */
    int (*inform)(const ks_series *series, int64_t k0, int64_t k1, ks_information *information,
                  const ks_right_rows *to, void *work, ks_tally *tally);
    /** The filtered `state` of step k, the last one of the left, and the information from its right, with what it
     *  left: the smoothed state, put out. The information leaves in the array form. */
    void (*meet)(int nx, int64_t k, ks_state *state, ks_information *information, const ks_right_rows *from,
                 const ks_backward_sinks *to, void *work, ks_evidence *evidence);
    /** Smoothed steps k0 .. k1 - 1 from the smoothed `state` of step k0 - 1. Returns as inform
     *  does, 1 where the information in the ordinary form has not been enough. */
    int (*outward)(const ks_series *series, int64_t k0, int64_t k1, ks_form form, ks_state *state,
                   const ks_right_rows *from, const ks_backward_sinks *to, void *work,
                   ks_tally *tally);
    /** Whether Q is constant and most steps go by its inverse. */
    int (*inverts)(const ks_series *series, void *work);
    /** The lowest of steps k0 .. k1 - 1 at which inform fails for its observation alone. Returns the relative error
     *  of its information where R is ill-conditioned. */
    double (*first_refused)(const ks_series *series, int64_t k0, int64_t k1, void *work,
                            ks_tally *tally);
} ks_two_ended_kernels;

/** The table that goes with `kernels`. */
const ks_two_ended_kernels *ks_two_ended_kernels_of(const ks_kernels *kernels);

extern const ks_two_ended_kernels ks_ends_baseline_f64, ks_ends_baseline_f32;
extern const ks_two_ended_kernels ks_ends_avx2_f64, ks_ends_avx2_f32, ks_ends_avx512_f64;

#endif
