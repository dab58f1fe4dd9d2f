/* fast_chunk_text.h -- device code: chunks of ordinary steps with everything in registers, for up to N
 * states and M entries; see num_f64.h. Smaller models are padded: states that nothing moves, with unit
 * variance, and entries that say nothing. What cannot be done in the ordinary form is left to the
 * kernels for any model. */

/** Rows of a step. */
template <int N, int M> struct KS_T(fast_rows) {
    KS_NUM F[N * N], Q[N * N], u[N], H[M * N], R[M * M], d[M], y[M];
    unsigned present; /* bit i: entry i is there */
    bool finite;
};

/** A row of COUNT numbers as wide as it can be. */
template <int COUNT> KS_DEVICE void KS_T(fast_load)(const void *row, KS_NUM *to)
{
    enum { BYTES = COUNT * (int)sizeof(KS_NUM), WIDE = BYTES % 16 == 0 ? 16 : BYTES % 8 == 0 ? 8 : 4 };
    const char *from = static_cast<const char *>(__builtin_assume_aligned(row, WIDE));
    for (int i = 0; i < BYTES; i += WIDE) memcpy(reinterpret_cast<char *>(to) + i, from + i, WIDE);
}

template <int COUNT> KS_DEVICE void KS_T(fast_store)(const KS_NUM *from, void *row)
{
    enum { BYTES = COUNT * (int)sizeof(KS_NUM), WIDE = BYTES % 16 == 0 ? 16 : BYTES % 8 == 0 ? 8 : 4 };
    char *to = static_cast<char *>(__builtin_assume_aligned(row, WIDE));
    for (int i = 0; i < BYTES; i += WIDE)
        memcpy(to + i, reinterpret_cast<const char *>(from) + i, WIDE);
}

/** A (rows, columns) matrix into one of (R, C), what is beyond it `beyond` on the diagonal, else 0. */
template <int R, int C>
KS_DEVICE void KS_T(fast_matrix)(int rows, int columns, const void *from, KS_NUM beyond, KS_NUM *to)
{
    if (rows == R && columns == C) {
        KS_T(fast_load)<R * C>(from, to);
        return;
    }
    const KS_NUM *const numbers = static_cast<const KS_NUM *>(from);
    for (int i = 0; i < R; ++i)
        for (int j = 0; j < C; ++j)
            to[i * C + j] = i < rows && j < columns ? numbers[i * columns + j]
                                                    : i == j ? beyond : KS_LIT(0);
}

template <int R, int C>
KS_DEVICE void KS_T(fast_put)(int rows, int columns, const KS_NUM *from, ks_sink to, int64_t k)
{
    if (!to.base) return;
    if (rows == R && columns == C) {
        KS_T(fast_store)<R * C>(from, ks_slot_of(to, k));
        return;
    }
    KS_NUM *const numbers = static_cast<KS_NUM *>(ks_slot_of(to, k));
    for (int i = 0; i < R; ++i)
        for (int j = 0; j < C; ++j)
            if (i < rows && j < columns) numbers[i * columns + j] = from[i * C + j];
}

/** The transition into step k; nothing moves before step 0 under prior x1. */
template <int N, int M, class ROWS>
KS_DEVICE void KS_T(fast_transition)(const ks_series &s, const ROWS &at, int64_t k,
                                     KS_T(fast_rows)<N, M> &r)
{
    if (k == 0 && s.prior_x1) {
        for (int i = 0; i < N * N; ++i) {
            r.Q[i] = KS_LIT(0);
            r.F[i] = KS_LIT(i % (N + 1) == 0);
        }
        for (int i = 0; i < N; ++i) r.u[i] = KS_LIT(0);
        return;
    }
    KS_T(fast_matrix)<N, N>(s.nx, s.nx, at.F(k), KS_LIT(0), r.F);
    KS_T(fast_matrix)<N, N>(s.nx, s.nx, at.Q(k), KS_LIT(1), r.Q);
    KS_T(fast_matrix)<1, N>(1, s.nx, at.u(k), KS_LIT(0), r.u);
}

