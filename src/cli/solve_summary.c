/* The summary of `kalscan solve` on stdout. */
#include <stdio.h>
#include "json.h"
#include "memory.h"
#include "solve.h"
#include "words.h"

const char *ks_solve_precision_name(const ks_solve_settings *settings)
{
    return ks_precision_text(settings->refine ? KS_MIXED : settings->precision);
}

double ks_relative_residual(const ks_blocktri_norms *norms)
{
    return norms->residual > 0.0 ? norms->residual / norms->right_hand_side : 0.0;
}

double ks_backward_error(const ks_blocktri_norms *norms)
{
    if (!(norms->residual > 0.0)) return 0.0;
    return norms->residual / (norms->matrix * norms->solution + norms->right_hand_side);
}

static void print_memory(const ks_solve *run)
{
    char system[32], factor[32], result[32], work[32], total[32], limit[32];
    ks_size_text(run->system_bytes, system);
    ks_size_text(run->factor_bytes, factor);
    ks_size_text(run->result_bytes, result);
    ks_size_text(run->work_bytes, work);
    ks_size_text(ks_solve_bytes(run), total);
    ks_size_text(ks_memory_limit(), limit);
    printf("memory: system %s + factor %s + solution %s + workspace %s = %s; the limit is %s\n",
           system, factor, result, work, total, limit);
    printf("nothing was written (--dry-run)\n");
}

static void print_text(const ks_solve *run)
{
    const ks_solve_settings *settings = run->settings;
    const ks_system *system = run->system;
    const bool planned = run->threads > 0;
    const int threads = planned ? run->threads : ks_context_threads(run->context);
    printf("%s: N = %lld blocks, n = %d, %d right-hand side%s; layout %s\n", settings->file,
           (long long)system->N, system->n, system->nrhs, system->nrhs == 1 ? "" : "s",
           ks_layout_name((int)system->layout));
    /* Which of the methods for general systems `auto` chooses depends on the numbers. */
    const bool open = run->solver == &ks_general_auto && !planned;
    printf("solve: method %s%s", run->method, settings->solver == &ks_solvers[0] && !open ? " (auto)" : "");
    if (run->segments > 0) printf(", %lld segment%s", (long long)run->segments, run->segments == 1 ? "" : "s");
    printf(", %s, %s%d thread%s\n", ks_solve_precision_name(settings), planned || threads == 1 ? "" : "at most ",
           threads, threads == 1 ? "" : "s");
    if (settings->dry_run) {
        print_memory(run);
        return;
    }
    printf("relative residual %.3g, backward error %.3g, residual %.3g", run->relative_residual,
           run->backward_error, run->norms.residual);
    if (run->report.iterations > 0) {
        const char *plural = run->report.iterations == 1 ? "" : "s";
        const bool direct = run->report.end == KS_END_NONE;
        printf(", %lld %s%s%s", (long long)run->report.iterations, direct ? "step" : "iteration", plural,
               direct ? " of refinement" : "");
    }
    if (run->report.iterations > 0 && run->report.spectral_radius >= 0)
        printf(", spectral radius about %.4g", run->report.spectral_radius);
    if (settings->refine)
        printf(", %d step%s of refinement", run->steps, run->steps == 1 ? "" : "s");
    if (run->has_logdet) printf("\nlog-determinant %.9f", run->logdet);
    printf("\n%s: read %.3g s, factored %.3g s, solved %.3g s, ", settings->output,
           run->read_seconds, run->factor_seconds, run->solve_seconds);
    if (run->S_diag) printf("inverted %.3g s, ", run->inverse_seconds);
    printf("written %.3g s\n", run->write_seconds);
}

static void json_results(const ks_solve *run, ks_json *json)
{
    ks_json_number(json, "relative_residual", run->relative_residual);
    ks_json_number(json, "backward_error", run->backward_error);
    ks_json_number(json, "residual", run->norms.residual);
    if (run->settings->refine) ks_json_integer(json, "refinement_steps", run->steps);
    if (!run->solver->cholesky) {
        const ks_general_report *report = &run->report;
        ks_json_integer(json, "iterations", report->iterations);
        if (report->spectral_radius >= 0)
            ks_json_number(json, "spectral_radius", report->spectral_radius);
        ks_json_number(json, "relaxation", report->relaxation);
    }
    if (run->has_logdet) ks_json_number(json, "logdet", run->logdet);
    ks_json_open(json, "seconds", '{');
    ks_json_number(json, "read", run->read_seconds);
    ks_json_number(json, "factor", run->factor_seconds);
    ks_json_number(json, "solve", run->solve_seconds);
    ks_json_number(json, "inverse", run->inverse_seconds);
    ks_json_number(json, "write", run->write_seconds);
    ks_json_close(json, '}');
}

static void print_json(const ks_solve *run)
{
    const ks_solve_settings *settings = run->settings;
    const ks_system *system = run->system;
    ks_json json = {0};
    ks_json_open(&json, NULL, '{');
    ks_json_text(&json, "job", "solve");
    ks_json_text(&json, "input", settings->file);
    ks_json_text(&json, "output", settings->dry_run ? NULL : settings->output);
    ks_json_boolean(&json, "dry_run", settings->dry_run);
    ks_json_integer(&json, "N", system->N);
    ks_json_integer(&json, "n", system->n);
    ks_json_integer(&json, "nrhs", system->nrhs);
    ks_json_text(&json, "layout", ks_layout_name((int)system->layout));
    ks_json_text(&json, "method", run->method);
    ks_json_text(&json, "method_asked", settings->solver->name);
    if (run->segments > 0) ks_json_integer(&json, "segments", run->segments);
    ks_json_text(&json, "backend", ks_backend_name(run->backend));
    ks_json_text(&json, "precision", ks_solve_precision_name(settings));
    ks_json_integer(&json, "threads",
                    run->threads > 0 ? run->threads : ks_context_threads(run->context));
    if (!settings->dry_run) json_results(run, &json);
    ks_json_open(&json, "bytes", '{');
    ks_json_integer(&json, "system", (int64_t)run->system_bytes);
    ks_json_integer(&json, "factor", (int64_t)run->factor_bytes);
    ks_json_integer(&json, "solution", (int64_t)run->result_bytes);
    ks_json_integer(&json, "workspace", (int64_t)run->work_bytes);
    ks_json_close(&json, '}');
    ks_json_close(&json, '}');
    ks_json_end();
}

void ks_solve_summary(const ks_solve *run)
{
    if (run->settings->json) print_json(run);
    else print_text(run);
}
