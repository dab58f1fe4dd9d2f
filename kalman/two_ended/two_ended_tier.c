/* two_ended_tier.c -- the two-ended smoother's table of one precision and instruction-set tier. It is compiled as
 * kernels_tier.c is. KS_ENDS is the name of the table; KS_TILES is as in tiled_tier.c. */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "hd.h"
#include "literal.h"
#include "tiled.h"
#include "two_ended.h"
#include KS_NUMBER
#include "gemm_text.h"
#include "tile_text.h"
#include "smallmat_text.h"
#include "array_text.h"
#include "step_text.h"
#include "array_step_text.h"
#include "memo_text.h"
#include "range_text.h"
#include "filter_range_text.h" /* KS_WITH_LITERAL_ENTRIES */
#include "tiled_step_text.h"
#include "four_steps_text.h"
#include "quad_step_text.h"
#include "row_step_text.h"
#include "tiled_range_text.h"
#include "two_ended_text.h"
#include "two_ended_inverse_text.h"
#include "two_ended_array_text.h"
#include "two_ended_range_text.h"
#include "two_ended_tiled_text.h"
#include "two_ended_quad_text.h"
#include "two_ended_row_text.h"
#include "two_ended_roots_text.h"
#include "two_ended_tiled_inverse_text.h"
#include "two_ended_tiled_range_text.h"
#include "two_ended_tiled_in_text.h"
#include "two_ended_tiled_out_text.h"

/* With a literal number of states, tiles are 1.3 to 1.7 times as fast, but each literal takes long to compile. So the
 * baseline goes without. */
#if KS_VECTOR_BYTES < 32
#define KS_ENDS_WITH_TILES(nx, CALL) CALL(nx);
#elif KS_LITERAL_TILES
#define KS_ENDS_WITH_TILES(nx, CALL) switch (nx) { KS_CASES(CALL, 12) default: CALL(nx); break; }
#else
#define KS_ENDS_WITH_TILES KS_WITH_WIDE_TILES
#endif
#ifdef KS_TILES
enum { WITH_QUADS = 0, WITH_ROWS = KS_ROWS_FIT, FEWEST_ROWS = KS_WIDE_ROWS_FROM };
#else
enum { WITH_QUADS = KS_QUADS, WITH_ROWS = KS_ROWS_FIT, FEWEST_ROWS = 5 };
#endif
/* Literal numbers of states of the plain text. */
#ifndef KS_WITH_LITERAL
#define KS_WITH_LITERAL(nx, CALL) switch (nx) { KS_CASES(CALL, 1, 2, 3) default: CALL(nx); break; }
#endif

static size_t ends_scratch_bytes(int nx, int ny)
{
    KS_T(ks_ends_memory) unused;
    return (size_t)KS_T(ks_ends_place)(nx, ny, NULL, &unused) * sizeof(KS_NUM);
}

/** Memory of the plain ranges, which is behind that of the tiles. */
static void *plain_memory(const ks_series *s, void *work)
{
    KS_T(ks_ends_memory) w;
    (void)KS_T(ks_ends_place)(s->nx, s->ny, work, &w);
    return w.plain;
}

/* Every shape and literal size is a function of its own, as in tiled_tier.c. */
#define INFORM(name, shape, states)                                                         \
    KS_HD_COLD int64_t inform_##name(const ks_series *s, int64_t k0, int64_t k1,            \
                                     ks_information *information, const ks_right_rows *to,  \
                                     void *work, ks_tally *tally)                           \
    {                                                                                       \
        return KS_T(ks_tiled_inform_steps)(KS_SHAPE_##shape, states, s, k0, k1, information, to, \
                                           work, tally);                                    \
    }
#define OUTWARD(name, shape, states)                                                        \
    KS_HD_COLD int64_t outward_##name(const ks_series *s, int64_t k0, int64_t k1,           \
                                      ks_state *state, const ks_right_rows *from,           \
                                      const ks_backward_sinks *to, void *work,              \
                                      ks_tally *tally)                                      \
    {                                                                                       \
        return KS_T(ks_tiled_outward_steps)(KS_SHAPE_##shape, states, s, k0, k1, state, from, to, \
                                            work, tally);                                   \
    }
