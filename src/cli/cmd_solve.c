/* `kalscan solve`: options, then open, plan, read, solve, write, report. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "help.h"
#include "memory.h"
#include "options.h"
#include "solve.h"
#include "solve_device.h"
#include "solve_general.h"
#include "target.h"
#include "words.h"

enum {
    OUTPUT = 1, METHOD, SEGMENTS, INVERSE_BLOCKS, LAYOUT, BACKEND, DEVICE, THREADS, PRECISION, REFINE,
    COMPRESS, FORCE, DRY_RUN, JSON, QUIET,
    /* of the methods for general systems, in the order of ks_general_read_option() */
    TOLERANCE, MOST_ITERATIONS, RELAXATION, RESTART, STOP, BLOCK_SOLVER, ANY_MATRIX
};

static const ks_option options[] = {
    {OUTPUT, "output", "FILE", "output file", 'o'},
    {METHOD, "method", "NAME", "see above; default auto", 0},
    {SEGMENTS, "segments", "N", "partition: number of segments, default 4, on a device 10", 0},
    {INVERSE_BLOCKS, "inverse-blocks", NULL, "also write S_diag and S_lag, blocks of the inverse", 0},
    {LAYOUT, "layout", "c|fortran", "instead of the attribute of the file; c without either", 0},
    {BACKEND, "backend", "NAME", "cpu (default); cuda; or auto: a device, if there is one, for\n"
     "                           block-jacobi and red-black, else the CPU", 0},
    {DEVICE, "device", "N", "number of the CUDA device, default 0", 0},
    {THREADS, "threads", "N", "worker threads; 0 (default): one for each processor", 0},
    {PRECISION, "precision", "f64|f32|mixed", "default f64; f32 and mixed for Cholesky methods; mixed: a factor in\n"
     "                           f32, refined to f64 (not recursive-schur on a device)", 0},
    {REFINE, "refine", NULL, "same as --precision mixed", 0},
    {TOLERANCE, "tol", "VALUE", "iterative methods: relative residual to reach, default 1e-10", 0},
    {MOST_ITERATIONS, "max-iter", "N", "iterative methods: most iterations, default 10000", 0},
    {STOP, "stop", "residual|change", "what --tol bounds: the residual (default), or the change of x in one\n"
     "                           iteration", 0},
    {RELAXATION, "relaxation", "VALUE", "block iterations: in (0, 2), or estimate; default 1", 0},
    {RESTART, "restart", "N", "gmres: steps of a cycle, default 30", 0},
    {BLOCK_SOLVER, "block-solver", "NAME", "for tridiagonal blocks: auto (default), thomas, lu, cyclic-reduction,\n"
     "                           parallel-cyclic-reduction", 0},
    {ANY_MATRIX, "any-matrix", NULL, "cg: do not refuse a matrix that is not symmetric", 0},
    {COMPRESS, "compress", "LEVEL", "level of deflate with shuffle, 0 (default) to 9", 0},
    {FORCE, "force", NULL, "replace an existing output", 0},
    {DRY_RUN, "dry-run", NULL, "check the input, estimate the memory, write nothing", 0},
    {JSON, "json", NULL, "summary as one JSON object", 0},
    {QUIET, "quiet", NULL, "no summary, no notes, no progress bar", 0},
    {0}};

static void print_help(void)
{
    printf("usage: kalscan solve SYSTEM.h5 -o X.h5 [options]\n\n"
           "Solve A x = b for a block-tridiagonal A. The file has the diagonal blocks in /D\n"
           "(N, n, n), the sub-diagonal blocks A[i+1, i] in /L (N-1, n, n) and the right-hand sides\n"
           "in /b (N, n) or (N, n, nrhs). Super-diagonal blocks are in /U (N-1, n, n); without it the\n"
           "system is symmetric. Tridiagonal diagonal blocks may be in /D_dia (N, 3, n) instead, and\n"
           "/L, /U may be groups of lists block, row, col, value. The output has /x, with the shape of\n"
           "/b, and from Cholesky methods /logdet.\n\nMethods\n");
    for (int i = 0; i < ks_solver_count; ++i)
        printf("  %-24s %s\n", ks_solvers[i].name, ks_solvers[i].summary);
    printf("Cholesky methods need a symmetric positive definite A and read the lower triangles of\n"
           "its diagonal blocks. They refuse /U and compact blocks. Block iterations converge if the\n"
           "spectral radius of D^-1 (L + U) is below 1. A method that does not converge writes\n"
           "nothing (exit code 1). A CUDA device has nested-dissection, partition, recursive-schur\n"
           "(with cuBLAS and cuSOLVER), and for tridiagonal diagonal blocks block-jacobi and\n"
           "red-black.\n\n"
           "Options\n");
    ks_options_print(options);
    ks_options_print(ks_common_options);
    printf("Numbers may be written as 1e6.\n");
    ks_help_exit_codes();
}

