/* shared.c -- series of one model. A leader makes the covariances. Series that observe all entries follow it and
 * compute their means only.
 *
 * Time is cut into blocks. A series follows through a block if its covariance before the block equals the leader's to
 * the bit and no entry of the block is missing. Otherwise it takes the block alone. It may join the leader again after
 * the block, when the recursion has forgotten the gap. On the way back it follows where it followed on the way there,
 * if its smoothed covariance is the leader's.
 *
 * The results of a series depend on the model and its own data only. Followers use the same operations as series alone
 * (tiled_follow_text.h), so the bits are the same in both ways. */
#include "shared_parts.h"

/** Return whether the kernels of the plan's size support followers. */
static int leads(const ks_smooth_plan *plan)
{
    return ks_tiled_takes(ks_tiled_kernels_of(plan->kernels), plan->nx, plan->ny);
}

int ks_shared_model(const ks_plan_run *run)
{
    const ks_model *m = run->model;
    return run->plan->B > 1 && leads(run->plan) && !m->F.series_stride &&
           !m->Q.series_stride && !m->u.series_stride && !m->H.series_stride &&
           !m->R.series_stride && !m->P0.series_stride;
}

int ks_shared_planned(const ks_smooth_plan *plan)
{
    const unsigned made = plan->options.job == KS_JOB_SMOOTH
                              ? KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV
                              : KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV;
    /* Filtered estimates wait in the smoothed outputs, so these must exist. */
    return plan->B > 2 && leads(plan) &&
           !(plan->options.outputs & ~(made | KS_OUT_LOGLIK)) &&
           (plan->options.job == KS_JOB_FILTER || ks_makes_all(plan, made));
}

/** Return the kernels that read y. */
static const ks_tiled_kernels *data_kernels(const ks_smooth_plan *plan)
{
    return ks_tiled_kernels_of(ks_is_mixed(plan) ? plan->aggregates : plan->kernels);
}

/** Return the bytes of a row of gains of the filter, and of the smoother. */
static size_t filter_gain_bytes(const ks_smooth_plan *plan)
{
    return ks_is_mixed(plan)
               ? ks_party_filter_gain(plan)
               : ks_tiled_kernels_of(plan->kernels)->filter_gain_bytes(plan->nx, plan->ny);
}

static size_t smooth_gain_bytes(const ks_smooth_plan *plan)
{
    return ks_is_mixed(plan) ? ks_party_smooth_gain(plan)
                             : ks_tiled_kernels_of(plan->kernels)->smooth_gain_bytes(plan->nx);
}

static int64_t block_count(int64_t length, int64_t T)
{
    int64_t i = 1;
    while (i <= KS_SHORT_BLOCKS && ks_block_start(length, T, i) < T) ++i;
    return T <= KS_LEAD_IN ? i : KS_SHORT_BLOCKS + (T - KS_LEAD_IN + length - 1) / length;
}

int ks_shared_gaps(const ks_plan_run *run, int64_t b)
{
    const ks_smooth_plan *plan = run->plan;
    const ks_tiled_kernels *tiled = data_kernels(plan);
    const int64_t length = ks_block_length(plan);
    int64_t blocks = 0, whole = 0, end = KS_LEAD_IN; /* the short ones count as one */
    ks_series s;
    ks_series_of(run, b, &s);
    for (int64_t k = 0; k < plan->T; k = end, end += length, ++blocks)
        whole += tiled->follow->complete(&s, k, end < plan->T ? end : plan->T);
    return 2 * whole < blocks;
}

