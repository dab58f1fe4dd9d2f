/* solve.c -- factorize and solve: check arguments, and solve for one right-hand side after another. */
#include <math.h>
#include <string.h>
#include "device.h"
#include "hd.h"
#include "reach.h"

/* Sweeps for the spectral radius that is reported with a failure. */
enum { RADIUS_SWEEPS = 100 };

/* Most steps of refinement after an elimination. A backward error up to `refined` needs none; one above `solved` is not
 * accepted. */
enum { MOST_REFINEMENTS = 10 };
static const double refined = 1e-13, solved = 1e-10;

static int valid_memory(const void *memory)
{
    return memory && (uintptr_t)memory % KS_CARVE_ALIGNMENT == 0;
}

static int valid_matrix(const ks_general_plan *plan, const ks_general_matrix *m)
{
    return plan && ks_gb_fits(plan->N, m, plan->shapes);
}

/* Address behind the numbers of a factor, of the kinds of the blocks or the pivots. */
static void *after_numbers(const ks_general_plan *plan, const void *factor)
{
    return (double *)(uintptr_t)factor + plan->numbers;
}

static ks_gb_run start(const ks_general_plan *plan, const ks_general_matrix *matrix,
                       const void *factor, ks_carver *carver)
{
    ks_gb_run run = { .plan = plan };
    ks_gb_carve(carver, plan, &run);
    run.system = (ks_gb_system){ plan->N,   plan->n, matrix->D,    matrix->L,
                                 matrix->U, factor,  plan->offset, after_numbers(plan, factor) };
    return run;
}

/* Whether x' A y = y' A x for two pairs of pseudorandom vectors. If the asymmetry of A exceeds round-off
 * in its norm, A passes only if both products agree by chance. */
static int is_symmetric(ks_gb_run *run)
{
    double *x = ks_gb_vector(run, 0), *y = ks_gb_vector(run, 1), *A = ks_gb_vector(run, 2);
    const double allowed = 1e-10 * ks_gb_norm(run);
    for (uint64_t pair = 0; pair < 2; ++pair) {
        ks_gb_pattern(run, 2 * pair + 1, x);
        ks_gb_pattern(run, 2 * pair + 2, y);
        ks_gb_apply(run, NULL, y, A);
        const double one = ks_gb_dot(run, x, A);
        ks_gb_apply(run, NULL, x, A);
        if (!(fabs(one - ks_gb_dot(run, y, A)) <= allowed)) return 0;
    }
    return 1;
}

/* Whether entries are in no more columns, or no farther from the diagonal, than was planned for. */
static int entries_fit(const ks_general_plan *plan, const ks_general_matrix *matrix)
{
    int reversed;
    if (plan->options.method == KS_BANDED_LU) {
        const ks_gb_band band = ks_gb_band_of(plan->N, plan->n, matrix);
        return band.below <= plan->band.below && band.above <= plan->band.above;
    }
    if (plan->options.method != KS_LOW_RANK_LU) return 1;
    const int rank = ks_gb_rank(plan->N, plan->n, matrix, &reversed);
    return rank <= plan->rank && reversed == plan->reversed;
}

static ks_status factorize(const ks_general_plan *plan, const ks_general_matrix *matrix,
                           void *factor, void *work, ks_general_report *report)
{
    if (!valid_matrix(plan, matrix) || !valid_memory(factor) || !valid_memory(work) ||
        !entries_fit(plan, matrix))
        return KS_EINVAL;
    ks_carver carver = ks_carver_at(work);
    ks_gb_run run = start(plan, matrix, factor, &carver);
    void *after = after_numbers(plan, factor);
    int64_t block;
    int pivot = -1;
    if (plan->options.method == KS_BLOCK_LU)
        block = ks_gb_lu_factor(plan, matrix, factor, after, run.scratch, &pivot);
    else if (plan->options.method == KS_BLOCK_CYCLIC_REDUCTION)
        block = ks_gb_cyclic_factor(plan, matrix, factor, after, run.scratch, &pivot);
    else if (plan->options.method == KS_LOW_RANK_LU)
        block = ks_gb_low_rank_factor(&run, matrix, factor, after, &pivot);
    else if (plan->options.method == KS_BANDED_LU)
        block = ks_gb_banded_factor(plan, matrix, factor, after, &pivot);
    else
        block = ks_gb_diagonal_factor(plan, matrix, factor, after, run.scratch, &pivot);
    ks_status status = KS_OK;
    if (block >= 0) {
        report->block = block;
        report->pivot = pivot;
        status = KS_ESINGULAR;
    } else if (plan->options.method == KS_CG && !plan->options.any_matrix && !is_symmetric(&run)) {
        status = KS_EREFUSED;
    }
    ks_carve_end(&carver);
    return status;
}

