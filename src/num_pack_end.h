/* num_pack_end.h -- undoes a num_*.h of a pack. */
#include "num_end.h"
#undef KS_LANES
#undef KS_DOUBLES
#undef KS_TO_DOUBLES
#undef KS_BITS
#undef KS_DOUBLES_WITHIN
#undef KS_TRANSPOSE
