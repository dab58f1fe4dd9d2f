/* team_border.h -- device code: borders between chunks of larger models, a team of threads for each, in double. They
 * are checked as chunk_judge.h describes, and get their lag-one covariances. Borders that the ordinary form cannot do
 * are left to the kernels for any model. Included after team_meet_kernels.h. */
#include "border_differ.h"

/* A team's memory, ks_team_border_bytes(). */
struct team_border {
    double *F, *Q, *u;              // the transition into the step behind the border
    double *x, *P, *x2, *P2;        // two estimates that should agree
    double *size, *taken, *sd, *worst;
    double *W;                      // 5 n^2 + 4 n numbers
};

KS_DEVICE team_border team_border_in(int n, char *memory)
{
    double *at = reinterpret_cast<double *>(memory);
    team_border w;
    w.F = team_take_team_f64(&at, n * n);
    w.Q = team_take_team_f64(&at, n * n);
    w.u = team_take_team_f64(&at, n);
    w.x = team_take_team_f64(&at, n);
    w.P = team_take_team_f64(&at, n * n);
    w.x2 = team_take_team_f64(&at, n);
    w.P2 = team_take_team_f64(&at, n * n);
    w.size = team_take_team_f64(&at, n);
    w.taken = team_take_team_f64(&at, n);
    w.sd = team_take_team_f64(&at, n);
    w.worst = team_take_team_f64(&at, n);
    w.W = at;
    return w;
}

// Load numbers in single precision or in double: one kernel serves all precisions.
KS_DEVICE void team_load(int numbers, const void *row, int single, double *to)
{
    if (single) team_load_team_f64<float>(numbers, row, to);
    else team_load_team_f64<double>(numbers, row, to);
}

// Load the transition into step k > 0.
KS_DEVICE void team_way(const ks_scan_arrays &a, int64_t k, const team_border &w)
{
    const ks_series &s = a.series;
    const int n = s.nx;
    ks_team_sync();
    team_load(n * n, ks_row(s.F, k - s.shift), a.single, w.F);
    team_load(n * n, ks_row(s.Q, k - s.shift), a.single, w.Q);
    team_load(n, ks_row(s.u, k - s.shift), a.single, w.u);
    ks_team_sync();
}

KS_DEVICE ks_border_pair team_pair(int n, const double *x2, const double *P2, const team_border &w)
{
    const ks_border_pair pair = {n, w.x, w.P, x2, P2, w.size, w.taken, w.sd};
    return pair;
}

// As ks_border_states_differ(), by a team. Each thread has set b.size and b.taken of its states.
KS_DEVICE double team_states_differ(const ks_border_pair &b, const ks_border_scale &scale, const team_border &w)
{
    double most = 0;
    KS_TEAM_EACH(i, b.n) ks_border_deviation(b, scale, i);
    ks_team_sync();
    const double common = ks_border_common(b, scale);
    KS_TEAM_EACH(i, b.n) w.worst[i] = ks_border_differs(b, scale, common, i, 0);
    ks_team_sync();
    for (int i = 0; i < b.n && most >= 0; ++i)
        if (!(w.worst[i] <= most)) most = w.worst[i];
    return most;
}

// As ks_border_whiten(), by a team: factor b.P = L D L'. The inverse of L goes to `inverse`, and D to the diagonal of
// LD (n, n).
KS_DEVICE void team_whiten(const ks_border_pair &b, const ks_border_scale &scale, double *LD, double *inverse)
{
    const int n = b.n;
    ks_copy_team_f64(n * n, b.P, LD);
    for (int j = 0; j < n; ++j) {
        const double left = LD[j * n + j];
        const bool counts = left > ks_border_least(b, scale, j);
        KS_TEAM_EACH(below, n - j - 1) {
            const int i = j + 1 + below;
            const double l = counts ? LD[i * n + j] / left : 0;
            for (int k = j + 1; k <= i && counts; ++k) LD[i * n + k] -= l * LD[k * n + j];
            inverse[i * n + j] = l;
        }
        ks_team_sync();
    }
    KS_TEAM_EACH(c, n) {
        for (int i = 0; i < c; ++i) inverse[i * n + c] = 0;
        inverse[c * n + c] = 1;
    }
    ks_team_sync();
    // Row by row: below the diagonal, `inverse` has L until the inverse replaces it.
    for (int i = 1; i < n; ++i) {
        KS_TEAM_EACH(c, i) {
            double s = inverse[i * n + c];
            for (int l = c + 1; l < i; ++l) s += inverse[i * n + l] * inverse[l * n + c];
            LD[c * n + i] = -s;
        }
        ks_team_sync();
        KS_TEAM_EACH(c, i) inverse[i * n + c] = LD[c * n + i];
        ks_team_sync();
    }
}

