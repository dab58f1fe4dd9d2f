/* scan_device_run.c -- running the scan methods on a device: copy rows in, phases and scans, copy rows out. */
#include <math.h>
#include <string.h>
#include "plan.h"
#include "scan_device.h"
#include "scan_elements.h"

static int wants(const ks_smooth_plan *plan, unsigned outputs)
{
    return ks_makes_any(plan, outputs);
}

static ks_status launch_sharing(ks_scan_device *d, const ks_gpu_kernel *kernel, int64_t threads, size_t shared,
                                const void *args, size_t bytes)
{
    const int64_t blocks = (threads + KS_SCAN_THREADS - 1) / KS_SCAN_THREADS;
    const ks_gpu_shape shape = { { (unsigned)blocks }, { KS_SCAN_THREADS }, shared, 0 };
    return ks_gpu_launch(d->gpu, kernel, &shape, args, bytes, d->stream);
}

static ks_status launch(ks_scan_device *d, const ks_gpu_kernel *kernel, int64_t threads,
                        const void *args, size_t bytes)
{
    return launch_sharing(d, kernel, threads, 0, args, bytes);
}

/** Enqueue a phase of steps 0 .. steps - 1: the ordinary steps of small models first, then the steps that are left. */
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
    if (d->ordinary[number]) {
        args.hard = d->hard;
        args.first_ordinary = number == KS_PHASE_suffixes; /* step 0 has no element there */
        KS_TRY(launch_sharing(d, d->ordinary[number], steps, d->ordinary_shared[number], &args, sizeof args));
    }
    return launch(d, d->phase[number], steps < d->threads ? steps : d->threads, &args, sizeof args);
}

int64_t ks_team_most_blocks(const ks_scan_device *d, const ks_team_shape *team)
{
    const int64_t with_scratch = d->threads / team->teams;
    return team->blocks > 0 && team->blocks < with_scratch ? team->blocks : with_scratch;
}

ks_status ks_scan_device_scan(ks_scan_device *d, const ks_schedule *schedule, const ks_gpu_kernel *kernel,
                              const ks_round *rounds, void *elements, void *spare)
{
    const ks_team_shape *const team = &d->join;
    ks_scan_elements_args args;
    memset(&args, 0, sizeof args);
    args.nx = d->a.series.nx;
    args.scratch = (double *)(void *)d->scratch;
    args.team = ks_team_memory_of(d, team);
    ks_cuda_operator op = { kernel, NULL, NULL, KS_SCAN_THREADS, 0, 0, d->threads / KS_SCAN_THREADS, &args, sizeof args,
                            rounds };
    if (team->lanes) {
        op.lanes = (unsigned)team->teams;
        op.team = (unsigned)team->lanes;
        op.shared = ks_team_shared(team);
        op.most_blocks = ks_team_most_blocks(d, team);
    } else if (args.nx <= KS_SCAN_LITERAL) {
        op.shared = (size_t)ks_scan_elements_shared(args.nx, kernel == d->smooth_scan, KS_SCAN_THREADS);
    }
    return ks_cuda_scan(d->gpu, schedule, &op, elements, spare, d->stream);
}

static ks_status scan(ks_scan_device *d, const ks_scan_plan *plan, const ks_gpu_kernel *kernel,
                      const ks_round *rounds)
{
    return ks_scan_device_scan(d, &plan->inside, kernel, rounds, d->a.elements, d->spare);
}

ks_status ks_scan_device_sum(ks_scan_device *d, int64_t count)
{
    int64_t blocks = (count + 32 * KS_SCAN_THREADS - 1) / (32 * KS_SCAN_THREADS);
    if (blocks > KS_SCAN_SUM_BLOCKS) blocks = KS_SCAN_SUM_BLOCKS;
    const ks_scan_sum_args all = { d->a.loglik_terms, count, blocks > 1 ? d->sums + 1 : d->sums };
    const ks_scan_sum_args of_blocks = { d->sums + 1, blocks, d->sums };
    KS_TRY(launch(d, d->sum, blocks * KS_SCAN_THREADS, &all, sizeof all));
    return blocks > 1 ? launch(d, d->sum, 1, &of_blocks, sizeof of_blocks) : KS_OK;
}

/** Enqueue what needs the scans of both directions. */
static ks_status meet(ks_scan_device *d, const ks_smooth_plan *plan)
{
    KS_TRY(phase(d, plan->method == KS_METHOD_SCAN_RTS ? KS_PHASE_smoothed : KS_PHASE_two_filter,
              plan->T));
    if (wants(plan, KS_OUT_LAG_ONE_COV)) KS_TRY(phase(d, KS_PHASE_lag_one, plan->T));
    if (wants(plan, KS_OUT_LAG_ONE_COV | KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV))
        KS_TRY(phase(d, KS_PHASE_start, 1));
    return KS_OK;
}

