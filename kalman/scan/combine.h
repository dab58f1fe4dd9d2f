/* combine.h -- the operators of the scans on several lanes at once, one in each lane of a vector register. Lanes do not
 * mix: a result depends neither on the other lanes nor on their number. */
#ifndef KS_COMBINE_H
#define KS_COMBINE_H

#include <stddef.h>
#include "kalscan/scan.h"

/** Combine a rectangle of elements, as in ks_kernels. */
typedef void (*ks_combine)(int nx, const ks_combine_job *job, void *work);

typedef struct ks_combine_kernels {
    int least_states, most_states; /* otherwise lanes one by one are faster */
    /** Return the bytes of `work` of filter() and smooth(). */
    size_t (*scratch_bytes)(int nx);
    /** Combine filtering elements. Combines for which the ordinary form is not accurate enough go to `alone`, with the
     *  same `work`. */
    void (*filter)(int nx, const ks_combine_job *job, ks_combine alone, void *work);
    /** Combine smoothing elements. */
    void (*smooth)(int nx, const ks_combine_job *job, void *work);
} ks_combine_kernels;

extern const ks_combine_kernels ks_combine_avx2;

#endif
