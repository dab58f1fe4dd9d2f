/* filter_range_text.h -- ranges of filter steps, with the estimate carried in and out; see num_f64.h. Streaming,
 * chunks, checkpoints and batches are made of them. For scalar numbers. */

#include "array_again_text.h"
#include "array_steady_text.h"

/** Innovation outputs of step k: the residual of every entry present, its covariance, and the residual whitened by a
 *  Cholesky factor; NaN at missing entries. The covariance is made from its square root Se or, if Se is NULL, from the
 *  prediction Pp. */
KS_HD_SAME void KS_T(ks_write_innovation)(const ks_series *s, int64_t k, const KS_NUM *xp,
                                          const KS_NUM *Pp, const KS_T(ks_observation) *o,
                                          const KS_NUM *whitened, const KS_NUM *Se,
                                          const ks_forward_sinks *to, KS_NUM *W)
{
    const int nx = s->nx, ny = s->ny, m = o->m;
    const KS_NUM nan = KS_LIT(NAN);
    const KS_NUM *all = (const KS_NUM *)ks_row(s->y, k);
    KS_NUM *S = W, *HT = S + ny * ny, *G = HT + ny * nx;
    KS_NUM *residual = to->innovation.base ? (KS_NUM *)ks_slot_of(to->innovation, k) : NULL;
    KS_NUM *white = to->innovation_std.base ? (KS_NUM *)ks_slot_of(to->innovation_std, k) : NULL;
    KS_NUM *cov = to->innovation_cov.base ? (KS_NUM *)ks_slot_of(to->innovation_cov, k) : NULL;
    if (cov && Se) {
        KS_T(ks_square)(m, m, m, Se, S);
    } else if (cov && m > 0) {
        KS_T(ks_transpose)(m, nx, o->H, HT);
        KS_T(ks_mm)(m, nx, nx, o->H, Pp, G);
        KS_T(ks_copy)(m * m, o->R, S);
        KS_T(ks_mm_add)(m, nx, m, G, HT, S);
        KS_T(ks_mirror)(m, S);
    }
    for (int i = 0, a = 0; i < ny; ++i) {
        const int here = all[i] == all[i];
        KS_NUM r = nan;
        if (here) {
            r = o->y[a] - o->d[a];
            for (int c = 0; c < nx; ++c) r = r - o->H[a * nx + c] * xp[c];
        }
        if (residual) residual[i] = r;
        if (white) white[i] = here ? whitened[a] : nan;
        if (cov)
            for (int j = 0, b = 0; j < ny; ++j) {
                const int there = all[j] == all[j];
                cov[i * ny + j] = here && there ? S[a * m + b] : nan;
                b += there;
            }
        a += here;
    }
}

/** Write the gain of step k, with m entries present, to `to`; see ks_gain_numbers(). Rows of Z are ldz apart, entry
 *  (i, j) of L is at i * row + j * column, numbers of D are `apart` from one another. */
KS_HD_COLD void KS_T(ks_write_gain)(const ks_series *s, int64_t k, int m, const KS_NUM *Z, int ldz,
                                    const KS_NUM *L, int row, int column, const KS_NUM *D,
                                    int apart, const KS_NUM *inverse_d, ks_sink to)
{
    const int nx = s->nx, ny = s->ny;
    const KS_NUM *y = (const KS_NUM *)ks_row(s->y, k);
    KS_NUM *gain = (KS_NUM *)ks_slot_of(to, k), *lower = gain + ny * nx, *inverse = lower + ny * ny;
    if (m == ny) {
        for (int i = 0; i < m; ++i) {
            KS_T(ks_copy)(nx, Z + i * ldz, gain + i * nx);
            for (int j = 0; j < i; ++j) lower[i * m + j] = L[i * row + j * column];
            lower[i * m + i] = D[i * apart];
            inverse[i] = inverse_d[i];
        }
        return;
    }
    for (int i = 0, a = 0; i < ny; ++i) {
        const int here = y[i] == y[i];
        for (int c = 0; c < nx; ++c) gain[i * nx + c] = here ? Z[a * ldz + c] : KS_LIT(0);
        for (int j = 0, b = 0; j < i; ++j) {
            const int there = y[j] == y[j];
            lower[i * ny + j] = here && there ? L[a * row + b * column] : KS_LIT(0);
            b += there;
        }
        lower[i * ny + i] = here ? D[a * apart] : KS_LIT(1);
        inverse[i] = here ? inverse_d[a] : KS_LIT(0);
        a += here;
    }
}

