/* races.h -- detects unordered accesses of two threads of a launch to the same place.
 *
 * Kernels that are compiled with -fsanitize=thread call functions of watched.cpp at each memory access. A program that
 * links it is watched; others have no overhead. Two accesses, at least one of them a write and not both atomic, are a
 * race unless one of these lies between them: a barrier of the block, a __syncwarp() of both lanes, a bulk barrier at
 * which one thread arrived and for which the other waits, or a barrier of the grid. Shuffles, votes and products of the
 * tensor cores order nothing, as with CUDA. A race is therefore found in whatever order the threads happen to run. */
#ifndef EMULATED_RACES_H
#define EMULATED_RACES_H

#include <map>
#include <stddef.h>
#include <stdint.h>

enum race_kind { RACE_READ, RACE_WRITE, RACE_ATOMIC };

/** A thread at an access: the barriers of its grid and its block so far, and a vector clock (Fidge 1988): for each lane
 *  of its warp, how many of that lane's __syncwarp() are known to come before. A thread that waits for a phase of a
 *  bulk barrier also knows the clocks of the threads that arrived at it; `told` has those of other warps. */
struct race_place {
    uint32_t launch, grid_epoch, block, block_epoch;
    int thread;
    const uint32_t *clock;
    const std::map<int, uint32_t> *told;
};

/** Whether the program is watched. */
extern bool races_watched;

/** Begin, or end, watching accesses to a piece of memory. */
void races_memory(const void *data, size_t bytes);
void races_no_memory(const void *data);

/** Of a watched program. `stays`: whether later accesses are held against this one. */
void races_look(const void *p, size_t bytes, race_kind kind, bool stays);

/** An access by the thread that runs; a race is the launch's fault. */
inline void races_touch(const void *p, size_t bytes, race_kind kind)
{
    if (races_watched) races_look(p, bytes, kind, true);
}

/** The same of an access behind which all others wait for something else, as for the barrier of a bulk copy. */
inline void races_meet(const void *p, size_t bytes, race_kind kind)
{
    if (races_watched) races_look(p, bytes, kind, false);
}

/* From launch.cpp: where the running thread is, false if none runs; and the fault. */
bool race_here(race_place &place);
void race_found(const char *what);

#endif
