// ks_chunks_team.cu -- chunks of larger models, a team of threads for each, in shared memory.
#include "rows_there.h"

#define KS_TEAM_(name) ks_team_##name
#define KS_TEAM(name)  KS_TEAM_(name)
#define KS_BORDER      ks_border_near
#define KS_ROWS        ks_rows_there
#define KS_TEAM_ROOM   ks_team_room_near
#include "team_kernels.h"
#include "team_meet_kernels.h"
#include "team_border.h"
