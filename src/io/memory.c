#define _DEFAULT_SOURCE /* madvise() */
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Arrays of at least LARGE bytes are aligned to huge pages and request them. */
#define HUGE_PAGE ((size_t)2 << 20)
#define LARGE     ((size_t)8 << 20)

size_t ks_size_product(size_t a, size_t b)
{
    size_t product;
    if (a == SIZE_MAX || b == SIZE_MAX || __builtin_mul_overflow(a, b, &product)) return SIZE_MAX;
    return product;
}

size_t ks_size_sum(size_t a, size_t b)
{
    size_t sum;
    return __builtin_add_overflow(a, b, &sum) ? SIZE_MAX : sum;
}

/* Read one number from a control-group file. SIZE_MAX: "max", or no such file. */
static size_t limit_from_file(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file) return SIZE_MAX;
    unsigned long long value;
    const int found = fscanf(file, "%llu", &value);
    fclose(file);
    return found == 1 ? (size_t)value : SIZE_MAX;
}

size_t ks_memory_limit(void)
{
    size_t limit = SIZE_MAX;
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0) limit = ks_size_product((size_t)pages, (size_t)page);
    struct rlimit address_space;
    if (getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur != RLIM_INFINITY &&
        (size_t)address_space.rlim_cur < limit)
        limit = (size_t)address_space.rlim_cur;
    static const char *const groups[] = {"/sys/fs/cgroup/memory.max",
                                         "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; ++i) {
        const size_t group = limit_from_file(groups[i]);
        if (group < limit) limit = group;
    }
    return limit;
}

void ks_size_text(size_t bytes, char text[32])
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t unit = 0;
    if (bytes == SIZE_MAX) {
        snprintf(text, 32, "more than %s", "16 EiB");
        return;
    }
    while (value >= 1024.0 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1024.0;
        ++unit;
    }
    snprintf(text, 32, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
}

ks_exit ks_memory_check(size_t bytes, const char *what, ks_failure *failure)
{
    const size_t limit = ks_memory_limit();
    if (bytes < limit) return KS_EXIT_DONE;
    char need[32], have[32];
    ks_size_text(bytes, need);
    ks_size_text(limit, have);
    return ks_fail(failure, KS_EXIT_RESOURCES, "out of memory: %s needed for %s, the limit is %s", need,
                   what, have);
}

void *ks_memory_raw(size_t bytes, const char *what, ks_failure *failure)
{
    if (ks_memory_check(bytes, what, failure)) return NULL;
    void *memory = NULL;
    const size_t huge = bytes >= LARGE ? HUGE_PAGE : 0;
    if (posix_memalign(&memory, huge ? huge : 64, bytes ? bytes : 64) != 0) {
        char need[32];
        ks_size_text(bytes, need);
        ks_fail(failure, KS_EXIT_RESOURCES, "out of memory: cannot allocate %s for %s", need, what);
        return NULL;
    }
#ifdef MADV_HUGEPAGE
    /* Otherwise the first write to each page of 4 KiB goes through the kernel. */
    if (huge) (void)madvise(memory, bytes / huge * huge, MADV_HUGEPAGE);
#endif
    return memory;
}

void *ks_memory_zeroed(size_t bytes, const char *what, ks_failure *failure)
{
    void *memory = ks_memory_raw(bytes, what, failure);
    return memory ? memset(memory, 0, bytes) : NULL;
}
