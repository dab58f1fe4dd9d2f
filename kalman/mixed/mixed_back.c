/* mixed_back.c -- the way back of KS_MIXED in whitened coordinates (whitened_back.h).
 *
 * The twin smooths differences from the filtered means r. Subtracted in double, the remainders of a transition and of
 * an observation are no larger than some standard deviations, whatever the size of the state, so single precision holds
 * them. They are u and y in the model of the difference:
 *
 *     x[k] - r[k] = F (x[k-1] - r[k-1]) + (F r[k-1] + u - r[k]) + w,    y - d - H r[k] = H (x[k] - r[k]) + v. */
#include <math.h>
#include <string.h>
#include "mixed.h"

/** Return the filtered mean of step k. `behind` is that of step `end`, the first one after those of `kept`. */
static const double *reference(const ks_forward_sinks *kept, int64_t k, int64_t end, const double *behind)
{
    return k < end ? ks_slot_of(kept->kept_mean, k) : behind;
}

/** Give the twin the differences of steps first .. last as u and y. `behind` is the filtered mean of step `end`. The
 *  rows of both are in the lane's pool. */
static void bring_differences(const ks_smooth_plan *plan, ks_mixed *mixed, ks_group *g, int64_t first, int64_t last,
                              int64_t end, const ks_forward_sinks *kept, const double *behind)
{
    const int nx = plan->nx, ny = plan->ny;
    ks_mixed_lane *lane = &mixed->lane[0];
    const ks_series *s = &lane->series;
    ks_mixed_bring(plan, mixed, g, first, last + 1, first, last + 1);
    for (int64_t k = first; k <= last; ++k) {
        const double *F = ks_row(s->F, k - s->shift), *u = ks_row(s->u, k - s->shift);
        const double *H = ks_row(s->H, k), *d = ks_row(s->d, k), *y = ks_row(s->y, k);
        const double *from = reference(kept, k - 1, end, behind), *to = reference(kept, k, end, behind);
        float *moves = lane->gains + (k - first) * nx, *sees = lane->y + (k - first) * ny;
        for (int i = 0; i < nx; ++i) {
            double left = u[i] - to[i];
            for (int c = 0; c < nx; ++c) left += F[i * nx + c] * from[c];
            moves[i] = (float)left;
        }
        for (int i = 0; i < ny; ++i) {
            double left = y[i] - d[i];
            for (int c = 0; c < nx; ++c) left -= H[i * nx + c] * to[c];
            sees[i] = (float)left;
        }
    }
    g->series[0].u = ks_twin_rows(lane->gains, nx, first - s->shift);
    g->series[0].y = ks_twin_rows(lane->y, ny, first);
}

/** Prepare the twin for its filter and its steps of the RTS smoother. */
static void settle(const ks_smooth_plan *plan, const ks_mixed *mixed, ks_group *g)
{
    g->series[0].u = (ks_rows){ (const char *)mixed->zeros, 0 };
    memset(g->state[0].x, 0, (size_t)plan->nx * sizeof(float));
}

/** Make the smoothed means of steps k0 .. k1 - 1 from the twin's differences from the filtered ones. The filtered mean
 *  of step k0 is saved before it may be overwritten. Return the step whose mean is not finite, or k0 - 1. */
static int64_t put_means(const ks_smooth_plan *plan, ks_mixed *mixed, int64_t k0, int64_t k1, ks_sink moved,
                         const ks_forward_sinks *kept, ks_sink to)
{
    const int nx = plan->nx;
    ks_mixed_lane *lane = &mixed->lane[0];
    int64_t bad = k0 - 1;
    memcpy(lane->behind, ks_slot_of(kept->kept_mean, k0), (size_t)nx * sizeof(double));
    for (int64_t k = k1 - 1; k >= k0 && bad < k0; --k) {
        const double *x = ks_slot_of(kept->kept_mean, k);
        const float *more = ks_slot_of(moved, k);
        for (int i = 0; i < nx; ++i) {
            lane->x[i] = x[i] + (double)more[i];
            if (!isfinite(lane->x[i])) bad = k;
        }
        if (to.base) memcpy(ks_slot_of(to, k), lane->x, (size_t)nx * sizeof(double));
    }
    return bad;
}

