/* races.h -- whether two threads of a launch touch one place with nothing between them that orders it.
 *
 * Kernels that are compiled with -fsanitize=thread call what watched.cpp has for each access to memory, and a
 * program that links it is watched; others are not, and nothing here costs them anything. Two accesses, one
 * of them a write, that are not both atomic, are a race, unless a barrier of the block, __syncwarp() of both
 * lanes, a bulk barrier at which one has arrived and for which the other waits, or a barrier of the grid lies between
 * them. Shuffles, votes and products of the tensor cores order nothing, as with CUDA. So races show whatever the order
 * in which the threads happen to run. */
#ifndef EMULATED_RACES_H
#define EMULATED_RACES_H

#include <map>
#include <stddef.h>
#include <stdint.h>

enum race_kind { RACE_READ, RACE_WRITE, RACE_ATOMIC };

/** A thread at an access: barriers of its grid and of its block so far, and what its lane knows of the lanes of
 *  its warp: how many __syncwarp() of each lie before it (a vector clock, Fidge 1988). Whoever waits for a phase of a
 *  bulk barrier knows what the threads that arrived at it had done, of other warps `told`. */
struct race_place {
    uint32_t launch, grid_epoch, block, block_epoch;
    int thread;
    const uint32_t *clock;
    const std::map<int, uint32_t> *told;
};

/** Whether the program is watched. */
extern bool races_watched;

/** Memory that accesses are looked at in, and that is no more. */
void races_memory(const void *data, size_t bytes);
void races_no_memory(const void *data);

/** An access by the thread that runs; a race is the launch's fault. */
void races_touch(const void *p, size_t bytes, race_kind kind);

/** The same of an access behind which all others wait for something else, as for the barrier of a bulk copy. */
void races_meet(const void *p, size_t bytes, race_kind kind);

/* Of launch.cpp: where the running thread is, false where none runs; and the fault. */
bool race_here(race_place &place);
void race_found(const char *what);

#endif
