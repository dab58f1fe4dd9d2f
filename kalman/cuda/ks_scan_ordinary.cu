// ks_scan_ordinary.cu -- the phases of the scan methods for small models on a device: a thread and its registers for each
// step, in the ordinary form, smaller models padded as fast_rows_text.h has it. Steps that this form will not do for are
// marked, for the kernels for any model, ks_scan_phases.cu. See scan_steps_text.h for what each phase makes.
#include <float.h>
#include <string.h>
#include "gpu/kernel.h"
#include "hd.h"
#include "estimate_rounding_text.h"
#include "scan_report.h"
#include "series_rows.h"

#define KS_WITHOUT_MEMO
#include "num_f64.h"
#include "smallmat_text.h"
#include "array_text.h"
#include "step_text.h"
#include "array_step_text.h"
#include "element_text.h"
#include "memo_text.h"
#include "range_text.h"
#include "information_text.h"
#include "fast_rows_text.h"
#include "num_end.h"

// What steps that are done add to what all come to.
struct of_steps {
    ks_tally tally;
    int doubts;
};

// Rows of step k, and the prior, which are float in single precision.
template <int N, int M> KS_DEVICE void transition_of(const ks_scan_arrays &a, int64_t k, fast_rows_f64<N, M> &r)
{
    const ks_series_rows at(a.series);
    if (a.single) fast_transition_f64<N, M, float>(a.series, at, k, r);
    else fast_transition_f64<N, M, double>(a.series, at, k, r);
}

template <int N, int M> KS_DEVICE void observation_of(const ks_scan_arrays &a, int64_t k, fast_rows_f64<N, M> &r)
{
    const ks_series_rows at(a.series);
    if (a.single) fast_observation_f64<N, M, float>(a.series, at, k, r);
    else fast_observation_f64<N, M, double>(a.series, at, k, r);
}

template <int N> KS_DEVICE void prior_of(const ks_scan_arrays &a, double *x, double *P)
{
    if (a.single) fast_prior_f64<N, float>(a.series, x, P);
    else fast_prior_f64<N, double>(a.series, x, P);
}

// Estimates in double: that of step k, and its place.
template <int N> KS_DEVICE void estimate_of(const ks_scan_arrays &a, const ks_estimates &from, int64_t k, double *x, double *P)
{
    const int64_t n = a.series.nx;
    fast_matrix_f64<1, N>(1, (int)n, static_cast<const double *>(from.mean) + k * n, 0, x);
    fast_matrix_f64<N, N>((int)n, (int)n, static_cast<const double *>(from.cov) + k * n * n, 1, P);
}

template <int N>
KS_DEVICE void keep_estimate(const ks_scan_arrays &a, const ks_estimates &to, int64_t k, const double *x, const double *P)
{
    const int n = a.series.nx;
    const ks_sink mean = {static_cast<char *>(to.mean), n * (int64_t)sizeof(double), 0};
    const ks_sink cov = {static_cast<char *>(to.cov), n * mean.stride, 0};
    fast_put_f64<1, N>(1, n, x, mean, k);
    fast_put_f64<N, N>(n, n, P, cov, k);
}

// Row k of an output, float where it is `single`.
template <int R, int C>
KS_DEVICE void put(int single, int rows, int columns, const double *from, const ks_sink &to, int64_t k)
{
    if (single) fast_put_as_f64<R, C, float>(rows, columns, from, to, k);
    else fast_put_as_f64<R, C, double>(rows, columns, from, to, k);
}

template <int N>
KS_DEVICE void put_estimate(const ks_scan_arrays &a, int64_t k, const double *x, const double *P, const ks_sink &mean,
                            const ks_sink &cov, const ks_sink &var)
{
    const int n = a.series.nx;
    put<1, N>(a.single, 1, n, x, mean, k);
    put<N, N>(a.single_cov, n, n, P, cov, k);
    if (!var.base) return;
    double diagonal[N];
    for (int i = 0; i < N; ++i) diagonal[i] = P[i * N + i];
    put<1, N>(a.single_cov, 1, n, diagonal, var, k);
}

// Whether an estimate is finite in the plan's precision.
template <int N> KS_DEVICE bool fits(const ks_scan_arrays &a, const double *x, const double *P)
{
    const double most = a.single ? (double)FLT_MAX : DBL_MAX, most_cov = a.single_cov ? (double)FLT_MAX : DBL_MAX;
    bool fits = fast_finite_f64<N>(x, P);
    for (int i = 0; i < N; ++i) fits = fits && fabs(x[i]) <= most && fabs(P[i * N + i]) <= most_cov;
    return fits;
}

