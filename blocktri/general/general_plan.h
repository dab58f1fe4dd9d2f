/* general_plan.h -- the members of a plan for a general system, and functions that its runs share. */
#ifndef KS_GENERAL_PLAN_H
#define KS_GENERAL_PLAN_H

#include "carve.h"
#include "gpu/gpu.h"
#include "kernels.h"
#include "pool.h"

/** The diagonals of a matrix that may hold entries, below the main one and above it. */
typedef struct ks_gb_band {
    int64_t below, above;
} ks_gb_band;

struct ks_general_plan {
    ks_context *context;
    int64_t N;
    int n;
    int workers;
    ks_general_options options;  /* final values                                                */
    const ks_gb_kernels *kernels;
    int64_t chunk, chunks;       /* blocks of a task and of a partial sum; number of such chunks */
    size_t factor_bytes, workspace;
    int64_t numbers;             /* numbers in the factor, before the kinds or pivots           */
    int rank, reversed;          /* low-rank LU: columns of E; whether it begins with the last block */
    ks_gb_band band;             /* banded LU                                                   */
    ks_gpu *gpu;                 /* the device that it runs on, or NULL                         */
    int64_t *shapes;             /* of the blocks of the planned matrix, see ks_gb_shapes()     */
    int64_t offset[];            /* N + 1 offsets of the diagonal blocks' factors, unless dense; then the shapes */
};

/** Whether blocks are eliminated as dense ones. */
static inline int ks_gb_dense(ks_general_method method)
{
    return method == KS_BLOCK_LU || method == KS_BLOCK_CYCLIC_REDUCTION;
}

static inline int ks_gb_direct(ks_general_method method)
{
    return ks_gb_dense(method) || method == KS_LOW_RANK_LU || method == KS_BANDED_LU;
}

/** Whether the diagonal blocks are factored by themselves, in their own format. */
static inline int ks_gb_by_blocks(ks_general_method method)
{
    return !ks_gb_dense(method) && method != KS_BANDED_LU;
}

static inline int ks_gb_stationary(ks_general_method method)
{
    return method == KS_BLOCK_JACOBI || method == KS_BLOCK_GAUSS_SEIDEL || method == KS_RED_BLACK;
}

/** A run: the plan, the caller's matrix and factor, and the parts of the workspace. */
typedef struct ks_gb_run {
    const ks_general_plan *plan;
    ks_gb_system system;
    double *b, *x;           /* one right-hand side and its solution, contiguous            */
    double *vectors;         /* of N n numbers, as many as the method needs besides b and x */
    double *scratch;         /* ks_gb_scratch() numbers for each worker                     */
    double *partial;         /* a partial sum or maximum for each chunk                     */
    double *small;           /* GMRES: Hessenberg matrix, rotations, right-hand side        */
    double norm_A, norm_b;
    int exponent;            /* b is the caller's right-hand side times 2^-exponent         */
    struct ks_gb_device *device; /* if it runs on one, else NULL                            */
} ks_gb_run;

size_t ks_gb_scratch(const ks_general_plan *plan);

void ks_gb_carve(ks_carver *carver, const ks_general_plan *plan, ks_gb_run *run);

static inline int64_t ks_gb_rows(const ks_gb_run *run) { return run->plan->N * run->plan->n; }

static inline double *ks_gb_vector(const ks_gb_run *run, int number)
{
    return run->vectors + number * ks_gb_rows(run);
}

/* Operations on whole vectors. Sums are added in the order of the chunks. */
double ks_gb_dot(const ks_gb_run *run, const double *x, const double *y);
void ks_gb_axpby(const ks_gb_run *run, double alpha, const double *x, double beta, double *y);
void ks_gb_scale(const ks_gb_run *run, double alpha, double *x);
void ks_gb_zero(const ks_gb_run *run, double *x);
/** y = b - A x, or A x if b is NULL. Return y . y. */
double ks_gb_apply(const ks_gb_run *run, const double *b, const double *x, double *y);
/** z = D^-1 r */
void ks_gb_precondition(const ks_gb_run *run, const double *r, double *z);
/** One sweep from x to out. parity 0 or 1: even or odd blocks, -1: all. Return the largest change. */
double ks_gb_sweep_all(const ks_gb_run *run, const double *b, const double *x, double *out,
                       double omega, int parity);