/** The same of a step in the array form. gain (nx, m) multiplies the innovation whitened by Se, the root of its
 *  covariance. */
KS_HD_COLD void KS_T(ks_write_array_gain)(const ks_series *s, int64_t k, int m, const KS_NUM *gain,
                                          const KS_NUM *Se, ks_sink to, KS_NUM *W)
{
    const int nx = s->nx;
    KS_NUM *Z = W, *L = Z + m * nx, *inverse_d = L + m * m;
    for (int a = 0; a < m; ++a) {
        const KS_NUM inverse = KS_LIT(1) / Se[a * m + a];
        for (int c = 0; c < nx; ++c) Z[a * nx + c] = gain[c * m + a] * inverse;
        for (int i = a + 1; i < m; ++i) L[i * m + a] = Se[i * m + a] * inverse;
        L[a * m + a] = Se[a * m + a] * Se[a * m + a];
        inverse_d[a] = inverse * inverse;
    }
    KS_T(ks_write_gain)(s, k, m, Z, nx, L, m, 1, L, m + 1, inverse_d, to);
}

/** Turn the state before step k into the array form, and note whether it has lost digits. */
KS_HD_COLD void KS_T(ks_leave_ordinary)(int nx, int64_t k, ks_state *state, ks_digits *digits, KS_NUM *W)
{
    KS_T(ks_tell_lost)(nx, k, (const KS_NUM *)state->C, digits, W);
    digits->singular = 0;
    KS_T(ks_to_array)(nx, state, W);
}

/** Predict step k to w->xp and w->Pp, and whiten its innovation if the step is an ordinary one. On return state->form
 *  is the form that the step needs. */
KS_HD void KS_T(ks_predict_in_form)(int nx, const ks_series *s, int64_t k,
                                    const KS_T(ks_observation) *o, ks_state *state,
                                    const KS_T(ks_scratch) *w, ks_digits *digits)
{
    KS_NUM *const kept = KS_T(ks_memo_slots)(nx) && !s->Q.stride ? w->Q_root : NULL;
    if (state->form == KS_FORM_ORDINARY && (digits->watched || KS_IS_LOOKED_AT(k)) &&
        !KS_T(ks_well_conditioned)(nx, (const KS_NUM *)state->C, w->work))
        KS_T(ks_leave_ordinary)(nx, k, state, digits, w->work);
    KS_T(ks_step_predict)(nx, s, k, state, w->xp, w->Pp, kept, w->work);
    if (digits->watched && state->form == KS_FORM_ORDINARY && !KS_T(ks_well_conditioned)(nx, w->Pp, w->work)) {
        KS_T(ks_leave_ordinary)(nx, k, state, digits, w->work);
        KS_T(ks_step_predict)(nx, s, k, state, w->xp, w->Pp, kept, w->work);
    }
    if (state->form == KS_FORM_ARRAY || o->m == 0) return;
    int ordinary = 0;
    const KS_NUM times =
        s->R.stride || o->m < s->ny ? KS_T(ks_noise_times)(o->m, o->R, o->m, w->work) : w->times[0];
#define CALL(m)                                                                             \
    ordinary = KS_ALL(KS_T(ks_innovation)(nx, m, o->H, o->R, times, o->d, o->y, w->xp, w->Pp, w->G, w->S, \
                                          w->inverse_d, w->v, w->work))
    KS_WITH_LITERAL_ENTRIES(nx, o->m, CALL)
#undef CALL
    if (ordinary) return;
    KS_T(ks_leave_ordinary)(nx, k, state, digits, w->work);
    KS_T(ks_step_predict)(nx, s, k, state, w->xp, w->Pp, kept, w->work);
}

/** Update in the ordinary form; the posterior goes to `state`. */
KS_HD void KS_T(ks_update_ordinary)(int nx, const KS_T(ks_observation) *o, ks_state *state,
                                    const KS_T(ks_scratch) *w)
{
#define CALL(m)                                                                             \
    KS_T(ks_posterior)(nx, m, w->G, w->inverse_d, w->v, w->xp, w->Pp, (KS_NUM *)state->x,   \
                       (KS_NUM *)state->C, w->Z)
    KS_WITH_LITERAL_ENTRIES(nx, o->m, CALL)
#undef CALL
}

