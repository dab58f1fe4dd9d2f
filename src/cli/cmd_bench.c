/* `kalscan bench`: options, and the loop over all cases. */
#include <stdio.h>
#include <string.h>
#include "bench.h"
#include "command.h"
#include "help.h"
#include "options.h"
#include "words.h"

enum {
    NX = 1, NY, STEPS, SERIES, BLOCKS, ORDER, NRHS, METHOD, SCAN, ELIMINATION, THREADS, PRECISION, REPEATS,
    VARYING, FRESH, MISSING, SEED, MACHINE, JSON, QUIET, SYSTEM, TOLERANCE, BACKEND, DEVICE, SEGMENTS,
    TOGETHER, CSV, STEADY_STATE, OWN, ARMA
};

static const ks_option options[] = {
    {NX, "nx", "N", "states, default 4", 0},
    {NY, "ny", "N", "entries of y, default nx / 2; with --arma 1", 0},
    {STEPS, "T", "N", "steps; default by size: covariances of 64 MiB, at most 1e5", 0},
    {SERIES, "batch", "N", "series in one call", 0},
    {VARYING, "varying", NULL, "F, Q, H and R vary with the step", 0},
    {FRESH, "fresh", NULL, "F is stored for each step but does not change: nothing is reused", 0},
    {ARMA, "arma", NULL, "ARMA(nx, nx - 1) without noise of y: steps in the array form", 0},
    {OWN, "own", NULL, "each series of --batch has its own model", 0},
    {STEADY_STATE, "steady-state", "WORD", "covariances of a constant model: hold (default), repeat or compute", 0},
    {MISSING, "missing", "FRACTION", "share of missing entries, default 0", 0},
    {ORDER, "n", "N", "solve: rows of a block, default 16; of a queue 33", 0},
    {BLOCKS, "N", "N", "solve: blocks, default 262144 / n", 0},
    {NRHS, "nrhs", "N", "solve: right-hand sides, default 1", 0},
    {SYSTEM, "system", "WORD", "solve: random (default), symmetric and dense; or queue, the cloud\n"
     "                           queue of N servers with n = 2 k + 1, for general methods", 0},
    {TOLERANCE, "tol", "NUMBER", "solve: relative residual of iterations, default 1e-10", 0},
    {BACKEND, "backend", "NAME", "cpu (default); cuda: smooth and filter with copies of all rows to\n"
     "                           the device and back, solve on arrays in the memory of the device by\n"
     "                           nested-dissection, partition and recursive-schur; or auto: where\n"
     "                           `kalscan smooth` and `solve` would run", 0},
    {DEVICE, "device", "N", "number of the CUDA device, default 0", 0},
    {SEGMENTS, "segments", "LIST", "solve: segments of partition, default 4, on a device 10", 0},
    {TOGETHER, "together", "LIST", "solve: rounds of elimination in one launch of a device, or auto\n"
     "                           (default)", 0},
    {METHOD, "method", "LIST", "default auto; solve: those of `kalscan solve`; all: those for the\n"
     "                           job, the system and the back end", 0},
    {SCAN, "scan", "LIST", "schedules of scan methods, default chunked; all", 0},
    {ELIMINATION, "order", "LIST", "orders of method blocktri, default auto; all", 0},
    {THREADS, "threads", "LIST", "default 1; 0: one for each processor", 0},
    {PRECISION, "precision", "LIST", "f64 (default), f32, mixed, for the methods for which `kalscan smooth`,\n"
     "                           `filter` and `solve` have them", 0},
    {REPEATS, "repeats", "N", "timed runs, after one that is not timed; default 9", 0},
    {MACHINE, "machine", NULL, "first measure the machine: matrix product and triad", 0},
    {SEED, "seed", "N", "seed of the random model or system, default 1", 0},
    {JSON, "json", NULL, "print a list of JSON objects", 0},
    {CSV, "csv", NULL, "print comma-separated values with a header", 0},
    {QUIET, "quiet", NULL, "print no table", 0},
    {0}};

static void print_help(void)
{
    printf("usage: kalscan bench smooth|filter|solve [options]\n\n"
           "Time the computation in memory, without files: means, covariances and log-likelihood of\n"
           "a random model, or factor and solution of a random system.\n\n"
           "Options\n");
    ks_options_print(options);
    ks_options_print(ks_common_options);
    printf("Numbers may be written as 1e6.\n\n"
           "GFLOP/s: operations of the sequential method, as `kalscan count` counts them, or of block\n"
           "Cholesky to leading order in n, divided by the time. GB/s: the least that is read and\n"
           "written, divided by the time. Operations are not counted for methods for general systems\n"
           "and for --arma.\n"
           "If F, Q, H and R are constant, a method may reuse covariance steps that repeat or have\n"
           "converged; see --steady-state in `kalscan smooth --help`.\n");
    ks_help_exit_codes();
}

