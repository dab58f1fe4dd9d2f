// ks_chunks_team_far.cu -- chunks of models that are too large for shared memory, a team of threads for each, in the
// device's memory.
#include "rows_there.h"

#define KS_TEAM_(name) ks_team_far_##name
#define KS_TEAM(name)  KS_TEAM_(name)
#define KS_BORDER      ks_border_far
#define KS_ROWS        ks_rows_there
#define KS_TEAM_ROOM   ks_team_room_far
#include "team_kernels.h"
#include "team_meet_kernels.h"
#include "team_border.h"
