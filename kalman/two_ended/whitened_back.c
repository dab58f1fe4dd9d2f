/* whitened_back.c -- filtering again and smoothing in whitened coordinates, segment by segment. */
#include "whitened_back.h"

#include <string.h>

void ks_whitening_carve(ks_carver *carver, const ks_smooth_plan *plan, int64_t count, ks_whitening *w)
{
    const size_t n = (size_t)plan->nx, bytes = plan->kernels->number_bytes;
    w->known.mean = ks_carve(carver, n, bytes);
    w->known.root = ks_carve(carver, n * n, bytes);
    w->known.S = ks_carve(carver, n * n, bytes);
    w->state = ks_carve_estimates(carver, plan, 1);
    w->prior = ks_carve_estimates(carver, plan, 1);
    w->behind = ks_carve_estimates(carver, plan, 1);
    if (count > 0) w->checkpoints = ks_carve_estimates(carver, plan, count);
    w->work = ks_carve(carver, 1, ks_whitened_kernels_of(plan->kernels)->bytes(plan->nx, plan->ny));
    ks_double_back_carve(carver, plan, &w->doubled);
}

void ks_whitening_start(const ks_smooth_plan *plan, ks_whitening *w)
{
    const size_t n = (size_t)plan->nx, bytes = plan->kernels->number_bytes;
    const double one = 1;
    w->left = w->known.held = 0;
    memset(w->known.mean, 0, n * bytes);
    memset(w->known.root, 0, n * n * bytes);
    memset(w->known.S, 0, n * n * bytes);
    for (size_t i = 0; i < n; ++i) plan->kernels->narrow(1, &one, (char *)w->known.root + i * (n + 1) * bytes);
}

/** The step below which steps of the RTS smoother may take over. */
static int64_t first_sharp(const ks_whitening *w, const ks_series *s)
{
    return w->filtered.sharp >= 0 ? w->filtered.sharp : s->steps;
}

/** The rows of segment i. */
static ks_forward_sinks rows_of(const ks_smooth_plan *plan, const ks_segments *all, int64_t i,
                                const ks_backward_sinks *to)
{
    const int64_t first = i * all->length;
    ks_forward_sinks kept = { 0 };
    kept.kept_mean = all->kept.mean ? ks_mean_sink(plan, all->kept, first) : to->smoothed_mean;
    kept.kept_C = all->kept.cov ? ks_cov_sink(plan, all->kept, first) : to->smoothed_cov;
    kept.form = all->form;
    kept.form_first = first;
    kept.watched = kept.rooted = 1;
    return kept;
}

/** Steps k0 .. k1 - 1 of the filter, block by block. */
static int filter(ks_plan_run *run, ks_whitening *w, const ks_series *s, int64_t k0, int64_t k1,
                  const ks_forward_sinks *kept, void *scratch, ks_tally *tally)
{
    ks_state state = { w->state.mean, w->state.cov, KS_FORM_ARRAY, KS_NOT_STEADY };
    for (int64_t k = k0; k < k1; k += KS_BLOCK) {
        const int64_t end = k1 - k < KS_BLOCK ? k1 : k + KS_BLOCK;
        if (run->plan->kernels->filter(s, k, end, &state, kept, scratch, tally) || ks_run_progress(run, 0))
            return -1;
    }
    return 0;
}

/** Smooth steps k1 - 1 .. k0, block by block; `state` is carried along. */
static int back(ks_plan_run *run, ks_whitening *w, const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                const ks_forward_sinks *kept, const ks_backward_sinks *to, void *scratch, ks_tally *tally)
{
    int64_t end = k1;
    while (end > k0 && !w->left) {
        const int64_t k = end - k0 < KS_BLOCK ? k0 : end - KS_BLOCK;
        const int64_t taken =
            ks_whitened_kernels_of(run->plan->kernels)
                ->back(s, k, end, first_sharp(w, s), &w->known, state, kept, to, w->work, tally);
        if (taken < -1 || ks_run_progress(run, end - taken)) return -1;
        w->left = taken > k;
        end = taken;
    }
    ks_forward_sinks rest = *kept;
    rest.watched = !w->lenient;
    return ks_smooth_blocks(run, s, k0, end, state, &rest, to, scratch, tally);
}

