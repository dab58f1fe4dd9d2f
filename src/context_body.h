/* context_body.h -- the inside of a context, for allocate.c, context.c and pool.c only. */
#ifndef KS_CONTEXT_BODY_H
#define KS_CONTEXT_BODY_H

#include "kalscan/context.h"
#include "pool.h"

/** Alignment of all memory in bytes: a cache line. */
enum { KS_ALIGNMENT = 64 };

typedef struct ks_pool ks_pool;

struct ks_context {
    ks_allocator allocator;
    ks_pool *pool; /**< NULL if threads == 1 */
    int threads;
};

/** Allocates from the C library. */
extern const ks_allocator ks_c_allocator;

/** Start threads - 1 threads, with memory from the context's allocator. On failure *out is NULL and nothing remains
 *  allocated. Errors: KS_ENOMEM. */
ks_status ks_pool_create(ks_pool **out, ks_context *context, int threads);

/** Stop and join the threads. NULL is allowed. No loop may be running. */
void ks_pool_destroy(ks_pool *pool, ks_context *context);

#endif
