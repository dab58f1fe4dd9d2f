/* batch.h -- groups of series that run together, one in each lane of a vector register.
 *
 * A group has as many adjacent series as a register has lanes; the last group may have fewer. All lanes take ordinary
 * steps together. A lane whose step fails, or cannot be taken in the ordinary form, takes it alone, by the plan's
 * ks_kernels. Lanes never mix: the result of a series does not depend on the other series of its group. */
#ifndef KS_BATCH_H
#define KS_BATCH_H

#include <stddef.h>
#include <stdint.h>
#include "kernels.h"
#include "series.h"

enum { KS_LANES_MOST = 16 };

/** Adjacent series; lane l is series l of the group. All arrays have `width` entries. Those beyond the group's own
 *  series repeat the last one. */
typedef struct ks_group {
    const ks_kernels *kernels; /* for the steps that a lane takes alone                        */
    void *scratch, *pack;      /* scratch of the kernels, scratch of the group                 */
    int alive;                 /* lanes still to be computed: 0 .. alive - 1. A lane that       */
                               /* fails ends itself and those above it.                       */
    ks_series series[KS_LANES_MOST];
    ks_state state[KS_LANES_MOST];
} ks_group;

typedef struct ks_pack_kernels {
    int width;
    /** Return the bytes of ks_group's `pack`, to be aligned to 64. */
    size_t (*scratch_bytes)(int nx, int ny);
    /** Take filter steps k0 .. k1 - 1 of all lanes. States are carried in and out; sinks and tallies are arrays by
     *  lane. A lane that fails has the fault in its tally. */
    void (*filter)(ks_group *group, int64_t k0, int64_t k1, const ks_forward_sinks *to,
                   ks_tally *tally);
    /** Take smoother steps k1 - 1 .. k0 of all lanes, see ks_kernels. */
    void (*smooth)(ks_group *group, int64_t k0, int64_t k1, const ks_forward_sinks *kept,
                   const ks_backward_sinks *to, ks_tally *tally);
} ks_pack_kernels;

/** Return the packs that pay for B series with nx states. NULL if series are faster one by one, or the tier has no
 *  packs. */
const ks_pack_kernels *ks_packs_for(ks_precision precision, ks_tier tier, int64_t B, int nx);

/** Return the packs of a precision and tier. NULL if the tier or this processor has none. */
const ks_pack_kernels *ks_packs_of(ks_precision precision, ks_tier tier);

/** The same for the packs of AVX-512, which are twice as wide. */
const ks_pack_kernels *ks_wide_packs_of(ks_precision precision, ks_tier tier);

extern const ks_pack_kernels ks_packs_avx2_f64, ks_packs_avx2_f32, ks_packs_avx512_f64, ks_packs_avx512_f32;

#endif
