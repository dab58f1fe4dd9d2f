/* kernels.h -- the dispatched arithmetic: one table for each precision and instruction-set tier.
 *
 * All functions are compiled from the same texts (kernels_text.h). Sizes are arguments; the common numbers of states
 * are literals inside. Memory is the caller's. `work` has the size that scratch_bytes returns, unless another function
 * is named, and is aligned to 64. Functions that can fail return 0, or -1 with the fault in the tally. */
#ifndef KS_KERNELS_H
#define KS_KERNELS_H

#include <stddef.h>
#include <stdint.h>
#include "kalscan/scan.h"
#include "series.h"

typedef struct ks_kernels {
    const char *tier;
    size_t number_bytes;
    double largest; /* finite number */
    size_t (*scratch_bytes)(int nx, int ny);
    /** Bytes of `work` for filter_absorb and smooth_absorb. `steps`: bytes for the filter and smoother steps that they
     *  run, as scratch_bytes returns. */
    size_t (*absorb_bytes)(int nx, int ny, size_t steps);
    /** Bytes of `work` for filter_combine and smooth_combine. */
    size_t (*combine_bytes)(int nx);
    size_t (*filter_element_bytes)(int nx);
    size_t (*smooth_element_bytes)(int nx);

    /** Set `state` to the prior, which leads into step 0. */
    void (*start)(const ks_series *series, ks_state *state, void *work);
    /** Filter steps k0 .. k1 - 1; `state` is carried in and out. */
    int (*filter)(const ks_series *series, int64_t k0, int64_t k1, ks_state *state,
                  const ks_forward_sinks *to, void *work, ks_tally *tally);
    /** Smooth steps k1 - 1 .. k0. `state` is that of step k1 on entry and of step k0 on return. */
    int (*smooth)(const ks_series *series, int64_t k0, int64_t k1, ks_state *state,
                  const ks_forward_sinks *kept, const ks_backward_sinks *to, void *work,
                  ks_tally *tally);
    /** From the smoothed state of step 0 to the smoothed prior. */
    void (*smooth_prior)(const ks_series *series, ks_state *state, ks_sink lag_one, ks_sink mean,
                         ks_sink cov, void *work, ks_tally *tally);
    /** Turn the state into the ordinary form, whatever digits that loses. */
    void (*square)(int nx, ks_state *state, void *work);
    /** Turn the state into the array form. */
    void (*root)(int nx, ks_state *state, void *work);
    /** Cov(x[k], x[k-1] | y) of steps k0 .. k1 - 1, k0 >= 1, from filtered and smoothed covariances. `work` begins with
     *  the transposed smoothing gain of the last of them. */
    void (*lag_one)(const ks_series *series, int64_t k0, int64_t k1, ks_sink filtered_cov,
                    ks_sink smoothed_cov, ks_sink to, void *work);

    /** Filtering elements of steps k0 .. k1 - 1, k0 >= 1. Row k of `to` is the element of step k. */
    int (*filter_elements)(const ks_series *series, int64_t k0, int64_t k1, ks_sink to, void *work,
                           ks_tally *tally);
    /** The filtering element of steps k0 .. k1 - 1 together, k0 >= 1. If not `fresh`, `element` is that of the steps
     *  before and is extended by these. It is a fault of the element (KS_ARRAY_ELEMENT_COV) if an innovation is
     *  singular given the estimate before step k0 exactly. */
    int (*filter_absorb)(const ks_series *series, int64_t k0, int64_t k1, int fresh, void *element,
                         void *work, ks_tally *tally);
    void (*filter_element_first)(int nx, const void *x, const void *P, void *element);
    void (*filter_neutral)(int nx, void *element);
    void (*filter_combine)(int nx, const ks_combine_job *job, void *work);
    /** Mean and covariance from scanned filtering elements. */
    void (*filter_extract)(int nx, int64_t k0, int64_t k1, ks_sink elements, ks_sink mean,
                           ks_sink cov);
    /** Smoothing elements of steps k0 .. k1 - 1 from filtered means and covariances. */
    void (*smooth_elements)(const ks_series *series, int64_t k0, int64_t k1, ks_sink mean,
                            ks_sink cov, ks_sink to, void *work, ks_tally *tally);
    /** The smoothing element of steps k0 .. k1 - 1 together, from what the filter kept of them. If not `fresh`,
     *  `element` is that of the steps behind them and is extended by these. */
    int (*smooth_absorb)(const ks_series *series, int64_t k0, int64_t k1, int fresh,
                         const ks_forward_sinks *kept, void *element, void *work, ks_tally *tally);
    void (*smooth_neutral)(int nx, void *element);
    void (*smooth_combine)(int nx, const ks_combine_job *job, void *work);
    /** Mean and covariance from scanned smoothing elements. */
    void (*smooth_extract)(int nx, int64_t k0, int64_t k1, ks_sink elements, ks_sink mean,
                           ks_sink cov);
    /** Smoothed estimates of steps k0 .. k1 - 1 from filtered ones and reverse-scanned elements. Row k of `suffix` is
     *  a[k] (+) ... (+) a[T-1]. */
    void (*two_filter)(const ks_series *series, int64_t k0, int64_t k1, ks_sink filtered_mean,
                       ks_sink filtered_cov, ks_sink suffix, ks_sink mean, ks_sink cov,
                       void *work);
    /** The same of steps k1 - 1 .. k0, one after the other, from what the filter kept of them. Results may
     *  overwrite it.
     *
     *  `behind` is v and packed J, nx + nx (nx + 1) / 2 numbers: the information of later observations about the
     *  difference of the state of step k1 - 1 from its filtered mean. On return it is that of step k0 - 1. `before` is
     *  the filtered estimate of step k0 - 1; NULL: nothing before step k0 is asked for. `state` returns the estimate of
     *  step k0 in the ordinary form. Lag-one covariances are those with the step before. The tally's `sharp` is a step
     *  at which round-off of J could do harm. */
    int (*two_filter_back)(const ks_series *series, int64_t k0, int64_t k1, const ks_state *before, void *behind,
                           ks_state *state, const ks_forward_sinks *kept, const ks_backward_sinks *to, void *work,
                           ks_tally *tally);
    /** The same in the array form. `behind` is U (nx, nx) and z (nx): with x the difference of the state from its
     *  filtered mean, later observations say z = Uᵀ x + noise of unit covariance. */
    int (*two_filter_back_array)(const ks_series *series, int64_t k0, int64_t k1, const ks_state *before, void *behind,
                                 ks_state *state, const ks_forward_sinks *kept, const ks_backward_sinks *to,
                                 void *work, ks_tally *tally);
    /** Turn eta and packed J of a state, as in an element, into the information about its difference from x. */
    void (*information_about)(int nx, const void *x, void *behind);
    /** Variances of steps k0 .. k1 - 1. */
    void (*diagonal)(int nx, int64_t k0, int64_t k1, ks_sink cov, ks_sink to);
    /** The first of steps k0 .. k1 - 1 with an estimate that is not finite, or -1. */
    int64_t (*not_finite)(int nx, int64_t k0, int64_t k1, ks_sink mean, ks_sink cov);
    /** Convert `numbers` numbers to and from double. */
    void (*widen)(int64_t numbers, const void *from, double *to);
    void (*narrow)(int64_t numbers, const double *from, void *to);
} ks_kernels;

/** The table of a precision and tier. KS_TIER_AUTO: the best tier that this processor has. NULL if the processor or
 *  this build lacks the tier. */
const ks_kernels *ks_kernels_of(ks_precision precision, ks_tier tier);

/** The same for nx states and ny entries: AVX-512 tables pay only for some sizes. */
const ks_kernels *ks_kernels_for(ks_precision precision, ks_tier tier, int nx, int ny);

/** Whether one thread smooths nx states faster than two do from both ends. */
int ks_one_thread_pays(const ks_kernels *kernels, int nx);

extern const ks_kernels ks_kernels_baseline_f64, ks_kernels_baseline_f32;
extern const ks_kernels ks_kernels_avx2_f64, ks_kernels_avx2_f32;
extern const ks_kernels ks_kernels_avx512_f64, ks_kernels_avx512_f32;

#endif
