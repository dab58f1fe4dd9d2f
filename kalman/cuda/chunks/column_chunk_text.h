/* column_chunk_text.h -- device code: chunks of ordinary steps of up to N states and M entries, a team of threads for
 * each that hold matrices by columns in registers; means in KS_NUM, covariances in KS_GAIN. See chunk_step_text.h,
 * num_f64.h, column_smallmat_text.h. Smaller models are padded as in fast_rows_text.h. Chunks that the ordinary form
 * cannot do are left to the kernels for any model. What a thread returns all of its team return.
 *
 * The teams of a warp run together (columns.h), as many steps as a full chunk has. One whose chunk has ended, does not
 * exist, is not wanted or has failed goes along, behind the last step with that once more, and stores nothing. */

/** This thread's columns of the rows of a step, and its entries of their vectors. */
template <int N, int M> struct KS_T(column_rows) {
    KS_NUM F[N], u[1], H[M], d[1], y[1];
    KS_GAIN narrow_F[N], Q[N], narrow_H[M], R[M];
    KS_GAIN times;    /* ks_noise_times_in() of R, in every thread */
    unsigned present; /* bit i: entry i is present, in every thread */
    bool finite;
};

/** Results and scratch of a filter step. */
template <int N, int M> struct KS_T(column_step) {
    KS_NUM xp[1], v[1];
    KS_GAIN S[M], inverse_d[M], Z[M], Pp[N], G[M], W[2 * N + M];
};

template <int N, int M> KS_DEVICE KS_T(ks_chunk_rows) KS_T(column_rows_of)(KS_T(column_rows)<N, M> &r)
{
    const KS_T(ks_chunk_rows) rows = { r.F, r.u, r.H, r.d, r.y, r.narrow_F, r.Q, r.narrow_H, r.R };
    return rows;
}

template <int N, int M> KS_DEVICE KS_T(ks_chunk_work) KS_T(column_work_of)(KS_T(column_step)<N, M> &w)
{
    const KS_T(ks_chunk_work) work = { w.xp, w.v, w.S, w.inverse_d, w.Z, w.Pp, w.G, w.W };
    return work;
}

/** Load this thread's column of a (rows, columns) matrix of type From into one of R numbers. Beyond the matrix entries
 *  are `beyond` on the diagonal and 0 elsewhere. Each case asks for the thread's column by itself, which keeps the
 *  compiler from doing both. */
template <int R, int C, class From, class To>
KS_DEVICE void KS_T(column_load)(int rows, int columns, const void *matrix, int beyond, To *to)
{
    if (rows == R && columns == C) {
        const int own = ks_column();
        const From *const from = static_cast<const From *>(matrix) + own;
        KS_UNROLL
        for (int i = 0; i < R; ++i) to[i] = C == KS_COLUMNS || own < C ? (To)from[i * C] : (To)0;
    } else {
        const int own = ks_column();
        const From *const from = static_cast<const From *>(matrix) + own;
        KS_UNROLL
        for (int i = 0; i < R; ++i)
            to[i] = i < rows && own < columns ? (To)from[i * columns] : (To)(i == own ? beyond : 0);
    }
}

/** Load this thread's entry of a vector; 0 beyond it. */
template <class From> KS_DEVICE KS_NUM KS_T(column_entry)(int count, const void *vector)
{
    const int own = ks_column();
    return own < count ? (KS_NUM)static_cast<const From *>(vector)[own] : KS_LIT(0);
}

/** Load the transition into step k. Under prior x1 nothing moves before step 0. */
template <int N, int M, class From, class Rows>
KS_DEVICE void KS_T(column_transition)(const ks_series &s, const Rows &at, int64_t k, KS_T(column_rows)<N, M> &r)
{
    if (k == 0 && s.prior_x1) {
        const int own = ks_column();
        KS_UNROLL
        for (int i = 0; i < N; ++i) {
            r.F[i] = KS_LIT(i == own);
            r.Q[i] = 0;
        }
        r.u[0] = KS_LIT(0);
    } else {
        KS_T(column_load)<N, N, From>(s.nx, s.nx, at.F(k), 0, r.F);
        KS_T(column_load)<N, N, From>(s.nx, s.nx, at.Q(k), 1, r.Q);
        r.u[0] = KS_T(column_entry)<From>(s.nx, at.u(k));
    }
    KS_UNROLL
    for (int i = 0; i < N; ++i) r.narrow_F[i] = (KS_GAIN)r.F[i];
}

