/* bulk.cpp -- bulk copies and their barriers. A phase ends when all of its threads have arrived and somebody
 * waits for it; until then nothing has landed, and then everything does, in an order drawn from the seed. */
#include "block.h"
#include "races.h"

static bulk_barrier &find(const char *site, const void *barrier)
{
    const auto found = self->home->bulk.find(barrier);
    if (found == self->home->bulk.end()) abandon("a bulk barrier that nobody has made", site);
    return found->second;
}

void ks_emu_bulk_init(const char *site, const void *barrier, unsigned threads)
{
    if (reinterpret_cast<uintptr_t>(barrier) % 8 || !in_shared_memory(barrier, 8))
        abandon("a bulk barrier that is not aligned in shared memory", site);
    if (!threads) abandon("a bulk barrier for no thread", site);
    bulk_barrier &b = self->home->bulk[barrier];
    if (!b.copies.empty() || b.arrived || !b.waiting.empty())
        abandon("a bulk barrier that is made again while it is used", site);
    b = bulk_barrier();
    b.threads = threads;
}

void ks_emu_bulk_copy(const char *site, void *shared, const void *global, unsigned bytes,
                      const void *barrier)
{
    bulk_barrier &b = find(site, barrier);
    if ((reinterpret_cast<uintptr_t>(shared) | reinterpret_cast<uintptr_t>(global) | bytes) % 16)
        abandon("a bulk copy that is not aligned to 16 bytes", site);
    if (!bytes) abandon("a bulk copy of nothing", site);
    if (!in_shared_memory(shared, bytes)) abandon("a bulk copy that leaves shared memory", site);
    races_meet(shared, bytes, RACE_WRITE);
    memset(shared, 0xff, bytes);
    b.copies.push_back({static_cast<char *>(shared), static_cast<const char *>(global), bytes});
    b.asked[self->number] += bytes;
}

/* What this thread has done so far is known to whoever waits for the phase; nobody asks where races are not watched. */
static void tell(bulk_barrier &b)
{
    if (races_watched) b.told[self->number] = self->clock[self->number % 32]++;
}

static void hear(const bulk_barrier &b)
{
    for (const auto &one : b.heard) {
        uint32_t &known = one.first / 32 == self->number / 32 ? self->clock[one.first % 32] : self->told[one.first];
        if (one.first != self->number && one.second > known) known = one.second;
    }
}

void ks_emu_bulk_arrive(const char *site, const void *barrier, unsigned bytes)
{
    bulk_barrier &b = find(site, barrier);
    const int me = self->number;
    if (b.asked[me] != bytes) abandon("other bytes expected than bulk copies bring", site);
    if (b.arrived == b.threads) abandon("more threads than a bulk barrier is for", site);
    b.asked[me] = 0;
    b.last[me] = b.phase;
    tell(b);
    if (++b.arrived < b.threads) return;
    for (int thread : b.waiting) wake(self->home->threads[(size_t)thread]);
    b.waiting.clear();
}

/* What was asked for is there. */
static void land(bulk_barrier &b)
{
    while (!b.copies.empty()) {
        const size_t i = running->random.below(b.copies.size());
        const bulk_copy copy = b.copies[i];
        b.copies[i] = b.copies.back();
        b.copies.pop_back();
        memcpy(copy.to, copy.from, copy.bytes);
    }
    b.heard = b.told;
    b.arrived = 0;
    ++b.phase;
}

void ks_emu_bulk_wait(const char *site, const void *barrier, unsigned parity)
{
    bulk_barrier &b = find(site, barrier);
    const int me = self->number;
    if (parity > 1) abandon("a parity of a bulk barrier that is neither 0 nor 1", site);
    /* A thread that has arrived at a phase has no more use for the one before it. */
    const auto last = b.last.find(me);
    if (b.phase % 2 != parity && last != b.last.end() && last->second == b.phase)
        abandon("a wait for the wrong phase of a bulk barrier", site);
    while (b.phase % 2 == parity) {
        if (b.arrived == b.threads) {
            land(b);
            break;
        }
        b.waiting.push_back(me);
        wait_in(AT_BULK, site);
    }
    hear(b);
}
