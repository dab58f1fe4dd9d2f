/* scan_rounding_text.h -- whether a scan of stored smoothing elements has multiplied round-off beyond what the estimates
 * bear; phases as those of scan_steps_text.h, for a worker of the CPU or a thread of a device.
 *
 * Going back by E = P Fᵀ Pp⁻¹ multiplies the round-off of every step behind, which is harmless where process noise
 * forgets it and where what it is taken to is known no better. Where a transition without noise contracts it is neither
 * (range_text.h, ks_sharp()). A covariance that has lost digits looks like one that is singular, for which steps of the
 * RTS smoother are as good as ever, so what predictions look like is no more than a reason to suspect. Then the scan
 * itself is asked: it runs again with elements into which as much round-off has been put as there is in them anyway,
 * of random signs. Where that moves the estimates, digits are lost. */
/** Whether the array form takes a pivot of a covariance for round-off. */
KS_HD int ks_drops_pivot(const ks_scan_worker *w, int n, const double *P)
{
    double *S = (double *)w->state.cov;
    ks_state root = { w->state.mean, S, KS_FORM_ORDINARY, KS_NOT_STEADY };
    memcpy(S, P, (size_t)(n * n) * sizeof(double));
    KS_IN_DOUBLE(w, root)(n, &root, w->scratch);
    int kept = 0;
    for (int i = 0; i < n; ++i) kept |= S[i * n + n - 1] != 0;
    return !kept;
}

/** Standard deviations of the prediction of step k, of which an update has left the filtered covariance, to sd (n). */
KS_HD void ks_predicted_deviations(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k, double *sd)
{
    const int n = a->series.nx;
    const ks_series *s = ks_wide_series(a, w, k);
    const double *F = (const double *)ks_row(s->F, k - s->shift), *Q = (const double *)ks_row(s->Q, k - s->shift);
    const double *P = k > 0 ? (const double *)a->filtered.cov + (k - 1) * n * n : (const double *)s->P0;
    for (int i = 0; i < n; ++i) {
        const int moves = k > 0 || !s->prior_x1;
        double variance = moves ? Q[i * n + i] : P[i * n + i];
        for (int c = 0; moves && c < n; ++c)
            for (int l = 0; l < n; ++l) variance += F[i * n + c] * F[i * n + l] * P[c * n + l];
        sd[i] = ks_deviation(variance);
    }
}

/** Smoothing elements with round-off: of the filtered covariance, which has some of the predicted one's, and of what they
 *  add to means and covariances. */
KS_HD void ks_rounded_step(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k)
{
    const int n = a->series.nx;
    const int64_t nn = (int64_t)n * n, next = k + 1 < a->series.steps ? k + 1 : k;
    const double *x = (const double *)a->filtered.mean + k * n, *P = (const double *)a->filtered.cov + k * nn;
    const ks_tally known = w->tally;
    const ks_sink to = ks_element_sink(a, KS_IN_DOUBLE(w, smooth_element_bytes)(n));
    const ks_sink cov = { (char *)w->results.cov, 0, 0 };
    double *moved = (double *)w->results.cov, *predicted = w->outputs[KS_STEP_PREDICTED_MEAN];
    double *E = (double *)ks_slot_of(to, k), *g = E + nn, *L = g + n;
    ks_predicted_deviations(a, w, k, predicted);
    const ks_series *s = ks_wide_series(a, w, next);
    const double *F = (const double *)ks_row(s->F, next - s->shift), *u = (const double *)ks_row(s->u, next - s->shift);
    uint64_t sign = (uint64_t)(k * (n + nn + nn + nn));
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) {
            const double sd = ks_deviation(P[i * n + i]), other = ks_deviation(P[j * n + j]);
            const double size = sd > 0 && other > 0 ? fmax(sd * fmax(other, predicted[j]), predicted[i] * other) : 0;
            moved[i * n + j] = moved[j * n + i] =
                P[i * n + j] + ks_random_sign(++sign) * ks_unit_roundoff(0) * size;
        }
    const int dropped = next > k && ks_drops_pivot(w, n, moved);
    KS_IN_DOUBLE(w, smooth_elements)(s, k, k + 1, ks_wide_mean(a, a->filtered), cov, to, w->scratch, &w->tally);
    w->tally = known;
    for (int i = 0; i < n * n && next > k; ++i) E[i] += ks_random_sign(++sign) * DBL_EPSILON * E[i];
    for (int i = 0; i < n; ++i) {
        double size = fabs(x[i]);
        for (int c = 0; c < n && next > k; ++c)
            size += fabs(E[i * n + c]) * ks_prediction_size(n, F, u, x, c);
        g[i] += ks_random_sign(++sign) * ks_unit_roundoff(0) * size;
    }
    /* What is left of P has its round-off, unless it is so little that the array form has made it; where a pivot of P
     * has been taken for round-off, what that may have been, in all directions. */
    double *left = (double *)w->results.mean;
    for (int i = 0; i < n; ++i) {
        const double variance = P[i * n + i], own = L[i * (i + 1) / 2 + i];
        left[i] = ks_deviation(own > 1e-5 * variance ? variance : own);
        if (dropped) L[i * (i + 1) / 2 + i] += 4 * n * ks_unit_roundoff(0) * variance;
    }
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j)
            L[i * (i + 1) / 2 + j] += ks_random_sign(++sign) * ks_unit_roundoff(0) * left[i] * left[j];
}

/** By how many standard deviations that has moved the estimate of step k, or its covariance beside them, more than
 *  roundings of the mean itself. Not finite where numbers are none. */
KS_HD double ks_rounding_moves(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k)
{
    const int n = a->series.nx;
    const int64_t nn = (int64_t)n * n;
    const ks_sink from = ks_element_sink(a, KS_IN_DOUBLE(w, smooth_element_bytes)(n));
    const ks_sink mean = { (char *)w->results.mean, 0, 0 }, cov = { (char *)w->results.cov, 0, 0 };
    const double *x = (const double *)a->smoothed.mean + k * n, *P = (const double *)a->smoothed.cov + k * nn;
    const double *filtered = (const double *)a->filtered.cov + k * nn;
    const double *moved_x = (const double *)w->results.mean, *moved_P = (const double *)w->results.cov;
    KS_IN_DOUBLE(w, smooth_extract)(n, k, k + 1, from, mean, cov);
    return ks_estimate_moves(n, x, P, filtered, moved_x, moved_P, w->outputs[KS_STEP_PREDICTED_MEAN]);
}

/** Tell step k, and by how much it has been moved, where that is too far. */
KS_HD void ks_tell_moves(ks_scan_worker *w, int64_t k, double moves, double most)
{
    ks_tell_moved(&w->tally, &w->moves, k, moves, most);
}

/** The first of the steps that it moves too far is told. */
KS_HD void ks_moved_step(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k)
{
    ks_tell_moves(w, k, ks_rounding_moves(a, w, k), KS_MOVES_MOST);
}
