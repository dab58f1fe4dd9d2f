/* batch.c -- when series run in packs.
 *
 * Measured: packs / series one by one, in nanoseconds per step and series. Each step has a model of its own; means and
 * covariances are stored. B = 64 in packs, B = 3 one by one; AVX2, one core at 2.5 GHz:
 *
 *     nx, ny             2, 1    4, 2    5, 2    6, 3    7, 3    8, 4     12, 6
 *     smoother, f64    63/109 140/164 341/267 334/354 604/448 844/585
 *     filter, f64       31/56   71/67 152/128 155/157 285/179 348/235
 *     smoother, f32    46/105  86/148 185/235 190/289 319/368 437/425 1181/1551
 *     filter, f32       24/54   40/68  82/107  87/131 140/155 191/186   490/701
 *
 * In double, five to eight states fill vectors of one series (row_step_text.h). So do three, where both ways take the
 * same time (smoother 94/92, filter 51/54 at (3, 2)). At (2, 1) packs take half the time.
 *
 * Packs of AVX-512 / the best without them, smoother, B = 64, on a core of Zen 5 with undivided registers of 512 bits.
 * "own": each step has a model of its own; "missing": one model, and a tenth of the entries is missing.
 *
 *     nx, ny             2, 1    4, 2    6, 3    7, 3    8, 4   10, 5     12, 6    16, 8      20, 10      24, 12
 *     own, f64          16/25   62/72 169/170 254/216 313/243 589/859   855/721 1744/1358
 *     missing, f64      14/22   36/57 108/157 178/189 196/214 396/719   617/617 1284/1279
 *     own, f32          10/11   26/37  87/105 142/167 173/218 296/408   478/614   952/1249   1733/2323   2718/2832
 *     missing, f32       9/11   21/30   58/78  92/133 123/180 215/318   343/489    696/976   1299/2012   2059/2521
 *
 * Zen 4 divides these registers into two halves. There packs of AVX-512 take this share of the time without them (B
 * = 64, minima, "own" and "missing"):
 *
 *     nx            1         4         5         6         9         11
 *     f64     .58 .56   .80 .83  1.08 .82  1.08 .87  1.07 .96  1.20 1.17
 *     nx            2        12     13-16        17        22         23
 *     f32     .79 .80 1.04 1.01 1.04-1.08   .80 .73  1.03 .98  1.09 1.06
 *
 * In single precision up to 16 states go in packs of AVX2 otherwise.
 *
 * A last pack that is not full takes as long as a full one, and threads share packs. So AVX-512 packs need at least
 * four of them. */
#include "batch.h"
#include "cpu.h"

enum { LEAST_SERIES = 4, MOST_STATES_F64 = 4, MOST_STATES_F32 = 16, LEAST_WIDE_PACKS = 4, MOST_STATES_WIDE_F32 = 24 };

/** Return whether wide packs pay for nx states, or are asked for. With nine to eleven states vectors of one series are
 *  filled badly. */
static int pays_wide(ks_precision precision, ks_tier tier, int nx)
{
    const int halves = tier != KS_TIER_AVX512 && ks_halves_vectors();
    if (precision == KS_F64) return nx <= 6 || (nx >= 9 && nx <= 11 && !halves);
    return halves ? nx <= 12 || (nx > MOST_STATES_F32 && nx <= 22) : nx <= MOST_STATES_WIDE_F32;
}

const ks_pack_kernels *ks_packs_for(ks_precision precision, ks_tier tier, int64_t B, int nx)
{
    const ks_pack_kernels *wide = pays_wide(precision, tier, nx) ? ks_wide_packs_of(precision, tier) : NULL;
    if (wide && B >= LEAST_WIDE_PACKS * (int64_t)wide->width) return wide;
    const int most = precision == KS_F64 ? MOST_STATES_F64 : MOST_STATES_F32;
    return B >= LEAST_SERIES && nx <= most ? ks_packs_of(precision, tier) : NULL;
}
