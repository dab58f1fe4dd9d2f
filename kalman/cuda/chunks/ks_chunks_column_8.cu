// ks_chunks_column_8.cu -- chunks of up to 8 states and 4 entries, a team of 8 threads for each. Registers leave room
// for eight warps on a multiprocessor in double, for twelve otherwise.
#define KS_COLUMNS       8
#define KS_ENTRIES       4
#define KS_BESIDE_DOUBLE 4
#define KS_BESIDE_SINGLE 6
#include "column_kernels.h"
