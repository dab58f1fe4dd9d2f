/* kalscan/general.h -- general (non-symmetric) block-tridiagonal systems, in double precision.
 *
 *         | D[0]  U[0]              |
 *     A = | L[0]  D[1]  U[1]        |     N diagonal blocks D[i] = A[i, i], N - 1 blocks
 *         |       L[1]  D[2]  ..    |     L[i] = A[i + 1, i] below and U[i] = A[i, i + 1] above,
 *         |             ..    ..    |     all (n, n)
 *
 * For systems whose diagonal blocks are cheap to solve, in particular tridiagonal ones, and whose other blocks are
 * sparse. There are block iterations that solve each diagonal block directly, Krylov methods preconditioned by these
 * solves, and direct elimination of blocks.
 *
 * Calls, in this order:
 *
 *     ks_general_pack()               stores a matrix compactly; or describe the blocks in a ks_general_matrix
 *     ks_general_plan_create()        plans a method for the formats of the matrix
 *     ks_general_factor_bytes(), ks_general_workspace_bytes()
 *                                     sizes of memory, which the caller allocates
 *     ks_general_factorize()          factors the diagonal blocks, or the matrix
 *     ks_general_solve()              solves; any number of times
 *     ks_general_plan_destroy(), ks_general_packed_destroy()
 *
 * Example: solve one system of dense blocks.
 *
 *     ks_status solve(int64_t N, int n, ks_const_blocks D, ks_const_blocks L, ks_const_blocks U,
 *                     const double *b, double *x, ks_general_report *report)
 *     {
 *         ks_general_source source = KS_GENERAL_SOURCE_INIT;
 *         ks_general_packed *packed;
 *         ks_general_plan *plan = NULL;
 *         source.D = D, source.L = L, source.U = U;
 *         ks_status status = ks_general_pack(&packed, NULL, N, n, &source);
 *         const ks_general_matrix *matrix = ks_general_packed_matrix(packed);
 *         if (status == KS_OK) status = ks_general_plan_create(&plan, NULL, N, n, matrix, NULL);
 *         void *factor = plan ? aligned_alloc(64, ks_general_factor_bytes(plan)) : NULL;
 *         void *work = plan ? aligned_alloc(64, ks_general_workspace_bytes(plan)) : NULL;
 *         if (status == KS_OK)
 *             status = factor && work ? ks_general_factorize(plan, matrix, factor, work, report) : KS_ENOMEM;
 *         if (status == KS_OK)
 *             status = ks_general_solve(plan, matrix, factor, 1, (ks_const_blocks){ b, n }, (ks_blocks){ x, n }, work,
 *                                       report);
 *         free(factor);
 *         free(work);
 *         ks_general_plan_destroy(plan);
 *         ks_general_packed_destroy(packed);
 *         return status;
 *     }
 *
 * Threads: a plan is immutable. Any number of threads may use one plan, each with its own workspace, and any number may
 * read one factor. On the CPU only ks_general_pack() and ks_general_plan_create() allocate; no call keeps a pointer to
 * the caller's arrays. For one method, set of options, library binary and instruction-set tier the results are the same
 * bits for any number of threads. Set OpenBLAS to one thread: it factors dense blocks.
 *
 * Source: "HBISA" is the hybrid blocked iterative solving algorithm of Yang, Li & Li, "A parallel solving method for
 * block-tridiagonal equations on CPU-GPU heterogeneous computing systems", J. Supercomputing 73(5), 2017. */
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

/** Methods.
 *
 *  KS_GENERAL_AUTO chooses by sizes, formats and numbers, with a few steps of the methods that may be fastest. What
 *  it chooses may still fail, in ks_general_factorize() or ks_general_solve(), where KS_BANDED_LU does not.
 *  KS_BLOCK_GAUSS_SEIDEL runs up to 16 sweeps at a time, four on each of up to four threads, each two blocks behind
 *  the previous one. KS_RED_BLACK converges like it and is as parallel as KS_BLOCK_JACOBI. KS_BLOCK_LU and
 *  KS_BANDED_LU run on one thread, but for the products of their residuals. KS_LOW_RANK_LU is for L or U with entries
 *  in few columns: its Schur complements are the diagonal blocks with corrections of low rank, which the Woodbury
 *  formula solves. KS_BANDED_LU alone takes its pivots across blocks, so that neither a diagonal block nor its Schur
 *  complement need be regular. It takes 6 n numbers a row where KS_BLOCK_LU takes 2 n, fewer if blocks are sparse,
 *  and fewer than 2^31 rows. */
