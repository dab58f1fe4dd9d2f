/* fast_chunk_text.h -- device code: chunks of ordinary steps with everything in registers, for up to N states and M
 * entries; means in KS_NUM, covariances in KS_GAIN, see chunk_step_text.h and num_f64.h. Smaller models are padded, see
 * fast_rows_text.h. Rows and results of the filter may be of narrower types Mean and Cov. Chunks that the ordinary form
 * cannot do are left to the kernels for any model. */

#include "fast_rows_text.h"

/** Results and scratch of a filter step. */
template <int N, int M> struct KS_T(fast_step) {
    KS_NUM xp[N], v[M];
    KS_GAIN S[M * M], inverse_d[M], Z[M * N], Pp[N * N], G[M * N], W[2 * N * N + M * N];
};

template <int N, int M>
KS_DEVICE KS_T(ks_chunk_rows) KS_T(fast_rows_of)(KS_T(fast_rows)<N, M> &r)
{
    const KS_T(ks_chunk_rows) rows = { r.F, r.u, r.H, r.d, r.y, r.narrow_F, r.Q, r.narrow_H, r.R };
    return rows;
}

template <int N, int M>
KS_DEVICE KS_T(ks_chunk_work) KS_T(fast_work_of)(KS_T(fast_step)<N, M> &w)
{
    const KS_T(ks_chunk_work) work = { w.xp, w.v, w.S, w.inverse_d, w.Z, w.Pp, w.G, w.W };
    return work;
}

/** A filter step that carries its sensitivity to the estimate before the chunk; see sensitive_step_text.h. `told` has
 *  eta and the lower triangle of J, with a stride of `Apart` numbers. They are sums. For a combination of states that
 *  no observation depends on they consist of round-off only, whose effect is multiplied by a variance that may be
 *  large. So they are in double in single precision, too. V: N² + M N numbers. */
template <int N, int M, int Apart, class Told>
KS_DEVICE bool KS_T(fast_sensitive_step)(const KS_T(ks_chunk_rows) &r, KS_GAIN times, KS_NUM *A, KS_NUM *b, KS_GAIN *C,
                                         Told told, const KS_T(ks_chunk_work) &w, KS_NUM *V)
{
    const KS_NUM *const HA = V + N * N;
    const bool good = KS_T(ks_chunk_filter)(N, M, &r, times, b, C, &w);
    KS_T(ks_carry_estimate)(N, M, r.F, r.H, w.S, w.Z, A, V);
    for (int l = 0; l < M; ++l)
        for (int i = 0; i < N; ++i) {
            const Told eta = told + i * Apart, J = told + (N + i * (i + 1) / 2) * Apart;
            const KS_WIDE weight = (KS_WIDE)HA[l * N + i] * (KS_WIDE)w.inverse_d[l];
            *eta = *eta + weight * (KS_WIDE)w.v[l];
            for (int j = 0; j <= i; ++j) J[j * Apart] = J[j * Apart] + weight * (KS_WIDE)HA[l * N + j];
        }
    return good;
}

/** Make the aggregate of a chunk; if there is no such chunk, none. `told` is as above, of this thread. Return false if
 *  the chunk is left to another kernel. */
template <int N, int M, class From, int Apart, class Told, class ROWS>
KS_DEVICE bool KS_T(fast_absorb)(const ks_chunk_arrays &c, ROWS &at, int64_t chunk, Told told)
{
    const ks_series &s = c.a.series;
    const int n = s.nx;
    const int64_t first = chunk * c.size, last = first + c.size;
    const int64_t end = last < s.steps ? last : s.steps;
    KS_NUM A[N * N], b[N], V[N * N + M * N];
    KS_GAIN C[N * N];
    KS_T(fast_rows)<N, M> r;
    KS_T(fast_step)<N, M> w;
    const KS_T(ks_chunk_rows) rows = KS_T(fast_rows_of)<N, M>(r);
    const KS_T(ks_chunk_work) work = KS_T(fast_work_of)<N, M>(w);
    for (int i = 0; i < N * N; ++i) {
        A[i] = KS_LIT(chunk > 0 && i % (N + 1) == 0);
        C[i] = 0;
    }
    for (int i = 0; i < N; ++i) b[i] = KS_LIT(0);
    for (int i = 0; i < KS_FAST_TOLD(N); ++i) told[i * Apart] = 0;
    /* A = 0 in the first chunk: there is nothing before the prior. */
    if (chunk == 0) KS_T(fast_prior)<N, From>(s, b, C);
    bool good = !ROWS::TOGETHER || chunk < c.chunks;
    at.begin(first);
    for (int64_t k = first; k < (ROWS::TOGETHER ? last : end); ++k) {
        at.turn(k - first);
        if (ROWS::TOGETHER && !(good && k < end)) continue;
        KS_T(fast_step_rows)<N, M, From>(s, at, k, r);
        good = r.finite && KS_T(fast_sensitive_step)<N, M, Apart>(rows, r.times, A, b, C, told, work, V);
        if (!ROWS::TOGETHER && !good) return false;
    }
    if (!good || !KS_T(fast_finite)<N>(b, C)) return false;
    double *to = static_cast<double *>(c.a.elements) + chunk * ks_filter_element_size(n);
    const int half = n * (n + 1) / 2;
    for (int i = 0; i < N; ++i) {
        if (i >= n) continue;
        for (int j = 0; j < N; ++j)
            if (j < n) to[i * n + j] = (double)A[i * N + j];
        to[n * n + i] = (double)b[i];
        to[n * n + n + half + i] = (double)told[i * Apart];
        for (int j = 0; j <= i; ++j) {
            to[n * n + n + i * (i + 1) / 2 + j] = (double)C[i * N + j];
            to[n * n + 2 * n + half + i * (i + 1) / 2 + j] = (double)told[(N + i * (i + 1) / 2 + j) * Apart];
        }
    }
    return true;
}

