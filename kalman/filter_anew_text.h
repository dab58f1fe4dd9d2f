/* filter_anew_text.h -- ranges of filter steps as a table offers them. Hand-shaped kernels take ordinary steps, if the
 * table has such kernels. If digits of the covariances turn out to be lost (ks_digits), steps are filtered again with a
 * check at every step. For scalar numbers; part of kernels_text.h. */

/** Bytes for a copy of the estimate before a range. It precedes the scratch of the steps, which stays aligned. */
KS_HD size_t KS_T(kept_bytes)(int nx) { return ((size_t)(nx * nx + nx) * sizeof(KS_NUM) + 63) / 64 * 64; }

#ifdef KS_TILED
/** Ordinary steps by the hand-shaped kernels. All other steps, and all of a watched range, by ks_filter_until(). */
static int KS_T(filter_tiled)(const ks_tiled_kernels *tiled, const ks_series *s, int64_t k0,
                              int64_t k1, ks_state *state, const ks_forward_sinks *to, void *work,
                              ks_tally *tally)
{
    for (int64_t k = k0; k < k1;) {
        const int watched = tally->digits.watched;
        if (!watched && state->form == KS_FORM_ORDINARY && !(k == 0 && s->prior_x1)) {
            k = tiled->filter(s, k, k1, state, to, work, tally);
            if (k < 0) return -1;
            if (k == k1 || ks_has_lost(&tally->digits)) return 0;
        }
        if (state->form == KS_FORM_ORDINARY) state->steady.stage = KS_STEADY_UNKNOWN;
        k = KS_T(ks_filter_until)(s->nx, s, k, k1, watched, state, to, work, tally);
        if (k < 0) return -1;
        if (ks_has_lost(&tally->digits)) return 0;
    }
    return 0;
}
#endif

/* Every literal size is a function of its own: compile time more than doubles when a function doubles in size. */
#define KS_FILTER_STEPS(name, states)                                                       \
    KS_HD_COLD int KS_T(filter_steps_##name)(const ks_series *s, int64_t k0, int64_t k1, ks_state *state, \
                                             const ks_forward_sinks *to, void *work, ks_tally *tally) \
    {                                                                                       \
        return KS_T(ks_filter_steps)(states, s, k0, k1, state, to, work, tally);            \
    }
KS_EACH_LITERAL(KS_FILTER_STEPS)
#undef KS_FILTER_STEPS

KS_HD_COLD int KS_T(filter_range)(const ks_series *s, int64_t k0, int64_t k1, ks_state *state, const ks_forward_sinks *to,
                              void *work, ks_tally *tally)
{
#ifdef KS_TILED
    if (ks_tiled_takes(&KS_TILED, s->nx, s->ny))
        return KS_T(filter_tiled)(&KS_TILED, s, k0, k1, state, to, work, tally);
#endif
    const int nx = s->nx;
    int rc = 0;
    (void)nx; /* unused without literals */
#define CALL(nx) rc = KS_T(filter_steps_##nx)(s, k0, k1, state, to, work, tally)
    KS_WITH_LITERAL_STEPS(nx, CALL)
#undef CALL
    return rc;
}

/** Steps k0 .. k1 - 1 by `range`. If digits turn out to be lost (ks_digits), the steps up to there are filtered again.
 *  The last covariance is checked, too, so that the next range starts from one that has its digits. */
KS_HD int KS_T(filter_anew)(int (*range)(const ks_series *, int64_t, int64_t, ks_state *, const ks_forward_sinks *, void *,
                                         ks_tally *),
                            const ks_series *s, int64_t k0, int64_t k1, ks_state *state, const ks_forward_sinks *to,
                            void *work, ks_tally *tally)
{
    const unsigned mode = ks_flush_begin();
    const int nx = s->nx;
    KS_NUM *x = (KS_NUM *)state->x, *C = (KS_NUM *)state->C, *kept = (KS_NUM *)work;
    void *own = (char *)work + KS_T(kept_bytes)(nx);
    ks_digits *digits = &tally->digits;
    int64_t k = k0;
    int rc;
    do {
        const ks_state begin = *state;
        const ks_tally before = *tally;
        KS_T(ks_copy)(nx, x, kept);
        KS_T(ks_copy)(nx * nx, C, kept + nx);
        digits->begin = k;
        digits->lost = -1;
        rc = range(s, k, k1, state, to, own, tally);
        if (!rc && state->form == KS_FORM_ORDINARY && KS_LOOK != INT64_MAX)
            KS_T(ks_tell_lost)(nx, k1, C, digits, (KS_NUM *)own);
        if (!ks_has_lost(digits)) break;
        const int64_t end = digits->lost < k1 ? digits->lost + 1 : k1;
        *state = begin;
        *tally = before;
        KS_T(ks_copy)(nx, kept, x);
        KS_T(ks_copy)(nx * nx, kept + nx, C);
        digits->watched = 1;
        rc = range(s, k, end, state, to, own, tally);
        digits->watched = 0;
        digits->lost = -1;
        k = end;
    } while (!rc && k < k1);
    ks_flush_end(mode);
    return rc;
}
