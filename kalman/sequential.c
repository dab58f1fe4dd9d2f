/* sequential.c -- Kalman filter and fixed-interval smoother, one pass each way.
 *
 * The filtered estimates wait for the backward pass in the smoothed outputs themselves. Where those
 * are not asked for in full, checkpoints take their place: the forward pass keeps one estimate in
 * `segment` steps, and the backward pass filters each segment again before it smooths it. Series
 * are spread over the workers. */
#include <string.h>
#include "smooth_plan.h"

typedef struct worker_memory {
    void *scratch;
    ks_estimates state;        /* one */
    unsigned char *form;       /* of the steps of a segment, or of the series */
    ks_estimates kept;         /* of a segment */
    ks_estimates checkpoints;  /* the estimate before each segment */
    unsigned char *checkpoint_form;
    ks_tally total;            /* of all series so far */
    int64_t failed;            /* the series that failed, or -1 */
} worker_memory;

typedef struct sequential {
    ks_run *run;
    worker_memory *memory;
} sequential;

static int smooths(const ks_smooth_plan *plan)
{
    return plan->options.job == KS_JOB_SMOOTH;
}

/** Filtered estimates wait in the outputs. */
static int in_place(const ks_smooth_plan *plan)
{
    return ks_makes_all(plan, KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV);
}

static void carve_worker(ks_carver *carver, const ks_smooth_plan *plan, worker_memory *m)
{
    memset(m, 0, sizeof *m);
    m->scratch = ks_carve(carver, 1, plan->kernels->scratch_bytes(plan->nx, plan->ny));
    m->state = ks_carve_estimates(carver, plan, 1);
    if (!smooths(plan)) return;
    const int64_t segments = (plan->T + plan->segment - 1) / plan->segment;
    m->form = ks_carve(carver, (size_t)(in_place(plan) ? plan->T : plan->segment), 1);
    if (in_place(plan)) return;
    m->kept = ks_carve_estimates(carver, plan, plan->segment);
    m->checkpoints = ks_carve_estimates(carver, plan, segments);
    m->checkpoint_form = ks_carve(carver, (size_t)segments, 1);
}

size_t ks_sequential_workspace(const ks_smooth_plan *plan)
{
    ks_carver carver = ks_carver_at(NULL);
    worker_memory m;
    (void)ks_carve(&carver, (size_t)plan->workers, sizeof(worker_memory));
    for (int w = 0; w < plan->workers; ++w) carve_worker(&carver, plan, &m);
    return ks_carved_bytes(&carver);
}

static ks_state state_of(const worker_memory *m)
{
    ks_state state = { m->state.mean, m->state.cov, KS_FORM_ORDINARY };
    return state;
}

int ks_filter_blocks(ks_run *run, const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
                     const ks_forward_sinks *to, void *scratch, ks_tally *tally)
{
    for (int64_t k = k0; k < k1; k += KS_BLOCK) {
        const int64_t end = k1 - k < KS_BLOCK ? k1 : k + KS_BLOCK;
        if (run->plan->kernels->filter(s, k, end, state, to, scratch, tally)) return -1;
        if (ks_run_progress(run, end - k)) return -1;
    }
    return 0;
}

