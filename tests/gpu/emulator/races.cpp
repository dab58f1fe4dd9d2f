/* races.cpp -- what has touched each byte of memory since it was last written, see races.h. */
#include "races.h"

#include <map>
#include <stdio.h>
#include <vector>
#include "emulated_kernel.h"

bool races_watched;

namespace
{
enum { WORD = 4, MOST_READERS = 16 };

struct access {
    uint32_t grid_epoch, block, block_epoch, clock;
    int thread;
    unsigned char bytes; /* of the word: a bit for each */
    race_kind kind;
};

/* Of one launch: the last write of each byte, and reads since it, of which the first are kept where there are many. */
struct word {
    uint32_t launch = 0;
    std::vector<access> writers, readers;
};

struct region {
    size_t bytes;
    std::vector<word> words; /* made when the first one is touched */
};

std::map<uintptr_t, region> &regions()
{
    static std::map<uintptr_t, region> all;
    return all;
}

bool ordered(const access &before, const race_place &now)
{
    if (before.grid_epoch < now.grid_epoch) return true;
    if (before.block != now.block) return false;
    if (before.thread == now.thread || before.block_epoch < now.block_epoch) return true;
    if (before.thread / 32 == now.thread / 32) return now.clock[before.thread % 32] >= before.clock;
    const auto told = now.told->find(before.thread);
    return told != now.told->end() && told->second >= before.clock;
}

void check(const access &before, const race_place &now, race_kind kind)
{
    static const char *const has[] = {"has read", "has written", "has added to"};
    static const char *const does[] = {"reads", "writes", "adds to"};
    if (ordered(before, now) || (before.kind == RACE_ATOMIC && kind == RACE_ATOMIC)) return;
    char text[160];
    snprintf(text, sizeof text, "a race: %s what thread %d of block %u %s", does[kind], before.thread, before.block,
             has[before.kind]);
    race_found(text);
}

/* What `own` takes the place of. */
void displace(std::vector<access> &all, const access &own)
{
    size_t left = 0;
    for (access &a : all) {
        a.bytes = static_cast<unsigned char>(a.bytes & ~own.bytes);
        if (a.bytes) all[left++] = a;
    }
    all.resize(left);
}

/* `stays`: whether later accesses are held against it. */
void touch(word &w, const race_place &now, unsigned bytes, race_kind kind, bool stays)
{
    const access own = {now.grid_epoch, now.block, now.block_epoch, now.clock[now.thread % 32], now.thread,
                        static_cast<unsigned char>(bytes), kind};
    if (w.launch != now.launch) {
        w.launch = now.launch;
        w.writers.clear();
        w.readers.clear();
    }
    for (const access &a : w.writers)
        if (a.bytes & bytes) check(a, now, kind);
    if (kind == RACE_READ && stays) {
        for (access &r : w.readers)
            if (r.block == own.block && r.thread == own.thread && r.bytes == own.bytes) {
                r = own;
                return;
            }
        if (w.readers.size() < MOST_READERS) w.readers.push_back(own);
        return;
    }
    for (const access &r : w.readers)
        if (r.bytes & bytes && kind != RACE_READ) check(r, now, kind);
    if (!stays) return;
    displace(w.readers, own);
    displace(w.writers, own);
    w.writers.push_back(own);
}
} // namespace

void races_memory(const void *data, size_t bytes)
{
    if (races_watched) regions()[reinterpret_cast<uintptr_t>(data)] = {bytes, {}};
}

void races_no_memory(const void *data)
{
    if (races_watched) regions().erase(reinterpret_cast<uintptr_t>(data));
}

static void look_at(const void *p, size_t bytes, race_kind kind, bool stays)
{
    race_place now;
    if (!races_watched || !race_here(now)) return;
    const uintptr_t at = reinterpret_cast<uintptr_t>(p);
    auto found = regions().upper_bound(at);
    if (found == regions().begin()) return;
    --found;
    region &r = found->second;
    const size_t first = at - found->first;
    if (first >= r.bytes || bytes > r.bytes - first) return; /* a thread's own memory, the host's */
    if (r.words.empty()) r.words.resize((r.bytes + WORD - 1) / WORD);
    const size_t end = first + bytes;
    for (size_t i = first / WORD; i * WORD < end; ++i) {
        const size_t word = i * WORD, from = first > word ? first - word : 0;
        const size_t to = end < word + WORD ? end - word : (size_t)WORD;
        touch(r.words[i], now, (1u << to) - (1u << from), kind, stays);
    }
}

void races_touch(const void *p, size_t bytes, race_kind kind) { look_at(p, bytes, kind, true); }

void races_meet(const void *p, size_t bytes, race_kind kind) { look_at(p, bytes, kind, false); }

void ks_emu_atomic(const void *p, size_t bytes) { races_touch(p, bytes, RACE_ATOMIC); }