/* Call `take` for each part of a comma-separated list. */
static ks_exit for_each(const char *option, const char *text,
                        ks_exit (*take)(ks_bench_settings *, const char *, ks_failure *),
                        ks_bench_settings *settings, ks_failure *failure)
{
    char part[64];
    for (;;) {
        const size_t length = strcspn(text, ",");
        if (length == 0 || length >= sizeof part)
            return ks_fail(failure, KS_EXIT_USAGE, "%s: '%.100s' is not a list of names", option,
                           text);
        snprintf(part, sizeof part, "%.*s", (int)length, text);
        if (take(settings, part, failure)) return failure->code;
        if (text[length] == '\0') return KS_EXIT_DONE;
        text += length + 1;
    }
}

static ks_exit take_precision(ks_bench_settings *s, const char *name, ks_failure *failure)
{
    ks_precision precision;
    if (ks_read_precision(name, &precision, failure)) return failure->code;
    if (s->precisions == KS_BENCH_LIST)
        return ks_fail(failure, KS_EXIT_USAGE, "--precision: too many");
    s->precision[s->precisions++] = (int)precision;
    return KS_EXIT_DONE;
}

static ks_exit take_order(ks_bench_settings *s, const char *name, ks_failure *failure)
{
    const char *names[KS_BLOCKTRI_ORDERS + 2] = {NULL};
    int index = 0;
    for (int i = 0; i < KS_BLOCKTRI_ORDERS; ++i)
        names[i] = ks_blocktri_order_name((ks_blocktri_order)i);
    names[KS_BLOCKTRI_ORDERS] = "all";
    if (ks_parse_word("--order", name, names, NULL, &index, failure)) return failure->code;
    const bool all = index == KS_BLOCKTRI_ORDERS;
    for (int i = all ? KS_BLOCKTRI_SEQUENTIAL : index; i <= (all ? KS_BLOCKTRI_ORDERS - 1 : index);
         ++i) {
        if (s->orders == KS_BLOCKTRI_ORDERS)
            return ks_fail(failure, KS_EXIT_USAGE, "--order: too many");
        s->order[s->orders++] = (ks_blocktri_order)i;
    }
    return KS_EXIT_DONE;
}

static ks_exit read_segments(ks_bench_settings *s, const char *text, ks_failure *failure)
{
    if (ks_read_counts("--segments", text, 1, (int64_t)1 << 40, KS_BENCH_LIST, s->segments,
                       &s->segment_counts, failure))
        return failure->code;
    for (int i = 0; i < s->segment_counts; ++i)
        if (s->segments[i] < 2)
            return ks_fail(failure, KS_EXIT_USAGE, "--segments: a partition has at least 2");
    return KS_EXIT_DONE;
}

static ks_exit take_together(ks_bench_settings *s, const char *name, ks_failure *failure)
{
    int64_t number = -1;
    if (s->togethers == KS_BENCH_LIST) return ks_fail(failure, KS_EXIT_USAGE, "--together: too many");
    if (strcmp(name, "auto") != 0 && ks_parse_integer("--together", name, 0, 1 << 20, &number, failure))
        return failure->code;
    s->together[s->togethers++] = (int)number;
    return KS_EXIT_DONE;
}

static ks_exit read_scans(ks_bench_settings *s, const char *text, ks_failure *failure)
{
    static ks_count_settings list;
    list.scans = 0;
    if (ks_read_scan_choices(&list, text, failure)) return failure->code;
    memcpy(s->scan, list.scan, sizeof s->scan);
    s->scans = list.scans;
    return KS_EXIT_DONE;
}

static ks_exit read_system(ks_bench_settings *s, const char *name, ks_failure *failure)
{
    static const char *const names[] = {"random", "queue", NULL};
    int index = 0;
    if (ks_parse_word("--system", name, names, NULL, &index, failure) == KS_EXIT_DONE)
        s->queue = index == 1;
    return failure->code;
}

/* The settings read so far, and which options were given. */
typedef struct asked {
    ks_bench_settings settings;
    int job;          /* -1: not known */
    unsigned given;   /* one bit for each option */
} asked;

