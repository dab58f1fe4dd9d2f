/* `kalscan count`: options, the cases to count, and the results as a table, JSON or CSV. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "command.h"
#include "count_settings.h"
#include "gnuplot.h"
#include "help.h"
#include "json.h"
#include "options.h"
#include "target.h"

enum {
    STEPS = 1, THREADS, METHOD, SCAN, ORDER, NX, NY, TWO_DEVICES, LOGLIK, CALIBRATE, PLOT, BARS, FORCE,
    JSON, CSV, QUIET
};

static const ks_option options[] = {
    {STEPS, "T", "LIST", "lengths of the series, such as 1e3,1e4", 0},
    {THREADS, "threads", "LIST", "numbers of simulated threads, such as 15000", 0},
    {METHOD, "method", "LIST", "see below; default filter,scan-rts,scan-two-filter", 0},
    {SCAN, "scan", "LIST", "see below; default all", 0},
    {ORDER, "order", "LIST", "orders of blocktri methods, see below; default all", 0},
    {NX, "nx", "N", "states, or order of the blocks, at most 256, default 4", 0},
    {NY, "ny", "N", "entries of y, at most 256, default 2", 0},
    {TWO_DEVICES, "two-devices", NULL, "scan-two-filter: both scans at once, each on --threads", 0},
    {LOGLIK, "loglik", NULL, "count the log-likelihood, too", 0},
    {CALIBRATE, "calibrate", NULL, "run the cases on this machine and compare with a prediction", 0},
    {PLOT, "plot", "FILE", "draw time against T, as .svg or .png; needs gnuplot", 0},
    {BARS, "bars", NULL, "draw grouped bars for each T instead", 0},
    {FORCE, "force", NULL, "replace an existing figure", 0},
    {JSON, "json", NULL, "print a list of JSON objects", 0},
    {CSV, "csv", NULL, "print comma-separated values with a header", 0},
    {QUIET, "quiet", NULL, "print no table", 0},
    {0}};

static void print_help(void)
{
    printf("usage: kalscan count --T LIST --threads LIST [options]\n\n"
           "Count the floating-point operations of the methods on simulated threads.\n\nOptions\n");
    ks_options_print(options);
    ks_options_print(ks_common_options);
    printf("\nMethods: filter, scan-rts, scan-two-filter, sequential-filter, sequential, blocktri; all\n"
           "Parts of blocktri: blocktri-assemble; and for a block-tridiagonal system of T blocks of\n"
           "order nx blocktri-factor, blocktri-solve, blocktri-inverse\n"
           "Scans: hillis-steele, blelloch, ladner-fischer, sengupta[:N], chunked; all includes\n"
           "sengupta:1 and sengupta:15000\n"
           "Orders: sequential, twisted, partition[:SEGMENTS] (default: one segment per thread),\n"
           "nested-dissection, recursive-schur[:SPACING[:CROSSOVER]]; all\n"
           "Numbers may be written as 1e6.\n\n"
           "Add, multiply, divide and square root count 1. time is the sum over parallel steps of\n"
           "the operations of the busiest thread, span the number of parallel steps.\n"
           "--calibrate uses the threads of the library, by default 1 and 2, and T = 1e4.\n");
    ks_help_exit_codes();
}

static ks_exit read_option(void *settings, int id, const char *value, ks_failure *failure)
{
    ks_count_settings *s = settings;
    switch (id) {
    case KS_OPTION_WORD:
        return ks_fail(failure, KS_EXIT_USAGE, "count takes options only, not '%.100s'", value);
    case STEPS:
        return ks_read_counts("--T", value, 1, (int64_t)1 << 40, KS_MOST_T, s->T, &s->steps, failure);
    case THREADS:
        return ks_read_counts("--threads", value, 1, (int64_t)1 << 40, KS_MOST_THREADS, s->threads,
                              &s->thread_counts, failure);
    case METHOD: return ks_read_counted_methods(s, value, failure);
    case SCAN: return ks_read_scan_choices(s, value, failure);
    case ORDER: return ks_read_order_choices(s, value, failure);
    case NX: return ks_parse_int("--nx", value, 1, 256, &s->nx, failure);
    case NY: return ks_parse_int("--ny", value, 1, 256, &s->ny, failure);
    case TWO_DEVICES: s->two_devices = true; break;
    case LOGLIK: s->loglik = true; break;
    case CALIBRATE: s->calibrate = true; break;
    case PLOT: s->plot = value; break;
    case BARS: s->bars = true; break;
    case FORCE: s->force = true; break;
    case JSON: s->json = true; break;
    case CSV: s->csv = true; break;
    default: s->quiet = true; break;
    }
    return KS_EXIT_DONE;
}

static bool has_suffix(const char *text, const char *suffix)
{
    const size_t length = strlen(text), tail = strlen(suffix);
    return length > tail && strcmp(text + length - tail, suffix) == 0;
}

static ks_exit check_plot(const ks_count_settings *s, ks_failure *failure)
{
    const char *const inputs[] = {NULL};
    if (!s->plot) {
        if (s->bars || s->force)
            return ks_fail(failure, KS_EXIT_USAGE, "--%s goes with --plot FILE",
                           s->bars ? "bars" : "force");
        return KS_EXIT_DONE;
    }
    if (!has_suffix(s->plot, ".svg") && !has_suffix(s->plot, ".png"))
        return ks_fail(failure, KS_EXIT_USAGE, "--plot: '%.100s' ends neither in .svg nor in .png",
                       s->plot);
    if (s->thread_counts > 1)
        return ks_fail(failure, KS_EXIT_USAGE, "--plot: a figure has one number of --threads");
    if (ks_target_check(s->plot, s->force, inputs, failure)) return failure->code;
    return ks_figure_check(failure);
}

static ks_exit complete(ks_count_settings *s, ks_failure *failure)
{
    static const char usage[] = "usage: kalscan count --T LIST --threads LIST";
    bool two_filter = false, blocks = false, scans = false;
    if (s->calibrate && s->two_devices)
        return ks_fail(failure, KS_EXIT_USAGE, "--calibrate has one device, not --two-devices");
    if (s->calibrate && s->plot)
        return ks_fail(failure, KS_EXIT_USAGE, "--calibrate makes a table, not a --plot");
    if (s->calibrate && s->steps == 0) s->T[s->steps++] = 10000;
    if (s->calibrate && s->thread_counts == 0) {
        s->threads[s->thread_counts++] = 1;
        s->threads[s->thread_counts++] = 2;
    }
    if (s->calibrate) s->loglik = true; /* the library always computes it */
    if (s->steps == 0) return ks_fail(failure, KS_EXIT_USAGE, "no --T; %s", usage);
    if (s->thread_counts == 0) return ks_fail(failure, KS_EXIT_USAGE, "no --threads; %s", usage);
    if (s->json && s->csv)
        return ks_fail(failure, KS_EXIT_USAGE, "--json or --csv, not both");
    if (s->methods == 0 &&
        ks_read_counted_methods(s, "filter,scan-rts,scan-two-filter", failure))
        return failure->code;
    for (int i = 0; i < s->methods; ++i) {
        two_filter = two_filter || s->method[i] == KS_COUNT_SCAN_TWO_FILTER;
        blocks = blocks || s->method[i] >= KS_COUNT_BLOCKTRI;
        scans = scans || ks_counted_method_scans(s->method[i]);
    }
    if (s->scans > 0 && !scans)
        return ks_fail(failure, KS_EXIT_USAGE, "--scan goes with filter, scan-rts and scan-two-filter");
    if (s->scans == 0 && ks_read_scan_choices(s, "all", failure)) return failure->code;
    if (s->orders > 0 && !blocks)
        return ks_fail(failure, KS_EXIT_USAGE, "--order goes with the blocktri methods");
    if (s->orders == 0 && ks_read_order_choices(s, "all", failure)) return failure->code;
    if (s->calibrate && blocks)
        return ks_fail(failure, KS_EXIT_USAGE, "--calibrate runs the scans and the sequential "
                       "methods, not blocktri");
    if (s->two_devices && !two_filter)
        return ks_fail(failure, KS_EXIT_USAGE, "--two-devices goes with method scan-two-filter");
    return check_plot(s, failure);
}

