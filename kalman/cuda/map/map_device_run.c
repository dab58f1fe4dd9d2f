/* map_device_run.c -- the MAP route on a device: what is enqueued, and how results are judged and corrected, as in
 * map.c on the CPU. */
#include <math.h>
#include <string.h>
#include "cuda/cuda_plan.h"
#include "map.h"
#include "map_limits.h"
#include "scan_device.h"

static ks_sink sink_at(double *base, int64_t numbers)
{
    const ks_sink sink = { (char *)base, numbers * (int64_t)sizeof(double), 0 };
    return sink;
}

/** Choose where the results are computed. */
static void place(ks_scan_device *d)
{
    ks_map_device *map = &d->map;
    ks_map_arrays *m = &map->args.m;
    const int64_t n = d->a.series.nx;
    m->a = d->a;
    m->x = map->x ? sink_at(map->x, n) : d->a.back.smoothed_mean;
    m->S = map->S ? sink_at(map->S, n * n) : d->a.back.smoothed_cov;
    m->lag = map->lag ? sink_at(map->lag, n * n) : d->a.back.lag_one_cov;
    map->args.status = d->status;
    map->args.loglik = d->sums;
}

/** Launch a kernel with `count` pieces of work, with teams or with single threads. */
static ks_status run_teams(const ks_scan_device *d, int kernel, int64_t count, ks_map_args *args)
{
    const ks_map_device *map = &d->map;
    const int64_t teams = count < map->teams ? count : map->teams, wanted = (count + teams - 1) / teams;
    const int64_t most = map->blocks ? map->blocks : INT32_MAX;
    const ks_gpu_shape shape = { { (unsigned)(wanted < most ? wanted : most) },
                                 { (unsigned)map->team, (unsigned)teams },
                                 map->blocks ? 0 : (size_t)(teams * args->slice), 0 };
    const size_t far = (size_t)ks_map_far_numbers((int)args->m.a.series.nx) * sizeof(double);
    const ks_gpu_shape alone = { { (unsigned)((count + map->threads - 1) / map->threads) },
                                 { (unsigned)map->threads }, far * (size_t)map->threads, 0 };
    args->count = count;
    args->phase = kernel;
    if (ks_map_alone(map, kernel))
        return ks_gpu_launch(d->gpu, map->kernel[kernel], &alone, args, sizeof *args, d->stream);
    return ks_gpu_launch(d->gpu, map->kernel[kernel], &shape, args, sizeof *args, d->stream);
}

/** Launch a kernel with a thread for each number. */
static ks_status run_threads(const ks_scan_device *d, int kernel, int64_t numbers, const ks_map_args *args)
{
    const int64_t wanted = (numbers + KS_MAP_THREADS - 1) / KS_MAP_THREADS, most = 1024;
    const ks_gpu_shape shape = { { (unsigned)(wanted < most ? wanted : most) }, { KS_MAP_THREADS }, 0, 0 };
    return ks_gpu_launch(d->gpu, d->map.kernel[kernel], &shape, args, sizeof *args, d->stream);
}

static ks_map_args pieces_of(const ks_map_device *map)
{
    ks_map_args args = map->args;
    args.size = map->size;
    args.here = map->level[0];
    return args;
}

/** Solve by segments: the means from the model's right-hand side, or `side` in place. */
static ks_status solve_segments(const ks_scan_device *d, double *side)
{
    const ks_map_device *map = &d->map;
    ks_map_args args = pieces_of(map), between = args;
    args.side = side;
    if (side) args.m.x = sink_at(side, d->a.series.nx);
    KS_TRY(run_teams(d, KS_MAP_REDUCE, map->pieces, &args));
    for (int i = 0; i + 1 < map->levels; ++i) {
        between.here = map->level[i];
        between.above = map->level[i + 1];
        KS_TRY(run_teams(d, KS_MAP_COMBINE, between.above.count, &between));
        between.size *= KS_MAP_GROUP;
    }
    for (int i = map->levels - 1; i >= 0; --i) {
        const ks_map_level none = { 0, NULL, NULL, NULL };
        between.here = map->level[i];
        between.above = i + 1 < map->levels ? map->level[i + 1] : none;
        KS_TRY(run_teams(d, KS_MAP_SPREAD, i + 1 < map->levels ? between.above.count : 1, &between));
        between.size /= KS_MAP_GROUP;
    }
    return run_teams(d, KS_MAP_RERUN, map->pieces, &args);
}

