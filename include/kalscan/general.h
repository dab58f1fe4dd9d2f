/* kalscan/general.h -- general (non-symmetric) block-tridiagonal systems.
 *
 *         | D[0]  U[0]              |
 *     A = | L[0]  D[1]  U[1]        |     N diagonal blocks D[i] = A[i, i], N - 1 blocks
 *         |       L[1]  D[2]  ..    |     L[i] = A[i + 1, i] below and U[i] = A[i, i + 1] above,
 *         |             ..    ..    |     all (n, n); N >= 1 and n >= 1 of any size
 *
 * For systems whose diagonal blocks are cheap to solve, above all tridiagonal ones, and whose
 * other blocks are sparse: block iterations that solve each diagonal block directly, Krylov methods
 * preconditioned by the same solves, and direct elimination of blocks. "HBISA" is the hybrid blocked
 * iterative solving algorithm of Yang, Li & Li, "A parallel solving method for block-tridiagonal
 * equations on CPU-GPU heterogeneous computing systems", J. Supercomputing 73(5), 2017.
 *
 *     ks_general_source source = KS_GENERAL_SOURCE_INIT;
 *     source.D = (ks_const_blocks){ D, n * n };       ... L, U
 *     ks_general_pack(&packed, context, N, n, &source);
 *     const ks_general_matrix *matrix = ks_general_packed_matrix(packed);
 *     ks_general_plan_create(&plan, context, N, n, matrix, &options);
 *     void *factor = aligned_alloc(64, ks_general_factor_bytes(plan));
 *     void *work = aligned_alloc(64, ks_general_workspace_bytes(plan));
 *     ks_general_factorize(plan, matrix, factor, work, &report);
 *     ks_general_solve(plan, matrix, factor, 1, b, x, work, &report);
 *
 * Threads: a plan is immutable; any number of threads may use one plan, each with a workspace of
 * its own, and one factor may be read by many. No call but pack and plan_create allocates, none
 * keeps a pointer. For one method, option set, binary and instruction-set tier the results are
 * the same bits for any number of threads. Dense blocks are factored by OpenBLAS, which the
 * caller should set to one thread.
 *
 * Numbers are double: there is no single precision here, unlike in <kalscan/blocktri.h>. */
#ifndef KALSCAN_GENERAL_H
#define KALSCAN_GENERAL_H

#include <stddef.h>
#include <stdint.h>
#include "kalscan/backend.h"
#include "kalscan/blocktri.h"
#include "kalscan/context.h"
#include "kalscan/export.h"
#include "kalscan/number.h"
#include "kalscan/status.h"

KS_BEGIN_DECLS

/** How a system is solved. */
typedef enum ks_general_method {
    KS_GENERAL_AUTO = 0,         /**< by sizes, formats and a few steps of what may be fastest    */
    KS_BLOCK_JACOBI = 1,         /**< HBISA eq. 6; blocks at once                                */
    KS_BLOCK_GAUSS_SEIDEL = 2,   /**< HBISA eq. 7; one block after the other, and up to 16       */
                                 /**< sweeps on as many threads, each two blocks behind          */
    KS_RED_BLACK = 3,            /**< Gauss-Seidel over even blocks at once, then odd ones: the  */
                                 /**< convergence of eq. 7 with the parallelism of eq. 6         */
    KS_BICGSTAB = 4,             /**< van der Vorst's; right-preconditioned by the blocks D      */
    KS_GMRES = 5,                /**< restarted; right-preconditioned by the blocks D            */
    KS_CG = 6,                   /**< conjugate gradients, preconditioned by the blocks D;       */
                                 /**< symmetric positive definite systems                        */
    KS_BLOCK_LU = 7,             /**< direct: first to last block, pivots within blocks; on one  */
                                 /**< thread, products for its residual on all                   */
    KS_BLOCK_CYCLIC_REDUCTION = 8, /**< direct: every other block, then every other of those left */
    KS_LOW_RANK_LU = 9           /**< direct: block LU whose Schur complements are diagonal      */
                                 /**< blocks with corrections of low rank (Woodbury); for U or L */
                                 /**< with entries in few columns                                */
} ks_general_method;
#define KS_GENERAL_METHODS 10

