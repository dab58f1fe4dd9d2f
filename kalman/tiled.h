/* tiled.h -- ranges of ordinary steps by hand-shaped kernels (tiled_filter_range_text.h,
 * tiled_smooth_range_text.h): one table for each
 * precision and instruction-set tier, used by kernels_text.h. */
#ifndef KS_TILED_H
#define KS_TILED_H

#include <stddef.h>
#include <stdint.h>
#include "series.h"

/** Numbers of states from which on these kernels take the ordinary steps. Measured: below, the text
 *  with literal sizes is faster. */
enum { KS_TILED_FROM = 4 };

typedef struct ks_tiled_kernels {
    size_t (*scratch_bytes)(int nx, int ny);
    /** Steps k0 .. k1 - 1 of the filter, from a `state` in the ordinary form, as far as that form
     *  goes. Returns the first step not taken, or -1 with the fault in the tally. */
    int64_t (*filter)(const ks_series *series, int64_t k0, int64_t k1, ks_state *state,
                      const ks_forward_sinks *to, void *work, ks_tally *tally);
    /** Steps k1 - 1 .. k0 of the smoother, k1 < T, likewise. Returns one more than the first step
     *  not taken: k0 where all are. */
    int64_t (*smooth)(const ks_series *series, int64_t k0, int64_t k1, ks_state *state,
                      const ks_forward_sinks *kept, const ks_backward_sinks *to, void *work,
                      ks_tally *tally);
} ks_tiled_kernels;

extern const ks_tiled_kernels ks_tiled_baseline_f64, ks_tiled_baseline_f32;
extern const ks_tiled_kernels ks_tiled_avx2_f64, ks_tiled_avx2_f32;

#endif