void ks_party_carve(ks_carver *carver, const ks_smooth_plan *plan, void *scratch, ks_party *p)
{
    const int64_t share = (plan->B + plan->workers - 1) / plan->workers;
    memset(p, 0, sizeof *p);
    p->tiled = ks_tiled_kernels_of(plan->kernels);
    p->data = data_kernels(plan);
    p->scratch = scratch;
    p->most = share < KS_PARTY ? (int)share : KS_PARTY;
    p->length = ks_block_length(plan);
    p->blocks = block_count(p->length, plan->T);
    const size_t length = (size_t)p->length, blocks = (size_t)p->blocks, T = (size_t)plan->T;
    const ks_estimates lead = ks_carve_estimates(carver, plan, 1);
    p->state.x = lead.mean;
    p->state.C = lead.cov;
    p->before = ks_carve_estimates(carver, plan, 1);
    p->kept = ks_carve_estimates(carver, plan, p->length);
    p->filter_gains = ks_carve(carver, length, filter_gain_bytes(plan));
    if (ks_is_mixed(plan)) ks_mixed_carve(carver, plan, 1, p->length, &p->mixed);
    p->means = ks_carve(carver, KS_FOLLOWERS, ks_party_mean_bytes(plan));
    if (ks_party_smooths(plan)) {
        p->smoothed = ks_carve_estimates(carver, plan, p->length);
        p->smooth_gains = ks_carve(carver, length, smooth_gain_bytes(plan));
        p->form = ks_carve(carver, length, 1);
        p->checkpoints.cov = ks_carve(carver, blocks, ks_party_cov_bytes(plan));
        p->checkpoint_form = ks_carve(carver, blocks, 1);
        p->checkpoint_steady = ks_carve(carver, blocks, sizeof *p->checkpoint_steady);
    }
    ks_member *member = ks_carve(carver, (size_t)p->most, sizeof *member);
    p->member = member;
    for (int i = 0; i < p->most; ++i) {
        const ks_estimates state = ks_carve_estimates(carver, plan, 1);
        float *before = ks_is_mixed(plan) ? ks_carve(carver, (size_t)plan->nx, sizeof(float)) : NULL;
        unsigned char *form = ks_party_smooths(plan) ? ks_carve(carver, T, 1) : NULL;
        unsigned char *followed = ks_party_smooths(plan) ? ks_carve(carver, blocks, 1) : NULL;
        if (!member) continue;
        memset(&member[i], 0, sizeof member[i]);
        member[i].state.x = state.mean;
        member[i].state.C = state.cov;
        member[i].before = before;
        member[i].form = form;
        member[i].followed = followed;
    }
}

static void start_member(ks_plan_run *run, const ks_party *p, int64_t b, ks_member *m)
{
    m->b = b;
    ks_series_of(run, b, &m->series);
    m->forward = ks_forward_sinks_of(run, b);
    m->backward = ks_backward_sinks_of(run, b);
    m->forward.exact = ks_goes_exact(run->plan);
    m->tally = ks_tally_start();
    m->together = 0;
    if (ks_party_smooths(run->plan)) {
        m->forward.watched = 1;
        m->forward.kept_mean = m->backward.smoothed_mean;
        m->forward.kept_C = m->backward.smoothed_cov;
        m->forward.form = m->form;
    }
    if (ks_is_mixed(run->plan)) { /* like the leader, whose prior covariance is the same */
        memcpy(m->state.x, m->series.m0, ks_party_mean_bytes(run->plan));
        memcpy(m->state.C, p->state.C, ks_party_cov_bytes(run->plan));
        m->state.form = p->state.form;
        return;
    }
    run->plan->kernels->start(&m->series, &m->state, p->scratch);
}

static void start_leader(ks_plan_run *run, ks_party *p, int64_t b)
{
    const ks_rows zeros = { (const char *)run->zeros, 0 };
    if (ks_is_mixed(run->plan)) {
        ks_party_twin(run, p, b);
    } else {
        ks_series_of(run, b, &p->lead);
        p->lead.u = p->lead.d = p->lead.y = zeros;
        p->lead.m0 = run->zeros;
    }
    p->leads = 1;
    run->plan->kernels->start(&p->lead, &p->state, p->scratch);
}

/** Give a member that takes a block alone a covariance of its own. */
static void part(const ks_smooth_plan *plan, const ks_party *p, ks_member *m)
{
    if (!m->together) return;
    memcpy(m->state.C, p->before.cov, ks_party_cov_bytes(plan));
    m->state.form = p->before_form;
    m->state.steady = p->before_steady;
}