/** What step k observes; a missing entry keeps its place as one that says nothing. */
template <int N, int M, class ROWS>
KS_DEVICE void KS_T(fast_observation)(const ks_series &s, const ROWS &at, int64_t k,
                                      KS_T(fast_rows)<N, M> &r)
{
    KS_T(fast_matrix)<1, M>(1, s.ny, at.y(k), KS_LIT(0), r.y);
    KS_T(fast_matrix)<M, N>(s.ny, s.nx, at.H(k), KS_LIT(0), r.H);
    KS_T(fast_matrix)<M, M>(s.ny, s.ny, at.R(k), KS_LIT(1), r.R);
    KS_T(fast_matrix)<1, M>(1, s.ny, at.d(k), KS_LIT(0), r.d);
    r.present = 0;
    r.finite = true;
    for (int i = 0; i < M; ++i) {
        const bool there = i < s.ny && r.y[i] == r.y[i];
        if (there) r.present |= 1u << i;
        if (there && !(r.y[i] - r.y[i] == KS_LIT(0))) r.finite = false;
    }
    for (int i = 0; i < M; ++i) {
        const bool there = r.present >> i & 1;
        for (int c = 0; c < N; ++c) r.H[i * N + c] = there && c < s.nx ? r.H[i * N + c] : KS_LIT(0);
        for (int j = 0; j < M; ++j)
            if (!there || !(r.present >> j & 1)) r.R[i * M + j] = KS_LIT(i == j);
        if (!there) r.y[i] = r.d[i] = KS_LIT(0);
    }
}

/** The prior. */
template <int N> KS_DEVICE void KS_T(fast_prior)(const ks_series &s, KS_NUM *x, KS_NUM *P)
{
    KS_T(fast_matrix)<1, N>(1, s.nx, s.m0, KS_LIT(0), x);
    KS_T(fast_matrix)<N, N>(s.nx, s.nx, s.P0, KS_LIT(1), P);
}

/** The aggregate of a chunk, none where there is no such chunk. False: it is left to the other kernel. */
template <int N, int M, class ROWS>
KS_DEVICE bool KS_T(fast_absorb)(const ks_chunk_arrays &c, ROWS &at, int64_t chunk)
{
    const ks_series &s = c.a.series;
    const int n = s.nx;
    const int64_t first = chunk * c.size, last = first + c.size;
    const int64_t end = last < s.steps ? last : s.steps;
    KS_NUM A[N * N], b[N], C[N * N], eta[N], J[N * N];
    KS_NUM W[4 * N * N + 4 * M * N + M * M + 2 * M + N];
    KS_T(fast_rows)<N, M> r;
    for (int i = 0; i < N * N; ++i) {
        A[i] = KS_LIT(chunk > 0 && i % (N + 1) == 0);
        C[i] = J[i] = KS_LIT(0);
    }
    for (int i = 0; i < N; ++i) b[i] = eta[i] = KS_LIT(0);
    /* Nothing depends on what is before the prior. */
    if (chunk == 0) KS_T(fast_prior)<N>(s, b, C);
    bool good = !ROWS::TOGETHER || chunk < c.chunks;
    at.begin(first);
    for (int64_t k = first; k < (ROWS::TOGETHER ? last : end); ++k) {
        at.turn(k - first);
        if (ROWS::TOGETHER && !(good && k < end)) continue;
        KS_T(fast_transition)<N, M>(s, at, k, r);
        KS_T(fast_observation)<N, M>(s, at, k, r);
        good = r.finite && KS_T(ks_sensitive_step)(N, M, r.F, r.Q, r.u, r.H, r.R, r.d, r.y, A, b, C,
                                                   eta, J, W);
        if (!ROWS::TOGETHER && !good) return false;
    }
    if (!good || !KS_T(ks_finite)(N, b, C)) return false;
    double *to = static_cast<double *>(c.a.elements) + chunk * ks_filter_element_size_f64(n);
    const int half = n * (n + 1) / 2;
    for (int i = 0; i < N; ++i) {
        if (i >= n) continue;
        for (int j = 0; j < N; ++j)
            if (j < n) to[i * n + j] = (double)A[i * N + j];
        to[n * n + i] = (double)b[i];
        to[n * n + n + half + i] = (double)eta[i];
        for (int j = 0; j <= i; ++j) {
            to[n * n + n + i * (i + 1) / 2 + j] = (double)C[i * N + j];
            to[n * n + 2 * n + half + i * (i + 1) / 2 + j] = (double)J[i * N + j];
        }
    }
    return true;
}

