/* meet_back.c -- steps back of the RTS smoother as far as they go, then meetings. */
#include "meet_back.h"

#include <string.h>

void ks_meeting_carve(ks_carver *carver, const ks_smooth_plan *plan, ks_meeting *m)
{
    const size_t n = (size_t)plan->nx, bytes = plan->kernels->number_bytes;
    m->information.J = ks_carve(carver, n * n, bytes);
    m->information.eta = ks_carve(carver, n, bytes);
    m->information.form = KS_FORM_ARRAY;
    m->prior = ks_carve_estimates(carver, plan, 1);
    m->work = ks_carve(carver, 1, ks_two_ended_kernels_of(plan->kernels)->meet_bytes(plan->nx, plan->ny));
}

void ks_meeting_start(const ks_run *run, ks_meeting *m, int64_t sharp)
{
    const size_t n = (size_t)run->plan->nx, bytes = run->plan->kernels->number_bytes;
    memset(m->information.J, 0, n * n * bytes);
    memset(m->information.eta, 0, n * bytes);
    m->sharp = sharp;
    m->at = run->plan->T - 1;
    m->given_up = 0;
}

/** The information on step k. */
static int inform(ks_run *run, ks_meeting *m, const ks_series *s, int64_t k)
{
    const ks_two_ended_kernels *ends = ks_two_ended_kernels_of(run->plan->kernels);
    while (m->at > k && !m->given_up) {
        const int64_t to = m->at - k < KS_BLOCK ? k : m->at - KS_BLOCK;
        ks_tally unused = ks_tally_start();
        if (ends->inform_back(s, to + 1, m->at + 1, &m->information, m->work, &unused)) m->given_up = 1;
        m->at = to;
        if (ks_run_progress(run, 0)) return -1;
    }
    return 0;
}

/** Steps of the RTS smoother as far as they go; *k1 is where they have come to. */
static int step_back(ks_run *run, ks_meeting *m, const ks_series *s, int64_t k0, int64_t *k1, ks_state *state,
                     const ks_forward_sinks *kept, const ks_backward_sinks *to, void *scratch, ks_tally *tally)
{
    if (*k1 <= k0) return 0;
    const int64_t known = tally->sharp;
    tally->sharp = -1;
    const int failed = ks_smooth_blocks(run, s, k0, *k1, state, kept, to, scratch, tally);
    *k1 = k0;
    if (failed && tally->sharp >= 0) {
        m->sharp = *k1 = tally->sharp;
        return 0;
    }
    tally->sharp = known;
    return failed;
}

int ks_meeting_smooth(ks_run *run, ks_meeting *m, const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                      const ks_forward_sinks *kept, const ks_backward_sinks *to, void *scratch,
                      ks_tally *tally)
{
    const ks_two_ended_kernels *ends = ks_two_ended_kernels_of(run->plan->kernels);
    ks_forward_sinks rest = *kept;
    rest.watched = 0;
    int64_t k = k1;
    if (!m->given_up &&
        step_back(run, m, s, m->sharp > k0 ? m->sharp : k0, &k, state, kept, to, scratch, tally))
        return -1;
    if (k > k0 && inform(run, m, s, k)) return -1;
    while (k > k0 && !m->given_up) {
        const int64_t end = k - k0 < KS_BLOCK ? k0 : k - KS_BLOCK;
        const int64_t taken = ends->meet_back(s, end, k, &m->information, &rest, state, to, m->work, tally);
        if (taken < 0) return -1;
        m->given_up = taken > end;
        if (ks_run_progress(run, k - taken)) return -1;
        m->at = k = taken;
    }
    return k > k0 ? ks_smooth_blocks(run, s, k0, k, state, &rest, to, scratch, tally) : 0;
}

void ks_meeting_prior(ks_run *run, ks_meeting *m, int64_t b, const ks_series *s, ks_state *state, void *scratch,
                      ks_tally *tally)
{
    const ks_smooth_plan *plan = run->plan;
    const ks_outputs *o = run->outputs;
    const int wanted = ks_makes_any(plan, KS_OUT_LAG_ONE_COV | KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV);
    if (m->sharp >= 0 && !m->given_up && !s->prior_x1 && wanted && !inform(run, m, s, 0) && !m->given_up) {
        /* The prior is what the filter would have kept of a step -1. */
        ks_state prior = { m->prior.mean, m->prior.cov, KS_FORM_ORDINARY };
        plan->kernels->start(s, &prior, scratch);
        unsigned char form = (unsigned char)prior.form;
        ks_forward_sinks kept = { 0 };
        kept.kept_mean = (ks_sink){ prior.x, 0, -1 };
        kept.kept_C = (ks_sink){ prior.C, 0, -1 };
        kept.form = &form;
        kept.form_first = -1;
        ks_backward_sinks to = { 0 };
        to.smoothed_mean = ks_sink_of(run, o->prior_mean, b);
        to.smoothed_cov = ks_sink_of(run, o->prior_cov, b);
        to.smoothed_mean.first = to.smoothed_cov.first = -1;
        to.lag_one_cov = ks_sink_of(run, o->lag_one_cov, b);
        if (ks_two_ended_kernels_of(plan->kernels)
                ->meet_back(s, -1, 0, &m->information, &kept, state, &to, m->work, tally) == -1)
            return;
    }
    ks_smooth_start(run, b, s, state, scratch, tally);
}
