/* tiled_tier.c -- the hand-shaped kernels of one precision and instruction-set tier. It is compiled once for each, with
 * the tier's flags and these macros:
 *   KS_NUMBER     header of the number, such as "num_f64.h"
 *   KS_TILED      name of the table, such as ks_tiled_avx2_f64
 *   KS_FOLLOW     name of the table of follow_tier.c, such as ks_follow_avx2_f64
 *   KS_TILES      defined in tiers for many states: only tiles and, where a row fills a vector, rows of seven and eight
 *                 states */
#include <math.h>
#include <stdint.h>
#include <string.h>
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
#include "four_steps_text.h"
#include "quad_step_text.h"
#include "row_step_text.h"
#include "tiled_range_text.h"
#include "steady_text.h"
#include "tiled_observe_text.h"
#include "gains_ahead_text.h"
#include "tiled_slot_text.h"
#include "exact_step_text.h"
#include "tiled_filter_range_text.h"
#include "tiled_smooth_range_text.h"

#ifdef KS_TILES
enum { WITH_QUADS = 0, WITH_ROWS = KS_ROWS_FIT, FEWEST_ROWS = KS_WIDE_ROWS_FROM };
#else
enum { WITH_QUADS = KS_QUADS, WITH_ROWS = KS_ROWS_FIT, FEWEST_ROWS = 2 };
#endif
enum { WITH_WHOLE_TILES = WITH_ROWS && KS_VECTOR_BYTES == 32 && KS_LITERAL_TILES };
enum { FROM_STATES = WITH_ROWS ? KS_ROWS_FROM : KS_TILED_FROM };

static size_t scratch_bytes(int nx, int ny)
{
    KS_T(ks_tiled_memory) w;
    return (size_t)KS_T(ks_tiled_lay_out)(nx, ny, NULL, &w) * sizeof(KS_NUM);
}

/* Rows are `apart` numbers apart. For nine to eleven states this is a literal: they have as many tiles as twelve, and
 * share one copy, which is only a few per cent slower than a copy for each. Single precision takes .77 of the time of a
 * smoother and .83 of a filter for it. So do 14 and 15 in the smoother, .85 to .94 of the time; a filter's would be .96
 * to .99. */
#define PADDED(states) KS_T(ks_padded)(states)
/* Every shape and literal size is a function of its own. Several ranges in one function would share its registers, and
 * compile time more than doubles when a function doubles in size. */
#define FILTER(name, shape, states, apart, entries)                                         \
    KS_HD_COLD int64_t filter_##name(const ks_series *s, int64_t k0, int64_t k1,            \
                                     ks_state *state, const ks_forward_sinks *to,           \
                                     const ks_sink *gains, void *work, ks_tally *tally)     \
    {                                                                                       \
        return KS_T(ks_tiled_filter_steps)(KS_SHAPE_##shape, states, apart, entries, s, k0,     \
                                           k1, state, to, gains, work, tally);              \
    }
FILTER(quad_1, QUAD, 4, 4, 1)
FILTER(quad_2, QUAD, 4, 4, 2)
FILTER(quad_3, QUAD, 4, 4, 3)
FILTER(quad_4, QUAD, 4, 4, 4)
FILTER(rows_2, ROWS, 2, PADDED(2), s->ny)
FILTER(rows_3, ROWS, 3, PADDED(3), s->ny)
FILTER(rows_5, ROWS, 5, PADDED(5), s->ny)
FILTER(rows_6, ROWS, 6, PADDED(6), s->ny)
FILTER(rows_7, ROWS, 7, PADDED(7), s->ny)
FILTER(rows_8, ROWS, 8, PADDED(8), s->ny)
FILTER(tiles_6, TILES, 6, PADDED(6), s->ny)
FILTER(tiles_8, TILES, 8, PADDED(8), s->ny)
FILTER(tiles_12, TILES, 12, PADDED(12), s->ny)
FILTER(tiles_13, TILES, 13, PADDED(13), s->ny)
FILTER(tiles_14, TILES, 14, PADDED(14), s->ny)
FILTER(tiles_15, TILES, 15, PADDED(15), s->ny)
FILTER(tiles_16, TILES, 16, PADDED(16), s->ny)
FILTER(tiles_9_to_11, TILES, s->nx, PADDED(12), s->ny)
FILTER(tiles_nx, TILES, s->nx, PADDED(s->nx), s->ny) /* any number */
#undef FILTER