/** An estimate in double, of n states, to one of N. False where it does not fit. */
template <int N> KS_DEVICE bool KS_T(fast_narrow)(int n, const double *from, KS_NUM *x, KS_NUM *P)
{
    for (int i = 0; i < N; ++i) {
        x[i] = i < n ? (KS_NUM)from[i] : KS_LIT(0);
        for (int j = 0; j < N; ++j)
            P[i * N + j] = i < n && j < n ? (KS_NUM)from[n + i * n + j] : KS_LIT(i == j);
    }
    return KS_T(ks_finite)(N, x, P);
}

template <int N>
KS_DEVICE void KS_T(fast_put_estimate)(int n, const KS_NUM *x, const KS_NUM *P, ks_sink mean,
                                       ks_sink cov, ks_sink var, int64_t k)
{
    KS_T(fast_put)<1, N>(1, n, x, mean, k);
    KS_T(fast_put)<N, N>(n, n, P, cov, k);
    if (!var.base) return;
    KS_NUM diagonal[N];
    for (int i = 0; i < N; ++i) diagonal[i] = P[i * N + i];
    KS_T(fast_put)<1, N>(1, n, diagonal, var, k);
}

/** Filter step k; x, P are the estimate before it in and of it out. */
template <int N, int M, bool Smooth, class ROWS>
KS_DEVICE bool KS_T(fast_filter)(const ks_chunk_arrays &c, const ROWS &at, int64_t k, KS_NUM *x,
                                 KS_NUM *P, ks_tally *tally)
{
    const ks_series &s = c.a.series;
    KS_NUM W[2 * N * N + M * N], xp[N], Pp[N * N], G[M * N], Z[M * N], S[M * M], inverse_d[M], v[M];
    KS_T(fast_rows)<N, M> r;
    KS_T(fast_transition)<N, M>(s, at, k, r);
    KS_T(fast_observation)<N, M>(s, at, k, r);
    if (!r.finite || (k % KS_LOOK == KS_LOOK - 1 && !KS_T(ks_well_conditioned)(N, P, W))) return false;
    KS_T(ks_predict)(N, r.F, r.Q, r.u, x, P, xp, Pp, W);
    if (!KS_T(ks_innovation)(N, M, r.H, r.R, r.d, r.y, xp, Pp, G, S, inverse_d, v, W)) return false;
    KS_T(ks_posterior)(N, M, G, inverse_d, v, xp, Pp, x, P, Z);
    for (int i = 0; i < M; ++i)
        if (r.present >> i & 1)
            ks_gather_pivot(&tally->evidence, (double)S[i * M + i],
                            (double)(v[i] * v[i] * inverse_d[i]));
        else if (i < s.ny)
            tally->missing += 1;
    if (!KS_T(ks_finite)(N, x, P) || !isfinite(tally->evidence.quadratic)) return false;
    KS_T(fast_put_estimate)<N>(s.nx, x, P, c.a.to.filtered_mean, c.a.to.filtered_cov, c.a.to.filtered_var,
                               k);
    if (Smooth) {
        const ks_sink nowhere = { NULL, 0, 0 };
        KS_T(fast_put_estimate)<N>(s.nx, x, P, c.kept_mean, c.kept_C, nowhere, k);
        c.form[k] = KS_FORM_ORDINARY;
    }
    return true;
}

/** The smoothed estimate of the last step of a chunk. */
template <int N, class ROWS>
KS_DEVICE bool KS_T(fast_last)(const ks_chunk_arrays &c, const ROWS &at, int64_t chunk, int64_t k,
                               KS_NUM *x, KS_NUM *P)
{
    const int n = c.a.series.nx;
    if (k + 1 < c.a.series.steps) return KS_T(fast_narrow)<N>(n, c.last + chunk * (n + n * n), x, P);
    KS_T(fast_matrix)<1, N>(1, n, at.mean(k), KS_LIT(0), x);
    KS_T(fast_matrix)<N, N>(n, n, at.cov(k), KS_LIT(1), P);
    return true;
}

