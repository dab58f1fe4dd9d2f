/* refine.c -- solve a system in double with a factor in single precision. The residual is computed
 * in double, the correction in single (Wilkinson's iterative refinement; Higham, "Accuracy and
 * Stability of Numerical Algorithms", 2nd ed., Sec. 12.1). The factor is that of the matrix scaled to a
 * diagonal of about one. The residual is scaled alike before its norm is taken: ||A x - b|| would hide
 * errors in rows with small units. */
#include <math.h>
#include <string.h>
#include "blocktri_plan.h"
#include "kalscan/blocktri_refine.h"
#include "refine_kernels.h"
#include "scale_text.h"

/* m 2^e: a norm whose square may be far outside the range of double. */
typedef struct wide {
    double m;
    int e;
} wide;

/* Arguments and workspace of one call. */
typedef struct refine_run {
    const ks_blocktri_plan *plan;
    const ks_bt_refine_kernels *kernels;
    const ks_blocktri_matrix *matrix;
    const ks_blocktri_factor *factor;
    const double *scale;
    int nrhs;
    ks_const_blocks b;
    ks_blocks x;
    /* workspace */
    void *plan_work;
    double *residual;   /* (N, n, nrhs)                                               */
    float *correction;  /* the same, in units of `unit`                               */
    double *squares;    /* (N): sum of squares of S A S in each row of blocks         */
    double *vectors;    /* four of n numbers for each worker                          */
    double *largest;    /* (nrhs): largest entry of S times the residual              */
    double *unit;       /* (nrhs): power of two near that                             */
    wide *b_norm, *r_norm, *x_norm; /* (nrhs): of S b, S r, S^-1 x                    */
    double matrix_norm; /* of S A S                                                   */
    int first;          /* no residual yet; its pass also computes `squares`          */
} refine_run;

static void carve(ks_carver *carver, refine_run *run)
{
    const ks_blocktri_plan *plan = run->plan;
    const size_t blocks = (size_t)plan->N, rows = (size_t)plan->n, columns = (size_t)run->nrhs;
    run->plan_work = ks_carve(carver, 1, plan->workspace);
    run->residual = ks_carve(carver, blocks * rows, columns * sizeof(double));
    run->correction = ks_carve(carver, blocks * rows, columns * sizeof(float));
    run->squares = ks_carve(carver, blocks, sizeof(double));
    run->vectors = ks_carve(carver, 4 * (size_t)plan->workers, rows * sizeof(double));
    run->largest = ks_carve(carver, columns, sizeof(double));
    run->unit = ks_carve(carver, columns, sizeof(double));
    run->b_norm = ks_carve(carver, columns, sizeof(wide));
    run->r_norm = ks_carve(carver, columns, sizeof(wide));
    run->x_norm = ks_carve(carver, columns, sizeof(wide));
}

static int single(const ks_blocktri_plan *plan)
{
    return plan && plan->options.precision == KS_F32;
}

size_t ks_blocktri_refine_workspace_bytes(const ks_blocktri_plan *plan, int nrhs)
{
    ks_carver carver = ks_carver_at(NULL);
    refine_run unused = { .plan = plan, .nrhs = nrhs };
    if (!single(plan) || nrhs < 1) return 0;
    carve(&carver, &unused);
    return ks_carved_bytes(&carver);
}

/* --- factoring ------------------------------------------------------------------------------- */

/* Compute the scale. Return false, with block and pivot in info, if an entry of the diagonal is not positive and
 * finite. */
static int find_scale(const ks_blocktri_plan *plan, const ks_blocktri_matrix *matrix, double *scale,
                      ks_blocktri_info *info)
{
    const int n = plan->n;
    for (int64_t k = 0; k < plan->N; ++k) {
        const double *D = (const double *)matrix->D.data + k * matrix->D.stride;
        for (int i = 0; i < n; ++i) {
            const double d = D[(int64_t)i * n + i];
            if (!(d > 0.0) || !isfinite(d)) {
                info->block = k;
                info->pivot = i;
                return 0;
            }
            scale[k * n + i] = ks_bt_scale_of(d);
        }
    }
    return 1;
}

static void convert_blocks(void *arg, int64_t begin, int64_t end, int worker)
{
    const refine_run *run = arg;
    const int n = run->plan->n;
    const ks_blocktri_matrix *A = run->matrix;
    const ks_blocktri_factor *to = run->factor;
    (void)worker;
    for (int64_t k = begin; k < end; ++k) {
        const double *s = run->scale + k * n;
        run->kernels->scale(n, s, (const double *)A->D.data + k * A->D.stride, s, 1,
                            (float *)to->D.data + k * to->D.stride);
        if (k + 1 < run->plan->N)
            run->kernels->scale(n, s + n, (const double *)A->L.data + k * A->L.stride, s, 0,
                                (float *)to->L.data + k * to->L.stride);
    }
}

