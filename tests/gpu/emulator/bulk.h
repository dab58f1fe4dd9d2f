/* bulk.h -- the bulk copies of a block that are under way, and their barriers, see gpu/kernel_bulk.h. */
#ifndef EMULATED_BULK_H
#define EMULATED_BULK_H

#include <stddef.h>
#include <stdint.h>
#include <map>
#include <vector>

/** A copy that has been asked for; what it fills holds NaN until it has landed. */
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
    std::map<int, unsigned long> last;  /* phase that a thread has arrived at            */
    std::vector<int> waiting;           /* threads                                       */
    std::map<int, uint32_t> told;       /* clocks of threads as they arrived, see races.h */
    std::map<int, uint32_t> heard;      /* the same when the last phase ended             */
};

typedef std::map<const void *, bulk_barrier> bulk_barriers;

#endif
