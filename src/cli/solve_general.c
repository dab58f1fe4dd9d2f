/* The methods for general systems: block iterations, Krylov methods, block elimination. */
#include "solve_general.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "device.h"
#include "memory.h"
#include "options.h"

typedef struct general {
    ks_general_packed *packed;
    ks_general_plan *plan;
    void *factor, *work;
} general;

/* The options, in the order in which the command numbers them. */
enum { TOLERANCE, MOST_ITERATIONS, RELAXATION, RESTART, STOP, BLOCK_SOLVER, ANY_MATRIX };

ks_exit ks_general_read_option(ks_solve_settings *settings, int id, const char *value,
                               ks_failure *failure)
{
    ks_general_options *o = &settings->general;
    static const char *const stops[] = {"residual", "change", NULL};
    const char *solvers[KS_BLOCK_SOLVERS + 1] = {NULL};
    int index = 0;
    int64_t number = 0;
    ks_failure outside = {0};
    settings->iterates |= 1u << id;
    switch (id) {
    case TOLERANCE: return ks_parse_number("--tol", value, 1e-300, 1e300, &o->tolerance, failure);
    case MOST_ITERATIONS:
        return ks_parse_integer("--max-iter", value, 1, (int64_t)1 << 40, &o->max_iterations,
                                failure);
    case RELAXATION:
        o->relaxation = KS_RELAXATION_ESTIMATE;
        if (strcmp(value, "estimate") == 0) return KS_EXIT_DONE;
        if (ks_parse_number("--relaxation", value, 0x1p-52, 2 - 0x1p-52, &o->relaxation, &outside))
            return ks_fail(failure, KS_EXIT_USAGE, "--relaxation: '%.100s' is neither a number between 0 and 2 nor "
                           "estimate", value);
        return KS_EXIT_DONE;
    case RESTART:
        if (ks_parse_integer("--restart", value, 1, 10000, &number, failure) == KS_EXIT_DONE)
            o->restart = (int)number;
        return failure->code;
    case STOP:
        if (ks_parse_word("--stop", value, stops, NULL, &index, failure) == KS_EXIT_DONE)
            o->stop = (ks_general_stop)index;
        return failure->code;
    case ANY_MATRIX: o->any_matrix = 1; break;
    default:
        for (int i = 0; i < KS_BLOCK_SOLVERS; ++i)
            solvers[i] = ks_block_solver_name((ks_block_solver)i);
        if (ks_parse_word("--block-solver", value, solvers, NULL, &index, failure) == KS_EXIT_DONE)
            o->block_solver = (ks_block_solver)index;
        return failure->code;
    }
    return KS_EXIT_DONE;
}

/* Which options each method uses. Methods are one bit each. */
enum {
    SWEEPS = 1 << KS_BLOCK_JACOBI | 1 << KS_BLOCK_GAUSS_SEIDEL | 1 << KS_RED_BLACK,
    ITERATIONS = SWEEPS | 1 << KS_BICGSTAB | 1 << KS_GMRES | 1 << KS_CG
};
static const struct { int option; unsigned methods; const char *name, *goes_with; } belongs[] = {
    {TOLERANCE, ITERATIONS, "tol", "the iterative methods"},
    {MOST_ITERATIONS, ITERATIONS, "max-iter", "the iterative methods"},
    {BLOCK_SOLVER, ITERATIONS, "block-solver", "the iterative methods"},
    {RELAXATION, SWEEPS, "relaxation", "block-jacobi, block-gauss-seidel and red-black"},
    {STOP, ITERATIONS, "stop", "the iterative methods"},
    {RESTART, 1u << KS_GMRES, "restart", "gmres"},
    {ANY_MATRIX, 1u << KS_CG, "any-matrix", "cg"}};
enum { BELONGS = sizeof belongs / sizeof *belongs };

static bool is_given(const ks_solve *run, int option) { return run->settings->iterates >> option & 1u; }

