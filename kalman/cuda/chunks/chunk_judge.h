/* chunk_judge.h -- device code of ks_chunks.cu: whether chunks have lost more digits than the estimates bear.
 *
 * An aggregate of many steps may contain numbers that cancel to much smaller ones (filter_rounding_text.h), and the
 * estimates at borders between chunks come from aggregates. The steps of a chunk lose nothing. So each border is
 * checked: the end of a chunk must agree with the estimate that the next chunk began from. Both are predicted one step
 * ahead first. The next chunk begins with that prediction, in which noise covers what is known exactly. An error that
 * later steps forget still shows at the border where its chunk began. So, from the prior on, no estimate is off if all
 * borders agree. The smoother is checked one step earlier: one smoothing step from the first step of a chunk must agree
 * with the scan's estimate of the last step before it, which the chunk there began from. There is no border at the
 * beginning of the series. If its first chunk is suspect, the RTS smoother runs there again with round-off added, as on
 * the CPU (chunks_rounding.c). So does the two-filter smoother where round-off of the information may matter
 * (two_filter_again.c).
 *
 * Both estimates at a border have covariances. A covariance may lose half of its digits in some combination of states,
 * as with a vague prior of which sums are known. Then the other may have lost them, too, and the loss shows only where
 * an observation depends on that combination. So such a chunk is filtered again, with round-off in its first estimate
 * (chunk_follow.h).
 *
 * No border shows whether steps of a chunk have left round-off in a root in place of zeros, for states that are known
 * exactly (ks_leaves_rounding()). All roots that a chunk has kept are checked for this.
 *
 * All checks are in double. If results are in single precision, the round-off of the steps themselves is allowed for:
 * it is the rounding of the means, in standard deviations of the state where that is largest. */

// A pair of estimates, with `size`, `taken` and `sd` in scratch of the worker.
KS_DEVICE ks_border_pair pair_of(int n, const double *x, const double *P, const double *x2, const double *P2,
                                 const ks_chunk_worker &m)
{
    const ks_border_pair pair = {n, x, P, x2, P2, m.element, m.element + n, m.element + 2 * n};
    return pair;
}

// The filter: compare the predictions of step k, the chunk's first, from both estimates at the border.
KS_DEVICE double predictions_differ(const ks_chunk_arrays &c, ks_chunk_worker &m, const ks_series *s, int64_t k,
                                    const double *end, const double *before)
{
    const int n = s->nx;
    const double *const F = static_cast<const double *>(ks_row(s->F, k - s->shift));
    const double *const Q = static_cast<const double *>(ks_row(s->Q, k - s->shift));
    const double *const u = static_cast<const double *>(ks_row(s->u, k - s->shift));
    double *const x = static_cast<double *>(m.w.state.mean), *const P = static_cast<double *>(m.w.state.cov);
    double *const x2 = static_cast<double *>(m.w.results.mean), *const P2 = static_cast<double *>(m.w.results.cov);
    double *const work = static_cast<double *>(m.w.scratch);
    const ks_border_pair pair = pair_of(n, x, P, x2, P2, m);
    ks_predict_f64(n, F, Q, u, end, end + n, x, P, work);
    ks_predict_f64(n, F, Q, u, before, before + n, x2, P2, work);
    for (int i = 0; i < n; ++i) ks_border_predicts(pair, F, Q, u, end, end + n, i);
    return ks_border_differ(pair, c.a, work);
}

// The smoother: take one smoothing step from `first`, the smoothed estimate of step k, to step k - 1, and compare it
// with the scan's estimate of step k - 1.
KS_DEVICE double ways_back_differ(const ks_chunk_arrays &c, ks_chunk_worker &m, const ks_series *s, int64_t k,
                                  double *end, const double *first, const double *last)
{
    const int n = s->nx;
    double *const x = static_cast<double *>(m.w.state.mean), *const P = static_cast<double *>(m.w.state.cov);
    double *const x2 = static_cast<double *>(m.w.results.mean), *const P2 = static_cast<double *>(m.w.results.cov);
    double *const packed = m.element + 3 * n;
    unsigned char form = KS_FORM_ORDINARY;
    ks_state state = ks_own_state(&m.w);
    ks_tally tally = ks_tally_start();
    ks_forward_sinks kept;
    ks_backward_sinks to;
    memset(&kept, 0, sizeof kept);
    memset(&to, 0, sizeof to);
    kept.kept_mean.base = reinterpret_cast<char *>(end);
    kept.kept_C.base = reinterpret_cast<char *>(end + n);
    kept.form = &form;
    kept.form_first = k - 1;
    kept.narrowed = c.a.single_cov;
    ks_copy_f64(n, first, x);
    ks_copy_f64(n * n, first + n, P);
    if (table_smooth_f64(s, k - 1, k, &state, &kept, &to, m.w.scratch, &tally)) return (double)INFINITY;
    table_square_f64(n, &state, m.w.scratch);
    if (c.two_filter) {
        ks_pack_f64(n, last + n, packed);
        ks_two_filter_f64(n, end, end + n, last, packed, x2, P2, static_cast<double *>(m.w.scratch));
    }
    const ks_border_pair pair = c.two_filter ? pair_of(n, x, P, x2, P2, m) : pair_of(n, x, P, last, last + n, m);
    for (int i = 0; i < n; ++i) ks_border_leads(pair, end, end + n, pair.x2, i);
    return ks_border_differ(pair, c.a, static_cast<double *>(m.w.scratch));
}

