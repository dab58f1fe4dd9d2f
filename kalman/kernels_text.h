/* kernels_text.h -- the ks_kernels table of one precision; see num_f64.h and kernels.h.
 *
 * The includer defines:
 *   KS_TABLE      the name of the table; without it only the functions are defined
 *   KS_TIER_NAME  the name of the tier
 *   KS_TILED      the table of hand-shaped kernels (tiled.h), if there are some
 *   KS_COMBINE    the table of scan/combine.h, if the tier has one
 *   KS_WIDE_TABLE, KS_WIDE_TILED  a second table and its hand-shaped kernels, of a wider tier */
#include "literal.h"

/* Numbers of states that are compiled as literals. Measured: each is 1.3 to 2 times as fast as run-time loops. Beyond 6
 * states there is no gain and the code is large. An includer for which speed does not matter defines this as
 * `CALL(nx);`. */
#ifndef KS_WITH_LITERAL
#define KS_WITH_LITERAL(nx, CALL) switch (nx) { KS_CASES(CALL, 1, 2, 3, 4, 6) default: CALL(nx); break; }
#endif

/* The same for what plans compute in double in every precision: elements of scans, and information. */
#ifndef KS_WITH_LITERAL_DOUBLE
#define KS_WITH_LITERAL_DOUBLE KS_WITH_LITERAL
#endif

/* The same for ranges of steps. If there are hand-shaped kernels, they take more than three states. */
#ifdef KS_TILED
#define KS_WITH_LITERAL_STEPS(nx, CALL) switch (nx) { KS_CASES(CALL, 1, 2) default: CALL(3); break; }
#else
#define KS_WITH_LITERAL_STEPS KS_WITH_LITERAL
#endif

/* MAKE(name, size) for each of these numbers, which a CALL of the same name then calls. */
#define KS_EACH_LITERAL(MAKE) MAKE(1, 1) MAKE(2, 2) MAKE(3, 3) MAKE(4, 4) MAKE(6, 6) MAKE(nx, s->nx)

#include "filter_anew_text.h"

KS_HD_COLD size_t KS_T(table_scratch_bytes)(int nx, int ny)
{
    const int64_t range = KS_T(ks_range_scratch)(nx, ny) + KS_T(ks_memo_scratch)(nx, ny);
    const int64_t element = KS_T(ks_element_scratch)(nx, ny) + KS_T(ks_two_filter_scratch)(nx);
    const int64_t observe = (int64_t)ny * nx + (int64_t)ny * ny + 2 * ny;
    const int64_t most = range > element ? range : element;
    const size_t plain = (size_t)(most + observe) * sizeof(KS_NUM), kept = KS_T(kept_bytes)(nx);
#ifdef KS_TILED
    const size_t tiled = ks_tiled_takes(&KS_TILED, nx, ny) ? KS_TILED.scratch_bytes(nx, ny) : 0;
    return kept + (plain > tiled ? plain : tiled);
#else
    return kept + plain;
#endif
}

KS_HD_COLD size_t KS_T(table_filter_element_bytes)(int nx)
{
    return (size_t)ks_filter_element_size(nx) * sizeof(KS_NUM);
}

KS_HD_COLD size_t KS_T(table_smooth_element_bytes)(int nx)
{
    return (size_t)ks_smooth_element_size(nx) * sizeof(KS_NUM);
}

KS_HD_COLD void KS_T(table_start)(const ks_series *s, ks_state *state, void *work)
{
    KS_T(ks_start)(s, state, work);
    state->steady.stage = KS_STEADY_UNKNOWN;
}

#ifdef KS_TILED
static int KS_T(smooth_tiled)(const ks_tiled_kernels *tiled, const ks_series *s, int64_t k0,
                              int64_t k1, ks_state *state, const ks_forward_sinks *kept,
                              const ks_backward_sinks *to, void *work, ks_tally *tally)
{
    for (int64_t k = k1; k > k0;) {
        if (k < s->steps && state->form == KS_FORM_ORDINARY) {
            k = tiled->smooth(s, k0, k, state, kept, to, work, tally);
            if (k < 0) return -1;
            if (k == k0) return 0;
        }
        state->steady.stage = KS_STEADY_UNKNOWN;
        k = KS_T(ks_smooth_until)(s->nx, s, k0, k, 0, state, kept, to, work, tally);
        if (k < 0) return -1;
    }
    return 0;
}
#endif

