/* shared_mixed.c -- series of one model in KS_MIXED. The leader makes covariances and gains in single precision.
 * Members follow with means in double (mean_text.h), or go alone as twins (mixed.h). */
#include "shared_parts.h"

void ks_party_twin(ks_plan_run *run, ks_party *p, int64_t b)
{
    const ks_rows zeros = { (const char *)run->zeros, 0 };
    ks_group *g = &p->group;
    memset(g, 0, sizeof *g);
    g->kernels = run->plan->kernels;
    g->scratch = p->scratch;
    ks_series_of(run, b, &g->series[0]);
    g->state[0].x = p->before.mean;
    ks_mixed_start(run, &p->mixed, g, 1);
    p->lead = g->series[0];
    p->lead.y = zeros;
}

void ks_party_bring(const ks_smooth_plan *plan, ks_party *p, int64_t t0, int64_t t1, int64_t k0,
                    int64_t k1)
{
    const ks_series *twin = &p->group.series[0];
    if (!ks_is_mixed(plan)) return;
    ks_mixed_bring(plan, &p->mixed, &p->group, t0, t1, k0, k1);
    p->lead.F = twin->F;
    p->lead.Q = twin->Q;
    p->lead.H = twin->H;
    p->lead.R = twin->R;
}

size_t ks_party_filter_gain(const ks_smooth_plan *plan)
{
    return (size_t)ks_gain_numbers(plan->nx, plan->ny) * sizeof(float);
}

size_t ks_party_smooth_gain(const ks_smooth_plan *plan)
{
    return (size_t)plan->nx * (size_t)plan->nx * sizeof(float);
}

/** Load a member into the lane of the twin. */
static ks_group *enter(ks_party *p, const ks_member *m)
{
    ks_group *g = &p->group;
    ks_mixed_lane *lane = &p->mixed.lane[0];
    lane->series = m->series;
    lane->x = m->state.x;
    lane->before = m->before;
    g->alive = 1;
    g->state[0].C = m->state.C;
    g->state[0].form = m->state.form;
    g->state[0].steady = m->state.steady;
    return g;
}

int ks_party_filter_alone(const ks_smooth_plan *plan, ks_party *p, ks_member *m, int64_t k0,
                          int64_t k1)
{
    ks_group *g = enter(p, m);
    ks_mixed_filter(plan, &p->mixed, g, NULL, k0, k1, &m->forward, &m->tally);
    m->state.form = g->state[0].form;
    m->state.steady = g->state[0].steady;
    return !g->alive;
}

int ks_party_smooth_alone(const ks_smooth_plan *plan, ks_party *p, ks_member *m, int64_t k0,
                          int64_t k1)
{
    ks_group *g = enter(p, m);
    ks_mixed_smooth(plan, &p->mixed, g, NULL, k0, k1, &m->forward, &m->backward, &m->tally);
    m->state.form = g->state[0].form;
    m->state.steady = g->state[0].steady;
    return !g->alive;
}

/** Return whether a prediction of a follower, whose covariance is the leader's, is sharp; see ks_mixed_filter(). */
static int is_sharp(const ks_smooth_plan *plan, const ks_party *p, const ks_member *m, int64_t k0, int64_t k1)
{
    const int64_t length = ks_look_length(plan);
    const float *first = p->before.cov, *last = p->state.C;
    const double *x = m->state.x;
    const int n = plan->nx;
    int sharp = 0;
    for (int i = 0; i < n && ks_block_starts(length, k0); ++i) m->before[i] = first[i * n + i];
    for (int i = 0; i < n && ks_block_end(length, plan->T, k0) == k1; ++i)
        sharp |= ks_mixed_is_sharp(x[i], (double)m->before[i], (double)last[i * n + i]);
    return sharp;
}

ks_member *ks_party_follow_filter(const ks_smooth_plan *plan, ks_party *p, int64_t k0, int64_t k1,
                                  ks_member *const *members, int count)
{
    const ks_sink gains = { p->filter_gains, (int64_t)ks_party_filter_gain(plan), k0 };
    ks_mean_lane lanes[KS_FOLLOWERS];
    for (int i = 0; i < count; ++i) {
        lanes[i] = ks_mean_lane_of(&members[i]->series, members[i]->state.x, gains);
        lanes[i].to = &members[i]->forward;
        lanes[i].end = k1;
        lanes[i].evidence = members[i]->tally.evidence;
    }
    if (count) p->mixed.means->follow_filter(count, lanes, k0, k1, p->mixed.work);
    for (int i = 0; i < count; ++i) {
        ks_member *m = members[i];
        if (lanes[i].failed >= 0) {
            ks_party_fail(m, lanes[i].failed);
            return m;
        }
        ks_party_put_covs(plan, p->kept.cov, m->forward.filtered_cov, k0, k1);
        m->tally.evidence = lanes[i].evidence;
        m->tally.ordinary += k1 - k0;
        if (ks_party_smooths(plan)) m->followed[p->block] = 1;
        if (m->forward.watched) p->sharp |= is_sharp(plan, p, m, k0, k1);
    }
    return NULL;
}

ks_member *ks_party_follow_smooth(const ks_smooth_plan *plan, ks_party *p, int64_t k0, int64_t k1,
                                  ks_member *const *members, int count)
{
    const ks_sink gains = { p->smooth_gains, (int64_t)ks_party_smooth_gain(plan), k0 };
    ks_mean_lane lanes[KS_FOLLOWERS];
    for (int i = 0; i < count; ++i) {
        lanes[i] = ks_mean_lane_of(&members[i]->series, members[i]->state.x, gains);
        lanes[i].kept = lanes[i].smoothed = members[i]->backward.smoothed_mean;
        lanes[i].end = k0;
    }
    if (count) p->mixed.means->follow_smooth(count, lanes, k0, k1, p->mixed.work);
    for (int i = 0; i < count; ++i) {
        ks_member *m = members[i];
        if (lanes[i].failed >= 0) {
            ks_party_fail(m, lanes[i].failed);
            return m;
        }
        ks_party_put_covs(plan, p->smoothed.cov, m->backward.smoothed_cov, k0, k1);
        /* The last step keeps its filtered estimate. */
        m->tally.ordinary += (k1 == plan->T ? k1 - 1 : k1) - k0;
    }
    return NULL;
}
