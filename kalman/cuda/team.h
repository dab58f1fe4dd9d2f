/* team.h -- device code: a team of threads that work on one thing together. A team is a row of the block, blockDim.x
 * threads. It is 8 or 32 threads, with blockDim.y teams in a block, or a whole block of one row. */
#ifndef KS_TEAM_H
#define KS_TEAM_H

#include "gpu/kernel.h"
#include "team_memory.h"

KS_DEVICE int ks_team_lane(void) { return (int)threadIdx.x; }
KS_DEVICE int ks_team_lanes(void) { return (int)blockDim.x; }

/** The lanes of its warp that belong to a team of at most 32 threads. */
KS_DEVICE unsigned ks_team_mask(void)
{
    const unsigned lanes = blockDim.x;
    return lanes == 32 ? 0xffffffffu : ((1u << lanes) - 1) << (threadIdx.y * lanes % 32);
}

/** Barrier of the team. Writes before it are visible after it. */
KS_DEVICE void ks_team_sync(void)
{
    if (blockDim.x <= 32) ks_lanes_sync(ks_team_mask());
    else __syncthreads();
}

/** The number of this thread's team in the grid, and the number of teams. */
KS_DEVICE int64_t ks_team_number(void) { return (int64_t)blockIdx.x * blockDim.y + threadIdx.y; }
KS_DEVICE int64_t ks_team_count(void) { return (int64_t)gridDim.x * blockDim.y; }

/** The team's memory: _near in dynamic shared memory, which begins with it; _far in device memory; else in either. If
 *  the compiler knows that it is shared memory, it uses 32-bit addresses with constant offsets. */
KS_DEVICE char *ks_team_room_near(const ks_team_memory &team, char *shared) { return shared + threadIdx.y * team.slice; }
KS_DEVICE char *ks_team_room_far(const ks_team_memory &team, char *)
{
    return team.memory + ks_team_number() * team.slice;
}
KS_DEVICE char *ks_team_room(const ks_team_memory &team, char *shared)
{
    return team.memory ? ks_team_room_far(team, shared) : ks_team_room_near(team, shared);
}

/** for i = the lane, the lane + lanes, ... below n */
#define KS_TEAM_EACH(i, n) for (int i = ks_team_lane(); i < (n); i += ks_team_lanes())

#endif