/** Enqueue the reverse scan. */
static ks_status descend(ks_scan_device *d, const ks_smooth_plan *plan)
{
    if (plan->method == KS_METHOD_SCAN_RTS) {
        KS_TRY(phase(d, KS_PHASE_smoothing, plan->T));
        return scan(d, plan->reverse, d->smooth_scan, d->reverse_rounds);
    }
    KS_TRY(phase(d, KS_PHASE_suffixes, plan->T));
    return scan(d, plan->reverse, d->filter_scan, d->reverse_rounds);
}

/** Enqueue the forward scan. */
static ks_status ascend(ks_scan_device *d, const ks_smooth_plan *plan)
{
    KS_TRY(phase(d, KS_PHASE_elements, plan->T));
    KS_TRY(scan(d, plan->forward, d->filter_scan, d->forward_rounds));
    return phase(d, KS_PHASE_filtered, plan->T);
}

static ks_status evidence(ks_scan_device *d, const ks_smooth_plan *plan)
{
    KS_TRY(phase(d, KS_PHASE_evidence, plan->T));
    return ks_scan_device_sum(d, plan->T);
}

/** Repeat the forward scan with added round-off, and measure how far that moves the estimates. */
static ks_status ask_filter(ks_scan_device *d, const ks_smooth_plan *plan)
{
    KS_TRY(phase(d, KS_PHASE_rounded_filter, plan->T));
    KS_TRY(scan(d, plan->forward, d->filter_scan, d->forward_rounds));
    return phase(d, KS_PHASE_moved_filter, plan->T);
}

/** Repeat the reverse scan with added round-off, and measure how far that moves the estimates. */
static ks_status ask(ks_scan_device *d, const ks_smooth_plan *plan)
{
    const int rts = plan->method == KS_METHOD_SCAN_RTS;
    KS_TRY(phase(d, rts ? KS_PHASE_rounded : KS_PHASE_rounded_filter, plan->T));
    KS_TRY(scan(d, plan->reverse, rts ? d->smooth_scan : d->filter_scan, d->reverse_rounds));
    return phase(d, rts ? KS_PHASE_moved : KS_PHASE_moved_two_filter, plan->T);
}

ks_status ks_scan_device_begin(ks_scan_device *d)
{
    return ks_gpu_copy(d->gpu, d->status, d->status + 1, sizeof *d->status, d->stream);
}

ks_status ks_scan_device_enqueue(ks_scan_device *d, const ks_smooth_plan *plan, ks_run_part part)
{
    if (plan->method == KS_METHOD_BLOCKTRI) return ks_map_device_enqueue(d);
    if (part == KS_RUN_EVIDENCE) return evidence(d, plan);
    if (part == KS_RUN_FILTER_ROUNDING) return ask_filter(d, plan);
    if (part == KS_RUN_ROUNDING) return ask(d, plan);
    if (part == KS_RUN_MEETING) return meet(d, plan);
    KS_TRY(ks_scan_device_begin(d));
    if (part == KS_RUN_ASCENT) return ascend(d, plan);
    if (part == KS_RUN_DESCENT) return descend(d, plan);
    if (d->reruns) {
        KS_TRY(ks_chunks_enqueue(d));
        return ks_scan_device_sum(d, d->chunks.chunks);
    }
    KS_TRY(ascend(d, plan));
    KS_TRY(evidence(d, plan));
    if (plan->options.job != KS_JOB_SMOOTH) return KS_OK;
    KS_TRY(descend(d, plan));
    return meet(d, plan);
}

void ks_scan_device_forget(ks_scan_device *d)
{
    for (int i = 0; i < KS_RUN_PARTS; ++i) {
        ks_gpu_graph_destroy(d->gpu, d->part[i]);
        d->part[i] = NULL;
    }
}

/** Copy a plan's rounds to device memory. */
static ks_status take_rounds(ks_scan_device *d, const ks_scan_plan *plan, const ks_round **to)
{
    int64_t count = 0;
    void *memory = NULL;
    const ks_round *rounds = ks_scan_plan_rounds(plan, &count);
    const size_t bytes = (size_t)count * sizeof *rounds;
    if (count == 0 || d->blocks == KS_DEVICE_BLOCKS) return count == 0 ? KS_OK : KS_ENOMEM;
    KS_TRY(ks_gpu_alloc(d->gpu, &memory, bytes));
    d->block[d->blocks++] = memory;
    KS_TRY(ks_gpu_copy_in(d->gpu, memory, rounds, bytes, d->stream));
    KS_TRY(ks_gpu_stream_sync(d->gpu, d->stream));
    *to = memory;
    return KS_OK;
}