KS_HD_COLD int KS_T(table_filter)(const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                              const ks_forward_sinks *to, void *work, ks_tally *tally)
{
    return KS_T(filter_anew)(KS_T(filter_range), s, k0, k1, state, to, work, tally);
}

#define KS_SMOOTH_STEPS(name, states)                                                       \
    KS_HD_COLD int KS_T(smooth_steps_##name)(const ks_series *s, int64_t k0, int64_t k1, ks_state *state, \
                                             const ks_forward_sinks *kept, const ks_backward_sinks *to, \
                                             void *work, ks_tally *tally)                   \
    {                                                                                       \
        return KS_T(ks_smooth_steps)(states, s, k0, k1, state, kept, to, work, tally);      \
    }
KS_EACH_LITERAL(KS_SMOOTH_STEPS)
#undef KS_SMOOTH_STEPS

KS_HD_COLD int KS_T(table_smooth)(const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                              const ks_forward_sinks *kept, const ks_backward_sinks *to,
                              void *work, ks_tally *tally)
{
    const unsigned mode = ks_flush_begin();
    const int nx = s->nx;
    int rc = 0;
    (void)nx; /* unused without literals */
#ifdef KS_TILED
    if (ks_tiled_takes(&KS_TILED, s->nx, s->ny))
        rc = KS_T(smooth_tiled)(&KS_TILED, s, k0, k1, state, kept, to, work, tally);
    else
#endif
    {
#define CALL(nx) rc = KS_T(smooth_steps_##nx)(s, k0, k1, state, kept, to, work, tally)
        KS_WITH_LITERAL_STEPS(nx, CALL)
#undef CALL
    }
    ks_flush_end(mode);
    return rc;
}

KS_HD_COLD void KS_T(table_smooth_prior)(const ks_series *s, ks_state *state, ks_sink lag_one,
                                     ks_sink mean, ks_sink cov, void *work, ks_tally *tally)
{
    const unsigned mode = ks_flush_begin();
    KS_T(ks_smooth_prior)(s, state, lag_one, mean, cov, work, tally);
    ks_flush_end(mode);
}

KS_HD_COLD void KS_T(table_square)(int nx, ks_state *state, void *work)
{
    if (state->form == KS_FORM_ORDINARY) return;
    KS_T(ks_square)(nx, nx, nx, (KS_NUM *)state->C, (KS_NUM *)work);
    KS_T(ks_copy)(nx * nx, (KS_NUM *)work, (KS_NUM *)state->C);
    state->form = KS_FORM_ORDINARY;
}

KS_HD_COLD void KS_T(table_root)(int nx, ks_state *state, void *work)
{
    if (state->form == KS_FORM_ORDINARY) KS_T(ks_to_array)(nx, state, (KS_NUM *)work);
}

/** ET of the transition into step k, from the filtered covariance P, in `form`, before it. Ps: see ks_array_gain(). */
KS_HD_COLD void KS_T(gain_into)(const ks_series *s, int64_t k, const KS_NUM *P, ks_form form, const KS_NUM *Ps,
                                KS_NUM *ET, KS_NUM *W)
{
    const int nx = s->nx;
    const KS_NUM *F = (const KS_NUM *)ks_row(s->F, k - s->shift);
    const KS_NUM *Q = (const KS_NUM *)ks_row(s->Q, k - s->shift);
    KS_NUM *Pp = W, *scratch = W + 3 * nx * nx;
    if (form == KS_FORM_ORDINARY && KS_ALL(KS_T(ks_smoothing_gain)(nx, F, Q, P, ET, Pp, scratch))) return;
    KS_NUM *S = W, *L = W + nx * nx;
    if (form == KS_FORM_ORDINARY)
        (void)KS_T(ks_pivoted_factor)(nx, P, S, scratch);
    else
        KS_T(ks_copy)(nx * nx, P, S);
    KS_T(ks_array_gain)(nx, F, Q, S, Ps, ET, L, scratch);
}

