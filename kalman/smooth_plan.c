/* smooth_plan.c -- making plans: checks the options, chooses the method, measures the workspace. */
#include <limits.h>
#include <math.h>
#include "cpu.h"
#include "scan_device.h"
#include "smooth_plan.h"

/* Outputs that only a smoother makes. */
#define SMOOTHED                                                                            \
    (KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_SMOOTHED_VAR | KS_OUT_LAG_ONE_COV | \
     KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV)
/* Outputs of a step that depend only on the observations up to it. Methods that start from both ends, or that take all
 * steps together, do not make them. */
#define FILTERED                                                                            \
    (EVERY_OUTPUT & ~(unsigned)(SMOOTHED | KS_OUT_LOGLIK))
#define EVERY_OUTPUT ((1u << 17) - 1)

/** The name of the first argument or option that is not valid by itself, or that does not go with job, method and
 *  backend; NULL if there is none. */
static const char *not_valid(int64_t T, int64_t B, int nx, int ny, const ks_smooth_options *o)
{
    if (T < 1) return "T";
    if (B < 1) return "B";
    if (nx < 1) return "nx";
    if (ny < 1) return "ny";
    if (o->size != sizeof *o) return "size";
    if (o->job != KS_JOB_SMOOTH && o->job != KS_JOB_FILTER) return "job";
    if (!ks_method_name(o->method)) return "method";
    if (o->precision != KS_F64 && o->precision != KS_F32 && o->precision != KS_MIXED) return "precision";
    if (o->outputs & ~(o->job == KS_JOB_SMOOTH ? EVERY_OUTPUT : FILTERED | KS_OUT_LOGLIK)) return "outputs";
    if (!ks_scan_name(o->scan)) return "scan";
    if (o->scan_threshold < (o->scan == KS_SCAN_SENGUPTA ? 1 : 0)) return "scan_threshold";
    if (o->threads < 0) return "threads";
    if (!ks_is_tier(o->tier)) return "tier";
    if (!ks_blocktri_order_name(o->order)) return "order";
    if (!ks_backend_name(o->backend)) return "backend";
    if (o->device < 0) return "device";
    if (o->second_device < -1 || (o->second_device >= 0 && (o->method != KS_METHOD_SCAN_TWO_FILTER ||
                                                            o->backend == KS_BACKEND_CPU)))
        return "second_device";
    return ks_steady_state_name(o->steady_state) ? NULL : "steady_state";
}

/** The method that will run; KS_METHOD_AUTO if the job does not have the method asked for. */
static ks_method choose(const ks_smooth_options *o)
{
    switch (o->method) {
    case KS_METHOD_AUTO:
        if (o->backend == KS_BACKEND_CUDA)
            return o->job == KS_JOB_FILTER ? KS_METHOD_SCAN : KS_METHOD_SCAN_RTS;
        /* On one CPU thread a scan does several times the work of the sequential method, which takes every model that
         * a scan takes. For more threads see automatic.c. */
        return KS_METHOD_SEQUENTIAL;
    case KS_METHOD_SEQUENTIAL: return KS_METHOD_SEQUENTIAL;
    case KS_METHOD_TWO_ENDED:
    case KS_METHOD_BLOCKTRI:
        return o->job == KS_JOB_SMOOTH && !(o->outputs & FILTERED) ? o->method : KS_METHOD_AUTO;
    case KS_METHOD_SCAN: return o->job == KS_JOB_FILTER ? o->method : KS_METHOD_AUTO;
    case KS_METHOD_SCAN_RTS:
    case KS_METHOD_SCAN_TWO_FILTER:
        return o->job == KS_JOB_SMOOTH ? o->method : KS_METHOD_AUTO;
    default: return KS_METHOD_AUTO;
    }
}

static int addressable(int64_t T, int64_t B, int nx, int ny)
{
    const int64_t most = nx > ny ? nx : ny;
    if (most >= INT_MAX / 64 / most) return 0;
    const int64_t block = most * most * (int64_t)sizeof(double);
    return T <= PTRDIFF_MAX / block && B <= PTRDIFF_MAX / block / T;
}

