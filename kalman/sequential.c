/* sequential.c -- Kalman filter and fixed-interval smoother, one pass each way.
 *
 * Filtered estimates wait for the backward pass in the smoothed outputs themselves. If these are not asked for in full,
 * checkpoints are used: the forward pass keeps one estimate in `segment` steps, and the backward pass filters each
 * segment again before it smooths it.
 *
 * Series run in groups: one by one, or as many at once as a register has lanes (batch.h). Series that have one model
 * compute their covariances together (shared.h). Groups are spread over the workers. */
#include <string.h>
#include "blocks.h"
#include "mixed.h"
#include "shared.h"
#include "smooth_plan.h"
#include "whitened_back.h"

/** What one series of a group needs besides its outputs. */
typedef struct lane_memory {
    ks_estimates state;        /* one */
    unsigned char *form;       /* of the steps of a segment, or of the series */
    ks_estimates kept;         /* of a segment */
    ks_estimates checkpoints;  /* the estimate before each segment */
    unsigned char *checkpoint_form;
    ks_steady *checkpoint_steady;
} lane_memory;

typedef struct worker_memory {
    lane_memory lane[KS_LANES_MOST];
    ks_group group;
    const ks_pack_kernels *packs; /* of the current group; NULL: one by one */
    ks_party party;
    ks_mixed mixed;            /* KS_MIXED only */
    ks_whitening whitening;    /* of a series that runs alone                                       */
    int known;                 /* KS_MIXED: the series is known to have sharp predictions           */
    int left;                  /* the filter has never left the array form: ks_is_rooted() */
    ks_forward_sinks forward[KS_LANES_MOST];
    ks_backward_sinks backward[KS_LANES_MOST];
    ks_tally tally[KS_LANES_MOST];
    ks_tally total;            /* of all series so far */
    int64_t failed;            /* the series that failed, or -1 */
} worker_memory;

typedef struct sequential {
    ks_plan_run *run;
    worker_memory *memory;
    int shared; /* all series have the same model */
} sequential;

static int width_of(const ks_smooth_plan *plan) { return plan->packs ? plan->packs->width : 1; }

/** The packs that a run uses; NULL: series one by one. A single series of a constant model looks up covariance steps
 *  that repeat (memo_text.h), which packs cannot do. It is faster except for models with up to 3 states. */
static const ks_pack_kernels *packs_of(const ks_plan_run *run)
{
    const ks_model *m = run->model;
    const int constant = !m->F.step_stride && !m->Q.step_stride && !m->H.step_stride &&
                         !m->R.step_stride;
    return constant && run->plan->nx > 3 ? NULL : run->plan->packs;
}

static int lanes_of(const ks_pack_kernels *packs) { return packs ? packs->width : 1; }

static int smooths(const ks_smooth_plan *plan)
{
    return plan->options.job == KS_JOB_SMOOTH;
}

/** Whether filtered estimates wait in the outputs. */
static int in_place(const ks_smooth_plan *plan)
{
    return ks_makes_all(plan, KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV);
}

static void carve_lane(ks_carver *carver, const ks_smooth_plan *plan, lane_memory *m)
{
    m->state = ks_carve_estimates(carver, plan, 1);
    if (!smooths(plan)) return;
    const int64_t segments = (plan->T + plan->segment - 1) / plan->segment;
    m->form = ks_carve(carver, (size_t)(in_place(plan) ? plan->T : plan->segment), 1);
    if (in_place(plan)) return;
    m->kept = ks_carve_estimates(carver, plan, plan->segment);
    m->checkpoints = ks_carve_estimates(carver, plan, segments);
    m->checkpoint_form = ks_carve(carver, (size_t)segments, 1);
    m->checkpoint_steady = ks_carve(carver, (size_t)segments, sizeof(ks_steady));
}

