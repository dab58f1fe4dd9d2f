/* num_column_end.h -- restores the macros that a num_column_*.h has changed. */
#pragma pop_macro("KS_EXTENT")
#include "num_team_end.h"