// Parts of elements of N states, of which the first n are there: a square, and what is a list, packed or not, of which the
// first ones are theirs.
template <int N> KS_DEVICE void put_square(int n, const double *from, double *to)
{
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j)
            if (i < n && j < n) to[i * n + j] = from[i * N + j];
}

template <int COUNT> KS_DEVICE void put_first(int count, const double *from, double *to)
{
    for (int i = 0; i < COUNT; ++i)
        if (i < count) to[i] = from[i];
}

template <int COUNT> KS_DEVICE void take_first(int count, const double *from, double *to)
{
    for (int i = 0; i < COUNT; ++i) to[i] = i < count ? from[i] : 0;
}

// The prediction of step 0 in the place of what leads into a step. False where its prior needs the array form.
template <int N, int M> KS_DEVICE bool predict_first(const ks_scan_arrays &a, fast_rows_f64<N, M> &r)
{
    double x[N], P[N * N], xp[N], Pp[N * N], W[2 * N * N];
    prior_of<N>(a, x, P);
    const bool good = ks_well_conditioned_f64(N, P, W);
    ks_predict_f64(N, r.F, r.Q, r.u, x, P, xp, Pp, W);
    ks_mirror_f64(N, Pp);
    ks_copy_f64(N, xp, r.u);
    ks_copy_f64(N * N, Pp, r.Q);
    return good;
}

template <int N, int M> KS_DEVICE bool element(const ks_scan_arrays &a, int64_t k, of_steps &sum)
{
    enum { NN = N * N, HALF = N * (N + 1) / 2, SIZE = NN + 2 * N + 2 * HALF };
    const int n = a.series.nx, half = n * (n + 1) / 2;
    double e[SIZE], W[3 * NN + 2 * N + 4 * M * N + M * M + 2 * M];
    fast_rows_f64<N, M> r;
    transition_of(a, k, r);
    observation_of(a, k, r);
    bool good = r.finite;
    if (k == 0 && !predict_first(a, r)) good = false;
    if (!ks_filter_element_f64(N, M, r.F, r.Q, r.u, r.H, r.R, r.d, r.y, e, W) || !good) return false;
    // Nothing depends on what is before the prior.
    for (int i = 0; i < SIZE; ++i)
        if (k == 0 && (i < NN || i >= NN + N + HALF)) e[i] = 0;
    double *const to = static_cast<double *>(a.elements) + k * ks_filter_element_size_f64(n);
    if (n == N) {
        fast_store_f64<SIZE>(e, to);
    } else {
        put_square<N>(n, e, to);
        put_first<N>(n, e + NN, to + n * n);
        put_first<HALF>(half, e + NN + N, to + n * n + n);
        put_first<N>(n, e + NN + N + HALF, to + n * n + n + half);
        put_first<HALF>(half, e + NN + 2 * N + HALF, to + n * n + 2 * n + half);
    }
    sum.tally.elements += 1;
    return true;
}

// The estimate that a scanned element of so many numbers has at their usual place, to where it is kept and put out.
template <int N>
KS_DEVICE bool extract(const ks_scan_arrays &a, int64_t k, int64_t size, const ks_estimates &to, const ks_sink &mean,
                       const ks_sink &cov, const ks_sink &var)
{
    enum { HALF = N * (N + 1) / 2 };
    const int n = a.series.nx;
    const double *const e = static_cast<const double *>(a.elements) + k * size + n * n;
    double x[N], P[N * N], packed[HALF];
    take_first<N>(n, e, x);
    take_first<HALF>(n * (n + 1) / 2, e + n, packed);
    ks_unpack_f64(N, packed, P);
    if (!fits<N>(a, x, P)) return false;
    keep_estimate<N>(a, to, k, x, P);
    put_estimate<N>(a, k, x, P, mean, cov, var);
    return true;
}

template <int N> KS_DEVICE bool filtered(const ks_scan_arrays &a, int64_t k, of_steps &)
{
    return extract<N>(a, k, ks_filter_element_size_f64(a.series.nx), a.filtered, a.to.filtered_mean, a.to.filtered_cov,
                      a.to.filtered_var);
}

template <int N> KS_DEVICE bool smoothed(const ks_scan_arrays &a, int64_t k, of_steps &)
{
    return extract<N>(a, k, ks_smooth_element_size_f64(a.series.nx), a.smoothed, a.back.smoothed_mean, a.back.smoothed_cov,
                      a.back.smoothed_var);
}

