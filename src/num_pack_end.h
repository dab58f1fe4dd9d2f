/* num_pack_end.h -- undefines the macros of a num_*.h for packs. */
#include "num_end.h"
#undef KS_LANES
#undef KS_DOUBLES
#undef KS_TO_DOUBLES
#undef KS_BITS
#undef KS_DOUBLES_WITHIN
#undef KS_TRANSPOSE
