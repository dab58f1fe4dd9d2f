/* shared.cpp -- the arrays that a block shares, and asynchronous copies into them, which land when they are waited
 * for. */
#include "block.h"
#include "races.h"

bool in_shared_memory(const void *p, size_t bytes)
{
    for (const shared_array &a : self->home->arrays)
        if (a.memory->holds(p, bytes)) return true;
    return false;
}

static void *shared_of(const void *key, size_t bytes)
{
    block &b = *self->home;
    size_t used = bytes;
    for (shared_array &a : b.arrays) {
        if (a.key == key) return a.memory->data();
        used += a.memory->bytes();
    }
    if (used > running->most_shared) abandon("more shared memory than a block has", nullptr);
    b.arrays.push_back({key, std::make_unique<guarded>(bytes)});
    return b.arrays.back().memory->data();
}
void *ks_emu_shared(const void *key, size_t bytes) { return shared_of(key, bytes); }
void *ks_emu_dynamic_shared(void) { return shared_of(nullptr, 0); }

void *ks_emu_aligned(const char *site, const void *pointer, size_t bytes)
{
    if (reinterpret_cast<uintptr_t>(pointer) % bytes) abandon("a word that is not aligned to its size", site);
    return const_cast<void *>(pointer);
}

void ks_emu_async_copy(void *shared, const void *global, int bytes)
{
    if (bytes != 4 && bytes != 8 && bytes != 16)
        abandon("an asynchronous copy of a wrong size", nullptr);
    if ((reinterpret_cast<uintptr_t>(shared) | reinterpret_cast<uintptr_t>(global)) %
        (unsigned)bytes)
        abandon("an asynchronous copy that is not aligned", nullptr);
    races_touch(shared, (size_t)bytes, RACE_WRITE);
    memset(shared, 0xff, (size_t)bytes);
    self->copies.push_back(
        {static_cast<char *>(shared), static_cast<const char *>(global), bytes, self->groups});
}

void ks_emu_async_commit(void) { ++self->groups; }

void ks_emu_async_wait(int groups)
{
    std::vector<pending_copy> &copies = self->copies;
    size_t n = 0;
    while (n < copies.size() && copies[n].group < self->groups - groups) {
        races_touch(copies[n].from, (size_t)copies[n].bytes, RACE_READ);
        races_touch(copies[n].to, (size_t)copies[n].bytes, RACE_WRITE);
        memcpy(copies[n].to, copies[n].from, (size_t)copies[n].bytes);
        ++n;
    }
    copies.erase(copies.begin(), copies.begin() + (long)n);
}
