/* Results as a table, a list of JSON objects or comma-separated values. Each line is printed as soon as it is
 * available. */
#include <stdio.h>
#include <cblas.h>
#include "bench.h"
#include "json.h"

static ks_json list;
static bool begun;

static void begin(const ks_bench_settings *settings)
{
    static const char *const of_backend[] = {[KS_BACKEND_CPU] = "", [KS_BACKEND_CUDA] = "CUDA device, ",
                                             [KS_BACKEND_AUTO] = "CUDA device where there is one, "};
    if (begun) return;
    begun = true;
    if (settings->json) {
        ks_json_open(&list, NULL, '[');
    } else if (settings->csv) {
        ks_bench_csv_head(settings);
    } else if (!settings->quiet && settings->job == KS_BENCH_SOLVE) {
        printf("solve: %s%sn = %d, N = %lld blocks, %d right-hand side%s; ms, median of %d and minimum\n"
               "%-22s %-5s %7s  %10s %10s %8s %7s  %10s %10s %8s %7s\n",
               of_backend[settings->backend], settings->queue ? "cloud queue, " : "",
               settings->n, (long long)ks_bench_blocks(settings),
               settings->nrhs, settings->nrhs == 1 ? "" : "s", settings->repeats, "method", "",
               "threads", "factor", "min", "GFLOP/s", "GB/s", "solve", "min", "GFLOP/s", "GB/s");
    } else if (!settings->quiet) {
        printf("%s: %snx = %d, ny = %d, T = %lld, ", ks_bench_job_name(settings), of_backend[settings->backend],
               settings->nx, settings->ny, (long long)ks_bench_steps(settings));
        if (settings->B > 0) printf("B = %lld series, ", (long long)settings->B);
        printf("%s model%s, %g %% of the entries missing; ns per step%s, median of %d, minimum and "
               "maximum\n%-17s %-18s %-5s %7s %10s %10s %10s %8s %7s\n", ks_bench_model_name(settings),
               settings->own ? " of each" : "", 100 * settings->missing, settings->B > 0 ? " and series" : "", settings->repeats, "method",
               "scan or order", "", "threads", "median", "min", "max", "GFLOP/s", "GB/s");
    }
}

void ks_bench_end(const ks_bench_settings *settings, bool failed)
{
    if (!failed) begin(settings);
    if (!settings->json || !begun) return;
    ks_json_close(&list, ']');
    ks_json_end();
}

static void json_time(ks_json *json, const ks_bench_time *time)
{
    ks_json_number(json, "median_ns", time->median);
    ks_json_number(json, "min_ns", time->min);
    ks_json_number(json, "max_ns", time->max);
}

/* Rates, and their ratios to the limits of the machine. */
static void json_rates(ks_json *json, const ks_bench_machine *machine, double flops, double bytes,
                       double median)
{
    if (flops >= 0.0) ks_json_number(json, "gflops", flops / median);
    ks_json_number(json, "gbytes_per_s", bytes / median);
    if (!machine) return;
    if (flops >= 0.0) ks_json_number(json, "fraction_of_dgemm", flops / median / machine->dgemm);
    ks_json_number(json, "fraction_of_triad", bytes / median / machine->triad);
}

static void json_head(ks_json *json, const char *job, const char *method, const char *scan,
                      const char *backend, const char *precision, int threads)
{
    ks_json_open(json, NULL, '{');
    ks_json_text(json, "job", job);
    ks_json_text(json, "method", method);
    ks_json_text(json, "scan", scan);
    ks_json_text(json, "backend", backend ? backend : "cpu");
    ks_json_text(json, "precision", precision);
    ks_json_integer(json, "threads", threads);
}

static void json_phase(ks_json *json, const char *name, const ks_bench_time *time, double flops,
                       double bytes, const ks_bench_machine *machine)
{
    ks_json_open(json, name, '{');
    json_time(json, time);
    if (flops >= 0.0) ks_json_number(json, "flops", flops);
    ks_json_number(json, "bytes", bytes);
    json_rates(json, machine, flops, bytes, time->median);
    ks_json_close(json, '}');
}

static void json_iterations(const ks_bench_settings *settings, const ks_bench_result *r)
{
    ks_json_number(&list, "tolerance", settings->tolerance);
    ks_json_integer(&list, "iterations", r->iterations);
    if (r->iterations == 0) return;
    const double each = r->solve.median / (double)r->iterations / settings->nrhs;
    ks_json_number(&list, "ns_per_iteration", each);
    ks_json_number(&list, "iteration_bytes", r->iteration_bytes);
    if (r->machine)
        ks_json_number(&list, "iteration_over_triad",
                       each / (r->iteration_bytes / r->machine->triad));
}