/** ks_noise_times_in() of R. */
template <int M> KS_DEVICE KS_NUM KS_T(column_times)(const KS_NUM *R)
{
    const int own = ks_column();
    KS_NUM LD[M], inverse_d[M], noise[M], pivots[M];
    bool correlated = false;
    KS_UNROLL
    for (int i = 0; i < M; ++i) {
        LD[i] = R[i];
        correlated = correlated || (i != own && own < M && R[i] != KS_LIT(0));
    }
    if (!ks_columns_any(correlated)) return KS_LIT(1 + KS_GROWTH);
    const KS_MASK good = KS_T(ks_ldl)(M, 1 / KS_GROWTH, LD, inverse_d);
    const KS_NUM variance = ks_column_entry(M, R, own), pivot = ks_column_entry(M, LD, own);
    KS_UNROLL
    for (int i = 0; i < M; ++i) {
        noise[i] = ks_column_from(variance, i);
        pivots[i] = ks_column_from(pivot, i);
    }
    const KS_NUM times = KS_T(ks_times_of_pivots)(M, noise, 0, pivots, 1, good);
    return ks_columns_vote(correlated) ? times : KS_LIT(1 + KS_GROWTH);
}

/** Load what step k observes. A missing entry keeps its place, with zeros in H and unit noise, and carries no
 *  information. */
template <int N, int M, class From, class Rows>
KS_DEVICE void KS_T(column_observation)(const ks_series &s, const Rows &at, int64_t k, KS_T(column_rows)<N, M> &r)
{
    const int own = ks_column(), m = s.ny;
    r.y[0] = KS_T(column_entry)<From>(m, at.y(k));
    r.d[0] = KS_T(column_entry)<From>(m, at.d(k));
    KS_T(column_load)<M, N, From>(m, s.nx, at.H(k), 0, r.H);
    KS_T(column_load)<M, M, From>(m, m, at.R(k), 1, r.R);
    const bool there = own < m && r.y[0] == r.y[0];
    r.present = ks_columns_vote(there);
    r.finite = ks_columns_all(!there || r.y[0] - r.y[0] == KS_LIT(0));
    if (r.present != (1u << M) - 1) {
        KS_UNROLL
        for (int i = 0; i < M; ++i) {
            const bool both = there && (r.present >> i & 1);
            r.H[i] = r.present >> i & 1 ? r.H[i] : KS_LIT(0);
            r.R[i] = both ? r.R[i] : (KS_GAIN)(i == own);
        }
        if (!there) r.y[0] = r.d[0] = KS_LIT(0);
    }
    KS_UNROLL
    for (int i = 0; i < M; ++i) r.narrow_H[i] = (KS_GAIN)r.H[i];
    r.times = KS_G(column_times)<M>(r.R);
}

/** Load the prior. */
template <int N, class From> KS_DEVICE void KS_T(column_prior)(const ks_series &s, KS_NUM *x, KS_GAIN *P)
{
    *x = KS_T(column_entry)<From>(s.nx, s.m0);
    KS_T(column_load)<N, N, From>(s.nx, s.nx, s.P0, 1, P);
}

/** Whether an estimate is finite. */
template <int N> KS_DEVICE bool KS_T(column_finite)(const KS_NUM *x, const KS_GAIN *P)
{
    KS_GAIN lost = 0;
    KS_UNROLL
    for (int i = 0; i < N; ++i) lost = lost + (P[i] - P[i]);
    return ks_columns_all(*x - *x == KS_LIT(0) && lost == 0);
}

template <int N> KS_DEVICE bool KS_T(column_conditioned)(const KS_NUM *P)
{
    KS_NUM W[N], inverse_d[N];
    KS_UNROLL
    for (int i = 0; i < N; ++i) W[i] = P[i];
    return KS_T(ks_ldl)(N, 1 / KS_GROWTH, W, inverse_d);
}

/** The steps of a team's chunk: from `first` to before `end`, none if it has none. Step number i is step at(i), or, where
 *  there is no such step, the last one of all chunks that are to be done, whose rows are in memory. */
struct KS_T(column_steps) {
    int64_t first, end, last;
    KS_DEVICE_MEMBER KS_T(column_steps)(const ks_chunk_arrays &c, int64_t chunk)
        : first(chunk * c.size), end(first + (chunk < c.chunks ? ks_chunk_steps(&c, chunk) : 0)),
          last((c.chunks - 1) * c.size + ks_chunk_steps(&c, c.chunks - 1) - 1)
    {
    }
    KS_DEVICE_MEMBER int64_t at(int64_t i) const { return first + i < last ? first + i : last; }
};

