/* kalscan/blocktri_refine.h -- block-tridiagonal systems solved to double accuracy with a factor in
 * single precision, by iterative refinement: half the memory for the factor and twice the speed of
 * the arithmetic that makes it.
 *
 *     options.precision = KS_F32;
 *     ks_blocktri_plan_create(&plan, context, N, n, &options);
 *     void *work = aligned_alloc(64, ks_blocktri_refine_workspace_bytes(plan, nrhs));
 *     ks_blocktri_refine_factorize(plan, &matrix, &factor, scale, work, &info);
 *     ks_blocktri_refine_solve(plan, &matrix, &factor, scale, nrhs, b, x, &limits, work, &report);
 *
 * The matrix is given in double and stays as it is; the factor is in single precision. What is
 * factored is S A S, where the diagonal matrix S of powers of two brings the diagonal of A to
 * between 1/2 and 2: rows of very different units cost no accuracy and overflow nowhere.
 * Refinement converges where the condition number of S A S is below about 1e7, and the residual at
 * the end, in double, says whether it did: that of S A S times S^-1 x, in which every row has a say.
 *
 * Blocks, strides, threads and determinism are those of <kalscan/blocktri.h>. */
#ifndef KALSCAN_BLOCKTRI_REFINE_H
#define KALSCAN_BLOCKTRI_REFINE_H

#include "kalscan/blocktri.h"

KS_BEGIN_DECLS

/** Bytes of workspace, a multiple of 64 and aligned to it, for the calls below; SIZE_MAX where they overflow,
 *  0 where the plan is not one of single precision. nrhs >= 1: of the solve. */
KS_API size_t ks_blocktri_refine_workspace_bytes(const ks_blocktri_plan *plan, int nrhs);

/** Factor S A S in single precision. matrix holds doubles, factor floats; they do not overlap.
 *  scale: (N n), receives the diagonal of S. info may be NULL.
 *  Errors: KS_EINVAL, KS_ENOTPD (a block, named in info, is not positive definite in single
 *  precision, or not finite). */
KS_API KS_MUST_CHECK ks_status ks_blocktri_refine_factorize(const ks_blocktri_plan *plan,
                                                            const ks_blocktri_matrix *matrix,
                                                            const ks_blocktri_factor *factor,
                                                            double *scale, void *work,
                                                            ks_blocktri_info *info);

/** When to stop. Start from KS_BLOCKTRI_REFINE_INIT. */
typedef struct ks_blocktri_refine_limits {
    size_t size;      /**< sizeof(ks_blocktri_refine_limits)                                    */
    double tolerance; /**< relative residual of every right-hand side that suffices             */
    int steps;        /**< at most so many corrections                                          */
} ks_blocktri_refine_limits;
#define KS_BLOCKTRI_REFINE_INIT { sizeof(ks_blocktri_refine_limits), 2.220446049250313e-16, 30 }

/** How far a refinement came. */
typedef struct ks_blocktri_refine_report {
    int steps;        /**< corrections made after the first solution                            */
    double residual;  /**< the largest ||A x - b|| / (||A||_F ||x|| + ||b||) over the columns,  */
                      /**< of S A S, S^-1 x and S b in the place of A, x and b                  */
} ks_blocktri_refine_report;

/** Solve A x = b in double: b and x have N blocks (n, nrhs) and do not overlap. Stops at the
 *  tolerance, after the most steps, or when a step does not halve the residual; a step that makes
 *  it worse is taken back. KS_OK says that x is finite, report->residual how good it is.
 *  Errors: KS_EINVAL, KS_ENONFINITE. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_refine_solve(
    const ks_blocktri_plan *plan, const ks_blocktri_matrix *matrix,
    const ks_blocktri_factor *factor, const double *scale, int nrhs, ks_const_blocks b,
    ks_blocks x, const ks_blocktri_refine_limits *limits, void *work,
    ks_blocktri_refine_report *report);

/** *logdet = log det A from the factor, with the accuracy of single precision.
 *  Errors: KS_EINVAL. */
KS_API KS_MUST_CHECK ks_status ks_blocktri_refine_logdet(const ks_blocktri_plan *plan,
                                                         const ks_blocktri_factor *factor,
                                                         const double *scale, double *logdet);

KS_END_DECLS
#endif