/** Set whether the member's covariance equals the leader's after a block. The bits may be equal while one is held and
 *  the other may still change; then they are not together. */
static void meet(const ks_smooth_plan *plan, const ks_party *p, ks_member *m)
{
    m->together = p->leads && m->state.form == KS_FORM_ORDINARY &&
                  p->state.form == KS_FORM_ORDINARY &&
                  (m->state.steady.stage == KS_STEADY_HELD) == (p->state.steady.stage == KS_STEADY_HELD) &&
                  memcmp(m->state.C, p->state.C, ks_party_cov_bytes(plan)) == 0;
}

static void remember_leader(const ks_smooth_plan *plan, ks_party *p)
{
    memcpy(p->before.cov, p->state.C, ks_party_cov_bytes(plan));
    p->before_form = p->state.form;
    p->before_steady = p->state.steady;
}

/** Return whether the leader's covariance before step k has lost its digits (ks_digits). A filter of no steps reports
 *  that. */
static int has_lost(const ks_smooth_plan *plan, ks_party *p, int64_t k, const ks_forward_sinks *to, ks_tally *tally)
{
    if (tally->digits.lost >= 0) return 1;
    (void)plan->kernels->filter(&p->lead, k, k, &p->state, to, p->scratch, tally);
    return tally->digits.lost >= 0;
}

/** Take steps k0 .. k1 - 1 of the leader's filter. Return whether all are in the ordinary form and have their
 *  digits. */
static int lead_filter(const ks_smooth_plan *plan, ks_party *p, int64_t k0, int64_t k1)
{
    const ks_sink gains = { p->filter_gains, (int64_t)filter_gain_bytes(plan), k0 };
    ks_forward_sinks to = { 0 };
    ks_tally tally = ks_tally_start();
    if (!p->leads) return 0;
    ks_party_bring(plan, p, k0, k1, k0, k1);
    to.watched = ks_party_smooths(plan);
    to.exact = ks_goes_exact(plan);
    if (ks_is_mixed(plan)) to.gain = gains;
    if (!ks_party_smooths(plan)) to.filtered_cov = ks_cov_sink(plan, p->kept, k0);
    int64_t k = k0;
    if (p->state.form == KS_FORM_ORDINARY && k0 > 0)
        k = p->tiled->lead_filter(&p->lead, k0, k1, &p->state, &to, to.gain.base ? NULL : &gains,
                                  p->scratch, &tally);
    if (k >= 0 && has_lost(plan, p, k, &to, &tally)) {
        tally = ks_tally_start();
        memcpy(p->state.C, p->before.cov, ks_party_cov_bytes(plan));
        p->state.steady = p->before_steady;
        k = k0;
    }
    if (k != k1 &&
        (k < 0 || plan->kernels->filter(&p->lead, k, k1, &p->state, &to, p->scratch, &tally)))
        p->leads = 0;
    p->sharp |= tally.sharp >= 0;
    return k == k1;
}

static int filter_alone(const ks_smooth_plan *plan, ks_party *p, ks_member *m, int64_t k0, int64_t k1)
{
    part(plan, p, m);
    const int failed = ks_is_mixed(plan)
                           ? ks_party_filter_alone(plan, p, m, k0, k1)
                           : plan->kernels->filter(&m->series, k0, k1, &m->state, &m->forward,
                                                   p->scratch, &m->tally);
    p->sharp |= m->tally.sharp >= 0;
    meet(plan, p, m);
    return failed;
}

