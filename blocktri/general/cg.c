/* cg.c -- conjugate gradients, preconditioned by the diagonal blocks (Golub & Van Loan, Matrix
 * Computations, 4th ed., Alg. 11.5.1). */
#include <math.h>
#include "general_plan.h"

enum { R, Z, P, Q };

void ks_gb_cg_run(ks_gb_run *run, ks_general_report *report)
{
    const ks_general_options *o = &run->plan->options;
    double *r = ks_gb_vector(run, R), *z = ks_gb_vector(run, Z);
    double *p = ks_gb_vector(run, P), *q = ks_gb_vector(run, Q), rho = 0;
    ks_gb_monitor monitor = { 0, 0, 0 };
    int fresh = 1;
    ks_gb_zero(run, run->x);
    ks_gb_apply(run, run->b, run->x, r);
    report->end = KS_END_MAX_ITERATIONS;
    while (report->iterations < o->max_iterations) {
        ks_gb_precondition(run, r, z);
        const double next = ks_gb_dot(run, r, z);
        ks_gb_axpby(run, 1, z, fresh ? 0 : next / rho, p);
        rho = next;
        fresh = 0;
        ks_gb_apply(run, NULL, p, q);
        const double curvature = ks_gb_dot(run, p, q), alpha = rho / curvature;
        /* With any_matrix the matrix may be indefinite, and the curvature negative. */
        if (!isfinite(alpha) || alpha == 0 || (!o->any_matrix && !(curvature > 0))) {
            report->end = KS_END_BREAKDOWN;
            return;
        }
        ks_gb_axpby(run, alpha, p, 1, run->x);
        ks_gb_axpby(run, -alpha, q, 1, r);
        ++report->iterations;
        double measure = sqrt(ks_gb_dot(run, r, r)) / run->norm_b;
        if (measure <= o->tolerance) {
            /* The updated residual may have drifted from the true one. */
            measure = sqrt(ks_gb_apply(run, run->b, run->x, r)) / run->norm_b;
            if (measure <= o->tolerance) {
                report->end = KS_END_CONVERGED;
                return;
            }
            fresh = 1;
        }
        const ks_general_end end = ks_gb_judge(&monitor, KS_GB_PATIENCE(run->plan->N), report->iterations, measure);
        if (end != KS_END_NONE) {
            report->end = end;
            return;
        }
    }
}
