/* pool.h -- what a context provides to the rest of the library: memory and parallel loops. */
#ifndef KS_POOL_H
#define KS_POOL_H

#include <stddef.h>
#include <stdint.h>
#include "kalscan/context.h"

/** Return `bytes` bytes from the context's allocator, aligned to 64, or NULL. A NULL context means the C library. bytes
 *  == 0 gives a valid pointer. */
void *ks_allocate(ks_context *context, size_t bytes);

/** Release what ks_allocate() returned. NULL is allowed. */
void ks_release(ks_context *context, void *memory);

/** Return a pointer that identifies the calling thread for as long as the thread lives. */
const void *ks_this_thread(void);

/** Work on items begin .. end - 1 as worker `worker`, 0 <= worker < workers. */
typedef void (*ks_range_function)(void *arg, int64_t begin, int64_t end, int worker);

/** Return the number of workers that ks_parallel_for() would use for `items` items: at least 1, and at most `threads`
 *  (0: no limit of the caller's), the context's threads and the number of items. */
int ks_workers(const ks_context *context, int threads, int64_t items);

/** Cut 0 .. items - 1 into one contiguous range for each of `workers` workers, run those that are not empty, and return
 *  when all are done. The ranges depend on `items` and `workers` only. The calling thread is worker 0.
 *
 *  All ranges run on the calling thread, one after the other and with the same worker numbers, if there is no pool, if
 *  it has fewer workers, or if it is busy with another caller. A call from inside `function` finds the pool busy.
 *
 *  Threads do not survive fork(): a child process must create its own context. */
void ks_parallel_for(ks_context *context, int workers, int64_t items, ks_range_function function,
                     void *arg);

#endif
