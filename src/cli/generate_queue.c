/* `kalscan generate queue`: the stationary equation of the M/M/n+k queue as a system, with its solution, in one
 * file. */
#include <stdio.h>
#include <stdlib.h>
#include "generate.h"
#include "gnuplot.h"
#include "json.h"
#include "memory.h"
#include "progress.h"
#include "target.h"

typedef struct maker {
    const ks_generate_settings *settings;
    const ks_queue *queue;
    ks_queue_system system;
    ks_queue_solution solution;
    double *pending, *busy;   /* distribution of tasks 0 .. (N + 1) k, and of servers 1 .. N */
    double seconds;
} maker;

static int64_t tasks_of(const ks_queue *q, int64_t block, int64_t row)
{
    return block * q->capacity + row;
}

/* Sum the distribution over servers, and over tasks. */
static ks_exit find_margins(maker *m, ks_failure *failure)
{
    const ks_queue *q = m->queue;
    const int64_t N = q->servers, n = ks_queue_order(q);
    m->pending = ks_memory_zeroed((size_t)((N + 1) * q->capacity + 1) * sizeof(double),
                                  "the distribution", failure);
    if (!failure->code)
        m->busy = ks_memory_zeroed((size_t)N * sizeof(double), "the distribution", failure);
    for (int64_t i = 0; i < N * n && !failure->code; ++i) {
        m->pending[tasks_of(q, i / n, i % n)] += m->solution.pi[i];
        m->busy[i / n] += m->solution.pi[i];
    }
    return failure->code;
}

static int64_t pending_mode(const maker *m)
{
    int64_t best = 0;
    for (int64_t i = 1; i <= (m->queue->servers + 1) * m->queue->capacity; ++i)
        if (m->pending[i] > m->pending[best] * (1 + 1e-12)) best = i;
    return best;
}

static ks_exit write_list(ks_output_file *out, const char *path, int64_t count, bool whole,
                          const void *values, ks_failure *failure)
{
    const ks_output_array array = {.path = path, .whole = whole, .rank = 1, .dims = {count},
                                   .step_axis = 0};
    return ks_output_write(out, &array, values, NULL, NULL, failure);
}

static ks_exit write_triples(ks_output_file *out, const char *group, const ks_general_triples *t,
                             ks_failure *failure)
{
    const struct { const char *name; const void *values; } lists[] = {
        {"block", t->block}, {"row", t->row}, {"col", t->col}, {"value", t->value}};
    for (int i = 0; i < 4; ++i) {
        char path[32];
        snprintf(path, sizeof path, "%s/%s", group, lists[i].name);
        if (write_list(out, path, t->count, i < 3, lists[i].values, failure)) return failure->code;
    }
    return KS_EXIT_DONE;
}

/* Arrays of the file besides the entries of the blocks L and U. */
enum { D, B, PI, ARRAYS };

static void describe(const ks_queue *q, ks_output_array arrays[ARRAYS])
{
    const int64_t N = q->servers, n = ks_queue_order(q);
    arrays[D] = (ks_output_array){.path = "D_dia", .long_name = "diagonal blocks of -Q'", .rank = 3,
                                  .dims = {N, 3, n}};
    arrays[B] = (ks_output_array){.path = "b", .long_name = "right-hand side", .rank = 2,
                                  .dims = {N, n}};
    arrays[PI] = (ks_output_array){.path = "pi", .rank = 2, .dims = {N, n},
                                   .long_name = "stationary probability of j + 1 servers (row j) and "
                                                "j k + r pending tasks"};
}

/* Check the free space before anything is solved, so that a run that cannot be stored fails at once. */
static ks_exit check_room(const ks_generate_settings *settings, ks_failure *failure)
{
    ks_output_array arrays[ARRAYS];
    size_t bytes = 0;
    describe(&settings->queue, arrays);
    for (int i = 0; i < ARRAYS; ++i) bytes = ks_size_sum(bytes, ks_output_disk_bytes(&arrays[i]));
    return settings->compress > 0 ? KS_EXIT_DONE
                                  : ks_target_room(settings->output, bytes, failure);
}