static int is_scan(ks_method method)
{
    return method == KS_METHOD_SCAN || method == KS_METHOD_SCAN_RTS ||
           method == KS_METHOD_SCAN_TWO_FILTER;
}

/** Whether a device has the method, in the precision asked for. */
static int on_device(const ks_smooth_options *o, ks_method method, int nx)
{
    /* Scans that store elements compute in double in every precision, so that there is nothing to mix. */
    if (o->precision == KS_MIXED)
        return o->scan == KS_SCAN_CHUNKED && (method == KS_METHOD_SCAN || method == KS_METHOD_SCAN_RTS);
    return is_scan(method) || (method == KS_METHOD_BLOCKTRI && ks_map_device_takes(o, nx));
}

/** Whether the CPU has the method, in the precision asked for. */
static int on_host(const ks_smooth_options *o, ks_method method)
{
    return method == KS_METHOD_SEQUENTIAL || o->precision != KS_MIXED;
}

const char *ks_smooth_plan_invalid(int64_t T, int64_t B, int nx, int ny, const ks_smooth_options *options)
{
    const ks_smooth_options defaults = KS_SMOOTH_OPTIONS_INIT;
    const ks_smooth_options *o = options ? options : &defaults;
    const char *name = not_valid(T, B, nx, ny, o);
    if (name) return name;
    const ks_method method = choose(o);
    if (method == KS_METHOD_AUTO) return o->job == KS_JOB_SMOOTH && o->method != KS_METHOD_SCAN ? "outputs" : "method";
    const int device = o->backend != KS_BACKEND_CPU && on_device(o, method, nx);
    if (!device && !on_host(o, method)) return "precision";
    return device || o->backend != KS_BACKEND_CUDA ? NULL : o->precision == KS_MIXED ? "precision" : "backend";
}

/** Why a plan whose method is not for a device runs on the CPU. KS_METHOD_AUTO would be a scan on a device: either it
 *  is not worth while there, or there is no device. Opening a device takes longer than such a plan is worth, so only
 *  what is known without doing so counts. */
static ks_status declined(const ks_smooth_plan *plan)
{
    ks_smooth_options there = plan->options;
    there.backend = KS_BACKEND_CUDA;
    return on_device(&there, choose(&there), plan->nx) && ks_gpu_absent(there.device) ? KS_ENODEV : KS_EINVAL;
}

/** Plan the method on the device, if it is to run there. Otherwise, or if the device declines, leave it to the CPU. */
static ks_status plan_device(ks_smooth_plan *plan)
{
    const ks_backend backend = plan->options.backend;
    if (backend == KS_BACKEND_CPU) return KS_OK;
    const ks_status status = on_device(&plan->options, plan->method, plan->nx)
                                 ? ks_scan_device_create(&plan->device, plan)
                                 : declined(plan);
    if (backend == KS_BACKEND_CUDA || !on_host(&plan->options, plan->method)) return status;
    plan->declined = status;
    return KS_OK;
}

/** Make what the plan's scans need, on the device if they are to run there. */
static ks_status plan_scans(ks_smooth_plan *plan)
{
    ks_status status = ks_scan_plans(plan);
    if (status == KS_OK) status = plan_device(plan);
    plan->workers = plan->device ? 1 : ks_workers(plan->context, plan->options.threads, plan->T);
    if (status == KS_OK && !plan->device) plan->workspace = ks_scan_method_workspace(plan);
    return status;
}

/** Make the scan in chunks that a plan of KS_METHOD_AUTO may run. */
static ks_status plan_chunked(ks_smooth_plan *plan, ks_backend backend)
{
    ks_smooth_options o = plan->options;
    o.method = o.job == KS_JOB_FILTER ? KS_METHOD_SCAN : KS_METHOD_SCAN_RTS;
    o.scan = KS_SCAN_CHUNKED;
    o.backend = backend;
    const ks_status status =
        ks_smooth_plan_create(&plan->chunked, plan->context, plan->T, plan->B, plan->nx, plan->ny, &o);
    if (status == KS_OK && plan->chunked->workspace > plan->workspace)
        plan->workspace = plan->chunked->workspace;
    plan->automatic |= status == KS_OK;
    return status;
}

