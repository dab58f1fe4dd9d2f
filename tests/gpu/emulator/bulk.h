/* bulk.h -- the pending bulk copies of a block, and their barriers; see gpu/kernel_bulk.h. */
#ifndef EMULATED_BULK_H
#define EMULATED_BULK_H

#include <stddef.h>
#include <stdint.h>
#include <map>
#include <vector>

/** A pending copy. Its destination holds NaN until it is complete. */
struct bulk_copy {
    char *to;
    const char *from;
    unsigned bytes;
};

struct bulk_barrier {
    unsigned threads, arrived; /* of the phase */
    unsigned long phase;
    std::vector<bulk_copy> copies;
    std::map<int, unsigned long> asked; /* bytes, by threads that have not arrived since */
    std::map<int, unsigned long> last;  /* phase at which a thread has arrived */
    std::vector<int> waiting;           /* threads */
    std::map<int, uint32_t> told;       /* clocks of threads as they arrived; see races.h */
    std::map<int, uint32_t> heard;      /* the same at the end of the last phase */
};

typedef std::map<const void *, bulk_barrier> bulk_barriers;

#endif
