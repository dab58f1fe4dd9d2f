/* scan_device_resident.c -- runs on arrays in the device's memory; see smooth_cuda.h. */
#include <math.h>
#include <string.h>
#include "kalscan/smooth_cuda.h"
#include "scan_device.h"

static ks_scan_device *device_of(const ks_smooth_plan *plan)
{
    return plan ? plan->device : NULL;
}

static ks_gpu_stream *stream_of(const ks_scan_device *d, void *stream)
{
    return stream ? stream : d->stream;
}

/** Whether the kernels for small models can access these rows: contiguous, and aligned to 16 bytes. */
static int regular(const void *base, int64_t stride, int64_t row)
{
    return !base || ((uintptr_t)base % 16 == 0 && (stride == 0 || stride == row));
}

static int all_regular(const ks_scan_arrays *a)
{
    const ks_series *s = &a->series;
    const int64_t number = a->single ? (int64_t)sizeof(float) : (int64_t)sizeof(double);
    const int64_t cov = a->single_cov ? (int64_t)sizeof(float) : (int64_t)sizeof(double);
    const int64_t n = s->nx * number, nn = s->nx * n, m = s->ny * number;
    const int64_t var = s->nx * cov, square = s->nx * var;
    const struct { const void *base; int64_t stride, row; } all[] = {
        { s->F.base, s->F.stride, nn }, { s->Q.base, s->Q.stride, nn }, { s->u.base, s->u.stride, n },
        { s->H.base, s->H.stride, s->ny * n }, { s->R.base, s->R.stride, s->ny * m },
        { s->d.base, s->d.stride, m }, { s->y.base, s->y.stride, m }, { s->m0, 0, n },
        { s->P0, 0, nn },
        { a->to.predicted_mean.base, a->to.predicted_mean.stride, n },
        { a->to.predicted_cov.base, a->to.predicted_cov.stride, square },
        { a->to.predicted_var.base, a->to.predicted_var.stride, var },
        { a->to.filtered_mean.base, a->to.filtered_mean.stride, n },
        { a->to.filtered_cov.base, a->to.filtered_cov.stride, square },
        { a->to.filtered_var.base, a->to.filtered_var.stride, var },
        { a->to.innovation.base, a->to.innovation.stride, m },
        { a->to.innovation_std.base, a->to.innovation_std.stride, m },
        { a->to.innovation_cov.base, a->to.innovation_cov.stride, s->ny * s->ny * cov },
        { a->back.smoothed_mean.base, a->back.smoothed_mean.stride, n },
        { a->back.smoothed_cov.base, a->back.smoothed_cov.stride, square },
        { a->back.smoothed_var.base, a->back.smoothed_var.stride, var },
        { a->back.lag_one_cov.base, a->back.lag_one_cov.stride, square },
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i)
        if (!regular(all[i].base, all[i].stride, all[i].row)) return 0;
    return 1;
}

/** Replace the plan's arrays by those that the caller gives. */
static void take_over(ks_scan_device *d, const ks_plan_run *run)
{
    ks_scan_arrays *a = &d->a;
    const ks_rows u = { a->series.u.base, 0 }, zero_d = { a->series.d.base, 0 };
    ks_series_of(run, 0, &a->series);
    if (!run->model->u.data) a->series.u = u;
    if (!run->model->d.data) a->series.d = zero_d;
    a->to = ks_forward_sinks_of(run, 0);
    a->back = ks_backward_sinks_of(run, 0);
    a->prior_mean = ks_mean_out_of(run, run->outputs->prior_mean, 0);
    a->prior_cov = ks_sink_of(run, run->outputs->prior_cov, 0);
}

/** Fill absent inputs with zeros. */
static ks_status clear_absent(ks_scan_device *d, const ks_plan_run *run)
{
    const size_t number = run->plan->mean_bytes;
    ks_status status = KS_OK;
    if (!run->model->u.data)
        status = ks_gpu_fill(d->gpu, (void *)(uintptr_t)d->a.series.u.base, 0,
                             (size_t)run->plan->nx * number, d->stream);
    if (status == KS_OK && !run->model->d.data)
        status = ks_gpu_fill(d->gpu, (void *)(uintptr_t)d->a.series.d.base, 0,
                             (size_t)run->plan->ny * number, d->stream);
    return status;
}

/** Enqueue the scans of both directions, each on its device. The caller's arrays are in the first one's memory. */
static ks_status enqueue_pair(ks_scan_device *here, const ks_smooth_plan *plan)
{
    ks_scan_device there = *here->other;
    KS_TRY(ks_scan_device_across(here, &there, plan));
    KS_TRY(ks_scan_device_enqueue(here, plan, KS_RUN_ASCENT));
    KS_TRY(ks_gpu_event_record(here->gpu, here->done, here->stream));
    return ks_scan_device_join(here, &there, plan, ks_scan_device_enqueue);
}

/** Repeat a suspect scan with added round-off, on the arrays of the last run. */
static ks_status ask(const ks_scan_device *d, const ks_smooth_plan *plan, ks_run_part part, ks_gpu_stream *where)
{
    ks_scan_device here = *d;
    here.a = d->map.resident;
    here.stream = where;
    KS_TRY(ks_scan_device_enqueue(&here, plan, part));
    return ks_scan_device_report(&here, where);
}

/** Wait for the stream, and copy back the status of both devices. */
static ks_status report_all(ks_scan_device *d, const ks_smooth_plan *plan, ks_gpu_stream *where)
{
    KS_TRY(ks_scan_device_report(d, where));
    for (ks_run_part part = KS_RUN_FILTER_ROUNDING; part <= KS_RUN_ROUNDING; ++part)
        if (ks_scan_device_is_suspect(d, plan, part)) KS_TRY(ask(d, plan, part, where));
    return d->other ? ks_scan_device_report(d->other, d->other->stream) : KS_OK;
}