/** Make what runs of a plan of KS_METHOD_AUTO try before its method: a scan in chunks on a device or
 *  on many threads. */
static ks_status plan_automatic(ks_smooth_plan *plan)
{
    if (ks_automatic_offloads(plan)) plan->declined = plan_chunked(plan, KS_BACKEND_CUDA);
    return !plan->chunked && ks_automatic_scans(plan) ? plan_chunked(plan, KS_BACKEND_CPU) : KS_OK;
}

/** Workers and workspace of a method on the CPU. */
static ks_status plan_host(ks_smooth_plan *plan)
{
    const ks_smooth_options *o = &plan->options;
    ks_status status = KS_OK;
    if (o->method == KS_METHOD_AUTO && ks_automatic_tries(plan)) {
        plan->method = KS_METHOD_TWO_ENDED;
        plan->automatic = 1;
        plan->workers = 2;
        plan->workspace = ks_two_ended_workspace(plan);
    } else if (plan->method == KS_METHOD_SEQUENTIAL) {
        plan->packs = ks_packs_for(o->precision, o->tier, plan->B, plan->nx);
        plan->workers = ks_workers(plan->context, o->threads, ks_sequential_groups(plan));
        plan->workspace = ks_sequential_workspace(plan);
    } else if (plan->method == KS_METHOD_TWO_ENDED) {
        plan->workers = ks_workers(plan->context, o->threads, 2 * plan->B);
        plan->workspace = ks_two_ended_workspace(plan);
    } else if (plan->method == KS_METHOD_BLOCKTRI) {
        plan->workers = ks_workers(plan->context, o->threads, plan->T);
        status = ks_map_plan(plan);
        if (status == KS_OK) plan->workspace = ks_map_workspace(plan);
    }
    return status == KS_OK && o->method == KS_METHOD_AUTO ? plan_automatic(plan) : status;
}

static ks_smooth_plan plan_of(ks_context *context, int64_t T, int64_t B, int nx, int ny,
                              const ks_smooth_options *o)
{
    ks_smooth_plan plan = { 0 };
    plan.context = context;
    plan.T = T;
    plan.B = B;
    plan.nx = nx;
    plan.ny = ny;
    plan.options = *o;
    plan.method = choose(o);
    plan.kernels = ks_kernels_for(o->precision, o->tier, nx, ny);
    plan.mean_bytes = o->precision == KS_F32 ? sizeof(float) : sizeof(double);
    plan.aggregates = ks_kernels_for(KS_F64, o->tier, nx, ny);
    /* The number of checkpoints plus the steps between two of them is least if both are sqrt(T). */
    plan.segment = (int64_t)ceil(sqrt((double)T));
    return plan;
}

ks_status ks_smooth_plan_create(ks_smooth_plan **out, ks_context *context, int64_t T, int64_t B,
                                int nx, int ny, const ks_smooth_options *options)
{
    const ks_smooth_options defaults = KS_SMOOTH_OPTIONS_INIT;
    const ks_smooth_options *o = options ? options : &defaults;
    if (!out) return KS_EINVAL;
    *out = NULL;
    if (ks_smooth_plan_invalid(T, B, nx, ny, o)) return KS_EINVAL;
    const ks_method method = choose(o);
    if (!addressable(T, B, nx, ny)) return KS_ENOMEM;
    if (!ks_kernels_of(o->precision, o->tier)) return KS_EUNAVAILABLE;

    ks_smooth_plan *plan = ks_allocate(context, sizeof *plan);
    if (!plan) return KS_ENOMEM;
    *plan = plan_of(context, T, B, nx, ny, o);
    ks_status status = KS_OK;
    if (is_scan(method)) status = plan_scans(plan);
    else {
        status = plan_device(plan);
        if (status == KS_OK && !plan->device) status = plan_host(plan);
    }
    const size_t zeros = (size_t)(nx > ny ? nx : ny) * sizeof(double) + 2 * KS_CARVE_ALIGNMENT;
    if (status == KS_OK && plan->workspace > PTRDIFF_MAX - zeros) status = KS_ENOMEM;
    if (status != KS_OK) {
        ks_smooth_plan_destroy(plan);
        return status;
    }
    plan->workspace = (plan->workspace + zeros) / KS_CARVE_ALIGNMENT * KS_CARVE_ALIGNMENT;
    *out = plan;
    return KS_OK;
}