static void carve_worker(ks_carver *carver, const ks_smooth_plan *plan, worker_memory *m)
{
    memset(m, 0, sizeof *m);
    m->group.kernels = plan->kernels;
    m->group.scratch = ks_carve(carver, 1, plan->kernels->scratch_bytes(plan->nx, plan->ny));
    if (plan->packs)
        m->group.pack = ks_carve(carver, 1, plan->packs->scratch_bytes(plan->nx, plan->ny));
    for (int l = 0; l < width_of(plan); ++l) carve_lane(carver, plan, &m->lane[l]);
    const int64_t segments = (plan->T + plan->segment - 1) / plan->segment;
    if (smooths(plan))
        ks_whitening_carve(carver, plan, ks_is_mixed(plan) && !in_place(plan) ? segments : 0, &m->whitening);
    if (ks_is_mixed(plan)) ks_mixed_carve(carver, plan, width_of(plan), 0, &m->mixed);
    if (ks_shared_planned(plan)) ks_party_carve(carver, plan, m->group.scratch, &m->party);
}

size_t ks_sequential_workspace(const ks_smooth_plan *plan)
{
    ks_carver carver = ks_carver_at(NULL);
    worker_memory m;
    (void)ks_carve(&carver, (size_t)plan->workers, sizeof(worker_memory));
    for (int w = 0; w < plan->workers; ++w) carve_worker(&carver, plan, &m);
    return ks_carved_bytes(&carver);
}

int ks_filter_blocks(ks_plan_run *run, const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                     const ks_forward_sinks *to, void *scratch, ks_tally *tally)
{
    for (int64_t k = k0; k < k1; k += KS_BLOCK) {
        const int64_t end = k1 - k < KS_BLOCK ? k1 : k + KS_BLOCK;
        if (run->plan->kernels->filter(s, k, end, state, to, scratch, tally)) return -1;
        if (ks_run_progress(run, end - k)) return -1;
    }
    return 0;
}

int ks_smooth_blocks(ks_plan_run *run, const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                     const ks_forward_sinks *kept, const ks_backward_sinks *to, void *scratch,
                     ks_tally *tally)
{
    for (int64_t end = k1; end > k0; end -= KS_BLOCK) {
        const int64_t k = end - k0 < KS_BLOCK ? k0 : end - KS_BLOCK;
        if (run->plan->kernels->smooth(s, k, end, state, kept, to, scratch, tally)) return -1;
        if (ks_run_progress(run, end - k)) return -1;
    }
    return 0;
}

/** Filter steps k0 .. k1 - 1 of a series by itself. Where others share its model the ranges are the blocks in which it
 *  could follow one of them: where a range ends decides which steps are filtered again, if digits have been lost
 *  (filter_anew_text.h), and bits must not depend on whether it follows. */
static int filter_alone(ks_plan_run *run, worker_memory *m, int64_t k0, int64_t k1, const ks_forward_sinks *to,
                        ks_tally *tally)
{
    const ks_smooth_plan *plan = run->plan;
    ks_group *g = &m->group;
    const int64_t length = ks_shared_planned(plan) ? ks_block_length(plan) : 0;
    for (int64_t k = k0, end = k1; k < k1; k = end) {
        if (length) end = ks_block_end(length, plan->T, k);
        if (end > k1) end = k1;
        if (ks_filter_blocks(run, &g->series[0], k, end, &g->state[0], to, g->scratch, tally)) return -1;
    }
    return 0;
}

/** Filter steps k0 .. k1 - 1 of a group, as long as one of its series is alive. */
static void filter_group(ks_plan_run *run, worker_memory *m, int64_t k0, int64_t k1,
                         const ks_forward_sinks *to, ks_tally *tally)
{
    const ks_pack_kernels *packs = m->packs;
    ks_group *g = &m->group;
    const int mixed = ks_is_mixed(run->plan);
    if (!packs && !mixed && g->alive) {
        if (filter_alone(run, m, k0, k1, to, tally)) g->alive = 0;
        return;
    }
    for (int64_t k = k0; k < k1 && g->alive; k += KS_BLOCK) {
        const int64_t end = k1 - k < KS_BLOCK ? k1 : k + KS_BLOCK;
        if (mixed) ks_mixed_filter(run->plan, &m->mixed, g, packs, k, end, to, tally);
        if (m->known) ks_mixed_whiten(run->plan, &m->mixed, &m->whitening, g, k, end, to, tally);
        if (!mixed) packs->filter(g, k, end, to, tally);
        if (g->alive && ks_run_progress(run, g->alive * (end - k))) g->alive = 0;
    }
}

