/* lq_rows.h -- how matrices to be reflected (array_text.h) are stored: column by column. A vector register then holds
 * several rows, whose sums are independent. */
#ifndef KS_LQ_ROWS_H
#define KS_LQ_ROWS_H

#include "hd.h"

/* Rows processed at a time. One in C++: the counting number and a single thread of a device have no vectors. */
#ifdef __cplusplus
enum { KS_LQ_ROWS = 1 };
#else
enum { KS_LQ_ROWS = 8 };
#endif

/** Return the distance between the columns of a matrix with `rows` rows. The padding rows are zero. */
KS_HD int ks_lq_apart(int rows) { return (rows + KS_LQ_ROWS - 1) / KS_LQ_ROWS * KS_LQ_ROWS; }

#endif