/* List all combinations, grouped by method and scan. A method without a scan has one. */
static int64_t list_cases(const ks_count_settings *s, ks_count_row *rows)
{
    int64_t count = 0;
    for (int m = 0; m < s->methods; ++m) {
        for (int c = 0; c < ks_count_variants(s, s->method[m]); ++c)
            for (int p = 0; p < s->thread_counts; ++p)
                for (int t = 0; t < s->steps; ++t, ++count) {
                    if (!rows) continue;
                    ks_count_case *what = &rows[count].what;
                    what->method = s->method[m];
                    if (ks_counted_method_orders(s->method[m])) {
                        what->blocks = s->order[c];
                    } else {
                        what->scan = s->scan[c].algorithm;
                        what->threshold = s->scan[c].threshold;
                    }
                    what->T = s->T[t];
                    what->threads = s->threads[p];
                    what->two_devices =
                        s->two_devices && s->method[m] == KS_COUNT_SCAN_TWO_FILTER;
                    what->loglik = s->loglik;
                }
    }
    return count;
}

static void print_json(const ks_count_settings *s, const ks_count_row *rows, int64_t count)
{
    ks_json json = {0};
    ks_json_open(&json, NULL, '[');
    for (int64_t i = 0; i < count; ++i) {
        const ks_count_case *what = &rows[i].what;
        const ks_count_result *r = &rows[i].result;
        char scan[64], order[64];
        ks_count_scan_text(what, scan);
        ks_count_order_text(what, order);
        ks_json_open(&json, NULL, '{');
        ks_json_text(&json, "method", ks_counted_method_name(what->method));
        ks_json_text(&json, "scan", scan);
        ks_json_text(&json, "order", order);
        ks_json_integer(&json, "T", what->T);
        ks_json_integer(&json, "threads", what->threads);
        ks_json_integer(&json, "devices", what->two_devices ? 2 : 1);
        ks_json_integer(&json, "nx", s->nx);
        ks_json_integer(&json, "ny", s->ny);
        ks_json_integer(&json, "work_flops", r->work_flops);
        ks_json_integer(&json, "time_flops", r->time_flops);
        ks_json_integer(&json, "span_steps", r->span_steps);
        ks_json_integer(&json, "combines", r->combines);
        ks_json_integer(&json, "span_flops", r->span_flops);
        ks_json_integer(&json, "adds", r->work.adds);
        ks_json_integer(&json, "multiplies", r->work.multiplies);
        ks_json_integer(&json, "divisions", r->work.divisions);
        ks_json_integer(&json, "square_roots", r->work.square_roots);
        ks_json_integer(&json, "storage_elements", r->storage_elements);
        ks_json_integer(&json, "storage_bytes", r->storage_bytes);
        ks_json_integer(&json, "model_flops", r->model_flops);
        if (s->calibrate) {
            ks_json_number(&json, "predicted_seconds", rows[i].predicted);
            ks_json_number(&json, "measured_seconds", rows[i].measured);
        }
        ks_json_close(&json, '}');
    }
    ks_json_close(&json, ']');
    ks_json_end();
}