static int valid_matrix(const ks_blocktri_plan *plan, const ks_blocktri_matrix *matrix)
{
    return matrix && ks_bt_valid_input(matrix->D, sizeof(double), plan->N, ks_bt_size(plan)) &&
           ks_bt_valid_input(matrix->L, sizeof(double), plan->N - 1, ks_bt_size(plan));
}

ks_status ks_blocktri_refine_factorize(const ks_blocktri_plan *plan,
                                       const ks_blocktri_matrix *matrix,
                                       const ks_blocktri_factor *factor, double *scale, void *work,
                                       ks_blocktri_info *info)
{
    ks_blocktri_info unasked = KS_BLOCKTRI_INFO_INIT;
    if (!info) info = &unasked;
    if (info->size != sizeof *info) return KS_EINVAL;
    info->status = KS_EINVAL;
    info->block = info->pivot = -1;
    if (!single(plan) || !valid_matrix(plan, matrix) || !ks_bt_valid_factor(plan, factor) ||
        !scale || !ks_bt_valid_work(work))
        return KS_EINVAL;
    if (!find_scale(plan, matrix, scale, info)) return info->status = KS_ENOTPD;
    refine_run run = { .plan = plan, .matrix = matrix, .factor = factor, .scale = scale,
                       .kernels = ks_bt_refine_kernels_of(plan->options.tier) };
    ks_parallel_for(plan->context, plan->workers, plan->N, convert_blocks, &run);
    const ks_blocktri_matrix converted = { { factor->D.data, factor->D.stride },
                                           { factor->L.data, factor->L.stride } };
    return ks_blocktri_factorize(plan, &converted, factor, work, info);
}

ks_status ks_blocktri_refine_logdet(const ks_blocktri_plan *plan, const ks_blocktri_factor *factor,
                                    const double *scale, double *logdet)
{
    int64_t exponents = 0;
    if (!single(plan) || !scale) return KS_EINVAL;
    const ks_status status = ks_blocktri_logdet(plan, factor, logdet);
    if (status) return status;
    for (int64_t i = 0; i < plan->N * plan->n; ++i) exponents += ilogb(scale[i]);
    *logdet -= 2.0 * (double)exponents * 0.69314718055994530942;
    return KS_OK;
}

/* --- residual -------------------------------------------------------------------------------- */

/* r = b - A x for the rows of one block. */
static void residual_block(const refine_run *run, int64_t k, double *vectors)
{
    const int64_t n = run->plan->n, stride = run->x.stride;
    const double *D = (const double *)run->matrix->D.data + k * run->matrix->D.stride;
    const double *L = (const double *)run->matrix->L.data;
    const double *lower = k > 0 ? L + (k - 1) * run->matrix->L.stride : NULL;
    const double *upper = k + 1 < run->plan->N ? L + k * run->matrix->L.stride : NULL;
    const double *x = (const double *)run->x.data + k * stride;
    run->kernels->residual(n, run->nrhs, D, lower, upper, x, lower ? x - stride : NULL,
                           upper ? x + stride : NULL,
                           (const double *)run->b.data + k * run->b.stride,
                           run->residual + k * n * run->nrhs, vectors);
}

/* The sum of squares of S A S in the diagonal block k and, counted twice, the block below it. */
static void square_block(const refine_run *run, int64_t k)
{
    const int64_t n = run->plan->n;
    const double *s = run->scale + k * n;
    const double *D = (const double *)run->matrix->D.data + k * run->matrix->D.stride;
    const double *L = k + 1 < run->plan->N ? (const double *)run->matrix->L.data + k * run->matrix->L.stride : NULL;
    run->squares[k] = run->kernels->norms(n, s, L ? s + n : NULL, D, L);
}

static void residual_blocks(void *arg, int64_t begin, int64_t end, int worker)
{
    const refine_run *run = arg;
    double *vectors = run->vectors + (int64_t)worker * 4 * run->plan->n;
    for (int64_t k = begin; k < end; ++k) {
        residual_block(run, k, vectors);
        /* In one pass, so that the matrix is read once for both. */
        if (run->first) square_block(run, k);
    }
}