/** Smooth step k; x, P are the estimate of the next step in and of this one out. */
template <int N, class ROWS>
KS_DEVICE bool KS_T(fast_back)(const ks_chunk_arrays &c, const ROWS &at, int64_t k, KS_NUM *x, KS_NUM *P)
{
    const ks_series &s = c.a.series;
    const int n = s.nx;
    const ks_backward_sinks &back = c.a.back;
    KS_NUM W[4 * N * N + 2 * N], fx[N], fP[N * N], xn[N], Pn[N * N], ET[N * N];
    KS_T(fast_rows)<N, 1> r;
    KS_T(fast_matrix)<1, N>(1, n, at.mean(k), KS_LIT(0), fx);
    KS_T(fast_matrix)<N, N>(n, n, at.cov(k), KS_LIT(1), fP);
    KS_T(fast_transition)<N, 1>(s, at, k + 1, r);
    if (!KS_T(ks_smooth_back)(N, r.F, r.Q, r.u, fx, fP, x, P, xn, Pn, ET, W)) return false;
    if (back.lag_one_cov.base) {
        KS_T(ks_mm)(N, N, N, P, ET, W);
        KS_T(fast_put)<N, N>(n, n, W, back.lag_one_cov, k + 1);
    }
    KS_T(ks_copy)(N, xn, x);
    KS_T(ks_copy)(N * N, Pn, P);
    return KS_T(ks_finite)(N, x, P);
}

/** Smooth the steps of a chunk that has been filtered; no step, where there is none or it is not `wanted`. */
template <int N, class ROWS>
KS_DEVICE bool KS_T(fast_smooth)(const ks_chunk_arrays &c, ROWS &at, int64_t chunk, bool wanted)
{
    const ks_series &s = c.a.series;
    const int n = s.nx;
    const int64_t first = chunk * c.size, last = first + c.size;
    const int64_t end = last < s.steps ? last : s.steps;
    const ks_backward_sinks &back = c.a.back;
    KS_NUM x[N], P[N * N];
    bool good = wanted;
    if (!ROWS::TOGETHER && !good) return false;
    at.begin(first);
    for (int64_t k = (ROWS::TOGETHER ? last : end) - 1; k >= first; --k) {
        at.turn(k - first);
        if (ROWS::TOGETHER && !(good && k < end)) continue;
        good = k == end - 1 ? KS_T(fast_last)<N>(c, at, chunk, k, x, P) : KS_T(fast_back)<N>(c, at, k, x, P);
        if (!ROWS::TOGETHER && !good) return false;
        if (good)
            KS_T(fast_put_estimate)<N>(n, x, P, back.smoothed_mean, back.smoothed_cov, back.smoothed_var, k);
    }
    if (!good) return false;
    double *const to = c.first + chunk * (n + n * n);
    for (int i = 0; i < N; ++i) {
        if (i >= n) continue;
        to[i] = (double)x[i];
        for (int j = 0; j < N; ++j)
            if (j < n) to[n + i * n + j] = (double)P[i * N + j];
    }
    return true;
}

/** Filter the steps of a chunk; no step, where there is none. */
template <int N, int M, bool Smooth, class ROWS>
KS_DEVICE bool KS_T(fast_rerun)(const ks_chunk_arrays &c, ROWS &at, int64_t chunk, ks_tally *tally)
{
    const ks_series &s = c.a.series;
    const int n = s.nx;
    const int64_t first = chunk * c.size, last = first + c.size;
    const int64_t end = last < s.steps ? last : s.steps;
    KS_NUM x[N], P[N * N], W[2 * N * N + M * N];
    bool good = true;
    if (chunk == 0) KS_T(fast_prior)<N>(s, x, P);
    else good = chunk < c.chunks && KS_T(fast_narrow)<N>(n, c.before + chunk * (n + n * n), x, P);
    good = good && KS_T(ks_well_conditioned)(N, P, W);
    if (!ROWS::TOGETHER && !good) return false;
    at.begin(first);
    for (int64_t k = first; k < (ROWS::TOGETHER ? last : end); ++k) {
        at.turn(k - first);
        if (ROWS::TOGETHER && !(good && k < end)) continue;
        good = KS_T(fast_filter)<N, M, Smooth>(c, at, k, x, P, tally);
        if (!ROWS::TOGETHER && !good) return false;
    }
    if (!good) return false;
    tally->ordinary += end - first;
    c.a.loglik_terms[chunk] = ks_evidence_loglik(&tally->evidence);
    return true;
}