/** Add the innovation of an ordinary step to the evidence, and write it and the gain Z if asked for. It is whitened in
 *  w->v, with the factors S and inverse_d. */
KS_HD void KS_T(ks_innovate_ordinary)(const ks_series *s, int64_t k,
                                      const KS_T(ks_observation) *o, const KS_T(ks_scratch) *w,
                                      const KS_NUM *Z, const KS_NUM *S, const KS_NUM *inverse_d,
                                      const KS_NUM *Pp, ks_evidence *evidence, ks_evidence *term,
                                      const ks_forward_sinks *to, int want_innovation)
{
    for (int i = 0; i < o->m; ++i)
        ks_gather_both(evidence, term, (double)S[i * o->m + i],
                       (double)(w->v[i] * w->v[i] * inverse_d[i]));
    if (to->gain.base)
        KS_T(ks_write_gain)(s, k, o->m, Z, s->nx, S, o->m, 1, S, o->m + 1, inverse_d, to->gain);
    if (!want_innovation) return;
    for (int i = 0; i < o->m; ++i) w->v[i] = w->v[i] * KS_SQRT(inverse_d[i]);
    KS_T(ks_write_innovation)(s, k, w->xp, Pp, o, w->v, NULL, to, w->work);
}

/** Add the innovation of a step in the array form to the evidence, and write it if asked for. It is whitened in w->v,
 *  and Se is the root of its covariance. */
KS_HD void KS_T(ks_innovate_array)(const ks_series *s, int64_t k, const KS_T(ks_observation) *o,
                                   const KS_T(ks_scratch) *w, const KS_NUM *Se, ks_evidence *evidence,
                                   ks_evidence *term, const ks_forward_sinks *to, int want_innovation)
{
    for (int i = 0; i < o->m; ++i) {
        const double pivot = (double)Se[i * o->m + i];
        ks_gather_both(evidence, term, pivot * pivot, (double)(w->v[i] * w->v[i]));
    }
    if (want_innovation) KS_T(ks_write_innovation)(s, k, w->xp, NULL, o, w->v, Se, to, w->work);
}

/** Whether the root that step k leaves may be held: the model is constant and the step observes all m entries. */
KS_HD int KS_T(ks_may_be_held)(int nx, const ks_series *s, int64_t k, int m)
{
    return KS_T(ks_memo_slots)(nx) > 0 && s->steady_state == KS_STEADY_STATE_HOLD &&
           KS_T(ks_memo_pays)(s, INT64_MAX) && m == s->ny && !(k == 0 && s->prior_x1);
}

/** Update in the array form. Returns -1; or the entry at which the innovation covariance is singular; or -2 if the
 *  prediction is not finite. */
KS_HD int KS_T(ks_update_array)(int nx, const ks_series *s, int64_t k,
                                const KS_T(ks_observation) *o, ks_state *state,
                                const KS_T(ks_scratch) *w, ks_tally *tally, ks_evidence *term,
                                const ks_forward_sinks *to, int want_innovation)
{
    const int constant = KS_T(ks_memo_slots)(nx) > 0 && KS_T(ks_memo_pays)(s, INT64_MAX) && o->m == s->ny;
    const int bad = KS_T(ks_array_update)(nx, o->m, o->H, o->R, o->d, o->y, w->xp, w->Pp,
                                          (KS_NUM *)state->x, (KS_NUM *)state->C, w->S, w->v,
                                          to->gain.base || constant ? w->G : NULL, NULL, w->work);
    if (bad >= 0) return KS_T(ks_finite_in_form)(nx, KS_FORM_ARRAY, w->xp, w->Pp) ? bad : -2;
    if (to->gain.base) KS_T(ks_write_array_gain)(s, k, o->m, w->G, w->S, to->gain, w->work);
    KS_T(ks_innovate_array)(s, k, o, w, w->S, &tally->evidence, term, to, want_innovation);
    const int may = KS_T(ks_may_be_held)(nx, s, k, o->m);
    if (may && KS_T(ks_is_known)(nx, s, k, w->G, w->S, w->Pp, (const KS_NUM *)state->C, w->Q_root, w->reach, w->work))
        KS_T(ks_zero)(nx * nx, (KS_NUM *)state->C);
    else if (may)
        KS_T(ks_hold_root)(nx, s, k, w->held, w->G, w->S, w->Pp, (KS_NUM *)state->C, &state->steady, w->work);
    /* Where observations are exact, a step without any does not leave the array form. */
    if (!to->rooted && (o->m > 0 || !KS_T(ks_observes_exactly)(s->ny, (const KS_NUM *)ks_row(s->R, k))))
        KS_T(ks_leave_array)(nx, o->m, o->R, w->S, state, w->work);
    if (state->form == KS_FORM_ARRAY && o->m > 0 && ks_takes_exact(to))
        tally->digits.singular = KS_T(ks_leave_array_exact)(nx, s, k, w->Pp, state, w->work);
    if (state->form == KS_FORM_ORDINARY) state->steady.stage = KS_STEADY_UNKNOWN;
    tally->left += state->form == KS_FORM_ORDINARY;
    return -1;
}

