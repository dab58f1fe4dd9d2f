/* two_filter_range_text.h -- ranges of steps of the two-filter smoother: the information filter backward, and its
 * combination with the filter's estimates; see information_text.h and num_f64.h. For scalar numbers; part of
 * kernels_text.h.
 *
 * No step needs an inverse of Q, R, P or F. The information of a step about the previous one is its filtering element,
 * which inverts H Q Hᵀ + R only. */

/** Make the smoothed estimate of step k in `state`, from the filtered x and C in `form`. W as for ks_meet(). */
KS_HD void KS_T(ks_meet_in_form)(int nx, int64_t k, const ks_series *s, const KS_NUM *x, const KS_NUM *C, ks_form form,
                                 const KS_NUM *behind, ks_state *state, KS_NUM *W)
{
    KS_NUM *xs = (KS_NUM *)state->x, *Ps = (KS_NUM *)state->C;
    state->form = KS_FORM_ORDINARY;
    if (k < s->steps - 1) {
        KS_T(ks_meet)(nx, x, C, form == KS_FORM_ARRAY, behind, behind + nx, xs, Ps, W);
        return;
    }
    /* No step comes after the last one. */
    KS_T(ks_copy)(nx, x, xs);
    if (form == KS_FORM_ARRAY)
        KS_T(ks_square)(nx, nx, nx, C, Ps);
    else
        KS_T(ks_copy)(nx * nx, C, Ps);
}

/** Take `behind` from step k to step k - 1. x and `before` are the filtered means of the two. e: an element; xp: nx
 *  numbers; memory as for element_of(). Return 0, or -1 with the fault of an element. */
KS_HD int KS_T(ks_pull_step)(int nx, const ks_series *s, int64_t k, const KS_NUM *before, const KS_NUM *x,
                             KS_NUM *behind, KS_NUM *e, KS_NUM *xp, void *memory, ks_tally *tally)
{
    KS_T(ks_copy)(nx, (const KS_NUM *)ks_row(s->u, k - s->shift), xp);
    KS_T(ks_mv_add)(nx, nx, (const KS_NUM *)ks_row(s->F, k - s->shift), before, xp);
    if (KS_T(element_of)(nx, s, k, xp, e, memory, tally)) return -1;
    KS_T(ks_pull)(nx, e, x, behind, behind + nx, (KS_NUM *)memory);
    return 0;
}

/** Put out step k, whose smoothed estimate is in `state`. If the step follows another one, also put out the lag-one
 *  covariance; `before` is the filtered estimate of that step, or NULL if `kept` has it. */
KS_HD void KS_T(ks_two_filter_put)(int nx, const ks_series *s, int64_t k, int follows, const ks_state *before,
                                   const ks_state *state, const ks_forward_sinks *kept, const ks_backward_sinks *to,
                                   KS_NUM *ET, KS_NUM *W)
{
    const KS_NUM *xs = (const KS_NUM *)state->x, *Ps = (const KS_NUM *)state->C;
    if (to->smoothed_mean.base) KS_T(ks_copy)(nx, xs, (KS_NUM *)ks_slot_of(to->smoothed_mean, k));
    KS_T(ks_write_cov)(nx, KS_FORM_ORDINARY, Ps, to->smoothed_cov, to->smoothed_var, k, W);
    if (!follows || !to->lag_one_cov.base) return;
    const KS_NUM *C = (const KS_NUM *)(before ? before->C : ks_slot_of(kept->kept_C, k - 1));
    const ks_form form = before ? before->form : (ks_form)kept->form[k - 1 - kept->form_first];
    KS_T(gain_into)(s, k, C, form, kept->narrowed ? Ps : NULL, ET, W);
    KS_T(ks_write_lag_one)(nx, Ps, ET, to->lag_one_cov, k);
}

/** See ks_kernels.two_filter_back. nx is a literal or a variable. */
KS_HD int KS_T(ks_two_filter_steps)(int nx, const ks_series *s, int64_t k0, int64_t k1,
                                    const ks_state *before, KS_NUM *behind, ks_state *state,
                                    const ks_forward_sinks *kept, const ks_backward_sinks *to, void *memory,
                                    ks_tally *tally)
{
    KS_NUM *x = (KS_NUM *)memory, *xp = x + nx, *ET = xp + nx, *e = ET + nx * nx;
    KS_NUM *work = e + ks_filter_element_size(nx), *xs = (KS_NUM *)state->x, *Ps = (KS_NUM *)state->C;
    for (int64_t k = k1 - 1; k >= k0; --k) {
        /* The smoothed estimate may overwrite this row. */
        KS_T(ks_copy)(nx, (const KS_NUM *)ks_slot_of(kept->kept_mean, k), x);
        KS_T(ks_meet_in_form)(nx, k, s, x, (const KS_NUM *)ks_slot_of(kept->kept_C, k),
                              (ks_form)kept->form[k - kept->form_first], behind, state, work);
        if (!KS_T(ks_finite)(nx, xs, Ps))
            return KS_T(ks_step_fault)(k, 0, KS_ARRAY_ESTIMATE, KS_FAULT_NOT_FINITE, tally);
        if (KS_T(ks_told_too_much)(nx, x, behind + nx, xs, Ps)) tally->sharp = k;
        KS_T(ks_two_filter_put)(nx, s, k, k > k0 || before, k > k0 ? NULL : before, state, kept, to, ET, work);
        if (k == k0 && !before) continue;
        const KS_NUM *xb = (const KS_NUM *)(k > k0 ? ks_slot_of(kept->kept_mean, k - 1) : before->x);
        if (KS_T(ks_pull_step)(nx, s, k, xb, x, behind, e, xp, work, tally)) return -1;
    }
    return 0;
}
