// ks_scan_ordinary.cu -- the phases of the scan methods for small models on a device: a thread does a step in
// registers, in the ordinary form. Smaller models are padded as in fast_rows_text.h. Steps for which this form fails
// are marked for the kernels for any model (ks_scan_phases.cu). scan_steps_text.h says what each phase computes.
//
// A warp does 32 consecutive steps. Stored inputs and results of a step pass through a slot of shared memory
// (warp_rows.h). Rows of the model are loaded by the threads themselves.
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
#include "ordinary_slots.h"

// What a thread adds to the status for the steps that it has done.
struct of_steps {
    ks_tally tally;
    int doubts;
};

// Load the rows of step k, and the prior. They are float in single precision.
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

// Whether an estimate is finite in the plan's precision.
template <int N> KS_DEVICE bool fits(const ks_scan_arrays &a, const double *x, const double *P)
{
    const double most = a.single ? (double)FLT_MAX : DBL_MAX, most_cov = a.single_cov ? (double)FLT_MAX : DBL_MAX;
    bool fits = fast_finite_f64<N>(x, P);
    for (int i = 0; i < N; ++i) fits = fits && fabs(x[i]) <= most && fabs(P[i * N + i]) <= most_cov;
    return fits;
}

// Replace u and Q of step 0 by the mean and covariance of its prediction. Returns false if the prior needs the array
// form.
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

