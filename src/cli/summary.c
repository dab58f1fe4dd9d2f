/* The summary of `smooth` and `filter` on stdout. */
#include <math.h>
#include <stdio.h>
#include "explain.h"
#include "json.h"
#include "memory.h"
#include "run.h"
#include "words.h"

static const char *precision_text(const ks_run *run)
{
    return ks_precision_text(run->settings->precision);
}

static int devices_of(const ks_run *run)
{
    const ks_settings *settings = run->settings;
    return settings->second_device < 0 || settings->second_device == settings->device ? 1 : 2;
}

static void print_memory(const ks_run *run)
{
    char input[32], output[32], work[32], total[32], limit[32];
    ks_size_text(run->input_bytes, input);
    ks_size_text(run->output_bytes, output);
    ks_size_text(run->work_bytes, work);
    ks_size_text(ks_size_sum(run->input_bytes, ks_size_sum(run->output_bytes, run->work_bytes)),
                 total);
    ks_size_text(ks_memory_limit(), limit);
    printf("memory: input %s + outputs %s + workspace %s = %s; the limit is %s\n", input, output,
           work, total, limit);
    if (run->device_bytes > 0) {
        char device[32];
        ks_size_text(run->device_bytes, device);
        printf("memory of the device%s: at least %s\n",
               devices_of(run) > 1 ? "s, each" : "", device);
    }
    printf("output: %s before compression in %d arrays; nothing was written (--dry-run)\n", output,
           ks_results_written(&run->results) + run->derivatives.count);
}

static void print_loglik(const ks_run *run)
{
    const double *loglik = ks_results_loglik(&run->results);
    double sum = 0.0;
    if (!run->input->batched) {
        printf("log-likelihood %.9f\n", loglik[0]);
        return;
    }
    for (int64_t s = 0; s < run->input->B; ++s) sum += loglik[s];
    printf("log-likelihood %.9f, the sum over %lld series\n", sum, (long long)run->input->B);
}

static void print_text(const ks_run *run)
{
    const ks_settings *settings = run->settings;
    const ks_input *input = run->input;
    const long long T = input->T, B = input->B;
    char scan[64], series[48] = "", ahead[48] = "";
    ks_scan_text(run->info.method, run->info.scan, settings->scan_threshold, scan);
    if (input->batched) snprintf(series, sizeof series, "B = %lld, ", B);
    if (input->ahead > 0) snprintf(ahead, sizeof ahead, " of which %lld ahead", (long long)input->ahead);
    printf("%s: %sT = %lld%s, nx = %d, ny = %d; prior %s, transition %s, layout %s",
           settings->places.file, series, T, ahead, input->nx, input->ny,
           ks_prior_name((int)input->prior), ks_transition_name((int)input->transition),
           ks_layout_name((int)input->layout));
    if (input->y)
        printf("; %lld of %lld entries missing", (long long)input->missing.entries,
               B * (T - input->ahead) * input->ny);
    printf("\n%s: method %s%s, scan %s, ",
           settings->job == KS_JOB_SMOOTH ? "smooth" : "filter", ks_method_name(run->info.method),
           settings->method == KS_METHOD_AUTO ? " (auto)" : "", scan);
    if (run->info.method == KS_METHOD_BLOCKTRI)
        printf("order %s%s, ", ks_order_text(&run->info),
               settings->order == KS_BLOCKTRI_AUTO ? " (auto)" : "");
    if (run->info.backend == KS_BACKEND_CUDA)
        printf(settings->second_device < 0 ? "%s, CUDA device %d\n" : "%s, CUDA devices %d and %d\n",
               precision_text(run), settings->device, settings->second_device);
    else
        printf("%s, %d thread%s\n", precision_text(run), run->info.threads,
               run->info.threads == 1 ? "" : "s");
    if (ks_input_is_diffuse(input) && !settings->dry_run)
        printf("diffuse prior: exact, the first %lld step%s by method sequential\n", (long long)run->diffuse_steps,
               run->diffuse_steps == 1 ? "" : "s");
    if (settings->dry_run) {
        print_memory(run);
        return;
    }
    print_loglik(run);
    if (!settings->output)
        printf("read %.3g s, computed %.3g s; without -o nothing is written\n", run->read_seconds, run->compute_seconds);
    else
        printf("%s: read %.3g s, computed %.3g s, written %.3g s\n", settings->output,
               run->read_seconds, run->compute_seconds, run->write_seconds);
}

