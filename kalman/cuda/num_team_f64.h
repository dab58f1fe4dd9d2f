/* num_team_f64.h -- num_f64.h for texts that a team of threads runs together (team.h). They are device code without
 * KS_RESTRICT: other threads write behind the pointers between two barriers. */
#include "num_f64.h"
#undef KS_T
#define KS_T(name) name##_team_f64
#include "num_team.h"
