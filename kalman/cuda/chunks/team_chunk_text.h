/* team_chunk_text.h -- device code: chunks of ordinary steps of a model of any size, a team of threads for each. All
 * numbers of a step are in memory that the team shares: means in KS_NUM, covariances in KS_GAIN; see chunk_step_text.h,
 * num_f64.h, team.h. The steps are the text of step_text.h on team_smallmat_text.h. Chunks that the ordinary form
 * cannot do are left to the kernels for any model. */

/** The unused rest of a team's memory. Numbers in KS_NUM come before those in KS_GAIN. */
struct KS_T(team_room) {
    KS_NUM *means;
    KS_GAIN *covs;
};

enum { KS_T(team_narrows) = sizeof(KS_GAIN) != sizeof(KS_NUM) };

KS_DEVICE KS_T(team_room) KS_T(team_room_for)(ks_team_part part, int n, int m, char *memory)
{
    KS_NUM *const means = reinterpret_cast<KS_NUM *>(memory);
    KS_GAIN *const covs = reinterpret_cast<KS_GAIN *>(means + ks_team_means(part, n, m));
    const KS_T(team_room) room = { means, covs };
    return room;
}

template <class Number> KS_DEVICE Number *KS_T(team_take)(Number **room, int numbers)
{
    Number *const taken = *room;
    *room += numbers;
    return taken;
}

/** Rows of a step, and for each entry of y whether it is present (1 or 0). */
struct KS_T(team_rows) {
    KS_T(ks_chunk_rows) of;
    KS_NUM *there;
};

KS_DEVICE KS_T(team_rows) KS_T(team_carve)(int n, int m, KS_T(team_room) *room)
{
    KS_T(team_rows) r;
    r.of.F = KS_T(team_take)(&room->means, n * n);
    r.of.u = KS_T(team_take)(&room->means, n);
    r.of.H = KS_T(team_take)(&room->means, m * n);
    r.of.d = KS_T(team_take)(&room->means, m);
    r.of.y = KS_T(team_take)(&room->means, m);
    r.there = KS_T(team_take)(&room->means, m);
    r.of.Q = KS_T(team_take)(&room->covs, n * n);
    r.of.R = KS_T(team_take)(&room->covs, m * m);
    /* With one type for both they are the same rows. */
    r.of.narrow_F = KS_T(team_narrows) ? KS_T(team_take)(&room->covs, n * n)
                                       : reinterpret_cast<KS_GAIN *>(r.of.F);
    r.of.narrow_H = KS_T(team_narrows) ? KS_T(team_take)(&room->covs, m * n)
                                       : reinterpret_cast<KS_GAIN *>(r.of.H);
    return r;
}

KS_DEVICE KS_T(ks_chunk_work) KS_T(team_carve_step)(int n, int m, KS_T(team_room) *room)
{
    KS_T(ks_chunk_work) w;
    w.xp = KS_T(team_take)(&room->means, n);
    w.v = KS_T(team_take)(&room->means, m);
    w.S = KS_T(team_take)(&room->covs, m * m);
    w.inverse_d = KS_T(team_take)(&room->covs, m);
    w.Z = KS_T(team_take)(&room->covs, m * n);
    w.Pp = KS_T(team_take)(&room->covs, n * n);
    w.G = KS_T(team_take)(&room->covs, m * n);
    w.W = room->covs;
    return w;
}

/** ks_noise_times_in() of R. Its scratch is S and inverse_d, which the step fills later. */
KS_DEVICE KS_GAIN KS_T(team_times)(int m, const KS_T(team_rows) &r, const KS_T(ks_chunk_work) &w)
{
    return KS_G(ks_noise_times_in)(m, r.of.R, m, w.S, w.inverse_d);
}

/** Load rows or kept estimates of type `From`. The caller synchronizes the team. */
template <class From, class To> KS_DEVICE void KS_T(team_load)(int numbers, const void *row, To *to)
{
    const From *const from = static_cast<const From *>(row);
    KS_TEAM_EACH(i, numbers) to[i] = (To)from[i];
}

template <class To, class Number>
KS_DEVICE void KS_T(team_put)(int numbers, const Number *from, ks_sink to, int64_t k)
{
    if (!to.base) return;
    To *const row = static_cast<To *>(ks_slot_of(to, k));
    KS_TEAM_EACH(i, numbers) row[i] = (To)from[i];
}

KS_DEVICE void KS_T(team_round)(int numbers, const KS_NUM *from, KS_GAIN *to)
{
    if constexpr (KS_T(team_narrows)) {
        KS_TEAM_EACH(i, numbers) to[i] = (KS_GAIN)from[i];
        ks_team_sync();
    }
}

/** Load the transition into step k from rows of type `Row`. Under prior x1 that into step 0 is the identity without
 *  noise. */
