/* asan_vectors.c -- quick checks of whole vectors for the address sanitizer.
 *
 * The run time of gcc's address sanitizer has no quick check of more than 16 bytes: half of the time of watched
 * filters went into its loops over the bytes of vectors. Here the shadow of a vector is looked at first, a byte of
 * it for eight of the program's, zero where all of them may be touched; whatever is not surely clean is left to the
 * sanitizer. A program that is linked with this file calls these functions instead of the run time's. */
#include <sanitizer/asan_interface.h>
#include <stdint.h>
#include <string.h>
#include "asan_vectors.h"

void __asan_report_load_n(void *p, long n);
void __asan_report_store_n(void *p, long n);

/* Until they are known nothing is surely clean. */
static size_t shadow_scale, shadow_offset;

__attribute__((constructor)) static void learn_mapping(void)
{
    __asan_get_shadow_mapping(&shadow_scale, &shadow_offset);
}

/* As many bytes of shadow as the vector has words, from its first byte on and up to its last: of an unaligned one
 * they are not the same. */
int asan_surely_clean(const void *p, size_t n)
{
    const uintptr_t at = (uintptr_t)p;
    if (shadow_scale != 3 || (n != 32 && n != 64)) return 0;
    const size_t bytes = n / 8;
    const char *const first = (const char *)((at >> 3) + shadow_offset);
    const char *const last = (const char *)(((at + n - 1) >> 3) + shadow_offset);
    uint64_t head = 0, tail = 0;
    if (bytes == 4) {
        memcpy(&head, first, 4);
        memcpy(&tail, last - 3, 4);
    } else {
        memcpy(&head, first, 8);
        memcpy(&tail, last - 7, 8);
    }
    return !(head | tail);
}

void __asan_loadN(void *p, long n)
{
    if (!asan_surely_clean(p, (size_t)n) && __asan_region_is_poisoned(p, (size_t)n)) __asan_report_load_n(p, n);
}

void __asan_storeN(void *p, long n)
{
    if (!asan_surely_clean(p, (size_t)n) && __asan_region_is_poisoned(p, (size_t)n)) __asan_report_store_n(p, n);
}