/** Memo of filter steps: key C, results Z | L D | 1 / D | Pp | P. */
KS_HD KS_T(ks_memo) KS_T(ks_forward_memo)(int nx, const ks_series *s, int64_t steps,
                                          const KS_T(ks_scratch) *w)
{
    const int nn = nx * nx, m = s->ny, pays = KS_T(ks_memo_pays)(s, steps);
    const KS_T(ks_memo) memo =
        KS_T(ks_memo_start)(nx, m, pays, 0, nn, m * nx + m * m + m + 2 * nn, w->memo);
    if (!pays) return memo;
    /* Nothing varies, so row 1 equals all others. No row may lead into step 0. */
    KS_T(ks_transpose)(nx, nx, (const KS_NUM *)ks_row(s->F, 1), memo.FT);
    KS_T(ks_transpose)(m, nx, (const KS_NUM *)ks_row(s->H, 0), memo.HT);
    return memo;
}

/** Whether step k may be looked up or recorded: an ordinary step that observes all entries. */
KS_HD int KS_T(ks_memorable)(const KS_T(ks_memo) *memo, const ks_series *s, int64_t k, int m,
                             const ks_state *state)
{
    return memo->slots && m == s->ny && state->form == KS_FORM_ORDINARY &&
           k % KS_LOOK != KS_LOOK - 1 && !(k == 0 && s->prior_x1);
}

/** Record the covariance results of an ordinary step in the slot that holds its key. */
KS_HD void KS_T(ks_remember_forward)(int nx, int m, KS_T(ks_memo) *memo, KS_NUM *slot,
                                     const KS_T(ks_scratch) *w, const ks_state *state)
{
    const int nn = nx * nx;
    KS_NUM *to = slot + nn;
    KS_T(ks_memo_keep)(memo);
    KS_T(ks_copy)(m * nx, w->Z, to);
    KS_T(ks_copy)(m * m, w->S, to + m * nx);
    KS_T(ks_copy)(m, w->inverse_d, to + m * nx + m * m);
    KS_T(ks_copy)(nn, w->Pp, to + m * nx + m * m + m);
    KS_T(ks_copy)(nn, (const KS_NUM *)state->C, to + m * nx + m * m + m + nn);
}

/** Step k with the covariances of a slot: predicted mean to w->xp, whitened innovation to w->v,
 *  posterior to `state`. */
KS_HD void KS_T(ks_step_again)(int nx, const ks_series *s, int64_t k,
                               const KS_T(ks_observation) *o, const KS_T(ks_memo) *memo,
                               const KS_NUM *slot, ks_state *state, const KS_T(ks_scratch) *w)
{
    const int nn = nx * nx;
    const KS_NUM *Z = slot + nn, *S = Z + o->m * nx, *P = S + o->m * o->m + o->m + nn;
    KS_NUM *x = (KS_NUM *)state->x;
    KS_T(ks_copy)(nx, (const KS_NUM *)ks_row(s->u, k - s->shift), w->xp);
    KS_T(ks_mtv_add)(nx, nx, memo->FT, x, w->xp);
#define CALL(m)                                                                             \
    for (int i = 0; i < (m); ++i) w->v[i] = o->y[i] - o->d[i];                              \
    KS_T(ks_mtv_sub)(nx, m, memo->HT, w->xp, w->v);                                         \
    KS_T(ks_ldl_forward)(m, 1, S, w->v);                                                    \
    KS_T(ks_copy)(nx, w->xp, x);                                                            \
    KS_T(ks_move_mean)(m, nx, Z, w->v, x)
    KS_WITH_LITERAL_ENTRIES(nx, o->m, CALL)
#undef CALL
    KS_T(ks_copy)(nn, P, (KS_NUM *)state->C);
}

