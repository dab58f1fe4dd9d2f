/* filter_rounding_text.h -- test whether scans of stored filtering elements lose more digits than the estimates bear.
 * Phases like those of scan_steps_text.h, for a worker of the CPU or a thread of a device.
 *
 * An aggregate of many steps does not know the state in which they began, so its numbers cover all such states: the
 * estimate from a state at zero, what another state would change, and information in directions that the state has
 * never taken. The estimate is what is left of these, a difference. It is small beside them where means are far from
 * zero, where transitions grow, or where the information is singular and the estimate vague. The recursion from step to
 * step forms no such differences.
 *
 * So each estimate of the scan is compared with a filter step from the previous one, which predictions and the
 * likelihood take anyway. An error of one step is no larger, in standard deviations, at the steps after it. So if all
 * steps agree, in every combination of states, nothing is wrong. A disagreement, or a covariance that has lost half of
 * its digits, is a reason to suspect only: what is known exactly never agrees. A suspect series is scanned again from
 * elements with as much additional round-off as they have anyway, of random signs. Where that moves the estimates,
 * digits are lost.
 *
 * Smoothed estimates of two filters are suspect where round-off of the information from behind could move them, as
 * where the halves of the two-ended method meet. They are scanned again in the same way, with round-off in the filtered
 * estimates, too. */

/** By how many standard deviations round-off may move estimates from filtering elements. Results in single precision
 *  bear more. */
#define KS_FILTER_MOVES_MOST(a) ((a)->single ? 1e-3 : 2e-7)

/** Put round-off into a packed symmetric matrix: `unit` times the roots of its diagonal. Return the next sign. */
KS_HD uint64_t ks_round_packed(int n, double unit, double *packed, uint64_t sign)
{
    for (int i = n - 1; i >= 0; --i) /* last row first: it reads diagonals before they change */
        for (int j = 0; j <= i; ++j)
            packed[i * (i + 1) / 2 + j] += ks_random_sign(++sign) * unit * ks_deviation(packed[i * (i + 1) / 2 + i]) *
                                           ks_deviation(packed[j * (j + 1) / 2 + j]);
    return sign;
}

/** Make filtering elements with round-off: two units of each entry of A, b and eta, one unit of the roots of the
 *  diagonals of C and J. */
KS_HD void ks_rounded_filter_step(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k)
{
    const int n = a->series.nx, half = n * (n + 1) / 2;
    const ks_sink to = ks_element_sink(a, KS_IN_DOUBLE(w, filter_element_bytes)(n));
    const ks_tally known = w->tally;
    double *A = (double *)ks_slot_of(to, k), *C = A + n * n + n, *eta = C + half, *J = eta + n;
    uint64_t sign = (uint64_t)(k * (2 * n * n + 3 * n));
    if (ks_make_filter_element(a, w, k, A)) return;
    w->tally = known;
    for (int i = 0; i < n * n + n; ++i) A[i] += ks_random_sign(++sign) * DBL_EPSILON * A[i];
    for (int i = 0; i < n; ++i) eta[i] += ks_random_sign(++sign) * DBL_EPSILON * eta[i];
    sign = ks_round_packed(n, ks_unit_roundoff(0), C, sign);
    (void)ks_round_packed(n, ks_unit_roundoff(0), J, sign);
}

/** A filter on its way: its estimate, and prediction and covariance of its last step. `cov` may be state.C. */
typedef struct ks_followed {
    ks_state state;
    double *predicted_mean, *predicted_cov, *cov;
} ks_followed;

/** Take step k of a filter with the scratch of w. The term is NaN if the step fails. */
KS_HD ks_filtered_step_of ks_follow_step(ks_scan_worker *w, const ks_series *s, int64_t k, ks_followed *f)
{
    const size_t n = (size_t)s->nx;
    ks_tally tally = ks_tally_start();
    ks_forward_sinks to;
    double term = 0;
    memset(&to, 0, sizeof to);
    to.predicted_mean.base = (char *)f->predicted_mean;
    to.predicted_cov.base = (char *)f->predicted_cov;
    to.loglik_terms.base = (char *)&term;
    if (KS_IN_DOUBLE(w, filter)(s, k, k + 1, &f->state, &to, w->scratch, &tally)) term = (double)NAN;
    if (f->cov != (double *)f->state.C) memcpy(f->cov, f->state.C, n * n * sizeof(double));
    ks_state square = { f->state.x, f->cov, f->state.form, KS_NOT_STEADY };
    KS_IN_DOUBLE(w, square)(s->nx, &square, w->scratch);
    const ks_filtered_step_of step = { f->predicted_mean, (const double *)f->state.x, f->cov, f->predicted_cov, term };
    return step;
}

/** Take step k of a filter from the estimate in w->state, in place. The prediction goes to w->outputs. Return the term
 *  of the log-likelihood, NaN if the step fails. */
KS_HD double ks_term_from(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k)
{
    const ks_series *s = ks_wide_series(a, w, k);
    ks_followed own = { ks_own_state(w), w->outputs[KS_STEP_PREDICTED_MEAN], w->outputs[KS_STEP_PREDICTED_COV],
                        (double *)w->state.cov };
    if (k == 0) KS_IN_DOUBLE(w, start)(s, &own.state, w->scratch);
    return ks_follow_step(w, s, k, &own).term;
}

/** The array form treats pivots within the round-off of P as zeros. If there are such pivots, add to the diagonal as
 *  much as they may have been. P is not w->state's. */
KS_HD void ks_restore_dropped(ks_scan_worker *w, int n, double *P)
{
    const int dropped = ks_drops_pivot(w, n, P);
    for (int i = 0; dropped && i < n; ++i) P[i * n + i] += 4 * n * DBL_EPSILON * P[i * n + i];
}