/** Solve in place with the factor that the nested solver holds. */
static ks_status solve_nested(const ks_scan_device *d, int columns, double *side)
{
    const int64_t n = d->a.series.nx * (int64_t)columns;
    const ks_cuda_const_blocks b = { side, n, 0 };
    const ks_cuda_blocks x = { side, n, 0 };
    return ks_blocktri_cuda_solve(d->map.nest, columns, b, x, d->stream);
}

static ks_cuda_blocks blocks_of(ks_sink sink, int64_t first)
{
    const ks_cuda_blocks blocks = { sink.base ? sink.base + first * sink.stride : NULL,
                                    sink.stride / (int64_t)sizeof(double), 0 };
    return blocks;
}

/** Assemble, factor, solve, invert. */
static ks_status nest(const ks_scan_device *d)
{
    const ks_map_device *map = &d->map;
    ks_map_args args = pieces_of(map);
    const ks_map_arrays *m = &args.m;
    const int64_t n = d->a.series.nx, T = d->a.series.steps;
    const ks_cuda_const_blocks D = { m->D.base, n * n, 0 }, L = { m->L.base, n * n, 0 };
    const ks_cuda_blocks x = blocks_of(m->x, 0);
    const ks_cuda_const_blocks b = { x.data, x.stride, 0 };
    KS_TRY(run_teams(d, KS_MAP_ASSEMBLE, map->pieces, &args));
    KS_TRY(run_threads(d, KS_MAP_PROBE, T * n * m->probes, &args));
    KS_TRY(ks_blocktri_cuda_factor_solve(map->nest, D, L, 1, b, x, d->stream));
    KS_TRY(solve_nested(d, m->probes, m->z));
    KS_TRY(ks_bt_enqueue_logdet(map->nest, d->stream));
    return ks_blocktri_cuda_inverse_blocks(map->nest, blocks_of(m->S, 0), blocks_of(m->lag, 1),
                                           map->nest_work, d->stream);
}

/** Compute residuals and the log-likelihood, and store the results. */
static ks_status review(const ks_scan_device *d, int probing)
{
    const ks_map_device *map = &d->map;
    ks_map_args args = pieces_of(map);
    args.probing = probing;
    const ks_gpu_shape total = { { 1 }, { KS_MAP_TOTAL_THREADS }, 0, 0 };
    KS_TRY(run_teams(d, KS_MAP_REVIEW, map->pieces, &args));
    return ks_gpu_launch(d->gpu, map->kernel[KS_MAP_TOTAL], &total, &args, sizeof args, d->stream);
}

/** Compute row 0 of the lag-one covariances and the smoothed prior, with one thread. */
static ks_status start(const ks_scan_device *d)
{
    const ks_map_arrays *m = &d->map.args.m;
    const ks_gpu_shape shape = { { 1 }, { 1 }, 0, 0 };
    ks_scan_phase_args args;
    if (!d->map.start) return KS_OK;
    memset(&args, 0, sizeof args);
    args.arrays = d->a;
    args.arrays.smoothed.mean = m->x.base;
    args.arrays.smoothed.cov = m->S.base;
    args.end = 1;
    args.phase = KS_MAP_KERNELS;
    args.status = d->status;
    args.memory = d->scratch;
    args.slice = d->slice;
    args.scratch = d->arithmetic;
    return ks_gpu_launch(d->gpu, d->map.start, &shape, &args, sizeof args, d->stream);
}

ks_status ks_map_device_enqueue(ks_scan_device *d)
{
    place(d);
    ks_map_args args = pieces_of(&d->map);
    KS_TRY(ks_scan_device_begin(d));
    KS_TRY(ks_gpu_fill(d->gpu, args.lost, KS_SCAN_GOOD, sizeof *args.lost, d->stream));
    KS_TRY(run_teams(d, KS_MAP_PRIOR, 1, &args));
    KS_TRY(d->map.nested ? nest(d) : solve_segments(d, NULL));
    KS_TRY(review(d, d->map.nested));
    return start(d);
}

