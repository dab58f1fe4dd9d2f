/* combine_tier.c -- see combine.h. Compiled once for each instruction-set tier that has packs, with the tier's flags
 * and
 *   KS_NUMBER     the header of the pack, "num_f64x4.h"
 *   KS_TABLE      the name of the table, ks_combine_avx2 */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "hd.h"
#include "literal.h"
#include "combine.h"
#include "kernels.h"
#include KS_NUMBER
#include "packmat_text.h"
#include "step_text.h"
#include "element_ordinary_text.h"
#include "lanes_text.h"

/* State counts compiled as literals. All others share one copy with loops. */
#ifndef KS_WITH_LITERAL
#define KS_WITH_LITERAL(nx, CALL) switch (nx) { KS_CASES(CALL, 2, 4, 6) default: CALL(nx); break; }
#endif

enum { LEAST_STATES = 2, MOST_STATES = 20 };

/** Operands of KS_LANES lanes. Lanes beyond the job's last one repeat it. */
typedef struct operands {
    const char *lhs[KS_LANES], *rhs[KS_LANES];
    char *dst[KS_LANES];
    unsigned there; /* bit i: lane i is one of the job */
} operands;

static operands operands_of(const ks_combine_job *job, int64_t first, int64_t c)
{
    operands o = { .there = 0 };
    for (int i = 0; i < KS_LANES; ++i) {
        const int64_t l = first + i < job->lanes ? first + i : job->lanes - 1;
        o.lhs[i] = job->lhs + l * job->lhs_lane + c * job->lhs_chain;
        o.rhs[i] = job->rhs + l * job->rhs_lane + c * job->rhs_chain;
        o.dst[i] = job->dst + l * job->dst_lane + c * job->dst_chain;
        if (first + i < job->lanes) o.there |= 1u << i;
    }
    return o;
}

/** Combine the lanes in the bit set `lanes` one by one. */
static void take_alone(int nx, const operands *o, unsigned lanes, ks_combine alone, void *work)
{
    for (int i = 0; i < KS_LANES; ++i) {
        const ks_combine_job one = { .lanes = 1, .chain = 1, .dst = o->dst[i], .lhs = o->lhs[i], .rhs = o->rhs[i] };
        if (lanes >> i & 1) alone(nx, &one, work);
    }
}

/** Return the packs of numbers that one combine takes: both operands and scratch. */
static int64_t pack_numbers(int nx)
{
    return 2 * ks_filter_element_size(nx) + 7 * (int64_t)nx * nx + 3 * nx;
}

KS_HD void KS_T(filter_lanes)(int nx, const ks_combine_job *job, ks_combine alone, void *work)
{
    const int nn = nx * nx, half = nx * (nx + 1) / 2, size = (int)ks_filter_element_size(nx);
    KS_NUM *lhs = (KS_NUM *)work, *rhs = lhs + size, *Y = rhs + size, *X = Y + nn, *J = X + nn;
    KS_NUM *shift = J + nn, *eta = shift + nx, *scratch = eta + nx;
    const KS_NUM *eta_j = rhs + nn + nx + half;
    for (int64_t l = 0; l < job->lanes; l += KS_LANES)
        for (int64_t c = 0; c < job->chain; ++c) {
            const operands o = operands_of(job, l, c);
            KS_T(ks_gather)(size, o.lhs, lhs);
            KS_T(ks_gather)(size, o.rhs, rhs);
            const unsigned good =
                KS_BITS(KS_T(ks_join_ordinary)(nx, lhs, eta_j, eta_j + nx, Y, X, shift, eta, J, scratch)) & o.there;
            KS_T(ks_joined)(nx, lhs, lhs, rhs, Y, X, shift, eta, J, scratch);
            KS_T(ks_scatter)(size, lhs, good, o.dst);
            if (good != o.there) take_alone(nx, &o, o.there & ~good, alone, work);
        }
}

KS_HD void KS_T(smooth_lanes)(int nx, const ks_combine_job *job, void *work)
{
    const int size = (int)ks_smooth_element_size(nx);
    KS_NUM *lhs = (KS_NUM *)work, *rhs = lhs + size, *scratch = rhs + size;
    for (int64_t l = 0; l < job->lanes; l += KS_LANES)
        for (int64_t c = 0; c < job->chain; ++c) {
            const operands o = operands_of(job, l, c);
            KS_T(ks_gather)(size, o.lhs, lhs);
            KS_T(ks_gather)(size, o.rhs, rhs);
            KS_T(ks_smooth_combine)(nx, lhs, lhs, rhs, scratch);
            KS_T(ks_scatter)(size, lhs, o.there, o.dst);
        }
}

static size_t scratch_bytes(int nx) { return (size_t)pack_numbers(nx) * sizeof(KS_NUM); }

static void filter(int nx, const ks_combine_job *job, ks_combine alone, void *work)
{
    const unsigned mode = ks_flush_begin();
#define CALL(nx) KS_T(filter_lanes)(nx, job, alone, work)
    KS_WITH_LITERAL(nx, CALL)
#undef CALL
    ks_flush_end(mode);
}

static void smooth(int nx, const ks_combine_job *job, void *work)
{
    const unsigned mode = ks_flush_begin();
#define CALL(nx) KS_T(smooth_lanes)(nx, job, work)
    KS_WITH_LITERAL(nx, CALL)
#undef CALL
    ks_flush_end(mode);
}

const ks_combine_kernels KS_TABLE = { LEAST_STATES, MOST_STATES, scratch_bytes, filter, smooth };
#include "num_pack_end.h"
