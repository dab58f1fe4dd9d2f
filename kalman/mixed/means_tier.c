/* means_tier.c -- means in double from gains in single precision, for one instruction-set tier. Compiled once for each,
 * with the tier's flags and KS_TABLE, the name of the table. */
#include <math.h>
#include <stdint.h>
#include "hd.h"
#include "literal.h"
#include "literal_entries.h"
#include "means.h"

/* State counts compiled as literals, together with one to three entries. */
#ifndef KS_WITH_LITERAL
#define KS_WITH_LITERAL(nx, CALL) switch (nx) { KS_CASES(CALL, 2, 4, 6, 12) default: CALL(nx); break; }
#endif
#include "num_f64.h"
#undef KS_GAIN
#define KS_GAIN float
#include "gemm_text.h"
#include "smallmat_text.h"
#include "gain_text.h"
#include "mean_step_text.h"
#include "mean_one_text.h"
#include "mean_text.h"

KS_HD_COLD void filter_one(ks_mean_lane *lane, int64_t k0, int64_t k1, void *work)
{
    KS_T(ks_mean_lanes) lanes = { lane };
    const int ny = lane->series->ny;
#define CALL(nx) KS_T(ks_mean_filter_steps)(nx, ny, &lanes, k0, k1, (KS_NUM *)work)
    KS_WITH_LITERAL(lane->series->nx, CALL)
#undef CALL
}

KS_HD_COLD void smooth_one(ks_mean_lane *lane, int64_t k0, int64_t k1, void *work)
{
    KS_T(ks_mean_lanes) lanes = { lane };
#define CALL(nx) KS_T(ks_mean_smooth_steps)(nx, &lanes, k0, k1, (KS_NUM *)work)
    KS_WITH_LITERAL(lane->series->nx, CALL)
#undef CALL
}
#include "num_end.h"

#if KS_VECTOR_BYTES >= 32
#include "num_f64x4.h"
#define KS_GAIN float
#include "gain_text.h"
#include "mean_step_text.h"
#include "mean_pack_text.h"
#include "mean_text.h"

KS_HD_COLD void filter_pack(int count, ks_mean_lane *lane, int64_t k0, int64_t k1, void *work)
{
    KS_T(ks_mean_lanes) lanes;
    const int ny = lane->series->ny;
    KS_T(ks_mean_enter)(lane, count, &lanes);
#define CALL(nx) KS_T(ks_mean_filter_steps)(nx, ny, &lanes, k0, k1, (KS_NUM *)work)
    KS_WITH_LITERAL(lane->series->nx, CALL)
#undef CALL
    KS_T(ks_mean_exit)(&lanes);
}

KS_HD_COLD void smooth_pack(int count, ks_mean_lane *lane, int64_t k0, int64_t k1, void *work)
{
    KS_T(ks_mean_lanes) lanes;
    KS_T(ks_mean_enter)(lane, count, &lanes);
#define CALL(nx) KS_T(ks_mean_smooth_steps)(nx, &lanes, k0, k1, (KS_NUM *)work)
    KS_WITH_LITERAL(lane->series->nx, CALL)
#undef CALL
}
enum { PACK = KS_LANES };
#include "num_pack_end.h"
#else
/* Without vector registers series run one by one. */
enum { PACK = 1 };

static void filter_pack(int count, ks_mean_lane *lane, int64_t k0, int64_t k1, void *work)
{
    (void)count;
    filter_one(lane, k0, k1, work);
}

static void smooth_pack(int count, ks_mean_lane *lane, int64_t k0, int64_t k1, void *work)
{
    (void)count;
    smooth_one(lane, k0, k1, work);
}
#endif

static void filter(int count, ks_mean_lane *lanes, int64_t k0, int64_t k1, void *work)
{
    const unsigned mode = ks_flush_begin();
    for (int i = 0; i < count; ++i)
        if (lanes[i].end > k0) filter_one(&lanes[i], k0, lanes[i].end < k1 ? lanes[i].end : k1, work);
    ks_flush_end(mode);
}

static void smooth(int count, ks_mean_lane *lanes, int64_t k0, int64_t k1, void *work)
{
    const unsigned mode = ks_flush_begin();
    for (int i = 0; i < count; ++i)
        if (lanes[i].end < k1) smooth_one(&lanes[i], lanes[i].end > k0 ? lanes[i].end : k0, k1, work);
    ks_flush_end(mode);
}

static void follow_filter(int count, ks_mean_lane *lanes, int64_t k0, int64_t k1, void *work)
{
    const unsigned mode = ks_flush_begin();
    for (int i = 0; i < count; i += PACK)
        filter_pack(count - i < PACK ? count - i : PACK, &lanes[i], k0, k1, work);
    ks_flush_end(mode);
}

static void follow_smooth(int count, ks_mean_lane *lanes, int64_t k0, int64_t k1, void *work)
{
    const unsigned mode = ks_flush_begin();
    for (int i = 0; i < count; i += PACK)
        smooth_pack(count - i < PACK ? count - i : PACK, &lanes[i], k0, k1, work);
    ks_flush_end(mode);
}

const ks_means KS_TABLE = { filter, smooth, follow_filter, follow_smooth };
