/* bicgstab.c -- BiCGSTAB (van der Vorst, SIAM J. Sci. Stat. Comput. 13(2), 1992, 631-644), right
 * preconditioned by the diagonal blocks, so that its residual is that of the system. */
#include <math.h>
#include <string.h>
#include "general_plan.h"

enum { R, SHADOW, P, V, T, Y };

/* Set r = b - A x and restart with r as the shadow residual. Return |r| / |b|. */
static double restart(ks_gb_run *run)
{
    double *r = ks_gb_vector(run, R);
    const double square = ks_gb_apply(run, run->b, run->x, r);
    memcpy(ks_gb_vector(run, SHADOW), r, (size_t)ks_gb_rows(run) * sizeof *r);
    ks_gb_zero(run, ks_gb_vector(run, P));
    ks_gb_zero(run, ks_gb_vector(run, V));
    return sqrt(square) / run->norm_b;
}

typedef struct coefficients {
    double rho, alpha, omega;
} coefficients;

/* Do one step. Return |r| / |b| of the updated residual, or -1 for a division by zero. */
static double step(ks_gb_run *run, coefficients *c)
{
    double *r = ks_gb_vector(run, R), *p = ks_gb_vector(run, P), *v = ks_gb_vector(run, V);
    double *t = ks_gb_vector(run, T), *y = ks_gb_vector(run, Y);
    const double *shadow = ks_gb_vector(run, SHADOW);
    const double rho = ks_gb_dot(run, shadow, r);
    const double beta = rho / c->rho * (c->alpha / c->omega);
    if (rho == 0 || !isfinite(beta)) return -1;
    ks_gb_axpby(run, -c->omega, v, 1, p);
    ks_gb_axpby(run, 1, r, beta, p);
    ks_gb_precondition(run, p, y);
    ks_gb_apply(run, NULL, y, v);
    c->rho = rho;
    c->alpha = rho / ks_gb_dot(run, shadow, v);
    if (!isfinite(c->alpha)) return -1;
    ks_gb_axpby(run, c->alpha, y, 1, run->x);
    ks_gb_axpby(run, -c->alpha, v, 1, r);
    ks_gb_precondition(run, r, y);
    const double square = ks_gb_apply(run, NULL, y, t);
    if (square == 0) return sqrt(ks_gb_dot(run, r, r)) / run->norm_b;
    c->omega = ks_gb_dot(run, t, r) / square;
    ks_gb_axpby(run, c->omega, y, 1, run->x);
    ks_gb_axpby(run, -c->omega, t, 1, r);
    return sqrt(ks_gb_dot(run, r, r)) / run->norm_b;
}

void ks_gb_bicgstab_run(ks_gb_run *run, ks_general_report *report)
{
    const ks_general_options *o = &run->plan->options;
    const coefficients fresh = { 1, 1, 1 };
    coefficients c = fresh;
    ks_gb_monitor monitor = { 0, 0, 0 };
    int idle = 0;              /* restarts since the last step that succeeded */
    ks_gb_zero(run, run->x);
    restart(run);
    report->end = KS_END_MAX_ITERATIONS;
    while (report->iterations < o->max_iterations) {
        double measure = step(run, &c);
        if (measure < 0) {
            if (idle++) {
                report->end = KS_END_BREAKDOWN;
                return;
            }
            c = fresh;
            restart(run);
            continue;
        }
        idle = 0;
        ++report->iterations;
        if (measure <= o->tolerance) {
            /* The updated residual may have drifted from the true one. */
            c = fresh;
            measure = restart(run);
            if (measure <= o->tolerance) {
                report->end = KS_END_CONVERGED;
                return;
            }
        }
        const ks_general_end end = ks_gb_judge(&monitor, KS_GB_PATIENCE(run->plan->N), report->iterations, measure);
        if (end != KS_END_NONE) {
            report->end = end;
            return;
        }
    }
}
