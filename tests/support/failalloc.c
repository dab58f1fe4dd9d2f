/* failalloc.c -- see failalloc.h. Each block is preceded by a line that keeps its size. */
#include <stdlib.h>
#include <string.h>

#include "failalloc.h"

#define LINE 64

static void *allocate(void *user, size_t alignment, size_t bytes)
{
    failalloc *memory = user;
    const long call = atomic_fetch_add(&memory->calls, 1) + 1;
    if (call == atomic_load(&memory->fail_at)) return NULL;
    if (alignment > LINE || bytes > SIZE_MAX - 2 * LINE) return NULL;
    /* Not rounded up: an overrun is for the sanitizers to see. */
    void *start = NULL;
    if (posix_memalign(&start, LINE, bytes + LINE)) return NULL;
    char *block = start;
    memcpy(block, &bytes, sizeof bytes);
    memset(block + LINE, 0xa5, bytes);
    atomic_fetch_add(&memory->live, 1);
    const size_t now = atomic_fetch_add(&memory->bytes, bytes) + bytes;
    size_t peak = atomic_load(&memory->peak);
    while (now > peak && !atomic_compare_exchange_weak(&memory->peak, &peak, now)) {}
    return block + LINE;
}

static void release(void *user, void *block)
{
    failalloc *memory = user;
    if (!block) return;
    char *start = (char *)block - LINE;
    size_t bytes;
    memcpy(&bytes, start, sizeof bytes);
    atomic_fetch_sub(&memory->live, 1);
    atomic_fetch_sub(&memory->bytes, bytes);
    free(start);
}

ks_allocator failalloc_allocator(failalloc *memory)
{
    const ks_allocator allocator = {allocate, release, memory};
    return allocator;
}
