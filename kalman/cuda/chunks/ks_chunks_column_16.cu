// ks_chunks_column_16.cu -- chunks of up to 16 states and 8 entries, a team of 16 threads for each. Registers leave room
// for eight warps on a multiprocessor in double, for twelve otherwise.
#define KS_COLUMNS       16
#define KS_COLUMN_(name) ks_column_##name
#define KS_COLUMN(name)  KS_COLUMN_(name)
#include "column_kernels.h"

ABSORB(f64, f64, double, 16, 8, 4)
ABSORB(f32, mixed, float, 16, 8, 4) /* in mixed precision for the reason given in fast_kernels.h */
ABSORB(mixed, mixed, double, 16, 8, 4)
FILTER(f64, 16, 8, 4)
FILTER(f32, 16, 8, 4)
FILTER(mixed, 16, 8, 4)
SMOOTH(f64, 16, 4)
SMOOTH(f32, 16, 4)
SMOOTH(mixed, 16, 4)