/** Convert an estimate in double of n states to one of N. Return false if it does not fit these numbers. */
template <int N> KS_DEVICE bool KS_T(fast_narrow)(int n, const double *from, KS_NUM *x, KS_GAIN *P)
{
    for (int i = 0; i < N; ++i) {
        x[i] = i < n ? (KS_NUM)from[i] : KS_LIT(0);
        for (int j = 0; j < N; ++j)
            P[i * N + j] = i < n && j < n ? (KS_GAIN)from[n + i * n + j] : (KS_GAIN)(i == j);
    }
    return KS_T(fast_finite)<N>(x, P);
}

template <int N, class Mean = KS_NUM, class Cov = KS_GAIN>
KS_DEVICE void KS_T(fast_put_estimate)(int n, const KS_NUM *x, const KS_GAIN *P, ks_sink mean, ks_sink cov, int64_t k)
{
    KS_T(fast_put_as)<1, N, Mean>(1, n, x, mean, k);
    KS_T(fast_put_as)<N, N, Cov>(n, n, P, cov, k);
}

/** The same, through rows that may store the results of their threads. */
template <int N, class Mean = KS_NUM, class Cov = KS_GAIN, class ROWS>
KS_DEVICE void KS_T(fast_put_through)(ROWS &at, int n, const KS_NUM *x, const KS_GAIN *P, ks_sink mean, ks_sink cov,
                                      int64_t k)
{
    if (!at.takes_results()) {
        KS_T(fast_put_estimate)<N, Mean, Cov>(n, x, P, mean, cov, k);
        return;
    }
    const ks_sink own_mean = { at.result(KS_RING_TO_MEAN), 0, 0 }, own_cov = { at.result(KS_RING_TO_COV), 0, 0 };
    KS_T(fast_put_estimate)<N, Mean, Cov>(n, x, P, own_mean, own_cov, 0);
    at.take_results();
}

template <int N, class Cov = KS_GAIN>
KS_DEVICE void KS_T(fast_put_variances)(int n, const KS_GAIN *P, ks_sink var, int64_t k)
{
    if (!var.base) return;
    KS_GAIN diagonal[N];
    for (int i = 0; i < N; ++i) diagonal[i] = P[i * N + i];
    KS_T(fast_put_as)<1, N, Cov>(1, n, diagonal, var, k);
}

/** Record that all steps of a chunk are in the ordinary form. */
KS_DEVICE void KS_T(fast_put_form)(const ks_chunk_arrays &c, int64_t first, int64_t end)
{
    int64_t k = first;
    /* Chunks are multiples of four steps. */
    for (; k + 4 <= end; k += 4) memset(ks_aligned(c.form + k, 4), KS_FORM_ORDINARY, 4);
    for (; k < end; ++k) c.form[k] = KS_FORM_ORDINARY;
}

/** Add the whitened innovations of a step, with their factors, to the evidence. */
template <int N, int M>
KS_DEVICE void KS_T(fast_gather)(const KS_T(fast_rows)<N, M> &r, const KS_T(fast_step)<N, M> &w, ks_evidence *evidence)
{
    for (int i = 0; i < M; ++i)
        if (r.present >> i & 1)
            ks_gather_pivot(evidence, (double)w.S[i * M + i],
                            (double)(w.v[i] * w.v[i] * (KS_NUM)w.inverse_d[i]));
}