/** Store the aggregate of a chunk. */
template <int N>
KS_DEVICE void KS_T(column_put_element)(int n, const KS_NUM *A, KS_NUM b, const KS_GAIN *C, KS_NUM eta, const KS_NUM *J,
                                        double *to)
{
    const int half = n * (n + 1) / 2, own = ks_column();
    if (own >= n) return;
    to[n * n + own] = (double)b;
    to[n * n + n + half + own] = (double)eta;
    KS_UNROLL
    for (int i = 0; i < N; ++i) {
        const int lower = n * n + n + i * (i + 1) / 2 + own;
        if (i >= n) continue;
        to[i * n + own] = (double)A[i];
        if (i < own) continue;
        to[lower] = (double)C[i];
        to[lower + half + n] = (double)J[i];
    }
}

/** Make the aggregate of a chunk from rows of type From. Return false if there is no such chunk, or if it is left to
 *  another kernel. */
template <int N, int M, class From, class Rows>
KS_DEVICE bool KS_T(column_absorb)(const ks_chunk_arrays &c, const Rows &rows_of, int64_t chunk)
{
    const ks_series &s = c.a.series;
    const KS_T(column_steps) steps(c, chunk);
    KS_NUM in_registers[N], b[1], eta[1], V[N + 2 * M];
    KS_NUM *const A = N > 8 ? ks_column_parked<KS_ROOM_PARKED_TOO, KS_NUM>() : in_registers;
    KS_NUM *const J = ks_column_parked<KS_ROOM_PARKED, KS_NUM>();
    KS_GAIN covariance[N];
    /* Rooms of two types of number are not the same. In double there is none left. */
    KS_GAIN *const C = N > 8 && sizeof(KS_GAIN) < sizeof(KS_NUM) ? ks_column_parked<KS_ROOM_PARKED, KS_GAIN>() : covariance;
    KS_T(column_rows)<N, M> r;
    KS_T(column_step)<N, M> w;
    const KS_T(ks_chunk_rows) rows = KS_T(column_rows_of)<N, M>(r);
    const KS_T(ks_chunk_work) work = KS_T(column_work_of)<N, M>(w);
    KS_UNROLL
    for (int i = 0; i < N; ++i) {
        A[i] = KS_LIT(chunk > 0 && i == ks_column());
        J[i] = KS_LIT(0);
        C[i] = 0;
    }
    b[0] = eta[0] = KS_LIT(0);
    /* A = 0 in the first chunk: there is nothing before the prior. */
    if (chunk == 0) KS_T(column_prior)<N, From>(s, b, C);
    bool good = chunk < c.chunks;
    for (int64_t i = 0; i < c.size && ks_columns_any(good); ++i) {
        const int64_t k = steps.at(i);
        KS_T(column_transition)<N, M, From>(s, rows_of, k, r);
        KS_T(column_observation)<N, M, From>(s, rows_of, k, r);
        const bool fits = KS_T(ks_sensitive_step)(N, M, &rows, r.times, A, b, C, eta, J, &work, V);
        const bool there = steps.first + i < steps.end, ends = steps.first + i + 1 == steps.end;
        const bool finite = !ks_columns_any(ends) || KS_T(column_finite)<N>(b, C);
        if (there) good = good && r.finite && fits && (finite || !ends);
        if (good && ends)
            KS_T(column_put_element)<N>(s.nx, A, *b, C, *eta, J, static_cast<double *>(c.a.elements) +
                                                                     chunk * ks_filter_element_size(s.nx));
    }
    return good;
}

/** Load an estimate in double. */
template <int N> KS_DEVICE void KS_T(column_narrow)(int n, const double *from, KS_NUM *x, KS_GAIN *P)
{
    *x = KS_T(column_entry)<double>(n, from);
    KS_T(column_load)<N, N, double>(n, n, from + n, 1, P);
}

template <int N, class Number> KS_DEVICE void KS_T(column_put)(int n, const Number *own, ks_sink to, int64_t k)
{
    const int column = ks_column();
    if (!to.base || column >= n) return;
    Number *const row = static_cast<Number *>(ks_slot_of(to, k)) + column;
    KS_UNROLL
    for (int i = 0; i < N; ++i)
        if (i < n) row[i * n] = own[i];
}

