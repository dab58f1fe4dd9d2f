/* two_ended.c -- smoothing from both ends: a Kalman filter from the left and an information filter from the right meet
 * in the middle, and both go back out.
 *
 * The halves are independent on the way in and on the way out. So they run on two threads, or one after the other on
 * one, with the same bits. What the way in leaves for the way out waits in the smoothed outputs themselves. If these
 * are not asked for in full, checkpoints are used, as in sequential.c.
 *
 * The information from the right is carried in the ordinary form. If that loses digits, the right half reports it, and
 * the series is done again with the information in the array form. */
#include <math.h>
#include <string.h>
#include "two_ended_lane.h"

/* Halves that may have to go on alone check whether they must: the left after FIRST_LOOK steps and each time that the
 * number of steps has doubled, the right after each SHORT_BLOCK steps. */
enum { FIRST_LOOK = 128, SHORT_BLOCK = 256 };

static int in_place(const ks_smooth_plan *plan)
{
    return ks_makes_all(plan, KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV);
}

/** Cut `steps` into segments. There are about as many as steps in one of them, which takes the least memory. Their
 *  length is a multiple of KS_BOUND_STEPS, so that the bounds do not depend on it. */
static void cut(ks_half *half, const ks_smooth_plan *plan, int64_t steps)
{
    const int64_t least = (int64_t)ceil(sqrt((double)steps));
    half->length = (least + KS_BOUND_STEPS - 1) / KS_BOUND_STEPS * KS_BOUND_STEPS;
    if (in_place(plan) || half->length > steps) half->length = steps;
    half->segments = half->length ? (steps + half->length - 1) / half->length : 0;
}

/** Carve memory for up to `steps` steps. */
static void carve_half(ks_carver *carver, const ks_smooth_plan *plan, ks_half *half,
                       int64_t steps)
{
    const int64_t segments = (int64_t)ceil(sqrt((double)steps)); /* the most that cut() makes of no more steps */
    const ks_two_ended_kernels *ends = ks_two_ended_kernels_of(plan->kernels);
    const size_t range = plan->kernels->scratch_bytes(plan->nx, plan->ny);
    const size_t information = ends->scratch_bytes(plan->nx, plan->ny);
    memset(half, 0, sizeof *half);
    cut(half, plan, steps);
    half->scratch = ks_carve(carver, 1, range > information ? range : information);
    half->state = ks_carve_estimates(carver, plan, 1);
    half->smoothed = ks_carve_estimates(carver, plan, 1);
    if (in_place(plan)) return;
    half->again = ks_carve_estimates(carver, plan, 1);
    half->kept = ks_carve_estimates(carver, plan, half->length);
    half->checkpoints = ks_carve_estimates(carver, plan, segments);
}

void ks_lane_carve(ks_carver *carver, const ks_smooth_plan *plan, ks_lane *l)
{
    const size_t n = (size_t)plan->nx, bytes = plan->kernels->number_bytes;
    memset(l, 0, sizeof *l);
    /* If the left half may have to go on to the end, it does so in place. */
    carve_half(carver, plan, &l->left, plan->automatic ? plan->T : ks_left_steps_most(plan));
    l->left.form = ks_carve(carver, (size_t)l->left.length, 1);
    if (!in_place(plan)) {
        const size_t most = (size_t)ceil(sqrt((double)plan->T));
        l->left.checkpoint_form = ks_carve(carver, most, 1);
        l->left.checkpoint_steady = ks_carve(carver, most, sizeof(ks_steady));
    }
    if (plan->automatic) l->left.again = ks_carve_estimates(carver, plan, 1);
    carve_half(carver, plan, &l->right, plan->T - ks_left_steps_least(plan));
    ks_whitening_carve(carver, plan, 0, &l->whitening);
    l->right.K = ks_carve(carver, (size_t)l->right.length, n * (n + 1) / 2 * bytes);
    l->right.bound = ks_carve(carver, (size_t)l->right.length / KS_BOUND_STEPS + 1, 2 * n * bytes);
    l->right.passage = ks_carve(carver, (size_t)l->right.length, 1);
}

static int64_t segment_end(const ks_half *half, int64_t i, int64_t steps)
{
    return (i + 1) * half->length < steps ? (i + 1) * half->length : steps;
}

/** Where the filter keeps the estimates of segment i. */
ks_forward_sinks ks_left_rows(const ks_lane *l, int64_t i)
{
    const ks_smooth_plan *plan = l->run->plan;
    const int64_t first = i * l->left.length;
    ks_forward_sinks to = { 0 };
    to.kept_mean = in_place(plan) ? l->back.smoothed_mean : ks_mean_sink(plan, l->left.kept, first);
    to.kept_C = in_place(plan) ? l->back.smoothed_cov : ks_cov_sink(plan, l->left.kept, first);
    to.form = l->left.form;
    to.form_first = first;
    to.watched = 1;
    to.last = l->left_steps - 1;
    to.exact = ks_goes_exact(plan);
    return to;
}

