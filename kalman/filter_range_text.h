/* filter_range_text.h -- ranges of filter steps with the estimate carried in and out: streaming,
 * chunks, checkpoints and batches are made of these; see num_f64.h. For scalar numbers. */

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

/** Innovation outputs of step k: the residual of every entry present, its covariance, from its
 *  square root Se where there is one and from the prediction Pp otherwise, and the residual whitened
 *  by a Cholesky factor; NaN where missing. */
KS_HD_COLD void KS_T(ks_write_innovation)(const ks_series *s, int64_t k, const KS_NUM *xp,
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

/* One to three observed entries are what most models have: with a literal number of states they
 * are compiled as literals too. Measured: 122 to 87 ns for a filter step at (4, 2). */
#define KS_WITH_LITERAL_ENTRIES(nx, m, CALL)                                                \
    if (__builtin_constant_p(nx) && (m) == 1) {                                             \
        CALL(1);                                                                            \
    } else if (__builtin_constant_p(nx) && (m) == 2) {                                      \
        CALL(2);                                                                            \
    } else if (__builtin_constant_p(nx) && (m) == 3) {                                      \
        CALL(3);                                                                            \
    } else {                                                                                \
        CALL(m);                                                                            \
    }

/** Predict step k to w->xp and w->Pp and whiten its innovation, in the form that the step needs:
 *  on return state->form says which. */
KS_HD void KS_T(ks_predict_in_form)(int nx, const ks_series *s, int64_t k,
                                    const KS_T(ks_observation) *o, ks_state *state,
                                    const KS_T(ks_scratch) *w)
{
    if (state->form == KS_FORM_ORDINARY && k % KS_LOOK == KS_LOOK - 1 &&
        !KS_T(ks_well_conditioned)(nx, (const KS_NUM *)state->C, w->work))
        KS_T(ks_to_array)(nx, state, w->work);
    KS_T(ks_step_predict)(nx, s, k, state, w->xp, w->Pp, w->work);
    if (state->form == KS_FORM_ARRAY || o->m == 0) return;
    int ordinary = 0;
#define CALL(m)                                                                             \
    ordinary = KS_ALL(KS_T(ks_innovation)(nx, m, o->H, o->R, o->d, o->y, w->xp, w->Pp, w->G, w->S, \
                                          w->inverse_d, w->v, w->work))
    KS_WITH_LITERAL_ENTRIES(nx, o->m, CALL)
#undef CALL
    if (ordinary) return;
    KS_T(ks_to_array)(nx, state, w->work);
    KS_T(ks_step_predict)(nx, s, k, state, w->xp, w->Pp, w->work);
}

/** The update in the ordinary form: posterior to `state`, innovation to the evidence, and, where
 *  asked for, to the outputs. */
KS_HD void KS_T(ks_update_ordinary)(int nx, const ks_series *s, int64_t k,
                                    const KS_T(ks_observation) *o, ks_state *state,
                                    const KS_T(ks_scratch) *w, KS_T(ks_evidence) *evidence,
                                    const ks_forward_sinks *to, int want_innovation)
{
#define CALL(m)                                                                             \
    KS_T(ks_posterior)(nx, m, w->G, w->inverse_d, w->v, w->xp, w->Pp, (KS_NUM *)state->x,   \
                       (KS_NUM *)state->C, w->Z)
    KS_WITH_LITERAL_ENTRIES(nx, o->m, CALL)
#undef CALL
    for (int i = 0; i < o->m; ++i)
        KS_T(ks_gather_pivot)(evidence, (double)w->S[i * o->m + i],
                              (double)(w->v[i] * w->v[i] * w->inverse_d[i]));
    if (!want_innovation) return;
    for (int i = 0; i < o->m; ++i) w->v[i] = w->v[i] * KS_SQRT(w->inverse_d[i]);
    KS_T(ks_write_innovation)(s, k, w->xp, w->Pp, o, w->v, NULL, to, w->work);
}

/** The same in the array form. Returns -1, or the entry at which the innovation covariance is
 *  singular. */
KS_HD int KS_T(ks_update_array)(int nx, const ks_series *s, int64_t k,
                                const KS_T(ks_observation) *o, ks_state *state,
                                const KS_T(ks_scratch) *w, KS_T(ks_evidence) *evidence,
                                const ks_forward_sinks *to, int want_innovation)
{
    const int bad = KS_T(ks_array_update)(nx, o->m, o->H, o->R, o->d, o->y, w->xp, w->Pp,
                                          (KS_NUM *)state->x, (KS_NUM *)state->C, w->S, w->v, NULL,
                                          w->work);
    if (bad >= 0) return bad;
    for (int i = 0; i < o->m; ++i) {
        const double pivot = (double)w->S[i * o->m + i];
        KS_T(ks_gather_pivot)(evidence, pivot * pivot, (double)(w->v[i] * w->v[i]));
    }
    if (want_innovation)
        KS_T(ks_write_innovation)(s, k, w->xp, NULL, o, w->v, w->S, to, w->work);
    KS_T(ks_leave_array)(nx, o->m, o->R, w->S, state, w->work);
    return -1;
}

/** What the filter puts out of its estimate of step k, and what it keeps for the backward pass. */
KS_HD void KS_T(ks_write_filtered)(int nx, int64_t k, const ks_state *state,
                                   const ks_forward_sinks *to, KS_NUM *W)
{
    const KS_NUM *x = (const KS_NUM *)state->x, *C = (const KS_NUM *)state->C;
    if (to->filtered_mean.base)
        KS_T(ks_copy)(nx, x, (KS_NUM *)ks_slot_of(to->filtered_mean, k));
    KS_T(ks_write_cov)(nx, state->form, C, to->filtered_cov, to->filtered_var, k, W);
    if (!to->kept_mean.base) return;
    KS_T(ks_copy)(nx, x, (KS_NUM *)ks_slot_of(to->kept_mean, k));
    KS_T(ks_copy)(nx * nx, C, (KS_NUM *)ks_slot_of(to->kept_C, k));
    to->form[k - to->form_first] = (unsigned char)state->form;
}

/** Steps k0 .. k1 - 1 of the filter with literal or run-time nx. Returns 0, or -1 with the fault in
 *  the tally. */
KS_HD int KS_T(ks_filter_steps)(int nx, const ks_series *s, int64_t k0, int64_t k1,
                                ks_state *state, const ks_forward_sinks *to, void *memory,
                                ks_tally *tally)
{
    const int want_innovation =
        to->innovation.base || to->innovation_cov.base || to->innovation_std.base;
    const KS_T(ks_scratch) w = KS_T(ks_lay_out)(nx, s->ny, memory);
    KS_T(ks_evidence) sum = { 0, 1, 0, 0 };
    for (int64_t k = k0; k < k1; ++k) {
        int entry = 0;
        const KS_T(ks_observation) o = KS_T(ks_observe)(s, k, w.compact, &entry);
        if (o.m < 0)
            return KS_T(ks_step_fault)(k, entry, KS_ARRAY_Y, KS_FAULT_NOT_FINITE, tally);
        tally->missing += s->ny - o.m;
        KS_T(ks_predict_in_form)(nx, s, k, &o, state, &w);
        const ks_form form = state->form;
        if (to->predicted_mean.base)
            KS_T(ks_copy)(nx, w.xp, (KS_NUM *)ks_slot_of(to->predicted_mean, k));
        if (form == KS_FORM_ORDINARY && (to->predicted_cov.base || want_innovation))
            KS_T(ks_mirror)(nx, w.Pp);
        KS_T(ks_write_cov)(nx, form, w.Pp, to->predicted_cov, to->predicted_var, k, w.work);
        KS_T(ks_evidence) term = { 0, 1, 0, 0 };
        KS_T(ks_evidence) *evidence = to->loglik_terms.base ? &term : &sum;
        if (form == KS_FORM_ORDINARY) {
            KS_T(ks_update_ordinary)(nx, s, k, &o, state, &w, evidence, to, want_innovation);
            tally->ordinary += 1;
        } else {
            const int bad = KS_T(ks_update_array)(nx, s, k, &o, state, &w, evidence, to,
                                                  want_innovation);
            if (bad >= 0)
                return KS_T(ks_step_fault)(k, bad, KS_ARRAY_INNOVATION_COV,
                                             KS_FAULT_NOT_POSITIVE, tally);
            tally->array += 1;
        }
        if (!KS_T(ks_finite)(nx, (const KS_NUM *)state->x, (const KS_NUM *)state->C) ||
            !isfinite(evidence->quadratic))
            return KS_T(ks_step_fault)(k, 0, KS_ARRAY_ESTIMATE, KS_FAULT_NOT_FINITE, tally);
        if (to->loglik_terms.base) {
            const double value = KS_T(ks_evidence_loglik)(&term);
            *(double *)ks_slot_of(to->loglik_terms, k) = value;
            tally->loglik += value;
        }
        KS_T(ks_write_filtered)(nx, k, state, to, w.work);
    }
    if (!to->loglik_terms.base) tally->loglik += KS_T(ks_evidence_loglik)(&sum);
    return 0;
}