// As ks_border_combinations_differ(), by a team.
KS_DEVICE double team_combinations_differ(const ks_border_pair &b, const ks_border_scale &scale, double most,
                                          const team_border &w)
{
    const int n = b.n, nn = n * n;
    double *const D = w.W, *const inverse = D + nn, *const T = inverse + nn, *const M = T + nn, *const V = M + nn;
    double *const off = V + nn, *const size = off + n, *const taken = size + n, *const zero = taken + n;
    team_whiten(b, scale, D, inverse);
    ks_difference_team_f64(nn, b.P2, b.P, M);
    ks_mm_team_f64(n, n, n, inverse, M, V);
    ks_transpose_team_f64(n, n, inverse, T);
    ks_mm_team_f64(n, n, n, V, T, M);
    KS_TEAM_EACH(i, n) {
        double root;
        ks_border_combines(b, inverse, i, &off[i], &size[i], &root);
        taken[i] = root * root / most;
        zero[i] = 0;
    }
    ks_team_sync();
    // Compare residuals like estimates of which the first is zero with the covariance D.
    KS_TEAM_EACH(i, nn) {
        const int row = i / n, column = i % n;
        T[i] = row == column ? D[i] : 0;
        M[i] += T[i];
    }
    ks_team_sync();
    const ks_border_pair combined = {n, zero, T, off, M, size, taken, b.sd};
    return team_states_differ(combined, scale, w);
}

// As ks_border_differ(), by a team. Each thread has set b.size and b.taken of its states. In single precision only
// states are compared: their residuals may be round-off of steps.
KS_DEVICE double team_differ(const ks_border_pair &b, const ks_chunk_arrays &c, const team_border &w)
{
    const ks_border_scale scale = ks_border_scale_of(&c.a);
    const double states = team_states_differ(b, scale, w);
    if (c.a.single_cov || !(states <= KS_CHUNKS_DIFFER_MOST(0))) return states;
    const double combinations = team_combinations_differ(b, scale, KS_CHUNKS_DIFFER_MOST(0), w);
    return combinations <= states ? states : combinations;
}

KS_DEVICE double team_predictions_differ(const ks_chunk_arrays &c, const double *end, const double *before,
                                         const team_border &w)
{
    const int n = c.a.series.nx;
    const ks_border_pair pair = team_pair(n, w.x2, w.P2, w);
    ks_predict_team_f64(n, w.F, w.Q, w.u, end, end + n, w.x, w.P, w.W);
    ks_predict_team_f64(n, w.F, w.Q, w.u, before, before + n, w.x2, w.P2, w.W);
    KS_TEAM_EACH(i, n) ks_border_predicts(pair, w.F, w.Q, w.u, end, end + n, i);
    return team_differ(pair, c, w);
}

// Combine the filtered estimate in `end` with the information in `last` to the smoothed one, in x2, P2. Return false if
// the ordinary form is not accurate enough.
KS_DEVICE bool team_informed(int n, const double *end, const double *last, const team_border &w)
{
    double *const U = w.W, *const v = U + n * n, *const J = v + n, *const scratch = J + n * (n + 1) / 2;
    ks_pack_team_f64(n, last + n, J);
    ks_copy_team_f64(n, last, v);
    ks_mtv_sub_team_f64(n, n, last + n, end, v);
    ks_semidefinite_factor_team_f64(n, end + n, U);
    return ks_meet_ordinary_team_f64(n, end, U, v, J, w.x2, w.P2, scratch);
}

// Return false if the ordinary form is not accurate enough.
KS_DEVICE bool team_ways_back_differ(const ks_chunk_arrays &c, const double *end, const double *first,
                                     const double *last, const team_border &w, double *by)
{
    const int n = c.a.series.nx;
    if (!ks_smooth_back_team_f64(n, w.F, w.Q, w.u, end, end + n, first, first + n, w.x, w.P, w.W, w.W + n * n) ||
        (c.two_filter && !team_informed(n, end, last, w)))
        return false;
    const ks_border_pair pair = c.two_filter ? team_pair(n, w.x2, w.P2, w) : team_pair(n, last, last + n, w);
    KS_TEAM_EACH(i, n) ks_border_leads(pair, end, end + n, pair.x2, i);
    *by = team_differ(pair, c, w);
    return true;
}

// As ks_covariance_is_sharp(), by a team. W: n^2 numbers.
KS_DEVICE bool team_is_sharp(int n, const double *P, double least, double *W)
{
    bool sharp = false;
    ks_copy_team_f64(n * n, P, W);
    for (int j = 0; j < n; ++j) {
        const double left = W[j * n + j];
        sharp = sharp || !(left >= least * P[j * n + j]);
        if (left > 0) {
            KS_TEAM_EACH(below, n - j - 1) {
                const int i = j + 1 + below;
                const double l = W[i * n + j] / left;
                for (int k = j + 1; k <= i; ++k) W[i * n + k] -= l * W[k * n + j];
            }
        }
        ks_team_sync();
    }
    return sharp;
}