/** Write the filter's outputs of the estimate of step k, and keep the estimate for the backward pass. P: its covariance
 *  if that is known already, else NULL. */
KS_HD void KS_T(ks_write_filtered)(int nx, int64_t k, const ks_state *state, const KS_NUM *P,
                                   const ks_forward_sinks *to, KS_NUM *W)
{
    const KS_NUM *x = (const KS_NUM *)state->x, *C = (const KS_NUM *)state->C;
    if (to->filtered_mean.base)
        KS_T(ks_copy)(nx, x, (KS_NUM *)ks_slot_of(to->filtered_mean, k));
    KS_T(ks_write_cov)(nx, P ? KS_FORM_ORDINARY : state->form, P ? P : C, to->filtered_cov, to->filtered_var, k, W);
    if (!to->kept_C.base) return;
    if (to->kept_mean.base) KS_T(ks_copy)(nx, x, (KS_NUM *)ks_slot_of(to->kept_mean, k));
    KS_T(ks_copy)(nx * nx, C, (KS_NUM *)ks_slot_of(to->kept_C, k));
    to->form[k - to->form_first] = (unsigned char)state->form;
}

/** Write the prediction of step k where asked for. Pp is in `form` and symmetric to the bit. */
KS_HD void KS_T(ks_write_predicted)(int nx, int64_t k, ks_form form, const KS_NUM *xp,
                                    const KS_NUM *Pp, const ks_forward_sinks *to, KS_NUM *W)
{
    if (to->predicted_mean.base)
        KS_T(ks_copy)(nx, xp, (KS_NUM *)ks_slot_of(to->predicted_mean, k));
    KS_T(ks_write_cov)(nx, form, Pp, to->predicted_cov, to->predicted_var, k, W);
}

/** Whether predictions are watched, and step k may be the first with a sharp one. */
KS_HD int KS_T(ks_watches)(const ks_series *s, int64_t k, const ks_forward_sinks *to, const ks_tally *tally)
{
    return to->watched && tally->sharp < 0 && !(k == 0 && s->prior_x1);
}

/** Whether the prediction xp, Sp of step k in the array form is sharp. S: the root before it. */
KS_HD int KS_T(ks_is_sharp)(int nx, const ks_series *s, int64_t k, const KS_NUM *S, const KS_NUM *xp, const KS_NUM *Sp,
                            KS_NUM *W)
{
    KS_NUM *weight = W, *variance = weight + nx;
    KS_T(ks_sharp_weights)(nx, Sp, weight, variance, variance + nx);
    if (KS_T(ks_sharp_root)(nx, xp, weight, variance, ks_sharp_times(s, k, sizeof(KS_NUM)))) return 1;
    return KS_T(ks_leaves_rounding)(nx, KS_EPS, (const KS_NUM *)ks_row(s->F, k - s->shift), S, Sp);
}

/** The same of a step from the memo. All that does not depend on the mean is computed once for a slot. */
KS_HD int KS_T(ks_is_sharp_again)(int nx, const ks_series *s, int64_t k, const KS_T(ks_array_slot) *slot, const KS_NUM *xp,
                                  KS_NUM *W)
{
    if (KS_GT(KS_LIT(0), slot->leaves_rounding[0])) {
        KS_T(ks_sharp_weights)(nx, slot->Sp, slot->weight, slot->variance, W);
        slot->leaves_rounding[0] = KS_LIT(KS_T(ks_leaves_rounding)(
            nx, KS_EPS, (const KS_NUM *)ks_row(s->F, k - s->shift), slot->key, slot->Sp));
    }
    return KS_GT(slot->leaves_rounding[0], KS_LIT(0)) ||
           KS_T(ks_sharp_root)(nx, xp, slot->weight, slot->variance, ks_sharp_times(s, k, sizeof(KS_NUM)));
}