int ks_smooth_blocks(ks_run *run, const ks_series *s, int64_t k0, int64_t k1, ks_state *state,
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

static int smooth_in_place(ks_run *run, const ks_series *s, ks_state *state,
                           ks_forward_sinks *to, const ks_backward_sinks *back,
                           const worker_memory *m, ks_tally *tally)
{
    to->kept_mean = back->smoothed_mean;
    to->kept_C = back->smoothed_cov;
    to->form = m->form;
    to->form_first = 0;
    if (ks_filter_blocks(run, s, 0, s->steps, state, to, m->scratch, tally)) return -1;
    return ks_smooth_blocks(run, s, 0, s->steps, state, to, back, m->scratch, tally);
}

static void keep_checkpoint(const ks_smooth_plan *plan, const worker_memory *m, int64_t segment,
                            ks_state *state, int restore)
{
    const size_t n = (size_t)plan->nx, bytes = plan->kernels->number_bytes;
    char *mean = (char *)m->checkpoints.mean + (size_t)segment * n * bytes;
    char *cov = (char *)m->checkpoints.cov + (size_t)segment * n * n * bytes;
    if (restore) {
        memcpy(state->x, mean, n * bytes);
        memcpy(state->C, cov, n * n * bytes);
        state->form = (ks_form)m->checkpoint_form[segment];
    } else {
        memcpy(mean, state->x, n * bytes);
        memcpy(cov, state->C, n * n * bytes);
        m->checkpoint_form[segment] = (unsigned char)state->form;
    }
}

static int smooth_by_checkpoints(ks_run *run, const ks_series *s, ks_state *state,
                                 const ks_forward_sinks *to, const ks_backward_sinks *back,
                                 const worker_memory *m, ks_tally *tally)
{
    const ks_smooth_plan *plan = run->plan;
    const int64_t L = plan->segment, segments = (s->steps + L - 1) / L;
    for (int64_t i = 0; i < segments; ++i) {
        const int64_t end = (i + 1) * L < s->steps ? (i + 1) * L : s->steps;
        keep_checkpoint(plan, m, i, state, 0);
        if (ks_filter_blocks(run, s, i * L, end, state, to, m->scratch, tally)) return -1;
    }
    /* The smoothed state is carried in the slot of checkpoints that are no longer needed: each
     * segment's own is read before the state of the segment after it is put back. */
    for (int64_t i = segments - 1; i >= 0; --i) {
        const int64_t end = (i + 1) * L < s->steps ? (i + 1) * L : s->steps;
        ks_tally again = ks_tally_start();
        ks_forward_sinks kept = { 0 };
        kept.kept_mean = ks_mean_sink(plan, m->kept, i * L);
        kept.kept_C = ks_cov_sink(plan, m->kept, i * L);
        kept.form = m->form;
        kept.form_first = i * L;
        if (i + 1 < segments) keep_checkpoint(plan, m, i + 1, state, 0);
        keep_checkpoint(plan, m, i, state, 1);
        if (ks_filter_blocks(run, s, i * L, end, state, &kept, m->scratch, &again)) return -1;
        if (i + 1 < segments) keep_checkpoint(plan, m, i + 1, state, 1);
        if (ks_smooth_blocks(run, s, i * L, end, state, &kept, back, m->scratch, tally))
            return -1;
    }
    return 0;
}

void ks_smooth_start(ks_run *run, int64_t b, const ks_series *s, ks_state *state, void *scratch,
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

static int run_series(ks_run *run, int64_t b, const worker_memory *m, ks_tally *tally)
{
    const ks_smooth_plan *plan = run->plan;
    ks_series series;
    ks_state state = state_of(m);
    ks_forward_sinks to = ks_forward_sinks_of(run, b);
    const ks_backward_sinks back = ks_backward_sinks_of(run, b);
    ks_series_of(run, b, &series);
    plan->kernels->start(&series, &state, m->scratch);
    if (!smooths(plan)) {
        if (ks_filter_blocks(run, &series, 0, plan->T, &state, &to, m->scratch, tally))
            return -1;
    } else {
        const int rc =
            in_place(plan)
                ? smooth_in_place(run, &series, &state, &to, &back, m, tally)
                : smooth_by_checkpoints(run, &series, &state, &to, &back, m, tally);
        if (rc) return -1;
        ks_smooth_start(run, b, &series, &state, m->scratch, tally);
    }
    ks_write_loglik(run, b, ks_evidence_loglik(&tally->evidence));
    return 0;
}

static void run_range(void *arg, int64_t begin, int64_t end, int worker)
{
    sequential *all = arg;
    worker_memory *m = &all->memory[worker];
    for (int64_t b = begin; b < end; ++b) {
        m->total.evidence = ks_evidence_start();
        if (run_series(all->run, b, m, &m->total)) {
            m->failed = b;
            return;
        }
    }
}

void ks_sequential_run(ks_run *run, void *work)
{
    const ks_smooth_plan *plan = run->plan;
    ks_carver carver = ks_carver_at(work);
    sequential all = { run, NULL };
    all.memory = ks_carve(&carver, (size_t)plan->workers, sizeof(worker_memory));
    for (int w = 0; w < plan->workers; ++w) {
        carve_worker(&carver, plan, &all.memory[w]);
        all.memory[w].total = ks_tally_start();
        all.memory[w].failed = -1;
    }
    run->total = (plan->T * plan->B * (smooths(plan) ? 2 : 1)) / plan->workers;
    run->info->threads = plan->workers;
    ks_parallel_for(plan->context, plan->workers, plan->B, run_range, &all);
    for (int w = 0; w < plan->workers; ++w)
        ks_run_add(run, all.memory[w].failed, &all.memory[w].total);
    ks_carve_end(&carver);
}