ks_status ks_smooth_cuda_enqueue(const ks_smooth_plan *plan, const ks_model *model, ks_view y,
                                 const ks_outputs *outputs, void *stream)
{
    ks_scan_device *d = device_of(plan);
    ks_array wrong;
    if (!d || d->part_chunks || plan->B != 1 || !ks_valid_run(plan, model, y, outputs, &wrong)) return KS_EINVAL;
    ks_plan_run run;
    memset(&run, 0, sizeof run);
    const ks_model plain = ks_plain_model(plan, model);
    run.plan = plan;
    run.model = &plain;
    run.y = y;
    run.outputs = outputs;
    /* A copy for this call, because its stream and arrays are not the plan's. */
    ks_scan_device here = *d;
    here.stream = stream_of(d, stream);
    take_over(&here, &run);
    /* Kernels for teams read any rows; those for small models do not. */
    const int irregular = !all_regular(&here.a);
    if (!d->team.lanes && irregular) here.fast_absorb = here.fast_filter = here.fast_smooth = NULL;
    if (irregular) here.wide_absorb = here.wide_filter = NULL;
    if (!d->team_border.lanes && irregular) here.fast_border = NULL;
    if (irregular) memset(here.ordinary, 0, sizeof here.ordinary);
    /* The wait may have to continue the MAP route or to repeat suspect scans on these arrays. */
    d->map.resident = here.a;
    d->map.resident_loglik = outputs->loglik.data;
    /* Kernels write terms of the log-likelihood of stored elements to the plan's own array, and to the caller's. */
    ks_status status = clear_absent(&here, &run);
    if (status == KS_OK)
        status = d->other ? enqueue_pair(&here, plan) : ks_scan_device_enqueue(&here, plan, KS_RUN_WHOLE);
    if (status == KS_OK && outputs->loglik.data)
        status = ks_gpu_copy(d->gpu, outputs->loglik.data, d->sums, sizeof *d->sums, here.stream);
    return status;
}

/** Wait for a run of the MAP route. It continues here if what was enqueued does not suffice. */
static ks_status finish_map(const ks_scan_device *d, ks_plan_run *run, ks_gpu_stream *where)
{
    ks_scan_device here = *d;
    here.a = d->map.resident;
    here.stream = where;
    if (here.a.series.steps < 1) return KS_EINVAL;
    KS_TRY(ks_map_device_finish(&here, run, 0));
    if (d->map.resident_loglik)
        KS_TRY(ks_gpu_copy(d->gpu, d->map.resident_loglik, d->sums, sizeof *d->sums, where));
    return ks_gpu_stream_sync(d->gpu, where);
}

ks_status ks_smooth_cuda_wait(const ks_smooth_plan *plan, ks_info *info, void *stream)
{
    ks_scan_device *d = device_of(plan);
    ks_info said = KS_INFO_INIT;
    if (info && info->size != sizeof *info) return KS_EINVAL;
    if (info) *info = said;
    if (!d) return info ? info->status = KS_EINVAL : KS_EINVAL;
    ks_gpu_stream *where = stream_of(d, stream);
    ks_plan_run run;
    memset(&run, 0, sizeof run);
    run.plan = plan;
    run.info = &said;
    said.method = plan->method;
    said.backend = KS_BACKEND_CUDA;
    said.scan = plan->options.scan;
    said.order = ks_smooth_plan_order(plan);
    said.threads = 1;
    const int map = plan->method == KS_METHOD_BLOCKTRI;
    ks_status status = map ? finish_map(d, &run, where) : report_all(d, plan, where);
    if (status == KS_OK) {
        if (!map) ks_scan_device_tell(d, &run, 0);
        status = said.status;
        if (status == KS_OK && !isfinite(d->report->loglik)) {
            status = KS_ENONFINITE;
            said.array = KS_ARRAY_LOGLIK;
            said.fault = KS_FAULT_NOT_FINITE;
            said.series = 0;
            said.step = plan->T - 1;
        }
    } else {
        said.device_code = d->gpu->code ? d->gpu->code : d->other ? d->other->gpu->code : 0;
    }
    said.status = status;
    if (info) *info = said;
    return status;
}

ks_status ks_smooth_cuda_alloc(const ks_smooth_plan *plan, void **out, size_t bytes)
{
    if (!out) return KS_EINVAL;
    *out = NULL;
    return device_of(plan) ? ks_gpu_alloc(plan->device->gpu, out, bytes) : KS_EINVAL;
}

void ks_smooth_cuda_free(const ks_smooth_plan *plan, void *memory)
{
    if (device_of(plan)) ks_gpu_free(plan->device->gpu, memory);
}

ks_status ks_smooth_cuda_upload(const ks_smooth_plan *plan, void *device, const void *host,
                                size_t bytes)
{
    const ks_scan_device *d = device_of(plan);
    if (!d || (bytes && (!device || !host))) return KS_EINVAL;
    const ks_status status = ks_gpu_copy_in(d->gpu, device, host, bytes, d->stream);
    const ks_status waited = ks_gpu_stream_sync(d->gpu, d->stream);
    return status != KS_OK ? status : waited;
}

ks_status ks_smooth_cuda_download(const ks_smooth_plan *plan, void *host, const void *device,
                                  size_t bytes)
{
    const ks_scan_device *d = device_of(plan);
    if (!d || (bytes && (!device || !host))) return KS_EINVAL;
    const ks_status status = ks_gpu_copy_out(d->gpu, host, device, bytes, d->stream);
    const ks_status waited = ks_gpu_stream_sync(d->gpu, d->stream);
    return status != KS_OK ? status : waited;
}
