/* The Cholesky methods: factorization, solution, log-determinant and blocks of the inverse, in one precision or with a
 * single-precision factor and refinement. */
#include "solve_cholesky.h"

#include <math.h>
#include <stdlib.h>
#include "kalscan/blocktri_refine.h"
#include "memory.h"
#include "solve_condition.h"
#include "values.h"

/* If refinement ends above this, it has not made up for the factor's precision. */
static const double refined_enough = 1e-13;

/* Half of the digits. Elimination loses few of them. A larger backward error means that numbers were too near the ends
 * of their range, where denormals count as zero. */
static double most_backward_error(ks_precision precision)
{
    return precision == KS_F32 ? 0x1p-12 : 0x1p-26;
}

typedef struct cholesky {
    ks_blocktri_plan *plan;
    void *D, *L, *fill;     /* the factor */
    double *scale;          /* of refinement */
    void *work;
    size_t block_bytes, fill_bytes, scale_bytes;
} cholesky;

static ks_blocktri_factor factor_of(const ks_solve *run)
{
    const cholesky *c = run->state;
    const int64_t block = (int64_t)run->system->n * run->system->n;
    return (ks_blocktri_factor){{c->D, block}, {c->L, block}, c->fill};
}

static ks_blocktri_matrix matrix_of(const ks_solve *run)
{
    const int64_t block = (int64_t)run->system->n * run->system->n;
    return (ks_blocktri_matrix){{run->system->arrays[KS_SYSTEM_D].data, block},
                                {run->system->arrays[KS_SYSTEM_L].data, block}};
}

static ks_exit find_sizes(ks_solve *run, ks_failure *failure)
{
    const ks_solve_settings *settings = run->settings;
    const ks_system *system = run->system;
    cholesky *c = run->state;
    const size_t N = (size_t)system->N, n = (size_t)system->n, nrhs = (size_t)system->nrhs;
    c->block_bytes = ks_size_product(n * n, ks_precision_bytes(settings->precision));
    c->fill_bytes = ks_blocktri_fill_bytes(c->plan);
    c->scale_bytes = settings->refine ? ks_size_product(N * n, sizeof(double)) : 0;
    run->factor_bytes = ks_size_sum(ks_size_product(2 * N - 1, c->block_bytes),
                                    ks_size_sum(c->fill_bytes, c->scale_bytes));
    run->result_bytes = ks_size_product(ks_size_product(N * n, nrhs),
                                        ks_precision_bytes(run->data_precision));
    run->work_bytes = settings->refine ? ks_blocktri_refine_workspace_bytes(c->plan, system->nrhs)
                                       : ks_blocktri_workspace_bytes(c->plan);
    if (settings->inverse_blocks) {
        /* The blocks of the inverse replace the system. */
        const size_t inverse = ks_blocktri_inverse_workspace_bytes(c->plan);
        if (inverse > run->work_bytes) run->work_bytes = inverse;
    }
    return run->work_bytes == SIZE_MAX
               ? ks_fail(failure, KS_EXIT_RESOURCES, "out of memory: the system is too large")
               : KS_EXIT_DONE;
}

ks_exit ks_cholesky_plan(ks_solve *run, ks_failure *failure)
{
    const ks_solve_settings *settings = run->settings;
    ks_blocktri_options options = KS_BLOCKTRI_OPTIONS_INIT;
    cholesky *c = calloc(1, sizeof *c);
    if (!c) return ks_fail(failure, KS_EXIT_RESOURCES, "out of memory");
    run->state = c;
    options.order = (ks_blocktri_order)settings->solver->value;
    options.segments = settings->segments;
    options.precision = settings->precision;
    options.threads = settings->threads;
    const ks_status status = ks_blocktri_plan_create(&c->plan, run->context, run->system->N,
                                                     run->system->n, &options);
    if (status == KS_ENOMEM)
        return ks_fail(failure, KS_EXIT_RESOURCES,
                       "out of memory: %lld blocks of order %d are too large",
                       (long long)run->system->N, run->system->n);
    if (status != KS_OK)
        return ks_fail(failure, KS_EXIT_RESOURCES, "cannot plan: %s", ks_strerror(status));
    run->method = ks_blocktri_order_name(ks_blocktri_plan_order(c->plan));
    run->threads = ks_blocktri_plan_threads(c->plan);
    if (ks_blocktri_plan_order(c->plan) == KS_BLOCKTRI_PARTITION)
        run->segments = ks_blocktri_plan_segments(c->plan);
    return find_sizes(run, failure);
}

