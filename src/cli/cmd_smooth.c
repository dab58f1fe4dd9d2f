/* `kalscan smooth` and `kalscan filter`: open, plan, read, compute, write, report. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "explain.h"
#include "kalscan/diffuse.h"
#include "memory.h"
#include "output_file.h"
#include "target.h"

static void read_progress(void *user, double done) { ks_progress_set(user, done); }

static int compute_progress(void *user, int64_t done, int64_t total)
{
    ks_progress_set(user, total > 0 ? (double)done / (double)total : 0.0);
    return 0;
}

static void write_progress(void *user, double bytes)
{
    ks_run *run = user;
    run->written += bytes;
    ks_progress_set(&run->progress, run->written / (double)(run->output_bytes + 1));
}

/* Print notes about possible mistakes that have not been printed yet. */
static void print_notes(ks_run *run)
{
    const ks_notes *notes = &run->input->notes;
    if (run->settings->quiet) return;
    for (; run->notes_told < notes->count; ++run->notes_told)
        fprintf(stderr, "kalscan: note: %s\n", notes->text[run->notes_told]);
}

static void note_layout(const ks_run *run)
{
    const ks_dataset *dataset = ks_input_of_matlab(run->input);
    if (run->settings->quiet || run->input->layout_stated || !dataset) return;
    fprintf(stderr, "kalscan: note: %s: %s was written by MATLAB (attribute MATLAB_class) "
            "but no layout is stated; if time comes last there, use --layout fortran\n", dataset->file, dataset->path);
}

static ks_exit check_files(const ks_settings *settings, ks_failure *failure)
{
    const char *const inputs[] = {settings->places.file, settings->places.model_file, NULL};
    if (!settings->output) return KS_EXIT_DONE;
    return ks_target_check(settings->output, settings->force, inputs, failure);
}

/* Return the bytes of workspace: the run and, after it, the signal and the gradient share them. A run with a diffuse
 * prior takes as much itself, and more for its first steps, which are known when it runs. */
static size_t library_work(const ks_run *run)
{
    const ks_settings *settings = run->settings;
    size_t bytes = ks_smooth_workspace_bytes(run->plan);
    const size_t signal = ks_signal_workspace_bytes(run->plan), gradient = ks_gradient_workspace_bytes(run->plan);
    if (settings->signal && signal > bytes) bytes = signal;
    return settings->gradient && gradient > bytes ? gradient : bytes;
}

/* Find the method that the run begins with, by which arrays vary with the step. */
static void find_beginning(ks_run *run)
{
    ks_model model = KS_MODEL_INIT;
    ks_view *const views[] = {&model.F, &model.Q, &model.H, &model.R};
    static const ks_input_name arrays[] = {KS_INPUT_F, KS_INPUT_Q, KS_INPUT_H, KS_INPUT_R};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i)
        views[i]->step_stride = run->input->arrays[arrays[i]].fit.per_step;
    ks_smooth_plan_begins(run->plan, &model, &run->info);
}

static ks_exit make_plan(ks_run *run, ks_failure *failure)
{
    const ks_settings *settings = run->settings;
    ks_context_options context_options = KS_CONTEXT_OPTIONS_INIT;
    ks_smooth_options options = KS_SMOOTH_OPTIONS_INIT;
    context_options.threads = settings->threads;
    if (ks_context_create(&run->context, &context_options) != KS_OK)
        return ks_fail(failure, KS_EXIT_RESOURCES,
                       "out of memory: the system gives no more threads");
    options.job = settings->job;
    options.method = settings->method;
    options.precision = settings->precision;
    options.outputs = run->results.outputs;
    options.scan = settings->scan;
    options.scan_threshold = settings->scan_threshold;
    options.order = settings->order;
    options.threads = settings->threads;
    options.backend = settings->backend;
    options.device = settings->device;
    options.second_device = settings->second_device;
    options.steady_state = settings->steady_state;
    options.progress = compute_progress;
    options.progress_user = &run->progress;
    const ks_input *input = run->input;
    const ks_status status = ks_smooth_plan_create(&run->plan, run->context, input->T, input->B,
                                                   input->nx, input->ny, &options);
    run->device_bytes = ks_smooth_device_bytes(input->T, input->B, input->nx, input->ny, &options);
    if (status != KS_OK) return ks_explain_plan(status, settings, run->device_bytes, failure);
    find_beginning(run);
    options.method = run->info.method;
    options.scan = run->info.scan;
    run->device_bytes = run->info.backend == KS_BACKEND_CPU ? 0 : ks_smooth_device_bytes(
                                input->T, input->B, input->nx, input->ny, &options);
    if (!settings->quiet) {
        ks_note_backend(run->plan, settings->job);
        ks_note_scan(&run->info, settings);
        ks_note_steady_state(run->plan, settings, input);
    }
    run->work_bytes = ks_size_sum(library_work(run), ks_results_hidden_bytes(&run->results));
    return KS_EXIT_DONE;
}

