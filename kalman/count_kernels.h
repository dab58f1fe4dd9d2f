/* count_kernels.h -- the kernels in double with every operation counted, for `kalscan count`.
 *
 * They are compiled from the same texts as all other tables (kernels.h), with a number that counts. This is one C++
 * file, which is not part of libkalscan. */
#ifndef KS_COUNT_KERNELS_H
#define KS_COUNT_KERNELS_H

#include "flops.h"
#include "kernels.h"
#include "map.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Fill a kernel table. Its functions take and give doubles, and add what they do to the counts of
 *  the calling thread. They stay in the ordinary form; `start` too, where other tables begin in the
 *  array form. For states in the ordinary form, observations without a missing entry and a model
 *  that varies with the step (what is constant may be remembered rather than computed again) the
 *  counts depend on sizes and number of steps alone. */
void ks_counting_kernels(ks_kernels *kernels);

/** The same for the arithmetic of the MAP route. */
void ks_counting_map_kernels(ks_map_kernels *kernels);

/** What the calling thread has counted since it last called this. */
ks_flops ks_take_flops(void);

#ifdef __cplusplus
}
#endif
#endif