static void smooth_group(ks_plan_run *run, worker_memory *m, int64_t k0, int64_t k1,
                         const ks_forward_sinks *kept, const ks_backward_sinks *to,
                         ks_tally *tally)
{
    const ks_pack_kernels *packs = m->packs;
    ks_group *g = &m->group;
    const int mixed = ks_is_mixed(run->plan);
    if (!packs && !mixed) {
        if (g->alive && tally->sharp < 0 &&
            ks_smooth_blocks(run, &g->series[0], k0, k1, &g->state[0], kept, to, g->scratch, tally)) {
            if (tally->sharp < 0) g->alive = 0;
            m->left = 0; /* results have overwritten rows */
        }
        return;
    }
    for (int64_t end = k1; end > k0 && g->alive; end -= KS_BLOCK) {
        const int64_t k = end - k0 < KS_BLOCK ? k0 : end - KS_BLOCK;
        if (m->known) ks_mixed_back(run->plan, &m->mixed, &m->whitening, g, k, end, kept, to, tally);
        else if (mixed) ks_mixed_smooth(run->plan, &m->mixed, g, packs, k, end, kept, to, tally);
        else packs->smooth(g, k, end, kept, to, tally);
        if (g->alive && ks_run_progress(run, g->alive * (end - k))) g->alive = 0;
    }
}

/** Whether the group does not go back as a group. A series that runs alone does not if its way back is whitened; other
 *  groups do not if a series has a sharp prediction. */
static int goes_apart(const ks_plan_run *run, const worker_memory *m)
{
    int sharp = 0;
    if (!m->packs && !ks_is_mixed(run->plan)) return ks_goes_whitened(run->plan->nx, &m->tally[0]);
    for (int l = 0; l < lanes_of(m->packs); ++l) sharp |= m->tally[l].sharp >= 0;
    return sharp && !m->known;
}

/** Whether the group must run again in parts, by run_apart(). */
static int is_again(const ks_plan_run *run, const worker_memory *m)
{
    return (m->packs || ks_is_mixed(run->plan)) && goes_apart(run, m);
}

static void smooth_in_place(ks_plan_run *run, worker_memory *m)
{
    for (int l = 0; l < m->group.alive; ++l) {
        m->forward[l].kept_mean = m->backward[l].smoothed_mean;
        m->forward[l].kept_C = m->backward[l].smoothed_cov;
        m->forward[l].form = m->lane[l].form;
        m->forward[l].sparse = !m->packs && !ks_is_mixed(run->plan);
    }
    filter_group(run, m, 0, run->plan->T, m->forward, m->tally);
    m->left = ks_is_rooted(&m->tally[0]);
    if (!goes_apart(run, m)) smooth_group(run, m, 0, run->plan->T, m->forward, m->backward, m->tally);
}

static void keep_checkpoint(const ks_smooth_plan *plan, const lane_memory *m, int64_t segment,
                            ks_state *state, int restore)
{
    const size_t n = (size_t)plan->nx, bytes = plan->kernels->number_bytes;
    const size_t mean_bytes = n * plan->mean_bytes;
    char *mean = (char *)m->checkpoints.mean + (size_t)segment * mean_bytes;
    char *cov = (char *)m->checkpoints.cov + (size_t)segment * n * n * bytes;
    if (restore) {
        memcpy(m->state.mean, mean, mean_bytes);
        memcpy(state->C, cov, n * n * bytes);
        state->form = (ks_form)m->checkpoint_form[segment];
        state->steady = m->checkpoint_steady[segment];
    } else {
        memcpy(mean, m->state.mean, mean_bytes);
        memcpy(cov, state->C, n * n * bytes);
        m->checkpoint_form[segment] = (unsigned char)state->form;
        m->checkpoint_steady[segment] = state->steady;
    }
}

