/* block.h -- a launch under way: its blocks, their threads, and how one of these stops and another goes on. */
#ifndef EMULATED_BLOCK_H
#define EMULATED_BLOCK_H

#include <map>
#include <memory>
#include "bulk.h"
#include "launch.h"

enum thread_state { READY, AT_BLOCK, AT_WARP, AT_GRID, AT_BULK, DONE };

struct block;

/** A copy beside the thread that has not happened yet. */
struct pending_copy {
    char *to;
    const char *from;
    int bytes;
    long group;
};

/** What every stop reads and writes comes first, so that it is one line of the cache. */
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
    long groups; /* closed */
    size_t barriers; /* of the grid, that it has come to */
    std::vector<pending_copy> copies;
    std::map<int, uint32_t> told; /* what it knows of threads of other warps: their clocks */
};

struct shared_array {
    const void *key;
    std::unique_ptr<guarded> memory;
};

struct block {
    std::vector<thread> threads;
    std::vector<uint32_t> at_warp;    /* lanes of each warp that wait at an operation of it */
    std::vector<shared_array> arrays; /* key NULL: the dynamic one */
    bulk_barriers bulk;
    size_t arrived;
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

/* Of the host's thread. Not thread_local: that would ask at each use whether they are to be initialised. */
extern __thread launch *running;
extern __thread thread *self;

/** Note what went wrong, and where, as the launch's fault, if it has none. */
void describe(const char *what, const char *site);

/** The same, and the running thread's own end: never returns. */
[[noreturn]] void abandon(const char *what, const char *site);

/** Stop until another thread wakes this one. */
void wait_in(thread_state now, const char *site);
void wake(thread &t);

/** Whether all of it is memory that the running thread's block shares. */
bool in_shared_memory(const void *p, size_t bytes);

/** Let others run. */
void yield(void);

/** From one barrier of the grid to the next another block of a cooperative launch stays behind. */
void draw_late(launch &l);

#endif
