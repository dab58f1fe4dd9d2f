/* count_chains.h -- the chains of chains.h with every operation counted, for `kalscan count`.
 *
 * It is plain_text.h, compiled with a number type that counts. It is one C++ file, outside of libkalscan. */
#ifndef KS_BT_COUNT_CHAINS_H
#define KS_BT_COUNT_CHAINS_H

#include "chains.h"
#include "flops.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Fill a kernel table. Its functions take and return doubles, and add their operations to the counts of the
 *  calling thread. The counts depend only on sizes. logdet and residual are NULL. */
void ks_bt_counting_kernels(ks_bt_kernels *kernels);

/** Return the operations that the calling thread has counted since it last called this function. */
ks_flops ks_bt_take_flops(void);

#ifdef __cplusplus
}
#endif
#endif
