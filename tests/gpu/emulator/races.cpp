/* races.cpp -- what has touched each word of memory since it was last written, see races.h. */
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
    race_kind kind;
};

/* Of one launch: the last write, and reads since it, of which the first are kept where there are many. */
struct word {
    uint32_t launch = 0;
    bool written = false;
    access writer;
    std::vector<access> readers;
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
    return before.thread / 32 == now.thread / 32 && now.clock[before.thread % 32] >= before.clock;
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

void touch(word &w, const race_place &now, race_kind kind)
{
    const access own = {now.grid_epoch, now.block, now.block_epoch, now.clock[now.thread % 32], now.thread, kind};
    if (w.launch != now.launch) {
        w.launch = now.launch;
        w.written = false;
        w.readers.clear();
    }
    if (w.written) check(w.writer, now, kind);
    if (kind == RACE_READ) {
        for (access &r : w.readers)
            if (r.block == own.block && r.thread == own.thread) {
                r = own;
                return;
            }
        if (w.readers.size() < MOST_READERS) w.readers.push_back(own);
        return;
    }
    for (const access &r : w.readers) check(r, now, kind);
    w.readers.clear();
    w.written = true;
    w.writer = own;
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

void races_touch(const void *p, size_t bytes, race_kind kind)
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
    for (size_t i = first / WORD; i <= (first + bytes - 1) / WORD; ++i) touch(r.words[i], now, kind);
}

void ks_emu_atomic(const void *p, size_t bytes) { races_touch(p, bytes, RACE_ATOMIC); }