static ks_exit allocate(ks_solve *run, ks_failure *failure)
{
    cholesky *c = run->state;
    const size_t N = (size_t)run->system->N;
    c->D = ks_memory_raw(N * c->block_bytes, "the factor", failure);
    if (!failure->code && N > 1)
        c->L = ks_memory_raw((N - 1) * c->block_bytes, "the factor", failure);
    if (!failure->code && c->fill_bytes > 0)
        c->fill = ks_memory_raw(c->fill_bytes, "the factor", failure);
    if (!failure->code && c->scale_bytes > 0)
        c->scale = ks_memory_raw(c->scale_bytes, "the factor", failure);
    if (!failure->code) c->work = ks_memory_raw(run->work_bytes, "the workspace", failure);
    if (!failure->code) run->x = ks_memory_raw(run->result_bytes, "the solution", failure);
    return failure->code;
}

ks_exit ks_cholesky_explain(const ks_solve *run, ks_status status, int64_t block, int pivot,
                            ks_failure *failure)
{
    /* Suggest another method only for results that it can compute. */
    const char *other = run->settings->inverse_blocks || run->backend != KS_BACKEND_CPU ? ""
                                                                   : "; use --method banded-lu";
    const char *advice = run->settings->precision == KS_F32 ? "; in f64 it may be: --precision f64" : other;
    if (status != KS_ENOTPD)
        return ks_fail(failure, KS_EXIT_NUMERICAL, "%s: cannot factor: %s", run->system->name,
                       ks_strerror(status));
    return ks_fail(failure, KS_EXIT_NUMERICAL,
                   "%s: block %lld: the matrix is not positive definite%s: the pivot of row %d of "
                   "D[%lld] is not positive (method %s)%s", run->system->name,
                   (long long)block, run->settings->precision == KS_F32 ? " in f32" : "", pivot,
                   (long long)block, run->method, advice);
}

static ks_exit factorize(ks_solve *run, ks_failure *failure)
{
    const cholesky *c = run->state;
    const double start = ks_seconds();
    const ks_blocktri_matrix matrix = matrix_of(run);
    const ks_blocktri_factor factor = factor_of(run);
    ks_blocktri_info info = KS_BLOCKTRI_INFO_INIT;
    const ks_status status =
        run->settings->refine
            ? ks_blocktri_refine_factorize(c->plan, &matrix, &factor, c->scale, c->work, &info)
            : ks_blocktri_factorize(c->plan, &matrix, &factor, c->work, &info);
    run->factor_seconds = ks_seconds() - start;
    return status == KS_OK ? KS_EXIT_DONE
                           : ks_cholesky_explain(run, status, info.block, info.pivot, failure);
}

ks_exit ks_cholesky_refined(const ks_solve *run, double residual, ks_failure *failure)
{
    if (residual <= refined_enough) return KS_EXIT_DONE;
    return ks_fail(failure, KS_EXIT_NUMERICAL,
                   "%s: refinement of the f32 factor stops at a backward error of %.3g, in the units of the rows, "
                   "after %d steps: the matrix is too ill-conditioned for it; use "
                   "--precision f64", run->system->name, residual, run->steps);
}

