// ks_chunks.cu -- chunks of steps on a device, a thread for each: reduce them to aggregates, and run them again from
// the estimates before and behind them. For any size and any model that the scans take.
#include <float.h>
#include "border_differ.h"
#include "chunk_kernels.h"
#include "gpu/kernel.h"
#include "plain_f32.h"
#include "plain_f64.h"
#include "scan_report.h"

// The arithmetic in the plan's precision: filter or smooth steps k0 .. k1 - 1 with the memory of a worker.
#define OWN(suffix, number)                                                                         \
    struct own_##suffix {                                                                           \
        typedef number num;                                                                         \
        KS_DEVICE void start(const ks_series *s, ks_state *state, void *work)                       \
        {                                                                                           \
            table_start_##suffix(s, state, work);                                                   \
        }                                                                                           \
        KS_DEVICE int filter(const ks_scan_arrays *a, int64_t k0, int64_t k1, ks_state *state,      \
                             const ks_forward_sinks *to, ks_chunk_worker &m)                        \
        {                                                                                           \
            return table_filter_##suffix(&a->series, k0, k1, state, to, m.own_scratch, &m.w.tally); \
        }                                                                                           \
        KS_DEVICE int smooth(const ks_scan_arrays *a, int64_t k0, int64_t k1, ks_state *state,      \
                             const ks_forward_sinks *kept, const ks_backward_sinks *to,             \
                             ks_chunk_worker &m)                                                    \
        {                                                                                           \
            return table_smooth_##suffix(&a->series, k0, k1, state, kept, to, m.own_scratch,        \
                                         &m.w.tally);                                               \
        }                                                                                           \
    };
OWN(f64, double)
OWN(f32, float)

// Return false if one of the n numbers of a covariance does not fit a float, and report that as a fault of step k.
KS_DEVICE bool fits_float(int64_t n, const double *cov, int64_t k, ks_tally *tally)
{
    bool fits = true;
    for (int64_t i = 0; i < n; ++i) fits = fits && !(fabs(cov[i]) > (double)FLT_MAX);
    if (fits) return true;
    tally->bad_step = k;
    tally->bad_array = KS_ARRAY_ESTIMATE;
    tally->fault = KS_FAULT_NOT_FINITE;
    return false;
}

