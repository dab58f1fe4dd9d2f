/* system.h -- random block-tridiagonal systems and their dense counterparts, for the tests. */
#ifndef BLOCKTRI_SYSTEM_H
#define BLOCKTRI_SYSTEM_H

#include <stddef.h>
#include <stdint.h>
#include "kalscan/blocktri.h"

/** A system in the precision `number` says; blocks stand `stride` elements apart. */
typedef struct bt_system {
    int64_t N, stride;
    int n, nrhs;
    int64_t rhs_stride;
    ks_precision precision;
    void *D, *L, *b, *x;   /* x: NaN until a solve writes it; D's upper triangles are NaN */
} bt_system;

/** Random diagonally dominant blocks: A = tridiagonal + shift I; strides exceed blocks by `gap`. */
bt_system bt_system_make(ks_precision precision, int64_t N, int n, int nrhs, int64_t gap,
                         unsigned seed);
void bt_system_free(bt_system *system);

/** A plan with storage for a factor and workspace. */
typedef struct bt_solver {
    ks_context *context;
    ks_blocktri_plan *plan;
    ks_blocktri_factor factor;
    void *D, *L;           /* its own storage, NULL in place */
    void *work, *inverse_work;
} bt_solver;

/** Options of every order: the orders by number, with sizes that make short systems split. */
ks_blocktri_options bt_options(ks_blocktri_order order, ks_precision precision);

/** threads: of the context. in_place: factor over the system's D and L. */
bt_solver bt_solver_make(const bt_system *system, const ks_blocktri_options *options, int threads,
                         int in_place);
void bt_solver_free(bt_solver *solver);
/** The factor of a system, into the solver. */
ks_status bt_factorize(const bt_solver *solver, const bt_system *system, ks_blocktri_info *info);

ks_blocktri_matrix bt_matrix(const bt_system *system);
ks_const_blocks bt_b(const bt_system *system);
ks_const_blocks bt_x_in(const bt_system *system);
ks_blocks bt_x(const bt_system *system);

/** Element `at` of an array of the system's precision. */
double bt_get(const bt_system *system, const void *array, int64_t at);
void bt_put(const bt_system *system, void *array, int64_t at, double value);

/** The dense matrix (N n, N n), row-major, both triangles; the caller frees it. */
double *bt_dense(const bt_system *system);

/** b = A z in a system of doubles, for z between 1/2 and 3/2, which is returned, (N n, nrhs); the caller frees it. */
double *bt_know(const bt_system *system);

/** Units of the rows, powers of two: all 1; 1 and about 1e-2, 1e-4, .. 1e-12 by turns; 1e-150 and 1e150 by turns; from
 *  2^-180 to 2^172. */
enum { BT_UNITS = 9 };

/** x <- U x, A <- U^-1 A U^-1, b <- U^-1 b of doubles, U the units, with sign = -1 their inverses. Exact. */
void bt_change_units(const bt_system *system, int units, int sign);

/** Relative residual of the system's x. */
double bt_backward_error(const bt_solver *solver, const bt_system *system);

#endif
