/* refine_kernels.h -- kernels of refinement, in double: one table for each instruction-set tier. */
#ifndef KS_BT_REFINE_KERNELS_H
#define KS_BT_REFINE_KERNELS_H

#include <stdint.h>
#include "kalscan/blocktri.h"

typedef struct ks_bt_refine_kernels {
    /** to (n, n) = diag(s) from diag(t), rounded to float. `lower`: only the lower triangle, with zeros above. */
    void (*scale)(int64_t n, const double *s, const double *from, const double *t, int lower,
                  float *to);
    /** r (n, m) = b - A x for one row of blocks. D is given by its lower triangle. here, before and after are the
     *  blocks of x. `lower` is the coupling with `before`; `upper` is the transpose of the one with `after`. Either may
     *  be NULL. vectors: 4 n numbers of scratch. */
    void (*residual)(int64_t n, int m, const double *D, const double *lower, const double *upper,
                     const double *here, const double *before, const double *after,
                     const double *b, double *r, double *vectors);
    /** Return the sum of squares of the elements s[i] a[i]. *most: the largest |s[i] a[i]|, ignoring NaN. */
    double (*scaled)(int64_t n, const double *s, const double *a, double *most);
    /** Return the sum of squares of the elements a[i] / s[i]; s are powers of two. */
    double (*unscaled)(int64_t n, const double *s, const double *a);
    /** Return the sum of squares of S A S over a symmetric block D, given by its lower triangle, plus twice that over
     *  the block L below it, unless L is NULL. s is the scale of D's rows, t that of L's. */
    double (*norms)(int64_t n, const double *s, const double *t, const double *D, const double *L);
    /** to[i] = s[i] a[i] factor, rounded to float; s and factor are powers of two. */
    void (*narrow)(int64_t n, double factor, const double *s, const double *a, float *to);
    /** x[i] += factor s[i] a[i]; s and factor are powers of two. */
    void (*add)(int64_t n, double factor, const double *s, const float *a, double *x);
} ks_bt_refine_kernels;

extern const ks_bt_refine_kernels ks_bt_refine_baseline;
extern const ks_bt_refine_kernels ks_bt_refine_avx2; /* x86-64 only */

/** Return the table for a tier on this processor; NULL if the processor lacks the tier. */
const ks_bt_refine_kernels *ks_bt_refine_kernels_of(ks_tier tier);

#endif
