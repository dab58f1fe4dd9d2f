/* chains.h -- kernels on whole chains of blocks, which all orders call: one table for each precision
 * and instruction-set tier. */
#ifndef KS_BT_CHAINS_H
#define KS_BT_CHAINS_H

#include <stddef.h>
#include <stdint.h>
#include "kalscan/blocktri.h"

/** One lane of a level with its storage. The k-th block in the order of elimination is at position
 *  first + k * step; position p is block min(offset + p * stride, last). Coupling e, between
 *  positions e and e + 1, is read at edge_in + e * edge_in_stride; its factor is stored at edge + e *
 *  edge_stride. All pointers are to the kernels' number type; strides are in elements. */
typedef struct ks_bt_chain {
    int n, ld;            /* order; row stride of a panel, ks_bt_kernels.ld(n)              */
    int64_t offset, stride, last;
    int64_t first, count;
    int step;             /* 1 or -1                                                        */
    int64_t anchor;       /* block, or -1                                                   */
    int64_t target;       /* block, or -1                                                   */
    const void *D_in;     /* diagonal blocks before elimination, lower triangles            */
    int64_t D_in_stride;
    void *D;              /* diagonal blocks of the factor                                  */
    int64_t D_stride;
    const void *edge_in;
    int64_t edge_in_stride;
    void *edge;
    int64_t edge_stride;
    void *fill;           /* couplings (n, n) with the anchor of all blocks but the first   */
    void *bridge;         /* the coupling of target and anchor after elimination            */
    void *scratch;        /* ks_bt_kernels.panels panels of ks_bt_panel() elements          */
    /* Solve: blocks (n, m) of right-hand sides, replaced by the solution. */
    int m;
    void *x;
    int64_t x_stride;
    /* Inverse: its diagonal blocks S; its blocks at the couplings, if not NULL; and at bridge. */
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
    int width;     /* a panel's row stride is a multiple of so many numbers */
    /** Eliminate a lane. The anchor's block is updated; the target's is left to gather(). */
    ks_bt_failure (*factor)(const ks_bt_chain *chain);
    /** D (lower triangle) -= X' X, X a coupling's factor. */
    void (*gather)(int n, const void *X, void *D, void *scratch);
    /** Forward substitution; the anchor's rows are updated, the target's left to gather_x(). */
    void (*forward)(const ks_bt_chain *chain);
    /** to (n, m) -= X' from (n, m). `from` is not changed. */
    void (*gather_x)(int n, int m, const void *X, void *from, void *to, void *scratch);
    /** Backward substitution of the whole lane. Anchor and target are solved already. */
    void (*backward)(const ks_bt_chain *chain);
    /** Blocks of the inverse for the whole lane. Those of anchor, target and bridge are known already. */
    void (*inverse)(const ks_bt_chain *chain);
    /** Sum of log det over `count` diagonal blocks of a factor. */
    double (*logdet)(int n, int64_t count, const void *D, int64_t stride);
    /** Add to sums[0 .. 3] the squared norms of A x - b, x, b and A, each times factors[0 .. 3] before squaring. */
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

/** Elements of a panel. Its rows are rounded up to a multiple of four. */
static inline size_t ks_bt_panel(int n, int ld) { return (size_t)((n + 3) / 4 * 4) * (size_t)ld; }

/** The table that serves a precision and tier for blocks of order n on this processor, or NULL. */
const ks_bt_kernels *ks_bt_kernels_of(ks_precision precision, ks_tier tier, int n);

extern const ks_bt_kernels ks_bt_baseline_f64, ks_bt_baseline_f32;
extern const ks_bt_kernels ks_bt_avx2_f64, ks_bt_avx2_f32;     /* x86-64 only      */
extern const ks_bt_kernels ks_bt_avx512_f64, ks_bt_avx512_f32; /* and KS_WITH_AVX512 */

#endif