static ks_exit read_method(ks_solve_settings *settings, const char *text, ks_failure *failure)
{
    const char *names[32] = {NULL};
    int index = 0;
    for (int i = 0; i < ks_solver_count && i < 31; ++i) names[i] = ks_solvers[i].name;
    if (ks_parse_word("--method", text, names, NULL, &index, failure) == KS_EXIT_DONE)
        settings->solver = &ks_solvers[index];
    return failure->code;
}

/* The options read so far. The rest follows when all of them are known. */
typedef struct asked {
    ks_solve_settings settings;
    ks_precision precision;
    bool precision_given, refine, device;
} asked;

static ks_exit read_option(void *read, int id, const char *value, ks_failure *failure)
{
    asked *given = read;
    ks_solve_settings *settings = &given->settings;
    switch (id) {
    case KS_OPTION_WORD: return ks_take_word("input", &settings->file, value, failure);
    case OUTPUT: settings->output = value; break;
    case METHOD: return read_method(settings, value, failure);
    case SEGMENTS:
        return ks_parse_integer("--segments", value, 2, (int64_t)1 << 40, &settings->segments, failure);
    case INVERSE_BLOCKS: settings->inverse_blocks = true; break;
    case LAYOUT: return ks_read_layout(value, &settings->layout, failure);
    case BACKEND: return ks_read_backend(value, &settings->general.backend, failure);
    case DEVICE:
        given->device = true;
        return ks_parse_int("--device", value, 0, 1023, &settings->general.device, failure);
    case THREADS: return ks_parse_int("--threads", value, 0, 4096, &settings->threads, failure);
    case PRECISION:
        given->precision_given = true;
        return ks_read_precision(value, &given->precision, failure);
    case REFINE: given->refine = true; break;
    case COMPRESS: return ks_parse_int("--compress", value, 0, 9, &settings->compress, failure);
    case FORCE: settings->force = true; break;
    case DRY_RUN: settings->dry_run = true; break;
    case JSON: settings->json = true; break;
    case QUIET: settings->quiet = true; break;
    default: return ks_general_read_option(settings, id - TOLERANCE, value, failure);
    }
    return KS_EXIT_DONE;
}

static ks_exit complete(asked *given, ks_failure *failure)
{
    ks_solve_settings *settings = &given->settings;
    if (!settings->file)
        return ks_fail(failure, KS_EXIT_USAGE,
                       "no input; usage: kalscan solve SYSTEM.h5 -o X.h5");
    if (!settings->output && !settings->dry_run)
        return ks_fail(failure, KS_EXIT_USAGE,
                       "no output; usage: kalscan solve SYSTEM.h5 -o X.h5, or --dry-run");
    if (given->refine && given->precision_given && given->precision != KS_MIXED)
        return ks_fail(failure, KS_EXIT_USAGE, "--refine is the same as --precision mixed; it does not go with "
                       "--precision %s", given->precision == KS_F32 ? "f32" : "f64");
    settings->refine = given->refine || given->precision == KS_MIXED;
    settings->refine_option = given->refine ? "--refine" : "--precision mixed";
    settings->precision = settings->refine || given->precision == KS_F32 ? KS_F32 : KS_F64;
    if (given->device && settings->general.backend == KS_BACKEND_CPU)
        return ks_fail(failure, KS_EXIT_USAGE, "--device goes with --backend cuda or auto only");
    if (settings->segments > 0 &&
        (!settings->solver->cholesky || settings->solver->value != KS_BLOCKTRI_PARTITION))
        return ks_fail(failure, KS_EXIT_USAGE, "--segments goes with --method partition only");
    return KS_EXIT_DONE;
}