/** The name as the command line spells it, "block-jacobi"; NULL for an unknown value. */
KS_API const char *ks_general_method_name(ks_general_method method);

/** How tridiagonal (DIA) diagonal blocks are solved by the iterative methods. Dense ones are
 *  always factored with partial pivoting. */
typedef enum ks_block_solver {
    KS_BLOCK_SOLVER_AUTO = 0,            /**< each block: Thomas where elimination without      */
                                         /**< interchanges is stable, pivoted LU elsewhere      */
    KS_BLOCK_SOLVER_THOMAS = 1,          /**< elimination without interchanges                  */
    KS_BLOCK_SOLVER_LU = 2,              /**< with partial pivoting                             */
    KS_BLOCK_SOLVER_CYCLIC_REDUCTION = 3, /**< 2 log2 n rounds of independent rows               */
    KS_BLOCK_SOLVER_PARALLEL_CYCLIC_REDUCTION = 4 /**< log2 n rounds of n independent rows      */
} ks_block_solver;
#define KS_BLOCK_SOLVERS 5

/** "thomas" and so on; NULL for an unknown value. */
KS_API const char *ks_block_solver_name(ks_block_solver solver);

/** How one block is stored (HBISA Sec. 4.1, 4.3). */
typedef enum ks_block_format {
    KS_BLOCK_DENSE = 0, /**< values (n, n), row-major                                            */
    KS_BLOCK_DIA = 1,   /**< tridiagonal; values (3, n): values[r] = A[r, r - 1],                */
                        /**< values[n + r] = A[r, r], values[2 n + r] = A[r, r + 1]; values[0]   */
                        /**< and values[3 n - 1] are not read                                    */
    KS_BLOCK_COO = 2,   /**< values, rows, cols (count); each (row, col) may occur once          */
    KS_BLOCK_CSR = 3    /**< values, cols (count), rows (n + 1): where each row starts           */
} ks_block_format;

/** One block, borrowed from the caller. */
typedef struct ks_general_block {
    ks_block_format format;
    int32_t count;        /**< COO, CSR: entries; otherwise not read */
    const double *values;
    const int32_t *rows;  /**< COO, CSR                              */
    const int32_t *cols;  /**< COO, CSR                              */
} ks_general_block;

/** A matrix: arrays of blocks. L and U may be NULL where N = 1. */
typedef struct ks_general_matrix {
    const ks_general_block *D; /**< N, dense or DIA              */
    const ks_general_block *L; /**< N - 1, dense, COO or CSR     */
    const ks_general_block *U; /**< N - 1, dense, COO or CSR     */
} ks_general_matrix;

/** Write a block as a dense (n, n), row-major. The block must be valid. */
KS_API void ks_general_block_unpack(int n, const ks_general_block *block, double *dense);

/** Entries of N - 1 off-diagonal blocks as triples: value[e] at (row[e], col[e]) of block[e], in
 *  any order; entries at one place add up. */
typedef struct ks_general_triples {
    int64_t count;
    const int64_t *block, *row, *col;
    const double *value;
} ks_general_triples;

/** What to pack. D: either dense blocks or DIA. L and U: either dense blocks, or triples where `data` is
 *  NULL; with neither, data NULL and a count of 0, zero. Both are KS_EINVAL. symmetric: U and U_triples are not read,
 *  U[i] = L[i]', and of D the lower triangles are read. */
typedef struct ks_general_source {
    size_t size;           /**< sizeof(ks_general_source)                    */
    ks_const_blocks D;     /**< N dense blocks, or data NULL and D_dia       */
    const double *D_dia;   /**< (N, 3, n), each as KS_BLOCK_DIA               */
    ks_const_blocks L, U;  /**< N - 1 dense blocks                           */
    ks_general_triples L_triples, U_triples;
    int symmetric;
} ks_general_source;
#define KS_GENERAL_SOURCE_INIT                                                                \
    { sizeof(ks_general_source), { NULL, 0 }, NULL, { NULL, 0 }, { NULL, 0 },                 \
      { 0, NULL, NULL, NULL, NULL }, { 0, NULL, NULL, NULL, NULL }, 0 }

