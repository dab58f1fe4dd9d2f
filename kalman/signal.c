/* signal.c -- the signal of all steps and series; workers take ranges of steps. */
#include "kalscan/signal.h"
#include "signal_rows.h"
#include "smooth_plan.h"

/** What the workers of a call share. */
typedef struct signal_job {
    const ks_smooth_plan *plan;
    const ks_model *model;
    ks_view mean, cov;
    const ks_signal_outputs *outputs;
    ks_signal_steps *steps;
    int64_t *bad;       /* of each worker: its first step that is not finite, counted over all series, or -1 */
    char *scratch;      /* of worker 0; those of the others follow */
    size_t scratch_bytes;
} signal_job;

static int workers_of(const ks_smooth_plan *plan)
{
    return ks_workers(plan->context, plan->options.threads, plan->T * plan->B);
}

static void carve(ks_carver *carver, const ks_smooth_plan *plan, signal_job *job)
{
    const size_t workers = (size_t)workers_of(plan), line = KS_CARVE_ALIGNMENT;
    const size_t numbers = ks_signal_work((size_t)plan->nx, (size_t)plan->ny, ks_is_mixed(plan));
    /* This cannot overflow: a plan does not take such sizes. */
    job->scratch_bytes = (numbers * plan->mean_bytes + line - 1) / line * line;
    job->bad = ks_carve(carver, workers, sizeof *job->bad);
    job->scratch = ks_carve(carver, workers, job->scratch_bytes);
}

size_t ks_signal_workspace_bytes(const ks_smooth_plan *plan)
{
    signal_job unused = { 0 };
    ks_carver measure = ks_carver_at(NULL);
    if (!plan) return 0;
    carve(&measure, plan, &unused);
    return ks_carved_bytes(&measure);
}

static int covariances_wanted(const ks_signal_outputs *o)
{
    return o->cov.data || o->var.data || o->observed_var.data;
}

int ks_valid_signal(const ks_smooth_plan *plan, const ks_model *m, ks_view mean, ks_view cov, const ks_signal_outputs *o,
                    ks_array *array)
{
    if (!m || m->size != sizeof *m || !o || o->size != sizeof *o) return 0;
    const int64_t nx = plan->nx, ny = plan->ny, T = plan->T, B = plan->B;
    const size_t wide = plan->mean_bytes, narrow = plan->kernels->number_bytes;
    const struct { ks_array array; ks_view view; size_t number; int64_t block; int read, optional; } inputs[] = {
        { KS_ARRAY_H, m->H, wide, ny * nx, 1, 0 },
        { KS_ARRAY_D, m->d, wide, ny, o->mean.data != NULL, 1 },
        { KS_ARRAY_R, m->R, wide, ny * ny, o->observed_var.data != NULL, 0 },
        { KS_ARRAY_ESTIMATE, mean, wide, nx, o->mean.data != NULL, 0 },
        { KS_ARRAY_ESTIMATE, cov, narrow, nx * nx, covariances_wanted(o), 0 },
    };
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; ++i) {
        if (!inputs[i].read || ks_readable(inputs[i].view, inputs[i].number, inputs[i].block, T, B, inputs[i].optional))
            continue;
        *array = inputs[i].array;
        return 0;
    }
    const struct { ks_out out; size_t number; int64_t block; } outputs[] = {
        { o->mean, wide, ny }, { o->cov, narrow, ny * ny }, { o->var, narrow, ny }, { o->observed_var, narrow, ny },
    };
    int wanted = 0;
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; ++i) {
        if (!outputs[i].out.data) continue;
        if (!ks_writable(outputs[i].out, outputs[i].number, outputs[i].block, T, B)) return 0;
        wanted = 1;
    }
    return wanted;
}

/** Rows of series b. */
static ks_signal_rows rows_of(const signal_job *job, int64_t b)
{
    const size_t number = job->plan->mean_bytes, narrow = job->plan->kernels->number_bytes;
    const ks_signal_outputs *o = job->outputs;
    ks_signal_rows rows = { .nx = job->plan->nx, .ny = job->plan->ny, .H = ks_rows_at(job->model->H, b, number) };
    if (o->mean.data) {
        rows.d = ks_rows_at(job->model->d, b, number);
        rows.mean = ks_rows_at(job->mean, b, number);
        rows.to_mean = ks_sink_at(o->mean, b, number);
    }
    if (covariances_wanted(o)) rows.cov = ks_rows_at(job->cov, b, narrow);
    rows.to_cov = ks_sink_at(o->cov, b, narrow);
    rows.to_var = ks_sink_at(o->var, b, narrow);
    rows.to_observed_var = ks_sink_at(o->observed_var, b, narrow);
    if (o->observed_var.data) rows.R = ks_rows_at(job->model->R, b, number);
    return rows;
}

/** Make steps begin .. end - 1, counted over all series. */
static void make_range(void *arg, int64_t begin, int64_t end, int worker)
{
    const signal_job *job = arg;
    const int64_t T = job->plan->T;
    void *scratch = job->scratch + (size_t)worker * job->scratch_bytes;
    while (begin < end) {
        const int64_t b = begin / T, start = b * T, stop = end - start < T ? end - start : T;
        const ks_signal_rows rows = rows_of(job, b);
        const int64_t bad = job->steps(&rows, begin - start, stop, scratch);
        if (bad >= 0) {
            job->bad[worker] = start + bad;
            return;
        }
        begin = start + stop;
    }
}

static ks_signal_steps *steps_of(const ks_smooth_plan *plan)
{
    const ks_signal_kernels *kernels = ks_signal_kernels_of(plan->options.tier);
    switch (plan->options.precision) {
    case KS_F32: return kernels->f32;
    case KS_MIXED: return kernels->mixed;
    default: return kernels->f64;
    }
}

static ks_status not_finite(ks_info *info, int64_t T, int64_t bad)
{
    info->array = KS_ARRAY_SIGNAL;
    info->fault = KS_FAULT_NOT_FINITE;
    info->series = bad / T;
    info->step = bad % T;
    return info->status = KS_ENONFINITE;
}

ks_status ks_signal(const ks_smooth_plan *plan, const ks_model *model, ks_view mean, ks_view cov,
                    const ks_signal_outputs *outputs, void *work, ks_info *info)
{
    ks_info mine = KS_INFO_INIT;
    if (info && info->size != sizeof *info) return KS_EINVAL;
    if (info) *info = mine;
    ks_info *told = info ? info : &mine;
    if (!plan || !work || (uintptr_t)work % KS_CARVE_ALIGNMENT != 0) return told->status = KS_EINVAL;
    if (!ks_valid_signal(plan, model, mean, cov, outputs, &told->array)) return told->status = KS_EINVAL;
    signal_job job = { plan, model, mean, cov, outputs, steps_of(plan), NULL, NULL, 0 };
    ks_carver place = ks_carver_at(work);
    carve(&place, plan, &job);
    const int workers = told->threads = workers_of(plan);
    for (int w = 0; w < workers; ++w) job.bad[w] = -1;
    ks_parallel_for(plan->context, workers, plan->T * plan->B, make_range, &job);
    int first = 0;
    while (first < workers && job.bad[first] < 0) ++first;
    const int64_t bad = first < workers ? job.bad[first] : -1;
    ks_carve_end(&place);
    return bad < 0 ? KS_OK : not_finite(told, plan->T, bad);
}