/** Filter steps from .. end - 1. If l->looks, check now and then whether they repeat, which sets l->alone. So does a
 *  sharp prediction if KS_METHOD_AUTO is in single precision: the way back in double rounds once, the information from
 *  the right many times. */
static int filter_left(ks_lane *l, int64_t from, int64_t end, ks_state *state, const ks_forward_sinks *to)
{
    ks_half *half = &l->left;
    for (int64_t look = FIRST_LOOK; l->looks && look < end && !atomic_load(&l->alone); look *= 2) {
        if (ks_filter_blocks(l->run, &l->series, from, look, state, to, half->scratch, &half->in)) return -1;
        if (ks_left_repeats(l, look)) atomic_store(&l->alone, 1);
        from = look;
    }
    for (int64_t next; l->rounds && from < end && half->in.sharp < 0; from = next) {
        next = end - from < KS_BLOCK ? end : from + KS_BLOCK;
        if (ks_filter_blocks(l->run, &l->series, from, next, state, to, half->scratch, &half->in)) return -1;
        if (half->in.sharp >= 0) atomic_store(&l->alone, 1);
    }
    ks_forward_sinks rest = *to;
    rest.sparse = atomic_load(&l->alone);
    return ks_filter_blocks(l->run, &l->series, from, end, state, &rest, half->scratch, &half->in);
}

static int left_in(ks_lane *l)
{
    const ks_smooth_plan *plan = l->run->plan;
    ks_half *half = &l->left;
    const int64_t steps = l->left_steps;
    ks_state state = { half->state.mean, half->state.cov, KS_FORM_ORDINARY, KS_NOT_STEADY };
    plan->kernels->start(&l->series, &state, half->scratch);
    for (int64_t i = 0; i < half->segments; ++i) {
        const ks_forward_sinks to = ks_left_rows(l, i);
        if (!in_place(plan)) {
            ks_copy_estimate(plan, half->checkpoints, i, half->state, 0);
            half->checkpoint_form[i] = (unsigned char)state.form;
            half->checkpoint_steady[i] = state.steady;
        }
        if (filter_left(l, i * half->length, segment_end(half, i, steps), &state, &to)) return -1;
    }
    l->left_form = state.form;
    l->left_steady = state.steady;
    if (l->gives_up && ks_left_repeats(l, steps)) atomic_store(&l->alone, 1);
    return 0;
}

/** The way out over all segments, as long as no sharp prediction is found. If one is, half->out has it. */
static int segments_out(ks_lane *l, ks_state *state)
{
    const ks_smooth_plan *plan = l->run->plan;
    ks_half *half = &l->left;
    const int64_t steps = l->left_steps;
    for (int64_t i = half->segments - 1; i >= 0; --i) {
        const int64_t from = i * half->length, end = segment_end(half, i, steps);
        const ks_forward_sinks kept = ks_left_rows(l, i);
        if (i < half->segments - 1) { /* the rows of the last segment are still valid */
            ks_tally again = ks_tally_start();
            ks_state filtered = { half->again.mean, half->again.cov,
                                  (ks_form)half->checkpoint_form[i], half->checkpoint_steady[i] };
            ks_copy_estimate(plan, half->again, 0, half->checkpoints, i);
            if (ks_filter_blocks(l->run, &l->series, from, end, &filtered, &kept, half->scratch,
                                 &again))
                return -1;
        }
        if (ks_smooth_blocks(l->run, &l->series, from, end < steps ? end : steps - 1, state, &kept, &l->back,
                             half->scratch, &half->out))
            return -1;
    }
    return 0;
}

static int left_out(ks_lane *l)
{
    ks_half *half = &l->left;
    ks_state state = { half->smoothed.mean, half->smoothed.cov, half->out_form, KS_NOT_STEADY };
    if (half->in.sharp < 0) {
        if (!segments_out(l, &state)) {
            ks_smooth_start(l->run, l->b, &l->series, &state, half->scratch, &half->out);
            return 0;
        }
        if (half->out.sharp < 0) return -1;
    }
    const ks_segments segments = { l->left_steps, half->length, half->kept, half->checkpoints, half->form, NULL };
    const ks_information information = { l->right.state.cov, l->right.state.mean, KS_FORM_ARRAY, -1, -1 };
    return ks_whitening_run(l->run, &l->whitening, l->b, &l->series, &segments, &information, &l->back, half->scratch,
                            &half->out);
}

