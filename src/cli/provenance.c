/* The origin of an output: attributes of its root. */
#include <stdio.h>
#include <time.h>
#include "explain.h"
#include "help.h"
#include "provenance.h"
#include "run.h"
#include "words.h"

void ks_history_text(const char *line, char *text, size_t size)
{
    char when[32] = "";
    const time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc)) strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    snprintf(text, size, "%s: %s", when, line);
}

ks_exit ks_provenance_write(const ks_run *run, ks_output_file *out, ks_failure *failure)
{
    const ks_settings *settings = run->settings;
    const ks_input *input = run->input;
    const bool smooth = settings->job == KS_JOB_SMOOTH;
    char scan[64], history[4096];
    ks_scan_text(run->info.method, run->info.scan, settings->scan_threshold, scan);
    ks_history_text(run->call->line, history, sizeof history);
    const struct { const char *name, *value; } texts[] = {
        {"Conventions", "CF-1.8"},
        {"title", smooth ? "Smoothed state estimates" : "Filtered state estimates"},
        {"history", history},
        {"program", "kalscan"},
        {"version", ks_version()},
        {"command_line", run->call->line},
        {"input", settings->places.file},
        {"input_y", settings->places.y},
        {"input_model", settings->places.model},
        {"input_model_file", settings->places.model_file},
        {"job", smooth ? "smooth" : "filter"},
        {"prior", ks_prior_name((int)input->prior)},
        {"transition", ks_transition_name((int)input->transition)},
        {"layout", ks_layout_name((int)input->layout)},
        {"method", ks_method_name(run->info.method)},
        {"scan", scan},
        {"order", ks_order_text(&run->info)},
        {"backend", ks_backend_name(run->info.backend)},
        {"precision", ks_precision_text(settings->precision)},
        {"steady_state", ks_steady_state_name(settings->steady_state)},
        {"loglik_convention", ks_input_is_diffuse(input) ? ks_diffuse_loglik_convention : ks_loglik_convention},
        {"model_equations", ks_model_equations},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i)
        if (texts[i].value && ks_output_text(out, "/", texts[i].name, texts[i].value, failure))
            return failure->code;
    if (input->ahead > 0 && ks_output_integer(out, "/", "forecast", input->ahead, failure)) return failure->code;
    if (ks_input_is_diffuse(input) && ks_output_integer(out, "/", "diffuse_steps", run->diffuse_steps, failure))
        return failure->code;
    return ks_output_integer(out, "/", "threads", run->info.threads, failure);
}