/** Copy back what a review found, and wait. */
static ks_status report(ks_scan_device *d)
{
    const ks_map_device *map = &d->map;
    ks_map_report *to = map->report;
    KS_TRY(ks_gpu_copy_out(d->gpu, &to->found, map->args.found + map->pieces, sizeof to->found, d->stream));
    KS_TRY(ks_gpu_copy_out(d->gpu, &to->lost, map->args.lost, sizeof to->lost, d->stream));
    return ks_scan_device_report(d, d->stream);
}

static void refuse(ks_plan_run *run, int64_t b, ks_array array, ks_fault fault, int64_t step, int row)
{
    ks_tally tally = ks_tally_start();
    tally.bad_step = step;
    tally.bad_row = row;
    tally.bad_array = array;
    tally.fault = fault;
    ks_run_add(run, b, &tally);
}

/** Solve for probes by segments, to measure the loss that is only bounded without them. */
static ks_status probe_segments(ks_scan_device *d)
{
    const ks_map_arrays *m = &d->map.args.m;
    const int64_t numbers = d->a.series.steps * d->a.series.nx;
    const ks_map_args args = pieces_of(&d->map);
    KS_TRY(run_threads(d, KS_MAP_PROBE, numbers * m->probes, &args));
    for (int p = 0; p < m->probes; ++p) KS_TRY(solve_segments(d, m->z + p * numbers));
    KS_TRY(review(d, 1));
    return report(d);
}

/** Subtract the solution for the gradient from the means. */
static ks_status correct(ks_scan_device *d)
{
    const ks_map_args args = pieces_of(&d->map);
    const int64_t numbers = d->a.series.steps * d->a.series.nx;
    KS_TRY(d->map.nested ? solve_nested(d, 1, args.m.gradient) : solve_segments(d, args.m.gradient));
    KS_TRY(run_threads(d, KS_MAP_CORRECT, numbers, &args));
    KS_TRY(review(d, 0));
    KS_TRY(start(d));
    return report(d);
}

/** Whether a step's block is not positive definite. If so, the run is refused. */
static int lost(const ks_scan_device *d, ks_plan_run *run, int64_t b)
{
    ks_blocktri_cuda_info info = KS_BLOCKTRI_CUDA_INFO_INIT;
    unsigned long long none;
    memset(&none, KS_SCAN_GOOD, sizeof none);
    if (d->map.nested) {
        if (ks_blocktri_cuda_wait(d->map.nest, &info, d->stream) != KS_ENOTPD) return 0;
        refuse(run, b, KS_ARRAY_HESSIAN, KS_FAULT_NOT_POSITIVE, info.block, info.pivot);
        return 1;
    }
    if (d->map.report->lost == none) return 0;
    refuse(run, b, KS_ARRAY_HESSIAN, KS_FAULT_NOT_POSITIVE, (int64_t)d->map.report->lost, -1);
    return 1;
}

ks_status ks_map_device_finish(ks_scan_device *d, ks_plan_run *run, int64_t b)
{
    const ks_precision precision = run->plan->options.precision;
    const ks_map_found *found = &d->map.report->found;
    place(d);
    KS_TRY(report(d));
    if (ks_scan_device_tell(d, run, b) || lost(d, run, b)) return KS_OK;
    if (!d->map.nested) {
        if (found->bad_step < 0 && isfinite(found->logs) &&
            ks_map_bounds_do(precision, found->loss, found->inflation, found->gradient)) {
            run->info->ordinary_steps += 2 * run->plan->T;
            return KS_OK;
        }
        KS_TRY(probe_segments(d));
    }
    const double loss = found->loss, error = loss * ks_unit_roundoff(0);
    if (error > ks_map_worst_error(precision)) {
        run->info->value = error;
        refuse(run, b, KS_ARRAY_HESSIAN, KS_FAULT_ILL_CONDITIONED, found->lost_step, -1);
        return KS_OK;
    }
    for (int i = 0; i < KS_MAP_REFINEMENTS && ks_map_may_move(precision, loss, found->gradient); ++i)
        KS_TRY(correct(d));
    if (found->bad_step >= 0)
        refuse(run, b, KS_ARRAY_ESTIMATE, KS_FAULT_NOT_FINITE, found->bad_step, -1);
    return KS_OK;
}
