/* count_chains.h -- the chains of chains.h with every operation counted, for `kalscan count`.
 *
 * plain_text.h compiled with a number that counts; one C++ file, outside of libkalscan. */
#ifndef KS_BT_COUNT_CHAINS_H
#define KS_BT_COUNT_CHAINS_H

#include "chains.h"
#include "flops.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Fill a kernel table. Its functions take and give doubles, and add what they do to the counts of
 *  the calling thread; the counts depend on sizes alone. logdet and residual are NULL. */
void ks_bt_counting_kernels(ks_bt_kernels *kernels);

/** What the calling thread has counted with these functions since it last called this. */
ks_flops ks_bt_take_flops(void);

#ifdef __cplusplus
}
#endif
#endif