// KS_MIXED: steps one by one in double. Covariances are narrowed when they are stored. Square roots of them are kept,
// so that narrowing loses nothing that matters.
struct own_mixed {
    typedef double num;
    KS_DEVICE void start(const ks_series *s, ks_state *state, void *work)
    {
        table_start_f64(s, state, work);
    }
    KS_DEVICE void keep(int nx, int64_t k, const ks_state &state, const ks_forward_sinks *to,
                        ks_chunk_worker &m)
    {
        if (!to->kept_mean.base) return;
        ks_state root = {state.x, m.w.outputs[KS_STEP_LAG_ONE_COV], state.form, KS_NOT_STEADY};
        ks_copy_f64(nx, static_cast<const double *>(state.x),
                    static_cast<double *>(ks_slot_of(to->kept_mean, k)));
        ks_copy_f64(nx * nx, static_cast<const double *>(state.C), m.w.outputs[KS_STEP_LAG_ONE_COV]);
        table_root_f64(nx, &root, m.own_scratch);
        float *const kept = static_cast<float *>(ks_slot_of(to->kept_C, k));
        for (int i = 0; i < nx * nx; ++i) kept[i] = (float)m.w.outputs[KS_STEP_LAG_ONE_COV][i];
        to->form[k - to->form_first] = KS_FORM_ARRAY;
    }
    KS_DEVICE int filter(const ks_scan_arrays *a, int64_t k0, int64_t k1, ks_state *state,
                         const ks_forward_sinks *to, ks_chunk_worker &m)
    {
        const int nx = a->series.nx, ny = a->series.ny;
        double *const cov = static_cast<double *>(m.w.results.cov);
        const ks_sink none = {NULL, 0, 0}, filtered = {reinterpret_cast<char *>(cov), 0, 0};
        const ks_sink predicted = to->predicted_cov.base ? to->predicted_cov : to->predicted_var;
        ks_forward_sinks row = *to;
        row.predicted_cov = ks_row_for(m.w.outputs[KS_STEP_PREDICTED_COV], predicted);
        row.filtered_cov = filtered;
        row.innovation_cov = ks_row_for(m.w.outputs[KS_STEP_INNOVATION_COV], to->innovation_cov);
        row.predicted_var = row.filtered_var = row.kept_mean = row.kept_C = none;
        for (int64_t k = k0; k < k1; ++k) {
            if (table_filter_f64(&a->series, k, k + 1, state, &row, m.own_scratch, &m.w.tally)) return -1;
            if (!fits_float(nx * nx, cov, k, &m.w.tally) ||
                (row.predicted_cov.base && !fits_float(nx * nx, m.w.outputs[KS_STEP_PREDICTED_COV], k, &m.w.tally)) ||
                (row.innovation_cov.base && !fits_float(ny * ny, m.w.outputs[KS_STEP_INNOVATION_COV], k, &m.w.tally)))
                return -1;
            ks_put_cov(a, to->filtered_cov, to->filtered_var, k, cov);
            if (row.predicted_cov.base)
                ks_put_cov(a, to->predicted_cov, to->predicted_var, k, m.w.outputs[KS_STEP_PREDICTED_COV]);
            ks_put_square(a, to->innovation_cov, k, ny, m.w.outputs[KS_STEP_INNOVATION_COV]);
            keep(nx, k, *state, to, m);
        }
        return 0;
    }
    KS_DEVICE int smooth(const ks_scan_arrays *a, int64_t k0, int64_t k1, ks_state *state,
                         const ks_forward_sinks *kept, const ks_backward_sinks *to, ks_chunk_worker &m)
    {
        const int nx = a->series.nx;
        double *const cov = static_cast<double *>(m.w.results.cov);
        const ks_sink none = {NULL, 0, 0}, smoothed = {reinterpret_cast<char *>(cov), 0, 0};
        const ks_sink wide = {reinterpret_cast<char *>(m.element), 0, 0};
        ks_forward_sinks from = *kept;
        ks_backward_sinks row = *to;
        from.kept_C = wide;
        from.narrowed = 1;
        row.smoothed_cov = smoothed;
        row.smoothed_var = none;
        row.lag_one_cov = ks_row_for(m.w.outputs[KS_STEP_LAG_ONE_COV], to->lag_one_cov);
        for (int64_t k = k1 - 1; k >= k0; --k) {
            const float *const C = static_cast<const float *>(ks_slot_of(kept->kept_C, k));
            for (int i = 0; i < nx * nx; ++i) m.element[i] = (double)C[i];
            if (table_smooth_f64(&a->series, k, k + 1, state, &from, &row, m.own_scratch, &m.w.tally) ||
                !fits_float(nx * nx, cov, k, &m.w.tally))
                return -1;
            ks_put_cov(a, to->smoothed_cov, to->smoothed_var, k, cov);
            if (k + 1 < a->series.steps) ks_put_square(a, to->lag_one_cov, k + 1, nx, m.w.outputs[KS_STEP_LAG_ONE_COV]);
        }
        return 0;
    }
};

struct chunk_range {
    int64_t first, end;
};

KS_DEVICE chunk_range range_of(const ks_chunk_arrays &c, int64_t chunk)
{
    const int64_t first = chunk * c.size, end = first + c.size, steps = c.a.series.steps;
    const chunk_range range = {first, end < steps ? end : steps};
    return range;
}

KS_DEVICE bool is_to_be_absorbed(const ks_chunk_arrays &c, int64_t chunk) { return c.hard_absorb[chunk] != 0; }

// Reduce the first chunk by filter steps from the prior, as nothing comes before that. With a vague prior, joining
// elements to it would multiply round-off by the ratio of the prior's variance to the filtered one.
KS_DEVICE void absorb_first(const ks_chunk_arrays &c, ks_chunk_worker &m, double *dst)
{
    const ks_scan_arrays *a = &c.a;
    const int nx = a->series.nx;
    const chunk_range range = range_of(c, 0);
    ks_state state = ks_own_state(&m.w);
    ks_tally tally = ks_tally_start();
    ks_forward_sinks nowhere;
    memset(&nowhere, 0, sizeof nowhere);
    table_start_f64(ks_wide_series(a, &m.w, 0), &state, m.w.scratch);
    for (int64_t k = range.first; k < range.end; ++k)
        if (table_filter_f64(ks_wide_series(a, &m.w, k), k, k + 1, &state, &nowhere, m.w.scratch, &tally)) {
            tally.elements = m.w.tally.elements;
            m.w.tally = tally;
            return;
        }
    table_square_f64(nx, &state, m.w.scratch);
    memset(dst, 0, (size_t)ks_filter_element_size(nx) * sizeof(double));
    ks_copy_f64(nx, static_cast<const double *>(state.x), dst + nx * nx);
    ks_pack_f64(nx, static_cast<const double *>(state.C), dst + nx * nx + nx);
}

