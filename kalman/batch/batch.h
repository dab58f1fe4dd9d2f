/* batch.h -- groups of series that run at once, one in each lane of a vector register.
 *
 * A group is made of as many neighbouring series as a register has lanes; the last one may have
 * fewer. Ordinary steps are taken by all lanes together; a step that a lane cannot take in the
 * ordinary form, or that fails, that lane takes alone, by the functions of the plan's ks_kernels.
 * Lanes never mix: what a series comes to does not depend on the series beside it. */
#ifndef KS_BATCH_H
#define KS_BATCH_H

#include <stddef.h>
#include <stdint.h>
#include "kernels.h"
#include "series.h"

enum { KS_LANES_MOST = 16 };

/** Neighbouring series, lane l being series l of the group. All arrays have `width` entries; those
 *  beyond the group's own series repeat the last one. */
typedef struct ks_group {
    const ks_kernels *kernels; /* for the steps that a lane takes alone                        */
    void *scratch, *pack;      /* kernels' scratch, the group's scratch                        */
    int alive;                 /* lanes that are still worth computing: 0 .. alive - 1. A lane  */
                               /* that fails ends itself and those above it.                   */
    ks_series series[KS_LANES_MOST];
    ks_state state[KS_LANES_MOST];
} ks_group;

typedef struct ks_pack_kernels {
    int width;
    /** Bytes of ks_group's `pack`, aligned to 64. */
    size_t (*scratch_bytes)(int nx, int ny);
    /** Filter steps k0 .. k1 - 1 of all lanes; states carried in and out, sinks and tallies by
     *  lane. A lane that fails has the fault in its tally. */
    void (*filter)(ks_group *group, int64_t k0, int64_t k1, const ks_forward_sinks *to,
                   ks_tally *tally);
    /** Smoother steps k1 - 1 .. k0 of all lanes, see ks_kernels. */
    void (*smooth)(ks_group *group, int64_t k0, int64_t k1, const ks_forward_sinks *kept,
                   const ks_backward_sinks *to, ks_tally *tally);
} ks_pack_kernels;

/** The packs that pay for B series with nx states, or NULL where one after another is faster, or
 *  the tier has none. */
const ks_pack_kernels *ks_packs_for(ks_precision precision, ks_tier tier, int64_t B, int nx);

/** The packs of a precision and tier, or NULL where the tier or this processor has none. */
const ks_pack_kernels *ks_packs_of(ks_precision precision, ks_tier tier);

/** Those of AVX-512, twice as wide, likewise. */
const ks_pack_kernels *ks_wide_packs_of(ks_precision precision, ks_tier tier);

extern const ks_pack_kernels ks_packs_avx2_f64, ks_packs_avx2_f32, ks_packs_avx512_f64, ks_packs_avx512_f32;

#endif
