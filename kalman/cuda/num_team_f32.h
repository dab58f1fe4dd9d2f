/* num_team_f32.h -- num_f32.h for texts that a team of threads runs together, see team.h: device code, and
 * without promises about pointers, since what lies behind them changes at every barrier. */
#include "num_f32.h"
#undef KS_T
#define KS_T(name) name##_team_f32
#include "num_team.h"