ks_status ks_general_factorize(const ks_general_plan *plan, const ks_general_matrix *matrix,
                               void *factor, void *work, ks_general_report *report)
{
    ks_general_report unused = KS_GENERAL_REPORT_INIT;
    if (!report) report = &unused;
    if (report->size != sizeof *report) return KS_EINVAL;
    *report = unused;
    report->status = factorize(plan, matrix, factor, work, report);
    return report->status;
}

/* gather(): copy column c of b to run->b, contiguous. scatter(): copy run->x to column c of the solution. */
static void gather(const ks_gb_run *run, ks_const_blocks b, int nrhs, int c)
{
    const int64_t n = run->plan->n;
    for (int64_t j = 0; j < run->plan->N; ++j) {
        const double *from = (const double *)b.data + j * b.stride + c;
        for (int64_t r = 0; r < n; ++r) run->b[j * n + r] = from[r * nrhs];
    }
}

static void scatter(const ks_gb_run *run, ks_blocks x, int nrhs, int c)
{
    const int64_t n = run->plan->n;
    for (int64_t j = 0; j < run->plan->N; ++j) {
        double *to = (double *)x.data + j * x.stride + c;
        for (int64_t r = 0; r < n; ++r) to[r * nrhs] = run->x[j * n + r];
    }
}

static void run_method(ks_gb_run *run, const void *factor, ks_general_report *report)
{
    const void *after = after_numbers(run->plan, factor);
    switch (run->plan->options.method) {
    case KS_BICGSTAB: ks_gb_bicgstab_run(run, report); break;
    case KS_GMRES: ks_gb_gmres_run(run, report); break;
    case KS_CG: ks_gb_cg_run(run, report); break;
    case KS_BLOCK_LU: ks_gb_lu_solve(run, factor, after); break;
    case KS_BLOCK_CYCLIC_REDUCTION: ks_gb_cyclic_solve(run, factor, after); break;
    case KS_LOW_RANK_LU: ks_gb_low_rank_solve(run, factor); break;
    case KS_BANDED_LU: ks_gb_banded_solve(run, factor, after); break;
    default: ks_gb_stationary_run(run, report); break;
    }
}

void ks_gb_attempt(const ks_general_plan *plan, const ks_general_matrix *matrix,
                   const void *factor, const double *b, void *work, ks_general_report *report)
{
    ks_carver carver = ks_carver_at(work);
    ks_gb_run run = start(plan, matrix, factor, &carver);
    const int64_t rows = ks_gb_rows(&run);
    if (!b) ks_gb_pattern(&run, 0, run.b);
    for (int64_t i = 0; i < rows; ++i) run.b[i] = b ? b[i] : run.b[i] - 1;
    ks_gb_bring_to_one(&run);
    report->relative_residual = 0;
    const unsigned mode = ks_flush_begin();
    if (run.norm_b > 0) {
        run_method(&run, factor, report);
        report->relative_residual =
            sqrt(ks_gb_apply(&run, run.b, run.x, ks_gb_vector(&run, 0))) / run.norm_b;
    }
    ks_carve_end(&carver);
    ks_flush_end(mode);
}

/* residual / whole; 0 if `whole` is 0 and the residual is finite. */
static double share_of(double residual, double whole)
{
    return whole == 0 && isfinite(residual) ? 0 : residual / whole;
}

