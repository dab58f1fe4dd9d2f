/* general_plan.h -- what a plan for a general system holds, and what its runs share. */
#ifndef KS_GENERAL_PLAN_H
#define KS_GENERAL_PLAN_H

#include "carve.h"
#include "gpu/gpu.h"
#include "kernels.h"
#include "pool.h"

struct ks_general_plan {
    ks_context *context;
    int64_t N;
    int n;
    int workers;
    ks_general_options options;  /* final values                                                */
    const ks_gb_kernels *kernels;
    int64_t chunk, chunks;       /* blocks that a task takes and partial sums cover             */
    size_t factor_bytes, workspace;
    int64_t numbers;             /* in the factor, before the kinds or pivots                   */
    int rank, reversed;          /* low-rank LU: columns of E, and whether it begins at the end */
    ks_gpu *gpu;                 /* the device that it runs on, or NULL                         */
    int64_t *shapes;             /* of the blocks that were planned for, see ks_gb_shapes()     */
    int64_t offset[];            /* but for dense elimination: N + 1, of the diagonal blocks' factors; the shapes */
};

/** Whether blocks are eliminated as dense ones; all other methods factor the diagonal blocks as they are. */
static inline int ks_gb_dense(ks_general_method method)
{
    return method == KS_BLOCK_LU || method == KS_BLOCK_CYCLIC_REDUCTION;
}

static inline int ks_gb_direct(ks_general_method method)
{
    return ks_gb_dense(method) || method == KS_LOW_RANK_LU;
}

static inline int ks_gb_stationary(ks_general_method method)
{
    return method == KS_BLOCK_JACOBI || method == KS_BLOCK_GAUSS_SEIDEL || method == KS_RED_BLACK;
}

/** A run: the plan with the caller's matrix and factor, and workspace carved. */
typedef struct ks_gb_run {
    const ks_general_plan *plan;
    ks_gb_system system;
    double *b, *x;           /* one right-hand side and its solution, contiguous            */
    double *vectors;         /* of N n numbers, as many as the method needs beside b and x  */
    double *scratch;         /* of each worker, ks_gb_scratch() numbers apart               */
    double *partial;         /* a number for each chunk                                     */
    double *small;           /* GMRES: Hessenberg matrix, rotations, right-hand side        */
    double norm_A, norm_b;
    int exponent;            /* the right-hand side is the caller's by 2^-exponent          */
    struct ks_gb_device *device; /* where it runs on one                                    */
} ks_gb_run;

size_t ks_gb_scratch(const ks_general_plan *plan);

void ks_gb_carve(ks_carver *carver, const ks_general_plan *plan, ks_gb_run *run);

static inline int64_t ks_gb_rows(const ks_gb_run *run) { return run->plan->N * run->plan->n; }

static inline double *ks_gb_vector(const ks_gb_run *run, int number)
{
    return run->vectors + number * ks_gb_rows(run);
}

/* Operations on whole vectors; sums add up in the order of the chunks. */
double ks_gb_dot(const ks_gb_run *run, const double *x, const double *y);
void ks_gb_axpby(const ks_gb_run *run, double alpha, const double *x, double beta, double *y);
void ks_gb_scale(const ks_gb_run *run, double alpha, double *x);
void ks_gb_zero(const ks_gb_run *run, double *x);
/** y = b - A x, or A x where b is NULL; returns y . y */
double ks_gb_apply(const ks_gb_run *run, const double *b, const double *x, double *y);
/** z = D^-1 r */
void ks_gb_precondition(const ks_gb_run *run, const double *r, double *z);
/** One sweep from x to out; parity 0 or 1: even or odd blocks, -1: all. Returns the change. */
double ks_gb_sweep_all(const ks_gb_run *run, const double *b, const double *x, double *out,
                       double omega, int parity);
/** `count` <= KS_GB_BATCH of them from first to last block in place; change[i] of each. */
enum { KS_GB_BATCH = 4 * KS_GB_ABREAST };
void ks_gb_sweep_ordered(const ks_gb_run *run, const double *b, double *x, double omega, int count,
                         double *change);
/** Frobenius norm of the matrix, and Euclidean of a vector, also where their squares are no ordinary numbers. */
double ks_gb_norm(const ks_gb_run *run);
double ks_gb_length(const ks_gb_run *run, const double *x);

/** Brings run->b, where its squares or those of its residuals are no ordinary numbers, to a largest number of about
 *  one by a power of two, which run->exponent holds then, and fills norm_b. Not for a thread that flushes denormal
 *  numbers to zero. */
void ks_gb_bring_to_one(ks_gb_run *run);

/** Numbers between 0 and 2 that look random, the same on every machine. */
void ks_gb_pattern(const ks_gb_run *run, uint64_t seed, double *x);

/** Watches a residual (or change) for divergence and stagnation. Starts with zeros. */
typedef struct ks_gb_monitor {
    double best;
    int64_t best_at, seen;
} ks_gb_monitor;

