/* kalscan/context.h -- the resources that plans draw on: an allocator and a thread pool.
 *
 * There is no hidden global state: whoever wants threads or an allocator of his own makes a
 * context and hands it to the plans. A context outlives the plans made with it. Any number of
 * threads may use one context; its pool serves one caller at a time, and a caller that finds
 * the pool busy runs its work alone, with the same results. */
#ifndef KALSCAN_CONTEXT_H
#define KALSCAN_CONTEXT_H

#include <stddef.h>
#include <stdint.h>
#include "kalscan/export.h"
#include "kalscan/status.h"

KS_BEGIN_DECLS

/** How a context allocates. `allocate` returns `bytes` bytes aligned to `alignment` (a power
 *  of two, at most 64) or NULL; `release` takes what `allocate` returned, or NULL. Both may be
 *  called from any thread that calls the library. */
typedef struct ks_allocator {
    void *(*allocate)(void *user, size_t alignment, size_t bytes);
    void (*release)(void *user, void *memory);
    void *user;
} ks_allocator;

/** Options of a context. Start from KS_CONTEXT_OPTIONS_INIT. */
typedef struct ks_context_options {
    size_t size;            /**< sizeof(ks_context_options); lets the struct grow            */
    ks_allocator allocator; /**< all zero: the C library's aligned allocation; else both     */
                            /**< functions                                                   */
    int threads;            /**< workers of the pool, the caller included, at most 4096; 0:  */
                            /**< all that are online, 1: no pool                             */
} ks_context_options;
#define KS_CONTEXT_OPTIONS_INIT { sizeof(ks_context_options), { NULL, NULL, NULL }, 1 }

typedef struct ks_context ks_context;

/** Make a context. On success *out is the caller's: free it with ks_context_destroy(). On
 *  failure *out is NULL. options NULL means KS_CONTEXT_OPTIONS_INIT.
 *  Errors: KS_EINVAL, KS_ENOMEM (also when the system gives no more threads). */
KS_API KS_MUST_CHECK ks_status ks_context_create(ks_context **out,
                                                 const ks_context_options *options);

/** Free a context; the plans made with it must be gone. NULL is allowed. */
KS_API void ks_context_destroy(ks_context *context);

/** Workers of the pool, the caller included: at least 1, and 1 if context is NULL. */
KS_API int ks_context_threads(const ks_context *context);

KS_END_DECLS
#endif
