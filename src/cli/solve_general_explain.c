/* Why a method for general systems failed, and what to do about it. */
#include <math.h>
#include <stdio.h>
#include "device.h"
#include "memory.h"
#include "solve_general.h"

/* Methods that eliminate blocks: dense ones, or also the stored ones (low-rank LU); and all that eliminate. */
static bool eliminates_densely(ks_general_method method)
{
    return method == KS_BLOCK_LU || method == KS_BLOCK_CYCLIC_REDUCTION;
}

static bool eliminates(ks_general_method method)
{
    return eliminates_densely(method) || method == KS_LOW_RANK_LU || method == KS_BANDED_LU;
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

ks_exit ks_general_explain_plan(const ks_solve *run, ks_status status, ks_failure *failure)
{
    if (status == KS_EREFUSED && run->solver->value == KS_BANDED_LU)
        return ks_general_refuse_size(run, failure);
    if (status == KS_EREFUSED)
        return ks_fail(failure, KS_EXIT_USAGE, "%s: --backend cuda runs block-jacobi and red-black "
                       "where the diagonal blocks are tridiagonal, and here some are not", run->system->name);
    if (of_device(run, status)) return fail_device(run, status, failure);
    return fail_status(run, status, "plan", failure);
}

ks_exit ks_general_refuse_size(const ks_solve *run, ks_failure *failure)
{
    return ks_fail(failure, KS_EXIT_USAGE, "%s: %lld blocks of order %d are too large for method banded-lu: LAPACK "
                   "counts up to 2147483647 rows and numbers of a column; use --method block-lu", run->system->name,
                   (long long)run->system->N, run->system->n);
}

ks_exit ks_general_explain_factor(const ks_solve *run, ks_general_method method, ks_failure *failure)
{
    const char *name = run->system->name;
    const ks_general_report *report = &run->report;
    if (report->status == KS_EREFUSED)
        return ks_fail(failure, KS_EXIT_NUMERICAL, "%s: the matrix is not symmetric; method cg "
                       "takes symmetric positive definite ones; use --method bicgstab", name);
    if (report->status != KS_ESINGULAR)
        return fail_status(run, report->status, "factor", failure);
    if (method == KS_BANDED_LU)
        return ks_fail(failure, KS_EXIT_NUMERICAL, "%s: the matrix is singular: no pivot for row %d of block %lld "
                       "(method %s)", name, report->pivot, (long long)report->block, run->method);
    /* A single block is the matrix itself. With several blocks the matrix may be regular even if a block, or a Schur
     * complement of one, is not. */
    const char *advice = run->system->N == 1 ? "; so is the matrix"
                         : "; unless the matrix itself is singular, --method banded-lu, which takes pivots across "
                           "blocks, solves it";
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

ks_exit ks_general_explain_solve(const ks_solve *run, ks_general_method method, ks_failure *failure)
{
    const ks_general_report *report = &run->report;
    char column[48];
    column_text(run, report, column);
    if (report->status == KS_ENONFINITE)
        return ks_fail(failure, KS_EXIT_NUMERICAL, "%s: the solution%s overflows (method %s)",
                       run->system->name, column, run->method);
    if (of_device(run, report->status)) return fail_device(run, report->status, failure);
    if (report->status != KS_ENOTCONVERGED)
        return fail_status(run, report->status, "solve", failure);
    if (eliminates(method))
        return ks_fail(failure, KS_EXIT_NUMERICAL, "%s: method %s %s: a backward error%s of %.3g after %lld steps of "
                       "refinement; nothing is written%s", run->system->name, run->method,
                       method == KS_BANDED_LU ? "has lost too much"
                                              : "takes its pivots within blocks and has lost too much",
                       column, report->backward_error, (long long)report->iterations,
                       method == KS_BANDED_LU ? "" : "; use --method banded-lu, which takes them across blocks");
    char radius[160] = "", reached[32] = "not a number";
    const double relaxation = run->settings->general.relaxation;
    const bool relaxed = ks_general_is_sweep(method) && relaxation != 1 && relaxation != KS_RELAXATION_ESTIMATE;
    if (!isnan(report->relative_residual)) snprintf(reached, sizeof reached, "%.3g", report->relative_residual);
    if (ks_general_is_sweep(method) && isfinite(report->spectral_radius))
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

bool ks_general_reason(const ks_solve *run, ks_general_method method, char text[96])
{
    const ks_general_report *report = &run->report;
    switch (report->status) {
    case KS_ESINGULAR:
        snprintf(text, 96, "finds no pivot for row %d of block %lld", report->pivot, (long long)report->block);
        return true;
    case KS_ENOTCONVERGED:
        snprintf(text, 96, "%s", eliminates(method) ? "has lost too many digits" : ks_general_end_name(report->end));
        return true;
    case KS_ENONFINITE:
        /* What iterates overflows only where the solution does. */
        snprintf(text, 96, "overflows");
        return eliminates(method);
    default: return false;
    }
}