/** A matrix with storage of its own. */
typedef struct ks_general_packed ks_general_packed;

/** Store a matrix compactly: diagonal blocks as DIA where they are tridiagonal, otherwise dense;
 *  other blocks as dense, COO or CSR, whichever takes the fewest bytes for their non-zeros. On
 *  success *out is the caller's: free it with ks_general_packed_destroy().
 *  Errors: KS_EINVAL (also a triple that lies outside of its block, and a stride that is less than a block and not 0),
 *  KS_ENOMEM. */
KS_API KS_MUST_CHECK ks_status ks_general_pack(ks_general_packed **out, ks_context *context,
                                               int64_t N, int n, const ks_general_source *source);

/** Its blocks; they live as long as the packed matrix. NULL if packed is NULL. */
KS_API const ks_general_matrix *ks_general_packed_matrix(const ks_general_packed *packed);

/** Bytes of all its blocks: numbers and indices. 0 if packed is NULL. */
KS_API size_t ks_general_packed_bytes(const ks_general_packed *packed);

/** Free a packed matrix. NULL is allowed. */
KS_API void ks_general_packed_destroy(ks_general_packed *packed);

/** When an iteration ends. */
typedef enum ks_general_stop {
    KS_STOP_RESIDUAL = 0, /**< true relative residual |b - A x| / |b| (Euclidean) <= tolerance,   */
                          /**< computed from x, never updated along                              */
    KS_STOP_CHANGE = 1    /**< HBISA Algorithm 1: the largest change of an entry of x in one     */
                          /**< iteration <= tolerance; stationary methods only. It says little   */
                          /**< about the error where convergence is slow                         */
} ks_general_stop;

/** Relaxation that the iteration estimates from its own progress. */
#define KS_RELAXATION_ESTIMATE 0.0

/** What to plan for. Start from KS_GENERAL_OPTIONS_INIT, then set what differs. */
typedef struct ks_general_options {
    size_t size;              /**< sizeof(ks_general_options)                                   */
    ks_general_method method;
    ks_block_solver block_solver;
    ks_tier tier;
    int threads;              /**< at most so many workers of the context; 0: all of them       */
    ks_general_stop stop;
    double tolerance;         /**< positive; 1e-10                                              */
    int64_t max_iterations;   /**< at least 1; 10000                                            */
    double relaxation;        /**< stationary methods: x + relaxation (step - x), in (0, 2); 1:  */
                              /**< none; KS_RELAXATION_ESTIMATE: successive over-relaxation with */
                              /**< an estimated parameter (block-jacobi: none, since no value    */
                              /**< beats 1 where the spectrum is symmetric about 0)             */
    int restart;              /**< GMRES: dimension of a cycle, 1 to 10000; 30                  */
    int any_matrix;           /**< non-zero: CG runs on a matrix that is not symmetric, for     */
                              /**< comparisons; nothing promises that it converges              */
    ks_const_blocks sample;   /**< `auto`: a right-hand side like those to come, N blocks        */
                              /**< (n, columns), of which it tries iterations on the first       */
                              /**< column; data NULL: on numbers that look random. Borrowed by   */
                              /**< ks_general_plan_create() alone                                */
    int columns;              /**< `auto`: right-hand sides that a factor will serve; at least 1 */
    ks_backend backend;       /**< a device runs block-jacobi and red-black without relaxation, */
                              /**< tridiagonal diagonal blocks solved by parallel cyclic         */
                              /**< reduction. KS_BACKEND_CUDA: `auto` is red-black there.        */
                              /**< KS_BACKEND_AUTO: the CPU where there is no device or one of   */
                              /**< these does not hold, or the method is `auto`. A device looks  */
                              /**< at convergence after groups of sweeps: report.iterations     */
                              /**< counts those that were done, never above max_iterations      */
    int device;               /**< number of the device, from 0                                 */
} ks_general_options;
#define KS_GENERAL_OPTIONS_INIT                                                               \
    { sizeof(ks_general_options), KS_GENERAL_AUTO, KS_BLOCK_SOLVER_AUTO, KS_TIER_AUTO, 0,     \
      KS_STOP_RESIDUAL, 1e-10, 10000, 1.0, 30, 0, { NULL, 0 }, 1, KS_BACKEND_CPU, 0 }

