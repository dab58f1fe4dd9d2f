/* kalscan/blocktri_refine.h -- block-tridiagonal systems solved to double accuracy with a factor in single precision,
 * by iterative refinement. The factor takes half the memory, and making it half the time.
 *
 * The matrix is given in double and not changed. What is factored is S A S, in single precision. S is a diagonal matrix
 * of powers of two that brings the diagonal of A to between 1/2 and 2. So rows of very different units cost no accuracy
 * and do not overflow. Refinement converges if the condition number of S A S is below about 1e7. Its last residual, in
 * double, says whether it did. It is the residual of S A S and S^-1 x, in which all rows count.
 *
 * Calls, in this order:
 *
 *     ks_blocktri_plan_create()               plans a size and an order, with KS_F32
 *     ks_blocktri_refine_workspace_bytes()    size of the workspace, which the caller allocates
 *     ks_blocktri_refine_factorize()          scales and factors a matrix
 *     ks_blocktri_refine_solve(), ks_blocktri_refine_logdet()
 *     ks_blocktri_plan_destroy()
 *
 * Example: solve one system; `factor` has float memory, `scale` N n doubles.
 *
 *     ks_status solve(const ks_blocktri_plan *plan, const ks_blocktri_matrix *matrix,
 *                     const ks_blocktri_factor *factor, double *scale, ks_const_blocks b, ks_blocks x)
 *     {
 *         ks_blocktri_refine_report report;
 *         const size_t bytes = ks_blocktri_refine_workspace_bytes(plan, 1);
 *         void *work = bytes ? aligned_alloc(64, bytes) : NULL;
 *         ks_status status = work ? ks_blocktri_refine_factorize(plan, matrix, factor, scale, work, NULL) : KS_ENOMEM;
 *         if (status == KS_OK)
 *             status = ks_blocktri_refine_solve(plan, matrix, factor, scale, 1, b, x, NULL, work, &report);
 *         if (status == KS_OK && report.residual > 1e-14) status = KS_ENOTCONVERGED;
 *         free(work);
 *         return status;
 *     }
 *
 * Blocks, strides, threads and determinism are as in <kalscan/blocktri.h>. */
#ifndef KALSCAN_BLOCKTRI_REFINE_H
#define KALSCAN_BLOCKTRI_REFINE_H

#include "kalscan/blocktri.h"

KS_BEGIN_DECLS

/** Return the bytes of workspace of the calls below with at most nrhs >= 1 right-hand sides: a multiple of 64. The
 *  caller aligns it to 64. SIZE_MAX if the number overflows. 0 if plan is NULL or not in single precision, or nrhs is
 *  below 1. */
KS_API size_t ks_blocktri_refine_workspace_bytes(const ks_blocktri_plan *plan, int nrhs);

/** Factor S A S in single precision. `matrix` holds doubles, `factor` floats; they do not overlap. `scale` receives the
 *  diagonal of S, N n numbers. info may be NULL. On failure the factor is of no use.
 *
 *  Errors:
 *  - KS_EINVAL: an argument is NULL or misaligned, a stride is not valid, or the plan is not in single precision.
 *  - KS_ENOTPD: a block, which info names, is not finite or not positive definite in single precision. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_refine_factorize(const ks_blocktri_plan *plan,
                                                            const ks_blocktri_matrix *matrix,
                                                            const ks_blocktri_factor *factor,
                                                            double *scale, void *work,
                                                            ks_blocktri_info *info);

/** When a refinement stops. Start from KS_BLOCKTRI_REFINE_INIT: round-off of double, or 30 corrections. */
typedef struct ks_blocktri_refine_limits {
    size_t size;      /**< sizeof(ks_blocktri_refine_limits) */
    double tolerance; /**< sufficient ks_blocktri_refine_report.residual, at least 0 */
    int steps;        /**< most corrections, at least 0 */
} ks_blocktri_refine_limits;
#define KS_BLOCKTRI_REFINE_INIT { sizeof(ks_blocktri_refine_limits), 2.220446049250313e-16, 30 }

/** Outcome of a refinement. The residual is the largest, over the right-hand sides, of ||A x - b|| / (||A||_F ||x|| +
 *  ||b||), with S A S, S^-1 x and S b in place of A, x and b. */
typedef struct ks_blocktri_refine_report {
    int steps;        /**< corrections of the first solution that were kept */
    double residual;  /**< relative residual of the solution */
} ks_blocktri_refine_report;

/** Solve A x = b in double for nrhs >= 1 right-hand sides. b and x have N blocks of (n, nrhs) and do not overlap.
 *  `matrix`, `factor` and `scale` are those of ks_blocktri_refine_factorize(). limits NULL means
 *  KS_BLOCKTRI_REFINE_INIT; report may be NULL.
 *
 *  Refinement stops at the tolerance, after the most corrections, or if a correction does not halve the residual. A
 *  correction that increases the residual is undone. KS_OK says that x is finite; report->residual says how accurate it
 *  is.
 *
 *  Errors:
 *  - KS_EINVAL: an argument is NULL or misaligned, nrhs is below 1, a stride or a limit is not valid, the plan is not
 *    in single precision, or x is b.
 *  - KS_ENONFINITE: x or the residual is not finite. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_refine_solve(
    const ks_blocktri_plan *plan, const ks_blocktri_matrix *matrix,
    const ks_blocktri_factor *factor, const double *scale, int nrhs, ks_const_blocks b,
    ks_blocks x, const ks_blocktri_refine_limits *limits, void *work,
    ks_blocktri_refine_report *report);

/** Set *logdet to log det A, with the accuracy of single precision.
 *
 *  Errors:
 *  - KS_EINVAL: an argument is NULL, a stride is not valid, or the plan is not in single precision. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_refine_logdet(const ks_blocktri_plan *plan,
                                                         const ks_blocktri_factor *factor,
                                                         const double *scale, double *logdet);

KS_END_DECLS
#endif