KS_DEVICE void absorb(const ks_chunk_arrays &c, ks_chunk_worker &m, int64_t chunk)
{
    const ks_scan_arrays *a = &c.a;
    const int nx = a->series.nx;
    const chunk_range range = range_of(c, chunk);
    double *const dst = static_cast<double *>(a->elements) + chunk * ks_filter_element_size(nx);
    for (int64_t k = range.first; k < range.end; ++k) {
        if (ks_make_filter_element(a, &m.w, k, k == range.first ? dst : m.element)) return;
        if (k > range.first && chunk > 0)
            ks_filter_combine_f64(nx, dst, dst, m.element, static_cast<double *>(m.w.scratch));
    }
    if (chunk == 0) absorb_first(c, m, dst);
}

// Convert an estimate in double to the plan's precision, as a square root, so that narrowing loses nothing that
// matters. `from` is overwritten.
template <class Own>
KS_DEVICE ks_state narrowed(int nx, const ks_state &from, const ks_chunk_worker &m)
{
    typedef typename Own::num num;
    ks_state root = from;
    ks_state state = {m.own.mean, m.own.cov, KS_FORM_ARRAY, KS_NOT_STEADY};
    table_root_f64(nx, &root, m.w.scratch);
    const double *x = static_cast<const double *>(root.x), *C = static_cast<const double *>(root.C);
    for (int i = 0; i < nx; ++i) static_cast<num *>(state.x)[i] = (num)x[i];
    for (int i = 0; i < nx * nx; ++i) static_cast<num *>(state.C)[i] = (num)C[i];
    return state;
}

// Convert an estimate in the plan's precision to mean and covariance in double, in the worker's state.
template <class Own>
KS_DEVICE ks_state widened(int nx, const ks_state &state, const ks_chunk_worker &m)
{
    typedef typename Own::num num;
    ks_state wide = {m.w.state.mean, m.w.state.cov, state.form, KS_NOT_STEADY};
    for (int i = 0; i < nx; ++i)
        static_cast<double *>(wide.x)[i] = (double)static_cast<const num *>(state.x)[i];
    for (int i = 0; i < nx * nx; ++i)
        static_cast<double *>(wide.C)[i] = (double)static_cast<const num *>(state.C)[i];
    table_square_f64(nx, &wide, m.w.scratch);
    return wide;
}

// Store the estimate at the end of a pass over a chunk in c.first or c.end.
template <class Own>
KS_DEVICE void put_border(int nx, double *border, int64_t chunk, const ks_state &state, const ks_chunk_worker &m)
{
    const ks_state wide = widened<Own>(nx, state, m);
    double *const to = border + chunk * (nx + nx * nx);
    ks_copy_f64(nx, static_cast<const double *>(wide.x), to);
    ks_copy_f64(nx * nx, static_cast<const double *>(wide.C), to + nx);
}

// Store the smoothed estimate of a chunk's last step in the outputs and in `state`.
template <class Own>
KS_DEVICE bool smooth_last(const ks_chunk_arrays &c, ks_chunk_worker &m, int64_t chunk, int64_t k,
                           ks_state *state)
{
    const ks_scan_arrays *a = &c.a;
    const int nx = a->series.nx;
    double *const mean = static_cast<double *>(m.w.results.mean);
    double *const cov = static_cast<double *>(m.w.results.cov);
    const double *const last = c.last + chunk * (nx + nx * nx);
    ks_copy_f64(nx, last, mean);
    ks_copy_f64(nx * nx, last + nx, cov);
    // ks_fits() expects arrays with the estimates of all steps.
    ks_estimates as_step;
    as_step.mean = mean - k * nx;
    as_step.cov = cov - k * nx * nx;
    if (!ks_fits(a, &m.w, as_step, k)) return false;
    ks_put(a, a->back.smoothed_mean, k, nx, mean);
    ks_put_cov(a, a->back.smoothed_cov, a->back.smoothed_var, k, cov);
    const ks_state smoothed = {mean, cov, KS_FORM_ORDINARY, KS_NOT_STEADY};
    *state = narrowed<Own>(nx, smoothed, m);
    return true;
}

