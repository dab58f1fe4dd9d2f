/* launch.cpp -- the blocks of a launch, their threads as fibres that run from barrier to barrier.
 *
 * Which thread runs next is drawn anew each time, so what a missing barrier leaves to chance comes
 * out differently from seed to seed; shared memory holds NaN until it is written. */
#include <stdio.h>
#include "block.h"
#include "races.h"

__thread const ks_emu_place *ks_emu_here;
__thread launch *running;
__thread thread *self;

void describe(const char *what, const char *site)
{
    if (!running->fault.empty()) return;
    char text[400];
    const ks_emu_dim t = self->place.thread, b = self->place.block;
    snprintf(text, sizeof text, "%s: %s%s%s, thread (%u, %u, %u) of block (%u, %u, %u)",
             running->kernel.name, what, site ? " at " : "", site ? site : "", t.x, t.y, t.z, b.x,
             b.y, b.z);
    running->fault = text;
}

void abandon(const char *what, const char *site)
{
    describe(what, site);
    fibre_leave(self->own, nullptr, true);
    __builtin_trap();
}

/* Threads that wait for others without a barrier are ready, so those of the late block have their turn, too. */
static size_t draw_ready(launch &l)
{
    enum { TRIES = 8 };
    size_t i = l.random.below(l.ready.size());
    for (int n = 1; n < TRIES && l.late && l.ready[i]->home == l.late; ++n) i = l.random.below(l.ready.size());
    return i;
}

/* Who runs next; NULL: nobody can, or need. */
static thread *draw_next(launch &l)
{
    if (l.ready.empty() || !l.fault.empty()) return nullptr;
    const size_t i = draw_ready(l);
    thread *const next = l.ready[i];
    l.ready[i] = l.ready.back();
    l.ready.pop_back();
    return next;
}

static void go_on_as(thread *t)
{
    self = t;
    ks_emu_here = &t->place;
}

void wait_in(thread_state now, const char *site)
{
    thread *const me = self;
    me->now = now;
    me->site = site;
    thread *const next = draw_next(*running);
    if (next == me) return;
    if (next) go_on_as(next);
    fibre_leave(me->own, next ? next->own : nullptr, false);
}

void yield(void)
{
    running->ready.push_back(self);
    wait_in(READY, nullptr);
}

/* They may be far apart. */
void draw_late(launch &l)
{
    l.late = l.blocks.empty() ? nullptr : l.blocks[l.random.below(l.blocks.size())].get();
}