KS_HD_COLD void KS_T(table_lag_one)(const ks_series *s, int64_t k0, int64_t k1, ks_sink filtered_cov,
                                ks_sink smoothed_cov, ks_sink to, void *work)
{
    const unsigned mode = ks_flush_begin();
    KS_NUM *ET = (KS_NUM *)work, *scratch = ET + s->nx * s->nx;
    for (int64_t k = k0; k < k1; ++k) {
        KS_T(gain_into)(s, k, (const KS_NUM *)ks_slot_of(filtered_cov, k - 1), KS_FORM_ORDINARY, NULL, ET, scratch);
        KS_T(ks_write_lag_one)(s->nx, (const KS_NUM *)ks_slot_of(smoothed_cov, k), ET, to, k);
    }
    ks_flush_end(mode);
}

/** The filtering element of step k >= 1, in whichever form has enough digits, with u in place of the model's. */
KS_HD int KS_T(element_of)(int nx, const ks_series *s, int64_t k, const KS_NUM *u, KS_NUM *e, void *memory,
                           ks_tally *tally)
{
    const KS_NUM *F = (const KS_NUM *)ks_row(s->F, k - s->shift);
    const KS_NUM *Q = (const KS_NUM *)ks_row(s->Q, k - s->shift);
    KS_NUM *compact = (KS_NUM *)memory, *W = compact + s->ny * nx + s->ny * s->ny + 2 * s->ny;
    int entry = 0;
    const KS_T(ks_observation) o = KS_T(ks_observe)(s, k, compact, &entry);
    if (o.m < 0) return KS_T(ks_step_fault)(k, entry, KS_ARRAY_Y, KS_FAULT_NOT_FINITE, tally);
    KS_MASK good;
#define CALL(m) good = KS_T(ks_filter_element)(nx, m, F, Q, u, o.H, o.R, o.d, o.y, e, W)
    KS_WITH_LITERAL_ENTRIES(nx, o.m, CALL)
#undef CALL
    if (!KS_ALL(good)) {
        const int bad =
            KS_T(ks_filter_element_array)(nx, o.m, F, Q, u, o.H, o.R, o.d, o.y, e, W);
        if (bad >= 0)
            return KS_T(ks_step_fault)(k, bad, KS_ARRAY_ELEMENT_COV, KS_FAULT_NOT_POSITIVE, tally);
    }
    tally->elements += 1;
    return 0;
}

KS_HD_COLD int KS_T(table_filter_elements)(const ks_series *s, int64_t k0, int64_t k1, ks_sink to,
                                       void *work, ks_tally *tally)
{
    const unsigned mode = ks_flush_begin();
    int rc = 0;
    for (int64_t k = k0; k < k1 && rc == 0; ++k)
        rc = KS_T(element_of)(s->nx, s, k, (const KS_NUM *)ks_row(s->u, k - s->shift),
                              (KS_NUM *)ks_slot_of(to, k), work, tally);
    ks_flush_end(mode);
    return rc;
}

KS_HD_COLD void KS_T(table_filter_element_first)(int nx, const void *x, const void *P,
                                                 void *element)
{
    KS_T(ks_filter_element_first)(nx, (const KS_NUM *)x, (const KS_NUM *)P, (KS_NUM *)element);
}

KS_HD_COLD void KS_T(table_filter_neutral)(int nx, void *element)
{
    KS_T(ks_filter_neutral)(nx, (KS_NUM *)element);
}

#include "combine_text.h"

KS_HD_COLD void KS_T(table_filter_extract)(int nx, int64_t k0, int64_t k1, ks_sink elements,
                                       ks_sink mean, ks_sink cov)
{
    for (int64_t k = k0; k < k1; ++k) {
        const KS_NUM *e = (const KS_NUM *)ks_slot_of(elements, k);
        KS_T(ks_copy)(nx, e + nx * nx, (KS_NUM *)ks_slot_of(mean, k));
        KS_T(ks_unpack)(nx, e + nx * nx + nx, (KS_NUM *)ks_slot_of(cov, k));
    }
}

/** Whether a prediction for which the ordinary form is not good enough looks sharp; it may be singular. It does if half
 *  of the digits of its covariance are gone, or if ks_rounds_much() with the gain E. W: 4 nx² + 2 nx. */