/** Where the information filter leaves what the way out needs, of segment i. */
static ks_right_rows right_rows(const ks_lane *l, int64_t i)
{
    const ks_smooth_plan *plan = l->run->plan;
    const ks_half *half = &l->right;
    const int64_t n = plan->nx, bytes = (int64_t)plan->kernels->number_bytes;
    const int64_t start = l->left_steps, first = start + i * half->length;
    ks_right_rows rows;
    rows.b = in_place(plan) ? l->back.smoothed_mean : ks_mean_sink(plan, half->kept, first);
    rows.A = in_place(plan) ? l->back.smoothed_cov : ks_cov_sink(plan, half->kept, first);
    const ks_sink K = { half->K, n * (n + 1) / 2 * bytes, first };
    const ks_sink bound = { half->bound, 2 * n * bytes, i * half->length / KS_BOUND_STEPS };
    const ks_sink passage = { (char *)half->passage, 1, first };
    rows.K = K;
    rows.bound = bound;
    rows.passage = passage;
    rows.size = l->size;
    rows.first = start;
    rows.last = start + segment_end(half, i, plan->T - start) - 1;
    return rows;
}

/** Take in segment i of the information filter, block by block. Returns 0; 1 if the ordinary form is not good enough,
 *  or if the right half is no longer needed; -1. */
static int inform_segment(ks_lane *l, int64_t i, ks_information *information, ks_tally *tally)
{
    const ks_smooth_plan *plan = l->run->plan;
    const ks_two_ended_kernels *ends = ks_two_ended_kernels_of(plan->kernels);
    const ks_right_rows rows = right_rows(l, i);
    const int64_t from = rows.first + i * l->right.length;
    const int64_t block = l->gives_up ? SHORT_BLOCK : KS_BLOCK;
    for (int64_t end = rows.last + 1; end > from; end -= block) {
        const int64_t k = end - from < block ? from : end - block;
        if (atomic_load(&l->alone)) return 1;
        const int rc = ends->inform(&l->series, k, end, information, &rows, l->right.scratch, tally);
        if (rc) return rc;
        if (ks_run_progress(l->run, end - k)) return -1;
    }
    return 0;
}

static int inform_all(ks_lane *l)
{
    const ks_smooth_plan *plan = l->run->plan;
    ks_half *half = &l->right;
    const size_t n = (size_t)plan->nx, bytes = plan->kernels->number_bytes;
    ks_information information = { half->state.cov, half->state.mean, l->form, -1, -1 };
    memset(information.J, 0, n * n * bytes);
    memset(information.eta, 0, n * bytes);
    half->in = ks_tally_start();
    for (int64_t i = half->segments - 1; i >= 0; --i) {
        if (!in_place(plan)) ks_copy_estimate(plan, half->checkpoints, i, half->state, 0);
        const int rc = inform_segment(l, i, &information, &half->in);
        if (rc) return rc;
    }
    if (information.large_row < 0 || !ks_makes_any(plan, KS_OUT_LOGLIK)) return 0;
    half->in.bad_step = information.large_step;
    half->in.bad_row = information.large_row;
    half->in.bad_array = KS_ARRAY_R;
    half->in.fault = KS_FAULT_TOO_SMALL;
    return -1;
}

/** The way in from the right. If the ordinary form is not good enough, it starts again in the array form at once. */
static int right_in(ks_lane *l)
{
    const ks_smooth_plan *plan = l->run->plan;
    int rc = inform_all(l);
    if (rc > 0 && !plan->automatic) {
        l->form = KS_FORM_ARRAY;
        rc = inform_all(l);
    }
    /* The lowest faulty step is reported, but observations are read from the last step down. */
    ks_tally *tally = &l->right.in;
    if (tally->bad_step >= 0 && tally->bad_array != KS_ARRAY_ESTIMATE)
        l->right.error = ks_two_ended_kernels_of(plan->kernels)
                             ->first_refused(&l->series, l->left_steps, tally->bad_step + 1, l->right.scratch, tally);
    return rc;
}

/** The way out over steps k0 .. k1 - 1, whose rows are valid. */
static int outward(ks_lane *l, const ks_right_rows *rows, int64_t k0, int64_t k1)
{
    ks_half *half = &l->right;
    ks_state state = { half->smoothed.mean, half->smoothed.cov, half->out_form, KS_NOT_STEADY };
    const int rc = ks_two_ended_kernels_of(l->run->plan->kernels)
                       ->outward(&l->series, k0, k1, l->form, &state, rows, &l->back, half->scratch,
                                 &half->out);
    half->out_form = state.form;
    return rc;
}

int ks_lane_try_out(ks_lane *l)
{
    enum { TRIED = 4 * KS_BOUND_STEPS };
    const ks_right_rows rows = right_rows(l, 0);
    const int64_t there = rows.last + 1 - rows.first;
    l->tried = there < TRIED ? there : TRIED;
    return outward(l, &rows, rows.first, rows.first + l->tried);
}

