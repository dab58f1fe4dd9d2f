/* fast_rows_text.h -- device code: the rows of a step in a thread's registers, for up to N states and M entries. Means
 * are KS_NUM, covariances KS_GAIN (num_f64.h). Smaller models are padded with states of unit variance that nothing
 * moves, and with entries that carry no information. */

/** The rows of one step. */
template <int N, int M> struct KS_T(fast_rows) {
    KS_NUM F[N * N], u[N], H[M * N], d[M], y[M];
    KS_GAIN narrow_F[N * N], Q[N * N], narrow_H[M * N], R[M * M];
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

/** The type of rows until they are complete. Where KS_GAIN is narrower they stay in From, as which they are stored: half
 *  of them are not wanted wider, and nvcc cannot undo a widening whose result comes by several ways. Such conversions
 *  are slow. */
template <class From, bool Narrower> struct KS_T(fast_type) { typedef KS_NUM own; };
template <class From> struct KS_T(fast_type)<From, true> { typedef From own; };

template <int N, class Own> struct KS_T(fast_own_transition) {
    Own F[N * N], Q[N * N], u[N];
};
template <int N, int M, class Own> struct KS_T(fast_own_observation) {
    Own H[M * N], R[M * M], d[M], y[M];
};

template <int COUNT, class From, class To> KS_DEVICE void KS_T(fast_convert)(const From *from, To *to)
{
    for (int i = 0; i < COUNT; ++i) to[i] = (To)from[i];
}

/** Load the rows of the transition of n states into step k. */
template <int N, class From, class Own, class ROWS>
KS_DEVICE void KS_T(fast_load_transition)(int n, const ROWS &at, int64_t k, KS_T(fast_own_transition)<N, Own> &own)
{
    KS_T(fast_matrix_as)<N, N, From>(n, n, at.F(k), 0, own.F);
    KS_T(fast_matrix_as)<N, N, From>(n, n, at.Q(k), 1, own.Q);
    KS_T(fast_matrix_as)<1, N, From>(1, n, at.u(k), 0, own.u);
}

/** Load the transition into step k from rows of type From. Under prior x1 nothing moves before step 0. The sizes are
 *  compared with the literal ones once for all rows; where they agree each row is plain loads. */
template <int N, int M, class From = KS_NUM, class ROWS>
KS_DEVICE void KS_T(fast_transition)(const ks_series &s, const ROWS &at, int64_t k,
                                     KS_T(fast_rows)<N, M> &r)
{
    typedef typename KS_T(fast_type)<From, (sizeof(KS_GAIN) < sizeof(KS_NUM))>::own Own;
    KS_T(fast_own_transition)<N, Own> own;
    if (s.nx == N && k > 0 && at.plain()) {
        KS_T(fast_load_transition)<N, From>(N, at.plainly(), k, own);
    } else if (k == 0 && s.prior_x1) {
        for (int i = 0; i < N * N; ++i) {
            own.Q[i] = 0;
            own.F[i] = i % (N + 1) == 0;
        }
        for (int i = 0; i < N; ++i) own.u[i] = 0;
    } else {
        KS_T(fast_load_transition)<N, From>(s.nx, at, k, own);
    }
    KS_T(fast_convert)<N * N>(own.F, r.F);
    KS_T(fast_convert)<N * N>(own.F, r.narrow_F);
    KS_T(fast_convert)<N * N>(own.Q, r.Q);
    KS_T(fast_convert)<N>(own.u, r.u);
}

/** Load what step k observes: m entries of n states. */
template <int N, int M, class From, class Own, class ROWS>
KS_DEVICE void KS_T(fast_load_observation)(int n, int m, const ROWS &at, int64_t k,
                                           KS_T(fast_own_observation)<N, M, Own> &own)
{
    KS_T(fast_matrix_as)<1, M, From>(1, m, at.y(k), 0, own.y);
    KS_T(fast_matrix_as)<M, N, From>(m, n, at.H(k), 0, own.H);
    KS_T(fast_matrix_as)<M, M, From>(m, m, at.R(k), 1, own.R);
    KS_T(fast_matrix_as)<1, M, From>(1, m, at.d(k), 0, own.d);
}

/** Load what step k observes. A missing entry keeps its place, with zeros in H and unit noise, and carries no
 *  information. */
template <int N, int M, class From = KS_NUM, class ROWS>
KS_DEVICE void KS_T(fast_observation)(const ks_series &s, const ROWS &at, int64_t k,
                                      KS_T(fast_rows)<N, M> &r)
{
    typedef typename KS_T(fast_type)<From, (sizeof(KS_GAIN) < sizeof(KS_NUM))>::own Own;
    KS_T(fast_own_observation)<N, M, Own> own;
    if (s.nx == N && s.ny == M && at.plain()) KS_T(fast_load_observation)<N, M, From>(N, M, at.plainly(), k, own);
    else KS_T(fast_load_observation)<N, M, From>(s.nx, s.ny, at, k, own);
    r.present = 0;
    r.finite = true;
    for (int i = 0; i < M; ++i) {
        const bool there = i < s.ny && own.y[i] == own.y[i];
        if (there) r.present |= 1u << i;
        if (there && !(own.y[i] - own.y[i] == 0)) r.finite = false;
    }
    if (r.present != (1u << M) - 1)
        for (int i = 0; i < M; ++i) {
            const bool there = r.present >> i & 1;
            for (int c = 0; c < N; ++c) own.H[i * N + c] = there ? own.H[i * N + c] : 0;
            for (int j = 0; j < M; ++j)
                if (!there || !(r.present >> j & 1)) own.R[i * M + j] = i == j;
            if (!there) own.y[i] = own.d[i] = 0;
        }
    KS_T(fast_convert)<M * N>(own.H, r.H);
    KS_T(fast_convert)<M * N>(own.H, r.narrow_H);
    KS_T(fast_convert)<M * M>(own.R, r.R);
    KS_T(fast_convert)<M>(own.d, r.d);
    KS_T(fast_convert)<M>(own.y, r.y);
}

/** Load all rows of step k, and compute `times`. */
template <int N, int M, class From = KS_NUM, class ROWS>
KS_DEVICE void KS_T(fast_step_rows)(const ks_series &s, const ROWS &at, int64_t k, KS_T(fast_rows)<N, M> &r)
{
    KS_GAIN LD[M * M], inverse_d[M];
    KS_T(fast_transition)<N, M, From>(s, at, k, r);
    KS_T(fast_observation)<N, M, From>(s, at, k, r);
    r.times = KS_G(ks_noise_times_in)(M, r.R, M, LD, inverse_d);
}

/** Load the prior. */
template <int N, class From = KS_NUM> KS_DEVICE void KS_T(fast_prior)(const ks_series &s, KS_NUM *x, KS_GAIN *P)
{
    KS_T(fast_matrix_as)<1, N, From>(1, s.nx, s.m0, 0, x);
    KS_T(fast_matrix_as)<N, N, From>(s.nx, s.nx, s.P0, 1, P);
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
