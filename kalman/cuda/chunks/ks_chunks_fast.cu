// ks_chunks_fast.cu -- chunks of small models, with rows that each thread loads from the device's memory.
#include "rows_there.h"

#define KS_FAST_(name) ks_fast_##name
#define KS_FAST(name)  KS_FAST_(name)
#define KS_ROWS        ks_rows_there
#include "fast_kernels.h"
