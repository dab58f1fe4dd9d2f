/* scan_device_run.c -- running the scan methods on a device: rows in, phases and scans, rows out. */
#include <math.h>
#include <string.h>
#include "plan.h"
#include "scan_device.h"
#include "scan_elements.h"

static int wants(const ks_smooth_plan *plan, unsigned outputs)
{
    return ks_makes_any(plan, outputs);
}

/** Rows of a model or of data to where the plan has room for them. */
static ks_status put_in(ks_scan_device *d, ks_rows from, int64_t count, int64_t numbers,
                        ks_rows *to)
{
    const size_t bytes = (size_t)numbers * (d->a.single ? sizeof(float) : sizeof(double));
    to->stride = from.stride ? (int64_t)bytes : 0;
    if (!from.base) return KS_OK;
    const ks_gpu_rows rows = { (char *)(uintptr_t)from.base, from.stride, from.stride ? count : 1,
                               bytes };
    return ks_gpu_stage_in(&d->stage, (void *)(uintptr_t)to->base, &rows);
}

static int64_t numbers_of(const ks_smooth_plan *plan, int nx_powers, int ny_powers)
{
    int64_t numbers = 1;
    for (int i = 0; i < nx_powers; ++i) numbers *= plan->nx;
    for (int i = 0; i < ny_powers; ++i) numbers *= plan->ny;
    return numbers;
}

/** The model and the data of series b; what all series share, with the first of them. */
static ks_status upload(ks_scan_device *d, const ks_run *run, int64_t b)
{
    const ks_smooth_plan *plan = run->plan;
    const ks_model *m = run->model;
    ks_series host, *s = &d->a.series;
    ks_series_of(run, b, &host);
    s->prior_x1 = host.prior_x1;
    s->shift = host.shift;
    /* Where the transition's rows lead out of steps, the last one may not be there. */
    const int64_t T = plan->T, into = T - host.shift;
    ks_rows m0 = { host.m0, 0 }, P0 = { host.P0, 0 }, to_m0 = { s->m0, 0 }, to_P0 = { s->P0, 0 };
    const struct {
        ks_rows from;
        const ks_view *view;
        int64_t count, numbers;
        ks_rows *to;
    } all[] = {
        { host.F, &m->F, into, numbers_of(plan, 2, 0), &s->F },
        { host.Q, &m->Q, into, numbers_of(plan, 2, 0), &s->Q },
        { host.u, &m->u, into, numbers_of(plan, 1, 0), &s->u },
        { host.H, &m->H, T, numbers_of(plan, 1, 1), &s->H },
        { host.R, &m->R, T, numbers_of(plan, 0, 2), &s->R },
        { host.d, &m->d, T, numbers_of(plan, 0, 1), &s->d },
        { host.y, &run->y, T, numbers_of(plan, 0, 1), &s->y },
        { m0, &m->m0, 1, numbers_of(plan, 1, 0), &to_m0 },
        { P0, &m->P0, 1, numbers_of(plan, 2, 0), &to_P0 },
    };
    ks_status status = KS_OK;
    for (size_t i = 0; i < sizeof all / sizeof all[0] && status == KS_OK; ++i)
        if (b == 0 || all[i].view->series_stride)
            status = put_in(d, all[i].from, all[i].count, all[i].numbers, all[i].to);
    return status;
}

static ks_status launch(ks_scan_device *d, const ks_gpu_kernel *kernel, int64_t threads,
                        const void *args, size_t bytes)
{
    const int64_t blocks = (threads + KS_SCAN_THREADS - 1) / KS_SCAN_THREADS;
    const ks_gpu_shape shape = { { (unsigned)blocks }, { KS_SCAN_THREADS }, 0, 0 };
    return ks_gpu_launch(d->gpu, kernel, &shape, args, bytes, d->stream);
}

/** A phase of steps 0 .. steps - 1. */
static ks_status phase(ks_scan_device *d, ks_scan_phase_number number, int64_t steps)
{
    ks_scan_phase_args args;
    memset(&args, 0, sizeof args);
    args.arrays = d->a;
    args.end = steps;
    args.phase = number;
    args.status = d->status;
    args.memory = d->scratch;
    args.slice = d->slice;
    args.scratch = d->arithmetic;
    return launch(d, d->phase[number], steps < d->threads ? steps : d->threads, &args, sizeof args);
}