static ks_exit open_input(ks_run *run, ks_failure *failure)
{
    const ks_settings *settings = run->settings;
    if (ks_input_open(&run->input, &settings->places, failure) ||
        ks_problems_fail(&run->input->problems, true, failure) ||
        (settings->forecast > 0 && ks_input_extend(run->input, settings->forecast, failure)) ||
        ks_input_spare(run->input, settings->output, failure))
        return failure->code;
    print_notes(run);
    note_layout(run);
    ks_results_plan(&run->results, settings, run->input);
    run->input_bytes = ks_input_bytes(run->input, settings->precision);
    if (settings->gradient) ks_derivatives_plan(&run->derivatives, run->input);
    run->output_bytes = ks_size_sum(ks_results_bytes(&run->results), ks_derivatives_bytes(&run->derivatives));
    return make_plan(run, failure);
}

/* Check the memory before anything is read, so that a run that cannot fit fails at once. */
static ks_exit check_memory(const ks_run *run, ks_failure *failure)
{
    const size_t total = ks_size_sum(run->input_bytes, ks_size_sum(run->output_bytes,
                                                                   run->work_bytes));
    return ks_memory_check(total, "the computation (--dry-run tells its parts)", failure);
}

/* The size of a compressed file is not known in advance. */
static ks_exit check_room(const ks_run *run, ks_failure *failure)
{
    const ks_settings *settings = run->settings;
    if (!settings->output || settings->compress > 0) return KS_EXIT_DONE;
    return ks_target_room(settings->output, ks_size_sum(ks_results_disk_bytes(&run->results, run->input),
                                                        ks_derivatives_disk_bytes(&run->derivatives)), failure);
}

static ks_exit read_input(ks_run *run, ks_failure *failure)
{
    const double start = ks_seconds();
    ks_progress_phase(&run->progress, "read");
    if (ks_input_load(run->input, run->settings->precision, read_progress, &run->progress,
                      failure) == KS_EXIT_DONE)
        ks_problems_fail(&run->input->problems, run->settings->precision == KS_F64, failure);
    run->read_seconds = ks_seconds() - start;
    return failure->code;
}

static ks_exit make_signal(const ks_run *run, const ks_result_places *places, void *work, ks_failure *failure)
{
    const ks_view P0_inf = ks_input_diffuse(run->input);
    const ks_signal_outputs *to = &places->signal;
    ks_info info = KS_INFO_INIT;
    ks_model model;
    ks_view y, mean, cov;
    ks_input_views(run->input, &model, &y);
    ks_results_states(&run->results, places, &mean, &cov);
    const ks_status status = P0_inf.data && run->settings->job == KS_JOB_FILTER
                                 ? ks_diffuse_signal(run->plan, &model, P0_inf, y, mean, cov, to, &info)
                                 : ks_signal(run->plan, &model, mean, cov, to, work, &info);
    info.method = run->info.method;
    return status == KS_OK ? KS_EXIT_DONE : ks_explain_run(status, &info, run->input, run->settings->precision, failure);
}

static ks_exit make_gradient(ks_run *run, void *work, ks_failure *failure)
{
    ks_info info = KS_INFO_INIT;
    ks_status status;
    if (ks_derivatives_run(&run->derivatives, run->plan, run->input, work, &status, &info, failure))
        return failure->code;
    if (status == KS_EREFUSED && info.array == KS_ARRAY_P0) {
        char series[48] = "";
        if (run->input->batched) snprintf(series, sizeof series, "series %lld, ", (long long)info.series);
        return ks_fail(failure, KS_EXIT_NUMERICAL, "%s: %sno gradient: %s", run->input->places.file, series,
                       info.fault == KS_FAULT_NOT_FINITE ? "the observations do not tell all that P0_inf makes infinite"
                                                         : "round-off hides what the observations tell of P0_inf");
    }
    return status == KS_OK ? KS_EXIT_DONE : ks_explain_run(status, &info, run->input, run->settings->precision, failure);
}

