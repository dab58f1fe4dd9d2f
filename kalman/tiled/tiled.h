/* tiled.h -- ranges of ordinary steps by hand-shaped kernels (tiled_filter_range_text.h, tiled_smooth_range_text.h,
 * tiled_follow_text.h): one table for each precision and instruction-set tier, used by kernels_text.h. */
#ifndef KS_TILED_H
#define KS_TILED_H

#include <stddef.h>
#include <stdint.h>
#include "kernels.h"
#include "series.h"

/** Least numbers of states for which these kernels take the ordinary steps. With at most KS_ROWS_ENTRIES entries, and
 *  where rows are vectors (row_step_text.h), they start at KS_ROWS_FROM. Measured: below, the text with literal sizes is
 *  faster. */
enum { KS_TILED_FROM = 4, KS_ROWS_FROM = 2, KS_ROWS_ENTRIES = 4 };
/** The same for AVX-512. Measured: with up to 12 states the lanes of a vector that stay empty cost more than the others
 *  gain. Exceptions are 7 and 8 states in double with few entries, whose rows fill a vector, and 12 in single
 *  precision. */
enum { KS_WIDE_FROM = 13, KS_WIDE_ROWS_FROM = 7, KS_WIDE_ROWS_TO = 8, KS_WIDE_LITERAL_F32 = 12 };
/** Most states for which one thread is faster with AVX-512 than two from both ends: from KS_WIDE_FROM on its sizes are
 *  literals and theirs are not. */
enum { KS_WIDE_ALONE_TO = 15 };

/** A series that takes its covariances from another one, the leader, with the same F, Q, u, H, R and the same
 *  covariance before the steps. */
typedef struct ks_follower {
    const ks_series *series;
    void *x;              /* in: the mean before the steps; out: the mean after them            */
    ks_sink mean;         /* means of the filter, if wanted; the smoother's overwrite them       */
    ks_sink cov;          /* covariances, if wanted                                             */
    ks_evidence evidence; /* of the filter                                                      */
    int watched, sharp;   /* whether to look for sharp predictions; out: whether there is one   */
    int finite;           /* out: whether the last mean and the evidence are finite             */
} ks_follower;

/** Most followers at once, and steps of theirs that are transposed at once. */
enum { KS_FOLLOWERS = 16, KS_FOLLOW_STEPS = 8 };

/** Means of series whose covariances are known (tiled_follow_text.h). */
typedef struct ks_follow_kernels {
    int followers; /* at once */
    /** Steps k0 .. k1 - 1 of the filter, or k1 - 1 .. k0 of the smoother, of `count` <= `followers` series, with the
     *  gains of a leader and its covariances `covs`, whose rows are contiguous. k0 >= 1 in the filter, k1 < T in the
     *  smoother. No entry of y in these steps may be missing or infinite. Strides of all series are the same. */
    void (*filter)(int count, ks_follower *followers, int64_t k0, int64_t k1, const ks_sink *gains,
                   const ks_sink *covs, void *work);
    void (*smooth)(int count, ks_follower *followers, int64_t k0, int64_t k1, const ks_sink *gains,
                   const ks_sink *covs, void *work);
    /** Whether every entry of y in steps k0 .. k1 - 1 is finite. */
    int (*complete)(const ks_series *series, int64_t k0, int64_t k1);
} ks_follow_kernels;

typedef struct ks_tiled_kernels {
    int from_states; /* with up to KS_ROWS_ENTRIES entries; with more, KS_TILED_FROM */
    int exact_quads; /* whether steps of four states and at most KS_ROWS_ENTRIES entries may observe exactly */
    size_t (*scratch_bytes)(int nx, int ny);
    /** Filter steps k0 .. k1 - 1 from a `state` in the ordinary form, as long as that form has enough digits. Returns
     *  the first step not taken, or -1 with the fault in the tally. */
    int64_t (*filter)(const ks_series *series, int64_t k0, int64_t k1, ks_state *state,
                      const ks_forward_sinks *to, void *work, ks_tally *tally);
    /** Smoother steps k1 - 1 .. k0, k1 < T, likewise. Returns the last step taken, k0 if all are, k1 if none is. */
    int64_t (*smooth)(const ks_series *series, int64_t k0, int64_t k1, ks_state *state,
                      const ks_forward_sinks *kept, const ks_backward_sinks *to, void *work,
                      ks_tally *tally);

    /** Bytes of a row of gains, of the filter and of the smoother. */
    size_t (*filter_gain_bytes)(int nx, int ny);
    size_t (*smooth_gain_bytes)(int nx);
    /** As filter and smooth. What followers need of each step goes to `gains`. Row k of a smoother's gains is that of
     *  the step from k + 1 to k. */
    int64_t (*lead_filter)(const ks_series *series, int64_t k0, int64_t k1, ks_state *state,
                           const ks_forward_sinks *to, const ks_sink *gains, void *work,
                           ks_tally *tally);
    int64_t (*lead_smooth)(const ks_series *series, int64_t k0, int64_t k1, ks_state *state,
                           const ks_forward_sinks *kept, const ks_backward_sinks *to,
                           const ks_sink *gains, void *work, ks_tally *tally);
    const struct ks_follow_kernels *follow; /* of the same precision and tier */
} ks_tiled_kernels;

/** Whether these kernels take so many states and entries. */
static inline int ks_tiled_takes(const ks_tiled_kernels *t, int nx, int ny)
{
    return nx >= (ny <= KS_ROWS_ENTRIES ? t->from_states : KS_TILED_FROM);
}

/** Whether their steps may observe exactly (exact_step_text.h). Not with one state: an exact observation leaves nothing
 *  of its variance. */
static inline int ks_tiled_exact(const ks_tiled_kernels *t, int nx, int ny)
{
    return nx > 1 && ks_tiled_takes(t, nx, ny) && (nx != 4 || ny > KS_ROWS_ENTRIES || t->exact_quads);
}

/** The table that goes with `kernels`. */
const ks_tiled_kernels *ks_tiled_kernels_of(const ks_kernels *kernels);

extern const ks_follow_kernels ks_follow_baseline_f64, ks_follow_baseline_f32;
extern const ks_follow_kernels ks_follow_avx2_f64, ks_follow_avx2_f32;
extern const ks_follow_kernels ks_follow_avx512_f64, ks_follow_avx512_f32;
extern const ks_tiled_kernels ks_tiled_baseline_f64, ks_tiled_baseline_f32;
extern const ks_tiled_kernels ks_tiled_avx2_f64, ks_tiled_avx2_f32;
extern const ks_tiled_kernels ks_tiled_avx512_f64, ks_tiled_avx512_f32;

#endif