#define PLAIN_INFORM(number, states)                                                        \
    KS_HD_COLD int plain_inform_##number(const ks_series *s, int64_t k0, int64_t k1,        \
                                         ks_information *information,                       \
                                         const ks_right_rows *to, void *work,               \
                                         ks_tally *tally)                                   \
    {                                                                                       \
        return KS_T(ks_inform_steps)(states, s, k0, k1, information, to, work, tally);      \
    }
#define PLAIN_OUTWARD(number, states)                                                       \
    KS_HD_COLD int plain_outward_##number(const ks_series *s, int64_t k0, int64_t k1,       \
                                          ks_form form, ks_state *state,                    \
                                          const ks_right_rows *from,                        \
                                          const ks_backward_sinks *to, void *work,          \
                                          ks_tally *tally)                                  \
    {                                                                                       \
        return KS_T(ks_outward_steps)(states, s, k0, k1, form, state, from, to, work, tally); \
    }
#define SHAPES(MAKE)                                                                        \
    MAKE(quad_4, QUAD, 4)                                                                   \
    MAKE(rows_6, ROWS, 6)                                                                   \
    MAKE(rows_nx, ROWS, s->nx)                                                              \
    MAKE(tiles_6, TILES, 6)                                                                 \
    MAKE(tiles_8, TILES, 8)                                                                 \
    MAKE(tiles_12, TILES, 12)                                                               \
    MAKE(tiles_nx, TILES, s->nx)
SHAPES(INFORM)
SHAPES(OUTWARD)
#define NUMBERS(MAKE) MAKE(1, 1) MAKE(2, 2) MAKE(3, 3) MAKE(nx, s->nx)
NUMBERS(PLAIN_INFORM)
NUMBERS(PLAIN_OUTWARD)
#undef INFORM
#undef OUTWARD
#undef PLAIN_INFORM
#undef PLAIN_OUTWARD
#undef SHAPES
#undef NUMBERS

static int plain_inform(const ks_series *s, int64_t k0, int64_t k1, ks_information *information,
                        const ks_right_rows *to, void *work, ks_tally *tally)
{
    const int nx = s->nx;
    int rc = 0;
    (void)nx; /* unused without literals */
#define CALL(nx) rc = plain_inform_##nx(s, k0, k1, information, to, work, tally)
    KS_WITH_LITERAL(nx, CALL)
#undef CALL
    return rc;
}

static int plain_outward(const ks_series *s, int64_t k0, int64_t k1, ks_form form, ks_state *state,
                         const ks_right_rows *from, const ks_backward_sinks *to, void *work,
                         ks_tally *tally)
{
    const int nx = s->nx;
    int rc = 0;
    (void)nx; /* unused without literals */
#define CALL(nx) rc = plain_outward_##nx(s, k0, k1, form, state, from, to, work, tally)
    KS_WITH_LITERAL(nx, CALL)
#undef CALL
    return rc;
}

/* Dispatch the number of states by STEPS(name), which returns. Five to eight states are in rows of eight. Six is a
 * literal, the others share a copy. */
#define TILES(nx) STEPS(tiles_##nx)
#define QUADS_ROWS_OR_TILES(s)                                                              \
    const int nx = (s)->nx;                                                                 \
    if (WITH_QUADS && nx == 4 && (s)->ny <= 4) STEPS(quad_4);                               \
    if (WITH_ROWS && nx >= FEWEST_ROWS && nx <= 8 && (s)->ny <= 4) {                        \
        if (FEWEST_ROWS <= 6 && nx == 6) STEPS(rows_6);                                     \
        STEPS(rows_nx);                                                                     \
    }                                                                                       \
    KS_ENDS_WITH_TILES(nx, TILES)

