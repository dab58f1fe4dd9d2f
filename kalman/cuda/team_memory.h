/* team_memory.h -- teams of threads on a device (team.h): their shape and where their memory lies. */
#ifndef KS_TEAM_MEMORY_H
#define KS_TEAM_MEMORY_H

#include <stdint.h>

/** Most threads of a team, and most states and entries for which there are teams. */
enum { KS_MOST_TEAM = 256, KS_MOST_TEAM_STATES = 64 };

/** Blocks that a large device runs at once: two on each of 132 multiprocessors. */
enum { KS_TEAM_BLOCKS = 264 };

/** The teams of a launch. */
typedef struct ks_team_shape {
    int lanes, teams;               /* threads of a team, 0: no teams; teams of a block */
    int64_t slice;                  /* bytes of memory of a team, a multiple of 16 */
    int64_t blocks;                 /* blocks whose teams have device memory; 0: shared memory */
} ks_team_shape;

/** Return the least distance between the memories of two teams, >= bytes, that avoids bank conflicts. The teams of a
 *  warp read the same offsets at once, `lanes` numbers of `number` bytes each. They must lie in different banks of
 *  shared memory. */
static inline int64_t ks_team_apart(int lanes, int64_t number, int64_t bytes)
{
    enum { WARP = 32, BANKS = 128 }; /* threads; bytes of all banks */
    return lanes < WARP ? bytes + (lanes * number - bytes % BANKS + BANKS) % BANKS : bytes;
}

/** What a kernel is told of its teams: `slice` bytes for each team of the grid at `memory`. If that is NULL, `slice`
 *  bytes of dynamic shared memory for each team of the block. */
typedef struct ks_team_memory {
    char *memory;
    int64_t slice;
} ks_team_memory;

#endif
