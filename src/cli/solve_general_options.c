/* The options of the methods for general systems: reading them, and which method uses which. */
#include <stdio.h>
#include <string.h>
#include "options.h"
#include "solve_general.h"

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

bool ks_general_is_sweep(ks_general_method method) { return SWEEPS >> method & 1; }

/* Refuse options that the method does not use: they were meant for another one. */
ks_exit ks_general_check_options(const ks_solve *run, ks_failure *failure)
{
    const ks_general_method method = (ks_general_method)run->solver->value;
    if (method == KS_GENERAL_AUTO) return KS_EXIT_DONE;
    if (run->settings->general.stop == KS_STOP_CHANGE && !ks_general_is_sweep(method))
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
void ks_general_note_options(const ks_solve *run, ks_general_method method)
{
    if (run->settings->quiet) return;
    for (int i = 0; i < BELONGS; ++i)
        if (is_idle(run, i, method))
            fprintf(stderr, "kalscan: note: --%s has no effect: it goes with %s, and auto chose %s\n", belongs[i].name,
                    belongs[i].goes_with, run->method);
    if (run->settings->general.stop == KS_STOP_CHANGE && (ITERATIONS & ~SWEEPS) >> method & 1)
        fprintf(stderr, "kalscan: note: --stop change has no effect: it is a rule of the block iterations, and auto "
                "chose %s\n", run->method);
}

/* Note a block solver without effect: dense blocks have only one. */
void ks_general_note_solver(const ks_solve *run, const ks_general_matrix *matrix, ks_general_method method)
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
