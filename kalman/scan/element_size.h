/* element_size.h -- the sizes and layouts of elements. Symmetric matrices are packed: lower triangles, row by row. */
#ifndef KS_ELEMENT_SIZE_H
#define KS_ELEMENT_SIZE_H

#include <stdint.h>
#include "hd.h"

/** Return the numbers of a filtering element, A (nx, nx) | b (nx) | C packed | eta (nx) | J packed. */
KS_HD int64_t ks_filter_element_size(int nx)
{
    const int64_t n = nx;
    return n * n + 2 * n + n * (n + 1);
}

/** Return the numbers of a smoothing element, E (nx, nx) | g (nx) | L packed. */
KS_HD int64_t ks_smooth_element_size(int nx)
{
    const int64_t n = nx;
    return n * n + n + n * (n + 1) / 2;
}

#endif
