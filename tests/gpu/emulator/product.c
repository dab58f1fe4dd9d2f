/* product.c -- what the tensor cores make of fragments. Compiled once for each instruction-set tier, with
 * KS_EMU_PRODUCT the name of the function, since fma() is a call where the processor has no instruction for it.
 * No sanitizer watches it: all that it touches are whole arrays of its caller. */
#include <math.h>
#include "product.h"

void KS_EMU_PRODUCT(double *restrict c, const double *restrict a, const double *restrict b, int m, int depth)
{
    for (int i = 0; i < m; ++i)
        for (int k = 0; k < depth; ++k)
            for (int j = 0; j < 8; ++j) c[8 * i + j] = fma(a[16 * i + k], b[8 * k + j], c[8 * i + j]);
}