/** Set w->state to the estimate of step k from the scan with round-off, with what it may have dropped. */
KS_HD void ks_moved_estimate(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k)
{
    const int n = a->series.nx;
    const ks_sink from = ks_element_sink(a, KS_IN_DOUBLE(w, filter_element_bytes)(n));
    const ks_sink to_x = { (char *)w->results.mean, 0, 0 }, to_P = { (char *)w->results.cov, 0, 0 };
    KS_IN_DOUBLE(w, filter_extract)(n, k, k + 1, from, to_x, to_P);
    ks_restore_dropped(w, n, (double *)w->results.cov);
    memcpy(w->state.mean, w->results.mean, (size_t)n * sizeof(double));
    memcpy(w->state.cov, w->results.cov, (size_t)(n * n) * sizeof(double));
}

/** Return by how much the round-off moves the filtered estimate of step k, its prediction, and its term of the
 *  log-likelihood. */
KS_HD double ks_filter_moves(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k)
{
    const int n = a->series.nx;
    const size_t mean_bytes = (size_t)n * sizeof(double), cov_bytes = (size_t)n * mean_bytes;
    const ks_sink from = ks_element_sink(a, KS_IN_DOUBLE(w, filter_element_bytes)(n));
    const ks_sink to_x = { (char *)w->results.mean, 0, 0 }, to_P = { (char *)w->results.cov, 0, 0 };
    const double *x = (const double *)a->filtered.mean + k * n, *P = (const double *)a->filtered.cov + k * n * n;
    double *moved_x = (double *)w->results.mean, *moved_P = (double *)w->results.cov;
    double *sd = w->outputs[KS_STEP_LAG_ONE_COV]; /* scratch */
    if (k > 0) ks_moved_estimate(a, w, k - 1);
    const double moved_term = ks_term_from(a, w, k);
    memcpy(moved_x, w->outputs[KS_STEP_PREDICTED_MEAN], mean_bytes);
    memcpy(moved_P, w->outputs[KS_STEP_PREDICTED_COV], cov_bytes);
    /* A pivot that aggregates have lost is lost with any round-off, so the disturbed scan does not show it. The result
     * of a step from there does, unless the state is known to within round-off of the means. */
    double *before = w->outputs[KS_STEP_PREDICTED_COV], largest = 0;
    for (int i = 0; i < n; ++i) largest = fabs(x[i]) > largest ? fabs(x[i]) : largest;
    const double most = KS_CHUNKS_DIFFER_MOST(a->single), least = KS_ROUNDINGS * ks_unit_roundoff(0) * largest * largest / most;
    for (int i = 0; i < n; ++i)
        if (!(before[i * n + i] > least)) before[i * n + i] = least;
    double moves = ks_estimate_moves(n, x, P, before, (const double *)w->state.mean, (const double *)w->state.cov, sd);
    if (moves <= most) moves = 0;
    if (k > 0) {
        memcpy(w->state.mean, x - n, mean_bytes);
        memcpy(w->state.cov, P - (int64_t)n * n, cov_bytes);
    }
    const double term = ks_term_from(a, w, k);
    const double *xp = w->outputs[KS_STEP_PREDICTED_MEAN], *Pp = w->outputs[KS_STEP_PREDICTED_COV];
    moves = ks_larger_move(moves, fabs(moved_term - term) / (fabs(term) > 1 ? fabs(term) : 1));
    moves = ks_larger_move(moves, ks_estimate_moves(n, xp, Pp, Pp, moved_x, moved_P, sd));
    KS_IN_DOUBLE(w, filter_extract)(n, k, k + 1, from, to_x, to_P);
    return ks_larger_move(moves, ks_estimate_moves(n, x, P, Pp, moved_x, moved_P, sd));
}

KS_HD void ks_moved_filter_step(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k)
{
    ks_tell_moves(w, k, ks_filter_moves(a, w, k), KS_FILTER_MOVES_MOST(a));
}

/** Return by how much round-off moves the smoothed estimate of step k of two filters. The suffixes have it already;
 *  here it is put into the prefix, too. */
KS_HD double ks_two_filter_moves(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k)
{
    const int n = a->series.nx;
    const ks_sink suffix = ks_element_sink(a, KS_IN_DOUBLE(w, filter_element_bytes)(n));
    const ks_sink mean = { (char *)w->results.mean, 0, k }, cov = { (char *)w->results.cov, 0, k };
    const ks_sink filtered_mean = { (char *)w->state.mean, 0, k }, filtered_cov = { (char *)w->state.cov, 0, k };
    const double *x = (const double *)a->filtered.mean + k * n, *P = (const double *)a->filtered.cov + k * n * n;
    double *own_x = (double *)w->state.mean, *own_P = (double *)w->state.cov;
    (void)ks_round_estimate(n, 0, ks_unit_roundoff(0), x, own_x, ks_unit_roundoff(0), P, own_P,
                            w->outputs[KS_STEP_PREDICTED_MEAN], (uint64_t)(k * (n + n * n)));
    KS_IN_DOUBLE(w, two_filter)(ks_wide_series(a, w, k), k, k + 1, filtered_mean, filtered_cov, suffix, mean, cov,
                                w->scratch);
    return ks_estimate_moves(n, (const double *)a->smoothed.mean + k * n, (const double *)a->smoothed.cov + k * n * n, P,
                             (const double *)w->results.mean, (const double *)w->results.cov,
                             w->outputs[KS_STEP_PREDICTED_MEAN]);
}

KS_HD void ks_moved_two_filter_step(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k)
{
    ks_tell_moves(w, k, ks_two_filter_moves(a, w, k), KS_FILTER_MOVES_MOST(a));
}
