/* device.h -- block iterations on a GPU. One persistent kernel (hbisa_rows.cu, hbisa.cu) sweeps until it converges,
 * with matrix and factor in registers or shared memory if they fit. */
#ifndef KS_GENERAL_DEVICE_H
#define KS_GENERAL_DEVICE_H

#include "gpu/gpu.h"
#include "general_plan.h"
#include "hbisa_shape.h"

typedef struct ks_gb_device ks_gb_device;

/** Put a factored matrix on a device. The plan must be block-jacobi or red-black without relaxation, with
 *  KS_BLOCK_SOLVER_PARALLEL_CYCLIC_REDUCTION. Plan, matrix, factor and device must outlive the result.
 *
 *  asked: form, grid and sweeps of the launches, for tests and measurements; NULL: the shape that should be fastest.
 *  Iterates do not depend on it. Their number does, since convergence is checked after whole groups of sweeps.
 *
 *  On success *out is the caller's, otherwise NULL.
 *  Errors: KS_EREFUSED (another plan, a diagonal block that is not tridiagonal, or a shape that does not fit),
 *  KS_ENOMEM, KS_EUNAVAILABLE, KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_gb_device_create(ks_gb_device **out, ks_gpu *gpu,
                                            const ks_general_plan *plan,
                                            const ks_general_matrix *matrix, const void *factor,
                                            const ks_hbisa_shape *asked);

/** Free it. NULL is allowed. */
void ks_gb_device_destroy(ks_gb_device *device);

/** Return the shape of its launches. */
const ks_hbisa_shape *ks_gb_device_shape(const ks_gb_device *device);

/** Solve A x = b, starting from zero; b and x have N n numbers. x is the solution or, without convergence, the last
 *  iterate. Convergence is that of ks_general_solve() for the right-hand side b 2^exponent; the host computes the true
 *  residual. Sets status, end, iterations, change, residual and relative_residual of the report. Not thread-safe.
 *  Errors: KS_ENOTCONVERGED, KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_gb_device_solve(ks_gb_device *device, const double *b, int exponent,
                                           double *x, ks_general_report *report);

#endif