static ks_status scan(ks_scan_device *d, const ks_scan_plan *plan, const ks_gpu_kernel *kernel)
{
    ks_scan_elements_args args;
    memset(&args, 0, sizeof args);
    args.nx = d->a.series.nx;
    args.scratch = (double *)(void *)d->scratch;
    const ks_cuda_operator op = { kernel, NULL, NULL, KS_SCAN_THREADS,
                                  d->threads / KS_SCAN_THREADS, &args, sizeof args };
    return ks_cuda_scan(d->gpu, &plan->inside, &op, d->a.elements, d->spare, d->stream);
}

/** The sum of the log-likelihood's terms. */
static ks_status sum(ks_scan_device *d, int64_t count)
{
    int64_t blocks = (count + 16 * KS_SCAN_THREADS - 1) / (16 * KS_SCAN_THREADS);
    if (blocks > KS_SCAN_SUM_BLOCKS) blocks = KS_SCAN_SUM_BLOCKS;
    const ks_scan_sum_args first = { d->a.loglik_terms, count, d->sums + 1 };
    const ks_scan_sum_args second = { d->sums + 1, blocks, d->sums };
    const ks_status status =
        launch(d, d->sum, blocks * KS_SCAN_THREADS, &first, sizeof first);
    return status == KS_OK ? launch(d, d->sum, 1, &second, sizeof second) : status;
}

#define TRY(call)                                                                           \
    do {                                                                                    \
        const ks_status tried = (call);                                                     \
        if (tried != KS_OK) return tried;                                                   \
    } while (0)

static ks_status smooth(ks_scan_device *d, const ks_smooth_plan *plan)
{
    const int64_t T = plan->T;
    if (plan->method == KS_METHOD_SCAN_RTS) {
        TRY(phase(d, KS_PHASE_smoothing, T));
        TRY(scan(d, plan->reverse, d->smooth_scan));
        TRY(phase(d, KS_PHASE_smoothed, T));
    } else {
        TRY(phase(d, KS_PHASE_suffixes, T));
        TRY(scan(d, plan->reverse, d->filter_scan));
        TRY(phase(d, KS_PHASE_two_filter, T));
    }
    if (wants(plan, KS_OUT_LAG_ONE_COV)) TRY(phase(d, KS_PHASE_lag_one, T));
    if (wants(plan, KS_OUT_LAG_ONE_COV | KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV))
        TRY(phase(d, KS_PHASE_start, 1));
    return KS_OK;
}

ks_status ks_scan_device_enqueue(ks_scan_device *d, const ks_smooth_plan *plan)
{
    const int64_t T = plan->T;
    const size_t head = offsetof(ks_scan_status, ordinary);
    TRY(ks_gpu_fill(d->gpu, d->status, KS_SCAN_GOOD, head, d->stream));
    TRY(ks_gpu_fill(d->gpu, (char *)d->status + head, 0, sizeof *d->status - head, d->stream));
    if (d->reruns) {
        TRY(ks_chunks_enqueue(d));
        return sum(d, d->chunks.chunks);
    }
    TRY(phase(d, KS_PHASE_elements, T));
    TRY(scan(d, plan->forward, d->filter_scan));
    TRY(phase(d, KS_PHASE_filtered, T));
    TRY(phase(d, KS_PHASE_evidence, T));
    TRY(sum(d, T));
    return plan->options.job == KS_JOB_SMOOTH ? smooth(d, plan) : KS_OK;
}

/** The graph of a run, made again where the arrays are not those that it was made for. */
static ks_status capture(ks_scan_device *d, const ks_smooth_plan *plan)
{
    if (d->graph && memcmp(&d->captured, &d->a, sizeof d->a) == 0) return KS_OK;
    ks_gpu_graph_destroy(d->gpu, d->graph);
    d->graph = NULL;
    TRY(ks_gpu_capture_begin(d->gpu, d->stream));
    const ks_status status = ks_scan_device_enqueue(d, plan);
    const ks_status ended = ks_gpu_capture_end(d->gpu, &d->graph, d->stream);
    memcpy(&d->captured, &d->a, sizeof d->a);
    return status != KS_OK ? status : ended;
}

ks_status ks_scan_device_report(ks_scan_device *d, ks_gpu_stream *stream)
{
    TRY(ks_gpu_copy_out(d->gpu, &d->report->status, d->status, sizeof *d->status, stream));
    TRY(ks_gpu_copy_out(d->gpu, &d->report->loglik, d->sums, sizeof *d->sums, stream));
    return ks_gpu_stream_sync(d->gpu, stream);
}

/** Run the graph and wait for what it says of itself. */
static ks_status compute(ks_scan_device *d, const ks_smooth_plan *plan)
{
    TRY(capture(d, plan));
    TRY(ks_gpu_graph_launch(d->gpu, d->graph, d->stream));
    return ks_scan_device_report(d, d->stream);
}

