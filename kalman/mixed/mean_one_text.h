/* mean_one_text.h -- one series for mean_text.h. */

typedef struct KS_T(ks_mean_lanes) {
    ks_mean_lane *lane;
} KS_T(ks_mean_lanes);

/** Read the mean between steps, or what is kept of step k. */
KS_HD void KS_T(ks_mean_read)(int nx, const KS_T(ks_mean_lanes) *lanes, const ks_mean_lane *kept,
                              int64_t k, KS_NUM *x)
{
    const KS_NUM *from = (const KS_NUM *)(kept ? ks_slot_of(kept->kept, k) : lanes->lane->x);
    KS_T(ks_copy)(nx, from, x);
}

KS_HD void KS_T(ks_mean_leave)(int nx, const KS_T(ks_mean_lanes) *lanes, const KS_NUM *x)
{
    KS_T(ks_copy)(nx, x, (KS_NUM *)lanes->lane->x);
}

/** r (m) = y - d of step k; NaN where y is missing. */
KS_HD void KS_T(ks_mean_observe)(int m, int64_t k, const KS_T(ks_mean_lanes) *lanes, KS_NUM *r)
{
    const ks_series *s = lanes->lane->series;
    const KS_NUM *y = (const KS_NUM *)ks_row(s->y, k), *d = (const KS_NUM *)ks_row(s->d, k);
    for (int a = 0; a < m; ++a) r[a] = y[a] - d[a];
}

/** Return an innovation, zero where it is missing. */
KS_HD KS_NUM KS_T(ks_mean_present)(KS_NUM r) { return r == r ? r : KS_LIT(0); }

/** Write n numbers to row k of a sink, if it is wanted. */
KS_HD void KS_T(ks_mean_put)(int n, const KS_NUM *from, ks_sink to, int64_t k)
{
    if (to.base) KS_T(ks_copy)(n, from, (KS_NUM *)ks_slot_of(to, k));
}

/** Put out predictions and innovations, which are rarely wanted. */
KS_HD_COLD void KS_T(ks_mean_put_more)(int nx, int m, int64_t k, const KS_GAIN *inverse_d,
                                       const KS_NUM *r, const KS_NUM *v, const KS_NUM *xp,
                                       const ks_forward_sinks *to)
{
    KS_T(ks_mean_put)(nx, xp, to->predicted_mean, k);
    KS_T(ks_mean_put)(m, r, to->innovation, k);
    if (!to->innovation_std.base) return;
    KS_NUM *white = (KS_NUM *)ks_slot_of(to->innovation_std, k);
    for (int a = 0; a < m; ++a)
        white[a] = r[a] == r[a] ? v[a] * KS_SQRT((KS_NUM)inverse_d[a]) : r[a];
}

/** Add the evidence of step k, and put out everything but its mean. */
KS_HD void KS_T(ks_mean_gather)(int nx, int m, int64_t k, const KS_GAIN *gain, const KS_NUM *r,
                                const KS_NUM *v, const KS_NUM *xp, KS_T(ks_mean_lanes) *lanes)
{
    ks_mean_lane *lane = lanes->lane;
    const ks_forward_sinks *to = lane->to;
    const KS_GAIN *L = gain + m * nx, *inverse_d = L + m * m;
    ks_evidence term = ks_evidence_start();
    for (int a = 0; a < m; ++a)
        if (r[a] == r[a])
            ks_gather_both(&lane->evidence, to->loglik_terms.base ? &term : NULL,
                           (double)L[a * m + a], v[a] * v[a] * (double)inverse_d[a]);
    if (to->loglik_terms.base)
        *(double *)ks_slot_of(to->loglik_terms, k) = ks_evidence_loglik(&term);
    if (lane->more) KS_T(ks_mean_put_more)(nx, m, k, inverse_d, r, v, xp, to);
}

/** Write the mean of step k. Return false if it is not finite. */
KS_HD int KS_T(ks_mean_write)(int nx, int filter, int64_t k, const KS_T(ks_mean_lanes) *lanes,
                              const KS_NUM *x)
{
    ks_mean_lane *lane = lanes->lane;
    KS_NUM sum = KS_LIT(0);
    for (int i = 0; i < nx; ++i) sum = sum + KS_LIT(0) * x[i];
    if (!(sum == KS_LIT(0)) || (filter && !isfinite(lane->evidence.quadratic))) {
        lane->failed = k;
        return 0;
    }
    if (filter) {
        KS_T(ks_mean_put)(nx, x, lane->to->filtered_mean, k);
        KS_T(ks_mean_put)(nx, x, lane->to->kept_mean, k);
    } else {
        KS_T(ks_mean_put)(nx, x, lane->smoothed, k);
    }
    return 1;
}