template <class Number> KS_DEVICE void KS_T(column_put_entry)(int n, Number own, ks_sink to, int64_t k)
{
    const int column = ks_column();
    if (to.base && column < n) static_cast<Number *>(ks_slot_of(to, k))[column] = own;
}

template <int N>
KS_DEVICE void KS_T(column_put_estimate)(int n, const KS_NUM *x, const KS_GAIN *P, ks_sink mean, ks_sink cov, ks_sink var,
                                         int64_t k)
{
    KS_T(column_put_entry)(n, *x, mean, k);
    KS_T(column_put)<N>(n, P, cov, k);
    if (var.base) KS_T(column_put_entry)(n, ks_column_entry(N, P, ks_column()), var, k);
}

/** Store the estimate at the end of a pass over a chunk in c.first or c.end. */
template <int N, class Cov>
KS_DEVICE void KS_T(column_put_border)(int n, double *border, int64_t chunk, const KS_NUM *x, const Cov *P)
{
    const int column = ks_column();
    double *const to = border + chunk * (n + n * n) + column;
    if (column >= n) return;
    *to = (double)*x;
    KS_UNROLL
    for (int i = 0; i < N; ++i)
        if (i < n) to[n + i * n] = (double)P[i];
}

/** Add this thread's whitened innovation, with its factor, to its evidence. */
template <int N, int M>
KS_DEVICE void KS_T(column_gather)(const KS_T(column_rows)<N, M> &r, const KS_T(column_step)<N, M> &w,
                                   ks_evidence *evidence)
{
    const int own = ks_column();
    if (!(r.present >> own & 1)) return;
    const KS_GAIN inverse = ks_column_entry(M, w.inverse_d, own);
    ks_gather_pivot(evidence, (double)ks_column_entry(M, w.S, own),
                    (double)(w.v[0] * w.v[0] * (KS_NUM)inverse));
}

/** The log-likelihood of all entries, in every thread. */
template <int M> KS_DEVICE double KS_T(column_loglik)(const ks_evidence *evidence)
{
    const double own = ks_evidence_loglik(evidence);
    double sum = 0;
    KS_UNROLL
    for (int i = 0; i < M; ++i) sum += ks_column_from(own, i);
    return sum;
}

/** Filter the steps of a chunk, if it exists. */
template <int N, int M, class Rows>
KS_DEVICE bool KS_T(column_rerun)(const ks_chunk_arrays &c, const Rows &rows_of, int64_t chunk, ks_tally *tally)
{
    const ks_series &s = c.a.series;
    const int n = s.nx;
    const KS_T(column_steps) steps(c, chunk);
    const ks_sink nowhere = { NULL, 0, 0 };
    KS_NUM x[1];
    KS_GAIN in_registers[N];
    KS_GAIN *const P = N > 8 ? ks_column_parked<KS_ROOM_PARKED, KS_GAIN>() : in_registers;
    KS_T(column_rows)<N, M> r;
    KS_T(column_step)<N, M> w;
    const KS_T(ks_chunk_rows) rows = KS_T(column_rows_of)<N, M>(r);
    const KS_T(ks_chunk_work) work = KS_T(column_work_of)<N, M>(w);
    ks_evidence evidence = ks_evidence_start();
    int missing = 0;
    bool good = chunk < c.chunks;
    if (chunk == 0 || !good) KS_T(column_prior)<N, KS_NUM>(s, x, P);
    else KS_T(column_narrow)<N>(n, c.before + chunk * (n + n * n), x, P);
    good = KS_T(column_finite)<N>(x, P) && good;
    for (int64_t i = 0; i < c.size && ks_columns_any(good); ++i) {
        const int64_t k = steps.at(i);
        const bool there = steps.first + i < steps.end, ends = steps.first + i + 1 == steps.end;
        const bool looks = i == 0 || KS_IS_LOOKED_AT(k);
        if (ks_columns_any(good && looks)) {
            const bool lasts = KS_G(column_conditioned)<N>(P);
            if (looks && there) good = good && lasts;
        }
        KS_T(column_transition)<N, M, KS_NUM>(s, rows_of, k, r);
        KS_T(column_observation)<N, M, KS_NUM>(s, rows_of, k, r);
        const bool fits = KS_T(ks_chunk_filter)(N, M, &rows, r.times, x, P, &work);
        if (there) KS_T(column_gather)<N, M>(r, w, &evidence);
        missing += there ? s.ny - __popc(r.present) : 0;
        const bool finite = KS_T(column_finite)<N>(x, P), summed = ks_columns_all(isfinite(evidence.quadratic));
        const bool conditioned = !ks_columns_any(good && ends) || KS_G(column_conditioned)<N>(P);
        if (there) good = good && r.finite && fits && finite && summed && (!ends || conditioned);
        if (c.a.to.loglik_terms.base) {
            ks_evidence own = ks_evidence_start();
            KS_T(column_gather)<N, M>(r, w, &own);
            const double term = KS_T(column_loglik)<M>(&own);
            if (good && there && ks_column() == 0) *static_cast<double *>(ks_slot_of(c.a.to.loglik_terms, k)) = term;
        }
        if (!good || !there) continue;
        KS_T(column_put_estimate)<N>(n, x, P, c.a.to.filtered_mean, c.a.to.filtered_cov, c.a.to.filtered_var, k);
        if (c.smooths) KS_T(column_put_estimate)<N>(n, x, P, c.kept_mean, c.kept_C, nowhere, k);
        if (c.smooths && ks_column() == 0) c.form[k] = KS_FORM_ORDINARY;
        if (ends) KS_T(column_put_border)<N>(n, c.end, chunk, x, P);
    }
    const double loglik = KS_T(column_loglik)<M>(&evidence);
    if (!good) return false;
    tally->ordinary += steps.end - steps.first;
    tally->missing += missing;
    if (ks_column() == 0) c.a.loglik_terms[chunk] = loglik;
    return true;
}