static ks_exit solve(ks_solve *run, ks_failure *failure)
{
    const cholesky *c = run->state;
    const double start = ks_seconds();
    const int nrhs = run->system->nrhs;
    const int64_t stride = (int64_t)run->system->n * nrhs;
    const ks_blocktri_matrix matrix = matrix_of(run);
    const ks_blocktri_factor factor = factor_of(run);
    const ks_const_blocks b = {run->system->arrays[KS_SYSTEM_B].data, stride};
    const ks_blocks x = {run->x, stride};
    ks_blocktri_refine_report report = {0, 0.0};
    const ks_status status =
        run->settings->refine
            ? ks_blocktri_refine_solve(c->plan, &matrix, &factor, c->scale, nrhs, b, x, NULL,
                                       c->work, &report)
            : ks_blocktri_solve(c->plan, &factor, nrhs, b, x, c->work);
    run->solve_seconds = ks_seconds() - start;
    run->steps = report.steps;
    if (status == KS_OK) return ks_cholesky_refined(run, report.residual, failure);
    return ks_fail(failure, KS_EXIT_NUMERICAL, "%s: cannot solve: %s", run->system->name,
                   status == KS_ENONFINITE ? "the solution overflows" : ks_strerror(status));
}

static ks_status find_norms(ks_solve *run, const ks_blocktri_plan *plan, const void *x)
{
    const int64_t stride = (int64_t)run->system->n * run->system->nrhs;
    const ks_blocktri_matrix matrix = matrix_of(run);
    const ks_const_blocks b = {run->system->arrays[KS_SYSTEM_B].data, stride};
    return ks_blocktri_residual(plan, &matrix, run->system->nrhs, (ks_const_blocks){x, stride}, b,
                                &run->norms);
}

/* Multiply doubles by a power of two. */
static void shift(double *values, int64_t count, int exponent)
{
    for (int64_t i = 0; i < count; ++i) values[i] = ldexp(values[i], exponent);
}

/* Return the exponent of the largest number; if all are zero, one below that of any number. */
static int exponent_of(const double *values, int64_t count)
{
    double largest = 0.0;
    int exponent = 0;
    for (int64_t i = 0; i < count; ++i)
        if (fabs(values[i]) > largest) largest = fabs(values[i]);
    (void)frexp(largest, &exponent);
    return largest > 0.0 ? exponent : -2000;
}

/* Squares of doubles near the ends of their range overflow or underflow. So scale A, b and a copy of x to about one, by
 * powers of two, and scale the norm of the residual back. */
static ks_status find_norms_of_extremes(ks_solve *run, const ks_blocktri_plan *plan)
{
    const ks_system *system = run->system;
    const ks_system_array *arrays = system->arrays;
    const int64_t n = system->n, blocks = n * n, rows = system->N * n * system->nrhs;
    double *x = malloc((size_t)rows * sizeof *x);
    if (!x) return KS_ENOMEM;
    for (int64_t i = 0; i < rows; ++i) x[i] = ((const double *)run->x)[i];
    /* Only the diagonals of D are certainly finite. They bound all of A. */
    int of_A = -2000;
    for (int64_t k = 0; k < system->N * n; ++k) {
        const int64_t at = k / n * blocks + k % n * (n + 1);
        const int exponent = exponent_of((const double *)arrays[KS_SYSTEM_D].data + at, 1);
        if (exponent > of_A) of_A = exponent;
    }
    /* If the solution underflowed to zero, the residual is b, which then decides the scale. */
    const int own = exponent_of(x, rows), of_b = exponent_of(arrays[KS_SYSTEM_B].data, rows);
    const int of_x = own > of_b - of_A ? own : of_b - of_A;
    shift(x, rows, -of_x);
    shift(arrays[KS_SYSTEM_D].data, system->N * blocks, -of_A);
    if (system->N > 1) shift(arrays[KS_SYSTEM_L].data, (system->N - 1) * blocks, -of_A);
    shift(arrays[KS_SYSTEM_B].data, rows, -of_A - of_x);
    const ks_status status = find_norms(run, plan, x);
    free(x);
    ks_blocktri_norms *norms = &run->norms;
    run->relative_residual = ks_relative_residual(norms);
    run->backward_error = ks_backward_error(norms);
    norms->residual = ldexp(norms->residual, of_A + of_x);
    return status;
}