/* Whether the option was given and the method does not use it. */
static bool is_idle(const ks_solve *run, int i, ks_general_method method)
{
    return is_given(run, belongs[i].option) && !(belongs[i].methods >> method & 1u);
}

static bool is_sweep(ks_general_method method) { return SWEEPS >> method & 1; }


/* Refuse options that the method does not use: they were meant for another one. */
ks_exit ks_general_check_options(const ks_solve *run, ks_failure *failure)
{
    const ks_general_method method = (ks_general_method)run->solver->value;
    if (method == KS_GENERAL_AUTO) return KS_EXIT_DONE;
    if (run->settings->general.stop == KS_STOP_CHANGE && !is_sweep(method))
        return ks_fail(failure, KS_EXIT_USAGE, "--stop change is a rule of the block iterations, not of %s",
                       run->solver->name);
    for (int i = 0; i < BELONGS; ++i)
        if (is_idle(run, i, method))
            return ks_fail(failure, KS_EXIT_USAGE, "--%s goes with %s, not with %s", belongs[i].name,
                           belongs[i].goes_with, run->solver->name);
    return KS_EXIT_DONE;
}

ks_exit ks_general_check_device(const ks_solve *run, ks_failure *failure)
{
    const ks_general_options *o = &run->settings->general;
    if (o->relaxation != 1)
        return ks_fail(failure, KS_EXIT_USAGE, "--relaxation: with --backend cuda sweeps are not relaxed");
    if (o->block_solver != KS_BLOCK_SOLVER_AUTO && o->block_solver != KS_BLOCK_SOLVER_PARALLEL_CYCLIC_REDUCTION)
        return ks_fail(failure, KS_EXIT_USAGE, "--block-solver %s: with --backend cuda blocks are solved by "
                       "parallel-cyclic-reduction", ks_block_solver_name(o->block_solver));
    return KS_EXIT_DONE;
}

/* Note options without effect. Which method `auto` chooses, and so which options it uses, depends on the numbers. */
static void note_idle_options(const ks_solve *run, ks_general_method method)
{
    if (run->settings->quiet || run->solver != &ks_general_auto) return;
    for (int i = 0; i < BELONGS; ++i)
        if (is_idle(run, i, method))
            fprintf(stderr, "kalscan: note: --%s has no effect: it goes with %s, and auto chose %s\n", belongs[i].name,
                    belongs[i].goes_with, run->method);
    if (run->settings->general.stop == KS_STOP_CHANGE && (ITERATIONS & ~SWEEPS) >> method & 1)
        fprintf(stderr, "kalscan: note: --stop change has no effect: it is a rule of the block iterations, and auto "
                "chose %s\n", run->method);
}

/* Note a block solver without effect: dense blocks have only one. */
static void note_idle_solver(const ks_solve *run, const ks_general_matrix *matrix, ks_general_method method)
{
    if (run->settings->quiet || !is_given(run, BLOCK_SOLVER) || !(ITERATIONS >> method & 1) ||
        run->settings->general.block_solver == KS_BLOCK_SOLVER_AUTO ||
        run->settings->general.block_solver == KS_BLOCK_SOLVER_LU)
        return;
    for (int64_t j = 0; j < run->system->N; ++j)
        if (matrix->D[j].format == KS_BLOCK_DIA) return;
    fprintf(stderr, "kalscan: note: --block-solver has no effect: no diagonal block is tridiagonal, and others are "
            "solved by lu\n");
}

/* Methods that eliminate: on dense blocks, or also on the stored ones (low-rank LU). */
static bool eliminates_densely(ks_general_method method)
{
    return method == KS_BLOCK_LU || method == KS_BLOCK_CYCLIC_REDUCTION;
}

static bool eliminates(ks_general_method method) { return eliminates_densely(method) || method == KS_LOW_RANK_LU; }