static int right_out(ks_lane *l)
{
    const ks_smooth_plan *plan = l->run->plan;
    ks_half *half = &l->right;
    for (int64_t i = 0; i < half->segments; ++i) {
        const ks_right_rows rows = right_rows(l, i);
        if (i > 0) { /* the rows of the first segment are still valid */
            ks_tally again = ks_tally_start();
            ks_information information = { half->again.cov, half->again.mean, l->form, -1, -1 };
            ks_copy_estimate(plan, half->again, 0, half->checkpoints, i);
            if (inform_segment(l, i, &information, &again)) return -1;
        }
        const int64_t first = rows.first + i * half->length + (i == 0 ? l->tried : 0);
        for (int64_t k = first; k <= rows.last; k += KS_BLOCK) {
            const int64_t end = rows.last + 1 - k < KS_BLOCK ? rows.last + 1 : k + KS_BLOCK;
            const int rc = outward(l, &rows, k, end);
            if (rc) return rc;
            if (ks_run_progress(l->run, end - k)) return -1;
        }
    }
    return 0;
}

/** Compute the smoothed state in the middle, for both halves. */
void ks_lane_meet(ks_lane *l)
{
    const ks_smooth_plan *plan = l->run->plan;
    const int64_t middle = l->left_steps - 1;
    ks_state state = { l->left.state.mean, l->left.state.cov, l->left_form, KS_NOT_STEADY };
    ks_information information = { l->right.state.cov, l->right.state.mean, l->form, -1, -1 };
    const ks_right_rows rows = right_rows(l, 0);
    l->met = ks_evidence_start();
    ks_two_ended_kernels_of(plan->kernels)
        ->meet(plan->nx, middle, &state, &information, &rows, &l->back, l->right.scratch, &l->met);
    ks_copy_estimate(plan, l->left.smoothed, 0, l->left.state, 0);
    ks_copy_estimate(plan, l->right.smoothed, 0, l->left.state, 0);
    l->left.out_form = l->right.out_form = state.form;
}

void ks_lane_open(ks_lane *l, int64_t b)
{
    l->b = b;
    ks_series_of(l->run, b, &l->series);
    l->back = ks_backward_sinks_of(l->run, b);
    l->inverts = ks_two_ended_kernels_of(l->run->plan->kernels)->inverts(&l->series, l->right.scratch);
    l->left_steps = ks_left_steps_of(l->run, &l->series);
    l->size = ks_size_of_observations(l->run->plan, &l->series);
    cut(&l->left, l->run->plan, l->left_steps);
    cut(&l->right, l->run->plan, l->run->plan->T - l->left_steps);
    l->form = KS_FORM_ORDINARY;
    l->tried = 0;
    l->gives_up = l->run->plan->automatic && ks_alone_where_repeated(l);
    l->looks = l->gives_up && ks_may_repeat_early(l);
    l->rounds = l->run->plan->automatic && l->run->plan->options.precision == KS_F32;
    atomic_store(&l->alone, 0);
}

void ks_lane_in(ks_lane *l, int right)
{
    const int canceled = atomic_load(&l->run->canceled);
    if (right) {
        l->right.in = l->right.out = ks_tally_start();
        l->right_rc = canceled ? -1 : right_in(l);
    } else {
        l->left.in = l->left.out = ks_tally_start();
        l->left_rc = canceled ? -1 : left_in(l);
    }
}

void ks_lane_out(ks_lane *l, int right)
{
    const int canceled = atomic_load(&l->run->canceled);
    const int rc = canceled ? -1 : right ? right_out(l) : left_out(l);
    if (right) l->right_rc = rc;
    else l->left_rc = rc;
    /* The series is done again without halves: the other one need not finish. */
    if (rc && l->run->plan->automatic) atomic_store(&l->run->given_up, 1);
}

static void add(ks_tally *total, const ks_tally *t)
{
    total->ordinary += t->ordinary;
    total->array += t->array;
    total->missing += t->missing;
    if (t->bad_step < 0 || (total->bad_step >= 0 && total->bad_step <= t->bad_step)) return;
    total->bad_step = t->bad_step;
    total->bad_row = t->bad_row;
    total->bad_array = t->bad_array;
    total->fault = t->fault;
}

/** Write the log-likelihood of a series and add up its tallies. Returns 0, or -1 if it failed. */
int ks_lane_close(ks_lane *l)
{
    const ks_tally *parts[] = { &l->left.in, &l->left.out, &l->right.in, &l->right.out };
    double loglik = ks_evidence_loglik(&l->met);
    for (int i = 0; i < 4; ++i) {
        add(&l->total, parts[i]);
        loglik += ks_evidence_loglik(&parts[i]->evidence);
    }
    if (l->left_rc || l->right_rc) {
        l->failed = l->b;
        l->error = l->right.error;
        return -1;
    }
    ks_write_loglik(l->run, l->b, loglik);
    return 0;
}

