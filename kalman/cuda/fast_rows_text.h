/* fast_rows_text.h -- device code: the rows of a step in a thread's registers, for up to N states and M entries. Means
 * are KS_NUM, covariances KS_GAIN (num_f64.h). Smaller models are padded with states of unit variance that nothing
 * moves, and with entries that carry no information. */

/** The rows of one step. */
template <int N, int M> struct KS_T(fast_rows) {
    KS_NUM F[N * N], Q[N * N], u[N], H[M * N], R[M * M], d[M], y[M];
    KS_GAIN narrow_F[N * N], narrow_Q[N * N], narrow_H[M * N], narrow_R[M * M];
    KS_GAIN times;    /* ks_noise_times_in() of R */
    unsigned present; /* bit i: entry i is present */
    bool finite;
};

/** Load a row of COUNT numbers with the widest loads that divide it: 16, 8 or 4 bytes. */
template <int COUNT, class Number> KS_DEVICE void KS_T(fast_load)(const void *row, Number *to)
{
    enum { BYTES = COUNT * (int)sizeof(Number), WIDE = BYTES % 16 == 0 ? 16 : BYTES % 8 == 0 ? 8 : 4 };
    const char *from = static_cast<const char *>(ks_aligned(row, WIDE));
    for (int i = 0; i < BYTES; i += WIDE) memcpy(reinterpret_cast<char *>(to) + i, from + i, WIDE);
}

template <int COUNT, class Number> KS_DEVICE void KS_T(fast_store)(const Number *from, void *row)
{
    enum { BYTES = COUNT * (int)sizeof(Number), WIDE = BYTES % 16 == 0 ? 16 : BYTES % 8 == 0 ? 8 : 4 };
    char *to = static_cast<char *>(ks_aligned(row, WIDE));
    for (int i = 0; i < BYTES; i += WIDE)
        memcpy(to + i, reinterpret_cast<const char *>(from) + i, WIDE);
}

/** Load a (rows, columns) matrix into an (R, C) one. Entries outside of it are `beyond` on the diagonal and 0
 *  elsewhere. */
template <int R, int C, class Number>
KS_DEVICE void KS_T(fast_matrix)(int rows, int columns, const void *from, int beyond, Number *to)
{
    if (rows == R && columns == C) {
        KS_T(fast_load)<R * C>(from, to);
        return;
    }
    const Number *const numbers = static_cast<const Number *>(from);
    for (int i = 0; i < R; ++i)
        for (int j = 0; j < C; ++j)
            to[i * C + j] = i < rows && j < columns ? numbers[i * columns + j]
                                                    : (Number)(i == j ? beyond : 0);
}

/** fast_matrix() with a conversion from `From`, which may be the narrower type. */
template <int R, int C, class From, class To>
KS_DEVICE void KS_T(fast_matrix_as)(int rows, int columns, const void *from, int beyond, To *to)
{
    From own[R * C];
    KS_T(fast_matrix)<R, C>(rows, columns, from, beyond, own);
    for (int i = 0; i < R * C; ++i) to[i] = (To)own[i];
}

template <int R, int C, class Number>
KS_DEVICE void KS_T(fast_put)(int rows, int columns, const Number *from, ks_sink to, int64_t k)
{
    if (!to.base) return;
    if (rows == R && columns == C) {
        KS_T(fast_store)<R * C>(from, ks_slot_of(to, k));
        return;
    }
    Number *const numbers = static_cast<Number *>(ks_slot_of(to, k));
    for (int i = 0; i < R; ++i)
        for (int j = 0; j < C; ++j)
            if (i < rows && j < columns) numbers[i * columns + j] = from[i * C + j];
}

/** fast_put() with a conversion to `To`, which may be the wider type. */
template <int R, int C, class To, class Number>
KS_DEVICE void KS_T(fast_put_as)(int rows, int columns, const Number *from, ks_sink to, int64_t k)
{
    To own[R * C];
    if (!to.base) return;
    for (int i = 0; i < R * C; ++i) own[i] = (To)from[i];
    KS_T(fast_put)<R, C>(rows, columns, own, to, k);
}

/** Convert numbers of the model to numbers of covariances. */
template <int COUNT> KS_DEVICE void KS_T(fast_round)(const KS_NUM *from, KS_GAIN *to)
{
    for (int i = 0; i < COUNT; ++i) to[i] = (KS_GAIN)from[i];
}

/** Load the rows of the transition of n states into step k. */
template <int N, int M, class From, class ROWS>
KS_DEVICE void KS_T(fast_load_transition)(int n, const ROWS &at, int64_t k, KS_T(fast_rows)<N, M> &r)
{
    KS_T(fast_matrix_as)<N, N, From>(n, n, at.F(k), 0, r.F);
    KS_T(fast_matrix_as)<N, N, From>(n, n, at.Q(k), 1, r.Q);
    KS_T(fast_matrix_as)<1, N, From>(1, n, at.u(k), 0, r.u);
}