/* Estimate the largest parts. The exact sizes are known to the plan, which is made when the numbers are known. */
ks_exit ks_general_prepare(ks_solve *run, ks_failure *failure)
{
    (void)failure;
    const ks_system *system = run->system;
    const ks_solve_settings *settings = run->settings;
    const size_t N = (size_t)system->N, n = (size_t)system->n, rows = ks_size_product(N, n);
    const ks_general_method method = (ks_general_method)run->solver->value;
    const bool dense = system->arrays[KS_SYSTEM_D].dataset.found;
    const bool direct = eliminates_densely(method);
    const size_t blocks = direct ? (method == KS_BLOCK_LU ? 2 : 4) : 1;
    const size_t numbers = direct || dense ? ks_size_product(blocks, n) : 5;
    const size_t vectors = method == KS_GMRES ? (size_t)settings->general.restart + 5 : 8;
    run->method = run->solver->name;
    /* The compact copy of the matrix that the method works on is no larger than the one in the file. */
    run->factor_bytes = ks_size_sum(ks_size_product(ks_size_product(rows, numbers), sizeof(double)),
                                    run->system_bytes);
    run->result_bytes = ks_size_product(ks_size_product(rows, (size_t)system->nrhs),
                                        sizeof(double));
    run->work_bytes = ks_size_product(ks_size_product(rows, vectors), sizeof(double));
    return KS_EXIT_DONE;
}

static ks_general_triples triples_of(const ks_system_triples *t)
{
    return (ks_general_triples){t->count, t->block, t->row, t->col, t->value};
}

static ks_status pack(const ks_solve *run, general *g)
{
    const ks_system *system = run->system;
    const ks_system_array *arrays = system->arrays;
    const int64_t block = (int64_t)system->n * system->n;
    ks_general_source source = KS_GENERAL_SOURCE_INIT;
    if (arrays[KS_SYSTEM_D_DIA].dataset.found) source.D_dia = arrays[KS_SYSTEM_D_DIA].data;
    else source.D = (ks_const_blocks){arrays[KS_SYSTEM_D].data, block};
    source.L = (ks_const_blocks){arrays[KS_SYSTEM_L].data, block};
    source.U = (ks_const_blocks){arrays[KS_SYSTEM_U].data, block};
    source.L_triples = triples_of(&system->triples[0]);
    source.U_triples = triples_of(&system->triples[1]);
    source.symmetric = !ks_system_has_upper(system);
    return ks_general_pack(&g->packed, run->context, system->N, system->n, &source);
}

static ks_exit fail_status(const ks_solve *run, ks_status status, const char *doing,
                           ks_failure *failure)
{
    return ks_fail(failure, status == KS_ENOMEM ? KS_EXIT_RESOURCES : KS_EXIT_NUMERICAL,
                   "%s: cannot %s: %s", run->system->name, doing, ks_strerror(status));
}

/* Whether a status concerns the device. */
static bool of_device(const ks_solve *run, ks_status status)
{
    return run->settings->general.backend == KS_BACKEND_CUDA &&
           (status == KS_ENODEV || status == KS_EUNAVAILABLE || status == KS_ENOMEM ||
            status == KS_EDEVICE);
}

static ks_exit fail_device(const ks_solve *run, ks_status status, ks_failure *failure)
{
    return ks_fail_device(status, run->settings->general.device,
                          ks_size_sum(run->factor_bytes, run->work_bytes), failure);
}

