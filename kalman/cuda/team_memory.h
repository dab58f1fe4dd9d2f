/* team_memory.h -- teams of threads on a device, see team.h: how many there are, and where what they share lies. */
#ifndef KS_TEAM_MEMORY_H
#define KS_TEAM_MEMORY_H

#include <stdint.h>

/** Most threads of a team, and most states and entries that teams are for. */
enum { KS_MOST_TEAM = 256, KS_MOST_TEAM_STATES = 64 };

/** Blocks that a large device runs at once, two for each multiprocessor. */
enum { KS_TEAM_BLOCKS = 264 };

/** How a launch has teams. */
typedef struct ks_team_shape {
    int lanes, teams;               /* threads of a team, 0: there are none; teams of a block     */
    int64_t slice;                  /* bytes of each, a multiple of 16                            */
    int64_t blocks;                 /* whose teams have theirs in the device's memory; 0: in what blocks share */
} ks_team_shape;

/** Teams of one warp read the same places of theirs at once: the least number of bytes for each, no less than `bytes`, with
 *  which those that `lanes` threads read of numbers of so many bytes lie in other banks of shared memory. */
static inline int64_t ks_team_apart(int lanes, int64_t number, int64_t bytes)
{
    enum { WARP = 32, BANKS = 128 }; /* threads, and bytes of all banks */
    return lanes < WARP ? bytes + (lanes * number - bytes % BANKS + BANKS) % BANKS : bytes;
}

/** What kernels are told of that: `slice` bytes for each team of the grid, or where `memory` is NULL so much dynamic
 *  shared memory for each team of the block. */
typedef struct ks_team_memory {
    char *memory;
    int64_t slice;
} ks_team_memory;

#endif