// Whether the smoothing step from step k + 1 to step k of the first chunk is suspect.
KS_DEVICE bool team_is_suspect(const ks_chunk_arrays &c, int64_t k, const team_border &w)
{
    const int n = c.a.series.nx;
    const ks_border_scale scale = ks_border_scale_of(&c.a);
    bool sharp = c.form[k] != KS_FORM_ORDINARY;
    if (sharp) return true;
    team_load(n, ks_slot_of(c.kept_mean, k), c.a.single, w.x2);
    team_load(n * n, ks_slot_of(c.kept_C, k), c.a.single_cov, w.P2);
    team_way(c.a, k + 1, w);
    ks_predict_team_f64(n, w.F, w.Q, w.u, w.x2, w.P2, w.x, w.P, w.W);
    for (int i = 0; i < n; ++i) sharp = sharp || ks_border_is_sharp(w.x, w.P, scale, n, i);
    return sharp || team_is_sharp(n, w.P, ks_border_least_left(&c.a), w.W);
}

// Store the lag-one covariance across the border. Return false if the ordinary form is not accurate enough.
KS_DEVICE bool team_lag_across(const ks_chunk_arrays &c, int64_t k, const double *before, const double *first,
                               const team_border &w)
{
    const int n = c.a.series.nx;
    double *const ET = w.W, *const Pp = ET + n * n;
    if (!c.a.back.lag_one_cov.base) return true;
    if (!ks_smoothing_gain_team_f64(n, w.F, w.Q, before + n, ET, Pp, Pp + n * n)) return false;
    ks_mm_team_f64(n, n, n, first + n, ET, Pp);
    if (c.a.single_cov) team_put_team_f64<float>(n * n, Pp, c.a.back.lag_one_cov, k);
    else team_put_team_f64<double>(n * n, Pp, c.a.back.lag_one_cov, k);
    return true;
}

// Check the border before `chunk`. The largest difference goes to *moves, and what is left to do to the chunk's flags.
KS_DEVICE void team_meet_border(const ks_chunk_arrays &c, int64_t chunk, const team_border &w, ks_tally *tally,
                                double *moves)
{
    const int64_t n = c.a.series.nx, all = n + n * n, k = chunk * c.size;
    const double *const end = c.end + (chunk - 1) * all, *const before = c.before + chunk * all;
    const double most = KS_CHUNKS_DIFFER_MOST(c.a.single_cov);
    double by = 0;
    unsigned char left = 0;
    team_way(c.a, k, w);
    ks_tell_moved(tally, moves, k, team_predictions_differ(c, end, before, w), most);
    if (c.smooths && tally->bad_step < 0) {
        const double *const first = c.first + chunk * all, *const last = c.last + (chunk - 1) * all;
        if (team_ways_back_differ(c, end, first, last, w, &by)) ks_tell_moved(tally, moves, k - 1, by, most);
        else left |= KS_UNJUDGED;
        if (!team_lag_across(c, k, before, first, w)) left |= KS_NO_LAG;
    }
    if (team_is_sharp((int)n, before + n, ks_begin_least_left(&c.a), w.W)) left |= KS_LOST;
    if (ks_team_lane() == 0) c.hard_absorb[chunk] = left;
}

KS_KERNEL_BOUNDS(KS_BORDER, ks_team_args, KS_MOST_TEAM, 1)
{
    KS_DYNAMIC_SHARED(char, shared);
    const ks_chunk_arrays &c = args.chunks;
    if (ks_failed_before(args.status, args.phase)) return;
    const team_border w = team_border_in(c.a.series.nx, KS_TEAM_ROOM(args.team, shared));
    const int64_t looks = c.begin == 0 && c.smooths && !c.two_filter ? c.size - 1 : 0;
    ks_tally tally = ks_tally_start();
    double moves = 0;
    for (int64_t at = ks_team_number(); at < looks && at + 1 < c.a.series.steps; at += ks_team_count())
        if (team_is_suspect(c, at, w) && ks_team_lane() == 0) ks_border_suspect(c);
    for (int64_t chunk = FIRST_CHUNK; chunk < c.chunks && tally.bad_step < 0; chunk += ks_team_count())
        if (chunk > 0) team_meet_border(c, chunk, w, &tally, &moves);
    report(tally, args);
    if (ks_team_lane() == 0) ks_report_moves(moves, args.status);
}
