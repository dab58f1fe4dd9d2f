/* allocate.c -- memory from a context's allocator, or from the C library. */
#include <stdlib.h>
#include "context_body.h"

static void *c_allocate(void *user, size_t alignment, size_t bytes)
{
    (void)user;
    if (bytes > PTRDIFF_MAX - KS_ALIGNMENT) return NULL;
    /* C11 requires a size that is a multiple of the alignment. */
    const size_t rounded = (bytes + KS_ALIGNMENT - 1) / KS_ALIGNMENT * KS_ALIGNMENT;
    return aligned_alloc(alignment, rounded ? rounded : KS_ALIGNMENT);
}

static void c_release(void *user, void *memory)
{
    (void)user;
    free(memory);
}

const ks_allocator ks_c_allocator = {c_allocate, c_release, NULL};

void *ks_allocate(ks_context *context, size_t bytes)
{
    const ks_allocator *a = context ? &context->allocator : &ks_c_allocator;
    return a->allocate(a->user, KS_ALIGNMENT, bytes ? bytes : 1);
}

void ks_release(ks_context *context, void *memory)
{
    const ks_allocator *a = context ? &context->allocator : &ks_c_allocator;
    if (memory) a->release(a->user, memory);
}