void ks_mixed_whiten(const ks_smooth_plan *plan, ks_mixed *mixed, ks_whitening *w, ks_group *g, int64_t k0, int64_t k1,
                     const ks_forward_sinks *to, ks_tally *tally)
{
    ks_state state = { w->state.mean, w->state.cov, KS_FORM_ARRAY, KS_NOT_STEADY };
    ks_forward_sinks twin = { 0 };
    twin.kept_C = to->kept_C;
    twin.form = to->form;
    twin.form_first = to->form_first;
    twin.watched = twin.rooted = 1;
    for (int64_t k = k0; k < k1 && g->alive; k += mixed->length) {
        const int64_t end = k1 - k < mixed->length ? k1 : k + mixed->length;
        ks_mixed_bring(plan, mixed, g, k, end, k, end);
        if (plan->kernels->filter(&g->series[0], k, end, &state, &twin, g->scratch, &w->filtered)) {
            tally->bad_step = w->filtered.bad_step;
            tally->bad_row = w->filtered.bad_row;
            tally->bad_array = w->filtered.bad_array;
            tally->fault = w->filtered.fault;
            g->alive = 0;
        }
    }
}

/** Take steps end - 1 .. k, at most as many as a block has. Return what ks_whitened_kernels.back returns, or -2 if a
 *  mean is not finite. */
static int64_t back_some(const ks_smooth_plan *plan, ks_mixed *mixed, ks_whitening *w, ks_group *g, int64_t k,
                         int64_t end, const ks_forward_sinks *kept, const ks_backward_sinks *to, ks_tally *tally)
{
    const int64_t row = plan->nx * (int64_t)sizeof(float), last = end < plan->T ? end : plan->T - 1;
    ks_mixed_lane *lane = &mixed->lane[0];
    ks_forward_sinks twin_kept = *kept;
    ks_backward_sinks twin = *to;
    /* After the rows of u. */
    const ks_sink moved = { (char *)(lane->gains + (end - k) * plan->nx), row, k };
    bring_differences(plan, mixed, g, k + 1, last, end, kept, lane->behind);
    twin_kept.kept_mean = (ks_sink){ (char *)lane->kept, 0, 0 };
    twin.smoothed_mean = moved;
    const int64_t taken =
        ks_whitened_kernels_of(plan->kernels)
            ->back(&g->series[0], k, end, w->filtered.sharp, &w->known, &g->state[0], &twin_kept, &twin, w->work, tally);
    settle(plan, mixed, g);
    if (taken < -1 || taken == end) return taken;
    const int64_t bad = put_means(plan, mixed, taken, end, moved, kept, to->smoothed_mean);
    if (bad < taken) return taken;
    ks_mixed_fail(g, 0, bad, tally);
    return -2;
}

void ks_mixed_back(const ks_smooth_plan *plan, ks_mixed *mixed, ks_whitening *w, ks_group *g, int64_t k0, int64_t k1,
                   const ks_forward_sinks *kept, const ks_backward_sinks *to, ks_tally *tally)
{
    int64_t end = k1;
    while (end > k0 && g->alive && !w->left) {
        const int64_t k = end - k0 < mixed->length ? k0 : end - mixed->length;
        const int64_t taken = back_some(plan, mixed, w, g, k, end, kept, to, tally);
        if (taken < -1) g->alive = 0;
        w->left = taken > k;
        end = taken;
    }
    if (g->alive) ks_mixed_smooth(plan, mixed, g, NULL, k0, end, kept, to, tally);
}

void ks_mixed_back_prior(ks_plan_run *run, ks_mixed *mixed, ks_whitening *w, ks_group *g, int64_t b, ks_tally *tally)
{
    const ks_smooth_plan *plan = run->plan;
    const ks_outputs *o = run->outputs;
    ks_mixed_lane *lane = &mixed->lane[0];
    if (!w->left && !lane->series.prior_x1 &&
        ks_makes_any(plan, KS_OUT_LAG_ONE_COV | KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV)) {
        /* The prior is what the filter would have kept of a step -1. The twin's means begin at zero. */
        ks_state prior = { lane->kept, w->prior.cov, KS_FORM_ARRAY, KS_NOT_STEADY };
        plan->kernels->start(&g->series[0], &prior, g->scratch);
        const ks_forward_sinks kept = { .kept_mean = { (char *)w->prior.mean, 0, -1 }, .kept_C = { prior.C, 0, -1 } };
        memcpy(w->prior.mean, lane->series.m0, (size_t)plan->nx * sizeof(double));
        ks_backward_sinks to = { 0 };
        to.smoothed_mean = ks_mean_out_of(run, o->prior_mean, b);
        to.smoothed_cov = ks_sink_of(run, o->prior_cov, b);
        to.smoothed_mean.first = to.smoothed_cov.first = -1;
        to.lag_one_cov = ks_sink_of(run, o->lag_one_cov, b);
        const int64_t taken = back_some(plan, mixed, w, g, -1, 0, &kept, &to, tally);
        if (taken < -1) g->alive = 0;
        if (taken < 0) return;
    }
    ks_mixed_prior(run, mixed, g, 0, b, tally);
}