// Whether the smoothing step from step k + 1 to step k of the first chunk is suspect. Such a step multiplies round-off
// by the ratio to which the prediction of step k + 1 is sharper than the estimate of step k.
KS_DEVICE bool is_suspect(const ks_chunk_arrays &c, ks_chunk_worker &m, int64_t k)
{
    const ks_scan_arrays *const a = &c.a;
    const int n = a->series.nx;
    const ks_series *const s = ks_wide_series(a, &m.w, k + 1);
    const double *const F = static_cast<const double *>(ks_row(s->F, k + 1 - s->shift));
    const double *const Q = static_cast<const double *>(ks_row(s->Q, k + 1 - s->shift));
    const double *const u = static_cast<const double *>(ks_row(s->u, k + 1 - s->shift));
    double *const xp = static_cast<double *>(m.w.results.mean), *const Pp = static_cast<double *>(m.w.results.cov);
    const ks_border_scale scale = ks_border_scale_of(a);
    ks_state state = kept_in_double(c, k, static_cast<double *>(m.w.state.mean), static_cast<double *>(m.w.state.cov));
    if (state.form != KS_FORM_ORDINARY) return true;
    ks_predict_f64(n, F, Q, u, static_cast<const double *>(state.x), static_cast<const double *>(state.C), xp, Pp,
                   static_cast<double *>(m.w.scratch));
    for (int i = 0; i < n; ++i)
        if (ks_border_is_sharp(xp, Pp, scale, n, i)) return true;
    return ks_covariance_is_sharp(n, Pp, ks_border_least_left(a), m.element);
}

// Add round-off to the smoothed estimate of step k before the step back to k - 1. For the mean it is relative to the
// prediction as well, for the covariance of an ordinary step to the filtered covariance that it was subtracted from,
// and for a root to the root.
KS_DEVICE void disturb(const ks_chunk_arrays &c, ks_chunk_worker &m, int64_t k, bool ordinary, const ks_state &state)
{
    const ks_series *const s = ks_wide_series(&c.a, &m.w, k);
    const int n = s->nx;
    const double *const F = static_cast<const double *>(ks_row(s->F, k - s->shift));
    const double *const u = static_cast<const double *>(ks_row(s->u, k - s->shift));
    const bool array = state.form == KS_FORM_ARRAY;
    double *const x = static_cast<double *>(state.x), *const C = static_cast<double *>(state.C);
    double *const before = static_cast<double *>(m.w.results.mean), *const P = static_cast<double *>(m.w.results.cov);
    double *const sd = m.element;
    const ks_border_scale scale = ks_border_scale_of(&c.a);
    uint64_t sign = (uint64_t)(k * n * (n + 1));
    kept_in_double(c, k, before, P);
    for (int i = 0; i < n; ++i) {
        double variance = array ? 0 : C[i * n + i];
        for (int j = 0; array && j < n; ++j) variance += C[i * n + j] * C[i * n + j];
        sd[i] = ks_deviation(ordinary && P[i * n + i] > variance ? P[i * n + i] : variance);
    }
    kept_in_double(c, k - 1, before, P);
    for (int i = 0; i < n; ++i) {
        double size = ks_prediction_size(n, F, u, before, i);
        if (fabs(x[i]) > size) size = fabs(x[i]);
        if (sd[i] > size) size = sd[i];
        x[i] += ks_random_sign(++sign) * scale.mean * size;
    }
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < (array ? n : i + 1); ++j) {
            C[i * n + j] += ks_random_sign(++sign) * scale.cov * sd[i] * (array ? 1 : sd[j]);
            if (!array) C[j * n + i] = C[i * n + j];
        }
}

