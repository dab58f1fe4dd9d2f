/* chunk_follow.h -- device code of ks_chunks.cu: whether a chunk begins from a covariance that has lost more digits
 * than its estimates bear.
 *
 * A combination of states may be known far better than each state. A covariance loses that information to round-off; a
 * square root keeps it. Two filters run through such a chunk, in double. One begins as the chunk's own steps do. The
 * other begins from the end of the chunk before, with round-off of the size of covariances and of random signs added.
 * Where the two differ, digits are lost. In single precision the end of the chunk before contains that chunk's own
 * round-off, so both begin from the same estimate. */

// The estimate before a chunk, with round-off added, as a root to `to`, which is the worker's own state.
KS_DEVICE void begin_disturbed(const ks_chunk_arrays &c, ks_chunk_worker &m, int64_t chunk, ks_state *to)
{
    const int n = c.a.series.nx;
    const int64_t all = n + n * n;
    const double *const from = c.a.single_cov ? c.before + chunk * all : c.end + (chunk - 1) * all;
    const double *const cov = from + n, unit = ks_unit_roundoff(0);
    double *const x = static_cast<double *>(to->x), *const P = static_cast<double *>(m.w.results.cov);
    (void)ks_round_estimate(n, 0, unit, from, x, unit, cov, P, m.w.outputs[KS_STEP_PREDICTED_MEAN], (uint64_t)(chunk * all));
    ks_restore_dropped(&m.w, n, P);
    ks_copy_f64(n * n, P, static_cast<double *>(to->C));
    table_root_f64(n, to, m.w.scratch);
}

// Check a chunk other than the first, if it begins from a covariance that has lost digits.
KS_DEVICE void judge_begin(const ks_chunk_arrays &c, ks_chunk_worker &m, int64_t chunk)
{
    const int n = c.a.series.nx, nn = n * n;
    const double *const before = c.before + chunk * (n + nn);
    const double most = KS_CHUNKS_DIFFER_MOST(c.a.single_cov);
    const chunk_range range = range_of(c, chunk);
    double *const cov = m.element, *const predicted = cov + nn, *const sd = predicted + n;
    if (!ks_covariance_is_sharp(n, before + n, ks_begin_least_left(&c.a), m.element)) return;
    const ks_state own = {m.w.results.mean, m.w.results.cov, KS_FORM_ORDINARY, KS_NOT_STEADY};
    ks_followed disturbed = {ks_own_state(&m.w), m.w.outputs[KS_STEP_PREDICTED_MEAN], m.w.outputs[KS_STEP_PREDICTED_COV],
                             m.w.outputs[KS_STEP_LAG_ONE_COV]};
    ks_followed chunks = {own, predicted, sd + n, cov};
    begin_disturbed(c, m, chunk, &disturbed.state);
    ks_copy_f64(n, before, static_cast<double *>(own.x));
    ks_copy_f64(nn, before + n, static_cast<double *>(own.C));
    table_root_f64(n, &chunks.state, m.w.scratch);
    for (int64_t k = range.first; k < range.end && m.w.tally.bad_step < 0; ++k) {
        const ks_series *const s = ks_wide_series(&c.a, &m.w, k);
        const ks_filtered_step_of a = ks_follow_step(&m.w, s, k, &chunks);
        const ks_filtered_step_of b = ks_follow_step(&m.w, s, k, &disturbed);
        const int root = chunks.state.form == KS_FORM_ARRAY;
        ks_tell_moves(&m.w, k, ks_filters_differ(n, root, &a, &b, sd), most);
    }
}
