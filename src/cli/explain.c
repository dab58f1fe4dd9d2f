#include "explain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "device.h"

void ks_scan_text(ks_method method, ks_scan_algorithm scan, int64_t threshold, char text[64])
{
    if (method != KS_METHOD_SCAN && method != KS_METHOD_SCAN_RTS &&
        method != KS_METHOD_SCAN_TWO_FILTER)
        snprintf(text, 64, "none");
    else if (scan == KS_SCAN_SENGUPTA)
        snprintf(text, 64, "%s:%lld", ks_scan_name(scan), (long long)threshold);
    else
        snprintf(text, 64, "%s", ks_scan_name(scan));
}

const char *ks_order_text(const ks_info *info)
{
    return info->method == KS_METHOD_BLOCKTRI ? ks_blocktri_order_name(info->order) : "none";
}

ks_exit ks_explain_plan(ks_status status, const ks_settings *settings, size_t device_bytes,
                        ks_failure *failure)
{
    const char *method = ks_method_name(settings->method);
    /* Scans have mixed precision on a device only. */
    const bool without = settings->backend == KS_BACKEND_AUTO && settings->precision == KS_MIXED &&
                         settings->method != KS_METHOD_AUTO && settings->method != KS_METHOD_SEQUENTIAL;
    if (without && (status == KS_ENODEV || status == KS_EUNAVAILABLE))
        return ks_fail(failure, KS_EXIT_RESOURCES, "--precision mixed goes with method %s on a device alone: %s; "
                       "on the CPU with method sequential", method, ks_strerror(status));
    if ((settings->backend == KS_BACKEND_CUDA || without) && status != KS_EINVAL)
        return ks_fail_devices(status, settings->device, settings->second_device, device_bytes, failure);
    switch (status) {
    case KS_EINVAL:
        if (settings->backend == KS_BACKEND_CUDA && settings->order == KS_BLOCKTRI_PARTITION)
            return ks_fail(failure, KS_EXIT_USAGE,
                           "--backend cuda: order partition takes at most 16 states; "
                           "use --order nested-dissection");
        return ks_fail(failure, KS_EXIT_USAGE,
                       "method %s cannot make the outputs that were asked for%s; "
                       "use --method sequential", method,
                       settings->filtered ? " (--filtered)" : "");
    case KS_EUNAVAILABLE:
        return ks_fail(failure, KS_EXIT_USAGE,
                       "method %s with these options is not in this version", method);
    default:
        return ks_fail(failure, KS_EXIT_RESOURCES, "out of memory: the sizes of this input are too "
                       "large for method %s", method);
    }
}

void ks_note_backend(const ks_smooth_plan *plan, ks_job job)
{
    const ks_status declined = ks_smooth_plan_declined(plan);
    const char *why = ks_strerror(declined);
    if (declined == KS_OK) return;
    if (declined == KS_EINVAL)
        why = ks_smooth_plan_method(plan) == KS_METHOD_BLOCKTRI ? "its order has no form for a device"
              : job == KS_JOB_SMOOTH ? "--method scan-rts has a form for a device"
                                     : "--method scan has a form for a device";
    if (declined == KS_ENOMEM) why = "the device has too little memory";
    fprintf(stderr, "kalscan: note: --backend auto runs method %s on the CPU: %s\n",
            ks_method_name(ks_smooth_plan_method(plan)), why);
}

void ks_note_tried(const ks_smooth_plan *plan, const ks_settings *settings, const ks_info *info)
{
    if (settings->backend != KS_BACKEND_AUTO || settings->method != KS_METHOD_AUTO ||
        ks_smooth_plan_declined(plan) != KS_OK || info->backend != KS_BACKEND_CPU)
        return;
    fprintf(stderr, "kalscan: note: --backend auto ran method %s on the CPU: the model is constant, or method %s "
            "on the device would not do\n", ks_method_name(info->method),
            settings->job == KS_JOB_SMOOTH ? "scan-rts" : "scan");
}

void ks_note_scan(const ks_info *begins, const ks_settings *settings)
{
    char scan[64];
    const char *method = ks_method_name(begins->method);
    const char *other = settings->job == KS_JOB_SMOOTH ? "scan-rts" : "scan";
    ks_scan_text(begins->method, begins->scan, settings->scan_threshold, scan);
    if (!settings->scan_given) return;
    if (strcmp(scan, "none") == 0)
        fprintf(stderr, "kalscan: note: --scan has no effect: method %s, which auto chose, has no scan; "
                "--method %s has one\n", method, other);
    else if (settings->method == KS_METHOD_AUTO && begins->scan != settings->scan)
        fprintf(stderr, "kalscan: note: --scan has no effect: auto chose method %s with scan %s; "
                "--method %s takes others\n", method, scan, other);
}

bool ks_computes_each_step(ks_method method, ks_scan_algorithm scan, bool device)
{
    const bool scans = method == KS_METHOD_SCAN || method == KS_METHOD_SCAN_RTS || method == KS_METHOD_SCAN_TWO_FILTER;
    return device || (scans && scan != KS_SCAN_CHUNKED);
}

void ks_note_steady_state(const ks_smooth_plan *plan, const ks_settings *settings, const ks_input *input)
{
    static const ks_input_name arrays[] = {KS_INPUT_F, KS_INPUT_Q, KS_INPUT_H, KS_INPUT_R};
    const ks_method method = ks_smooth_plan_method(plan);
    const bool device = ks_smooth_plan_backend(plan) == KS_BACKEND_CUDA;
    if (!settings->steady_given || settings->steady_state == KS_STEADY_STATE_COMPUTE) return;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i)
        if (input->arrays[arrays[i]].fit.per_step) {
            fprintf(stderr, "kalscan: note: --steady-state has no effect: %s varies with the step\n",
                    input->arrays[arrays[i]].dataset.path);
            return;
        }
    if (ks_computes_each_step(method, settings->scan, device))
        fprintf(stderr, "kalscan: note: --steady-state has no effect: method %s%s computes each step\n",
                ks_method_name(method), device ? " on a device" : "");
}