// The filtered estimate of step k that was kept, in double.
KS_DEVICE ks_state kept_in_double(const ks_chunk_arrays &c, int64_t k, double *x, double *C)
{
    const int n = c.a.series.nx;
    const void *const mean = ks_slot_of(c.kept_mean, k), *const cov = ks_slot_of(c.kept_C, k);
    for (int i = 0; i < n; ++i)
        x[i] = c.a.single ? (double)static_cast<const float *>(mean)[i] : static_cast<const double *>(mean)[i];
    for (int i = 0; i < n * n; ++i)
        C[i] = c.a.single_cov ? (double)static_cast<const float *>(cov)[i] : static_cast<const double *>(cov)[i];
    const ks_state state = {x, C, static_cast<ks_form>(c.form[k]), KS_NOT_STEADY};
    return state;
}

// The information behind a chunk, about the difference of the state from x, the filtered mean of the chunk's last step.
// `last`: there is no step behind, and the information is zero.
KS_DEVICE void find_behind(const ks_chunk_arrays &c, int64_t chunk, bool last, const double *x, double *behind)
{
    const int nx = c.a.series.nx, half = nx * (nx + 1) / 2;
    const double *const at = c.last + chunk * (nx + nx * nx);
    if (last) {
        for (int i = 0; i < nx + half; ++i) behind[i] = 0;
        return;
    }
    ks_copy_f64(nx, at, behind);
    ks_pack_f64(nx, at + nx, behind + nx);
    ks_centre_f64(nx, x, behind + nx, behind);
}

// The filtered estimate of step k that was kept, with round-off added if `rounded`. size: n numbers of scratch.
KS_DEVICE ks_state kept_for_meeting(const ks_chunk_arrays &c, int64_t k, bool rounded, double *x, double *C, double *size)
{
    const int n = c.a.series.nx;
    const double of_mean = ks_unit_roundoff(c.a.single), of_cov = ks_unit_roundoff(c.a.single_cov);
    const ks_state state = kept_in_double(c, k, x, C);
    if (rounded)
        (void)ks_round_estimate(n, state.form == KS_FORM_ARRAY, of_mean, x, x, of_cov, C, C, size,
                                (uint64_t)(k * n * (n + 1)));
    return state;
}

// Add round-off to the information behind step k.
KS_DEVICE void round_behind(int n, int64_t k, double *behind)
{
    uint64_t sign = (uint64_t)(k * n * (n + 3));
    for (int i = 0; i < n; ++i) behind[i] += ks_random_sign(++sign) * DBL_EPSILON * behind[i];
    (void)ks_round_packed(n, ks_unit_roundoff(0), behind + n, sign);
}

