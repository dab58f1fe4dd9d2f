/* context.c -- the allocator and the pool that plans draw on. */
#include <stdlib.h>
#include <unistd.h>

#include "context_body.h"

#define ALIGNMENT 64
#define MOST_THREADS 4096

static void *c_allocate(void *user, size_t alignment, size_t bytes)
{
    (void)user;
    if (bytes > PTRDIFF_MAX - ALIGNMENT) return NULL;
    /* C11 asks for a multiple of the alignment. */
    const size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return aligned_alloc(alignment, rounded ? rounded : ALIGNMENT);
}

static void c_release(void *user, void *memory)
{
    (void)user;
    free(memory);
}

static const ks_allocator c_allocator = {c_allocate, c_release, NULL};

void *ks_allocate(ks_context *context, size_t bytes)
{
    const ks_allocator *a = context ? &context->allocator : &c_allocator;
    return a->allocate(a->user, ALIGNMENT, bytes ? bytes : 1);
}

void ks_release(ks_context *context, void *memory)
{
    const ks_allocator *a = context ? &context->allocator : &c_allocator;
    if (memory) a->release(a->user, memory);
}

static int online_processors(void)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    if (n < 1) return 1;
    return n < MOST_THREADS ? (int)n : MOST_THREADS;
}

ks_status ks_context_create(ks_context **out, const ks_context_options *options)
{
    static const ks_context_options defaults = KS_CONTEXT_OPTIONS_INIT;
    if (!out) return KS_EINVAL;
    *out = NULL;
    if (!options) options = &defaults;
    if (options->size != sizeof *options) return KS_EINVAL;
    if (!options->allocator.allocate != !options->allocator.release) return KS_EINVAL;
    if (options->threads < 0 || options->threads > MOST_THREADS) return KS_EINVAL;

    const ks_allocator *a = options->allocator.allocate ? &options->allocator : &c_allocator;
    ks_context *context = a->allocate(a->user, ALIGNMENT, sizeof *context);
    if (!context) return KS_ENOMEM;
    context->allocator = *a;
    context->pool = NULL;
    context->threads = options->threads ? options->threads : online_processors();
    if (context->threads > 1) {
        const ks_status status = ks_pool_create(&context->pool, context, context->threads);
        if (status) {
            ks_context_destroy(context);
            return status;
        }
    }
    *out = context;
    return KS_OK;
}

void ks_context_destroy(ks_context *context)
{
    if (!context) return;
    ks_pool_destroy(context->pool, context);
    const ks_allocator allocator = context->allocator;
    allocator.release(allocator.user, context);
}

int ks_context_threads(const ks_context *context) { return context ? context->threads : 1; }
