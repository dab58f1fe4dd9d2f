/* num_team_end.h -- restores the macros that a num_team_*.h has changed. */
#include "num_end.h"
#pragma pop_macro("KS_EACH")
#pragma pop_macro("KS_RESTRICT")
#pragma pop_macro("KS_HD")
