/* kalscan/context.h -- the resources of plans: an allocator and a thread pool.
 *
 * The library has no global state. A context is needed for more than one thread, or for an allocator other than the C
 * library's; every function that takes a context accepts NULL, which means neither.
 *
 * Calls, in this order:
 *
 *     ks_context_create()    starts the threads
 *     ...                    plans are made with the context, run and destroyed
 *     ks_context_destroy()   joins the threads
 *
 * Example: a context with a worker for each processor.
 *
 *     ks_status open_context(ks_context **context)
 *     {
 *         ks_context_options options = KS_CONTEXT_OPTIONS_INIT;
 *         options.threads = 0;
 *         return ks_context_create(context, &options);
 *     }
 *
 * Threads: any number of threads may use one context. Its pool serves one caller at a time. A caller that finds the
 * pool busy does its work alone, with the same results. Threads do not survive fork(): a child process must make a
 * context of its own. */
#ifndef KALSCAN_CONTEXT_H
#define KALSCAN_CONTEXT_H

#include <stddef.h>
#include <stdint.h>
#include "kalscan/export.h"
#include "kalscan/status.h"

KS_BEGIN_DECLS

/** An allocator. Both functions may be called from any thread that calls the library. */
typedef struct ks_allocator {
    /** Return `bytes` > 0 bytes aligned to `alignment`, a power of two of at most 64, or NULL on failure. */
    void *(*allocate)(void *user, size_t alignment, size_t bytes);
    /** Free memory that `allocate` returned; never NULL. */
    void (*release)(void *user, void *memory);
    void *user; /**< first argument of both functions */
} ks_allocator;

/** Options of a context. Start from KS_CONTEXT_OPTIONS_INIT: one thread, the C library's allocator. */
typedef struct ks_context_options {
    size_t size;            /**< sizeof(ks_context_options) */
    ks_allocator allocator; /**< both functions, or neither: aligned_alloc() and free() */
    int threads;            /**< workers of the pool, the caller included, 1 to 4096; 0: one per online processor */
} ks_context_options;
#define KS_CONTEXT_OPTIONS_INIT { sizeof(ks_context_options), { NULL, NULL, NULL }, 1 }

/** A context: opaque. */
typedef struct ks_context ks_context;

/** Make a context.
 *
 *  On success *out is the caller's; free it with ks_context_destroy(). On failure *out is NULL. `options` is copied;
 *  NULL means KS_CONTEXT_OPTIONS_INIT.
 *
 *  Errors:
 *  - KS_EINVAL: out is NULL, options->size is wrong, one of the allocator's functions is missing, or threads is
 *    negative or above 4096.
 *  - KS_ENOMEM: out of memory, or the system starts no more threads. */
KS_API KS_MUST_CHECK ks_status ks_context_create(ks_context **out,
                                                 const ks_context_options *options);

/** Free a context. All plans made with it must have been destroyed. NULL is allowed. */
KS_API void ks_context_destroy(ks_context *context);

/** Return the number of workers of the pool, the caller included: at least 1; 1 if context is NULL. */
KS_API int ks_context_threads(const ks_context *context);

KS_END_DECLS
#endif
