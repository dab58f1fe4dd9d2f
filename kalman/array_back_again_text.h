/* array_back_again_text.h -- steps back of a constant model in the array form that repeat earlier ones; see
 * memo_text.h, num_f64.h. For scalar numbers. */

/** A remembered step back. The key is the filtered root of the step and the smoothed root behind it. S, P: smoothed
 *  root and covariance. ET: Eᵀ. E: E by columns, as means use it. */
typedef struct KS_T(ks_array_back_slot) {
    KS_NUM *S, *P, *ET;
    KS_WIDE *E;
} KS_T(ks_array_back_slot);

KS_HD KS_T(ks_array_back_slot) KS_T(ks_array_back_slot_of)(int nx, KS_NUM *slot)
{
    const int nn = nx * nx;
    KS_T(ks_array_back_slot) at;
    at.S = slot + 2 * nn;
    at.P = at.S + nn;
    at.ET = at.P + nn;
    at.E = KS_T(ks_wide_scratch)(at.ET + nn);
    return at;
}

KS_HD KS_T(ks_memo) KS_T(ks_array_back_memo)(int nx, const ks_series *s, int64_t steps, const KS_T(ks_scratch) *w)
{
    const int nn = nx * nx;
    return KS_T(ks_memo_start)(nx, s->ny, KS_T(ks_memo_pays)(s, steps), nn, nn, 5 * nn + 1, w->array_memo);
}

/** Record what ks_array_back() has left in w. */
KS_HD_COLD void KS_T(ks_remember_array_back)(int nx, KS_T(ks_memo) *memo, KS_NUM *slot, const KS_T(ks_scratch) *w)
{
    const int nn = nx * nx;
    const KS_T(ks_array_back_slot) at = KS_T(ks_array_back_slot_of)(nx, slot);
    const KS_WIDE *E = KS_T(ks_array_back_gain)(w->work);
    KS_T(ks_memo_keep)(memo);
    for (int i = 0; i < nn; ++i) at.E[i] = E[i];
    KS_T(ks_copy)(nn, w->ET, at.ET);
    KS_T(ks_copy)(nn, w->Pn, at.S);
    KS_T(ks_cov_of_root)(nx, w->Pn, at.P, w->work);
}

/** A step back from filtered fx and the smoothed `state` behind it, with the covariances of a slot. Eᵀ
 *  goes to w->ET. */
KS_HD void KS_T(ks_array_back_again)(int nx, const KS_NUM *F, const KS_NUM *u, const KS_NUM *fx,
                                     const KS_T(ks_array_back_slot) *slot, ks_state *state, const KS_T(ks_scratch) *w)
{
    const int nn = nx * nx;
    KS_NUM *x = (KS_NUM *)state->x;
    KS_T(ks_array_back_mean)(nx, F, u, fx, x, slot->E, KS_T(ks_wide_scratch)(w->work), w->xn);
    KS_T(ks_copy)(nx, w->xn, x);
    KS_T(ks_copy)(nn, slot->S, (KS_NUM *)state->C);
    KS_T(ks_copy)(nn, slot->ET, w->ET);
}
