/* stationary.c -- block Jacobi, Gauss-Seidel and red-black sweeps, over-relaxation, and an estimate of
 * the spectral radius from their convergence.
 *
 * A block-tridiagonal matrix is consistently ordered and 2-cyclic (Young): the spectrum of
 * B = -D^-1 (L + U) is symmetric about zero, Gauss-Seidel in either order converges by rho(B)^2 a
 * sweep, and an eigenvalue lambda of over-relaxation belongs to a mu of B by
 * (lambda + omega - 1)^2 = lambda omega^2 mu^2. */
#include <math.h>
#include <string.h>
#include "general_plan.h"

/* Sweeps over which a rate is measured: an even number, because eigenvalues come in pairs of opposite sign. */
enum { WINDOW = 16 };

typedef struct progress {
    double change[WINDOW + 1];  /* of the last sweeps, by number modulo WINDOW + 1 */
    double most;                /* largest change so far                           */
    int64_t since;              /* last sweep before the current relaxation        */
    double rate;                /* of convergence per sweep; -1: none yet          */
} progress;

static void note(progress *p, int64_t iteration, double change)
{
    p->change[iteration % (WINDOW + 1)] = change;
    if (change > p->most) p->most = change;
    int64_t back = iteration - p->since - 1;
    if (back > WINDOW) back = WINDOW;
    back -= back % 2;
    if (back < 2) return;
    const double before = p->change[(iteration - back) % (WINDOW + 1)];
    /* A change that is mostly round-off gives no rate. */
    if (before > 0 && isfinite(change) && isfinite(before) && change > 1e-13 * p->most)
        p->rate = pow(change / before, 1.0 / (double)back);
}

/* rho(D^-1 (L + U)) from the rate of a method; -1 if the rate does not determine it. */
static double radius_of(ks_general_method method, double omega, double rate)
{
    if (rate < 0) return -1;
    if (method == KS_BLOCK_JACOBI) return omega == 1 ? rate : -1;
    if (omega == 1) return sqrt(rate);
    /* If omega is optimal or larger, all eigenvalues have modulus omega - 1 for every mu, and convergence
     * is slightly slower than that. So only a much slower rate determines the radius (Hageman & Young,
     * Applied Iterative Methods, 1981, Sec. 9.5). */
    return rate > pow(fabs(omega - 1), 0.75) ? (rate + omega - 1) / (omega * sqrt(rate)) : -1;
}

static double best_relaxation(double radius) { return 2 / (1 + sqrt(1 - radius * radius)); }

/* The over-relaxation for a radius: raised if the radius was underestimated. Called after 10, 50, 250,
 * ... sweeps, long enough for the transients of a new value to decay. */
static double adapt(double omega, double radius)
{
    if (!(radius > 0 && radius < 1)) return omega;
    const double better = best_relaxation(radius);
    return better > omega + 1e-3 ? better : omega;
}

