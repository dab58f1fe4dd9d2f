/* batch_smooth_text.h -- smoother steps of a group of series; see batch.h and num_f64x4.h. */

/** Take step k of the living lanes that are not in `done`, one by one. For lanes in *packed the smoothed estimate of
 *  step k + 1 is in w->x, w->P; that of step k goes to w->next_x, next_P. */
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

/** Put out Cov(x[k], x[k-1] | y) = Ps[k] Eᵀ of the lanes in `lanes`. */
KS_HD_COLD void KS_T(ks_put_lag_one)(int64_t k, unsigned lanes, const KS_T(ks_group_scratch) *w,
                                     const ks_backward_sinks *to)
{
    const int nx = w->nx;
    KS_T(ks_mm)(nx, nx, nx, w->P, w->ET, w->work);
    KS_T(ks_put_rows)(nx * nx, w->work, &to->lag_one_cov, sizeof *to, k, lanes);
}

/** Take step k of the lanes in `lanes` together, from the filtered x and P. Return the lanes for which that
 *  succeeded. */
KS_HD unsigned KS_T(ks_smooth_together)(int nx, int64_t k, int64_t shift, unsigned lanes,
                                        const KS_T(ks_group_inputs) *in,
                                        const KS_T(ks_group_scratch) *w, const KS_NUM *x,
                                        const KS_NUM *P, const ks_backward_sinks *to)
{
    const size_t apart = sizeof *to;
    KS_MASK good =
        KS_T(ks_smooth_back)(nx, KS_T(ks_stream_row)(&in->F, k + 1 - shift),
                             KS_T(ks_stream_row)(&in->Q, k + 1 - shift),
                             KS_T(ks_stream_row)(&in->u, k + 1 - shift), x, P, w->x,
                             w->P, w->next_x, w->next_P, w->ET, w->work);
    KS_NUM zero = KS_LIT(0);
    for (int i = 0; i < nx; ++i)
        zero = zero + (w->next_x[i] - w->next_x[i]) +
               (w->next_P[i * nx + i] - w->next_P[i * nx + i]);
    good = good & (KS_MASK)(zero == KS_LIT(0));
    lanes &= KS_BITS(good);
    if (!lanes) return 0;
    if (to->lag_one_cov.base) KS_T(ks_put_lag_one)(k + 1, lanes, w, to);
    KS_T(ks_put_rows)(nx * nx, w->ET, &to->gain, apart, k, lanes);
    KS_T(ks_put_diagonal)(w->nx, w->next_P, &to->smoothed_var, apart, k, lanes,
                          w->work);
    return lanes;
}

/** Read what steps k1 - 1 .. k0 need: what the filter has kept of them, and the transitions out of them. Step `last`
 *  has no such transition. */
KS_HD_COLD void KS_T(ks_group_read_back)(int64_t k0, int64_t k1, int64_t shift, int64_t last,
                                         const ks_forward_sinks *kept, const KS_T(ks_group_scratch) *w,
                                         KS_T(ks_group_inputs) *in)
{
    KS_T(ks_stream) *moves[3] = { &in->F, &in->Q, &in->u };
    const int64_t end = k1 < last ? k1 : last;
    const int nx = w->nx;
    for (int i = 0; i < 3; ++i)
        if (moves[i]->stride && k0 < end)
            KS_T(ks_stream_read)(moves[i], k0 + 1 - shift, end + 1 - shift, -1);
    KS_T(ks_get_steps)(nx, &kept->kept_mean, sizeof *kept, k0, k1, w->kept_means);
    KS_T(ks_get_steps)(nx * nx, &kept->kept_C, sizeof *kept, k0, k1, w->kept_covs);
}

/** Take steps k1 - 1 .. k0, at most as many as are read and written at once. */
KS_HD void KS_T(ks_group_smooth_some)(int nx, ks_group *g, int64_t k0, int64_t k1, unsigned *packed,
                                      const KS_T(ks_group_inputs) *in, KS_T(ks_group_scratch) *w,
                                      const ks_forward_sinks *kept, const ks_backward_sinks *to,
                                      ks_tally *tally)
{
    const ks_series *s = &g->series[0];
    for (int64_t k = k1 - 1; k >= k0 && g->alive; --k) {
        const unsigned living = (1u << g->alive) - 1;
        unsigned ordinary = 0, done = 0;
        w->next_x = w->means + (k - k0) * nx;
        w->next_P = w->covs + (k - k0) * nx * nx;
        w->x = w->next_x + nx;
        w->P = w->next_P + nx * nx;
        for (int l = 0; l < g->alive; ++l)
            ordinary |= (unsigned)(kept[l].form[k - kept[l].form_first] == KS_FORM_ORDINARY) << l;
        /* The last step keeps its filtered estimate; no transition leads out of it. */
        if (k < s->steps - 1 && (ordinary & *packed & living) != 0)
            done = KS_T(ks_smooth_together)(nx, k, s->shift, ordinary & *packed & living, in, w,
                                            w->kept_means + (k - k0) * nx,
                                            w->kept_covs + (k - k0) * nx * nx, to);
        w->done[k - k0] = done;
        for (int l = 0; l < KS_LANES; ++l) tally[l].ordinary += done >> l & 1;
        if (done != living) KS_T(ks_smooth_alone)(g, k, done, packed, w, kept, to, tally);
    }
}

/** Take steps k1 - 1 .. k0, see ks_pack_kernels. */
KS_HD void KS_T(ks_group_smooth)(int nx, ks_group *g, int64_t k0, int64_t k1,
                                 const ks_forward_sinks *kept, const ks_backward_sinks *to,
                                 ks_tally *tally)
{
    const ks_series *s = &g->series[0];
    const int nn = nx * nx;
    KS_T(ks_group_scratch) w = KS_T(ks_group_lay_out)(nx, s->ny, g->pack);
    KS_T(ks_group_inputs) in;
    KS_T(ks_group_inputs_start)(s, &w, &in);
    unsigned packed = KS_T(ks_group_enter)(g, k1 - k0 < w.steps ? k1 - k0 : w.steps, w.means, w.covs);
    w.next_x = w.means;
    w.next_P = w.covs;
    for (int64_t end = k1; end > k0 && g->alive; end -= w.steps) {
        const int64_t start = end - k0 < w.steps ? k0 : end - w.steps, count = end - start;
        KS_T(ks_copy)(nx, w.next_x, w.means + count * nx);
        KS_T(ks_copy)(nn, w.next_P, w.covs + count * nn);
        for (int i = 0; i < w.steps; ++i) w.done[i] = 0;
        KS_T(ks_group_read_back)(start, end, s->shift, s->steps - 1, kept, &w, &in);
        KS_T(ks_group_smooth_some)(nx, g, start, end, &packed, &in, &w, kept, to, tally);
        KS_T(ks_put_steps)(nx, w.means, &to->smoothed_mean, sizeof *to, start, end, w.done);
        KS_T(ks_put_steps)(nn, w.covs, &to->smoothed_cov, sizeof *to, start, end, w.done);
    }
    KS_T(ks_group_leave)(g, packed, w.next_x, w.next_P);
}