/* Compute the residual of run->x to vector 0, and fill the members of the report that depend on it. */
static void judge(ks_gb_run *run, ks_general_report *report)
{
    report->residual = sqrt(ks_gb_apply(run, run->b, run->x, ks_gb_vector(run, 0)));
    const double scale = run->norm_A * ks_gb_length(run, run->x) + run->norm_b;
    report->relative_residual = share_of(report->residual, run->norm_b);
    report->backward_error = share_of(report->residual, scale);
}

/* Elimination with pivoting only within blocks may lose digits. Iterative refinement restores them as long as some are
 * left (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., Sec. 12.1). */
static void refine(ks_gb_run *run, const void *factor, ks_general_report *report)
{
    ks_gb_run correction = *run;
    correction.b = ks_gb_vector(run, 0);
    correction.x = ks_gb_vector(run, 1);
    while (report->iterations < MOST_REFINEMENTS && report->backward_error > refined) {
        const double before = report->backward_error;
        run_method(&correction, factor, report);
        ks_gb_axpby(run, 1, correction.x, 1, run->x);
        judge(run, report);
        ++report->iterations;
        if (report->backward_error <= 0.5 * before) continue;
        if (!(report->backward_error <= before)) {
            ks_gb_axpby(run, -1, correction.x, 1, run->x);
            judge(run, report);
        }
        return;
    }
}

static ks_status solve_directly(ks_gb_run *run, const void *factor, ks_general_report *report)
{
    run_method(run, factor, report);
    judge(run, report);
    refine(run, factor, report);
    if (!isfinite(report->residual)) return KS_ENONFINITE;
    if (report->backward_error <= solved) return KS_OK;
    report->end = KS_END_STAGNATED;
    return KS_ENOTCONVERGED;
}

static ks_status iterate(ks_gb_run *run, const void *factor, ks_general_report *report)
{
    ks_status status = KS_OK;
    if (run->device) {
        status = ks_gb_device_solve(run->device, run->b, run->exponent, run->x, report);
        if (status != KS_OK && status != KS_ENOTCONVERGED) return status;
    } else {
        run_method(run, factor, report);
    }
    judge(run, report);
    /* A solution with NaN no longer changes, which looks like convergence. */
    if (report->end == KS_END_CONVERGED && !isfinite(report->residual)) report->end = KS_END_DIVERGED;
    if (report->end == KS_END_CONVERGED) return KS_OK;
    /* Compute the radius if there is no usable estimate: the method has none, ran for few sweeps, or its
     * over-relaxation failed. */
    if (report->spectral_radius < 0 || report->iterations < 32 || report->relaxation > 1)
        report->spectral_radius = ks_gb_radius(run, RADIUS_SWEEPS);
    return KS_ENOTCONVERGED;
}

/* Fail for a right-hand side that is not finite. */
static ks_status refuse(ks_gb_run *run, ks_general_report *report)
{
    report->end = ks_gb_direct(run->plan->options.method) ? KS_END_NONE : KS_END_DIVERGED;
    report->residual = run->norm_b;
    report->relative_residual = report->backward_error = (double)NAN;
    run->exponent = 0;
    return KS_ENONFINITE;
}

/* Solve for the right-hand side in run->b. */
static ks_status solve_one(ks_gb_run *run, const void *factor, ks_general_report *report)
{
    const int direct = ks_gb_direct(run->plan->options.method);
    if (!isfinite(run->norm_b)) return refuse(run, report);
    if (!(run->norm_b == 0)) return direct ? solve_directly(run, factor, report) : iterate(run, factor, report);
    ks_gb_zero(run, run->x);
    report->end = direct ? KS_END_NONE : KS_END_CONVERGED;
    judge(run, report);
    if (isfinite(report->residual)) return KS_OK;
    report->end = direct ? KS_END_NONE : KS_END_DIVERGED;
    return direct ? KS_ENONFINITE : KS_ENOTCONVERGED;
}

