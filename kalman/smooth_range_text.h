/* smooth_range_text.h -- ranges of smoother steps, backward, with the estimate carried in and out; see num_f64.h. For
 * scalar numbers. */

#include "array_back_again_text.h"

/** Whether an array step back from the ordinary filtered covariance fC of step k would go wrong, too. Called after an
 *  ordinary step back has failed. It would if the prediction is sharp. It also would if fC is singular because of exact
 *  observations (`exact`): then fC has round-off in the place of what it knows best, and what comes from behind is more
 *  precise than that. */
KS_HD_COLD int KS_T(ks_spoils_step_back)(int nx, const ks_series *s, int64_t k, const KS_NUM *fC, int exact, KS_NUM *W)
{
    return KS_T(ks_sharp_ordinary)(nx, (const KS_NUM *)ks_row(s->F, k + 1 - s->shift),
                                   (const KS_NUM *)ks_row(s->Q, k + 1 - s->shift), fC,
                                   ks_sharp_times(s, k + 1, sizeof(KS_NUM)), W) ||
           (exact && !KS_T(ks_well_conditioned)(nx, fC, W));
}

/** From filtered `from` of step k and smoothed `state` of step k + 1 to smoothed `state` of step k. The arrays of
 *  `from` are scratch afterwards; ET is returned in w->ET. k = -1: `from` is the prior, and kept is NULL. Returns 0;
 *  or, if kept is watched, -1 with the estimates as they were, and tally->sharp set: the step needs another way back. */
KS_HD int KS_T(ks_step_back)(int nx, const ks_series *s, int64_t k, const ks_forward_sinks *kept, const KS_T(ks_scratch) *w,
                             KS_T(ks_memo) *memo, KS_T(ks_memo) *array_memo, ks_state *from, ks_state *state,
                             ks_tally *tally)
{
    const int nn = nx * nx;
    const KS_NUM *F = (const KS_NUM *)ks_row(s->F, k + 1 - s->shift);
    const KS_NUM *Q = (const KS_NUM *)ks_row(s->Q, k + 1 - s->shift);
    const KS_NUM *u = (const KS_NUM *)ks_row(s->u, k + 1 - s->shift);
    KS_NUM *x = (KS_NUM *)state->x, *C = (KS_NUM *)state->C;
    const KS_NUM *fx = (const KS_NUM *)from->x, *fC = (const KS_NUM *)from->C;
    const int memorable =
        memo->slots && from->form == KS_FORM_ORDINARY && state->form == KS_FORM_ORDINARY;
    KS_NUM *record = NULL, *array_record = NULL;
    if (array_memo->slots && KS_T(ks_drift_steps)(k) != KS_T(ks_drift_steps)(k + 1)) KS_T(ks_memo_forget)(array_memo);
    if (array_memo->slots && from->form == KS_FORM_ARRAY && state->form == KS_FORM_ARRAY) {
        const int at = KS_T(ks_memo_find)(array_memo, fC, C);
        if (at >= 0) {
            const KS_T(ks_array_back_slot) slot =
                KS_T(ks_array_back_slot_of)(nx, array_memo->base + (int64_t)at * array_memo->size);
            KS_T(ks_array_back_again)(nx, F, u, fx, &slot, state, w);
            tally->array += 1;
            return 0;
        }
        array_record = KS_T(ks_memo_miss)(array_memo, fC, C);
    } else {
        array_memo->last = -1;
    }
    if (memorable) {
        const int at = KS_T(ks_memo_find)(memo, fC, C);
        if (at >= 0) {
            const KS_NUM *slot = memo->base + (int64_t)at * memo->size;
            KS_T(ks_copy)(nn, slot + 2 * nn, w->ET);
            KS_T(ks_smooth_mean)(nx, F, u, fx, x, w->ET, w->xn, w->work);
            KS_T(ks_copy)(nx, w->xn, x);
            KS_T(ks_copy)(nn, slot + 3 * nn, C);
            tally->ordinary += 1;
            return 0;
        }
        record = KS_T(ks_memo_miss)(memo, fC, C);
    } else {
        memo->last = -1;
    }
    if (from->form == KS_FORM_ORDINARY && state->form == KS_FORM_ORDINARY &&
        KS_ALL(KS_T(ks_smooth_back)(nx, F, Q, u, fx, fC, x, C, w->xn, w->Pn, w->ET, w->work))) {
        if (record) {
            KS_T(ks_copy)(nn, w->ET, record + 2 * nn);
            KS_T(ks_copy)(nn, w->Pn, record + 3 * nn);
            KS_T(ks_memo_keep)(memo);
        }
        KS_T(ks_copy)(nx, w->xn, x);
        KS_T(ks_copy)(nx * nx, w->Pn, C);
        tally->ordinary += 1;
        return 0;
    }
    if (kept && kept->watched && from->form == KS_FORM_ORDINARY &&
        KS_T(ks_spoils_step_back)(nx, s, k, fC, kept->exact, w->work)) {
        tally->sharp = k + 1;
        return -1;
    }
    if (from->form == KS_FORM_ORDINARY) KS_T(ks_to_array)(nx, from, w->work);
    if (state->form == KS_FORM_ORDINARY) KS_T(ks_to_array)(nx, state, w->work);
    if (KS_T(ks_array_back)(nx, k, kept && kept->narrowed ? 0x1p-24 : KS_EPS, F, Q, u, fx, fC, x, C, w->xn, w->Pn,
                            w->ET, w->work) && kept && kept->watched) {
        tally->sharp = k + 1;
        tally->blurred = 1;
        return -1;
    }
    if (array_record) KS_T(ks_remember_array_back)(nx, array_memo, array_record, w);
    KS_T(ks_copy)(nx, w->xn, x);
    KS_T(ks_copy)(nx * nx, w->Pn, C);
    KS_T(ks_leave_array)(nx, 0, NULL, NULL, state, w->work);
    /* A step from the memo stays in the array form, so one that leaves it must not be recorded. */
    if (array_record && state->form == KS_FORM_ORDINARY) KS_T(ks_memo_forget)(array_memo);
    tally->array += 1;
    return 0;
}