// A struct for each phase. SIZE: numbers of a slot; LANES: slots of a warp, see ks_ordinary_shared(). bring(): load a
// warp's inputs. make(): do a thread's step into its slot; false if the ordinary form fails. take(): store the results
// of the steps that are done.
template <int N, int M> struct element {
    enum { NN = N * N, HALF = N * (N + 1) / 2, SIZE = NN + 2 * N + 2 * HALF, LANES = KS_WARP };
    static KS_DEVICE_MEMBER void bring(const ks_scan_arrays &, const warp_steps &) {}
    static KS_DEVICE_MEMBER bool make(const ks_scan_arrays &a, int64_t k, const warp_slots &slots, of_steps &sum)
    {
        const int n = a.series.nx, half = n * (n + 1) / 2;
        double e[SIZE], W[3 * NN + 2 * N + 4 * M * N + M * M + 2 * M], *const to = slots.own();
        fast_rows_f64<N, M> r;
        transition_of(a, k, r);
        observation_of(a, k, r);
        bool good = r.finite;
        if (k == 0 && !predict_first(a, r)) good = false;
        if (!ks_filter_element_f64(N, M, r.F, r.Q, r.u, r.H, r.R, r.d, r.y, e, W) || !good) return false;
        // Nothing depends on what is before the prior.
        for (int i = 0; i < SIZE; ++i)
            if (k == 0 && (i < NN || i >= NN + N + HALF)) e[i] = 0;
        if (n == N) {
            ks_copy_f64(SIZE, e, to);
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
    static KS_DEVICE_MEMBER void take(const ks_scan_arrays &a, const warp_steps &w, unsigned lanes)
    {
        take_elements<SIZE>(a, w, ks_filter_element_size(a.series.nx), lanes);
    }
};

// Copy the estimates in scanned elements to where later phases read them and to the outputs.
template <int N> struct extracted {
    enum { HALF = N * (N + 1) / 2, SIZE = slot_of_estimate<N>::SIZE, LANES = KS_WARP };
    static KS_DEVICE_MEMBER void bring(const ks_scan_arrays &a, const warp_steps &w, int64_t size)
    {
        const int n = a.series.nx;
        bring_part<N + HALF>(w, 0, a.elements, size, n * n, n + n * (n + 1) / 2, 0);
    }
    static KS_DEVICE_MEMBER bool make(const ks_scan_arrays &a, const warp_slots &slots, int var)
    {
        const int n = a.series.nx;
        double x[N], P[N * N], packed[HALF], *const own = slots.own();
        take_first<N>(n, own, x);
        take_first<HALF>(n * (n + 1) / 2, own + n, packed);
        ks_unpack_f64(N, packed, P);
        put_estimate<N>(n, x, P, var, own);
        return fits<N>(a, x, P);
    }
};

template <int N> struct filtered : extracted<N> {
    static KS_DEVICE_MEMBER void bring(const ks_scan_arrays &a, const warp_steps &w)
    {
        extracted<N>::bring(a, w, ks_filter_element_size(a.series.nx));
    }
    static KS_DEVICE_MEMBER bool make(const ks_scan_arrays &a, int64_t, const warp_slots &slots, of_steps &)
    {
        return extracted<N>::make(a, slots, a.to.filtered_var.base != NULL);
    }
    static KS_DEVICE_MEMBER void take(const ks_scan_arrays &a, const warp_steps &w, unsigned lanes)
    {
        keep_estimates<N>(a, w, a.filtered, a.to.filtered_mean, a.to.filtered_cov, a.to.filtered_var, lanes);
    }
};

template <int N> struct smoothed : extracted<N> {
    static KS_DEVICE_MEMBER void bring(const ks_scan_arrays &a, const warp_steps &w)
    {
        extracted<N>::bring(a, w, ks_smooth_element_size(a.series.nx));
    }
    static KS_DEVICE_MEMBER bool make(const ks_scan_arrays &a, int64_t, const warp_slots &slots, of_steps &)
    {
        return extracted<N>::make(a, slots, a.back.smoothed_var.base != NULL);
    }
    static KS_DEVICE_MEMBER void take(const ks_scan_arrays &a, const warp_steps &w, unsigned lanes)
    {
        keep_estimates<N>(a, w, a.smoothed, a.back.smoothed_mean, a.back.smoothed_cov, a.back.smoothed_var, lanes);
    }
};

// Whether the scan's estimate of a step differs from what the filter makes of the scan's estimate of the step before,
// or is too sharp.
template <int N>
KS_DEVICE int doubtful(const ks_scan_arrays &a, const double *slot, const double *x, const double *P)
{
    double scanned[N], cov[N * N], W[N * N];
    estimate_of<N>(a.series.nx, slot, scanned, cov);
    return ks_estimates_disagree(N, scanned, cov, x, P, KS_DISAGREES(a.single), ks_unit_roundoff(0)) |
           ks_covariance_is_sharp(N, cov, KS_IS_LEFT(a.single), W);
}

template <int N, int M> struct slot_of_innovation { enum { PLAIN = 0, STD = M, COV = 2 * M, SIZE = 2 * M + M * M }; };

// Store the innovation, the whitened innovation and its covariance. Missing entries are NaN. Pp is symmetric.
template <int N, int M>
KS_DEVICE void put_innovation(const ks_scan_arrays &a, const fast_rows_f64<N, M> &r, const double *xp, const double *Pp,
                              const double *v, const double *inverse_d, double *slot)
{
    typedef slot_of_innovation<N, M> at;
    const int ny = a.series.ny;
    double own[M], S[M * M], G[M * N], HT[N * M];
    if (!a.to.innovation.base && !a.to.innovation_std.base && !a.to.innovation_cov.base) return;
    for (int i = 0; i < M; ++i) {
        own[i] = r.present >> i & 1 ? r.y[i] - r.d[i] : (double)NAN;
        for (int c = 0; c < N; ++c) own[i] = own[i] - r.H[i * N + c] * xp[c];
    }
    put_first<M>(ny, own, slot + at::PLAIN);
    for (int i = 0; i < M; ++i) own[i] = r.present >> i & 1 ? v[i] * sqrt(inverse_d[i]) : (double)NAN;
    put_first<M>(ny, own, slot + at::STD);
    ks_innovation_cov_f64(N, M, r.H, r.R, Pp, G, S, HT);
    ks_mirror_f64(M, S);
    for (int i = 0; i < M * M; ++i)
        if (!(r.present >> (i / M) & r.present >> (i % M) & 1)) S[i] = (double)NAN;
    put_square<M>(ny, S, slot + at::COV);
}

// A slot begins with the estimate of the step before. The estimate of the step itself is in the slot of the next step.
// Results lie behind it.
template <int N, int M> struct evidence {
    typedef slot_of_estimate<N> estimate;
    typedef slot_of_innovation<N, M> innovation;
    enum { PREDICTED = estimate::BROUGHT, INNOVATION = PREDICTED + estimate::SIZE, SIZE = INNOVATION + innovation::SIZE,
           LANES = KS_WARP + 1 };
    static KS_DEVICE_MEMBER void bring(const ks_scan_arrays &a, const warp_steps &w)
    {
        const int n = a.series.nx, thread = w.slots.thread;
        bring_estimates<N>(a, w, -1, a.filtered);
        // The estimate of the last of the 32 steps: a number for each thread.
        if (w.end - w.first < KS_WARP) return;
        const double *const x = static_cast<const double *>(a.filtered.mean) + (w.first + KS_WARP - 1) * n;
        const double *const P = static_cast<const double *>(a.filtered.cov) + (w.first + KS_WARP - 1) * n * n;
        double *const to = w.slots.first + KS_WARP * w.slots.apart + thread;
        if (thread < n) ks_async_copy(to + estimate::MEAN, x + thread, sizeof *x);
        if (thread < n * n) ks_async_copy(to + estimate::COV, P + thread, sizeof *P);
    }
    static KS_DEVICE_MEMBER bool make(const ks_scan_arrays &a, int64_t k, const warp_slots &slots, of_steps &sum)
    {
        const ks_series &s = a.series;
        const ks_forward_sinks &out = a.to;
        double x[N], P[N * N], xp[N], Pp[N * N], W[2 * N * N + N];
        double G[M * N], S[M * M], inverse_d[M], v[M], Z[M * N], *const own = slots.own();
        ks_evidence term = ks_evidence_start();
        fast_rows_f64<N, M> r;
        int present = 0;
        transition_of(a, k, r);
        observation_of(a, k, r);
        if (k == 0) prior_of<N>(a, x, P);
        else estimate_of<N>(s.nx, own, x, P);
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
        put_estimate<N>(s.nx, xp, Pp, out.predicted_var.base != NULL, own + PREDICTED);
        put_innovation(a, r, xp, Pp, v, inverse_d, own + INNOVATION);
        sum.doubts |= doubtful<N>(a, own + slots.apart, x, P);
        sum.tally.ordinary += 1;
        sum.tally.missing += s.ny - present;
        return true;
    }
    static KS_DEVICE_MEMBER void take(const ks_scan_arrays &a, const warp_steps &w, unsigned lanes)
    {
        const int ny = a.series.ny;
        take_estimates<N>(a, w, PREDICTED, a.to.predicted_mean, a.to.predicted_cov, a.to.predicted_var, lanes);
        take_output<M>(a.single, w, INNOVATION + innovation::PLAIN, ny, a.to.innovation, lanes);
        take_output<M>(a.single, w, INNOVATION + innovation::STD, ny, a.to.innovation_std, lanes);
        take_output<M * M>(a.single_cov, w, INNOVATION + innovation::COV, ny * ny, a.to.innovation_cov, lanes);
    }
};

template <int N> struct smoothing {
    enum { NN = N * N, HALF = N * (N + 1) / 2, SIZE = NN + N + HALF, LANES = KS_WARP };
    static KS_DEVICE_MEMBER void bring(const ks_scan_arrays &a, const warp_steps &w)
    {
        bring_estimates<N>(a, w, 0, a.filtered);
    }
    static KS_DEVICE_MEMBER bool make(const ks_scan_arrays &a, int64_t k, const warp_slots &slots, of_steps &sum)
    {
        const int n = a.series.nx;
        double x[N], P[NN], e[SIZE], W[5 * NN + 2 * N], *const own = slots.own();
        estimate_of<N>(n, own, x, P);
        if (k == a.series.steps - 1) {
            ks_smooth_element_last_f64(N, x, P, e);
        } else {
            fast_rows_f64<N, 1> r;
            int sharp;
            transition_of(a, k + 1, r);
            if (!ks_smooth_element_f64(N, r.F, r.Q, r.u, x, P, e, &sharp, W)) return false;
            if (sharp) sum.tally.sharp = k + 1;
        }
        put_square<N>(n, e, own);
        put_first<N>(n, e + NN, own + n * n);
        put_first<HALF>(n * (n + 1) / 2, e + NN + N, own + n * n + n);
        sum.tally.elements += 1;
        return true;
    }
    static KS_DEVICE_MEMBER void take(const ks_scan_arrays &a, const warp_steps &w, unsigned lanes)
    {
        take_elements<SIZE>(a, w, ks_smooth_element_size(a.series.nx), lanes);
    }
};

// A slot has the filtered estimate and behind it the information of later observations, from the element of the next
// step.
template <int N> struct two_filter {
    enum { NN = N * N, HALF = N * (N + 1) / 2, LATER = slot_of_estimate<N>::SIZE, SIZE = LATER + N + HALF, LANES = KS_WARP };
    static KS_DEVICE_MEMBER void bring(const ks_scan_arrays &a, const warp_steps &w)
    {
        const int n = a.series.nx, half = n * (n + 1) / 2;
        bring_estimates<N>(a, w, 0, a.filtered);
        bring_part<N + HALF>(w, 1, a.elements, ks_filter_element_size(n), n * n + n + half, n + half, LATER);
    }
    static KS_DEVICE_MEMBER bool make(const ks_scan_arrays &a, int64_t k, const warp_slots &slots, of_steps &sum)
    {
        const int n = a.series.nx, half = n * (n + 1) / 2;
        double x[N], P[NN], xs[N], Ps[NN], *const own = slots.own();
        estimate_of<N>(n, own, x, P);
        ks_copy_f64(N, x, xs);
        ks_copy_f64(NN, P, Ps);
        int doubts = 0;
        if (k < a.series.steps - 1) {
            double v[N], J[HALF], U[NN], W[3 * NN + N];
            take_first<N>(n, own + LATER, v);
            take_first<HALF>(half, own + LATER + n, J);
            ks_centre_f64(N, x, J, v);
            ks_semidefinite_factor_f64(N, P, U);
            if (!ks_meet_ordinary_f64(N, x, U, v, J, xs, Ps, W)) return false;
            doubts = ks_information_could_do(N, J, x, xs, Ps, KS_COULD_DO(a.single));
        }
        if (!fits<N>(a, xs, Ps)) return false;
        put_estimate<N>(n, xs, Ps, a.back.smoothed_var.base != NULL, own);
        sum.doubts |= doubts;
        return true;
    }
    static KS_DEVICE_MEMBER void take(const ks_scan_arrays &a, const warp_steps &w, unsigned lanes)
    {
        keep_estimates<N>(a, w, a.smoothed, a.back.smoothed_mean, a.back.smoothed_cov, a.back.smoothed_var, lanes);
    }
};

// Compute rows of the lag-one covariances. Row 0 is computed by the phase `start`.
template <int N> struct lag_one {
    enum { NN = N * N, SMOOTHED = NN, SIZE = 2 * NN, LANES = KS_WARP };
    static KS_DEVICE_MEMBER void bring(const ks_scan_arrays &a, const warp_steps &w)
    {
        const int nn = a.series.nx * a.series.nx;
        bring_part<NN>(w, -1, a.filtered.cov, nn, 0, nn, 0);
        bring_part<NN>(w, 0, a.smoothed.cov, nn, 0, nn, SMOOTHED);
    }
    static KS_DEVICE_MEMBER bool make(const ks_scan_arrays &a, int64_t k, const warp_slots &slots, of_steps &)
    {
        const int n = a.series.nx;
        double P[NN], ET[NN], W[3 * NN + N], *const own = slots.own();
        fast_rows_f64<N, 1> r;
        if (k == 0) return true;
        transition_of(a, k, r);
        take_square<N>(n, own, P);
        if (!ks_smoothing_gain_f64(N, r.F, r.Q, P, ET, W, W + NN)) return false;
        take_square<N>(n, own + SMOOTHED, P);
        ks_mm_f64(N, N, N, P, ET, W);
        put_square<N>(n, W, own);
        return true;
    }
    static KS_DEVICE_MEMBER void take(const ks_scan_arrays &a, const warp_steps &w, unsigned lanes)
    {
        const int nn = a.series.nx * a.series.nx;
        take_output<NN>(a.single_cov, w, 0, nn, a.back.lag_one_cov, lanes & w.lanes(0, 1));
    }
};

// Threads without a step only help to move the rows of the others. A warp without any step has nothing to move.
template <class Step> KS_DEVICE void run_step(const ks_scan_phase_args &args, double *shared)
{
    if (ks_failed_before(args.status, args.phase)) return;
    of_steps sum = {ks_tally_start(), 0};
    const warp_slots slots = warp_slots_in(shared, Step::SIZE, Step::LANES);
    const warp_steps w = {slots, args.first + ks_grid_thread() - slots.thread, args.end};
    const int64_t k = w.step();
    if (w.first < w.end) {
        bool made = false;
        Step::bring(args.arrays, w);
        ks_async_commit();
        ks_async_wait(0);
        __syncwarp();
        if (k < args.end) {
            made = k >= args.first_ordinary && Step::make(args.arrays, k, slots, sum);
            args.hard[k] = !made;
        }
        const unsigned lanes = __ballot_sync((unsigned)KS_EVERY_LANE, made);
        __syncwarp();
        Step::take(args.arrays, w, lanes);
    }
    ks_report_together(sum.tally, sum.doubts, args.status);
}

// `blocks`: least blocks for which a multiprocessor has registers at once.
#define KERNEL(name, blocks, ...)                                                                   \
    KS_KERNEL_BOUNDS(ks_ordinary_##name, ks_scan_phase_args, KS_SCAN_THREADS, blocks)               \
    {                                                                                               \
        KS_DYNAMIC_SHARED(double, shared);                                                          \
        run_step<__VA_ARGS__>(args, shared);                                                        \
    }
#define OBSERVED(N, M)                                                                              \
    KERNEL(element_##N##_##M, 1, element<N, M>)                                                     \
    KERNEL(evidence_##N##_##M, 1, evidence<N, M>)
#define OTHERS(N)                                                                                   \
    KERNEL(filtered_##N, 1, filtered<N>)                                                            \
    KERNEL(smoothing_##N, 1, smoothing<N>)                                                          \
    KERNEL(smoothed_##N, 1, smoothed<N>)                                                            \
    KERNEL(two_filter_##N, 1, two_filter<N>)                                                        \
    KERNEL(lag_one_##N, 4, lag_one<N>)
OBSERVED(2, 2)
OBSERVED(4, 2)
OBSERVED(4, 4)
OTHERS(2)
OTHERS(4)