// Run the two-filter smoother back over a chunk, a step at a time. `rounded`: round-off is added, and the only result
// is the estimate of the first step, in the worker's results.
KS_DEVICE_COLD void meet_chunk(const ks_chunk_arrays &c, ks_chunk_worker &m, int64_t chunk, bool rounded)
{
    const ks_scan_arrays *a = &c.a;
    const int nx = a->series.nx;
    const int64_t n = nx;
    const chunk_range range = range_of(c, chunk);
    const ks_sink none = {NULL, 0, 0};
    double *const mean = static_cast<double *>(m.w.results.mean), *const cov = static_cast<double *>(m.w.results.cov);
    double *const behind = m.element, *const before_x = behind + nx + nx * (nx + 1) / 2;
    double *const before_C = before_x + nx, *const size = before_C + nx * nx;
    double *const x = static_cast<double *>(m.w.state.mean), *const C = static_cast<double *>(m.w.state.cov);
    ks_state own = kept_for_meeting(c, range.end - 1, rounded, x, C, size);
    find_behind(c, chunk, range.end == a->series.steps, x, behind);
    for (int64_t k = range.end - 1; k >= range.first; --k) {
        const bool leads = k > range.first;
        ks_state before = own, state = {mean, cov, KS_FORM_ORDINARY, KS_NOT_STEADY};
        if (rounded) round_behind(nx, k, behind);
        if (leads) before = kept_for_meeting(c, k - 1, rounded, before_x, before_C, size);
        unsigned char form = static_cast<unsigned char>(own.form);
        ks_forward_sinks kept;
        memset(&kept, 0, sizeof kept);
        kept.kept_mean.base = reinterpret_cast<char *>(x);
        kept.kept_C.base = reinterpret_cast<char *>(C);
        kept.form = &form;
        kept.form_first = k;
        kept.narrowed = a->single_cov;
        ks_backward_sinks to;
        memset(&to, 0, sizeof to);
        to.lag_one_cov = leads && !rounded ? ks_row_for(m.w.outputs[KS_STEP_LAG_ONE_COV], a->back.lag_one_cov) : none;
        if (table_two_filter_back_f64(ks_wide_series(a, &m.w, k), k, k + 1, leads ? &before : NULL, behind, &state,
                                      &kept, &to, m.w.scratch, &m.w.tally))
            return;
        if (rounded) {
            if (leads) own = kept_for_meeting(c, k - 1, rounded, x, C, size);
            continue;
        }
        // ks_fits() expects arrays with the estimates of all steps.
        const ks_estimates as_step = {mean - k * n, cov - k * n * n};
        if (!ks_fits(a, &m.w, as_step, k)) return;
        ks_put(a, a->back.smoothed_mean, k, n, mean);
        ks_put_cov(a, a->back.smoothed_cov, a->back.smoothed_var, k, cov);
        if (leads) ks_put_square(a, a->back.lag_one_cov, k, n, m.w.outputs[KS_STEP_LAG_ONE_COV]);
        if (leads) own = kept_in_double(c, k - 1, x, C);
    }
    if (rounded) return;
    if (chunk == 0 && m.w.tally.sharp >= 0) c.hard_absorb[0] = KS_SUSPECT;
    double *const first = c.first + chunk * (n + n * n);
    ks_copy_f64(nx, mean, first);
    ks_copy_f64(nx * nx, cov, first + n);
}

template <class Own>
KS_DEVICE_COLD void smooth_chunk(const ks_chunk_arrays &c, ks_chunk_worker &m, int64_t chunk,
                                 const ks_forward_sinks &kept, ks_state *state)
{
    const ks_scan_arrays *a = &c.a;
    const int nx = a->series.nx;
    const chunk_range range = range_of(c, chunk);
    if (c.two_filter) {
        meet_chunk(c, m, chunk, false);
        return;
    }
    int64_t end = range.end;
    if (end < a->series.steps && !smooth_last<Own>(c, m, chunk, --end, state)) return;
    if (end > range.first && Own::smooth(a, range.first, end, state, &kept, &a->back, m)) return;
    put_border<Own>(nx, c.first, chunk, *state, m);
}

template <class Own> KS_DEVICE_COLD void rerun(const ks_chunk_arrays &c, ks_chunk_worker &m, int64_t chunk)
{
    const ks_scan_arrays *a = &c.a;
    const int nx = a->series.nx;
    const chunk_range range = range_of(c, chunk);
    ks_state state = {m.own.mean, m.own.cov, KS_FORM_ORDINARY, KS_NOT_STEADY};
    ks_forward_sinks to = a->to;
    if (c.smooths) {
        to.kept_mean = c.kept_mean;
        to.kept_C = c.kept_C;
        to.form = c.form;
    }
    if (c.hard_rerun[chunk] == KS_HARD_SMOOTH) {
        smooth_chunk<Own>(c, m, chunk, to, &state);
        return;
    }
    if (chunk == 0) {
        Own::start(&a->series, &state, m.own_scratch);
    } else {
        const double *const before = c.before + chunk * (nx + nx * nx);
        ks_copy_f64(nx, before, static_cast<double *>(m.w.state.mean));
        ks_copy_f64(nx * nx, before + nx, static_cast<double *>(m.w.state.cov));
        state = narrowed<Own>(nx, ks_own_state(&m.w), m);
    }
    if (Own::filter(a, range.first, range.end, &state, &to, m)) return;
    a->loglik_terms[chunk] = ks_evidence_loglik(&m.w.tally.evidence);
    m.w.tally.evidence = ks_evidence_start();
    put_border<Own>(nx, c.end, chunk, state, m);
    if (c.smooths) smooth_chunk<Own>(c, m, chunk, to, &state);
}

KS_DEVICE bool is_to_be_bordered(const ks_chunk_arrays &c, int64_t chunk)
{
    return chunk == 0 || (c.a.back.lag_one_cov.base && (!c.met || (c.hard_absorb[chunk] & KS_NO_LAG)));
}