/** Step k in the form that it needs, with memos of both forms. Returns as ks_update_array(). */
KS_HD int KS_T(ks_filter_step)(int nx, const ks_series *s, int64_t k,
                               const KS_T(ks_observation) *o, ks_state *state,
                               const KS_T(ks_scratch) *w, KS_T(ks_memo) *memo, KS_T(ks_memo) *array_memo,
                               ks_evidence *evidence, ks_evidence *term,
                               const ks_forward_sinks *to, int want_innovation, ks_tally *tally)
{
    const int nn = nx * nx, m = o->m;
    KS_NUM *record = NULL, *array_record = NULL;
    const int held = state->steady.stage == KS_STEADY_HELD, may = KS_T(ks_may_be_held)(nx, s, k, m);
    if (KS_T(ks_array_memorable)(array_memo, s, k, m, state, to)) {
        const int at = KS_T(ks_memo_find)(array_memo, NULL, (const KS_NUM *)state->C);
        const KS_T(ks_array_slot) slot =
            KS_T(ks_array_slot_of)(nx, m, array_memo->base + (int64_t)(at >= 0 ? at : 0) * array_memo->size);
        /* A cycle of several steps: every KS_LOOK-th is computed, to see whether its root may be held. */
        if (at >= 0 && (k % KS_LOOK != KS_LOOK - 1 || KS_T(ks_memo_same)(nn, slot.key, slot.S))) {
            KS_T(ks_array_again)(nx, s, k, o, &slot, state, w);
            if (KS_T(ks_watches)(s, k, to, tally) && KS_T(ks_is_sharp_again)(nx, s, k, &slot, w->xp, w->work))
                tally->sharp = k;
            KS_T(ks_write_predicted)(nx, k, KS_FORM_ORDINARY, w->xp, slot.Pp, to, w->work);
            KS_T(ks_innovate_array)(s, k, o, w, slot.Se, evidence, term, to, want_innovation);
            tally->array += 1;
            return -1;
        }
        if (at < 0) array_record = KS_T(ks_memo_miss)(array_memo, NULL, (const KS_NUM *)state->C);
        array_memo->last = -1;
    } else {
        array_memo->last = -1;
    }
    if (state->form != KS_FORM_ARRAY || !may) state->steady.stage = KS_STEADY_UNKNOWN;
    if (KS_T(ks_memorable)(memo, s, k, m, state)) {
        const KS_NUM *C = (const KS_NUM *)state->C;
        const int at = KS_T(ks_memo_find)(memo, NULL, C);
        if (at >= 0) {
            const KS_NUM *slot = memo->base + (int64_t)at * memo->size, *Z = slot + nn;
            const KS_NUM *S = Z + m * nx, *inverse_d = S + m * m, *Pp = inverse_d + m;
            KS_T(ks_step_again)(nx, s, k, o, memo, slot, state, w);
            KS_T(ks_write_predicted)(nx, k, KS_FORM_ORDINARY, w->xp, Pp, to, w->work);
            KS_T(ks_innovate_ordinary)(s, k, o, w, Z, S, inverse_d, Pp, evidence, term, to,
                                       want_innovation);
            tally->ordinary += 1;
            return -1;
        }
        record = KS_T(ks_memo_miss)(memo, NULL, C);
    } else {
        memo->last = -1;
    }
    KS_T(ks_predict_in_form)(nx, s, k, o, state, w, &tally->digits);
    if (KS_T(ks_watches)(s, k, to, tally) &&
        (state->form == KS_FORM_ARRAY
             ? KS_T(ks_is_sharp)(nx, s, k, (const KS_NUM *)state->C, w->xp, w->Pp, w->work)
             : ks_looks_sharp(to, s, k) &&
                   KS_T(ks_sharp)(nx, w->xp, w->Pp, nx, (const KS_NUM *)state->C, nx)))
        tally->sharp = k;
    if (state->form == KS_FORM_ORDINARY && (to->predicted_cov.base || want_innovation))
        KS_T(ks_mirror)(nx, w->Pp);
    KS_T(ks_write_predicted)(nx, k, state->form, w->xp, w->Pp, to, w->work);
    if (state->form == KS_FORM_ARRAY) {
        tally->array += 1;
        if (may) KS_T(ks_copy)(nn, (const KS_NUM *)state->C, w->held);
        const int bad = KS_T(ks_update_array)(nx, s, k, o, state, w, tally, term, to, want_innovation);
        if (to->watched && tally->sharp < 0 && k + 1 < s->steps && bad == -1 && state->form == KS_FORM_ARRAY &&
            KS_T(ks_observes_exactly)(m, o->R) &&
            KS_T(ks_leaves_rounding)(nx, KS_EPS, NULL, w->Pp, (const KS_NUM *)state->C))
            tally->sharp = k + 1;
        if (held != (state->steady.stage == KS_STEADY_HELD)) {
            KS_T(ks_memo_forget)(array_memo);
            array_record = NULL;
        }
        if (array_record && bad == -1 && state->form == KS_FORM_ARRAY)
            KS_T(ks_remember_array)(nx, m, array_memo, array_record, w, state);
        return bad;
    }
    tally->ordinary += 1;
    KS_T(ks_update_ordinary)(nx, o, state, w);
    if (record) KS_T(ks_remember_forward)(nx, m, memo, record, w, state);
    KS_T(ks_innovate_ordinary)(s, k, o, w, w->Z, w->S, w->inverse_d, w->Pp, evidence, term, to,
                               want_innovation);
    return -1;
}