// Smooth the first chunk again in double, with round-off added, and return how far its first step moves.
KS_DEVICE double way_back_moves(const ks_chunk_arrays &c, ks_chunk_worker &m)
{
    const ks_scan_arrays *const a = &c.a;
    const int n = a->series.nx;
    const int64_t steps = a->series.steps, end = c.size < steps ? c.size : steps;
    double *const x = static_cast<double *>(m.w.state.mean), *const C = static_cast<double *>(m.w.state.cov);
    double *const fx = static_cast<double *>(m.w.results.mean), *const fC = static_cast<double *>(m.w.results.cov);
    const double *const first = c.first;
    const ks_border_pair pair = pair_of(n, first, first + n, x, C, m);
    ks_state state = ks_own_state(&m.w), from = state;
    bool ordinary = true;
    if (end == steps) {
        state = kept_in_double(c, end - 1, x, C);
    } else {
        ks_copy_f64(n, c.last, x);
        ks_copy_f64(n * n, c.last + n, C);
    }
    for (int64_t k = end - 2; k >= 0; --k) {
        unsigned char form;
        ks_tally tally = ks_tally_start();
        ks_forward_sinks kept;
        ks_backward_sinks to;
        disturb(c, m, k + 1, ordinary, state);
        from = kept_in_double(c, k, fx, fC);
        form = static_cast<unsigned char>(from.form);
        memset(&kept, 0, sizeof kept);
        memset(&to, 0, sizeof to);
        kept.kept_mean.base = reinterpret_cast<char *>(fx);
        kept.kept_C.base = reinterpret_cast<char *>(fC);
        kept.form = &form;
        kept.form_first = k;
        kept.narrowed = a->single_cov;
        if (table_smooth_f64(ks_wide_series(a, &m.w, k + 1), k, k + 1, &state, &kept, &to, m.w.scratch, &tally))
            return (double)INFINITY;
        ordinary = tally.ordinary > 0;
    }
    table_square_f64(n, &state, m.w.scratch);
    from = kept_in_double(c, 0, fx, fC);
    table_square_f64(n, &from, m.w.scratch);
    for (int i = 0; i < n; ++i) ks_border_leads(pair, fx, fC, first, i);
    return ks_border_states_differ(pair, ks_border_scale_of(a));
}

// The same for the two-filter smoother.
KS_DEVICE double meeting_moves(const ks_chunk_arrays &c, ks_chunk_worker &m)
{
    const int n = c.a.series.nx;
    double *const x = static_cast<double *>(m.w.state.mean), *const P = static_cast<double *>(m.w.state.cov);
    const double *const first = c.first;
    const ks_border_pair pair = pair_of(n, first, first + n, static_cast<double *>(m.w.results.mean),
                                        static_cast<double *>(m.w.results.cov), m);
    meet_chunk(c, m, 0, true);
    if (m.w.tally.bad_step >= 0) return (double)INFINITY;
    ks_state filtered = kept_in_double(c, 0, x, P);
    table_square_f64(n, &filtered, m.w.scratch);
    for (int i = 0; i < n; ++i) ks_border_leads(pair, x, P, pair.x2, i);
    return ks_border_states_differ(pair, ks_border_scale_of(&c.a));
}

// The root of the filtered covariance of step k, in the worker's state. For k before the chunk, that of the estimate
// that the chunk began from; for k < 0, the prior.
KS_DEVICE ks_state root_before(const ks_chunk_arrays &c, ks_chunk_worker &m, int64_t chunk, int64_t k)
{
    const int n = c.a.series.nx;
    ks_state state = ks_own_state(&m.w);
    double *const x = static_cast<double *>(state.x), *const C = static_cast<double *>(state.C);
    if (k < 0) {
        table_start_f64(ks_wide_series(&c.a, &m.w, 0), &state, m.w.scratch);
        return state;
    }
    if (k >= chunk * c.size) {
        state = kept_in_double(c, k, x, C);
    } else {
        const double *const before = c.before + chunk * (n + n * n);
        ks_copy_f64(n, before, x);
        ks_copy_f64(n * n, before + n, C);
    }
    table_root_f64(n, &state, m.w.scratch);
    return state;
}

