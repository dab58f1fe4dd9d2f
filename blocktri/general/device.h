/* device.h -- block iterations on a GPU: one persistent kernel (hbisa_rows.cu, hbisa.cu) sweeps until it
 * converges, with matrix and factor in registers or shared memory where they fit. */
#ifndef KS_GENERAL_DEVICE_H
#define KS_GENERAL_DEVICE_H

#include "gpu/gpu.h"
#include "general_plan.h"
#include "hbisa_shape.h"

typedef struct ks_gb_device ks_gb_device;

/** Put a factored matrix on a device. The plan is one of block-jacobi or red-black without
 *  relaxation, with KS_BLOCK_SOLVER_PARALLEL_CYCLIC_REDUCTION; it, matrix, factor and device outlive
 *  the result. asked: the shape of launches, of which form, grid and sweeps are read, for tests and
 *  measurements; NULL: the one that is expected to be the fastest. Iterates do not depend on it, but how many
 *  there are does: convergence is looked at after whole groups of sweeps.
 *  On success *out is the caller's, otherwise NULL.
 *  Errors: KS_EREFUSED (another plan, a diagonal block that is not tridiagonal, or a shape that does not
 *  fit), KS_ENOMEM, KS_EUNAVAILABLE, KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_gb_device_create(ks_gb_device **out, ks_gpu *gpu,
                                            const ks_general_plan *plan,
                                            const ks_general_matrix *matrix, const void *factor,
                                            const ks_hbisa_shape *asked);

/** NULL is allowed. */
void ks_gb_device_destroy(ks_gb_device *device);

/** The shape of its launches. */
const ks_hbisa_shape *ks_gb_device_shape(const ks_gb_device *device);

/** Solve A x = b from zero; both of N n numbers. x is the solution or, where it does not converge, the
 *  last iterate; convergence is that of ks_general_solve() for a right-hand side b 2^exponent, the true
 *  residual computed on the host. Fills of the report status, end,
 *  iterations, change, residual and relative_residual. Not for several threads at once.
 *  Errors: KS_ENOTCONVERGED, KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_gb_device_solve(ks_gb_device *device, const double *b, int exponent,
                                           double *x, ks_general_report *report);

#endif