void ks_smooth_plan_destroy(ks_smooth_plan *plan)
{
    if (!plan) return;
    ks_scan_plan_destroy(plan->forward);
    ks_scan_plan_destroy(plan->reverse);
    ks_scan_plan_destroy(plan->suffixes);
    ks_blocktri_plan_destroy(plan->hessian);
    ks_scan_device_destroy(plan->device);
    ks_smooth_plan_destroy(plan->chunked);
    ks_release(plan->context, plan);
}

ks_method ks_smooth_plan_method(const ks_smooth_plan *plan) { return plan ? plan->method : KS_METHOD_AUTO; }

ks_backend ks_smooth_plan_backend(const ks_smooth_plan *plan)
{
    return plan && plan->device ? KS_BACKEND_CUDA : KS_BACKEND_CPU;
}

ks_status ks_smooth_plan_declined(const ks_smooth_plan *plan) { return plan ? plan->declined : KS_OK; }

size_t ks_smooth_device_bytes(int64_t T, int64_t B, int nx, int ny,
                              const ks_smooth_options *options)
{
    const ks_smooth_options defaults = KS_SMOOTH_OPTIONS_INIT;
    if (!options) options = &defaults;
    if (ks_smooth_plan_invalid(T, B, nx, ny, options)) return SIZE_MAX;
    ks_smooth_plan plan = plan_of(NULL, T, B, nx, ny, options);
    if (options->backend == KS_BACKEND_CPU || !on_device(options, plan.method, nx) || !plan.kernels)
        return 0;
    if (!addressable(T, B, nx, ny)) return SIZE_MAX;
    const int counted = !is_scan(plan.method) || ks_scan_plans(&plan) == KS_OK;
    const size_t bytes = counted ? ks_scan_device_bytes(&plan) : SIZE_MAX;
    ks_scan_plan_destroy(plan.forward);
    ks_scan_plan_destroy(plan.reverse);
    ks_scan_plan_destroy(plan.suffixes);
    return bytes;
}

ks_blocktri_order ks_smooth_plan_order(const ks_smooth_plan *plan)
{
    if (!plan) return KS_BLOCKTRI_AUTO;
    if (plan->device && plan->method == KS_METHOD_BLOCKTRI)
        return ks_map_device_order(&plan->options, plan->nx);
    return plan->hessian ? ks_blocktri_plan_order(plan->hessian) : KS_BLOCKTRI_AUTO;
}

int ks_smooth_plan_threads(const ks_smooth_plan *plan)
{
    if (!plan) return 1;
    return plan->device ? plan->device->stage.workers : plan->workers;
}

ks_status ks_smooth_plan_begins(const ks_smooth_plan *plan, const ks_model *model, ks_info *info)
{
    if (!plan || !model || model->size != sizeof *model || (info && info->size != sizeof *info)) return KS_EINVAL;
    const ks_smooth_plan *first = plan->chunked && !ks_steps_may_repeat(plan, model) ? plan->chunked : plan;
    if (!info) return KS_OK;
    info->method = first->method;
    info->scan = first->options.scan;
    info->order = ks_smooth_plan_order(first);
    info->backend = ks_smooth_plan_backend(first);
    info->threads = ks_smooth_plan_threads(first);
    return KS_OK;
}

size_t ks_smooth_workspace_bytes(const ks_smooth_plan *plan) { return plan ? plan->workspace : 0; }
