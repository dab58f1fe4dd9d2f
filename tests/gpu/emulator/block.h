/* block.h -- a running launch: its blocks, their threads, and how one thread stops and another continues. */
#ifndef EMULATED_BLOCK_H
#define EMULATED_BLOCK_H

#include <map>
#include <memory>
#include "bulk.h"
#include "launch.h"

enum thread_state { READY, AT_BLOCK, AT_WARP, AT_GRID, AT_BULK, DONE };

struct block;

/** An asynchronous copy that has not happened yet. */
struct pending_copy {
    char *to;
    const char *from;
    int bytes;
    long group;
};

/** A thread. What every stop reads and writes comes first, so that it is in one cache line. */
struct alignas(64) thread {
    fibre *own;
    block *home;
    const char *site; /* of the barrier that it waits at */
    void (*resolve)(void *const *, unsigned);
    void *operand;
    unsigned mask;
    int number; /* in its block */
    thread_state now;
    ks_emu_place place;
    uint32_t clock[32]; /* see races.h */
    long groups; /* closed groups of copies */
    size_t barriers; /* barriers of the grid at which it has arrived */
    std::vector<pending_copy> copies;
    std::map<int, uint32_t> told; /* what it knows of threads of other warps: their clocks */
};

struct shared_array {
    const void *key;
    std::unique_ptr<guarded> memory;
};

struct block {
    std::vector<thread> threads;
    std::vector<uint32_t> at_warp;    /* lanes of each warp that wait at an operation of the warp */
    std::vector<shared_array> arrays; /* key NULL: the dynamic one */
    bulk_barriers bulk;
    size_t arrived;
    int count, last_count;
    uint32_t number, epoch; /* epoch: barriers so far */
};

struct launch {
    const ks_emu_kernel &kernel;
    const ks_gpu_shape &shape;
    const void *args;
    size_t most_shared;
    random_source &random;
    std::vector<thread *> ready;
    std::vector<std::unique_ptr<block>> blocks; /* running blocks */
    std::vector<size_t> at_grid; /* threads that have arrived at each barrier of the grid */
    const char *grid_site;       /* of the last of them */
    block *late;                 /* of a cooperative launch: its threads seldom run before others; or NULL */
    std::string fault;
    uint32_t number; /* of all launches */
};

/* State of the host thread. Not thread_local, which would check at each use whether they are initialised. */
extern __thread launch *running;
extern __thread thread *self;

/** Record a fault and its site, if the launch has none yet. */
void describe(const char *what, const char *site);

/** Record it and end the running thread; never returns. */
[[noreturn]] void abandon(const char *what, const char *site);

/** Stop until another thread wakes this one. */
void wait_in(thread_state now, const char *site);
inline void wake(thread &t)
{
    t.now = READY;
    running->ready.push_back(&t);
}

/** Whether all of it is shared memory of the running thread's block. */
bool in_shared_memory(const void *p, size_t bytes);

/** Let other threads run. */
void yield(void);

/** Choose another block of a cooperative launch to stay behind until the next barrier of the grid. */
void draw_late(launch &l);

#endif