/* Run the plan, the signal and the gradient. */
static ks_exit run_plan(ks_run *run, const ks_result_places *places, ks_failure *failure)
{
    const ks_settings *settings = run->settings;
    const ks_view P0_inf = ks_input_diffuse(run->input);
    ks_model model;
    ks_view y;
    void *work = NULL;
    ks_status status;
    if (!P0_inf.data || settings->signal || settings->gradient) {
        work = ks_memory_raw(library_work(run), "the workspace", failure);
        if (!work) return failure->code;
    }
    ks_input_views(run->input, &model, &y);
    if (P0_inf.data)
        status = ks_diffuse_run(run->plan, &model, P0_inf, y, &places->outputs, &run->diffuse_steps, &run->info);
    else
        status = ks_smooth_run(run->plan, &model, y, &places->outputs, work, &run->info);
    if (status == KS_OK && !settings->quiet) ks_note_tried(run->plan, settings, &run->info);
    if (status != KS_OK) ks_explain_run(status, &run->info, run->input, settings->precision, failure);
    else if (settings->signal) make_signal(run, places, work, failure);
    if (settings->gradient && !failure->code) make_gradient(run, work, failure);
    free(work);
    return failure->code;
}

static ks_exit compute(ks_run *run, ks_failure *failure)
{
    const double start = ks_seconds();
    ks_result_places places;
    if (ks_results_allocate(&run->results, run->input, &places, failure)) return failure->code;
    ks_progress_phase(&run->progress, "compute");
    run_plan(run, &places, failure);
    run->compute_seconds = ks_seconds() - start;
    return failure->code;
}

static ks_exit write_output(ks_run *run, ks_failure *failure)
{
    const ks_settings *settings = run->settings;
    const double start = ks_seconds();
    ks_output_file *out;
    if (!settings->output) return KS_EXIT_DONE;
    ks_progress_phase(&run->progress, "write");
    if (ks_output_create(&out, settings->output, settings->force, settings->compress, failure))
        return failure->code;
    if (ks_provenance_write(run, out, failure) ||
        ks_results_write(&run->results, run->input, out, write_progress, run, failure) ||
        ks_derivatives_write(&run->derivatives, run->input, out, failure)) {
        ks_output_discard(out);
        return failure->code;
    }
    ks_output_commit(out, failure);
    run->write_seconds = ks_seconds() - start;
    return failure->code;
}

static ks_exit run_steps(ks_run *run, ks_failure *failure)
{
    const ks_settings *settings = run->settings;
    bool tell = false;
    if (check_files(settings, failure) || open_input(run, failure)) return failure->code;
    if (settings->dry_run) {
        /* A dry run prints the sizes also if they do not fit. */
        tell = read_input(run, failure) == KS_EXIT_DONE || failure->code == KS_EXIT_RESOURCES;
        check_room(run, failure);
    } else if (check_memory(run, failure) == KS_EXIT_DONE &&
               check_room(run, failure) == KS_EXIT_DONE && read_input(run, failure) == KS_EXIT_DONE &&
               compute(run, failure) == KS_EXIT_DONE) {
        tell = write_output(run, failure) == KS_EXIT_DONE;
    }
    ks_progress_clear(&run->progress);
    print_notes(run);
    if (tell && (settings->json || !settings->quiet)) ks_summary_print(run);
    return failure->code;
}

static ks_exit run_job(ks_job job, const ks_call *call, ks_failure *failure)
{
    const ks_info info = KS_INFO_INIT;
    ks_settings settings;
    if (ks_settings_read(&settings, job, call, failure) || settings.help_shown)
        return failure->code;
    ks_run run = {.settings = &settings, .call = call, .info = info};
    ks_progress_start(&run.progress, settings.quiet);
    run_steps(&run, failure);
    ks_derivatives_free(&run.derivatives);
    ks_results_free(&run.results);
    ks_smooth_plan_destroy(run.plan);
    ks_context_destroy(run.context);
    ks_input_close(run.input);
    return failure->code;
}

ks_exit ks_command_smooth(const ks_call *call, ks_failure *failure)
{
    return run_job(KS_JOB_SMOOTH, call, failure);
}

ks_exit ks_command_filter(const ks_call *call, ks_failure *failure)
{
    return run_job(KS_JOB_FILTER, call, failure);
}
