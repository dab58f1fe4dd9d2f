/* auto.c -- which method `auto` takes: the one with the least predicted time. For iterative methods the
 * prediction comes from a few steps on a right-hand side. A spectral radius or a random right-hand side
 * may mislead if the matrix is far from normal, as those of queues are. */
#include <math.h>
#include "general_plan.h"

/* A trial may take this share of the predicted time of the best method so far. */
static const double part_of_best = 0.5;
/* Least steps of a trial: fewer tell nothing. A trial may end at the residual far_enough: from there on a
 * Krylov method converges as fast as before or faster. */
enum { LEAST_STEPS = 4 };
static const double far_enough = 1e-5;
/* Largest relative residual for which elimination has kept enough digits for refinement. */
static const double eliminated = 1e-8;

/* Counts of the numbers of the matrix that an iteration reads. */
typedef struct sizes {
    double rows, diagonal, off, dense;  /* dense: the number of dense diagonal blocks */
} sizes;

static double numbers_of(int n, const ks_general_block *b)
{
    switch (b->format) {
    case KS_BLOCK_DENSE: return (double)n * n;
    case KS_BLOCK_DIA: return 3.0 * n;
    default: return b->count;
    }
}

static sizes measure(int64_t N, int n, const ks_general_matrix *m)
{
    sizes s = { (double)N * n, 0, 0, 0 };
    for (int64_t j = 0; j < N; ++j) {
        s.diagonal += numbers_of(n, &m->D[j]);
        s.dense += m->D[j].format == KS_BLOCK_DENSE;
    }
    for (int64_t j = 0; j + 1 < N; ++j)
        s.off += numbers_of(n, &m->L[j]) + numbers_of(n, &m->U[j]);
    return s;
}

/* LAPACK's operations per nanosecond on blocks of order n. */
static double rate_of(double n) { return n < 96 ? 1 + n / 8 : 13; }

double ks_gb_predicted(int64_t N, int n, const ks_general_matrix *matrix,
                       const ks_general_options *options, int workers, int64_t iterations,
                       int columns)
{
    const sizes s = measure(N, n, matrix);
    const double m = n, cube = m * m * m, rate = rate_of(m), steps = (double)iterations * columns;
    const double sweep = (0.6 * s.diagonal + 0.8 * s.off + 1.5 * s.rows) / workers;
    const double factor = s.dense * cube / 1.5 / rate;
    switch (options->method) {
    case KS_BLOCK_LU: return (double)N * (1500 + 4.7 * cube / rate + 2 * m * m * columns);
    case KS_BLOCK_CYCLIC_REDUCTION:
        return (double)N * (2500 + 12.7 * cube / rate + 4 * m * m * columns) / workers;
    case KS_LOW_RANK_LU: {
        int reversed;
        const double r = ks_gb_rank(N, n, matrix, &reversed), alone = sweep * workers / (double)N;
        return factor + (double)N * (100 + r * (2.5 * alone + 0.5 * r * m + 0.1 * r * r) +
                                     columns * (50 + 1.5 * alone + r * (m + r)));
    }
    case KS_BANDED_LU: {
        const ks_gb_band band = ks_gb_band_of(N, n, matrix);
        const double below = (double)band.below, width = below + (double)band.above;
        return s.rows * (40 + 2 * below * width / rate_of(below) + columns * (35 + 2 * (below + width)));
    }
    case KS_BLOCK_GAUSS_SEIDEL:  /* sweeps are pipelined: this gains on one thread, but little on more */
        return factor + steps * sweep * (workers > 1 ? 0.7 * workers : 0.87);
    case KS_BICGSTAB: return factor + steps * 3.5 * sweep;
    case KS_CG: return factor + steps * 2.2 * sweep;
    case KS_GMRES:
        return factor + steps * (2 * sweep + 0.3 * options->restart * s.rows / workers);
    default: return factor + steps * sweep;
    }
}

