/* batch.c -- when series run in packs.
 *
 * Measured, packs against series one by one, nanoseconds per step and series of the smoother in
 * double with an own model at each step, means and covariances stored, B = 8, T = 300, AVX2, on one
 * busy core (the ratios are what counts):
 *
 *     nx, ny      2, 1   4, 2   6, 3   8, 4   12, 6   16, 8   24, 12
 *     one by one   103    319    791   1717    4003    6762    18158
 *     packs         65    145    362    811    2302    4889    17983
 *     filter      58/32 113/68 321/165 698/358 1645/925 2500/2057 7206/6956
 */
#include "batch.h"

enum { LEAST_SERIES = 4, MOST_STATES = 16 };

const ks_pack_kernels *ks_packs_for(ks_precision precision, ks_tier tier, int64_t B, int nx)
{
    return B >= LEAST_SERIES && nx <= MOST_STATES ? ks_packs_of(precision, tier) : NULL;
}