/* Do `count` sweeps and store the change of each. Only Gauss-Seidel takes more than one. */
static void advance(ks_gb_run *run, double **x, double **other, double omega, int count,
                   double *change)
{
    const ks_general_method method = run->plan->options.method;
    if (method == KS_BLOCK_GAUSS_SEIDEL) {
        ks_gb_sweep_ordered(run, run->b, *x, omega, count, change);
    } else if (method == KS_RED_BLACK) {
        const double even = ks_gb_sweep_all(run, run->b, *x, *x, omega, 0);
        const double odd = ks_gb_sweep_all(run, run->b, *x, *x, omega, 1);
        *change = even > odd ? even : odd;
    } else {
        *change = ks_gb_sweep_all(run, run->b, *x, *other, omega, -1);
        double *const before = *x;
        *x = *other;
        *other = before;
    }
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The sweep after which to compute the residual next: close to where its decay reaches the tolerance. */
static int64_t next_check(int64_t iteration, int64_t last, double residual, double before,
                          double tolerance)
{
    if (!(residual < before) || residual == 0) return iteration + 4;
    const double decay = log(residual / before) / (double)(iteration - last);
    const double left = 0.8 * log(tolerance / residual) / decay;
    return iteration + (left < 1 ? 1 : left > 32 ? 32 : (int64_t)left);
}

void ks_gb_stationary_run(ks_gb_run *run, ks_general_report *report)
{
    const ks_general_options *o = &run->plan->options;
    const int by_change = o->stop == KS_STOP_CHANGE;
    const int estimate = o->relaxation == KS_RELAXATION_ESTIMATE && o->method != KS_BLOCK_JACOBI;
    double *x = run->x, *other = ks_gb_vector(run, 0), *r = ks_gb_vector(run, 1);
    double omega = o->relaxation == KS_RELAXATION_ESTIMATE ? 1 : o->relaxation;
    double before = 1, first = -1;
    int fallback = 0;
    /* Under-relaxed, a change takes as many sweeps more to pass through all blocks. */
    const int64_t patience = (int64_t)fmin((double)KS_GB_PATIENCE(run->plan->N) / fmin(omega, 1), 0x1p60);
    progress p = { { 0 }, 0, 0, -1 };
    ks_gb_monitor monitor = { 0, 0, 0 };
    int64_t check = 1, last = 0, adapted = 10, begun = 1, swept = 0;
    double changes[KS_GB_BATCH];
    ks_gb_zero(run, x);
    report->end = KS_END_MAX_ITERATIONS;
    for (int64_t i = 1; i <= o->max_iterations; ++i) {
        report->iterations = i;
        if (i > swept) {
            /* Run up to the next sweep after which there is a decision. */
            int64_t count = 1;
            if (o->method == KS_BLOCK_GAUSS_SEIDEL && !by_change)
                count = least(least(check, o->max_iterations) - i + 1, KS_GB_BATCH);
            if (estimate && adapted >= i) count = least(count, adapted - i + 1);
            advance(run, &x, &other, omega, (int)count, changes);
            begun = i;
            swept += count;
        }
        report->change = changes[i - begun];
        note(&p, i, report->change);
        const double radius = radius_of(o->method, omega, p.rate);
        /* With complex spectra over-relaxation overestimates the radius. So it is used only if omega was estimated. */
        if (radius >= 0 && (o->relaxation == 1 || estimate)) report->spectral_radius = radius;
        double measure = ldexp(report->change, run->exponent);
        int grows = 0;
        if (!by_change && i == check) {
            measure = sqrt(ks_gb_apply(run, run->b, x, r)) / run->norm_b;
            check = least(next_check(i, last, measure, before, o->tolerance), o->max_iterations);
            last = i;
            before = measure;
        }
        if (by_change || last == i) {
            if (measure <= o->tolerance) {
                report->end = KS_END_CONVERGED;
                break;
            }
            const ks_general_end end = ks_gb_judge(&monitor, patience, i, measure);
            if (end != KS_END_NONE && !(estimate && omega > 1 && !fallback)) {
                report->end = end;
                break;
            }
            grows = end != KS_END_NONE;
        }
        if (!estimate) continue;
        /* A wrong estimate, from a complex spectrum, makes changes grow. Then continue without relaxation. */
        if (i == swept && omega > 1 && !fallback && (grows || report->change > 100 * first)) {
            omega = fallback = 1;
            p = (progress){ { 0 }, p.most, i, -1 };
            monitor = (ks_gb_monitor){ 0, 0, 0 };
        } else if (i == adapted && !fallback) {
            const double raised = adapt(omega, radius);
            if (raised != omega) p = (progress){ { 0 }, p.most, i, -1 };
            omega = raised;
            first = report->change;
            adapted *= 5;
        }
    }
    report->relaxation = omega;
    if (x != run->x) memcpy(run->x, x, (size_t)ks_gb_rows(run) * sizeof *x);
}

double ks_gb_radius(ks_gb_run *run, int sweeps)
{
    double *x = ks_gb_vector(run, 0), logarithm = 0;
    int counted = 0;
    if (run->plan->N == 1) return 0;
    ks_gb_pattern(run, 0, x);
    double norm = sqrt(ks_gb_dot(run, x, x));
    for (int i = 0; i < sweeps; ++i) {
        ks_gb_scale(run, 1 / norm, x);
        ks_gb_sweep_all(run, NULL, x, x, 1, 0);
        ks_gb_sweep_all(run, NULL, x, x, 1, 1);
        norm = sqrt(ks_gb_dot(run, x, x));
        if (!(norm > 0)) return norm == 0 ? 0 : HUGE_VAL;
        /* The first half brings the vector into the dominant subspace. */
        if (i >= sweeps / 2) {
            logarithm += log(norm);
            ++counted;
        }
    }
    return exp(logarithm / counted / 2);
}