/* The matrix, and the right-hand side, memory and best result of trials. */
typedef struct trials {
    ks_context *context;
    int64_t N;
    int n, columns;
    const ks_general_matrix *matrix;
    const ks_general_options *options;
    double *b, *factor;
    double best;               /* nanoseconds */
    ks_general_method method;
    int workers;
} trials;

static double predict(const trials *t, ks_general_method method, int64_t iterations)
{
    ks_general_options options = *t->options;
    options.method = method;
    return ks_gb_predicted(t->N, t->n, t->matrix, &options, t->workers, iterations, t->columns);
}

static void offer(trials *t, ks_general_method method, double nanoseconds)
{
    if (!(nanoseconds < t->best)) return;
    t->best = nanoseconds;
    t->method = method;
}

/* Extrapolate from a trial the iterations for the tolerance, at the trial's rate of convergence. For
 * stationary methods the rate is limited by the spectral radius that they estimated. */
static double foretold(const ks_general_report *trial, ks_general_method method, double tolerance)
{
    const double reached = trial->relative_residual, done = (double)trial->iterations;
    if (reached <= tolerance) return done;
    if (!(reached < 1)) return HUGE_VAL;
    const double left = done * (log(tolerance) / log(reached) - 1);
    if (!ks_gb_stationary(method) || trial->spectral_radius < 0) return done + left;
    if (trial->spectral_radius >= 1) return HUGE_VAL;
    return done + fmax(left, log(tolerance / reached) / (2 * log(trial->spectral_radius)));
}

/* Try a few steps of a method. */
static ks_status attempt(trials *t, ks_general_method method)
{
    ks_general_options options = *t->options;
    ks_general_plan *plan;
    ks_general_report report = KS_GENERAL_REPORT_INIT;
    const double tolerance = fmax(options.tolerance, 1e-15);
    const double none = predict(t, method, 0), one = predict(t, method, 1) - none;
    const double steps = part_of_best * t->best / (one / t->columns);
    options.method = method;
    options.stop = KS_STOP_RESIDUAL;
    options.tolerance = fmax(tolerance, far_enough);
    options.max_iterations = steps < LEAST_STEPS                       ? LEAST_STEPS
                             : steps < (double)options.max_iterations ? (int64_t)steps
                                                                      : options.max_iterations;
    ks_status status = ks_general_plan_create(&plan, t->context, t->N, t->n, t->matrix, &options);
    if (status != KS_OK) return status;
    void *work = ks_allocate(t->context, plan->workspace);
    if (work) {
        ks_gb_attempt(plan, t->matrix, t->factor, t->b, work, &report);
        const double needed = foretold(&report, method, tolerance);
        if (needed <= (double)t->options->max_iterations) offer(t, method, none + one * needed);
    } else {
        status = KS_ENOMEM;
    }
    ks_release(t->context, work);
    ks_general_plan_destroy(plan);
    return status;
}

/* Try a direct method if it is predicted to be the fastest. Its residual shows whether it keeps enough digits. */
static ks_status eliminate(trials *t, ks_general_method method)
{
    const double nanoseconds = predict(t, method, 0);
    ks_general_options options = *t->options;
    ks_general_plan *plan;
    ks_general_report report = KS_GENERAL_REPORT_INIT;
    if (!(nanoseconds < t->best)) return KS_OK;
    options.method = method;
    options.stop = KS_STOP_RESIDUAL;
    ks_status status = ks_general_plan_create(&plan, t->context, t->N, t->n, t->matrix, &options);
    if (status != KS_OK) return status;
    void *factor = ks_allocate(t->context, plan->factor_bytes), *work = ks_allocate(t->context, plan->workspace);
    if (!factor || !work) {
        status = KS_ENOMEM;
    } else if (ks_general_factorize(plan, t->matrix, factor, work, NULL) == KS_OK) {
        ks_gb_attempt(plan, t->matrix, factor, t->b, work, &report);
        if (report.relative_residual <= eliminated) offer(t, method, nanoseconds);
    }
    ks_release(t->context, work);
    ks_release(t->context, factor);
    ks_general_plan_destroy(plan);
    return status;
}

/* Factor the diagonal blocks. *krylov: the Krylov method for the matrix, or KS_GENERAL_AUTO if a block
 * is singular. */
