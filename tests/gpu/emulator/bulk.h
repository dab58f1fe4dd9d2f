/* bulk.h -- the bulk copies of a block that are under way, and their barriers, see gpu/kernel_bulk.h. */
#ifndef EMULATED_BULK_H
#define EMULATED_BULK_H

#include <stddef.h>
#include <map>
#include <vector>

struct random_source;

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
};

typedef std::map<const void *, bulk_barrier> bulk_barriers;

/* ---- of the thread that runs, and its block; in launch.cpp ---- */

bulk_barriers &bulk_of_block();
int thread_in_block();
random_source &random_of_launch();
/** Whether all of it is memory that the block shares. */
bool in_shared_memory(const void *p, size_t bytes);
/** The thread's own end, and the launch's: what went wrong, and where. */
[[noreturn]] void abandon_thread(const char *what, const char *site);
/** Stop until another thread of the block wakes this one. */
void wait_for_bulk(const char *site);
void wake_thread(int number);

#endif
