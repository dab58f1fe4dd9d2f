/* pool.h -- what a context gives to the rest of the library: memory and parallel loops. */
#ifndef KS_POOL_H
#define KS_POOL_H

#include <stddef.h>
#include <stdint.h>
#include "kalscan/context.h"

/** `bytes` bytes aligned to 64 from the context's allocator, or NULL. A NULL context means the C
 *  library. bytes == 0 gives a valid pointer. */
void *ks_allocate(ks_context *context, size_t bytes);

/** Give back what ks_allocate() returned. NULL is allowed. */
void ks_release(ks_context *context, void *memory);

/** A value that is the calling thread's own as long as it lives. */
const void *ks_this_thread(void);

/** Work on items begin .. end - 1 as worker `worker`, 0 <= worker < workers. */
typedef void (*ks_range_function)(void *arg, int64_t begin, int64_t end, int worker);

/** Workers that ks_parallel_for() would use for `items` items: at least 1, at most `threads`
 *  (0: no limit of the caller's), the context's, and the items. */
int ks_workers(const ks_context *context, int threads, int64_t items);

/** Cut 0 .. items - 1 into one contiguous range for each of `workers` workers, run those that are
 *  not empty, and return when all are done. The ranges depend on `items` and `workers` alone. The
 *  calling thread is worker 0. Where the pool is busy with another caller (a call from inside
 *  `function` finds it so), has fewer workers, or is none, all ranges run on the calling thread,
 *  one after the other, with the same worker numbers. Threads do not survive a fork(): a child
 *  process makes a context of its own. */
void ks_parallel_for(ks_context *context, int workers, int64_t items, ks_range_function function,
                     void *arg);

#endif
