/* combine.h -- the operators of the scans, on as many lanes of a job at once as a vector has. Lanes do not mix: what one
 * comes to does not depend on those beside it, nor on how many there are. */
#ifndef KS_COMBINE_H
#define KS_COMBINE_H

#include <stddef.h>
#include "kalscan/scan.h"

/** A rectangle of combines, as of ks_kernels. */
typedef void (*ks_combine)(int nx, const ks_combine_job *job, void *work);

typedef struct ks_combine_kernels {
    int least_states, most_states; /* with fewer or more a lane by itself is faster */
    /** Bytes of `work` of both. */
    size_t (*scratch_bytes)(int nx);
    /** Filtering elements. A combine that the ordinary form will not do for goes to `alone`, with the same work. */
    void (*filter)(int nx, const ks_combine_job *job, ks_combine alone, void *work);
    /** Smoothing elements. */
    void (*smooth)(int nx, const ks_combine_job *job, void *work);
} ks_combine_kernels;

extern const ks_combine_kernels ks_combine_avx2;

#endif