static ks_exit read_option(void *read, int id, const char *value, ks_failure *failure)
{
    asked *a = read;
    ks_bench_settings *s = &a->settings;
    const int64_t most = (int64_t)1 << 40;
    if (id == KS_OPTION_WORD) return KS_EXIT_DONE;
    a->given |= 1u << id;
    switch (id) {
    case NX: return ks_parse_int("--nx", value, 1, 4096, &s->nx, failure);
    case NY: return ks_parse_int("--ny", value, 1, 4096, &s->ny, failure);
    case STEPS: return ks_parse_integer("--T", value, 1, most, &s->T, failure);
    case SERIES: return ks_parse_integer("--batch", value, 1, most, &s->B, failure);
    case BLOCKS: return ks_parse_integer("--N", value, 1, most, &s->N, failure);
    case ORDER: return ks_parse_int("--n", value, 1, 4096, &s->n, failure);
    case NRHS: return ks_parse_int("--nrhs", value, 1, 4096, &s->nrhs, failure);
    case SYSTEM: return read_system(s, value, failure);
    case STEADY_STATE: return ks_read_steady_state(value, &s->steady_state, failure);
    case BACKEND: return ks_read_backend(value, &s->backend, failure);
    case DEVICE: return ks_parse_int("--device", value, 0, 1000, &s->device, failure);
    case SEGMENTS: return read_segments(s, value, failure);
    case TOGETHER: return for_each("--together", value, take_together, s, failure);
    case TOLERANCE: return ks_parse_number("--tol", value, 1e-300, 1e300, &s->tolerance, failure);
    case METHOD: return for_each("--method", value, ks_bench_take_method, s, failure);
    case SCAN: return read_scans(s, value, failure);
    case ELIMINATION: return for_each("--order", value, take_order, s, failure);
    case THREADS:
        return ks_read_counts("--threads", value, 0, 4096, KS_BENCH_LIST, s->threads, &s->thread_counts, failure);
    case PRECISION: return for_each("--precision", value, take_precision, s, failure);
    case REPEATS:
        return ks_parse_int("--repeats", value, 1, KS_BENCH_REPEATS - 1, &s->repeats, failure);
    case VARYING: s->model = KS_BENCH_VARYING; break;
    case FRESH: s->model = KS_BENCH_FRESH; break;
    case OWN: s->own = true; break;
    case ARMA: s->arma = true; break;
    case MISSING: return ks_parse_number("--missing", value, 0.0, 1.0, &s->missing, failure);
    case SEED: return ks_parse_integer("--seed", value, 0, (int64_t)1 << 52, &s->seed, failure);
    case MACHINE: s->machine = true; break;
    case JSON: s->json = true; break;
    case CSV: s->csv = true; break;
    default: s->quiet = true; break;
    }
    return KS_EXIT_DONE;
}

static bool is_partition(const ks_solver *solver)
{
    return solver->cholesky && solver->value == KS_BLOCKTRI_PARTITION;
}

static bool has_scan(ks_method method)
{
    return method == KS_METHOD_SCAN || method == KS_METHOD_SCAN_RTS ||
           method == KS_METHOD_SCAN_TWO_FILTER;
}

/* Refuse options that no method, or the model, uses. What auto chooses is known only later. */
static ks_exit check_model_options(ks_bench_settings *s, unsigned given, ks_failure *failure)
{
    bool scans = s->methods == 0, orders = false;
    for (int m = 0; m < s->methods; ++m) {
        scans |= has_scan(s->method[m]) || s->method[m] == KS_METHOD_AUTO;
        orders |= s->method[m] == KS_METHOD_BLOCKTRI;
    }
    s->scan_given = given >> SCAN & 1u;
    s->steady_given = given >> STEADY_STATE & 1u;
    if (s->own && s->B < 2) return ks_fail(failure, KS_EXIT_USAGE, "--own goes with --batch of 2 series or more");
    if (given >> VARYING & 1u && given >> FRESH & 1u)
        return ks_fail(failure, KS_EXIT_USAGE, "--varying or --fresh, not both");
    if (s->arma && (s->model == KS_BENCH_VARYING || s->ny > 1))
        return ks_fail(failure, KS_EXIT_USAGE, "--arma: %s", s->ny > 1 ? "one entry is observed, not --ny" : "F alone may be "
                       "given for each step, by --fresh, not --varying");
    if (s->steady_given && s->model != KS_BENCH_CONSTANT)
        return ks_fail(failure, KS_EXIT_USAGE, "--steady-state goes with a constant model, not with --%s",
                       s->model == KS_BENCH_FRESH ? "fresh" : "varying");
    if (s->scan_given && !scans)
        return ks_fail(failure, KS_EXIT_USAGE, "--scan goes with %s only",
                       s->job == KS_BENCH_FILTER ? "--method scan" : "methods scan-rts and scan-two-filter");
    if (given >> ELIMINATION & 1u && !orders)
        return ks_fail(failure, KS_EXIT_USAGE, "--order goes with --method blocktri only");
    return KS_EXIT_DONE;
}

