/* meet_back_text.h -- smoother steps, backward, at each of which the filter meets the information on what
 * follows; see num_f64.h. For scalar numbers.
 *
 * It is the two-filter smoother (Fraser & Potter, 1969) step by step: the information filter of
 * two_ended_array_text.h runs from the right, and nothing that it knows of a step comes from the smoothed
 * estimate of the step behind, whose round-off a step of the RTS smoother would multiply (ks_sharp()). */

/** Pointers into scratch. */
typedef struct KS_T(ks_meet_scratch) {
    KS_NUM *A, *b, *K, *bound;  /* what the information filter leaves of one step, not used */
    KS_NUM *U, *z;              /* the information, to be met                              */
    KS_NUM *ET, *L, *next;      /* gain, for the covariance with the step behind           */
    KS_NUM *work;
    void *plain;                /* of two_ended_range_text.h */
} KS_T(ks_meet_scratch);

/** With memory NULL: the numbers that it takes. */
KS_HD int64_t KS_T(ks_meet_lay_out)(int nx, int ny, KS_NUM *memory, KS_T(ks_meet_scratch) *w)
{
    const int64_t n = nx, nn = n * n;
    const int64_t plain = KS_T(ks_ends_lay_out)(nx, ny, NULL, &(KS_T(ks_ends_scratch)){ 0 });
    /* First, where it is aligned for the wider number. */
    int64_t at = (plain + 7) / 8 * 8;
    const int64_t size[] = { nn, n, nn, 2 * n, nn, n, nn, 2 * nn, nn, 8 * nn + 16 * n };
    KS_NUM **const place[] = { &w->A, &w->b, &w->K, &w->bound, &w->U, &w->z, &w->ET, &w->L, &w->next, &w->work };
    w->plain = memory;
    for (int i = 0; i < (int)(sizeof size / sizeof size[0]); ++i) {
        *place[i] = memory ? memory + at : NULL;
        at += size[i];
    }
    return at;
}

/** The information on x[k] from later observations becomes that on x[k - 1], in the array form. Returns 0, or
 *  -1 with the fault in the tally. */
KS_HD int KS_T(ks_meet_inform)(const ks_series *s, int64_t k, ks_information *information,
                               const KS_T(ks_meet_scratch) *w, ks_tally *tally)
{
    const ks_right_rows rows = { { (char *)w->A, 0, 0 }, { (char *)w->b, 0, 0 }, { (char *)w->K, 0, 0 },
                                 { (char *)w->bound, 0, 0 }, { NULL, 0, 0 }, (double)INFINITY, k, k };
    return KS_T(ks_inform_steps)(s->nx, s, k, k + 1, information, &rows, w->plain, tally);
}

/** See ks_two_ended_kernels.inform_back. */
KS_HD_COLD int KS_T(ks_inform_back)(const ks_series *s, int64_t k0, int64_t k1, ks_information *information,
                                    void *memory, ks_tally *tally)
{
    KS_T(ks_meet_scratch) w;
    (void)KS_T(ks_meet_lay_out)(s->nx, s->ny, (KS_NUM *)memory, &w);
    for (int64_t k = k1 - 1; k >= k0; --k)
        if (KS_T(ks_meet_inform)(s, k, information, &w, tally)) return -1;
    return 0;
}

/** Cov(x[k+1], x[k] | y) = Ps[k+1] Eᵀ from the filtered estimate of step k. */
KS_HD void KS_T(ks_meet_lag)(const ks_series *s, int64_t k, const ks_state *filtered, const ks_state *later,
                             ks_sink to, const KS_T(ks_meet_scratch) *w)
{
    const int nx = s->nx;
    const KS_NUM *F = (const KS_NUM *)ks_row(s->F, k + 1 - s->shift);
    const KS_NUM *Q = (const KS_NUM *)ks_row(s->Q, k + 1 - s->shift);
    const KS_NUM *S = (const KS_NUM *)filtered->C, *Ps = (const KS_NUM *)later->C;
    if (filtered->form == KS_FORM_ORDINARY) {
        (void)KS_T(ks_pivoted_factor)(nx, S, w->next, w->work);
        S = w->next;
    }
    KS_T(ks_array_gain)(nx, F, Q, S, w->ET, w->L, w->work);
    if (later->form == KS_FORM_ARRAY) {
        KS_T(ks_square)(nx, nx, nx, Ps, w->next);
        Ps = w->next;
    }
    KS_T(ks_mm)(nx, nx, nx, Ps, w->ET, (KS_NUM *)ks_slot_of(to, k + 1));
}

/** See ks_two_ended_kernels.meet_back. */
KS_HD_COLD int64_t KS_T(ks_meet_back)(const ks_series *s, int64_t k0, int64_t k1, ks_information *information,
                                      const ks_forward_sinks *kept, ks_state *state, const ks_backward_sinks *to,
                                      void *memory, ks_tally *tally)
{
    const int nx = s->nx;
    KS_T(ks_meet_scratch) w;
    (void)KS_T(ks_meet_lay_out)(nx, s->ny, (KS_NUM *)memory, &w);
    for (int64_t k = k1 - 1; k >= k0; --k) {
        ks_tally unused = ks_tally_start();
        if (KS_T(ks_meet_inform)(s, k + 1, information, &w, &unused)) return k + 1;
        const ks_form form = (ks_form)kept->form[k - kept->form_first];
        ks_state filtered = { ks_slot_of(kept->kept_mean, k), ks_slot_of(kept->kept_C, k), form };
        if (to->lag_one_cov.base) KS_T(ks_meet_lag)(s, k, &filtered, state, to->lag_one_cov, &w);
        KS_T(ks_copy)(nx, (const KS_NUM *)filtered.x, (KS_NUM *)state->x);
        KS_T(ks_copy)(nx * nx, (const KS_NUM *)filtered.C, (KS_NUM *)state->C);
        state->form = form;
        ks_information met = { w.U, w.z, information->form };
        KS_T(ks_copy)(nx * nx, (const KS_NUM *)information->J, w.U);
        KS_T(ks_copy)(nx, (const KS_NUM *)information->eta, w.z);
        KS_T(ks_meet_states)(nx, k, state, &met, to, w.work, &unused.evidence);
        if (!KS_T(ks_finite_in_form)(nx, state->form, (const KS_NUM *)state->x, (const KS_NUM *)state->C))
            return KS_T(ks_step_fault)(k, 0, KS_ARRAY_ESTIMATE, KS_FAULT_NOT_FINITE, tally);
        tally->array += 1;
    }
    return k0;
}