template <class Row = KS_NUM, class Rows>
KS_DEVICE void KS_T(team_transition)(const ks_series &s, int64_t k, const Rows &from,
                                     const KS_T(team_rows) &rows)
{
    const KS_T(ks_chunk_rows) &r = rows.of;
    const int n = s.nx;
    const bool still = k == 0 && s.prior_x1;
    ks_team_sync();
    if (still) {
        KS_TEAM_EACH(i, n * n) {
            r.F[i] = KS_LIT(i % (n + 1) == 0);
            r.Q[i] = 0;
        }
        KS_TEAM_EACH(i, n) r.u[i] = KS_LIT(0);
    } else {
        KS_T(team_load)<Row>(n * n, from.F(k), r.F);
        KS_T(team_load)<Row>(n * n, from.Q(k), r.Q);
        KS_T(team_load)<Row>(n, from.u(k), r.u);
    }
    ks_team_sync();
    KS_T(team_round)(n * n, r.F, r.narrow_F);
}

/** Load the observation of step k. A missing entry keeps its place but has no weight. Return false if an entry is
 *  infinite. */
template <class Row = KS_NUM, class Rows>
KS_DEVICE bool KS_T(team_observation)(const ks_series &s, int64_t k, const Rows &from,
                                      const KS_T(team_rows) &rows)
{
    const KS_T(ks_chunk_rows) &r = rows.of;
    const int n = s.nx, m = s.ny;
    const Row *const H = static_cast<const Row *>(from.H(k)), *const R = static_cast<const Row *>(from.R(k));
    KS_NUM *const there = rows.there;
    bool finite = true;
    ks_team_sync();
    KS_T(team_load)<Row>(m, from.y(k), r.y);
    KS_T(team_load)<Row>(m, from.d(k), r.d);
    ks_team_sync();
    for (int i = 0; i < m; ++i)
        if (r.y[i] == r.y[i] && !(r.y[i] - r.y[i] == KS_LIT(0))) finite = false;
    KS_TEAM_EACH(i, m) there[i] = KS_LIT(r.y[i] == r.y[i]);
    ks_team_sync();
    KS_TEAM_EACH(i, m * n) r.H[i] = there[i / n] != KS_LIT(0) ? (KS_NUM)H[i] : KS_LIT(0);
    KS_TEAM_EACH(i, m * m)
        r.R[i] = there[i / m] != KS_LIT(0) && there[i % m] != KS_LIT(0) ? (KS_GAIN)R[i]
                                                                        : (KS_GAIN)(i % (m + 1) == 0);
    KS_TEAM_EACH(i, m)
        if (there[i] == KS_LIT(0)) r.y[i] = r.d[i] = KS_LIT(0);
    ks_team_sync();
    KS_T(team_round)(m * n, r.H, r.narrow_H);
    return finite;
}

/** Whether an estimate is finite in types Mean and Cov. */
template <class Mean = KS_NUM, class Cov = KS_GAIN>
KS_DEVICE bool KS_T(team_finite)(int n, const KS_NUM *x, const KS_GAIN *P)
{
    Mean means = 0;
    Cov variances = 0;
    for (int i = 0; i < n; ++i) {
        const Mean mean = (Mean)x[i];
        const Cov variance = (Cov)P[i * n + i];
        means = means + (mean - mean);
        variances = variances + (variance - variance);
    }
    return means == 0 && variances == 0;
}

KS_DEVICE bool KS_T(team_conditioned)(int n, const KS_NUM *P, KS_NUM *W)
{
    KS_T(ks_copy)(n * n, P, W);
    return KS_T(ks_ldl)(n, 1 / KS_GROWTH, W, W + n * n);
}

