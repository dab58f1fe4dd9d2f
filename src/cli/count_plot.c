/* count_plot.c -- figures of `count`. */
#include <stdbool.h>
#include <stdio.h>
#include "count_settings.h"
#include "gnuplot.h"

enum { MOST_BAR_PANELS = 6 };

static const char *const colors[] = {"#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00",
                                     "#666666", "#56b4e9", "#000000"};
enum { COLORS = sizeof colors / sizeof *colors };

/** What is drawn: one panel for each counted method that has scans or orders. */
typedef struct figure {
    const ks_count_settings *settings;
    const ks_count_row *rows;
    int64_t count;
    ks_counted_method panel[KS_COUNTED_METHODS];
    int panels;
    FILE *script;
} figure;

/** Return the row of a method, of its scan or order number `variant` (0 for methods without) and of length number t.
 *  Rows are in the order in which the command lists the cases, for one number of threads. */
static const ks_count_row *row_of(const figure *f, ks_counted_method method, int variant, int t)
{
    const ks_count_settings *s = f->settings;
    int64_t at = 0;
    for (int m = 0; m < s->methods; ++m) {
        if (s->method[m] == method) return &f->rows[at + (int64_t)variant * s->steps + t];
        at += (int64_t)ks_count_variants(s, s->method[m]) * s->steps;
    }
    return NULL;
}

static void write_head(const figure *f, int columns, int rows)
{
    const ks_count_settings *s = f->settings;
    fprintf(f->script,
            "set key top left Left reverse samplen 2\n"
            "set multiplot layout %d,%d title 'Operations of the busiest of P = %lld threads"
            "%s; nx = %d, ny = %d'\n",
            rows, columns, (long long)s->threads[0],
            s->two_devices ? " (two-filter: on each of two devices)" : "", s->nx, s->ny);
}

static void write_scan_data(const figure *f, ks_counted_method method, int scan, const char *name)
{
    fprintf(f->script, "$%s << EOD\n", name);
    for (int t = 0; t < f->settings->steps; ++t) {
        const ks_count_row *row = row_of(f, method, scan, t);
        fprintf(f->script, "%lld %lld\n", (long long)row->what.T,
                (long long)row->result.time_flops);
    }
    fprintf(f->script, "EOD\n");
}

/** Return the sequential method for the same job. It is drawn, too, if it was counted. */
static ks_counted_method sequential_twin(ks_counted_method method)
{
    return method == KS_COUNT_FILTER ? KS_COUNT_SEQUENTIAL_FILTER : KS_COUNT_SEQUENTIAL;
}

/** Find the smallest and the largest time of all rows, widened for the axis. */
static void time_range(const figure *f, double *low, double *high)
{
    *low = *high = (double)f->rows[0].result.time_flops;
    for (int64_t i = 1; i < f->count; ++i) {
        const double time = (double)f->rows[i].result.time_flops;
        if (time < *low) *low = time;
        if (time > *high) *high = time;
    }
    *low /= 2;
    *high *= 4;
}

/** Whether all lengths are equal. gnuplot then finds no range, and draws no line. */
static bool is_one_length(const ks_count_settings *s)
{
    for (int t = 1; t < s->steps; ++t)
        if (s->T[t] != s->T[0]) return false;
    return true;
}

static void write_lines(const figure *f)
{
    const ks_count_settings *s = f->settings;
    const bool one = is_one_length(s);
    const double T = (double)s->T[0];
    double low, high;
    time_range(f, &low, &high);
    if (one) fprintf(f->script, "set xrange [%.17g:%.17g]\n", T / 4, T * 4);
    fprintf(f->script,
            "set logscale xy\nset xlabel 'steps T'\nset yrange [%.17g:%.17g]\n"
            "set format xy '10^{%%T}'\nset grid xtics lt 1 lw 0.5 lc rgb '#cccccc'\n"
            "set ylabel 'time (operations)'\n", low, high);
    /* Sengupta's scan often coincides with another one, which stays visible between its dashes. */
    for (int p = 0; p < f->panels; ++p) {
        const ks_counted_method twin = sequential_twin(f->panel[p]);
        char name[32], variant[64];
        const int variants = ks_count_variants(s, f->panel[p]);
        for (int c = 0; c < variants; ++c) {
            snprintf(name, sizeof name, "data_%d_%d", p, c);
            write_scan_data(f, f->panel[p], c, name);
        }
        const bool beside = ks_counted_method_scans(f->panel[p]) && row_of(f, twin, 0, 0);
        if (beside) {
            snprintf(name, sizeof name, "twin_%d", p);
            write_scan_data(f, twin, 0, name);
        }
        fprintf(f->script, "set title '%s'\nplot ", ks_counted_method_name(f->panel[p]));
        for (int c = 0; c < variants; ++c) {
            const ks_count_case *what = &row_of(f, f->panel[p], c, 0)->what;
            ks_count_variant_text(what, variant);
            fprintf(f->script, "%s$data_%d_%d with %s lw 2.5 dt %s lc rgb '%s' title '%s'",
                    c ? ", \\\n     " : "", p, c, one ? "linespoints" : "lines",
                    what->scan == KS_SCAN_SENGUPTA ? "(8,8)" : "1", colors[c % COLORS], variant);
        }
        if (beside)
            fprintf(f->script, ", \\\n     $twin_%d with %s dt 2 lw 1.5 lc rgb 'black' title '%s'", p,
                    one ? "linespoints" : "lines", ks_counted_method_name(twin));
        fprintf(f->script, "\n");
    }
}

