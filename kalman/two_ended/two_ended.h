/* two_ended.h -- the dispatched arithmetic of the two-ended smoother's right half: one table for each precision and
 * instruction-set tier, in addition to that of kernels.h. */
#ifndef KS_TWO_ENDED_H
#define KS_TWO_ENDED_H

#include <stddef.h>
#include <stdint.h>
#include "kernels.h"
#include "series.h"

/** Steps that share one bound on the information, see ks_right_rows. */
enum { KS_BOUND_STEPS = 16 };

/** The information that the filter from the right has about a state. In the ordinary form: J (nx, nx) and eta (nx). In
 *  the array form: any U with J = U Uᵀ, and the z with eta = U z.
 *
 *  large_row and large_step tell whether the way out can compute the log-likelihood. It cannot if an observation is so
 *  large relative to its noise that round-off of its residual matters. */
typedef struct ks_information {
    void *J, *eta;
    ks_form form;
    int64_t large_step; /* step and row of the last such observation, if large_row >= 0 */
    int large_row;
} ks_information;

/** How the information passes through the transition into a step (two_ended_text.h): by a root of Q; or, if Q is well
 *  positive definite, by its inverse, starting from Fᵀ J F (inverse) or from Fᵀ Q⁻¹ F (precision). */
typedef enum ks_passage { KS_BY_ROOT, KS_BY_INVERSE, KS_BY_PRECISION } ks_passage;

/** What the way in leaves for the way out. For step k: A (nx, nx), b (nx), the packed factors of K, and the ks_passage.
 *  For every KS_BOUND_STEPS steps, counted from step `first`: bounds (2 nx) on the diagonals of J and of what F makes
 *  of it. Rows of A, b, K and passage are numbered by steps, those of bound by such blocks. */
typedef struct ks_right_rows {
    ks_sink A, b, K, bound, passage;
    double size;   /* size of observations, squared, in units of R; infinity: no step KS_BY_PRECISION     */
    int64_t first; /* first step of the right half                               */
    int64_t last;  /* last step of this segment, where the way in starts         */
} ks_right_rows;

typedef struct ks_two_ended_kernels {
    size_t (*scratch_bytes)(int nx, int ny);
    /** Take in the observations k1 - 1 .. k0, k0 >= 1, and the transitions into these steps. `information` is about
     *  x[k1 - 1] from later observations on entry, about x[k0 - 1] on return. Returns 0; -1 with the fault in the
     *  tally; or 1 if the ordinary form is not good enough. */
    int (*inform)(const ks_series *series, int64_t k0, int64_t k1, ks_information *information,
                  const ks_right_rows *to, void *work, ks_tally *tally);
    /** Combine the filtered `state` of step k, the last one of the left half, with the information from its right.
     *  `state` becomes the smoothed state, which is written to `to`. `from`: what the way in has left. The information
     *  is in the array form on return. */
    void (*meet)(int nx, int64_t k, ks_state *state, ks_information *information, const ks_right_rows *from,
                 const ks_backward_sinks *to, void *work, ks_evidence *evidence);
    /** Smooth steps k0 .. k1 - 1 from the smoothed `state` of step k0 - 1. Returns as inform does; 1 if the information
     *  in the ordinary form was not good enough. */
    int (*outward)(const ks_series *series, int64_t k0, int64_t k1, ks_form form, ks_state *state,
                   const ks_right_rows *from, const ks_backward_sinks *to, void *work,
                   ks_tally *tally);
    /** Whether Q is constant and most steps pass by its inverse. */
    int (*inverts)(const ks_series *series, void *work);
    /** The lowest of steps k0 .. k1 - 1 whose observation alone makes inform fail; the tally receives the fault. If R
     *  is ill-conditioned there, returns the relative error of its information. */
    double (*first_refused)(const ks_series *series, int64_t k0, int64_t k1, void *work,
                            ks_tally *tally);
} ks_two_ended_kernels;

/** The table that goes with `kernels`. */
const ks_two_ended_kernels *ks_two_ended_kernels_of(const ks_kernels *kernels);

extern const ks_two_ended_kernels ks_ends_baseline_f64, ks_ends_baseline_f32;
extern const ks_two_ended_kernels ks_ends_avx2_f64, ks_ends_avx2_f32, ks_ends_avx512_f64;

#endif