/** Store the term of step k of the log-likelihood, if that is an output. */
template <int N, int M>
KS_DEVICE void KS_T(fast_put_term)(const KS_T(fast_rows)<N, M> &r, const KS_T(fast_step)<N, M> &w, ks_sink terms,
                                   int64_t k)
{
    if (!terms.base) return;
    ks_evidence term = ks_evidence_start();
    KS_T(fast_gather)<N, M>(r, w, &term);
    *static_cast<double *>(ks_slot_of(terms, k)) = ks_evidence_loglik(&term);
}

/** Filter step k; x, P are the estimate of the step before in and of this one out. */
template <int N, int M, bool Smooth, class Mean = KS_NUM, class Cov = KS_GAIN, class ROWS>
KS_DEVICE bool KS_T(fast_filter)(const ks_chunk_arrays &c, ROWS &at, int64_t k, KS_NUM *x,
                                 KS_GAIN *P, ks_tally *tally)
{
    const ks_series &s = c.a.series;
    KS_T(fast_rows)<N, M> r;
    KS_T(fast_step)<N, M> w;
    const KS_T(ks_chunk_rows) rows = KS_T(fast_rows_of)<N, M>(r);
    const KS_T(ks_chunk_work) work = KS_T(fast_work_of)<N, M>(w);
    KS_T(fast_step_rows)<N, M, Mean>(s, at, k, r);
    if (!r.finite || (KS_IS_LOOKED_AT(k) && !KS_G(ks_well_conditioned)(N, P, w.W))) return false;
    if (!KS_T(ks_chunk_filter)(N, M, &rows, r.times, x, P, &work)) return false;
    KS_T(fast_gather)<N, M>(r, w, &tally->evidence);
    for (int i = 0; i < M; ++i)
        if (i < s.ny && !(r.present >> i & 1)) tally->missing += 1;
    if (!KS_T(fast_finite)<N, Mean, Cov>(x, P) || !isfinite(tally->evidence.quadratic)) return false;
    const ks_forward_sinks &to = c.a.to;
    KS_T(fast_put_term)<N, M>(r, w, to.loglik_terms, k);
    KS_T(fast_put_variances)<N, Cov>(s.nx, P, to.filtered_var, k);
    if (Smooth) {
        KS_T(fast_put_estimate)<N, Mean, Cov>(s.nx, x, P, to.filtered_mean, to.filtered_cov, k);
        KS_T(fast_put_through)<N, Mean, Cov>(at, s.nx, x, P, c.kept_mean, c.kept_C, k);
    } else {
        KS_T(fast_put_through)<N, Mean, Cov>(at, s.nx, x, P, to.filtered_mean, to.filtered_cov, k);
    }
    return true;
}

/** Load the filtered estimate of step k that was kept, of n states. */
template <int N, class ROWS>
KS_DEVICE void KS_T(fast_load_kept)(int n, const ROWS &at, int64_t k, KS_NUM *x, KS_GAIN *P)
{
    KS_T(fast_matrix)<1, N>(1, n, at.mean(k), 0, x);
    KS_T(fast_matrix)<N, N>(n, n, at.cov(k), 1, P);
}

template <int N, class ROWS>
KS_DEVICE void KS_T(fast_kept)(int n, const ROWS &at, int64_t k, KS_NUM *x, KS_GAIN *P)
{
    if (n == N && at.plain()) KS_T(fast_load_kept)<N>(N, at.plainly(), k, x, P);
    else KS_T(fast_load_kept)<N>(n, at, k, x, P);
}

/** The smoothed estimate of the last step of a chunk. */
template <int N, class ROWS>
KS_DEVICE bool KS_T(fast_last)(const ks_chunk_arrays &c, const ROWS &at, int64_t chunk, int64_t k,
                               KS_NUM *x, KS_GAIN *P)
{
    const int n = c.a.series.nx;
    if (k + 1 < c.a.series.steps) return KS_T(fast_narrow)<N>(n, c.last + chunk * (n + n * n), x, P);
    KS_T(fast_kept)<N>(n, at, k, x, P);
    return true;
}

