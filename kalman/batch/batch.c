/* batch.c -- when series run in packs.
 *
 * Measured, packs against series one by one, nanoseconds per step and series with an own model at
 * each step, means and covariances stored, B = 64 in packs, B = 3 not, AVX2, one core at 2.5 GHz:
 *
 *     nx, ny             2, 1    4, 2    5, 2    6, 3    7, 3    8, 4     12, 6
 *     smoother, f64    63/109 140/164 341/267 334/354 604/448 844/585
 *     filter, f64       31/56   71/67 152/128 155/157 285/179 348/235
 *     smoother, f32    46/105  86/148 185/235 190/289 319/368 437/425 1181/1551
 *     filter, f32       24/54   40/68  82/107  87/131 140/155 191/186   490/701
 *
 * Five to eight states in double have vectors of their own (row_step_text.h), so have three, which took as long either way
 * with later kernels (smoother 94/92, filter 51/54 at (3, 2)); at (2, 1) packs took half. */
#include "batch.h"

enum { LEAST_SERIES = 4, MOST_STATES_F64 = 4, MOST_STATES_F32 = 16 };

const ks_pack_kernels *ks_packs_for(ks_precision precision, ks_tier tier, int64_t B, int nx)
{
    const int most = precision == KS_F64 ? MOST_STATES_F64 : MOST_STATES_F32;
    return B >= LEAST_SERIES && nx <= most ? ks_packs_of(precision, tier) : NULL;
}
