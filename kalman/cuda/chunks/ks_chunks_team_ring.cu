// ks_chunks_team_ring.cu -- chunks of larger models, with rows that come through shared memory.
#include <string.h>
#include "rows_team.h"

#define KS_TEAM_(name) ks_team_ring_##name
#define KS_TEAM(name)  KS_TEAM_(name)
#define KS_ROWS        ks_rows_team
#define KS_TEAM_ROOM   ks_team_room
#include "team_kernels.h"
#include "team_meet_kernels.h"
