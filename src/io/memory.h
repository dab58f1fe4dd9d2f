/* memory.h -- large arrays of the program, checked against the memory limit before they are allocated. */
#ifndef KS_IO_MEMORY_H
#define KS_IO_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include "failure.h"

/** Return a * b, or SIZE_MAX if it overflows or a or b is SIZE_MAX. */
size_t ks_size_product(size_t a, size_t b);

/** Return a + b, or SIZE_MAX if it overflows. */
size_t ks_size_sum(size_t a, size_t b);

/** Return the bytes that this process can use: the memory of the machine, or less if a control group or a resource
 *  limit says so. A system that overcommits would allocate more and kill the process when it uses the memory. */
size_t ks_memory_limit(void);

/** Fail (KS_EXIT_RESOURCES) if `bytes` do not fit in memory. `what` names them in the message. */
ks_exit ks_memory_check(size_t bytes, const char *what, ks_failure *failure);

/** Return zeroed memory aligned to 64 bytes, to be freed by free(). NULL: a failure is recorded. */
void *ks_memory_zeroed(size_t bytes, const char *what, ks_failure *failure);

/** As ks_memory_zeroed(), with undefined contents. */
void *ks_memory_raw(size_t bytes, const char *what, ks_failure *failure);

/** Write a size such as "12.3 GiB" to text. */
void ks_size_text(size_t bytes, char text[32]);

#endif