typedef enum ks_general_method {
    KS_GENERAL_AUTO = 0,         /**< the library chooses */
    KS_BLOCK_JACOBI = 1,         /**< HBISA eq. 6: all blocks at once */
    KS_BLOCK_GAUSS_SEIDEL = 2,   /**< HBISA eq. 7: one block after another */
    KS_RED_BLACK = 3,            /**< Gauss-Seidel over the even blocks at once, then the odd ones */
    KS_BICGSTAB = 4,             /**< van der Vorst's; right-preconditioned by D */
    KS_GMRES = 5,                /**< restarted; right-preconditioned by D */
    KS_CG = 6,                   /**< conjugate gradients preconditioned by D; symmetric positive definite systems */
    KS_BLOCK_LU = 7,             /**< direct: first to last block, pivots within blocks */
    KS_BLOCK_CYCLIC_REDUCTION = 8, /**< direct: every other block, then every other one left */
    KS_LOW_RANK_LU = 9,          /**< direct: block LU with corrections of low rank */
    KS_BANDED_LU = 10            /**< direct: the whole matrix as a band, pivots across blocks */
} ks_general_method;
#define KS_GENERAL_METHODS 11

/** Return the method's name on the command line, such as "block-jacobi". Static storage; NULL for an unknown value. */
KS_API const char *ks_general_method_name(ks_general_method method);

/** How iterative methods solve tridiagonal (DIA) diagonal blocks. Dense blocks are factored with partial pivoting. */
typedef enum ks_block_solver {
    KS_BLOCK_SOLVER_AUTO = 0,            /**< each block: Thomas if that is stable, else pivoted LU */
    KS_BLOCK_SOLVER_THOMAS = 1,          /**< elimination without interchanges */
    KS_BLOCK_SOLVER_LU = 2,              /**< elimination with partial pivoting */
    KS_BLOCK_SOLVER_CYCLIC_REDUCTION = 3, /**< 2 log2(n) rounds of independent rows */
    KS_BLOCK_SOLVER_PARALLEL_CYCLIC_REDUCTION = 4 /**< log2(n) rounds of n independent rows */
} ks_block_solver;
#define KS_BLOCK_SOLVERS 5

/** Return the solver's name on the command line, such as "thomas". Static storage; NULL for an unknown value. */
KS_API const char *ks_block_solver_name(ks_block_solver solver);

/** Storage format of a block. DIA is for diagonal blocks, COO and CSR are for the others.
 *
 *  DIA, a tridiagonal block: values[r] = A[r, r - 1], values[n + r] = A[r, r] and values[2 n + r] = A[r, r + 1].
 *  values[0] and values[3 n - 1] are not read. CSR: row r has the entries rows[r] .. rows[r + 1] - 1, rows[0] = 0 and
 *  rows[n] = count.
 *
 *  Source: HBISA Sec. 4.1, 4.3. */
typedef enum ks_block_format {
    KS_BLOCK_DENSE = 0, /**< values (n, n), row-major */
    KS_BLOCK_DIA = 1,   /**< values (3, n): sub-diagonal, diagonal, super-diagonal */
    KS_BLOCK_COO = 2,   /**< values, rows, cols (count); each (row, col) at most once */
    KS_BLOCK_CSR = 3    /**< values, cols (count), rows (n + 1) */
} ks_block_format;

/** One block. Its arrays are borrowed. */
typedef struct ks_general_block {
    ks_block_format format;
    int32_t count;        /**< COO, CSR: entries; else ignored */
    const double *values; /**< numbers; may be NULL if COO or CSR has no entries */
    const int32_t *rows;  /**< COO: row of each entry, NULL if there is none; CSR: start of each row; else ignored */
    const int32_t *cols;  /**< COO, CSR: column of each entry, NULL if there is none; else ignored */
} ks_general_block;