/** Cov(x[k+1], x[k] | y) = Ps[k+1] Eᵀ, from the smoothed covariance Ps of step k + 1. */
KS_HD void KS_T(ks_write_lag_one)(int nx, const KS_NUM *Ps, const KS_NUM *ET, ks_sink to,
                                  int64_t k_next)
{
    KS_T(ks_mm)(nx, nx, nx, Ps, ET, (KS_NUM *)ks_slot_of(to, k_next));
}

/** Smoother steps from k1 - 1 down to k0 or, if the ordinary form is not `wanted`, to the first one that leaves `state`
 *  in it.
 *
 *  `state` is the smoothed estimate of step k1 on entry and of the last step taken on return. For k1 = T the range
 *  starts from the filtered estimate of T - 1. `kept` holds what the filter kept of steps k0 .. k1 - 1; smoothed
 *  results may overwrite it.
 *
 *  Returns the last step taken; or -2 with the fault in the tally; or, if kept is watched, -2 with tally->sharp set to
 *  the step that `state` belongs to. */
KS_HD int64_t KS_T(ks_smooth_until)(int nx, const ks_series *s, int64_t k0, int64_t k1, int wanted,
                                    ks_state *state, const ks_forward_sinks *kept,
                                const ks_backward_sinks *to, void *memory, ks_tally *tally)
{
    KS_T(ks_scratch) w = KS_T(ks_lay_out)(nx, s->ny, memory);
    KS_NUM *x = (KS_NUM *)state->x, *C = (KS_NUM *)state->C;
    /* The filtered estimate is read into the place of the prediction, which no backward step uses. Ps of the step
     * behind is kept in full for the lag-one covariance. */
    ks_state from;
    from.x = w.xp;
    from.C = w.Pp;
    KS_NUM *next = w.work, *work = w.work + nx * nx;
    KS_T(ks_scratch) inner = w;
    inner.work = work;
    /* Key: the filtered and the smoothed covariance that go in. Results: Eᵀ and the smoothed covariance. */
    KS_T(ks_memo) memo = KS_T(ks_memo_start)(nx, s->ny, KS_T(ks_memo_pays)(s, wanted ? k1 - k0 : 1),
                                             nx * nx, nx * nx, 2 * nx * nx, w.memo);
    KS_T(ks_memo) array_memo = KS_T(ks_array_back_memo)(nx, s, k1 - k0, &w);
    int64_t brought = -1;
    for (int64_t k = k1 - 1; k >= k0; --k) {
        if (!wanted) (void)KS_T(ks_bring_kept)(nx, k, kept, &brought);
        const KS_NUM *P = NULL;
        KS_T(ks_copy)(nx, (const KS_NUM *)ks_slot_of(kept->kept_mean, k), w.xp);
        KS_T(ks_copy)(nx * nx, (const KS_NUM *)ks_slot_of(kept->kept_C, k), w.Pp);
        from.form = (ks_form)kept->form[k - kept->form_first];
        if (k == s->steps - 1) {
            KS_T(ks_copy)(nx, w.xp, x);
            KS_T(ks_copy)(nx * nx, w.Pp, C);
            state->form = from.form;
        } else {
            if (to->lag_one_cov.base) {
                if (state->form == KS_FORM_ARRAY)
                    KS_T(ks_square)(nx, nx, nx, C, next);
                else
                    KS_T(ks_copy)(nx * nx, C, next);
            }
            if (KS_T(ks_step_back)(nx, s, k, kept, &inner, &memo, &array_memo, &from, state, tally)) return -2;
            if (to->lag_one_cov.base)
                KS_T(ks_write_lag_one)(nx, next, w.ET, to->lag_one_cov, k + 1);
            if (to->gain.base) KS_T(ks_copy)(nx * nx, w.ET, (KS_NUM *)ks_slot_of(to->gain, k));
        }
        if (!KS_T(ks_finite_in_form)(nx, state->form, x, C)) {
            (void)KS_T(ks_step_fault)(k, 0, KS_ARRAY_ESTIMATE, KS_FAULT_NOT_FINITE, tally);
            return -2;
        }
        if (to->smoothed_mean.base)
            KS_T(ks_copy)(nx, x, (KS_NUM *)ks_slot_of(to->smoothed_mean, k));
        if (array_memo.last >= 0)
            P = KS_T(ks_array_back_slot_of)(nx, array_memo.base + (int64_t)array_memo.last * array_memo.size).P;
        KS_T(ks_write_cov)(nx, P ? KS_FORM_ORDINARY : state->form, P ? P : C, to->smoothed_cov, to->smoothed_var, k, work);
        if (!wanted && state->form == KS_FORM_ORDINARY) return k;
    }
    return k0;
}

