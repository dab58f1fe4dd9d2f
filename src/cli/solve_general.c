/* The methods for general systems: block iterations, Krylov methods, block elimination. */
#include "solve_general.h"

#include <limits.h>
#include <stdlib.h>
#include "memory.h"
#include "solve_condition.h"
#include "solve_go_on.h"

typedef struct general {
    ks_general_packed *packed;
    ks_general_plan *plan;
    void *factor, *work;
} general;

/* Return the least numbers of a factor for each row. How wide the band of banded LU is, the entries of the blocks
 * decide. */
static size_t numbers_of_row(const ks_system *system, ks_general_method method)
{
    const bool dense = system->arrays[KS_SYSTEM_D].dataset.found;
    switch (method) {
    case KS_BLOCK_LU: return ks_size_product(2, (size_t)system->n);
    case KS_BLOCK_CYCLIC_REDUCTION: return ks_size_product(4, (size_t)system->n);
    case KS_BANDED_LU: return 4;
    default: return dense ? (size_t)system->n : 5;
    }
}

/* Estimate the largest parts. The exact sizes are known to the plan, which is made when the numbers are known. */
ks_exit ks_general_prepare(ks_solve *run, ks_failure *failure)
{
    const ks_system *system = run->system;
    const ks_solve_settings *settings = run->settings;
    const size_t N = (size_t)system->N, n = (size_t)system->n, rows = ks_size_product(N, n);
    const ks_general_method method = (ks_general_method)run->solver->value;
    const size_t numbers = numbers_of_row(system, method);
    const size_t vectors = method == KS_GMRES ? (size_t)settings->general.restart + 5 : 8;
    if (method == KS_BANDED_LU && rows > INT_MAX) return ks_general_refuse_size(run, failure);
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

static ks_exit plan(ks_solve *run, general *g, ks_failure *failure)
{
    const double start = ks_seconds();
    const ks_solve_settings *settings = run->settings;
    ks_general_options options = settings->general;
    options.method = (ks_general_method)run->solver->value;
    /* The rule was for the sweeps that `auto` may have chosen, and has no effect on what it goes on with. */
    if (options.method != KS_GENERAL_AUTO && !ks_general_is_sweep(options.method)) options.stop = KS_STOP_RESIDUAL;
    options.threads = settings->threads;
    options.columns = run->system->nrhs;
    options.sample = (ks_const_blocks){run->system->arrays[KS_SYSTEM_B].data,
                                       (int64_t)run->system->n * run->system->nrhs};
    ks_status status = pack(run, g);
    if (status == KS_OK)
        status = ks_general_plan_create(&g->plan, run->context, run->system->N, run->system->n,
                                        ks_general_packed_matrix(g->packed), &options);
    if (status != KS_OK) return ks_general_explain_plan(run, status, failure);
    run->backend = ks_general_plan_backend(g->plan);
    run->method = ks_general_method_name(ks_general_plan_method(g->plan));
    if (run->solver == &ks_general_auto) ks_general_note_options(run, ks_general_plan_method(g->plan));
    ks_general_note_solver(run, ks_general_packed_matrix(g->packed), ks_general_plan_method(g->plan));
    run->threads = ks_general_plan_threads(g->plan);
    run->factor_bytes = ks_size_sum(ks_general_factor_bytes(g->plan),
                                    ks_general_packed_bytes(g->packed));
    run->work_bytes = ks_general_workspace_bytes(g->plan);
    /* The time includes what `auto` tries. */
    run->factor_seconds += ks_seconds() - start;
    return KS_EXIT_DONE;
}

static ks_exit take_memory(ks_solve *run, general *g, ks_failure *failure)
{
    g->factor = ks_memory_raw(ks_general_factor_bytes(g->plan), "the factor", failure);
    if (!failure->code) g->work = ks_memory_raw(run->work_bytes, "the workspace", failure);
    if (!failure->code) run->x = ks_memory_raw(run->result_bytes, "the solution", failure);
    return failure->code;
}

/* Go on with banded LU if `auto` chose a method that it may replace, else explain why it failed. The state of the run is
 * another one afterwards. */
static ks_exit give_up(ks_solve *run, ks_exit (*explain)(const ks_solve *, ks_general_method, ks_failure *),
                       ks_failure *failure)
{
    const ks_general_method method = ks_general_plan_method(((const general *)run->state)->plan);
    char reason[96];
    if (ks_may_go_on(run) && ks_general_reason(run, method, reason)) return ks_go_on(run, reason, failure);
    return explain(run, method, failure);
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
    if (status != KS_OK) return give_up(run, ks_general_explain_factor, failure);
    start = ks_seconds();
    status = ks_general_solve(g->plan, matrix, g->factor, run->system->nrhs, b,
                              (ks_blocks){run->x, stride}, g->work, report);
    run->solve_seconds = ks_seconds() - start;
    run->norms.residual = report->residual;
    run->relative_residual = report->relative_residual;
    run->backward_error = report->backward_error;
    if (status != KS_OK) return give_up(run, ks_general_explain_solve, failure);
    ks_note_condition(run);
    return KS_EXIT_DONE;
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
    if (ks_general_settle(run, failure) || ks_solve_check_memory(run, failure) ||
        take_memory(run, run->state, failure))
        return failure->code;
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
