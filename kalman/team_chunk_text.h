/* team_chunk_text.h -- device code: chunks of ordinary steps of a model of any size, a team of threads for
 * each, everything of a step in memory that the team shares; see num_f64.h, team.h. The steps are the text
 * of step_text.h on team_smallmat_text.h. What cannot be done in the ordinary form is left to the kernels
 * for any model. */

/** Rows of a step, in the team's memory. */
struct KS_T(team_rows) {
    KS_NUM *F, *Q, *u, *H, *R, *d, *y, *there;
};

KS_DEVICE KS_NUM *KS_T(team_take)(KS_NUM **room, int numbers)
{
    KS_NUM *const taken = *room;
    *room += numbers;
    return taken;
}

KS_DEVICE KS_T(team_rows) KS_T(team_carve)(int n, int m, KS_NUM **room)
{
    KS_T(team_rows) r;
    r.F = KS_T(team_take)(room, n * n);
    r.Q = KS_T(team_take)(room, n * n);
    r.u = KS_T(team_take)(room, n);
    r.H = KS_T(team_take)(room, m * n);
    r.R = KS_T(team_take)(room, m * m);
    r.d = KS_T(team_take)(room, m);
    r.y = KS_T(team_take)(room, m);
    r.there = KS_T(team_take)(room, m);
    return r;
}

/** Rows of the series, or results for it; those who call wait for the team. */
KS_DEVICE void KS_T(team_load)(int numbers, const void *row, KS_NUM *to)
{
    const KS_NUM *const from = static_cast<const KS_NUM *>(row);
    KS_TEAM_EACH(i, numbers) to[i] = from[i];
}

KS_DEVICE void KS_T(team_put)(int numbers, const KS_NUM *from, ks_sink to, int64_t k)
{
    if (!to.base) return;
    KS_NUM *const row = static_cast<KS_NUM *>(ks_slot_of(to, k));
    KS_TEAM_EACH(i, numbers) row[i] = from[i];
}

/** The transition into step k; nothing moves before step 0 under prior x1. */
KS_DEVICE void KS_T(team_transition)(const ks_series &s, int64_t k, const KS_T(team_rows) &r)
{
    const int n = s.nx;
    const bool still = k == 0 && s.prior_x1;
    ks_team_sync();
    if (still) {
        KS_TEAM_EACH(i, n * n) {
            r.F[i] = KS_LIT(i % (n + 1) == 0);
            r.Q[i] = KS_LIT(0);
        }
        KS_TEAM_EACH(i, n) r.u[i] = KS_LIT(0);
    } else {
        KS_T(team_load)(n * n, ks_row(s.F, k - s.shift), r.F);
        KS_T(team_load)(n * n, ks_row(s.Q, k - s.shift), r.Q);
        KS_T(team_load)(n, ks_row(s.u, k - s.shift), r.u);
    }
    ks_team_sync();
}

/** What step k observes; a missing entry keeps its place as one that says nothing. False where an entry
 *  is infinite. */
KS_DEVICE bool KS_T(team_observation)(const ks_series &s, int64_t k, const KS_T(team_rows) &r)
{
    const int n = s.nx, m = s.ny;
    const KS_NUM *const H = static_cast<const KS_NUM *>(static_cast<const void *>(ks_row(s.H, k)));
    const KS_NUM *const R = static_cast<const KS_NUM *>(static_cast<const void *>(ks_row(s.R, k)));
    bool finite = true;
    ks_team_sync();
    KS_T(team_load)(m, ks_row(s.y, k), r.y);
    KS_T(team_load)(m, ks_row(s.d, k), r.d);
    ks_team_sync();
    for (int i = 0; i < m; ++i)
        if (r.y[i] == r.y[i] && !(r.y[i] - r.y[i] == KS_LIT(0))) finite = false;
    KS_TEAM_EACH(i, m) r.there[i] = KS_LIT(r.y[i] == r.y[i]);
    ks_team_sync();
    KS_TEAM_EACH(i, m * n) r.H[i] = r.there[i / n] != KS_LIT(0) ? H[i] : KS_LIT(0);
    KS_TEAM_EACH(i, m * m)
        r.R[i] = r.there[i / m] != KS_LIT(0) && r.there[i % m] != KS_LIT(0) ? R[i]
                                                                            : KS_LIT(i % (m + 1) == 0);
    KS_TEAM_EACH(i, m)
        if (r.there[i] == KS_LIT(0)) r.y[i] = r.d[i] = KS_LIT(0);
    ks_team_sync();
    return finite;
}

KS_DEVICE bool KS_T(team_finite)(int n, const KS_NUM *x, const KS_NUM *P)
{
    KS_NUM sum = KS_LIT(0);
    for (int i = 0; i < n; ++i) sum = sum + (x[i] - x[i]) + (P[i * n + i] - P[i * n + i]);
    return sum == KS_LIT(0);
}

