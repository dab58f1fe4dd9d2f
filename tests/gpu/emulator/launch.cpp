/* launch.cpp -- the blocks of a launch, their threads as fibres that run from barrier to barrier.
 *
 * Which thread runs next is drawn anew each time, so what a missing barrier leaves to chance comes
 * out differently from seed to seed; shared memory holds NaN until it is written. */
#include "launch.h"

#include <memory>
#include <stdio.h>
#include "bulk.h"
#include "emulator.h"
#include "product.h"
#include "races.h"

namespace
{
enum state { READY, AT_BLOCK, AT_WARP, AT_GRID, AT_BULK, DONE };

struct block;

/* A copy beside the thread that has not happened yet. */
struct pending_copy {
    char *to;
    const char *from;
    int bytes;
    long group;
};

struct thread {
    ks_emu_place place;
    fibre *own;
    block *home;
    int number; /* in its block */
    state now;
    const char *site; /* of the barrier that it waits at */
    unsigned mask;
    void (*resolve)(void *const *, unsigned);
    void *operand;
    uint32_t clock[32]; /* see races.h */
    long groups; /* closed */
    size_t barriers; /* of the grid, that it has come to */
    std::vector<pending_copy> copies;
};

struct shared_array {
    const void *key;
    std::unique_ptr<guarded> memory;
};

struct block {
    std::vector<thread> threads;
    std::vector<shared_array> arrays; /* key NULL: the dynamic one */
    bulk_barriers bulk;
    size_t arrived, done;
    int count, last_count;
    uint32_t number, epoch; /* barriers so far */
};

struct launch {
    const ks_emu_kernel &kernel;
    const ks_gpu_shape &shape;
    const void *args;
    size_t most_shared;
    random_source &random;
    std::vector<thread *> ready;
    std::vector<std::unique_ptr<block>> blocks; /* that are alive */
    std::vector<size_t> at_grid; /* threads that have come to each barrier of the grid */
    const char *grid_site;       /* of the last of them */
    block *late;                 /* of a cooperative launch, whose threads seldom run before others, or NULL */
    std::string fault;
    uint32_t number; /* of all launches */
};

thread_local launch *running;
thread_local thread *self;

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

/* The thread's own end: never returns. */
[[noreturn]] void abandon(const char *what, const char *site)
{
    describe(what, site);
    fibre_leave(self->own, true);
    __builtin_trap();
}

void wait_in(state now, const char *site)
{
    thread *const me = self;
    me->now = now;
    me->site = site;
    fibre_leave(me->own, false);
    self = me;
    ks_emu_here = &me->place;
}

void wake(thread &t)
{
    t.now = READY;
    running->ready.push_back(&t);
}

void body(void *argument)
{
    thread *const me = static_cast<thread *>(argument);
    running->kernel.run(running->args);
    me->now = DONE;
    ++me->home->done;
    fibre_leave(me->own, true);
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

bool start_block(launch &l, size_t number, fibre_stock &stock)
{
    const ks_emu_dim threads = dim(l.shape.block), blocks = dim(l.shape.grid);
    l.blocks.emplace_back(new block());
    block &b = *l.blocks.back();
    b.number = (uint32_t)number;
    b.threads.resize(volume(threads));
    if (l.shape.shared) b.arrays.push_back({nullptr, std::make_unique<guarded>(l.shape.shared)});
    for (size_t i = 0; i < b.threads.size(); ++i) {
        thread &t = b.threads[i];
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

void end_blocks(launch &l, fibre_stock &stock)
{
    for (auto &b : l.blocks) {
        for (thread &t : b->threads)
            if (t.own) stock.give(t.own);
        for (const auto &barrier : b->bulk)
            if (!barrier.second.copies.empty() && l.fault.empty())
                l.fault = std::string(l.kernel.name) + ": bulk copies that nobody has waited for";
        for (shared_array &a : b->arrays)
            if (!a.memory->intact() && l.fault.empty())
                l.fault =
                    std::string(l.kernel.name) + ": written outside of an array in shared memory";
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

/* Blocks of a cooperative launch may be far apart: from one barrier of the grid to the next one of them stays
 * behind. */
void draw_late(launch &l)
{
    l.late = l.blocks.empty() ? nullptr : l.blocks[l.random.below(l.blocks.size())].get();
}

/* Threads that wait for others without a barrier are ready, so those of the late block have their turn, too. */
size_t draw_ready(launch &l)
{
    enum { TRIES = 8 };
    size_t i = l.random.below(l.ready.size());
    for (int n = 1; n < TRIES && l.late && l.ready[i]->home == l.late; ++n) i = l.random.below(l.ready.size());
    return i;
}

void run_ready(launch &l)
{
    if (l.shape.cooperative) draw_late(l);
    while (!l.ready.empty() && l.fault.empty()) {
        const size_t i = draw_ready(l);
        self = l.ready[i];
        l.ready[i] = l.ready.back();
        l.ready.pop_back();
        ks_emu_here = &self->place;
        fibre_enter(self->own);
    }
    l.ready.clear();
    look_for_waiting(l);
}
} // namespace

thread_local const ks_emu_place *ks_emu_here;

std::string run_launch(const ks_emu_kernel &kernel, const ks_gpu_shape &shape, const void *args,
                       size_t most_shared, fibre_stock &stock, random_source &random)
{
    static thread_local uint32_t launches;
    launch l = {kernel, shape, args, most_shared, random, {}, {}, {}, nullptr, nullptr, {}, ++launches};
    launch *const outer = running;
    running = &l;
    std::vector<size_t> order(volume(dim(shape.grid)));
    for (size_t i = 0; i < order.size(); ++i) {
        const size_t j = random.below(i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (size_t number : order) {
        if (!l.fault.empty()) break;
        if (!start_block(l, number, stock))
            l.fault = "no memory for the stacks of a block";
        else if (shape.cooperative && l.blocks.size() < order.size())
            continue;
        else
            run_ready(l);
        if (!shape.cooperative || !l.fault.empty()) end_blocks(l, stock);
    }
    end_blocks(l, stock);
    running = outer;
    return l.fault;
}

/* ---- what kernels call ---- */

bulk_barriers &bulk_of_block() { return self->home->bulk; }
int thread_in_block() { return self->number; }
random_source &random_of_launch() { return running->random; }
void abandon_thread(const char *what, const char *site) { abandon(what, site); }
void wait_for_bulk(const char *site) { wait_in(AT_BULK, site); }
void wake_thread(int number) { wake(self->home->threads[(size_t)number]); }

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
        if (strcmp(t.site, site)) abandon("threads of a block wait at different barriers", site);
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
        ks_emu_yield();
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
    ks_emu_yield();
}

void ks_emu_yield(void)
{
    running->ready.push_back(self);
    wait_in(READY, nullptr);
}

int ks_emu_lane(void) { return self->number % 32; }

void ks_emu_collective(const char *site, unsigned mask, void (*resolve)(void *const *, unsigned),
                       void *operand)
{
    thread *const me = self;
    block &b = *me->home;
    const size_t first = (size_t)(me->number / 32 * 32);
    const size_t lanes = b.threads.size() - first < 32 ? b.threads.size() - first : 32;
    if (lanes < 32) mask &= (1u << lanes) - 1;
    if (!(mask >> (me->number % 32) & 1)) abandon("a lane outside of the mask", site);
    me->mask = mask;
    me->resolve = resolve;
    me->operand = operand;
    me->now = AT_WARP;
    void *operands[32] = {nullptr};
    bool all = true;
    for (size_t i = 0; i < lanes; ++i) {
        const thread &t = b.threads[first + i];
        if (!(mask >> i & 1)) continue;
        all = all && t.now == AT_WARP && t.mask == mask && t.resolve == resolve;
        operands[i] = t.operand;
    }
    if (!all) {
        wait_in(AT_WARP, site);
        return;
    }
    resolve(operands, mask);
    for (size_t i = 0; i < lanes; ++i)
        if (mask >> i & 1 && first + i != (size_t)me->number) wake(b.threads[first + i]);
    ks_emu_yield();
}

/* Every lane knows what any of them has known. */
static void resolve_sync(void *const *operands, unsigned mask)
{
    uint32_t known[32] = {0};
    for (int lane = 0; lane < 32; ++lane)
        for (int of = 0; mask >> lane & 1 && of < 32; ++of) {
            const uint32_t clock = static_cast<thread *>(operands[lane])->clock[of];
            if (clock > known[of]) known[of] = clock;
        }
    for (int lane = 0; lane < 32; ++lane) {
        if (!(mask >> lane & 1)) continue;
        thread &t = *static_cast<thread *>(operands[lane]);
        memcpy(t.clock, known, sizeof known);
        ++t.clock[lane];
    }
}

void ks_emu_warp_sync(const char *site, unsigned mask) { ks_emu_collective(site, mask, resolve_sync, self); }

void ks_emu_atomic(const void *p, size_t bytes) { races_touch(p, bytes, RACE_ATOMIC); }

bool race_here(race_place &place)
{
    if (!running || !self || !ks_emu_here) return false;
    place = {running->number, (uint32_t)self->barriers, self->home->number, self->home->epoch, self->number, self->clock};
    return true;
}

void race_found(const char *what) { describe(what, nullptr); }

struct ballot {
    int predicate;
    unsigned result;
};

static void resolve_ballot(void *const *operands, unsigned mask)
{
    unsigned result = 0;
    for (int i = 0; i < 32; ++i)
        if (mask >> i & 1 && static_cast<ballot *>(operands[i])->predicate) result |= 1u << i;
    for (int i = 0; i < 32; ++i)
        if (mask >> i & 1) static_cast<ballot *>(operands[i])->result = result;
}

unsigned ks_emu_ballot(const char *site, unsigned mask, int predicate)
{
    ballot b = {predicate, 0};
    ks_emu_collective(site, mask, resolve_ballot, &b);
    return b.result;
}

struct product {
    double *c;
    const double *a, *b;
    int m, k;
};

/* gpu/kernel_mma.h says which lane holds what. */
static void resolve_product(void *const *operands, unsigned mask)
{
    (void)mask;
    double a[16][16], b[16][8], c[16][8];
    const product &any = *static_cast<product *>(operands[0]);
    for (int lane = 0; lane < 32; ++lane) {
        const product &p = *static_cast<product *>(operands[lane]);
        const int g = lane / 4, t = lane % 4, tall = any.m / 8;
        for (int i = 0; i < tall * any.k / 4; ++i)
            a[g + 8 * (i % tall)][t + 4 * (i / tall)] = p.a[i];
        for (int i = 0; i < any.k / 4; ++i) b[t + 4 * i][g] = p.b[i];
        for (int i = 0; i < any.m / 4; ++i) c[g + 8 * (i / 2)][2 * t + i % 2] = p.c[i];
    }
    ks_emu_product_here()(c[0], a[0], b[0], any.m, any.k);
    for (int lane = 0; lane < 32; ++lane) {
        const product &p = *static_cast<product *>(operands[lane]);
        for (int i = 0; i < any.m / 4; ++i) p.c[i] = c[lane / 4 + 8 * (i / 2)][2 * (lane % 4) + i % 2];
    }
}

void ks_emu_mma(double *c, const double *a, const double *b, int m, int k)
{
    product p = {c, a, b, m, k};
    if (self->home->threads.size() % 32) abandon("a product by a warp that is not whole", nullptr);
    ks_emu_collective("a product of the tensor cores", 0xffffffffu, resolve_product, &p);
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