static void print_csv(const ks_count_settings *s, const ks_count_row *rows, int64_t count)
{
    printf("method,scan,order,T,threads,devices,nx,ny,work_flops,time_flops,span_steps,combines,"
           "span_flops,adds,multiplies,divisions,square_roots,storage_elements,storage_bytes,"
           "model_flops%s\n",
           s->calibrate ? ",predicted_seconds,measured_seconds" : "");
    for (int64_t i = 0; i < count; ++i) {
        const ks_count_case *what = &rows[i].what;
        const ks_count_result *r = &rows[i].result;
        char scan[64], order[64];
        ks_count_scan_text(what, scan);
        ks_count_order_text(what, order);
        printf("%s,%s,%s,%lld,%lld,%d,%d,%d", ks_counted_method_name(what->method), scan, order,
               (long long)what->T, (long long)what->threads, what->two_devices ? 2 : 1, s->nx,
               s->ny);
        const int64_t numbers[] = {r->work_flops, r->time_flops, r->span_steps, r->combines,
                                   r->span_flops, r->work.adds, r->work.multiplies,
                                   r->work.divisions, r->work.square_roots, r->storage_elements,
                                   r->storage_bytes, r->model_flops};
        for (size_t n = 0; n < sizeof numbers / sizeof *numbers; ++n)
            printf(",%lld", (long long)numbers[n]);
        if (s->calibrate) printf(",%.6g,%.6g", rows[i].predicted, rows[i].measured);
        printf("\n");
    }
}