ks_status ks_scan_device_together(ks_scan_device *d, const ks_smooth_plan *plan, int together)
{
    for (; d; d = d->other) {
        d->forward_rounds = d->reverse_rounds = NULL;
        ks_scan_device_forget(d);
        if (!together) continue;
        if (d->reruns) {
            d->forward_rounds = d->border_rounds;
            continue;
        }
        KS_TRY(take_rounds(d, plan->forward, &d->forward_rounds));
        KS_TRY(take_rounds(d, plan->reverse, &d->reverse_rounds));
    }
    return KS_OK;
}

/** Discard the graphs if the arrays are not those that they were captured with. */
static void refresh(ks_scan_device *d)
{
    if (memcmp(&d->captured, &d->a, sizeof d->a) == 0) return;
    ks_scan_device_forget(d);
    memcpy(&d->captured, &d->a, sizeof d->a);
}

/** Launch a part of a run as a graph, which is captured first if there is none. */
static ks_status launch_part(ks_scan_device *d, const ks_smooth_plan *plan, ks_run_part part)
{
    if (!d->part[part]) {
        KS_TRY(ks_gpu_capture_begin(d->gpu, d->stream));
        const ks_status status = ks_scan_device_enqueue(d, plan, part);
        const ks_status ended = ks_gpu_capture_end(d->gpu, &d->part[part], d->stream);
        if (status != KS_OK && d->part[part]) {
            ks_gpu_graph_destroy(d->gpu, d->part[part]);
            d->part[part] = NULL;
        }
        KS_TRY(status);
        KS_TRY(ended);
    }
    return ks_gpu_graph_launch(d->gpu, d->part[part], d->stream);
}

ks_status ks_scan_device_report(ks_scan_device *d, ks_gpu_stream *stream)
{
    KS_TRY(ks_gpu_copy_out(d->gpu, &d->report->status, d->status, sizeof *d->status, stream));
    KS_TRY(ks_gpu_copy_out(d->gpu, &d->report->loglik, d->sums, sizeof *d->sums, stream));
    return ks_gpu_stream_sync(d->gpu, stream);
}

ks_status ks_scan_device_join(ks_scan_device *d, ks_scan_device *o, const ks_smooth_plan *plan,
                              ks_part_maker *make)
{
    KS_TRY(make(o, plan, KS_RUN_DESCENT));
    KS_TRY(ks_gpu_event_wait(o->gpu, d->done, o->stream));
    KS_TRY(ks_gpu_copy_across(o->gpu, d->gpu, d->a.elements, o->a.elements,
                              (size_t)plan->T * d->element, o->stream));
    KS_TRY(ks_gpu_event_record(o->gpu, o->done, o->stream));
    KS_TRY(make(d, plan, KS_RUN_EVIDENCE));
    KS_TRY(ks_gpu_event_wait(d->gpu, o->done, d->stream));
    return make(d, plan, KS_RUN_MEETING);
}

/** Run the scans of both directions, each on its device. */
static ks_status launch_pair(ks_scan_device *d, const ks_plan_run *run, int64_t b)
{
    const ks_smooth_plan *plan = run->plan;
    ks_scan_device *o = d->other;
    KS_TRY(launch_part(d, plan, KS_RUN_ASCENT));
    KS_TRY(ks_gpu_event_record(d->gpu, d->done, d->stream));
    KS_TRY(ks_scan_device_upload(o, run, b, 0, plan->T, KS_ROWS_STEADY | (b == 0 ? KS_ROWS_SHARED : 0)));
    refresh(o);
    KS_TRY(ks_scan_device_join(d, o, plan, launch_part));
    return ks_scan_device_report(o, o->stream);
}

/** Run the graphs, wait, and repeat scans that are suspect. */
static ks_status compute(ks_scan_device *d, const ks_plan_run *run, int64_t b)
{
    refresh(d);
    KS_TRY(d->other ? launch_pair(d, run, b) : launch_part(d, run->plan, KS_RUN_WHOLE));
    KS_TRY(ks_scan_device_report(d, d->stream));
    for (ks_run_part part = KS_RUN_FILTER_ROUNDING; part <= KS_RUN_ROUNDING; ++part) {
        if (!ks_scan_device_is_suspect(d, run->plan, part)) continue;
        KS_TRY(launch_part(d, run->plan, part));
        KS_TRY(ks_scan_device_report(d, d->stream));
    }
    return KS_OK;
}

static int is_good(const ks_scan_status *status)
{
    ks_scan_status good;
    memset(&good, KS_SCAN_GOOD, sizeof good);
    return status->bad == good.bad;
}

