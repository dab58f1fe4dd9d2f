/* follow_tier.c -- means of series that follow another one, for one precision and instruction-set tier. It is compiled
 * once for each, with the tier's flags and these macros:
 *   KS_NUMBER     header of the number, such as "num_f64.h"
 *   KS_FOLLOW     name of the table, such as ks_follow_avx2_f64
 *   KS_TILES      as in tiled_tier.c */
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
#include "quad_step_text.h"
#include "row_step_text.h"
#include "tiled_range_text.h"
#include "steady_text.h"
#include "tiled_observe_text.h"
#include "tiled_slot_text.h"
#include "exact_step_text.h"
#include "tiled_filter_range_text.h"
#include "follow_rows_text.h"
#include "tiled_follow_text.h"

#ifdef KS_TILES
enum { WITH_QUADS = 0, WITH_ROWS = KS_ROWS_FIT, FEWEST_ROWS = KS_WIDE_ROWS_FROM };
#else
enum { WITH_QUADS = KS_QUADS, WITH_ROWS = KS_ROWS_FIT, FEWEST_ROWS = 2 };
#endif

/* The same shapes as in tiled_tier.c, so that results are the same bits. */
static void filter(int count, ks_follower *f, int64_t k0, int64_t k1, const ks_sink *gains,
                   const ks_sink *covs, void *work)
{
    const int nx = f->series->nx, ny = f->series->ny;
    const unsigned mode = ks_flush_begin();
#define FOLLOW(shape, nx, ny)                                                               \
    KS_T(ks_follow_filter_steps)(KS_SHAPE_##shape, nx, ny, count, f, k0, k1, *gains, covs, work)
    if (WITH_QUADS && nx == 4 && ny <= 4) {
        /* Literals, as there. A compiler that hoists what the cases of a switch share would fuse other products. */
        switch (ny) {
        case 1: FOLLOW(QUAD, 4, 1); break;
        case 2: FOLLOW(QUAD, 4, 2); break;
        case 3: FOLLOW(QUAD, 4, 3); break;
        default: FOLLOW(QUAD, 4, 4); break;
        }
    } else if (WITH_ROWS && FEWEST_ROWS <= 6 && nx <= 6 && ny <= KS_ROWS_ENTRIES) {
        switch (nx) {
        case 2: FOLLOW(ROWS, 2, ny); break;
        case 3: FOLLOW(ROWS, 3, ny); break;
        case 5: FOLLOW(ROWS, 5, ny); break;
        default: FOLLOW(ROWS, 6, ny); break;
        }
    } else if (WITH_ROWS && nx <= 8 && ny <= KS_ROWS_ENTRIES) {
        if (nx == 7) FOLLOW(ROWS, 7, ny);
        else FOLLOW(ROWS, 8, ny);
    } else {
        FOLLOW(TILES, nx, ny);
    }
#undef FOLLOW
    ks_flush_end(mode);
}

static void smooth(int count, ks_follower *f, int64_t k0, int64_t k1, const ks_sink *gains,
                   const ks_sink *covs, void *work)
{
    const int nx = f->series->nx;
    const unsigned mode = ks_flush_begin();
#define FOLLOW(shape, nx)                                                                   \
    KS_T(ks_follow_smooth_steps)(KS_SHAPE_##shape, nx, count, f, k0, k1, *gains, covs, work)
    if (WITH_QUADS && nx == 4) FOLLOW(QUAD, 4);
    else if (WITH_ROWS && FEWEST_ROWS <= 2 && nx == 2) FOLLOW(ROWS, 2);
    else if (WITH_ROWS && FEWEST_ROWS <= 3 && nx == 3) FOLLOW(ROWS, 3);
    else if (WITH_ROWS && FEWEST_ROWS <= 6 && nx == 6) FOLLOW(ROWS, 6);
    else if (WITH_ROWS && nx <= 8) FOLLOW(ROWS, nx);
    else FOLLOW(TILES, nx);
#undef FOLLOW
    ks_flush_end(mode);
}

static int complete(const ks_series *s, int64_t k0, int64_t k1)
{
    const int64_t ny = s->ny;
    if (s->y.stride == ny * (int64_t)sizeof(KS_NUM))
        return KS_T(ks_all_finite)((k1 - k0) * ny, (const KS_NUM *)ks_row(s->y, k0));
    for (int64_t k = k0; k < k1; ++k)
        if (!KS_T(ks_all_finite)(ny, (const KS_NUM *)ks_row(s->y, k))) return 0;
    return 1;
}

const ks_follow_kernels KS_FOLLOW = { KS_PACK_LANES, filter, smooth, complete };

#include "num_end.h"
