/* gmres.c -- restarted GMRES (Saad & Schultz, SIAM J. Sci. Stat. Comput. 7(3), 1986, 856-869),
 * right preconditioned by the diagonal blocks, modified Gram-Schmidt, Givens rotations. */
#include <math.h>
#include "general_plan.h"

/* Vectors: Z is the preconditioned vector, SUM the update, BASIS .. BASIS + restart the basis. */
enum { Z, SUM, BASIS };

/* run->small: Hessenberg columns (restart + 1 numbers each), cosines, sines, right-hand side. */
typedef struct least_squares {
    double *H, *c, *s, *g;
    int m;
} least_squares;

static least_squares carve(const ks_gb_run *run)
{
    const int m = run->plan->options.restart;
    double *H = run->small, *c = H + (int64_t)m * (m + 1);
    const least_squares l = { H, c, c + m, c + 2 * (int64_t)m, m };
    return l;
}

/* Rotate column k by the earlier rotations and a new one. Return the norm of the remaining residual. */
static double rotate(least_squares *l, int k)
{
    double *h = l->H + (int64_t)k * (l->m + 1);
    for (int i = 0; i < k; ++i) {
        const double upper = l->c[i] * h[i] + l->s[i] * h[i + 1];
        h[i + 1] = l->c[i] * h[i + 1] - l->s[i] * h[i];
        h[i] = upper;
    }
    const double length = hypot(h[k], h[k + 1]);
    l->c[k] = length > 0 ? h[k] / length : 1;
    l->s[k] = length > 0 ? h[k + 1] / length : 0;
    h[k] = length;
    h[k + 1] = 0;
    l->g[k + 1] = -l->s[k] * l->g[k];
    l->g[k] *= l->c[k];
    return fabs(l->g[k + 1]);
}

/* x += D^-1 V y with R y = g over the first k columns. Return 0 if R is singular. */
static int update(ks_gb_run *run, least_squares *l, int k)
{
    double *z = ks_gb_vector(run, Z), *sum = ks_gb_vector(run, SUM);
    for (int i = k - 1; i >= 0; --i) {
        const double *column = l->H + (int64_t)i * (l->m + 1);
        if (column[i] == 0) return 0;
        l->g[i] /= column[i];
        for (int j = 0; j < i; ++j) l->g[j] -= column[j] * l->g[i];
    }
    ks_gb_zero(run, sum);
    for (int i = 0; i < k; ++i) ks_gb_axpby(run, l->g[i], ks_gb_vector(run, BASIS + i), 1, sum);
    ks_gb_precondition(run, sum, z);
    ks_gb_axpby(run, 1, z, 1, run->x);
    return 1;
}

/* Add a vector to the basis. Return its length before it is scaled to 1. */
static double extend(ks_gb_run *run, least_squares *l, int k)
{
    double *z = ks_gb_vector(run, Z), *next = ks_gb_vector(run, BASIS + k + 1);
    double *h = l->H + (int64_t)k * (l->m + 1);
    ks_gb_precondition(run, ks_gb_vector(run, BASIS + k), z);
    ks_gb_apply(run, NULL, z, next);
    for (int i = 0; i <= k; ++i) {
        const double *v = ks_gb_vector(run, BASIS + i);
        h[i] = ks_gb_dot(run, v, next);
        ks_gb_axpby(run, -h[i], v, 1, next);
    }
    h[k + 1] = sqrt(ks_gb_dot(run, next, next));
    if (h[k + 1] > 0) ks_gb_scale(run, 1 / h[k + 1], next);
    return h[k + 1];
}

void ks_gb_gmres_run(ks_gb_run *run, ks_general_report *report)
{
    const ks_general_options *o = &run->plan->options;
    least_squares l = carve(run);
    ks_gb_monitor monitor = { 0, 0, 0 };
    double *first = ks_gb_vector(run, BASIS);
    ks_gb_zero(run, run->x);
    report->end = KS_END_MAX_ITERATIONS;
    for (;;) {
        const double length = sqrt(ks_gb_apply(run, run->b, run->x, first));
        if (length <= o->tolerance * run->norm_b) {
            report->end = KS_END_CONVERGED;
            return;
        }
        const ks_general_end end =
            ks_gb_judge(&monitor, KS_GB_PATIENCE(run->plan->N), report->iterations, length / run->norm_b);
        if (end != KS_END_NONE) {
            report->end = end;
            return;
        }
        if (report->iterations >= o->max_iterations) return;
        ks_gb_scale(run, 1 / length, first);
        l.g[0] = length;
        int k = 0;
        while (k < l.m && report->iterations < o->max_iterations) {
            const double added = extend(run, &l, k);
            const double left = rotate(&l, k++);
            ++report->iterations;
            if (!isfinite(left) || added == 0 || left <= o->tolerance * run->norm_b) break;
        }
        if (!update(run, &l, k)) {
            report->end = KS_END_BREAKDOWN;
            return;
        }
    }
}
