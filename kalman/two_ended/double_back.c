/* double_back.c -- filtering a series of single precision again, and smoothing it, in double. */
#include "double_back.h"

#include <string.h>

/* Bytes of a pool, which should stay in a near cache, and the least steps of a block. */
enum { POOL_BYTES = 1 << 17, LEAST_STEPS = 8 };

/** Numbers in a row of an array. */
static int64_t numbers_of(int64_t nx, int64_t ny, int array)
{
    switch (array) {
    case KS_DOUBLE_F: case KS_DOUBLE_Q: return nx * nx;
    case KS_DOUBLE_H: return ny * nx;
    case KS_DOUBLE_R: return ny * ny;
    case KS_DOUBLE_U: return nx;
    default: return ny;
    }
}

/** Numbers of the results of a step: mean, covariance, variances and lag-one covariance. */
static int64_t result_numbers(int64_t nx) { return 2 * (nx + nx * nx); }

void ks_double_back_carve(ks_carver *carver, const ks_smooth_plan *plan, ks_double_back *w)
{
    const size_t nx = (size_t)plan->nx;
    int64_t longest = result_numbers(plan->nx);
    memset(w, 0, sizeof *w);
    if (plan->options.precision != KS_F32) return;
    for (int a = 0; a < KS_DOUBLE_ARRAYS; ++a) {
        const int64_t numbers = numbers_of(plan->nx, plan->ny, a);
        w->once[a] = ks_carve(carver, (size_t)numbers, sizeof(double));
        longest += numbers;
    }
    w->numbers = POOL_BYTES / (int64_t)sizeof(double);
    if (w->numbers < LEAST_STEPS * longest) w->numbers = LEAST_STEPS * longest;
    w->pool = ks_carve(carver, (size_t)w->numbers, sizeof(double));
    w->m0 = ks_carve(carver, nx, sizeof(double));
    w->P0 = ks_carve(carver, nx * nx, sizeof(double));
    ks_checkpoints_carve(carver, nx, plan->T, &w->checkpoints);
    w->state = ks_carve_doubles(carver, nx, 1);
    w->smoothed = ks_carve_doubles(carver, nx, 1);
    w->kept = ks_carve_doubles(carver, nx, w->checkpoints.length);
    w->form = ks_carve(carver, (size_t)w->checkpoints.length, 1);
    w->information = ks_carve_doubles(carver, nx, 1);
    const size_t range = plan->aggregates->scratch_bytes(plan->nx, plan->ny);
    const size_t meeting = ks_two_ended_kernels_of(plan->aggregates)->scratch_bytes(plan->nx, plan->ny);
    w->scratch = ks_carve(carver, 1, range > meeting ? range : meeting);
}

static const ks_rows *array_of(const ks_series *s, int array)
{
    const ks_rows *const all[KS_DOUBLE_ARRAYS] = { &s->F, &s->Q, &s->u, &s->H, &s->R, &s->d, &s->y };
    return all[array];
}

static void set_array(ks_series *s, int array, const double *rows, int64_t numbers, int64_t first)
{
    ks_rows *const all[KS_DOUBLE_ARRAYS] = { &s->F, &s->Q, &s->u, &s->H, &s->R, &s->d, &s->y };
    const int64_t stride = numbers * (int64_t)sizeof(double);
    all[array]->base = (const char *)((uintptr_t)rows - (uintptr_t)(first * stride));
    all[array]->stride = stride;
}

/** Widen what does not vary, and give the rest its place in the pool. */
static void lay_out(ks_double_back *w, const ks_smooth_plan *plan, const ks_series *s)
{
    const int64_t nx = plan->nx, ny = plan->ny;
    int64_t step = result_numbers(nx);
    w->series = *s;
    w->series.shift = 0;
    for (int a = 0; a < KS_DOUBLE_ARRAYS; ++a) {
        const ks_rows from = *array_of(s, a);
        if (from.stride) step += numbers_of(nx, ny, a);
        else if (from.base) plan->kernels->widen(numbers_of(nx, ny, a), from.base, w->once[a]);
        if (!from.stride) set_array(&w->series, a, w->once[a], 0, 0);
    }
    w->block = w->numbers / step;
    double *at = w->pool;
    for (int a = 0; a < KS_DOUBLE_ARRAYS; ++a) {
        w->rows[a] = array_of(s, a)->stride ? at : NULL;
        if (w->rows[a]) at += w->block * numbers_of(nx, ny, a);
    }
    w->mean = at;
    w->cov = w->mean + w->block * nx;
    w->var = w->cov + w->block * nx * nx;
    w->lag = w->var + w->block * nx;
    plan->kernels->widen(nx, s->m0, w->m0);
    plan->kernels->widen(nx * nx, s->P0, w->P0);
    w->series.m0 = w->m0;
    w->series.P0 = w->P0;
}