#define SMOOTH(name, shape, states, apart)                                                  \
    KS_HD_COLD int64_t smooth_##name(const ks_series *s, int64_t k0, int64_t k1,            \
                                     ks_state *state, const ks_forward_sinks *kept,         \
                                     const ks_backward_sinks *to, const ks_sink *gains,     \
                                     void *work, ks_tally *tally)                           \
    {                                                                                       \
        return KS_T(ks_tiled_smooth_steps)(KS_SHAPE_##shape, states, apart, s, k0, k1, state,     \
                                           kept, to, gains, work, tally);                   \
    }
SMOOTH(quad_4, QUAD, 4, 4)
SMOOTH(rows_2, ROWS, 2, PADDED(2))
SMOOTH(rows_3, ROWS, 3, PADDED(3))
SMOOTH(rows_5, ROWS, 5, PADDED(5))
SMOOTH(rows_6, ROWS, 6, PADDED(6))
SMOOTH(rows_7, ROWS, 7, PADDED(7))
SMOOTH(rows_8, ROWS, 8, PADDED(8))
SMOOTH(tiles_6, TILES, 6, PADDED(6))
SMOOTH(tiles_8, TILES, 8, PADDED(8))
SMOOTH(tiles_12, TILES, 12, PADDED(12))
SMOOTH(tiles_13, TILES, 13, PADDED(13))
SMOOTH(tiles_14, TILES, 14, PADDED(14))
SMOOTH(tiles_15, TILES, 15, PADDED(15))
SMOOTH(tiles_16, TILES, 16, PADDED(16))
SMOOTH(tiles_9_to_11, TILES, s->nx, PADDED(12))
SMOOTH(tiles_14_and_15, TILES, s->nx, PADDED(16))
SMOOTH(tiles_nx, TILES, s->nx, PADDED(s->nx))
#undef SMOOTH
#undef PADDED

/* Dispatch nx states, except quads, by STEPS(name), which returns. Up to eight states are in rows if `fits`, others in
 * tiles, by TILES(nx). */
#define ROWS_OR_TILES(STEPS, nx, fits)                                                      \
    if (WITH_ROWS && FEWEST_ROWS <= 6 && nx <= 6 && (fits)) {                               \
        switch (nx) {                                                                       \
        case 2: STEPS(rows_2);                                                              \
        case 3: STEPS(rows_3);                                                              \
        case 5: STEPS(rows_5);                                                              \
        default: STEPS(rows_6);                                                             \
        }                                                                                   \
    }                                                                                       \
    if (WITH_ROWS && nx <= 8 && (fits)) {                                                   \
        if (nx == 7) STEPS(rows_7);                                                         \
        STEPS(rows_8);                                                                      \
    }                                                                                       \
    if (WITH_WHOLE_TILES && nx >= 9 && nx <= 11) STEPS(tiles_9_to_11);                      \
    if (WITH_ROWS) {                                                                        \
        KS_WITH_WIDE_TILES(nx, TILES)                                                       \
    }                                                                                       \
    KS_WITH_TILES(nx, TILES)

static int64_t filter_steps(const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                            const ks_forward_sinks *to, const ks_sink *gains, void *work,
                            ks_tally *tally)
{
    const int nx = s->nx, ny = s->ny;
#define FILTER(name) return filter_##name(s, k0, k1, state, to, gains, work, tally)
#define TILES(nx) FILTER(tiles_##nx)
    if (WITH_QUADS && nx == 4 && ny <= 4) {
        switch (ny) {
        case 1: FILTER(quad_1);
        case 2: FILTER(quad_2);
        case 3: FILTER(quad_3);
        default: FILTER(quad_4);
        }
    }
    ROWS_OR_TILES(FILTER, nx, ny <= KS_ROWS_ENTRIES)
#undef TILES
#undef FILTER
}

static int64_t smooth_steps(const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                            const ks_forward_sinks *kept, const ks_backward_sinks *to,
                            const ks_sink *gains, void *work, ks_tally *tally)
{
    const int nx = s->nx;
#define SMOOTH(name) return smooth_##name(s, k0, k1, state, kept, to, gains, work, tally)
#define TILES(nx) SMOOTH(tiles_##nx)
    if (WITH_QUADS && nx == 4) SMOOTH(quad_4);
    if (WITH_WHOLE_TILES && (nx == 14 || nx == 15)) SMOOTH(tiles_14_and_15);
    ROWS_OR_TILES(SMOOTH, nx, 1)
#undef TILES
#undef SMOOTH
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
    const size_t bytes = ((size_t)ny * (n + m + 2) + n) * sizeof(KS_NUM);
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
    FROM_STATES,   !WITH_QUADS || KS_QUADS_EXACT,
    scratch_bytes, filter,      smooth,      filter_gain_bytes, smooth_gain_bytes,
    lead_filter,   lead_smooth, &KS_FOLLOW,
};

#include "num_end.h"