/* The exponent of the largest entry, limited so that the reciprocal of the power of two is finite and normal. */
static int exponent_of(double largest)
{
    int exponent = 0;
    if (isfinite(largest)) (void)frexp(largest, &exponent);
    return exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent;
}

/* v, a number of a row, times S or S^-1. */
static double in_units(const refine_run *run, int64_t row, double v, int inverse)
{
    const double s = run->scale[row];
    return v * (inverse ? ks_bt_inverse_scale(s) : s);
}

/* The norm of S or S^-1 times one column of blocks (n, nrhs), without overflow or underflow. */
static wide column_norm(const refine_run *run, const double *blocks, int64_t stride, int column, int inverse)
{
    const int64_t N = run->plan->N, n = run->plan->n;
    double largest = 0.0, sum = 0.0;
    for (int64_t k = 0; k < N; ++k)
        for (int64_t i = 0; i < n; ++i) {
            const double v = fabs(in_units(run, k * n + i, blocks[k * stride + i * run->nrhs + column], inverse));
            if (!(v <= largest)) largest = v;
        }
    const int exponent = exponent_of(largest);
    const double factor = ldexp(1.0, -exponent);
    for (int64_t k = 0; k < N; ++k)
        for (int64_t i = 0; i < n; ++i) {
            const double of = blocks[k * stride + i * run->nrhs + column];
            const double v = factor * in_units(run, k * n + i, of, inverse);
            sum += v * v;
        }
    return (wide){ sqrt(sum), exponent };
}

/* The norms of S times all columns, and their largest entries, which ignore NaN. If `largest` is NULL, the norms of
 * S^-1 times all columns. This takes one pass if no sum of squares overflows or underflows. */
static void column_norms(const refine_run *run, const double *blocks, int64_t stride, wide *norms, double *largest)
{
    const int m = run->nrhs;
    const int64_t N = run->plan->N, n = run->plan->n;
    for (int c = 0; c < m; ++c) norms[c] = (wide){ 0.0, 0 };
    for (int c = 0; largest && c < m; ++c) largest[c] = 0.0;
    if (m == 1 && stride == n)
        norms[0].m = largest ? run->kernels->scaled(N * n, run->scale, blocks, largest)
                             : run->kernels->unscaled(N * n, run->scale, blocks);
    else
        for (int64_t row = 0; row < N * n; ++row) {
            const double unit = in_units(run, row, 1.0, !largest);
            const double *at = blocks + row / n * stride + row % n * m;
            for (int c = 0; c < m; ++c) {
                const double v = fabs(unit * at[c]);
                norms[c].m += v * v;
                if (largest && v > largest[c]) largest[c] = v;
            }
        }
    for (int c = 0; c < m; ++c) {
        const int ordinary = norms[c].m > 1e-200 && norms[c].m < 1e200;
        norms[c].m = sqrt(norms[c].m);
        if (!ordinary) norms[c] = column_norm(run, blocks, stride, c, !largest);
    }
}

/* r / (A x + b). */
static double ratio(wide r, double A, wide x, wide b)
{
    const int unit = x.e > b.e ? x.e : b.e;
    if (r.m <= 0.0) return 0.0;
    return ldexp(r.m, r.e - unit) / (ldexp(A * x.m, x.e - unit) + ldexp(b.m, b.e - unit));
}

/* Compute the residual. Return the largest relative residual of a column; NaN if a number is not finite. */
static double relative_residual(refine_run *run)
{
    double worst = 0.0;
    ks_parallel_for(run->plan->context, run->plan->workers, run->plan->N, residual_blocks, run);
    if (run->first) {
        double sum = 0.0;
        for (int64_t k = 0; k < run->plan->N; ++k) sum += run->squares[k];
        run->matrix_norm = sqrt(sum);
        run->first = 0;
    }
    column_norms(run, run->residual, (int64_t)run->plan->n * run->nrhs, run->r_norm, run->largest);
    column_norms(run, run->x.data, run->x.stride, run->x_norm, NULL);
    for (int c = 0; c < run->nrhs; ++c) {
        const double relative =
            ratio(run->r_norm[c], run->matrix_norm, run->x_norm[c], run->b_norm[c]);
        if (!isfinite(relative) || !isfinite(run->x_norm[c].m)) return (double)NAN;
        if (relative > worst) worst = relative;
    }
    return worst;
}

/* --- solving --------------------------------------------------------------------------------- */

