/* map_review_team_text.h -- device code: residuals, gradient and judgement of the MAP estimate by a team of threads,
 * which also stores its results. See map_text.h and map_team_text.h. */

/** State that a review carries from step to step. */
struct KS_T(map_reviewed) {
    KS_NUM *x, *last, *S, *gradient, *diagonal, *turned, *sums;
    double trace;
};

KS_DEVICE KS_T(map_reviewed) KS_T(map_carve_review)(int n, KS_NUM **room)
{
    KS_T(map_reviewed) v;
    v.x = KS_T(map_take)(room, n);
    v.last = KS_T(map_take)(room, n);
    v.S = KS_T(map_take)(room, n * n);
    v.gradient = KS_T(map_take)(room, n);
    v.diagonal = KS_T(map_take)(room, n);
    v.turned = KS_T(map_take)(room, n);
    v.sums = KS_T(map_take)(room, ks_team_lanes());
    v.trace = 0;
    return v;
}

KS_DEVICE void KS_T(map_nothing_found)(ks_map_found *f)
{
    f->quadratic = f->logs = f->loss = f->inflation = f->gradient = 0;
    f->lost_step = 0;
    f->bad_step = -1;
}

/** Store the results of step k that are not computed in the outputs. */
KS_DEVICE void KS_T(map_put_step)(const ks_map_arrays &m, int64_t k, const KS_T(map_reviewed) &v)
{
    const ks_backward_sinks &to = m.a.back;
    const int n = KS_STATES(m.a.series.nx);
    const bool single = m.a.single;
    if (to.smoothed_mean.base != m.x.base) KS_T(map_put)(single, n, v.x, to.smoothed_mean, k);
    if (to.smoothed_cov.base != m.S.base) KS_T(map_put)(single, n * n, v.S, to.smoothed_cov, k);
    if (to.smoothed_var.base) {
        ks_team_sync();
        KS_TEAM_EACH(i, n) v.turned[i] = v.S[i * n + i];
        ks_team_sync();
        KS_T(map_put)(single, n, v.turned, to.smoothed_var, k);
        ks_team_sync();
    }
    if (k > 0 && single)
        KS_T(map_put)(single, n * n, static_cast<const KS_NUM *>(ks_slot_of(m.lag, k)), to.lag_one_cov, k);
}

/** Judge step k, whose gradient, diagonal and trace are complete. */
KS_DEVICE void KS_T(map_judge)(const ks_map_args &g, int64_t k, const KS_T(map_reviewed) &v,
                               ks_map_found *f)
{
    const ks_map_arrays &m = g.m;
    const int n = KS_STATES(m.a.series.nx), probes = m.probes;
    double loss = g.probing ? 0 : KS_T(ks_map_trace_known)(n, v.trace), inflation = 0, steepness = 0;
    bool finite = true;
    KS_T(ks_map_zero)(n, v.turned);
    KS_T(ks_mtv_add)(n, n, v.S, v.gradient, v.turned);
    for (int i = 0; i < n; ++i) {
        const double variance = (double)v.S[i * n + i];
        steepness += (double)v.gradient[i] * (double)v.turned[i];
        finite = finite && fabs((double)v.last[i]) <= m.largest && variance <= m.largest;
        inflation += (double)v.diagonal[i] * variance;
        if (!g.probing) continue;
        const double *const z = m.z + k * m.z_step + i * m.z_entry;
        double square = 0;
        for (int p = 0; p < probes; ++p) square += z[p * m.z_probe] * z[p * m.z_probe] / probes;
        KS_T(ks_map_largest)((double)v.diagonal[i] * variance, &loss);
        KS_T(ks_map_largest)(square / variance, &loss);
    }
    KS_TEAM_EACH(i, n) {
        m.gradient[k * n + i] = v.gradient[i];
        m.diagonal[k * n + i] = v.diagonal[i];
    }
    if (!(loss <= f->loss)) {
        f->loss = loss == loss ? loss : (double)INFINITY;
        f->lost_step = k;
    }
    KS_T(ks_map_largest)(inflation, &f->inflation);
    KS_T(ks_map_largest)(steepness, &f->gradient);
    if (!finite && f->bad_step < 0) f->bad_step = k;
    ks_team_sync();
}

/** Return trace(A S) of symmetric A and v.S. */
KS_DEVICE double KS_T(map_trace)(int n, const KS_NUM *A, const KS_T(map_reviewed) &v)
{
    KS_NUM mine = KS_LIT(0);
    KS_TEAM_EACH(i, n * n) mine = mine + A[i] * v.S[i];
    return (double)KS_T(map_team_sum)(mine, v.sums);
}

