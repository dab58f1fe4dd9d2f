/* tiled_tier.c -- the hand-shaped kernels of one precision and instruction-set tier. Compiled once for
 * each, with the tier's flags and
 *   KS_NUMBER     the header of the number, "num_f64.h"
 *   KS_TILED      the name of the table, ks_tiled_avx2_f64
 *   KS_FOLLOW     the name of follow_tier.c's, ks_follow_avx2_f64
 *   KS_TILES      where many states alone are its: only what they need */
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
#include "row_step_text.h"
#include "tiled_range_text.h"
#include "tiled_filter_range_text.h"
#include "tiled_smooth_range_text.h"

#ifdef KS_TILES
enum { WITH_QUADS = 0, WITH_ROWS = 0 };
#else
enum { WITH_QUADS = KS_QUADS, WITH_ROWS = KS_ROWS_FIT };
#endif

static size_t scratch_bytes(int nx, int ny)
{
    KS_T(ks_tiled_memory) w;
    return (size_t)KS_T(ks_tiled_lay_out)(nx, ny, NULL, &w) * sizeof(KS_NUM);
}

KS_HD_COLD int64_t filter_steps(const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                                const ks_forward_sinks *to, const ks_sink *gains, void *work,
                                ks_tally *tally)
{
    int64_t k = 0;
#define FILTER(shape, nx, ny)                                                               \
    k = KS_T(ks_tiled_filter_steps)(KS_SHAPE_##shape, nx, ny, s, k0, k1, state, to, gains, work, tally)
#define CALL(nx) FILTER(TILES, nx, s->ny)
    if (WITH_QUADS && s->nx == 4 && s->ny <= 4) {
        switch (s->ny) {
        case 1: FILTER(QUAD, 4, 1); break;
        case 2: FILTER(QUAD, 4, 2); break;
        case 3: FILTER(QUAD, 4, 3); break;
        default: FILTER(QUAD, 4, 4); break;
        }
        return k;
    }
    if (WITH_ROWS && s->nx >= 5 && s->nx <= 8 && s->ny <= 4) {
        switch (s->nx) {
        case 5: FILTER(ROWS, 5, s->ny); break;
        case 6: FILTER(ROWS, 6, s->ny); break;
        case 7: FILTER(ROWS, 7, s->ny); break;
        default: FILTER(ROWS, 8, s->ny); break;
        }
        return k;
    }
    if (WITH_ROWS) {
        KS_WITH_WIDE_TILES(s->nx, CALL)
    } else {
        KS_WITH_TILES(s->nx, CALL)
    }
#undef CALL
#undef FILTER
    return k;
}

KS_HD_COLD int64_t smooth_steps(const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                                const ks_forward_sinks *kept, const ks_backward_sinks *to,
                                const ks_sink *gains, void *work, ks_tally *tally)
{
    int64_t k = 0;
#define SMOOTH(shape, nx)                                                                   \
    k = KS_T(ks_tiled_smooth_steps)(KS_SHAPE_##shape, nx, s, k0, k1, state, kept, to, gains, work, tally)
#define CALL(nx) SMOOTH(TILES, nx)
    if (WITH_QUADS && s->nx == 4) {
        SMOOTH(QUAD, 4);
        return k;
    }
    if (WITH_ROWS && s->nx >= 5 && s->nx <= 8) {
        switch (s->nx) {
        case 5: SMOOTH(ROWS, 5); break;
        case 6: SMOOTH(ROWS, 6); break;
        case 7: SMOOTH(ROWS, 7); break;
        default: SMOOTH(ROWS, 8); break;
        }
        return k;
    }
    if (WITH_ROWS) {
        KS_WITH_WIDE_TILES(s->nx, CALL)
    } else {
        KS_WITH_TILES(s->nx, CALL)
    }
#undef CALL
#undef SMOOTH
    return k;
}

static int64_t filter(const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                      const ks_forward_sinks *to, void *work, ks_tally *tally)
{
    return filter_steps(s, k0, k1, state, to, NULL, work, tally);
}

static int64_t smooth(const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                      const ks_forward_sinks *kept, const ks_backward_sinks *to, void *work,
                      ks_tally *tally)
{
    return smooth_steps(s, k0, k1, state, kept, to, NULL, work, tally);
}

static size_t filter_gain_bytes(int nx, int ny)
{
    const size_t n = (size_t)KS_T(ks_padded)(nx), m = (size_t)KS_T(ks_padded)(ny);
    const size_t bytes = (size_t)ny * (n + m + 2) * sizeof(KS_NUM);
    return (bytes + 63) / 64 * 64;
}

static size_t smooth_gain_bytes(int nx)
{
    return (size_t)nx * (size_t)KS_T(ks_padded)(nx) * sizeof(KS_NUM);
}

static int64_t lead_filter(const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                           const ks_forward_sinks *to, const ks_sink *gains, void *work,
                           ks_tally *tally)
{
    const unsigned mode = ks_flush_begin();
    const int64_t k = filter_steps(s, k0, k1, state, to, gains, work, tally);
    ks_flush_end(mode);
    return k;
}

static int64_t lead_smooth(const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                           const ks_forward_sinks *kept, const ks_backward_sinks *to,
                           const ks_sink *gains, void *work, ks_tally *tally)
{
    const unsigned mode = ks_flush_begin();
    const int64_t k = smooth_steps(s, k0, k1, state, kept, to, gains, work, tally);
    ks_flush_end(mode);
    return k;
}

const ks_tiled_kernels KS_TILED = {
    scratch_bytes, filter,      smooth,      filter_gain_bytes, smooth_gain_bytes,
    lead_filter,   lead_smooth, &KS_FOLLOW,
};

#include "num_end.h"