/** A matrix: arrays of blocks. L and U may be NULL if N = 1. */
typedef struct ks_general_matrix {
    const ks_general_block *D; /**< N blocks, dense or DIA */
    const ks_general_block *L; /**< N - 1 blocks, dense, COO or CSR */
    const ks_general_block *U; /**< N - 1 blocks, dense, COO or CSR */
} ks_general_matrix;

/** Write a block as a dense (n, n), row-major. The block must be valid: nothing is checked. */
KS_API void ks_general_block_unpack(int n, const ks_general_block *block, double *dense);

/** Entries of the N - 1 blocks of L or U: value[e] at (row[e], col[e]) of block[e], in any order. Entries at the same
 *  place are added. */
typedef struct ks_general_triples {
    int64_t count;
    const int64_t *block, *row, *col;
    const double *value;
} ks_general_triples;

/** What to pack. Start from KS_GENERAL_SOURCE_INIT. D is given either as dense blocks or as DIA. L and U are given
 *  either as dense blocks or as triples; without either they are zero. To give both is KS_EINVAL. L and U are ignored
 *  if N = 1.
 *
 *  symmetric non-zero: U[i] = L[i]', U and U_triples are not read, and of D only the lower triangles are read. */
typedef struct ks_general_source {
    size_t size;           /**< sizeof(ks_general_source) */
    ks_const_blocks D;     /**< N dense blocks; data NULL: D_dia */
    const double *D_dia;   /**< (N, 3, n), each block as KS_BLOCK_DIA; NULL: D */
    ks_const_blocks L, U;  /**< N - 1 dense blocks; data NULL: triples */
    ks_general_triples L_triples, U_triples; /**< count 0: none */
    int symmetric;         /**< non-zero: A is symmetric */
} ks_general_source;
#define KS_GENERAL_SOURCE_INIT                                                                \
    { sizeof(ks_general_source), { NULL, 0 }, NULL, { NULL, 0 }, { NULL, 0 },                 \
      { 0, NULL, NULL, NULL, NULL }, { 0, NULL, NULL, NULL, NULL }, 0 }

/** A matrix with storage of its own: opaque. */
typedef struct ks_general_packed ks_general_packed;

/** Store a matrix compactly. Diagonal blocks become DIA if they are tridiagonal, else dense. The others become dense,
 *  COO or CSR, whichever takes the fewest bytes for their non-zero entries.
 *
 *  On success *out is the caller's; free it with ks_general_packed_destroy(). On failure *out is NULL. The packed
 *  matrix keeps `context`, which must outlive it; NULL means the C library's allocator. The source is not needed
 *  afterwards.
 *
 *  Errors:
 *  - KS_EINVAL: out or source is NULL, source->size is wrong, N or n is below 1, D is missing, an array is given twice,
 *    a triple lies outside of its block, or a stride is not valid.
 *  - KS_ENOMEM: out of memory, or a size in bytes overflows. */
KS_API KS_MUST_CHECK ks_status ks_general_pack(ks_general_packed **out, ks_context *context,
                                               int64_t N, int n, const ks_general_source *source);

/** Return the blocks of a packed matrix, which live as long as it does; NULL if packed is NULL. */
KS_API const ks_general_matrix *ks_general_packed_matrix(const ks_general_packed *packed);

/** Return the bytes of all blocks, numbers and indices; 0 if packed is NULL. */
KS_API size_t ks_general_packed_bytes(const ks_general_packed *packed);

/** Free a packed matrix. NULL is allowed. */
KS_API void ks_general_packed_destroy(ks_general_packed *packed);

/** When an iteration has converged. KS_STOP_CHANGE says little about the error if convergence is slow. */
typedef enum ks_general_stop {
    KS_STOP_RESIDUAL = 0, /**< |b - A x| / |b| <= tolerance, Euclidean norms, computed from x itself */
    KS_STOP_CHANGE = 1    /**< largest change of an entry of x <= tolerance, HBISA Alg. 1; stationary methods */
} ks_general_stop;

/** Value of ks_general_options.relaxation: estimated from the progress of the iteration. */
#define KS_RELAXATION_ESTIMATE 0.0