/** Compute the residual of the transition into step k. Its term of the gradient of step k goes to t.scaled. With
 *  `before`, its term of the gradient of step k - 1 is added to v.gradient. With `own`, it counts for the
 *  log-likelihood. */
KS_DEVICE void KS_T(map_review_transition)(const ks_map_args &g, int64_t k, bool own, bool before,
                                           const KS_T(map_step) &t, const KS_T(map_reviewed) &v,
                                           ks_evidence *e)
{
    const int n = KS_STATES(g.m.a.series.nx);
    KS_NUM *const q = t.scaled;
    KS_T(ks_difference)(n, v.x, t.u, q);
    if (k > 0) KS_T(ks_mv_sub)(n, n, t.F, v.last, q);
    KS_T(ks_ldl_forward)(n, 1, t.LD, q);
    for (int i = 0; i < n && own; ++i)
        ks_gather_factor(e, (double)t.LD[i * n + i], (double)(q[i] * q[i] * t.inverse_d[i]));
    KS_T(ks_ldl_backward)(n, 1, t.LD, t.inverse_d, q);
    if (before) KS_T(ks_mtv_sub)(n, n, t.F, q, v.gradient);
}

/** Compute the residual of the observation of step k and add its term to v.gradient. */
KS_DEVICE void KS_T(map_review_observation)(int n, int m, bool diagonal, const KS_T(map_step) &t,
                                            const KS_T(map_reviewed) &v, ks_evidence *e)
{
    KS_NUM *const d = t.d;
    KS_T(ks_copy)(m, t.y, d);
    KS_T(ks_mv_sub)(m, n, t.H, v.x, d);
    if (!diagonal) KS_T(ks_ldl_forward)(m, 1, t.LR, d);
    for (int i = 0; i < m; ++i)
        if (t.there[i] != KS_LIT(0))
            ks_gather_factor(e, (double)t.LR[i * m + i], (double)(d[i] * d[i] * t.inverse_r[i]));
    KS_T(ks_mtv_sub)(m, n, t.sH, d, v.gradient);
}

/** Review the steps of a piece. Returns false on a fault. */
KS_DEVICE bool KS_T(map_review)(const ks_map_args &g, int64_t piece, KS_NUM *room, KS_NUM *far,
                                ks_tally *tally)
{
    const ks_map_arrays &m = g.m;
    const int64_t T = m.a.series.steps, first = piece * g.size, end = KS_T(map_end)(g, piece);
    const int n = KS_STATES(m.a.series.nx), ny = KS_ENTRIES(m.a.series.ny);
    const KS_T(map_step) t = KS_T(map_carve_step)(n, ny, &room, &room);
    KS_T(map_reviewed) v = KS_T(map_carve_review)(n, KS_REST(room, far));
    ks_evidence e = ks_evidence_start();
    ks_map_found f;
    bool diagonal = false;
    KS_T(map_nothing_found)(&f);
    for (int64_t k = first; k <= end && k < T; ++k) {
        const bool own = k < end, before = k > first;
        if (!KS_T(map_transition)(m, k, t, tally)) return false;
        KS_T(map_load)(false, n, ks_slot_of(m.x, k), v.x);
        if (k > 0) KS_T(map_load)(false, n, ks_slot_of(m.x, k - 1), v.last);
        KS_T(map_review_transition)(g, k, own, before, t, v, &e);
        if (before) {
            KS_TEAM_EACH(i, n) v.diagonal[i] = v.diagonal[i] + t.range.a[i * n + i];
            v.trace += KS_T(map_trace)(n, t.range.a, v);
            KS_T(map_judge)(g, k - 1, v, &f);
        }
        if (!own) break;
        const int seen = KS_T(map_observation)(m, k, t, tally, &diagonal);
        if (seen < 0) return false;
        KS_T(map_load)(false, n * n, ks_slot_of(m.S, k), v.S);
        KS_T(ks_copy)(n, t.scaled, v.gradient);
        KS_T(ks_copy)(n, v.x, v.last);
        KS_TEAM_EACH(i, n) v.diagonal[i] = t.range.b[i * n + i];
        v.trace = KS_T(map_trace)(n, t.range.b, v);
        if (seen > 0) KS_T(map_review_observation)(n, ny, diagonal, t, v, &e);
        KS_T(map_put_step)(m, k, v);
        if (k == T - 1) KS_T(map_judge)(g, k, v, &f);
    }
    f.quadratic = e.quadratic;
    f.logs = e.logs + log(e.product);
    if (ks_team_lane() == 0) g.found[piece] = f;
    return true;
}
