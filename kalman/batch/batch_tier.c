/* batch_tier.c -- steps of several series at once, for one precision and instruction-set tier.
 * Compiled once for each, with the tier's flags and
 *   KS_NUMBER     the header of the pack, "num_f64x4.h"
 *   KS_TABLE      the name of the table, ks_packs_avx2_f64 */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "hd.h"
#include "literal.h"
#include "literal_entries.h"
#include "batch.h"
#include KS_NUMBER
#include "packmat_text.h"
#include "step_text.h"
#include "lanes_text.h"
#include "batch_rows_text.h"
#include "batch_scratch_text.h"
#include "batch_filter_text.h"
#include "batch_smooth_text.h"

/* State counts compiled as literals. All others share one copy with loops. */
#ifndef KS_WITH_LITERAL
#define KS_WITH_LITERAL(nx, CALL) switch (nx) { KS_CASES(CALL, 2, 4, 6, 8) default: CALL(nx); break; }
#endif

static size_t pack_scratch_bytes(int nx, int ny)
{
    return (size_t)KS_T(ks_group_lay_out)(nx, ny, NULL).at * sizeof(KS_NUM);
}

static void pack_filter(ks_group *group, int64_t k0, int64_t k1, const ks_forward_sinks *to,
                        ks_tally *tally)
{
    const unsigned mode = ks_flush_begin();
#define CALL(nx) KS_T(ks_group_filter)(nx, group, k0, k1, to, tally)
    KS_WITH_LITERAL(group->series[0].nx, CALL)
#undef CALL
    ks_flush_end(mode);
}

static void pack_smooth(ks_group *group, int64_t k0, int64_t k1, const ks_forward_sinks *kept,
                        const ks_backward_sinks *to, ks_tally *tally)
{
    const unsigned mode = ks_flush_begin();
#define CALL(nx) KS_T(ks_group_smooth)(nx, group, k0, k1, kept, to, tally)
    KS_WITH_LITERAL(group->series[0].nx, CALL)
#undef CALL
    ks_flush_end(mode);
}

const ks_pack_kernels KS_TABLE = { KS_LANES, pack_scratch_bytes, pack_filter, pack_smooth };
#include "num_pack_end.h"