static ks_status prepare(trials *t, ks_general_method *krylov)
{
    ks_general_options options = *t->options;
    ks_general_plan *plan;
    options.method = KS_CG;
    options.stop = KS_STOP_RESIDUAL;
    options.any_matrix = 0;
    ks_status status = ks_general_plan_create(&plan, t->context, t->N, t->n, t->matrix, &options);
    if (status != KS_OK) return status;
    t->workers = plan->workers;
    t->factor = ks_allocate(t->context, plan->factor_bytes);
    void *work = ks_allocate(t->context, plan->workspace);
    status = t->factor && work ? KS_OK : KS_ENOMEM;
    if (status == KS_OK) {
        status = ks_general_factorize(plan, t->matrix, t->factor, work, NULL);
        *krylov = status == KS_OK ? KS_CG : status == KS_EREFUSED ? KS_BICGSTAB : KS_GENERAL_AUTO;
        status = KS_OK;
    }
    ks_release(t->context, work);
    ks_general_plan_destroy(plan);
    return status;
}

/* Copy a column of the caller's right-hand side. Returns whether it is finite and not zero. */
static int take_column(trials *t, int column)
{
    const ks_const_blocks *sample = &t->options->sample;
    double largest = 0;
    int finite = 1;
    for (int64_t j = 0; j < t->N; ++j)
        for (int64_t r = 0; r < t->n; ++r) {
            const double b = ((const double *)sample->data)[j * sample->stride + r * t->columns + column];
            t->b[j * t->n + r] = b;
            finite &= isfinite(b) != 0;
            largest = fmax(largest, fabs(b));
        }
    return finite && largest > 0;
}

/* Copy the first column that tells anything of an iteration. Without one numbers that look random are taken. */
static ks_status take_sample(trials *t)
{
    if (!t->options->sample.data) return KS_OK;
    t->b = ks_allocate(t->context, (size_t)t->N * (size_t)t->n * sizeof *t->b);
    if (!t->b) return KS_ENOMEM;
    for (int c = 0; c < t->columns; ++c)
        if (take_column(t, c)) return KS_OK;
    ks_release(t->context, t->b);
    t->b = NULL;
    return KS_OK;
}

ks_status ks_gb_choose(ks_context *context, int64_t N, int n, const ks_general_matrix *matrix,
                       ks_general_options *options)
{
    trials t = { .context = context, .N = N, .n = n, .matrix = matrix, .options = options,
                 .columns = options->columns, .best = HUGE_VAL, .method = KS_BLOCK_LU, .workers = 1 };
    ks_general_method krylov = KS_GENERAL_AUTO;
    ks_status status = prepare(&t, &krylov);
    if (status == KS_OK) status = take_sample(&t);
    const ks_gb_band band = ks_gb_band_of(N, n, matrix);
    if (ks_gb_band_countable(N, n, &band)) offer(&t, KS_BANDED_LU, predict(&t, KS_BANDED_LU, 0));
    if (krylov != KS_GENERAL_AUTO) {
        offer(&t, KS_BLOCK_LU, predict(&t, KS_BLOCK_LU, 0));
        offer(&t, KS_BLOCK_CYCLIC_REDUCTION, predict(&t, KS_BLOCK_CYCLIC_REDUCTION, 0));
        if (status == KS_OK) status = eliminate(&t, KS_LOW_RANK_LU);
        if (status == KS_OK) status = attempt(&t, krylov);
        if (status == KS_OK) status = attempt(&t, t.workers > 1 ? KS_RED_BLACK : KS_BLOCK_GAUSS_SEIDEL);
    } else {
        /* All other methods need factors of the diagonal blocks, and with one of them singular these two may find no
         * pivot either. */
        if (status == KS_OK) status = eliminate(&t, KS_BLOCK_LU);
        if (status == KS_OK) status = eliminate(&t, KS_BLOCK_CYCLIC_REDUCTION);
    }
    ks_release(context, t.b);
    ks_release(context, t.factor);
    options->method = t.method;
    return status;
}
