/* fast_meet_text.h -- device code: chunks of the two-filter smoother with everything in registers, for up to N states
 * and M entries; see fast_chunk_text.h, information_text.h and num_f64.h. Rows and kept estimates are of type From,
 * which may be narrower than KS_NUM. Chunks that the ordinary form cannot do are left to the kernels for any model. */

/** Load the information v, J behind a chunk, about the difference of the state from x, the filtered mean of the chunk's
 *  last step. `nothing`: there is no step behind, and the information is zero. */
template <int N>
KS_DEVICE void KS_T(fast_behind)(const ks_chunk_arrays &c, int64_t chunk, bool nothing, const KS_NUM *x, KS_NUM *v,
                                 KS_NUM *J)
{
    const int n = c.a.series.nx;
    const double *const at = c.last + chunk * (n + n * n);
    for (int i = 0; i < N; ++i) {
        v[i] = nothing || i >= n ? KS_LIT(0) : (KS_NUM)at[i];
        for (int j = 0; j <= i; ++j)
            J[i * (i + 1) / 2 + j] = nothing || i >= n ? KS_LIT(0) : (KS_NUM)at[n + i * n + j];
    }
    KS_T(ks_centre)(N, x, J, v);
}

/** Turn the information v, J behind step k + 1, whose filtered mean is xk, into that behind step k, whose filtered mean
 *  is x. The rows are those of step k + 1. */
template <int N, int M>
KS_DEVICE bool KS_T(fast_pull)(const KS_T(fast_rows)<N, M> &r, const KS_NUM *x, const KS_NUM *xk, KS_NUM *v, KS_NUM *J)
{
    KS_NUM xp[N], e[2 * N * N + 3 * N], W[3 * N * N + 2 * N + 4 * M * N + M * M + 2 * M], w[7 * N * N + 3 * N];
    KS_T(ks_copy)(N, r.u, xp);
    KS_T(ks_mv_add)(N, N, r.F, x, xp);
    const bool made = KS_T(ks_filter_element)(N, M, r.F, r.Q, xp, r.H, r.R, r.d, r.y, e, W);
    const bool good = KS_T(ks_pull_ordinary)(N, e, xk, v, J, w);
    return made && good;
}

/** Convert numbers to the type of the outputs. Return false if one of them does not fit. */
template <int COUNT, class From> KS_DEVICE bool KS_T(fast_narrowed)(const KS_NUM *from, From *to)
{
    From sum = 0;
    for (int i = 0; i < COUNT; ++i) {
        to[i] = (From)from[i];
        sum = sum + (to[i] - to[i]);
    }
    return sum == 0;
}

/** Store the lag-one covariance of step k + 1, whose smoothed covariance is P, with step k, whose filtered one is fP.
 *  Rows are as for fast_pull(). */
template <int N, int M, class From>
KS_DEVICE bool KS_T(fast_lag)(const ks_chunk_arrays &c, int64_t k, const KS_T(fast_rows)<N, M> &r, const KS_NUM *fP,
                              const KS_NUM *P)
{
    KS_NUM ET[N * N], Pp[N * N], W[2 * N * N + N];
    From lag[N * N];
    const int n = c.a.series.nx;
    const bool good = KS_T(ks_smoothing_gain)(N, r.F, r.Q, fP, ET, Pp, W);
    KS_T(ks_mm)(N, N, N, P, ET, Pp);
    const bool fits = KS_T(fast_narrowed)<N * N>(Pp, lag);
    KS_T(fast_put)<N, N>(n, n, lag, c.a.back.lag_one_cov, k + 1);
    return good && fits;
}

/** Smooth step k of a chunk that ends at `end`; x and P are the estimate of the next step in and of this one out. */
template <int N, int M, class From, class ROWS>
KS_DEVICE bool KS_T(fast_meeting)(const ks_chunk_arrays &c, ROWS &at, int64_t chunk, int64_t end, int64_t k,
                                  KS_NUM *v, KS_NUM *J, KS_NUM *xk, KS_NUM *x, KS_NUM *P)
{
    const ks_series &s = c.a.series;
    const ks_backward_sinks &back = c.a.back;
    KS_NUM fx[N], U[N * N], W[3 * N * N + N];
    From mean[N], cov[N * N];
    KS_T(fast_matrix_as)<1, N, From>(1, s.nx, at.mean(k), 0, fx);
    bool good = true;
    if (k == end - 1) {
        KS_T(fast_behind)<N>(c, chunk, end == s.steps, fx, v, J);
    } else {
        KS_T(fast_rows)<N, M> r;
        KS_T(fast_transition)<N, M, From>(s, at, k + 1, r);
        if (back.lag_one_cov.base) {
            KS_T(fast_matrix_as)<N, N, From>(s.nx, s.nx, at.cov(k), 1, U);
            good = KS_T(fast_lag)<N, M, From>(c, k, r, U, P);
        }
        KS_T(fast_observation)<N, M, From>(s, at, k + 1, r);
        if (!KS_T(fast_pull)<N, M>(r, fx, xk, v, J)) good = false;
    }
    KS_T(ks_copy)(N, fx, xk);
    KS_T(fast_matrix_as)<N, N, From>(s.nx, s.nx, at.cov(k), 1, P);
    KS_T(ks_semidefinite_factor)(N, P, U);
    if (!KS_T(ks_meet_ordinary)(N, fx, U, v, J, x, P, W)) good = false;
    if (!KS_T(fast_narrowed)<N>(x, mean) || !KS_T(fast_narrowed)<N * N>(P, cov)) good = false;
    if (!good) return false;
    /* No border checks the first chunk, so the judge repeats its pass if it is suspect (chunk_judge.h). */
    if (chunk == 0 && KS_T(ks_told_too_much)(N, fx, J, x, P)) c.hard_absorb[0] = KS_SUSPECT;
    KS_T(fast_put_through)<N, From, From>(at, s.nx, x, P, back.smoothed_mean, back.smoothed_cov, k);
    if (!back.smoothed_var.base) return true;
    for (int i = 0; i < N; ++i) mean[i] = cov[i * N + i];
    KS_T(fast_put)<1, N>(1, s.nx, mean, back.smoothed_var, k);
    return true;
}

/** Smooth the steps of a chunk that has been filtered, unless it is not `wanted` or does not exist. */
template <int N, int M, class From, class ROWS>
KS_DEVICE bool KS_T(fast_meet)(const ks_chunk_arrays &c, ROWS &at, int64_t chunk, bool wanted)
{
    const ks_series &s = c.a.series;
    const int64_t first = chunk * c.size, last = first + c.size;
    const int64_t end = last < s.steps ? last : s.steps;
    KS_NUM v[N], J[N * (N + 1) / 2], xk[N], x[N], P[N * N];
    bool good = wanted;
    if (!ROWS::TOGETHER && !good) return false;
    at.begin(first);
    for (int64_t k = (ROWS::TOGETHER ? last : end) - 1; k >= first; --k) {
        at.turn(k - first);
        if (ROWS::TOGETHER && !(good && k < end)) continue;
        good = KS_T(fast_meeting)<N, M, From>(c, at, chunk, end, k, v, J, xk, x, P);
        if (!ROWS::TOGETHER && !good) return false;
    }
    at.end();
    if (!good) return false;
    KS_T(fast_put_border)<N>(s.nx, c.first, chunk, x, P);
    return true;
}