/** Options of a plan. Start from KS_GENERAL_OPTIONS_INIT: KS_GENERAL_AUTO on the CPU, to a relative residual of 1e-10
 *  in at most 10000 iterations, without relaxation, GMRES restarted every 30 steps.
 *
 *  relaxation: stationary methods, which are KS_BLOCK_JACOBI, KS_BLOCK_GAUSS_SEIDEL and KS_RED_BLACK, go from x to x +
 *  relaxation (step - x). With KS_RELAXATION_ESTIMATE they over-relax by an estimated parameter, except
 *  KS_BLOCK_JACOBI, for which 1 is the best if the spectrum is symmetric about 0.
 *
 *  sample: KS_GENERAL_AUTO tries iterations on a right-hand side like those to come: N blocks (n, columns), of which it
 *  takes the first column that is finite and not zero. Without one it takes numbers that look random.
 *  ks_general_plan_create() alone reads it.
 *
 *  backend: a device runs KS_BLOCK_JACOBI and KS_RED_BLACK if all diagonal blocks are DIA, relaxation is 1 and
 *  block_solver is KS_BLOCK_SOLVER_AUTO or KS_BLOCK_SOLVER_PARALLEL_CYCLIC_REDUCTION; it takes the latter. With
 *  KS_BACKEND_CUDA KS_GENERAL_AUTO is KS_RED_BLACK. With KS_BACKEND_AUTO the CPU takes what a device does not run, and
 *  KS_GENERAL_AUTO. A device tests for convergence after groups of sweeps and may do a few more, at most
 *  max_iterations. */
typedef struct ks_general_options {
    size_t size;              /**< sizeof(ks_general_options) */
    ks_general_method method;
    ks_block_solver block_solver;
    ks_tier tier;
    int threads;              /**< most workers of the context to use; 0: all of them */
    ks_general_stop stop;     /**< KS_STOP_CHANGE: for stationary methods and KS_GENERAL_AUTO only */
    double tolerance;         /**< see ks_general_stop; positive and finite */
    int64_t max_iterations;   /**< at least 1 */
    double relaxation;        /**< stationary methods: in (0, 2), 1: none; or KS_RELAXATION_ESTIMATE */
    int restart;              /**< GMRES: steps of a cycle, 1 to 10000 */
    int any_matrix;           /**< non-zero: CG does not refuse a matrix that is not symmetric */
    ks_const_blocks sample;   /**< KS_GENERAL_AUTO: a right-hand side; data NULL: none */
    int columns;              /**< KS_GENERAL_AUTO: right-hand sides that one factor will serve, at least 1 */
    ks_backend backend;
    int device;               /**< number of the device, from 0 */
} ks_general_options;
#define KS_GENERAL_OPTIONS_INIT                                                               \
    { sizeof(ks_general_options), KS_GENERAL_AUTO, KS_BLOCK_SOLVER_AUTO, KS_TIER_AUTO, 0,     \
      KS_STOP_RESIDUAL, 1e-10, 10000, 1.0, 30, 0, { NULL, 0 }, 1, KS_BACKEND_CPU, 0 }

/** How an iteration ended. */
typedef enum ks_general_end {
    KS_END_NONE = 0,           /**< nothing ran, or a direct method did */
    KS_END_CONVERGED = 1,
    KS_END_MAX_ITERATIONS = 2, /**< max_iterations were not enough */
    KS_END_DIVERGED = 3,       /**< the residual has grown beyond bounds or is not finite */
    KS_END_STAGNATED = 4,      /**< the residual has ceased to fall */
    KS_END_BREAKDOWN = 5       /**< a Krylov method would divide by zero, or CG met non-positive curvature */
} ks_general_end;

/** Return the text of an end, such as "converged". Static storage; NULL for an unknown value. */
KS_API const char *ks_general_end_name(ks_general_end end);

/** Outcome of a call. Start from KS_GENERAL_REPORT_INIT. A call fills it on success and on failure, unless its size is
 *  wrong. Of several right-hand sides it tells of the one that failed or, if all were solved, of the one with the
 *  largest relative residual, with the most iterations that one of them took. Norms are Euclidean, and Frobenius for A.
 *
 *  spectral_radius estimates that of D^-1 (L + U). Block Jacobi and Gauss-Seidel converge if and only if it is below 1
 *  (HBISA Lemma 1). It is -1 if no estimate was made: direct methods, Krylov methods that converge, and stationary
 *  methods that converge in few sweeps or with a given relaxation. */