KS_DEVICE bool KS_T(team_conditioned)(int n, const KS_NUM *P, KS_NUM *W)
{
    KS_T(ks_copy)(n * n, P, W);
    return KS_T(ks_ldl)(n, 1 / KS_GROWTH, W, W + n * n);
}

/** The aggregate of a chunk. False: it is left to the other kernel. */
KS_DEVICE bool KS_T(team_absorb)(const ks_chunk_arrays &c, int64_t chunk, KS_NUM *room)
{
    const ks_series &s = c.a.series;
    const int n = s.nx, m = s.ny, half = n * (n + 1) / 2;
    const int64_t first = chunk * c.size, last = first + c.size;
    const int64_t end = last < s.steps ? last : s.steps;
    const KS_T(team_rows) r = KS_T(team_carve)(n, m, &room);
    KS_NUM *const A = KS_T(team_take)(&room, n * n), *const C = KS_T(team_take)(&room, n * n);
    KS_NUM *const J = KS_T(team_take)(&room, n * n), *const b = KS_T(team_take)(&room, n);
    KS_NUM *const eta = KS_T(team_take)(&room, n), *const W = room;
    const KS_NUM *const m0 = static_cast<const KS_NUM *>(s.m0), *const P0 = static_cast<const KS_NUM *>(s.P0);
    bool good = true;
    ks_team_sync();
    /* Nothing depends on what is before the prior. */
    KS_TEAM_EACH(i, n * n) {
        A[i] = KS_LIT(chunk > 0 && i % (n + 1) == 0);
        C[i] = chunk > 0 ? KS_LIT(0) : P0[i];
        J[i] = KS_LIT(0);
    }
    KS_TEAM_EACH(i, n) {
        b[i] = chunk > 0 ? KS_LIT(0) : m0[i];
        eta[i] = KS_LIT(0);
    }
    for (int64_t k = first; k < end && good; ++k) {
        KS_T(team_transition)(s, k, r);
        good = KS_T(team_observation)(s, k, r) &&
               KS_T(ks_sensitive_step)(n, m, r.F, r.Q, r.u, r.H, r.R, r.d, r.y, A, b, C, eta, J, W);
    }
    good = good && KS_T(team_finite)(n, b, C);
    double *const to = static_cast<double *>(c.a.elements) + chunk * ks_aggregate_numbers(n);
    KS_TEAM_EACH(i, good ? n * n : 0) {
        const int row = i / n, column = i % n, at = n * n + n + row * (row + 1) / 2 + column;
        to[i] = (double)A[i];
        if (column > row) continue;
        to[at] = (double)C[i];
        to[at + half + n] = (double)J[i];
    }
    KS_TEAM_EACH(i, good ? n : 0) {
        to[n * n + i] = (double)b[i];
        to[n * n + n + half + i] = (double)eta[i];
    }
    ks_team_sync();
    return good;
}

/** An estimate in double. False where it does not fit. */
KS_DEVICE bool KS_T(team_narrow)(int n, const double *from, KS_NUM *x, KS_NUM *P)
{
    ks_team_sync();
    KS_TEAM_EACH(i, n) x[i] = (KS_NUM)from[i];
    KS_TEAM_EACH(i, n * n) P[i] = (KS_NUM)from[n + i];
    ks_team_sync();
    return KS_T(team_finite)(n, x, P);
}

KS_DEVICE void KS_T(team_put_estimate)(int n, const KS_NUM *x, const KS_NUM *P, ks_sink mean,
                                       ks_sink cov, ks_sink var, int64_t k)
{
    KS_T(team_put)(n, x, mean, k);
    KS_T(team_put)(n * n, P, cov, k);
    if (!var.base) return;
    KS_NUM *const diagonal = static_cast<KS_NUM *>(ks_slot_of(var, k));
    KS_TEAM_EACH(i, n) diagonal[i] = P[i * n + i];
}