// Whether the scan has come to another estimate of step k than the filter from that of the step before, or one too sharp.
template <int N> KS_DEVICE int doubtful(const ks_scan_arrays &a, int64_t k, const double *x, const double *P)
{
    double scanned[N], cov[N * N], W[N * N];
    estimate_of<N>(a, a.filtered, k, scanned, cov);
    return ks_estimates_disagree(N, scanned, cov, x, P, KS_DISAGREES(a.single), DBL_EPSILON / 2) |
           ks_covariance_is_sharp(N, cov, KS_IS_LEFT(a.single), W);
}

// Residuals of the entries that are present, whitened and their covariance, NaN where missing. Pp is symmetric.
template <int N, int M>
KS_DEVICE void put_innovation(const ks_scan_arrays &a, int64_t k, const fast_rows_f64<N, M> &r, const double *xp,
                              const double *Pp, const double *v, const double *inverse_d)
{
    const int ny = a.series.ny;
    double own[M], S[M * M], G[M * N], HT[N * M];
    if (!a.to.innovation.base && !a.to.innovation_std.base && !a.to.innovation_cov.base) return;
    for (int i = 0; i < M; ++i) {
        own[i] = r.present >> i & 1 ? r.y[i] - r.d[i] : (double)NAN;
        for (int c = 0; c < N; ++c) own[i] = own[i] - r.H[i * N + c] * xp[c];
    }
    put<1, M>(a.single, 1, ny, own, a.to.innovation, k);
    for (int i = 0; i < M; ++i) own[i] = r.present >> i & 1 ? v[i] * sqrt(inverse_d[i]) : (double)NAN;
    put<1, M>(a.single, 1, ny, own, a.to.innovation_std, k);
    ks_innovation_cov_f64(N, M, r.H, r.R, Pp, G, S, HT);
    ks_mirror_f64(M, S);
    for (int i = 0; i < M * M; ++i)
        if (!(r.present >> (i / M) & r.present >> (i % M) & 1)) S[i] = (double)NAN;
    put<M, M>(a.single_cov, ny, ny, S, a.to.innovation_cov, k);
}

template <int N, int M> KS_DEVICE bool evidence(const ks_scan_arrays &a, int64_t k, of_steps &sum)
{
    const ks_series &s = a.series;
    const ks_forward_sinks &out = a.to;
    double x[N], P[N * N], xp[N], Pp[N * N], W[2 * N * N + N];
    double G[M * N], S[M * M], inverse_d[M], v[M], Z[M * N];
    ks_evidence term = ks_evidence_start();
    fast_rows_f64<N, M> r;
    int present = 0;
    transition_of(a, k, r);
    observation_of(a, k, r);
    if (k == 0) prior_of<N>(a, x, P);
    else estimate_of<N>(a, a.filtered, k - 1, x, P);
    bool good = r.finite;
    if (k == 0 || k % KS_LOOK == KS_LOOK - 1) good = good && ks_well_conditioned_f64(N, P, W);
    const double times = ks_noise_times_in_f64(M, r.R, M, S, inverse_d);
    ks_predict_f64(N, r.F, r.Q, r.u, x, P, xp, Pp, W);
    if (!ks_innovation_f64(N, M, r.H, r.R, times, r.d, r.y, xp, Pp, G, S, inverse_d, v, W)) good = false;
    ks_posterior_f64(N, M, G, inverse_d, v, xp, Pp, x, P, Z);
    for (int i = 0; i < M; ++i) {
        if (!(r.present >> i & 1)) continue;
        ks_gather_pivot(&term, S[i * M + i], v[i] * v[i] * inverse_d[i]);
        ++present;
    }
    if (!good || !fast_finite_f64<N>(x, P) || !isfinite(term.quadratic)) return false;
    a.loglik_terms[k] = ks_evidence_loglik(&term);
    if (out.loglik_terms.base) *static_cast<double *>(ks_slot_of(out.loglik_terms, k)) = a.loglik_terms[k];
    ks_mirror_f64(N, Pp);
    put_estimate<N>(a, k, xp, Pp, out.predicted_mean, out.predicted_cov, out.predicted_var);
    put_innovation(a, k, r, xp, Pp, v, inverse_d);
    sum.doubts |= doubtful<N>(a, k, x, P);
    sum.tally.ordinary += 1;
    sum.tally.missing += s.ny - present;
    return true;
}

