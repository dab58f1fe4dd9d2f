// ks_chunks_column_16.cu -- chunks of up to 16 states and 8 entries, a team of 16 threads for each. Registers leave room
// for eight warps on a multiprocessor.
#define KS_COLUMNS       16
#define KS_ENTRIES       8
#define KS_BESIDE_DOUBLE 4
#define KS_BESIDE_SINGLE 4
#include "column_kernels.h"