static void keep_checkpoints(const ks_smooth_plan *plan, worker_memory *m, int64_t segment,
                             int restore)
{
    for (int l = 0; l < m->group.alive; ++l)
        keep_checkpoint(plan, &m->lane[l], segment, &m->group.state[l], restore);
    if (!m->known) return;
    ks_whitening *w = &m->whitening;
    if (restore) ks_copy_estimate(plan, w->state, 0, w->checkpoints, segment);
    else ks_copy_estimate(plan, w->checkpoints, segment, w->state, 0);
}

static void smooth_by_checkpoints(ks_plan_run *run, worker_memory *m)
{
    const ks_smooth_plan *plan = run->plan;
    ks_group *g = &m->group;
    const int64_t T = plan->T, L = plan->segment, segments = (T + L - 1) / L;
    for (int64_t i = 0; i < segments; ++i) {
        const int64_t end = (i + 1) * L < T ? (i + 1) * L : T;
        keep_checkpoints(plan, m, i, 0);
        filter_group(run, m, i * L, end, m->forward, m->tally);
    }
    m->left = ks_is_rooted(&m->tally[0]);
    if (goes_apart(run, m)) return;
    /* The smoothed state is carried in the slot of a checkpoint that is no longer needed. A segment's own checkpoint is
     * read before the smoothed state of the segment behind it is restored. */
    for (int64_t i = segments - 1; i >= 0; --i) {
        const int64_t end = (i + 1) * L < T ? (i + 1) * L : T;
        ks_tally again[KS_LANES_MOST];
        ks_forward_sinks kept[KS_LANES_MOST] = { 0 };
        for (int l = 0; l < g->alive; ++l) {
            again[l] = ks_tally_start();
            kept[l].kept_mean = ks_mean_sink(plan, m->lane[l].kept, i * L);
            kept[l].kept_C = ks_cov_sink(plan, m->lane[l].kept, i * L);
            kept[l].form = m->lane[l].form;
            kept[l].form_first = i * L;
            kept[l].watched = !m->known;
            kept[l].exact = m->forward[l].exact;
        }
        if (i + 1 < segments) keep_checkpoints(plan, m, i + 1, 0);
        keep_checkpoints(plan, m, i, 1);
        filter_group(run, m, i * L, end, kept, again);
        if (i + 1 < segments) keep_checkpoints(plan, m, i + 1, 1);
        smooth_group(run, m, i * L, end, kept, m->backward, m->tally);
    }
}

void ks_smooth_start(ks_plan_run *run, int64_t b, const ks_series *s, ks_state *state, void *scratch,
                     ks_tally *tally)
{
    const ks_smooth_plan *plan = run->plan;
    const ks_sink lag_one = ks_sink_of(run, run->outputs->lag_one_cov, b);
    if (!s->prior_x1 &&
        ks_makes_any(plan, KS_OUT_LAG_ONE_COV | KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV))
        plan->kernels->smooth_prior(s, state, lag_one,
                                    ks_sink_of(run, run->outputs->prior_mean, b),
                                    ks_sink_of(run, run->outputs->prior_cov, b), scratch, tally);
    else if (lag_one.base)
        memset(lag_one.base, 0,
               (size_t)plan->nx * (size_t)plan->nx * plan->kernels->number_bytes);
}

/** Add the counts of `from` to those of `to`. */
static void add_counts(ks_tally *to, const ks_tally *from)
{
    to->ordinary += from->ordinary;
    to->array += from->array;
    to->missing += from->missing;
}

