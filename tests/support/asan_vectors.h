/* asan_vectors.h -- checks of whole vectors for the address sanitizer, see asan_vectors.c. */
#ifndef ASAN_VECTORS_H
#define ASAN_VECTORS_H

#include <stddef.h>

/** Non-zero only where a program may touch all of n bytes at p: one look at what the sanitizer keeps of them. For
 *  vectors of 32 and 64 bytes it is so wherever no byte close to them is forbidden, for other sizes never. */
int asan_surely_clean(const void *p, size_t n);

/** What the compiler calls before it reads or writes n bytes; the sanitizer's own report ends the program. */
void __asan_loadN(void *p, long n);
void __asan_storeN(void *p, long n);

#endif