KS_HD_COLD int KS_T(prediction_suspect)(int nx, const KS_NUM *F, const KS_NUM *Q, const KS_NUM *u, const KS_NUM *x,
                                 const KS_NUM *P, const KS_NUM *E, KS_NUM *W)
{
    KS_NUM *Pp = W, *inverse_d = Pp + nx * nx, *xp = inverse_d + nx, *scratch = xp + nx;
    KS_T(ks_predict_cov)(nx, F, Q, P, Pp, scratch);
    KS_T(ks_copy)(nx, u, xp);
    KS_T(ks_mv_add)(nx, nx, F, x, xp);
    KS_T(ks_rounding_squares)(nx, E, P, xp, Pp, xp);
    if (!KS_ALL(KS_T(ks_ldl)(nx, KS_ROOT_EPS, Pp, inverse_d))) return 1;
    return KS_T(ks_rounds_much)(nx, xp, Pp, inverse_d, scratch);
}

KS_HD_COLD void KS_T(table_smooth_elements)(const ks_series *s, int64_t k0, int64_t k1, ks_sink mean,
                                        ks_sink cov, ks_sink to, void *work, ks_tally *tally)
{
    const unsigned mode = ks_flush_begin();
    for (int64_t k = k0; k < k1; ++k) {
        const KS_NUM *x = (const KS_NUM *)ks_slot_of(mean, k);
        const KS_NUM *P = (const KS_NUM *)ks_slot_of(cov, k);
        KS_NUM *e = (KS_NUM *)ks_slot_of(to, k), *W = (KS_NUM *)work;
        tally->elements += 1;
        if (k == s->steps - 1) {
            KS_T(ks_smooth_element_last)(s->nx, x, P, e);
            continue;
        }
        const KS_NUM *F = (const KS_NUM *)ks_row(s->F, k + 1 - s->shift);
        const KS_NUM *Q = (const KS_NUM *)ks_row(s->Q, k + 1 - s->shift);
        const KS_NUM *u = (const KS_NUM *)ks_row(s->u, k + 1 - s->shift);
        KS_MASK sharp;
        int suspect;
        if (KS_ALL(KS_T(ks_smooth_element)(s->nx, F, Q, u, x, P, e, &sharp, W))) {
            suspect = sharp;
        } else {
            KS_T(ks_smooth_element_array)(s->nx, F, Q, u, x, P, e, W);
            suspect = KS_T(prediction_suspect)(s->nx, F, Q, u, x, P, e, W);
        }
        if (suspect && k >= tally->sharp) tally->sharp = k + 1;
    }
    ks_flush_end(mode);
}

KS_HD_COLD void KS_T(table_smooth_neutral)(int nx, void *element)
{
    KS_T(ks_smooth_neutral)(nx, (KS_NUM *)element);
}

/* Mean and covariance are at the same place in elements of both kinds. */
KS_HD_COLD void KS_T(table_smooth_extract)(int nx, int64_t k0, int64_t k1, ks_sink elements,
                                       ks_sink mean, ks_sink cov)
{
    KS_T(table_filter_extract)(nx, k0, k1, elements, mean, cov);
}

KS_HD_COLD void KS_T(table_two_filter)(const ks_series *s, int64_t k0, int64_t k1,
                                   ks_sink filtered_mean, ks_sink filtered_cov, ks_sink suffix,
                                   ks_sink mean, ks_sink cov, void *work)
{
    const int nx = s->nx, eta_at = nx * nx + nx + nx * (nx + 1) / 2;
    const unsigned mode = ks_flush_begin();
    for (int64_t k = k0; k < k1; ++k) {
        const KS_NUM *xf = (const KS_NUM *)ks_slot_of(filtered_mean, k);
        const KS_NUM *Pf = (const KS_NUM *)ks_slot_of(filtered_cov, k);
        KS_NUM *x = (KS_NUM *)ks_slot_of(mean, k), *P = (KS_NUM *)ks_slot_of(cov, k);
        if (k == s->steps - 1) {
            KS_T(ks_copy)(nx, xf, x);
            KS_T(ks_copy)(nx * nx, Pf, P);
            continue;
        }
        const KS_NUM *later = (const KS_NUM *)ks_slot_of(suffix, k + 1) + eta_at;
        KS_T(ks_two_filter)(nx, xf, Pf, later, later + nx, x, P, (KS_NUM *)work);
    }
    ks_flush_end(mode);
}