/** Smoother steps k1 - 1 .. k0. Returns 0, or -1 where ks_smooth_until() returns -2. */
KS_HD int KS_T(ks_smooth_steps)(int nx, const ks_series *s, int64_t k0, int64_t k1,
                                ks_state *state, const ks_forward_sinks *kept,
                                const ks_backward_sinks *to, void *memory, ks_tally *tally)
{
    return KS_T(ks_smooth_until)(nx, s, k0, k1, 1, state, kept, to, memory, tally) < -1 ? -1 : 0;
}

/** From the smoothed `state` of step 0 to the smoothed prior x[-1], which `state` is on return. Cov(x[0], x[-1] | y)
 *  goes to row 0 of lag_one if wanted. */
KS_HD_COLD void KS_T(ks_smooth_prior)(const ks_series *s, ks_state *state, ks_sink lag_one,
                                      ks_sink mean, ks_sink cov, void *memory, ks_tally *tally)
{
    const int nx = s->nx;
    KS_T(ks_scratch) w = KS_T(ks_lay_out)(nx, s->ny, memory);
    ks_state prior;
    prior.x = w.xp;
    prior.C = w.Pp;
    KS_T(ks_start)(s, &prior, w.work);
    KS_NUM *next = w.work;
    w.work += nx * nx;
    if (state->form == KS_FORM_ARRAY)
        KS_T(ks_square)(nx, nx, nx, (KS_NUM *)state->C, next);
    else
        KS_T(ks_copy)(nx * nx, (KS_NUM *)state->C, next);
    KS_T(ks_memo) nothing = KS_T(ks_memo_start)(nx, s->ny, 0, 0, 0, 0, w.memo);
    KS_T(ks_memo) neither = nothing;
    (void)KS_T(ks_step_back)(nx, s, -1, NULL, &w, &nothing, &neither, &prior, state, tally);
    if (lag_one.base) KS_T(ks_write_lag_one)(nx, next, w.ET, lag_one, 0);
    if (mean.base) KS_T(ks_copy)(nx, (KS_NUM *)state->x, (KS_NUM *)mean.base);
    const ks_sink none = { NULL, 0, 0 };
    KS_T(ks_write_cov)(nx, state->form, (KS_NUM *)state->C, cov, none, 0, w.work);
}
