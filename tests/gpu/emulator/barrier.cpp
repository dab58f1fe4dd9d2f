/* barrier.cpp -- barriers of a block and of the grid. */
#include "block.h"
#include "emulator.h"

int ks_emu_block_barrier(const char *site, int count)
{
    block &b = *self->home;
    b.count += count;
    if (++b.arrived < b.threads.size()) {
        wait_in(AT_BLOCK, site);
        return b.last_count;
    }
    for (thread &t : b.threads) {
        if (&t == self) continue;
        if (t.site != site && strcmp(t.site, site)) abandon("threads of a block wait at different barriers", site);
        wake(t);
    }
    b.arrived = 0;
    ++b.epoch;
    b.last_count = b.count;
    b.count = 0;
    running->ready.push_back(self);
    wait_in(READY, site);
    return b.last_count;
}

/* How many threads let all of them go on. */
static size_t enough_for_grid(ks_emulated_barrier how)
{
    size_t all = 0;
    for (auto &b : running->blocks) all += b->threads.size();
    const size_t each = self->home->threads.size();
    return how == KS_BARRIER_EARLY && all > each ? all - each : all;
}

void ks_emu_grid_barrier(const char *site)
{
    launch &l = *running;
    const ks_emulated_barrier how = ks_emulated.grid_barrier;
    if (!l.shape.cooperative) abandon("a grid's barrier in a launch that is not cooperative", site);
    if (how == KS_BARRIER_NONE || (how == KS_BARRIER_OF_SOME && self->place.block.x % 2 == 1)) {
        yield();
        return;
    }
    if (how == KS_BARRIER_OF_BLOCK) {
        (void)ks_emu_block_barrier(site, 0);
        return;
    }
    const size_t number = self->barriers++, enough = enough_for_grid(how);
    if (l.at_grid.size() <= number) l.at_grid.push_back(0);
    const size_t come = ++l.at_grid[number];
    if (come == 1) l.grid_site = site;
    else if (come <= enough && strcmp(l.grid_site, site))
        abandon("threads of a grid wait at different barriers", site);
    if (come < enough) {
        wait_in(AT_GRID, site);
        return;
    }
    if (come == enough) {
        for (auto &b : l.blocks)
            for (thread &t : b->threads)
                if (t.now == AT_GRID) wake(t);
        draw_late(l);
    }
    yield();
}

void ks_emu_yield(void) { yield(); }