/** What the phases say, as a tally. */
static ks_tally tally_of(const ks_scan_status *status)
{
    ks_scan_status good;
    memset(&good, KS_SCAN_GOOD, sizeof good);
    ks_tally tally = ks_tally_start();
    tally.ordinary = (int64_t)status->ordinary;
    tally.array = (int64_t)status->array;
    tally.missing = (int64_t)status->missing;
    tally.elements = (int64_t)status->elements;
    if (status->bad == good.bad) return tally;
    tally.bad_step = (int64_t)(status->bad >> 24);
    tally.bad_array = (ks_array)(status->bad >> 19 & 31);
    tally.fault = (ks_fault)(status->bad >> 16 & 7);
    tally.bad_row = (int)(status->bad & 0xffff);
    return tally;
}

static ks_status put_out(ks_scan_device *d, ks_out to, size_t number, int64_t b, int64_t count,
                         ks_sink from)
{
    if (!from.base || !to.data) return KS_OK;
    const ks_gpu_rows rows = { (char *)to.data + b * to.series_stride * (int64_t)number,
                               to.step_stride * (int64_t)number, count, (size_t)from.stride };
    return ks_gpu_stage_out(&d->stage, &rows, from.base);
}

static ks_status download(ks_scan_device *d, const ks_run *run, int64_t b)
{
    const ks_outputs *o = run->outputs;
    const int64_t T = run->plan->T;
    const size_t number = run->plan->kernels->number_bytes;
    const ks_scan_arrays *a = &d->a;
    const struct { ks_out to; ks_sink from; int64_t count; } all[] = {
        { o->predicted_mean, a->to.predicted_mean, T },
        { o->predicted_cov, a->to.predicted_cov, T },
        { o->predicted_var, a->to.predicted_var, T },
        { o->filtered_mean, a->to.filtered_mean, T },
        { o->filtered_cov, a->to.filtered_cov, T },
        { o->filtered_var, a->to.filtered_var, T },
        { o->innovation, a->to.innovation, T },
        { o->innovation_cov, a->to.innovation_cov, T },
        { o->innovation_std, a->to.innovation_std, T },
        { o->smoothed_mean, a->back.smoothed_mean, T },
        { o->smoothed_cov, a->back.smoothed_cov, T },
        { o->smoothed_var, a->back.smoothed_var, T },
        { o->lag_one_cov, a->back.lag_one_cov, T },
        { o->prior_mean, a->prior_mean, run->model->prior == KS_PRIOR_X0 },
        { o->prior_cov, a->prior_cov, run->model->prior == KS_PRIOR_X0 },
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i)
        TRY(put_out(d, all[i].to, number, b, all[i].count, all[i].from));
    return put_out(d, o->loglik_terms, sizeof(double), b, T, a->to.loglik_terms);
}

static void count_scan(ks_info *info, const ks_scan_plan *plan)
{
    const ks_scan_stats stats = ks_scan_plan_stats(plan);
    info->rounds += plan->inside.rounds;
    info->combines += stats.combines;
}

int ks_scan_device_tell(const ks_scan_device *d, ks_run *run, int64_t b)
{
    const ks_smooth_plan *plan = run->plan;
    const ks_tally tally = tally_of(&d->report->status);
    ks_run_add(run, b, &tally);
    if (tally.bad_step >= 0) return -1;
    if (d->reruns) {
        ks_chunks_count(d, plan->T, run->info);
    } else {
        count_scan(run->info, plan->forward);
        if (plan->reverse) count_scan(run->info, plan->reverse);
    }
    return 0;
}

static ks_status run_series(ks_scan_device *d, ks_run *run, int64_t b)
{
    const ks_smooth_plan *plan = run->plan;
    TRY(upload(d, run, b));
    TRY(compute(d, plan));
    if (ks_scan_device_tell(d, run, b)) return KS_OK;
    ks_write_loglik(run, b, d->report->loglik);
    return download(d, run, b);
}

void ks_scan_device_run(ks_run *run)
{
    const ks_smooth_plan *plan = run->plan;
    ks_scan_device *d = plan->device;
    run->info->threads = 1;
    run->info->scan = plan->options.scan;
    run->total = plan->T * plan->B;
    ks_turn_take(&d->turn);
    for (int64_t b = 0; b < plan->B && run->info->step < 0; ++b) {
        const ks_status status = run_series(d, run, b);
        if (status != KS_OK) {
            run->info->status = status;
            run->info->device_code = d->gpu->code;
            break;
        }
        if (ks_run_progress(run, plan->T)) break;
    }
    ks_turn_end(&d->turn);
}