/** Why an iteration ended. */
typedef enum ks_general_end {
    KS_END_NONE = 0,           /**< nothing ran, or a direct method did                         */
    KS_END_CONVERGED = 1,
    KS_END_MAX_ITERATIONS = 2,
    KS_END_DIVERGED = 3,       /**< the residual grew beyond bounds or is not finite            */
    KS_END_STAGNATED = 4,      /**< the residual has ceased to fall                             */
    KS_END_BREAKDOWN = 5       /**< a Krylov method divides by zero, or CG met a direction of   */
                               /**< no positive curvature                                       */
} ks_general_end;

/** "converged", "reached the most iterations", ...; NULL for an unknown value. */
KS_API const char *ks_general_end_name(ks_general_end end);

/** What happened. Start from KS_GENERAL_REPORT_INIT. Of several right-hand sides the worst. */
typedef struct ks_general_report {
    size_t size;              /**< sizeof(ks_general_report)                                    */
    ks_status status;         /**< what the call returned                                       */
    ks_general_end end;
    int64_t iterations;       /**< sweeps, or steps of the Krylov method; BiCGSTAB: steps of two */
                              /**< products each; direct methods: steps of refinement           */
    double relative_residual; /**< |b - A x| / |b| of the last iterate, from x itself; this and */
                              /**< backward_error are NaN or Inf where the residual is          */
    double residual;          /**< |b - A x|                                                    */
    double backward_error;    /**< |b - A x| / (|A| |x| + |b|), |A| Frobenius                   */
    double change;            /**< largest change in the last sweep, stationary methods; else 0 */
    double spectral_radius;   /**< estimate of that of D^-1 (L + U): Lemma 1, block Jacobi and  */
                              /**< Gauss-Seidel converge exactly when it is below 1; -1 where   */
                              /**< the method made none, or over-relaxed as it was told to      */
    double relaxation;        /**< in force at the end                                          */
    int64_t block;            /**< KS_ESINGULAR: the block whose elimination failed, else -1    */
    int pivot;                /**< and its row, else -1                                         */
    int column;               /**< the right-hand side that this is told of: the one that       */
                              /**< failed, or the worst; -1 where none was solved for           */
} ks_general_report;
#define KS_GENERAL_REPORT_INIT                                                                \
    { sizeof(ks_general_report), KS_OK, KS_END_NONE, 0, -1.0, -1.0, -1.0, 0.0, -1.0, 1.0, -1, -1, -1 }

typedef struct ks_general_plan ks_general_plan;

/** Plan for a matrix: its formats are planned for, its numbers may change later; `auto` chooses by
 *  its numbers too. options NULL means KS_GENERAL_OPTIONS_INIT, context NULL the C library's
 *  allocator and one thread. The context must outlive the plan; the matrix need not. On success
 *  *out is the caller's: free it with ks_general_plan_destroy(); on failure *out is NULL.
 *  Errors: KS_EINVAL (also indices of a block that are out of range or, in CSR, not ascending
 *  row by row), KS_ENOMEM, KS_EUNAVAILABLE (a tier that the processor lacks, a device that the library
 *  has no code for); of KS_BACKEND_CUDA KS_EREFUSED (it does not run on a device, see there),
 *  KS_ENODEV, KS_EDEVICE. */
KS_API KS_MUST_CHECK ks_status ks_general_plan_create(ks_general_plan **out, ks_context *context,
                                                      int64_t N, int n,
                                                      const ks_general_matrix *matrix,
                                                      const ks_general_options *options);

/** Which of its arguments, or of the options, is KS_EINVAL to ks_general_plan_create(): the name of the first of them,
 *  "matrix" or "tolerance", in static storage; NULL if none is. */
KS_API const char *ks_general_plan_invalid(int64_t N, int n, const ks_general_matrix *matrix,
                                           const ks_general_options *options);