static void write_bars(const figure *f)
{
    const ks_count_settings *s = f->settings;
    const int variants = ks_count_variants(s, f->panel[0]); /* the same for all panels */
    char variant[64];
    fprintf(f->script,
            "set style data histogram\nset style histogram clustered gap 1\n"
            "set style fill solid 0.9 border -1\nset boxwidth 0.9\nset yrange [0:*]\n"
            "set format y '%%.1s%%c'\nset offsets 0, 0, graph 0.3, 0\nset xrange [-0.6:%.1f]\n"
            "set ylabel 'time (operations)'\n", f->panels - 0.4);
    for (int t = 0; t < s->steps; ++t) {
        fprintf(f->script, "$bars_%d << EOD\n", t);
        for (int p = 0; p < f->panels; ++p) {
            fprintf(f->script, "%s", ks_counted_method_name(f->panel[p]));
            for (int c = 0; c < variants; ++c)
                fprintf(f->script, " %lld",
                        (long long)row_of(f, f->panel[p], c, t)->result.time_flops);
            fprintf(f->script, "\n");
        }
        fprintf(f->script, "EOD\nset title 'T = %lld'\nplot ", (long long)s->T[t]);
        for (int c = 0; c < variants; ++c) {
            ks_count_variant_text(&row_of(f, f->panel[0], c, 0)->what, variant);
            fprintf(f->script, "%s$bars_%d using %d:xtic(1) lc rgb '%s' title '%s'",
                    c ? ", \\\n     " : "", t, c + 2, colors[c % COLORS], variant);
        }
        fprintf(f->script, "\n");
    }
}

static int columns_of(const figure *f)
{
    return f->settings->bars ? (f->settings->steps > 1 ? 2 : 1) : f->panels;
}

static int rows_of(const figure *f)
{
    return f->settings->bars ? (f->settings->steps + 1) / 2 : 1;
}

static void write_figure(FILE *script, const void *user)
{
    figure f = *(const figure *)user;
    f.script = script;
    write_head(&f, columns_of(&f), rows_of(&f));
    if (f.settings->bars) write_bars(&f);
    else write_lines(&f);
    fprintf(script, "unset multiplot\n");
}

ks_exit ks_count_plot(const ks_count_settings *settings, const ks_count_row *rows, int64_t count,
                      ks_failure *failure)
{
    figure f = {.settings = settings, .rows = rows, .count = count};
    bool scans = false, orders = false;
    for (int m = 0; m < settings->methods; ++m) {
        const ks_counted_method method = settings->method[m];
        scans = scans || ks_counted_method_scans(method);
        orders = orders || ks_counted_method_orders(method);
        if (ks_counted_method_scans(method) || ks_counted_method_orders(method))
            f.panel[f.panels++] = method;
    }
    if (f.panels == 0)
        return ks_fail(failure, KS_EXIT_USAGE, "--plot: no --method with a scan or order to draw");
    if (settings->bars && scans && orders)
        return ks_fail(failure, KS_EXIT_USAGE, "--bars: scans and orders go in figures of their "
                       "own");
    if (settings->bars && settings->steps > MOST_BAR_PANELS)
        return ks_fail(failure, KS_EXIT_USAGE, "--bars: at most %d values of --T", MOST_BAR_PANELS);
    const ks_figure drawn = {settings->plot, settings->force,
                             (settings->bars ? 560 : 460) * columns_of(&f),
                             60 + 400 * rows_of(&f), write_figure, &f};
    return ks_figure_draw(&drawn, failure);
}