/** Smooth step k; x, P are the estimate of the next step in and of this one out. */
template <int N, class ROWS>
KS_DEVICE bool KS_T(fast_back)(const ks_chunk_arrays &c, const ROWS &at, int64_t k, KS_NUM *x, KS_GAIN *P)
{
    const ks_series &s = c.a.series;
    const int n = s.nx;
    const ks_backward_sinks &back = c.a.back;
    KS_NUM fx[N], t[N];
    KS_GAIN fP[N * N], Pn[N * N], ET[N * N], Pp[N * N], W[2 * N * N + N];
    KS_T(fast_rows)<N, 1> r;
    const KS_T(ks_chunk_rows) rows = KS_T(fast_rows_of)<N, 1>(r);
    KS_T(fast_kept)<N>(n, at, k, fx, fP);
    KS_T(fast_transition)<N, 1>(s, at, k + 1, r);
    if (!KS_T(ks_chunk_smooth)(N, &rows, fx, fP, x, P, Pn, ET, Pp, W, t)) return false;
    if (back.lag_one_cov.base) {
        KS_G(ks_mm)(N, N, N, P, ET, W);
        KS_T(fast_put)<N, N>(n, n, W, back.lag_one_cov, k + 1);
    }
    KS_G(ks_copy)(N * N, Pn, P);
    return KS_T(fast_finite)<N>(x, P);
}

/** Store the estimate at the end of a pass over a chunk in c.first or c.end. */
template <int N, class NUMBER>
KS_DEVICE void KS_T(fast_put_border)(int n, double *border, int64_t chunk, const KS_NUM *x, const NUMBER *P)
{
    double *const to = border + chunk * (n + n * n);
    for (int i = 0; i < N; ++i) {
        if (i >= n) continue;
        to[i] = (double)x[i];
        for (int j = 0; j < N; ++j)
            if (j < n) to[n + i * n + j] = (double)P[i * N + j];
    }
}

/** Smooth the steps of a chunk that has been filtered, unless it is not `wanted` or does not exist. */
template <int N, class ROWS>
KS_DEVICE bool KS_T(fast_smooth)(const ks_chunk_arrays &c, ROWS &at, int64_t chunk, bool wanted)
{
    const ks_series &s = c.a.series;
    const int n = s.nx;
    const int64_t first = chunk * c.size, last = first + c.size;
    const int64_t end = last < s.steps ? last : s.steps;
    const ks_backward_sinks &back = c.a.back;
    KS_NUM x[N];
    KS_GAIN P[N * N];
    bool good = wanted;
    if (!ROWS::TOGETHER && !good) return false;
    at.begin(first);
    for (int64_t k = (ROWS::TOGETHER ? last : end) - 1; k >= first; --k) {
        at.turn(k - first);
        if (ROWS::TOGETHER && !(good && k < end)) continue;
        good = k == end - 1 ? KS_T(fast_last)<N>(c, at, chunk, k, x, P) : KS_T(fast_back)<N>(c, at, k, x, P);
        if (!ROWS::TOGETHER && !good) return false;
        if (!good) continue;
        KS_T(fast_put_variances)<N>(n, P, back.smoothed_var, k);
        KS_T(fast_put_through)<N>(at, n, x, P, back.smoothed_mean, back.smoothed_cov, k);
    }
    at.end();
    if (!good) return false;
    KS_T(fast_put_border)<N>(n, c.first, chunk, x, P);
    return true;
}

/** Filter the steps of a chunk, if it exists. */
template <int N, int M, bool Smooth, class Mean = KS_NUM, class Cov = KS_GAIN, class ROWS>
KS_DEVICE bool KS_T(fast_rerun)(const ks_chunk_arrays &c, ROWS &at, int64_t chunk, ks_tally *tally)
{
    const ks_series &s = c.a.series;
    const int n = s.nx;
    const int64_t first = chunk * c.size, last = first + c.size;
    const int64_t end = last < s.steps ? last : s.steps;
    KS_NUM x[N];
    KS_GAIN P[N * N], W[2 * N * N + M * N];
    bool good = true;
    if (chunk == 0) KS_T(fast_prior)<N, Mean>(s, x, P);
    else good = chunk < c.chunks && KS_T(fast_narrow)<N>(n, c.before + chunk * (n + n * n), x, P);
    good = good && KS_G(ks_well_conditioned)(N, P, W);
    if (!ROWS::TOGETHER && !good) return false;
    at.begin(first);
    for (int64_t k = first; k < (ROWS::TOGETHER ? last : end); ++k) {
        at.turn(k - first);
        if (ROWS::TOGETHER && !(good && k < end)) continue;
        good = KS_T(fast_filter)<N, M, Smooth, Mean, Cov>(c, at, k, x, P, tally);
        if (!ROWS::TOGETHER && !good) return false;
    }
    at.end();
    if (!good || !KS_G(ks_well_conditioned)(N, P, W)) return false;
    if (Smooth) KS_T(fast_put_form)(c, first, end);
    tally->ordinary += end - first;
    c.a.loglik_terms[chunk] = ks_evidence_loglik(&tally->evidence);
    KS_T(fast_put_border)<N>(n, c.end, chunk, x, P);
    return true;
}