/* Return the first right-hand side whose solution single precision has made zero or left few digits, or -1: norms over
 * all of them do not show it. */
static int find_vanished(const ks_solve *run)
{
    const int64_t rows = run->system->N * run->system->n, sides = run->system->nrhs;
    const float *x = run->x, *b = run->system->arrays[KS_SYSTEM_B].data;
    for (int64_t side = 0; side < sides; ++side) {
        float largest = 0, given = 0;
        for (int64_t i = side; i < rows * sides; i += sides) {
            largest = fmaxf(largest, fabsf(x[i]));
            given = fmaxf(given, fabsf(b[i]));
        }
        if (given > 0 && largest < KS_LEAST_OF_SIDE) return (int)side;
    }
    return -1;
}

/* Compute the norms of the system in memory. */
ks_exit ks_cholesky_judge(ks_solve *run, const ks_blocktri_plan *plan, ks_failure *failure)
{
    const int64_t stride = (int64_t)run->system->n * run->system->nrhs;
    const int64_t bad = ks_find_not_finite(run->data_precision, run->x, run->system->N * stride);
    ks_blocktri_options options = KS_BLOCKTRI_OPTIONS_INIT;
    ks_blocktri_plan *own = NULL;
    ks_status status = KS_OK;
    if (bad >= 0)
        return ks_fail(failure, KS_EXIT_NUMERICAL, "%s: the solution overflows at block %lld",
                       run->system->name, (long long)(bad / stride));
    const double condition = ks_scaled_condition(run);
    options.precision = run->data_precision;
    if (!plan)
        status = ks_blocktri_plan_create(&own, run->context, run->system->N, run->system->n,
                                         &options);
    if (!plan) plan = own;
    if (status == KS_OK) status = find_norms(run, plan, run->x);
    const double size = run->norms.matrix * run->norms.solution + run->norms.right_hand_side;
    run->relative_residual = ks_relative_residual(&run->norms);
    run->backward_error = ks_backward_error(&run->norms);
    if (status == KS_OK && run->data_precision == KS_F64 &&
        (!isfinite(size) || !isfinite(run->norms.residual) || !(size > 1e-140)))
        status = find_norms_of_extremes(run, plan);
    ks_blocktri_plan_destroy(own);
    if (status != KS_OK)
        return ks_fail(failure, KS_EXIT_RESOURCES, "%s: cannot judge the solution: %s",
                       run->system->name, ks_strerror(status));
    const int vanished = run->data_precision == KS_F32 ? find_vanished(run) : -1;
    if (vanished >= 0)
        return ks_fail(failure, KS_EXIT_NUMERICAL, "%s: the solution for right-hand side %d is too small for f32; use "
                       "--precision f64, or multiply b by a power of ten", run->system->name, vanished);
    if (run->backward_error <= most_backward_error(run->data_precision)) {
        ks_note_scaled_condition(run, condition);
        return KS_EXIT_DONE;
    }
    return ks_fail(failure, KS_EXIT_NUMERICAL,
                   "%s: the solution has a backward error of %.3g: its numbers are too near the ends of what %s "
                   "holds; multiply A or b by a power of ten%s", run->system->name, run->backward_error,
                   run->data_precision == KS_F32 ? "f32" : "f64",
                   run->data_precision == KS_F32 ? ", or use --precision f64" : "");
}