/** KS_END_NONE, KS_END_DIVERGED or KS_END_STAGNATED. In N sweeps every block hears of every
 *  other: until then a residual may grow and yet vanish. */
ks_general_end ks_gb_judge(ks_gb_monitor *monitor, int64_t N, int64_t iteration, double measure);

/* The methods: solve A x = b from run->b to run->x, fill end, iterations, change, relaxation. */
void ks_gb_stationary_run(ks_gb_run *run, ks_general_report *report);
void ks_gb_bicgstab_run(ks_gb_run *run, ks_general_report *report);
void ks_gb_gmres_run(ks_gb_run *run, ks_general_report *report);
void ks_gb_cg_run(ks_gb_run *run, ks_general_report *report);

double ks_gb_radius(ks_gb_run *run, int sweeps);

/* Direct methods: numbers and pivots of a factor; factor; solve in place of run->b, into x. */
int64_t ks_gb_lu_numbers(int64_t N, int n);
int64_t ks_gb_lu_factor(const ks_general_plan *plan, const ks_general_matrix *matrix,
                        double *factor, int *pivots, double *scratch, int *pivot);
void ks_gb_lu_solve(ks_gb_run *run, const double *factor, const int *pivots);
int64_t ks_gb_cyclic_numbers(int64_t N, int n);
int64_t ks_gb_cyclic_factor(const ks_general_plan *plan, const ks_general_matrix *matrix,
                            double *factor, int *pivots, double *scratch, int *pivot);
void ks_gb_cyclic_solve(ks_gb_run *run, const double *factor, const int *pivots);

/** The largest number of columns in which a block of U has entries, or of L where those have fewer: *reversed. More than
 *  KS_GB_FEW_COLUMNS are n. */
enum { KS_GB_FEW_COLUMNS = 64 };
int ks_gb_rank(int64_t N, int n, const ks_general_matrix *matrix, int *reversed);
/** Beside the diagonal blocks' factors, and bytes behind all numbers. */
int64_t ks_gb_low_rank_numbers(int64_t N, int n, int rank);
size_t ks_gb_low_rank_after(int64_t N, int rank);
int64_t ks_gb_low_rank_factor(const ks_gb_run *run, const ks_general_matrix *matrix, double *factor, int32_t *kind,
                              int *pivot);
void ks_gb_low_rank_solve(ks_gb_run *run, const double *factor);

/** Factor diagonal blocks: returns -1, or the block that failed with its row in *pivot. */
int64_t ks_gb_diagonal_factor(const ks_general_plan *plan, const ks_general_matrix *matrix,
                              double *factor, int32_t *kind, double *scratch, int *pivot);
/** Numbers that the factor of one diagonal block takes. */
int64_t ks_gb_diagonal_numbers(ks_block_solver solver, int n, ks_block_format format);

/** LU with partial pivoting of a column-major block in place: -1, or the row that has a zero pivot
 *  or a number that is not finite. */
int ks_gb_dense_factor(int n, double *A, int *pivots);

/** Write a block as column-major. */
void ks_gb_columns(int n, const ks_general_block *block, double *columns);

/** Whether a matrix is what <kalscan/general.h> asks for. */
int ks_gb_valid_matrix(int64_t N, int n, const ks_general_matrix *matrix);

/** Block j of its 3 N - 2: those of D, of L, of U. */
static inline const ks_general_block *ks_gb_block(int64_t N, const ks_general_matrix *matrix, int64_t j)
{
    return j < N ? &matrix->D[j] : j < 2 * N - 1 ? &matrix->L[j - N] : &matrix->U[j - (2 * N - 1)];
}

/** A number for the format and the count of each block, 3 N - 2 of them. */
void ks_gb_shapes(int64_t N, const ks_general_matrix *matrix, int64_t *shapes);

/** Whether all blocks are there and of these shapes. Their indices are taken for those that were planned for. */
int ks_gb_fits(int64_t N, const ks_general_matrix *matrix, const int64_t *shapes);

/** A bounded number of steps of an iterative method, from zero, on b (N n; NULL: numbers between
 *  -1 and 1 that look random): fills end, iterations and relative_residual. */
void ks_gb_attempt(const ks_general_plan *plan, const ks_general_matrix *matrix,
                   const void *factor, const double *b, void *work, ks_general_report *report);

/** The method for `auto`, put into the options. Errors: KS_ENOMEM. */
ks_status ks_gb_choose(ks_context *context, int64_t N, int n, const ks_general_matrix *matrix,
                       ks_general_options *options);

/** Nanoseconds of factor and solution by options->method with so many iterations for each of
 *  `columns` right-hand sides. Only ratios matter. */
double ks_gb_predicted(int64_t N, int n, const ks_general_matrix *matrix,
                       const ks_general_options *options, int workers, int64_t iterations,
                       int columns);

#endif