static void print_table(const ks_count_settings *s, const ks_count_row *rows, int64_t count)
{
    printf("%-17s %-17s %10s %7s ", "method", "scan or order", "T", "threads");
    if (s->calibrate)
        printf("%12s %12s %12s %8s\n", "time flops", "predicted ms", "measured ms", "ratio");
    else
        printf("%15s %14s %6s %12s %12s\n", "work flops", "time flops", "span", "combines",
               "storage MB");
    for (int64_t i = 0; i < count; ++i) {
        const ks_count_case *what = &rows[i].what;
        const ks_count_result *r = &rows[i].result;
        char variant[64];
        ks_count_variant_text(what, variant);
        printf("%-17s %-17s %10lld %7lld ", ks_counted_method_name(what->method), variant,
               (long long)what->T, (long long)what->threads);
        if (s->calibrate)
            printf("%12lld %12.3f %12.3f %8.2f\n", (long long)r->time_flops,
                   1e3 * rows[i].predicted, 1e3 * rows[i].measured,
                   rows[i].measured / rows[i].predicted);
        else
            printf("%15lld %14lld %6lld %12lld %12.3f\n", (long long)r->work_flops,
                   (long long)r->time_flops, (long long)r->span_steps, (long long)r->combines,
                   1e-6 * (double)r->storage_bytes);
    }
}

static ks_exit count_rows(const ks_count_settings *s, ks_count_row *rows, int64_t count,
                          ks_failure *failure)
{
    ks_unit_costs costs;
    ks_status found = ks_unit_costs_find(&costs, s->nx, s->ny);
    bool blocks = false;
    for (int m = 0; m < s->methods; ++m) blocks = blocks || s->method[m] >= KS_COUNT_BLOCKTRI;
    if (found == KS_OK && blocks) found = ks_block_costs_find(&costs);
    if (found != KS_OK)
        return ks_fail(failure, KS_EXIT_RESOURCES, "nx = %d, ny = %d: %s", s->nx, s->ny,
                       ks_strerror(found));
    for (int64_t i = 0; i < count; ++i) {
        const ks_status status = ks_count_method(&rows[i].result, &costs, &rows[i].what);
        if (status != KS_OK)
            return ks_fail(failure, KS_EXIT_USAGE, "T = %lld with nx = %d, ny = %d: a count does "
                           "not fit 64 bits, or memory is short", (long long)rows[i].what.T, s->nx,
                           s->ny);
    }
    if (s->calibrate && ks_count_calibrate(s, &costs, rows, count, failure)) return failure->code;
    if (s->plot && ks_count_plot(s, rows, count, failure)) return failure->code;
    if (s->json) print_json(s, rows, count);
    else if (s->csv) print_csv(s, rows, count);
    else if (!s->quiet) print_table(s, rows, count);
    return KS_EXIT_DONE;
}

ks_exit ks_command_count(const ks_call *call, ks_failure *failure)
{
    ks_option_reader reader = {.argc = call->argc, .argv = call->argv, .command = "kalscan count",
                               .help = print_help, .tables = {options}};
    ks_count_settings settings = {.nx = 4, .ny = 2};
    bool served;
    if (ks_options_read(&reader, read_option, &settings, &served, failure) || served) return failure->code;
    if (complete(&settings, failure)) return failure->code;
    const int64_t count = list_cases(&settings, NULL);
    ks_count_row *rows = calloc((size_t)count, sizeof *rows);
    if (!rows) return ks_fail(failure, KS_EXIT_RESOURCES, "out of memory");
    list_cases(&settings, rows);
    count_rows(&settings, rows, count, failure);
    free(rows);
    return failure->code;
}
