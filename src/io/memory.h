/* memory.h -- large arrays of the program, checked before the system is asked for them. */
#ifndef KS_IO_MEMORY_H
#define KS_IO_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include "failure.h"

/** a * b, or SIZE_MAX where it overflows or either already did. */
size_t ks_size_product(size_t a, size_t b);

/** a + b, or SIZE_MAX where it overflows. */
size_t ks_size_sum(size_t a, size_t b);

/** Bytes that this process can sensibly hold: the machine's memory, or less where a control group
 *  or a resource limit says so. A system that overcommits would hand out more and then kill the
 *  process when it is touched. */
size_t ks_memory_limit(void);

/** Refuse (KS_EXIT_RESOURCES) what cannot fit in memory; `what` names it in the message. */
ks_exit ks_memory_check(size_t bytes, const char *what, ks_failure *failure);

/** Zeroed memory aligned to 64 bytes; free it with free(). NULL with a failure recorded. */
void *ks_memory_zeroed(size_t bytes, const char *what, ks_failure *failure);

/** The same, with undefined contents. */
void *ks_memory_raw(size_t bytes, const char *what, ks_failure *failure);

/** "12.3 GiB" into text. */
void ks_size_text(size_t bytes, char text[32]);

#endif