static ks_exit write_arrays(const maker *m, ks_output_file *out, ks_failure *failure)
{
    const void *const values[ARRAYS] = {m->system.D_dia, m->system.b, m->solution.pi};
    ks_output_array arrays[ARRAYS];
    describe(m->queue, arrays);
    for (int i = 0; i < ARRAYS; ++i)
        if (ks_output_write(out, &arrays[i], values[i], NULL, NULL, failure)) return failure->code;
    /* Write them even if they are empty: without /U a single block would be read as symmetric. */
    if (write_triples(out, "L", &m->system.L, failure)) return failure->code;
    return write_triples(out, "U", &m->system.U, failure);
}

static ks_exit write_attributes(const maker *m, ks_output_file *out, ks_failure *failure)
{
    const ks_queue *q = m->queue;
    const struct { const char *name; int64_t value; } integers[] = {
        {"servers", q->servers},
        {"capacity", q->capacity},
        {"most_probable_tasks", tasks_of(q, m->solution.block, m->solution.row)},
        {"most_probable_servers", m->solution.block + 1},
        {"fixed_block", m->system.fixed_block},
        {"fixed_row", m->system.fixed_row}};
    const struct { const char *name; double value; } numbers[] = {
        {"lambda", q->lambda}, {"mu", q->mu}, {"eta", q->eta}, {"nu", q->nu},
        {"probability", m->solution.probability}, {"residual", m->solution.residual}};
    if (ks_generate_attributes(m->settings, out, failure) ||
        ks_output_text(out, "/", "layout", "c", failure))
        return failure->code;
    for (size_t i = 0; i < sizeof integers / sizeof *integers; ++i)
        if (ks_output_integer(out, "/", integers[i].name, integers[i].value, failure))
            return failure->code;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
        if (ks_output_number(out, "/", numbers[i].name, numbers[i].value, failure))
            return failure->code;
    return KS_EXIT_DONE;
}

static ks_exit write_file(const maker *m, ks_failure *failure)
{
    const ks_generate_settings *settings = m->settings;
    ks_output_file *out;
    if (ks_output_create(&out, settings->output, settings->force, settings->compress, failure))
        return failure->code;
    if (write_arrays(m, out, failure) || write_attributes(m, out, failure))
        ks_output_discard(out);
    else
        ks_output_commit(out, failure);
    return failure->code;
}

/* Write the part of a distribution to be drawn: all above a millionth of its largest value. Around a single value
 * gnuplot finds no range, so give one for the axis. */
static void write_curve(FILE *script, const char *name, const double *values, int64_t count,
                        int64_t first)
{
    double most = 0;
    for (int64_t i = 0; i < count; ++i) most = values[i] > most ? values[i] : most;
    fprintf(script, "$%s << EOD\n", name);
    int64_t low = -1, high = -1;
    for (int64_t i = 0; i < count; ++i) {
        if (!(values[i] > 1e-6 * most)) continue;
        if (low < 0) low = first + i;
        high = first + i;
        fprintf(script, "%lld %.6g\n", (long long)high, values[i]);
    }
    fprintf(script, "EOD\n");
    if (low == high)
        fprintf(script, "%s_range = '[%lld:%lld]'\n", name, (long long)low - 1, (long long)high + 1);
    else
        fprintf(script, "%s_range = '[*:*]'\n", name);
}

static void write_script(FILE *script, const void *user)
{
    const maker *m = user;
    const ks_queue *q = m->queue;
    write_curve(script, "tasks", m->pending, (q->servers + 1) * q->capacity + 1, 0);
    write_curve(script, "servers", m->busy, q->servers, 1);
    fprintf(script,
            "set multiplot layout 1,2 title 'M/M/n+k queue: %lld servers of %d tasks; rates of "
            "arrival %g, service %g, on %g, off %g'\nunset key\nset style fill solid 0.5 noborder\n"
            "set yrange [0:*]\nset ylabel 'stationary probability'\n"
            "set xlabel 'pending tasks'\nset macros\nplot @tasks_range $tasks with impulses lc rgb '#0072b2'\n"
            "set xlabel 'servers on'\nunset ylabel\n"
            "plot @servers_range $servers with impulses lw 2 lc rgb '#d55e00'\nunset multiplot\n",
            (long long)q->servers, q->capacity, q->lambda, q->mu, q->eta, q->nu);
}