int ks_scan_device_is_suspect(const ks_scan_device *d, const ks_smooth_plan *plan, ks_run_part part)
{
    const ks_scan_status *status = &d->report->status;
    const int reverse = part == KS_RUN_ROUNDING;
    if (reverse && plan->options.job != KS_JOB_SMOOTH) return 0;
    return is_good(status) && (reverse && plan->method == KS_METHOD_SCAN_RTS ? status->sharp : status->doubts) > 0;
}

/** Convert the status of the phases to a tally. */
static ks_tally tally_of(const ks_scan_status *status)
{
    ks_tally tally = ks_tally_start();
    tally.ordinary = (int64_t)status->ordinary;
    tally.array = (int64_t)status->array;
    tally.missing = (int64_t)status->missing;
    tally.elements = (int64_t)status->elements;
    if (is_good(status)) return tally;
    tally.bad_step = (int64_t)(status->bad >> 24);
    tally.bad_array = (ks_array)(status->bad >> 19 & 31);
    tally.fault = (ks_fault)(status->bad >> 16 & 7);
    tally.bad_row = (int)(status->bad & 0xffff);
    if (status->sharp > 0 && tally.fault == KS_FAULT_NOT_FINITE) ks_blame_rounding(&tally);
    return tally;
}

static void count_scan(ks_info *info, const ks_scan_plan *plan)
{
    const ks_scan_stats stats = ks_scan_plan_stats(plan);
    info->rounds += plan->inside.rounds;
    info->combines += stats.combines;
}

int ks_scan_device_tell(const ks_scan_device *d, ks_plan_run *run, int64_t b)
{
    const ks_smooth_plan *plan = run->plan;
    for (const ks_scan_device *of = d; of; of = of->other) {
        const ks_scan_status *status = &of->report->status;
        const ks_tally tally = tally_of(status);
        ks_run_add(run, b, &tally);
        if (tally.fault == KS_FAULT_ILL_CONDITIONED)
            memcpy(&run->info->value, &status->moves, sizeof run->info->value);
        if (tally.bad_step >= 0) return -1;
    }
    if (d->reruns) {
        ks_chunks_count(d, plan->T, run->info);
    } else if (plan->forward) {
        count_scan(run->info, plan->forward);
        if (plan->reverse) count_scan(run->info, plan->reverse);
    }
    return 0;
}

/** compute() for the MAP route. A nested one has graphs of its own. */
static ks_status compute_map(ks_scan_device *d, ks_plan_run *run, int64_t b)
{
    refresh(d);
    KS_TRY(d->map.nested ? ks_map_device_enqueue(d) : launch_part(d, run->plan, KS_RUN_WHOLE));
    return ks_map_device_finish(d, run, b);
}

static ks_status run_series(ks_scan_device *d, ks_plan_run *run, int64_t b)
{
    const ks_smooth_plan *plan = run->plan;
    if (d->part_chunks || d->beside_chunks) {
        KS_TRY(d->part_chunks ? ks_parts_run(d, run, b) : ks_parts_run_beside(d, run, b));
        if (!ks_scan_device_tell(d, run, b)) ks_write_loglik(run, b, d->report->loglik);
        return KS_OK;
    }
    KS_TRY(ks_scan_device_upload(d, run, b, 0, run->plan->T, KS_ROWS_STEADY | (b == 0 ? KS_ROWS_SHARED : 0)));
    if (plan->method == KS_METHOD_BLOCKTRI) {
        KS_TRY(compute_map(d, run, b));
        if (run->info->step >= 0) return KS_OK;
    } else {
        KS_TRY(compute(d, run, b));
        if (ks_scan_device_tell(d, run, b)) return KS_OK;
    }
    ks_write_loglik(run, b, d->report->loglik);
    return ks_scan_device_download(d, &d->a, run, b, 0, run->plan->T);
}

void ks_scan_device_run(ks_plan_run *run)
{
    const ks_smooth_plan *plan = run->plan;
    ks_scan_device *d = plan->device;
    run->info->threads = d->stage.workers;
    run->info->scan = plan->options.scan;
    run->info->order = ks_smooth_plan_order(plan);
    run->total = plan->T * plan->B;
    ks_lock_acquire(&d->lock);
    for (int64_t b = 0; b < plan->B && run->info->step < 0; ++b) {
        const ks_status status = run_series(d, run, b);
        if (status != KS_OK) {
            run->info->status = status;
            run->info->device_code = d->gpu->code ? d->gpu->code : d->other ? d->other->gpu->code : 0;
            break;
        }
        if (ks_run_progress(run, plan->T)) break;
    }
    ks_lock_release(&d->lock);
}