/** Widen rows k0 .. k1 - 1 of arrays `first` .. `last`. */
static void bring(ks_double_back *w, const ks_smooth_plan *plan, const ks_series *s, int first, int last, int64_t k0,
                  int64_t k1)
{
    const int64_t shift = first == KS_DOUBLE_F ? s->shift : 0;
    for (int a = first; a <= last; ++a) {
        const int64_t numbers = numbers_of(plan->nx, plan->ny, a);
        if (!w->rows[a]) continue;
        set_array(&w->series, a, w->rows[a], numbers, k0);
        for (int64_t k = k0; k < k1; ++k)
            plan->kernels->widen(numbers, ks_row(*array_of(s, a), k - shift), w->rows[a] + (k - k0) * numbers);
    }
}

static void bring_transitions(ks_double_back *w, const ks_smooth_plan *plan, const ks_series *s, int64_t k0, int64_t k1)
{
    bring(w, plan, s, KS_DOUBLE_F, KS_DOUBLE_U, k0 == 0 && s->prior_x1 ? 1 : k0, k1);
}

static ks_sink rows_at(double *rows, int64_t numbers, int64_t first)
{
    const ks_sink sink = { (char *)rows, numbers * (int64_t)sizeof(double), first };
    return sink;
}

/** Where the filter keeps the estimates of a segment that begins with step `first`. */
static ks_forward_sinks kept_from(const ks_double_back *w, const ks_smooth_plan *plan, int64_t first)
{
    const int64_t nx = plan->nx;
    ks_forward_sinks kept = { 0 };
    kept.kept_mean = rows_at(w->kept.mean, nx, first);
    kept.kept_C = rows_at(w->kept.cov, nx * nx, first);
    kept.form = w->form;
    kept.form_first = first;
    kept.watched = 1;
    kept.last = w->last;
    kept.exact = ks_tiled_exact(ks_tiled_kernels_of(plan->aggregates), plan->nx, plan->ny);
    return kept;
}

/** Filter steps k0 .. k1 - 1, a segment. Returns as ks_double_back_run() does. */
static int filter(ks_plan_run *run, ks_double_back *w, const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                  ks_tally *tally)
{
    const ks_smooth_plan *plan = run->plan;
    const ks_forward_sinks kept = kept_from(w, plan, k0);
    for (int64_t k = k0; k < k1; k += w->block) {
        const int64_t end = k1 - k < w->block ? k1 : k + w->block;
        bring_transitions(w, plan, s, k, end);
        bring(w, plan, s, KS_DOUBLE_H, KS_DOUBLE_Y, k, end);
        if (plan->aggregates->filter(&w->series, k, end, state, &kept, w->scratch, tally)) return 1;
        if (tally->sharp >= 0) return 1;
    }
    return ks_run_progress(run, 0) ? -1 : 0;
}

static void put(const ks_smooth_plan *plan, int64_t numbers, int64_t k0, int64_t k1, ks_sink from, ks_sink to)
{
    if (!to.base) return;
    for (int64_t k = k0; k < k1; ++k) plan->kernels->narrow(numbers, ks_slot_of(from, k), ks_slot_of(to, k));
}

/** Smooth steps k1 - 1 .. k0 of a segment that begins with step `first`. Returns as ks_double_back_run() does. */
static int smooth(ks_plan_run *run, ks_double_back *w, const ks_series *s, int64_t first, int64_t k0, int64_t k1,
                  ks_state *state, const ks_backward_sinks *to, ks_tally *tally)
{
    const ks_smooth_plan *plan = run->plan;
    const ks_forward_sinks kept = kept_from(w, plan, first);
    const int64_t nx = plan->nx;
    int64_t k;
    for (int64_t end = k1; end > k0; end = k) {
        k = end - k0 < w->block ? k0 : end - w->block;
        /* Lag-one covariances are those of steps k + 1 .. end. */
        const ks_backward_sinks rows = { .smoothed_mean = rows_at(w->mean, nx, k),
                                         .smoothed_cov = rows_at(to->smoothed_cov.base ? w->cov : NULL, nx * nx, k),
                                         .smoothed_var = rows_at(to->smoothed_var.base ? w->var : NULL, nx, k),
                                         .lag_one_cov = rows_at(to->lag_one_cov.base ? w->lag : NULL, nx * nx, k + 1) };
        const int64_t last = end < plan->T ? end + 1 : plan->T;
        bring_transitions(w, plan, s, k + 1, last);
        if (plan->aggregates->smooth(&w->series, k, end, state, &kept, &rows, w->scratch, tally)) return 1;
        put(plan, nx, k, end, rows.smoothed_mean, to->smoothed_mean);
        put(plan, nx * nx, k, end, rows.smoothed_cov, to->smoothed_cov);
        put(plan, nx, k, end, rows.smoothed_var, to->smoothed_var);
        put(plan, nx * nx, k + 1, last, rows.lag_one_cov, to->lag_one_cov);
    }
    return ks_run_progress(run, k1 - k0) ? -1 : 0;
}

