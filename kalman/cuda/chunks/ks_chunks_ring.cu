// ks_chunks_ring.cu -- chunks of small models, with rows that come through shared memory.
#include <string.h>
#include "rows_ring.h"

#define KS_FAST_(name) ks_ring_##name
#define KS_FAST(name)  KS_FAST_(name)
#define KS_ROWS        ks_rows_ring
#include "fast_kernels.h"
