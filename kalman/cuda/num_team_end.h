/* num_team_end.h -- undoes a num_team_*.h. */
#include "num_end.h"
#pragma pop_macro("KS_EACH")
#pragma pop_macro("KS_RESTRICT")
#pragma pop_macro("KS_HD")