/* The correction for the current residual, S (S A S)^-1 S r, without the first S. */
static ks_status find_correction(const refine_run *run)
{
    const int64_t rows = run->plan->N * run->plan->n, stride = (int64_t)run->plan->n * run->nrhs;
    const int m = run->nrhs;
    /* Powers of two that bring each column of S r to about one, so that single precision neither overflows nor loses
     * small residuals. */
    for (int c = 0; c < m; ++c) run->unit[c] = ldexp(1.0, exponent_of(run->largest[c]));
    if (m == 1)
        run->kernels->narrow(rows, 1.0 / run->unit[0], run->scale, run->residual, run->correction);
    for (int64_t i = 0; m > 1 && i < rows; ++i)
        for (int c = 0; c < m; ++c)
            run->correction[i * m + c] =
                (float)(run->scale[i] * run->residual[i * m + c] / run->unit[c]);
    const ks_const_blocks from = { run->correction, stride };
    const ks_blocks to = { run->correction, stride };
    return ks_blocktri_solve(run->plan, run->factor, m, from, to, run->plan_work);
}

/* x += sign * correction. */
static void correct(const refine_run *run, double sign)
{
    const int64_t n = run->plan->n;
    const int m = run->nrhs;
    for (int64_t k = 0; k < run->plan->N; ++k) {
        const double *scale = run->scale + k * n;
        const float *correction = run->correction + k * n * m;
        double *x = (double *)run->x.data + k * run->x.stride;
        if (m == 1)
            run->kernels->add(n, sign * run->unit[0], scale, correction, x);
        else
            for (int64_t i = 0; i < n; ++i)
                for (int c = 0; c < m; ++c)
                    x[i * m + c] += sign * scale[i] * run->unit[c] * (double)correction[i * m + c];
    }
}

/* Start from x = 0, whose residual is b. */
static void start(const refine_run *run)
{
    const size_t block = (size_t)run->plan->n * (size_t)run->nrhs * sizeof(double);
    for (int64_t k = 0; k < run->plan->N; ++k) {
        memset((double *)run->x.data + k * run->x.stride, 0, block);
        memcpy((char *)run->residual + (size_t)k * block,
               (const double *)run->b.data + k * run->b.stride, block);
    }
}

static ks_status refine(refine_run *run, const ks_blocktri_refine_limits *limits,
                        ks_blocktri_refine_report *report)
{
    double previous = HUGE_VAL;
    run->first = 1;
    start(run);
    column_norms(run, run->b.data, run->b.stride, run->b_norm, run->largest);
    for (int step = 0;; ++step) {
        const ks_status status = find_correction(run);
        if (status) return status;
        correct(run, 1.0);
        double now = relative_residual(run);
        if (step > 0 && !(now <= previous)) {
            correct(run, -1.0);
            now = relative_residual(run);
            --step;
            previous = 0.0; /* stop after this step */
        }
        report->steps = step;
        report->residual = now;
        if (!isfinite(now)) return KS_ENONFINITE;
        if (now <= limits->tolerance || step >= limits->steps || now > 0.5 * previous)
            return KS_OK;
        previous = now;
    }
}

ks_status ks_blocktri_refine_solve(const ks_blocktri_plan *plan, const ks_blocktri_matrix *matrix,
                                   const ks_blocktri_factor *factor, const double *scale, int nrhs,
                                   ks_const_blocks b, ks_blocks x,
                                   const ks_blocktri_refine_limits *limits, void *work,
                                   ks_blocktri_refine_report *report)
{
    const ks_blocktri_refine_limits defaults = KS_BLOCKTRI_REFINE_INIT;
    ks_blocktri_refine_report unasked;
    if (!limits) limits = &defaults;
    if (!report) report = &unasked;
    if (nrhs < 1 || !single(plan) || !valid_matrix(plan, matrix) ||
        !ks_bt_valid_factor(plan, factor) || !scale || !ks_bt_valid_work(work) ||
        limits->size != sizeof *limits || !(limits->tolerance >= 0.0) || limits->steps < 0)
        return KS_EINVAL;
    const int64_t size = (int64_t)plan->n * nrhs;
    if (!ks_bt_valid_input(b, sizeof(double), plan->N, size) || !ks_bt_valid_blocks(x, sizeof(double), plan->N, size) ||
        b.data == x.data)
        return KS_EINVAL;
    refine_run run = { .plan = plan, .matrix = matrix, .factor = factor, .scale = scale,
                       .nrhs = nrhs, .b = b, .x = x,
                       .kernels = ks_bt_refine_kernels_of(plan->options.tier) };
    ks_carver carver = ks_carver_at(work);
    carve(&carver, &run);
    const ks_status status = refine(&run, limits, report);
    ks_carve_end(&carver);
    return status;
}