/** `count` <= KS_GB_BATCH sweeps from the first block to the last, in place; change[i] is the largest change of sweep
 *  i. */
enum { KS_GB_BATCH = 4 * KS_GB_ABREAST };
void ks_gb_sweep_ordered(const ks_gb_run *run, const double *b, double *x, double omega, int count,
                         double *change);
/** Frobenius norm of the matrix, and Euclidean norm of a vector, even if their squares overflow or underflow. */
double ks_gb_norm(const ks_gb_run *run);
double ks_gb_length(const ks_gb_run *run, const double *x);

/** Set run->norm_b. If squares of run->b or of its residuals would overflow or underflow, first scale run->b by a power
 *  of two, 2^-run->exponent, to a largest number of about one. Must not be called in a mode that flushes denormal
 *  numbers to zero. */
void ks_gb_bring_to_one(ks_gb_run *run);

/** Fill x with pseudorandom numbers between 0 and 2, the same on every machine. */
void ks_gb_pattern(const ks_gb_run *run, uint64_t seed, double *x);

/** State that watches a residual or change for divergence and stagnation. Initialize it with zeros. */
typedef struct ks_gb_monitor {
    double best;
    int64_t best_at, seen;
} ks_gb_monitor;

/** Iterations after which a residual that has grown will not fall again. It takes N for every block to affect every
 *  other one. */
#define KS_GB_PATIENCE(N) ((N) + 100)

/** Return KS_END_NONE, KS_END_DIVERGED or KS_END_STAGNATED, which it waits `patience` iterations for. */
ks_general_end ks_gb_judge(ks_gb_monitor *monitor, int64_t patience, int64_t iteration, double measure);

/* The iterative methods: solve A x = b from run->b to run->x, and fill end, iterations, change and relaxation. */
void ks_gb_stationary_run(ks_gb_run *run, ks_general_report *report);
void ks_gb_bicgstab_run(ks_gb_run *run, ks_general_report *report);
void ks_gb_gmres_run(ks_gb_run *run, ks_general_report *report);
void ks_gb_cg_run(ks_gb_run *run, ks_general_report *report);

double ks_gb_radius(ks_gb_run *run, int sweeps);

/* Direct methods: count the numbers of a factor; factor; solve from run->b to run->x. */
int64_t ks_gb_lu_numbers(int64_t N, int n);
int64_t ks_gb_lu_factor(const ks_general_plan *plan, const ks_general_matrix *matrix,
                        double *factor, int *pivots, double *scratch, int *pivot);
void ks_gb_lu_solve(ks_gb_run *run, const double *factor, const int *pivots);
int64_t ks_gb_cyclic_numbers(int64_t N, int n);
int64_t ks_gb_cyclic_factor(const ks_general_plan *plan, const ks_general_matrix *matrix,
                            double *factor, int *pivots, double *scratch, int *pivot);
void ks_gb_cyclic_solve(ks_gb_run *run, const double *factor, const int *pivots);

/** Return the band that holds all entries, by the formats and indices of the blocks. */
ks_gb_band ks_gb_band_of(int64_t N, int n, const ks_general_matrix *matrix);
/** Return the numbers of a column of the factor. */
int64_t ks_gb_band_column(const ks_gb_band *band);
/** Whether LAPACK, which counts in 32 bits, can factor a matrix of N n rows with this band. */
int ks_gb_band_countable(int64_t N, int n, const ks_gb_band *band);
int64_t ks_gb_banded_factor(const ks_general_plan *plan, const ks_general_matrix *matrix, double *factor, int *pivots,
                            int *pivot);