/** As ks_smooth_start(), in double. */
static void smooth_start(ks_plan_run *run, ks_double_back *w, int64_t b, const ks_series *s, ks_state *state,
                         ks_tally *tally)
{
    const ks_smooth_plan *plan = run->plan;
    const int64_t nx = plan->nx;
    const ks_sink lag = ks_sink_of(run, run->outputs->lag_one_cov, b);
    if (s->prior_x1 || !ks_makes_any(plan, KS_OUT_LAG_ONE_COV | KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV)) {
        if (lag.base) memset(lag.base, 0, (size_t)(nx * nx) * sizeof(float));
        return;
    }
    const ks_sink mean = rows_at(w->mean, nx, 0), cov = rows_at(w->cov, nx * nx, 0), one = rows_at(w->lag, nx * nx, 0);
    bring_transitions(w, plan, s, 0, 1);
    plan->aggregates->smooth_prior(&w->series, state, one, mean, cov, w->scratch, tally);
    put(plan, nx * nx, 0, 1, one, lag);
    put(plan, nx, 0, 1, mean, ks_mean_out_of(run, run->outputs->prior_mean, b));
    put(plan, nx * nx, 0, 1, cov, ks_sink_of(run, run->outputs->prior_cov, b));
}

/** Make the filtered estimate of the last step the smoothed one. In double, since the round-off of a smoothed mean in
 *  single precision may be many of the standard deviations that a contraction has left. */
static void meet(ks_double_back *w, const ks_smooth_plan *plan, int64_t last, const ks_information *information,
                 ks_state *state)
{
    const int64_t nx = plan->nx;
    const ks_backward_sinks nowhere = { 0 };
    ks_information wide = { w->information.cov, w->information.mean, KS_FORM_ARRAY, -1, -1 };
    const ks_right_rows none = { .bound = { wide.J, 0, 0 }, .first = last + 1 }; /* not read: the form is KS_FORM_ARRAY */
    ks_evidence evidence = ks_evidence_start();
    plan->kernels->widen(nx * nx, information->J, wide.J);
    plan->kernels->widen(nx, information->eta, wide.eta);
    ks_two_ended_kernels_of(plan->aggregates)->meet(plan->nx, last, state, &wide, &none, &nowhere, w->scratch, &evidence);
}

int ks_double_back_run(ks_plan_run *run, ks_double_back *w, int64_t b, const ks_series *s, int64_t steps,
                       const ks_information *information, int arrays, const ks_backward_sinks *to, ks_tally *tally,
                       int *written)
{
    const ks_smooth_plan *plan = run->plan;
    const size_t nx = (size_t)plan->nx;
    const int64_t length = w->checkpoints.length, count = (steps + length - 1) / length;
    ks_state filtered = { w->state.mean, w->state.cov, KS_FORM_ORDINARY, KS_NOT_STEADY };
    ks_state state = { w->smoothed.mean, w->smoothed.cov, KS_FORM_ORDINARY, KS_NOT_STEADY };
    ks_tally forward = ks_tally_start(), backward = ks_tally_start();
    w->last = steps - 1;
    lay_out(w, plan, s);
    plan->aggregates->start(&w->series, &filtered, w->scratch);
    for (int64_t i = 0; i < count; ++i) {
        ks_checkpoint_keep(&w->checkpoints, nx, i, &filtered);
        const int rc = filter(run, w, s, i * length, ks_segment_end(&w->checkpoints, i, steps), &filtered, &forward);
        if (rc) return rc;
        if (!arrays && forward.array > forward.ordinary) return 1;
    }
    if (information) {
        memcpy(state.x, filtered.x, nx * sizeof(double));
        memcpy(state.C, filtered.C, nx * nx * sizeof(double));
        state.form = filtered.form;
        meet(w, plan, steps - 1, information, &state);
    }
    for (int64_t i = count - 1; i >= 0; --i) {
        const int64_t first = i * length, end = ks_segment_end(&w->checkpoints, i, steps);
        int rc = 0;
        if (i + 1 < count) { /* the rows of the last segment are still there */
            ks_tally again = ks_tally_start();
            ks_checkpoint_restore(&w->checkpoints, nx, i, &filtered);
            rc = filter(run, w, s, first, end, &filtered, &again);
        }
        *written = 1;
        if (!rc) rc = smooth(run, w, s, first, first, information && end == steps ? end - 1 : end, &state, to, &backward);
        if (rc) return rc;
    }
    smooth_start(run, w, b, s, &state, &backward);
    tally->ordinary += forward.ordinary + backward.ordinary;
    tally->array += forward.array + backward.array;
    return 0;
}