/** Load the transition into step k from rows of type From. Under prior x1 nothing moves before step 0. The sizes are
 *  compared with the literal ones once for all rows; where they agree each row is plain loads. */
template <int N, int M, class From = KS_NUM, class ROWS>
KS_DEVICE void KS_T(fast_transition)(const ks_series &s, const ROWS &at, int64_t k,
                                     KS_T(fast_rows)<N, M> &r)
{
    if (s.nx == N && k > 0 && at.plain()) {
        KS_T(fast_load_transition)<N, M, From>(N, at.plainly(), k, r);
    } else if (k == 0 && s.prior_x1) {
        for (int i = 0; i < N * N; ++i) {
            r.Q[i] = KS_LIT(0);
            r.F[i] = KS_LIT(i % (N + 1) == 0);
        }
        for (int i = 0; i < N; ++i) r.u[i] = KS_LIT(0);
    } else {
        KS_T(fast_load_transition)<N, M, From>(s.nx, at, k, r);
    }
    KS_T(fast_round)<N * N>(r.F, r.narrow_F);
    KS_T(fast_round)<N * N>(r.Q, r.narrow_Q);
}

/** Load what step k observes: m entries of n states. */
template <int N, int M, class From, class ROWS>
KS_DEVICE void KS_T(fast_load_observation)(int n, int m, const ROWS &at, int64_t k, KS_T(fast_rows)<N, M> &r)
{
    KS_T(fast_matrix_as)<1, M, From>(1, m, at.y(k), 0, r.y);
    KS_T(fast_matrix_as)<M, N, From>(m, n, at.H(k), 0, r.H);
    KS_T(fast_matrix_as)<M, M, From>(m, m, at.R(k), 1, r.R);
    KS_T(fast_matrix_as)<1, M, From>(1, m, at.d(k), 0, r.d);
}

/** Load what step k observes. A missing entry keeps its place, with zeros in H and unit noise, and carries no
 *  information. */
template <int N, int M, class From = KS_NUM, class ROWS>
KS_DEVICE void KS_T(fast_observation)(const ks_series &s, const ROWS &at, int64_t k,
                                      KS_T(fast_rows)<N, M> &r)
{
    if (s.nx == N && s.ny == M && at.plain()) KS_T(fast_load_observation)<N, M, From>(N, M, at.plainly(), k, r);
    else KS_T(fast_load_observation)<N, M, From>(s.nx, s.ny, at, k, r);
    r.present = 0;
    r.finite = true;
    for (int i = 0; i < M; ++i) {
        const bool there = i < s.ny && r.y[i] == r.y[i];
        if (there) r.present |= 1u << i;
        if (there && !(r.y[i] - r.y[i] == KS_LIT(0))) r.finite = false;
    }
    if (r.present != (1u << M) - 1)
        for (int i = 0; i < M; ++i) {
            const bool there = r.present >> i & 1;
            for (int c = 0; c < N; ++c) r.H[i * N + c] = there ? r.H[i * N + c] : KS_LIT(0);
            for (int j = 0; j < M; ++j)
                if (!there || !(r.present >> j & 1)) r.R[i * M + j] = KS_LIT(i == j);
            if (!there) r.y[i] = r.d[i] = KS_LIT(0);
        }
    KS_T(fast_round)<M * N>(r.H, r.narrow_H);
    KS_T(fast_round)<M * M>(r.R, r.narrow_R);
}

/** Load all rows of step k, and compute `times`. */
template <int N, int M, class From = KS_NUM, class ROWS>
KS_DEVICE void KS_T(fast_step_rows)(const ks_series &s, const ROWS &at, int64_t k, KS_T(fast_rows)<N, M> &r)
{
    KS_GAIN LD[M * M], inverse_d[M];
    KS_T(fast_transition)<N, M, From>(s, at, k, r);
    KS_T(fast_observation)<N, M, From>(s, at, k, r);
    r.times = KS_G(ks_noise_times_in)(M, r.narrow_R, M, LD, inverse_d);
}

/** Load the prior. */
template <int N, class From = KS_NUM> KS_DEVICE void KS_T(fast_prior)(const ks_series &s, KS_NUM *x, KS_GAIN *P)
{
    KS_NUM P0[N * N];
    KS_T(fast_matrix_as)<1, N, From>(1, s.nx, s.m0, 0, x);
    KS_T(fast_matrix_as)<N, N, From>(s.nx, s.nx, s.P0, 1, P0);
    KS_T(fast_round)<N * N>(P0, P);
}

/** Whether an estimate is finite in these types, which may be narrower than its own. */
template <int N, class Mean = KS_NUM, class Cov = KS_GAIN>
KS_DEVICE bool KS_T(fast_finite)(const KS_NUM *x, const KS_GAIN *P)
{
    Mean means = 0;
    Cov variances = 0;
    for (int i = 0; i < N; ++i) {
        means = means + ((Mean)x[i] - (Mean)x[i]);
        variances = variances + ((Cov)P[i * N + i] - (Cov)P[i * N + i]);
    }
    return means == 0 && variances == 0;
}