/* Whether a method of solve may use --tol. For the queue, auto decides later. */
static bool may_iterate(const ks_bench_settings *s, const ks_solver *solver)
{
    if (solver == &ks_solvers[0]) return s->queue;
    return !solver->cholesky && solver->value <= KS_CG;
}

/* Refuse options that no method, or the system, uses. */
static ks_exit check_system_options(const ks_bench_settings *s, unsigned given, ks_failure *failure)
{
    bool partition = false, iterates = s->methods == 0 && s->queue;
    for (int m = 0; m < s->methods; ++m) {
        partition |= is_partition(s->solver[m]);
        iterates |= may_iterate(s, s->solver[m]);
    }
    if (given >> SEGMENTS & 1u && !partition)
        return ks_fail(failure, KS_EXIT_USAGE, "--segments goes with --method partition only");
    if (given >> TOLERANCE & 1u && !iterates)
        return ks_fail(failure, KS_EXIT_USAGE, "--tol goes with the iterative methods only");
    if (given >> SEED & 1u && s->queue)
        return ks_fail(failure, KS_EXIT_USAGE, "--seed goes with --system random only");
    return KS_EXIT_DONE;
}

static ks_exit complete(ks_bench_settings *s, unsigned given, ks_failure *failure)
{
    static const int of_solve[] = {BLOCKS, ORDER, NRHS, SYSTEM, TOLERANCE, SEGMENTS, TOGETHER};
    static const int of_models[] = {NX, NY, STEPS, SERIES, SCAN, ELIMINATION, VARYING, FRESH,
                                    ARMA, OWN, STEADY_STATE, MISSING};
    const bool solve = s->job == KS_BENCH_SOLVE;
    const int *others = solve ? of_models : of_solve;
    const size_t count = solve ? sizeof of_models / sizeof *of_models
                               : sizeof of_solve / sizeof *of_solve;
    for (size_t i = 0; i < count; ++i)
        if (given >> others[i] & 1u)
            return ks_fail(failure, KS_EXIT_USAGE,
                           "bench solve takes --n, --N, --nrhs, --system, --tol, --segments and --together; "
                           "bench smooth and filter take --nx, --ny, --T, --batch, --scan, --order, --varying, "
                           "--fresh, --arma, --own, --steady-state and --missing");
    if (given >> DEVICE & 1u && s->backend == KS_BACKEND_CPU)
        return ks_fail(failure, KS_EXIT_USAGE, "--device goes with --backend cuda or auto only");
    if (given >> TOGETHER & 1u && s->backend != KS_BACKEND_CUDA)
        return ks_fail(failure, KS_EXIT_USAGE, "--together goes with --backend cuda only");
    if (s->csv && (s->json || s->machine))
        return ks_fail(failure, KS_EXIT_USAGE, s->json ? "--json or --csv, not both"
                                                       : "--machine: --csv has no columns for it, --json has");
    if (s->every && ks_bench_take_all(s, failure)) return failure->code;
    if (!solve && check_model_options(s, given, failure)) return failure->code;
    if (solve && check_system_options(s, given, failure)) return failure->code;
    if (s->n == 0) s->n = s->queue ? 33 : 16;
    if (s->queue && (s->n < 3 || s->n % 2 == 0))
        return ks_fail(failure, KS_EXIT_USAGE, "--system queue: a block has n = 2 k + 1 rows for "
                       "servers of k tasks, not %d", s->n);
    if (s->ny == 0) s->ny = s->nx > 1 && !s->arma ? s->nx / 2 : 1;
    if (s->scans == 0 && read_scans(s, "chunked", failure)) return failure->code;
    if (s->orders == 0) s->order[s->orders++] = KS_BLOCKTRI_AUTO;
    if (s->thread_counts == 0) s->threads[s->thread_counts++] = 1;
    if (s->precisions == 0) s->precision[s->precisions++] = 0;
    if (s->methods == 0) return ks_bench_take_method(s, "auto", failure);
    return KS_EXIT_DONE;
}

