/* whitened.h -- the dispatched arithmetic of smoother steps in the coordinates that the filter's roots whiten: a table for
 * each precision and instruction-set tier, made where that of kernels.h is: zeta means nothing without the very root that
 * the filter has made, to the bit, and so its reflections are those of the same machine code. */
#ifndef KS_WHITENED_H
#define KS_WHITENED_H

#include <stddef.h>
#include <stdint.h>
#include "kernels.h"
#include "series.h"
#include "two_ended.h"

/** What is known of zeta in x = filtered mean + S zeta, S being the filter's root of the covariance: its mean (nx) and a
 *  root (nx, nx) of its covariance; S, and whether the root is held (array_steady_text.h). See whitened_text.h. */
typedef struct ks_whitened {
    void *mean, *root, *S;
    int held;
} ks_whitened;

typedef struct ks_whitened_kernels {
    /** Bytes of work for the two below. */
    size_t (*bytes)(int nx, int ny);
    /** The `filtered` state of a step, in the array form, meets the information from its right, in that form too, and
     *  becomes the smoothed `state`. */
    void (*meet)(int nx, const ks_state *filtered, const ks_information *information, ks_whitened *whitened,
                 ks_state *state, void *work);
    /** Smoothed steps k1 - 1 .. k0, k0 >= -1, from what a filter that is rooted has kept of them and what is known of step k1,
     *  or, where k1 = T, of step T - 1. `state` is the smoothed one of step k1 in, of the last step taken out, in the
     *  array form. Returns the last step taken, k0 or, below the step `sharp`, where the next one is for the RTS
     *  smoother; k1 where there is none. -2 with the fault in the tally. */
    int64_t (*back)(const ks_series *series, int64_t k0, int64_t k1, int64_t sharp, ks_whitened *whitened,
                    ks_state *state, const ks_forward_sinks *kept, const ks_backward_sinks *to, void *work,
                    ks_tally *tally);
} ks_whitened_kernels;

/** The table that goes with `kernels`. */
const ks_whitened_kernels *ks_whitened_kernels_of(const ks_kernels *kernels);

extern const ks_whitened_kernels ks_whitened_baseline_f64, ks_whitened_baseline_f32;
extern const ks_whitened_kernels ks_whitened_avx2_f64, ks_whitened_avx2_f32;

#endif
