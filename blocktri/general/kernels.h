/* kernels.h -- the arithmetic of general block-tridiagonal systems, compiled once for each
 * instruction-set tier. A kernel works on a range of blocks or rows, on the calling thread. */
#ifndef KS_GENERAL_KERNELS_H
#define KS_GENERAL_KERNELS_H

#include <stdint.h>
#include "kalscan/general.h"

/** How a diagonal block was factored. It is stored with the factor. */
typedef enum ks_gb_kind {
    KS_GB_THOMAS = 0,
    KS_GB_TRI_LU = 1,  /* 4 n numbers, then n pivots as int   */
    KS_GB_CR = 2,
    KS_GB_PCR = 3,
    KS_GB_DENSE = 4    /* column-major LU, then n pivots as int */
} ks_gb_kind;

/** A matrix with its factored diagonal blocks. */
typedef struct ks_gb_system {
    int64_t N;
    int n;
    const ks_general_block *D, *L, *U;
    const double *factor;   /* block j from factor + offset[j]        */
    const int64_t *offset;
    const int32_t *kind;    /* of each block, a ks_gb_kind             */
} ks_gb_system;

/** Most ordered sweeps that run through the blocks at the same time. */
enum { KS_GB_ABREAST = 4 };

/** One sweep over blocks from, from + step, ... < to: out[j] = x[j] + omega (y - x[j]) with
 *  D[j] y = b[j] - L[j - 1] x[j - 1] - U[j] x[j + 1]. out may be x if no two neighbours are swept. */
typedef struct ks_gb_sweep {
    const ks_gb_system *system;
    const double *b;        /* NULL: zero                              */
    const double *x;
    double *out;
    double omega;
    int step;
} ks_gb_sweep;

typedef struct ks_gb_kernels {
    /** Return the largest change of an entry. scratch: 5 n. */
    double (*sweep)(const ks_gb_sweep *sweep, int64_t from, int64_t to, double *scratch);
    /** Gauss-Seidel sweeps from the first block to the last, in place (out is x, step is 1). Each of
     *  the lanes, at most KS_GB_ABREAST, is a sweep, two blocks behind the lane before it. Do steps
     *  from .. to - 1 of N + 2 (lanes - 1): step t is block t - 2 l of lane l. The blocks of a step
     *  are independent. most[l] is raised to the lane's largest change. scratch: 5 n. */
    void (*follow)(const ks_gb_sweep *sweep, int lanes, int64_t from, int64_t to, double *most,
                   double *scratch);
    /** y = b - A x in blocks from .. to - 1, or A x if b is NULL. Return y . y. */
    double (*apply)(const ks_gb_system *system, const double *b, const double *x, double *y,
                    int64_t from, int64_t to);
    /** z = D^-1 r in blocks from .. to - 1; z may be r. scratch: n */
    void (*precondition)(const ks_gb_system *system, const double *r, double *z, int64_t from,
                         int64_t to, double *scratch);
    double (*dot)(int64_t count, const double *x, const double *y);
    /** y = alpha x + beta y. y is not read if beta is 0. */
    void (*axpby)(int64_t count, double alpha, const double *x, double beta, double *y);
    /** Factor a DIA block by one kind of solver. Return -1 or the failing row. scratch: 6 n. */
    int (*factor_thomas)(int n, const double *dia, double *f, double *growth);
    int (*factor_cr)(int n, const double *dia, double *f, double *scratch);
    int (*factor_pcr)(int n, const double *dia, double *f, double *scratch);
    /** x <- A^-1 x, for the column-major LU of a dense block A */
    void (*dense_solve)(int n, const double *lu, const int *pivots, double *x);
    /** y -= A x, A column-major */
    void (*columns)(int n, const double *A, const double *x, double *y);
    /** y -= A x for a block of any format */
    void (*subtract)(int n, const ks_general_block *A, const double *x, double *y);
    /** Return the sum of the squares of a block's entries. */
    double (*squares)(int n, const ks_general_block *A);
} ks_gb_kernels;

extern const ks_gb_kernels ks_gb_baseline;
extern const ks_gb_kernels ks_gb_avx2;

/** Return the table for a tier on this processor; NULL if the processor lacks the tier. */
const ks_gb_kernels *ks_gb_kernels_of(ks_tier tier);

#endif