/** Filter steps from k0 on, with literal or run-time nx. Ends at k1, where digits are lost, or, if the ordinary form is
 *  not `wanted`, before the first step that may be taken in it. Returns the next step, or -1 with the fault in the
 *  tally. */
KS_HD int64_t KS_T(ks_filter_until)(int nx, const ks_series *s, int64_t k0, int64_t k1, int wanted,
                                    ks_state *state, const ks_forward_sinks *to, void *memory,
                                    ks_tally *tally)
{
    const int want_innovation =
        to->innovation.base || to->innovation_cov.base || to->innovation_std.base;
    const KS_T(ks_scratch) w = KS_T(ks_lay_out)(nx, s->ny, memory);
    if (KS_T(ks_memo_slots)(nx)) w.Q_root[nx * nx] = w.reach[0] = KS_LIT(-1);
    KS_T(ks_memo) memo = KS_T(ks_forward_memo)(nx, s, wanted ? k1 - k0 : 1, &w);
    KS_T(ks_memo) array_memo = KS_T(ks_array_memo)(nx, s, k1 - k0, &w);
    if (!s->R.stride) w.times[0] = KS_T(ks_noise_times)(s->ny, (const KS_NUM *)ks_row(s->R, 0), s->ny, w.work);
    for (int64_t k = k0; k < k1; ++k) {
        int entry = 0;
        const KS_T(ks_observation) o = KS_T(ks_observe)(s, k, w.compact, &entry);
        if (o.m < 0)
            return KS_T(ks_step_fault)(k, entry, KS_ARRAY_Y, KS_FAULT_NOT_FINITE, tally);
        tally->missing += s->ny - o.m;
        ks_evidence term = ks_evidence_start();
        const int bad = KS_T(ks_filter_step)(nx, s, k, &o, state, &w, &memo, &array_memo, &tally->evidence,
                                             to->loglik_terms.base ? &term : NULL, to,
                                             want_innovation, tally);
        if (bad >= 0)
            return KS_T(ks_step_fault)(k, bad, KS_ARRAY_INNOVATION_COV, KS_FAULT_NOT_POSITIVE,
                                       tally);
        if (bad == -2 ||
            !KS_T(ks_finite_in_form)(nx, state->form, (const KS_NUM *)state->x,
                                     (const KS_NUM *)state->C) ||
            !isfinite(tally->evidence.quadratic))
            return KS_T(ks_step_fault)(k, 0, KS_ARRAY_ESTIMATE, KS_FAULT_NOT_FINITE, tally);
        if (to->loglik_terms.base)
            *(double *)ks_slot_of(to->loglik_terms, k) = ks_evidence_loglik(&term);
        const KS_NUM *P =
            array_memo.last < 0
                ? NULL
                : KS_T(ks_array_slot_of)(nx, s->ny, array_memo.base + (int64_t)array_memo.last * array_memo.size).P;
        KS_T(ks_write_filtered)(nx, k, state, P, to, w.work);
        if (ks_has_lost(&tally->digits)) return k + 1;
        if (!wanted && state->form == KS_FORM_ORDINARY) return k + 1;
    }
    return k1;
}

/** Filter steps k0 .. k1 - 1. Returns 0, or -1 with the fault in the tally. */
KS_HD int KS_T(ks_filter_steps)(int nx, const ks_series *s, int64_t k0, int64_t k1,
                                ks_state *state, const ks_forward_sinks *to, void *memory,
                                ks_tally *tally)
{
    return KS_T(ks_filter_until)(nx, s, k0, k1, 1, state, to, memory, tally) < 0 ? -1 : 0;
}