ks_exit ks_cholesky_keep_logdet(ks_solve *run, ks_failure *failure)
{
    run->has_logdet = isfinite(run->logdet);
    if (run->has_logdet) return KS_EXIT_DONE;
    return ks_fail(failure, KS_EXIT_NUMERICAL, "%s: the log-determinant is not finite",
                   run->system->name);
}

static ks_exit find_logdet(ks_solve *run, ks_failure *failure)
{
    const cholesky *c = run->state;
    const ks_blocktri_factor factor = factor_of(run);
    const ks_status status =
        run->settings->refine
            ? ks_blocktri_refine_logdet(c->plan, &factor, c->scale, &run->logdet)
            : ks_blocktri_logdet(c->plan, &factor, &run->logdet);
    if (status != KS_OK) run->logdet = (double)NAN;
    return ks_cholesky_keep_logdet(run, failure);
}

/* Convert the blocks of S (S A S)^-1 S from single precision to double. Both share memory, so go from the last number
 * to the first. `left` scales the rows, `right` the columns. */
static void widen(int64_t blocks, int64_t n, const double *left, const double *right, void *data)
{
    const float *from = data;
    double *to = data;
    for (int64_t at = blocks * n * n - 1; at >= 0; --at) {
        const int64_t block = at / (n * n), i = at / n % n, j = at % n;
        to[at] = (double)from[at] * left[block * n + i] * right[block * n + j];
    }
}

ks_exit ks_cholesky_keep_inverse(ks_solve *run, ks_failure *failure)
{
    const int64_t N = run->system->N, block = (int64_t)run->system->n * run->system->n;
    run->S_diag = run->system->arrays[KS_SYSTEM_D].data;
    run->S_lag = run->system->arrays[KS_SYSTEM_L].data;
    int64_t bad = ks_find_not_finite(run->data_precision, run->S_diag, N * block);
    if (bad < 0 && N > 1) bad = ks_find_not_finite(run->data_precision, run->S_lag, (N - 1) * block);
    if (bad < 0) return KS_EXIT_DONE;
    return ks_fail(failure, KS_EXIT_NUMERICAL, "%s: the inverse overflows at block %lld",
                   run->system->name, (long long)(bad / block));
}

static ks_exit invert(ks_solve *run, ks_failure *failure)
{
    const cholesky *c = run->state;
    const double start = ks_seconds();
    const int64_t N = run->system->N, n = run->system->n;
    const ks_blocktri_factor factor = factor_of(run);
    const ks_blocks diagonal = {run->system->arrays[KS_SYSTEM_D].data, n * n};
    const ks_blocks lag = {run->system->arrays[KS_SYSTEM_L].data, n * n};
    const ks_status status = ks_blocktri_inverse_blocks(c->plan, &factor, diagonal, lag, c->work);
    if (status != KS_OK)
        return ks_fail(failure, KS_EXIT_NUMERICAL, "%s: cannot invert: %s", run->system->name,
                       ks_strerror(status));
    if (run->settings->refine) {
        widen(N, n, c->scale, c->scale, diagonal.data);
        if (N > 1) widen(N - 1, n, c->scale + n, c->scale, lag.data);
    }
    run->inverse_seconds = ks_seconds() - start;
    return ks_cholesky_keep_inverse(run, failure);
}

ks_exit ks_cholesky_run(ks_solve *run, ks_failure *failure)
{
    const cholesky *c = run->state;
    if (allocate(run, failure) || factorize(run, failure) || solve(run, failure) ||
        ks_cholesky_judge(run, run->settings->refine ? NULL : c->plan, failure) || find_logdet(run, failure))
        return failure->code;
    return run->settings->inverse_blocks ? invert(run, failure) : KS_EXIT_DONE;
}

void ks_cholesky_release(ks_solve *run)
{
    cholesky *c = run->state;
    if (!c) return;
    ks_blocktri_plan_destroy(c->plan);
    free(c->D);
    free(c->L);
    free(c->fill);
    free(c->scale);
    free(c->work);
    free(c);
    run->state = NULL;
}
