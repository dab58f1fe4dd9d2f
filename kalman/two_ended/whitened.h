/* whitened.h -- the dispatched arithmetic of smoother steps in the coordinates that the filter's roots whiten: one
 * table for each precision and instruction-set tier. It is compiled in the same file as that of kernels.h. zeta has a
 * meaning only with the filter's own root, to the bit, so its reflections must be those of the same machine code. */
#ifndef KS_WHITENED_H
#define KS_WHITENED_H

#include <stddef.h>
#include <stdint.h>
#include "kernels.h"
#include "series.h"
#include "two_ended.h"

/** What is known of zeta in x = filtered mean + S zeta, where S is the filter's root of the covariance: the mean (nx)
 *  of zeta and a root (nx, nx) of its covariance; S; and whether the root is held (array_steady_text.h). See
 *  whitened_text.h. */
typedef struct ks_whitened {
    void *mean, *root, *S;
    int held;
} ks_whitened;

typedef struct ks_whitened_kernels {
    /** Bytes of `work` for meet and back. */
    size_t (*bytes)(int nx, int ny);
    /** Combine the `filtered` state of a step with the information from its right, both in the array form, to the
     *  smoothed `state`. */
    void (*meet)(int nx, const ks_state *filtered, const ks_information *information, ks_whitened *whitened,
                 ks_state *state, void *work);
    /** Smooth steps k1 - 1 .. k0, k0 >= -1, from what a rooted filter has kept of them. `whitened` is of step k1 or,
     *  for k1 = T, of step T - 1. `state` is the smoothed estimate of step k1 on entry and of the last step taken on
     *  return, in the array form. Returns the last step taken. That is k0, unless steps of
     *  the RTS smoother must take over, which they may below step `sharp`. Returns k1 if no step is taken, -2 with the
     *  fault in the tally. */
    int64_t (*back)(const ks_series *series, int64_t k0, int64_t k1, int64_t sharp, ks_whitened *whitened,
                    ks_state *state, const ks_forward_sinks *kept, const ks_backward_sinks *to, void *work,
                    ks_tally *tally);
} ks_whitened_kernels;

/** The table that goes with `kernels`. */
const ks_whitened_kernels *ks_whitened_kernels_of(const ks_kernels *kernels);

extern const ks_whitened_kernels ks_whitened_baseline_f64, ks_whitened_baseline_f32;
extern const ks_whitened_kernels ks_whitened_avx2_f64, ks_whitened_avx2_f32;

#endif
