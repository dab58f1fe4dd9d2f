/* filter_anew_text.h -- ranges of filter steps as a table has them: by the hand-shaped kernels, where there are some, and once
 * more, with a look before every step, where digits of the covariances turn out to be lost (ks_digits). For scalar numbers; part of
 * kernels_text.h. */

/** What a range begins with: in front of the scratch of its steps, which stays aligned. */
KS_HD size_t KS_T(kept_bytes)(int nx) { return ((size_t)(nx * nx + nx) * sizeof(KS_NUM) + 63) / 64 * 64; }

#ifdef KS_TILED
/** Ordinary steps by the hand-shaped kernels, all others, and all of a range that is watched, as they come. */
static int KS_T(filter_tiled)(const ks_tiled_kernels *tiled, const ks_series *s, int64_t k0,
                              int64_t k1, ks_state *state, const ks_forward_sinks *to, void *work,
                              ks_tally *tally)
{
    for (int64_t k = k0; k < k1;) {
        const int watched = tally->digits.watched;
        if (!watched && state->form == KS_FORM_ORDINARY && !(k == 0 && s->prior_x1)) {
            k = tiled->filter(s, k, k1, state, to, work, tally);
            if (k < 0) return -1;
            if (k == k1) return 0;
        }
        if (state->form == KS_FORM_ORDINARY) state->steady.stage = KS_STEADY_UNKNOWN;
        k = KS_T(ks_filter_until)(s->nx, s, k, k1, watched, state, to, work, tally);
        if (k < 0) return -1;
    }
    return 0;
}
#endif

KS_HD_COLD int KS_T(filter_range)(const ks_series *s, int64_t k0, int64_t k1, ks_state *state, const ks_forward_sinks *to,
                              void *work, ks_tally *tally)
{
#ifdef KS_TILED
    if (ks_tiled_takes(&KS_TILED, s->nx, s->ny))
        return KS_T(filter_tiled)(&KS_TILED, s, k0, k1, state, to, work, tally);
#endif
    int rc = 0;
#define CALL(nx) rc = KS_T(ks_filter_steps)(nx, s, k0, k1, state, to, work, tally)
    KS_WITH_LITERAL_STEPS(s->nx, CALL)
#undef CALL
    return rc;
}

/** Steps k0 .. k1 - 1 by `range`, which may have to begin anew (ks_digits), or is watched to begin with. What the range leaves
 *  is looked at, too, so that it begins with what has its digits. */
KS_HD int KS_T(filter_anew)(int (*range)(const ks_series *, int64_t, int64_t, ks_state *, const ks_forward_sinks *, void *,
                                         ks_tally *),
                            const ks_series *s, int64_t k0, int64_t k1, ks_state *state, const ks_forward_sinks *to,
                            void *work, ks_tally *tally)
{
    const unsigned mode = ks_flush_begin();
    const int nx = s->nx;
    KS_NUM *x = (KS_NUM *)state->x, *C = (KS_NUM *)state->C, *kept = (KS_NUM *)work;
    void *own = (char *)work + KS_T(kept_bytes)(nx);
    const ks_state begin = *state;
    const ks_tally before = *tally;
    KS_T(ks_copy)(nx, x, kept);
    KS_T(ks_copy)(nx * nx, C, kept + nx);
    int rc = 0;
    for (int watched = before.digits.watched;; watched = 1) {
        tally->digits.watched = watched;
        tally->digits.lost = -1;
        rc = range(s, k0, k1, state, to, own, tally);
        if (!rc && state->form == KS_FORM_ORDINARY && KS_LOOK != INT64_MAX)
            KS_T(ks_tell_lost)(nx, k1, C, &tally->digits, (KS_NUM *)own);
        if (watched || tally->digits.lost <= k0) break;
        *state = begin;
        *tally = before;
        KS_T(ks_copy)(nx, kept, x);
        KS_T(ks_copy)(nx * nx, kept + nx, C);
    }
    tally->digits.watched = before.digits.watched;
    ks_flush_end(mode);
    return rc;
}