typedef struct ks_general_report {
    size_t size;              /**< sizeof(ks_general_report) */
    ks_status status;         /**< what the call returned */
    ks_general_end end;
    int64_t iterations;       /**< sweeps or Krylov steps; direct methods: steps of refinement */
    double relative_residual; /**< |b - A x| / |b|, computed from x itself; NaN or Inf if the residual is not finite */
    double residual;          /**< |b - A x| */
    double backward_error;    /**< |b - A x| / (|A| |x| + |b|); NaN or Inf if the residual is not finite */
    double change;            /**< stationary methods: largest change in the last sweep; else 0 */
    double spectral_radius;   /**< see above */
    double relaxation;        /**< relaxation at the end */
    int64_t block;            /**< KS_ESINGULAR: the block whose elimination failed, else -1 */
    int pivot;                /**< KS_ESINGULAR: its row, else -1 */
    int column;               /**< the right-hand side that this tells of; -1 if none was solved for */
} ks_general_report;
#define KS_GENERAL_REPORT_INIT                                                                \
    { sizeof(ks_general_report), KS_OK, KS_END_NONE, 0, -1.0, -1.0, -1.0, 0.0, -1.0, 1.0, -1, -1, -1 }

/** A plan: opaque and immutable. */
typedef struct ks_general_plan ks_general_plan;

/** Make a plan for a matrix with N >= 1 blocks of order n >= 1. The plan holds for the formats of the blocks, and for
 *  the counts and indices of COO and CSR. Numbers may change later; KS_GENERAL_AUTO chooses by them.
 *
 *  On success *out is the caller's; free it with ks_general_plan_destroy(). On failure *out is NULL. The plan keeps
 *  `context`, which must outlive it; NULL means the C library's allocator and one thread. The matrix need not outlive
 *  the call. `options` is copied; NULL means KS_GENERAL_OPTIONS_INIT.
 *
 *  Errors:
 *  - KS_EINVAL: out is NULL, or an argument or option is not valid: ks_general_plan_invalid() names it.
 *  - KS_ENOMEM: out of memory, or a size in bytes overflows.
 *  - KS_EUNAVAILABLE: the processor lacks the tier.
 *  - KS_EREFUSED: the method is KS_BANDED_LU, and N n or the numbers of a column of its factor, at most 6 n - 2, are
 *    2^31 or more; or, with KS_BACKEND_CUDA, a device does not run this, see ks_general_options.
 *  - KS_ENODEV, with KS_BACKEND_CUDA: no such device, no driver, or the library is built without the back end.
 *  - KS_EDEVICE, with KS_BACKEND_CUDA: the device failed. */
KS_API KS_MUST_CHECK ks_status ks_general_plan_create(ks_general_plan **out, ks_context *context,
                                                      int64_t N, int n,
                                                      const ks_general_matrix *matrix,
                                                      const ks_general_options *options);

/** Return the name of the first argument or option for which ks_general_plan_create() returns KS_EINVAL, such as
 *  "tolerance"; NULL if all are valid. Static storage. options NULL means KS_GENERAL_OPTIONS_INIT. "matrix" has a block
 *  or an array that is missing, a format that its place does not take, indices that are out of range, or row starts
 *  that do not ascend. */
KS_API const char *ks_general_plan_invalid(int64_t N, int n, const ks_general_matrix *matrix,
                                           const ks_general_options *options);

/** Free a plan. No call with it may be in progress. NULL is allowed. */
KS_API void ks_general_plan_destroy(ks_general_plan *plan);

/** Return the method of the plan; KS_GENERAL_AUTO only if plan is NULL. */
KS_API ks_general_method ks_general_plan_method(const ks_general_plan *plan);

/** Return where the plan runs: never KS_BACKEND_AUTO; KS_BACKEND_CPU if plan is NULL. */
KS_API ks_backend ks_general_plan_backend(const ks_general_plan *plan);

/** Return the number of workers of a call, the caller included, at most those of the context; 1 on a device, and if
 *  plan is NULL. It is 1 for KS_BLOCK_LU and KS_BANDED_LU and at most 4 for KS_BLOCK_GAUSS_SEIDEL, though more compute
 *  their residuals. */
KS_API int ks_general_plan_threads(const ks_general_plan *plan);

/** Return the relaxation that the plan starts with: that of its options, KS_RELAXATION_ESTIMATE included; 1 if plan is
 *  NULL. */