/* Replace the method by its form on the device, if --backend asks for one. */
static ks_exit fit_backend(ks_solve *run, ks_failure *failure)
{
    if (run->settings->general.backend != KS_BACKEND_CUDA) return KS_EXIT_DONE;
    const int order = run->solver->value;
    if (!run->solver->cholesky) {
        const ks_general_method method = (ks_general_method)order;
        if (method == KS_GENERAL_AUTO || method == KS_BLOCK_JACOBI || method == KS_RED_BLACK)
            return ks_general_check_device(run, failure);
    } else if (ks_device_has((ks_blocktri_order)order)) {
        run->solver = &ks_device_solver;
        run->backend = KS_BACKEND_CUDA;
        return KS_EXIT_DONE;
    }
    return ks_fail(failure, KS_EXIT_USAGE, "--backend cuda: method %s has no form for a device; %s",
                   run->solver->name, run->solver->cholesky ? "nested-dissection, partition and recursive-schur have"
                                                            : "block-jacobi and red-black have");
}

/* Fail because of an option that only Cholesky methods take. If `auto` stands for another method, say why. */
static ks_exit not_cholesky(const ks_solve *run, bool upper, ks_failure *failure)
{
    const ks_solve_settings *settings = run->settings;
    const char *option = settings->refine ? settings->refine_option
                         : settings->precision == KS_F32 ? "--precision f32" : "--inverse-blocks";
    if (run->solver != &ks_general_auto)
        return ks_fail(failure, KS_EXIT_USAGE, "%s: method %s is no Cholesky method%s", option, run->solver->name,
                       settings->precision == KS_F32 ? " and computes in f64" : "");
    return ks_fail(failure, KS_EXIT_USAGE, "%s: %s goes with Cholesky methods, which do not take %s",
                   settings->file, option, upper ? "super-diagonal blocks /U" : "compact blocks");
}

/* Check the options and the system against each other, and replace `auto` by what it stands for. */
static ks_exit fit_method(ks_solve *run, ks_failure *failure)
{
    const ks_solve_settings *settings = run->settings;
    const bool upper = ks_system_has_upper(run->system);
    const bool compact = ks_system_is_compact(run->system);
    if (run->solver == &ks_solvers[0] && (upper || compact)) run->solver = &ks_general_auto;
    if (run->solver->cholesky && upper)
        return ks_fail(failure, KS_EXIT_USAGE,
                       "%s: has super-diagonal blocks /U; method %s is a Cholesky method and takes "
                       "symmetric systems, without /U, only", settings->file, run->solver->name);
    if (run->solver->cholesky && compact)
        return ks_fail(failure, KS_EXIT_USAGE, "%s: has compact blocks; method %s is a Cholesky "
                       "method and takes dense blocks only", settings->file, run->solver->name);
    if (run->solver->cholesky && run->solver != &ks_solvers[0] && settings->iterates)
        return ks_fail(failure, KS_EXIT_USAGE, "method %s does not iterate: it takes none of "
                       "--tol, --max-iter, --stop, --relaxation, --restart, --block-solver, --any-matrix",
                       run->solver->name);
    if (!run->solver->cholesky && (settings->inverse_blocks || settings->precision == KS_F32))
        return not_cholesky(run, upper, failure);
    if (!run->solver->cholesky && ks_general_check_options(run, failure)) return failure->code;
    return fit_backend(run, failure);
}

/* Print the notes about the file from number `first` on. */
static void print_file_notes(const ks_solve *run, int first)
{
    for (int i = first; i < run->system->notes.count; ++i)
        fprintf(stderr, "kalscan: note: %s\n", run->system->notes.text[i]);
}

/* Print notes about possible mistakes. */
static void print_notes(const ks_solve *run)
{
    const ks_system *system = run->system;
    if (run->settings->quiet) return;
    print_file_notes(run, 0);
    if (system->layout_stated) return;
    for (int i = 0; i < KS_SYSTEM_ARRAYS; ++i)
        if (system->arrays[i].dataset.id >= 0 && system->arrays[i].dataset.matlab) {
            fprintf(stderr, "kalscan: note: %s: %s was written by MATLAB (attribute MATLAB_class) "
                    "but no layout is stated; if blocks come last there, use --layout fortran\n",
                    system->name, system->arrays[i].dataset.path);
            return;
        }
}

/* Print a note that the run is on the CPU, if --backend left the choice open. */
static void note_backend(const ks_solve *run)
{
    if (run->settings->quiet || run->settings->general.backend != KS_BACKEND_AUTO ||
        run->backend != KS_BACKEND_CPU)
        return;
    fprintf(stderr, "kalscan: note: --backend auto ran method %s on the CPU\n", run->method);
}