/** Smooth the prior as if it were the filtered estimate of step -1. Returns as ks_whitened_kernels.back does. */
static int64_t prior(ks_plan_run *run, ks_whitening *w, int64_t b, const ks_series *s, ks_state *state, void *scratch,
                     ks_tally *tally)
{
    const ks_outputs *o = run->outputs;
    ks_backward_sinks to = { 0 };
    ks_state start = { w->prior.mean, w->prior.cov, KS_FORM_ARRAY, KS_NOT_STEADY };
    run->plan->kernels->start(s, &start, scratch);
    const ks_forward_sinks kept = { .kept_mean = { start.x, 0, -1 }, .kept_C = { start.C, 0, -1 } };
    to.smoothed_mean = ks_sink_of(run, o->prior_mean, b);
    to.smoothed_cov = ks_sink_of(run, o->prior_cov, b);
    to.smoothed_mean.first = to.smoothed_cov.first = -1;
    to.lag_one_cov = ks_sink_of(run, o->lag_one_cov, b);
    return ks_whitened_kernels_of(run->plan->kernels)
        ->back(s, -1, 0, first_sharp(w, s), &w->known, state, &kept, &to, w->work, tally);
}

/** The way back in whitened coordinates, after ks_double_back_run() if that has been tried. */
static int whiten(ks_plan_run *run, ks_whitening *w, int64_t b, const ks_series *s, const ks_segments *segments,
                  const ks_information *information, const ks_backward_sinks *to, void *scratch, ks_tally *tally)
{
    const ks_smooth_plan *plan = run->plan;
    const int64_t steps = segments->steps, length = segments->length, count = (steps + length - 1) / length;
    const int64_t end = information ? steps - 1 : steps; /* of steps that are not smoothed yet */
    const ks_forward_sinks nothing = { .watched = 1, .rooted = 1 };
    ks_state filtered = { w->state.mean, w->state.cov, KS_FORM_ARRAY, KS_NOT_STEADY };
    ks_state state = { w->behind.mean, w->behind.cov, KS_FORM_ARRAY, KS_NOT_STEADY };
    w->filtered = segments->filtered ? *segments->filtered : ks_tally_start();
    plan->kernels->start(s, &filtered, scratch);
    for (int64_t i = 0; i < count && !segments->filtered; ++i) {
        const ks_forward_sinks kept = rows_of(plan, segments, i, to);
        if (count > 1) ks_copy_estimate(plan, segments->checkpoints, i, w->state, 0);
        if (filter(run, w, s, i * length, i + 1 < count ? (i + 1) * length : end, &kept, scratch, &w->filtered) ||
            (i + 1 == count && filter(run, w, s, end, steps, &nothing, scratch, &w->filtered))) {
            tally->bad_step = w->filtered.bad_step;
            tally->bad_row = w->filtered.bad_row;
            tally->bad_array = w->filtered.bad_array;
            tally->fault = w->filtered.fault;
            return -1;
        }
    }
    if (!segments->filtered) tally->array += w->filtered.array;
    ks_whitening_start(plan, w);
    if (information)
        ks_whitened_kernels_of(plan->kernels)
            ->meet(plan->nx, &filtered, information, &w->known, &state, w->work);
    for (int64_t i = count - 1; i >= 0; --i) {
        const ks_forward_sinks kept = rows_of(plan, segments, i, to);
        const int64_t next = i + 1 < count ? (i + 1) * length : end;
        ks_tally again = ks_tally_start();
        /* The rows of the last segment are valid already, unless the filter that made them kept none. */
        if (i + 1 < count || (segments->filtered && (segments->kept.mean || segments->kept.cov))) {
            ks_copy_estimate(plan, w->state, 0, segments->checkpoints, i);
            if (filter(run, w, s, i * length, next, &kept, scratch, &again)) return -1;
        }
        if (back(run, w, s, i * length, next, &state, &kept, to, scratch, tally)) return -1;
    }
    const unsigned priors = KS_OUT_LAG_ONE_COV | KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV;
    if (!w->left && !s->prior_x1 && ks_makes_any(plan, priors)) {
        const int64_t taken = prior(run, w, b, s, &state, scratch, tally);
        if (taken < 0) return taken < -1 ? -1 : 0;
    }
    ks_smooth_start(run, b, s, &state, scratch, tally);
    return 0;
}

int ks_whitening_run(ks_plan_run *run, ks_whitening *w, int64_t b, const ks_series *s, const ks_segments *segments,
                     const ks_information *information, const ks_backward_sinks *to, void *scratch, ks_tally *tally)
{
    const int single = run->plan->options.precision == KS_F32;
    const ks_tally before = *tally;
    ks_segments again = *segments;
    int arrays = tally->blurred, rc = 1;
    w->lenient = !single;
    while (rc > 0) {
        if (single) {
            int written = 0;
            rc = ks_double_back_run(run, &w->doubled, b, s, segments->steps, information, arrays, to, tally, &written);
            if (rc <= 0) return rc;
            if (written) again.filtered = NULL;
            w->lenient = arrays;
        }
        rc = whiten(run, w, b, s, &again, information, to, scratch, tally);
        if (rc == 0 || !tally->blurred || w->lenient) return rc;
        /* Steps that took over would have divided by round-off: in double they do not. */
        *tally = before;
        arrays = rc = 1;
        again.filtered = NULL;
    }
    return rc;
}