static void json_sizes(const ks_run *run, ks_json *json)
{
    const ks_input *input = run->input;
    ks_json_text(json, "job", run->settings->job == KS_JOB_SMOOTH ? "smooth" : "filter");
    ks_json_text(json, "input", run->settings->places.file);
    ks_json_text(json, "output", run->settings->dry_run ? NULL : run->settings->output);
    ks_json_boolean(json, "dry_run", run->settings->dry_run);
    ks_json_integer(json, "T", input->T);
    ks_json_integer(json, "forecast", input->ahead);
    ks_json_integer(json, "B", input->B);
    ks_json_integer(json, "nx", input->nx);
    ks_json_integer(json, "ny", input->ny);
    ks_json_integer(json, "missing", input->missing.entries);
    ks_json_text(json, "prior", ks_prior_name((int)input->prior));
    ks_json_boolean(json, "diffuse", ks_input_is_diffuse(input));
    ks_json_text(json, "transition", ks_transition_name((int)input->transition));
    ks_json_text(json, "layout", ks_layout_name((int)input->layout));
}

static void json_method(const ks_run *run, ks_json *json)
{
    char scan[64];
    ks_scan_text(run->info.method, run->info.scan, run->settings->scan_threshold, scan);
    ks_json_text(json, "method", ks_method_name(run->info.method));
    ks_json_text(json, "method_asked", ks_method_name(run->settings->method));
    ks_json_text(json, "scan", scan);
    ks_json_text(json, "order", ks_order_text(&run->info));
    ks_json_text(json, "backend", ks_backend_name(run->info.backend));
    if (run->info.backend == KS_BACKEND_CUDA) {
        ks_json_open(json, "devices", '[');
        ks_json_integer(json, NULL, run->settings->device);
        if (run->settings->second_device >= 0)
            ks_json_integer(json, NULL, run->settings->second_device);
        ks_json_close(json, ']');
    }
    ks_json_text(json, "precision", precision_text(run));
    ks_json_text(json, "steady_state", ks_steady_state_name(run->settings->steady_state));
    ks_json_integer(json, "threads", run->info.threads);
}

static void json_results(const ks_run *run, ks_json *json)
{
    const double *loglik = ks_results_loglik(&run->results);
    const ks_info *info = &run->info;
    if (run->input->batched) {
        ks_json_open(json, "loglik", '[');
        for (int64_t s = 0; s < run->input->B; ++s) ks_json_number(json, NULL, loglik[s]);
        ks_json_close(json, ']');
    } else {
        ks_json_number(json, "loglik", loglik[0]);
    }
    if (ks_input_is_diffuse(run->input)) ks_json_integer(json, "diffuse_steps", run->diffuse_steps);
    ks_json_open(json, "seconds", '{');
    ks_json_number(json, "read", run->read_seconds);
    ks_json_number(json, "compute", run->compute_seconds);
    ks_json_number(json, "write", run->write_seconds);
    ks_json_close(json, '}');
    ks_json_open(json, "statistics", '{');
    ks_json_integer(json, "rounds", info->rounds);
    ks_json_integer(json, "combines", info->combines);
    ks_json_integer(json, "elements", info->elements);
    ks_json_integer(json, "ordinary_steps", info->ordinary_steps);
    ks_json_integer(json, "array_steps", info->array_steps);
    ks_json_close(json, '}');
}

static void json_bytes(const ks_run *run, ks_json *json)
{
    ks_json_open(json, "bytes", '{');
    ks_json_integer(json, "input", (int64_t)run->input_bytes);
    ks_json_integer(json, "output", (int64_t)run->output_bytes);
    ks_json_integer(json, "workspace", (int64_t)run->work_bytes);
    ks_json_integer(json, "device", (int64_t)run->device_bytes);
    ks_json_close(json, '}');
}

void ks_summary_print(const ks_run *run)
{
    ks_json json = {0};
    if (!run->settings->json) {
        print_text(run);
        return;
    }
    ks_json_open(&json, NULL, '{');
    json_sizes(run, &json);
    json_method(run, &json);
    if (!run->settings->dry_run) json_results(run, &json);
    json_bytes(run, &json);
    ks_json_close(&json, '}');
    ks_json_end();
}