static ks_exit plan(ks_solve *run, general *g, ks_failure *failure)
{
    const double start = ks_seconds();
    const ks_solve_settings *settings = run->settings;
    ks_general_options options = settings->general;
    options.method = (ks_general_method)run->solver->value;
    options.threads = settings->threads;
    options.columns = run->system->nrhs;
    options.sample = (ks_const_blocks){run->system->arrays[KS_SYSTEM_B].data,
                                       (int64_t)run->system->n * run->system->nrhs};
    ks_status status = pack(run, g);
    if (status == KS_OK)
        status = ks_general_plan_create(&g->plan, run->context, run->system->N, run->system->n,
                                        ks_general_packed_matrix(g->packed), &options);
    if (status == KS_EREFUSED)
        return ks_fail(failure, KS_EXIT_USAGE, "%s: --backend cuda runs block-jacobi and red-black "
                       "where the diagonal blocks are tridiagonal, and here some are not", run->system->name);
    if (of_device(run, status)) return fail_device(run, status, failure);
    if (status != KS_OK) return fail_status(run, status, "plan", failure);
    run->backend = ks_general_plan_backend(g->plan);
    run->method = ks_general_method_name(ks_general_plan_method(g->plan));
    note_idle_options(run, ks_general_plan_method(g->plan));
    note_idle_solver(run, ks_general_packed_matrix(g->packed), ks_general_plan_method(g->plan));
    run->threads = ks_general_plan_threads(g->plan);
    run->factor_bytes = ks_size_sum(ks_general_factor_bytes(g->plan),
                                    ks_general_packed_bytes(g->packed));
    run->work_bytes = ks_general_workspace_bytes(g->plan);
    /* The time includes what `auto` tries. */
    run->factor_seconds = ks_seconds() - start;
    return KS_EXIT_DONE;
}

static ks_exit take_memory(ks_solve *run, general *g, ks_failure *failure)
{
    g->factor = ks_memory_raw(ks_general_factor_bytes(g->plan), "the factor", failure);
    if (!failure->code) g->work = ks_memory_raw(run->work_bytes, "the workspace", failure);
    if (!failure->code) run->x = ks_memory_raw(run->result_bytes, "the solution", failure);
    return failure->code;
}

/* Return the method that runs, perhaps chosen by `auto`. */
static ks_general_method method_of(const ks_solve *run)
{
    return ks_general_plan_method(((const general *)run->state)->plan);
}

static ks_exit explain_factor(const ks_solve *run, const ks_general_report *report,
                              ks_failure *failure)
{
    const char *name = run->system->name;
    const ks_general_method method = method_of(run);
    if (report->status == KS_EREFUSED)
        return ks_fail(failure, KS_EXIT_NUMERICAL, "%s: the matrix is not symmetric; method cg "
                       "takes symmetric positive definite ones; use --method bicgstab", name);
    if (report->status != KS_ESINGULAR)
        return fail_status(run, report->status, "factor", failure);
    /* A single block is the matrix itself. With several blocks the matrix may be regular even if a block, or a Schur
     * complement of one, is not. */
    char advice[160] = "; so is the matrix";
    if (run->system->N > 1)
        snprintf(advice, sizeof advice, "; unless the matrix itself is singular, --method %s may take it",
                 method == KS_BLOCK_LU ? "block-cyclic-reduction, which eliminates in another order," : "block-lu");
    return ks_fail(failure, KS_EXIT_NUMERICAL,
                   "%s: block %lld: %sD[%lld] is singular: no pivot for its row %d (method %s)%s", name,
                   (long long)report->block,
                   eliminates_densely(method) ? "what elimination leaves of "
                   : method == KS_LOW_RANK_LU ? "by itself or after elimination " : "", (long long)report->block,
                   report->pivot, run->method, advice);
}

/* Print " of right-hand side 2" if there are several. */
static void column_text(const ks_solve *run, const ks_general_report *report, char text[48])
{
    text[0] = '\0';
    if (run->system->nrhs > 1) snprintf(text, 48, " of right-hand side %d", report->column);
}

