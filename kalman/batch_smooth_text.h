/* batch_smooth_text.h -- smoother steps of a group of series; see batch.h and num_f64x4.h. */

/** Step k of the living lanes that are not in `done`, one by one; of the lanes in *packed the
 *  smoothed estimate of step k + 1 stands in w->x, w->P; that of step k goes to
 *  w->next_x, next_P. */
KS_HD_COLD void KS_T(ks_smooth_alone)(ks_group *g, int64_t k, unsigned done, unsigned *packed,
                                      const KS_T(ks_group_scratch) *w,
                                      const ks_forward_sinks *kept, const ks_backward_sinks *to,
                                      ks_tally *tally)
{
    const unsigned alone = ~done & ((1u << g->alive) - 1);
    KS_T(ks_group_leave)(g, *packed & alone, w->x, w->P);
    for (int l = 0; l < g->alive; ++l) {
        if (!(alone >> l & 1)) continue;
        *packed &= ~(1u << l);
        if (g->kernels->smooth(&g->series[l], k, k + 1, &g->state[l], &kept[l], &to[l], g->scratch,
                               &tally[l])) {
            g->alive = l;
        } else if (g->state[l].form == KS_FORM_ORDINARY) {
            const int nx = g->series[l].nx;
            KS_T(ks_give_lane)(nx, l, (const KS_ONE *)g->state[l].x, w->next_x);
            KS_T(ks_give_lane)(nx * nx, l, (const KS_ONE *)g->state[l].C, w->next_P);
            *packed |= 1u << l;
        }
    }
}

/** What the filter kept of step k of the lanes in `lanes` to w->xp, w->Pp. */
KS_HD_COLD void KS_T(ks_get_kept)(int64_t k, unsigned lanes, const ks_forward_sinks *kept,
                             const KS_T(ks_group_scratch) *w)
{
    const int nx = w->nx;
    char *at[KS_LANES];
    const char *from[KS_LANES];
    KS_T(ks_slots)(&kept->kept_mean, sizeof *kept, k, lanes, w->nowhere, at);
    for (int l = 0; l < KS_LANES; ++l) from[l] = at[l];
    KS_T(ks_gather)(nx, from, w->xp);
    KS_T(ks_slots)(&kept->kept_C, sizeof *kept, k, lanes, w->nowhere, at);
    for (int l = 0; l < KS_LANES; ++l) from[l] = at[l];
    KS_T(ks_gather)(nx * nx, from, w->Pp);
}

/** Cov(x[k], x[k-1] | y) = Ps[k] Eᵀ of the lanes in `lanes`. */
KS_HD_COLD void KS_T(ks_put_lag_one)(int64_t k, unsigned lanes, const KS_T(ks_group_scratch) *w,
                                     const ks_backward_sinks *to)
{
    const int nx = w->nx;
    KS_T(ks_mm)(nx, nx, nx, w->P, w->ET, w->work);
    KS_T(ks_put_rows)(nx * nx, w->work, &to->lag_one_cov, sizeof *to, k, lanes, w->nowhere);
}

/** Step k of the lanes in `lanes` together. Returns the lanes for which it is done. */
KS_HD unsigned KS_T(ks_smooth_together)(int nx, int64_t k, int64_t shift, unsigned lanes,
                                        const KS_T(ks_group_inputs) *in,
                                        const KS_T(ks_group_scratch) *w,
                                        const ks_forward_sinks *kept, const ks_backward_sinks *to)
{
    const size_t apart = sizeof *to;
    KS_T(ks_get_kept)(k, lanes, kept, w);
    KS_MASK good =
        KS_T(ks_smooth_back)(nx, KS_T(ks_stream_row)(&in->F, k + 1 - shift),
                             KS_T(ks_stream_row)(&in->Q, k + 1 - shift),
                             KS_T(ks_stream_row)(&in->u, k + 1 - shift), w->xp, w->Pp, w->x,
                             w->P, w->next_x, w->next_P, w->ET, w->work);
    KS_NUM zero = KS_LIT(0);
    for (int i = 0; i < nx; ++i)
        zero = zero + (w->next_x[i] - w->next_x[i]) +
               (w->next_P[i * nx + i] - w->next_P[i * nx + i]);
    good = good & (KS_MASK)(zero == KS_LIT(0));
    lanes &= KS_BITS(good);
    if (!lanes) return 0;
    if (to->lag_one_cov.base) KS_T(ks_put_lag_one)(k + 1, lanes, w, to);
    KS_T(ks_put_rows)(nx * nx, w->ET, &to->gain, apart, k, lanes, w->nowhere);
    KS_T(ks_put_rows)(w->nx, w->next_x, &to->smoothed_mean, apart, k, lanes, w->nowhere);
    KS_T(ks_put_rows)(w->nx * w->nx, w->next_P, &to->smoothed_cov, apart, k, lanes, w->nowhere);
    KS_T(ks_put_diagonal)(w->nx, w->next_P, &to->smoothed_var, apart, k, lanes, w->nowhere,
                          w->work);
    return lanes;
}

/** Steps k1 - 1 .. k0, see ks_pack_kernels. */
KS_HD void KS_T(ks_group_smooth)(int nx, ks_group *g, int64_t k0, int64_t k1,
                                 const ks_forward_sinks *kept, const ks_backward_sinks *to,
                                 ks_tally *tally)
{
    const ks_series *s = &g->series[0];
    KS_T(ks_group_scratch) w = KS_T(ks_group_lay_out)(nx, s->ny, g->pack);
    KS_T(ks_group_inputs) in;
    KS_T(ks_group_inputs_start)(s, &w, &in);
    unsigned packed = KS_T(ks_group_enter)(g, w.x, w.P);
    for (int64_t k = k1 - 1; k >= k0 && g->alive; --k) {
        const unsigned living = (1u << g->alive) - 1;
        unsigned ordinary = 0, done = 0;
        for (int l = 0; l < g->alive; ++l)
            ordinary |= (unsigned)(kept[l].form[k - kept[l].form_first] == KS_FORM_ORDINARY) << l;
        /* The last step is the filter's own, which no transition leaves. */
        if (k < s->steps - 1 && (ordinary & packed & living) != 0)
            done = KS_T(ks_smooth_together)(nx, k, s->shift, ordinary & packed & living, &in, &w,
                                            kept, to);
        for (int l = 0; l < KS_LANES; ++l) tally[l].ordinary += done >> l & 1;
        if (done != living) KS_T(ks_smooth_alone)(g, k, done, &packed, &w, kept, to, tally);
        KS_NUM *x = w.x, *P = w.P;
        w.x = w.next_x;
        w.P = w.next_P;
        w.next_x = x;
        w.next_P = P;
    }
    KS_T(ks_group_leave)(g, packed, w.x, w.P);
}
