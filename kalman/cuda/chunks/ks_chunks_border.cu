// ks_chunks_border.cu -- check the borders between chunks of small models, one thread and its registers for each, in
// double, as chunk_judge.h describes. Borders that the ordinary form cannot do are left to the kernels for any model.
#include <string.h>
#include "chunk_kernels.h"
#include "gpu/kernel.h"
#include "hd.h"
#include "scan_report.h"

#define KS_WITHOUT_MEMO
#include "num_f64.h"
#include "smallmat_text.h"
#include "array_text.h"
#include "step_text.h"
#include "array_step_text.h"
#include "element_text.h"
#include "memo_text.h"
#include "range_text.h"
#include "gain_text.h"
#include "mean_step_text.h"
#include "chunk_step_text.h"
#include "sensitivity_text.h"
#include "fast_chunk_text.h"
#include "information_text.h"
#include "num_end.h"

#include "border_differ.h"

// The numbers of a border. Models of fewer than N states are padded as in fast_chunk_text.h.
template <int N> struct thread_border {
    double F[N * N], Q[N * N], u[N];             // the transition into the step behind the border
    double end[N], end_cov[N * N];               // the filtered estimate of the step before it
    double x[N], P[N * N], x2[N], P2[N * N];     // two estimates that should agree
    double size[N], taken[N], sd[N], W[4 * N * N + 2 * N];
};

// Load the transition into step k > 0.
template <int N, class Mean> KS_DEVICE void thread_way(const ks_series &s, int64_t k, thread_border<N> &w)
{
    fast_matrix_as_f64<N, N, Mean>(s.nx, s.nx, ks_row(s.F, k - s.shift), 0, w.F);
    fast_matrix_as_f64<N, N, Mean>(s.nx, s.nx, ks_row(s.Q, k - s.shift), 1, w.Q);
    fast_matrix_as_f64<1, N, Mean>(1, s.nx, ks_row(s.u, k - s.shift), 0, w.u);
}

template <int N> KS_DEVICE ks_border_pair thread_pair(thread_border<N> &w)
{
    const ks_border_pair pair = {N, w.x, w.P, w.x2, w.P2, w.size, w.taken, w.sd};
    return pair;
}

// In single precision only states are compared, not their residuals.
template <int N, class Cov> KS_DEVICE double thread_differ(const ks_chunk_arrays &c, thread_border<N> &w)
{
    const ks_border_pair pair = thread_pair(w);
    return sizeof(Cov) == sizeof(double) ? ks_border_differ(pair, c.a, w.W)
                                         : ks_border_states_differ(pair, ks_border_scale_of(&c.a));
}

template <int N, class Cov>
KS_DEVICE double thread_predictions_differ(const ks_chunk_arrays &c, const double *before, thread_border<N> &w)
{
    double from[N], cov[N * N];
    const ks_border_pair pair = thread_pair(w);
    fast_narrow_f64<N>(c.a.series.nx, before, from, cov);
    ks_predict_f64(N, w.F, w.Q, w.u, w.end, w.end_cov, w.x, w.P, w.W);
    ks_predict_f64(N, w.F, w.Q, w.u, from, cov, w.x2, w.P2, w.W);
    for (int i = 0; i < N; ++i) ks_border_predicts(pair, w.F, w.Q, w.u, w.end, w.end_cov, i);
    return thread_differ<N, Cov>(c, w);
}

// Combine the filtered estimate with the information in `last` to the smoothed one, in x2, P2. Return false if the
// ordinary form is not accurate enough.
template <int N> KS_DEVICE bool thread_informed(int n, const double *last, thread_border<N> &w)
{
    double U[N * N], v[N], J[N * (N + 1) / 2], W[3 * N * N + N];
    for (int i = 0; i < N; ++i) {
        v[i] = i < n ? last[i] : 0;
        for (int j = 0; j <= i; ++j) J[i * (i + 1) / 2 + j] = i < n ? last[n + i * n + j] : 0;
    }
    ks_centre_f64(N, w.end, J, v);
    ks_semidefinite_factor_f64(N, w.end_cov, U);
    return ks_meet_ordinary_f64(N, w.end, U, v, J, w.x2, w.P2, W);
}

