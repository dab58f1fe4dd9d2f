/* bulk.cpp -- bulk copies and their barriers. A phase ends when all of its threads have arrived and somebody
 * waits for it; until then nothing has landed, and then everything does, in an order drawn from the seed. */
#include "bulk.h"

#include <stdint.h>
#include <string.h>
#include "emulated_kernel.h"
#include "launch.h"

static bulk_barrier &find(const char *site, const void *barrier)
{
    const auto found = bulk_of_block().find(barrier);
    if (found == bulk_of_block().end()) abandon_thread("a bulk barrier that nobody has made", site);
    return found->second;
}

void ks_emu_bulk_init(const char *site, const void *barrier, unsigned threads)
{
    if (reinterpret_cast<uintptr_t>(barrier) % 8 || !in_shared_memory(barrier, 8))
        abandon_thread("a bulk barrier that is not aligned in shared memory", site);
    if (!threads) abandon_thread("a bulk barrier for no thread", site);
    bulk_barrier &b = bulk_of_block()[barrier];
    if (!b.copies.empty() || b.arrived || !b.waiting.empty())
        abandon_thread("a bulk barrier that is made again while it is used", site);
    b = bulk_barrier();
    b.threads = threads;
}

void ks_emu_bulk_copy(const char *site, void *shared, const void *global, unsigned bytes,
                      const void *barrier)
{
    bulk_barrier &b = find(site, barrier);
    if ((reinterpret_cast<uintptr_t>(shared) | reinterpret_cast<uintptr_t>(global) | bytes) % 16)
        abandon_thread("a bulk copy that is not aligned to 16 bytes", site);
    if (!bytes) abandon_thread("a bulk copy of nothing", site);
    if (!in_shared_memory(shared, bytes)) abandon_thread("a bulk copy that leaves shared memory", site);
    memset(shared, 0xff, bytes);
    b.copies.push_back({static_cast<char *>(shared), static_cast<const char *>(global), bytes});
    b.asked[thread_in_block()] += bytes;
}

void ks_emu_bulk_arrive(const char *site, const void *barrier, unsigned bytes)
{
    bulk_barrier &b = find(site, barrier);
    const int me = thread_in_block();
    if (b.asked[me] != bytes) abandon_thread("other bytes expected than bulk copies bring", site);
    if (b.arrived == b.threads) abandon_thread("more threads than a bulk barrier is for", site);
    b.asked[me] = 0;
    b.last[me] = b.phase;
    if (++b.arrived < b.threads) return;
    for (int thread : b.waiting) wake_thread(thread);
    b.waiting.clear();
}

/* What was asked for is there. */
static void land(bulk_barrier &b)
{
    while (!b.copies.empty()) {
        const size_t i = random_of_launch().below(b.copies.size());
        const bulk_copy copy = b.copies[i];
        b.copies[i] = b.copies.back();
        b.copies.pop_back();
        memcpy(copy.to, copy.from, copy.bytes);
    }
    b.arrived = 0;
    ++b.phase;
}

void ks_emu_bulk_wait(const char *site, const void *barrier, unsigned parity)
{
    bulk_barrier &b = find(site, barrier);
    const int me = thread_in_block();
    if (parity > 1) abandon_thread("a parity of a bulk barrier that is neither 0 nor 1", site);
    /* A thread that has arrived at a phase has no more use for the one before it. */
    const auto last = b.last.find(me);
    if (b.phase % 2 != parity && last != b.last.end() && last->second == b.phase)
        abandon_thread("a wait for the wrong phase of a bulk barrier", site);
    while (b.phase % 2 == parity) {
        if (b.arrived == b.threads) {
            land(b);
            return;
        }
        b.waiting.push_back(me);
        wait_for_bulk(site);
    }
}