/** Fill the lanes of a group with series b[0] .. b[count - 1]. Further lanes repeat the last series. */
static void start_group(ks_plan_run *run, worker_memory *m, const int64_t *b, int count)
{
    ks_group *g = &m->group;
    g->alive = count;
    for (int l = 0; l < lanes_of(m->packs); ++l) {
        const int64_t at = b[l < count ? l : count - 1];
        ks_series_of(run, at, &g->series[l]);
        g->state[l].x = m->lane[l].state.mean;
        g->state[l].C = m->lane[l].state.cov;
        g->state[l].form = KS_FORM_ORDINARY;
        m->forward[l] = ks_forward_sinks_of(run, at);
        m->forward[l].watched = smooths(run->plan) && !m->known;
        m->forward[l].exact = !m->packs && ks_goes_exact(run->plan);
        m->backward[l] = ks_backward_sinks_of(run, at);
        m->tally[l] = ks_tally_start();
    }
    if (ks_is_mixed(run->plan)) ks_mixed_start(run, &m->mixed, g, lanes_of(m->packs));
    for (int l = 0; l < count; ++l)
        run->plan->kernels->start(&g->series[l], &g->state[l], g->scratch);
    if (!m->known) return;
    ks_state again = { m->whitening.state.mean, m->whitening.state.cov, KS_FORM_ARRAY, KS_NOT_STEADY };
    run->plan->kernels->start(&g->series[0], &again, g->scratch);
    ks_whitening_start(run->plan, &m->whitening);
    m->whitening.filtered = ks_tally_start();
}

/** Note that series b has failed or, if the run is canceled, any. The lowest failed series is reported. */
static void fail(worker_memory *m, int64_t b, const ks_tally *worst)
{
    if (m->failed >= 0 && m->failed < b) return;
    m->failed = b;
    m->total.bad_step = worst->bad_step;
    m->total.bad_row = worst->bad_row;
    m->total.bad_array = worst->bad_array;
    m->total.fault = worst->fault;
}

/** The way back of series b, alone, in whitened coordinates. */
static void whiten(ks_plan_run *run, worker_memory *m, int64_t b)
{
    const ks_smooth_plan *plan = run->plan;
    ks_group *g = &m->group;
    const ks_segments segments = { plan->T, in_place(plan) ? plan->T : plan->segment, m->lane[0].kept,
                                   m->lane[0].checkpoints, m->lane[0].form, m->left ? &m->tally[0] : NULL };
    if (ks_whitening_run(run, &m->whitening, b, &g->series[0], &segments, NULL, &m->backward[0], g->scratch,
                         &m->tally[0]))
        g->alive = 0;
}

/** Run series b[0] .. b[count - 1], ascending, in m->packs, or one of them alone. Returns a negative number if one has
 *  failed or the run is canceled, 1 if the group must be split by run_apart(). */
static int run_group(ks_plan_run *run, worker_memory *m, const int64_t *b, int count)
{
    const ks_smooth_plan *plan = run->plan;
    start_group(run, m, b, count);
    if (!smooths(plan))
        filter_group(run, m, 0, plan->T, m->forward, m->tally);
    else if (in_place(plan))
        smooth_in_place(run, m);
    else
        smooth_by_checkpoints(run, m);
    if (smooths(plan) && is_again(run, m)) return 1;
    const int whitened = smooths(plan) && m->group.alive && goes_apart(run, m);
    if (whitened) whiten(run, m, b[0]);
    for (int l = 0; l < m->group.alive; ++l) {
        if (smooths(plan) && m->known)
            ks_mixed_back_prior(run, &m->mixed, &m->whitening, &m->group, b[l], &m->tally[l]);
        else if (smooths(plan) && ks_is_mixed(plan))
            ks_mixed_prior(run, &m->mixed, &m->group, l, b[l], &m->tally[l]);
        else if (smooths(plan) && !whitened)
            ks_smooth_start(run, b[l], &m->group.series[l], &m->group.state[l], m->group.scratch,
                            &m->tally[l]);
        ks_write_loglik(run, b[l], ks_evidence_loglik(&m->tally[l].evidence));
    }
    for (int l = 0; l < count; ++l) add_counts(&m->total, &m->tally[l]);
    if (m->group.alive == count) return 0;
    fail(m, b[m->group.alive], &m->tally[m->group.alive]);
    return -1;
}

/** Run a group again in which some series, by m->tally, have sharp predictions. These run one by one, the others in
 *  packs, so that the results of a series do not depend on its neighbours. */