// Whether smoothing would divide by round-off in the root of step k or in the prediction of step k. Step k is one of
// the chunk. The prediction is checked only if the root that it begins from is one that the chunk has kept.
KS_DEVICE bool leaves_rounding(const ks_chunk_arrays &c, ks_chunk_worker &m, int64_t chunk, int64_t k)
{
    const int n = c.a.series.nx, ny = c.a.series.ny;
    const double eps = ks_unit_roundoff(c.a.single_cov);
    const bool array = c.form[k] == KS_FORM_ARRAY && k + 1 < c.a.series.steps;
    const bool follows = k > chunk * c.size && c.form[k - 1] == KS_FORM_ARRAY;
    if (!array && !follows) return false;
    const ks_series *const s = ks_wide_series(&c.a, &m.w, k);
    const double *const F = static_cast<const double *>(ks_row(s->F, k - s->shift));
    const bool known = array && ks_observes_exactly_f64(ny, static_cast<const double *>(ks_row(s->R, k)));
    double *const xp = static_cast<double *>(m.w.results.mean), *const Sp = static_cast<double *>(m.w.results.cov);
    double *const own = m.element;
    if (!known && !follows) return false;
    const ks_state before = root_before(c, m, chunk, k - 1);
    ks_step_predict_f64(n, s, k, &before, xp, Sp, NULL, static_cast<double *>(m.w.scratch));
    if (follows && ks_leaves_rounding_f64(n, eps, F, static_cast<const double *>(before.C), Sp)) return true;
    if (!known) return false;
    kept_in_double(c, k, xp, own);
    return ks_leaves_rounding_f64(n, eps, NULL, Sp, own);
}

KS_DEVICE void judge_roots(const ks_chunk_arrays &c, ks_chunk_worker &m, int64_t chunk)
{
    const chunk_range range = range_of(c, chunk);
    for (int64_t k = range.first; k < range.end; ++k)
        if (leaves_rounding(c, m, chunk, k)) {
            ks_tell_moves(&m.w, k, (double)INFINITY, KS_WAY_BACK_MOVES_MOST(c.a.single_cov));
            return;
        }
}

// Check the border before a chunk.
KS_DEVICE void judge_border(const ks_chunk_arrays &c, ks_chunk_worker &m, int64_t chunk)
{
    const int64_t n = c.a.series.nx, all = n + n * n, k = chunk * c.size;
    const double most = KS_CHUNKS_DIFFER_MOST(c.a.single_cov);
    double *const end = c.end + (chunk - 1) * all;
    const ks_series *const s = ks_wide_series(&c.a, &m.w, k);
    ks_tell_moves(&m.w, k, predictions_differ(c, m, s, k, end, c.before + chunk * all), most);
    if (!c.smooths || m.w.tally.bad_step >= 0) return;
    const double *const first = c.first + chunk * all, *const last = c.last + (chunk - 1) * all;
    ks_tell_moves(&m.w, k - 1, ways_back_differ(c, m, s, k, end, first, last), most);
}

KS_DEVICE bool smooths_back(const ks_chunk_arrays &c) { return c.smooths && !c.two_filter; }

// Whether a chunk has anything to check. Only the kernels for any model keep square roots.
KS_DEVICE bool is_to_be_judged(const ks_chunk_arrays &c, int64_t chunk)
{
    if (!c.met || (smooths_back(c) && c.hard_rerun[chunk])) return true;
    return c.hard_absorb[chunk] & (chunk == 0 ? KS_SUSPECT : KS_UNJUDGED | KS_LOST);
}

KS_DEVICE void judge(const ks_chunk_arrays &c, ks_chunk_worker &m, int64_t chunk)
{
    if (smooths_back(c) && c.hard_rerun[chunk]) judge_roots(c, m, chunk);
    if (m.w.tally.bad_step >= 0) return;
    if (c.met && chunk == 0) {
        if (c.hard_absorb[0] & KS_SUSPECT)
            ks_tell_moves(&m.w, 0, c.two_filter ? meeting_moves(c, m) : way_back_moves(c, m),
                          KS_WAY_BACK_MOVES_MOST(c.a.single_cov));
        return;
    }
    const int left = c.met ? c.hard_absorb[chunk] : KS_UNJUDGED | KS_LOST;
    const int64_t looks = !c.met && c.begin == 0 && smooths_back(c) ? c.size - 1 : 0;
    for (int64_t at = chunk; at < looks && at + 1 < c.a.series.steps; at += c.chunks)
        if (is_suspect(c, m, at)) ks_border_suspect(c);
    if (chunk == 0) return;
    if (left & KS_UNJUDGED) judge_border(c, m, chunk);
    if ((left & KS_LOST) && m.w.tally.bad_step < 0) judge_begin(c, m, chunk);
}