/** Take filter steps of members that follow. Return the first that fails, or NULL. */
static ks_member *follow_filter(const ks_smooth_plan *plan, ks_party *p, int64_t k0, int64_t k1,
                                ks_member *const *members, int count)
{
    const ks_sink gains = { p->filter_gains, (int64_t)filter_gain_bytes(plan), k0 };
    const size_t bytes = ks_party_mean_bytes(plan);
    ks_follower f[KS_FOLLOWERS];
    for (int i = 0; i < count; ++i) {
        ks_member *m = members[i];
        memcpy((char *)p->means + (size_t)i * bytes, m->state.x, bytes);
        f[i].series = &m->series;
        f[i].x = m->state.x;
        f[i].mean = ks_party_smooths(plan) ? m->forward.kept_mean : m->forward.filtered_mean;
        f[i].cov = m->forward.filtered_cov; /* a smoother takes the leader's covariances on the way back */
        f[i].evidence = m->tally.evidence;
        f[i].watched = m->forward.watched;
    }
    const ks_sink covs = ks_cov_sink(plan, p->kept, k0);
    if (count) p->tiled->follow->filter(count, f, k0, k1, &gains, &covs, p->scratch);
    for (int i = 0; i < count; ++i) {
        ks_member *m = members[i];
        if (!f[i].finite) { /* repeat, to find the step that fails */
            memcpy(m->state.x, (char *)p->means + (size_t)i * bytes, bytes);
            if (filter_alone(plan, p, m, k0, k1)) return m;
            continue;
        }
        m->tally.evidence = f[i].evidence;
        m->tally.ordinary += k1 - k0;
        if (ks_party_smooths(plan)) m->followed[p->block] = 1;
        p->sharp |= f[i].sharp;
    }
    return NULL;
}

/** How to take the steps of a block: `follow` for several members, `alone` for one; `follows` chooses. */
typedef struct ks_way {
    ks_member *(*follow)(const ks_smooth_plan *plan, ks_party *p, int64_t k0, int64_t k1,
                         ks_member *const *members, int count);
    int (*alone)(const ks_smooth_plan *plan, ks_party *p, ks_member *member, int64_t k0, int64_t k1);
    int (*follows)(const ks_party *p, const ks_member *member, int64_t k0, int64_t k1);
} ks_way;

/** Take a block of all members. led: there is a leader to follow. */
static void run_block(const ks_smooth_plan *plan, ks_party *p, const ks_way *way, int led, int64_t k0,
                      int64_t k1)
{
    ks_member *waiting[KS_FOLLOWERS];
    int count = 0;
    for (int i = 0; i < p->alive; ++i) {
        ks_member *m = &p->member[i];
        const int follows = led && m->together && way->follows(p, m, k0, k1);
        if (follows) waiting[count++] = m;
        else if (way->alone(plan, p, m, k0, k1)) p->alive = i;
        if (count < p->tiled->follow->followers && i + 1 < p->alive) continue;
        const ks_member *failed = way->follow(plan, p, k0, k1, waiting, count);
        if (failed) p->alive = (int)(failed - p->member);
        count = 0;
    }
}

static int follows_there(const ks_party *p, const ks_member *m, int64_t k0, int64_t k1)
{
    return p->data->follow->complete(&m->series, k0, k1);
}

static void filter_block(ks_plan_run *run, ks_party *p, int64_t k0, int64_t k1)
{
    static const ks_way there = { follow_filter, filter_alone, follows_there };
    static const ks_way mixed_there = { ks_party_follow_filter, filter_alone, follows_there };
    const ks_smooth_plan *plan = run->plan;
    const int64_t i = p->block;
    remember_leader(plan, p);
    if (ks_party_smooths(plan)) {
        memcpy((char *)p->checkpoints.cov + (size_t)i * ks_party_cov_bytes(plan), p->state.C,
               ks_party_cov_bytes(plan));
        p->checkpoint_form[i] = (unsigned char)p->state.form;
        p->checkpoint_steady[i] = p->state.steady;
        for (int j = 0; j < p->alive; ++j) p->member[j].followed[i] = 0;
    }
    const int led = lead_filter(plan, p, k0, k1);
    run_block(plan, p, ks_is_mixed(plan) ? &mixed_there : &there, led, k0, k1);
}