/** Filter the steps of a chunk. Every thread has the same tally of it. */
KS_DEVICE bool KS_T(team_rerun)(const ks_chunk_arrays &c, int64_t chunk, KS_NUM *room, ks_tally *tally)
{
    const ks_series &s = c.a.series;
    const int n = s.nx, m = s.ny;
    const int64_t first = chunk * c.size, last = first + c.size;
    const int64_t end = last < s.steps ? last : s.steps;
    const ks_sink nowhere = { NULL, 0, 0 };
    const KS_T(team_rows) r = KS_T(team_carve)(n, m, &room);
    KS_NUM *const x = KS_T(team_take)(&room, n), *const P = KS_T(team_take)(&room, n * n);
    KS_NUM *const xp = KS_T(team_take)(&room, n), *const Pp = KS_T(team_take)(&room, n * n);
    KS_NUM *const G = KS_T(team_take)(&room, m * n), *const Z = KS_T(team_take)(&room, m * n);
    KS_NUM *const S = KS_T(team_take)(&room, m * m), *const inverse_d = KS_T(team_take)(&room, m);
    KS_NUM *const v = KS_T(team_take)(&room, m), *const W = room;
    ks_team_sync();
    if (chunk == 0) {
        KS_T(team_load)(n, s.m0, x);
        KS_T(team_load)(n * n, s.P0, P);
        ks_team_sync();
    } else if (!KS_T(team_narrow)(n, c.before + chunk * (n + n * n), x, P)) {
        return false;
    }
    if (!KS_T(team_conditioned)(n, P, W)) return false;
    for (int64_t k = first; k < end; ++k) {
        KS_T(team_transition)(s, k, r);
        if (!KS_T(team_observation)(s, k, r) ||
            (k % KS_LOOK == KS_LOOK - 1 && !KS_T(team_conditioned)(n, P, W)))
            return false;
        KS_T(ks_predict)(n, r.F, r.Q, r.u, x, P, xp, Pp, W);
        if (!KS_T(ks_innovation)(n, m, r.H, r.R, r.d, r.y, xp, Pp, G, S, inverse_d, v, W)) return false;
        KS_T(ks_posterior)(n, m, G, inverse_d, v, xp, Pp, x, P, Z);
        for (int i = 0; i < m; ++i)
            if (r.there[i] != KS_LIT(0))
                ks_gather_pivot(&tally->evidence, (double)S[i * m + i],
                                (double)(v[i] * v[i] * inverse_d[i]));
            else tally->missing += 1;
        if (!KS_T(team_finite)(n, x, P) || !isfinite(tally->evidence.quadratic)) return false;
        KS_T(team_put_estimate)(n, x, P, c.a.to.filtered_mean, c.a.to.filtered_cov,
                                c.a.to.filtered_var, k);
        if (!c.smooths) continue;
        KS_T(team_put_estimate)(n, x, P, c.kept_mean, c.kept_C, nowhere, k);
        if (ks_team_lane() == 0) c.form[k] = KS_FORM_ORDINARY;
    }
    tally->ordinary += end - first;
    if (ks_team_lane() == 0) c.a.loglik_terms[chunk] = ks_evidence_loglik(&tally->evidence);
    return true;
}

/** Smooth the steps of a chunk that has been filtered. */
KS_DEVICE bool KS_T(team_smooth)(const ks_chunk_arrays &c, int64_t chunk, KS_NUM *room)
{
    const ks_series &s = c.a.series;
    const int n = s.nx, m = s.ny;
    const int64_t first = chunk * c.size, last = first + c.size;
    const int64_t end = last < s.steps ? last : s.steps, all = n + n * n;
    const ks_backward_sinks &back = c.a.back;
    const KS_T(team_rows) r = KS_T(team_carve)(n, m, &room);
    KS_NUM *const x = KS_T(team_take)(&room, n), *const P = KS_T(team_take)(&room, n * n);
    KS_NUM *const fx = KS_T(team_take)(&room, n), *const fP = KS_T(team_take)(&room, n * n);
    KS_NUM *const xn = KS_T(team_take)(&room, n), *const Pn = KS_T(team_take)(&room, n * n);
    KS_NUM *const ET = KS_T(team_take)(&room, n * n), *const W = room;
    ks_team_sync();
    if (end < s.steps) {
        if (!KS_T(team_narrow)(n, c.last + chunk * all, x, P)) return false;
    } else {
        KS_T(team_load)(n, ks_slot_of(c.kept_mean, end - 1), x);
        KS_T(team_load)(n * n, ks_slot_of(c.kept_C, end - 1), P);
        ks_team_sync();
    }
    KS_T(team_put_estimate)(n, x, P, back.smoothed_mean, back.smoothed_cov, back.smoothed_var, end - 1);
    for (int64_t k = end - 2; k >= first; --k) {
        KS_T(team_transition)(s, k + 1, r);
        KS_T(team_load)(n, ks_slot_of(c.kept_mean, k), fx);
        KS_T(team_load)(n * n, ks_slot_of(c.kept_C, k), fP);
        ks_team_sync();
        if (!KS_T(ks_smooth_back)(n, r.F, r.Q, r.u, fx, fP, x, P, xn, Pn, ET, W)) return false;
        if (back.lag_one_cov.base) {
            KS_T(ks_mm)(n, n, n, P, ET, W);
            KS_T(team_put)(n * n, W, back.lag_one_cov, k + 1);
        }
        KS_T(ks_copy)(n, xn, x);
        KS_T(ks_copy)(n * n, Pn, P);
        if (!KS_T(team_finite)(n, x, P)) return false;
        KS_T(team_put_estimate)(n, x, P, back.smoothed_mean, back.smoothed_cov, back.smoothed_var, k);
    }
    double *const to = c.first + chunk * all;
    KS_TEAM_EACH(i, n) to[i] = (double)x[i];
    KS_TEAM_EACH(i, n * n) to[n + i] = (double)P[i];
    return true;
}
