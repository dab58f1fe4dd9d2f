/* Lower bounds of condition numbers. Estimates of the number itself would take solves; these take norms that are there,
 * or a pass over x, and where they are large so is the number. */
#include "solve_condition.h"

#include <math.h>
#include <stdio.h>

/* Condition numbers times the unit round-off from which on no digit is certain. */
static const double no_digit = 0.1;

static double unit_of(const ks_solve *run) { return run->data_precision == KS_F32 ? 0x1p-24 : 0x1p-53; }

static double value_at(const ks_solve *run, const void *data, int64_t at)
{
    return run->data_precision == KS_F32 ? (double)((const float *)data)[at] : ((const double *)data)[at];
}

/* With S = diag(A)^-1/2 the system is B y = c, B = S A S, y = S^-1 x, c = S b. Of B, whose diagonal is one, the norm is at
 * least 1, and so its condition number at least |y| / |c|. Cholesky is as accurate in these units as in any others, so
 * that the condition of B counts (van der Sluis; Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed.,
 * Sec. 7.3 and 10.1). */
static double bound_of(const ks_solve *run, int64_t side)
{
    const ks_system *system = run->system;
    const ks_system_array *arrays = system->arrays;
    const int64_t n = system->n, nrhs = system->nrhs;
    double y = 0, c = 0;
    for (int64_t i = 0; i < system->N * n; ++i) {
        const double d = value_at(run, arrays[KS_SYSTEM_D].data, i / n * n * n + i % n * (n + 1));
        const double x = value_at(run, run->x, i * nrhs + side), b = value_at(run, arrays[KS_SYSTEM_B].data, i * nrhs + side);
        y += d * x * x;
        c += b / d * b;
    }
    /* Squares that have left the range tell nothing. */
    return c > 1e-280 && isfinite(y) && isfinite(c) ? sqrt(y / c) : 0;
}

double ks_scaled_condition(const ks_solve *run)
{
    double most = 0;
    for (int64_t side = 0; side < run->system->nrhs; ++side) most = fmax(most, bound_of(run, side));
    return most;
}

void ks_note_scaled_condition(const ks_solve *run, double condition)
{
    if (run->settings->quiet || !(condition * unit_of(run) >= no_digit)) return;
    fprintf(stderr, "kalscan: note: %s: the condition number, in units that make the diagonal one, is %.1g or more: in %s "
            "the solution may have no correct digit%s\n", run->system->name, condition,
            run->data_precision == KS_F32 ? "f32" : "f64",
            run->data_precision == KS_F32 ? "; use --precision f64" : "");
}

/* |A| |x| / |b| bounds the condition number. It is large, too, where rows are in very different units; but then direct
 * methods leave a residual that is small beside b. */
void ks_note_condition(const ks_solve *run)
{
    const double left = run->relative_residual, condition = left / run->backward_error;
    if (run->settings->quiet || run->report.end != KS_END_NONE || !(left > 1e-6) ||
        !(condition * unit_of(run) >= no_digit))
        return;
    fprintf(stderr, "kalscan: note: %s: the relative residual is %.1g and the condition number %.1g or more: the matrix is "
            "singular but for round-off, and the solution may have no correct digit\n", run->system->name, left,
            condition);
}