// Return false if the ordinary form is not accurate enough.
template <int N, class Cov>
KS_DEVICE bool thread_ways_back_differ(const ks_chunk_arrays &c, const double *first, const double *last,
                                       thread_border<N> &w, double *by)
{
    const int n = c.a.series.nx;
    double xs[N], Ps[N * N], ET[N * N];
    const ks_border_pair pair = thread_pair(w);
    fast_narrow_f64<N>(n, first, xs, Ps);
    if (!ks_smooth_back_f64(N, w.F, w.Q, w.u, w.end, w.end_cov, xs, Ps, w.x, w.P, ET, w.W)) return false;
    if (!c.two_filter) fast_narrow_f64<N>(n, last, w.x2, w.P2);
    else if (!thread_informed<N>(n, last, w)) return false;
    for (int i = 0; i < N; ++i) ks_border_leads(pair, w.end, w.end_cov, w.x2, i);
    *by = thread_differ<N, Cov>(c, w);
    return true;
}

// Whether the smoothing step from step k + 1 to step k of the first chunk is suspect.
template <int N, class Mean, class Cov>
KS_DEVICE bool thread_is_suspect(const ks_chunk_arrays &c, int64_t k, thread_border<N> &w)
{
    const int n = c.a.series.nx;
    const ks_border_scale scale = ks_border_scale_of(&c.a);
    if (c.form[k] != KS_FORM_ORDINARY) return true;
    fast_matrix_as_f64<1, N, Mean>(1, n, ks_slot_of(c.kept_mean, k), 0, w.end);
    fast_matrix_as_f64<N, N, Cov>(n, n, ks_slot_of(c.kept_C, k), 1, w.end_cov);
    thread_way<N, Mean>(c.a.series, k + 1, w);
    ks_predict_f64(N, w.F, w.Q, w.u, w.end, w.end_cov, w.x, w.P, w.W);
    bool sharp = false;
    for (int i = 0; i < N; ++i) sharp = sharp || ks_border_is_sharp(w.x, w.P, scale, N, i);
    return sharp || ks_covariance_is_sharp(N, w.P, ks_border_least_left(&c.a), w.W);
}

// Check the border before `chunk`. The largest difference goes to *moves, and what is left to do to the chunk's flags.
template <int N, class Mean, class Cov>
KS_DEVICE void thread_meet_border(const ks_chunk_arrays &c, int64_t chunk, thread_border<N> &w, ks_tally *tally,
                                  double *moves)
{
    const int64_t n = c.a.series.nx, all = n + n * n, k = chunk * c.size;
    const double most = KS_CHUNKS_DIFFER_MOST(c.a.single_cov);
    double by = 0;
    unsigned char left = c.smooths && c.a.back.lag_one_cov.base ? KS_NO_LAG : 0;
    thread_way<N, Mean>(c.a.series, k, w);
    fast_narrow_f64<N>((int)n, c.end + (chunk - 1) * all, w.end, w.end_cov);
    ks_tell_moved(tally, moves, k, thread_predictions_differ<N, Cov>(c, c.before + chunk * all, w), most);
    if (c.smooths && tally->bad_step < 0) {
        const double *const first = c.first + chunk * all, *const last = c.last + (chunk - 1) * all;
        if (thread_ways_back_differ<N, Cov>(c, first, last, w, &by)) ks_tell_moved(tally, moves, k - 1, by, most);
        else left |= KS_UNJUDGED;
    }
    fast_narrow_f64<N>((int)n, c.before + chunk * all, w.x, w.P);
    if (ks_covariance_is_sharp(N, w.P, ks_begin_least_left(&c.a), w.W)) left |= KS_LOST;
    c.hard_absorb[chunk] = left;
}

#define BORDERS(suffix, N, mean, cov)                                                               \
    KS_KERNEL_BOUNDS(ks_thread_border_##suffix##_##N, ks_fast_args, KS_SCAN_THREADS, 1)             \
    {                                                                                               \
        const ks_chunk_arrays &c = args.chunks;                                                     \
        if (ks_failed_before(args.status, args.phase)) return;                                      \
        const int64_t looks = c.begin == 0 && c.smooths && !c.two_filter ? c.size - 1 : 0;          \
        const int64_t chunk = c.begin + ks_grid_thread();                                           \
        ks_tally tally = ks_tally_start();                                                          \
        thread_border<N> w;                                                                         \
        double moves = 0;                                                                           \
        for (int64_t at = chunk; at < looks && at + 1 < c.a.series.steps; at += ks_grid_threads())  \
            if (thread_is_suspect<N, mean, cov>(c, at, w)) ks_border_suspect(c);                    \
        if (chunk > 0 && chunk < c.chunks) thread_meet_border<N, mean, cov>(c, chunk, w, &tally, &moves); \
        ks_report(tally, args.status, args.phase);                                                  \
        ks_report_moves(moves, args.status);                                                        \
    }
BORDERS(f64, 2, double, double)
BORDERS(f64, 4, double, double)
BORDERS(f32, 2, float, float)
BORDERS(f32, 4, float, float)
BORDERS(mixed, 2, double, float)
BORDERS(mixed, 4, double, float)