static int run_apart(ks_plan_run *run, worker_memory *m, const int64_t *b, int count)
{
    const ks_pack_kernels *packs = m->packs;
    int64_t sharp[KS_LANES_MOST], rest[KS_LANES_MOST];
    int n = 0, others = 0, rc = 0;
    for (int l = 0; l < count; ++l)
        if (m->tally[l].sharp >= 0) sharp[n++] = b[l];
        else rest[others++] = b[l];
    if (others) rc = run_group(run, m, rest, others);
    if (rc > 0) rc = run_apart(run, m, rest, others);
    m->packs = NULL;
    m->known = ks_is_mixed(run->plan);
    for (int i = 0; i < n; ++i)
        if (run_group(run, m, sharp + i, 1)) rc = -1;
    m->known = 0;
    m->packs = packs;
    return rc;
}

/** Run any number of series, group by group. */
static int run_groups(ks_plan_run *run, worker_memory *m, const ks_pack_kernels *packs, const int64_t *b,
                      int count)
{
    m->packs = packs;
    for (int i = 0; i < count; i += lanes_of(packs)) {
        const int some = count - i < lanes_of(packs) ? count - i : lanes_of(packs);
        int rc = run_group(run, m, b + i, some);
        if (rc > 0) rc = run_apart(run, m, b + i, some);
        if (rc < 0) return -1;
    }
    return 0;
}

/** Run series of one model, at most KS_PARTY: together, except those with so many gaps that they would seldom share. */
static int run_shared(ks_plan_run *run, worker_memory *m, const int64_t *b, int count)
{
    const ks_pack_kernels *packs = run->plan->packs;
    int64_t whole[KS_PARTY], gaps[KS_PARTY];
    int n = 0, g = 0, failed;
    for (int i = 0; i < count; ++i)
        if (ks_shared_gaps(run, b[i])) gaps[g++] = b[i];
        else whole[n++] = b[i];
    failed = run_groups(run, m, packs, gaps, g);
    if (!ks_shared_planned(run->plan) || n < 3) return run_groups(run, m, NULL, whole, n) || failed;
    const int alive = ks_party_run(run, &m->party, whole, n);
    if (m->party.sharp) return run_groups(run, m, NULL, whole, n) || failed;
    for (int i = 0; i < n; ++i) add_counts(&m->total, &m->party.member[i].tally);
    if (alive < n) fail(m, whole[alive], &m->party.member[alive].tally);
    return alive < n || failed;
}

static void run_range(void *arg, int64_t begin, int64_t end, int worker)
{
    sequential *all = arg;
    worker_memory *m = &all->memory[worker];
    const int64_t B = all->run->plan->B;
    const ks_pack_kernels *packs = packs_of(all->run);
    const int64_t width = all->shared ? 1 : lanes_of(packs), most = all->shared ? KS_PARTY : width;
    int64_t list[KS_PARTY];
    for (int64_t b = begin * width; b < end * width && b < B; b += most) {
        int count = 0;
        while (count < most && b + count < end * width && b + count < B) {
            list[count] = b + count;
            ++count;
        }
        if (all->shared ? run_shared(all->run, m, list, count)
                        : run_groups(all->run, m, packs, list, count))
            return;
    }
}

int64_t ks_sequential_groups(const ks_smooth_plan *plan)
{
    return (plan->B + width_of(plan) - 1) / width_of(plan);
}

void ks_sequential_run(ks_plan_run *run, void *work)
{
    const ks_smooth_plan *plan = run->plan;
    ks_carver carver = ks_carver_at(work);
    sequential all = { run, NULL, ks_shared_model(run) };
    all.memory = ks_carve(&carver, (size_t)plan->workers, sizeof(worker_memory));
    for (int w = 0; w < plan->workers; ++w) {
        carve_worker(&carver, plan, &all.memory[w]);
        all.memory[w].total = ks_tally_start();
        all.memory[w].failed = -1;
    }
    run->total = (plan->T * plan->B * (smooths(plan) ? 2 : 1)) / plan->workers;
    run->info->threads = plan->workers;
    const int64_t width = all.shared ? 1 : lanes_of(packs_of(run));
    ks_parallel_for(plan->context, plan->workers, (plan->B + width - 1) / width, run_range, &all);
    for (int w = 0; w < plan->workers; ++w)
        ks_run_add(run, all.memory[w].failed, &all.memory[w].total);
    ks_carve_end(&carver);
}