namespace
{
void body(void *argument)
{
    thread *const me = static_cast<thread *>(argument);
    running->kernel.run(running->args);
    me->now = DONE;
    thread *const next = draw_next(*running);
    if (next) go_on_as(next);
    fibre_leave(me->own, next ? next->own : nullptr, true);
}

ks_emu_dim unpack(size_t number, const ks_emu_dim &size)
{
    return {(unsigned)(number % size.x), (unsigned)(number / size.x % size.y),
            (unsigned)(number / size.x / size.y)};
}

ks_emu_dim dim(const unsigned (&d)[3])
{
    return {d[0] ? d[0] : 1, d[1] ? d[1] : 1, d[2] ? d[2] : 1};
}

size_t volume(const ks_emu_dim &d) { return (size_t)d.x * d.y * d.z; }

fibre_stock stock; /* of all devices */

/* Blocks that have ended, kept for others: what threads allocate is allocated already. */
std::vector<std::unique_ptr<block>> ended;

block &take_block(launch &l, size_t threads)
{
    if (ended.empty()) ended.emplace_back(new block());
    l.blocks.push_back(std::move(ended.back()));
    ended.pop_back();
    block &b = *l.blocks.back();
    b.threads.resize(threads);
    b.at_warp.assign((threads + 31) / 32, 0);
    b.arrived = 0;
    b.count = b.last_count = 0;
    b.epoch = 0;
    return b;
}

void give_block(std::unique_ptr<block> b)
{
    b->arrays.clear();
    b->bulk.clear();
    ended.push_back(std::move(b));
}

/* As if it were new, but for memory that its vectors have. */
void make_new(thread &t)
{
    t.site = nullptr;
    t.resolve = nullptr;
    t.operand = nullptr;
    t.mask = 0;
    memset(t.clock, 0, sizeof t.clock);
    t.groups = 0;
    t.barriers = 0;
    t.copies.clear();
    t.told.clear();
}

bool start_block(launch &l, size_t number)
{
    const ks_emu_dim threads = dim(l.shape.block), blocks = dim(l.shape.grid);
    block &b = take_block(l, volume(threads));
    b.number = (uint32_t)number;
    if (l.shape.shared) b.arrays.push_back({nullptr, std::make_unique<guarded>(l.shape.shared)});
    for (size_t i = 0; i < b.threads.size(); ++i) {
        thread &t = b.threads[i];
        make_new(t);
        t.place = {unpack(i, threads), unpack(number, blocks), threads, blocks};
        t.home = &b;
        t.number = (int)i;
        t.clock[i % 32] = 1;
        t.own = stock.take();
        if (!t.own) return false;
        fibre_prepare(t.own, body, &t);
        wake(t);
    }
    return true;
}

void end_blocks(launch &l)
{
    for (auto &b : l.blocks) {
        for (thread &t : b->threads) {
            if (t.own) stock.give(t.own);
            t.own = nullptr;
        }
        for (const auto &barrier : b->bulk)
            if (!barrier.second.copies.empty() && l.fault.empty())
                l.fault = std::string(l.kernel.name) + ": bulk copies that nobody has waited for";
        for (shared_array &a : b->arrays)
            if (!a.memory->intact() && l.fault.empty())
                l.fault =
                    std::string(l.kernel.name) + ": written outside of an array in shared memory";
        give_block(std::move(b));
    }
    l.blocks.clear();
    l.late = nullptr;
}

/* Nobody can run: all have ended, or some wait for what does not come. */
void look_for_waiting(launch &l)
{
    for (auto &b : l.blocks)
        for (thread &t : b->threads) {
            if (t.now == DONE) continue;
            self = &t;
            describe(t.now == AT_WARP ? "lanes of the mask that never come to the warp's operation"
                     : t.now == AT_GRID ? "threads that never come to the grid's barrier"
                     : t.now == AT_BULK ? "a phase of a bulk barrier that never ends"
                                        : "threads of the block that never come to the barrier",
                     t.site);
        }
}

void run_ready(launch &l)
{
    if (l.shape.cooperative) draw_late(l);
    if (thread *const next = draw_next(l)) {
        go_on_as(next);
        fibre_enter(next->own);
    }
    l.ready.clear();
    look_for_waiting(l);
}
} // namespace

std::string run_launch(const ks_emu_kernel &kernel, const ks_gpu_shape &shape, const void *args,
                       size_t most_shared, random_source &random)
{
    static thread_local uint32_t launches;
    launch l = {kernel, shape, args, most_shared, random, {}, {}, {}, nullptr, nullptr, {}, ++launches};
    launch *const outer = running;
    running = &l;
    l.ready.reserve(volume(dim(shape.block)));
    std::vector<size_t> order(volume(dim(shape.grid)));
    for (size_t i = 0; i < order.size(); ++i) {
        const size_t j = random.below(i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (size_t number : order) {
        if (!l.fault.empty()) break;
        if (!start_block(l, number))
            l.fault = "no memory for the stacks of a block";
        else if (shape.cooperative && l.blocks.size() < order.size())
            continue;
        else
            run_ready(l);
        if (!shape.cooperative || !l.fault.empty()) end_blocks(l);
    }
    end_blocks(l);
    running = outer;
    return l.fault;
}

bool race_here(race_place &place)
{
    if (!running || !self || !ks_emu_here) return false;
    place = {running->number, (uint32_t)self->barriers, self->home->number, self->home->epoch, self->number, self->clock,
             &self->told};
    return true;
}

void race_found(const char *what) { describe(what, nullptr); }
