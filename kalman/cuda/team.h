/* team.h -- device code: a team of threads that does one piece of work together. A team is a row of the
 * block, blockDim.x threads: 8 or 32 of them, blockDim.y teams to a block, or a whole block of one row. */
#ifndef KS_TEAM_H
#define KS_TEAM_H

#include "gpu/kernel.h"
#include "team_memory.h"

KS_DEVICE int ks_team_lane(void) { return (int)threadIdx.x; }
KS_DEVICE int ks_team_lanes(void) { return (int)blockDim.x; }

/** The lanes of the warp that a team of at most 32 threads is made of. */
KS_DEVICE unsigned ks_team_mask(void)
{
    const unsigned lanes = blockDim.x;
    return lanes == 32 ? 0xffffffffu : ((1u << lanes) - 1) << (threadIdx.y * lanes % 32);
}

/** Waits for the team; writes before it are seen after it. */
KS_DEVICE void ks_team_sync(void)
{
    if (blockDim.x <= 32) ks_lanes_sync(ks_team_mask());
    else __syncthreads();
}

/** The team of this thread in the grid, and how many there are. */
KS_DEVICE int64_t ks_team_number(void) { return (int64_t)blockIdx.x * blockDim.y + threadIdx.y; }
KS_DEVICE int64_t ks_team_count(void) { return (int64_t)gridDim.x * blockDim.y; }

/** The team's memory: of the block, whose dynamic shared memory begins with it; of the launch, in the device's; of either.
 *  What is known of it when it is compiled decides how it is reached: shared memory by addresses of 32 bits and offsets. */
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