/** Make the aggregate of a chunk from rows of type `Row`. Return false if the chunk is left to another kernel. */
template <class Row = KS_NUM, class Rows>
KS_DEVICE bool KS_T(team_absorb)(const ks_chunk_arrays &c, Rows &from, int64_t chunk, char *memory)
{
    const ks_series &s = c.a.series;
    const int n = s.nx, m = s.ny, half = n * (n + 1) / 2;
    const int64_t first = chunk * c.size, last = first + c.size;
    const int64_t end = last < s.steps ? last : s.steps;
    KS_T(team_room) room = KS_T(team_room_for)(KS_TEAM_ABSORB, n, m, memory);
    const KS_T(team_rows) r = KS_T(team_carve)(n, m, &room);
    KS_NUM *const A = KS_T(team_take)(&room.means, n * n), *const J = KS_T(team_take)(&room.means, n * n);
    KS_NUM *const b = KS_T(team_take)(&room.means, n), *const eta = KS_T(team_take)(&room.means, n);
    KS_GAIN *const C = KS_T(team_take)(&room.covs, n * n);
    const KS_T(ks_chunk_work) work = KS_T(team_carve_step)(n, m, &room);
    const Row *const m0 = static_cast<const Row *>(s.m0), *const P0 = static_cast<const Row *>(s.P0);
    bool good = true;
    ks_team_sync();
    /* A = 0 in the first chunk: there is nothing before the prior. */
    KS_TEAM_EACH(i, n * n) {
        A[i] = KS_LIT(chunk > 0 && i % (n + 1) == 0);
        C[i] = chunk > 0 ? 0 : (KS_GAIN)P0[i];
        J[i] = KS_LIT(0);
    }
    KS_TEAM_EACH(i, n) {
        b[i] = chunk > 0 ? KS_LIT(0) : (KS_NUM)m0[i];
        eta[i] = KS_LIT(0);
    }
    from.begin(first, end - first);
    for (int64_t k = first; k < end && good; ++k) {
        from.turn(k - first);
        KS_T(team_transition)<Row>(s, k, from, r);
        good = KS_T(team_observation)<Row>(s, k, from, r) &&
               KS_T(ks_sensitive_step)(n, m, &r.of, KS_T(team_times)(m, r, work), A, b, C, eta, J, &work, room.means);
    }
    good = good && KS_T(team_finite)(n, b, C);
    double *const to = static_cast<double *>(c.a.elements) + chunk * ks_filter_element_size(n);
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

/** Convert an estimate in double to these types. Return false if it does not fit. */
KS_DEVICE bool KS_T(team_narrow)(int n, const double *from, KS_NUM *x, KS_GAIN *P)
{
    ks_team_sync();
    KS_TEAM_EACH(i, n) x[i] = (KS_NUM)from[i];
    KS_TEAM_EACH(i, n * n) P[i] = (KS_GAIN)from[n + i];
    ks_team_sync();
    return KS_T(team_finite)(n, x, P);
}

template <class Mean = KS_NUM, class Cov = KS_GAIN>
KS_DEVICE void KS_T(team_put_estimate)(int n, const KS_NUM *x, const KS_GAIN *P, ks_sink mean,
                                       ks_sink cov, ks_sink var, int64_t k)
{
    KS_T(team_put)<Mean>(n, x, mean, k);
    KS_T(team_put)<Cov>(n * n, P, cov, k);
    if (!var.base) return;
    Cov *const diagonal = static_cast<Cov *>(ks_slot_of(var, k));
    KS_TEAM_EACH(i, n) diagonal[i] = (Cov)P[i * n + i];
}

/** Store the estimate at the end of a pass over a chunk in c.first or c.end. */
template <class Cov> KS_DEVICE void KS_T(team_put_border)(int n, double *border, int64_t chunk, const KS_NUM *x, const Cov *P)
{
    double *const to = border + chunk * (n + n * n);
    KS_TEAM_EACH(i, n) to[i] = (double)x[i];
    KS_TEAM_EACH(i, n * n) to[n + i] = (double)P[i];
}

/** Add the whitened innovations of a step, with their factors, to the evidence. Return how many entries are missing. */
KS_DEVICE int KS_T(team_gather)(int m, const KS_T(team_rows) &r, const KS_T(ks_chunk_work) &work, ks_evidence *evidence)
{
    int missing = 0;
    for (int i = 0; i < m; ++i)
        if (r.there[i] != KS_LIT(0))
            ks_gather_pivot(evidence, (double)work.S[i * m + i],
                            (double)(work.v[i] * work.v[i] * (KS_NUM)work.inverse_d[i]));
        else missing += 1;
    return missing;
}

/** Filter the steps of a chunk. All threads get the same tally. */
template <class Rows>
KS_DEVICE bool KS_T(team_rerun)(const ks_chunk_arrays &c, Rows &from, int64_t chunk, char *memory,
                                ks_tally *tally)
{
    const ks_series &s = c.a.series;
    const int n = s.nx, m = s.ny;
    const int64_t first = chunk * c.size, last = first + c.size;
    const int64_t end = last < s.steps ? last : s.steps;
    const ks_sink nowhere = { NULL, 0, 0 };
    KS_T(team_room) room = KS_T(team_room_for)(KS_TEAM_FILTER, n, m, memory);
    const KS_T(team_rows) r = KS_T(team_carve)(n, m, &room);
    KS_NUM *const x = KS_T(team_take)(&room.means, n);
    KS_GAIN *const P = KS_T(team_take)(&room.covs, n * n);
    const KS_T(ks_chunk_work) work = KS_T(team_carve_step)(n, m, &room);
    ks_team_sync();
    if (chunk == 0) {
        KS_T(team_load)<KS_NUM>(n, s.m0, x);
        KS_T(team_load)<KS_NUM>(n * n, s.P0, P);
        ks_team_sync();
    } else if (!KS_T(team_narrow)(n, c.before + chunk * (n + n * n), x, P)) {
        return false;
    }
    if (!KS_G(team_conditioned)(n, P, work.W)) return false;
    from.begin(first, end - first);
    for (int64_t k = first; k < end; ++k) {
        from.turn(k - first);
        KS_T(team_transition)(s, k, from, r);
        if (!KS_T(team_observation)(s, k, from, r) ||
            (KS_IS_LOOKED_AT(k) && !KS_G(team_conditioned)(n, P, work.W)))
            return false;
        if (!KS_T(ks_chunk_filter)(n, m, &r.of, KS_T(team_times)(m, r, work), x, P, &work)) return false;
        tally->missing += KS_T(team_gather)(m, r, work, &tally->evidence);
        if (c.a.to.loglik_terms.base && ks_team_lane() == 0) {
            ks_evidence term = ks_evidence_start();
            (void)KS_T(team_gather)(m, r, work, &term);
            *static_cast<double *>(ks_slot_of(c.a.to.loglik_terms, k)) = ks_evidence_loglik(&term);
        }
        if (!KS_T(team_finite)(n, x, P) || !isfinite(tally->evidence.quadratic)) return false;
        KS_T(team_put_estimate)(n, x, P, c.a.to.filtered_mean, c.a.to.filtered_cov,
                                c.a.to.filtered_var, k);
        if (!c.smooths) continue;
        KS_T(team_put_estimate)(n, x, P, c.kept_mean, c.kept_C, nowhere, k);
        if (ks_team_lane() == 0) c.form[k] = KS_FORM_ORDINARY;
    }
    ks_team_sync();
    if (!KS_G(team_conditioned)(n, P, work.W)) return false;
    tally->ordinary += end - first;
    if (ks_team_lane() == 0) c.a.loglik_terms[chunk] = ks_evidence_loglik(&tally->evidence);
    KS_T(team_put_border)(n, c.end, chunk, x, P);
    return true;
}

/** Smooth the steps of a chunk that has been filtered. */
template <class Rows>
KS_DEVICE bool KS_T(team_smooth)(const ks_chunk_arrays &c, Rows &from, int64_t chunk, char *memory)
{
    const ks_series &s = c.a.series;
    const int n = s.nx, m = s.ny;
    const int64_t first = chunk * c.size, last = first + c.size;
    const int64_t end = last < s.steps ? last : s.steps, all = n + n * n;
    const ks_backward_sinks &back = c.a.back;
    KS_T(team_room) room = KS_T(team_room_for)(KS_TEAM_SMOOTH, n, m, memory);
    const KS_T(team_rows) r = KS_T(team_carve)(n, m, &room);
    KS_NUM *const x = KS_T(team_take)(&room.means, n), *const fx = KS_T(team_take)(&room.means, n);
    KS_NUM *const t = KS_T(team_take)(&room.means, n);
    KS_GAIN *const P = KS_T(team_take)(&room.covs, n * n), *const fP = KS_T(team_take)(&room.covs, n * n);
    KS_GAIN *const Pn = KS_T(team_take)(&room.covs, n * n), *const ET = KS_T(team_take)(&room.covs, n * n);
    KS_GAIN *const Pp = KS_T(team_take)(&room.covs, n * n), *const W = room.covs;
    ks_team_sync();
    if (end < s.steps) {
        if (!KS_T(team_narrow)(n, c.last + chunk * all, x, P)) return false;
    } else {
        KS_T(team_load)<KS_NUM>(n, ks_slot_of(c.kept_mean, end - 1), x);
        KS_T(team_load)<KS_GAIN>(n * n, ks_slot_of(c.kept_C, end - 1), P);
        ks_team_sync();
    }
    KS_T(team_put_estimate)(n, x, P, back.smoothed_mean, back.smoothed_cov, back.smoothed_var, end - 1);
    from.begin(first, end - 1 - first);
    for (int64_t k = end - 2; k >= first; --k) {
        from.turn(k - first);
        KS_T(team_transition)(s, k + 1, from, r);
        KS_T(team_load)<KS_NUM>(n, from.mean(k), fx);
        KS_T(team_load)<KS_GAIN>(n * n, from.cov(k), fP);
        ks_team_sync();
        if (!KS_T(ks_chunk_smooth)(n, &r.of, fx, fP, x, P, Pn, ET, Pp, W, t)) return false;
        if (back.lag_one_cov.base) {
            KS_G(ks_mm)(n, n, n, P, ET, W);
            KS_T(team_put)<KS_GAIN>(n * n, W, back.lag_one_cov, k + 1);
        }
        KS_G(ks_copy)(n * n, Pn, P);
        if (!KS_T(team_finite)(n, x, P)) return false;
        KS_T(team_put_estimate)(n, x, P, back.smoothed_mean, back.smoothed_cov, back.smoothed_var, k);
    }
    KS_T(team_put_border)(n, c.first, chunk, x, P);
    return true;
}
