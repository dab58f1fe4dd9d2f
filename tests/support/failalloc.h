/* failalloc.h -- an allocator that fails on demand and counts, to test out-of-memory paths.
 *
 *     failalloc memory = FAILALLOC_INIT;
 *     ks_context_options options = KS_CONTEXT_OPTIONS_INIT;
 *     options.allocator = failalloc_allocator(&memory);
 *     for (memory.fail_at = 1;; ++memory.fail_at) {
 *         memory.calls = 0;
 *         status = work(&options);
 *         assert_int_equal(atomic_load(&memory.live), 0);
 *         if (status == KS_OK) break;
 *         assert_int_equal(status, KS_ENOMEM);
 *     }
 */
#ifndef FAILALLOC_H
#define FAILALLOC_H

#include <stdatomic.h>
#include "kalscan/context.h"

typedef struct failalloc {
    atomic_long fail_at; /**< the number of the call that fails, from 1; 0: none        */
    atomic_long calls;   /**< calls so far; the test sets it back to 0                  */
    atomic_long live;    /**< blocks allocated and not released                         */
    atomic_size_t bytes; /**< bytes in live blocks                                      */
    atomic_size_t peak;  /**< the most that `bytes` has been; the test may set it back  */
} failalloc;
#define FAILALLOC_INIT {0, 0, 0, 0, 0}

/** An allocator for ks_context_options; `memory` outlives the context. Blocks come aligned to 64
 *  and filled with a pattern that is no useful number. */
ks_allocator failalloc_allocator(failalloc *memory);

#endif
