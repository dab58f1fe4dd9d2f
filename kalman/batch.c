/* batch.c -- when series run in packs.
 *
 * Measured, packs against series one by one, nanoseconds per step and series with an own model at
 * each step, means and covariances stored, B = 64 against B = 3, AVX2, one core at 2.5 GHz:
 *
 *     nx, ny             2, 1    4, 2    6, 3    8, 4     12, 6     16, 8
 *     smoother, f64    63/109 144/174 373/581 862/879 2300/2081 4973/5107
 *     filter, f64       31/56   64/73 169/288 376/415  1030/902 2187/2148
 *     smoother, f32    46/105  89/165 210/461 448/614 1214/1521 2632/3276
 *     filter, f32       24/54   43/69  99/250 206/322   580/735 1218/1263
 */
#include "batch.h"

enum { LEAST_SERIES = 4, MOST_STATES_F64 = 8, MOST_STATES_F32 = 16 };

const ks_pack_kernels *ks_packs_for(ks_precision precision, ks_tier tier, int64_t B, int nx)
{
    const int most = precision == KS_F64 ? MOST_STATES_F64 : MOST_STATES_F32;
    return B >= LEAST_SERIES && nx <= most ? ks_packs_of(precision, tier) : NULL;
}
