/* range_text.h -- ranges of filter and smoother steps with the estimate carried in and out.
 *
 * Streaming, chunks, checkpoints and batches are made of these. A range chooses the form of each
 * step: every series starts in the array form; a step leaves it when the posterior is well
 * conditioned (ks_array_ordinary) and the observation is no more than KS_GROWTH sharper than the
 * prediction; it returns to it as soon as a step in the ordinary form says that it will not do, or
 * the posterior, looked at every KS_LOOK steps, has become ill-conditioned. For scalar numbers. */

#define KS_LOOK 32

/** Observed entries of step k: H, R, d, y without the missing ones, the caller's own arrays where
 *  none is missing. Returns their number, or -1 where an entry is infinite (*entry). */
KS_HD int KS_T(ks_observe)(const ks_series *s, int64_t k, const KS_NUM **H, const KS_NUM **R,
                           const KS_NUM **d, const KS_NUM **y, KS_NUM *W, int *entry)
{
    const int nx = s->nx, ny = s->ny;
    const KS_NUM *yk = (const KS_NUM *)ks_row(s->y, k);
    *H = (const KS_NUM *)ks_row(s->H, k);
    *R = (const KS_NUM *)ks_row(s->R, k);
    *d = (const KS_NUM *)ks_row(s->d, k);
    *y = yk;
    int finite = 0, present = 0;
    for (int i = 0; i < ny; ++i) {
        const KS_NUM zero = yk[i] - yk[i];
        finite += zero == KS_LIT(0);
        present += yk[i] == yk[i];
    }
    if (finite == ny) return ny;
    if (finite != present) {
        for (int i = 0; i < ny; ++i)
            if (yk[i] == yk[i] && !(yk[i] - yk[i] == KS_LIT(0))) *entry = i;
        return -1;
    }
    KS_NUM *Hc = W, *Rc = W + ny * nx, *dc = Rc + ny * ny, *yc = dc + ny;
    int m = 0;
    for (int i = 0; i < ny; ++i) {
        if (!(yk[i] == yk[i])) continue;
        for (int c = 0; c < nx; ++c) Hc[m * nx + c] = (*H)[i * nx + c];
        int n = 0;
        for (int j = 0; j < ny; ++j)
            if (yk[j] == yk[j]) Rc[m * present + n++] = (*R)[i * ny + j];
        dc[m] = (*d)[i];
        yc[m++] = yk[i];
    }
    *H = Hc;
    *R = Rc;
    *d = dc;
    *y = yc;
    return m;
}

/** Scratch of the functions below, in numbers. */
KS_HD int64_t KS_T(ks_range_scratch)(int nx, int ny)
{
    const int64_t n = nx, m = ny;
    return KS_T(ks_step_scratch)(nx, ny) + m * n + m * m + 2 * m     /* compacted observation */
           + 3 * n * n + 3 * n                                     /* prediction, gain, mean */
           + 2 * (m * n + m * m + 2 * m);                          /* whitened innovation    */
}

/** Pointers into the scratch of one step. */
typedef struct KS_T(ks_scratch) {
    KS_NUM *compact, *xp, *Pp, *xn, *Pn, *ET, *G, *S, *inverse_d, *v, *Z, *work;
} KS_T(ks_scratch);

KS_HD KS_T(ks_scratch) KS_T(ks_lay_out)(int nx, int ny, void *memory)
{
    KS_T(ks_scratch) w;
    KS_NUM *at = (KS_NUM *)memory;
    w.xp = at;               at += nx;
    w.Pp = at;               at += nx * nx;
    w.xn = at;               at += nx;
    w.Pn = at;               at += nx * nx;
    w.ET = at;               at += nx * nx;
    w.G = at;                at += ny * nx;
    w.S = at;                at += ny * ny;
    w.inverse_d = at;        at += ny;
    w.v = at;                at += ny;
    w.Z = at;                at += ny * nx;
    w.compact = at;          at += ny * nx + ny * ny + 2 * ny;
    w.work = at;
    return w;
}

/** Innovation outputs of step k: the residual of every entry present, its covariance, from its
 *  square root Se where there is one and from the prediction Pp otherwise, and the residual whitened
 *  by a Cholesky factor; NaN where missing. */
