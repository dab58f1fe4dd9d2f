/* two_ended_tier.c -- the two-ended smoother's table of one precision and instruction-set tier;
 * compiled as kernels_tier.c is, with KS_ENDS the name of the table. */
#include <math.h>
#include <stdint.h>
#include "hd.h"
#include "two_ended.h"
#include KS_NUMBER
#include "gemm_text.h"
#include "smallmat_text.h"
#include "array_text.h"
#include "step_text.h"
#include "array_step_text.h"
#include "memo_text.h"
#include "range_text.h"
#include "filter_range_text.h" /* KS_WITH_LITERAL_ENTRIES */
#include "two_ended_text.h"
#include "two_ended_array_text.h"
#include "two_ended_quad_text.h"
#include "two_ended_range_text.h"

/* Numbers of states that are compiled as literals. */
#ifndef KS_WITH_LITERAL
#define KS_WITH_LITERAL(nx, CALL)                                                           \
    switch (nx) {                                                                           \
    case 1: CALL(1); break;                                                                 \
    case 2: CALL(2); break;                                                                 \
    case 3: CALL(3); break;                                                                 \
    case 4: CALL(4); break;                                                                 \
    case 6: CALL(6); break;                                                                 \
    default: CALL(nx); break;                                                               \
    }
#endif

static size_t ends_scratch_bytes(int nx, int ny)
{
    KS_T(ks_ends_scratch) unused;
    return (size_t)KS_T(ks_ends_lay_out)(nx, ny, NULL, &unused) * sizeof(KS_NUM);
}

static int ends_inform(const ks_series *s, int64_t k0, int64_t k1, ks_information *information,
                       const ks_right_rows *to, void *work, ks_tally *tally)
{
    const unsigned mode = ks_flush_begin();
    int rc = 0;
#define CALL(nx) rc = KS_T(ks_inform_steps)(nx, s, k0, k1, information, to, work, tally)
    KS_WITH_LITERAL(s->nx, CALL)
#undef CALL
    ks_flush_end(mode);
    return rc;
}

static void ends_meet(int nx, int64_t k, ks_state *state, ks_information *information,
                      const ks_backward_sinks *to, void *work, ks_evidence *evidence)
{
    const unsigned mode = ks_flush_begin();
    KS_T(ks_meet_states)(nx, k, state, information, to, work, evidence);
    ks_flush_end(mode);
}

static int ends_outward(const ks_series *s, int64_t k0, int64_t k1, ks_form form, ks_state *state,
                        const ks_right_rows *from, const ks_backward_sinks *to, void *work,
                        ks_tally *tally)
{
    const unsigned mode = ks_flush_begin();
    int rc = 0;
#define CALL(nx) rc = KS_T(ks_outward_steps)(nx, s, k0, k1, form, state, from, to, work, tally)
    KS_WITH_LITERAL(s->nx, CALL)
#undef CALL
    ks_flush_end(mode);
    return rc;
}

static void ends_first_refused(const ks_series *s, int64_t k0, int64_t k1, void *work,
                               ks_tally *tally)
{
    KS_T(ks_first_refused)(s, k0, k1, work, tally);
}

const ks_two_ended_kernels KS_ENDS = { ends_scratch_bytes, ends_inform, ends_meet, ends_outward,
                                       ends_first_refused };
