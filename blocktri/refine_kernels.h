/* refine_kernels.h -- what refinement does with every block, in double: one table for each
 * instruction-set tier. */
#ifndef KS_BT_REFINE_KERNELS_H
#define KS_BT_REFINE_KERNELS_H

#include <stdint.h>
#include "kalscan/blocktri.h"

typedef struct ks_bt_refine_kernels {
    /** to (n, n) = diag(s) from diag(t), rounded; `lower`: its lower triangle, zeros above. */
    void (*scale)(int64_t n, const double *s, const double *from, const double *t, int lower,
                  float *to);
    /** r (n, m) = b - A x for one row of blocks: D by its lower triangle, x here, `before` with the
     *  coupling `lower`, `after` with the one above the diagonal, transposed at `upper`; NULL: none.
     *  vectors: 4 n numbers. */
    void (*residual)(int64_t n, int m, const double *D, const double *lower, const double *upper,
                     const double *here, const double *before, const double *after,
                     const double *b, double *r, double *vectors);
    /** Sum of the squares of s a, by elements; *most: the largest |s a|, what is not a number passed over. */
    double (*scaled)(int64_t n, const double *s, const double *a, double *most);
    /** Sum of the squares of a / s, by elements, s powers of two. */
    double (*unscaled)(int64_t n, const double *s, const double *a);
    /** Sum of the squares of S A S over a symmetric block D, by its lower triangle, and twice over the block L
     *  below it; NULL: none. s: the scale of D's rows, t: of L's. */
    double (*norms)(int64_t n, const double *s, const double *t, const double *D, const double *L);
    /** to = s a factor, by elements, rounded; powers of two but for a. */
    void (*narrow)(int64_t n, double factor, const double *s, const double *a, float *to);
    /** x += factor s a, by elements; powers of two but for a. */
    void (*add)(int64_t n, double factor, const double *s, const float *a, double *x);
} ks_bt_refine_kernels;

extern const ks_bt_refine_kernels ks_bt_refine_baseline;
extern const ks_bt_refine_kernels ks_bt_refine_avx2; /* x86-64 only */

/** The table that serves a tier on this processor; NULL where it lacks the tier. */
const ks_bt_refine_kernels *ks_bt_refine_kernels_of(ks_tier tier);

#endif
