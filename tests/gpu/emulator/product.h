/* product.h -- products of the tensor cores; see product.c. */
#ifndef EMULATED_PRODUCT_H
#define EMULATED_PRODUCT_H

#include "cpu.h"

#ifdef __cplusplus
extern "C" {
#endif
/** C += A B for C (16, 8), A (16, 16), B (16, 8), of which the first m rows of C and A and the first `depth` columns of
 *  A and rows of B are used. Each product is fused with its sum, in the order of k. */
typedef void ks_emu_product(double *c, const double *a, const double *b, int m, int depth);
ks_emu_product ks_emu_product_baseline, ks_emu_product_avx2;
#ifdef __cplusplus
}
#endif

/** Return the function that is fastest on this processor. All give the same bits. */
static inline ks_emu_product *ks_emu_product_here(void)
{
#if defined(__x86_64__)
    if (ks_has_avx2()) return ks_emu_product_avx2;
#endif
    return ks_emu_product_baseline;
}

#endif