static ks_exit open_system(ks_solve *run, ks_failure *failure)
{
    const ks_solve_settings *settings = run->settings;
    ks_context_options context_options = KS_CONTEXT_OPTIONS_INIT;
    if (ks_system_open(&run->system, settings->file, settings->layout, failure))
        return failure->code;
    if (fit_method(run, failure)) return failure->code;
    if (ks_problems_fail(&run->system->problems, true, failure) ||
        ks_system_spare(run->system, settings->output, failure))
        return failure->code;
    print_notes(run);
    context_options.threads = settings->threads;
    if (ks_context_create(&run->context, &context_options) != KS_OK)
        return ks_fail(failure, KS_EXIT_RESOURCES,
                       "out of memory: the system gives no more threads");
    run->data_precision = settings->refine ? KS_F64 : settings->precision;
    run->system_bytes = ks_system_bytes(run->system, run->data_precision);
    if (run->solver->plan(run, failure)) return failure->code;
    if (run->solver->cholesky) ks_general_note_options(run, KS_GENERAL_AUTO);
    return KS_EXIT_DONE;
}

/* The size of a compressed file is not known in advance. */
static ks_exit check_room(const ks_solve *run, ks_failure *failure)
{
    const ks_solve_settings *settings = run->settings;
    if (!settings->output || settings->compress > 0) return KS_EXIT_DONE;
    return ks_target_room(settings->output, ks_solve_disk_bytes(run), failure);
}

static void read_progress(void *user, double done) { ks_progress_set(user, done); }

static ks_exit read_system(ks_solve *run, ks_failure *failure)
{
    const double start = ks_seconds();
    ks_progress_phase(&run->progress, "read");
    if (ks_system_load(run->system, run->data_precision, !ks_system_has_upper(run->system),
                       read_progress, &run->progress, failure) == KS_EXIT_DONE)
        ks_problems_fail(&run->system->problems, run->data_precision == KS_F64, failure);
    if (!failure->code && !run->settings->quiet) {
        const int noted = run->system->notes.count;
        ks_system_note_upper(run->system);
        print_file_notes(run, noted);
    }
    run->read_seconds = ks_seconds() - start;
    return failure->code;
}

static ks_exit run_steps(ks_solve *run, ks_failure *failure)
{
    const ks_solve_settings *settings = run->settings;
    const char *const inputs[] = {settings->file, NULL};
    if (settings->output && ks_target_check(settings->output, settings->force, inputs, failure))
        return failure->code;
    bool tell = false;
    if (open_system(run, failure)) return failure->code;
    if (settings->dry_run) {
        /* A dry run prints the sizes also if they do not fit. */
        if (read_system(run, failure) == KS_EXIT_DONE && run->solver->settle) run->solver->settle(run, failure);
        tell = failure->code == KS_EXIT_DONE || failure->code == KS_EXIT_RESOURCES;
        check_room(run, failure);
    } else if (ks_solve_check_memory(run, failure) == KS_EXIT_DONE && /* before anything is read: fail at once */
               check_room(run, failure) == KS_EXIT_DONE &&
               read_system(run, failure) == KS_EXIT_DONE) {
        ks_progress_phase(&run->progress, "compute");
        if (run->solver->run(run, failure) == KS_EXIT_DONE) {
            note_backend(run);
            tell = ks_solve_write(run, failure) == KS_EXIT_DONE;
        }
    }
    ks_progress_clear(&run->progress);
    if (tell && (settings->json || !settings->quiet)) ks_solve_summary(run);
    return failure->code;
}

static ks_exit run_solve(const ks_solve_settings *settings, const ks_call *call,
                         ks_failure *failure)
{
    ks_solve run = {.settings = settings, .call = call, .solver = settings->solver};
    ks_progress_start(&run.progress, settings->quiet);
    run_steps(&run, failure);
    run.solver->release(&run);
    free(run.x);
    ks_context_destroy(run.context);
    ks_system_close(run.system);
    return failure->code;
}

ks_exit ks_command_solve(const ks_call *call, ks_failure *failure)
{
    ks_option_reader reader = {.argc = call->argc, .argv = call->argv, .command = "kalscan solve",
                               .help = print_help, .tables = {options}};
    asked given = {.settings = {.solver = &ks_solvers[0], .layout = -1, .general = KS_GENERAL_OPTIONS_INIT}};
    bool served;
    if (ks_options_read(&reader, read_option, &given, &served, failure) || served || complete(&given, failure))
        return failure->code;
    return run_solve(&given.settings, call, failure);
}