#include "two_filter_range_text.h"

#define KS_TWO_FILTER_STEPS(name, states)                                                   \
    KS_HD_COLD int KS_T(two_filter_steps_##name)(const ks_series *s, int64_t k0, int64_t k1, const ks_state *before, \
                                                 KS_NUM *behind, ks_state *state, const ks_forward_sinks *kept, \
                                                 const ks_backward_sinks *to, void *work, ks_tally *tally) \
    {                                                                                       \
        return KS_T(ks_two_filter_steps)(states, s, k0, k1, before, behind, state, kept, to, work, tally); \
    }
KS_EACH_LITERAL(KS_TWO_FILTER_STEPS)
#undef KS_TWO_FILTER_STEPS

KS_HD_COLD int KS_T(table_two_filter_back)(const ks_series *s, int64_t k0, int64_t k1,
                                           const ks_state *before, void *behind, ks_state *state,
                                           const ks_forward_sinks *kept, const ks_backward_sinks *to, void *work,
                                           ks_tally *tally)
{
    const unsigned mode = ks_flush_begin();
    const int nx = s->nx;
    int rc = 0;
    (void)nx; /* unused without literals */
#define CALL(nx)                                                                            \
    rc = KS_T(two_filter_steps_##nx)(s, k0, k1, before, (KS_NUM *)behind, state, kept, to, work, tally)
    KS_WITH_LITERAL_DOUBLE(nx, CALL)
#undef CALL
    ks_flush_end(mode);
    return rc;
}

KS_HD_COLD void KS_T(table_information_about)(int nx, const void *x, void *behind)
{
    KS_T(ks_centre)(nx, (const KS_NUM *)x, (const KS_NUM *)behind + nx, (KS_NUM *)behind);
}

KS_HD_COLD void KS_T(table_diagonal)(int nx, int64_t k0, int64_t k1, ks_sink cov, ks_sink to)
{
    for (int64_t k = k0; k < k1; ++k)
        for (int i = 0; i < nx; ++i)
            ((KS_NUM *)ks_slot_of(to, k))[i] = ((const KS_NUM *)ks_slot_of(cov, k))[i * nx + i];
}

KS_HD_COLD int64_t KS_T(table_not_finite)(int nx, int64_t k0, int64_t k1, ks_sink mean,
                                          ks_sink cov)
{
    for (int64_t k = k0; k < k1; ++k)
        if (!KS_T(ks_finite)(nx, (const KS_NUM *)ks_slot_of(mean, k),
                             (const KS_NUM *)ks_slot_of(cov, k)))
            return k;
    return -1;
}

KS_HD_COLD void KS_T(table_widen)(int64_t numbers, const void *from, double *to)
{
    for (int64_t i = 0; i < numbers; ++i) to[i] = (double)((const KS_NUM *)from)[i];
}

KS_HD_COLD void KS_T(table_narrow)(int64_t numbers, const double *from, void *to)
{
    for (int64_t i = 0; i < numbers; ++i) ((KS_NUM *)to)[i] = (KS_NUM)from[i];
}

#ifdef KS_TABLE
#  include "absorb_text.h"
#  include "two_filter_array_text.h"

KS_HD_COLD int KS_T(table_two_filter_back_array)(const ks_series *s, int64_t k0, int64_t k1, const ks_state *before,
                                                 void *behind, ks_state *state, const ks_forward_sinks *kept,
                                                 const ks_backward_sinks *to, void *work, ks_tally *tally)
{
    const unsigned mode = ks_flush_begin();
    const int rc = KS_T(ks_two_filter_array)(s->nx, s, k0, k1, before, (KS_NUM *)behind, state, kept, to, work, tally);
    ks_flush_end(mode);
    return rc;
}

/* Absorb ranges into one element, by the filter and smoother steps of a table. */
#define KS_ABSORB(name, filter, smooth)                                                     \
    KS_HD_COLD int KS_T(name##_filter_absorb)(const ks_series *s, int64_t k0, int64_t k1, int fresh, \
                                              void *element, void *memory, ks_tally *tally) \
    {                                                                                       \
        return KS_T(ks_absorb_filter)(KS_T(filter), s, k0, k1, fresh, (KS_NUM *)element, memory, tally); \
    }                                                                                       \
    KS_HD_COLD int KS_T(name##_smooth_absorb)(const ks_series *s, int64_t k0, int64_t k1, int fresh, \
                                              const ks_forward_sinks *kept, void *element,  \
                                              void *memory, ks_tally *tally)                \
    {                                                                                       \
        return KS_T(ks_absorb_smooth)(KS_T(smooth), s, k0, k1, fresh, kept, (KS_NUM *)element, memory, \
                                   tally);                                                  \
    }

KS_ABSORB(table, table_filter, table_smooth)

/* All of a table except its name and what depends on the hand-shaped kernels. */
#define KS_TABLE_WITH(tier, scratch_bytes, filter, smooth, absorbs)                         \
    {                                                                                       \
        tier, sizeof(KS_NUM), KS_LARGEST, KS_T(scratch_bytes), KS_T(absorb_bytes),          \
        KS_T(table_combine_bytes), KS_T(table_filter_element_bytes), KS_T(table_smooth_element_bytes), \
        KS_T(table_start), KS_T(filter), KS_T(smooth), KS_T(table_smooth_prior),            \
        KS_T(table_square), KS_T(table_root), KS_T(table_lag_one),                          \
        KS_T(table_filter_elements), KS_T(absorbs##_filter_absorb), KS_T(table_filter_element_first), \
        KS_T(table_filter_neutral), KS_T(table_filter_combine),                             \
        KS_T(table_filter_extract), KS_T(table_smooth_elements), KS_T(absorbs##_smooth_absorb), \
        KS_T(table_smooth_neutral), KS_T(table_smooth_combine),                             \
        KS_T(table_smooth_extract), KS_T(table_two_filter), KS_T(table_two_filter_back),    \
        KS_T(table_two_filter_back_array),                                                  \
        KS_T(table_information_about), KS_T(table_diagonal),                                \
        KS_T(table_not_finite), KS_T(table_widen), KS_T(table_narrow),                      \
    }

const ks_kernels KS_TABLE =
    KS_TABLE_WITH(KS_TIER_NAME, table_scratch_bytes, table_filter, table_smooth, table);

#ifdef KS_WIDE_TABLE
KS_HD_COLD size_t KS_T(wide_scratch_bytes)(int nx, int ny)
{
    const size_t plain = KS_T(table_scratch_bytes)(nx, ny);
    const size_t wide = KS_T(kept_bytes)(nx) + KS_WIDE_TILED.scratch_bytes(nx, ny);
    return plain > wide ? plain : wide;
}

KS_HD_COLD int KS_T(wide_range)(const ks_series *s, int64_t k0, int64_t k1, ks_state *state, const ks_forward_sinks *to,
                            void *work, ks_tally *tally)
{
    return KS_T(filter_tiled)(&KS_WIDE_TILED, s, k0, k1, state, to, work, tally);
}

KS_HD_COLD int KS_T(wide_filter)(const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                                 const ks_forward_sinks *to, void *work, ks_tally *tally)
{
    return KS_T(filter_anew)(KS_T(wide_range), s, k0, k1, state, to, work, tally);
}

KS_HD_COLD int KS_T(wide_smooth)(const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                                 const ks_forward_sinks *kept, const ks_backward_sinks *to,
                                 void *work, ks_tally *tally)
{
    const unsigned mode = ks_flush_begin();
    const int rc = KS_T(smooth_tiled)(&KS_WIDE_TILED, s, k0, k1, state, kept, to, work, tally);
    ks_flush_end(mode);
    return rc;
}

KS_ABSORB(wide, wide_filter, wide_smooth)

const ks_kernels KS_WIDE_TABLE =
    KS_TABLE_WITH("avx512", wide_scratch_bytes, wide_filter, wide_smooth, wide);
#endif
#undef KS_TABLE_WITH
#endif

#undef KS_ABSORB
#undef KS_EACH_LITERAL
#undef KS_WITH_LITERAL
#undef KS_WITH_LITERAL_DOUBLE
#undef KS_WITH_LITERAL_STEPS
