/* races.cpp -- what has touched each byte of memory since it was last written, see races.h. */
#include "races.h"

#include <deque>
#include <map>
#include <memory>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "emulated_kernel.h"

bool races_watched;

namespace
{
enum { WORD = 4, MOST_READERS = 16 };

/* As small as it can be: most of the time of a watched program goes by until memory has told what it holds. */
struct access {
    uint32_t block, block_epoch, clock;
    unsigned grid_epoch : 16, thread : 10, bytes : 4, kind : 2; /* bytes of the word: a bit for each */
};
enum { MOST_GRID_EPOCHS = 0xffff };

/* Whose an access is and of which bytes, but for the upper bits of the block's number: four are compared at once. */
uint32_t who_of(const access &a) { return a.block << 14 | (uint32_t)a.thread << 4 | a.bytes; }

typedef uint32_t four __attribute__((vector_size(16)));

struct several {
    four who[MOST_READERS / 4];
    access all[MOST_READERS];
};

/* Accesses of one kind. */
struct accesses {
    size_t count;
    several *more; /* all of them, once there have been two; NULL: there is the first one alone */
    access first;

    access *begin() { return more ? more->all : &first; }
    access *end() { return begin() + count; }
    void add(const access &a, std::deque<several> &room)
    {
        if (count && !more) {
            room.emplace_back();
            more = &room.back();
            more->all[0] = first;
            more->who[0][0] = who_of(first);
        }
        if (more) more->who[count / 4][count % 4] = who_of(a);
        begin()[count++] = a;
    }
    /* The one of the same thread and bytes; NULL: there is none. */
    access *same(const access &a)
    {
        if (!count) return nullptr;
        if (!more) return who_of(first) == who_of(a) && first.block == a.block ? &first : nullptr;
        const four one = {1, 2, 4, 8}, like = four{0, 0, 0, 0} + who_of(a);
        four bits = {0, 0, 0, 0};
        for (unsigned i = 0; i < MOST_READERS / 4; ++i) bits |= (four)(more->who[i] == like) & one << 4 * i;
        unsigned found = (bits[0] | bits[1] | bits[2] | bits[3]) & ((1u << count) - 1);
        for (; found; found &= found - 1) {
            access *const alike = &more->all[__builtin_ctz(found)];
            if (alike->block == a.block) return alike;
        }
        return nullptr;
    }
    /* `own` takes their place. */
    void displace(const access &own)
    {
        size_t left = 0;
        for (size_t i = 0; i < count; ++i) {
            access a = begin()[i];
            a.bytes = (unsigned)a.bytes & ~(unsigned)own.bytes & 15u;
            if (!a.bytes) continue;
            if (more) more->who[left / 4][left % 4] = who_of(a);
            begin()[left++] = a;
        }
        count = left;
    }
};

/* Of one launch: the last write of each byte, and reads since it, of which the first are kept where there are many. */
struct word {
    uint32_t launch;
    accesses writers, readers;
};

struct region {
    size_t bytes;
    std::unique_ptr<word, void (*)(void *)> words{nullptr, free}; /* zeros, made when the first one is touched */
    std::deque<several> room;
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
    const int thread = before.thread;
    if (thread == now.thread || before.block_epoch < now.block_epoch) return true;
    if (thread / 32 == now.thread / 32) return now.clock[thread % 32] >= before.clock;
    const auto told = now.told->find(thread);
    return told != now.told->end() && told->second >= before.clock;
}

void check(const access &before, const race_place &now, race_kind kind)
{
    static const char *const has[] = {"has read", "has written", "has added to"};
    static const char *const does[] = {"reads", "writes", "adds to"};
    if (ordered(before, now) || (before.kind == (unsigned)RACE_ATOMIC && kind == RACE_ATOMIC)) return;
    char text[160];
    snprintf(text, sizeof text, "a race: %s what thread %d of block %u %s", does[kind], (int)before.thread, before.block,
             has[before.kind]);
    race_found(text);
}

void touch(region &r, word &w, const race_place &now, unsigned bytes, race_kind kind, bool stays)
{
    const access own = {now.block, now.block_epoch, now.clock[now.thread % 32], now.grid_epoch & MOST_GRID_EPOCHS,
                        (unsigned)now.thread & 1023u, bytes & 15u, (unsigned)kind & 3u};
    if (w.launch != now.launch) {
        w.launch = now.launch;
        w.writers.count = w.readers.count = 0;
    }
    for (const access &a : w.writers)
        if (a.bytes & bytes) check(a, now, kind);
    if (kind == RACE_READ && stays) {
        access *const before = w.readers.same(own);
        if (before) *before = own;
        else if (w.readers.count < MOST_READERS) w.readers.add(own, r.room);
        return;
    }
    for (const access &a : w.readers)
        if (a.bytes & bytes && kind != RACE_READ) check(a, now, kind);
    if (!stays) return;
    w.readers.displace(own);
    w.writers.displace(own);
    w.writers.add(own, r.room);
}

/* Memory begins at a multiple of so many bytes, and as many lie behind it (guarded.cpp). */
enum { APART = 256, PLACES = 256 };

/* The regions that were looked for last, by their addresses. */
struct place {
    uintptr_t number; /* of its APART bytes; 0: nothing is known */
    uintptr_t from;
    region *in; /* NULL: a thread's own memory, the host's */
} places[PLACES];

void forget_places() { memset(places, 0, sizeof places); }
} // namespace

void races_memory(const void *data, size_t bytes)
{
    if (!races_watched) return;
    region &r = regions()[reinterpret_cast<uintptr_t>(data)];
    r.bytes = bytes;
    r.words.reset();
    r.room.clear();
    forget_places();
}

void races_no_memory(const void *data)
{
    if (!races_watched) return;
    regions().erase(reinterpret_cast<uintptr_t>(data));
    forget_places();
}

/* The region that all of it is in, and how far from its begin; NULL: none. */
static region *region_of(uintptr_t at, size_t bytes, size_t *first)
{
    place &p = places[at / APART % PLACES];
    if (p.number != at / APART) {
        auto behind = regions().upper_bound(at);
        p = {at / APART, 0, nullptr};
        if (behind != regions().begin()) {
            --behind;
            p.from = behind->first;
            if (at - p.from < (behind->second.bytes + APART - 1) / APART * APART) p.in = &behind->second;
        }
    }
    *first = at - p.from;
    return p.in && *first < p.in->bytes && bytes <= p.in->bytes - *first ? p.in : nullptr;
}

void races_look(const void *p, size_t bytes, race_kind kind, bool stays)
{
    size_t first;
    region *const r = region_of(reinterpret_cast<uintptr_t>(p), bytes, &first);
    race_place now;
    if (!r || !race_here(now)) return;
    /* Barriers of the grid beyond those that are counted order nothing: that shows. */
    if (now.grid_epoch > MOST_GRID_EPOCHS) now.grid_epoch = MOST_GRID_EPOCHS;
    if (!r->words) r->words.reset(static_cast<word *>(calloc((r->bytes + WORD - 1) / WORD, sizeof(word))));
    if (!r->words) {
        race_found("no memory to watch accesses in");
        return;
    }
    const size_t end = first + bytes;
    for (size_t i = first / WORD; i * WORD < end; ++i) {
        const size_t at = i * WORD, from = first > at ? first - at : 0;
        const size_t to = end < at + WORD ? end - at : (size_t)WORD;
        touch(*r, r->words.get()[i], now, (1u << to) - (1u << from), kind, stays);
    }
}

void ks_emu_atomic(const void *p, size_t bytes) { races_touch(p, bytes, RACE_ATOMIC); }