KS_API double ks_general_plan_relaxation(const ks_general_plan *plan);

/** Return the bytes of a factor: a multiple of 64, never 0 for a plan. The caller aligns it to 64. 0 if plan is
 *  NULL. */
KS_API size_t ks_general_factor_bytes(const ks_general_plan *plan);

/** Return the bytes of workspace of a call: a multiple of 64, never 0 for a plan. The caller aligns it to 64. 0 if plan
 *  is NULL. */
KS_API size_t ks_general_workspace_bytes(const ks_general_plan *plan);

/** Return the least number of bytes that one iteration reads and writes: matrix, factor and vectors, once for each
 *  product and each solve of the diagonal blocks. 0 for direct methods, and if plan or matrix is NULL. */
KS_API size_t ks_general_iteration_bytes(const ks_general_plan *plan,
                                         const ks_general_matrix *matrix);

/** Factor the diagonal blocks or, for direct methods, the whole matrix. The matrix has the formats, counts and indices
 *  that were planned for; indices are not checked again. report may be NULL. On failure the factor is of no use.
 *
 *  Errors:
 *  - KS_EINVAL: an argument is NULL or misaligned, report->size is wrong, a format or count is not the planned one, an
 *    array of a block is missing, or L and U have entries in more columns than KS_LOW_RANK_LU was planned for, or
 *    farther from the diagonal than KS_BANDED_LU was.
 *  - KS_ESINGULAR: a diagonal block, its Schur complement in direct methods, or for KS_BANDED_LU the matrix has a zero
 *    pivot or is not finite; the report names it.
 *  - KS_EREFUSED: the method is CG, the matrix is not symmetric, and any_matrix is 0. */
KS_API KS_MUST_CHECK ks_status ks_general_factorize(const ks_general_plan *plan,
                                                    const ks_general_matrix *matrix, void *factor,
                                                    void *work, ks_general_report *report);

/** Solve A x = b for nrhs >= 1 right-hand sides. b and x have N blocks of (n, nrhs) and do not overlap. `matrix` and
 *  `factor` are those of ks_general_factorize(). `work` is undefined afterwards. report may be NULL.
 *
 *  Right-hand sides are solved one after the other. A column of x is written when it is solved; the first that fails
 *  and those after it are not written. Iterations start from zero. A direct method refines a solution whose backward
 *  error is above 1e-13. With a device the matrix and the factor are copied to it, and its memory is freed at the end.
 *
 *  Errors:
 *  - KS_EINVAL: as for ks_general_factorize(); or nrhs is below 1, or a stride is not valid.
 *  - KS_ENOTCONVERGED: an iteration did not converge, see report.end; or the backward error of a direct method stays
 *    above 1e-10, since its pivots lost too many digits.
 *  - KS_ENONFINITE: b contains NaN or Inf; the solution of a direct method is not finite; or a solution overflows in
 *    the units of b. For NaN and Inf in b, report.end of an iterative method is KS_END_DIVERGED.
 *  - KS_ENOMEM, on a device: out of memory on the host or the device.
 *  - KS_EREFUSED, on a device: 2^31 rows or entries or more, or blocks too large for it.
 *  - KS_EUNAVAILABLE, on a device: the library has no code for it.
 *  - KS_EDEVICE: the device failed. */
KS_API KS_MUST_CHECK ks_status ks_general_solve(const ks_general_plan *plan,
                                                const ks_general_matrix *matrix,
                                                const void *factor, int nrhs, ks_const_blocks b,
                                                ks_blocks x, void *work,
                                                ks_general_report *report);

/** Set *radius to an estimate of the spectral radius of D^-1 (L + U), by `sweeps` >= 4 red-black sweeps, each of which
 *  applies the square of that matrix to half of the blocks. For plans of iterative methods.
 *
 *  Errors:
 *  - KS_EINVAL: an argument is NULL or misaligned, the matrix is not the planned one, sweeps is below 4, or the method
 *    of the plan is direct. */
KS_API KS_MUST_CHECK ks_status ks_general_spectral_radius(const ks_general_plan *plan,
                                                          const ks_general_matrix *matrix,
                                                          const void *factor, int sweeps,
                                                          void *work, double *radius);

KS_END_DECLS
#endif