/* Print the place as far as it is known: "series 3, step 17: ". */
static void place_text(const ks_info *info, const ks_input *input, char *text, size_t size)
{
    char series[48] = "";
    if (input->batched && info->series >= 0)
        snprintf(series, sizeof series, "series %lld, ", (long long)info->series);
    if (info->step >= 0)
        snprintf(text, size, "%sstep %lld: ", series, (long long)info->step);
    else
        snprintf(text, size, "%s", series);
}

/* A prior that is infinite in some directions, of which y does not tell enough. */
static ks_exit explain_diffuse(const ks_info *info, const char *file, const char *place, ks_failure *failure)
{
    if (info->fault == KS_FAULT_NOT_FINITE)
        return ks_fail(failure, KS_EXIT_NUMERICAL, "%s: %sthe observations do not determine the state: the variance of "
                       "entry %d of x, which P0_inf makes infinite at first, stays infinite; kalscan filter takes this "
                       "model", file, place, info->row);
    return ks_fail(failure, KS_EXIT_NUMERICAL, "%s: %sround-off hides what the observations tell of the directions of "
                   "P0_inf; other units of the states may help, or to smooth without filtered estimates",
                   file, place);
}

static const char *fault_text(const ks_info *info)
{
    switch (info->fault) {
    case KS_FAULT_NOT_FINITE: return "is not finite";
    case KS_FAULT_ASYMMETRIC: return "is not symmetric";
    case KS_FAULT_INDEFINITE: return "is indefinite";
    case KS_FAULT_ILL_CONDITIONED:
        return info->array == KS_ARRAY_R ? "is too ill-conditioned to be inverted" : "is too ill-conditioned to be solved";
    case KS_FAULT_TOO_SMALL: return "is so small beside y that round-off of y would count in the log-likelihood";
    default: return info->status == KS_ENONFINITE ? "is not finite" : "is not positive definite";
    }
}

/* Print what is wrong with an array: "R is not positive definite". */
static void complaint_text(const ks_info *info, char *text, size_t size)
{
    const bool estimate = info->array == KS_ARRAY_ESTIMATE;
    /* With numbers near the end of the range, the squares in the log-likelihood overflow first. */
    if (estimate && info->status == KS_ENONFINITE)
        snprintf(text, size, "an estimate or the log-likelihood %s", fault_text(info));
    else if (estimate && info->fault == KS_FAULT_ILL_CONDITIONED && isfinite(info->value))
        snprintf(text, size, "the scan multiplies round-off: the estimate would be off by %.1e standard deviations",
                 info->value);
    else if (estimate && info->fault == KS_FAULT_ILL_CONDITIONED)
        snprintf(text, size, "the scan multiplies round-off: the estimate would be off beyond all bounds");
    else
        snprintf(text, size, "%s %s", ks_array_name(info->array), fault_text(info));
}

ks_exit ks_explain_run(ks_status status, const ks_info *info, const ks_input *input, ks_precision precision,
                       ks_failure *failure)
{
    static const char *const in[] = {[KS_F64] = "", [KS_F32] = " in f32", [KS_MIXED] = " in mixed precision"};
    char place[128], complaint[192];
    const char *file = input->places.file;
    place_text(info, input, place, sizeof place);
    complaint_text(info, complaint, sizeof complaint);
    if (info->device_code)
        return ks_fail(failure, KS_EXIT_RESOURCES, "%s (CUDA error %d)",
                       status == KS_ENOMEM ? "out of memory of the device" : ks_strerror(status), info->device_code);
    switch (status) {
    case KS_EREFUSED:
        if (info->array == KS_ARRAY_P0 && ks_input_is_diffuse(input) &&
            (info->fault == KS_FAULT_NOT_FINITE || info->fault == KS_FAULT_ILL_CONDITIONED))
            return explain_diffuse(info, file, place, failure);
        return ks_fail(failure, KS_EXIT_NUMERICAL,
                       "%s: %s%s; method '%s' cannot take this model, use --method %s", file,
                       place, complaint, ks_method_name(info->method),
                       ks_method_name(info->suggestion == KS_METHOD_AUTO ? KS_METHOD_SEQUENTIAL
                                                                         : info->suggestion));
    case KS_ENOTPD:
    case KS_ENONFINITE:
        return ks_fail(failure, KS_EXIT_NUMERICAL, "%s: %s%s%s (method %s)%s", file, place, complaint, in[precision],
                       ks_method_name(info->method), precision == KS_F64 ? "" : "; in f64 it may be: --precision f64");
    case KS_EMODEL:
        return ks_fail(failure, KS_EXIT_CONTENT, "%s: %s%s", file, place, complaint);
    case KS_ENOMEM:
        return ks_fail(failure, KS_EXIT_RESOURCES, "%s: out of memory", file);
    case KS_EDEVICE:
    case KS_ENODEV: return ks_fail(failure, KS_EXIT_RESOURCES, "%s", ks_strerror(status));
    case KS_ECANCELED: return ks_fail(failure, KS_EXIT_INTERRUPTED, "interrupted");
    default: return ks_fail(failure, KS_EXIT_NUMERICAL, "%s: %s", file, ks_strerror(status));
    }
}