// Store the lag-one covariance between a chunk's first step and the last step before it. For the first chunk, store the
// smoothed prior instead.
KS_DEVICE void border(const ks_chunk_arrays &c, ks_chunk_worker &m, int64_t chunk)
{
    const ks_scan_arrays *a = &c.a;
    const int nx = a->series.nx;
    const int64_t n = nx, all = n + n * n, k = chunk * c.size;
    double *const first = c.first + chunk * all;
    if (chunk == 0) {
        const ks_estimates smoothed = {first, first + n};
        ks_smoothed_start(a, &m.w, smoothed);
        return;
    }
    const ks_sink filtered = {reinterpret_cast<char *>(c.before + chunk * all + n), 0, k - 1};
    const ks_sink smoothed = {reinterpret_cast<char *>(first + n), 0, k};
    const ks_sink row = {static_cast<char *>(m.w.results.cov), 0, 0};
    table_lag_one_f64(ks_wide_series(a, &m.w, k), k, k + 1, filtered, smoothed, row, m.w.scratch);
    ks_put_square(a, a->back.lag_one_cov, k, n, static_cast<const double *>(m.w.results.cov));
}

#include "chunk_follow.h"
#include "chunk_judge.h"

KS_DEVICE bool is_to_be_rerun(const ks_chunk_arrays &c, int64_t chunk) { return c.hard_rerun[chunk] != 0; }

KS_DEVICE void rerun_either(const ks_chunk_arrays &c, ks_chunk_worker &m, int64_t chunk)
{
    if (c.a.single) rerun<own_f32>(c, m, chunk);
    else if (c.a.single_cov) rerun<own_mixed>(c, m, chunk);
    else rerun<own_f64>(c, m, chunk);
}

// The first of the thread's chunks, from `chunk` on, for which Is is true, or a number >= c.chunks.
template <bool (*Is)(const ks_chunk_arrays &, int64_t)>
KS_DEVICE int64_t next_left(const ks_chunk_arrays &c, int64_t chunk)
{
    while (chunk < c.chunks && !Is(c, chunk)) chunk += ks_grid_threads();
    return chunk;
}

template <bool (*Is)(const ks_chunk_arrays &, int64_t), void (*Do)(const ks_chunk_arrays &, ks_chunk_worker &, int64_t)>
KS_DEVICE void run_chunks(const ks_chunk_args &args)
{
    const ks_scan_arrays *a = &args.chunks.a;
    const int nx = a->series.nx;
    if (ks_failed_before(args.status, args.phase)) return;
    /* Most threads have nothing to do; usually none has. So look before the memory is laid out. */
    int64_t chunk = next_left<Is>(args.chunks, args.chunks.begin + ks_grid_thread());
    if (chunk >= args.chunks.chunks) return;
    ks_chunk_worker m;
    ks_carver carver = ks_carver_at(args.memory + ks_grid_thread() * args.slice);
    ks_carve_scan_worker(&carver, nx, a->series.ny, a->single, args.scratch, &m.w);
    ks_carve_chunk_worker(&carver, nx, table_filter_element_bytes_f64(nx), args.own_scratch,
                          a->single ? sizeof(float) : sizeof(double), &m);
    for (; chunk < args.chunks.chunks && m.w.tally.bad_step < 0;
         chunk = next_left<Is>(args.chunks, chunk + ks_grid_threads()))
        Do(args.chunks, m, chunk);
    ks_carve_end(&carver);
    ks_report(m.w.tally, args.status, args.phase);
    ks_report_moves(m.w.moves, args.status);
}

KS_KERNEL_BOUNDS(ks_chunk_absorb, ks_chunk_args, KS_SCAN_THREADS, 1) { run_chunks<is_to_be_absorbed, absorb>(args); }
KS_KERNEL_BOUNDS(ks_chunk_rerun, ks_chunk_args, KS_SCAN_THREADS, 1) { run_chunks<is_to_be_rerun, rerun_either>(args); }
KS_KERNEL_BOUNDS(ks_chunk_judge, ks_chunk_args, KS_SCAN_THREADS, 1) { run_chunks<is_to_be_judged, judge>(args); }
KS_KERNEL_BOUNDS(ks_chunk_border, ks_chunk_args, KS_SCAN_THREADS, 1) { run_chunks<is_to_be_bordered, border>(args); }