template <int N> KS_DEVICE bool smoothing(const ks_scan_arrays &a, int64_t k, of_steps &sum)
{
    enum { NN = N * N, HALF = N * (N + 1) / 2, SIZE = NN + N + HALF };
    const int n = a.series.nx;
    double x[N], P[NN], e[SIZE], W[5 * NN + 2 * N];
    estimate_of<N>(a, a.filtered, k, x, P);
    if (k == a.series.steps - 1) {
        ks_smooth_element_last_f64(N, x, P, e);
    } else {
        fast_rows_f64<N, 1> r;
        int sharp;
        transition_of(a, k + 1, r);
        if (!ks_smooth_element_f64(N, r.F, r.Q, r.u, x, P, e, &sharp, W)) return false;
        if (sharp) sum.tally.sharp = k + 1;
    }
    double *const to = static_cast<double *>(a.elements) + k * ks_smooth_element_size_f64(n);
    put_square<N>(n, e, to);
    put_first<N>(n, e + NN, to + n * n);
    put_first<HALF>(n * (n + 1) / 2, e + NN + N, to + n * n + n);
    sum.tally.elements += 1;
    return true;
}

template <int N> KS_DEVICE bool two_filter(const ks_scan_arrays &a, int64_t k, of_steps &sum)
{
    enum { NN = N * N, HALF = N * (N + 1) / 2 };
    const int n = a.series.nx, half = n * (n + 1) / 2;
    double x[N], P[NN], xs[N], Ps[NN];
    estimate_of<N>(a, a.filtered, k, x, P);
    ks_copy_f64(N, x, xs);
    ks_copy_f64(NN, P, Ps);
    int doubts = 0;
    if (k < a.series.steps - 1) {
        double v[N], J[HALF], U[NN], W[3 * NN + N];
        const double *const later =
            static_cast<const double *>(a.elements) + (k + 1) * ks_filter_element_size_f64(n) + n * n + n + half;
        take_first<N>(n, later, v);
        take_first<HALF>(half, later + n, J);
        ks_centre_f64(N, x, J, v);
        ks_semidefinite_factor_f64(N, P, U);
        if (!ks_meet_ordinary_f64(N, x, U, v, J, xs, Ps, W)) return false;
        doubts = ks_information_could_do(N, J, x, xs, Ps, KS_COULD_DO(a.single));
    }
    if (!fits<N>(a, xs, Ps)) return false;
    keep_estimate<N>(a, a.smoothed, k, xs, Ps);
    put_estimate<N>(a, k, xs, Ps, a.back.smoothed_mean, a.back.smoothed_cov, a.back.smoothed_var);
    sum.doubts |= doubts;
    return true;
}

// Row k of the lag-one covariances; nothing leads into step 0 here.
template <int N> KS_DEVICE bool lag_one(const ks_scan_arrays &a, int64_t k, of_steps &)
{
    const int n = a.series.nx;
    double x[N], P[N * N], ET[N * N], W[3 * N * N + N];
    fast_rows_f64<N, 1> r;
    if (k == 0) return true;
    transition_of(a, k, r);
    estimate_of<N>(a, a.filtered, k - 1, x, P);
    if (!ks_smoothing_gain_f64(N, r.F, r.Q, P, ET, W, W + N * N)) return false;
    estimate_of<N>(a, a.smoothed, k, x, P);
    ks_mm_f64(N, N, N, P, ET, W);
    put<N, N>(a.single_cov, n, n, W, a.back.lag_one_cov, k);
    return true;
}

typedef bool (*step_function)(const ks_scan_arrays &, int64_t, of_steps &);

template <step_function Step> KS_DEVICE void run_step(const ks_scan_phase_args &args)
{
    if (ks_failed_before(args.status, args.phase)) return;
    of_steps sum = {ks_tally_start(), 0};
    const int64_t k = args.first + ks_grid_thread();
    if (k < args.end) args.hard[k] = k < args.first_ordinary || !Step(args.arrays, k, sum);
    ks_report_together(sum.tally, sum.doubts, args.status);
}

#define KERNEL(name, step)                                                                          \
    KS_KERNEL_BOUNDS(ks_ordinary_##name, ks_scan_phase_args, KS_SCAN_THREADS, 1)                    \
    {                                                                                               \
        run_step<step>(args);                                                                       \
    }
#define OBSERVED(N, M)                                                                              \
    KERNEL(element_##N##_##M, (element<N, M>))                                                      \
    KERNEL(evidence_##N##_##M, (evidence<N, M>))
#define OTHERS(N)                                                                                   \
    KERNEL(filtered_##N, filtered<N>)                                                               \
    KERNEL(smoothing_##N, smoothing<N>)                                                             \
    KERNEL(smoothed_##N, smoothed<N>)                                                               \
    KERNEL(two_filter_##N, two_filter<N>)                                                           \
    KERNEL(lag_one_##N, lag_one<N>)
OBSERVED(2, 2)
OBSERVED(4, 2)
OBSERVED(4, 4)
OTHERS(2)
OTHERS(4)
