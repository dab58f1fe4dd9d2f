/* context.c -- the allocator and the thread pool that plans use. */
#include <unistd.h>
#include "context_body.h"

#define MOST_THREADS 4096

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

    const ks_allocator *a = options->allocator.allocate ? &options->allocator : &ks_c_allocator;
    ks_context *context = a->allocate(a->user, KS_ALIGNMENT, sizeof *context);
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