/** Smooth the steps of a chunk that has been filtered, if it is wanted. */
template <int N, class Rows>
KS_DEVICE bool KS_T(column_smooth)(const ks_chunk_arrays &c, const Rows &rows_of, int64_t chunk, bool wanted)
{
    const ks_series &s = c.a.series;
    const int n = s.nx;
    const KS_T(column_steps) steps(c, chunk);
    const ks_backward_sinks &back = c.a.back;
    KS_NUM x[1], fx[1], t[1];
    KS_GAIN next[N], filtered[N], Pn[N], ET[N], Pp[N], W[3 * N];
    KS_GAIN *const P = N > 8 ? ks_column_parked<KS_ROOM_PARKED, KS_GAIN>() : next;
    KS_GAIN *const fP = N > 8 ? ks_column_parked<KS_ROOM_PARKED_TOO, KS_GAIN>() : filtered;
    KS_T(column_rows)<N, 1> r;
    const KS_T(ks_chunk_rows) rows = KS_T(column_rows_of)<N, 1>(r);
    bool good = wanted;
    x[0] = KS_LIT(0);
    KS_UNROLL
    for (int j = 0; j < N; ++j) P[j] = 0;
    for (int64_t i = c.size - 1; i >= 0 && ks_columns_any(good); --i) {
        const int64_t k = steps.at(i);
        const bool there = steps.first + i < steps.end, ends = steps.first + i + 1 == steps.end;
        if (i < c.size - 1) {
            KS_T(column_transition)<N, 1, KS_NUM>(s, rows_of, k < steps.last ? k + 1 : k, r);
            *fx = KS_T(column_entry)<KS_NUM>(n, rows_of.mean(k));
            KS_T(column_load)<N, N, KS_GAIN>(n, n, rows_of.cov(k), 1, fP);
            const bool fits = KS_T(ks_chunk_smooth)(N, &rows, fx, fP, x, P, Pn, ET, Pp, W, t);
            if (there && !ends) good = good && fits;
            if (back.lag_one_cov.base) {
                KS_G(ks_mm)(N, N, N, P, ET, W);
                if (good && there && !ends) KS_T(column_put)<N>(n, W, back.lag_one_cov, k + 1);
            }
            KS_G(ks_copy_matrix)(N, N, Pn, P);
        }
        if (good && ends) {
            if (steps.end < s.steps) {
                KS_T(column_narrow)<N>(n, c.last + chunk * (n + n * n), x, P);
            } else {
                *x = KS_T(column_entry)<KS_NUM>(n, rows_of.mean(k));
                KS_T(column_load)<N, N, KS_GAIN>(n, n, rows_of.cov(k), 1, P);
            }
        }
        const bool finite = KS_T(column_finite)<N>(x, P);
        if (there) good = good && finite;
        if (good && there)
            KS_T(column_put_estimate)<N>(n, x, P, back.smoothed_mean, back.smoothed_cov, back.smoothed_var, k);
    }
    if (good) KS_T(column_put_border)<N>(n, c.first, chunk, x, P);
    return good;
}
