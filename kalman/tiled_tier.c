/* tiled_tier.c -- the hand-shaped kernels of one precision and instruction-set tier. Compiled once for
 * each, with the tier's flags and
 *   KS_NUMBER     the header of the number, "num_f64.h"
 *   KS_TILED      the name of the table, ks_tiled_avx2_f64 */
#include <math.h>
#include <stdint.h>
#include "hd.h"
#include "kernels.h"
#include "tiled.h"
#include KS_NUMBER
#include "gemm_text.h"
#include "tile_text.h"
#include "smallmat_text.h"
#include "array_text.h"
#include "step_text.h"
#include "array_step_text.h"
#include "memo_text.h"
#include "range_text.h"
#include "filter_range_text.h"
#include "tiled_step_text.h"
#include "quad_step_text.h"
#include "tiled_range_text.h"
#include "tiled_filter_range_text.h"
#include "tiled_smooth_range_text.h"

static size_t scratch_bytes(int nx, int ny)
{
    KS_T(ks_tiled_memory) w;
    return (size_t)KS_T(ks_tiled_lay_out)(nx, ny, NULL, &w) * sizeof(KS_NUM);
}

static int64_t filter(const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                      const ks_forward_sinks *to, void *work, ks_tally *tally)
{
    int64_t k = 0;
#define FILTER(quad, nx, ny)                                                                \
    k = KS_T(ks_tiled_filter_steps)(quad, nx, ny, s, k0, k1, state, to, work, tally)
#define CALL(nx) FILTER(0, nx, s->ny)
    if (KS_QUADS && s->nx == 4 && s->ny <= 4) {
        switch (s->ny) {
        case 1: FILTER(1, 4, 1); break;
        case 2: FILTER(1, 4, 2); break;
        case 3: FILTER(1, 4, 3); break;
        default: FILTER(1, 4, 4); break;
        }
        return k;
    }
    KS_WITH_TILES(s->nx, CALL)
#undef CALL
#undef FILTER
    return k;
}

static int64_t smooth(const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                      const ks_forward_sinks *kept, const ks_backward_sinks *to, void *work,
                      ks_tally *tally)
{
    int64_t k = 0;
#define SMOOTH(quad, nx)                                                                    \
    k = KS_T(ks_tiled_smooth_steps)(quad, nx, s, k0, k1, state, kept, to, work, tally)
#define CALL(nx) SMOOTH(0, nx)
    if (KS_QUADS && s->nx == 4) {
        SMOOTH(1, 4);
        return k;
    }
    KS_WITH_TILES(s->nx, CALL)
#undef CALL
#undef SMOOTH
    return k;
}

const ks_tiled_kernels KS_TILED = { scratch_bytes, filter, smooth };

#include "num_end.h"