/** Free a plan. NULL is allowed. */
KS_API void ks_general_plan_destroy(ks_general_plan *plan);

/** The method that the plan follows: KS_GENERAL_AUTO only if plan is NULL. */
KS_API ks_general_method ks_general_plan_method(const ks_general_plan *plan);

/** Where the plan runs: never KS_BACKEND_AUTO; KS_BACKEND_CPU if plan is NULL. */
KS_API ks_backend ks_general_plan_backend(const ks_general_plan *plan);

/** Workers that the plan takes, the caller included: never more than the context has; 1 on a device, and
 *  if plan is NULL. */
KS_API int ks_general_plan_threads(const ks_general_plan *plan);

/** The relaxation that the plan starts with; KS_RELAXATION_ESTIMATE may be `auto`'s choice. 1 if plan is
 *  NULL. */
KS_API double ks_general_plan_relaxation(const ks_general_plan *plan);

/** Bytes that a factor takes, a multiple of 64 and aligned to it. 0 if plan is NULL. */
KS_API size_t ks_general_factor_bytes(const ks_general_plan *plan);

/** Bytes of workspace, a multiple of 64 and aligned to it. Every plan takes some: neither `work` nor `factor` is ever
 *  NULL. 0 if plan is NULL. */
KS_API size_t ks_general_workspace_bytes(const ks_general_plan *plan);

/** Bytes that one iteration must read and write at the least: matrix, factors and vectors, once
 *  for each product and each solve of the diagonal blocks; 0 for direct methods, and if plan or matrix is
 *  NULL. */
KS_API size_t ks_general_iteration_bytes(const ks_general_plan *plan,
                                         const ks_general_matrix *matrix);

/** Factor the diagonal blocks, or the whole matrix for the direct methods. The matrix has the
 *  formats and, in COO and CSR, the counts and indices that were planned for. report may be NULL.
 *  Errors: KS_EINVAL (also another format or count, here and below, and an array of a block that is not there; indices
 *  are not looked at again), KS_ESINGULAR (the block, and for direct methods the Schur complement in its
 *  place, has a zero pivot or numbers that are not finite; named in the report), KS_EREFUSED (CG
 *  on a matrix that is not symmetric, unless any_matrix). */
KS_API KS_MUST_CHECK ks_status ks_general_factorize(const ks_general_plan *plan,
                                                    const ks_general_matrix *matrix, void *factor,
                                                    void *work, ks_general_report *report);

/** Solve A x = b for nrhs >= 1 right-hand sides: b and x have N blocks (n, nrhs) and do not
 *  overlap. Iterations start from zero. Right-hand sides are solved one after the other, and a column of x is
 *  written when it is solved: nothing of the first that fails and those behind it. report may be NULL. A direct method
 *  refines a solution whose backward error is above 1e-13. On a device, matrix and factor are brought there and
 *  its memory is given back at the end.
 *  Errors: KS_EINVAL, KS_ENOTCONVERGED (report.end says why; of a direct method that its backward error stays above
 *  1e-10: its pivots, which are within blocks, have lost too much), KS_ENONFINITE (a direct method's
 *  solution, or one in the unit of b, is not finite; of every method, NaN or Inf in b: report.end is KS_END_DIVERGED of
 *  an iterative one); on a device KS_ENOMEM, KS_EREFUSED (2^31 rows or entries), KS_EDEVICE. */
KS_API KS_MUST_CHECK ks_status ks_general_solve(const ks_general_plan *plan,
                                                const ks_general_matrix *matrix,
                                                const void *factor, int nrhs, ks_const_blocks b,
                                                ks_blocks x, void *work,
                                                ks_general_report *report);

/** *radius = estimate of the spectral radius of D^-1 (L + U) after `sweeps` >= 4 red-black sweeps,
 *  each of which applies the square of that matrix to half of the blocks. Iterative methods'
 *  plans only. Errors: KS_EINVAL. */
KS_API KS_MUST_CHECK ks_status ks_general_spectral_radius(const ks_general_plan *plan,
                                                          const ks_general_matrix *matrix,
                                                          const void *factor, int sweeps,
                                                          void *work, double *radius);

KS_END_DECLS
#endif