static void print_json(const maker *m)
{
    const ks_queue *q = m->queue;
    const ks_queue_solution *s = &m->solution;
    const int64_t tasks = tasks_of(q, s->block, s->row);
    ks_json json = {0};
    ks_json_open(&json, NULL, '{');
    ks_json_text(&json, "kind", "queue");
    ks_json_text(&json, "output", m->settings->output);
    ks_json_integer(&json, "servers", q->servers);
    ks_json_integer(&json, "capacity", q->capacity);
    ks_json_number(&json, "lambda", q->lambda);
    ks_json_number(&json, "mu", q->mu);
    ks_json_number(&json, "eta", q->eta);
    ks_json_number(&json, "nu", q->nu);
    ks_json_integer(&json, "N", q->servers);
    ks_json_integer(&json, "n", ks_queue_order(q));
    ks_json_text(&json, "method", ks_general_method_name(s->method));
    ks_json_integer(&json, "iterations", s->report.iterations);
    ks_json_number(&json, "residual", s->residual);
    ks_json_integer(&json, "most_probable_tasks", tasks);
    ks_json_integer(&json, "most_probable_servers", s->block + 1);
    ks_json_number(&json, "probability", s->probability);
    ks_json_number(&json, "servers_in_advance", (double)tasks / q->capacity);
    ks_json_integer(&json, "most_probable_tasks_on_any_servers", pending_mode(m));
    ks_json_number(&json, "mean_tasks", s->tasks);
    ks_json_number(&json, "mean_servers", s->servers);
    ks_json_number(&json, "seconds", m->seconds);
    ks_json_close(&json, '}');
    ks_json_end();
}

static void print_text(const maker *m)
{
    const ks_queue *q = m->queue;
    const ks_queue_solution *s = &m->solution;
    const int64_t tasks = tasks_of(q, s->block, s->row);
    printf("%s: queue of %lld servers of %d tasks, lambda %g, mu %g, eta %g, nu %g; N = %lld "
           "blocks, n = %d\n", m->settings->output, (long long)q->servers, q->capacity, q->lambda,
           q->mu, q->eta, q->nu, (long long)q->servers, ks_queue_order(q));
    printf("most probable: M = %lld tasks on %lld servers, probability %.6g; M / k = %.6g servers "
           "to turn on in advance\n", (long long)tasks, (long long)(s->block + 1), s->probability,
           (double)tasks / q->capacity);
    printf("most probable number of tasks on any number of servers: %lld; means: %.6g tasks, %.6g "
           "servers\n", (long long)pending_mode(m), s->tasks, s->servers);
    printf("solved by %s", ks_general_method_name(s->method));
    if (s->report.iterations > 0)
        printf(", %lld step%s of refinement", (long long)s->report.iterations, s->report.iterations == 1 ? "" : "s");
    printf("; largest |pi P - pi| %.2g; %.3g s\n", s->residual, m->seconds);
}

static ks_exit make(maker *m, ks_failure *failure)
{
    const ks_generate_settings *settings = m->settings;
    const double start = ks_seconds();
    if (ks_queue_solve(m->queue, settings->threads, &m->system, &m->solution, failure))
        return failure->code;
    m->seconds = ks_seconds() - start;
    if (find_margins(m, failure) || write_file(m, failure)) return failure->code;
    if (settings->plot) {
        const ks_figure figure = {settings->plot, settings->force, 1000, 420, write_script, m};
        if (ks_figure_draw(&figure, failure)) return failure->code;
    }
    if (settings->json) print_json(m);
    else if (!settings->quiet) print_text(m);
    return KS_EXIT_DONE;
}

ks_exit ks_generate_queue(const ks_generate_settings *settings, ks_failure *failure)
{
    maker m = {.settings = settings, .queue = &settings->queue};
    if (check_room(settings, failure)) return failure->code;
    make(&m, failure);
    ks_queue_free(&m.system);
    free(m.solution.pi);
    free(m.pending);
    free(m.busy);
    return failure->code;
}
