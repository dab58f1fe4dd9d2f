/* two_filter_array_text.h -- ranges of steps of the two-filter smoother in the array form, for where information as a
 * sum of squares has lost digits. See two_filter_range_text.h, whose steps these are, and num_f64.h. For scalar
 * numbers; part of kernels_text.h.
 *
 * The information behind a step is kept as data, z = Uᵀ (x - xf) + noise of unit covariance, about the filter's mean
 * xf. A combination of states about which later observations tell little keeps its digits next to others about which
 * they tell much. */

/** Take `behind` from step k to step k - 1; see ks_pull_step(). */
KS_HD_COLD int KS_T(ks_pull_array)(int nx, const ks_series *s, int64_t k, const KS_NUM *before, const KS_NUM *x,
                                   KS_NUM *behind, KS_NUM *xp, void *memory, ks_tally *tally)
{
    const KS_NUM *F = (const KS_NUM *)ks_row(s->F, k - s->shift), *Q = (const KS_NUM *)ks_row(s->Q, k - s->shift);
    const int nn = nx * nx, ny = s->ny;
    KS_NUM *U = behind, *z = U + nn, *A = (KS_NUM *)memory, *b = A + nn, *S = b + nx, *N = S + nn, *v = N + ny * nx;
    KS_NUM *ones = v + ny, *E = ones + ny, *e = E + nn, *LD = e + nx, *inverse_d = LD + nn, *compact = inverse_d + nx;
    KS_NUM *W = compact + ny * nx + ny * ny + 2 * ny;
    int entry = 0;
    const KS_T(ks_observation) o = KS_T(ks_observe)(s, k, compact, &entry);
    if (o.m < 0) return KS_T(ks_step_fault)(k, entry, KS_ARRAY_Y, KS_FAULT_NOT_FINITE, tally);
    KS_T(ks_copy)(nx, (const KS_NUM *)ks_row(s->u, k - s->shift), xp);
    KS_T(ks_mv_add)(nx, nx, F, before, xp);
    const int bad = KS_T(ks_filter_element_roots)(nx, o.m, F, Q, xp, o.H, o.R, o.d, o.y, A, b, S, N, v, W);
    if (bad >= 0) return KS_T(ks_step_fault)(k, bad, KS_ARRAY_ELEMENT_COV, KS_FAULT_NOT_POSITIVE, tally);
    tally->elements += 1;
    for (int i = 0; i < nx; ++i) b[i] = b[i] - x[i];
    for (int i = 0; i < o.m; ++i) ones[i] = KS_LIT(1);
    /* Wide numbers come first, to be aligned. */
    KS_WIDE *last = (KS_WIDE *)(void *)W;
    W = (KS_NUM *)(void *)(last + 2 * nx + ny);
    KS_T(ks_array_retreat)(nx, A, S, b, U, z, E, e, LD, inverse_d, W, last);
    KS_T(ks_array_inform)(nx, o.m, N, ones, v, U, z, W, last);
    return 0;
}

/** Do what ks_meet_in_form() does. W: 7 nx² + 8 nx numbers. */
KS_HD_COLD void KS_T(ks_meet_data)(int nx, const KS_NUM *x, const KS_NUM *C, ks_form form, const KS_NUM *behind,
                                   ks_state *state, KS_NUM *W)
{
    KS_NUM *S = W, *z = S + nx * nx, *pivot = z + nx, *q = pivot + nx, *work = q + nx, *xs = (KS_NUM *)state->x;
    if (form == KS_FORM_ARRAY)
        KS_T(ks_copy)(nx * nx, C, S);
    else
        (void)KS_T(ks_pivoted_factor)(nx, C, S, work);
    for (int i = 0; i < nx; ++i) xs[i] = KS_LIT(0);
    KS_T(ks_array_meet)(nx, behind, behind + nx * nx, xs, S, pivot, q, work);
    for (int i = 0; i < nx; ++i) xs[i] = xs[i] + x[i];
    KS_T(ks_square)(nx, nx, nx, S, (KS_NUM *)state->C);
    state->form = KS_FORM_ORDINARY;
}

/** See ks_kernels.two_filter_back_array. */
KS_HD_COLD int KS_T(ks_two_filter_array)(int nx, const ks_series *s, int64_t k0, int64_t k1, const ks_state *before,
                                         KS_NUM *behind, ks_state *state, const ks_forward_sinks *kept,
                                         const ks_backward_sinks *to, void *memory, ks_tally *tally)
{
    KS_NUM *x = (KS_NUM *)memory, *xp = x + nx, *ET = xp + nx, *work = ET + nx * nx;
    KS_NUM *xs = (KS_NUM *)state->x, *Ps = (KS_NUM *)state->C;
    for (int64_t k = k1 - 1; k >= k0; --k) {
        KS_T(ks_copy)(nx, (const KS_NUM *)ks_slot_of(kept->kept_mean, k), x);
        KS_T(ks_meet_data)(nx, x, (const KS_NUM *)ks_slot_of(kept->kept_C, k),
                           (ks_form)kept->form[k - kept->form_first], behind, state, work);
        if (!KS_T(ks_finite)(nx, xs, Ps))
            return KS_T(ks_step_fault)(k, 0, KS_ARRAY_ESTIMATE, KS_FAULT_NOT_FINITE, tally);
        KS_T(ks_two_filter_put)(nx, s, k, k > k0 || before, k > k0 ? NULL : before, state, kept, to, ET, work);
        if (k == k0 && !before) continue;
        const KS_NUM *xb = (const KS_NUM *)(k > k0 ? ks_slot_of(kept->kept_mean, k - 1) : before->x);
        if (KS_T(ks_pull_array)(nx, s, k, xb, x, behind, xp, work, tally)) return -1;
    }
    return 0;
}