/** Filter the block k0 .. k1 - 1 of the leader again, and return what it keeps. */
static ks_forward_sinks keep_again(const ks_smooth_plan *plan, ks_party *p, int64_t k0, int64_t k1)
{
    const int64_t i = p->block;
    ks_tally tally = ks_tally_start();
    ks_forward_sinks to = { 0 };
    to.kept_mean = ks_mean_sink(plan, p->kept, k0);
    to.kept_C = ks_cov_sink(plan, p->kept, k0);
    to.form = p->form;
    to.form_first = k0;
    to.exact = ks_goes_exact(plan);
    /* The smoothed rows of this block are made later, so their memory is free. */
    ks_state state = { p->smoothed.mean, p->smoothed.cov, (ks_form)p->checkpoint_form[i], p->checkpoint_steady[i] };
    memset(state.x, 0, ks_party_mean_bytes(plan));
    memcpy(state.C, (char *)p->checkpoints.cov + (size_t)i * ks_party_cov_bytes(plan), ks_party_cov_bytes(plan));
    ks_party_bring(plan, p, k0, k1, k0, k1);
    if (plan->kernels->filter(&p->lead, k0, k1, &state, &to, p->scratch, &tally)) p->leads = 0;
    to.watched = 1;
    return to;
}

/** Take steps k1 - 1 .. k0 of the leader's smoother. Return whether all are in the ordinary form. */
static int lead_smooth(const ks_smooth_plan *plan, ks_party *p, const ks_forward_sinks *kept,
                       int64_t k0, int64_t k1)
{
    const ks_sink gains = { p->smooth_gains, (int64_t)smooth_gain_bytes(plan), k0 };
    ks_backward_sinks to = { 0 };
    ks_tally tally = ks_tally_start();
    int64_t k = k1;
    ks_party_bring(plan, p, k0 + 1, k1 < plan->T ? k1 + 1 : plan->T, k0, k1);
    if (ks_is_mixed(plan)) to.gain = gains;
    to.smoothed_cov = ks_cov_sink(plan, p->smoothed, k0);
    if (k1 == plan->T) { /* the last step keeps its filtered estimate */
        k -= 1;
        if (plan->kernels->smooth(&p->lead, k, k1, &p->state, kept, &to, p->scratch, &tally))
            p->leads = 0;
    }
    if (p->leads && p->state.form == KS_FORM_ORDINARY && k > k0)
        k = p->tiled->lead_smooth(&p->lead, k0, k, &p->state, kept, &to,
                                  to.gain.base ? NULL : &gains, p->scratch, &tally);
    if (k == k0 && p->leads && p->state.form == KS_FORM_ORDINARY) return 1;
    if (k < 0 ||
        (k > k0 && plan->kernels->smooth(&p->lead, k0, k, &p->state, kept, &to, p->scratch, &tally)))
        p->leads = 0;
    p->sharp |= tally.sharp >= 0;
    return 0;
}

static int smooth_alone(const ks_smooth_plan *plan, ks_party *p, ks_member *m, int64_t k0, int64_t k1)
{
    part(plan, p, m);
    if (m->followed[p->block]) {
        ks_party_put_covs(plan, p->kept.cov, m->forward.kept_C, k0, k1);
        memset(m->form + k0, KS_FORM_ORDINARY, (size_t)(k1 - k0));
    }
    const int failed = ks_is_mixed(plan)
                           ? ks_party_smooth_alone(plan, p, m, k0, k1)
                           : plan->kernels->smooth(&m->series, k0, k1, &m->state, &m->forward,
                                                   &m->backward, p->scratch, &m->tally);
    p->sharp |= m->tally.sharp >= 0;
    meet(plan, p, m);
    return failed;
}

/** Report that a member fails at the last step before k1 whose mean is not finite. */
static void name_step(const ks_smooth_plan *plan, ks_member *m, int64_t k0, int64_t k1)
{
    int64_t k = k1 - 1;
    while (k > k0 && plan->kernels->not_finite(plan->nx, k, k + 1, m->backward.smoothed_mean,
                                               m->backward.smoothed_cov) < 0)
        --k;
    ks_party_fail(m, k);
}