/* Undo the scaling of ks_gb_bring_to_one(). */
static ks_status bring_back(ks_gb_run *run, ks_general_report *report)
{
    const int64_t rows = ks_gb_rows(run);
    report->residual = ldexp(report->residual, run->exponent);
    report->change = ldexp(report->change, run->exponent);
    for (int64_t i = 0; run->exponent != 0 && i < rows; ++i) {
        run->x[i] = ldexp(run->x[i], run->exponent);
        if (!isfinite(run->x[i])) return KS_ENONFINITE;
    }
    return KS_OK;
}

/* Keep in *worst the report of the worse of two right-hand sides, with the larger number of iterations. */
static void keep_worst(ks_general_report *worst, const ks_general_report *one)
{
    const int64_t iterations =
        one->iterations > worst->iterations ? one->iterations : worst->iterations;
    if (!(one->relative_residual <= worst->relative_residual)) *worst = *one;
    worst->iterations = iterations;
}

static int valid_blocks(const void *data, int64_t count, int64_t stride, int64_t size)
{
    return data && ks_is_aligned(data, sizeof(double)) && (count == 1 || stride >= size) &&
           ks_within_reach(count, stride, 1, 0, size);
}

ks_status ks_general_solve(const ks_general_plan *plan, const ks_general_matrix *matrix,
                           const void *factor, int nrhs, ks_const_blocks b, ks_blocks x,
                           void *work, ks_general_report *report)
{
    ks_general_report unused = KS_GENERAL_REPORT_INIT;
    if (!report) report = &unused;
    if (report->size != sizeof *report) return KS_EINVAL;
    *report = (ks_general_report)KS_GENERAL_REPORT_INIT;
    report->status = KS_EINVAL;
    if (!valid_matrix(plan, matrix) || !valid_memory(factor) || !valid_memory(work) || nrhs < 1)
        return KS_EINVAL;
    const int64_t size = (int64_t)plan->n * nrhs;
    /* A stride of 0: the same block in every place. */
    if (!valid_blocks(b.data, b.stride == 0 ? 1 : plan->N, b.stride, size)) return KS_EINVAL;
    if (!valid_blocks(x.data, plan->N, x.stride, size)) return KS_EINVAL;

    ks_carver carver = ks_carver_at(work);
    ks_gb_run run = start(plan, matrix, factor, &carver);
    run.norm_A = ks_gb_norm(&run);
    ks_status status = KS_OK;
    if (plan->gpu) status = ks_gb_device_create(&run.device, plan->gpu, plan, matrix, factor, NULL);
    for (int c = 0; c < nrhs && status == KS_OK; ++c) {
        ks_general_report one = KS_GENERAL_REPORT_INIT;
        one.column = c;
        gather(&run, b, nrhs, c);
        ks_gb_bring_to_one(&run);
        /* A solution that decays by orders of magnitude per block would reach denormal numbers, which are slow. */
        const unsigned mode = ks_flush_begin();
        status = solve_one(&run, factor, &one);
        ks_flush_end(mode);
        const ks_status back = bring_back(&run, &one);
        if (status == KS_OK) status = back;
        if (status == KS_OK) scatter(&run, x, nrhs, c);
        if (c == 0 || status != KS_OK) *report = one;
        else keep_worst(report, &one);
    }
    ks_gb_device_destroy(run.device);
    ks_carve_end(&carver);
    report->status = status;
    return status;
}

ks_status ks_general_spectral_radius(const ks_general_plan *plan, const ks_general_matrix *matrix,
                                     const void *factor, int sweeps, void *work, double *radius)
{
    if (!radius || !valid_matrix(plan, matrix) || ks_gb_direct(plan->options.method) ||
        !valid_memory(factor) || !valid_memory(work) || sweeps < 4)
        return KS_EINVAL;
    const unsigned mode = ks_flush_begin();
    ks_carver carver = ks_carver_at(work);
    ks_gb_run run = start(plan, matrix, factor, &carver);
    *radius = ks_gb_radius(&run, sweeps);
    ks_carve_end(&carver);
    ks_flush_end(mode);
    return KS_OK;
}
