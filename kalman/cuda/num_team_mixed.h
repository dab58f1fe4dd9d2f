/* num_team_mixed.h -- num_mixed.h for texts that a team of threads runs together; see num_team_f64.h. */
#include "num_mixed.h"
#undef KS_T
#undef KS_G
#define KS_T(name) name##_team_mixed
#define KS_G(name) name##_team_f32
#include "num_team.h"
