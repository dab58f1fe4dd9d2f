/* chains.h -- what the orders call: whole chains of blocks, one table for each precision and
 * instruction-set tier. */
#ifndef KS_BT_CHAINS_H
#define KS_BT_CHAINS_H

#include <stddef.h>
#include <stdint.h>
#include "kalscan/blocktri.h"

/** One lane of a level with its storage. The k-th block that is eliminated stands at position
 *  first + k * step; position p is block min(offset + p * stride, last). Coupling e, between
 *  positions e and e + 1, is read at edge_in + e * edge_in_stride and kept as factor at edge. All
 *  pointers are to the kernels' number; strides in elements. */
typedef struct ks_bt_chain {
    int n, ld;            /* order; row stride of a panel, ks_bt_kernels.ld(n)              */
    int64_t offset, stride, last;
    int64_t first, count;
    int step;             /* 1 or -1                                                        */
    int64_t anchor;       /* block, or -1                                                   */
    int64_t target;       /* block, or -1                                                   */
    const void *D_in;     /* blocks before, lower triangles                                 */
    int64_t D_in_stride;
    void *D;              /* blocks after: the factor                                       */
    int64_t D_stride;
    const void *edge_in;
    int64_t edge_in_stride;
    void *edge;
    int64_t edge_stride;
    void *fill;           /* couplings with the anchor of the blocks after the first: (n, n) */
    void *bridge;         /* the coupling of target and anchor that elimination leaves      */
    void *scratch;        /* ks_bt_kernels.panels panels of ks_bt_panel() elements          */
    /* Solving: blocks (n, m) of right-hand sides, replaced by the solution. */
    int m;
    void *x;
    int64_t x_stride;
    /* The inverse: its diagonal blocks; of the couplings where not NULL; of bridge. */
    void *S;
    int64_t S_stride;
    void *S_edge;
    int64_t S_edge_stride;
    const void *S_bridge;
} ks_bt_chain;

/** A failing pivot; block -1: none. */
typedef struct ks_bt_failure {
    int64_t block;
    int pivot;
} ks_bt_failure;

typedef struct ks_bt_kernels {
    const char *name;
    size_t number; /* bytes */
    int width;     /* numbers that a panel's row stride is a multiple of */
    /** Eliminate a lane. The anchor's block is updated; the target's is left to gather(). */
    ks_bt_failure (*factor)(const ks_bt_chain *chain);
    /** D (lower triangle) -= X' X, X a coupling's factor. */
    void (*gather)(int n, const void *X, void *D, void *scratch);
    /** Forward substitution; the anchor's rows are updated, the target's left to gather_x(). */
    void (*forward)(const ks_bt_chain *chain);
    /** to (n, m) -= X' from (n, m), which is left as it is. */
    void (*gather_x)(int n, int m, const void *X, void *from, void *to, void *scratch);
    /** Backward substitution of the whole lane, anchor and target being solved. */
    void (*backward)(const ks_bt_chain *chain);
    /** Blocks of the inverse of the whole lane, anchor, target and bridge being known. */
    void (*inverse)(const ks_bt_chain *chain);
    /** Sum of log det over `count` diagonal blocks of a factor. */
    double (*logdet)(int n, int64_t count, const void *D, int64_t stride);
    /** Squares of the norms of A x - b, x, b and A, these times factors[0 .. 3], added to sums[0 .. 3]. */
    void (*residual)(int n, int m, int64_t N, const ks_blocktri_matrix *matrix, ks_const_blocks x,
                     ks_const_blocks b, const double *factors, double *sums);
} ks_bt_kernels;

/** Panels of scratch that any kernel needs. */
enum { KS_BT_PANELS = 14 };

/** Row stride of a panel. */
static inline int ks_bt_ld(const ks_bt_kernels *k, int n)
{
    return (n + k->width - 1) / k->width * k->width;
}

/** Elements of a panel: rows come in fours. */
static inline size_t ks_bt_panel(int n, int ld) { return (size_t)((n + 3) / 4 * 4) * (size_t)ld; }

/** The table that serves a precision and tier for blocks of order n on this processor, or NULL. */
const ks_bt_kernels *ks_bt_kernels_of(ks_precision precision, ks_tier tier, int n);

extern const ks_bt_kernels ks_bt_baseline_f64, ks_bt_baseline_f32;
extern const ks_bt_kernels ks_bt_avx2_f64, ks_bt_avx2_f32;     /* x86-64 only      */
extern const ks_bt_kernels ks_bt_avx512_f64, ks_bt_avx512_f32; /* and KS_WITH_AVX512 */

#endif
