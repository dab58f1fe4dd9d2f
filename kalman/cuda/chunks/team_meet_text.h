/* team_meet_text.h -- device code: chunks of the two-filter smoother of a model of any size, a team of threads for
 * each; see team_chunk_text.h and information_text.h. The arithmetic is in double; rows and kept estimates are of type
 * From, which may be narrower. Chunks that the ordinary form cannot do are left to the kernels for any model. */

/** A team's memory of ks_team_meet_bytes() bytes. KS_GAIN must be KS_NUM. An element and two covariances share one
 *  place, as they are not needed at the same time. Elements are joined in the place of the rows, which are loaded anew
 *  for each step. */
struct KS_T(team_meeting) {
    KS_NUM *J, *v;                  /* information behind a step, J packed, about the difference of the */
    KS_NUM *xk;                     /* state from xk, the step's filtered mean                        */
    KS_NUM *fx, *x;                 /* filtered and smoothed mean of the current step                 */
    KS_NUM *xp;                     /* F fx + u                                                       */
    KS_NUM *e;                      /* an element, or                                                 */
    KS_NUM *P, *U;                  /* a smoothed covariance, and a filtered one or a root of it      */
    KS_NUM *over;                   /* scratch in the place of the rows                               */
    KS_T(team_rows) rows;
    KS_NUM *W;                      /* scratch behind them                                            */
};

KS_DEVICE KS_T(team_meeting) KS_T(team_meeting_in)(int n, int m, char *memory)
{
    KS_NUM *at = reinterpret_cast<KS_NUM *>(memory);
    KS_T(team_meeting) w;
    w.J = KS_T(team_take)(&at, n * (n + 1) / 2);
    w.v = KS_T(team_take)(&at, n);
    w.xk = KS_T(team_take)(&at, n);
    w.fx = KS_T(team_take)(&at, n);
    w.x = KS_T(team_take)(&at, n);
    w.xp = KS_T(team_take)(&at, n);
    w.e = KS_T(team_take)(&at, (int)ks_filter_element_size(n));
    w.P = w.e;
    w.U = w.P + n * n;
    w.over = at;
    KS_T(team_room) room = { at, at + ks_team_row_means(n, m) };
    w.rows = KS_T(team_carve)(n, m, &room);
    w.W = room.covs;
    return w;
}

/** Load the information behind a chunk, about the difference of the state from w.fx, the filtered mean of the chunk's
 *  last step. `nothing`: there is no step behind, and the information is zero. */
KS_DEVICE void KS_T(team_behind)(const ks_chunk_arrays &c, int64_t chunk, bool nothing, const KS_T(team_meeting) &w)
{
    const int n = c.a.series.nx;
    const double *const at = c.last + chunk * (n + n * n);
    if (nothing) {
        KS_T(ks_zero)(n, w.v);
        KS_T(ks_zero)(n * (n + 1) / 2, w.J);
        return;
    }
    KS_T(team_load)<double>(n, at, w.v);
    KS_T(team_load)<double>(n * n, at + n, w.over);
    KS_T(ks_pack)(n, w.over, w.J);
    KS_T(ks_mtv_sub)(n, n, w.over, w.fx, w.v);
}

/** Store the lag-one covariance of step k + 1, whose smoothed covariance is w.P, with step k, whose filtered one is
 *  w.U. The rows are those of step k + 1. */
template <class From>
KS_DEVICE bool KS_T(team_lag)(const ks_chunk_arrays &c, int64_t k, const KS_T(team_meeting) &w)
{
    const KS_T(ks_chunk_rows) &r = w.rows.of;
    const int n = c.a.series.nx;
    KS_NUM *const ET = w.W, *const Pp = ET + n * n;
    if (!KS_T(ks_smoothing_gain)(n, r.F, r.Q, w.U, ET, Pp, Pp + n * n)) return false;
    KS_T(ks_mm)(n, n, n, w.P, ET, Pp);
    KS_T(team_put)<From>(n * n, Pp, c.a.back.lag_one_cov, k + 1);
    return true;
}

/** Turn the information behind step k + 1 into that behind step k, whose filtered mean is w.fx. */
template <class From, class Rows>
KS_DEVICE bool KS_T(team_pull)(const ks_chunk_arrays &c, const Rows &from, int64_t k, const KS_T(team_meeting) &w)
{
    const ks_series &s = c.a.series;
    const KS_T(ks_chunk_rows) &r = w.rows.of;
    const int n = s.nx, m = s.ny;
    KS_T(team_transition)<From>(s, k + 1, from, w.rows);
    if (c.a.back.lag_one_cov.base) {
        KS_T(team_load)<From>(n * n, from.cov(k), w.U);
        if (!KS_T(team_lag)<From>(c, k, w)) return false;
    }
    if (!KS_T(team_observation)<From>(s, k + 1, from, w.rows)) return false;
    KS_T(ks_mean_predict)(n, r.F, r.u, w.fx, w.xp);
    return KS_T(ks_filter_element)(n, m, r.F, r.Q, w.xp, r.H, r.R, r.d, r.y, w.e, w.W) &&
           KS_T(ks_pull_ordinary)(n, w.e, w.xk, w.v, w.J, w.over);
}

/** Smooth the steps of a chunk that has been filtered. */
template <class From, class Rows>
KS_DEVICE bool KS_T(team_meet)(const ks_chunk_arrays &c, Rows &from, int64_t chunk, char *memory)
{
    const ks_series &s = c.a.series;
    const int n = s.nx;
    const int64_t first = chunk * c.size, last = first + c.size;
    const int64_t end = last < s.steps ? last : s.steps;
    const ks_backward_sinks &back = c.a.back;
    const KS_T(team_meeting) w = KS_T(team_meeting_in)(n, s.ny, memory);
    from.begin(first, end - first);
    for (int64_t k = end - 1; k >= first; --k) {
        from.turn(k - first);
        KS_T(team_load)<From>(n, from.mean(k), w.fx);
        if (k == end - 1) KS_T(team_behind)(c, chunk, end == s.steps, w);
        else if (!KS_T(team_pull)<From>(c, from, k, w)) return false;
        KS_T(ks_copy)(n, w.fx, w.xk);
        KS_T(team_load)<From>(n * n, from.cov(k), w.P);
        KS_T(ks_semidefinite_factor)(n, w.P, w.U);
        if (!KS_T(ks_meet_ordinary)(n, w.fx, w.U, w.v, w.J, w.x, w.P, w.over) ||
            !KS_T(team_finite)<From, From>(n, w.x, w.P))
            return false;
        /* No border checks the first chunk, so the judge repeats its pass if it is suspect (chunk_judge.h). */
        if (chunk == 0) {
            if (KS_T(ks_told_too_much)(n, w.fx, w.J, w.x, w.P) && ks_team_lane() == 0) c.hard_absorb[0] = KS_SUSPECT;
            ks_team_sync();
        }
        KS_T(team_put_estimate)<From, From>(n, w.x, w.P, back.smoothed_mean, back.smoothed_cov, back.smoothed_var, k);
    }
    KS_T(team_put_border)(n, c.first, chunk, w.x, w.P);
    return true;
}