void ks_gb_banded_solve(ks_gb_run *run, const double *factor, const int *pivots);

/** Return the largest number of columns with entries of a block of U, or of L if that is smaller; then *reversed is 1.
 *  A number above KS_GB_FEW_COLUMNS is returned as n. */
enum { KS_GB_FEW_COLUMNS = 64 };
int ks_gb_rank(int64_t N, int n, const ks_general_matrix *matrix, int *reversed);
/** The numbers in the factor besides the diagonal blocks' factors; the bytes behind all numbers. */
int64_t ks_gb_low_rank_numbers(int64_t N, int n, int rank);
size_t ks_gb_low_rank_after(int64_t N, int rank);
int64_t ks_gb_low_rank_factor(const ks_gb_run *run, const ks_general_matrix *matrix, double *factor, int32_t *kind,
                              int *pivot);
void ks_gb_low_rank_solve(ks_gb_run *run, const double *factor);

/** Factor the diagonal blocks. Return -1, or the block that failed with its row in *pivot. */
int64_t ks_gb_diagonal_factor(const ks_general_plan *plan, const ks_general_matrix *matrix,
                              double *factor, int32_t *kind, double *scratch, int *pivot);
/** Return how many numbers the factor of one diagonal block takes. */
int64_t ks_gb_diagonal_numbers(ks_block_solver solver, int n, ks_block_format format);

/** LU with partial pivoting of a column-major block in place. Return -1, or the row whose pivot is zero or not
 *  finite. */
int ks_gb_dense_factor(int n, double *A, int *pivots);

/** Whether a pivot cannot be divided by. A NaN anywhere in a dense block reaches the last pivot. */
int ks_gb_unusable(double pivot);

/** Write the entries of a block, (r, c) to out[r down + c right]. Between those of a sparse block nothing is written. */
void ks_gb_place(int n, const ks_general_block *block, int64_t down, int64_t right, double *out);

/** Write a block as column-major. */
void ks_gb_columns(int n, const ks_general_block *block, double *columns);

/** Whether a matrix meets the requirements of <kalscan/general.h>. */
int ks_gb_valid_matrix(int64_t N, int n, const ks_general_matrix *matrix);

/** Return block j of the 3 N - 2 blocks: first those of D, then of L, then of U. */
static inline const ks_general_block *ks_gb_block(int64_t N, const ks_general_matrix *matrix, int64_t j)
{
    return j < N ? &matrix->D[j] : j < 2 * N - 1 ? &matrix->L[j - N] : &matrix->U[j - (2 * N - 1)];
}

/** For each of the 3 N - 2 blocks, store a number that encodes its format and count. */
void ks_gb_shapes(int64_t N, const ks_general_matrix *matrix, int64_t *shapes);

/** Whether all blocks exist and have these shapes. Their indices are assumed to be those of the planned matrix. */
int ks_gb_fits(int64_t N, const ks_general_matrix *matrix, const int64_t *shapes);

/** Do a limited number of steps of an iterative method, from zero, for b (N n; NULL: pseudorandom numbers
 *  between -1 and 1). Fill end, iterations and relative_residual. */
void ks_gb_attempt(const ks_general_plan *plan, const ks_general_matrix *matrix,
                   const void *factor, const double *b, void *work, ks_general_report *report);

/** Choose the method for `auto` and set it in the options. Errors: KS_ENOMEM. */
ks_status ks_gb_choose(ks_context *context, int64_t N, int n, const ks_general_matrix *matrix,
                       ks_general_options *options);

/** Return predicted nanoseconds of factorization and solution by options->method, with so many iterations for each of
 *  `columns` right-hand sides. Only ratios matter. */
double ks_gb_predicted(int64_t N, int n, const ks_general_matrix *matrix,
                       const ks_general_options *options, int workers, int64_t iterations,
                       int columns);

#endif