static ks_exit explain_iteration(const ks_solve *run, const ks_general_report *report,
                                 ks_failure *failure)
{
    const ks_general_method method = method_of(run);
    char column[48];
    column_text(run, report, column);
    if (report->status == KS_ENONFINITE)
        return ks_fail(failure, KS_EXIT_NUMERICAL, "%s: the solution%s overflows (method %s)",
                       run->system->name, column, run->method);
    if (of_device(run, report->status)) return fail_device(run, report->status, failure);
    if (report->status != KS_ENOTCONVERGED)
        return fail_status(run, report->status, "solve", failure);
    if (eliminates(method))
        return ks_fail(failure, KS_EXIT_NUMERICAL, "%s: method %s takes its pivots within blocks and has lost too "
                       "much: a backward error%s of %.3g after %lld steps of refinement; nothing is written; use "
                       "--method %s, which eliminates in another order, or gmres", run->system->name, run->method,
                       column, report->backward_error, (long long)report->iterations,
                       method == KS_BLOCK_LU ? "block-cyclic-reduction" : "block-lu");
    char radius[160] = "", reached[32] = "not a number";
    const double relaxation = run->settings->general.relaxation;
    const bool relaxed = is_sweep(method) && relaxation != 1 && relaxation != KS_RELAXATION_ESTIMATE;
    if (!isnan(report->relative_residual)) snprintf(reached, sizeof reached, "%.3g", report->relative_residual);
    if (is_sweep(method) && isfinite(report->spectral_radius))
        snprintf(radius, sizeof radius, "; the spectral radius of D^-1 (L + U) is about %.4g, and block iterations "
                 "converge where it is below 1%s", report->spectral_radius, relaxed ? ", without --relaxation" : "");
    const bool ended = report->end == KS_END_STAGNATED || report->end == KS_END_BREAKDOWN;
    const bool round_off = ended && report->relative_residual < 1e-12;
    return ks_fail(failure, KS_EXIT_NUMERICAL,
                   "%s: method %s %s: after %lld iteration%s the relative residual%s is %s, the tolerance %.3g%s; "
                   "nothing is written; %s", run->system->name, run->method, ks_general_end_name(report->end),
                   (long long)report->iterations, report->iterations == 1 ? "" : "s", column,
                   reached, run->settings->general.tolerance,
                   round_off ? "" : radius, round_off ? "round-off leaves no less: take a larger --tol"
                                                      : "--method block-lu needs no convergence");
}

static ks_exit solve(ks_solve *run, general *g, ks_failure *failure)
{
    const ks_general_matrix *matrix = ks_general_packed_matrix(g->packed);
    const int64_t stride = (int64_t)run->system->n * run->system->nrhs;
    const ks_const_blocks b = {run->system->arrays[KS_SYSTEM_B].data, stride};
    ks_general_report *report = &run->report;
    double start = ks_seconds();
    *report = (ks_general_report)KS_GENERAL_REPORT_INIT;
    ks_status status = ks_general_factorize(g->plan, matrix, g->factor, g->work, report);
    run->factor_seconds += ks_seconds() - start;
    if (status != KS_OK) return explain_factor(run, report, failure);
    start = ks_seconds();
    status = ks_general_solve(g->plan, matrix, g->factor, run->system->nrhs, b,
                              (ks_blocks){run->x, stride}, g->work, report);
    run->solve_seconds = ks_seconds() - start;
    run->norms.residual = report->residual;
    run->relative_residual = report->relative_residual;
    run->backward_error = report->backward_error;
    return status == KS_OK ? KS_EXIT_DONE : explain_iteration(run, report, failure);
}

ks_exit ks_general_settle(ks_solve *run, ks_failure *failure)
{
    general *g = calloc(1, sizeof *g);
    if (!g) return ks_fail(failure, KS_EXIT_RESOURCES, "out of memory");
    run->state = g;
    return plan(run, g, failure);
}

ks_exit ks_general_run(ks_solve *run, ks_failure *failure)
{
    if (ks_general_settle(run, failure) || take_memory(run, run->state, failure)) return failure->code;
    return solve(run, run->state, failure);
}

void ks_general_release(ks_solve *run)
{
    general *g = run->state;
    if (!g) return;
    ks_general_plan_destroy(g->plan);
    ks_general_packed_destroy(g->packed);
    free(g->factor);
    free(g->work);
    free(g);
    run->state = NULL;
}