/* Time a method of solve with all its parameters. */
static ks_exit run_solver(const ks_bench_settings *s, const ks_solver *solver, int threads, int precision,
                          const ks_bench_machine *machine, ks_failure *failure)
{
    const int cuts = is_partition(solver) && s->segment_counts > 0 ? s->segment_counts : 1;
    const int launches = s->togethers > 0 ? s->togethers : 1;
    ks_bench_result result;
    for (int i = 0; i < cuts * launches; ++i) {
        const int64_t segments = s->segments[i / launches];
        const ks_bench_elimination way = {solver, is_partition(solver) ? segments : 0,
                                          s->togethers > 0 ? s->together[i % launches] : -1};
        if (ks_bench_solve(s, &way, threads, precision, &result, failure)) return failure->code;
        result.machine = machine;
        ks_bench_show(s, &result);
    }
    return KS_EXIT_DONE;
}

/* Time all methods and scans on a number of threads, in one precision. */
static ks_exit run_one(const ks_bench_settings *s, int threads, int precision, ks_failure *failure)
{
    static const char *const names[] = {"f64", "f32", "f32"};
    ks_bench_machine machine;
    if (s->machine) {
        if (ks_bench_measure(&machine, threads > 0 ? threads : 1, precision > 0, s->repeats,
                             failure))
            return failure->code;
        ks_bench_show_machine(s, &machine, threads > 0 ? threads : 1, names[precision]);
    }
    ks_bench_result result;
    for (int m = 0; m < s->methods; ++m) {
        if (s->job == KS_BENCH_SOLVE) {
            if (run_solver(s, s->solver[m], threads, precision, s->machine ? &machine : NULL, failure))
                return failure->code;
            continue;
        }
        const ks_method method = s->method[m];
        if (s->every && precision == KS_MIXED && s->backend != KS_BACKEND_CUDA && method != KS_METHOD_SEQUENTIAL) continue;
        const bool scans = has_scan(method), orders = method == KS_METHOD_BLOCKTRI;
        for (int w = 0; w < (scans ? s->scans : orders ? s->orders : 1); ++w) {
            const ks_bench_way way = {method, s->scan[scans ? w : 0], s->order[orders ? w : 0]};
            ks_bench_smooth(s, &way, threads, (ks_precision)precision, &result, failure);
            if (failure->code) return failure->code;
            result.machine = s->machine ? &machine : NULL;
            ks_bench_show(s, &result);
        }
    }
    return KS_EXIT_DONE;
}

static ks_exit run(const ks_bench_settings *s, ks_failure *failure)
{
    for (int t = 0; t < s->thread_counts && !failure->code; ++t)
        for (int p = 0; p < s->precisions && !failure->code; ++p)
            run_one(s, (int)s->threads[t], s->precision[p], failure);
    ks_bench_end(s, failure->code != KS_EXIT_DONE);
    return failure->code;
}

static ks_exit find_job(void *read, int id, const char *value, ks_failure *failure)
{
    static const char *const jobs[] = {"smooth", "filter", "solve", NULL};
    asked *a = read;
    if (id != KS_OPTION_WORD) return KS_EXIT_DONE;
    if (a->job >= 0)
        return ks_fail(failure, KS_EXIT_USAGE, "bench: one job only, but got '%s' and '%s'", jobs[a->job], value);
    if (ks_parse_word("bench", value, jobs, NULL, &a->job, failure) == KS_EXIT_DONE)
        a->settings.job = (ks_bench_job)a->job;
    return failure->code;
}

ks_exit ks_command_bench(const ks_call *call, ks_failure *failure)
{
    const ks_option_reader all = {.argc = call->argc, .argv = call->argv, .command = "kalscan bench",
                                  .help = print_help, .tables = {options}};
    asked a = {.settings = {.nx = 4, .nrhs = 1, .seed = 1, .repeats = 9, .tolerance = 1e-10}, .job = -1};
    bool served;
    /* The job decides what other options mean, so find it first, wherever it is. */
    ks_option_reader reader = all;
    if (ks_options_read(&reader, find_job, &a, &served, failure) || served) return failure->code;
    if (a.job < 0)
        return ks_fail(failure, KS_EXIT_USAGE, "no job; usage: kalscan bench smooth|filter|solve [options], see --help");
    reader = all;
    if (ks_options_read(&reader, read_option, &a, &served, failure)) return failure->code;
    return complete(&a.settings, a.given, failure) ? failure->code : run(&a.settings, failure);
}