static void json_solve(const ks_bench_settings *settings, const ks_bench_result *r)
{
    ks_json_integer(&list, "N", r->T);
    ks_json_integer(&list, "n", settings->n);
    ks_json_integer(&list, "nrhs", settings->nrhs);
    ks_json_text(&list, "system", settings->queue ? "queue" : "random");
    if (r->segments > 0) ks_json_integer(&list, "segments", r->segments);
    if (r->backend && !r->general) ks_json_integer(&list, "together", r->together);
    ks_json_number(&list, "factor_ms", 1e-6 * r->factor.median);
    ks_json_number(&list, "solve_ms", 1e-6 * r->solve.median);
    ks_json_integer(&list, "repeats", settings->repeats);
    json_time(&list, &r->time);
    json_phase(&list, "factor", &r->factor, r->factor_flops, r->factor_bytes, r->machine);
    json_phase(&list, "solve", &r->solve, r->solve_flops, r->solve_bytes, r->machine);
    ks_json_number(&list, "relative_residual", r->relative_residual);
    ks_json_number(&list, "backward_error", r->backward_error);
    if (r->general) json_iterations(settings, r);
}

static void json_smooth(const ks_bench_settings *settings, const ks_bench_result *r, double steps)
{
    if (r->order) ks_json_text(&list, "order", r->order);
    ks_json_integer(&list, "T", r->T);
    ks_json_integer(&list, "B", settings->B > 0 ? settings->B : 1);
    ks_json_integer(&list, "nx", settings->nx);
    ks_json_integer(&list, "ny", settings->ny);
    ks_json_text(&list, "model", ks_bench_model_name(settings));
    ks_json_boolean(&list, "own_models", settings->own);
    ks_json_number(&list, "missing", settings->missing);
    ks_json_number(&list, "ns_per_step", r->time.median / steps);
    ks_json_integer(&list, "repeats", settings->repeats);
    json_time(&list, &r->time);
    if (r->flops >= 0.0) ks_json_number(&list, "flops_per_step", r->flops / steps);
    ks_json_number(&list, "bytes_per_step", r->bytes / steps);
    json_rates(&list, r->machine, r->flops, r->bytes, r->time.median);
    ks_json_integer(&list, "ordinary_steps", r->ordinary_steps);
    ks_json_integer(&list, "array_steps", r->array_steps);
}

static void print_rate(double flops, double bytes, double median)
{
    if (flops >= 0.0) printf(" %8.2f", flops / median);
    else printf(" %8s", "-");
    printf(" %7.2f", bytes / median);
}

void ks_bench_show(const ks_bench_settings *settings, const ks_bench_result *r)
{
    const bool solve = settings->job == KS_BENCH_SOLVE;
    const double steps = (double)r->T * (double)(settings->B > 0 ? settings->B : 1);
    begin(settings);
    if (settings->json) {
        json_head(&list, ks_bench_job_name(settings), r->method, r->scan, r->backend, r->precision,
                  r->threads);
        if (solve) json_solve(settings, r);
        else json_smooth(settings, r, steps);
        ks_json_integer(&list, "workspace_bytes", r->workspace);
        ks_json_close(&list, '}');
    } else if (settings->csv) {
        ks_bench_csv_row(settings, r);
    } else if (!settings->quiet && solve) {
        printf("%-22s %-5s %7d  %10.3f %10.3f", r->method, r->precision, r->threads,
               1e-6 * r->factor.median, 1e-6 * r->factor.min);
        print_rate(r->factor_flops, r->factor_bytes, r->factor.median);
        printf("  %10.3f %10.3f", 1e-6 * r->solve.median, 1e-6 * r->solve.min);
        print_rate(r->solve_flops, r->solve_bytes, r->solve.median);
        if (r->iterations > 0) printf("  %lld iterations", (long long)r->iterations);
        if (settings->segment_counts > 0 && r->segments > 0)
            printf("  %lld segments", (long long)r->segments);
        if (settings->togethers > 0) printf("  %d rounds in one launch", r->together);
        printf("\n");
    } else if (!settings->quiet) {
        printf("%-17s %-18s %-5s %7d %10.1f %10.1f %10.1f", r->method,
               r->order ? r->order : r->scan, r->precision, r->threads, r->time.median / steps, r->time.min / steps, r->time.max / steps);
        print_rate(r->flops, r->bytes, r->time.median);
        printf("\n");
    }
    fflush(stdout);
}

void ks_bench_show_machine(const ks_bench_settings *settings, const ks_bench_machine *machine,
                           int threads, const char *precision)
{
    /* A table comes after this line. */
    if (settings->json) {
        begin(settings);
        json_head(&list, "machine", "gemm", "none", NULL, precision, threads);
        ks_json_text(&list, "openblas", openblas_get_corename());
        ks_json_integer(&list, "repeats", settings->repeats);
        json_time(&list, &machine->dgemm_time);
        ks_json_number(&list, "gflops", machine->dgemm);
        ks_json_close(&list, '}');
        json_head(&list, "machine", "triad", "none", NULL, "f64", threads);
        ks_json_integer(&list, "repeats", settings->repeats);
        json_time(&list, &machine->triad_time);
        ks_json_number(&list, "gbytes_per_s", machine->triad);
        ks_json_close(&list, '}');
    } else if (!settings->quiet) {
        printf("machine: %s, %d thread%s: matrix product %.1f GFLOP/s (OpenBLAS %s), "
               "triad %.1f GB/s\n", precision, threads, threads == 1 ? "" : "s", machine->dgemm,
               openblas_get_corename(), machine->triad);
    }
    fflush(stdout);
}
