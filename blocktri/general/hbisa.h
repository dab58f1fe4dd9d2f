/* hbisa.h -- arguments of the kernels that iterate on general systems with tridiagonal diagonal blocks, and their
 * layout of shared memory. Both the kernels (hbisa.cu, hbisa_rows.cu) and the driver include it. */
#ifndef KS_GENERAL_HBISA_H
#define KS_GENERAL_HBISA_H

#include <stddef.h>
#include <stdint.h>
#include "hd.h"

/** Where rows, matrix and x are kept. */
typedef enum ks_hbisa_form {
    KS_HBISA_LANES = 0,    /**< a thread has a row, coefficients in registers; a block is in a warp */
    KS_HBISA_ROWS = 1,     /**< the same, for blocks that lie across warps */
    KS_HBISA_RESIDENT = 2, /**< any number of rows; matrix, factor and x in shared memory */
    KS_HBISA_STREAMED = 3, /**< matrix, factor and x in device memory */
    KS_HBISA_FORMS
} ks_hbisa_form;

/** Most levels of reduction for which each of the first two forms has registers. */
enum { KS_HBISA_LANE_LEVELS = 5, KS_HBISA_ROW_LEVELS = 6 };
/** Entries of L + U in a row that a thread keeps in registers; further ones are in shared memory. */
enum { KS_HBISA_LANE_ENTRIES = 4, KS_HBISA_ROW_ENTRIES = 2 };
/** Most threads of a block in each form, limited by registers, and most warps. */
enum { KS_HBISA_LANE_THREADS = 768, KS_HBISA_ROW_THREADS = 768, KS_HBISA_TILE_THREADS = 1024, KS_HBISA_WARPS = 32 };

/** The result of a launch, written by one thread at the end. */
typedef struct ks_hbisa_report {
    int32_t iterations;
    int32_t converged;
    int32_t newest;   /**< 0: the last iterate is in x, 1: in y */
    double change;    /**< the largest in the last iteration */
    double square;    /**< b - A x|^2 of the x before the last iteration; with stop by residual */
} ks_hbisa_report;

/** Arguments. Sweeps come in groups. Between two groups the thread blocks exchange x at the ends of their ranges and
 *  check convergence. */
typedef struct ks_hbisa_args {
    int64_t N;
    int32_t n;
    int32_t levels;            /**< of parallel cyclic reduction */
    int32_t colours;           /**< 1: block Jacobi; 2: red-black, even blocks first */
    int32_t by_change;         /**< stop by the largest change, else by the residual */
    int32_t form;              /**< a ks_hbisa_form */
    int32_t sweeps;            /**< of a group; streamed: 1 */
    int32_t width;             /**< threads of a diagonal block; resident and streamed: diagonal */
                               /**< blocks that a thread block solves at once */
    int32_t beyond;            /**< the first two forms: some row has more entries than registers */
    int32_t max_iterations;    /**< of the launch, at least 1 */
    double tolerance;          /**< of the change, or of |b - A x|^2 */
    const double *factor;      /**< (N, 2 levels + 1, n): 1 / b | alpha | gamma of each level */
    const double *dia;         /**< (N, 3, n) */
    const int32_t *start;      /**< N n + 1: rows of L + U */
    const int32_t *col;        /**< rows of x */
    const double *value;
    const double *b;
    double *x, *y;             /**< x: the initial value */
    double *partial;           /**< (2, gridDim.x, 2): largest change and sum of squares */
    ks_hbisa_report *report;
} ks_hbisa_args;

/** Return the diagonal blocks beyond a thread block's own, on either side, that it also solves. Each half-sweep of
 *  red-black and each sweep of Jacobi makes one block less valid, and the last one needs none. */
KS_HD int64_t ks_hbisa_reach(int form, int colours, int sweeps)
{
    return form == KS_HBISA_STREAMED ? 0 : (int64_t)colours * sweeps - 1;
}

/** Return the diagonal blocks beyond its own, on either side, whose x it has. */
KS_HD int64_t ks_hbisa_halo(int form, int colours, int sweeps)
{
    return form == KS_HBISA_STREAMED ? 0 : (int64_t)colours * sweeps;
}

/** The blocks of a thread block, numbered among those whose x it has. */
typedef struct ks_hbisa_range {
    int64_t first;           /**< number of block 0 in the system */
    int32_t blocks;          /**< blocks whose x it has */
    int32_t solved, solved_end; /**< blocks whose rows of the matrix it needs */
    int32_t own, own_end;    /**< blocks whose x it computes for the system */
} ks_hbisa_range;

/** Parts of dynamic shared memory, in bytes from its beginning. */
typedef struct ks_hbisa_layout {
    size_t range;     /**< one */
    size_t beside;    /**< three pointers: to start, col and value */
    size_t reduction; /**< 2 (warps + 1) numbers */
    size_t tile;      /**< twice the rows that are solved at once */
    size_t x;         /**< twice the rows of own blocks and halos */
    size_t factor, dia, b, value, start, col; /**< of the rows that are solved */
    size_t bytes;
} ks_hbisa_layout;

KS_HD size_t ks_hbisa_part(ks_hbisa_layout *layout, size_t count, size_t size)
{
    const size_t at = layout->bytes;
    layout->bytes = at + (count * size + 7) / 8 * 8;
    return at;
}

/** Return the layout for so many rows of x, rows that are solved, and entries beside their diagonal blocks that are in
 *  shared memory (of the first two forms only if `beyond`). tile: rows, for the last two forms and KS_HBISA_ROWS. */
KS_HD ks_hbisa_layout ks_hbisa_lay(int form, int levels, int beyond, size_t tile, size_t rows_of_x,
                                   size_t rows, size_t entries)
{
    const int streamed = form == KS_HBISA_STREAMED, resident = form == KS_HBISA_RESIDENT;
    const int kept = resident || (!streamed && beyond);
    ks_hbisa_layout layout = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
    layout.range = ks_hbisa_part(&layout, 1, sizeof(ks_hbisa_range));
    layout.beside = ks_hbisa_part(&layout, 3, sizeof(void *));
    layout.reduction = ks_hbisa_part(&layout, 2 * (KS_HBISA_WARPS + 1), sizeof(double));
    layout.tile = ks_hbisa_part(&layout, form == KS_HBISA_LANES ? 0 : 2 * tile, sizeof(double));
    layout.x = ks_hbisa_part(&layout, streamed ? 0 : 2 * rows_of_x, sizeof(double));
    layout.dia = ks_hbisa_part(&layout, streamed ? 0 : 3 * rows, sizeof(double));
    layout.factor =
        ks_hbisa_part(&layout, resident ? (2 * (size_t)levels + 1) * rows : 0, sizeof(double));
    layout.b = ks_hbisa_part(&layout, resident ? rows : 0, sizeof(double));
    layout.value = ks_hbisa_part(&layout, kept ? entries : 0, sizeof(double));
    layout.start = ks_hbisa_part(&layout, kept ? rows + 1 : 0, sizeof(int32_t));
    layout.col = ks_hbisa_part(&layout, kept ? entries : 0, sizeof(int32_t));
    return layout;
}

#endif