/** Take smoother steps of members that follow. Return the first that fails, or NULL. */
static ks_member *follow_smooth(const ks_smooth_plan *plan, ks_party *p, int64_t k0, int64_t k1,
                                ks_member *const *members, int count)
{
    const ks_sink gains = { p->smooth_gains, (int64_t)p->tiled->smooth_gain_bytes(plan->nx), k0 };
    const int64_t end = k1 == plan->T ? k1 - 1 : k1;
    ks_follower f[KS_FOLLOWERS];
    for (int i = 0; i < count; ++i) {
        ks_member *m = members[i];
        f[i].series = &m->series;
        f[i].x = m->state.x;
        f[i].evidence = ks_evidence_start();
        f[i].mean = m->backward.smoothed_mean;
        f[i].cov = m->backward.smoothed_cov;
        if (end < k1) memcpy(f[i].x, ks_slot_of(f[i].mean, end), ks_party_mean_bytes(plan));
    }
    const ks_sink covs = ks_cov_sink(plan, p->smoothed, k0);
    if (count && end > k0) p->tiled->follow->smooth(count, f, k0, end, &gains, &covs, p->scratch);
    for (int i = 0; i < count; ++i) {
        ks_member *m = members[i];
        if (end < k1) ks_party_put_covs(plan, ks_slot_of(covs, end), m->backward.smoothed_cov, end, k1);
        m->tally.ordinary += end - k0;
        if (end == k0 || f[i].finite) continue;
        name_step(plan, m, k0, k1);
        return m;
    }
    return NULL;
}

static int follows_back(const ks_party *p, const ks_member *m, int64_t k0, int64_t k1)
{
    (void)k0;
    (void)k1;
    return m->followed[p->block];
}

static void smooth_block(ks_plan_run *run, ks_party *p, int64_t k0, int64_t k1)
{
    static const ks_way back = { follow_smooth, smooth_alone, follows_back };
    static const ks_way mixed_back = { ks_party_follow_smooth, smooth_alone, follows_back };
    const ks_smooth_plan *plan = run->plan;
    remember_leader(plan, p);
    const ks_forward_sinks kept = keep_again(plan, p, k0, k1);
    const int led = p->leads && lead_smooth(plan, p, &kept, k0, k1);
    run_block(plan, p, ks_is_mixed(plan) ? &mixed_back : &back, led, k0, k1);
}

int ks_party_run(ks_plan_run *run, ks_party *p, const int64_t *b, int count)
{
    const ks_smooth_plan *plan = run->plan;
    p->count = p->alive = count;
    p->sharp = 0;
    start_leader(run, p, b[0]);
    for (int i = 0; i < count; ++i) start_member(run, p, b[i], &p->member[i]);
    for (int64_t i = 0; i < p->blocks && p->alive && !p->sharp; ++i) {
        const int64_t k0 = ks_block_start(p->length, plan->T, i);
        const int64_t k1 = ks_block_start(p->length, plan->T, i + 1);
        p->block = i;
        filter_block(run, p, k0, k1);
        if (p->alive && ks_run_progress(run, p->alive * (k1 - k0))) p->alive = 0;
    }
    /* Members that stayed in the array form must go back as they do alone. */
    for (int i = 0; i < p->alive && ks_party_smooths(plan) && !ks_is_mixed(plan); ++i)
        p->sharp |= ks_goes_whitened(plan->nx, &p->member[i].tally);
    /* Both ways meet at the end, so members that followed there are still together with the leader. */
    for (int64_t i = p->blocks - 1; ks_party_smooths(plan) && i >= 0 && p->alive && !p->sharp; --i) {
        const int64_t k0 = ks_block_start(p->length, plan->T, i);
        const int64_t k1 = ks_block_start(p->length, plan->T, i + 1);
        p->block = i;
        smooth_block(run, p, k0, k1);
        if (p->alive && ks_run_progress(run, p->alive * (k1 - k0))) p->alive = 0;
    }
    for (int i = 0; i < p->alive && !p->sharp; ++i)
        ks_write_loglik(run, p->member[i].b, ks_evidence_loglik(&p->member[i].tally.evidence));
    return p->alive;
}
