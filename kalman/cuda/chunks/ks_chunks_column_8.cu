// ks_chunks_column_8.cu -- chunks of up to 8 states and 4 entries, a team of 8 threads for each. Registers leave room
// for eight warps on a multiprocessor in double, for twelve otherwise.
#define KS_COLUMNS       8
#define KS_COLUMN_(name) ks_column_##name
#define KS_COLUMN(name)  KS_COLUMN_(name)
#include "column_kernels.h"

ABSORB(f64, f64, double, 8, 4, 4)
ABSORB(f32, mixed, float, 8, 4, 6) /* in mixed precision for the reason given in fast_kernels.h */
ABSORB(mixed, mixed, double, 8, 4, 6)
FILTER(f64, 8, 4, 4)
FILTER(f32, 8, 4, 6)
FILTER(mixed, 8, 4, 6)
SMOOTH(f64, 8, 4)
SMOOTH(f32, 8, 6)
SMOOTH(mixed, 8, 6)