KS_HD_COLD void KS_T(ks_write_innovation)(const ks_series *s, int64_t k, const KS_NUM *xp,
                                          const KS_NUM *Pp, int m, const KS_NUM *H,
                                          const KS_NUM *R, const KS_NUM *d, const KS_NUM *y,
                                          const KS_NUM *whitened, const KS_NUM *Se,
                                          const ks_forward_sinks *to, KS_NUM *W)
{
    const int nx = s->nx, ny = s->ny;
    const KS_NUM nan = KS_LIT(NAN);
    const KS_NUM *all = (const KS_NUM *)ks_row(s->y, k);
    KS_NUM *S = W, *HT = S + ny * ny, *G = HT + ny * nx;
    KS_NUM *residual = to->innovation.base ? (KS_NUM *)ks_slot_of(to->innovation, k) : NULL;
    KS_NUM *white = to->innovation_std.base ? (KS_NUM *)ks_slot_of(to->innovation_std, k) : NULL;
    KS_NUM *cov = to->innovation_cov.base ? (KS_NUM *)ks_slot_of(to->innovation_cov, k) : NULL;
    if (cov && Se) {
        KS_T(ks_square)(m, m, m, Se, S);
    } else if (cov && m > 0) {
        KS_T(ks_transpose)(m, nx, H, HT);
        KS_T(ks_mm)(m, nx, nx, H, Pp, G);
        KS_T(ks_copy)(m * m, R, S);
        KS_T(ks_mm_add)(m, nx, m, G, HT, S);
        KS_T(ks_mirror)(m, S);
    }
    for (int i = 0, a = 0; i < ny; ++i) {
        const int here = all[i] == all[i];
        KS_NUM r = nan;
        if (here) {
            r = y[a] - d[a];
            for (int c = 0; c < nx; ++c) r = r - H[a * nx + c] * xp[c];
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

/** Write C, in the form that it is in, as a covariance to `full` and its diagonal to `diagonal`. */
KS_HD void KS_T(ks_write_cov)(int nx, ks_form form, const KS_NUM *C, ks_sink full, ks_sink diagonal,
                              int64_t k, KS_NUM *W)
{
    if (!full.base && !diagonal.base) return;
    const KS_NUM *P = C;
    if (form == KS_FORM_ARRAY) {
        KS_T(ks_square)(nx, nx, nx, C, W);
        P = W;
    }
    if (full.base) KS_T(ks_copy)(nx * nx, P, (KS_NUM *)ks_slot_of(full, k));
    if (diagonal.base) {
        KS_NUM *to = (KS_NUM *)ks_slot_of(diagonal, k);
        for (int i = 0; i < nx; ++i) to[i] = P[i * nx + i];
    }
}

/** True where every entry of x and every variance is finite. */
KS_HD int KS_T(ks_finite)(int nx, const KS_NUM *x, const KS_NUM *C)
{
    KS_NUM sum = KS_LIT(0);
    for (int i = 0; i < nx; ++i) sum = sum + (x[i] - x[i]) + (C[i * nx + i] - C[i * nx + i]);
    return sum == KS_LIT(0);
}

/** True where the covariance P (nx, nx) has no pivot lost in round-off. W: nx * nx + nx. */
KS_HD int KS_T(ks_well_conditioned)(int nx, const KS_NUM *P, KS_NUM *W)
{
    KS_T(ks_copy)(nx * nx, P, W);
    return KS_ALL(KS_T(ks_ldl)(nx, 1 / KS_GROWTH, W, W + nx * nx));
}

/** log p(y[k] | y[0..k-1]) from the whitened innovation: the product of the m pivots is gathered
 *  in *product, which is turned into a logarithm only when it leaves the middle of the range. */
typedef struct KS_T(ks_evidence) { double quadratic, product, logs; int64_t entries; } KS_T(ks_evidence);

KS_HD void KS_T(ks_gather_pivot)(KS_T(ks_evidence) *e, double pivot, double quadratic)
{
    e->quadratic += quadratic;
    e->product *= pivot;
    e->entries += 1;
    if (!(e->product > 1e-120 && e->product < 1e120)) {
        e->logs += log(e->product);
        e->product = 1;
    }
}

KS_HD double KS_T(ks_evidence_loglik)(const KS_T(ks_evidence) *e)
{
    return -0.5 * ((double)e->entries * 1.8378770664093454836 + e->logs + log(e->product) +
                   e->quadratic);
}

/** The prediction of step k from the estimate of the step before it, in the estimate's form. */
KS_HD void KS_T(ks_step_predict)(int nx, const ks_series *s, int64_t k, const ks_state *state,
                                 KS_NUM *xp, KS_NUM *Cp, KS_NUM *W)
{
    const KS_NUM *x = (const KS_NUM *)state->x, *C = (const KS_NUM *)state->C;
    if (k == 0 && s->prior_x1) {
        KS_T(ks_copy)(nx, x, xp);
        KS_T(ks_copy)(nx * nx, C, Cp);
        return;
    }
    const KS_NUM *F = (const KS_NUM *)ks_row(s->F, k - s->shift);
    const KS_NUM *Q = (const KS_NUM *)ks_row(s->Q, k - s->shift);
    const KS_NUM *u = (const KS_NUM *)ks_row(s->u, k - s->shift);
    if (state->form == KS_FORM_ORDINARY)
        KS_T(ks_predict)(nx, F, Q, u, x, C, xp, Cp, W);
    else
        KS_T(ks_array_predict)(nx, F, Q, u, x, C, xp, Cp, W);
}

/** Turn the estimate of the step before into the array form. */
KS_HD_COLD void KS_T(ks_to_array)(int nx, ks_state *state, KS_NUM *W)
{
    KS_NUM *C = (KS_NUM *)state->C;
    KS_T(ks_copy)(nx * nx, C, W);
    (void)KS_T(ks_pivoted_factor)(nx, W, C, W + nx * nx);
    state->form = KS_FORM_ARRAY;
}

/** The posterior of an array step stands in `state`; go back to the ordinary form where that
 *  loses nothing: the posterior is well conditioned and the observation not too sharp. */
KS_HD_COLD void KS_T(ks_leave_array)(int nx, int m, const KS_NUM *R, const KS_NUM *Se,
                                     ks_state *state, KS_NUM *W)
{
    KS_NUM *S = (KS_NUM *)state->C;
    for (int i = 0; i < m; ++i) {
        KS_NUM variance = KS_LIT(0);
        for (int c = 0; c <= i; ++c) variance = variance + Se[i * m + c] * Se[i * m + c];
        if (!KS_GT(KS_LIT(KS_GROWTH / 4) * R[i * m + i], variance)) return;
    }
    if (!KS_T(ks_array_ordinary)(nx, S)) return;
    KS_T(ks_square)(nx, nx, nx, S, W);
    KS_T(ks_copy)(nx * nx, W, S);
    state->form = KS_FORM_ORDINARY;
}

/** The prior as the state that leads into step 0. */
KS_HD_COLD void KS_T(ks_start)(const ks_series *s, ks_state *state, void *work)
{
    KS_T(ks_copy)(s->nx, (const KS_NUM *)s->m0, (KS_NUM *)state->x);
    KS_T(ks_copy)(s->nx * s->nx, (const KS_NUM *)s->P0, (KS_NUM *)state->C);
    KS_T(ks_to_array)(s->nx, state, (KS_NUM *)work);
}

/** Steps k0 .. k1 - 1 of the filter with literal or run-time nx. Returns 0, or -1 with the fault in
 *  the tally. */
KS_HD int KS_T(ks_filter_steps)(int nx, const ks_series *s, int64_t k0, int64_t k1,
                                ks_state *state, const ks_forward_sinks *to, void *memory,
                                ks_tally *tally)
{
    const int ny = s->ny;
    const int want_innovation =
        to->innovation.base || to->innovation_cov.base || to->innovation_std.base;
    KS_T(ks_scratch) w = KS_T(ks_lay_out)(nx, ny, memory);
    KS_T(ks_evidence) sum = { 0, 1, 0, 0 };
    KS_NUM *x = (KS_NUM *)state->x, *C = (KS_NUM *)state->C;
    for (int64_t k = k0; k < k1; ++k) {
        const KS_NUM *H, *R, *d, *y;
        int m = KS_T(ks_observe)(s, k, &H, &R, &d, &y, w.compact, &tally->bad_row);
        if (m < 0) {
            tally->bad_step = k;
            tally->bad_array = KS_ARRAY_Y;
            tally->fault = KS_FAULT_NOT_FINITE;
            return -1;
        }
        tally->missing += ny - m;
        if (state->form == KS_FORM_ORDINARY && k % KS_LOOK == KS_LOOK - 1 &&
            !KS_T(ks_well_conditioned)(nx, C, w.work))
            KS_T(ks_to_array)(nx, state, w.work);
        KS_T(ks_step_predict)(nx, s, k, state, w.xp, w.Pp, w.work);
        if (state->form == KS_FORM_ORDINARY && m > 0 &&
            !KS_ALL(KS_T(ks_innovation)(nx, m, H, R, d, y, w.xp, w.Pp, w.G, w.S, w.inverse_d, w.v,
                                        w.work))) {
            KS_T(ks_to_array)(nx, state, w.work);
            KS_T(ks_step_predict)(nx, s, k, state, w.xp, w.Pp, w.work);
        }
        const ks_form form = state->form;
        if (to->predicted_mean.base)
            KS_T(ks_copy)(nx, w.xp, (KS_NUM *)ks_slot_of(to->predicted_mean, k));
        if (form == KS_FORM_ORDINARY && (to->predicted_cov.base || want_innovation))
            KS_T(ks_mirror)(nx, w.Pp);
        KS_T(ks_write_cov)(nx, form, w.Pp, to->predicted_cov, to->predicted_var, k, w.work);
        KS_T(ks_evidence) term = { 0, 1, 0, 0 };
        KS_T(ks_evidence) *evidence = to->loglik_terms.base ? &term : &sum;
        if (form == KS_FORM_ORDINARY) {
            KS_T(ks_posterior)(nx, m, w.G, w.inverse_d, w.v, w.xp, w.Pp, x, C, w.Z);
            for (int i = 0; i < m; ++i)
                KS_T(ks_gather_pivot)(evidence, (double)w.S[i * m + i],
                                      (double)(w.v[i] * w.v[i] * w.inverse_d[i]));
            if (want_innovation) {
                for (int i = 0; i < m; ++i) w.v[i] = w.v[i] * KS_SQRT(w.inverse_d[i]);
                KS_T(ks_write_innovation)(s, k, w.xp, w.Pp, m, H, R, d, y, w.v, NULL, to,
                                           w.work);
            }
            tally->ordinary += 1;
        } else {
            const int bad = KS_T(ks_array_update)(nx, m, H, R, d, y, w.xp, w.Pp, x, C, w.S, w.v,
                                                  NULL, w.work);
            if (bad >= 0) {
                tally->bad_step = k;
                tally->bad_row = bad;
                tally->bad_array = KS_ARRAY_INNOVATION_COV;
                tally->fault = KS_FAULT_NOT_POSITIVE;
                return -1;
            }
            for (int i = 0; i < m; ++i) {
                const double pivot = (double)w.S[i * m + i];
                KS_T(ks_gather_pivot)(evidence, pivot * pivot, (double)(w.v[i] * w.v[i]));
            }
            if (want_innovation)
                KS_T(ks_write_innovation)(s, k, w.xp, NULL, m, H, R, d, y, w.v, w.S, to, w.work);
            KS_T(ks_leave_array)(nx, m, R, w.S, state, w.work);
            tally->array += 1;
        }
        if (!KS_T(ks_finite)(nx, x, C)) {
            tally->bad_step = k;
            tally->bad_row = 0;
            tally->bad_array = KS_ARRAY_ESTIMATE;
            tally->fault = KS_FAULT_NOT_FINITE;
            return -1;
        }
        if (to->loglik_terms.base) {
            const double value = KS_T(ks_evidence_loglik)(&term);
            *(double *)ks_slot_of(to->loglik_terms, k) = value;
            tally->loglik += value;
        }
        if (to->filtered_mean.base)
            KS_T(ks_copy)(nx, x, (KS_NUM *)ks_slot_of(to->filtered_mean, k));
        KS_T(ks_write_cov)(nx, state->form, C, to->filtered_cov, to->filtered_var, k, w.work);
        if (to->kept_mean.base) {
            KS_T(ks_copy)(nx, x, (KS_NUM *)ks_slot_of(to->kept_mean, k));
            KS_T(ks_copy)(nx * nx, C, (KS_NUM *)ks_slot_of(to->kept_C, k));
            to->form[k - to->form_first] = (unsigned char)state->form;
        }
    }
    if (!to->loglik_terms.base) tally->loglik += KS_T(ks_evidence_loglik)(&sum);
    return 0;
}

/** From filtered `from` of step k and smoothed `state` of step k + 1 to smoothed `state` of step k
 *  (from's arrays are scratch afterwards); ET out. k = -1: from is the prior. */
KS_HD void KS_T(ks_step_back)(int nx, const ks_series *s, int64_t k, const KS_T(ks_scratch) *w,
                              ks_state *from, ks_state *state, ks_tally *tally)
{
    const KS_NUM *F = (const KS_NUM *)ks_row(s->F, k + 1 - s->shift);
    const KS_NUM *Q = (const KS_NUM *)ks_row(s->Q, k + 1 - s->shift);
    const KS_NUM *u = (const KS_NUM *)ks_row(s->u, k + 1 - s->shift);
    KS_NUM *x = (KS_NUM *)state->x, *C = (KS_NUM *)state->C;
    const KS_NUM *fx = (const KS_NUM *)from->x, *fC = (const KS_NUM *)from->C;
    if (from->form == KS_FORM_ORDINARY && state->form == KS_FORM_ORDINARY &&
        KS_ALL(KS_T(ks_smooth_back)(nx, F, Q, u, fx, fC, x, C, w->xn, w->Pn, w->ET, w->work))) {
        KS_T(ks_copy)(nx, w->xn, x);
        KS_T(ks_copy)(nx * nx, w->Pn, C);
        tally->ordinary += 1;
        return;
    }
    if (from->form == KS_FORM_ORDINARY) KS_T(ks_to_array)(nx, from, w->work);
    if (state->form == KS_FORM_ORDINARY) KS_T(ks_to_array)(nx, state, w->work);
    KS_T(ks_array_back)(nx, F, Q, u, fx, fC, x, C, w->xn, w->Pn, w->ET, w->work);
    KS_T(ks_copy)(nx, w->xn, x);
    KS_T(ks_copy)(nx * nx, w->Pn, C);
    KS_T(ks_leave_array)(nx, 0, NULL, NULL, state, w->work);
    tally->array += 1;
}

/** Cov(x[k+1], x[k] | y) = Ps[k+1] Eᵀ, from the smoothed covariance Ps of step k + 1. */
KS_HD void KS_T(ks_write_lag_one)(int nx, const KS_NUM *Ps, const KS_NUM *ET, ks_sink to,
                                  int64_t k_next)
{
    KS_T(ks_mm)(nx, nx, nx, Ps, ET, (KS_NUM *)ks_slot_of(to, k_next));
}

/** Steps k1 - 1 down to k0 of the smoother; `state` holds the smoothed estimate of step k1 and
 *  leaves with that of k0. For k1 = T the range starts from the filtered estimate of T - 1.
 *  kept holds what the filter kept of steps k0 .. k1 - 1, and may be the very memory that the
 *  smoothed results go to. */
KS_HD int KS_T(ks_smooth_steps)(int nx, const ks_series *s, int64_t k0, int64_t k1,
                                ks_state *state, const ks_forward_sinks *kept,
                                const ks_backward_sinks *to, void *memory, ks_tally *tally)
{
    KS_T(ks_scratch) w = KS_T(ks_lay_out)(nx, s->ny, memory);
    KS_NUM *x = (KS_NUM *)state->x, *C = (KS_NUM *)state->C;
    /* The filtered estimate is read into the place of the prediction, which no backward step
     * uses; Ps of the step before is kept in full for the lag-one covariance. */
    ks_state from;
    from.x = w.xp;
    from.C = w.Pp;
    KS_NUM *next = w.work, *work = w.work + nx * nx;
    KS_T(ks_scratch) inner = w;
    inner.work = work;
    for (int64_t k = k1 - 1; k >= k0; --k) {
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
            KS_T(ks_step_back)(nx, s, k, &inner, &from, state, tally);
            if (to->lag_one_cov.base)
                KS_T(ks_write_lag_one)(nx, next, w.ET, to->lag_one_cov, k + 1);
        }
        if (!KS_T(ks_finite)(nx, x, C)) {
            tally->bad_step = k;
            tally->bad_row = 0;
            tally->bad_array = KS_ARRAY_ESTIMATE;
            tally->fault = KS_FAULT_NOT_FINITE;
            return -1;
        }
        if (to->smoothed_mean.base)
            KS_T(ks_copy)(nx, x, (KS_NUM *)ks_slot_of(to->smoothed_mean, k));
        KS_T(ks_write_cov)(nx, state->form, C, to->smoothed_cov, to->smoothed_var, k, work);
    }
    return 0;
}

/** The smoothed prior x[-1] from the smoothed `state` of step 0, which leaves as the smoothed
 *  prior; Cov(x[0], x[-1] | y) to row 0 of lag_one where wanted. */
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
    KS_T(ks_step_back)(nx, s, -1, &w, &prior, state, tally);
    if (lag_one.base) KS_T(ks_write_lag_one)(nx, next, w.ET, lag_one, 0);
    if (mean.base) KS_T(ks_copy)(nx, (KS_NUM *)state->x, (KS_NUM *)mean.base);
    const ks_sink none = { NULL, 0, 0 };
    KS_T(ks_write_cov)(nx, state->form, (KS_NUM *)state->C, cov, none, 0, w.work);
}
