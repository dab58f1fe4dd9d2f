/* scan_rounding_text.h -- test whether a scan of stored smoothing elements multiplies round-off beyond what the
 * estimates bear. Phases like those of scan_steps_text.h, for a worker of the CPU or a thread of a device.
 *
 * A step back multiplies the round-off of all steps after it by E = P Fᵀ Pp⁻¹. That is harmless where process noise
 * makes the smoother forget it, and where the state that it reaches is known no better. It is not where a transition
 * without noise contracts (range_text.h, ks_sharp()).
 *
 * A covariance that has lost digits looks like a singular one, for which steps of the RTS smoother are as good as ever.
 * So sharp predictions are a reason to suspect only. A suspect series is scanned again from elements with as much
 * additional round-off as they have anyway, of random signs. Where that moves the estimates, digits are lost. */
/** Return whether the array form treats a pivot of a covariance as round-off. w->state is scratch. */
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

/** Set sd (n) to the standard deviations of the prediction of step k, from which the update subtracts. */
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

/** Make smoothing elements with round-off: that of the filtered covariance, which includes some of the predicted one's,
 *  that of E, and that of the sums in means and covariances. */
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
    /* L = P - E Pp Eᵀ has the round-off of P, unless so little is left that the array form has made it. If a pivot of P
     * was dropped as round-off, add what it may have been, in all directions. */
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

/** Return by how many standard deviations round-off moves the smoothed estimate of step k beyond roundings of the mean,
 *  or by what share its covariance moves. Not finite if a number is not. */
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

/** Report step k if it moves by more than `most` standard deviations. */
KS_HD void ks_tell_moves(ks_scan_worker *w, int64_t k, double moves, double most)
{
    ks_tell_moved(&w->tally, &w->moves, k, moves, most);
}

/** Report the first step that moves too far. */
KS_HD void ks_moved_step(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k)
{
    ks_tell_moves(w, k, ks_rounding_moves(a, w, k), KS_MOVES_MOST);
}