static int64_t tiled_inform(const ks_series *s, int64_t k0, int64_t k1,
                            ks_information *information, const ks_right_rows *to, void *work,
                            ks_tally *tally)
{
#define STEPS(name) return inform_##name(s, k0, k1, information, to, work, tally)
    QUADS_ROWS_OR_TILES(s)
#undef STEPS
}

static int64_t tiled_outward(const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                             const ks_right_rows *from, const ks_backward_sinks *to, void *work,
                             ks_tally *tally)
{
#define STEPS(name) return outward_##name(s, k0, k1, state, from, to, work, tally)
    QUADS_ROWS_OR_TILES(s)
#undef STEPS
}

/** Ordinary steps by the hand-shaped kernels. A step that they leave is taken by the plain text. */
static int inform_by_tiles(const ks_series *s, int64_t k0, int64_t k1, ks_information *information,
                           const ks_right_rows *to, void *work, ks_tally *tally)
{
    for (int64_t end = k1; end > k0;) {
        const int64_t k = tiled_inform(s, k0, end, information, to, work, tally);
        if (k < 0) return 1;
        if (tally->bad_step >= 0) return -1;
        if (k < k0) return 0;
        const int rc = plain_inform(s, k, k + 1, information, to, plain_memory(s, work), tally);
        if (rc) return rc;
        end = k;
    }
    return 0;
}

static int outward_by_tiles(const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                            const ks_right_rows *from, const ks_backward_sinks *to, void *work,
                            ks_tally *tally)
{
    for (int64_t k = k0; k < k1; ++k) {
        if (state->form == KS_FORM_ORDINARY) {
            k = tiled_outward(s, k, k1, state, from, to, work, tally);
            if (k < 0) return 1;
            if (tally->bad_step >= 0) return -1;
            if (k == k1) return 0;
        }
        const int rc = plain_outward(s, k, k + 1, KS_FORM_ORDINARY, state, from, to,
                                     plain_memory(s, work), tally);
        if (rc) return rc;
    }
    return 0;
}

static int ends_inform(const ks_series *s, int64_t k0, int64_t k1, ks_information *information,
                       const ks_right_rows *to, void *work, ks_tally *tally)
{
    const unsigned mode = ks_flush_begin();
    const int rc = s->nx >= KS_TILED_FROM && information->form == KS_FORM_ORDINARY
                       ? inform_by_tiles(s, k0, k1, information, to, work, tally)
                       : plain_inform(s, k0, k1, information, to, plain_memory(s, work), tally);
    ks_flush_end(mode);
    return rc;
}

static void ends_meet(int nx, int64_t k, ks_state *state, ks_information *information,
                      const ks_right_rows *from, const ks_backward_sinks *to, void *work, ks_evidence *evidence)
{
    const unsigned mode = ks_flush_begin();
    KS_T(ks_meet_states)(nx, k, state, information, from, to, work, evidence);
    ks_flush_end(mode);
}

static int ends_outward(const ks_series *s, int64_t k0, int64_t k1, ks_form form, ks_state *state,
                        const ks_right_rows *from, const ks_backward_sinks *to, void *work,
                        ks_tally *tally)
{
    const unsigned mode = ks_flush_begin();
    const int rc = s->nx >= KS_TILED_FROM && form == KS_FORM_ORDINARY
                       ? outward_by_tiles(s, k0, k1, state, from, to, work, tally)
                       : plain_outward(s, k0, k1, form, state, from, to, plain_memory(s, work),
                                       tally);
    ks_flush_end(mode);
    return rc;
}

static int ends_inverts(const ks_series *s, void *work)
{
    return KS_T(ks_inverts)(s, plain_memory(s, work));
}

static double ends_first_refused(const ks_series *s, int64_t k0, int64_t k1, void *work,
                                 ks_tally *tally)
{
    return KS_T(ks_first_refused)(s, k0, k1, plain_memory(s, work), tally);
}

const ks_two_ended_kernels KS_ENDS = { ends_scratch_bytes, ends_inform, ends_meet, ends_outward,
                                       ends_inverts, ends_first_refused };
